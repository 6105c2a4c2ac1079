"""The circular buffer of events, window after window, in the order of their SCNs.

    publish    makes room by dropping the oldest windows, copies whole windows, then shows them to readers
    start_of   where a checkpoint goes on (the serving table of docs/relay.md)
    read       copies a range out; a reader whose range was overwritten meanwhile gets OvertakenError

A place is a number of bytes that were ever written before it; the byte is at the place modulo the buffer's size. So places grow
for ever, and a place is in the buffer while `head <= place < tail`. One thread publishes; any number reads, without waiting for
each other: the copy is made first, and then compared with `head`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from minercdc.errors import RelayError
from minercdc.relay.buffer.storage import State, Storage
from minercdc.relay.client.checkpoint import WHOLE_WINDOW, Checkpoint
from minercdc.relay.events.event import (
    END_OF_WINDOW,
    LENGTH,
    LENGTH_AT,
    LONG_KEY_SIZE,
    PREFIX,
    SOURCE,
    SOURCE_AT,
    end_of_window,
    sequence_of,
)

_BLOCKS = 65_536  # of the index: 3 numbers each
_LEAST_BLOCK = 4_096
_RECENT = 4_096  # places inside windows that answers ended at
_COPIES = 128  # slices that were read last, kept for other clients
_CUTS = 1_024  # ends of answers that were looked up event by event


class ScnNotFoundError(RelayError):
    """The checkpoint's window was overwritten, or never was in the buffer: only a bootstrap helps."""

    code = "MC-9103"


class OvertakenError(RelayError):
    """What is being read was overwritten by newer windows."""

    code = "MC-9103"


class Window(NamedTuple):
    """A window to be published: its SCN, its events without the end, and the time of that end in nanoseconds."""

    scn: int
    events: Sequence[bytes]
    time_ns: int


class Cut(NamedTuple):
    """Where an answer ends.

    :param end: place after its last event.
    :param scn, events: when it ends inside a window: that window, and how many of its events the answer has; else 0.
    :param pending: bytes of the first event, when even that does not fit; else 0.
    """

    end: int
    scn: int = 0
    events: int = 0
    pending: int = 0


class EventBuffer:
    """Windows in the memory of `storage`, which `close` releases. What changes them belongs to one thread, what reads them
    to any.

    :param state: what `storage` holds; `index` has to be called with its windows. None: nothing.
    """

    def __init__(self, storage: Storage, state: State | None = None) -> None:
        self._storage = storage
        self._data = storage.data
        self._size = storage.size
        self._origin = storage.origin
        self._block = max(_LEAST_BLOCK, self._size // _BLOCKS)
        self._lock = threading.Lock()
        self._grown = threading.Condition(self._lock)
        # The index: of the first window that begins in a block, its SCN, its place, and the SCN of the window before it.
        self._scns: list[int] = []
        self._places: list[int] = []
        self._before: list[int] = []
        self._recent: dict[tuple[int, int], int] = {}
        self._copies: dict[tuple[int, int], bytes] = {}
        self._cuts: dict[tuple[int, int], Cut] = {}
        self._state = state or State(0, 0, -1, -1)
        self.windows = 0  # published by this process

    @property
    def size(self) -> int:
        """How many bytes of events the buffer can hold."""
        return self._size

    @property
    def state(self) -> State:
        """What the buffer holds now."""
        return self._state

    def start_after(self, scn: int) -> None:
        """Say of an empty buffer that everything up to `scn` was in it once."""
        with self._lock:
            assert self._state.is_empty
            place = self._state.tail
            self._show(State(place, place, scn, scn))

    def clear(self, scn: int) -> None:
        """Drop all windows, since what follows them up to `scn` is missing."""
        with self._lock:
            del self._scns[:], self._places[:], self._before[:]
            self._recent.clear()
            place = self._state.tail
            self._show(State(place, place, scn, scn))

    def index(self, windows: Iterable[tuple[int, int, int]]) -> None:
        """Take note of windows that the storage held already: (SCN, place, SCN of the window before)."""
        for scn, place, before in windows:
            self._note(scn, place, before)

    def publish(self, windows: Sequence[Window]) -> None:
        """Add windows, each whole.

        :raises RelayError: an SCN is not above the one before (none is added), or a window is too large (those before it are).
        """
        last = self._state.max_scn
        for scn, _, _ in windows:
            if scn <= last:
                raise RelayError(f"window {scn} comes after window {last}: SCNs of windows have to rise")
            last = scn
        for window in windows:
            self._append(window)
        with self._grown:
            self._grown.notify_all()

    def _append(self, window: Window) -> None:
        data = b"".join((*window.events, end_of_window(window.scn, window.time_ns)))
        if len(data) > self._size:
            raise RelayError(
                f"window {window.scn} has {len(data)} bytes, and the relay's buffer {self._size}",
                hint="Raise minercdc.relay.buffer.bytes: a window has to fit into the buffer as a whole.",
            )
        self._make_room(len(data))
        state = self._state
        place = state.tail % self._size
        first = min(len(data), self._size - place)
        begin = self._origin + place
        self._data[begin : begin + first] = data[:first]
        if first < len(data):
            self._data[self._origin : self._origin + len(data) - first] = data[first:]
        with self._lock:
            self._note(window.scn, state.tail, state.max_scn)
            self._show(State(state.head, state.tail + len(data), state.prev_scn, window.scn))
        self.windows += 1

    def _show(self, state: State) -> None:
        self._storage.save(state)
        self._state = state

    def _note(self, scn: int, place: int, before: int) -> None:
        if not self._places or place // self._block > self._places[-1] // self._block:
            self._scns.append(scn)
            self._places.append(place)
            self._before.append(before)

    def _make_room(self, needed: int) -> None:
        state = self._state
        least = state.tail + needed - self._size
        if least <= state.head:
            return
        if least >= state.tail:
            with self._lock:
                del self._scns[:], self._places[:], self._before[:]
                self._recent.clear()
                self._show(State(state.tail, state.tail, state.max_scn, state.max_scn))
            return
        # A block at a time: an entry of the index is the next place that is known to be the begin of a window.
        found = bisect_left(self._places, least)
        if found < len(self._places):
            head, before = self._places[found], self._before[found]
        else:
            head, before = self._window_from(self._places[-1] if self._places else state.head, least)
            found = len(self._places)
        with self._lock:
            del self._scns[:found], self._places[:found], self._before[:found]
            if not self._places and head < state.tail:
                self._note(self._sequence_at(head), head, before)
            self._recent = {where: place for where, place in self._recent.items() if place >= head}
            self._show(State(head, state.tail, before if head < state.tail else state.max_scn, state.max_scn))

    def _window_from(self, place: int, least: int) -> tuple[int, int]:
        """The first begin of a window at or after `least`, from `place` on; and the SCN before it."""
        before = self._state.prev_scn
        while place < least:
            before = self._sequence_at(place)
            place = self._end_of_window(place)
        return place, before

    def _copy(self, begin: int, end: int) -> bytes:
        """Bytes between two places, at most the buffer's size apart."""
        first = begin % self._size
        count = end - begin
        at = self._origin + first
        if first + count <= self._size:
            return self._data[at : at + count]
        rest = count - (self._size - first)
        return self._data[at : self._origin + self._size] + self._data[self._origin : self._origin + rest]

    def read(self, begin: int, end: int) -> bytes:
        """A copy of the events between two places. Raises OvertakenError when newer windows have overwritten them."""
        data = self._copy(begin, end)
        if begin < self._state.head:
            raise OvertakenError(
                "the events that were being read were overwritten by newer ones",
                hint="Raise minercdc.relay.buffer.bytes, or read faster.",
            )
        return data

    def read_shared(self, begin: int, end: int) -> bytes:
        """As `read`; of equal places the same copy, kept for a while after its events were overwritten."""
        known = self._copies.get((begin, end))
        if known is not None:
            return known
        data = self.read(begin, end)
        with self._lock:
            if len(self._copies) >= _COPIES:
                self._copies.pop(next(iter(self._copies)))
            self._copies[begin, end] = data
        return data

    def end_of_event(self, place: int) -> int:
        """Where the event at `place` ends. Raises OvertakenError when it was overwritten, RelayError when it is damaged."""
        end = place + self._length_at(place)
        self.read(place, place)
        return end

    def _length_at(self, place: int) -> int:
        length: int = LENGTH.unpack(self._copy(place + LENGTH_AT, place + LENGTH_AT + 4))[0]
        if length < LONG_KEY_SIZE - 4:  # overwritten meanwhile
            self.read(place, place + 1)
            raise RelayError(f"the buffer is damaged at {place}: an event of {length} bytes")
        return length

    def _sequence_at(self, place: int) -> int:
        return sequence_of(self._copy(place, place + PREFIX))

    def _end_of_window(self, place: int) -> int:
        """Where the window of `place` ends; the tail for none."""
        tail = self._state.tail
        while place < tail:
            prefix = self._copy(place, place + PREFIX)
            length = LENGTH.unpack_from(prefix, LENGTH_AT)[0]
            if length < LONG_KEY_SIZE - 4:
                self._length_at(place)
            place += length
            if SOURCE.unpack_from(prefix, SOURCE_AT)[0] == END_OF_WINDOW:
                return place
        return place

    def start_of(self, checkpoint: Checkpoint) -> int:
        """The place at which a client of this checkpoint goes on; the end of the buffer when there is nothing for it yet.

        :raises ScnNotFoundError: the buffer does not hold its window any more.
        :raises OvertakenError: it was overwritten while it was looked up.
        :raises RelayError: the buffer is damaged.
        """
        with self._lock:
            state = self._state
            scn, offset = checkpoint.window_scn, checkpoint.window_offset
            if state.is_empty:
                if checkpoint.is_flexible or scn > state.prev_scn or (scn == state.prev_scn and offset == WHOLE_WINDOW):
                    return state.tail
                raise _not_found(checkpoint, state)
            if checkpoint.is_flexible:
                return state.head
            if scn > state.max_scn or (scn == state.max_scn and offset == WHOLE_WINDOW):
                return state.tail
            if scn <= state.prev_scn and not (scn == state.prev_scn and offset == WHOLE_WINDOW):
                raise _not_found(checkpoint, state)
            if scn == state.prev_scn:
                return state.head
            if (place := self._recent.get((scn, offset))) is not None and place >= state.head:
                return place
            entry = bisect_right(self._scns, scn) - 1
            if offset == WHOLE_WINDOW and entry + 1 < len(self._scns) and self._before[entry + 1] == scn:
                return self._places[entry + 1]
            place = self._places[entry] if entry >= 0 else state.head
        return self._found(checkpoint, place, state.tail)

    def _found(self, checkpoint: Checkpoint, place: int, tail: int) -> int:
        """What `start_of` returns or raises, found from the begin of an earlier window on."""
        while place < tail and (found := self._sequence_at(place)) <= checkpoint.window_scn:
            if found == checkpoint.window_scn and checkpoint.window_offset != WHOLE_WINDOW:
                place = self._skip(place, checkpoint)
                break
            place = self._end_of_window(place)
        self.read(place, place)  # looked up while it was not overwritten
        return place

    def _skip(self, place: int, checkpoint: Checkpoint) -> int:
        for _ in range(checkpoint.window_offset):
            prefix = self._copy(place, place + PREFIX)
            length = self._length_at(place)
            place += length
            if SOURCE.unpack_from(prefix, SOURCE_AT)[0] == END_OF_WINDOW:
                break
        return place

    def latest(self) -> int:
        """Place of the newest window; the end of an empty buffer. Raises as `end_of_event`."""
        with self._lock:
            state = self._state
            if state.is_empty:
                return state.tail
            place = self._places[-1]
        while (end := self._end_of_window(place)) < state.tail:
            place = end
        return place

    def newest_events(self) -> int:
        """How many events the newest window has, without its end; 0 for an empty buffer. Raises as `end_of_event`."""
        place, count = self.latest(), 0
        while place < self._state.tail:
            place = self.end_of_event(place)
            count += 1
        return max(0, count - 1)

    def cut(self, begin: int, most: int) -> Cut:
        """What can be answered from `begin` on in at most `most` bytes. It ends with a window wherever a whole one fits.

        :raises OvertakenError: it was overwritten meanwhile; RelayError: the buffer is damaged.
        """
        with self._lock:
            tail = self._state.tail
            if tail - begin <= most:
                return Cut(tail)
            found = bisect_right(self._places, begin + most) - 1
            if found >= 0 and self._places[found] > begin:
                return Cut(self._places[found])
            known = self._cuts.get((begin, most))
        if known is not None:
            return known
        made = self._cut_at_event(begin, begin + most)
        with self._lock:
            if len(self._cuts) >= _CUTS:
                self._cuts.clear()
            self._cuts[begin, most] = made
        return made

    def _cut_at_event(self, begin: int, limit: int) -> Cut:
        place, window_end, count, sequence = begin, begin, 0, 0
        while True:
            prefix = self._copy(place, place + PREFIX)
            length = LENGTH.unpack_from(prefix, LENGTH_AT)[0]
            if length < LONG_KEY_SIZE - 4:
                self._length_at(place)
            if place + length > limit:
                break
            place += length
            count += 1
            sequence = sequence_of(prefix)
            if SOURCE.unpack_from(prefix, SOURCE_AT)[0] == END_OF_WINDOW:
                window_end, count = place, 0
        self.read(begin, begin)
        if window_end > begin:
            return Cut(window_end)
        return Cut(place, sequence, count) if place > begin else Cut(begin, pending=length)

    def remember(self, scn: int, offset: int, place: int) -> None:
        """Take note of the place after `offset` events of window `scn`, for `start_of`."""
        with self._lock:
            if len(self._recent) >= _RECENT:
                self._recent.pop(next(iter(self._recent)))
            self._recent[scn, offset] = place

    def wait(self, seen: int, seconds: float) -> bool:
        """Wait until the buffer's end is beyond place `seen`, at most `seconds`; returns whether it is."""
        with self._grown:
            return self._grown.wait_for(lambda: self._state.tail > seen, seconds)

    def close(self) -> None:
        """Release the memory. Readers that come later fail."""
        self._storage.close()


def _not_found(checkpoint: Checkpoint, state: State) -> ScnNotFoundError:
    return ScnNotFoundError(
        f"the buffer holds windows after SCN {state.prev_scn}, and the checkpoint is at {checkpoint.window_scn}"
        + ("" if checkpoint.window_offset == WHOLE_WINDOW else f", after {checkpoint.window_offset} events of it"),
        hint="Read the tables as of an SCN and go on from that (bootstrap).",
    )
