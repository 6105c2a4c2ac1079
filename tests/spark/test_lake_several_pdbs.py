"""The lake of a connector over two pluggable databases, each with a table SHOP.ITEM of its own: rows, columns and DDL differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.connector import MinerCdc, run
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import ONE, OTHER, Pdbs, change_items, current_scn, two_pdbs, with_items
from tests.spark.reading import FORMAT, lake_table
from tests.spark.source import sync

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.errors import LakeError
from minercdc.lake import read_changes, tables
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.maintain.rebuild import rebuild_given
from minercdc.lake.maintain.status import status
from minercdc.lake.maintain.verify import verify
from minercdc.lake.source.snapshot import snapshot
from minercdc.lake.table.format import LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.state import Entry, StateTable
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.offsets.handover import hand_over
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ITEMS = [f"{ONE}.SHOP.ITEM", f"{OTHER}.SHOP.ITEM"]


def configured(pdbs: Pdbs, brokers: str, name: str) -> ConnectorConfig:
    lake = {
        "minercdc_lake_path": str(pdbs.directory / "lake"),
        "minercdc_lake_trigger_interval_ms": "0",
        "minercdc_lake_format": FORMAT,
        "minercdc_lake_catalog_name": f"lake_{name}".replace("-", "_"),
        "minercdc_lake_table_modes": rf"{OTHER}\.SHOP\.ITEM:soft_delete",
        "skipped_operations": "none",
        "table_include_list": rf"SHOP\.(ITEM|THING),{OTHER}\.SHOP\.NOTE",
    }
    return load_config(pdbs.on_kafka(brokers, name=name, topic_prefix=name, **lake))


@contextmanager
def streaming(pdbs: Pdbs) -> Iterator[None]:
    with run(pdbs.directory / "connector.json", pdbs.directory / "run.log") as connector:
        connector.await_log("streaming: ", 60)
        yield
        connector.stop_in_order()


def values(table: LakeTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.read().where("NOT __cdc.deleted").drop("__cdc").collect())


@pytest.fixture(scope="module")
def config(
    spark: SparkSession, sandbox: SandboxProcess, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConnectorConfig]:
    """Of a lake with changes and DDL of both: rows of the snapshot, and then rows from redo."""
    with two_pdbs(sandbox, tmp_path_factory.mktemp("several")) as pdbs:
        with_items(pdbs)
        config = configured(pdbs, broker.bootstrap_servers, "several")
        with streaming(pdbs):
            sync(spark, config, current_scn(pdbs) - 1)
            change_items(pdbs)
            logged = "alter table thing add supplemental log data (all) columns"
            pdbs.run(ONE, "create table thing (id number(3) primary key)", logged, "insert into thing values (1)", "commit")
            pdbs.run(OTHER, "alter table note rename to thing", "insert into thing values ('c')", "commit")
            sync(spark, config, current_scn(pdbs) - 1)
        yield config


def of_both(spark: SparkSession, config: ConnectorConfig, name: str) -> list[LakeTable]:
    """The lake's table of SHOP in ONE and in OTHER."""
    return [lake_table(spark, config, "SHOP", name, pdb) for pdb in (ONE, OTHER)]


def test_changes_of_one_table_are_read_by_its_name(spark: SparkSession, config: ConnectorConfig, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"SHOP\.ITEM is a table of several pluggable databases") as caught:
        read_changes(spark, config, table="SHOP.ITEM")
    assert caught.value.hint == f"Give one of: {', '.join(_ITEMS)}"
    for table, found in ((f"{OTHER}.SHOP.ITEM", {"other", "three", "after", "last"}), ("SHOP.NOTE", {"a", "b"})):
        column = "NAME" if table.endswith("ITEM") else "CODE"
        rows = read_changes(spark, config, table=table).selectExpr(f"after.{column} AS v")
        target = str(tmp_path / table)
        query = (
            rows.writeStream.format("parquet")
            .option("checkpointLocation", f"{target}_checkpoint")
            .trigger(availableNow=True)
            .start(target)
        )
        query.awaitTermination()
        assert {row["v"] for row in spark.read.parquet(target).where("v IS NOT NULL").collect()} == found


def test_tables_of_one_name_are_never_mixed(spark: SparkSession, config: ConnectorConfig) -> None:
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary() == "verified: 4 tables, 8 rows, 0 differences"
    one, other = of_both(spark, config, "ITEM")
    assert [values(table) for table in of_both(spark, config, "THING")] == [[(1,)], [("a",), ("b",), ("c",)]]
    assert values(one) == [(1, "changed", 15), (4, "priced", 225)]
    assert values(other) == [(1, "after", 9), (9, "last", None)]
    assert [table.mode() for table in (one, other)] == ["mirror", "soft_delete"]
    lake = tables(spark, config)
    assert sorted(lake) == sorted([*_ITEMS, f"{ONE}.SHOP.THING", f"{OTHER}.SHOP.THING"])
    assert [lake[name].columns[:3] for name in _ITEMS] == [["ID", "TITLE", "PRICE"], ["ID", "NAME", "QTY"]]
    assert [table.name for table in status(spark, config, "SHOP.ITEM").tables] == _ITEMS
    maintained = Maintenance(spark, config)
    assert [(table.name, table.failure) for table in maintained.run(_ITEMS[1])] == [(_ITEMS[1], "")]


def test_a_difference_is_found_in_its_database_and_both_are_made_again(spark: SparkSession, config: ConnectorConfig) -> None:
    _, other = of_both(spark, config, "ITEM")
    spark.sql(f"UPDATE {other.name} SET NAME = 'changed', QTY = 1 WHERE ID = 1")
    state = StateTable(spark, format_of(config).state(spark))
    known = state.read().tables[_ITEMS[1]]
    state.append([Entry("table", known.name, other.version(), known.scn, known.batch)])
    report = verify(spark, config, table="SHOP.ITEM")
    assert report.summary() == "verified: 2 tables, 4 rows, 1 differences"
    assert [line for table in report.tables for line in table.lines()] == [
        f"{OTHER}.SHOP.ITEM ID=1",
        "    NAME: Oracle 'after', lake 'changed'",
        "    QTY: Oracle '9', lake '1'",
    ]
    assert verify(spark, config, table=_ITEMS[0]).summary() == "verified: 1 tables, 2 rows, 0 differences"
    assert [(one.name, one.rows, one.scn, one.source) for one in rebuild_given(spark, config, "SHOP.ITEM")] == [
        (name, 2, report.scn, "the change log") for name in _ITEMS
    ]
    assert verify(spark, config, table="SHOP.ITEM").summary() == "verified: 2 tables, 4 rows, 0 differences"


@pytest.fixture
def pdbs(fresh_sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Pdbs]:
    with two_pdbs(fresh_sandbox, tmp_path) as made:
        with_items(made)
        yield made


def test_a_snapshot_of_both_as_of_one_scn_is_brought_up_to_date_by_the_stream(
    spark: SparkSession, pdbs: Pdbs, broker: KafkaBroker, prefix: str
) -> None:
    config = configured(pdbs, broker.bootstrap_servers, prefix)
    stream = hand_over(config)
    assert set(stream.since) == {*_ITEMS, f"{OTHER}.SHOP.NOTE"}
    taken = snapshot(spark, config, scn=stream.scn, coverage=stream)
    assert [(table.name, table.rows, table.failure) for table in taken.tables] == [
        (_ITEMS[0], 2, ""),
        (_ITEMS[1], 2, ""),
        (f"{OTHER}.SHOP.NOTE", 1, ""),
    ]
    assert LakePaths(config).table(TableId(OTHER, "SHOP", "ITEM")).endswith(f"{OTHER}/SHOP/ITEM")
    pdbs.run(ONE, "update item set name = 'later' where id = 1", "commit")
    pdbs.run(OTHER, "delete from item where id = 1", "insert into item values (5, 'five', 5)", "commit")
    with streaming(pdbs):
        sync(spark, config, current_scn(pdbs) - 1)
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary() == "verified: 3 tables, 5 rows, 0 differences"
    (again,) = snapshot(spark, config, table=f"{OTHER}.SHOP.ITEM").tables
    assert (again.name, again.rows, again.failure) == (_ITEMS[1], 2, "")
    file = str(pdbs.directory / "connector.json")
    arguments = ["lake", "snapshot", file, "--table", "SHOP.ITEM"]
    with MinerCdc(arguments, pdbs.directory / "snapshot.log") as command:
        ended = command.await_end(150)
    assert ended.status == 0, ended.errors
    assert "read: 2 tables, 4 rows at SCN " in ended.output
