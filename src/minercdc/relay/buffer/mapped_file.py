"""The buffer's bytes in a memory-mapped file, which survives a restart and a kill of the process.

      0  8   magic          16  8   bytes of the buffer
     64 64   slot           128 64   the other slot: state with its number and CRC; the newer valid one counts
   4096 ..   the events, a circle

A state is written after the events that it shows, and before events are overwritten that it does not show any more. The file is
validated event by event at a start: what a crash of the machine left half written empties the buffer.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

from minercdc.errors import RelayDataError, RelayError
from minercdc.relay.buffer.storage import State
from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.events.event import LENGTH, LENGTH_AT, unpack
from minercdc.stream.state_directory import private_opener

_log = logging.getLogger(__name__)

_MAGIC: Final = b"MCRELAY1"
_ORIGIN: Final = 4_096
_HEAD = struct.Struct(">8s8xQ")
_SLOT = struct.Struct(">QQQqqI")
_SLOTS: Final = (64, 128)


class MappedFile:
    """A file as storage of a buffer (`storage.Storage`).

    :param size: bytes of the buffer; a file of another size, or that is not a buffer, is made again, with a warning unless
        it is new. `close` unmaps it.
    :raises RelayError: the file cannot be made, read or mapped.
    """

    origin = _ORIGIN

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        self._path = path
        self._number = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = private_opener(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            try:
                self._is_new = os.fstat(descriptor).st_size != _ORIGIN + size or os.pread(descriptor, _HEAD.size, 0) != (
                    _HEAD.pack(_MAGIC, size)
                )
                if self._is_new:
                    self._make(descriptor)
                self.data = mmap.mmap(descriptor, _ORIGIN + size)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RelayError(
                f"the relay's buffer {path.absolute()} cannot be used: {error.strerror or error}",
                hint="See minercdc.relay.buffer.path and minercdc.relay.buffer.bytes.",
            ) from None

    def _make(self, descriptor: int) -> None:
        if os.fstat(descriptor).st_size:
            _log.warning("%s is not a buffer of %d bytes: it is emptied", self._path, self.size)
        os.ftruncate(descriptor, 0)
        # Allocated at once: a full disk met by a write to mapped memory would kill the process.
        os.posix_fallocate(descriptor, 0, _ORIGIN + self.size)
        os.pwrite(descriptor, _HEAD.pack(_MAGIC, self.size), 0)

    def state(self) -> State | None:
        """The state that was saved last; None when there is none that is valid. To be called once, before the first
        `save`."""
        found = None
        for at in _SLOTS:
            content = self.data[at : at + _SLOT.size]
            number, head, tail, prev_scn, max_scn, crc = _SLOT.unpack(content)
            if number > self._number and crc == crc32(content[:-4]):
                self._number, found = number, State(head, tail, prev_scn, max_scn)
        return found

    def save(self, state: State) -> None:
        """Write the state into the older slot: a kill of the process does not lose it; `flush` puts it on disk."""
        self._number += 1
        content = _SLOT.pack(self._number, state.head, state.tail, state.prev_scn, state.max_scn, 0)[:-4]
        at = _SLOTS[self._number % 2]
        self.data[at : at + _SLOT.size] = content + struct.pack(">I", crc32(content))

    def flush(self) -> None:
        """Write everything to disk. Raises OSError."""
        self.data.flush()

    def close(self) -> None:
        """Unmap the file; what was published stays in it."""
        with contextlib.suppress(BufferError):
            self.data.close()


def open_mapped(path: Path, size: int) -> tuple[EventBuffer, MappedFile]:
    """The buffer in a file, with the windows that are there, and the file. The buffer is empty when the file is new, or has no
    valid state; and, with a warning, when one of its windows is not valid.

    :raises RelayError: the file cannot be made, read or mapped.
    """
    file = MappedFile(path, size)
    state = file.state()
    if state is None:
        return EventBuffer(file), file
    try:
        windows = list(_windows(file, state))
    except RelayDataError as error:
        _log.warning("%s: %s; the buffer is emptied, clients have to bootstrap", path, error.message)
        emptied = State(state.tail, state.tail, state.max_scn, state.max_scn)
        file.save(emptied)
        return EventBuffer(file, emptied), file
    buffer = EventBuffer(file, state)
    buffer.index(windows)
    _log.info("%s: %d windows kept, up to SCN %d", path, len(windows), state.max_scn)
    return buffer, file


def _windows(file: MappedFile, state: State) -> Iterator[tuple[int, int, int]]:
    """(SCN, place, SCN before) of each window."""
    size, data = file.size, file.data
    if not (0 <= state.tail - state.head <= size) or state.prev_scn > state.max_scn:
        raise RelayDataError(f"the state of the buffer contradicts itself: {state}")
    view = memoryview(data)[_ORIGIN:]
    try:
        place, before, begin = state.head, state.prev_scn, state.head
        while place < state.tail:
            event = unpack(_event(view, place, size))
            if event.sequence <= before:
                raise RelayDataError(f"window {event.sequence} comes after window {before}")
            place += len(_event(view, place, size))
            if event.is_end_of_window:
                yield event.sequence, begin, before
                before, begin = event.sequence, place
        if place != state.tail or begin != place or before != state.max_scn:
            raise RelayDataError(f"the last window ends at {place} with SCN {before}, where {state} says otherwise")
    finally:
        view.release()


def _event(view: memoryview, place: int, size: int) -> bytes:
    at = place % size
    length_at = [(at + LENGTH_AT + i) % size for i in range(4)]
    length = int(LENGTH.unpack(bytes(view[i] for i in length_at))[0])
    if not 0 < length <= size:
        raise RelayDataError(f"an event at {place} says that it has {length} bytes")
    if at + length <= size:
        return bytes(view[at : at + length])
    return bytes(view[at:]) + bytes(view[: length - (size - at)])
