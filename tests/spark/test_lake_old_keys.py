"""Rows that exchange their keys while redo does not hold their large values: these are found by the key of before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.spark.connector import Connector
from tests.spark.reading import FORMAT, frame, lake

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake import start, tables
from minercdc.lake.table.formats import format_of
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOC = TableSchema(
    TableId("PDB", "LAB", "DOC"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("C", "CLOB"), Column("T", "VARCHAR2", 20)),
    key=(0,),
)


def named(end: str) -> TableSchema:
    return replace(DOC, id=DOC.id._replace(table=f"DOC_{end.upper()}"))


def count_up(connector: Connector, table: TableSchema, *keys: int) -> None:
    """`UPDATE T SET ID = ID + 1`, of rows in this order; the row of key N has ROWID `RN` at first."""
    changes = [
        (Op.UPDATE, (str(key), UNAVAILABLE, f"row {key}"), (str(key + 1), UNAVAILABLE, f"row {key}"), table) for key in keys
    ]
    connector.transaction(*changes, row_ids=[f"R{key}" for key in keys])


def found(spark: SparkSession, config: ConnectorConfig, table: TableSchema) -> list[tuple[Any, ...]]:
    return [(row["ID"], row["C"], row["T"]) for row in lake(spark, config, table)]


COUNTED = [(2, "large 1", "row 1"), (3, "large 2", "row 2"), (4, "large 3", "row 3")]


def test_large_values_follow_rows_that_exchange_their_keys(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    orders = ((DOC, (1, 2, 3)), (named("down"), (3, 2, 1)))
    for table, _ in orders:
        connector.structure(table)
        for key in (1, 2, 3):
            connector.change(Op.CREATE, None, (str(key), f"large {key}", f"row {key}"), table, f"R{key}")
    connector.commit()
    sync()
    for table, order in orders:
        count_up(connector, table, *order)
    connector.commit()
    sync()
    for table, _ in orders:
        assert found(spark, config, table) == COUNTED


def test_so_they_do_where_the_rows_came_in_the_same_batch_without_their_rowids(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(DOC)
    connector.commit()
    sync()
    for key in (1, 2, 3):
        connector.change(Op.CREATE, None, (str(key), f"large {key}", f"row {key}"), DOC, "")
    count_up(connector, DOC, 1, 2, 3)
    connector.commit()
    sync()
    assert found(spark, config, DOC) == COUNTED
    assert sorted(tuple(row)[:3] for row in tables(spark, config)["LAB.DOC"].collect()) == COUNTED


def test_keys_with_their_schemas_are_read(spark: SparkSession, properties: dict[str, str]) -> None:
    schemas = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
    config = parse_properties({**properties, **schemas})
    connector = Connector(config)
    try:
        connector.structure(DOC)
        for key in (1, 2, 3):
            connector.change(Op.CREATE, None, (str(key), f"large {key}", f"row {key}"), DOC, f"R{key}")
        connector.commit()
        run(spark, config)
        count_up(connector, DOC, 1, 2, 3)
        connector.commit()
        run(spark, config)
    finally:
        connector.sink.close()
    assert found(spark, config, DOC) == COUNTED


def test_a_change_log_without_old_keys_goes_on(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(DOC)
    for key in (1, 2, 3):
        connector.change(Op.CREATE, None, (str(key), f"large {key}", f"row {key}"), DOC, f"R{key}")
    connector.commit()
    sync()
    log = format_of(config).changes(spark).name
    if FORMAT == "delta":
        spark.sql(f"ALTER TABLE {log} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE {log} DROP COLUMN old_key")
    assert found(spark, config, DOC) == [(key, f"large {key}", f"row {key}") for key in (1, 2, 3)]
    assert tables(spark, config)["LAB.DOC"].count() == 3
    count_up(connector, DOC, 1, 2, 3)
    connector.commit()
    sync()
    assert found(spark, config, DOC) == COUNTED


def test_every_mode_keeps_what_had_the_old_keys(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    modes = ("soft_delete", "append", "scd2")
    lines = tuple(f"LAB[.].*_{mode}:{mode}" for mode in modes)
    config = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_table_modes": lines}))
    begun = connector.scn
    for mode in modes:
        connector.scn = begun
        connector.structure(named(mode))
        for key in (1, 2, 3):
            connector.change(Op.CREATE, None, (str(key), f"large {key}", f"row {key}"), named(mode), f"R{key}")
    connector.commit()
    run(spark, config)
    for mode in modes:
        connector.scn = begun + 3
        count_up(connector, named(mode), 1, 2, 3)
    connector.commit()
    run(spark, config)

    def rows(mode: str, *more: str) -> list[tuple[Any, ...]]:
        columns = ("ID", "C", "T", *(f"__cdc.{one}" for one in more))
        return sorted(
            (tuple(r) for r in frame(spark, config, "LAB", f"DOC_{mode.upper()}").selectExpr(*columns).collect()), key=str
        )

    assert rows("soft_delete", "deleted") == [(1, "large 1", "row 1", True), *((*row, False) for row in COUNTED)]
    versions = [(key, f"large {key}", f"row {key}", begun + key, begun + 4) for key in (1, 2, 3)]
    assert rows("scd2", "valid_from_scn", "valid_to_scn") == sorted(
        [*versions, *((*row, begun + 4, None) for row in COUNTED)], key=str
    )
    births = [(key, f"large {key}", f"row {key}", "c") for key in (1, 2, 3)]
    deaths = [(*row[:3], "d") for row in births]
    assert rows("append", "op") == sorted([*births, *deaths, *((*row, "c") for row in COUNTED)], key=str)
    read = tables(spark, config)
    for mode in modes:
        assert sorted(tuple(row)[:3] for row in read[f"LAB.DOC_{mode.upper()}"].collect()) == COUNTED


def run(spark: SparkSession, config: ConnectorConfig) -> None:
    running = start(spark, config)
    try:
        running.process_all_available()
    finally:
        running.stop()
