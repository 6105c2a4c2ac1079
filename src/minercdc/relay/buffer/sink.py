"""Windows from records: a source transaction is a window, and transactions of one commit SCN share theirs.

    write     the event joins the window of its SCN
    commit    windows that are complete are published; then the offset is stored

A window is complete when a higher SCN has come, or when the capture says that every commit at its SCN was emitted. A capture that
is idle at the very last commit cannot say so for ever: then a window is published after `minercdc.relay.window.hold.ms`. Should
one more transaction have that SCN all the same, it gets a window of the next SCN, so that none is lost.

While a window is held back, the offset is not stored: after a kill it is read again. So what is stored never lies after what was
published, and a window that is read a second time is the same one, which the buffer has already or gets again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from minercdc.errors import SinkError
from minercdc.relay.buffer.progress_file import Stored
from minercdc.relay.buffer.store import RelayStore
from minercdc.relay.buffer.windows import Window
from minercdc.relay.events.encoding import FLOATING, RESUMED, TRUNCATED
from minercdc.relay.events.event import LONG_KEY_SIZE, sequence_of, with_sequence
from minercdc.stream.contracts import Capture, Record, StopFlag
from minercdc.stream.events import Event, Progress
from minercdc.stream.offset import JsonValue, Offset, Position
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

_log = logging.getLogger(__name__)

_TICK = Record("", None, None)


@dataclass(slots=True)
class Completeness:
    """What the capture has said: every commit at or below `scn` was emitted; and the SCN that its stream began after.

    :ivar saved: the last commit stored its offset; not while a window is held back.
    """

    scn: int = 0
    begun: int = 0
    saved: bool = False


class RelaySink:
    """Fills the buffer (contracts.RecordSink), and beats (contracts.Heartbeat) when a window that is held back is complete.

    :param store: what is filled.
    :param complete: what the capture has said.
    :param ready: called each time an offset is stored, and when `load_offset` finds one.
    :param hold_seconds: how long the newest window waits for one more transaction of its SCN, when only that is in doubt.
    :param clock_ns: nanoseconds since the epoch.
    :param monotonic: seconds of a clock that never goes back.
    :raises RelayError: the file with the offset, or the newest window, cannot be read.
    """

    seconds = 0.0

    def __init__(
        self,
        store: RelayStore,
        complete: Completeness,
        ready: Callable[[], None] = lambda: None,
        *,
        hold_seconds: float = 0.5,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._buffer = buffer = store.buffer
        self._offsets = store.offsets
        self._max_scn = store.max_scn
        self._complete = complete
        self._owner = store.owner
        self._statistics = store.statistics
        self._ready = ready
        self._clock_ns = clock_ns
        self._monotonic = monotonic
        self._hold_seconds = hold_seconds
        self._held_since = 0.0
        stored = store.offsets.load()
        self._known = buffer.state.max_scn  # windows up to here are read a second time
        self._again = (
            buffer.newest_events() if stored is None or stored.scn < self._known else 0
        )  # events of the last of them
        self._late = -1  # an SCN whose window was published, and which has another transaction
        self._windows: list[tuple[int, list[bytes]]] = []
        self._bytes = 0  # of the last one
        self._floating: list[bytes] = []
        self._saved = -1

    def write(self, record: Record) -> None:
        """Add an event to the window of its SCN. A TRUNCATED or RESUMED record empties the buffer at once, without waiting for
        `commit`; any other record without a value is ignored. So is what was in the buffer before a restart.

        :raises SinkError: the window does not fit into the buffer, or its SCN is lower than that of an earlier window.
        """
        event = record.value
        if event is None:
            if record.topic == TRUNCATED and record.key:
                self._truncate(int(record.key))
            elif record.topic == RESUMED and record.key:
                # Also for a client of the newest window; and for one that bootstrapped while changes were left out that come up to there.
                self._empty(max(int(record.key), self._last() + 1))
            return
        scn, last = sequence_of(event), self._last()
        if scn == FLOATING:
            self._floating.append(event)
        elif scn == self._late:
            self._add(with_sequence(event, scn + 1))
        elif scn == last and self._windows:
            self._add(event)
        elif scn > last:
            self._begin(scn)
            self._add(event)
        elif scn == last and not self._again:
            self._late = scn
            self._begin(scn + 1)
            self._add(with_sequence(event, scn + 1))
        elif scn == last:
            self._again -= 1
        elif scn > self._known or last > self._known:
            raise SinkError(f"a change of SCN {scn} comes after window {last}: SCNs of windows have to rise")

    def _last(self) -> int:
        return self._windows[-1][0] if self._windows else self._buffer.state.max_scn

    def _truncate(self, scn: int) -> None:
        """There is no event for a TRUNCATE: the buffer is emptied, so that no client gets past it without a bootstrap. One
        that was there before a restart is ignored."""
        if scn > self._known:
            self._empty(max(scn, self._buffer.state.max_scn))

    def _empty(self, scn: int) -> None:
        """Drop all windows: what follows them up to `scn` is missing. Changes up to there, which a bootstrap has, are ignored."""
        self._windows.clear()
        self._floating.clear()
        self._known, self._again, self._late = scn, 0, -1
        self._buffer.clear(scn)

    def _begin(self, scn: int) -> None:
        if scn > self._late + 1:
            self._late = -1
        self._windows.append((scn, []))
        self._held_since = self._monotonic()
        self._bytes = LONG_KEY_SIZE
        for event in self._floating:
            self._add(with_sequence(event, scn))
        self._floating.clear()

    def _add(self, event: bytes) -> None:
        scn, events = self._windows[-1]
        self._bytes += len(event)
        if self._bytes > self._buffer.size:
            raise SinkError(
                f"the transaction of SCN {scn} has more than the {self._buffer.size} bytes of the relay's buffer",
                hint="Raise minercdc.relay.buffer.bytes: a window has to fit into the buffer as a whole.",
            )
        events.append(event)

    def commit(self, offset: Offset) -> None:
        """Publish what is complete, and store the offset unless something is held back.

        :raises SinkError: a file cannot be written, or another process has taken the relay's directory.
        """
        self._owner.check()
        # The offset may count on the last commit although one more may have its SCN.
        complete = max(self._complete.scn, offset.complete_scn - 1)
        if self._buffer.state.max_scn < 0 and (before := self._complete.begun or complete):
            self._buffer.start_after(min(before, self._windows[0][0] - 1) if self._windows else before)
            self._known = self._buffer.state.max_scn
        self._publish(complete)
        if complete >= self._known:
            self._again = 0
        self._complete.saved = not (self._windows or self._floating or self._again)
        if not self._complete.saved:  # the position is before the end of what is published
            return
        state = self._buffer.state
        self._offsets.save(Stored(state.max_scn, offset_to_bytes(offset).decode()))
        if state.max_scn != self._saved and state.max_scn > 0:
            self._max_scn.save(state.max_scn)
            self._saved = state.max_scn
        self._ready()

    def _publish(self, complete: int) -> None:
        if self._floating and not self._windows and complete > self._buffer.state.max_scn:
            self._begin(complete)
        held = self._windows[-1:] if self._windows and not self._is_complete(self._windows[-1][0], complete) else []
        ready = self._windows[: len(self._windows) - len(held)]
        now = self._clock_ns()
        self._buffer.publish([Window(scn, events, now) for scn, events in ready])
        for scn, events in ready:
            self._statistics.window(scn, events, now)
        self._windows = held

    def beat(self) -> Record | None:
        """A record without event, which makes the publisher call `commit`, when what is held back can be published; else None. See
        `contracts.Heartbeat`."""
        complete = self._complete.scn
        if self._windows:
            return _TICK if self._is_complete(self._windows[-1][0], complete) else None
        return _TICK if self._floating and complete > self._buffer.state.max_scn else None

    def _is_complete(self, scn: int, complete: int) -> bool:
        if scn <= complete:
            return True
        return scn == complete + 1 and self._monotonic() - self._held_since >= self._hold_seconds

    def check_owner(self) -> None:
        """Raise FencedError when another process has the relay's directory, SinkError when that cannot be seen."""
        self._owner.check()

    def load_offset(self) -> Offset | None:
        """See `contracts.RecordSink`. Raises RelayError when the file with the offset cannot be read, SchemaHistoryError when the
        offset in it cannot."""
        stored = self._offsets.load()
        if stored is None or stored.offset is None:
            return None
        self._ready()
        return offset_from_bytes(stored.offset.encode(), "the relay's offset.json")

    def close(self) -> None:
        """Forget what is not published; buffer and files stay open. Safe to call twice."""
        self._windows.clear()
        self._floating.clear()


class CompletenessCapture:
    """A capture (contracts.Capture) that keeps up to which SCN its events are complete."""

    def __init__(self, capture: Capture, complete: Completeness) -> None:
        self._capture = capture
        self._complete = complete

    def load_position(self, saved: Mapping[str, JsonValue]) -> Position:
        """The position that the capture made `saved` of. Raises ConfigError as `contracts.Capture.load_position`."""
        return self._capture.load_position(saved)

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """See `contracts.Capture`. An SCN is complete once its Progress is passed on, after the events before it."""
        self._complete.begun = start.delivered_scn
        for event in self._capture.stream(start, stop):
            if isinstance(event, Progress):
                self._complete.scn = max(self._complete.scn, event.complete_scn)
            yield event

    def confirm(self, position: Position) -> None:
        """See `contracts.Capture`. Only what is stored is confirmed: the source may then forget it."""
        if self._complete.saved:
            self._capture.confirm(position)

    def close(self) -> None:
        """Release the capture's connections; safe to call twice."""
        self._capture.close()
