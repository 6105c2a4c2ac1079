"""Keeps the figures of the micro-batches that Spark itself reads: how many records they had, and how long they took."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from minercdc.stream.counters.lake import LakeFigures

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery


class StreamWatch:
    """Notes micro-batches once Spark has reported them, some time after they are done.

    The reports are asked for: of a StreamingQueryListener, PySpark converts each event, also of a batch without rows, by hundreds of calls of Java.

    :param figures: records and triggers are added to it.
    """

    def __init__(self, figures: LakeFigures) -> None:
        self._figures = figures
        self._lock = threading.Lock()
        self._awaited: set[int] = set()

    def expect(self, number: int) -> None:
        """Have a micro-batch noted that was appended now."""
        with self._lock:
            self._awaited.add(number)

    def look(self, query: StreamingQuery) -> None:
        """Add what is reported of micro-batches that are expected: their records, and their durations in seconds."""
        with self._lock:
            newest = query.lastProgress if self._awaited else None
            if newest is None or newest.batchId < min(self._awaited):
                return
            # A report without rows is one of waiting, and has the number of the next micro-batch.
            is_all = self._awaited == {newest.batchId} and newest.numInputRows
            for one in [newest] if is_all else query.recentProgress:
                if one.batchId in self._awaited and one.numInputRows:
                    self._awaited.remove(one.batchId)
                    self._figures.records += one.numInputRows
                    self._figures.triggers.add(one.batchDuration / 1000)
            self._awaited = {number for number in self._awaited if number >= newest.batchId}
