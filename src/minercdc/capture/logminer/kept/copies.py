"""Copies of the files of kept transactions in a compacted topic, for a start on another machine, or after the disk was lost.

    key     <connector>/<file>/<number of the piece>
    value   the piece: 256 KiB, the last one of a file less or as much; a tombstone once the file is not needed

A file is only appended to, so its pieces are final but for the last one, which is written again with what came after it. A
length that an offset counts is therefore in the topic for as long as the file is not removed, whatever was appended later. Two
processes never write pieces to the same key, but a later one may write tombstones to keys of an earlier one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from minercdc.capture.logminer.kept.frames import read_at
from minercdc.errors import SinkError
from minercdc.stream.contracts import KeyedTopic
from minercdc.stream.counters.lag_causes import Cause, TimeSpent

_log = logging.getLogger(__name__)

PIECE: Final = 256 * 1024
SUFFIX: Final = ".topic.rows"
"""How names of files end that are copied; the others end in `.rows` alone."""


def is_copied(name: str) -> bool:
    """Whether the run that made a file of this name copied it."""
    return name.endswith(SUFFIX)


class KeptCopies:
    """Writes and reads the copies of one connector's files. The topic is not closed here.

    :param connector: a name that no other connector has in that topic.
    :param spent: counts the time for which Kafka is waited for; None: that is not counted.
    """

    def __init__(self, topic: KeyedTopic, connector: str, spent: TimeSpent | None = None) -> None:
        self._topic, self._connector = topic, connector
        self._spent = spent or TimeSpent()
        self._there: dict[str, set[int]] | None = None  # by name, the pieces that the topic has; None until it is read

    def has(self, name: str, length: int) -> bool:
        """Whether the topic has the first `length` bytes of the file of this name. The whole topic is read once, here or in
        `restore`; what was copied or removed since counts. Raises DeliveryError, SinkError when it cannot be read."""
        if self._there is None:
            self._there = self._read({})
        return self._there.get(name, set()).issuperset(range(_pieces(length)))

    def copy(self, name: str, file: int, begin: int, end: int) -> None:
        """Copy the bytes of a file from `begin` to before `end`; those before `begin` were copied earlier. They are durable
        in the topic when this returns.

        :param file: descriptor of the file.
        :raises DeliveryError, SinkError: they may not be in the topic.
        :raises OSError: the file cannot be read.
        """
        pieces = range(begin // PIECE, _pieces(end))
        with self._spent.during(Cause.KAFKA):
            for piece in pieces:
                at = piece * PIECE
                self._topic.put(self._key(name, piece), read_at(file, at, min(PIECE, end - at)))
            self._topic.flush()
        if self._there is not None:
            self._there.setdefault(name, set()).update(pieces)

    def restore(self, wanted: Mapping[str, int], directory: Path) -> set[str]:
        """Read the topic, and make files again from their pieces, in the place of those that are there. Each is logged: one
        of which the topic has too little as a warning, and the one that is there stays.

        :param wanted: name of each file, and how many bytes of it are needed.
        :param directory: of the files; made if there is none and files are wanted.
        :returns: the names of all files of the connector that the topic has some of.
        :raises DeliveryError, SinkError: the topic cannot be read.
        :raises OSError: a file cannot be written.
        """
        if wanted:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as stack:
            made = {name: stack.enter_context(_new_file(directory / f"{name}.part")) for name in wanted}
            self._there = self._read(made)
            for name, file in made.items():
                part = directory / f"{name}.part"
                if self.has(name, wanted[name]):
                    os.fsync(file.fileno())
                    part.replace(directory / name)
                    _log.info("%s is restored from its copy in Kafka, %d bytes", name, wanted[name])
                else:
                    part.unlink()
                    _log.warning("%s: the topic has no copy of its first %d bytes", name, wanted[name])
        return set(self._there)

    def remove(self, name: str, length: int) -> None:
        """Remove the copy of a file from the topic; a failure is logged as a warning, and leaves some of it there.

        :param length: how long the file is, 0 where it is not known.
        """
        there = (self._there or {}).pop(name, set())
        try:
            for piece in sorted(there.union(range(_pieces(length)))):
                self._topic.put(self._key(name, piece), None)
            self._topic.flush()
        except SinkError as error:
            _log.warning("the copy of %s is left in Kafka: %s", name, error.message)

    def _read(self, files: Mapping[str, BinaryIO]) -> dict[str, set[int]]:
        """The pieces that the topic has, by name; those of names in `files` are written to these files, each in its
        place."""
        found: dict[str, set[int]] = {}
        with self._spent.during(Cause.KAFKA):
            for name, piece, value in self._stored():
                if value is None:
                    found.get(name, set()).discard(piece)
                    continue
                found.setdefault(name, set()).add(piece)
                if name in files:
                    os.pwrite(files[name].fileno(), value, piece * PIECE)
        return {name: pieces for name, pieces in found.items() if pieces}

    def _key(self, name: str, piece: int) -> str:
        return f"{self._connector}/{name}/{piece}"

    def _stored(self) -> Iterator[tuple[str, int, bytes | None]]:
        for key, value in self._topic.records():
            connector, *rest = key.rsplit("/", 2)
            if connector == self._connector and len(rest) == 2 and rest[1].isdecimal():
                yield rest[0], int(rest[1]), value


def _pieces(length: int) -> int:
    return -(-length // PIECE)


def _new_file(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "r+b")
