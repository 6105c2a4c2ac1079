"""Topics written by the real encoder and sink, read by the real stream, into real Delta tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig
from minercdc.lake.spark.own_sessions import few_partitions, prefer_few_partitions
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op, Row

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


def row(number: int, name: str | None = None, quantity: str | None = None, **more: str) -> Row:
    rest = (more.get("any"), more.get("d"), more.get("t6"), more.get("t9"), more.get("r"))
    return (str(number), name, quantity, *rest)


def test_every_type_arrives_exactly(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(ITEM)
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
    assert lake(spark, config, ITEM) == [
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
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(ITEM)
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
    assert [(r["ID"], r["my name"]) for r in lake(spark, config, ITEM)] == expected
    shutil.rmtree(f"{config.lake.minercdc_lake_path}/_checkpoint")
    sync()
    assert [(r["ID"], r["my name"]) for r in lake(spark, config, ITEM)] == expected


def test_added_columns_join_the_table_and_dropped_ones_leave_it(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(ITEM)
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
    rows = lake(spark, config, ITEM)
    assert [(r["ID"], r["W"], r["C"], r["N"]) for r in rows] == [
        (1, None, *default),
        (2, None, *default),
        (3, Decimal("1.50"), None, Decimal("0.0")),
    ]
    assert "my name" not in rows[0]


def test_truncate_removes_what_came_before_it_only(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(ITEM)
    connector.change(Op.CREATE, None, row(1))
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, row(2))
    connector.truncate(ITEM)
    connector.change(Op.CREATE, None, row(3))
    connector.commit()
    sync()
    assert [r["ID"] for r in lake(spark, config, ITEM)] == [3]


def test_a_table_without_key_is_kept_by_rowid(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(ITEM)
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
    assert sorted(r["V"] for r in lake(spark, config, plain)) == ["changed", "read", "read"]
    connector.truncate(plain)
    connector.change(Op.CREATE, None, ("same",), plain, "AAA")
    connector.change(Op.CREATE, None, ("same",), plain, "AAB")
    connector.change(Op.DELETE, ("same",), None, plain, "AAA")
    connector.commit()
    sync()
    assert lake(spark, config, plain) == [{"V": "same"}]
    connector.vanish(plain, b'{"ROWID":"AAB"}')
    connector.commit()
    sync()
    assert lake(spark, config, plain) == []


@pytest.mark.parametrize(("given", "used"), [(None, "2"), ("7", "7")])
def test_a_session_that_is_not_ours_reads_deltas_logs_in_few_tasks_unless_it_says_otherwise(
    spark: SparkSession, given: str | None, used: str
) -> None:
    setting, session = "spark.databricks.delta.snapshotPartitions", spark.newSession()
    session.conf.unset(setting)
    if given is not None:
        session.conf.set(setting, given)
    with few_partitions(session):
        assert session.conf.get(setting) == used
    assert session.conf.get(setting, None) == given
    prefer_few_partitions(session)
    assert session.conf.get(setting) == used
