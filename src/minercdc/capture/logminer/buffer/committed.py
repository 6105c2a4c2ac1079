"""Delivers committed transactions as LogMiner hands them out with COMMITTED_DATA_ONLY.

    START, the transaction's rows, COMMIT; then the next transaction, in order of commit; nothing that was rolled back

Each pass begins where the oldest undelivered transaction can have begun, and shows again what came since then: the address of the
COMMIT says what is delivered already. That beginning cannot be seen in the rows, for open transactions are not shown; it
is read from V$TRANSACTION before the pass, and it is used a pass later: a transaction that was no longer open
then has its COMMIT in the logs by now. LogMiner is given no upper bound: what a bound cuts off is in neither part. From the first
commit on that has to wait (`Pass.bound`), all are passed over here, and come again in the next pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.delivery import Delivered, Delivery
from minercdc.capture.logminer.buffer.operations import dispatch
from minercdc.capture.logminer.buffer.transactions import Transaction, TransactionBuffer, mark_of
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND, LogFile
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, address_of, log_start
from minercdc.capture.logminer.session.query import ContainerNames, committed_query
from minercdc.capture.logminer.session.row import PARTIAL_XID, ContinuationJoiner, LogMinerRow, OpCode
from minercdc.errors import MiningSessionError
from minercdc.stream.counters.redo import Counted
from minercdc.stream.events import Event, Progress, Scn


def beginning(files: Sequence[LogFile], oldest_scn: int) -> dict[int, RedoAddress]:
    """Per thread, the start of the log in which a transaction that began at `oldest_scn` or later can have its first record.

    :param files: of one pass: all logs from the last beginning on.
    """
    marks: dict[int, RedoAddress] = {}
    for log in sorted(files, key=lambda log: (log.thread, log.sequence)):
        if log.first_scn <= oldest_scn or log.thread not in marks:
            is_over = not log.current and log.next_scn <= oldest_scn
            marks[log.thread] = log_start(log.sequence + 1 if is_over else log.sequence)
    return marks


class CommittedAssembly:
    """Assembles what LogMiner shows with COMMITTED_DATA_ONLY; the counterpart of `BufferedAssembly`.

    Only the transaction that is being handed out is held, in `buffer`, which it owns: its COMMIT shows whether it is new.
    Lasts as long as one `stream` of the capture, for one thread.
    """

    committed = True

    def __init__(
        self, start: LogMinerPosition, buffer: TransactionBuffer, delivery: Delivery, *, lobs: bool = False
    ) -> None:
        self._start = start
        self._lobs = lobs
        self._buffer = buffer
        self._delivery = delivery
        self._resume = {thread: (mark.resume, mark.resume_scn) for thread, mark in start.threads.items()}
        self._next_resume: dict[int, tuple[RedoAddress, int]] = {}
        self._commits: dict[tuple[int, str], int] = {}
        self._before: dict[int, Delivered] = {}
        self._ahead = {thread: frozenset(mark.ahead) for thread, mark in start.threads.items()}
        self._given_up = {bytes.fromhex(xid) for xid in start.given_up}
        # Transactions whose COMMIT has no address, so that no mark says that they are delivered; and those that came in this pass.
        self._unplaced: set[bytes] = set()
        self._met: set[bytes] = set()
        self._bound = NO_BOUND
        self._waiting_scn = NO_BOUND  # least SCN of what was passed over in this pass

    def marks(self) -> dict[int, RedoAddress]:
        """Per thread, the address that the next pass has to begin at; {} before the first pass of a new connector."""
        return {thread: address for thread, (address, _) in self._resume.items()}

    def begins(self) -> dict[int, RedoAddress]:
        """`marks`: transactions are shown from their start anyway."""
        return self.marks()

    def query(self, container: ContainerNames, excluded_owners: frozenset[str]) -> tuple[str, dict[str, str | int]]:
        """SQL and binds that read all committed transactions from the least SCN of `marks` on; the parameters as of
        `query.build_query`."""
        least = min([scn for _, scn in self._resume.values()], default=self._start.start_scn)
        return committed_query(least, container, excluded_owners, lobs=self._lobs)

    def begin_pass(self, begun: Pass) -> None:
        """Begin a pass: all transactions from `marks` on are about to come; one that an earlier pass broke off in comes whole."""
        self._buffer.close()
        self._delivery.settle(keep=False)
        self._commits.clear()
        self._met.clear()
        # The other way of mining gave them up and may have gone on after their START: what is left of them would be a part.
        self._buffer.given_up |= self._given_up
        self._bound, self._waiting_scn = begun.bound, NO_BOUND
        for thread, mark in beginning(begun.files, self._start.start_scn).items():
            self._resume.setdefault(thread, (mark, self._start.start_scn))
            self._delivery.threads.setdefault(thread, Delivered())
        # Within a pass nothing comes twice, and commits and DDL of one thread need not come by address.
        self._before = {thread: replace(done) for thread, done in self._delivery.threads.items()}

    def end_pass(self, begun: Pass) -> Iterator[Event]:
        """End a pass, all of whose rows were taken: `marks` move to where the oldest transaction can begin that was open
        before the previous pass. Yields nothing, but has to be iterated over.

        :raises MiningSessionError: rows have come without their COMMIT: the next pass would begin after them.
        """
        if unended := self._buffer.open():
            transaction = unended[0]
            raise MiningSessionError(
                f"LogMiner shows {transaction.changes} changes of transaction {transaction.key[1].hex()} as committed, and not its COMMIT",
                hint="database.connection.adapter=logminer does not need it. Please report what kind of transaction it is.",
            )
        for thread, (mark, scn) in self._next_resume.items():
            if self._resume[thread][0] < mark:
                self._resume[thread] = mark, scn
        self._next_resume = {
            thread: (mark, begun.oldest_scn) for thread, mark in beginning(begun.files, begun.oldest_scn).items()
        }
        self._unplaced &= self._met  # the others began before what is shown
        self._delivery.complete(min(begun.complete_scn, self._waiting_scn - 1))
        yield from ()

    def take(self, rows: Iterable[LogMinerRow]) -> Iterator[Event]:
        """Take whole rows in LogMiner's order, and yield the events that become ready; nothing is taken until it is iterated
        over. Raises as `operations.dispatch`."""
        return dispatch(((row, address_of(row.thread, row.rs_id)) for row in rows), self, self._delivery)

    def take_fetched(self, batch: Sequence[tuple[Any, ...]], joiner: ContinuationJoiner) -> Iterator[Event]:
        """As `take`, of the rows of a batch as it was fetched; pieces of a statement wait in `joiner` for the next batch."""
        return self.take(joiner.join(batch))

    def counted(self) -> tuple[list[Counted], frozenset[tuple[str, str]]]:
        """As `Delivery.counted`, of redo that was taken since the last call, of transactions that no earlier pass delivered."""
        return self._delivery.settled()

    def append(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep a change of a captured table until its COMMIT, as `TransactionBuffer.append`; its errors."""
        self._buffer.append(row, address)

    def undo(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Always raises MiningSessionError: COMMITTED_DATA_ONLY has no rows of undone changes."""
        raise MiningSessionError(f"LogMiner shows an undone change at {row.rs_id.strip()} as committed")

    def end_statement(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Keep the row with the transaction, as `TransactionBuffer.end_statement`; its errors."""
        self._buffer.end_statement(row, address)

    def start(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Remember the START of a transaction, as `TransactionBuffer.begin`."""
        self._buffer.begin(row, address)

    def commit(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Yields the transaction that this COMMIT ends, with a Progress; nothing when it was delivered before or is part of
        the snapshot, or when it is left to the next pass, which reads it again. Raises as `Delivery.commit`."""
        transaction = self._buffer.end(row)
        place = self._place(row, address)
        if self._waits(row, place):
            if transaction is not None:
                transaction.close()
            self._delivery.settle(keep=False)
            return
        mark = mark_of((row.con_id or 0, row.xid), bool(self._start.pdbs))
        is_given_up, is_old = mark in self._given_up, self._note_commit(row, place)
        self._given_up.discard(mark)
        if place is None and (transaction is not None or is_given_up):
            is_old = is_given_up or mark in self._unplaced
            self._unplaced.add(mark)
            self._met.add(mark)
        self._delivery.settle(keep=not is_old)
        delivered = is_old or self._delivery.is_snapshot(row)
        yield from self._delivery.commit(row, transaction, delivered, self.position)

    def roll_back(self, row: LogMinerRow) -> None:
        """Raises MiningSessionError if the transaction has rows: COMMITTED_DATA_ONLY has none of one that was rolled back. One with
        a partial XID may have ended a ROLLBACK TO SAVEPOINT (docs/reference/logminer-facts.md#b-5)."""
        if row.xid[4:] == PARTIAL_XID and self._buffer.find(row) is not None:
            return
        if self._buffer.end(row) is not None:
            raise MiningSessionError(f"LogMiner shows the rolled back transaction {row.xid.hex()} as committed")

    def ddl(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Yields a SchemaChange for each captured table that a DDL statement concerns, then a Progress; nothing when there is none,
        an earlier pass or the snapshot has it, or the next pass has to, which then reads it again. Raises as `Delivery.ddl`."""
        if not self._waits(row, address):
            followed = address is not None and self._is_done(row.thread, RedoAddress(address.rs_id))
            yield from self._delivery.ddl(row, address, followed, self.position)

    def idle(self, time_us: int) -> Progress:
        """A Progress with the present position, for when there are no events.

        :param time_us: source time up to which every commit was emitted, in microseconds since 1970 in UTC; 0: not known.
        """
        return Progress(self.position(), Scn(self._delivery.complete_scn), time_us)

    def position(self) -> LogMinerPosition:
        """The position of all that was emitted: where to go on from after a restart, in this way of mining or the other."""
        threads = {}
        for thread, done in self._delivery.threads.items():
            resume, scn = self._resume[thread]
            ahead = tuple(sorted(self._ahead.get(thread, ())))
            threads[thread] = ThreadMark(
                resume, scn, done.last_commit, done.last_commit_scn, done.last_ddl, ahead=done.beyond(ahead)
            )
        given_up = frozenset(xid.hex() for xid in self._given_up | self._unplaced)
        start = self._start
        base = threads, start.start_scn, start.snapshot_scn, start.resetlogs
        return LogMinerPosition(*base, given_up, pdbs=start.pdbs, dbid=start.dbid, pdb_ids=start.pdb_ids)

    def open(self) -> list[Transaction]:
        """Always empty: LogMiner holds back what is not committed."""
        return []

    def drop_rolled_back(self, transaction: Transaction) -> bool:
        """False: see `open`."""
        return False

    def give_up(self, transaction: Transaction) -> None:
        """Does nothing, since `open` is always empty."""

    def close(self) -> None:
        """Forget the rows of transactions whose COMMIT was not taken, and delete their spill files: the next run reads them
        again."""
        self._buffer.close()

    def _place(self, row: LogMinerRow, address: RedoAddress | None) -> RedoAddress | None:
        """Record of a COMMIT and its number within it; None when it has no address. To be called once for each."""
        if address is None:
            return None
        key = (row.thread, address.rs_id)
        self._commits[key] = self._commits.get(key, 0) + 1
        return RedoAddress(address.rs_id, self._commits[key])

    def _waits(self, row: LogMinerRow, place: RedoAddress | None) -> bool:
        """Whether a COMMIT or DDL is left to the next pass, as are all after it: then it is noted. Not where the thread's
        mark is past it already, as when commits do not come by address: the next pass would take it for delivered."""
        if row.scn < self._bound and self._waiting_scn == NO_BOUND:
            return False
        done = self._delivery.threads.get(row.thread)
        if done is not None:
            mark = done.last_commit if row.code == OpCode.COMMIT else done.last_ddl
            if row.scn < done.last_commit_scn if place is None else mark is not None and place.rs_id <= mark.rs_id:
                return False
        self._waiting_scn = min(self._waiting_scn, row.scn)
        return True

    def _note_commit(self, row: LogMinerRow, place: RedoAddress | None) -> bool:
        """Move the thread's mark of commits on to this COMMIT. True when an earlier pass had passed it: it is delivered.

        :param place: None: the row has no address. Then the mark stays.
        """
        if place is None or self._delivery.threads.get(row.thread) is None:
            return False
        self._delivery.note_commit(row.thread, place, row.scn)
        return self._is_done(row.thread, place)

    def _is_done(self, thread: int, place: RedoAddress) -> bool:
        """Whether an earlier pass has delivered a COMMIT, or DDL with `rows` 0."""
        is_old = thread in self._before and self._before[thread].has(place)
        return is_old or place in self._ahead.get(thread, ())
