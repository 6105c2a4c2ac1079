"""Lake tables have a table feature of Delta once they need it, so that readers that lack it read them; each reader reads what Spark reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake.maintain.status import status
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Sync = Callable[[], None]
Rows = list[dict[str, Any]]

# Every Spark type of a lake table, at its edges.
EVERY = TableSchema(
    TableId("PDB", "LAB", "EVERY"),
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("TINY", "NUMBER", 2, 0),
        Column("SMALL", "NUMBER", 4, 0),
        Column("BIG", "NUMBER", 18, 0),
        Column("DEC", "NUMBER", 38, 9),
        Column("ANY", "NUMBER"),
        Column("D", "DATE"),
        Column("T6", "TIMESTAMP", None, 6),
        Column("T9", "TIMESTAMP", None, 9),
        Column("TZ", "TIMESTAMP WITH TIME ZONE", None, 6),
        Column("LTZ", "TIMESTAMP WITH LOCAL TIME ZONE", None, 6),
        Column("IV", "INTERVAL DAY TO SECOND", 2, 6),
        Column("F", "BINARY_FLOAT"),
        Column("G", "BINARY_DOUBLE"),
        Column("B", "BOOLEAN"),
        Column("R", "RAW", 16),
        Column("V", "VARCHAR2", 80),
        Column("it's.a`b", "VARCHAR2", 10),
    ),
    key=(0,),
)
FULL: Row = (
    *("-99", "-9999", "-999999999999999999", "-12345678901234567890123456789.123456789", "0." + "0" * 40 + "1"),
    *("1500-02-28 23:59:59", "2026-02-28 13:45:59.123456000", "1969-12-31 23:59:59.123456789"),
    *("2026-02-28 13:45:59.123456000 +05:30", "2026-03-29 01:30:00.123456000", "-1 02:03:04.500000000"),
    *("1.1754944e-38", "4.9e-324", "true", "00ff10", 'O\'Neil \\ "é" 😀\n', "odd"),
)


def plain(value: object) -> object:
    """A value as all readers have it."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


def by_delta_rs(path: Path) -> Rows:
    """With DataFusion, which delta-rs brings along."""
    import deltalake
    import pyarrow  # type: ignore[import-untyped]

    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return list(pyarrow.table(query.execute("SELECT * FROM t")).to_pylist())


def by_delta_rs_and_arrow(path: Path) -> Rows:
    """As its `to_pandas` reads, too."""
    import deltalake

    return list(deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist())


def by_polars(path: Path) -> Rows:
    import polars

    return list(polars.scan_delta(str(path)).collect().to_dicts())


def by_duckdb(path: Path) -> Rows:
    import duckdb
    from duckdb_extensions import import_extension

    import_extension("delta")  # from its package: no download
    with duckdb.connect() as connection:
        connection.load_extension("delta")
        return list(connection.sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table().to_pylist())


# Package -> how it reads a table. Those of the extra `readers` that are installed are tested.
_READERS: dict[str, Callable[[Path], Rows]] = {
    "deltalake": by_delta_rs,
    "polars": by_polars,
    "duckdb_extensions": by_duckdb,
}
READERS = {name: read for name, read in _READERS.items() if find_spec(name)}
WITHOUT_VECTORS = {**READERS, **({"deltalake, pyarrow": by_delta_rs_and_arrow} if "deltalake" in READERS else {})}


def by_spark(spark: SparkSession, path: Path) -> Rows:
    rows = spark.read.format("delta").load(str(path)).collect()
    return [row.asDict(recursive=True) for row in rows]


def check_readers(spark: SparkSession, path: Path, refusing: Collection[str] = ()) -> None:
    """Each reader reads what Spark reads; those of `refusing` read nothing, and say so."""
    expected = ordered(by_spark(spark, path))
    for name, read in READERS.items():
        if name in refusing:
            with pytest.raises(Exception, match=r"(?i)feature|column ?mapping|widening|protocol|unsupported"):
                read(path)
        else:
            assert ordered(read(path)) == expected, name


def ordered(rows: Rows) -> Rows:
    return sorted(({name: plain(value) for name, value in row.items()} for row in rows), key=lambda row: str(row["ID"]))


def table_of(config: ConnectorConfig, table: TableSchema) -> Path:
    return Path(config.lake.minercdc_lake_path) / table.id.schema / table.id.table


def protocols(path: Path) -> Iterator[set[str]]:
    """The features that readers need, of each version of the protocol, oldest first."""
    for file in sorted((path / "_delta_log").glob("*.json")):
        for line in file.read_text().splitlines():
            if found := json.loads(line).get("protocol"):
                yield set(found.get("readerFeatures", ()))


def altered(before: TableSchema, *columns: Column) -> TableSchema:
    return replace(before, columns=columns, version=before.version + 1)


@pytest.mark.timeout(900)
def test_a_table_is_given_a_feature_by_what_needs_it_and_each_reader_reads_it_as_spark_does(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    connector.structure(EVERY)
    empty = (None,) * len(FULL)
    for number, row in ((1, FULL), (2, empty), (3, FULL), (4, FULL)):
        connector.change(Op.CREATE, None, (str(number), *row))
    connector.commit()
    sync()
    path = table_of(config, EVERY)
    for name, read in WITHOUT_VECTORS.items():  # no row has changed
        assert ordered(read(path)) == ordered(by_spark(spark, path)), name
    connector.change(Op.UPDATE, ("3", *FULL), ("3", *empty))
    connector.change(Op.DELETE, ("4", *FULL), None)
    connector.commit()
    sync()
    expected = ordered(by_spark(spark, path))
    assert [row["ID"] for row in expected] == [1, 2, 3]
    assert expected[0]["DEC"] == Decimal(str(FULL[3]))
    assert list(path.glob("deletion_vector_*")), "a merge has marked rows as deleted"
    assert {tuple(file.suffixes[-2:]) for file in path.glob("part-*")} == {(".zstd", ".parquet")}
    check_readers(spark, path)
    assert list(protocols(path)) == [{"timestampNtz"}, {"deletionVectors", "timestampNtz"}]

    renamed = altered(EVERY, *EVERY.columns[:-1], replace(EVERY.columns[-1], name="two words"))
    connector.alter(EVERY, 'ALTER TABLE lab.every RENAME COLUMN "it\'s.a`b" TO "two words"', renamed)
    connector.commit()
    sync()
    check_readers(spark, path, refusing=["polars"])
    wide = altered(renamed, renamed.columns[0], replace(renamed.columns[1], length=9), *renamed.columns[2:])
    connector.alter(renamed, "ALTER TABLE lab.every MODIFY (tiny NUMBER(9))", wide)
    connector.change(Op.CREATE, None, ("5", "123456789", *empty[1:]))
    connector.commit()
    sync()
    assert list(protocols(path)) == [
        {"timestampNtz"},
        {"deletionVectors", "timestampNtz"},
        {"deletionVectors", "timestampNtz", "columnMapping"},
        {"deletionVectors", "timestampNtz", "columnMapping", "typeWidening"},
    ]
    check_readers(spark, path, refusing=["deltalake", "polars"])
    found = ordered(by_spark(spark, path))
    assert [(row["ID"], row["TINY"], row["two words"]) for row in found] == [
        (1, -99, "odd"),
        (2, None, None),
        (3, None, None),
        (5, 123456789, None),
    ]

    connector.drop(wide)  # a table that is made again keeps its features
    connector.scn += 1
    connector.structure(replace(EVERY, version=9), ddl="CREATE TABLE lab.every (..)")
    connector.change(Op.CREATE, None, ("6", *FULL), replace(EVERY, version=9))
    connector.commit()
    sync()
    assert ordered(by_spark(spark, path)) == [{**expected[0], "ID": 6, "__cdc": ordered(by_spark(spark, path))[0]["__cdc"]}]


@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_where_features_are_forbidden_ddl_writes_the_table_again_and_loses_no_row(
    spark: SparkSession, properties: dict[str, str], mode: str
) -> None:
    forbidden = {"minercdc.lake.forbidden.features": "columnMapping, typeWidening, deletionVectors"}
    config = parse_properties({**properties, **forbidden, "minercdc.lake.mode": mode, "skipped.operations": "none"})
    connector = Connector(config)
    table = TableSchema(
        TableId("PDB", "LAB", "PLAIN"),
        (Column("ID", "NUMBER", 4, 0, nullable=False), Column("A", "NUMBER", 4, 0), Column("B", "VARCHAR2", 9)),
        key=(0,),
    )
    odd = replace(table, id=table.id._replace(table="ODD"), columns=(table.columns[0], Column("two words", "DATE")))

    def sync() -> None:
        from minercdc.lake import start

        running = start(spark, config)
        try:
            running.process_all_available()
        finally:
            running.stop()

    def altering(before: TableSchema, change: str, *columns: Column) -> TableSchema:
        after = altered(before, *columns)
        connector.alter(before, f"ALTER TABLE lab.plain {change}", after)
        return after

    connector.structure(odd)
    connector.change(Op.CREATE, None, ("1", None), odd)
    connector.structure(table)
    for number in ("1", "2", "3"):
        connector.change(Op.CREATE, None, (number, number, f"v{number}"))
    connector.commit()
    sync()
    connector.change(Op.DELETE, ("3", "3", "v3"), None)
    key, a, b = table.columns
    now = altering(table, "RENAME COLUMN a TO renamed", key, replace(a, name="RENAMED"), b)
    now = altering(now, "MODIFY (renamed NUMBER(9))", key, replace(a, name="RENAMED", length=9), b)
    connector.change(Op.UPDATE, ("2", "2", "v2"), ("2", "123456789", "v2"))
    connector.commit()
    sync()
    now = altering(now, "MODIFY (renamed NUMBER)", key, Column("RENAMED", "NUMBER"), b)
    altering(now, "DROP COLUMN b", key, Column("RENAMED", "NUMBER"))
    connector.commit()
    sync()
    path = table_of(config, table)
    rows = [row for row in ordered(by_spark(spark, path)) if row["__cdc"].get("valid_to_scn") is None]
    assert [(row["ID"], row["RENAMED"]) for row in rows] == [(1, "1"), (2, "123456789")]
    assert set().union(*protocols(path)) == {"timestampNtz"}
    assert not list(path.glob("deletion_vector_*"))
    for name, read in WITHOUT_VECTORS.items():
        assert ordered(read(path)) == ordered(by_spark(spark, path)), name
    found = {one.name: one.failure for one in status(spark, config).tables}
    assert found["LAB.PLAIN"] == ""
    assert 'column name "two words" only with columnMapping' in found["LAB.ODD"]
    config = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_forbidden_features": ()}))
    sync()
    assert lake(spark, config, odd) == [{"ID": 1, "two words": None}]
    connector.sink.close()
