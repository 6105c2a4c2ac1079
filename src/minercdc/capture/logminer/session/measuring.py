"""Measures the capture: times per batch and pass, writers of redo, open transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from minercdc.capture.logminer.buffer.assembler import Assembly
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.counters.mining import BufferedTransaction

_BLOCK = 512  # bytes of a redo block, but on disks with larger sectors
_OPEN_SECONDS = 5.0  # between two looks at the open transactions
_MOST_SHOWN = 20


class Measuring:
    """Writes the figures of one capture into `counters`. Each method notes what begins or has ended; the time since the last call
    counts for the cause of lag that was entered then. In a pass the order is `begin`, `start`, then `came` and `taken` for each
    batch, `end`.

    :param clock: of the database's host.
    """

    def __init__(self, counters: Counters, clock: HostClock) -> None:
        self._counters = counters
        self._spent = counters.spent
        self._figures = counters.mining
        self._clock = clock
        self._began = self._waited_from = time.monotonic()
        self._fetching = Cause.LOGMINER
        self._before: Mapping[Cause, float] = {}
        self._emitted = 0
        self._marks: Mapping[int, RedoAddress] = {}
        self._files: tuple[LogFile, ...] = ()
        self._newest: dict[int, int] = {}
        self._looked = float("-inf")

    def asks_source(self) -> None:
        """Note that the database is about to be connected to, or small queries are about to be made."""
        self._spent.enter(Cause.SOURCE)

    def begin(self, assembly: Assembly) -> None:
        """Note that a pass begins: the time from now on counts as that of queries for logs, and redo is counted from the present
        marks of `assembly`."""
        self._began = time.monotonic()
        self._marks = assembly.marks()
        self._spent.enter(Cause.SOURCE)

    def waits_for_redo(self, cause: Cause = Cause.REDO) -> None:
        """Note that nothing can be read until more is written or archived, or the next pass is due.

        :param cause: APPLY or SHIPPING when the primary has archived more: until the other database, in which LogMiner runs,
            has it.
        """
        self._spent.enter(cause)

    def start(self, files: tuple[LogFile, ...], complete_scn: int) -> None:
        """Note that LogMiner is about to be started on these logs; `complete_scn` is as of `PassLogs`."""
        self._files = files
        self._figures.complete_scn = complete_scn
        self._figures.took_logs(tuple(log.name for log in files))
        newest: dict[int, int] = {}
        for log in files:
            newest[log.thread] = max(newest.get(log.thread, 0), log.sequence)
        for thread, sequence in newest.items():
            self._figures.log_switches += max(sequence - self._newest.get(thread, sequence), 0)
        self._newest |= newest
        self._spent.enter(Cause.LOGMINER)
        self._started = self._waited_from = time.monotonic()
        self._fetching = Cause.LOGMINER

    def came(self) -> None:
        """Note that a batch of rows has come; before its rows are taken."""
        now = time.monotonic()
        if self._fetching is Cause.LOGMINER:
            self._figures.starts.add(now - self._started)
        self._waited = now - self._waited_from
        self._emitted = sum(self._counters.events.values())
        self._before = self._spent.begin_batch()

    def taken(self, rows: int, assembly: Assembly) -> None:
        """Note that all events of a batch of so many fetched rows are taken, and the next batch is waited for. Counts the
        batch's redo by table."""
        captured = self._count(assembly)
        seen = sum(captured)
        emitted = sum(self._counters.events.values()) - self._emitted
        self._spent.end_batch(
            self._before,
            self._waited,
            captured[1],
            max(captured[0] - emitted, 0),
            max(emitted, 0 if seen else 1),
            self._fetching,
        )
        self._fetching = Cause.FETCH
        self._waited_from = time.monotonic()
        self._figures.rows += rows
        self._figures.batches += 1

    def _count(self, assembly: Assembly) -> tuple[int, int]:
        """Count redo. Returns how many rows were of captured tables, and how many of others."""
        counted, captured = assembly.counted()
        self._counters.redo.add(counted, captured)
        ours = sum(rows for schema, table, rows, _ in counted if (schema or "", table or "") in captured)
        return ours, sum(rows for _, _, rows, _ in counted) - ours

    def end(self, assembly: Assembly, resume_scns: Iterable[int]) -> None:
        """Note that a pass has come to its end. Looks at the open transactions, at most every five seconds.

        :param resume_scns: of the threads, where a restart goes on.
        """
        now = time.monotonic()
        figures = self._figures
        figures.passes.add(now - self._began)
        figures.redo_bytes += read_through(self._marks, assembly.marks(), self._files)
        figures.resume_scn = min(resume_scns, default=0)
        if now - self._looked >= _OPEN_SECONDS:
            self._looked = now
            self._show_open(assembly.open())

    def _show_open(self, found: list[Transaction]) -> None:
        figures = self._figures
        figures.open_count = len(found)
        figures.open_changes = sum(one.changes for one in found)
        figures.spilled_bytes = sum(one.spill.size for one in found if one.spill is not None)
        figures.kept_count = sum(one.kept is not None for one in found)
        figures.kept_bytes = sum(one.kept.bytes for one in found if one.kept is not None)
        starts = sorted(((one.start, one) for one in found), key=lambda pair: pair[0].time)
        figures.open = tuple(
            BufferedTransaction(
                xid=one.key[1].hex(),
                user=start.user or "",
                began_us=self._clock.utc_us(start.time),
                start_scn=start.start_scn or start.scn,
                changes=one.changes,
                spilled_bytes=one.spill.size if one.spill is not None else 0,
            )
            for start, one in starts[:_MOST_SHOWN]
        )


def read_through(before: Mapping[int, RedoAddress], after: Mapping[int, RedoAddress], files: tuple[LogFile, ...]) -> int:
    """Bytes of redo between the marks of each thread, in all; 0 for a thread that has no mark before, or whose mark did not move.

    :param before, after: marks at begin and end of a pass.
    :param files: that were read; the rest of a log that is not among them counts nothing.
    """
    total = 0
    for thread, mark in after.items():
        since = before.get(thread)
        if since is None or mark <= since:
            continue
        total += _offset(mark) - _offset(since)
        total += sum(log.bytes for log in files if log.thread == thread and since.sequence <= log.sequence < mark.sequence)
    return max(total, 0)


def _offset(address: RedoAddress) -> int:
    """Bytes from the start of the record's log to the record, with blocks of 512 bytes."""
    _, block, offset = address.rs_id.split(".")
    return int(block, 16) * _BLOCK + int(offset, 16)
