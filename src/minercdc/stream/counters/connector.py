"""Counters of a connector, for the terminal view, the log, GET /health and GET /metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import nan

from minercdc.stream.counters.commits import CommitTimes
from minercdc.stream.counters.lag_causes import TimeSpent
from minercdc.stream.counters.mining import MiningFigures
from minercdc.stream.counters.redo import RedoWritten
from minercdc.stream.counters.source import SourceFigures


@dataclass(slots=True)
class TableScan:
    """Progress of the initial snapshot in one table.

    :param table: its name, by `TableNames.of`.
    :param rows: delivered so far.
    :param expected_rows: None when not known.
    :param completed: no more of it is read by the initial snapshot.
    """

    table: str
    rows: int = 0
    expected_rows: int | None = None
    completed: bool = False


@dataclass(frozen=True, slots=True)
class RequestedScan:
    """A snapshot that a signal requested, and how far it is in its present table.

    :param kind: incremental or blocking.
    :param table: the one that is read now; '' once all are read.
    :param rows, chunks: delivered of that table.
    :param last, maximum: keys, as texts: the last one that is done, and the one it ends at; '' when not known.
    :param tables_left: how many follow this one.
    :param paused: it waits for the signal `resume-snapshot`; never so for a blocking one.
    """

    id: str
    kind: str
    table: str
    rows: int
    chunks: int
    last: str
    maximum: str
    tables_left: int
    paused: bool


@dataclass(frozen=True, slots=True)
class SuspendedShow:
    """A suspended table as it is shown; see `offset.SuspendedTable`."""

    table: str
    since_scn: int
    code: str
    reason: str
    fix: str


@dataclass(slots=True)
class Counters:
    """Counters of one connector, over all runs of its process. What is written counts once it is committed.

    :param phase: starting, standby, snapshot, streaming, reconnecting or stopped.
    :param records: records written to the sink.
    :param events, tables: row changes encoded, by Debezium's `op`, and by table (`TableNames.of`); skipped operations, too.
    :param transactions: source transactions written to their end.
    :param commits: Kafka transactions committed, or what stands for them in another sink.
    :param schema_changes: DDL statements, and structures found by snapshots, written.
    :param restarts: of the stream within this process, after errors.
    :param source_us: time of the latest change written, microseconds since the epoch in UTC.
    :param skipped: rows, and keys of vanished rows, left out: they cannot be decoded or encoded, or their table is suspended.
    :param left_out: the same per table; by the text `None` those of which the table is not known.
    :param suspended: tables whose rows are left out at present.
    :param unknown_lobs: LOBs changed in part while their value was not known; the placeholder stands for them.
    :param unselected: rows whose large values could not be read again, as when undo is gone; the placeholder stands for them.
    :param complete_scn: every commit at or below it is delivered; 0 while that is not known.
    :param scans: the tables of the initial snapshot.
    :param paused: streaming waits for the signal `resume-streaming`.
    :param requested: snapshots that signals requested, in the order they came.
    :param progress_us: source time up to which everything that was committed has been delivered, microseconds since the epoch in
        UTC; 0 while that is not known.
    :param since_us: when the process began to capture, or took the connector over, by our clock in microseconds since the epoch; 0
        before.
    :param source_ahead_us: how far the source's clock is ahead of ours, microseconds.
    :param trouble: message of the error of the last restart; '' once streaming has begun again.
    :param latest_trouble: the same, kept after streaming has begun again; '' when there was no restart.
    :param spent: what the stream's thread spent its time on.
    :param redo: rows and bytes of redo by table, captured or not.
    :param mining: figures of the LogMiner passes.
    :param commit_times: of the sink.
    :param source: the latest look at the source's views.
    :param snapshot_scn: of the initial snapshot, 0 when none was seen.
    :param history_recovered: schema changes that were read from the schema history.
    """

    phase: str = "starting"
    records: int = 0
    events: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    transactions: int = 0
    commits: int = 0
    schema_changes: int = 0
    restarts: int = 0
    skipped: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    suspended: tuple[SuspendedShow, ...] = ()
    unknown_lobs: int = 0
    unselected: int = 0
    complete_scn: int = 0
    source_us: int = 0
    progress_us: int = 0
    source_ahead_us: int = 0
    since_us: int = 0
    scans: list[TableScan] = field(default_factory=list)
    paused: bool = False
    requested: list[RequestedScan] = field(default_factory=list)
    trouble: str = ""
    latest_trouble: str = ""
    spent: TimeSpent = field(default_factory=TimeSpent)
    redo: RedoWritten = field(default_factory=RedoWritten)
    mining: MiningFigures = field(default_factory=MiningFigures)
    commit_times: CommitTimes = field(default_factory=CommitTimes)
    source: SourceFigures = field(default_factory=SourceFigures)
    snapshot_scn: int = 0
    history_recovered: int = 0

    def lag_seconds(self, now: float) -> float:
        """Seconds from `progress_us` to the source's present, at least 0; NaN while `progress_us` is not known.

        :param now: seconds since the epoch, by our clock.
        """
        if not self.progress_us:
            return nan
        return max(now + (self.source_ahead_us - self.progress_us) / 1e6, 0.0)

    def least_lag_seconds(self, now: float) -> float:
        """`lag_seconds`; while that is not known, what it is at least: the time since `since_us`. NaN when neither is known."""
        known = self.lag_seconds(now)
        if known == known or not self.since_us:
            return known
        return max(now - self.since_us / 1e6, 0.0)

    def scanned(self) -> tuple[int, int | None]:
        """Rows read by the initial snapshot, and how many are expected: None without tables, or unless that is known of
        each."""
        expected = [scan.expected_rows for scan in self.scans]
        known = [n for n in expected if n is not None]
        return sum(scan.rows for scan in self.scans), sum(known) if expected and len(known) == len(expected) else None
