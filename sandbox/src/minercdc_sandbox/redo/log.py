"""The redo of the database: log groups that are written in turn, switched and archived; records read back in redo order.

A log is addressed by name or by (thread, sequence); nothing lies on the host under that name. Records are kept as packed
chunks in one file, the journal, so memory stays small however many logs there are.
Records that were written are `pending` until `publish`: readers see them only when a killed server would still have them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoRecord
from minercdc_sandbox.redo.batches import Packed, PackedBatch, RedoBatch, pack
from minercdc_sandbox.redo.bodies import LogBody, corruption
from minercdc_sandbox.redo.journal import PART, WHOLE, Journal
from minercdc_sandbox.redo.threads import (
    ARCHIVE_DEST,
    ONLINE_DEST,
    ArchivedLog,
    ArchiveStatus,
    Incarnation,
    LogGroup,
    RedoState,
    RedoThread,
)

_CHUNK_ROWS = 256
_LGWR_SECONDS = 3.0


class RedoLog:
    """All threads' redo. Safe for readers in other threads; writers come one at a time, under the storage lock.

    :param next_scn: takes an SCN from the clock.
    :param now: host time, seconds since the epoch.
    :param groups, group_bytes, first_sequence: log groups of a thread, bytes at which a log is full, first sequence of thread 1.
    :param journal: the file of the records; None: one without a name. That of an earlier server is read by `recover`.
    :ivar flush_strands: called before a switch; writes the strands of open transactions.
    :ivar overwritten: called after a switch, which may have reused an online log.
    :ivar harden: called after each write, switch and change of threads or members; it must end in `publish`.
    :ivar changes: increased when threads, groups, destinations or the list of archived logs change.
    :ivar unpublished: (thread, sequence) of logs with records that no reader sees yet.
    :ivar former: archived logs of earlier incarnations.
    :ivar corrupt: (thread, sequence) of logs whose second half cannot be read (ORA-00353).
    :ivar addressless: users whose undo rows LogMiner shows without redo address.
    """

    def __init__(
        self,
        next_scn: Callable[[], int],
        now: Callable[[], float],
        *,
        groups: int = 3,
        group_bytes: int = 16 << 20,
        first_sequence: int = 1,
        resetlogs_id: int = 1_100_000_000,
        journal: Journal | None = None,
    ) -> None:
        self._next_scn, self._now = next_scn, now
        self._lock = threading.Lock()
        self._journal = journal or Journal()
        self._bodies: dict[tuple[int, int], LogBody] = {}
        self.unpublished: set[tuple[int, int]] = set()
        self.harden: Callable[[], None] = self.publish
        self.changes = 0
        self.group_bytes, self.group_count = group_bytes, groups
        self.incarnations = [Incarnation(1, 1, now(), resetlogs_id)]
        self.former: list[ArchivedLog] = []
        self._journal_start = 0
        self.threads: dict[int, RedoThread] = {}
        self.destinations = {1: ARCHIVE_DEST}
        self.corrupt: set[tuple[int, int]] = set()
        self.addressless: set[str] = set()
        self.flush_strands: Callable[[], None] = lambda: None
        self.overwritten: Callable[[], None] = lambda: None
        self.add_thread(1, first_sequence)

    @property
    def incarnation(self) -> Incarnation:
        """The database's present incarnation, which the last RESETLOGS began."""
        return self.incarnations[-1]

    def groups(self) -> list[LogGroup]:
        """The log groups of all threads, for V$LOG, by group number; a new list of the log's own objects."""
        return sorted((g for t in self.threads.values() for g in t.groups), key=lambda g: g.group)

    def archived(self) -> list[ArchivedLog]:
        """Rows of V$ARCHIVED_LOG of the present incarnation by completion time, deleted ones too; `former` has those of others."""
        return sorted((a for t in self.threads.values() for a in t.archived), key=lambda a: a.completion_time)

    def locate(self, name: str) -> tuple[int, int] | None:
        """(thread, sequence) of the log that this file, a member or an archived copy, holds now; None when it is not there.
        Raises ORA-01287 for an archived log of an earlier incarnation."""
        if any(log.name == name for log in self.former):
            raise OraError(1287, f"file {name} is from a different database incarnation")
        for thread in self.threads.values():
            for group in thread.groups:
                if name in group.members and group.sequence:
                    return thread.number, group.sequence
            for log in thread.archived:
                if log.name == name and not log.missing:
                    return thread.number, log.sequence
        return None

    def oldest_change(self) -> int:
        """FIRST_CHANGE# of the oldest log, online or archived and not deleted, of the present incarnation."""
        kept = [log.first_change for log in self.archived() if log.name is not None and not log.missing]
        return min([*kept, *(group.first_change for group in self.groups() if group.sequence)])

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]:
        """The log's published records in redo order, each once. Raises as `chunks`."""
        for _, chunk in self.chunks(thread, sequence):
            for packed in chunk:
                yield from packed.records(thread, sequence)

    def chunks(self, thread: int, sequence: int, first: int = 0) -> Iterator[tuple[int, list[PackedBatch]]]:
        """Numbered chunks of one log's batches, published by now, from the chunk `first` (0: all) on, its files deleted or not.
        Raises ORA-00308 when the log is unknown, and ORA-00353 at the middle of a corrupt one.

        A chunk keeps its number and its first batch; only the last one may still grow.
        """
        with self._lock:
            body = self._bodies.get((thread, sequence))
            if body is None:
                raise OraError(308, f"cannot open archived log of thread {thread} sequence {sequence}")
            chunks, tail = tuple(body.chunks[first:]), tuple(body.tail)
            corrupt_from = len(body.chunks) // 2 if (thread, sequence) in self.corrupt else None
        for number, (offset, length) in enumerate(chunks, first):
            if corrupt_from is not None and number >= corrupt_from:
                raise corruption(body)
            yield number, list(map(PackedBatch, self._journal.read(offset, length)))
        if tail and corrupt_from is not None:
            raise corruption(body)
        if tail:
            yield first + len(chunks), list(map(PackedBatch, tail))

    def write(self, thread_number: int, batches: list[RedoBatch], *, may_switch: bool = True) -> None:
        """Append to the thread's current log and `harden`, so readers see it; then switch when it is full and `may_switch`. The
        batches must not change afterwards."""
        thread = self.threads[thread_number]
        with self._lock:
            self._append(thread, batches)
            full = self._bodies[thread_number, thread.current.sequence].position >= self.group_bytes
        self.harden()
        if full and may_switch:
            self.switch(thread_number)

    def switch(self, thread_number: int = 1, *, ended: int | None = None) -> None:
        """ALTER SYSTEM SWITCH LOGFILE: strands reach the old log, which is archived at once. `overwritten` and `harden` are
        called.

        :param ended: the old log's NEXT_CHANGE# if its thread was closed; None: it ends at the SCN of the switch.
        """
        self.flush_strands()
        scn, now = self._next_scn(), self._now()
        with self._lock:
            thread = self.threads[thread_number]
            old = thread.current
            body = self._bodies[thread_number, old.sequence]
            self._publish(thread_number, old.sequence)
            self._spill(thread_number, old.sequence, body)
            end = ended or scn
            thread.checkpoint()
            old.status, old.next_change, old.next_time, old.archived = "ACTIVE", end, now, True
            thread.archived += [self._archive(old, body, end, now, number) for number in sorted(self.destinations)]
            turn = thread.groups.index(old)
            self._open(thread, thread.groups[(turn + 1) % len(thread.groups)], old.sequence + 1, scn, now)
        self.overwritten()
        self.harden()

    def background_write(self, scn: int) -> None:
        """Set LAST_REDO_CHANGE# of open threads that had no redo for three seconds to `scn`, as an instance writes some redo then.

        :param scn: the present one; all commits up to it are in the log.
        """
        now = self._now()
        for thread in self.threads.values():
            if thread.is_open and now - thread.last_time >= _LGWR_SECONDS:
                thread.last_change, thread.last_time = max(scn, thread.last_change), now

    def publish(self) -> None:
        """Let readers see all written records; in a kept journal they must have been written to it before."""
        with self._lock:
            for thread, sequence in self.unpublished:
                self._publish(thread, sequence)
            self.unpublished.clear()

    def write_journal(self) -> int:
        """Write pending records to the journal; returns the journal's size in bytes. They stay unpublished."""
        with self._lock:
            for thread, sequence in self.unpublished:
                body = self._bodies[thread, sequence]
                if body.pending:
                    self._frame(PART, thread, sequence, body.pending, sum(len(batch[6]) for batch in body.pending))
        return self._journal.end

    def state(self) -> RedoState:
        """All of the redo that is not in the journal, for `recover`: the present objects, not copies."""
        return RedoState(self.threads, self.incarnations, self.former, self.destinations, self._journal_start)

    def recover(self, state: RedoState, end: int) -> None:
        """Go on, once and before any write, with the threads of an earlier server and with its journal, up to the byte `end`."""
        self.threads, self.incarnations, self.former = state.threads, state.incarnations, state.former
        self.destinations, self._journal_start = state.destinations, state.journal_start
        # A log without any record, of a thread that was quiet, has no frame in the journal.
        listed = {(t.number, group.sequence) for t in self.threads.values() for group in t.groups if group.sequence}
        listed |= {(t.number, log.sequence) for t in self.threads.values() for log in t.archived}
        self._bodies = {place: LogBody() for place in listed}
        for frame in self._journal.recover(state.journal_start, end):
            body = self._bodies.setdefault((frame.thread, frame.sequence), LogBody())
            if frame.kind == WHOLE:
                body.chunks.append((frame.offset, frame.length))
                body.tail, body.tail_rows = [], 0
            else:
                body.tail += self._journal.read(frame.offset, frame.length)
                body.tail_rows += frame.rows
            body.position = frame.position
            thread = self.threads[frame.thread]
            thread.last_change = max(frame.last_scn, thread.last_change)
        for thread in self.threads.values():
            thread.last_block = self._bodies[thread.number, thread.current.sequence].address()[0]

    def checkpoint(self) -> None:
        """ALTER SYSTEM CHECKPOINT: groups with STATUS ACTIVE become INACTIVE."""
        with self._lock:
            for thread in self.threads.values():
                thread.checkpoint()

    def mark_dictionary(self, thread: int, sequence: int) -> None:
        """Set DICTIONARY_BEGIN and DICTIONARY_END of the archived copies of a log; nothing for a log that is not archived."""
        for log in self.threads[thread].archived:
            if log.sequence == sequence:
                log.dictionary_begin = log.dictionary_end = True
        self.changes += 1

    def delete_archived(self, thread: int, sequence: int, *, by_rman: bool = True) -> None:
        """Delete all copies of a log: `by_rman` V$ARCHIVED_LOG keeps their rows with STATUS D and no name, else it does not
        change; `chunks` still reads it. Raises ORA-00308 when it was not archived, ORA-01618 for an unknown thread."""
        found = [log for log in self._thread(thread).archived if log.sequence == sequence]
        if not found:
            raise OraError(308, f"cannot open archived log of thread {thread} sequence {sequence}")
        for log in found:
            if by_rman:
                log.status, log.name = ArchiveStatus.DELETED, None
            else:
                log.missing = True
        self.changes += 1

    def _thread(self, number: int) -> RedoThread:
        if number not in self.threads:
            raise OraError(1618, f"redo thread {number} is not enabled - cannot mount")
        return self.threads[number]

    def add_thread(self, number: int, first_sequence: int = 1, enabled: str = "PUBLIC") -> None:
        """Enable (PUBLIC or PRIVATE) and open a new redo thread with groups of its own, whose first log has `first_sequence`."""
        first = sum(len(t.groups) for t in self.threads.values()) + 1
        groups = [
            LogGroup(n, number, (f"{ONLINE_DEST}/redo{n:02d}.log",), self.group_bytes)
            for n in range(first, first + self.group_count)
        ]
        scn, now = self._next_scn(), self._now()
        thread = RedoThread(number, groups, groups[0], last_change=scn, last_time=now, enabled_change=scn, enabled_time=now)
        thread.instance = "ORCLCDB" if number == 1 else f"ORCLCDB{number}"
        thread.enabled, thread.open_time = enabled, now
        self.threads[number] = thread
        self._open(thread, groups[0], first_sequence, scn, now)

    def close_thread(self, number: int) -> None:
        """Close a thread, as its instance shuts down: its redo ends at a checkpoint, in the current log. Raises ORA-01618."""
        thread = self._thread(number)
        thread.is_open, thread.checkpoint_change = False, self._next_scn()
        self.changes += 1
        self.harden()

    def open_thread(self, number: int) -> None:
        """Open a thread, as its instance starts; its log switches in any case. Raises ORA-01618, and ORA-01620 when it is disabled."""
        thread = self._thread(number)
        if thread.enabled == "DISABLED":
            raise OraError(1620, "no public threads are available for mounting")
        ended = None if thread.is_open else thread.checkpoint_change
        thread.is_open, thread.open_time = True, self._now()
        self.switch(number, ended=ended)

    def disable_thread(self, number: int) -> None:
        """ALTER DATABASE DISABLE THREAD: archives its last log. Raises ORA-01618 (unknown), and ORA-01615 while it is open."""
        thread = self._thread(number)
        if thread.is_open:
            raise OraError(1615, f"instance {thread.instance} (thread {number}) is mounted - cannot disable")
        self.switch(number)
        thread.enabled, thread.disabled_change, thread.disabled_time = "DISABLED", self._next_scn(), self._now()
        self.changes += 1
        self.harden()

    def enable_thread(self, number: int, enabled: str) -> None:
        """ALTER DATABASE ENABLE [PUBLIC] THREAD: adds an unknown thread, and opens it. Raises ORA-01612 for an enabled one.

        :param enabled: PUBLIC or PRIVATE, as in V$THREAD.
        """
        thread = self.threads.get(number)
        if thread is None:
            self.add_thread(number, enabled=enabled)
        elif thread.enabled != "DISABLED":
            raise OraError(1612, f"instance {thread.instance} (thread {number}) is already enabled")
        else:
            thread.enabled, thread.enabled_change, thread.enabled_time = enabled, self._next_scn(), self._now()
            thread.disabled_change, thread.disabled_time = 0, None
            self.open_thread(number)
        self.harden()

    def reset_logs(self) -> None:
        """ALTER DATABASE OPEN RESETLOGS: archive the logs and begin a new incarnation with sequence 1; earlier redo cannot be
        read any more. No transaction may be open."""
        for number in self.threads:
            self.switch(number)
        scn, now = self._next_scn(), self._now()
        with self._lock:
            last = self.incarnation
            self.incarnations.append(Incarnation(last.number + 1, scn, now, last.resetlogs_id + 1000))
            self._journal_start = self._journal.end
            self._bodies.clear()
            self.corrupt.clear()
            for thread in self.threads.values():
                self.former += thread.archived
                thread.archived = []
                for group in thread.groups:
                    group.sequence, group.status, group.archived = 0, "UNUSED", False
                self._open(thread, thread.groups[0], 1, scn, now)
        self.harden()

    def set_destination(self, number: int, location: str | None) -> None:
        """LOG_ARCHIVE_DEST_n: logs archived from now on go to `location`, too; None ends it. Raises ORA-16019 for the last one."""
        if location is not None:
            self.destinations[number] = location
        elif set(self.destinations) <= {number}:
            raise OraError(16019, f"cannot use LOG_ARCHIVE_DEST_{number}: an archive destination must be left")
        else:
            self.destinations.pop(number, None)
        self.changes += 1

    def add_member(self, group_number: int, member: str) -> None:
        """ALTER DATABASE ADD LOGFILE MEMBER. Raises ORA-01611 for an unknown group, ORA-01577 when an online log has the file."""
        group = next((g for g in self.groups() if g.group == group_number), None)
        if group is None:
            raise OraError(1611, f"thread number 1 is invalid - group {group_number} does not exist")
        if any(member in g.members for g in self.groups()):
            raise OraError(1577, f"cannot add log file '{member}' - file already part of database")
        group.members += (member,)
        self.changes += 1
        self.harden()

    def close(self) -> None:
        """Free the journal, unless it is kept by the data directory, which closes it. Call `harden` before; use no method after."""
        self._journal.close()

    def _open(self, thread: RedoThread, group: LogGroup, sequence: int, scn: int, now: float) -> None:
        group.sequence, group.status, group.archived = sequence, "CURRENT", False
        group.first_change, group.first_time, group.next_change, group.next_time = scn, now, None, None
        thread.current = group
        self._bodies[thread.number, sequence] = LogBody()
        self.changes += 1

    def _archive(self, group: LogGroup, body: LogBody, end: int, now: float, destination: int) -> ArchivedLog:
        last = self.incarnation
        return ArchivedLog(
            f"{self.destinations[destination]}/{group.thread}_{group.sequence}_{last.resetlogs_id}.arc",
            group.thread,
            group.sequence,
            group.first_change,
            group.first_time,
            end,
            now,
            body.address()[0],
            last.resetlogs_change,
            last.resetlogs_time,
            last.resetlogs_id,
            now,
            destination,
        )

    def _append(self, thread: RedoThread, batches: list[RedoBatch]) -> None:
        body = self._bodies[thread.number, thread.current.sequence]
        for batch in batches:
            body.pending.append(pack(batch, body.position))
            body.position += batch.bytes()
            thread.last_change = max(thread.last_change, batch.scn + batch.records() - 1)
        self.unpublished.add((thread.number, thread.current.sequence))
        thread.last_time, thread.last_block = self._now(), body.address()[0]

    def _publish(self, thread: int, sequence: int) -> None:
        # A whole frame replaces all part frames before it, so in a kept journal it must hold all there is.
        body = self._bodies[thread, sequence]
        for packed in body.pending:
            body.tail.append(packed)
            body.tail_rows += len(packed[6])
            if body.tail_rows >= _CHUNK_ROWS and not self._journal.is_kept:
                self._spill(thread, sequence, body)
        body.pending = []
        if body.tail_rows >= _CHUNK_ROWS:
            self._spill(thread, sequence, body)

    def _spill(self, thread: int, sequence: int, body: LogBody) -> None:
        if body.tail:
            body.chunks.append(self._frame(WHOLE, thread, sequence, body.tail, body.tail_rows))
            body.tail, body.tail_rows = [], 0

    def _frame(self, kind: int, thread: int, sequence: int, batches: list[Packed], rows: int) -> tuple[int, int]:
        position, last = self._bodies[thread, sequence].position, self.threads[thread].last_change
        return self._journal.append(kind, thread, sequence, batches, rows, position, last)
