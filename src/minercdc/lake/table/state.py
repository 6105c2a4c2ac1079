"""The lake's own record, a table of the lake's format: which version of each table belongs to which SCN.

    kind = 'complete'   the change log's batches up to `batch` hold every commit up to `scn`
    kind = 'table'      version `version` (-1: no lake table) of table `name` has all of them up to `scn`, and records of batches up to `batch`;
                        -1 and SCN 0: the lake table was deleted
    kind = 'trimmed'    SCNs below `scn` can no longer be read: the change log, or older versions, are being removed
    kind = 'failed'     table `name` is quarantined since `at` for `detail`; a later 'table' row ends it
    kind = 'topic'      topic `name` has Kafka's id `detail`
    kind = 'lost'       records of topic `name` that were committed at or after `scn` are lost for `detail`; where `version` is not 0, none
                        after SCN `version`, at which the first record that is left was committed
    kind = 'read'       table `name` was read from Oracle as of `scn`
    kind = 'suspended'  the connector leaves out rows of table `name` from commit SCN `scn` on for `detail`
    kind = 'resumed'    what was left out of table `name` is in the records up to `scn`

Tables are named `SCHEMA.TABLE`, with several pluggable databases `PDB.SCHEMA.TABLE`. Rows are appended, and removed by maintenance
once they are not needed. They follow the tables' own commits, which say the same: what a kill left out is found there again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from minercdc.lake.table.format import NO_TABLE, Applied, LogTable, RowsAsked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = "at TIMESTAMP, kind STRING, name STRING, version BIGINT, scn BIGINT, batch BIGINT, detail STRING"
_NAMES = tuple(column.split()[0] for column in _COLUMNS.split(", "))  # those of `Entry`

_APPENDS_OF_SPARK = 50
_MOST_BYTES = 64 * 1024 * 1024  # that are read with no Spark job

NONE_LEFT = (1 << 63) - 1
"""In place of the SCN of the first record that is left, while there is none."""

NOTED = frozenset(["lost", "read", "suspended", "resumed"])


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the record; the module says what its members mean, by kind."""

    kind: Literal["complete", "table", "trimmed", "failed", "topic", "lost", "read", "suspended", "resumed"]
    name: str = ""
    version: int = 0
    scn: int = 0
    batch: int = 0
    detail: str = ""
    at: datetime = _EPOCH  # when it was appended, in UTC; before that 1970


@dataclass(slots=True)
class LakeState:
    """The state of the lake, as the record's entries give it.

    :ivar complete: the newest complete SCN; 0 before the initial snapshot is complete.
    :ivar batch: the batches of the change log up to this one are complete with it.
    :ivar completed: when that was recorded, by this lake before its start or by another process; before that 1970.
    :ivar tables: name of a table -> the entry of its newest version.
    :ivar furthest: name of a table -> the highest SCN that it was recorded at: it may have changes up to there, where it is at a lower one
        now, as after `lake rebuild` beside a running lake.
    :ivar failed: name of a table -> reason of its quarantine.
    :ivar trimmed: SCNs below it cannot be read any more; 0 when all can.
    :ivar topics: topic -> Kafka's id of it, '' for one that is gone.
    :ivar noted: entries of all tables about what they lack, as `gaps.gap_at` takes them.
    """

    complete: int = 0
    batch: int = 0
    completed: datetime = _EPOCH
    tables: dict[str, Entry] = field(default_factory=dict)
    furthest: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    trimmed: int = 0
    topics: dict[str, str] = field(default_factory=dict)
    noted: list[Entry] = field(default_factory=list)

    def applied(self, name: str) -> Applied:
        """How far a table of a name is; SCN and batch 0 when it was never merged."""
        entry = self.tables.get(name)
        return Applied() if entry is None else Applied(entry.scn, entry.batch)

    def follow(self, entry: Entry) -> None:
        """Take an entry into account; entries come in the order they were written."""
        if entry.kind == "complete":
            self.complete, self.batch, self.completed = entry.scn, entry.batch, entry.at
        elif entry.kind == "table":
            self.tables[entry.name] = entry
            self.furthest[entry.name] = max(self.furthest.get(entry.name, 0), entry.scn)
            self.failed.pop(entry.name, None)
        elif entry.kind == "failed":
            self.failed[entry.name] = entry.detail
        elif entry.kind == "trimmed":
            self.trimmed = max(self.trimmed, entry.scn)
        elif entry.kind == "topic":
            self.topics[entry.name] = entry.detail
        elif entry.kind in NOTED:
            self.noted.append(entry)

    def open_losses(self, topic: str) -> list[Entry]:
        """The losses of a topic of which no record is known that is left."""
        mine = [entry for entry in self.noted if entry.kind == "lost" and entry.name == topic]
        ended = {(entry.scn, entry.detail) for entry in mine if entry.version != NONE_LEFT}
        return [entry for entry in mine if (entry.scn, entry.detail) not in ended]


def time_of(micros: int) -> datetime:
    """A time from microseconds since 1970, as Spark's `unix_micros` gives it; Python's own conversion takes the machine's
    zone."""
    return _EPOCH + timedelta(microseconds=micros)


class StateTable:
    """The record in `table`, which need not be there before the first append. Several threads may use it at once: an entry that one appends is not
    read by another one as that of another process.

    :param spark: the session of `table`.
    """

    def __init__(self, spark: SparkSession, table: LogTable) -> None:
        self._spark = spark
        self.table = table
        self._lock = threading.RLock()
        self._appends = 0
        self._version = NO_TABLE  # after the last reading, with every append of ours since
        self._seen: set[datetime] = set()  # times of the entries that were read or written
        self._last = _EPOCH  # the latest of them

    def exists(self) -> bool:
        """Whether there is a record."""
        return self.table.exists()

    def append(self, entries: Iterable[Entry]) -> None:
        """Append entries in one commit, with the present time; the first one makes the table. No commit for no entries. Where the clock was set
        back, the time is just after that of the newest entry that is known: times order the entries."""
        with self._lock:
            self._append(entries)

    def _append(self, entries: Iterable[Entry]) -> None:
        """See `append`."""
        now = max(datetime.now(UTC), self._last + timedelta(microseconds=1))
        # One commit, but in order.
        rows = [
            (now + timedelta(microseconds=i), *(getattr(entry, name) for name in _NAMES[1:]))
            for i, entry in enumerate(entries)
        ]
        if rows:
            self._appends += 1
            # Those that Spark appends have Delta join the small files of the others.
            if self._appends % _APPENDS_OF_SPARK == 0 or not self._appended_here(rows):
                self.table.append(self._spark.createDataFrame(rows, _COLUMNS).coalesce(1))
            self._version += 1
            self._seen.update(row[0] for row in rows)
            self._last = rows[-1][0]

    def _appended_here(self, rows: Sequence[tuple[object, ...]]) -> bool:
        if find_spec("pyarrow") is None:
            return False
        import pyarrow as pa  # type: ignore[import-untyped]

        kinds = {"TIMESTAMP": pa.timestamp("us", "UTC"), "STRING": pa.string(), "BIGINT": pa.int64()}
        fields = [(name, kinds[kind]) for name, kind in (column.split() for column in _COLUMNS.split(", "))]
        columns = [pa.array(column, kind) for column, (_, kind) in zip(zip(*rows, strict=True), fields, strict=True)]
        return self.table.append_here(pa.table(columns, schema=pa.schema(fields))) is not None

    def entries(self) -> list[Entry]:
        """All entries that are kept, oldest first. The table has to be there."""
        with self._lock:
            self._version = self.table.newest_version()
            entries = self._entries_here()
            if entries is None:
                entries = self._entries_of_spark()
            self._seen = {entry.at for entry in entries}
            self._last = max(self._seen, default=_EPOCH)
        return sorted(entries, key=lambda entry: entry.at)

    def _entries_here(self) -> list[Entry] | None:
        """All entries, read with no Spark job; None where only Spark reads them."""
        if find_spec("pyarrow") is None:
            return None
        import pyarrow as pa

        parts = self.table.read_here(RowsAsked(_MOST_BYTES))
        if parts is None or any(not set(_NAMES) <= set(part.column_names) for part in parts):
            return None
        entries: list[Entry] = []
        for part in parts:
            times = part.column("at").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            rows = part.select(_NAMES).set_column(0, "at", times)
            entries += map(_entry, rows.to_pylist())
        return entries

    def _entries_of_spark(self) -> list[Entry]:
        rows = self.table.read().selectExpr("unix_micros(at) AS at", *_NAMES[1:]).collect()
        return [_entry(row.asDict()) for row in rows]

    def of_others(self) -> list[Entry]:
        """Entries that others appended since this object last read the table, oldest first. The table has to be there."""
        with self._lock:
            if self.table.newest_version() <= self._version:
                return []
            seen = self._seen
            return [entry for entry in self.entries() if entry.at not in seen]

    def read(self) -> LakeState:
        """The state that all entries give; an empty state where there is no table."""
        return state_of(self.entries() if self.table.exists() else ())


def _entry(row: Mapping[str, Any]) -> Entry:
    """An entry of a row of the record, whose time is in microseconds since 1970."""
    return Entry(**{**row, "at": time_of(row["at"])})


def state_of(entries: Iterable[Entry]) -> LakeState:
    """The state that entries give; an empty one for no entries.

    :param entries: oldest first.
    """
    state = LakeState()
    for entry in entries:
        state.follow(entry)
    return state
