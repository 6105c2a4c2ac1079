"""A schema captured by row versions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tests.sandbox_capture.lab import Lab, canonical

from minercdc.capture.flashback.capture import FlashbackCapture
from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.config.source.flashback import FlashbackConfig
from minercdc.oracle.connect import connect, database_name
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Notification, Progress, SchemaChange, SuspensionChange

_PATIENCE_SECONDS = 120.0


class FlashbackLab(Lab):
    """Captured by row versions."""

    settings: Mapping[str, Any] = MappingProxyType({})

    def capture(self, tables: Tables, **more: Any) -> FlashbackCapture:  # type: ignore[override]
        return FlashbackCapture(
            lambda: connect(self.config, "pdb"),
            tables,
            self.filter,
            FlashbackConfig(**{"minercdc.flashback.interval.ms": 1, "minercdc.flashback.fetch.size": 7, **self.settings}),
            self.shared,
            database=database_name(self.config),
            **more,
        )

    def start_position(self, scn: int, mine_from: int) -> FlashbackPosition:  # type: ignore[override]
        return FlashbackPosition(scn + 1)


class Run:
    """A connector over a FlashbackLab: it keeps what was emitted up to the last position, and goes on from there.

    :ivar events: emitted so far.
    """

    def __init__(self, lab: FlashbackLab) -> None:
        self.lab = lab
        self.events: list[Event] = []
        self.tables = Tables()
        for event in lab.snapshot(self.tables, with_rows=False).take(None, threading.Event()):
            self._take(event)

    def until(self, done: Callable[[Run], bool], **more: Any) -> Run:
        """Read on until `done`, which is looked at after every Progress."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        stream = self.lab.capture(self.tables, **more).stream(self.position, threading.Event())
        for event in stream:
            self._take(event)
            if isinstance(event, Progress) and done(self):
                break
            assert time.monotonic() < deadline, f"not in time: {self.events[-5:]}"
        stream.close()  # type: ignore[attr-defined]
        return self

    def to_now(self, **more: Any) -> Run:
        """Read on to a window's end after everything that is committed."""
        with connect(self.lab.config, "pdb") as connection, connection.cursor() as cursor:
            ((scn,),) = cursor.execute("select current_scn from v$database").fetchall()
        return self.until(lambda run: run.position.next > scn and run.position.done is None, **more)

    def changes(self, table: str = "") -> list[tuple[str, Any, Any]]:
        """Operation, before and after of the changes of one table, or all."""
        return [
            (event.op.value, canonical(event.schema, event.before), canonical(event.schema, event.after))
            for event in self.events
            if isinstance(event, ChangeEvent) and table.upper() in ("", event.schema.id.table)
        ]

    def transactions(self) -> list[list[tuple[str, str]]]:
        """(Table, operation) of each committed transaction."""
        found: list[list[tuple[str, str]]] = []
        pending: list[tuple[str, str]] = []
        for event in self.events:
            if isinstance(event, ChangeEvent) and event.tx is not None:
                pending.append((event.schema.id.table, event.op.value))
            elif isinstance(event, Progress) and event.committed is not None:
                found.append(pending)
                pending = []
        return found

    def notices(self) -> list[Notification]:
        """Of demotions and promotions."""
        return [e for e in self.events if isinstance(e, Notification) and e.aggregate_type == "Flashback"]

    def phases(self) -> list[tuple[str, str]]:
        """Notifications: (type, reason)."""
        return [(e.type, e.additional_data["reason"]) for e in self.notices()]

    def suspensions(self) -> list[tuple[str, bool]]:
        """(Table, whether it is read again by itself) of each suspension."""
        return [
            (event.table.partition(".")[2], event.suspended.automatic)
            for event in self.events
            if isinstance(event, SuspensionChange) and event.suspended is not None
        ]

    def shapes(self) -> list[tuple[str, int]]:
        """(Table, columns) of each SchemaChange; 0 columns of one that was dropped."""
        found = [event for event in self.events if isinstance(event, SchemaChange) and not event.snapshot]
        return [(one.table.table, len(one.after.columns) if one.after else 0) for one in found]

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Progress) and event.position is not None:
            assert isinstance(event.position, FlashbackPosition)
            self.position = FlashbackPosition.from_json(event.position.to_json())
