"""Row changes as events of the relay, in the bytes that clients get."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc.errors import ValueDecodeError
from minercdc.messages.moved_keys import MovedKeys, is_checked_late
from minercdc.relay.events.event import DELETE, UPSERT, packed
from minercdc.relay.events.registry import SchemaRegistry, may_widen
from minercdc.relay.events.values import NotLongError, WriteRow, row_writer
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, Op, Row, SchemaChange, SuspensionChange
from minercdc.values.number import canonical
from minercdc.values.supported import is_large

_log = logging.getLogger(__name__)

FLOATING = 0
"""Sequence of an event without transaction, as of a snapshot during the stream: the sink gives it a window."""

TRUNCATED = "truncated"
"""Topic of a record that says that a table was truncated; its key is the SCN as text."""

RESUMED = "resumed"
"""Topic of a record that says that a suspended table is read again; its key is the SCN, as text, up to which its changes are left out."""

_KEY_DIGITS = 18
_LONG_KEYS = range(-(10**_KEY_DIGITS) + 1, 10**_KEY_DIGITS)

Published = Callable[[TableId, Column], bool]
KeyColumns = Callable[[TableSchema], tuple[int, ...]]
MakeKey = Callable[[Row, str | None], "int | bytes"]


@dataclass(slots=True)
class _Compiled:
    """How rows of one version of a table become events.

    :param key_at: positions of the key's columns; `large` those of columns whose values redo may not hold.
    """

    source: int
    name: str
    schema_id: bytes
    write: WriteRow
    key: MakeKey
    key_at: tuple[int, ...]
    large: frozenset[int]
    is_checked_late: bool


class RelayEncoder:
    """Turns changes into events (contracts.RecordEncoder): the record's topic is the source's name, its value the event.

    :param published: whether a column that is not of the key is in the value.
    :param key_columns: positions of the key.
    :param captured: whether a table has a source.
    :param skipped: operations that are left out.
    :param unavailable: stands for a text, or bytes, that redo does not hold.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        published: Published,
        key_columns: KeyColumns,
        *,
        captured: Callable[[TableId], bool] = lambda _: True,
        skipped: Sequence[str] = (),
        unavailable: str = "__debezium_unavailable_value",
    ) -> None:
        self._registry = registry
        self._published = published
        self._key_columns = key_columns
        self._captured = captured
        self._skipped = frozenset(skipped)
        self._unavailable = unavailable
        self._moved = MovedKeys(key_columns)
        self._compiled: dict[tuple[TableId, int], _Compiled] = {}

    def encode(self, event: Event) -> Sequence[Record]:
        """The events of a change, perhaps none; the SchemaChange of a TRUNCATE has a record with topic TRUNCATED and no value,
        the end of a suspension one with topic RESUMED, everything else none. A new shape of a table, or a number that is no long, makes
        a version of its schema; the latter, a TRUNCATE and the end of a suspension log a warning.

        :raises RelayError: no id or name is free for the source of a new table.
        :raises SinkError: the schema registry cannot be written.
        :raises DecodeError: redo does not hold the key, or a value that is neither text nor bytes; or a value does not fit its
            column.
        :raises ConfigError: as `messages.configured.key_columns`.
        """
        if isinstance(event, SchemaChange):
            return self._schema_change(event)
        if isinstance(event, SuspensionChange):
            return self._resumed(event)
        if not isinstance(event, ChangeEvent) or event.op.value in self._skipped or event.op is Op.TRUNCATE:
            return ()
        table = event.schema
        compiled = self._compiled.get((table.id, table.version)) or self._compile(table)
        while True:
            try:
                return self._events(event, compiled)
            except NotLongError as error:  # of one column; the row may have others
                _log.warning("%s: %s; the column is a string from now on", table.id, error.message)
                compiled = self._compile(table, error.column)

    def _schema_change(self, change: SchemaChange) -> Sequence[Record]:
        """Put the schema of a new shape into the registry, before its first row. Returns a record with topic TRUNCATED
        for a TRUNCATE, which is logged as a warning, else none; nothing is done for a table that is not captured."""
        if not self._captured(change.table):
            return ()
        if change.truncate:
            _log.warning("%s was truncated at SCN %d: clients have to bootstrap", change.table, change.scn)
            return (Record(TRUNCATED, str(change.scn).encode(), None),)
        if change.after is not None:
            self._compile(change.after)
        return ()

    def _resumed(self, change: SuspensionChange) -> Sequence[Record]:
        """Of a table that is read again, there are no events of the rows that left it meanwhile: what clients have is not known."""
        if not change.covered_scn:
            return ()
        _log.warning("%s is read again, for SCN %d and later: clients have to bootstrap", change.table, change.covered_scn)
        return (Record(RESUMED, str(change.covered_scn).encode(), None),)

    def _events(self, event: ChangeEvent, compiled: _Compiled) -> Sequence[Record]:
        before, after = event.before, event.after
        if event.op is Op.DELETE and self._moved.holds(event.schema.id) and not self._moved.frees(event):
            return ()
        if event.op is Op.CREATE and compiled.is_checked_late:
            self._moved.inserted(event)
        tx = event.tx
        sequence, time_us = (FLOATING, event.time_us) if tx is None else (tx.commit_scn, tx.commit_us or event.time_us)
        if after is None:
            assert before is not None
            row, attributes = before, DELETE
        else:
            row, attributes = after, UPSERT
        key = compiled.key(row, event.row_id)
        made = Record(
            compiled.name,
            None,
            packed(compiled.source, sequence, attributes, key, compiled.write(row), compiled.schema_id, time_us * 1000),
        )
        if before is None or after is None or before is after:
            return (made,)
        if not any(before[i] != after[i] and before[i] is not UNAVAILABLE for i in compiled.key_at):
            return (made,)
        row = _filled(before, after, compiled.large)
        old = compiled.key(row, event.row_id)
        if old == key or not self._moved.frees(event):
            return (made,)
        value = compiled.write(row)
        gone = packed(compiled.source, sequence, DELETE, old, value, compiled.schema_id, time_us * 1000)
        return Record(compiled.name, None, gone), made

    def _compile(self, table: TableSchema, widen: str = "") -> _Compiled:
        key = self._key_columns(table)
        positions = [i for i, column in enumerate(table.columns) if i in key or self._published(table.id, column)]
        source, version = self._registry.version_of(table, positions, widen=[widen] if widen else ())
        _log.info("%s is source %d %s, version %d", table.id, source.id, source.name, version.number)
        compiled = _Compiled(
            source.id,
            source.name,
            version.id,
            row_writer(table, positions, version.schema, self._unavailable),
            key_of(table, key),
            key,
            frozenset(i for i, column in enumerate(table.columns) if is_large(column)),
            is_checked_late(table, key),
        )
        self._compiled[table.id, table.version] = compiled
        return compiled


def _filled(before: Row, after: Row, large: frozenset[int]) -> Row:
    """The row before an update, with the values after it in place of those that redo does not hold: they did not change.

    :param large: positions of the columns of which that is not known.
    """
    if UNAVAILABLE not in before:
        return before
    pairs = enumerate(zip(before, after, strict=True))
    return tuple(new if old is UNAVAILABLE and i not in large else old for i, (old, new) in pairs)


def key_of(table: TableSchema, positions: Sequence[int]) -> MakeKey:
    """A function from a row and its ROWID to the key of its events: a number for one column of whole numbers up to 18 digits,
    else the texts of the columns, joined by tabs; the ROWID of a table without a key, b"" when it is not known.

    The function raises ValueDecodeError when redo does not hold the key.
    """
    if not positions:
        return lambda _, row_id: (row_id or "").encode()
    if len(positions) == 1:
        (position,) = positions
        column = table.columns[position]
        if may_widen(column.type_name) and (column.scale or 0) <= 0:
            return lambda row, _: _number_key(_text(row, position, column))
    columns = [(position, table.columns[position]) for position in positions]
    return lambda row, _: "\t".join([_plain(_text(row, position, column), column) for position, column in columns]).encode()


def _text(row: Row, position: int, column: Column) -> str:
    value = row[position]
    if not isinstance(value, str):
        raise ValueDecodeError(
            f"redo does not hold the key: column {column.name} is {'null' if value is None else 'not there'}",
            hint="ALTER TABLE .. ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS has it logged.",
        )
    return value


def _plain(text: str, column: Column) -> str:
    return canonical(text) if column.type_name in ("NUMBER", "FLOAT") else text


def _number_key(text: str) -> int | bytes:
    plain = canonical(text)
    try:
        number = int(plain)
    except ValueError:
        return plain.encode()
    return number if number in _LONG_KEYS else plain.encode()
