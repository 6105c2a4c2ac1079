"""An adapter under test: opened by its factory alone, as wiring does it, and read as the engine reads it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import oracledb
from tests.conformance.abilities import ABILITIES, Abilities
from tests.conformance.asked import Asked
from tests.conformance.history import LOGGED, TABLES, Change, Values
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.fors_server.server import ForsServer
from tests.native_pair import IS_NATIVE, taken_apart
from tests.olr_server.feed import Feed
from tests.olr_server.server import OlrServer
from tests.sandbox_capture.lab import canonical

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_filter
from minercdc.capture.txlog.installation import install
from minercdc.config.load import parse_properties
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.object_ids import ObjectIds
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.oracle.scn import database_time_zone
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.snapshot_scn import Place, fix_now
from minercdc.stream.contracts import StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, Event, Progress, Row, SchemaChange
from minercdc.stream.offset import JsonValue

SETTINGS = {
    "flashback": {"minercdc.flashback.interval.ms": "20"},
    "txlog": {
        "minercdc.txlog.interval.ms": "20",
        "table.exclude.list": r".*\.(NOTE|SWAP|KEYED)",
        "minercdc.txlog.chunk.rows": "2",
    },
}
"""What makes an adapter quick."""


class Subject:
    """One schema of a sandbox, and an adapter that reads it.

    :param server: how the server of `olr` or `fors_olr` behaves.

    :ivar sessions: of the application, by name.
    :ivar start: JSON of the position before the history.
    :ivar shapes: of the tables there.
    :ivar asked: of the database, by the adapters that `open` made.
    """

    def __init__(
        self,
        sandbox: SandboxProcess,
        adapter: str,
        schema: str,
        directory: Path,
        tables: Sequence[str] = TABLES,
        settings: Mapping[str, str] = MappingProxyType({}),
        **server: Any,
    ) -> None:
        sandbox.create_user(schema)
        self.asked = Asked()
        self.sessions = {name: sandbox.connect(schema, schema) for name in ("one", "two")}
        with self.sessions["one"].cursor() as cursor:
            for statement in tables:
                cursor.execute(statement)
                cursor.execute(LOGGED.format(statement.split()[2]))
        servers: dict[str, type[OlrServer | ForsServer]] = {"olr": OlrServer, "fors_olr": ForsServer}
        make = servers.get(adapter)
        self.server = make(Feed(sandbox, [schema], directory), **server) if make is not None else None
        self.abilities: Abilities = ABILITIES[adapter]
        self.adapter = adapter
        self.config = parse_properties(
            {
                "topic.prefix": "t",
                "database.hostname": sandbox.host,
                "database.port": str(sandbox.port),
                "database.user": "C##MINERCDC",
                "database.password": "minercdc",
                "database.dbname": sandbox.root_service,
                "database.pdb.name": sandbox.service,
                "database.connection.adapter": adapter,
                "schema.include.list": schema.upper(),
                "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
                "minercdc.state.dir": str(directory),
                "poll.interval.ms": "20",
                "minercdc.log.mining.pass.interval.ms": "0",
                **SETTINGS.get(adapter, {}),
                **self._server_settings(),
                **settings,
            }
        )
        if adapter == "txlog":
            self._install(sandbox, schema)
        with self._connect_pdb() as connection:
            place = Place(connection, table_filter(self.config), self._database)
            fixed = fix_now([place], lock_of(self.config.snapshot))
        self.shapes = fixed.schemas
        if self.server is not None:
            self.server.feed.shapes = self.shapes
        self.start = self.open(Tables()).start_position(fixed.scn, fixed.mine_from).to_json()

    def _install(self, sandbox: SandboxProcess, schema: str) -> None:
        """Make the objects of `txlog`, as the owner of the tables does, and let the connector's user use them."""
        with sandbox.connect() as admin, admin.cursor() as cursor:
            cursor.execute(f"grant create sequence, create view, create procedure, create trigger, create job to {schema}")
        owner = self.sessions["one"]
        install(owner, read_tables(owner, read_table_ids(owner, table_filter(self.config), self._database)), lambda _: None)
        with owner.cursor() as cursor:
            cursor.execute("grant execute on sync_core to c##minercdc")

    def close(self) -> None:
        """End what it started."""
        for session in self.sessions.values():
            session.close()
        if self.server is not None:
            self.server.close()

    def _server_settings(self) -> dict[str, str]:
        if self.server is None:
            return {}
        if isinstance(self.server, ForsServer):
            return dict(self.server.properties())
        given = {"source": self.server.source, "host": self.server.host, "port": str(self.server.port)}
        return {f"openlogreplicator.{name}": value for name, value in given.items()}

    @property
    def _database(self) -> str:
        return database_name(self.config.database)

    def _connect_pdb(self) -> oracledb.Connection:
        return connect(self.config.database, "pdb")

    def open(self, tables: Tables, adapter: str = "") -> Adapter:
        """A new adapter; `adapter` in place of the one under test."""
        return adapter_factory(adapter or self.adapter).open(
            CaptureContext(
                config=self.config,
                tables=tables,
                mined=table_filter(self.config),
                database=self._database,
                connect_root=lambda: self.asked.listen(connect(self.config.database, "root")),
                connect_pdb=lambda: self.asked.listen(self._connect_pdb()),
                read_table=self._read_table,
                time_zone=self._time_zone,
                counters=Counters(),
                reselect=None,
                unread=lambda _: frozenset(),
                unlogged=lambda _: "",
                record_key=lambda schema: schema.key,
                runs=IS_NATIVE,
                object_ids=ObjectIds(lambda _: self.asked.listen(self._connect_pdb())),
            )
        )

    def _read_table(self, table: TableId) -> TableSchema | None:
        with closing(self.asked.listen(self._connect_pdb())) as connection:
            return next(iter(read_tables(connection, [table])), None)

    def _time_zone(self) -> str:
        with closing(self._connect_pdb()) as connection:
            return database_time_zone(connection)

    def scn(self) -> int:
        """The present."""
        with closing(self._connect_pdb()) as connection, connection.cursor() as cursor:
            cursor.execute("select current_scn from v$database")
            (found,) = cursor.fetchone() or (0,)
            return int(found)

    def read(
        self, kept: list[Event], start: dict[str, JsonValue], adapter: str = "", stop: StopFlag | None = None
    ) -> Generator[Event, None, None]:
        """One run of the stream from a position in JSON, with the shapes of the tables as of the events that are kept."""
        tables = Tables()
        for shape in self.shapes:
            tables.put(shape)
        for event in kept:
            if isinstance(event, SchemaChange):
                tables.apply(event)
        capture = self.open(tables, adapter).capture
        with closing(capture):
            yield from taken_apart(capture.stream(capture.load_position(start), stop or threading.Event()))


def transactions(events: list[Event]) -> list[list[Change]]:
    """Committed transactions, checked for the form that `contracts.Capture` demands of each."""
    found: list[list[Change]] = []
    pending: list[ChangeEvent] = []
    for event in events:
        if isinstance(event, ChangeEvent):
            pending.append(event)
        elif isinstance(event, Progress) and event.committed is not None:
            assert pending, "a commit without changes"
            assert {change.tx.id for change in pending if change.tx} == {event.committed.id}, "transactions are mixed"
            assert [change.seq for change in pending] == list(range(1, len(pending) + 1))
            found.append([_change(change) for change in pending])
            pending = []
        else:
            assert not pending or isinstance(event, SchemaChange), f"{event} within a transaction"
    assert not pending, "changes without their commit"
    return found


def _change(event: ChangeEvent) -> Change:
    before, after = _values(event.schema, event.before), _values(event.schema, event.after)
    return Change(event.op.value, event.schema.id.table, before, after)


def _values(schema: TableSchema, row: Row | None) -> Values | None:
    """The row without TXN, which `txlog` adds to the tables."""
    found = canonical(schema, row)
    if found is None:
        return None
    named = zip(schema.columns, found, strict=True)
    return tuple(value for column, value in named if column.name != "TXN")  # type: ignore[misc]
