"""Writes records into append-only files, exactly once: readers see what lies before a valid commit frame, and nothing else.

    commit   records -> disk, then the commit frame with the offset -> disk
    start    what lies after the last commit frame was not committed: it is cut off
    roll     a segment that is large enough ends with a commit; the next one begins with that commit's offset

The records are on disk before the commit frame is written. So a commit frame with damage before it shows damage, not a crash.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from minercdc.errors import SinkError
from minercdc.sinks.durable_files import OwnerLock, file_errors, make_durable, replace_file, write_all
from minercdc.sinks.segments.frames import Commit, Header, commit_frame, header_frame, record_frame
from minercdc.sinks.segments.reader import LOCK, SegmentLog, segment_file
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

_log = logging.getLogger(__name__)


class SegmentSink:
    """The `contracts.RecordSink` and OffsetSink of a connector that writes segments. Construction makes the directory when it
    is missing, locks it, and cuts off what was not committed; `close` gives it up. Records are kept in memory until `commit`.

    :param name: of the connector.
    :param segment_bytes: a segment that has this size or more is followed by another one.
    :param clock_ms: milliseconds since the epoch in UTC, the time of commits.
    :raises FencedError: another process has the directory.
    :raises SinkError: a segment is damaged, of another connector or version, or cannot be written (DeliveryError when the disk is
        full).
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        segment_bytes: int,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._directory = directory
        self._name = name
        self._segment_bytes = segment_bytes
        self._clock_ms = clock_ms
        self._frames: list[bytes] = []
        self._file = -1
        self._lock = OwnerLock(directory / LOCK, f"the directory {directory.absolute()}")
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        log = SegmentLog(self._directory)
        numbers = log.numbers()
        if not numbers:
            self._header = Header(uuid4().hex, self._name, 1, 0, None)
            self._create()
            numbers = [1]
        newest = log.newest(numbers[-1])
        self._header, self._offset, self._records, self._length = newest
        if self._header.connector != self._name:
            raise SinkError(
                f"{self._directory.absolute()} has the segments of connector {self._header.connector}, not of {self._name}",
                hint="Give each connector its own minercdc.sink.path.",
            )
        with file_errors(f"opening {self._path}"):
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            if (size := os.fstat(self._file).st_size) > self._length:
                _log.info("%s: %d bytes that were not committed are cut off", self._path, size - self._length)
                os.ftruncate(self._file, self._length)
                os.fsync(self._file)

    @property
    def _path(self) -> Path:
        return segment_file(self._directory, self._header.segment)

    def _create(self) -> None:
        with file_errors(f"making {self._path}"):
            replace_file(self._path, header_frame(self._header))

    def write(self, record: Record) -> None:
        """Keep the record in memory for the next commit; raises nothing."""
        self._frames.append(record_frame(record))

    def commit(self, offset: Offset) -> None:
        """Append the records kept since the last commit, and `offset`, to the segment; durable, and visible to readers all
        together, when this returns. Begins another segment first when the present one is large enough.

        :raises DeliveryError: the disk is full; open the sink again once it is not.
        :raises FencedError: the directory was removed or replaced.
        :raises SinkError: the segment cannot be written.
        """
        self._lock.check()
        if self._length >= max(self._segment_bytes, len(header_frame(self._header)) + 1):  # one commit at least
            self._roll()
        self._commit(offset_to_bytes(offset).decode())

    def remove_offset(self) -> None:
        """Remove the stored offset, durably, by a commit without an offset; records that wait are committed by it. Raises as
        `commit`."""
        self._lock.check()
        self._commit(None)

    def _commit(self, stored: str | None) -> None:
        records = self._records + len(self._frames)
        last = commit_frame(Commit(stored, records, self._clock_ms()))
        with file_errors(f"writing {self._path}"):
            data = b"".join(self._frames)
            if data:
                write_all(self._file, data)
                make_durable(self._file)
            write_all(self._file, last)
            make_durable(self._file)
        self._length += len(data) + len(last)
        self._offset, self._records = stored, records
        self._frames.clear()

    def _roll(self) -> None:
        header = self._header
        self._header = Header(header.log, self._name, header.segment + 1, self._records, self._offset)
        self._create()
        with file_errors(f"opening {self._path}"):
            os.close(self._file)
            self._file = -1
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            self._length = os.fstat(self._file).st_size

    def check_owner(self) -> None:
        """Raise FencedError when the directory or its lock file was removed or replaced, since another process may have taken
        over; SinkError when it cannot be looked at."""
        self._lock.check()

    def load_offset(self) -> Offset | None:
        """The offset that was committed last, None when there is none; as it was read at construction, and committed since.

        :raises SchemaHistoryError: it is in a form that this version does not read.
        """
        return None if self._offset is None else offset_from_bytes(self._offset.encode(), str(self._path))

    def close(self) -> None:
        """Forget what is not committed, and give up the lock of the directory; safe to call twice."""
        self._frames.clear()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()
