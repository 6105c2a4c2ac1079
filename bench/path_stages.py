"""The connector's own path, with neither database nor mining: rows as they are fetched, to records in Kafka.

path    transactions of at most 50 rows; then one of 100,000 rows, of which 8 MiB may be in memory: how memory behaves
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

import psutil

from bench.processes import Sandbox
from bench.redo_text import ORDERS, PEOPLE, Statement, statements
from bench.report import Measure
from bench.text_stages import json_encoder
from minercdc.capture.logminer.buffered import BufferedAssembly
from minercdc.capture.logminer.decoding import HostClock, TransactionDecoder
from minercdc.capture.logminer.delivery import Delivery
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.row import LogMinerRow, OpCode
from minercdc.capture.logminer.shapes import ShapeTracker
from minercdc.capture.logminer.transactions import TransactionBuffer
from minercdc.config.sections import ConnectorIdentity, KafkaConfig, TopicConfig
from minercdc.events import ChangeEvent, Op
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.ownership import Ownership
from minercdc.kafka.sink import KafkaSink
from minercdc.kafka.topics import TopicNames
from minercdc.offset import Offset
from minercdc.schema.filter import TableFilter
from minercdc.schema.tables import Tables

_DISTINCT = 20_000
_LARGE = 100_000
_BUDGET = 8 * 2**20
_COMMIT = 10_000
_CODES = {Op.CREATE: OpCode.INSERT, Op.UPDATE: OpCode.UPDATE, Op.DELETE: OpCode.DELETE}
_NOON = datetime(2026, 3, 1, 12)


def path(_sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """Fetched rows to the producer's queue; memory of this process, librdkafka's queue included."""
    rows = list(statements(_DISTINCT))
    small = _small_transactions(rows)
    with_spill = _one_transaction(rows, _LARGE)
    for name, mined, expected, budget in (
        ("fetched rows to produced records", small, _DISTINCT, 1 << 30),
        ("the same, one transaction, 8 MiB budget", with_spill, _LARGE, _BUDGET),
    ):
        memory = _Memory()
        clock = time.monotonic(), time.process_time()
        seen = _produce(mined, directory / "spill", broker, budget, memory.look)
        wall, cpu = time.monotonic() - clock[0], time.process_time() - clock[1]
        assert seen == expected, f"{seen} changes of {expected}"
        yield Measure(f"{name}; {memory}", "connector code", seen, wall, cpu)


class _Memory:
    """Resident memory of this process, looked at between rows."""

    def __init__(self) -> None:
        self._process, self._looks = psutil.Process(), count()
        self._before = self._most = self._process.memory_info().rss

    def look(self) -> None:
        if next(self._looks) % 5000 == 0:
            self._most = max(self._most, self._process.memory_info().rss)

    def __str__(self) -> str:
        return f"memory {self._before / 2**20:.0f} MiB before, {self._most / 2**20:.0f} at most"


def _produce(mined: Iterable[LogMinerRow], spill: Path, broker: str, budget: int, look: Callable[[], None]) -> int:
    kafka = KafkaConfig.model_validate({"minercdc.kafka.bootstrap.servers": broker})
    identity, topic_config = ConnectorIdentity.model_validate({"topic.prefix": "path"}), TopicConfig.model_validate({})
    sink = KafkaSink(
        KafkaClient(kafka, topic_config, {}), TopicNames(identity, topic_config, kafka), "path", Ownership("path")
    )
    tables = Tables()
    for table in (PEOPLE, ORDERS):
        tables.put(table.schema)
    shapes = ShapeTracker(tables, TableFilter(schema_include=["SHOP"]), "ORCLPDB1", lambda _: None)
    clock, position = HostClock(), LogMinerPosition({}, 1, 0, 1)
    delivery = Delivery(position, shapes, TransactionDecoder(shapes, clock), clock)
    assembly = BufferedAssembly(position, TransactionBuffer(budget, spill), delivery)
    encoder, changes, committed = json_encoder("path"), 0, 0

    def watched() -> Iterator[LogMinerRow]:
        for row in mined:
            look()
            yield row

    for event in assembly.take(watched()):
        for record in encoder.encode(event):
            sink.write(record)
        look()
        changes += isinstance(event, ChangeEvent)
        if changes - committed >= _COMMIT:  # a large transaction of the source is split, too
            sink.commit(Offset("logminer"))
            committed = changes
    sink.close()
    assembly.close()
    return changes


def _small_transactions(rows: list[Statement]) -> Iterator[LogMinerRow]:
    block, last = count(1), None
    for row in rows:
        if last is not None and row.tx is not last.tx:
            yield _row(next(block), last, OpCode.COMMIT)
        yield _row(next(block), row, _CODES[row.op])
        last = row
    assert last is not None
    yield _row(next(block), last, OpCode.COMMIT)


def _one_transaction(rows: list[Statement], size: int) -> Iterator[LogMinerRow]:
    xid = bytes.fromhex(rows[0].tx.id)
    for block in range(1, size + 1):
        row = rows[block % len(rows)]
        yield _row(block, row, _CODES[row.op])._replace(xid=xid)
    yield _row(size + 1, rows[0], OpCode.COMMIT)._replace(xid=xid)


def _row(block: int, row: Statement, code: OpCode) -> LogMinerRow:
    """As it is fetched."""
    is_dml, schema = code != OpCode.COMMIT, row.schema.id
    return LogMinerRow(
        scn=25_000_000 + block, code=int(code), thread=1, rs_id=f" 0x000001.{block:08x}.0010 ", ssn=0,
        xid=bytes.fromhex(row.tx.id), con_id=3, owner=schema.schema if is_dml else None,
        table=schema.table if is_dml else None, row_id=row.row_id, rollback=0, csf=0, status=0, info=None,
        timestamp=_NOON, user="APP", client_id=None, object_id=0, start_scn=None, sql=row.sql if is_dml else "commit;",
    )  # fmt: skip


PATH_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {"path": path}
