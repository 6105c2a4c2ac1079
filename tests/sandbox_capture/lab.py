"""A capture and a snapshot over a sandbox, and what their events amount to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.native_pair import IS_NATIVE, parsed, taken_apart

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.logminer.capture import LogMinerCapture
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import KeepingRules, captured_tables
from minercdc.capture.logminer.open_at import mine_from
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.flush import RedoFlush
from minercdc.capture.logminer.sql_redo.decoding import Unread
from minercdc.capture.logminer.sql_redo.undecoded import OnFailure
from minercdc.capture.logminer.start import missing, start_position
from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import CaptureConfig, DatabaseConfig, SnapshotConfig
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.errors import LogGapError
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.object_ids import ObjectIds
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.scn import database_time_zone
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.snapshot.databases import TableDatabases
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.snapshot import InitialSnapshot, RowReading, StreamStart
from minercdc.snapshot.initial.snapshot_scn import Fixed, Place, fix_now
from minercdc.snapshot.initial.structures import StructureSnapshot
from minercdc.snapshot.reselect import RowReselect
from minercdc.stream.contracts import Snapshot, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, Op, Progress, Row, SchemaChange
from minercdc.stream.offset import Position, SnapshotState
from minercdc.values.codec import reading_for

_PATIENCE_SECONDS = 120.0


class _Capture(LogMinerCapture):
    """Its runs are encoded both ways, and come as ChangeEvents."""

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        stream = super().stream(start, stop)
        with closing(stream):  # type: ignore[type-var]
            yield from taken_apart(stream)


ITEM_TABLES = (
    "create table marker (n number(10) primary key)",
    "create table item (id number(10) primary key, name varchar2(80), qty number(12,3), d date)",
    "alter table item add supplemental log data (all) columns",
)

ITEM_CHANGES = (
    "insert into item values (1, 'it''s', .5, date '2026-02-28')",
    "insert into item (id) values (2)",
    "update item set name = null, qty = -10.25 where id = 1",
    "update item set id = 3 where id = 2",
    "delete from item where id = 1",
)
"""Every kind of change of a row of ITEM; as `Reader.changes` has them: `ITEM_EVENTS`."""

_FIRST = ("1", "it's", "0.5", "2026-02-28 00:00:00")
_SECOND = ("1", None, "-10.25", "2026-02-28 00:00:00")
ITEM_EVENTS = [
    ("c", None, _FIRST),
    ("c", None, ("2", None, None, None)),
    ("u", _FIRST, _SECOND),
    ("u", ("2", None, None, None), ("3", None, None, None)),
    ("d", _SECOND, None),
]


def switch_supplemental_logging_on(sandbox: SandboxProcess) -> None:
    """Switch minimal supplemental logging on, unless it is on."""
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("select supplemental_log_data_min from v$database")
        if cursor.fetchone() == ("NO",):
            cursor.execute("alter database add supplemental log data")


class Lab:
    """One schema of a sandbox under capture."""

    def __init__(
        self, sandbox: SandboxProcess, schema: str, directory: Path, committed: bool = False, **mining: Any
    ) -> None:
        self.committed = committed
        self.schema = schema.upper()
        self.sandbox = sandbox
        sandbox.create_user(schema)
        self.app = self.session()
        settings: dict[str, Any] = {
            "database.hostname": sandbox.host,
            "database.port": sandbox.port,
            "database.user": "C##MINERCDC",
            "database.password": "minercdc",
            "database.dbname": sandbox.root_service,
            "database.pdb.name": sandbox.service,
        }
        self.config = DatabaseConfig(**settings)
        given = {
            "minercdc.state.dir": str(directory),
            "poll.interval.ms": 50,
            "minercdc.log.mining.pass.interval.ms": 0,
            **mining,
        }
        self.shared = CaptureConfig(**{name: given.pop(name) for name in CaptureConfig.properties() if name in given})
        self.mining = LogMiningConfig(**given)
        self.filter = TableFilter(schema_include=[self.schema])
        self.filters = {sandbox.service: self.filter}
        self.files = KeptFiles(directory, schema)
        self.counters = Counters()

    def session(self) -> oracledb.Connection:
        """A session of the application."""
        return self.sandbox.connect(self.schema.lower(), self.schema.lower())

    def run(self, *statements: str) -> None:
        """Statements in the application's session; no commit."""
        with self.app.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def switch_log(self) -> None:
        with self.sandbox.connect(service=self.sandbox.root_service) as admin, admin.cursor() as cursor:
            cursor.execute("alter system switch logfile")

    def table(self, name: str) -> TableId:
        return TableId(database_name(self.config), self.schema, name.upper())

    def read_table(self, table: TableId) -> TableSchema | None:
        with connect(self.config, "pdb") as connection:
            return next(iter(read_tables(connection, [table])), None)

    def capture(self, tables: Tables, **more: Any) -> LogMinerCapture:
        flushed = self.mining.minercdc_log_mining_flush_table
        return _Capture(
            self.context(tables, **more),
            self.sandbox.service,
            committed=self.committed,
            flush=RedoFlush(lambda: connect(self.config, "pdb"), flushed) if flushed else None,
            files=self.files,
            rules=self.rules(),
        )

    def context(
        self, tables: Tables, on_failure: OnFailure = "fail", unread: Unread = lambda _: frozenset()
    ) -> CaptureContext:
        mode = self.shared.minercdc_lob_reselect
        reselect = RowReselect(
            lambda _: connect(self.config, "pdb"),
            lambda *_: True,
            lambda schema: schema.key,
            key_changes_only=mode == "key_change",
            counters=self.counters,
        )
        return CaptureContext(
            config=self.connector_config(on_failure),
            tables=tables,
            mined=self.filter,
            database=database_name(self.config),
            connect_root=lambda: connect(self.config, "root"),
            connect_pdb=lambda: connect(self.config, "pdb"),
            read_table=self.read_table,
            time_zone=self.time_zone,
            counters=self.counters,
            reselect=reselect if mode != "none" else None,
            unread=unread,
            unlogged=lambda _: "",
            record_key=lambda schema: schema.key,
            runs=IS_NATIVE,
            object_ids=ObjectIds(lambda _: connect(self.config, "pdb")),
        )

    def connector_config(self, on_failure: OnFailure) -> ConnectorConfig:
        """A connector's configuration with the sections that a test has set."""
        needed = {
            "topic.prefix": "t",
            "database.hostname": self.sandbox.host,
            "database.user": self.config.database_user,
            "database.password": "minercdc",
            "database.dbname": self.sandbox.root_service,
            "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
            "event.processing.failure.handling.mode": on_failure,
        }
        return replace(parsed(needed), database=self.config, log_mining=self.mining, capture=self.shared)

    def rules(self) -> KeepingRules | None:
        """As the adapter has them."""
        if self.committed or self.shared.lob_enabled:
            return None
        keeps = self.mining.minercdc_log_mining_buffer_durable == "disk"
        after = timedelta(milliseconds=self.mining.minercdc_log_mining_buffer_durable_after_ms)
        return KeepingRules(after if keeps else None, captured_tables(self.filter, self.sandbox.service))

    def start_position(self, scn: int, mine_from: int) -> LogMinerPosition:
        return start_position(lambda: connect(self.config, "root"), scn, mine_from)

    def unreadable(self, position: LogMinerPosition) -> LogGapError | None:
        """As the adapter says it before a capture begins."""
        return missing(lambda: connect(self.config, "root"), position, self.mining, self.files, self.rules())

    def mine_from(self, scn: int) -> int:
        return mine_from(
            lambda: connect(self.config, "root"), scn, self.sandbox.service, (lambda: connect(self.config, "pdb"),)
        )

    def time_zone(self) -> str:
        with connect(self.config, "pdb") as connection:
            return database_time_zone(connection)

    def snapshot(self, tables: Tables, **options: Any) -> Snapshot:
        capture = self.capture(tables)
        with_rows = options.pop("with_rows", True)
        selects = options.pop("selects", {})
        config = SnapshotConfig(**options)
        database = database_name(self.config)

        def fix(connection: oracledb.Connection) -> Fixed:
            return fix_now([Place(connection, self.filter, database)], lock_of(config))

        def connect_pdb() -> oracledb.Connection:
            return connect(self.config, "pdb")

        if not with_rows:
            return StructureSnapshot(connect_pdb, tables, fix, lambda fixed: self.start_position(fixed.scn, fixed.mine_from))
        return InitialSnapshot(
            TableDatabases({database: connect_pdb}),
            tables,
            config,
            StreamStart(fix, self.start_position, capture.load_position),
            RowReading(selects=selects, lobs=self.shared.lob_enabled),
            captured=lambda table: self.filter.includes(table.schema, table.table),
        )

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """What the table holds now, sorted, as str."""
        with self.app.cursor() as cursor:
            cursor.execute(f"select * from {table}")
            return sorted(tuple(None if v is None else str(v) for v in row) for row in cursor)


class Reader:
    """A run of the connector: snapshot if it is due, then stream, until what is waited for has come.

    :ivar events: everything delivered.
    :ivar position: the last one reported.
    """

    def __init__(self, lab: Lab, start: LogMinerPosition | None = None, tables: Tables | None = None) -> None:
        self.lab = lab
        self.tables = tables if tables is not None else Tables()
        self.events: list[Event] = []
        self.position = start
        self.snapshot_state: SnapshotState | None = None
        self._stop = threading.Event()

    def take_snapshot(self, **options: Any) -> Reader:
        for event in self.lab.snapshot(self.tables, **options).take(None, self._stop):
            self._note(event)
        return self

    def stream(self, on_failure: OnFailure = "fail") -> Iterator[Event]:
        """Events, ended by `stop`."""
        assert self.position is not None
        for event in self.lab.capture(self.tables, on_failure=on_failure).stream(self.position, self._stop):
            self._note(event)
            yield event

    def stop(self) -> None:
        self._stop.set()

    def until(self, done: Callable[[Reader], bool], on_failure: OnFailure = "fail") -> Reader:
        """Stream until `done`."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        self._stop.clear()
        stream = self.stream(on_failure)
        for _ in stream:
            if done(self):
                break
            assert time.monotonic() < deadline, f"it did not come within {_PATIENCE_SECONDS} s: {self.changes()[-5:]}"
        stream.close()  # type: ignore[attr-defined]
        return self

    def until_marker(self, number: int, on_failure: OnFailure = "fail") -> Reader:
        """Write a marker row and stream until its transaction has come."""
        self.lab.run(f"insert into marker values ({number})")
        self.lab.app.commit()
        return self.until(lambda reader: reader.has_marker(number), on_failure)

    def go_on_to_marker(self, stream: Iterator[Event], number: int) -> None:
        """As `until_marker`, by a stream that goes on afterwards: to begin one anew takes five times the CPU."""
        self.lab.run(f"insert into marker values ({number})")
        self.lab.app.commit()
        next(event for event in stream if self.has_marker(number))

    def has_marker(self, number: int) -> bool:
        """Whether the transaction of the marker is complete; looks at the newest events only."""
        last = self.events[-1] if self.events else None
        if not isinstance(last, Progress) or last.committed is None:
            return False
        row = self.events[-2]
        return isinstance(row, ChangeEvent) and row.schema.id.table == "MARKER" and row.after == (str(number),)

    def changes(self, *tables: str) -> list[tuple[str, Row | None, Row | None]]:
        """Row changes of these tables (default: all but the marker): operation, before, after, in canonical text."""
        return [
            (event.op.value, canonical(event.schema, event.before), canonical(event.schema, event.after))
            for event in self.events
            if isinstance(event, ChangeEvent)
            and (event.schema.id.table in tables if tables else event.schema.id.table != "MARKER")
        ]

    def schema_changes(self) -> list[SchemaChange]:
        return [event for event in self.events if isinstance(event, SchemaChange) and not event.snapshot]

    def replica(self, table: str) -> list[Row]:
        return replica(self.events, table)

    def _note(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Progress):
            self.snapshot_state = event.snapshot or self.snapshot_state
            if event.position is not None:
                assert isinstance(event.position, LogMinerPosition)
                assert self.position is None or not event.position.precedes(self.position)
                self.lab.files.confirm(event.position)
                self.position = LogMinerPosition.from_json(event.position.to_json())


def canonical(schema: TableSchema, row: Row | None) -> Row | None:
    """A row as a snapshot has it: redo's spelling is kept outside the key. That both are printed alike, tests/unit/values shows."""
    if row is None:
        return None
    return tuple(
        value if value is None or value is UNAVAILABLE else _canonical(column, value)
        for column, value in zip(schema.columns, row, strict=True)
    )


def _canonical(column: Column, text: str) -> str:
    reading = reading_for(column)
    convert = next(filter(None, reading.literals.values()), None) if reading.spellings else None
    return convert(text) if convert else text


def replica(events: Iterable[Event], table: str) -> list[Row]:
    """What a table amounts to after the events, in canonical text. Fails at an illegal step: an insert of a row that is
    there, or a change of one that is not there or looked otherwise."""
    rows: dict[tuple[Any, ...], Row] = {}
    for event in events:
        if not isinstance(event, ChangeEvent) or event.schema.id.table != table:
            continue

        def key(row: Row, keys: tuple[int, ...] = event.schema.key) -> tuple[Any, ...]:
            return tuple(row[i] for i in keys)

        before, after = canonical(event.schema, event.before), canonical(event.schema, event.after)
        if before is not None:
            assert rows.pop(key(before)) == before, f"{event.op}: another row was there"
        if after is not None:
            assert key(after) not in rows, f"{event.op}: a row was there"
            assert len(after) == len(event.schema.columns)
            rows[key(after)] = after
        assert event.op is not Op.TRUNCATE
    return sorted(rows.values(), key=str)


def without_versions(table: TableSchema) -> TableSchema:
    return replace(table, version=1)
