"""Merges whose records compiled code decodes, in the driver's process or in Spark's Python workers: the lake is as SQL makes it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import every_case
from tests.spark.connector import Connector
from tests.spark.reading import frame

from minercdc.config.load import ConnectorConfig
from minercdc.lake.merge import compiled
from minercdc.lake.read.decode import RowDecoder
from minercdc.native.decoding import decode as extension
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(extension is None, reason="the extension was not built")

TABLE = TableSchema(
    TableId("PDB", "LAB", "MANY"),
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("N", "NUMBER"),
        Column("P", "NUMBER", 20, 2),
        Column("T", "VARCHAR2", 40),
        Column("D", "DATE"),
        Column("S", "TIMESTAMP", None, 6),
        Column("B", "RAW", 10),
        Column("F", "BINARY_DOUBLE"),
    ),
    key=(0,),
)
ROUNDS = 3 if every_case() else 2
TOO_LONG = str(10**39 + 7)  # more than 16 bytes
Row = tuple[str | None, ...]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Methods of the decoder that had compiled code decode a table's records, however few."""
    found: list[str] = []

    def note(method: str) -> None:
        original: Callable[..., Any] = getattr(RowDecoder, method)

        def noted(self: RowDecoder, *given: Any, **named: Any) -> Any:
            made = original(self, *given, **named)
            if made is not None:
                found.append(method)
            return made

        monkeypatch.setattr(RowDecoder, method, noted)

    note("compiled")
    note("scanned")
    monkeypatch.setattr(compiled, "FEW_ROWS", 1)
    return found


def row_of(key: int, chance: random.Random) -> Row:
    cents = chance.randrange(-(10**15), 10**15)
    time = f"20{chance.randrange(10, 99)}-0{chance.randrange(1, 9)}-11 10:11:12"
    text = chance.choice([None, "", "plain", 'quoted " \\ \n', "\N{EURO SIGN}\N{GRINNING FACE}"])
    return (
        *(str(key), str(cents), f"{cents // 100}.{abs(cents) % 100:02}", text or None),
        *(time, f"{time}.{chance.randrange(10**6):06}000", chance.choice([None, "00ff10"]), chance.choice(["0.5", "NaN"])),
    )


@pytest.mark.usefixtures("read_by_spark")
def test_workers_decode_rows_as_sql_does(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    decoded: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows_come_and_go(spark, config, connector, sync, caplog)
    assert decoded == ["compiled"] * ROUNDS


def test_the_driver_decodes_rows_as_sql_does(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    decoded: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows_come_and_go(spark, config, connector, sync, caplog)
    assert decoded == ["scanned"] * (ROUNDS - 1)


def rows_come_and_go(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In rounds, the first of which makes the table; the last has a number that only SQL reads, after which the table is left to SQL."""
    chance = random.Random(5)
    there: dict[int, Row] = {}
    connector.structure(TABLE)
    for round_ in range(ROUNDS):
        for _ in range(30):
            key = chance.randrange(12)
            row, before, place = row_of(key, chance), there.get(key), f"R{key}"
            if before is None:
                connector.change(Op.CREATE, None, row, TABLE, place)
                there[key] = row
            elif chance.random() < 0.6:
                connector.change(Op.UPDATE, before, row, TABLE, place)
                there[key] = row
            else:
                connector.change(Op.DELETE, before, None, TABLE, place)
                del there[key]
        if round_ == ROUNDS - 1:
            there[77] = ("77", TOO_LONG, *row_of(77, chance)[2:])
            connector.change(Op.CREATE, None, there[77], TABLE, "R77")
        connector.commit()
        with caplog.at_level(logging.INFO):
            sync()
        assert shown(spark, config) == {key: expected(row) for key, row in there.items()}
    assert caplog.text.count("its merges are decoded in SQL from now on") == 1


def shown(spark: SparkSession, config: ConnectorConfig) -> dict[int, tuple[str | None, ...]]:
    texts = ("N", "CAST(P AS STRING)", "T", "CAST(D AS STRING)", "CAST(S AS STRING)", "hex(B)", "CAST(F AS STRING)")
    return {row[0]: tuple(row[1:]) for row in frame(spark, config, "LAB", "MANY").selectExpr("ID", *texts).collect()}


def expected(row: Row) -> tuple[str | None, ...]:
    number, money, text, date, time, raw, double = row[1:]
    assert time is not None
    return number, money, text, date, time.rstrip("0").rstrip("."), raw and raw.upper(), double
