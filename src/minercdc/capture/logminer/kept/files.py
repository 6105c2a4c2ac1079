"""Keeps rows of open transactions in files that survive the process: what an offset names of them is on disk before it is stored.

`frames.py` has the form of a file. It is only appended to, and only by the run that made it. A run that goes on with a
transaction leaves the files it finds as they are and appends to one of its own, so two processes, of which one is fenced without
knowing it, never write to the same. An offset counts a file to some length; what follows belongs to an offset that was not
stored.

A file that was named is removed by the process that has stored an offset without it: a fenced one stores nothing.

With `minercdc.log.mining.buffer.durable=topic` a copy in Kafka (`copies.py`) has what an offset names, too.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from minercdc.capture.logminer.kept.copies import KeptCopies, is_copied
from minercdc.capture.logminer.kept.frames import (
    CUT,
    FRAME,
    ROWS,
    SEEN,
    Frame,
    checksum_of,
    damaged,
    disk_errors,
    read_at,
    scan,
)
from minercdc.capture.logminer.kept.rows import Name, NativeRows, parts_of, rows_of
from minercdc.capture.logminer.kept.writer import KeptWriter
from minercdc.capture.logminer.position import KeptPart, KeptTransaction, LogMinerPosition
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.errors import TransientSourceError

_log = logging.getLogger(__name__)

_MOST_FILES = 8
"""How many files a transaction may have beside the one that is written: with more, all are copied into one."""


class KeptFiles:
    """The directory of one connector's files, and which of them are still needed; one for each adapter, `begin` for each stream.

    :param directory: `minercdc.state.dir`; the attribute is the connector's directory below it.
    :param connector: a name that no other connector has in that directory.
    :param copies: of the files, in Kafka; None for none.
    :ivar version: of the set of kept transactions; see `LogMinerPosition.kept_version`.
    :ivar closing: the run ends, so that files stay; set by `Keeping.close`.
    """

    def __init__(self, directory: Path, connector: str, copies: KeptCopies | None = None) -> None:
        self.directory = directory / "open-transactions" / quote(connector, safe="")
        self.copies = copies
        self.version = 0
        self.closing = False
        self._own: set[str] = set()
        self._retired: list[tuple[int, str]] = []
        self._tidied = False
        self._found = self._names()  # when the run began: later ones may be of a process that has taken over since

    def begin(self) -> KeptFiles:
        """Begin a stream: all files that are there now count as those of earlier runs. Returns this object."""
        self.closing, self._tidied = False, False
        self._own.clear()
        self._retired.clear()
        self._found = self._names()
        return self

    def _names(self) -> set[str]:
        return {path.name for path in self.directory.glob("*.rows")}

    def make(self, native: NativeRows | None) -> KeptFile:
        """A KeptFile for a transaction of which nothing is on disk yet; its file is made with the first rows."""
        return KeptFile(self, native)

    def load(self, kept: KeptTransaction, native: NativeRows | None) -> KeptFile:
        """The rows of a kept transaction; all bytes are checked. If a file is missing or damaged, copied ones are made again.

        :raises TransientSourceError: a file is missing or damaged, and no copy is right; the message says which, and how.
        :raises DeliveryError, SinkError: the copies cannot be read.
        :raises StateDirectoryError: the files cannot be made again.
        """
        found = KeptFile(self, native)
        try:
            found.load(kept)
        except TransientSourceError as error:
            copied = {part.name: part.length for part in kept.files if self.has_copy(part)}
            if not copied:
                raise
            _log.warning("%s: the connector looks for a copy in Kafka", error.message)
            self._restore(copied)
            found = KeptFile(self, native)
            try:
                found.load(kept)
            except TransientSourceError as again:
                again.message += ", and so it is in the copy in Kafka"
                raise
        return found

    def fetch(self, kept: Sequence[KeptTransaction]) -> None:
        """Read the topic, and make files that are missing or too short again from their copies. No effect without `copies`.
        Errors as of `load`, except TransientSourceError.

        :param kept: all transactions that the run goes on with.
        """
        parts = (part for one in kept for part in one.files)
        self._restore({part.name: part.length for part in parts if is_copied(part.name) and self._lacks(part)})

    def _restore(self, wanted: Mapping[str, int]) -> None:
        if self.copies is not None:
            with disk_errors(self.directory):
                self._found |= self.copies.restore(wanted, self.directory)

    def has_copy(self, part: KeptPart) -> bool:
        """Whether Kafka has all that counts of the file, too; False without `copies`. Raises DeliveryError or SinkError when
        the topic cannot be read."""
        return self.copies is not None and is_copied(part.name) and self.copies.has(part.name, part.length)

    def lacks(self, kept: KeptTransaction) -> str:
        """Why the transaction's files cannot be used: the path of the first one that is missing, too short or not accessible,
        and the cause; '' when each is there or has a copy. Looks at names and lengths only; `damage` reads the content.
        Raises as `has_copy`."""
        reasons = ((part, self._lacks(part)) for part in kept.files)
        return next((reason for part, reason in reasons if reason and not self.has_copy(part)), "")

    def _lacks(self, part: KeptPart) -> str:
        path = self.directory.absolute() / part.name
        try:
            return f"{path} is shorter than {part.length} bytes" if path.stat().st_size < part.length else ""
        except OSError as error:
            return f"{path}: {error.strerror or error}"

    def damage(self, kept: KeptTransaction) -> str:
        """What is wrong with the transaction's files, '' for nothing, as when each has a copy; else they are read as `load`
        reads them, with its effects and errors, TransientSourceError apart."""
        if kept.files and all(map(self.has_copy, kept.files)):
            return ""
        try:
            self.load(kept, None)
        except TransientSourceError as error:
            return error.message
        return ""

    def opened(self, name: str) -> None:
        """Note that a file of this name was made in the directory by this run."""
        self._own.add(name)

    def retire(self, names: Sequence[str]) -> None:
        """Have `confirm` remove these files, once a position that is made from now on is stored. No effect while the run ends
        (`closing`)."""
        if not self.closing:
            self._own.difference_update(names)
            self._retired += [(self.version, name) for name in names]

    def remove(self, name: str, *, sealed: bool = True) -> None:
        """Remove a file that no position names, and its copy, at once; a failure is passed over, or logged for the copy.

        :param sealed: False: nothing of it was copied.
        """
        self._own.discard(name)
        path, length = self.directory / name, 0
        with suppress(OSError):
            length = path.stat().st_size
            path.unlink()
        if self.copies is not None and sealed and is_copied(name):
            self.copies.remove(name, length)

    def confirm(self, position: LogMinerPosition) -> None:
        """To be called once an offset with the position is stored: remove the files given to `retire` that it does not need.
        The first call of a run shows that this process owns the connector's name, so it also removes files of earlier runs
        that the position does not name; none that was made since this run began, for this process may have stood still since
        it stored, and another may have taken over."""
        named = {part.name for kept in position.kept for part in kept.files}
        left: list[tuple[int, str]] = []
        for version, name in self._retired:
            if version <= position.kept_version and name not in named:
                self.remove(name)
            else:
                left.append((version, name))
        self._retired = left
        if not self._tidied:
            self._tidied = True
            needed = named | self._own | {name for _, name in left}
            for name in self._found - needed:
                self.remove(name)


class KeptFile:
    """One transaction's rows on disk, a stack of frames, in place of `spill.SpillFile`. Its rows survive from `seal` on. It
    is true while it has rows. Writing raises StateDirectoryError.

    :param native: converts the rows of the native path's buffer; None on the Python path.
    """

    def __init__(self, files: KeptFiles, native: NativeRows | None) -> None:
        self._files, self._native = files, native
        self._stored: list[KeptPart] = []  # of earlier runs
        self._frames: list[Frame] = []
        self._written: list[Frame] = []  # as the files have them
        self._writer = KeptWriter(files.directory, files.copies, files.opened)
        self._seen: set[tuple[Any, ...]] = set()
        self._who: tuple[str | None, str | None] = (None, None)
        self.is_sealed = False

    def __bool__(self) -> bool:
        return bool(self._frames)

    @property
    def size(self) -> int:
        """Bytes of its files on disk, those of earlier runs and of rows that were taken back included."""
        return self._writer.length + sum(part.length for part in self._stored)

    @property
    def rows(self) -> int:
        """Number of the rows that count, those that were taken back not included."""
        return sum(frame.rows for frame in self._frames)

    @property
    def seen(self) -> set[tuple[Any, ...]]:
        """Identities (`row_identity`) of undo rows without address that `seal` stored, or `load` found; a copy."""
        return set(self._seen)

    # ---- as `SpillFile` ----

    def append(self, rows: list[LogMinerRow]) -> None:
        """Append rows after those that are there, in frames of about 1 MiB. Raises MiningSessionError, too, as
        `rows.parts_of`."""
        if rows:
            self._who = rows[-1].user, rows[-1].client_id
        for names, part, count in parts_of(rows):
            self._append(names, part, count)

    def pop(self) -> list[LogMinerRow]:
        """Take back the last frame, and return its rows, oldest first; there must be one. Its bytes stay in the file, as ones
        that do not count. Raises as `read`."""
        names, part = self._read(self._frames.pop())
        return list(rows_of(names, part, *self._who))

    def read(self) -> Iterator[LogMinerRow]:
        """All rows that count, oldest first, one frame in memory at a time. Raises TransientSourceError for a damaged file."""
        for frame in self._frames.copy():
            names, part = self._read(frame)
            yield from rows_of(names, part, *self._who)

    def append_part(self, part: bytes) -> None:
        """Append rows as the native buffer has them, as one frame, in place of `append`."""
        assert self._native is not None
        self._append(*self._native.pack(part))

    def pop_part(self) -> bytes:
        """Take back the last frame, and return its rows as the native buffer has them, in place of `pop`; there must be one.
        Its bytes stay in the file, as ones that do not count. Raises as `read`."""
        return self._unpacked(self._frames.pop())

    def parts(self) -> Iterator[bytes]:
        """The rows of each frame that counts as the native buffer has them, oldest first, in place of `read`. Raises
        TransientSourceError for a damaged file."""
        for frame in self._frames.copy():
            yield self._unpacked(frame)

    def close(self) -> None:
        """To be called once, when the transaction or the run has ended. What was sealed goes to `KeptFiles.retire`, and so
        stays when the run ends; what was not is removed at once."""
        self._writer.close()
        if self.is_sealed:
            self._files.retire(self._names())
        elif self._writer.name:
            self._files.remove(self._writer.name, sealed=False)

    def _names(self) -> list[str]:
        return [part.name for part in self._stored] + ([self._writer.name] if self._writer.name else [])

    # ---- what survives ----

    def seal(self, seen: set[tuple[Any, ...]]) -> tuple[KeptPart, ...]:
        """Make all rows so far durable, in Kafka too where files are copied; returns what an offset has to name. Files of
        earlier runs are replaced by a new one when there are many, or one of them has no copy.

        :param seen: identities of undo rows without address, all so far.
        :raises StateDirectoryError: the rows cannot be written.
        :raises TransientSourceError: a file is damaged, or was removed.
        :raises DeliveryError, SinkError: the rows cannot be copied.
        """
        copied = self._files.copies is None or all(map(self._files.has_copy, self._stored))
        if len(self._stored) > _MOST_FILES or not copied:
            self._gather()
        self._cut()
        if added := seen - self._seen:
            self._frame(SEEN, json.dumps(sorted(added, key=repr)).encode(), 0)
            self._seen |= added
        written = self._writer.seal()
        self.is_sealed = True
        return (*self._stored, *written)

    def load(self, kept: KeptTransaction) -> None:
        """Take over the files that a position names, after a check of all bytes that count; nothing must be in here. Raises
        TransientSourceError when a file is missing or damaged."""
        self._who = kept.user, kept.client_id
        for number, part in enumerate(kept.files):
            path = self._files.directory / part.name
            try:
                with path.open("rb") as file:
                    scan(file, number, part, self._frames, self._seen)
            except OSError as error:
                raise damaged(path, error.strerror or str(error)) from error
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise damaged(path, str(error)) from error
        self._stored, self._written = list(kept.files), self._frames.copy()
        self.is_sealed = True
        if self.rows != kept.rows:
            raise damaged(self._files.directory, f"{self.rows} rows instead of {kept.rows}")

    # ---- frames ----

    def _append(self, names: list[Name], part: bytes, rows: int) -> None:
        self._cut()
        listed = json.dumps(names).encode()
        self._frame(ROWS, struct.pack("<I", len(listed)) + listed + part, rows)

    def _cut(self) -> None:
        """Append a CUT frame with how many frames still count, if some that are in the files were taken back since the last
        call."""
        if len(self._frames) < len(self._written):
            self._frame(CUT, struct.pack("<I", len(self._frames)), 0)
            self._written = self._frames.copy()

    def _frame(self, kind: int, payload: bytes, rows: int) -> None:
        own = checksum_of(kind, len(payload), rows, payload)
        self._writer.append(FRAME.pack(kind, len(payload), rows, own) + payload)
        if kind == ROWS:
            at = self._writer.length - len(payload)
            self._frames.append(Frame(len(self._stored), at, len(payload), rows, own))
            self._written.append(self._frames[-1])

    def _gather(self) -> None:
        """Copy all frames that count into a new file of this run, one in memory at a time, and retire the former ones."""
        whole = KeptFile(self._files, self._native)
        for frame in self._frames:
            whole._frame(ROWS, self._payload(frame), frame.rows)
        self._writer.close()
        self._files.version += 1
        self._files.retire(self._names())
        self._stored, self._frames, self._written = [], whole._frames, whole._written
        self._writer, self._seen = whole._writer, set()

    def _unpacked(self, frame: Frame) -> bytes:
        assert self._native is not None
        return self._native.unpack(*self._read(frame))

    def _read(self, frame: Frame) -> tuple[list[Name], bytes]:
        payload = self._payload(frame)
        (length,) = struct.unpack_from("<I", payload)
        names = [name if isinstance(name, str) else tuple(name) for name in json.loads(payload[4 : 4 + length])]
        return names, payload[4 + length :]

    def _payload(self, frame: Frame) -> bytes:
        """The payload of a frame of rows."""
        name = self._stored[frame.file].name if frame.file < len(self._stored) else self._writer.name
        path = self._files.directory / name
        try:
            if name == self._writer.name:
                payload = self._writer.read(frame.at, frame.length)
            else:
                with path.open("rb") as file:
                    payload = read_at(file.fileno(), frame.at, frame.length)
        except OSError as error:
            raise damaged(path, error.strerror or str(error)) from error
        if checksum_of(ROWS, frame.length, frame.rows, payload) != frame.checksum:
            raise damaged(path, f"the checksum of the {frame.length} bytes from {frame.at} on differs")
        return payload
