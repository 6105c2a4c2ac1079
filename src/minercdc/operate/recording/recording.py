"""Records a mining session from the stored offset on into a file (`minercdc record`). Nothing is delivered, stored or written
to the database."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import oracledb

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.position_json import loaded
from minercdc.capture.table_selection import captured_by, table_filters
from minercdc.config.in_force import HIDDEN, in_force
from minercdc.config.load import SECTIONS, ConnectorConfig
from minercdc.errors import ConfigError, MinerCdcError
from minercdc.native import PATH
from minercdc.operate.offsets.read import StoredOffset, to_document
from minercdc.operate.recording.file import WITH_PDBS, RecordingWriter
from minercdc.operate.recording.replacement import Replacement
from minercdc.operate.recording.session import refuse_other_adapters, run_session
from minercdc.operate.recording.tap import ROOT, IsWanted, Tap
from minercdc.oracle.connect import connect, database_names, of_database
from minercdc.oracle.present_scn import present_scn
from minercdc.stream.contracts import Record, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.offset import JsonValue, SignalState
from minercdc.stream.temporary import temporary_directory

_SECTIONS: Final = ("identity", "filters", "capture", "log_mining", "values", "messages", "topics", "run")
_OF_DATABASE: Final = frozenset({"database.dbname", "database.pdb.name", "database.connection.adapter"})
_LEFT_OUT: Final = (
    "minercdc.state.dir",
    "minercdc.log.mining.flush.table",
    "minercdc.opentelemetry.",
    "topic.creation.",
    "errors.",
)
_GROUPS: Final = ("transforms", "predicates", "column.mask.", "column.truncate.", "converters")


@dataclass(slots=True)
class Tally:
    """Counts the records of a session by topic, and makes a digest of their topics and keys, in order."""

    topics: Counter[str] = field(default_factory=Counter)
    digest: Any = field(default_factory=hashlib.sha256)

    def add(self, record: Record) -> None:
        """Count a record, and add topic, key and whether there is a value to the digest."""
        self.topics[record.topic] += 1
        kind = b"tombstone" if record.value is None else b"record"
        self.digest.update(b"\0".join((record.topic.encode(), record.key or b"", kind, b"")))

    @property
    def keys(self) -> str:
        """The digest of the records so far (SHA-256), in hexadecimal."""
        return str(self.digest.hexdigest())

    def to_json(self) -> dict[str, JsonValue]:
        """The members `records`, by topic, and `keys`, the digest, of the last line of a recording."""
        return {"records": dict(sorted(self.topics.items())), "keys": self.keys}


@dataclass(frozen=True, slots=True)
class Limits:
    """When a recording ends.

    :param seconds: after so many; None: when everything that was committed at its start has been read.
    :param rows: after at least so many rows of V$LOGMNR_CONTENTS; batches that are on their way then come as well.
    """

    seconds: float | None
    rows: int


@dataclass(slots=True)
class Recorded:
    """What was recorded.

    :param rows: of V$LOGMNR_CONTENTS.
    :param complete: everything that was committed when it began is in it.
    :param error: that ended the session, None when it was stopped or came to its limits.
    """

    rows: int
    tally: Tally
    complete: bool
    error: MinerCdcError | None


class _Stop:
    """The StopFlag of a recording: stops the session at its limits, or when `stop` is set.

    :param target_scn: present SCN of the database when the session began.
    :ivar rows: of V$LOGMNR_CONTENTS so far, as given to `add`.
    """

    def __init__(self, stop: StopFlag, limits: Limits, counters: Counters, target_scn: int) -> None:
        self._stop, self._limits, self._counters, self._target_scn = stop, limits, counters, target_scn
        self._until = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.rows = 0

    @property
    def is_complete(self) -> bool:
        """Whether everything has been read that was committed when the session began."""
        return self._counters.complete_scn >= self._target_scn

    def add(self, rows: int) -> None:
        self.rows += rows

    def is_set(self) -> bool:
        if self._stop.is_set() or self.rows >= self._limits.rows:
            return True
        return self.is_complete if self._until is None else time.monotonic() >= self._until

    def wait(self, timeout: float | None = None) -> bool:
        # In short steps: the limits are looked at in between.
        until = time.monotonic() + (timeout or 0.0)
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            self._stop.wait(min(left, 0.2))
        return self.is_set()


def record(
    config: ConnectorConfig,
    stored: StoredOffset,
    path: Path,
    limits: Limits,
    stop: StopFlag,
    *,
    replaced: bool,
    take: Callable[[Record], None] = lambda _: None,
) -> Recorded:
    """Record from the stored offset on, until a limit or `stop`; returns when the file is complete. An error that would end a
    run of the connector ends the recording, and is part of it; after any other one no file is made or replaced.

    :param path: of the file; one that is there is replaced.
    :param replaced: other values in place of those of rows; see `replacement.py`.
    :param take: gets each record as well, with the values of the rows.
    :raises ConfigError: the adapter does not mine, the initial snapshot is not complete, or there can be no such file.
    :raises SourceError, PrerequisiteError: the database cannot be reached at the start, or does not say its SCN.
    :raises OSError: the file cannot be written.
    """
    refuse_other_adapters(config)
    begun = _begin(stored, replaced=replaced)
    counters, tally = Counters(), Tally()
    target = _present(config)
    replacement = Replacement(_named_users(config)) if replaced else None
    writer = RecordingWriter(path, _head(config, begun, replaced=replaced))
    until = _Stop(stop, limits, counters, target)
    tap = Tap(writer, replacement, _wanted(config, begun), until.add)
    error: MinerCdcError | None = None

    def taken(record: Record) -> None:
        tally.add(record)
        take(record)

    try:
        with temporary_directory("minercdc-record-") as state:
            try:
                run_session(
                    offline(config, Path(state)),
                    begun,
                    lambda to: tap.connect(to, lambda: _connected(config, to)),
                    taken,
                    until,
                    counters=counters,
                    monotonic=lambda: tap.monotonic(time.monotonic),
                )
            except MinerCdcError as met:
                error = met
        ended: dict[str, JsonValue] = {"error": error.code if error else ""}
        if error and not replaced:
            ended["message"] = error.message
        writer.finish({**tally.to_json(), "rows": until.rows, **ended})
    except BaseException:
        writer.abandon()
        raise
    return Recorded(until.rows, tally, until.is_complete, error)


def offline(config: ConnectorConfig, state: Path) -> ConnectorConfig:
    """A copy of the configuration without what is kept or written elsewhere, and without notifications: some are about the
    time that passes, and none is part of a recording.

    :param state: in place of `minercdc.state.dir`.
    """
    mining = {"minercdc_log_mining_buffer_durable": "none", "minercdc_log_mining_flush_table": None}
    return replace(
        config,
        capture=config.capture.model_copy(update={"minercdc_state_dir": state}),
        log_mining=config.log_mining.model_copy(update=mining),
        topics=config.topics.model_copy(update={"minercdc_topic_partition_columns": ""}),
        notifications=config.notifications.model_copy(update={"notification_enabled_channels": ()}),
    )


def _wanted(config: ConnectorConfig, stored: StoredOffset) -> IsWanted:
    """A function that says whether a row's table may be a captured one: by its name, or by an object id that the stored
    structures have, since LogMiner may print an older or newer name, and none for a partition that is gone."""
    captured, several = captured_by(table_filters(config)), config.database.has_several_pdbs
    schemas = [table.schema for table in stored.tables().values() if table.schema.object_id]
    known = {
        (schema.id.database if several else "", number)
        for schema in schemas
        for number in (schema.object_id, *(schema.parts or ()))
    }
    return lambda table, number: captured(table) or (table.database, number) in known


def _connected(config: ConnectorConfig, to: str) -> oracledb.Connection:
    if to == ROOT:
        return connect(config.database, ROOT)
    return connect(of_database(config.database, to), "pdb")


def _present(config: ConnectorConfig) -> int:
    first = database_names(config.database)[0]
    with closing(connect(of_database(config.database, first), "pdb")) as connection:
        return present_scn(connection)


def _begin(stored: StoredOffset, *, replaced: bool) -> StoredOffset:
    """A copy of the stored offset to begin with: without signals and kept transactions, which are mined again from their
    start; if `replaced`, without the texts of why tables are suspended."""
    offset = stored.offset
    if offset.position is None:
        raise ConfigError(
            ["the initial snapshot is not complete, and only the stream can be recorded"],
            hint="Let it finish, then record.",
        )
    position = loaded(LogMinerPosition.from_json, offset.position, "LogMiner").mined_again()
    suspended = tuple(replace(one, reason="", fix="") for one in offset.suspended) if replaced else offset.suspended
    return replace(stored, offset=replace(offset, position=position.to_json(), signals=SignalState(), suspended=suspended))


def _head(config: ConnectorConfig, begun: StoredOffset, *, replaced: bool) -> dict[str, JsonValue]:
    later = {"version": WITH_PDBS} if config.database.has_several_pdbs else {}
    return {
        **later,
        "minercdc": metadata.version("minercdc"),
        "path": PATH,
        "replaced": replaced,
        "properties": dict(_properties(config)),
        "offset": json.loads(to_document(config, begun)),
    }


def _properties(config: ConnectorConfig) -> Iterator[tuple[str, str]]:
    """(Name, value) of the properties that decoding and printing depend on, and that are not as by default. No secret, no
    address."""
    names = _OF_DATABASE.union(*(SECTIONS[name].properties() for name in _SECTIONS))
    options = tuple(f"{converter.name}." for converter in config.custom_converters)
    for one in in_force(config):
        wanted = one.name in names or one.name.startswith((*_GROUPS, *options))
        is_default = one.origin == "default" or one.effect.startswith("no effect")
        if wanted and not is_default and HIDDEN not in one.value and not one.name.startswith(_LEFT_OUT):
            yield one.name, config.given.get(one.name, one.value)


def _named_users(config: ConnectorConfig) -> list[str]:
    mining = config.log_mining
    users = *mining.log_mining_username_include_list, *mining.log_mining_username_exclude_list
    clients = *mining.log_mining_clientid_include_list, *mining.log_mining_clientid_exclude_list
    return [name.upper() for name in (*users, *clients)]
