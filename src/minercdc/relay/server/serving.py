"""The answer of /stream: a slice of the buffer, or the events of it that pass the filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.events.event import (
    END_OF_WINDOW,
    LENGTH,
    LENGTH_AT,
    SOURCE,
    SOURCE_AT,
    RelayEvent,
    sequence_of,
    unpack,
)

CHUNK: Final = 256 * 1024
"""Bytes that are copied out of the buffer at once."""

_STEP: Final = 1024 * 1024
_LONGEST: Final = 64 * _STEP  # of the buffer looked at for one filtered answer


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to /stream.

    :param begin, end: places of the events.
    :param filtered: the answer's bytes, where a filter or another form applies; else None.
    :param pending: bytes of the next event, which does not fit into the client's buffer; else 0.
    :param window_scn, window_offset: of a filtered answer that ends inside a window: that window, and how many events of it are
        read, before the filter; -1 at the end of a window.
    """

    begin: int
    end: int
    pending: int = 0
    filtered: bytes | None = None
    window_scn: int = -1
    window_offset: int = -1

    def chunks(self, buffer: EventBuffer) -> Iterator[bytes]:
        """The answer's bytes. Raises OvertakenError when they are overwritten before they are copied."""
        if self.filtered is not None:
            if self.filtered:
                yield self.filtered
            return
        begin = self.begin
        while begin < self.end:
            end = min(self.end, begin - begin % CHUNK + CHUNK)  # the same ends for all clients, so that they share copies
            yield buffer.read_shared(begin, end)
            begin = end


def answer(buffer: EventBuffer, checkpoint: Checkpoint, size: int, *, latest: bool = False) -> Answer:
    """All events from the checkpoint on, in at most `size` bytes.

    :param latest: from the newest window on, wherever the checkpoint is.
    :raises ScnNotFoundError, OvertakenError, RelayError: as `EventBuffer.start_of`.
    """
    begin = buffer.latest() if latest else buffer.start_of(checkpoint)
    cut = buffer.cut(begin, size)
    if cut.events:
        read = checkpoint.window_offset if checkpoint.window_scn == cut.scn and not latest else 0
        buffer.remember(cut.scn, max(read, 0) + cut.events, cut.end)
    return Answer(begin, cut.end, cut.pending)


def filtered_answer(
    buffer: EventBuffer,
    checkpoint: Checkpoint,
    size: int,
    passes: Callable[[RelayEvent], bool],
    form: Callable[[RelayEvent, bytes], bytes] = lambda _, data: data,
    *,
    latest: bool = False,
) -> Answer:
    """The events that pass, in the form that is wanted. Control events always pass.

    It ends with a window wherever a whole one fits, since a client that resumes inside one counts events that it did not get.

    :param size: most bytes of the answer.
    :param latest: from the newest window on, wherever the checkpoint is.
    :raises ScnNotFoundError, OvertakenError: as `EventBuffer.start_of`; also overwritten while they were read.
    :raises RelayError: the buffer is damaged; RelayDataError: an event of it is, or `form` cannot show one.
    """
    begin = buffer.latest() if latest else buffer.start_of(checkpoint)
    inside = checkpoint.window_offset if not latest else -1
    count, sequence = (inside, checkpoint.window_scn) if inside >= 0 else (0, -1)
    parts: list[bytes] = []
    used = kept = parts_kept = kept_at = 0
    sequence_read = sequence
    place, tail, pending = begin, buffer.state.tail, 0
    for place, data in events_between(buffer, begin, min(tail, begin + _LONGEST)):
        source = int(SOURCE.unpack_from(data, SOURCE_AT)[0])
        scn = sequence_of(data)
        if scn != sequence:
            sequence, count = scn, 0
        event = unpack(data)
        if source < 0 or passes(event):
            formed = form(event, data)
            if used + len(formed) > size:
                pending = len(formed) if not parts else 0
                break
            parts.append(formed)
            used += len(formed)
        count += 1
        kept_at, sequence_read = place + len(data), sequence
        if source == END_OF_WINDOW:
            kept, parts_kept = kept_at, len(parts)
    if kept:
        return Answer(begin, kept, filtered=b"".join(parts[:parts_kept]))
    if not kept_at:
        return Answer(begin, begin, pending, b"")
    buffer.remember(sequence_read, count, kept_at)
    return Answer(begin, kept_at, pending, b"".join(parts), sequence_read, count)


def events_between(buffer: EventBuffer, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """(Place, bytes) of each event that begins between two places. One that ends after `end` is left out, unless more than
    1 MiB of it is before `end`: that one comes whole. Raises OvertakenError when newer windows have overwritten them."""
    place = begin
    while place < end:
        data = buffer.read(place, min(end, place + _STEP))
        at = 0
        while at + LENGTH_AT + 4 <= len(data):
            length = int(LENGTH.unpack_from(data, at + LENGTH_AT)[0])
            if at + length > len(data):
                break
            yield place + at, data[at : at + length]
            at += length
        if at == 0:
            if place + len(data) >= end:
                return
            length = int(LENGTH.unpack_from(data, LENGTH_AT)[0])
            yield place, buffer.read(place, place + length)
            at = length
        place += at
