"""Channels that signals come by, besides the stream itself: the interface of them, and those that are files.

    file                 users append to it, or `minercdc signal`
    http, in-process     `SignalJournal`: a signal is in a file before it is answered, and survives the process

A channel returns its signals together with a mark, in a form of its own, that says how far it was read. The mark is stored with
the position, in the Kafka transaction of the signal's result: after a kill the channel goes on after it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol, TypeAlias
from urllib.parse import quote
from uuid import uuid4

from minercdc.errors import StateDirectoryError
from minercdc.stream.signal import Signal, SignalRefused, signal_of_json
from minercdc.stream.state_directory import make_private, private_opener, sync_directory

_log = logging.getLogger(__name__)

# A signal, or what is wrong with it.
Received: TypeAlias = Signal | SignalRefused


class SignalChannel(Protocol):
    """A channel that is polled now and then, by one thread: `poll`, later `stored` with its mark; `close` at the end."""

    @property
    def name(self) -> str:
        """Its name in `signal.enabled.channels`."""

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        """Signals after the mark `taken`, without waiting for any to come, and the mark after what was read.

        :param taken: mark up to which signals were acted on, '' for none.
        :returns: signals, refusals of what is none, and the mark, which also moves over what is not for this connector. Where
            nothing was read it is `taken`, or '' when it is not needed any more.
        :raises DeliveryError, SinkError: a topic cannot be read.
        """

    def stored(self, taken: str) -> None:
        """Note that the results of all signals up to this mark are durable; '' for no mark. It raises nothing."""

    def close(self) -> None:
        """Release what it holds, at the end of a run; safe to call twice."""


class SignalFile:
    """The channel of a file with a JSON document per line (`signal.file`).

    The mark is `<bytes> <SHA-256 of them>`, and where these are all, ` <when the file was changed last>` in nanoseconds. The file is
    emptied once everything in it is acted on and that is durable; until then, and after a kill in between, the mark says how much of
    it is done. The poll after that drops the mark. A process that ends before it leaves the mark: the same lines once more, in a file
    that was changed since, are signals once more.

    :param name: of the channel.
    """

    def __init__(self, path: Path, name: str = "file") -> None:
        self.name = name
        self._path = path
        self._emptied = False
        self._stored = ""

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        """Signals after the mark `taken`, refusals of lines that are none, and the mark after them (`SignalChannel`). No
        signals when there is no file, nor when it cannot be read, which is logged as a warning. Waits while another process
        writes to the file. A line without its end is left for a later poll."""
        try:
            with self._path.open("rb") as file, _locked(file):
                changed = os.fstat(file.fileno()).st_mtime_ns
                content = file.read()
                if os.fstat(file.fileno()).st_mtime_ns != changed:  # by a writer that takes no lock
                    changed = 0
        except FileNotFoundError:
            return (), taken
        except OSError as error:
            _log.warning("signals of channel %s, %s, cannot be read: %s", self.name, self._path, error)
            return (), taken
        if not content or self._emptied:
            taken = ""
        begin = _end_of_taken(content, taken, changed)
        end = content.rfind(b"\n") + 1  # a line without its end is still being written
        if end <= begin:
            return (), taken
        self._emptied, self._stored = False, ""
        mark = f"{_mark(content[:end])} {changed}" if changed and end == len(content) else _mark(content[:end])
        return list(_lines(content[begin:end], self.name)), mark

    def stored(self, taken: str) -> None:
        """Empty the file if nothing follows the mark in it; a failure is logged as a warning. No effect for '' and for the
        mark of the last call."""
        if not taken or taken == self._stored:
            return
        self._stored = taken
        try:
            with self._path.open("rb+") as file, _locked(file):
                content = file.read()
                if content and _mark(content) == _without_time(taken):
                    file.truncate(0)
                    self._emptied = True
        except OSError as error:
            _log.warning("signals of channel %s, %s, cannot be emptied: %s", self.name, self._path, error)

    def close(self) -> None:
        """No effect: the file is not kept open."""


class SignalJournal(SignalFile):
    """The channel of signals given to this process, kept in a file until they are acted on: they survive a kill. `put` may be
    called by any thread.

    Each line has a random member, so that the same signal sent again never fits the mark of the first.

    :param directory: of files that outlive the process.
    :param connector: its name; each has a file of its own.
    :param name: of the channel: http or in-process.
    """

    def __init__(self, directory: Path, connector: str, name: str) -> None:
        self._directory = directory
        self._file = directory / f"signals-{quote(connector, safe='')}-{name}.jsonl"
        super().__init__(self._file, name)

    @property
    def is_waiting(self) -> bool:
        """Whether there may be signals that were not acted on: the file is there and not empty."""
        return self._file.exists() and self._file.stat().st_size > 0

    def put(self, signal: Signal) -> None:
        """Append a signal to the file, which is made when missing; it is durable when this returns.

        :raises StateDirectoryError: it cannot be written; the signal is not accepted.
        """
        line = json.dumps({"id": signal.id, "type": signal.type, "data": signal.data, "taken": uuid4().hex})
        try:
            make_private(self._directory)
            append(self._file, line, private=True)
        except OSError as error:
            raise StateDirectoryError(
                f"keeping a signal in {self._file.absolute()} failed: {error.strerror or error}",
                hint="Free disk space there, or set minercdc.state.dir to another directory.",
            ) from error


def _end_of_taken(content: bytes, taken: str, changed: int) -> int:
    """How many bytes at the beginning of the content were acted on, by the mark `taken`; 0 for '', and for a mark of other
    content, or of the same in a file that was emptied and written again.

    :param changed: when the file was changed last, nanoseconds since the epoch; 0 when that is not known.
    """
    if not taken:
        return 0
    length, _, *then = taken.split(" ")
    whole, end = _without_time(taken), int(length)
    if len(content) < end or _mark(content[:end]) != whole:
        return 0
    return 0 if len(content) == end and then and changed and int(then[0]) != changed else end


def _without_time(mark: str) -> str:
    return " ".join(mark.split(" ")[:2])


def _mark(content: bytes) -> str:
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}"


def _lines(content: bytes, channel: str) -> Iterator[Received]:
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            yield signal_of_json(line, channel)
        except SignalRefused as refused:
            yield refused


class _locked:
    """Within the context this process has the lock of an open file, for which it waits; every reader and writer of a signal
    file takes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def append(path: Path, line: str, *, private: bool = False) -> None:
    """Append a line to a signal file, created when missing; it is durable when this returns. Raises OSError.

    :param private: only its owner may read a file that this creates.
    """
    new = not path.exists()
    with open(path, "ab+", opener=private_opener if private else None) as file, _locked(file):
        end = file.seek(0, os.SEEK_END)
        if end:  # what a killed writer left of a line must not take this one with it
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else f"\n{line}"
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if new:
        sync_directory(path.parent)
