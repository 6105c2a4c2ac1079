"""The stages of the pipeline, each measured by itself, then all together.

insert      python-oracledb -> sandbox                        CPU of the sandbox
mined       V$LOGMNR_CONTENTS -> python-oracledb              CPU of the sandbox
encode      mined rows in memory -> records                   CPU of this process
stream      committed in the sandbox -> visible in Kafka      CPU of the connector, and of the sandbox
snapshot    a table -> visible in Kafka, from process start   likewise
idle        nothing to do                                     likewise
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer

from bench.processes import Connector, MeasuredProcess, Sandbox
from bench.report import Measure
from bench.tables import LOADED, MIDDLE, NARROW, SCANNED, STREAMED, WIDE, BenchTable, load, work
from bench.text_stages import json_encoder, records_of
from minercdc import native
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.logs.redo_logs import read_logs, read_threads, select_logs
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.containers import Container, Containers
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.query import build_query
from minercdc.capture.logminer.session.row import ContinuationJoiner, LogMinerRow
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.config.sections import (
    DatabaseConfig,
)
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.scn import current_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import SYSTEM_SCHEMAS, TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, ChangeRun

_PDB = "ORCLPDB1"
_PATIENCE = 120.0
_FETCH_SIZE = 10_000


class _Clock:
    """Wall and CPU seconds from its making."""

    def __init__(self, *cpus: Callable[[], float]) -> None:
        self._cpus = cpus
        self._begun = [cpu() for cpu in cpus]
        self._wall = time.monotonic()

    def wall(self) -> float:
        return time.monotonic() - self._wall

    def cpu(self, which: int = 0) -> float:
        return self._cpus[which]() - self._begun[which]


class Bench:
    """The stages over one sandbox and one broker.

    :param directory: for configurations, logs and spill files.
    """

    def __init__(self, directory: Path, sandbox: Sandbox, bootstrap_servers: str) -> None:
        self._directory = directory
        self._sandbox = sandbox
        self._bootstrap_servers = bootstrap_servers
        self._app = sandbox.connect()
        self._database = DatabaseConfig.model_validate(
            {
                "database.hostname": sandbox.host,
                "database.port": sandbox.port,
                "database.user": "C##MINERCDC",
                "database.password": "minercdc",
                "database.dbname": "ORCLCDB",
                "database.pdb.name": _PDB,
            }
        )

    # ---- insert ----

    def insert(self) -> Iterator[Measure]:
        """Array insert, 1000 rows a call."""
        load(self._app, LOADED, 0, 2000)
        clock = _Clock(self._sandbox.cpu)
        load(self._app, LOADED, 10_000, 60_000)
        yield Measure("array insert, 6 columns", "sandbox", 60_000, clock.wall(), clock.cpu(), "20,000 / cpu s")

    # ---- mined ----

    def mined(self) -> Iterator[Measure]:
        """The connector's own query."""
        start = self._scn()
        changes = work(self._app, NARROW, 0, 10_000) + work(self._app, MIDDLE, 0, 10_000)
        clock = _Clock(self._sandbox.cpu)
        rows = self._mine(start, {})
        yield Measure("mined rows, 6-10 columns", "sandbox", len(rows), clock.wall(), clock.cpu(), "20,000 / cpu s")
        assert sum(row.code <= 3 for row in rows) == changes, "rows are missing"
        mark = {1: RedoAddress(rows[-1].rs_id.strip(), 1)}
        with self._mining() as session:
            self._pass(session, start, mark)
            clock = _Clock(self._sandbox.cpu)
            for _ in range(10):
                self._pass(session, start, mark)
        yield Measure("one poll more of that log, nothing new", "sandbox", 0, clock.wall() / 10, clock.cpu() / 10)

    def _scn(self) -> int:
        with connect(self._database, "root") as connection:
            return current_scn(connection)

    def _mine(self, scn: int, marks: dict[int, RedoAddress]) -> list[LogMinerRow]:
        with self._mining() as session:
            return self._pass(session, scn, marks)

    @contextmanager
    def _mining(self) -> Iterator[MiningSession]:
        session = MiningSession(connect(self._database, "root"), _FETCH_SIZE)
        try:
            yield session
        finally:
            session.close()

    @staticmethod
    def _pass(session: MiningSession, scn: int, marks: dict[int, RedoAddress]) -> list[LogMinerRow]:
        """One pass as the capture makes it."""
        logs = read_logs(session.connection, scn)
        selection = select_logs(logs, read_threads(session.connection), marks, scn, 1000)
        session.use_logs(selection.files)
        session.start(max(scn, selection.start_scn))
        sql, binds = build_query(marks, _PDB, frozenset(SYSTEM_SCHEMAS))
        joiner = ContinuationJoiner()
        return [row for batch in session.rows(sql, binds) for row in joiner.join(batch)]

    # ---- encode ----

    def encode(self) -> Iterator[Measure]:
        """What the connector does with rows once it has them, up to the bytes for Kafka."""
        for table, target in ((NARROW, "30,000 / cpu s"), (WIDE, "")):
            start = self._scn()
            work(self._app, table, 1_000_000, 12_000)
            rows = self._mine(start, {})
            schema = self._schema(table)
            self._records(schema, rows[: len(rows) // 10])
            clock = _Clock(time.process_time)
            events, size = self._records(schema, rows)
            name = f"redo text to records, {len(schema.columns)} columns, {size // events} bytes each"
            yield Measure(name, "connector code", events, clock.wall(), clock.cpu(), target)

    def _schema(self, table: BenchTable) -> TableSchema:
        with connect(self._database, "pdb") as connection:
            return read_tables(connection, [TableId(_PDB, "BENCH", table.name)])[0]

    def _records(self, schema: TableSchema, rows: list[LogMinerRow]) -> tuple[int, int]:
        tables = Tables()
        tables.put(schema)
        shapes = ShapeTracker(tables, TableFilter(schema_include=["BENCH"]), _PDB, lambda _: None)
        clock = HostClock()
        buffer = transaction_buffer(1 << 30, self._directory / "spill", native_rows=native.rows is not None)
        position = LogMinerPosition({}, 1, 0, 1)
        decoder = TransactionDecoder(shapes, clock, DecodingOptions(runs=native.rows is not None))
        delivery = Delivery(position, Containers([Container("", shapes, decoder)]), clock)
        assembly = BufferedAssembly(position, buffer, delivery)
        encoder = json_encoder("bench")
        events = size = 0
        for event in assembly.take_fetched([tuple(row) for row in rows], ContinuationJoiner()):
            for records in records_of(encoder, event):
                size += sum(len(record.value or b"") for record in records)
            events += len(event.rows) if isinstance(event, ChangeRun) else isinstance(event, ChangeEvent)
        assembly.close()
        return events, size

    # ---- end to end ----

    def stream(self) -> Iterator[Measure]:
        """Insert, update and delete while the connector runs."""
        with self._connector("stream", "BENCH.STREAMED") as connector, self.topic("stream", STREAMED) as arrived:
            load(self._app, STREAMED, 0, 1)
            _await(lambda: arrived() >= 1, connector)
            clock = _Clock(connector.cpu, self._sandbox.cpu)
            changes = work(self._app, STREAMED, 1000, 20_000)
            loaded = clock.wall()
            _await(lambda: arrived() > changes, connector)
            wall = clock.wall()
            yield Measure("committed -> visible in Kafka", "connector", changes, wall, clock.cpu(0))
            yield Measure(f"the same (the work alone took {loaded:.1f} s)", "sandbox", changes, wall, clock.cpu(1))

    def snapshot(self) -> Iterator[Measure]:
        """100,000 rows of 10 columns, from the start of the process."""
        load(self._app, SCANNED, 0, 100_000)
        began = self._sandbox.cpu()
        with self.topic("snapshot", SCANNED) as arrived:
            begun = time.monotonic()
            with self._connector("snapshot", "BENCH.SCANNED") as connector:
                _await(lambda: arrived() >= 100_000, connector)
                wall = time.monotonic() - begun
                yield Measure("snapshot, 10 columns", "connector", 100_000, wall, connector.cpu(), "10 s wall")
                yield Measure("the same", "sandbox", 100_000, wall, self._sandbox.cpu() - began)

    def idle(self) -> Iterator[Measure]:
        """Streaming with nothing to stream; the log that is polled is full of old rows."""
        load(self._app, LOADED, 0, 60_000)
        begun = time.monotonic()
        with self._connector("idle", "BENCH.STREAMED") as connector:
            connector.await_text("streaming from", _PATIENCE)
            yield Measure("start-up, until streaming begins", "connector", 0, time.monotonic() - begun, connector.cpu())
            time.sleep(6)  # the first pass reads the log that the snapshot began in
            clock = _Clock(connector.cpu, self._sandbox.cpu)
            time.sleep(5)
            wall = clock.wall()
            yield Measure("idle, polling every 500 ms", "connector", 0, wall, clock.cpu(0))
            yield Measure("the same", "sandbox", 0, wall, clock.cpu(1))

    def _connector(self, name: str, table: str) -> Connector:
        return Connector(self._directory, name, table, self._sandbox, self._bootstrap_servers)

    @contextmanager
    def topic(self, prefix: str, table: BenchTable) -> Iterator[Callable[[], int]]:
        """How many changes a `read_committed` consumer has seen; tombstones do not count."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap_servers,
                "group.id": "bench",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "allow.auto.create.topics": False,
                "topic.metadata.refresh.interval.ms": 200,
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([f"{prefix}.BENCH.{table.name}"])
        seen = 0

        def arrived() -> int:
            nonlocal seen
            seen += sum(message.value() is not None for message in consumer.consume(10_000, 0.05) if not message.error())
            return seen

        try:
            yield arrived
        finally:
            consumer.close()


def _await(done: Callable[[], bool], process: MeasuredProcess) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        process.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"it took more than {_PATIENCE:.0f} s; see {process.log}")
