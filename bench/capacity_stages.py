"""What must stay bounded: memory while one transaction is far larger than it, and the time to learn many tables again.

large       five million rows in one transaction, with `minercdc.log.mining.buffer.memory.max.bytes` of 256 MiB; only when named
long        twenty million rows in one transaction (`MINERCDC_LONG_ROWS`) that is kept over a restart, killed twice on the way; only when named
million     a table of a million rows, from the start of the connector until the last is visible, 1 and 4 threads; only when named
recovery    a schema history of 10,000 tables, from the topic to shapes in memory
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

from confluent_kafka import Consumer

from bench.processes import Connector, Sandbox
from bench.report import Measure
from bench.tables import BATCH, SCANNED, STREAMED, load
from minercdc.config.sections import KafkaConfig, TopicConfig
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory
from minercdc.stream.events import SchemaChange, Scn

_LARGE = 5_000_000
_LONG = int(os.environ.get("MINERCDC_LONG_ROWS", "20000000"))
_MILLION = 1_000_000
_BUDGET = 256 * 2**20
_PATIENCE = 7200.0
_TABLES = 10_000


class Peak:
    """Most memory that a process had, looked at twice a second."""

    def __init__(self, memory: Callable[[], int]) -> None:
        self._memory, self._stop = memory, Event()
        self.bytes = memory()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            self.bytes = max(self.bytes, self._memory())

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def large(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """One transaction of five million inserts, mined and spilled while it is open, delivered at its COMMIT."""
    app = sandbox.connect()
    with Connector(directory, "large", "BENCH.STREAMED", sandbox, broker) as connector:
        load(app, STREAMED, 0, 1)
        seen = Seen(broker, "large.BENCH.STREAMED")
        seen.until(1, connector)
        before, peak = connector.memory(), Peak(connector.memory)
        cpu, begun = connector.cpu(), time.monotonic()
        with app.cursor() as cursor:
            for start in range(1, _LARGE, BATCH):
                cursor.executemany(STREAMED.insert, [STREAMED.row(n) for n in range(start, start + BATCH)])
        app.commit()
        committed = time.monotonic() - begun
        seen.until(_LARGE + 1, connector)
        wall = time.monotonic() - begun
        peak.stop()
        memory = f"memory {before / 2**20:.0f} MiB before, {peak.bytes / 2**20:.0f} MiB at most"
        yield Measure(f"one transaction; {memory}", "connector", _LARGE, wall, connector.cpu() - cpu, "256 MiB budget")
        yield Measure("of that from COMMIT to the last row", "connector", _LARGE, wall - committed, 0.0)
        seen.close()


def long(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """One transaction that is kept on disk while it is open; the connector is killed after a third and after two thirds of it."""
    app, third, most = sandbox.connect(), _LONG // 3, 0
    keeps = ("minercdc.log.mining.buffer.durable.after.ms: 1000",)
    seen: Seen | None = None
    begun = time.monotonic()
    cpu = committed = 0.0
    for part in range(3):
        with Connector(directory, "long", "BENCH.STREAMED", sandbox, broker, keeps) as connector:
            if seen is None:
                load(app, STREAMED, 0, 1)
                seen = Seen(broker, "long.BENCH.STREAMED")
                seen.until(1, connector)
                begun = time.monotonic()
            peak = Peak(connector.memory)
            last = _LONG if part == 2 else (part + 1) * third
            with app.cursor() as cursor:
                for start in range(1 + part * third, last + 1, BATCH):
                    numbers = range(start, min(start + BATCH, last + 1))
                    cursor.executemany(STREAMED.insert, [STREAMED.row(n) for n in numbers])
            if part == 2:
                app.commit()
                committed = time.monotonic()
                seen.until(_LONG + 1, connector)
            else:
                time.sleep(10.0)  # offsets are stored on the way
            peak.stop()
            cpu, most = cpu + connector.cpu(), max(most, peak.bytes)
            if part < 2:
                connector.kill()
    assert seen is not None
    seen.close()
    wall = time.monotonic() - begun
    what = f"one transaction, killed twice; memory {most / 2**20:.0f} MiB at most"
    yield Measure(what, "connector", _LONG, wall, cpu, "512 MiB")
    yield Measure("of that from COMMIT to the last row", "connector", _LONG, time.monotonic() - committed, 0.0)


def million(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """A million rows of 10 columns, by one connection and by four."""
    load(sandbox.connect(), SCANNED, 0, _MILLION)
    for threads in (1, 4):
        name = f"million{threads}"
        server, begun = sandbox.cpu(), time.monotonic()
        more = (f"snapshot.max.threads: {threads}", "snapshot.max.threads.multiplier: 2")
        with Connector(directory, name, "BENCH.SCANNED", sandbox, broker, more) as connector:
            seen, peak = Seen(broker, f"{name}.BENCH.SCANNED"), Peak(connector.memory)
            seen.until(100_000, connector)
            early = peak.bytes
            seen.until(_MILLION, connector)
            wall = time.monotonic() - begun
            peak.stop()
            memory = f"memory {early / 2**20:.0f} MiB at 100,000 rows, {peak.bytes / 2**20:.0f} MiB at most"
            yield Measure(f"snapshot, {threads} threads; {memory}", "connector", _MILLION, wall, connector.cpu())
            yield Measure("the same", "sandbox", _MILLION, wall, sandbox.cpu() - server)
            seen.close()


class Seen:
    """Counts what a `read_committed` consumer gets."""

    def __init__(self, broker: str, topic: str, group: str = "bench-capacity") -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "max.poll.interval.ms": 7_200_000,
                "topic.metadata.refresh.interval.ms": 500,
            }
        )
        self._consumer.subscribe([topic])
        self._count = 0

    def until(self, count: int, connector: Connector) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self._count < count:
            self._count += sum(not message.error() for message in self._consumer.consume(10_000, 1.0))
            connector.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._count} of {count} records came")

    def close(self) -> None:
        self._consumer.close()


def recovery(_sandbox: Sandbox, _directory: Path, broker: str) -> Iterator[Measure]:
    """10,000 tables of 20 columns, each with one history record."""
    client = KafkaClient(
        KafkaConfig.model_validate({"minercdc.kafka.bootstrap.servers": broker}), TopicConfig.model_validate({}), {}
    )
    history = KafkaSchemaHistory(client, topic="bench-history", server="bench", clock_ms=lambda: 0)
    client.ensure_topic("bench-history", partitions=1)
    producer = client.producer("bench-history")
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(_TABLES):
        record = history.entry(_created(number), {})
        producer.produce(record.topic, record.value, record.key, 0)
        producer.poll(0)
    producer.commit_transaction()
    tables, begun, cpu = Tables(), time.monotonic(), time.process_time()
    for change in history.recover(None):
        tables.apply(change)
    assert len(tables) == _TABLES, f"{len(tables)} tables"
    wall = time.monotonic() - begun
    yield Measure(f"schema history of {_TABLES:,} tables", "connector code", _TABLES, wall, time.process_time() - cpu, "5 s")


def _created(number: int) -> SchemaChange:
    columns = (Column("ID", "NUMBER", 10, 0, nullable=False), *(Column(f"C{n}", "VARCHAR2", 80) for n in range(19)))
    table = TableSchema(TableId("DB", "BENCH", f"T{number}"), columns, (0,), object_id=1000 + number)
    return SchemaChange(table.id, None, table, "", Scn(number), 0, snapshot=True)


CAPACITY_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {
    "large": large,
    "long": long,
    "million": million,
    "recovery": recovery,
}
