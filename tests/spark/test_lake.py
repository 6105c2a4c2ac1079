"""Topics written by the real encoder and sink, read by the real stream, into real Delta tables.

Each table has a history of its own. One lake follows them all; it is stopped at boundaries and started again between their phases. At
night its checkpoint is lost at the end.
"""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.histories import History, Rows, Telling, counted_ways, killed
from tests.spark.lakes import lake_config, lake_properties, synced
from tests.spark.reading import FORMAT, TABLE, frame, lake, rows_in_files

from minercdc.config.load import ConnectorConfig
from minercdc.lake.spark.own_sessions import few_partitions, prefer_few_partitions
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.table.columns import CDC
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row

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
pytestmark = pytest.mark.timeout(3600)  # one lake is followed by all tests

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


def named(table: TableSchema, name: str) -> TableSchema:
    return replace(table, id=table.id._replace(table=name))


def version(before: TableSchema, *columns: Column) -> TableSchema:
    return replace(before, columns=columns, version=before.version + 1)


def row(number: int, name: str | None = None, quantity: str | None = None, **more: str) -> Row:
    rest = (more.get("any"), more.get("d"), more.get("t6"), more.get("t9"), more.get("r"))
    return (str(number), name, quantity, *rest)


def every_type_arrives_exactly(connector: Connector, rows: Rows) -> Iterator[None]:
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
    yield
    assert rows(ITEM) == [
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


def the_last_change_of_each_key_wins(connector: Connector, rows: Rows) -> Iterator[None]:
    last = named(A, "LAST")
    connector.structure(last)
    for number in range(5):
        connector.change(Op.CREATE, None, (str(number), "1", None, "new"))
    connector.change(Op.UPDATE, ("1", "1", None, "new"), ("1", "1", None, "changed"))
    connector.change(Op.DELETE, ("2", "1", None, "new"), None)
    # a key change: delete and create
    connector.change(Op.UPDATE, ("3", "1", None, "new"), ("30", "1", None, "moved"))
    yield
    connector.change(Op.CREATE, None, ("2", "1", None, "again"))
    connector.change(Op.DELETE, ("0", "1", None, "new"), None)
    yield
    assert [(r["ID"], r["T"]) for r in rows(last)] == [(1, "changed"), (2, "again"), (30, "moved"), (4, "new")]


def added_columns_join_the_table_and_dropped_ones_leave_it(connector: Connector, rows: Rows) -> Iterator[None]:
    before = named(A, "ADDED")
    connector.structure(before)
    connector.change(Op.CREATE, None, ("1", "1", None, "old"))
    yield
    connector.change(Op.CREATE, None, ("2", "1", None, "before the column"))  # read with it
    added = (
        Column("W", "NUMBER", 5, 2),
        Column("C", "VARCHAR2", 20, default="'it''s \\ new'"),
        Column("F", "NUMBER", 3, 1, default="-1.5"),
    )
    wider = version(before, *before.columns[:3], *added)
    connector.scn += 1
    connector.structure(wider, before)
    connector.change(Op.CREATE, None, ("3", "1", None, "1.5", None, "0"), wider)
    yield
    default, found = ("it's \\ new", Decimal("-1.5")), rows(before)
    assert [(r["ID"], r["W"], r["C"], r["F"]) for r in found] == [
        (1, None, *default),
        (2, None, *default),
        (3, Decimal("1.50"), None, Decimal("0.0")),
    ]
    assert "T" not in found[0]


def a_table_without_key_is_kept_by_rowid(connector: Connector, rows: Rows) -> Iterator[None]:
    plain = TableSchema(TableId("PDB", "LAB", "LOG"), (Column("V", "VARCHAR2", 10),))
    connector.structure(plain)
    for number in range(4):
        connector.read(("read",), plain, f"S{number}")
    yield
    connector.change(Op.UPDATE, ("read",), ("changed",), plain, "S1")
    connector.change(Op.DELETE, ("read",), None, plain, "S2")
    yield
    assert sorted(r["V"] for r in rows(plain)) == ["changed", "read", "read"]
    connector.truncate(plain)
    connector.change(Op.CREATE, None, ("same",), plain, "AAA")
    connector.change(Op.CREATE, None, ("same",), plain, "AAB")
    connector.change(Op.DELETE, ("same",), None, plain, "AAA")
    yield
    assert rows(plain) == [{"V": "same"}]
    connector.vanish(plain, b'{"ROWID":"AAB"}')
    yield
    assert rows(plain) == []


def a_backlog_across_widened_types_is_decoded_with_the_version_of_each_record(
    connector: Connector, rows: Rows
) -> Iterator[None]:
    narrow = named(A, "WIDENED")
    connector.structure(narrow)
    connector.change(Op.CREATE, None, ("1", "900000000000000000", "2026-01-02 03:04:05", "a"))
    wide = version(
        narrow,
        replace(A.columns[0], length=12, scale=2),
        replace(A.columns[1], length=20),
        Column("D", "TIMESTAMP", None, 6),
        A.columns[3],
    )
    connector.alter(narrow, "ALTER TABLE lab.widened MODIFY (id NUMBER(12,2), n NUMBER(20), d TIMESTAMP(6))", wide)
    connector.change(Op.CREATE, None, ("2.5", "99999999999999999999", "2026-01-02 03:04:05.123456000", "b"))
    yield
    assert rows(narrow) == [
        {"ID": Decimal("1.00"), "N": Decimal(900000000000000000), "D": datetime(2026, 1, 2, 3, 4, 5), "T": "a"},
        {"ID": Decimal("2.50"), "N": Decimal(99999999999999999999), "D": datetime(2026, 1, 2, 3, 4, 5, 123456), "T": "b"},
    ]


def renamed_columns_keep_the_values_of_older_rows_key_columns_too(connector: Connector, rows: Rows) -> Iterator[None]:
    before = named(A, "COLUMNS")
    connector.structure(before)
    for number in (1, 2):
        connector.change(Op.CREATE, None, (str(number), "1", None, "old"))
    yield
    connector.change(Op.UPDATE, ("1", "1", None, "old"), ("1", "1", None, "before the rename"))
    key = version(before, replace(A.columns[0], name="KEY"), *A.columns[1:])
    connector.alter(before, "ALTER TABLE lab.columns RENAME COLUMN id TO key", key)
    other = version(key, key.columns[0], replace(A.columns[1], name="M"), *A.columns[2:])
    connector.alter(key, "ALTER TABLE lab.columns RENAME COLUMN n TO m", other)
    swapped = version(other, *other.columns[:3], replace(A.columns[3], name="N"))
    connector.alter(other, "ALTER TABLE lab.columns RENAME COLUMN t TO n", swapped)
    connector.change(Op.DELETE, ("2", "1", None, "old"), None)
    connector.change(Op.CREATE, None, ("3", "3", None, "new"))
    yield
    assert rows(before) == [
        {"KEY": 1, "M": 1, "D": None, "N": "before the rename"},
        {"KEY": 3, "M": 3, "D": None, "N": "new"},
    ]


def truncate_drop_and_create_remove_what_came_before_them_only(connector: Connector, rows: Rows) -> Iterator[None]:
    first = named(A, "GONE")
    connector.structure(first)
    connector.change(Op.CREATE, None, ("1", "1", None, "before"))
    yield
    connector.change(Op.CREATE, None, ("2", "1", None, "before"))
    connector.truncate(first)
    connector.change(Op.CREATE, None, ("3", "1", None, "after"))
    yield
    assert [r["ID"] for r in rows(first)] == [3]
    connector.drop(first)
    other = replace(first, columns=(A.columns[3], A.columns[0]), key=(1,), version=9)
    connector.scn += 1
    connector.structure(other, ddl="CREATE TABLE lab.gone (t VARCHAR2(20), id NUMBER(9) PRIMARY KEY)")
    yield
    assert rows(first) == []
    connector.change(Op.CREATE, None, ("again", "4"), other)
    yield
    assert rows(first) == [{"T": "again", "ID": 4}]


def a_renamed_table_takes_its_rows_with_it(connector: Connector, rows: Rows) -> Iterator[None]:
    old = named(A, "OLD")
    connector.structure(old)
    connector.change(Op.CREATE, None, ("1", "1", None, "merged"))
    yield
    connector.change(Op.CREATE, None, ("2", "1", None, "pending"))
    new = replace(named(A, "NEW"), version=1)
    connector.alter(old, "ALTER TABLE lab.old RENAME TO new", new)
    connector.change(Op.UPDATE, ("1", "1", None, "merged"), ("1", "1", None, "changed"), new)
    connector.scn += 1
    connector.structure(replace(old, version=2), ddl="CREATE TABLE lab.old (..)")
    connector.change(Op.CREATE, None, ("9", "1", None, "another table"), replace(old, version=2))
    yield
    assert [(r["ID"], r["T"]) for r in rows(new)] == [(1, "changed"), (2, "pending")]
    assert [(r["ID"], r["T"]) for r in rows(old)] == [(9, "another table")]


def a_table_of_which_redo_holds_the_key_only_keeps_its_other_values(connector: Connector, rows: Rows) -> Iterator[None]:
    """UPDATE t SET t = 'x' WHERE id = 1 logs ID and T: N and D are not null, but not known."""
    partly = named(A, "PARTLY")
    connector.structure(partly)
    for number in ("1", "2", "3", "4"):
        connector.change(Op.CREATE, None, (number, "7", "2026-01-02 03:04:05", "a"), row_id=f"R{number}")
    yield
    kept = UNAVAILABLE
    connector.change(Op.UPDATE, ("1", kept, kept, "a"), ("1", kept, kept, "x"), row_id="R1")
    connector.change(Op.UPDATE, ("2", kept, kept, kept), ("2", None, kept, kept), row_id="R2")
    connector.change(Op.UPDATE, ("3", kept, kept, kept), ("30", kept, kept, kept), row_id="R3")
    connector.change(Op.UPDATE, ("4", kept, kept, kept), ("4", "8", kept, kept), row_id="R4")
    connector.change(Op.UPDATE, ("4", kept, kept, kept), ("4", kept, kept, "y"), row_id="R4")
    yield
    day = datetime(2026, 1, 2, 3, 4, 5)
    assert sorted((r["ID"], r["N"], r["D"], r["T"]) for r in rows(partly)) == [
        (1, 7, day, "x"),
        (2, None, day, "a"),
        (4, 8, day, "y"),
        (30, 7, day, "a"),
    ]


HISTORIES: Mapping[str, History] = {
    history.__name__.replace("_", " "): history
    for history in (
        every_type_arrives_exactly,
        the_last_change_of_each_key_wins,
        added_columns_join_the_table_and_dropped_ones_leave_it,
        a_table_without_key_is_kept_by_rowid,
        a_backlog_across_widened_types_is_decoded_with_the_version_of_each_record,
        renamed_columns_keep_the_values_of_older_rows_key_columns_too,
        truncate_drop_and_create_remove_what_came_before_them_only,
        a_renamed_table_takes_its_rows_with_it,
        a_table_of_which_redo_holds_the_key_only_keeps_its_other_values,
    )
}
TABLES = ("Odd Item", "LAST", "ADDED", "LOG", "WIDENED", "COLUMNS", "GONE", "NEW", "OLD", "PARTLY")
# Owner, method, and whether it had done its work; by phase.
BOUNDARIES: Mapping[int, list[tuple[type, str, bool]]] = {
    1: [(ChangeLog, "append_rows", False)],
    2: [(TABLE, "take", False), (TABLE, "merge", False)],
    3: [(StateTable, "append", True)],
}


def read_by_spark(spark: SparkSession, config: ConnectorConfig, name: str) -> list[dict[str, Any]]:
    """The rows of a lake table, in order of their text."""
    found = frame(spark, config, "LAB", name).collect()
    return sorted((comparable(row.asDict(recursive=True)) for row in found), key=str)


def rows_of(spark: SparkSession, config: ConnectorConfig, name: str) -> list[dict[str, Any]]:
    """The same by PyArrow, from the files that Delta's log names: Spark takes seconds for it."""
    if FORMAT != "delta":
        return read_by_spark(spark, config, name)
    return sorted(map(comparable, rows_in_files(spark, config, named(A, name))), key=str)


def comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the values of `__cdc` without names, which are others in files; its time may be local to Spark."""
    found = {name: bytearray(value) if isinstance(value, bytes) else value for name, value in row.items()}
    found[CDC] = tuple(one.timestamp() if isinstance(one, datetime) else one for one in row[CDC].values())
    return found


class Followed:
    """What came of the histories.

    :ivar failures: by history.
    :ivar not_reached: boundaries at which the lake was not stopped.
    :ivar records: of the change log, and how many of them are different ones.
    :ivar by_driver, by_spark: names of tables that the driver's process, or Spark, made or merged.
    :ivar at_the_end: of each table, its rows as its history read them last.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: ConnectorConfig,
        monkeypatch: pytest.MonkeyPatch,
        ways: tuple[Counter[str], Counter[str]],
    ) -> None:
        connector = Connector(config)
        self.config = config
        self.not_reached: list[str] = []
        self.at_the_end: dict[str, list[dict[str, Any]]] = {}

        def looked_at(table: TableSchema) -> list[dict[str, Any]]:
            found = self.at_the_end[table.id.table] = rows_of(spark, config, table.id.table)
            return [{name: value for name, value in row.items() if name != CDC} for row in found]

        telling = Telling(HISTORIES, connector, looked_at)
        phase = 0
        try:
            while telling.go_on():
                phase += 1
                for owner, method, after in BOUNDARIES.get(phase, ()):
                    with killed(monkeypatch, owner, method, after=after) as calls, suppress(Exception):
                        synced(spark, config)
                    if not calls:
                        self.not_reached.append(f"{owner.__name__}.{method} in phase {phase}")
                synced(spark, config)
            self.failures = telling.failures
            log = format_of(config).changes(spark).read()
            self.records = log.selectExpr("count(1)", "count(DISTINCT topic, partition, offset)").collect()[0]
            self.by_driver, self.by_spark = map(set, ways)
        finally:
            connector.sink.close()


@pytest.fixture(scope="module")
def followed(spark: SparkSession, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Followed:
    directory = tmp_path_factory.mktemp("lake")
    with pytest.MonkeyPatch.context() as monkeypatch, counted_ways(monkeypatch) as ways:
        return Followed(
            spark, lake_config(lake_properties(broker, f"h{uuid.uuid4().hex[:10]}", directory)), monkeypatch, ways
        )


@pytest.mark.parametrize("history", HISTORIES)
def test_a_table_is_what_its_history_says(followed: Followed, history: str) -> None:
    if history in followed.failures:
        raise followed.failures[history]


def test_a_lake_that_is_stopped_at_boundaries_goes_on_without_loss_or_repeat(followed: Followed) -> None:
    assert followed.not_reached == []
    assert followed.records[0] == followed.records[1] > 40


def test_tables_are_merged_by_the_driver_and_by_spark(followed: Followed) -> None:
    """By Spark those that are cleared or renamed, lack values, or have records of several versions."""
    left = {"GONE", "LOG", "NEW", "PARTLY", "WIDENED"}
    assert followed.by_driver == set(TABLES) - {"WIDENED"}
    assert followed.by_spark >= left


@pytest.mark.parametrize("name", ["ADDED", "COLUMNS", "WIDENED"])
def test_spark_has_the_rows_of_columns_that_changed(followed: Followed, spark: SparkSession, name: str) -> None:
    assert followed.at_the_end[name]
    assert read_by_spark(spark, followed.config, name) == followed.at_the_end[name]


def test_a_lost_checkpoint_changes_no_table(followed: Followed, spark: SparkSession) -> None:
    """All topics are read again, by tables that are of later versions than the records."""
    assert sum(map(len, followed.at_the_end.values())) > 15
    shutil.rmtree(f"{followed.config.lake.minercdc_lake_path}/_checkpoint")
    synced(spark, followed.config)
    assert {name: read_by_spark(spark, followed.config, name) for name in TABLES} == followed.at_the_end


def test_a_hashed_text_that_redo_does_not_hold_keeps_its_hash(spark: SparkSession, properties: dict[str, str]) -> None:
    """In its place is the hash of the placeholder, which looks like that of a value."""
    config = lake_config({**properties, "column.mask.hash.v2.SHA-256.with.salt.s": r"LAB\.A\.T"})
    connector = Connector(config)
    connector.structure(A)
    for number in ("1", "2"):
        connector.change(Op.CREATE, None, (number, "7", None, "a"))
    connector.commit()
    synced(spark, config)
    before = {row["ID"]: row["T"] for row in lake(spark, config, A)}
    connector.change(Op.UPDATE, ("1", "7", None, UNAVAILABLE), ("1", "8", None, UNAVAILABLE))
    connector.change(Op.UPDATE, ("2", "7", None, UNAVAILABLE), ("2", "7", None, "b"))
    connector.commit()
    synced(spark, config)
    connector.sink.close()
    after = {row["ID"]: row["T"] for row in lake(spark, config, A)}
    assert after[1] == before[1] == before[2] != after[2]


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
