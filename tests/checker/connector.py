"""A connector that is killed and meets faults: what is left is what an engine would have committed."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Final

from tests.sandbox_capture.lab import Lab

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import MiningSessionError, TransientSourceError
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Progress, SchemaChange
from minercdc.stream.offset import Position

_MOST_EVENTS: Final = 20_000


class Connector:
    """Runs follow each other; each begins at the position of the last commit, with the shapes known then.

    :ivar kept: events that were committed.
    :ivar names_kept: transactions that positions named as kept over restarts, each as often as it was named.
    """

    def __init__(self, lab: Lab, seed: int, script: list[str]) -> None:
        self.kept: list[Event] = []
        self.names_kept = 0
        self._lab = lab
        self._chance = random.Random(seed + 1)
        self._script = script
        self._stop = threading.Event()
        self._pending: list[Event] = []
        self._position: Position | None = None
        self._stream: Iterator[Event] | None = None
        for event in lab.snapshot(Tables(), with_rows=False).take(None, self._stop):
            self._take(event, commit=True)

    def pump(self, events: int) -> None:
        """Read on. Errors that the engine answers with a restart are answered so."""
        self._report_reading(events)
        for _ in range(events):
            self._read(commit=self._chance.random() < 0.5)

    def read_on(self) -> None:
        """Read until a pass has read all redo that there is, and the next one what that ended with: a number of events says nothing of
        that, since some only say that LogMiner is waited for."""
        passes = self._lab.counters.mining.passes
        self._report_reading("three passes")
        until = passes.count + 3  # the first one may be under way
        for _ in range(_MOST_EVENTS):
            if passes.count >= until:
                return
            self._read(commit=self._chance.random() < 0.5)
        raise AssertionError("three passes did not end")

    def _report_reading(self, events: int | str) -> None:
        self._script.append(f"connector: read {events}, {'committed' if self._lab.committed else 'uncommitted'} mode")

    def _read(self, *, commit: bool) -> Event | None:
        """One event; None when an error made an end of this run."""
        try:
            if self._stream is None:
                self._stream = self._streamed(self._tables())
            event = next(self._stream)
        except (MiningSessionError, TransientSourceError) as error:
            self._script.append(f"connector: {error}")
            self.kill()
            return None
        self._take(event, commit=commit)
        return event

    def kill(self) -> None:
        """What was not committed is gone."""
        self._script.append("connector: killed")
        if self._stream is not None:
            self._stream.close()  # type: ignore[attr-defined]
            self._stream = None
        self._pending.clear()

    def change_mode(self) -> None:
        """The next run reads LogMiner the other way."""
        self.kill()
        self._lab.committed = not self._lab.committed

    def until(self, marker: int) -> None:
        """Read until the marker's row has been committed."""
        for _ in range(_MOST_EVENTS):
            event = self._read(commit=True)
            if isinstance(event, Progress) and event.committed and self._has(marker):
                return
        raise AssertionError("the marker did not come")

    def _has(self, marker: int) -> bool:
        row = self.kept[-2]
        return isinstance(row, ChangeEvent) and row.schema.id.table == "MARKER" and row.after == (str(marker),)

    def _tables(self) -> Tables:
        """As of the last commit."""
        tables = Tables()
        for event in self.kept:
            if isinstance(event, SchemaChange):
                tables.apply(event)
        return tables

    def _streamed(self, tables: Tables) -> Iterator[Event]:
        assert self._position is not None
        return iter(self._lab.capture(tables).stream(self._position, self._stop))

    def _take(self, event: Event, *, commit: bool) -> None:
        self._pending.append(event)
        if commit and isinstance(event, Progress):
            self.kept += self._pending
            self._pending.clear()
            if event.position is not None:
                assert self._position is None or not event.position.precedes(self._position), (
                    f"the position went back, from {self._position.to_json()} to {event.position.to_json()}"
                )
                if isinstance(event.position, LogMinerPosition):
                    self._lab.files.confirm(event.position)
                    self.names_kept += len(event.position.kept)
                self._position = type(event.position).from_json(event.position.to_json())  # type: ignore[attr-defined]
