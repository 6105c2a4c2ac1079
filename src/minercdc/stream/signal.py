"""Reads signals: makes an action of the bytes or row of a channel, or a refusal that says why.

    row (id, type, data)  --signal_of_row-----.
                                              +--> Signal --action_of--> one of the actions
    JSON {id, type, data} --signal_of_json----'

Everything here is pure. Names of types and of the members of `data` are Debezium's where it has the signal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from minercdc.schema.patterns import linear_pattern
from minercdc.schema.select_text import without_end
from minercdc.schema.table import TableId
from minercdc.schema.table_filter import names
from minercdc.stream.events import Row
from minercdc.stream.offset import JsonValue
from minercdc.stream.untrusted import is_closed, parsed

Data: TypeAlias = Mapping[str, JsonValue]

_LONGEST_SHOWN = 1000  # characters

# Rows that the connector itself writes around a chunk; they request nothing.
OPEN_MARK: Final = "snapshot-window-open"
CLOSE_MARK: Final = "snapshot-window-close"
STOP: Final = "stop-snapshot"


def printable(text: str) -> str:
    """Text from outside made safe for a log line or an answer: what cannot be printed is escaped; cut, with `..`, after 1000
    characters."""
    escaped = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
    return escaped if len(escaped) <= _LONGEST_SHOWN else f"{escaped[:_LONGEST_SHOWN]}.."


class SignalRefused(Exception):
    """A signal cannot be acted on. It never stops the connector: it is answered REFUSED.

    :param reason: for its sender.
    :param id: its id, as far as it could be read; type and channel likewise.
    """

    def __init__(self, reason: str, *, id: str = "", type: str = "", channel: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.id = id
        self.type = type
        self.channel = channel

    def signal(self) -> Signal:
        """The refused signal as far as it is known, without data."""
        return Signal(self.id, self.type, "", self.channel)


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal as it came.

    :param id: given by the sender; '' when there is none.
    :param data: its JSON text, or what that text holds.
    :param channel: source, kafka, file, http or in-process; `start` for one of the connector itself; '' when not known any more.
    """

    id: str
    type: str
    data: str | Data
    channel: str


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Read tables while the connector runs.

    :param collections: patterns of tables.
    :param conditions: (pattern of tables, filter); the first that matches a table counts. A filter is a predicate, of a blocking
        snapshot a whole SELECT.
    :param surrogate_key: column to read in order of instead of the key, '' for none.
    """

    collections: tuple[str, ...]
    blocking: bool
    conditions: tuple[tuple[str, str], ...] = ()
    surrogate_key: str = ""

    def condition(self, table: TableId) -> str:
        """The filter of one table, '' when it has none."""
        return next((text for pattern, text in self.conditions if names(pattern, table)), "")


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """End snapshots of some or all tables.

    :param collections: patterns; () for all tables.
    :param blocking: only snapshots of this kind; None for both.
    """

    collections: tuple[str, ...] = ()
    blocking: bool | None = None


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    """Have incremental snapshots wait for ResumeSnapshot."""


@dataclass(frozen=True, slots=True)
class ResumeSnapshot:
    """Have paused incremental snapshots go on."""


@dataclass(frozen=True, slots=True)
class PauseStreaming:
    """Have the stream wait for ResumeStreaming, at the end of a source transaction."""


@dataclass(frozen=True, slots=True)
class ResumeStreaming:
    """Have the paused stream go on."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """Write a line into the log; each `{}` in `message` stands for the offset."""

    message: str


@dataclass(frozen=True, slots=True)
class ChangeSchemas:
    """Give the shapes of tables by hand; `changes` are `tableChanges` as in records of the schema-change topic."""

    changes: tuple[Data, ...]


@dataclass(frozen=True, slots=True)
class DropTransaction:
    """Give an open transaction up: its changes are lost. `xid` has 16 lower-case hex digits; before them `PDB:` in upper case
    where several pluggable databases are captured."""

    xid: str


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """Answer with a list of the transactions that are open, as far as redo is read."""


@dataclass(frozen=True, slots=True)
class ResumeTable:
    """Read suspended tables again; `collections` are patterns of them."""

    collections: tuple[str, ...]


Action: TypeAlias = (
    ExecuteSnapshot
    | StopSnapshot
    | PauseSnapshot
    | ResumeSnapshot
    | PauseStreaming
    | ResumeStreaming
    | LogMessage
    | ChangeSchemas
    | DropTransaction
    | ListTransactions
    | ResumeTable
)


def signal_of_row(row: Row, channel: str = "source") -> Signal:
    """The signal in a row of the signal table, by position: id, type, data; '' for null and what redo does not hold.

    :raises SignalRefused: it has fewer columns.
    """
    values = [value if isinstance(value, str) else "" for value in row[:3]]
    if len(values) < 3:
        raise SignalRefused("the signal table needs three columns: id, type, data", channel=channel)
    return Signal(values[0], values[1], values[2], channel)


def signal_of_json(text: str | bytes, channel: str) -> Signal:
    """The signal of a document `{"id", "type", "data"}`; `id` and `data` may be missing, `data` may be JSON text. Other
    members have no effect. Whether there is such a type is not looked at.

    :raises SignalRefused: it is no such document.
    """
    try:
        document = parsed(text)
    except ValueError as error:
        raise SignalRefused(f"not JSON: {error}", channel=channel) from None
    if not isinstance(document, dict):
        raise SignalRefused("a JSON object with id, type and data is expected", channel=channel)
    identity, kind, data = str(document.get("id") or ""), document.get("type"), document.get("data")
    if not isinstance(kind, str):
        raise SignalRefused("type is missing", id=identity, channel=channel)
    if data is not None and not isinstance(data, dict | str):
        raise SignalRefused("data is neither an object nor its text", id=identity, type=kind, channel=channel)
    return Signal(identity, kind, data or {}, channel)


def described(signal: Signal) -> str:
    """Type and data of a signal, for the log; made safe and cut as by `printable`."""
    data = signal.data if isinstance(signal.data, str) else json.dumps(dict(signal.data), ensure_ascii=False)
    return printable(f"{signal.type.strip()} {data}".rstrip())


def action_of(signal: Signal) -> Action:
    """The action that a signal requests.

    :raises SignalRefused: no such type, its data is not of the form of that type, or its id is too long or cannot be printed. A
        member without meaning is refused, since the sender meant something by it (a misspelt filter would read the whole table).
    """
    if signal.id != printable(signal.id):
        raise SignalRefused(f"the id has control characters, or more than {_LONGEST_SHOWN} characters")
    kind = ACTIONS.get(signal.type.strip())
    if kind is None:
        raise SignalRefused(f"there is no signal of type '{signal.type}'; there are {', '.join(sorted(ACTIONS))}")
    data = _data(signal.data)
    if unknown := sorted(set(data) - kind.members):
        raise SignalRefused(f"data has {', '.join(unknown)}; {signal.type.strip()} knows {', '.join(sorted(kind.members))}")
    return kind.read(data)


def _data(given: str | Data) -> Data:
    if not isinstance(given, str):
        return given
    if not given.strip():
        return {}
    try:
        data = parsed(given)
    except ValueError as error:
        raise SignalRefused(f"data is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise SignalRefused("data is not a JSON object")
    return data


def _execute(data: Data) -> Action:
    collections = _patterns(data, "data-collections")
    if not collections:
        raise SignalRefused("data-collections is missing: an array of patterns of DATABASE.SCHEMA.TABLE")
    blocking = _is_blocking(_text(data, "type", "incremental").lower())
    conditions = list(_conditions(data))
    if legacy := _text(data, "additional-condition"):
        conditions.append((".*", _without_end(legacy)))
    if not blocking and (broken := [text for _, text in conditions if not is_closed(text)]):
        raise SignalRefused(f"the parentheses of filter {broken[0]} do not match")
    return ExecuteSnapshot(collections, blocking, tuple(conditions), _text(data, "surrogate-key"))


def _conditions(data: Data) -> Sequence[tuple[str, str]]:
    given = data.get("additional-conditions") or []
    if not isinstance(given, list):
        raise SignalRefused("additional-conditions is not an array")
    found = []
    for item in given:
        if not isinstance(item, dict):
            raise SignalRefused("additional-conditions holds something else than objects with data-collection and filter")
        pattern, text = _text(item, "data-collection"), _without_end(_text(item, "filter"))
        if not pattern or not text or set(item) - {"data-collection", "filter"}:
            raise SignalRefused("each of additional-conditions needs data-collection and filter, and nothing else")
        found.append((_pattern(pattern, "additional-conditions"), text))
    return found


def _without_end(text: str) -> str:
    """A filter as it may stand in parentheses."""
    found = without_end(text).strip()
    if text and not found:
        raise SignalRefused(f"filter {text!r} has no condition and no SELECT in it")
    return found


def _stop(data: Data) -> Action:
    kind = _text(data, "type").lower()
    return StopSnapshot(_patterns(data, "data-collections"), _is_blocking(kind) if kind else None)


def _is_blocking(kind: str) -> bool:
    if kind not in ("incremental", "blocking"):
        raise SignalRefused(f"a snapshot of type '{kind}' is not there; there are incremental and blocking")
    return kind == "blocking"


def _log(data: Data) -> Action:
    message = _text(data, "message")
    if not message:
        raise SignalRefused("message is missing")
    return LogMessage(message)


def _schema_changes(data: Data) -> Action:
    changes = data.get("changes")
    if not isinstance(changes, list) or not changes:
        raise SignalRefused("changes is missing: an array of tableChanges documents")
    found: list[Data] = []
    for change in changes:
        if not isinstance(change, dict):
            raise SignalRefused("changes holds something else than objects")
        found.append(change)
    return ChangeSchemas(tuple(found))


def _drop(data: Data) -> Action:
    pdb, colon, xid = _text(data, "transaction-id").strip().rpartition(":")
    if not re.fullmatch(r"[0-9A-Fa-f]{16}", xid):
        raise SignalRefused("transaction-id is not an XID of 16 hexadecimal digits")
    return DropTransaction(pdb.upper() + colon + xid.lower())


def _resume_table(data: Data) -> Action:
    collections = _patterns(data, "data-collections")
    if not collections:
        raise SignalRefused("data-collections is missing: an array of patterns of DATABASE.SCHEMA.TABLE")
    return ResumeTable(collections)


@dataclass(frozen=True, slots=True)
class Kind:
    """How the data of one type of signal is read.

    :param read: makes the action of `data`; raises SignalRefused.
    :param members: allowed in `data`; some are without effect, and allowed because Debezium's manual sends them.
    """

    read: Callable[[Data], Action]
    members: frozenset[str] = frozenset()


_TABLES = frozenset({"type", "data-collections"})
_EXECUTE = _TABLES | {"additional-conditions", "additional-condition", "surrogate-key"}
ACTIONS: Final[Mapping[str, Kind]] = {
    "execute-snapshot": Kind(_execute, _EXECUTE),
    STOP: Kind(_stop, _TABLES),
    "pause-snapshot": Kind(lambda _: PauseSnapshot(), _TABLES),
    "resume-snapshot": Kind(lambda _: ResumeSnapshot(), _TABLES),
    "pause-streaming": Kind(lambda _: PauseStreaming()),
    "resume-streaming": Kind(lambda _: ResumeStreaming()),
    "log": Kind(_log, frozenset({"message"})),
    "schema-changes": Kind(_schema_changes, frozenset({"database", "schema", "changes"})),
    "drop-transaction": Kind(_drop, frozenset({"transaction-id"})),
    "resume-table": Kind(_resume_table, frozenset({"data-collections"})),
    "list-transactions": Kind(lambda _: ListTransactions()),
}


def _text(data: Data, name: str, default: str = "") -> str:
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise SignalRefused(f"{name} is not text")
    return value


def _patterns(data: Data, name: str) -> tuple[str, ...]:
    given = data.get(name) or []
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise SignalRefused(f"{name} is not an array of texts")
    return tuple(_pattern(str(item), name) for item in given)


def _pattern(text: str, name: str) -> str:
    if not text.strip():
        raise SignalRefused(f"{name}: a pattern is empty")
    try:
        linear_pattern(text)
    except ValueError as error:
        raise SignalRefused(f"{name}: {error}") from None
    return text
