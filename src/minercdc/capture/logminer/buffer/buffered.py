"""Assembles committed transactions, in commit order, from rows in redo order.

    START         remembered
    DML           captured table? kept until the COMMIT        ROLLBACK=1: takes out the row it undoes
    ROLLBACK      the transaction is forgotten; with a partial XID, if all its changes are undone
    COMMIT, DDL   delivered, if they are new (delivery.py); held while another thread is not read that far

Per thread, `_Reading` says how far rows have been read, as redo record and rows done within it: a START and the first
change can share one record, and SSN, so neither "later than the record" nor (RS_ID, SSN) is a safe place to go on from.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.delivery import Delivered, Delivery
from minercdc.capture.logminer.buffer.native_mining import Mining
from minercdc.capture.logminer.buffer.operations import dispatch
from minercdc.capture.logminer.buffer.transactions import Transaction, TransactionBuffer, TransactionKey, mark_of
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import Keeping, KeepingRules, Loaded
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, Resumes, ThreadMark, address_of, log_start
from minercdc.capture.logminer.session.query import ContainerNames, build_query
from minercdc.capture.logminer.session.row import PARTIAL_XID, ContinuationJoiner, LogMinerRow, OpCode
from minercdc.stream.counters.redo import Counted
from minercdc.stream.events import ChangeRun, Event, Progress, Scn

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Reading:
    """How far one thread is read by this capture.

    :param rs_id: record at which the next pass begins: that of the last row read, the one to begin with after a restart, or the
        start of the log after the last one that was read to its end; '' for none.
    :param rows: rows of that record that were read.
    :param skip: rows of that record still to be passed over in the present pass.
    :param commits: commits of that record that were read.
    :param scn: of the last row read, or of where a restart begins.
    """

    rs_id: str = ""
    rows: int = 0
    skip: int = 0
    commits: int = 0
    scn: int = 0


@dataclass(slots=True)
class _BeforeHeld:
    """What of a thread was delivered before all that is held of it, and what has been released since.

    :param released: COMMITs, and DDL with `rows` 0.
    """

    marks: Delivered
    released: list[RedoAddress]

    def move_on(self, done: Delivered, held: RedoAddress | None, *, is_commit: bool) -> None:
        """Move the mark of COMMITs, or of DDL, on to what is delivered before the first that is held.

        :param held: that; None: none is.
        """
        last = done.last_commit if is_commit else done.last_ddl
        if held is not None and last is not None and held < last:
            earlier = (place for place in self.released if bool(place.rows) == is_commit and place < held)
            mark = self.marks.last_commit if is_commit else self.marks.last_ddl
            last = max([*((mark,) if mark else ()), *earlier], default=None)
        if is_commit:
            self.marks.last_commit = last
        else:
            self.marks.last_ddl = last
        self.released = [place for place in self.released if bool(place.rows) != is_commit or last is None or last < place]


def _may_come_again(read: Mapping[int, str], marks: Mapping[int, ThreadMark]) -> bool:
    """Whether a restart may read again what threads were read up to."""
    return any(thread in marks and marks[thread].resume.rs_id <= rs_id for thread, rs_id in read.items())


class BufferedAssembly:
    """Makes events of what LogMiner shows without COMMITTED_DATA_ONLY: it buffers the rows of each transaction until its COMMIT.

    Lasts as long as one `stream` of the capture: passes over redo follow one another, each from where the last one ended. For one
    thread. It owns `buffer`, and closes it.

    :param start: position that the stream starts from.
    :param buffer: keeps the open transactions; gets the XIDs that `start` has as given up.
    :param lobs: `lob.enabled`.
    """

    committed = False

    def __init__(
        self, start: LogMinerPosition, buffer: TransactionBuffer, delivery: Delivery, *, lobs: bool = False
    ) -> None:
        self._start = start
        self._lobs = lobs
        self._buffer = buffer
        buffer.given_up |= {bytes.fromhex(xid) for xid in start.given_up}
        self._delivery = delivery
        self._resumes = Resumes()
        self._miner = Mining(start, buffer, delivery, self._resumes, lobs=lobs) if delivery.scans else None
        self._bound = NO_BOUND
        self._held: list[tuple[int, int, LogMinerRow, RedoAddress | None]] = []
        self._holding = itertools.count()
        # A COMMIT or DDL that is held may be released after later ones of its thread, whose SCNs are lower. So the marks of the start
        # say what an earlier run has delivered; a position has the marks from before what is held, and names what was released since.
        self._before = {thread: Delivered(mark.last_commit, 0, mark.last_ddl) for thread, mark in start.threads.items()}
        self._ahead = {thread: set(mark.ahead) for thread, mark in start.threads.items() if mark.ahead}
        self._before_held: dict[int, _BeforeHeld] = {}
        # Transactions whose COMMIT has no address, which no mark shows to be delivered; with how far each thread was read then.
        self._unplaced: dict[bytes, dict[int, str]] = {}
        # Open transactions that a ROLLBACK with a partial XID may have ended, with that row.
        self._rolled_back: dict[TransactionKey, LogMinerRow] = {}
        self._keeping: Keeping | None = None
        # Row 0 of the record: after a restart, commits say what is dropped, not counted rows.
        self._threads = {thread: _Reading(mark.resume.rs_id, scn=mark.resume_scn) for thread, mark in start.threads.items()}

    def keep(self, files: KeptFiles, rules: KeepingRules, loaded: Loaded) -> None:
        """From now on keep open transactions over restarts, and go on with those of `loaded`. To be called before the first
        pass; the assembly's `start` has to be the position of `loaded`."""
        self._keeping = Keeping(files, rules, self._buffer, loaded, self._has_held)
        if self._miner is not None:
            self._miner.keeping = self._keeping

    def marks(self) -> dict[int, RedoAddress]:
        """Per thread, the record at which the next pass begins, see `_Reading.rs_id`; without the threads that have none."""
        return {thread: RedoAddress(at.rs_id, at.rows) for thread, at in self._threads.items() if at.rs_id}

    def begins(self) -> dict[int, RedoAddress]:
        """`marks`; with `lobs` the start of the oldest open transaction, even one that has touched no captured table yet:
        LogMiner shows rows with large values only when it has read their transaction from its START."""
        begins = self.marks()
        for thread, mark in begins.items() if self._lobs else ():
            begins[thread] = min(mark, self._oldest(thread, mark, 0)[0])
        return begins

    def _oldest(self, thread: int, mark: RedoAddress, scn: int) -> tuple[RedoAddress, int]:
        """Record and SCN of the start of the oldest transaction that is still needed from there, if that is before `mark`;
        else `mark` and `scn`."""
        starts = [self._buffer.oldest(thread)]
        if self._lobs:
            starts.append(self._buffer.oldest_untouched(thread))
        for start in starts:
            if start is not None and start.address is not None and start.address.rs_id < mark.rs_id:
                mark, scn = RedoAddress(start.address.rs_id), start.scn
        return mark, scn

    def query(self, container: ContainerNames, excluded_owners: frozenset[str]) -> tuple[str, dict[str, str | int]]:
        """SQL and binds that read all rows, committed or not, from `marks` on; the parameters as of `query.build_query`."""
        return build_query(self.marks(), container, excluded_owners, lobs=self._lobs)

    def begin_pass(self, begun: Pass) -> None:
        """Begin a pass: rows from `marks` on are about to come, those of the marked records once more."""
        self._bound = begun.bound
        if self._keeping is not None:
            self._keeping.begin_pass()
        for at in self._threads.values():
            at.skip = at.rows

    def end_pass(self, begun: Pass) -> Iterator[Event]:
        """End a pass, all of whose rows were taken; yields what was held until now, and was committed below `begun.bound`.
        The next pass does not begin in a finished log, even when no row of it was shown. With `begun.oldest_scn`, STARTs of ended
        transactions without captured rows are forgotten. Nothing is done until it is iterated over. Raises as `commit`."""
        yield from self._release(begun.bound)
        for thread, sequence in begun.complete.items():
            at = self._thread(thread)
            start = log_start(sequence + 1)
            if RedoAddress(at.rs_id) < start:
                at.rs_id, at.rows, at.commits = start.rs_id, 0, 0
        self._delivery.complete(begun.complete_scn)
        if begun.complete_scn and begun.oldest_scn:
            # What was not open then had its end in the logs that are read now.
            self._buffer.drop_untouched(begun.oldest_scn)

    def take(self, rows: Iterable[LogMinerRow]) -> Iterator[Event]:
        """Take whole rows in redo order, and yield the events that become ready; nothing is taken until it is iterated over.
        Raises as `operations.dispatch`."""
        return dispatch(self._unread(rows), self, self._delivery)

    def take_fetched(self, batch: Sequence[tuple[Any, ...]], joiner: ContinuationJoiner) -> Iterator[Event]:
        """As `take`, of the rows of a batch as it was fetched; pieces of a statement wait in `joiner` for the next batch. The
        native path takes the rows, where there is one; those it cannot take go to `take`."""
        if self._miner is None or self._ahead or self._unplaced:
            yield from self.take(joiner.join(batch))
            return
        at, count = 0, len(batch)
        fetched = self._miner.batch(batch)
        while at < count:
            if not joiner.is_open:
                run, at = self._miner.advance(fetched, at, self._threads, self._bound if not self._held else 0)
                if run is not None:
                    yield ChangeRun(run)
                    yield run.progress(run.ended(len(run)))
                    continue
                if at == count:
                    return
            yield from self.take(joiner.join((batch[at],)))
            at += 1

    def counted(self) -> tuple[list[Counted], frozenset[tuple[str, str]]]:
        """As `Delivery.counted`, of redo that was taken since the last call."""
        return self._delivery.counted(self._buffer.counted())

    def _unread(self, rows: Iterable[LogMinerRow]) -> Iterator[tuple[LogMinerRow, RedoAddress | None]]:
        """The rows that an earlier pass has not read, with their addresses, None for rows without one. Rows that are in the files
        of a kept transaction are left out."""
        for row in rows:
            address = self._advance(row)
            if self._keeping is not None:
                for early in self._keeping.waiting():
                    yield early, None
                if self._keeping.passes_over(row, address):
                    continue
            if address is None or address.rows:
                yield row, address

    def append(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep a change of a captured table until its transaction ends, as `TransactionBuffer.append`; its errors."""
        if whole := self._whole(row, address):
            self._buffer.append(whole, address)

    def undo(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Take the row that this one undoes out of the buffer; no effect when it is not there. Raises as
        `TransactionBuffer.undo`."""
        if whole := self._whole(row, address):
            self._buffer.undo(whole, address, self._delivery.unseen(row, lobs=self._lobs))

    def end_statement(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep the row with the transaction, as `TransactionBuffer.end_statement`; its errors."""
        if whole := self._whole(row, address):
            self._buffer.end_statement(whole, address)

    def start(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Remember the START of a transaction, as `TransactionBuffer.begin`."""
        self._buffer.begin(row, address)

    def commit(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Yields what was held and was committed earlier, then the transaction that this COMMIT ends, unless it was delivered
        before or is part of the snapshot. At or above the pass's bound it is held: other threads may have earlier commits. The
        COMMIT's number within its redo record is counted in any case. Raises as `Delivery.commit` and `Delivery.ddl`."""
        at = self._threads.get(row.thread)
        place = None
        if at is not None and address is not None:
            at.commits += 1
            place = RedoAddress(address.rs_id, at.commits)
        whole = self._whole(row, address)
        if whole is None:
            return
        if not self._waits(row):
            yield from self._release(row.scn)
            yield from self._end(whole, place)
        elif self._buffer.find(whole) is not None:
            self._hold(whole, place)
        else:
            self._buffer.end(whole)  # its START is of no use any more

    def roll_back(self, row: LogMinerRow) -> None:
        """Drop the changes of a transaction, and close it. A row with a partial XID may have ended a ROLLBACK TO SAVEPOINT
        (docs/reference/logminer-facts.md#b-5): a transaction with changes that are not undone stays open. Raises as
        `Transaction.replay`."""
        whole = self._whole(row, address_of(row.thread, row.rs_id))
        if whole is None:
            return
        known = self._buffer.find(whole) if row.xid[4:] == PARTIAL_XID else None
        if known is not None and any(one.code != OpCode.INTERNAL for one in known.replay()):
            self._rolled_back[known.key] = whole
        elif transaction := self._buffer.end(whole):
            self._forget(transaction)
            transaction.close()

    def drop_rolled_back(self, transaction: Transaction) -> bool:
        """See `Assembly.drop_rolled_back`."""
        row = self._rolled_back.get(transaction.key)
        if row is None or self._buffer.end(row) is None:
            return False
        self._forget(transaction)
        transaction.close()
        return True

    def ddl(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Yields what was held and was committed earlier, then the SchemaChanges of a DDL statement and a Progress; at or above
        the pass's bound it is held. Raises as `Delivery.commit` and `Delivery.ddl`."""
        if self._waits(row):
            self._hold(row, address)
        else:
            yield from self._release(row.scn)
            yield from self._follow(row, address)

    def idle(self, time_us: int) -> Progress:
        """A Progress with the present position, for when there are no events.

        :param time_us: source time up to which every commit was emitted, in microseconds since 1970 in UTC; 0: not known.
        """
        return Progress(self.position(), Scn(self._delivery.complete_scn), time_us)

    def position(self) -> LogMinerPosition:
        """The position after all that was emitted. Each thread's redo is read again from the oldest transaction that is open
        or held and not kept, or from where the rows of the kept ones end; without these, from the last record that was read."""
        threads = {}
        for thread, at in self._threads.items():
            if not at.rs_id:
                continue
            resume, scn = self._oldest(thread, RedoAddress(at.rs_id), at.scn)
            done = self._delivery.threads[thread]
            done, ahead = self._delivered_to(thread, done)
            for _, _, row, place in self._held:
                if row.thread == thread and place is not None and place.rs_id < resume.rs_id:
                    resume, scn = RedoAddress(place.rs_id), row.scn  # DDL, of which nothing is buffered
            resume, scn = self._resumes.furthest(thread, resume, scn)
            floor, floor_scn = self._keeping.floors.get(thread, (None, 0)) if self._keeping else (None, 0)
            if floor is not None and floor.rs_id < resume.rs_id:
                resume, scn = floor, floor_scn
            marks = done.last_commit, done.last_commit_scn, done.last_ddl
            threads[thread] = ThreadMark(resume, scn, *marks, floor, floor_scn, ahead)
        self._unplaced = {mark: read for mark, read in self._unplaced.items() if _may_come_again(read, threads)}
        given_up = frozenset(xid.hex() for xid in self._buffer.given_up.union(self._unplaced))
        kept = (tuple(self._keeping.kept.values()), self._keeping.version) if self._keeping else ((), 0)
        start = self._start
        base = threads, start.start_scn, start.snapshot_scn, start.resetlogs
        position = LogMinerPosition(*base, given_up, *kept, pdbs=start.pdbs, dbid=start.dbid, whole=self._lobs)
        return replace(position, pdb_ids=start.pdb_ids)

    def open(self) -> list[Transaction]:
        """Transactions that wait for their end, those that lie in files included; not those whose COMMIT was read and is held."""
        held = [self._buffer.find(row) for _, _, row, _ in self._held if row.code == OpCode.COMMIT]
        asleep = self._keeping.open() if self._keeping else []
        return [transaction for transaction in self._buffer.open() if transaction not in held] + asleep

    def give_up(self, transaction: Transaction) -> None:
        """Do not wait for the end of a transaction of `open` any more: its changes are lost, and positions name it as given
        up."""
        if self._keeping is not None and self._keeping.give_up(transaction):
            return
        self._forget(transaction)
        self._buffer.give_up(transaction)

    def close(self) -> None:
        """Forget the open transactions, and close the buffer; the next run mines them again, except those that are kept. The
        assembly is of no use afterwards."""
        if self._keeping is not None:
            self._keeping.close()
        self._buffer.close()

    def _advance(self, row: LogMinerRow) -> RedoAddress | None:
        """Move the thread's reading on to this row, and return the row's address: None when it has none; with `rows` 0 when an
        earlier pass has read it. For a new record, kept transactions are written out before that; raises as `Keeping.meet`."""
        place = address_of(row.thread, row.rs_id)
        if place is None:
            return None
        rs_id = place.rs_id
        if self._keeping is not None and (row.thread not in self._threads or rs_id != self._threads[row.thread].rs_id):
            self._keeping.meet(row, rs_id)
        at = self._threads.get(row.thread) or self._thread(row.thread)
        if rs_id != at.rs_id:
            at.rs_id, at.rows, at.skip, at.commits = rs_id, 1, 0, 0
        elif at.skip:
            at.skip -= 1
            return RedoAddress(rs_id, 0)
        else:
            at.rows += 1
        at.scn = row.scn
        return RedoAddress(rs_id, at.rows)

    def _thread(self, number: int) -> _Reading:
        at = self._threads.setdefault(number, _Reading())
        self._delivery.threads.setdefault(number, Delivered())
        return at

    def _whole(self, row: LogMinerRow, address: RedoAddress | None) -> LogMinerRow | None:
        """A row with a partial XID, with that of the open transaction whose it is: the latest one of the undo segment and slot, where
        earlier ones have ended. None for a row of an earlier one: without address it comes again in each pass."""
        if row.xid[4:] != PARTIAL_XID:
            return row
        slot = (row.con_id or 0, row.xid[:4])
        held = {(held.con_id or 0, held.xid) for _, _, held, _ in self._held}
        known = [one for one in self._buffer.open() if (one.key[0], one.key[1][:4]) == slot and one.key not in held]
        if not known:
            return row
        latest = max(known, key=lambda one: one.start.order)
        if address is None and row.scn < latest.start.scn:
            return None
        for one in known:
            if one is not latest:
                self.drop_rolled_back(one)
        return row._replace(xid=latest.key[1])

    def _forget(self, transaction: Transaction) -> None:
        self._rolled_back.pop(transaction.key, None)
        if self._keeping is not None:
            self._keeping.end(transaction)

    def _has_held(self, thread: int) -> bool:
        return any(row.thread == thread for _, _, row, _ in self._held)

    def _waits(self, row: LogMinerRow) -> bool:
        return row.scn >= self._bound

    def _hold(self, row: LogMinerRow, place: RedoAddress | None) -> None:
        heapq.heappush(self._held, (row.scn, next(self._holding), row, place))
        if (done := self._delivery.threads.get(row.thread)) is not None:
            self._before_held.setdefault(row.thread, _BeforeHeld(replace(done), []))

    def _release(self, before_scn: int) -> Iterator[Event]:
        """Yield the events of the held COMMITs and DDL below `before_scn`, in order of SCN, and hold them no longer; not
        of those at the pass's bound or above it."""
        while self._held and self._held[0][0] < min(before_scn, self._bound):
            _, _, row, place = heapq.heappop(self._held)
            if not self._has_held(row.thread):
                self._before_held.pop(row.thread, None)
            if row.code == OpCode.DDL:
                yield from self._follow(row, place)
            else:
                yield from self._end(row, place)

    def _end(self, row: LogMinerRow, place: RedoAddress | None) -> Iterator[Event]:
        mark = mark_of((row.con_id or 0, row.xid), bool(self._start.pdbs))
        is_given_up = place is None and mark in self._buffer.given_up
        transaction = self._buffer.end(row)
        if transaction is not None:
            self._forget(transaction)
        if place is None and (transaction is not None or is_given_up):
            self._unplaced[mark] = {thread: at.rs_id for thread, at in self._threads.items()}
        delivered = self._note_commit(row, place) or self._delivery.is_snapshot(row)
        yield from self._delivery.commit(row, transaction, delivered, self.position)

    def _follow(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        followed = address is not None and self._is_done(row.thread, RedoAddress(address.rs_id))
        yield from self._delivery.ddl(row, address, followed, self.position)

    def _is_done(self, thread: int, place: RedoAddress) -> bool:
        """Whether an earlier run has delivered a COMMIT, or DDL with `rows` 0. It is noted for positions that this thread has come to it,
        while an earlier one is held."""
        if thread in self._before_held:
            self._before_held[thread].released.append(place)
        ahead = self._ahead.get(thread)
        if ahead is not None and place in ahead:
            ahead.discard(place)
            if not ahead:
                del self._ahead[thread]
            return True
        return thread in self._before and self._before[thread].has(place)

    def _delivered_to(self, thread: int, done: Delivered) -> tuple[Delivered, tuple[RedoAddress, ...]]:
        """The marks of a thread up to which all is delivered, and what is delivered beyond them, as of `ThreadMark.ahead`: `done`,
        unless something earlier is held still."""
        ahead = set(self._ahead.get(thread, ()))
        held = self._before_held.get(thread)
        if held is not None:
            waiting = [(row.code, place) for _, _, row, place in self._held if row.thread == thread and place is not None]
            commit = min((place for code, place in waiting if code == OpCode.COMMIT), default=None)
            ddl = min((place.rs_id for code, place in waiting if code == OpCode.DDL), default=None)
            held.move_on(done, commit, is_commit=True)
            held.move_on(done, None if ddl is None else RedoAddress(ddl), is_commit=False)
            done = replace(held.marks, last_commit_scn=done.last_commit_scn)
            ahead |= set(held.released)
        return done, done.beyond(sorted(ahead))

    def _note_commit(self, row: LogMinerRow, place: RedoAddress | None) -> bool:
        """Move the thread's mark of commits on to this COMMIT. True when the mark had passed it at the start: it is delivered. Within
        a run nothing comes twice.

        :param place: None: the row has no address. Then the mark stays.
        """
        if place is None or self._delivery.threads.get(row.thread) is None:
            return False
        is_done = self._is_done(row.thread, place)
        self._delivery.note_commit(row.thread, place, row.scn)
        return is_done
