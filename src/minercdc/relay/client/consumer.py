"""A client of a relay: reads windows of changes and hands them to a consumer, from a checkpoint that it keeps.

    checkpoints = FileCheckpoints(Path("person.checkpoint"))
    client = RelayClient("http://relay:11115", consumer, checkpoints, sources=["com.example.Person"])
    client.run(threading.Event())

The checkpoint is stored at the ends of windows and bootstraps only, after the consumer has returned from `window_end`: delivery
is at least once. A consumer that stores checkpoint and effect together, as its own `Checkpoints`, has each window exactly once.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from minercdc.errors import FellOffError, RelayDataError, RelayError
from minercdc.relay.client.checkpoint import ONLINE, WHOLE_WINDOW, Checkpoint, checkpoint_of
from minercdc.relay.client.connection import Connection, Received, SourceInfo
from minercdc.relay.events.event import RelayEvent, whole_events
from minercdc.relay.events.filters import KeyFilter, key_filters
from minercdc.relay.events.schemas import AvroSchema
from minercdc.relay.events.values import row_reader
from minercdc.sinks.durable_files import replace_file
from minercdc.stream.contracts import StopFlag

_log = logging.getLogger(__name__)

_WAIT_MS: Final = 1_000
_TRIES: Final = 3  # of bytes that are damaged


@dataclass(frozen=True, slots=True)
class Change:
    """A changed row.

    :param source: name of the source.
    :param key: a number for one column of whole numbers up to 18 digits, else text in UTF-8.
    :param deleted: the row is gone; `row` is what it was.
    :param row: its values by the fields of `schema`.
    :param scn: of its window; of a bootstrap, where the table was read at.
    :param time_ns: of the COMMIT, nanoseconds since the epoch; 0 in a bootstrap.
    """

    source: str
    key: int | bytes
    deleted: bool
    row: Mapping[str, Any]
    scn: int
    time_ns: int
    schema: AvroSchema


class Consumer(Protocol):
    """What becomes of changes; the thread of `RelayClient.run` calls it. An exception of it ends the client; the window
    comes again with the next start."""

    def window_start(self, scn: int) -> None:
        """A window begins; without `window_end` it begins again after damaged bytes or a restart. Its sequence `scn` is the
        commit SCN of its changes, or the next one for changes that came too late for it."""

    def event(self, change: Change) -> None:
        """The next change of the window."""

    def window_end(self, checkpoint: Checkpoint) -> None:
        """The window is whole; once this returns, `checkpoint` is stored."""


class BootstrapConsumer(Consumer, Protocol):
    """A consumer that can start over from a snapshot."""

    def bootstrap_start(self, scn: int) -> None:
        """Forget everything: all rows as of `scn` follow, each as an `event`. This may come again after a failure."""

    def bootstrap_end(self, checkpoint: Checkpoint) -> None:
        """The snapshot is whole; once this returns, `checkpoint` is stored, and windows after it follow."""


class Checkpoints(Protocol):
    """Where a client keeps its checkpoint."""

    def load(self) -> Checkpoint | None:
        """The checkpoint that was stored last; None when there is none yet."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint, durably, in place of the one before."""


class MemoryCheckpoints:
    """Keeps the checkpoint of a client until the process ends (`Checkpoints`).

    :param checkpoint: where the client begins; None: at the oldest window.
    :ivar checkpoint: the present one.
    """

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint = checkpoint

    def load(self) -> Checkpoint | None:
        """The checkpoint that was saved last, or given at construction; None for neither."""
        return self.checkpoint

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in memory, in place of the one before."""
        self.checkpoint = checkpoint


class FileCheckpoints:
    """Keeps the checkpoint of a client in a file, which is replaced in one step (`Checkpoints`)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Checkpoint | None:
        """The checkpoint; None when there is no file. Raises RelayError when it cannot be read, or holds no checkpoint."""
        try:
            return checkpoint_of(self._path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise RelayError(f"the checkpoint {self._path.absolute()} cannot be read: {error}") from None

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the file. Raises RelayError when it cannot be written."""
        try:
            replace_file(self._path, checkpoint.to_json().encode())
        except OSError as error:
            raise RelayError(f"the checkpoint {self._path.absolute()} cannot be written: {error}") from None


Bootstrap = Callable[[Connection, Sequence[SourceInfo], BootstrapConsumer], Checkpoint]
"""Gives the consumer all rows as of an SCN, and returns the checkpoint that they are of (`bootstrap.SnapshotBootstrap`)."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a `RelayClient` reads.

    :param bootstrap_first: bootstrap at the first start, too, when there is no checkpoint yet.
    :param buffer_bytes: most bytes of one answer, at first; it grows to `buffer_max_bytes` for larger events.
    :param buffer_max_bytes: an event that is larger ends the client.
    :param timeout: seconds to wait for an answer.
    :param longest_wait: seconds between two tries when the relay does not answer; the first waits are shorter.
    :param linger_ms: how long the relay may wait for more windows while there are few: where there are many clients, fewer and
        larger answers cost it less.
    :param name: of the client, in the relay's statistics.
    """

    bootstrap_first: bool = False
    buffer_bytes: int = 1024 * 1024
    buffer_max_bytes: int = 256 * 1024 * 1024
    timeout: float = 60.0
    longest_wait: float = 10.0
    linger_ms: int = 0
    name: str = ""


_DEFAULTS: Final = ClientOptions()


class RelayClient:
    """Reads windows of a relay from the stored checkpoint on, and hands them to a consumer, in the thread that calls `run`.

    :param url: `http://HOST:PORT` of the relay.
    :param sources: names or ids; () for all.
    :param filters: of the events, and of the rows of a bootstrap, by their keys, as Databus's JSON (docs/relay.md).
    :param bootstrap: what is done when the relay does not hold the client's place any more, or at the first start with
        `ClientOptions.bootstrap_first`; None: the client stops with FellOffError. `consumer` has to be a BootstrapConsumer with
        it.
    :raises RelayError: `url` is not of that form.
    :ivar windows, events: handed over so far, those of bootstraps apart.
    """

    def __init__(
        self,
        url: str,
        consumer: Consumer,
        checkpoints: Checkpoints,
        *,
        sources: Sequence[str | int] = (),
        filters: Mapping[str, Any] | None = None,
        bootstrap: Bootstrap | None = None,
        options: ClientOptions = _DEFAULTS,
    ) -> None:
        self._linger_ms = options.linger_ms
        self._connection = Connection(url, timeout=options.timeout, name=options.name)
        self._consumer = consumer
        self._checkpoints = checkpoints
        self._wanted = tuple(sources)
        self._filters = json.dumps(filters) if filters else ""
        self._bootstrap = bootstrap
        self._bootstrap_first = options.bootstrap_first
        self._size = options.buffer_bytes
        self._most = options.buffer_max_bytes
        self._longest_wait = options.longest_wait
        self._sources: dict[int, SourceInfo] = {}
        self._read: dict[bytes, tuple[AvroSchema, Callable[[bytes], dict[str, Any]]]] = {}
        self._open = -1  # the window under way
        self._previous = -1  # the window before
        self.windows = self.events = 0

    def run(self, stop: StopFlag) -> None:
        """Hand over windows until `stop` is set; then close the connection to the relay.

        :raises FellOffError: the relay does not hold the client's place any more, and there is no bootstrap.
        :raises RelayDataError: events are damaged, again and again.
        :raises RelayError: the filters cannot be used, the relay refuses a request, has no source that is wanted, or an event is larger than
            `ClientOptions.buffer_max_bytes`; or the checkpoint cannot be read or written.
        :raises OSError: the relay does not answer when a bootstrap begins, or a new schema is requested; at other times it is
            waited for.
        :raises Exception: what the consumer, its checkpoints and the bootstrap raise.
        """
        try:
            place = self._checkpoints.load()
            if place is None and self._bootstrap and self._bootstrap_first:
                place = self._started_over()
            self._loop(place or Checkpoint(), stop)
        finally:
            self._connection.close()

    def _loop(self, place: Checkpoint, stop: StopFlag) -> None:
        failures = damaged = empty = 0
        committed = place
        while not stop.is_set():
            try:
                if not self._sources:
                    self._register()
                begun = time.monotonic()
                # All sources are not those that there are now: a new table has one of its own.
                sources = sorted(self._sources) if self._wanted else ()
                received = self._connection.stream(place, self._size, sources, self._filters, _WAIT_MS, self._linger_ms)
                failures = 0
            except OSError as error:
                failures += 1
                wait = min(self._longest_wait, 0.1 * 2 ** min(failures, 10))
                _log.warning("%s: %s; again in %.1f s", self._connection.url, error, wait)
                stop.wait(wait)
                continue
            except FellOffError as error:
                if self._bootstrap is None:
                    raise
                _log.warning("%s; starting over from a snapshot", error.message)
                place = committed = self._started_over()
                continue
            try:
                after = self._take(place, received, stop)
                damaged = 0
            except RelayDataError:
                damaged += 1
                if damaged >= _TRIES:
                    raise
                _log.warning("damaged events; the window is read again", exc_info=True)
                place, self._open = self._checkpoints.load() or committed, -1
                continue
            if after == place:
                empty += 1
                self._pause(received, time.monotonic() - begun, empty, stop)
            else:
                empty = 0
                place = after
                committed = after if after.window_offset == WHOLE_WINDOW else committed

    def _pause(self, received: Received, seconds: float, empty: int, stop: StopFlag) -> None:
        """Nothing came: a larger buffer is due, or a rest, unless the relay has waited by itself.

        :param seconds: that the request took.
        :param empty: answers without events so far, one after the other.
        """
        if received.pending:
            if received.pending > self._most:
                raise RelayError(
                    f"the next event has {received.pending} bytes, and the client's buffer {self._most} at most",
                    hint="Raise ClientOptions.buffer_max_bytes.",
                )
            self._size = min(self._most, max(received.pending, 2 * self._size))
        elif received.data:
            self._size = min(self._most, 2 * self._size)  # not even one whole event
        elif seconds < _WAIT_MS / 2000:
            stop.wait(min(0.5, 0.01 * 2 ** min(empty, 6)))

    def _register(self) -> None:
        """Learn the sources that are wanted, and all versions of their schemas."""
        there = self._connection.sources()
        wanted = [one for one in there if not self._wanted or one.id in self._wanted or one.name in self._wanted]
        missing = {str(one) for one in self._wanted} - {str(one.id) for one in wanted} - {one.name for one in wanted}
        if missing:
            raise RelayError(
                f"{self._connection.url} has no source {', '.join(sorted(missing))}",
                hint=f"It has {', '.join(one.name for one in there) or 'none yet'}.",
            )
        schemas = self._connection.schemas([one.id for one in wanted])
        self._read = {found.md5: (found.schema, row_reader(found.schema)) for found in schemas}
        self._sources = {one.id: one for one in wanted}

    def _take(self, place: Checkpoint, received: Received, stop: StopFlag) -> Checkpoint:
        """Hand over the events that came, until `stop` is set; returns the place after the last one that was handed over."""
        for event in whole_events(received.data):
            place = self._hand_over(place, event)
            if stop.is_set():
                return place
        if received.window is not None:
            scn, offset = received.window
            return replace(place, window_scn=scn, window_offset=offset)
        return place

    def _hand_over(self, place: Checkpoint, event: RelayEvent) -> Checkpoint:
        if self._open != event.sequence:
            self._open = event.sequence
            self._consumer.window_start(event.sequence)
        if event.is_end_of_window:
            done = Checkpoint(event.sequence, WHOLE_WINDOW, self._previous, ONLINE, event.time_ns)
            self._consumer.window_end(done)
            self._checkpoints.save(done)
            self._open, self._previous = -1, event.sequence
            self.windows += 1
            return done
        if not event.is_control:
            self._consumer.event(self._change(event))
            self.events += 1
        inside = place.window_scn == event.sequence and place.window_offset != WHOLE_WINDOW
        return replace(place, window_scn=event.sequence, window_offset=place.window_offset + 1 if inside else 1, mode=ONLINE)

    def _change(self, event: RelayEvent) -> Change:
        if event.schema_id not in self._read or event.source not in self._sources:
            self._register()
        if event.schema_id not in self._read or event.source not in self._sources:
            raise RelayDataError(f"window {event.sequence} has a row of source {event.source} with an unknown schema")
        schema, read = self._read[event.schema_id]
        name = self._sources[event.source].name
        row = read(event.value)
        return Change(name, event.key, event.is_delete, row, event.sequence, event.time_ns, schema)

    def _started_over(self) -> Checkpoint:
        assert self._bootstrap is not None
        self._register()  # once more: tables may have come that are in no window any more
        consumer: Any = self._consumer
        if self._filters:
            ids = {source.name: number for number, source in self._sources.items()}
            consumer = _Filtered(consumer, ids, key_filters(self._filters))
        done = self._bootstrap(self._connection, list(self._sources.values()), consumer)
        self._open, self._previous = -1, done.window_scn
        self._checkpoints.save(done)
        return done


class _Filtered:
    """A BootstrapConsumer that hands over the rows whose keys pass the client's filters, as the relay does with events: of another row
    the client would never hear again.

    :param ids: of sources by their names; `keys` has the filters by these ids.
    """

    def __init__(self, consumer: BootstrapConsumer, ids: Mapping[str, int], keys: Mapping[int, KeyFilter]) -> None:
        self._consumer = consumer
        self._ids = ids
        self._keys = keys

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def event(self, change: Change) -> None:
        passes = self._keys.get(self._ids[change.source])
        if passes is None or passes(change.key):
            self._consumer.event(change)
