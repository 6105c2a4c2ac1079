"""Batches of changes: as transactions make them, as they lie packed in a log, and taken apart into records.

An address is a block of 512 bytes, of which 16 are header, and a byte in it, as in Oracle's logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from minercdc_sandbox.interfaces import Cell
from minercdc_sandbox.records import RedoChange, RedoOp, RedoRecord

BLOCK_BODY = 496
INDEX_INFO = "INDEX "
"""Before an index's name in the `info` of a record of the index's entries."""
_RECORD_HEADER = 68

ChangedRow: TypeAlias = "tuple[str | None, tuple[Cell, ...] | None, tuple[Cell, ...] | None]"
"""(ROWID, before, after)."""


@dataclass(slots=True)
class RedoBatch(RedoChange):
    """Changes of a statement that differ in row and values only; an array insert's rows share one record (`shared`). A strand may
    `extend` it by those of alike statements until it is packed into a log. A batch of no row has one entry of Nones.

    Rows that do not share a record have SCNs `scn`, `scn + 1`, ..
    """

    rows: list[ChangedRow] = field(default_factory=lambda: [(None, None, None)])
    shared: bool = False
    _counted: int | None = None

    def records(self) -> int:
        """How many records its rows make: one of a `shared` batch, else one for each."""
        return 1 if self.shared else len(self.rows)

    def bytes(self) -> int:
        """Bytes it takes in the log, counted at the first call: call it once the batch is complete. Later only `extend` changes
        the number."""
        if self._counted is None:
            self._counted = self._count()
        return self._counted

    def extend(self, rows: list[ChangedRow]) -> int:
        """Add rows to a complete batch that is not `shared`; returns the bytes they take in the log."""
        size = sum([_RECORD_HEADER + _row_bytes(row) for row in rows])
        self._counted = self.bytes() + size
        self.rows += rows
        return size

    def _count(self) -> int:
        size = sum(_row_bytes(row) for row in self.rows) + _RECORD_HEADER * self.records() + len(self.statement or "")
        return size + self.lob[1] if self.lob is not None and self.op in _WRITES else size


_WRITES = frozenset((RedoOp.LOB_WRITE, RedoOp.XML_WRITE, RedoOp.LONG_WRITE))


def _row_bytes(row: ChangedRow) -> int:
    size = 16
    for image in (row[1], row[2]):
        if image is not None:
            size += len(image) + sum(map(len, filter(None, image)))
    return size


Packed: TypeAlias = "tuple[Any, ...]"


class BatchHead(NamedTuple):
    """The parts of a packed batch that its rows are shown with.

    :param op: the value of its `RedoOp`.
    :param scn, time: SCN and host seconds of its first row.
    :param position: see `PackedBatch.position`.
    :param rows: in order; `shared`: they share one record.
    :param placeholder: LogMiner does not show the ROWIDs.
    :param alike: equal for batches of one log and transaction whose rows differ in SCN, place, ROWID and values only.
    """

    op: str
    scn: int
    time: int
    rows: list[ChangedRow]
    shared: bool
    placeholder: bool
    alike: object
    position: int

    def addresses(self) -> list[tuple[int, int]]:
        """Block and byte of each record, in order: one pair for all rows that share a record."""
        position, found = self.position, []
        for row in self.rows[:1] if self.shared or len(self.rows) == 1 else self.rows:
            block, byte = divmod(position, BLOCK_BODY)
            found.append((1 + block, 16 + byte))
            if len(self.rows) > 1:
                position += _RECORD_HEADER + _row_bytes(row)
        return found


class PackedBatch:
    """A batch as it lies in a log: made into records only when they are read. Does not change."""

    __slots__ = ("_packed",)

    def __init__(self, packed: Packed) -> None:
        self._packed = packed

    @property
    def position(self) -> int:
        """Byte of its first record in the log's bodies, see `position_of`; rises from batch to batch in a log."""
        return int(self._packed[-1])

    @property
    def is_one_record(self) -> bool:
        """Whether all its rows lie at `position`, in one record."""
        return bool(self._packed[7]) or len(self._packed[6]) == 1

    @property
    def transaction(self) -> tuple[int, tuple[int, int, int]]:
        """Container id and XID (usn, slot, sequence) of its transaction."""
        return self._packed[4], self._packed[2]

    @property
    def op(self) -> str:
        """The value of its `RedoOp`."""
        return str(self._packed[0])

    @property
    def rows(self) -> int:
        """How many rows it has; START, COMMIT and the like count as one."""
        return len(self._packed[6])

    @property
    def scn(self) -> int:
        """SCN of its first row; those of the others are not lower."""
        return int(self._packed[1])

    @property
    def last_scn(self) -> int:
        """SCN of its last row; that of its first for rows that share a record."""
        return self.scn if self._packed[7] else self.scn + self.rows - 1

    @property
    def time(self) -> int:
        """Host time of its changes, in whole seconds since the epoch."""
        return int(self._packed[3])

    def head(self) -> BatchHead:
        """The parts that its rows are shown with; its `rows` are the batch's own list, not to be changed."""
        packed = self._packed
        op, time = packed[0], packed[3]
        return BatchHead(op, packed[1], time, packed[6], packed[7], packed[21], (op, time, packed[8:18]), packed[-1])

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]:
        """One record for each row, in order, as in the log `sequence` of the redo thread `thread`."""
        return expand(self._packed, thread, sequence)


def position_of(block: int, byte: int) -> int:
    """The byte in a log's bodies, block headers not counted, where a record with this block and byte begins."""
    return (block - 1) * BLOCK_BODY + byte - 16


def rs_id(sequence: int, block: int, byte: int) -> str:
    """RS_ID of a record, 24 characters with a blank at each end: ` 0x000011.0000002a.0010 `. Within a log, texts compare as addresses."""
    return f" 0x{sequence:06x}.{block:08x}.{byte:04x} "


def pack(batch: RedoBatch, position: int) -> Packed:
    """The plain values of a batch whose first record begins at `position`, see `position_of`, in the order that `expand` reads;
    the batch must not change afterwards, its rows are not copied."""
    session = None if batch.session is None else tuple(batch.session.items())
    return (
        *(str(batch.op), batch.scn, batch.xid, batch.time, batch.container, batch.start_scn, batch.rows, batch.shared),
        *(batch.owner, batch.table, batch.data_obj, batch.data_obj_d, batch.data_obj_v, batch.changed, batch.logged),
        *(batch.undo, batch.statement, batch.info, batch.user, session),
        *(batch.lob, batch.placeholder, batch.continued, position),
    )


def expand(packed: Packed, thread: int, sequence: int) -> Iterator[RedoRecord]:
    """One record for each row, in order, of the log `sequence` of the redo thread `thread`. Fields are taken by position for
    speed: this runs for every row that is mined."""
    (name, scn, xid, time, container, start_scn, rows, shared, owner, table, data_obj, data_obj_d, data_obj_v) = packed[:13]
    (changed, logged, undo, statement, info, user, facts, lob, placeholder, continued, position) = packed[13:]
    op = RedoOp(name)
    session = None if facts is None else dict(facts)
    for n, row in enumerate(rows):
        row_id, before, after = row
        block, byte = divmod(position, BLOCK_BODY)
        yield RedoRecord(
            op,
            scn if shared else scn + n,
            xid,
            time,
            container,
            start_scn,
            owner,
            table,
            data_obj,
            data_obj_d,
            data_obj_v,
            changed,
            logged,
            undo,
            statement,
            info,
            user,
            session,
            lob,
            placeholder,
            continued,
            thread,
            row_id,
            before,
            after,
            sequence,
            1 + block,
            16 + byte,
            n if shared else 0,
        )
        if not shared:
            position += _RECORD_HEADER + _row_bytes(row)
