"""Fills a buffer from another relay: the same windows, byte for byte, with its sources and schemas."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

from minercdc.errors import FellOffError, RelayDataError
from minercdc.relay.buffer.progress_file import Stored
from minercdc.relay.buffer.store import RelayStore
from minercdc.relay.buffer.windows import Window
from minercdc.relay.client.checkpoint import WHOLE_WINDOW, Checkpoint
from minercdc.relay.client.connection import Connection
from minercdc.relay.events.event import LENGTH, LENGTH_AT, unpack
from minercdc.relay.events.registry import SchemaRegistry, Source
from minercdc.stream.contracts import StopFlag

_log = logging.getLogger(__name__)

_WAIT_MS = 1_000
_TRIES = 3


class ChainedFeed:
    """Fills the buffer of `store` with the windows of another relay, byte for byte, and keeps its sources and schemas in
    `registry`. `run` is called once.

    :param ready: called each time the sources have been read, at the start, after damaged events and when the upstream relay answers
        again.
    :param longest_wait: seconds between two tries when the upstream relay does not answer.
    """

    def __init__(
        self,
        connection: Connection,
        store: RelayStore,
        registry: SchemaRegistry,
        ready: Callable[[], None],
        *,
        longest_wait: float = 10.0,
    ) -> None:
        self._connection = connection
        self._buffer = store.buffer
        self._registry = registry
        self._offsets = store.offsets
        self._max_scn = store.max_scn
        self._owner = store.owner
        self._statistics = store.statistics
        self._ready = ready
        self._longest_wait = longest_wait
        self._size = 1024 * 1024
        self._known: set[bytes] = set()
        self._window: list[bytes] = []  # events of the window under way

    def run(self, stop: StopFlag) -> None:
        """Fill the buffer until `stop` is set; then close the connection. Waits while the upstream relay does not answer.

        :raises RelayError: the upstream relay refuses a request, has other schemas, or sends damaged events again and again; or a
            window is larger than the buffer.
        :raises SinkError: a file cannot be written, or another process has the relay's directory (FencedError).
        """
        try:
            self._loop(stop)
        finally:
            self._connection.close()

    def _loop(self, stop: StopFlag) -> None:
        failures = damaged = 0
        place: Checkpoint | None = None
        while not stop.is_set():
            try:
                place = self._advance(place)
                failures = damaged = 0
            except OSError as error:
                failures += 1
                wait = min(self._longest_wait, 0.1 * 2 ** min(failures, 10))
                _log.warning("%s: %s; again in %.1f s", self._connection.url, error, wait)
                stop.wait(wait)
                place = None  # a part of the window under way may have been taken from the answer
            except RelayDataError as error:
                damaged += 1
                if damaged >= _TRIES:
                    raise
                _log.warning("%s; the window is read again", error.message)
                place = None

    def _advance(self, place: Checkpoint | None) -> Checkpoint:
        """Read on at a place, None for after the newest window; returns the next place."""
        try:
            return self._step(self._begin() if place is None else place)
        except FellOffError as error:
            return self._skip(error)

    def _begin(self) -> Checkpoint:
        """Where to go on: after the newest window; of an empty start, at the oldest window of the upstream relay. Reads
        sources and schemas first."""
        self._window.clear()
        self._adopt()
        if self._buffer.state.max_scn < 0:
            self._buffer.start_after(max(0, self._connection.buffer_info()["prevScn"]))
        self._ready()
        return Checkpoint(self._buffer.state.max_scn)

    def _skip(self, error: FellOffError) -> Checkpoint:
        """The upstream relay dropped windows that are not here yet: empty the buffer, so that clients notice, and log a
        warning. Returns where to go on; raises `error` when the upstream relay still has all that is missing here, else
        as `Connection`."""
        self._window.clear()
        info = self._connection.buffer_info()
        gone: int = info["prevScn"]
        if gone <= self._buffer.state.max_scn:
            raise error
        _log.warning("%s; the buffer is emptied, and goes on after SCN %d", error.message, gone)
        self._buffer.clear(gone)
        return Checkpoint(gone)

    def _adopt(self) -> None:
        schemas = self._connection.schemas(())
        tables = self._connection.tables()
        for source in self._connection.sources():
            texts = [(schema.version, schema.text) for schema in schemas if schema.source == source.id]
            self._registry.adopt(Source(source.id, source.name, tables.get(source.id, "")), texts)
        self._known = {schema.md5 for schema in schemas}

    def _step(self, place: Checkpoint) -> Checkpoint:
        received = self._connection.stream(place, self._size, wait_ms=_WAIT_MS)
        if received.pending:
            self._size = max(received.pending, 2 * self._size)
        windows = list(self._windows(received.data))
        if windows:
            self._owner.check()
            self._buffer.publish(windows)
            for window in windows:
                self._statistics.window(window.scn, window.events, window.time_ns)
            newest = self._buffer.state.max_scn
            self._offsets.save(Stored(newest, None))
            self._max_scn.save(newest)
            place = Checkpoint(newest)
        if self._window:
            scn = unpack(self._window[0]).sequence
            place = replace(place, window_scn=scn, window_offset=len(self._window))
        elif place.window_offset != WHOLE_WINDOW:
            place = Checkpoint(self._buffer.state.max_scn)
        return place

    def _windows(self, data: bytes) -> Iterator[Window]:
        """The windows that are whole now; the rest stays for the next answer. Schemas are requested again for an event with
        an unknown one."""
        at, view = 0, memoryview(data)
        while at + LENGTH_AT + 4 <= len(data):
            length = int(LENGTH.unpack_from(data, at + LENGTH_AT)[0])
            if at + length > len(data):
                return
            event = unpack(view, at)
            if event.is_end_of_window:
                yield Window(event.sequence, self._window, event.time_ns)
                self._window = []
            else:
                if not event.is_control and event.schema_id not in self._known:
                    self._adopt()
                self._window.append(data[at : at + length])
            at += length
