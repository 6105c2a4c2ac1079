"""One table in trouble: the others go on."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig
from minercdc.lake import tables
from minercdc.lake.table.formats import format_of
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = TableSchema(TableId("PDB", "LAB", "GOOD"), (Column("ID", "NUMBER", 9, 0, nullable=False),), key=(0,))
BAD = replace(GOOD, id=GOOD.id._replace(table="BAD"))


def test_what_is_wrong_with_one_table_stops_only_that_one_and_a_deleted_table_comes_back(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    prefix: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connector.structure(GOOD)
    connector.structure(BAD)
    for table in (GOOD, BAD):
        connector.change(Op.CREATE, None, ("1",), table)
    connector.write(Record(f"{prefix}.LAB.BAD", b'{"ID":2}', b"not ours"))
    connector.write(Record(f"{prefix}.LAB.FOREIGN", b"k", b"of no known table"))
    connector.commit()
    with caplog.at_level(logging.WARNING):
        sync()
    assert lake(spark, config, GOOD) == [{"ID": 1}]
    (quarantined,) = [r.getMessage() for r in caplog.records if "quarantined" in r.getMessage()]
    assert "LAB.BAD is quarantined: MC-8001: topic" in quarantined
    assert "holds 1 records that are not change events" in quarantined
    first = connector.scn
    assert any(f"topic {prefix}.LAB.FOREIGN has the connector's prefix" in r.getMessage() for r in caplog.records)
    shutil.rmtree(Path(config.lake.minercdc_lake_path) / "LAB" / "GOOD")
    connector.change(Op.CREATE, None, ("3",), GOOD)
    connector.commit()
    sync()
    assert lake(spark, config, GOOD) == [{"ID": 1}, {"ID": 3}]
    # Each of the two was made by one commit, and has one version.
    assert [row["ID"] for row in tables(spark, config, first)["LAB.GOOD"].collect()] == [1]
    state = format_of(config).state(spark).read()
    assert [r["name"] for r in state.where("kind = 'failed'").select("name").distinct().collect()] == ["LAB.BAD"]


def test_a_table_that_loses_its_key_is_quarantined_where_its_rows_have_no_rowid(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    """Redo does not hold the ROWID of an INSERT with large values: no change of the row would find it."""
    placed = replace(GOOD, id=GOOD.id._replace(table="PLACED"))
    keyless = {table: replace(table, key=(), version=2) for table in (GOOD, placed)}
    for table, row_id in ((GOOD, ""), (placed, "R1")):
        connector.structure(table)
        connector.change(Op.CREATE, None, ("1",), table, row_id)
    connector.commit()
    sync()
    for table, after in keyless.items():
        connector.alter(table, f"ALTER TABLE lab.{table.id.table} DROP PRIMARY KEY", after)
        connector.change(Op.UPDATE, ("1",), ("2",), after, "R1")
    connector.commit()
    assert set(tables(spark, config)) == {"LAB.GOOD", "LAB.PLACED"}
    sync()
    assert [lake(spark, config, table) for table in (GOOD, placed)] == [[{"ID": 1}], [{"ID": 2}]]
    assert set(tables(spark, config)) == {"LAB.PLACED"}


def test_tables_that_swap_names_keep_their_rows_where_one_of_them_is_in_trouble(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None], prefix: str
) -> None:
    """The rows of the one in trouble go to a third name first, and the other's come to its name only then."""
    one, other, third = (replace(GOOD, id=GOOD.id._replace(table=name)) for name in ("ONE", "OTHER", "THIRD"))
    for number, table in enumerate((one, other), 1):
        connector.structure(table)
        connector.change(Op.CREATE, None, (str(number),), table)
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, ("10",), one)
    connector.write(Record(f"{prefix}.LAB.ONE", b'{"ID":2}', b"not ours"))
    for before, after in ((one, third), (other, one), (third, other)):
        connector.alter(before, f"RENAME {before.id.table} TO {after.id.table}", after)
    connector.change(Op.CREATE, None, ("20",), one)
    connector.change(Op.CREATE, None, ("100",), other)
    connector.commit()
    sync()
    assert [lake(spark, config, table) for table in (one, other)] == [[{"ID": 1}], [{"ID": 2}]]
    assert not {"LAB.ONE", "LAB.OTHER"} & set(tables(spark, config))
    format_of(config).changes(spark).delete("op IS NULL")
    sync()
    assert sorted(row["ID"] for row in lake(spark, config, one)) == [2, 20]
    assert sorted(row["ID"] for row in lake(spark, config, other)) == [1, 10, 100]
