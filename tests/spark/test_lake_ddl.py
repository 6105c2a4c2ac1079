"""Lake tables follow DDL: every record is decoded with the version of its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.lakes import synced
from tests.spark.reading import lake, name_in_sql

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, LakeError
from minercdc.lake import read_changes, start, tables
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.maintain.status import status
from minercdc.lake.table.formats import format_of
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A = TableSchema(
    TableId("PDB", "LAB", "A"),
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("N", "NUMBER", 18, 0),
        Column("D", "DATE"),
        Column("T", "VARCHAR2", 20),
    ),
    key=(0,),
)


def version(before: TableSchema, *columns: Column) -> TableSchema:
    return replace(before, columns=columns, version=before.version + 1)


Sync = Callable[[], None]


def test_a_table_that_is_there_is_widened_and_a_type_that_cannot_be_becomes_text(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    connector.structure(A)
    connector.change(Op.CREATE, None, ("1", "7", "2026-01-02 03:04:05", "a"))
    connector.commit()
    sync()
    wide = version(A, A.columns[0], Column("N", "NUMBER"), Column("D", "TIMESTAMP", None, 9), A.columns[3])
    connector.alter(A, "ALTER TABLE lab.a MODIFY (n NUMBER, d TIMESTAMP(9))", wide)
    connector.change(Op.CREATE, None, ("2", "1.5", "2026-01-02 03:04:05.123456789", "b"))
    connector.commit()
    sync()
    rows = lake(spark, config, A)
    assert [(r["ID"], r["N"], r["D"][:19], r["T"]) for r in rows] == [
        (1, "7", "2026-01-02 03:04:05", "a"),
        (2, "1.5", "2026-01-02 03:04:05", "b"),
    ]


def test_a_column_that_is_dropped_and_added_again_is_another_one(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    connector.structure(A)
    connector.change(Op.CREATE, None, ("1", "1", None, "old"))
    connector.commit()
    sync()
    without = version(A, *A.columns[:3])
    connector.alter(A, "ALTER TABLE lab.a DROP COLUMN t", without)
    again = version(without, *without.columns, Column("T", "NUMBER", 5, 0, default="7"))
    connector.alter(without, "ALTER TABLE lab.a ADD (t NUMBER(5) DEFAULT 7)", again)
    connector.change(Op.CREATE, None, ("2", "1", None, "8"))
    connector.commit()
    sync()
    assert [(r["ID"], r["T"]) for r in lake(spark, config, A)] == [(1, 7), (2, 8)]


def test_values_that_redo_does_not_hold_stay_as_they_are_in_the_lake_or_came_before(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    doc = replace(A, id=A.id._replace(table="DOC"), columns=(A.columns[0], Column("C", "CLOB"), A.columns[3]))
    connector.structure(doc)
    for number in ("1", "2", "3", "4"):
        connector.change(Op.CREATE, None, (number, f"text {number}", "new"), doc, f"R{number}")
    connector.commit()
    sync()
    kept = UNAVAILABLE
    connector.change(Op.UPDATE, ("1", kept, "new"), ("1", kept, "changed"), doc, "R1")
    connector.change(Op.UPDATE, ("2", kept, "new"), ("2", "other text", "new"), doc, "R2")
    connector.change(Op.UPDATE, ("2", kept, "new"), ("2", kept, "later"), doc, "R2")
    connector.change(Op.UPDATE, ("3", kept, "new"), ("30", kept, "moved"), doc, "R3")
    connector.change(Op.UPDATE, ("30", kept, "moved"), ("30", kept, "moved, changed"), doc, "R3")
    connector.change(Op.DELETE, ("4", kept, "new"), None, doc, "R4")
    connector.change(Op.CREATE, None, ("4", None, "again"), doc, "R4")
    connector.change(Op.UPDATE, ("4", kept, "again"), ("4", kept, "again, changed"), doc, "R4")
    connector.commit()
    sync()
    rows = sorted((r["ID"], r["C"], r["T"]) for r in lake(spark, config, doc))
    assert rows == [
        (1, "text 1", "changed"),
        (2, "other text", "later"),
        (4, None, "again, changed"),
        (30, "text 3", "moved, changed"),
    ]


def test_names_that_differ_in_case_only_or_hold_quotes_and_dots(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    names = ("ID", "id", "op", "offset", "it's.a `name`", "__cdc")
    odd = TableSchema(
        TableId("PDB", "LAB", "ODD"), tuple(Column(name, "VARCHAR2", 20, nullable=name != "ID") for name in names), key=(0,)
    )
    connector.structure(odd)
    connector.change(Op.CREATE, None, ("k", "lower", "o", "f", "q", "c"))
    connector.commit()
    sync()
    connector.change(Op.UPDATE, ("k", "lower", "o", "f", "q", "c"), ("k", "lower 2", "o", "f", "q", "c2"))
    connector.commit()
    sync()
    assert lake(spark, config, odd) == [
        {"ID": "k", "id_2": "lower 2", "op": "o", "offset": "f", "it's.a `name`": "q", "__cdc_2": "c2"}
    ]
    connector.change(Op.UPDATE, ("k", "lower 2", "o", "f", "q", "c2"), ("k", "lower 3", "o", "f", "q", "c3"))
    between = connector.scn
    connector.change(Op.UPDATE, ("k", "lower 3", "o", "f", "q", "c3"), ("k", "lower 4", "o", "f", "q", "c4"))
    connector.commit()
    sync()
    # In a session that takes such names for one.
    assert spark.conf.get("spark.sql.caseSensitive") == "false"
    (row,) = tables(spark, config, between)["LAB.ODD"].collect()  # completed from the change log
    assert (row["id_2"], row["__cdc_2"]) == ("lower 3", "c3")
    changes = read_changes(spark, config, table="LAB.ODD").selectExpr("op", "to_json(after) AS after")
    query = changes.writeStream.format("memory").queryName("odd_names").trigger(availableNow=True).start()
    query.awaitTermination()
    read = spark.sql("SELECT * FROM odd_names").collect()
    assert [row["op"] for row in read] == ["c", "u", "u", "u"]
    assert '"id_2":"lower 4"' in read[-1]["after"]
    assert spark.conf.get("spark.sql.caseSensitive") == "false"


def test_keys_that_one_statement_shifts_are_all_there(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    doc = replace(A, id=A.id._replace(table="SHIFT"), columns=(A.columns[0], Column("C", "CLOB"), A.columns[3]))
    written = [
        (table, [(str(number), *value, f"row {number}") for number in range(1, 4)])
        for table, value in ((A, ("1", None)), (doc, ("text",)))
    ]
    for table, rows in written:
        connector.structure(table)
        for number, row in enumerate(rows, 1):
            connector.change(Op.CREATE, None, row, table, f"R{number}")
    connector.commit()
    sync()
    for table, rows in written:
        kept = [(row[0], UNAVAILABLE if table is doc else row[1], *row[2:]) for row in rows]
        moved = [(str(int(row[0]) + 1), *row[1:]) for row in kept]
        connector.transaction(
            *((Op.UPDATE, before, after, table) for before, after in zip(kept, moved, strict=True)),
            row_ids=[f"R{number}" for number in range(1, 4)],
        )
    connector.commit()
    sync()
    for table, _ in written:
        found = [(row["ID"], row["T"]) for row in lake(spark, config, table)]
        assert found == [(2, "row 1"), (3, "row 2"), (4, "row 3")]
    assert {row["C"] for row in lake(spark, config, doc)} == {"text"}


def test_a_key_that_is_added_after_the_rows_loses_none_of_them(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    plain = replace(A, id=A.id._replace(table="HEAP"), key=())
    connector.structure(plain)
    for number in range(5):
        connector.change(Op.CREATE, None, (str(number), "1", None, "v"), plain, f"R{number}")
    keyed = replace(plain, key=(0,), version=2)
    connector.alter(plain, "ALTER TABLE lab.heap ADD PRIMARY KEY (id)", keyed)
    connector.commit()
    sync()
    assert [row["ID"] for row in lake(spark, config, plain)] == [0, 1, 2, 3, 4]


def test_a_table_that_is_rebuilt_and_swapped_in_by_renames_is_the_new_one(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    new = replace(A, id=A.id._replace(table="A_NEW"), columns=(A.columns[0], Column("W", "VARCHAR2", 20)), version=1)
    for table, row in ((A, ("1", "1", None, "old")), (new, ("1", "new"))):
        connector.structure(table)
        connector.change(Op.CREATE, None, row, table)
    connector.commit()
    sync()
    old = replace(A, id=A.id._replace(table="A_OLD"), version=1)
    connector.alter(A, "RENAME a TO a_old", old)
    swapped = replace(new, id=A.id, version=2)
    connector.alter(new, "RENAME a_new TO a", swapped)
    connector.change(Op.CREATE, None, ("2", "later"), swapped)
    connector.commit()
    sync()
    assert lake(spark, config, A) == [{"ID": 1, "W": "new"}, {"ID": 2, "W": "later"}]
    assert [row["T"] for row in lake(spark, config, old)] == ["old"]
    found = tables(spark, config)
    assert sorted(found) == ["LAB.A", "LAB.A_OLD"]
    assert [row["W"] for row in found["LAB.A"].orderBy("ID").collect()] == ["new", "later"]


def test_large_values_that_redo_does_not_hold_are_found_after_a_move_gave_the_rows_other_rowids(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    doc = replace(A, id=A.id._replace(table="MOVING"), columns=(A.columns[0], Column("C", "CLOB"), A.columns[3]))
    connector.structure(doc)
    connector.change(Op.CREATE, None, ("1", "one", "a"), doc, "R1")
    connector.commit()
    sync()
    connector.change(Op.CREATE, None, ("5", "five", "a"), doc, "R5")
    connector.alter(doc, "ALTER TABLE lab.moving MOVE", doc)
    # R1 is another row's ROWID now.
    connector.change(Op.UPDATE, ("5", UNAVAILABLE, "a"), ("5", UNAVAILABLE, "b"), doc, "R1")
    connector.change(Op.UPDATE, ("1", UNAVAILABLE, "a"), ("2", UNAVAILABLE, "b"), doc, "R9")
    changed = connector.scn
    # LogMiner does not know the ROWID of an INSERT with large values.
    connector.change(Op.CREATE, None, ("8", "eight", "a"), doc, "")
    connector.change(Op.UPDATE, ("8", UNAVAILABLE, "a"), ("9", UNAVAILABLE, "b"), doc, "R8")
    connector.change(Op.UPDATE, ("9", UNAVAILABLE, "b"), ("9", UNAVAILABLE, "c"), doc, "R8")
    connector.transaction(
        (Op.CREATE, None, ("10", "x", "a"), doc), (Op.DELETE, ("10", "x", "a"), None, doc), row_ids=("", "R10")
    )
    connector.change(Op.CREATE, None, ("7", "seven", "a"), doc, "R7")
    connector.commit()
    sync()
    expected = [("five", "b", 5), ("one", "b", 2)]
    assert sorted((r["C"], r["T"], r["ID"]) for r in lake(spark, config, doc)) == sorted(
        [*expected, ("seven", "a", 7), ("eight", "c", 9)]
    )
    rows = tables(spark, config, changed)["LAB.MOVING"].collect()  # from the change log
    assert sorted((r["C"], r["T"], r["ID"]) for r in rows) == expected


def test_columns_and_tables_say_what_they_are_copies_of(
    spark: SparkSession, properties: dict[str, str], connector: Connector
) -> None:
    config = parse_properties({**properties, "include.schema.comments": "true", "minercdc.lake.mode": "soft_delete"})

    def synced() -> list[str | None]:
        running = start(spark, config)
        try:
            running.process_all_available()
        finally:
            running.stop()
        return [column.comment for column in format_of(config).table(spark, A.id).columns() or []]

    def comment() -> str:
        return format_of(config).table(spark, A.id).comment()

    texts = ("the order's\nnumber", 'a "quote" \\ and 100 %', None, "")
    columns = [replace(column, comment=text) for column, text in zip(A.columns, texts, strict=True)]
    commented = replace(version(A, *columns), comment="all the\n'orders' \\ of a \"lab\"")
    connector.structure(commented)
    connector.change(Op.CREATE, None, ("1", "7", "2026-01-02 03:04:05", "a"))
    connector.commit()
    assert synced() == ["the order's\nnumber", 'a "quote" \\ and 100 %', None, None]
    assert comment() == "all the\n'orders' \\ of a \"lab\""
    added = version(commented, *commented.columns, Column("X", "VARCHAR2", 20, comment="added"))
    connector.alter(commented, "ALTER TABLE lab.a ADD (x VARCHAR2(20))", added)
    changed = version(
        added,
        replace(added.columns[0], comment=None),
        *added.columns[1:3],
        replace(added.columns[3], comment="t"),
        added.columns[4],
    )
    connector.alter(added, "COMMENT ON COLUMN lab.a.t IS 't'", changed)
    connector.alter(changed, "COMMENT ON TABLE lab.a IS ''", replace(changed, comment=None))
    connector.change(Op.UPDATE, ("1", "7", "2026-01-02 03:04:05", "a", None), ("1", "8", "2026-01-02 03:04:05", "a", "x"))
    connector.commit()
    assert synced() == [None, 'a "quote" \\ and 100 %', None, "t", "added"]
    assert comment() == ""
    assert [row["N"] for row in lake(spark, config, changed)] == [8]
    name = name_in_sql(spark, config, "LAB", "A")
    said = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert (
        said.items()
        >= {
            "minercdc.source.table": "LAB.A",
            "minercdc.connector": config.identity.name,
            "minercdc.topic.prefix": config.identity.topic_prefix,
        }.items()
    )


def test_a_table_that_keeps_all_rows_is_read_with_the_key_that_it_got_since(
    spark: SparkSession, properties: dict[str, str], connector: Connector
) -> None:
    config = parse_properties({**properties, "minercdc.lake.mode": "append", "skipped.operations": "none"})

    def synced() -> None:
        running = start(spark, config)
        try:
            running.process_all_available()
        finally:
            running.stop()

    connector.structure(A)
    connector.change(Op.CREATE, None, ("1", "7", "2026-01-02 03:04:05", "a"))
    connector.commit()
    synced()
    connector.drop(A)
    connector.scn += 1
    connector.structure(version(A, Column("K", "NUMBER", 9, 0, nullable=False)), ddl="CREATE TABLE lab.a (..)")
    connector.commit()
    synced()
    assert tables(spark, config)["LAB.A"].collect() == []
    connector.change(Op.CREATE, None, ("2",))
    connector.commit()
    synced()
    assert [row["K"] for row in tables(spark, config)["LAB.A"].collect()] == [2]


def test_a_log_without_a_commit_is_no_table(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync
) -> None:
    """As a kill within the first write leaves it, of the change log, of the record, and of a table."""
    connector.structure(A)
    connector.change(Op.CREATE, None, ("1", "7", "2026-01-02 03:04:05", "a"))
    connector.commit()
    for name in ("_changes", "_state", "LAB/A"):
        log = Path(config.lake.minercdc_lake_path) / name / "_delta_log"
        log.mkdir(parents=True)
        (log / f".{0:020}.json.0b5f.tmp").write_text("{")
        (log.parent / "part-00000-0b5f.snappy.parquet").write_bytes(b"PAR1")
    sync()
    assert [row["T"] for row in lake(spark, config, A)] == ["a"]


def test_a_checkpoint_whose_records_are_in_no_change_log_begins_no_lake(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync, tmp_path: Path
) -> None:
    """As after a change of the lake's path, format or catalog: a lake that went on from there would lack all earlier rows."""
    connector.structure(A)
    connector.change(Op.CREATE, None, ("1", "7", "2026-01-02 03:04:05", "a"))
    connector.commit()
    sync()
    moved = {
        "minercdc_lake_path": str(tmp_path / "moved"),
        "minercdc_lake_checkpoint": f"{config.lake.minercdc_lake_path}/_checkpoint",
        "minercdc_lake_catalog_name": "moved",
    }
    with pytest.raises(
        LakeError, match="are in no change log: there is none in minercdc.lake.format=.* at .*/moved"
    ) as refused:
        start(spark, replace(config, lake=config.lake.model_copy(update=moved)))
    assert "minercdc.lake.format, minercdc.lake.catalog" in str(refused.value.hint)
    assert not (tmp_path / "moved").exists()
    without_checkpoint = {name: value for name, value in moved.items() if name != "minercdc_lake_checkpoint"}
    there = replace(config, lake=config.lake.model_copy(update=without_checkpoint))
    synced(spark, there)  # from the first record on, with a checkpoint of its own
    with pytest.raises(LakeError, match="are in another change log than .*moved.* in minercdc.lake.format="):
        start(spark, replace(there, lake=there.lake.model_copy(update=moved)))
    sync()
    connector.change(Op.CREATE, None, ("2", "7", "2026-01-02 03:04:05", "b"))
    connector.commit()
    for kept in (there, config):
        synced(spark, kept)
        assert sorted(row["T"] for row in tables(spark, kept)["LAB.A"].collect()) == ["a", "b"]


def test_a_lake_belongs_to_the_connector_that_wrote_to_it_first(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Sync, properties: dict[str, str]
) -> None:
    connector.structure(A)
    connector.commit()
    sync()
    path = Path(config.lake.minercdc_lake_path)
    before = sorted(path.rglob("*"))
    file = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_path": str(path / "_connector")}))
    with pytest.raises(LakeError, match="_connector cannot be read or written: "):
        start(spark, file)
    other = parse_properties({**properties, "name": "other", "topic.prefix": "other"})
    for work in (start, tables, status, lambda spark, config: Maintenance(spark, config).run()):
        with pytest.raises(ConfigError, match=rf"is the lake of connector {config.identity.name} .* but this is other"):
            work(spark, other)
    assert sorted(path.rglob("*")) == before
    sync()
