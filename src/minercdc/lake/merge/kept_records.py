"""The records of the micro-batches that this process scanned last, until they are merged: merges of them read no change log. Others, of
before a restart or read by Spark, are taken from the change log by this process where they are few (`log_records`)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from minercdc.lake.merge.pending import Limits
from minercdc.lake.stream.change_log import Arrival

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_MOST_BYTES = 256 * 1024 * 1024  # two micro-batches of the largest size that is scanned


class KeptRecords:
    """Holds the rows of batches of the change log by topic, the oldest ones no longer where there are too many. Several threads may use
    it at once.

    :param most: bytes.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._of: OrderedDict[tuple[str, int], pa.RecordBatch] = OrderedDict()

    def add(self, batch: int, rows: Mapping[str, pa.RecordBatch]) -> None:
        """Keep a batch's rows, by topic."""
        with self._lock:
            for topic, part in rows.items():
                if (former := self._of.pop((topic, batch), None)) is not None:
                    self._size -= former.nbytes
                self._of[topic, batch] = part
                self._size += part.nbytes
            while self._size > self._most:
                self._size -= self._of.popitem(last=False)[1].nbytes

    def keep_only(self, topic: str, batches: Collection[int], until: int) -> None:
        """Drop a topic's rows of all other batches up to batch `until`."""
        with self._lock:
            for place in [one for one in self._of if one[0] == topic and one[1] <= until and one[1] not in batches]:
                self._size -= self._of.pop(place).nbytes

    def has(self, arrivals: Iterable[Arrival]) -> bool:
        """Whether all rows of these batches are kept."""
        with self._lock:
            return all((arrival.topic, arrival.batch) in self._of for arrival in arrivals)

    def of(self, limits: Limits, arrivals: Sequence[Arrival]) -> list[pa.RecordBatch] | None:
        """The rows of these batches that are within limits, in order; None where not all of them are kept, or no row is within.

        :param arrivals: of the limits' topic.
        """
        with self._lock:
            found = [
                (one.batch, self._of.get((one.topic, one.batch))) for one in sorted(arrivals, key=lambda one: one.batch)
            ]
        rows = [(batch, part) for batch, part in found if part is not None]
        if len(rows) < len(found):
            return None
        return [part for part in (within(limits, batch, part) for batch, part in rows) if part.num_rows] or None


def within(limits: Limits, batch: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch that `Limits.condition` takes."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    scn, commit_scn = rows.column("scn"), rows.column("commit_scn")
    least = max(limits.snapshot, limits.read + 1, limits.applied_scn + 1 if batch <= limits.applied_batch else 0)
    if batch > limits.batch:
        return rows.slice(0, 0)
    parts = (pc.greater_equal(commit_scn, least), pc.less_equal(commit_scn, limits.scn), pc.greater_equal(scn, limits.since))
    chosen = pc.not_equal(rows.column("op"), "t")
    for part in parts:
        chosen = pc.and_(chosen, part)
    chosen = pc.fill_null(chosen, False)  # as SQL's WHERE
    return rows if pc.all(chosen).as_py() else rows.filter(chosen)
