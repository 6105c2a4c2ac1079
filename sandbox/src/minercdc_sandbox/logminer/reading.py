"""Reading one thread's logs from where rows are wanted, without losing the facts about transactions in the rows before.

    chunk 0 | chunk 1 | .. | chunk 40 | chunk 41 (growing)      wanted from a record in chunk 40 on
                           ^ what was open here is remembered: the next reading begins here

A client that polls reads the same logs again and again, each time from a little further on. A row also shows what its
transaction's earlier rows have (user, last part of the XID), so those rows must have been read, once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from minercdc_sandbox.logminer.contents import MinedTransaction
from minercdc_sandbox.logminer.logs import LogFile, MinedRedo
from minercdc_sandbox.records import RedoRecord
from minercdc_sandbox.redo.batches import PackedBatch, position_of, rs_id

TransactionKey: TypeAlias = tuple[int, tuple[int, int, int]]
_REMEMBERED_PLACES = 8
_REMEMBERED_TRANSACTIONS = 1000
_LAST_BLOCK, _LAST_BYTE = 0xFFFFFFFF, 0xFFFF
_CHANGES = frozenset(("INSERT", "UPDATE", "DELETE"))


@dataclass(frozen=True, slots=True)
class MiningRange:
    """The range of one mining: SCNs, and database host time in whole seconds since the epoch; ends are inclusive, None is open."""

    start: int | None = None
    end: int | None = None
    start_time: int | None = None
    end_time: int | None = None

    def starts_after(self, batch: PackedBatch) -> bool:
        """Whether the range begins after the last SCN of the batch; its other ends are not looked at."""
        return self.start is not None and batch.last_scn < self.start

    def holds_all(self, batch: PackedBatch) -> bool:
        """Whether all records of the batch are in the range."""
        return (
            (self.start is None or batch.scn >= self.start)
            and (self.end is None or batch.last_scn <= self.end)
            and (self.start_time is None or batch.time >= self.start_time)
            and (self.end_time is None or batch.time <= self.end_time)
        )

    def holds(self, record: RedoRecord) -> bool:
        """Whether the record is in the range."""
        if self.start is not None and record.scn < self.start:
            return False
        if self.end is not None and record.scn > self.end:
            return False
        if self.start_time is not None and record.time < self.start_time:
            return False
        return self.end_time is None or record.time <= self.end_time


@dataclass(frozen=True, slots=True)
class _Place:
    """The beginning of a chunk of a log, and what was open there.

    :param context: what the open transactions there depend on besides: the files up to this one, and the range.
    :param file: number of the log among the files, from 0; `chunk`, `position`: number of the chunk and position of its first
        batch.
    :param open: of each transaction its key, first record, whether its START was read, and rows counted.
    """

    context: object
    file: int
    chunk: int
    position: int
    open: tuple[tuple[TransactionKey, RedoRecord, bool, int], ...]

    def transactions(self) -> dict[TransactionKey, MinedTransaction]:
        """The transactions open there by key, as new objects that a reading may change."""
        found = {}
        for key, first, started, rows in self.open:
            transaction = found[key] = MinedTransaction(first, started)
            transaction.rows = rows
        return found


class ReadingMemory:
    """The places that the last readings of one session passed, eight at most; one thread."""

    def __init__(self) -> None:
        self._places: deque[_Place] = deque(maxlen=_REMEMBERED_PLACES)

    def note(
        self, context: object, file: int, chunk: int, position: int, open_: Mapping[TransactionKey, MinedTransaction]
    ) -> None:
        """Remember the transactions that are open before a chunk, unless the place is known or more than 1000 are open. A
        new place displaces the oldest one when all are in use. Parameters as in `_Place`."""
        if len(open_) > _REMEMBERED_TRANSACTIONS:
            return
        if any((known.file, known.chunk) == (file, chunk) and known.context == context for known in self._places):
            return
        summary = tuple((key, known.first, known.started, known.rows) for key, known in open_.items())
        self._places.append(_Place(context, file, chunk, position, summary))

    def furthest(self, contexts: Sequence[object], wanted: Sequence[int | None]) -> _Place | None:
        """The furthest place before which nothing is wanted; None when there is none. `contexts` and `wanted` are by file, as in
        `ThreadReading`."""
        usable = [
            place
            for place in self._places
            if place.file < len(wanted)
            and place.context == contexts[place.file]
            and all(position is None for position in wanted[: place.file])
            and ((position := wanted[place.file]) is None or place.position <= position)
        ]
        return max(usable, key=lambda place: (place.file, place.chunk), default=None)


def wanted_from(first_record: str, sequence: int) -> int | None:
    """The position (`position_of`) in a log of this sequence from which on rows are wanted; 0 when all are, None when none are.

    :param first_record: the least RS_ID wanted; '' and a text that is no RS_ID of the log stand for all, unless the text is above
      the log's last RS_ID.
    """
    if first_record > rs_id(sequence, _LAST_BLOCK, _LAST_BYTE):
        return None
    if first_record <= rs_id(sequence, 0, 0):
        return 0
    try:
        found, block, byte = (int(part, 16) for part in first_record.split("."))
    except ValueError:
        return 0  # a text that is no RS_ID: leave it to the condition itself
    return max(0, position_of(block, byte)) if found == sequence else 0


def log_bounds(sequence: int) -> tuple[str, str]:
    """The first and the last RS_ID that a log can have."""
    return rs_id(sequence, 0, 0), rs_id(sequence, _LAST_BLOCK, _LAST_BYTE)


class ReadBatch(NamedTuple):
    """A batch of a log, and the position from which on the log's records are wanted: 0 for all, None for none of them."""

    batch: PackedBatch
    file: LogFile
    wanted: int | None

    @property
    def is_wanted(self) -> bool:
        """Whether all of its records are wanted."""
        return self.wanted is not None and self.batch.position >= self.wanted

    def records(self) -> Iterator[tuple[RedoRecord, bool]]:
        """The batch's records in order, each with whether it is wanted."""
        wanted = self.wanted
        for record in self.batch.records(self.file.thread, self.file.sequence):
            yield record, wanted is not None and (not wanted or position_of(record.block, record.byte) >= wanted)


class ThreadReading:
    """One reading of one thread's logs, by `batches` or `records`, once. It begins at the furthest place that `memory` has with
    nothing wanted before it, and remembers the places it passes.

    :param files: logs of the thread, ascending.
    :param limits: the range; remembered places are good for readings of the same range and files only.
    :param wanted: per file, the position from which on records are wanted; None for none.
    :param open_: transactions that are open, kept by the caller, who adds and removes them as records come; what is passed over
        is counted in them.
    """

    def __init__(
        self,
        redo: MinedRedo,
        files: Sequence[LogFile],
        limits: MiningRange,
        wanted: Sequence[int | None],
        open_: dict[TransactionKey, MinedTransaction],
        memory: ReadingMemory,
    ) -> None:
        self._redo, self._files, self._wanted = redo, files, wanted
        self._open, self._memory = open_, memory
        self._contexts = [(tuple(files[: n + 1]), limits) for n in range(len(files))]
        # Inside a range with other ends, every record must be looked at.
        self._start = limits.start or 0 if replace(limits, start=None) == MiningRange() else 1 << 64

    def batches(self) -> Iterator[ReadBatch]:
        """Batches in redo order, without those before the first wanted one that only count in their transactions' `rows`. Raises
        as `RedoLog.chunks`."""
        place = self._memory.furthest(self._contexts, self._wanted)
        if place is not None:
            self._open.update(place.transactions())
        for number, file in enumerate(self._files):
            if place is None or number > place.file:
                yield from self._file_batches(number, file, 0)
            elif number == place.file:
                yield from self._file_batches(number, file, place.chunk)

    def records(self) -> Iterator[tuple[RedoRecord, bool]]:
        """The records of `batches` in redo order, with whether they are wanted. Raises as `RedoLog.chunks`."""
        for found in self.batches():
            yield from found.records()

    def _file_batches(self, number: int, file: LogFile, first_chunk: int) -> Iterator[ReadBatch]:
        wanted, known = self._wanted[number], self._open
        for chunk, batches in self._redo.chunks(file.thread, file.sequence, first_chunk):
            self._memory.note(self._contexts[number], number, chunk, batches[0].position, known)
            for batch in batches:
                before = wanted is None or (batch.is_one_record and batch.position < wanted)
                if before and batch.op in _CHANGES and batch.scn >= self._start and batch.transaction in known:
                    known[batch.transaction].rows += batch.rows
                    continue
                yield ReadBatch(batch, file, wanted)
