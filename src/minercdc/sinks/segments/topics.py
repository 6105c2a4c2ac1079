"""Reads topics in segments, as `kafka.topic_fold` needs them: each has one partition, whose offsets are the numbers of all
records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from minercdc.errors import SinkError
from minercdc.sinks.segments.frames import StoredRecord
from minercdc.sinks.segments.reader import Place, SegmentLog


class SegmentMessage:
    """A record of a segment with the methods of a Kafka message that `kafka.topic_fold` calls."""

    def __init__(self, record: StoredRecord) -> None:
        self._record = record

    def offset(self) -> int:
        """Number of the record over all segments, from 0 on."""
        return self._record.number

    def key(self) -> bytes | None:
        """Key of the record, None for none."""
        return self._record.key

    def value(self) -> bytes | None:
        """Value of the record, None for a tombstone."""
        return self._record.value


class SegmentTopics:
    """The `kafka.topic_fold.TopicRecords` of a sink of segments. It opens files as it needs them, and takes no lock. What was not
    committed is not there yet.

    :param directory: of the segments.
    """

    def __init__(self, directory: Path) -> None:
        self._log = SegmentLog(directory)

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """((0, number that the next record of any topic will have),), whether the topic has records or not; () while there is no
        segment. Raises SinkError when the segments cannot be read."""
        numbers = self._log.numbers()
        return ((0, self._log.newest(numbers[-1]).records),) if numbers else ()

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Number of the first record that retention has left, 0 while there is no segment. Raises SinkError when the segments
        cannot be read."""
        numbers = self._log.numbers()
        return self._log.header(numbers[0]).records if numbers else 0

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[SegmentMessage]:
        """The committed records of a topic from number `begin` to before `end`, in order; without those that retention has
        removed. Raises SinkError when a segment cannot be read.

        :param partition: 0.
        """
        numbers = self._log.numbers()
        firsts = [self._log.header(number).records for number in numbers]
        for number, first in list(zip(numbers, firsts, strict=True))[max(bisect_right(firsts, begin) - 1, 0) :]:
            if first >= end:
                return
            for record in self._records(number, is_newest=number == numbers[-1]):
                if begin <= record.number < end and record.topic == topic:
                    yield SegmentMessage(record)

    def _records(self, number: int, *, is_newest: bool) -> Iterator[StoredRecord]:
        """The committed records of a segment; fewer, or none, when retention removes the segment meanwhile."""
        try:
            yield from self._log.read(Place(number, 0), self._log.newest(number).length if is_newest else None)
        except SinkError:
            if number >= self._log.numbers()[0]:
                raise
