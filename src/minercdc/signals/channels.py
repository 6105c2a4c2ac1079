"""Where signals come from besides the stream itself: what every such channel can do, and the two that live in this process.

A channel hands out what it has together with a mark in its own words that says how far it was read. The mark is stored with
the position, in the Kafka transaction that says what became of the signal: after a kill the channel goes on behind it.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import IO, Protocol, TypeAlias

from minercdc.signals.signal import Signal, SignalRefused, signal_of_json

_log = logging.getLogger(__name__)

# Something that came: a signal, or what is wrong with it.
Received: TypeAlias = Signal | SignalRefused


class SignalChannel(Protocol):
    """A channel that is asked now and then."""

    @property
    def name(self) -> str: ...

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        """What has come since, without waiting, and how far that is.

        :param taken: mark of what was acted on, '' for nothing.
        """

    def stored(self, taken: str) -> None:
        """What was handed out up to this mark is durable."""

    def close(self) -> None: ...


class SignalQueue:
    """Signals given by this process (in-process, HTTP): handed out once, and lost with the process if it is killed before."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiting: deque[Received] = deque()
        self._lock = Lock()

    def put(self, signal: Signal) -> None:
        with self._lock:
            self._waiting.append(signal)

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        with self._lock:
            found = list(self._waiting)
            self._waiting.clear()
        return found, ""

    def stored(self, taken: str) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """It is the process's, not one life's."""


class SignalFile:
    """A file with a JSON document per line (`signal.file`).

    The mark is `<bytes> <SHA-256 of them>`. The file is emptied once everything in it is acted on and that is durable; until
    then, and after a kill in between, the mark tells what of it is done. It is let go of at the next look.
    """

    name = "file"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._emptied = False
        self._stored = ""

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        try:
            with self._path.open("rb") as file, _locked(file):
                content = file.read()
        except FileNotFoundError:
            return (), taken
        except OSError as error:
            _log.warning("signal.file %s cannot be read: %s", self._path, error)
            return (), taken
        if not content or self._emptied:
            taken = ""
        begin = _done(content, taken)
        end = content.rfind(b"\n") + 1  # a line without its end is still being written
        if end <= begin:
            return (), taken
        self._emptied, self._stored = False, ""
        return list(_lines(content[begin:end])), _mark(content[:end])

    def stored(self, taken: str) -> None:
        """Empty the file if there is nothing more in it."""
        if not taken or taken == self._stored:
            return
        self._stored = taken
        try:
            with self._path.open("rb+") as file, _locked(file):
                content = file.read()
                if content and _mark(content) == taken:
                    file.truncate(0)
                    self._emptied = True
        except OSError as error:
            _log.warning("signal.file %s cannot be emptied: %s", self._path, error)

    def close(self) -> None:
        """It is not kept open."""


def _done(content: bytes, taken: str) -> int:
    """Bytes at the beginning that were acted on."""
    if not taken:
        return 0
    length = int(taken.partition(" ")[0])
    return length if len(content) >= length and _mark(content[:length]) == taken else 0


def _mark(content: bytes) -> str:
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}"


def _lines(content: bytes) -> Iterator[Received]:
    for line in content.splitlines():
        if not line.strip():
            continue
        try:
            yield signal_of_json(line, "file")
        except SignalRefused as refused:
            yield refused


class _locked:
    """Keeps other `minercdc signal` commands from the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def append(path: Path, line: str) -> None:
    """Put one more line into a signal file."""
    with path.open("ab") as file, _locked(file):
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
