"""Maintenance of Iceberg tables: what is committed meanwhile is neither lost nor done twice, and versions that are needed stay; a table that
another program sets back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.lakes import synced
from tests.spark.reading import frame, lake_table

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import LakeError
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.table.format import Once
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.iceberg import catalog_table, snapshots
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TableSchema(TableId("D", "LAB", "T"), (Column("ID", "NUMBER", 9, 0, nullable=False),), key=(0,))


@contextmanager
def meanwhile(monkeypatch: pytest.MonkeyPatch, committed: Callable[[], None]) -> Iterator[list[str]]:
    """Has something committed after the first rewriting began, and before it commits; yields what each says."""
    begun: list[str] = []
    execute = catalog_table._execute

    def executed(action: Any, said: Mapping[str, str]) -> None:
        begun.append(str(said))
        if len(begun) == 1:
            committed()
        execute(action, said)

    with monkeypatch.context() as patch:
        patch.setattr(catalog_table, "_execute", executed)
        yield begun


@pytest.mark.parametrize("mode", ["append", "scd2"])
def test_changes_that_are_merged_meanwhile_are_not_merged_again(
    spark: SparkSession, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": mode, "minercdc.lake.retention.ms": "0"})
    connector = Connector(config)

    def inserted(number: int) -> None:
        connector.change(Op.CREATE, None, (str(number),), T)
        connector.commit()

    def ids() -> list[int]:
        return sorted(row["ID"] for row in frame(spark, config, "LAB", "T").select("ID").collect())

    try:
        connector.structure(T)
        for number in range(3):
            inserted(number)
            synced(spark, config)
        inserted(3)
        with meanwhile(monkeypatch, lambda: synced(spark, config)) as begun:
            (report,) = Maintenance(spark, config).run("LAB.T")
        assert (report.failure, bool(begun)) == ("", True)
        assert ids() == [0, 1, 2, 3]
        # The next maintenance finds nothing to join: what is said has outlived the first one.
        assert [one.failure for one in Maintenance(spark, config).run("LAB.T")] == [""]
        inserted(4)
        synced(spark, config)
        assert ids() == [0, 1, 2, 3, 4]
    finally:
        connector.sink.close()


def test_an_append_to_the_lakes_own_records_meanwhile_is_not_repeated(
    spark: SparkSession, config: ConnectorConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = format_of(config).changes(spark)

    def append(number: int) -> None:
        log.append(spark.range(number, number + 1).coalesce(1), Once("writer", number))

    for number in range(3):
        append(number)
    with meanwhile(monkeypatch, lambda: append(3)) as begun:
        log.compact(timedelta(0))
    assert begun
    append(3)
    assert sorted(row[0] for row in log.read().collect()) == [0, 1, 2, 3]
    log.compact(timedelta(0))
    append(3)
    append(4)
    assert sorted(row[0] for row in log.read().collect()) == [0, 1, 2, 3, 4]


def test_versions_that_are_needed_stay_when_those_between_them_go(
    spark: SparkSession, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": "soft_delete"})
    monkeypatch.setattr(snapshots, "READERS_TIME", timedelta(0))
    connector, versions = Connector(config), list[int]()
    table = lake_table(spark, config, "LAB", "T")

    def ids(version: int | None = None) -> list[int]:
        return sorted(row["ID"] for row in table.read(version).select("ID").collect())

    try:
        connector.structure(T)
        for number in range(5):
            connector.change(Op.CREATE, None, (str(number),), T)
            connector.commit()
            synced(spark, config)
            versions.append(table.newest_version())
    finally:
        connector.sink.close()
    # Of another program, and of no version of the lake's.
    spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH theirs")
    spark.sql(f"INSERT INTO {table.name}.branch_theirs SELECT * FROM {table.name}")

    with monkeypatch.context() as patch:
        patch.setattr(catalog_table, "_execute", lambda *_: None)  # as where no files are worth joining
        table.compact(timedelta(days=1), {versions[1], versions[4]})
    applied = table.applied()
    assert (table.mode(), applied and applied.scn) == ("soft_delete", connector.scn)
    assert (table.newest_version(), table.rewritten(versions[1])) == (versions[4], versions[1])
    assert (ids(), ids(versions[1])) == ([0, 1, 2, 3, 4], [0, 1])
    for gone in versions[2:4]:
        with pytest.raises(LakeError, match="is not kept any more"):
            ids(gone)

    table.compact(timedelta(0), set())
    assert (table.mode(), ids()) == ("soft_delete", [0, 1, 2, 3, 4])
    assert spark.sql(f"SELECT * FROM {table.name}.snapshots").count() == 2  # the newest one, and theirs
    assert spark.sql(f"SELECT * FROM {table.name}.branch_theirs").count() == 10


def test_a_table_that_another_program_sets_back_gets_what_it_lacks_with_its_next_change(
    spark: SparkSession, properties: dict[str, str]
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": "append"})
    connector, table = Connector(config), lake_table(spark, config, "LAB", "T")
    try:
        connector.structure(T)
        for number in range(4):
            connector.change(Op.CREATE, None, (str(number),), T)
            connector.commit()
            synced(spark, config)
            if number == 1:
                found = spark.sql(f"SELECT snapshot_id FROM {table.name}.snapshots ORDER BY committed_at DESC").first()
                assert found
        catalog = config.lake.minercdc_lake_catalog_name
        spark.sql(f"CALL {catalog}.system.rollback_to_snapshot('LAB.T', {found[0]})")
        assert sorted(row["ID"] for row in table.read().collect()) == [0, 1]
        connector.change(Op.CREATE, None, ("4",), T)
        connector.commit()
        synced(spark, config)
    finally:
        connector.sink.close()
    assert sorted(row["ID"] for row in table.read().collect()) == [0, 1, 2, 3, 4]
