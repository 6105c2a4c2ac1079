"""Reads segments: up to the last commit, while a connector may be writing.

    0000000000000001.segment   0000000000000002.segment   ..   owner.lock   connector.schema-history

A position is (segment, byte): the beginning of a segment, or the end of a commit frame.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from minercdc.errors import SinkError
from minercdc.sinks.durable_files import file_errors, make_durable
from minercdc.sinks.segments.frames import (
    COMMIT,
    HEAD_BYTES,
    HEADER,
    RECORD,
    Commit,
    Frame,
    Header,
    StoredRecord,
    commit_of,
    commits,
    frame_length,
    frames,
    has_commit,
    header_of,
    last_commit,
    record_of,
)

LOCK = "owner.lock"
_NAME = re.compile(r"(\d{16})\.segment")
_LOOKS = 3  # at what looks like damage: a writer may be cutting off an older tail at this moment
_BETWEEN_LOOKS_S = 0.05
_IDLE_BYTES = 1 << 16  # of commits without records, that are passed over together
_TAIL = 1 << 18  # bytes at the end of a segment that are looked at first


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in the segments: number of a segment, and byte in its file. Places compare in the order of writing."""

    segment: int
    byte: int


class Newest(NamedTuple):
    """What the newest segment holds, as a start finds it.

    :param header: of that segment.
    :param offset: stored offset of the last commit, None for none.
    :param records: how many records are committed, in all segments.
    :param length: bytes of that segment up to the end of the last commit, or of the header.
    """

    header: Header
    offset: str | None
    records: int
    length: int


def segment_file(directory: Path, number: int) -> Path:
    """Path of the segment with this number in a directory, be it there or not."""
    return directory / f"{number:016}.segment"


class SegmentLog:
    """Reads the segments of a directory, without a lock; keeps nothing between two calls."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.absolute()

    def numbers(self) -> list[int]:
        """Numbers of the segments that are there, in order; [] without the directory. Raises SinkError when one in between is
        missing, or the directory cannot be read."""
        with file_errors(f"reading {self._directory}"):
            names = os.listdir(self._directory) if self._directory.is_dir() else []
        found = sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))
        for earlier, later in pairwise(found):
            if later != earlier + 1:
                raise self._missing(earlier + 1)
        return found

    def header(self, number: int) -> Header:
        """The header of a segment. Raises SinkError when it is missing, damaged or of another version."""
        length = frame_length(self._content(number, 0, HEAD_BYTES))
        for found in frames(self._content(number, 0, length)):
            return self._header_of(number, found)
        raise self._damaged(number, 0)

    def newest(self, number: int) -> Newest:
        """How far the segment of this number, which is the newest, is committed; reads all of it. Raises SinkError when it is
        missing, of another version, or damaged before its last commit."""
        header: Header | None = None
        commit: Commit | None = None
        length = 0
        for found in self._frames(number, 0):
            if header is None:
                header, length = self._header_of(number, found), found.end
            elif found.kind == COMMIT:
                commit, length = commit_of(found.payload), found.end
        if header is None:
            raise self._damaged(number, 0)
        if commit is None:
            return Newest(header, header.offset, header.records, length)
        return Newest(header, commit.offset, commit.records, length)

    def reach(self, start: Place, most: int | None = None) -> Place:
        """The end of the last commit after `start`, or of the first one by which `most` records are read; `start` when there is
        none, or a few without records, as an idle connector writes them. What lies before the returned end is on disk when this
        returns, so that no crash of the machine takes it back.

        :param start: the end of a commit, or byte 0 of a segment.
        :param most: records; None for all there are.
        :raises SinkError: a segment is missing or damaged.
        """
        reached, records = start, 0
        if self._size(start.segment) < start.byte:
            path = segment_file(self._directory, start.segment)
            raise SinkError(
                f"the segment {path} ends before byte {start.byte}, up to which it was read", hint=_restore("Put it back")
            )
        numbers = self._from(start.segment)
        for number in numbers:
            begin, complete = start.byte if number == start.segment else 0, number != numbers[-1]
            for found in self._frames(number, begin, complete=complete):
                records += found.kind == RECORD
                if found.kind == COMMIT:
                    reached = Place(number, found.end)
                    if most is not None and records >= most:
                        return self._durable(reached)
        idle = not records and reached.segment == start.segment and reached.byte - start.byte < _IDLE_BYTES
        return start if idle else self._durable(reached)

    def last_offset(self) -> str | None:
        """The offset that was stored last, as JSON text; None when there is none, or no segment. Raises SinkError when the
        newest segment cannot be read."""
        numbers = self.numbers()
        if not numbers:
            return None
        size = self._size(numbers[-1])
        if (commit := last_commit(self._content(numbers[-1], max(size - _TAIL, 0), None))) is not None:
            return commit.offset
        return self.newest(numbers[-1]).offset

    def commits(self, start: Place) -> Iterator[tuple[Place, Commit]]:
        """The commits after `start` with the places where they end, without what lies between them: whoever reads the records finds
        what is damaged there. Segments that are gone, as they were read, are passed over.

        :param start: the end of a commit, or byte 0 of a segment.
        :raises SinkError: a segment cannot be read.
        """
        for number in self.numbers():
            if number >= start.segment:
                begin = start.byte if number == start.segment else 0
                for end, commit in commits(self._content(number, begin, None), begin):
                    yield Place(number, end), commit

    def records(self, place: Place) -> int:
        """How many records are committed up to a place, in all segments.

        :param place: the end of a commit, or byte 0 of a segment.
        :raises SinkError: the segment is missing, damaged, or has no commit there.
        """
        if place.byte == 0:
            return self.header(place.segment).records
        commit = last_commit(self._content(place.segment, max(place.byte - _TAIL, 0), place.byte))
        if commit is None:
            raise self._damaged(place.segment, place.byte)
        return commit.records

    def ranges(self, start: Place, end: Place) -> list[tuple[Place, int | None]]:
        """What lies between two positions, by segment in order: (begin, byte at which it ends; None for the end of the
        segment). [] when nothing does. No file is looked at."""
        found: list[tuple[Place, int | None]] = []
        for number in range(start.segment, end.segment + 1):
            begin = start.byte if number == start.segment else 0
            until = end.byte if number == end.segment else None
            if until is None or begin < until:
                found.append((Place(number, begin), until))
        return found

    def read(self, begin: Place, until: int | None) -> Iterator[StoredRecord]:
        """The committed records of one segment between two commits, in order.

        :param begin: byte 0, or the end of a commit.
        :param until: byte at which the last commit ends; None for the end of a segment that another one follows.
        :raises SinkError: the segment is missing or damaged.
        """
        batch: list[bytes] = []
        commit: Commit | None = None
        end = begin.byte
        for found in self._frames(begin.segment, begin.byte, until, complete=until is None):
            if found.kind == RECORD:
                batch.append(found.payload)
                continue
            end = found.end
            if found.kind == COMMIT:
                commit = commit_of(found.payload)
                first = commit.records - len(batch)
                for number, payload in enumerate(batch, first):
                    yield record_of(payload, number, commit.time_ms)
                batch.clear()
        cut = end < until if until is not None else commit and commit.records != self.header(begin.segment + 1).records
        if cut:
            raise self._damaged(begin.segment, end)

    def _from(self, number: int) -> list[int]:
        numbers = self.numbers()
        if not numbers or numbers[0] > number or numbers[-1] < number:
            raise self._missing(number)
        return [one for one in numbers if one >= number]

    def _frames(self, number: int, begin: int, until: int | None = None, *, complete: bool = False) -> Iterator[Frame]:
        """Valid frames of a segment from byte `begin` on, to byte `until` or its end; a tail that is not valid and has no
        commit is left out.

        :param complete: another segment follows this one, which ended with a commit: anything that is not valid is damage.
        """
        at, looks = begin, 0
        while True:
            content, base = self._content(number, at, until), at
            for found in frames(content, base):
                at = found.end
                yield found
            if not has_commit(content, at - base) and not (complete and at - base < len(content)):
                return
            looks = looks + 1 if at == base else 1
            if looks == _LOOKS:
                raise self._damaged(number, at)
            time.sleep(_BETWEEN_LOOKS_S)

    def _content(self, number: int, begin: int, until: int | None) -> bytes:
        path = segment_file(self._directory, number)
        with file_errors(f"reading {path}"):
            try:
                with path.open("rb") as file:
                    file.seek(begin)
                    return file.read(-1 if until is None else until - begin)
            except FileNotFoundError:
                raise self._missing(number) from None

    def _size(self, number: int) -> int:
        try:
            return segment_file(self._directory, number).stat().st_size
        except FileNotFoundError:
            raise self._missing(number) from None

    def _header_of(self, number: int, found: Frame) -> Header:
        if found.kind != HEADER:
            raise self._damaged(number, 0)
        try:
            header = header_of(found.payload)
        except (ValueError, KeyError, TypeError) as error:
            raise SinkError(
                f"the segment {segment_file(self._directory, number)} was written by another version: {error!r}",
                hint="Run that version, or start over with an empty directory.",
            ) from None
        if header.segment != number:
            raise self._damaged(number, 0)
        return header

    def _durable(self, place: Place) -> Place:
        path = segment_file(self._directory, place.segment)
        with file_errors(f"flushing {path}"):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                make_durable(descriptor)
            finally:
                os.close(descriptor)
        return place

    def _missing(self, number: int) -> SinkError:
        return SinkError(f"the segment {segment_file(self._directory, number)} is missing", hint=_restore("Put it back"))

    def _damaged(self, number: int, at: int) -> SinkError:
        path = segment_file(self._directory, number)
        return SinkError(f"the segment {path} is damaged at byte {at}", hint=_restore("Restore the file from a copy"))


def _restore(first: str) -> str:
    return (
        f"{first}. Without it records are lost: move the directory away, and start the connector, and its readers, over with a new"
        " snapshot."
    )
