"""What the checkers of `olr` and `fors_olr` share: both read from a server of their own, and confirm what they have stored."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from tests.checker.connector import Connector
from tests.checker.workload import Workload
from tests.sandbox_capture.lab import Lab

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.registry import adapter_factory
from minercdc.config.load import parse_properties
from minercdc.errors import UnknownSourceError
from minercdc.oracle.connect import connect, database_name
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import Capture
from minercdc.stream.events import Event, Progress
from minercdc.stream.offset import Position

L = TypeVar("L", bound=Lab)


class ServedLab(Lab):
    """Captured from a server of its own.

    :ivar server: to be made before the first capture is.
    """

    adapter: ClassVar[str]
    server: Any
    latest: Capture | None = None

    def server_settings(self) -> Mapping[str, str]:
        """Properties of the adapter."""
        raise NotImplementedError

    def capture(self, tables: Tables, **more: Any) -> Capture:  # type: ignore[override]
        context = self._context(tables)
        self.latest = capture = adapter_factory(self.adapter).open(context).capture
        return capture

    def start_position(self, scn: int, mine_from: int) -> Position:  # type: ignore[override]
        return adapter_factory(self.adapter).open(self._context(Tables())).start_position(scn, mine_from)

    def _context(self, tables: Tables) -> CaptureContext:
        settings = {
            "topic.prefix": "t",
            "database.hostname": self.sandbox.host,
            "database.port": str(self.sandbox.port),
            "database.user": "C##MINERCDC",
            "database.password": "minercdc",
            "database.dbname": self.sandbox.root_service,
            "database.pdb.name": self.sandbox.service,
            "database.connection.adapter": self.adapter,
            "lob.enabled": str(self.shared.lob_enabled),
            "poll.interval.ms": "1",
            "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
            **self.server_settings(),
        }
        return CaptureContext(
            config=parse_properties(settings),
            tables=tables,
            mined=self.filter,
            database=database_name(self.config),
            connect_root=lambda: connect(self.config, "root"),
            connect_pdb=lambda: connect(self.config, "pdb"),
            read_table=self.read_table,
            time_zone=self.time_zone,
            counters=self.counters,
            reselect=None,
            unread=lambda _: frozenset(),
            unlogged=lambda _: "",
            record_key=lambda schema: schema.key,
        )


class Confirming(Connector):
    """Confirms what it has committed, as the engine does, and begins again when what came is damaged or missing."""

    def _read(self, *, commit: bool) -> Event | None:
        try:
            event = super()._read(commit=commit)
        except UnknownSourceError as error:
            self._script.append(f"connector: {error}")
            self.kill()
            return None
        assert isinstance(self._lab, ServedLab)
        if commit and isinstance(event, Progress) and event.position is not None and self._lab.latest is not None:
            self._lab.latest.confirm(event.position)
        return event


def captured_as(kind: type[L], lab: Lab) -> L:
    """The same schema, captured another way."""
    other = kind.__new__(kind)
    other.__dict__.update(lab.__dict__)
    return other


def work(workload: Workload, connector: Connector, chance: random.Random, steps: int, fault: Callable[[], None]) -> None:
    """Steps of the history, with reads, kills and faults between them; everything is committed at the end."""
    for _ in range(steps):
        workload.step()
        choice = chance.random()
        if choice < 0.15:
            connector.pump(chance.randrange(1, 40))
        elif choice < 0.2:
            connector.kill()
        elif choice < 0.25:
            fault()
    workload.finish()
