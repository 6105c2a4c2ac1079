"""Topics written by the real encoder and sink, read by the real stream, into real Delta tables."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.events import ChangeEvent, Op, Row, SchemaChange, Scn, SnapshotMark, TransactionInfo
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.envelope import EnvelopeEncoder
from minercdc.kafka.ownership import Ownership
from minercdc.kafka.schema_history import KafkaSchemaHistory
from minercdc.kafka.sink import KafkaSink
from minercdc.kafka.source_block import SourceBlock
from minercdc.kafka.topics import TopicNames
from minercdc.lake import start
from minercdc.lake.types import decimal_text
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.offset import Offset
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.values.codec import ValueHandling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEM = TableSchema(
    TableId("PDB", "LAB", "Odd Item"),
    (
        Column("ID", "NUMBER", 10, 0, nullable=False),
        Column("my name", "VARCHAR2", 80),
        Column("QTY", "NUMBER", 38, 9),
        Column("ANY", "NUMBER"),
        Column("D", "DATE"),
        Column("T6", "TIMESTAMP", None, 6),
        Column("T9", "TIMESTAMP", None, 9),
        Column("R", "RAW", 16),
    ),
    key=(0,),
)


class Connector:
    """The writing half of a connector, fed with events by the test."""

    def __init__(self, config: ConnectorConfig) -> None:
        client = KafkaClient(config.kafka, config.topics, {})
        topics = TopicNames(config.identity, config.topics, config.kafka)
        self.sink = KafkaSink(client, topics, config.identity.name, Ownership(config.identity.name))
        self.history = KafkaSchemaHistory(
            client, topic=topics.schema_history, server=config.identity.topic_prefix, clock_ms=lambda: 0
        )
        self.encoder = EnvelopeEncoder(
            topics=topics,
            source=SourceBlock(config.identity.topic_prefix),
            values=config.values,
            filters=config.filters,
            handling=ValueHandling(),
            published=lambda table, column: True,
            key_columns=lambda table: table.key,
            include_schema_changes=True,
            clock_ns=time.time_ns,
        )
        self.scn = 100

    def structure(self, table: TableSchema, before: TableSchema | None = None) -> None:
        change = SchemaChange(table.id, before, table, "ddl", Scn(self.scn), 0)
        self.sink.write(self.history.entry(change, {}))
        for record in self.encoder.encode(change):
            self.sink.write(record)

    def change(
        self, op: Op, before: Row | None, after: Row | None, table: TableSchema = ITEM, row_id: str | None = None
    ) -> None:
        self.scn += 1
        tx = TransactionInfo(f"{self.scn:016x}", Scn(self.scn), Scn(self.scn), 0, 0, 1, "U")
        for record in self.encoder.encode(ChangeEvent(op, table, before, after, Scn(self.scn), 0, tx, 1, row_id=row_id)):
            self.sink.write(record)

    def read(self, row: Row, table: TableSchema, row_id: str) -> None:
        """A row of the initial snapshot."""
        event = ChangeEvent(Op.READ, table, None, row, Scn(self.scn), 0, None, 0, row_id=row_id, snapshot=SnapshotMark.TRUE)
        for record in self.encoder.encode(event):
            self.sink.write(record)

    def truncate(self, table: TableSchema) -> None:
        self.scn += 1
        for record in self.encoder.encode(
            SchemaChange(table.id, table, table, "truncate table ..", Scn(self.scn), 0, truncate=True)
        ):
            self.sink.write(record)

    def commit(self) -> None:
        self.sink.commit(Offset("test"))


def row(number: int, name: str | None = None, quantity: str | None = None, **more: str) -> Row:
    rest = (more.get("any"), more.get("d"), more.get("t6"), more.get("t9"), more.get("r"))
    return (str(number), name, quantity, *rest)


@pytest.fixture
def config(broker: KafkaBroker, prefix: str, tmp_path: Path) -> ConnectorConfig:
    return parse_properties(
        {
            "name": prefix,
            "topic.prefix": prefix,
            "database.hostname": "x",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
            "minercdc.lake.path": str(tmp_path / "lake"),
            "minercdc.lake.trigger.interval.ms": "0",
            "minercdc.lake.truncate": "apply",
            "minercdc.keyless.table.key": "rowid",
            "skipped.operations": "none",
        }
    )


@pytest.fixture
def connector(config: ConnectorConfig) -> Iterator[Connector]:
    connector = Connector(config)
    connector.structure(ITEM)
    yield connector
    connector.sink.close()


Sync = Callable[[], None]


@pytest.fixture
def sync(spark: SparkSession, config: ConnectorConfig) -> Sync:
    """Runs the stream until it has read everything, then stops it: each call is a restart from the checkpoint."""

    def run() -> None:
        query = start(spark, config)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    return run


def lake(spark: SparkSession, config: ConnectorConfig, table: TableSchema = ITEM) -> list[dict[str, Any]]:
    path = f"{config.lake.minercdc_lake_path}/{table.id.schema}/{table.id.table}"
    rows = [r.asDict() for r in spark.read.format("delta").load(path).collect()]
    return sorted(({k: v for k, v in r.items() if not k.startswith("__")} for r in rows), key=str)


def test_every_type_arrives_exactly(spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync) -> None:
    connector.change(
        Op.CREATE,
        None,
        row(
            -7,
            'O\'Neil \\ "é" 😀\n',
            "-12345678901234567890123456789.123456789",
            any="-0.00000000000000000000000000000000000000000123",
            d="1650-02-28 13:45:59",
            t6="2026-02-28 13:45:59.123456000",
            t9="1969-12-31 23:59:59.123456789",
            r="00ff10",
        ),
    )
    connector.commit()
    sync()
    assert lake(spark, config) == [
        {
            "ID": -7,
            "my name": 'O\'Neil \\ "é" 😀\n',
            "QTY": Decimal("-12345678901234567890123456789.123456789"),
            "ANY": "-0.00000000000000000000000000000000000000000123",
            "D": datetime(1650, 2, 28, 13, 45, 59),
            "T6": datetime(2026, 2, 28, 13, 45, 59, 123456),
            "T9": "1969-12-31 23:59:59.123456789",
            "R": bytearray(b"\x00\xff\x10"),
        }
    ]


def test_the_last_change_of_each_key_wins_across_restarts_and_a_lost_checkpoint(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    for number in range(5):
        connector.change(Op.CREATE, None, row(number, "new"))
    connector.change(Op.UPDATE, row(1, "new"), row(1, "changed"))
    connector.change(Op.DELETE, row(2, "new"), None)
    connector.change(Op.UPDATE, row(3, "new"), row(30, "moved"))  # a key change: delete and create
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, row(2, "again"))
    connector.change(Op.DELETE, row(0, "new"), None)
    connector.commit()
    sync()
    expected = [(1, "changed"), (2, "again"), (30, "moved"), (4, "new")]
    assert [(r["ID"], r["my name"]) for r in lake(spark, config)] == expected
    shutil.rmtree(f"{config.lake.minercdc_lake_path}/_checkpoint")
    sync()
    assert [(r["ID"], r["my name"]) for r in lake(spark, config)] == expected


def test_added_columns_evolve_the_table_and_dropped_ones_stay(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    connector.change(Op.CREATE, None, row(1, "old"))
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, row(2, "before the column, read with it"))
    added = (
        Column("W", "NUMBER", 5, 2),
        Column("C", "VARCHAR2", 20, default="'it''s \\ new'"),
        Column("N", "NUMBER", 3, 1, default="-1.5"),
    )
    wider = TableSchema(ITEM.id, (*ITEM.columns[:1], *ITEM.columns[2:], *added), (0,), version=2)
    connector.scn += 1
    connector.structure(wider, ITEM)
    connector.change(Op.CREATE, None, ("3", None, None, None, None, None, None, "1.5", None, "0"), wider)
    connector.commit()
    sync()
    default = ("it's \\ new", Decimal("-1.5"))
    assert [(r["ID"], r["my name"], r["W"], r["C"], r["N"]) for r in lake(spark, config)] == [
        (1, "old", None, *default),
        (2, "before the column, read with it", None, *default),
        (3, None, Decimal("1.50"), None, Decimal("0.0")),
    ]


def test_truncate_removes_what_came_before_it_only(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    connector.change(Op.CREATE, None, row(1))
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, row(2))
    connector.truncate(ITEM)
    connector.change(Op.CREATE, None, row(3))
    connector.commit()
    sync()
    assert [r["ID"] for r in lake(spark, config)] == [3]


def test_a_table_without_key_is_kept_by_rowid(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    plain = TableSchema(TableId("PDB", "LAB", "LOG"), (Column("V", "VARCHAR2", 10),))
    connector.structure(plain)
    for number in range(4):
        connector.read(("read",), plain, f"S{number}")
    connector.commit()
    sync()
    assert len(lake(spark, config, plain)) == 4
    connector.change(Op.UPDATE, ("read",), ("changed",), plain, "S1")
    connector.change(Op.DELETE, ("read",), None, plain, "S2")
    connector.commit()
    sync()
    rows = sorted((r["ROWID"], r["V"]) for r in lake(spark, config, plain))
    assert rows == [("S0", "read"), ("S1", "changed"), ("S3", "read")]
    connector.truncate(plain)
    connector.change(Op.CREATE, None, ("same",), plain, "AAA")
    connector.change(Op.CREATE, None, ("same",), plain, "AAB")
    connector.change(Op.DELETE, ("same",), None, plain, "AAA")
    connector.commit()
    sync()
    assert lake(spark, config, plain) == [{"V": "same", "ROWID": "AAB"}]


@pytest.mark.parametrize(
    ("scale", "unscaled", "text"),
    [(2, 1250, "12.50"), (3, -1, "-0.001"), (0, 0, "0"), (-2, 5, "500"), (1, 10**40, "1" + "0" * 39 + ".0")],
)
def test_connect_decimals_are_read_to_the_last_digit(scale: int, unscaled: int, text: str) -> None:
    size = unscaled.bit_length() // 8 + 1
    assert decimal_text(scale, base64.b64decode(base64.b64encode(unscaled.to_bytes(size, "big", signed=True)))) == text
