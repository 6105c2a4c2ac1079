"""Makes events from the ends of transactions and from DDL, each once; both ways of mining use it.

COMMIT   delivered before, part of the snapshot, or of a user who is not wanted? forgotten; else its events, then Progress
DDL      new, and of a captured table: SchemaChange, then Progress
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.buffer.undo_history import Unseen
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.containers import Containers, RowName
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.native_scan import RowScanner
from minercdc.stream.counters.redo import Counted
from minercdc.stream.events import Event, Progress, Scn, TransactionInfo
from minercdc.values.supported import large_names, string_types, unread_names


@dataclass(slots=True)
class Delivered:
    """What of one redo thread has been delivered: COMMITs up to `last_commit` and its SCN, DDL up to `last_ddl`; None and 0 for
    nothing."""

    last_commit: RedoAddress | None = None
    last_commit_scn: int = 0
    last_ddl: RedoAddress | None = None

    def has(self, place: RedoAddress) -> bool:
        """Whether a COMMIT, or DDL with `rows` 0, lies at or before the mark of its kind."""
        mark = self.last_commit if place.rows else self.last_ddl
        return mark is not None and place <= mark

    def beyond(self, ahead: Iterable[RedoAddress]) -> tuple[RedoAddress, ...]:
        """Those of `ThreadMark.ahead` that lie after the mark of their kind."""
        return tuple(place for place in ahead if not self.has(place))


class Delivery:
    """Yields the events of what is new, in the order it is given; one for each stream. It keeps what is delivered of each thread.

    The argument `position` of its methods says where to go on from at this moment; it is called for each Progress.

    :param wants: whether transactions of this user and CLIENT_ID (None: not known) are captured; None: all are.
    :ivar threads: by thread number; those of `start`, to which the caller adds others.
    :ivar captured: whether rows of a name are captured, as far as `learn` was called.
    :ivar large: of the captured names, the columns of whose changes there may be no row of redo: large ones, and those of
        unsupported types.
    :ivar name_of: the name of a row, as `containers` has it.
    :ivar complete_scn: every commit at or below it has been delivered; it never falls.
    """

    def __init__(
        self,
        start: LogMinerPosition,
        containers: Containers,
        clock: HostClock,
        wants: Callable[[str | None, str | None], bool] | None = None,
    ) -> None:
        self._start = start
        self._containers = containers
        self._tables = containers.tables
        self.name_of = containers.name_of
        self._clock = clock
        self._wants = wants
        self._generation = -1
        self._counted: dict[RowName, list[int]] = {}
        self._settled: dict[RowName, list[int]] = {}
        self._ours: set[RowName] = set()  # names that are captured, or were
        self.captured: dict[RowName, bool] = {}
        self.large: dict[RowName, frozenset[str]] = {}
        self._unseen: dict[RowName, tuple[Unseen, Unseen]] = {}
        self.complete_scn = start.snapshot_scn
        self.threads = {
            thread: Delivered(mark.last_commit, mark.last_commit_scn, mark.last_ddl)
            for thread, mark in start.threads.items()
        }

    def knows(self, name: RowName) -> bool:
        """Whether `captured` has this name, and no table's shape has changed since it was filled."""
        return self._generation == self._tables.generation and name in self.captured

    def count(self, name: RowName, sql: str | None) -> None:
        """Count a row of redo under its name, and the bytes of its SQL_REDO in UTF-8, for `counted`."""
        found = self._counted.get(name)
        if found is None:
            found = self._counted[name] = [0, 0]
        found[0] += 1
        if sql:
            found[1] += len(sql) if sql.isascii() else len(sql.encode("utf-8", "surrogatepass"))

    def counted(self, more: Iterable[tuple[RowName, int, int]] = ()) -> tuple[list[Counted], frozenset[tuple[str, str]]]:
        """(Schema, table, rows, bytes) of the redo that was counted since the last call, where a table may come several
        times; and (schema, table) of those that are captured, or were. A schema is as `Containers.shown_owner` gives it.

        :param more: name, rows and bytes that were counted elsewhere.
        :raises MiningSessionError: as `Containers.of`.
        """
        found: list[Counted] = []
        captured: set[tuple[str, str]] = set()
        for name, rows, size in (*((name, counts[0], counts[1]) for name, counts in self._counted.items()), *more):
            owner = self._containers.shown_owner(name)
            found.append((owner, name[1], rows, size))
            if name in self._ours:
                captured.add((owner or "", name[1] or ""))
        self._counted.clear()
        return found, frozenset(captured)

    def settle(self, *, keep: bool) -> None:
        """To be called by a way of mining that shows transactions again: what was counted since the last call is part of
        `settled` when `keep`, else it is forgotten."""
        for name, counts in self._counted.items() if keep else ():
            found = self._settled.setdefault(name, [0, 0])
            found[0] += counts[0]
            found[1] += counts[1]
        self._counted.clear()

    def settled(self) -> tuple[list[Counted], frozenset[tuple[str, str]]]:
        """As `counted`, of what `settle` kept since the last call."""
        self._counted, pending, self._settled = self._settled, self._counted, {}
        found = self.counted()
        self._counted = pending
        return found

    def learn(self, row: LogMinerRow) -> Iterator[Event]:
        """Note in `captured` whether rows of this name are captured. For a captured table whose CREATE TABLE was not seen,
        read its present shape, and yield the SchemaChange, if the table exists. Does nothing until it is iterated over. Errors of
        `ShapeTracker` and `Containers.of` pass through."""
        shapes, name = self._containers.of(row.con_id).shapes, self.name_of(row)
        table = shapes.captured(row.owner, row.table, row.object_id)
        if table is not None and self._tables.find(table) is None:
            change = shapes.discover(table, row, self._clock.utc_us(row.timestamp))
            if change is not None:
                yield change
            table = shapes.captured(row.owner, row.table, row.object_id)  # not a temporary one
        yield from shapes.meet(row, table, self._clock.utc_us(row.timestamp))
        self.forget_old_names()
        # What a row may be of is suspended at its COMMIT. With several threads, DDL is held until all are read that far.
        self.captured[name] = table is not None or shapes.may_be_captured(row, early=len(self.threads) > 1)
        if table is not None:
            self._ours.add(name)
            schema = self._tables.find(table)
            if schema is not None:
                self.large[name] = large = large_names(schema)
                hidden, read = Unseen(large, string_types(schema), large), Unseen(unread_names(schema), large=large)
                self._unseen[name] = hidden, read

    def unseen(self, row: LogMinerRow, *, lobs: bool) -> Unseen:
        """Of which columns of the row's table there may be changes without a row.

        :param lobs: rows of large values are selected.
        """
        found = self._unseen.get(self.name_of(row))
        return Unseen() if found is None else found[lobs]

    def commit(
        self, row: LogMinerRow, transaction: Transaction | None, delivered: bool, position: Callable[[], LogMinerPosition]
    ) -> Iterator[Event]:
        """The events of a transaction that ended with the COMMIT `row`, then a Progress; nothing when there are none, they were
        `delivered`, or its user is not wanted. Closes the transaction.

        :param transaction: None when it has no captured row.
        :raises MinerCdcError: as `TransactionDecoder.events` and `Containers.of`.
        """
        if transaction is None:
            return
        info = self._info(row, transaction)
        try:
            if not delivered and (self._wants is None or self._wants(info.user, info.client_id)):
                count = 0
                for event in self._containers.of(transaction.key[0]).decoder.events(transaction, info):
                    count += 1
                    yield event
                if count:
                    yield Progress(position(), Scn(self.complete_scn), info.commit_us, info)
        finally:
            transaction.close()

    @property
    def scans(self) -> bool:
        """Whether transactions of the native buffer are wanted."""
        return self._containers.scans

    def scanner_of_whole_transactions(self) -> RowScanner | None:
        """The scanner by which the native path may decode a whole transaction at its COMMIT, as
        `TransactionDecoder.scanner_of_whole_transactions`; None when that has none, when only transactions of some users are
        wanted, and with several containers."""
        only = self._containers.only
        return only.decoder.scanner_of_whole_transactions() if self._wants is None and only is not None else None

    @property
    def offset_us(self) -> int:
        """Offset of the database host's time from UTC, in microseconds."""
        return self._clock.offset_us

    def forget_old_names(self) -> None:
        """Empty `captured` when `tables` has changed since it was filled, so that `knows` would be False for all names."""
        if self._generation != self._tables.generation:
            self.captured.clear()
            self.large.clear()
            self._unseen.clear()
            self._generation = self._tables.generation

    def is_snapshot(self, row: LogMinerRow) -> bool:
        """Whether what this row ends, or executed, is part of the snapshot: its SCN is at or below that of the snapshot."""
        return row.scn <= self._start.snapshot_scn

    def note_commit(self, thread: int, place: RedoAddress, scn: int) -> None:
        """Move the mark of commits of a thread in `threads`, never back. With a single thread, `complete_scn`
        becomes `scn - 1` where that is higher."""
        at = self.threads[thread]
        if at.last_commit is None or place > at.last_commit:
            at.last_commit, at.last_commit_scn = place, scn
            if len(self.threads) == 1:
                # Another commit may have the same SCN.
                self.complete_scn = max(self.complete_scn, scn - 1)

    def ddl(
        self, row: LogMinerRow, address: RedoAddress | None, followed: bool, position: Callable[[], LogMinerPosition]
    ) -> Iterator[Event]:
        """Follow a user's DDL, unless it was `followed` before or is part of the snapshot: a SchemaChange for each captured
        table it concerns, then a Progress if there was one. It moves the thread's mark of DDL, never back. Errors of
        `ShapeTracker.follow` and `Containers.of` pass through."""
        if not (row.info or "").lstrip().startswith("USER DDL") or self.is_snapshot(row):
            return
        at = self.threads.get(row.thread)
        if at is not None and address is not None and (at.last_ddl is None or at.last_ddl.rs_id < address.rs_id):
            at.last_ddl = RedoAddress(address.rs_id)
        if followed:
            return
        time_us = self._clock.utc_us(row.timestamp)
        changed = False
        for change in self._containers.of(row.con_id).shapes.follow(row, time_us):
            changed = True
            yield change
        if changed:
            yield Progress(position(), Scn(self.complete_scn), time_us)

    def complete(self, scn: int) -> None:
        """Note that every commit at or below `scn` has been delivered by a pass that ended; a lower SCN than before has no
        effect."""
        self.complete_scn = max(self.complete_scn, scn)

    def _info(self, row: LogMinerRow, transaction: Transaction) -> TransactionInfo:
        start = transaction.start
        return TransactionInfo(
            self._containers.tx_id(transaction.key),
            Scn(start.start_scn or row.start_scn or 0),
            Scn(row.scn),
            self._clock.utc_us(start.time),
            self._clock.utc_us(row.timestamp),
            row.thread or transaction.thread,
            start.user or row.user,
            start.client_id or row.client_id,
        )
