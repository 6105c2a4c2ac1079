"""Rows in redo order to committed transactions in commit order.

    START         remembered
    DML           captured table? kept until the COMMIT        ROLLBACK=1: takes out the row it undoes
    ROLLBACK      the transaction is forgotten
    COMMIT        delivered before, or part of the snapshot? forgotten; else its events, then Progress
    DDL           of a captured table: SchemaChange, then Progress

Per thread, `_Reading` says how far rows have been read, as redo record and rows done within it: a START and the first
change can share one record, and SSN, so neither "later than the record" nor (RS_ID, SSN) is a safe place to go on from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from minercdc.capture.logminer.decoding import HostClock, TransactionDecoder
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, log_start
from minercdc.capture.logminer.row import LogMinerRow, OpCode
from minercdc.capture.logminer.shapes import ShapeTracker
from minercdc.capture.logminer.transactions import Transaction, TransactionBuffer
from minercdc.events import Event, Progress, Scn, TransactionInfo

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Reading:
    """How far one thread is read in this life of the process, and what of it is delivered.

    :param rs_id: record of the last row read, '' when none was.
    :param rows: rows of that record that were read.
    :param skip: rows of that record still to be passed over in the present pass.
    :param commits: commits of that record that were read.
    """

    rs_id: str = ""
    rows: int = 0
    skip: int = 0
    commits: int = 0
    scn: int = 0
    last_commit: RedoAddress | None = None
    last_commit_scn: int = 0
    last_ddl: RedoAddress | None = None


class BufferedAssembly:
    """Assembles what LogMiner shows in its plain mode.

    Lives as long as the capture: passes over redo follow one another, each from where the last one ended.

    :param wants_user: whether transactions of this user (None: not known) are captured.
    """

    def __init__(
        self,
        start: LogMinerPosition,
        buffer: TransactionBuffer,
        shapes: ShapeTracker,
        decoder: TransactionDecoder,
        clock: HostClock,
        wants_user: Callable[[str | None], bool] = lambda _: True,
    ) -> None:
        self._start = start
        self._buffer = buffer
        self._shapes = shapes
        self._decoder = decoder
        self._clock = clock
        self._wants_user = wants_user
        self._captured: dict[tuple[str | None, str | None, int], bool] = {}
        self._generation = -1
        self._complete_scn = start.snapshot_scn
        self._threads: dict[int, _Reading] = {}
        for thread, mark in start.threads.items():
            # Row 0 of the record: after a restart, what is dropped is told by commits, not by counted rows.
            self._threads[thread] = _Reading(
                mark.resume.rs_id,
                scn=mark.resume_scn,
                last_commit=mark.last_commit,
                last_commit_scn=mark.last_commit_scn,
                last_ddl=mark.last_ddl,
            )

    def marks(self) -> dict[int, RedoAddress]:
        """Per thread, the record that the next pass has to begin at."""
        return {thread: RedoAddress(at.rs_id, at.rows) for thread, at in self._threads.items() if at.rs_id}

    def begin_pass(self) -> None:
        """Rows from `marks` on are about to come, those of the marked records once more."""
        for at in self._threads.values():
            at.skip = at.rows

    def end_pass(self, complete: Mapping[int, int], complete_scn: int) -> None:
        """A pass came to its end.

        :param complete: per thread, the sequence number of the last log that was finished when the pass began. All of
            it is read, so the next pass need not begin in it, even when no row of it was shown.
        :param complete_scn: every commit up to it was in redo when the pass began.
        """
        for thread, sequence in complete.items():
            at = self._threads.setdefault(thread, _Reading())
            start = log_start(sequence + 1)
            if RedoAddress(at.rs_id) < start:
                at.rs_id, at.rows, at.commits = start.rs_id, 0, 0
        self._complete_scn = max(self._complete_scn, complete_scn)

    def take(self, rows: Iterable[LogMinerRow]) -> Iterator[Event]:
        """Take note of whole rows in redo order, and yield what became ready."""
        for row in rows:
            address = self._advance(row)
            if address is not None and not address.rows:
                continue
            code = row.code
            if code <= OpCode.UPDATE or code == OpCode.UNSUPPORTED:
                name = (row.owner, row.table, row.object_id)
                if self._generation != self._shapes.tables.generation or name not in self._captured:
                    yield from self._learn(row)
                if self._captured[name]:
                    if row.rollback:
                        self._buffer.undo(row, address)
                    else:
                        self._buffer.append(row, address)
            elif code == OpCode.START:
                self._buffer.begin(row, address)
            elif code == OpCode.COMMIT:
                yield from self._commit(row, address)
            elif code == OpCode.ROLLBACK:
                if transaction := self._buffer.end(row):
                    transaction.close()
            elif code == OpCode.DDL:
                yield from self._ddl(row, address)
            elif code == OpCode.MISSING_SCN:
                _log.warning("LogMiner reports a gap of SCNs at %s: %s", row.scn, row.info)

    def idle(self, time_us: int) -> Progress:
        """The tick that says how far everything is read."""
        return Progress(self.position(), Scn(self._complete_scn), time_us)

    def position(self) -> LogMinerPosition:
        """Where to go on from after a restart."""
        threads = {}
        for thread, at in self._threads.items():
            if not at.rs_id:
                continue
            oldest = self._buffer.oldest(thread)
            resume, scn = RedoAddress(at.rs_id), at.scn
            if oldest is not None and oldest.address is not None and oldest.address.rs_id < at.rs_id:
                resume, scn = RedoAddress(oldest.address.rs_id), oldest.scn
            threads[thread] = ThreadMark(resume, scn, at.last_commit, at.last_commit_scn, at.last_ddl)
        return LogMinerPosition(threads, self._start.start_scn, self._start.snapshot_scn, self._start.resetlogs)

    def close(self) -> None:
        """Forget the open transactions; they are mined again."""
        self._buffer.close()

    def _advance(self, row: LogMinerRow) -> RedoAddress | None:
        """Move the thread's reading on to this row; its address. None when it has no address; rows=0: read before."""
        rs_id = row.rs_id.strip()
        if not row.thread or not rs_id.strip("0x."):
            return None
        at = self._threads.get(row.thread)
        if at is None:
            at = self._threads[row.thread] = _Reading()
        if rs_id != at.rs_id:
            at.rs_id, at.rows, at.skip, at.commits = rs_id, 1, 0, 0
        elif at.skip:
            at.skip -= 1
            return RedoAddress(rs_id, 0)
        else:
            at.rows += 1
        at.scn = row.scn
        return RedoAddress(rs_id, at.rows)

    def _learn(self, row: LogMinerRow) -> Iterator[Event]:
        """Find out whether rows of this name are captured; a table whose CREATE TABLE was not seen is read now."""
        table = self._shapes.captured(row.owner, row.table, row.object_id)
        if table is not None and self._shapes.tables.find(table) is None:
            change = self._shapes.discover(table, row, self._clock.utc_us(row.timestamp))
            if change is not None:
                yield change
        if self._generation != self._shapes.tables.generation:
            self._captured.clear()
            self._generation = self._shapes.tables.generation
        self._captured[row.owner, row.table, row.object_id] = table is not None

    def _commit(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        transaction = self._buffer.end(row)
        delivered = self._note_commit(row, address, transaction)
        if transaction is None:
            return
        info = self._info(row, transaction)
        if not delivered and self._wants_user(info.user):
            count = 0
            for event in self._decoder.events(transaction, info):
                count = event.seq
                yield event
            if count:
                yield Progress(self.position(), Scn(self._complete_scn), info.commit_us, info)
        transaction.close()

    def _note_commit(self, row: LogMinerRow, address: RedoAddress | None, transaction: Transaction | None) -> bool:
        """Move the thread's mark of commits; whether this one was delivered, or is part of the snapshot."""
        thread = row.thread or (transaction.thread if transaction else 0)
        at = self._threads.get(thread)
        delivered = row.scn <= self._start.snapshot_scn
        if at is None:
            return delivered
        if address is None:
            return delivered or row.scn < at.last_commit_scn
        at.commits += 1
        place = RedoAddress(address.rs_id, at.commits)
        if at.last_commit is not None and place <= at.last_commit:
            return True
        at.last_commit, at.last_commit_scn = place, row.scn
        if len(self._threads) == 1:
            # Another commit may have the same SCN.
            self._complete_scn = max(self._complete_scn, row.scn - 1)
        return delivered

    def _info(self, row: LogMinerRow, transaction: Transaction) -> TransactionInfo:
        start = transaction.start
        return TransactionInfo(
            transaction.key[1].hex(),
            Scn(start.start_scn or row.start_scn or 0),
            Scn(row.scn),
            self._clock.utc_us(start.time),
            self._clock.utc_us(row.timestamp),
            row.thread or transaction.thread,
            start.user or row.user,
            start.client_id or row.client_id,
        )

    def _ddl(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        if not (row.info or "").lstrip().startswith("USER DDL") or row.scn <= self._start.snapshot_scn:
            return
        at = self._threads.get(row.thread)
        if at is not None and address is not None:
            if at.last_ddl is not None and address.rs_id <= at.last_ddl.rs_id:
                return
            at.last_ddl = RedoAddress(address.rs_id)
        time_us = self._clock.utc_us(row.timestamp)
        changed = False
        for change in self._shapes.follow(row, time_us):
            changed = True
            yield change
        if changed:
            yield Progress(self.position(), Scn(self._complete_scn), time_us)
