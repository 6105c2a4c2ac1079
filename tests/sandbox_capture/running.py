"""The engine with its real capture, and a ledger in Kafka's place: what is committed there, with the offset, is what a reader sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from tests.sandbox_capture.lab import Lab

from minercdc.capture.logminer.capture import LogMinerCapture
from minercdc.errors import MinerCdcError
from minercdc.pipeline.engine import run
from minercdc.pipeline.pipeline import Begun, Bounds, Initial, Pipeline, PipelineFactory
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import Record, SchemaHistory
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, Event, SchemaChange
from minercdc.stream.offset import JsonValue, Offset

_PATIENCE_SECONDS = 120.0


class Ledger:
    """Sink, encoder and schema history in one; what was not committed is forgotten with `close`.

    :ivar kept: committed events.
    :ivar failures: what the next commits raise, each with whether the commit takes place all the same, as when its answer is lost.
    """

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.offset: Offset | None = None
        self.failures: list[tuple[MinerCdcError, bool]] = []
        self._written: list[Event] = []

    def encode(self, event: Event) -> Sequence[Record]:
        self._written.append(event)
        return (Record("events", None, b"."),)

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record:
        return Record("history", None, b".")

    def mark(self) -> int | None:
        return None

    def forget(self) -> None: ...

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        return iter([event for event in self.kept if isinstance(event, SchemaChange)])

    def write(self, record: Record) -> None: ...

    def check_owner(self) -> None: ...

    def commit(self, offset: Offset) -> None:
        failure, is_durable = self.failures.pop(0) if self.failures else (None, True)
        if is_durable:
            self.kept += self._written
            self.offset = offset
            self._written = []
        if failure is not None:
            raise failure

    def load_offset(self) -> Offset | None:
        return self.offset

    def close(self) -> None:
        self._written = []

    def changes(self) -> list[ChangeEvent]:
        return [event for event in self.kept if isinstance(event, ChangeEvent) and event.schema.id.table != "MARKER"]

    def has_marker(self, number: int) -> bool:
        return any(
            isinstance(event, ChangeEvent) and event.schema.id.table == "MARKER" and event.after == (str(number),)
            for event in list(self.kept)
        )

    def transactions(self) -> list[tuple[str, list[int]]]:
        """XID and sequence numbers of each, in order; one that came twice or in pieces is here twice."""
        return [
            (xid, [event.seq for event in events])
            for xid, events in groupby(self.changes(), key=lambda event: event.tx.id if event.tx else "")
        ]


class Running:
    """`engine.run` in a thread.

    :ivar error: what it ended with, None while it runs or when it was stopped.
    :ivar sessions: mining connections that were made.
    """

    def __init__(self, lab: Lab, ledger: Ledger, *, max_restarts: int = -1, history: SchemaHistory | None = None) -> None:
        self.lab, self.ledger = lab, ledger
        self._history = history or ledger
        self.counters = Counters()
        self.error: BaseException | None = None
        self.sessions = 0
        self._stop = threading.Event()
        factory = PipelineFactory(
            self._pipeline, max_restarts, longest_wait=0.05, monotonic=time.monotonic, counters=self.counters
        )
        self._thread = threading.Thread(target=self._run, args=(factory,))
        self._thread.start()

    def _run(self, factory: PipelineFactory) -> None:
        try:
            run(factory, self._stop)
        except BaseException as error:
            self.error = error

    def _pipeline(self) -> Pipeline:
        def begin(offset: Offset | None) -> Begun:
            tables = Tables()
            for change in self._history.recover(offset.history if offset is not None else 0):
                tables.apply(change)
            under_way = offset is None or offset.position is None
            return Begun(
                offset,
                self._capture(tables),
                lambda: Initial(self.lab.snapshot(tables, with_rows=False) if under_way else None),
            )

        bounds = Bounds(1000, 1 << 20, 0.0)
        ledger = self.ledger
        return Pipeline("logminer", ledger, ledger, self._history, begin, bounds, lambda _: False)

    def _capture(self, tables: Tables) -> LogMinerCapture:
        capture = self.lab.capture(tables)
        connect = capture._connect

        def counted() -> object:
            self.sessions += 1
            return connect()

        capture._connect = counted  # type: ignore[assignment]
        return capture

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not done():
            assert self._thread.is_alive(), f"it ended with {self.error!r}"
            assert time.monotonic() < deadline, f"it did not come: {self.ledger.transactions()[-5:]}"
            time.sleep(0.02)

    def until_marker(self, number: int) -> None:
        """Write a marker row, and wait until it is committed in the ledger. The snapshot, which takes no rows, is over then."""
        self.until(lambda: self.ledger.offset is not None and self.ledger.offset.position is not None)
        self.lab.run(f"insert into marker values ({number})")
        self.lab.app.commit()
        self.until(lambda: self.ledger.has_marker(number))

    def ended(self) -> BaseException | None:
        """Wait until it ends by itself; what it ended with."""
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "it goes on"
        return self.error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def running(lab: Lab, ledger: Ledger, **options: Any) -> Iterator[Running]:
    engine = Running(lab, ledger, **options)
    try:
        yield engine
    finally:
        engine.stop()
