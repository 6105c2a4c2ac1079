"""Copies of the files of kept transactions in a compacted topic, for a start on another machine, or after the disk was lost.

    key     <connector>/<file>/<number of the piece>
    value   the piece: 256 KiB, the last one of a file less; a tombstone once the file is not needed

A file is only appended to, so its pieces are final but for the last one, which is written again with what came after it. A length that
an offset counts is therefore in the topic for as long as the file is not removed, whatever was appended later. Two processes never
write to the same file, nor so to the same key.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from minercdc.capture.logminer.kept_frames import read_at
from minercdc.contracts import KeyedTopic
from minercdc.errors import SinkError

_log = logging.getLogger(__name__)

PIECE: Final = 256 * 1024
SUFFIX: Final = ".topic.rows"
"""Of the names of files that are copied."""


def is_copied(name: str) -> bool:
    """Whether the run that made a file of this name copied it."""
    return name.endswith(SUFFIX)


class KeptCopies:
    """The copies of one connector's files.

    :param connector: a name that no other connector has in that topic.
    """

    def __init__(self, topic: KeyedTopic, connector: str) -> None:
        self._topic, self._connector = topic, connector
        self._pieces: dict[str, int] = {}  # of each file that is in the topic, as far as this process knows

    def copy(self, name: str, file: int, begin: int, end: int) -> None:
        """Copy the bytes from `begin` to before `end`; all before `begin` are there. They are durable when this returns.

        :param file: descriptor of the file.
        :raises DeliveryError, SinkError: they may not be in the topic.
        :raises OSError: the file cannot be read.
        """
        for piece in range(begin // PIECE, _pieces(end)):
            at = piece * PIECE
            self._topic.put(self._key(name, piece), read_at(file, at, min(PIECE, end - at)))
        self._pieces[name] = max(self._pieces.get(name, 0), _pieces(end))
        self._topic.flush()

    def restore(self, wanted: Mapping[str, int], directory: Path) -> set[str]:
        """Make files again from their pieces, in the place of those that are there.

        :param wanted: name of each file, and the bytes that are needed; one of which the topic has fewer is not made.
        :returns: the names of all files of the connector that the topic has.
        :raises DeliveryError, SinkError: the topic cannot be read.
        :raises OSError: a file cannot be written.
        """
        if wanted:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        found: dict[str, set[int]] = {}
        with ExitStack() as stack:
            made: dict[str, BinaryIO] = {}
            for name, piece, value in self._stored():
                if value is None:
                    found.get(name, set()).discard(piece)
                    continue
                found.setdefault(name, set()).add(piece)
                if name in wanted:
                    if name not in made:
                        made[name] = stack.enter_context(_new_file(directory / f"{name}.part"))
                    os.pwrite(made[name].fileno(), value, piece * PIECE)
            there = {name: max(pieces) + 1 for name, pieces in found.items() if pieces}
            for name, file in made.items():
                os.fsync(file.fileno())
                if name in there and os.fstat(file.fileno()).st_size >= wanted[name]:
                    (directory / f"{name}.part").replace(directory / name)
                    _log.info("%s is made again from its copy in Kafka, %d bytes", name, wanted[name])
                else:
                    (directory / f"{name}.part").unlink()
        self._pieces |= {name: max(count, self._pieces.get(name, 0)) for name, count in there.items()}
        return set(there)

    def remove(self, name: str, length: int) -> None:
        """Remove the copy of a file; a failure is logged, and leaves some of it in the topic.

        :param length: how long the file is, 0 where it is not known.
        """
        try:
            for piece in range(max(self._pieces.pop(name, 0), _pieces(length))):
                self._topic.put(self._key(name, piece), None)
            self._topic.flush()
        except SinkError as error:
            _log.warning("the copy of %s is left in Kafka: %s", name, error.message)

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
