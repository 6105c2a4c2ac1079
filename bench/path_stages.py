"""The connector's own path, with neither database nor mining: rows as they are fetched, to records in Kafka.

path           transactions of at most 50 rows; then one of 100,000 rows, of which 8 MiB may be in memory: how memory behaves
compression    transactions of at most 50 rows with each codec of Kafka's producers, in JSON without schemas and with them
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice, product
from pathlib import Path

import psutil
from confluent_kafka import Consumer

from bench.processes import Sandbox
from bench.redo_text import ORDERS, PEOPLE, Statement, statements
from bench.report import Measure
from bench.text_stages import configured, json_encoder, mined_row, records_of
from minercdc import native
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.containers import Container, Containers
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import ContinuationJoiner, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.messages.topics import TopicNames
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.stream.contracts import write_all
from minercdc.stream.events import ChangeEvent, ChangeRun, Event
from minercdc.stream.offset import Offset

_DISTINCT = 20_000
_LARGE = 100_000
_BUDGET = 8 * 2**20
_COMMIT = 10_000
_FETCHED = 10_000
_CODECS = ("none", "lz4", "snappy", "zstd", "gzip")


def path(_sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """Fetched rows to the producer's queue; memory of this process, librdkafka's queue included."""
    rows = list(statements(_DISTINCT))
    loads: list[tuple[str, Callable[[], Iterator[LogMinerRow]], int, int]] = [
        ("fetched rows to produced records", lambda: _small_transactions(rows), _DISTINCT, 1 << 30),
        ("the same, one transaction, 8 MiB budget", lambda: _one_transaction(rows, _LARGE), _LARGE, _BUDGET),
    ]
    paths = [False] if native.rows is None else [True, False]
    for (load, make, expected, budget), runs in product(loads, paths):
        name, mined, memory = f"{load}, {'native' if runs else 'Python'}", make(), _Memory()
        clock = time.monotonic(), time.process_time()
        seen = _produce(mined, directory / "spill", broker, budget, memory.look, way=_Way(runs=runs))
        wall, cpu = time.monotonic() - clock[0], time.process_time() - clock[1]
        assert seen == expected, f"{seen} changes of {expected}"
        yield Measure(f"{name}; {memory}", "connector code", seen, wall, cpu)


def compression(_sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """Fetched rows to the broker's log with each codec, on the path in use: CPU of this process, and how many bytes of the log a row
    takes; then CPU of a client that reads them."""
    rows = list(statements(_DISTINCT))
    _produce(_small_transactions(rows), directory / "spill", broker, 1 << 30, lambda: None, way=_Way("warm-up"))
    for schemas, codec in product((False, True), _CODECS):
        way = _Way(f"{codec}-{'schemas' if schemas else 'plain'}", {"compression.type": codec}, schemas)
        clock = time.monotonic(), time.process_time()
        seen = _produce(_small_transactions(rows), directory / "spill", broker, 1 << 30, lambda: None, way=way)
        wall, cpu = time.monotonic() - clock[0], time.process_time() - clock[1]
        logs = (directory / "kafka").rglob(f"{way.name}.*/*.log")
        size = sum(log.stat().st_size for log in logs if not log.parent.name.startswith("__")) / seen
        what = f"{'JSON with schemas' if schemas else 'JSON'}, {codec}"
        yield Measure(f"fetched rows to records, {what}; {size:,.0f} bytes a row", "connector code", seen, wall, cpu)
        clock = time.monotonic(), time.process_time()
        read = _read(broker, way.name, seen)
        wall, cpu = time.monotonic() - clock[0], time.process_time() - clock[1]
        yield Measure(f"records to a client, {what}", "client", read, wall, cpu)


def _read(broker: str, prefix: str, enough: int) -> int:
    """Read the topics of a prefix from their begin until `enough` records came; how many."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": prefix, "auto.offset.reset": "earliest"})
    consumer.subscribe([rf"^{prefix}\..*"])
    read = 0
    deadline = time.monotonic() + 60
    while read < enough:
        assert time.monotonic() < deadline, f"{read} records of {enough} came"
        read += len(consumer.consume(10_000, timeout=1))
    consumer.close()
    return read


@dataclass(frozen=True, slots=True)
class _Way:
    """How records are made and sent.

    :param name: of the connector, with which topics begin.
    :param client: librdkafka's settings.
    :param schemas: JSON is written with its schemas.
    :param runs: on the native path.
    """

    name: str = "path"
    client: Mapping[str, str] = field(default_factory=dict)
    schemas: bool = False
    runs: bool = native.rows is not None


class _Memory:
    """Resident memory of this process, looked at between events."""

    def __init__(self) -> None:
        self._process, self._looks = psutil.Process(), count()
        self._before = self._most = self._process.memory_info().rss

    def look(self) -> None:
        if next(self._looks) % 8 == 0:
            self._most = max(self._most, self._process.memory_info().rss)

    def __str__(self) -> str:
        return f"memory {self._before / 2**20:.0f} MiB before, {self._most / 2**20:.0f} at most"


def _produce(
    mined: Iterable[LogMinerRow], spill: Path, broker: str, budget: int, look: Callable[[], None], *, way: _Way
) -> int:
    runs, name = way.runs, way.name
    config = configured(name, broker)
    client = KafkaClient(config.kafka, config.topics, way.client)
    sink = KafkaSink(client, TopicNames(config), name, Ownership(name))
    tables = Tables()
    for table in (PEOPLE, ORDERS):
        tables.put(table.schema)
    shapes = ShapeTracker(tables, TableFilter(schema_include=["SHOP"]), "ORCLPDB1", lambda _: None)
    clock, position = HostClock(), LogMinerPosition({}, 1, 0, 1)
    delivery = Delivery(
        position, Containers([Container("", shapes, TransactionDecoder(shapes, clock, DecodingOptions(runs=runs)))]), clock
    )
    assembly = BufferedAssembly(position, transaction_buffer(budget, spill, native_rows=runs), delivery)
    encoder, changes, committed = json_encoder(name, schemas=way.schemas), 0, 0

    def events() -> Iterator[Event]:
        fetched, joiner = iter(mined), ContinuationJoiner()
        while batch := [tuple(row) for row in islice(fetched, _FETCHED)]:
            look()
            yield from assembly.take_fetched(batch, joiner)

    for event in events():
        for records in records_of(encoder, event):
            write_all(sink, records)
        look()
        changes += len(event.rows) if isinstance(event, ChangeRun) else isinstance(event, ChangeEvent)
        if changes - committed >= _COMMIT:  # a large transaction of the source is split, too
            sink.commit(Offset("logminer"))
            committed = changes
    sink.commit(Offset("logminer"))
    sink.close()
    assembly.close()
    return changes


def _small_transactions(rows: list[Statement]) -> Iterator[LogMinerRow]:
    block, last = count(1), None
    for row in rows:
        if last is not None and row.tx is not last.tx:
            yield mined_row(next(block), last, OpCode.COMMIT)
        yield mined_row(next(block), row)
        last = row
    assert last is not None
    yield mined_row(next(block), last, OpCode.COMMIT)


def _one_transaction(rows: list[Statement], size: int) -> Iterator[LogMinerRow]:
    xid = bytes.fromhex(rows[0].tx.id)
    for block in range(1, size + 1):
        row = rows[block % len(rows)]
        yield mined_row(block, row)._replace(xid=xid)
    yield mined_row(size + 1, rows[0], OpCode.COMMIT)._replace(xid=xid)


PATH_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {"path": path, "compression": compression}
