"""The redo of the database: log groups that are written in turn, switched and archived; records read back in redo order.

A log is addressed by name or by (thread, sequence); nothing lies on the host under that name. Records are kept as packed
chunks in one anonymous spool file, so memory stays small however many logs there are.
An address is counted in blocks of 512 bytes of which 16 are header, as in Oracle's logs.
"""

from __future__ import annotations

import marshal
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from minercdc.sandbox.interfaces import Cell, OraError, RedoOp, RedoRecord

BLOCK_SIZE = 512
_BLOCK_BODY = 496
_RECORD_HEADER = 68
_CHUNK_ROWS = 256
ARCHIVE_DEST = "/opt/oracle/archive"
ONLINE_DEST = "/opt/oracle/oradata/ORCLCDB"

ChangedRow: TypeAlias = "tuple[str | None, tuple[Cell, ...] | None, tuple[Cell, ...] | None]"
"""(ROWID, before, after)."""


@dataclass(slots=True)
class RedoBatch:
    """Changes of one statement that differ in row and values only; an array insert's rows share one record (`shared`).

    Rows that do not share a record have SCNs `scn`, `scn + 1`, ..
    """

    op: RedoOp
    scn: int
    xid: tuple[int, int, int]
    time: int
    container: int
    start_scn: int
    rows: list[ChangedRow] = field(default_factory=lambda: [(None, None, None)])
    shared: bool = False
    owner: str | None = None
    table: str | None = None
    data_obj: int = 0
    data_obj_d: int = 0
    data_obj_v: int = 0
    changed: tuple[int, ...] = ()
    logged: tuple[int, ...] | None = None
    undo: bool = False
    statement: str | None = None
    info: str | None = None
    user: str | None = None
    session: Mapping[str, str] | None = None

    def records(self) -> int:
        return 1 if self.shared else len(self.rows)

    def bytes(self) -> int:
        return sum(_row_bytes(row) for row in self.rows) + _RECORD_HEADER * self.records() + len(self.statement or "")


def _row_bytes(row: ChangedRow) -> int:
    size = 16
    for image in (row[1], row[2]):
        if image is not None:
            size += len(image) + sum([len(cell) for cell in image if cell])
    return size


@dataclass(slots=True)
class LogGroup:
    """A row of V$LOG with its members of V$LOGFILE. SCNs and host seconds; `next_change` None while current."""

    group: int
    thread: int
    members: tuple[str, ...]
    bytes: int
    sequence: int = 0
    status: str = "UNUSED"
    archived: bool = False
    first_change: int = 0
    first_time: float = 0.0
    next_change: int | None = None
    next_time: float | None = None


@dataclass(slots=True)
class ArchivedLog:
    """A row of V$ARCHIVED_LOG. `status`: A available, D deleted; `name` None once deleted."""

    name: str | None
    thread: int
    sequence: int
    first_change: int
    first_time: float
    next_change: int
    next_time: float
    blocks: int
    resetlogs_change: int
    resetlogs_time: float
    completion_time: float
    dest_id: int = 1
    status: str = "A"
    block_size: int = BLOCK_SIZE
    dictionary_begin: bool = False
    dictionary_end: bool = False

    @property
    def deleted(self) -> bool:
        return self.status == "D"


_Packed: TypeAlias = "tuple[Any, ...]"


class PackedBatch:
    """A batch as it lies in a log: made into records only when somebody wants them."""

    __slots__ = ("_packed",)

    def __init__(self, packed: _Packed) -> None:
        self._packed = packed

    @property
    def position(self) -> int:
        """Byte of its first record in the log's bodies, see `position_of`."""
        return int(self._packed[-1])

    @property
    def is_one_record(self) -> bool:
        """Whether all its rows lie at `position`."""
        return bool(self._packed[7]) or len(self._packed[6]) == 1

    @property
    def transaction(self) -> tuple[int, tuple[int, int, int]]:
        """Container and XID."""
        return self._packed[4], self._packed[2]

    @property
    def op(self) -> str:
        return str(self._packed[0])

    @property
    def rows(self) -> int:
        return len(self._packed[6])

    @property
    def scn(self) -> int:
        """Of its first row; those of the others are not lower."""
        return int(self._packed[1])

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]:
        """One record for each row."""
        return _expand(self._packed, thread, sequence)


def position_of(block: int, byte: int) -> int:
    """The place in a log's bodies that a record's block and byte stand for."""
    return (block - 1) * _BLOCK_BODY + byte - 16


def rs_id(sequence: int, block: int, byte: int) -> str:
    """RS_ID of a record, with its blanks."""
    return f" 0x{sequence:06x}.{block:08x}.{byte:04x} "


@dataclass(slots=True)
class _LogBody:
    """Records of one log: packed chunks in the spool, the newest still in memory."""

    chunks: list[tuple[int, int]] = field(default_factory=list)
    tail: list[_Packed] = field(default_factory=list)
    tail_rows: int = 0
    position: int = _BLOCK_BODY

    def address(self) -> tuple[int, int]:
        return 1 + self.position // _BLOCK_BODY, 16 + self.position % _BLOCK_BODY


@dataclass(slots=True)
class RedoThread:
    """One redo thread: its groups and what has been archived of it."""

    number: int
    groups: list[LogGroup]
    current: LogGroup
    archived: list[ArchivedLog] = field(default_factory=list)
    instance: str = "ORCLCDB"
    last_change: int = 0
    last_time: float = 0.0
    last_block: int = 1
    enabled_change: int = 0
    enabled_time: float = 0.0


class RedoLog:
    """All threads' redo. Safe for readers in other threads; writers come one at a time, under the storage lock.

    :param next_scn: takes an SCN from the clock, for a log switch.
    :param now: host time, seconds since the epoch.
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
    ) -> None:
        self._next_scn, self._now = next_scn, now
        self._lock = threading.Lock()
        self._spool = tempfile.TemporaryFile(prefix="redo")  # noqa: SIM115 - lives as long as the log
        self._spool_end = 0
        self._bodies: dict[tuple[int, int], _LogBody] = {}
        self.group_bytes, self.group_count = group_bytes, groups
        self.resetlogs_id, self.resetlogs_change, self.resetlogs_time = resetlogs_id, 1, now()
        self.threads: dict[int, RedoThread] = {}
        self.flush_strands: Callable[[], None] = lambda: None
        self.add_thread(1, first_sequence)

    # ---- what views show ----

    def groups(self) -> list[LogGroup]:
        """V$LOG, by group number."""
        return sorted((g for t in self.threads.values() for g in t.groups), key=lambda g: g.group)

    def archived(self) -> list[ArchivedLog]:
        """V$ARCHIVED_LOG, in the order archived."""
        return sorted((a for t in self.threads.values() for a in t.archived), key=lambda a: a.completion_time)

    def locate(self, name: str) -> tuple[int, int] | None:
        """(thread, sequence) now found under a file name; None when there is no such file."""
        for thread in self.threads.values():
            for group in thread.groups:
                if name in group.members and group.sequence:
                    return thread.number, group.sequence
            for log in thread.archived:
                if log.name == name:
                    return thread.number, log.sequence
        return None

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]:
        """Records in redo order; of the current log those written by now. Raises ORA-00308 when the log is unknown."""
        for _, chunk in self.chunks(thread, sequence):
            for packed in chunk:
                yield from packed.records(thread, sequence)

    def chunks(self, thread: int, sequence: int, first: int = 0) -> Iterator[tuple[int, list[PackedBatch]]]:
        """Numbered chunks of one log's batches from the chunk `first` on. Raises ORA-00308 when the log is unknown.

        A chunk keeps its number and its first batch; only the last one may still grow.
        """
        with self._lock:
            body = self._bodies.get((thread, sequence))
            if body is None:
                raise OraError(308, f"cannot open archived log of thread {thread} sequence {sequence}")
            chunks, tail = tuple(body.chunks[first:]), tuple(body.tail)
        for number, (offset, length) in enumerate(chunks, first):
            yield number, list(map(PackedBatch, marshal.loads(os.pread(self._spool.fileno(), length, offset))))
        if tail:
            yield first + len(chunks), list(map(PackedBatch, tail))

    # ---- writing ----

    def write(self, thread_number: int, batches: list[RedoBatch], *, may_switch: bool = True) -> None:
        """Append to the current log, and switch when that fills it (not while strands are flushed for a switch)."""
        thread = self.threads[thread_number]
        with self._lock:
            self._append(thread, batches)
            full = self._bodies[thread_number, thread.current.sequence].position >= self.group_bytes
        if full and may_switch:
            self.switch(thread_number)

    def switch(self, thread_number: int = 1) -> None:
        """ALTER SYSTEM SWITCH LOGFILE: strands reach the old log, which is archived at once."""
        self.flush_strands()
        scn, now = self._next_scn(), self._now()
        with self._lock:
            thread = self.threads[thread_number]
            old = thread.current
            body = self._bodies[thread_number, old.sequence]
            self._spill(body)
            old.status, old.next_change, old.next_time, old.archived = "ACTIVE", scn, now, True
            thread.archived.append(self._archive(old, body, now))
            turn = thread.groups.index(old)
            for group in thread.groups:
                if group is not old and group.status == "ACTIVE":
                    group.status = "INACTIVE"
            self._open(thread, thread.groups[(turn + 1) % len(thread.groups)], old.sequence + 1, scn, now)

    def checkpoint(self) -> None:
        """ALTER SYSTEM CHECKPOINT: active groups are no longer needed for crash recovery."""
        with self._lock:
            for group in self.groups():
                if group.status == "ACTIVE":
                    group.status = "INACTIVE"

    def delete_archived(self, thread: int, sequence: int) -> None:
        """As RMAN deletes: the catalog keeps the row with status D and no name."""
        for log in self.threads[thread].archived:
            if log.sequence == sequence:
                log.status, log.name = "D", None

    def add_thread(self, number: int, first_sequence: int = 1) -> None:
        """Open a redo thread with its own groups."""
        first = sum(len(t.groups) for t in self.threads.values()) + 1
        groups = [
            LogGroup(n, number, (f"{ONLINE_DEST}/redo{n:02d}.log",), self.group_bytes)
            for n in range(first, first + self.group_count)
        ]
        scn, now = self._next_scn(), self._now()
        thread = RedoThread(number, groups, groups[0], last_change=scn, last_time=now, enabled_change=scn, enabled_time=now)
        self.threads[number] = thread
        self._open(thread, groups[0], first_sequence, scn, now)

    def close(self) -> None:
        self._spool.close()

    def _open(self, thread: RedoThread, group: LogGroup, sequence: int, scn: int, now: float) -> None:
        group.sequence, group.status, group.archived = sequence, "CURRENT", False
        group.first_change, group.first_time, group.next_change, group.next_time = scn, now, None, None
        thread.current = group
        self._bodies[thread.number, sequence] = _LogBody()

    def _archive(self, group: LogGroup, body: _LogBody, now: float) -> ArchivedLog:
        assert group.next_change is not None
        assert group.next_time is not None
        return ArchivedLog(
            f"{ARCHIVE_DEST}/{group.thread}_{group.sequence}_{self.resetlogs_id}.arc",
            group.thread,
            group.sequence,
            group.first_change,
            group.first_time,
            group.next_change,
            group.next_time,
            body.address()[0],
            self.resetlogs_change,
            self.resetlogs_time,
            now,
        )

    def _append(self, thread: RedoThread, batches: list[RedoBatch]) -> None:
        body = self._bodies[thread.number, thread.current.sequence]
        for batch in batches:
            body.tail.append(_pack(batch, body.position))
            body.tail_rows += len(batch.rows)
            body.position += batch.bytes()
            thread.last_change = max(thread.last_change, batch.scn + batch.records() - 1)
            if body.tail_rows >= _CHUNK_ROWS:
                self._spill(body)
        thread.last_time, thread.last_block = self._now(), body.address()[0]

    def _spill(self, body: _LogBody) -> None:
        if body.tail:
            data = marshal.dumps(body.tail)
            os.pwrite(self._spool.fileno(), data, self._spool_end)
            body.chunks.append((self._spool_end, len(data)))
            self._spool_end += len(data)
            body.tail, body.tail_rows = [], 0


def _pack(batch: RedoBatch, position: int) -> _Packed:
    session = None if batch.session is None else tuple(batch.session.items())
    return (
        *(str(batch.op), batch.scn, batch.xid, batch.time, batch.container, batch.start_scn, batch.rows, batch.shared),
        *(batch.owner, batch.table, batch.data_obj, batch.data_obj_d, batch.data_obj_v, batch.changed, batch.logged),
        *(batch.undo, batch.statement, batch.info, batch.user, session, position),
    )


def _expand(packed: _Packed, thread: int, sequence: int) -> Iterator[RedoRecord]:
    """One record for each row; by position, because there is one call per row of all redo."""
    (name, scn, xid, time, container, start_scn, rows, shared, owner, table, data_obj, data_obj_d, data_obj_v) = packed[:13]
    (changed, logged, undo, statement, info, user, facts, position) = packed[13:]
    op = RedoOp(name)
    session = None if facts is None else dict(facts)
    for n, row in enumerate(rows):
        row_id, before, after = row
        block, byte = divmod(position, _BLOCK_BODY)
        yield RedoRecord(
            *(op, scn if shared else scn + n, xid, time, thread, container, owner, table, data_obj, data_obj_d, data_obj_v),
            *(row_id, before, after, changed, logged, undo, statement, info, user, session, start_scn),
            *(sequence, 1 + block, 16 + byte, n if shared else 0),
        )
        if not shared:
            position += _RECORD_HEADER + _row_bytes(row)
