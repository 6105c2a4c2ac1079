"""Changes that the driver's process merges into a Delta table: the table has what Spark's MERGE makes of the same changes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyroaring import BitMap64
from tests.examples import every_nth

from minercdc.lake.merge.modes import MODES, soft_clear
from minercdc.lake.merge.rows import Clear, MergeStep
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.table.columns import AddColumn, RenameColumn, Step, TableColumn, WidenColumn
from minercdc.lake.table.delta import DeltaTable, is_conflict
from minercdc.lake.table.delta_features import Features
from minercdc.lake.table.format import Applied, LastChanges
from minercdc.lake.table.native_delta import deletion_vectors, merge
from minercdc.lake.table.native_delta.deletion_vectors import UnknownVector, read_vector, write_vectors
from minercdc.lake.table.native_delta.log import LiveFiles

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EPOCH = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
COLUMNS = [
    TableColumn("ID", "INT", "ID"),
    TableColumn("N", "DECIMAL(18,4)", "N"),
    TableColumn("BIG", "DECIMAL(38,0)", "BIG"),
    TableColumn("TEXT", "STRING", "TEXT"),
    TableColumn("AT", "TIMESTAMP_NTZ", "AT"),
    TableColumn("ZONED", "TIMESTAMP", "ZONED"),
    TableColumn("RAW", "BINARY", "RAW"),
    TableColumn("FLAG", "BOOLEAN", "FLAG"),
    TableColumn("REAL", "DOUBLE", "REAL"),
]
ARROW = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DECIMAL(18,4)": pa.decimal128(18, 4),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
    "STRING": pa.string(),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
}


def value_of(kind: str, number: int) -> Any:
    """A value of a type: another one for each number."""
    return {
        "INT": number,
        "BIGINT": number << 40,
        "DECIMAL(18,4)": Decimal(number) / 10000,
        "DECIMAL(38,0)": Decimal(10) ** 37 + number,
        "STRING": "é€𝄞" * 11 + str(number),
        "TIMESTAMP_NTZ": EPOCH.replace(tzinfo=None) - timedelta(days=500 * 365) + timedelta(microseconds=number),
        "TIMESTAMP": EPOCH + timedelta(days=number),
        "BINARY": bytes([number % 256, 0, number // 256]),
        "BOOLEAN": number % 2 == 0,
        "DOUBLE": -0.0 if number % 5 == 0 else number / 3,
    }[kind]


def changes_of(chance: random.Random, columns: list[TableColumn], key: list[str], scn: int, rows: int = 12) -> LastChanges:
    """The last change of some rows of forty."""
    found = []
    for number in chance.sample(range(40), rows):
        row: dict[str, Any] = {
            "op": chance.choice("cuudr"),
            "scn": scn,
            "commit_scn": scn - chance.choice((0, 0, 0, 15)),
            "seq": chance.randrange(3),
            "commit_time": EPOCH,
            "row_id": f"AAA{number:04}",
        }
        for i, column in enumerate(columns):
            here = number if column.id in key else chance.randrange(1000)
            row[f"c{i}"] = None if column.id not in key and chance.random() < 0.2 else value_of(column.type, here)
        kinds = {column.id: column.type for column in columns}
        row |= {f"k{i}": value_of(kinds[part], number) for i, part in enumerate(key)}
        found.append(row)
    types = {
        "op": pa.string(),
        **dict.fromkeys(("scn", "commit_scn", "seq"), pa.int64()),
        "commit_time": pa.timestamp("us", "UTC"),
        "row_id": pa.string(),
        **{f"c{i}": ARROW[column.type] for i, column in enumerate(columns)},
        **{f"k{i}": ARROW[column.type] for i, column in enumerate(one for part in key for one in columns if one.id == part)},
    }
    return LastChanges(pa.Table.from_pylist(found, pa.schema(list(types.items()))), columns, key)


def merged_by_spark(spark: SparkSession, lake: DeltaTable, changes: LastChanges, applied: Applied) -> None:
    kinds = [
        f"{name} {sql_type(kind)}" for name, kind in zip(changes.rows.column_names, changes.rows.schema.types, strict=True)
    ]
    frame = from_arrow(spark, changes.rows, ", ".join(kinds)).selectExpr("*", "0 AS partition", "0L AS offset")
    step = MergeStep(changes.target, changes.key, 0, None, False, False, Applied(), applied)
    MODES[changes.mode].merge(lake, frame, step)


def sql_type(kind: Any) -> str:
    return next((name for name, found in ARROW.items() if found == kind), "BIGINT")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return own_session(spark)


@pytest.fixture
def lake(session: SparkSession, tmp_path: Path) -> DeltaTable:
    return DeltaTable(session, str(tmp_path / "ours"), live=LiveFiles())


def follow(rows: dict[Any, dict[str, Any]], changes: LastChanges) -> None:
    """What a MERGE does, by what identifies a row."""
    names = [f"k{i}" for i in range(len(changes.key))] or ["row_id"]
    for change in changes.rows.to_pylist():
        identity = tuple(change[name] for name in names)
        there = rows.get(identity)
        if there is not None and (there["commit_scn"], there["seq"]) > (change["commit_scn"], change["seq"]):
            continue
        rows.pop(identity, None)
        if change["op"] != "d":
            rows[identity] = change


def modelled(rows: Mapping[Any, Mapping[str, Any]], columns: int) -> list[str]:
    members = ("op", "scn", "commit_scn", "seq", "row_id")
    return sorted(
        str([*(shown(row[f"c{i}"]) for i in range(columns)), *(row[name] for name in members), False])
        for row in rows.values()
    )


def read(lake: DeltaTable, columns: int) -> list[str]:
    names = [f"`{name}`" for name in lake.read().columns if name != "__cdc"][:columns]
    members = ("op", "scn", "commit_scn", "seq", "row_id", "deleted")
    rows = lake.read().selectExpr(*names, *(f"__cdc.{name}" for name in members)).collect()
    return sorted(str([shown(value) for value in row]) for row in rows)


def shown(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


KEYS: Mapping[str, list[str]] = {
    "integer": ["ID"],
    "large decimal and text": ["BIG", "TEXT"],
    "times": ["AT", "ZONED"],
    "bytes": ["RAW"],
    "ROWID": [],
}


@pytest.mark.parametrize("name", every_nth(list(KEYS), 4))
def test_changes_are_merged_as_a_mirror_has_them(session: SparkSession, lake: DeltaTable, name: str) -> None:
    """Also where others have deleted rows, or joined files; and again, as after a kill."""
    chance, key = random.Random(name), KEYS[name]
    rows: dict[Any, dict[str, Any]] = {}
    first = changes_of(chance, COLUMNS, key, 10)
    follow(rows, first)
    assert lake.create_of(first, MODES["mirror"].cdc_type, Applied(10, 1))
    for scn in range(20, 80 if name == "integer" else 50, 10):
        changes, applied = changes_of(chance, COLUMNS, key, scn), Applied(scn, scn // 10)
        before = lake.newest_version()
        assert lake.merge_rows(changes, applied)
        assert lake.newest_version() <= before + (2 if scn == 20 else 1)  # once it is given deletion vectors
        follow(rows, changes)
        if scn % 20 == 0:
            assert lake.merge_rows(changes, applied)
            follow(rows, changes)
        if name == "integer" and scn == 40:
            session.sql(f"DELETE FROM {lake.name} WHERE __cdc.row_id > 'AAA0030'")
            rows = {identity: row for identity, row in rows.items() if row["row_id"] <= "AAA0030"}
        if name == "integer" and scn == 60:
            session.sql(f"OPTIMIZE {lake.name}")
    assert read(lake, len(COLUMNS)) == modelled(rows, len(COLUMNS))
    assert lake.applied() == applied


def test_the_rows_are_those_of_merge_in_spark(session: SparkSession, lake: DeltaTable, tmp_path: Path) -> None:
    chance, theirs = random.Random(2), DeltaTable(session, str(tmp_path / "theirs"))
    for one in (lake, theirs):
        one.create(COLUMNS, MODES["mirror"].cdc_type, "mirror", Applied())
    for scn in (10, 20):
        changes, applied = changes_of(chance, COLUMNS, ["ID"], scn, 30), Applied(scn, 1)
        assert lake.merge_rows(changes, applied)
        merged_by_spark(session, theirs, changes, applied)
    found = [sorted(str(row) for row in one.read().collect()) for one in (lake, theirs)]
    assert found[0] == found[1]


def test_rows_that_stay_are_those_of_merge_in_spark(session: SparkSession, lake: DeltaTable, tmp_path: Path) -> None:
    """Deleted rows stay; what all went with is followed by a change of the same SCN; and the same changes come again."""
    chance, theirs = random.Random(3), DeltaTable(session, str(tmp_path / "theirs"))
    first = changes_of(chance, COLUMNS, ["ID"], 20, 30)._replace(mode="soft_delete")
    assert lake.create_of(first, MODES["soft_delete"].cdc_type, Applied(20, 1))
    theirs.create(COLUMNS, MODES["soft_delete"].cdc_type, "soft_delete", Applied())
    merged_by_spark(session, theirs, first, Applied(20, 1))
    for scn in (30, 40):
        changes, applied = changes_of(chance, COLUMNS, ["ID"], scn, 30)._replace(mode="soft_delete"), Applied(scn, 1)
        for one in (lake, theirs):
            if scn == 40:
                one.update(f"__cdc = {soft_clear(Clear(40, 0, read=False))}", "ID % 2 = 0", Applied(30, 1))
        for again in (changes, changes._replace(rows=changes.rows.slice(5, 9))):
            assert lake.merge_rows(again, applied)
            merged_by_spark(session, theirs, again, applied)
    found = [sorted(str(row) for row in one.read().collect()) for one in (lake, theirs)]
    assert found[0] == found[1]
    assert lake.mode() == "soft_delete"


def test_all_changes_are_those_of_append_in_spark(session: SparkSession, lake: DeltaTable, tmp_path: Path) -> None:
    chance, theirs = random.Random(4), DeltaTable(session, str(tmp_path / "theirs"))
    given = [changes_of(chance, COLUMNS, [], scn, 9)._replace(mode="append") for scn in (10, 20)]
    assert lake.create_of(given[0], MODES["append"].cdc_type, Applied(10, 1))
    assert lake.merge_rows(given[1], Applied(20, 1))
    theirs.create(COLUMNS, MODES["append"].cdc_type, "append", Applied())
    for changes in given:
        merged_by_spark(session, theirs, changes, Applied())
    found = [sorted(str(row) for row in one.read().collect()) for one in (lake, theirs)]
    assert found[0] == found[1]
    assert (lake.mode(), lake.applied()) == ("append", Applied(20, 1))


def test_a_row_that_stays_is_not_one_with_another(session: SparkSession, lake: DeltaTable) -> None:
    """As where a table of ROWIDs has had two rows with one key: only Spark knows what becomes of them."""
    changes = changes_of(random.Random(1), COLUMNS, ["ID"], 10)._replace(mode="soft_delete")
    assert lake.create_of(changes, MODES["soft_delete"].cdc_type, Applied(10, 1))
    lake.append(lake.read(), Applied(10, 1))
    assert not lake.merge_rows(
        changes_of(random.Random(2), COLUMNS, ["ID"], 20)._replace(mode="soft_delete"), Applied(20, 1)
    )


def test_small_files_are_joined(session: SparkSession, lake: DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those from before a column was added and another one renamed, whatever has been deleted of them."""
    monkeypatch.setattr(merge, "_MOST_SMALL", 3)
    chance, narrow = random.Random(9), COLUMNS[:8]
    rows: dict[Any, dict[str, Any]] = {}
    first = changes_of(chance, narrow, ["ID"], 10)
    follow(rows, first)
    assert lake.create_of(first, MODES["mirror"].cdc_type, Applied(10, 1))
    for scn in range(20, 120, 10):
        changes = changes_of(chance, narrow, ["ID"], scn)
        assert lake.merge_rows(changes, Applied(scn, 1))
        follow(rows, changes)
        files = LiveFiles().at(HadoopFiles(session, lake.path), lake.newest_version())
        assert len(files) <= 4
        if scn == 30:
            lake.take_all(narrow, [RenameColumn("TEXT", "NAME"), AddColumn(COLUMNS[8])])
            narrow = [*narrow[:3], TableColumn("NAME", "STRING", "TEXT"), *COLUMNS[4:]]
            for row in rows.values():
                row["c8"] = None
    assert read(lake, 9) == modelled(rows, 9)


def test_a_query_passes_over_no_file_that_has_its_rows(session: SparkSession, lake: DeltaTable) -> None:
    """By the least and greatest values that the log has of a file."""
    chance = random.Random(5)
    assert lake.create_of(changes_of(chance, COLUMNS, ["ID"], 10), MODES["mirror"].cdc_type, Applied(10, 1))
    assert lake.merge_rows(changes_of(chance, COLUMNS, ["ID"], 20), Applied(20, 1))
    for row in lake.read().collect()[:6]:
        wanted = " AND ".join(f"{column.name} <=> {sql_of(column, row[column.name])}" for column in COLUMNS)
        assert lake.read().where(wanted).count() == 1


def sql_of(column: TableColumn, value: Any) -> str:
    if value is None or column.type in ("INT", "BOOLEAN"):
        return "NULL" if value is None else str(value)
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex()}'"
    return f"CAST('{value!r}' AS DOUBLE)" if isinstance(value, float) else f"CAST('{value}' AS {column.type})"


def test_columns_that_were_renamed_added_and_widened(session: SparkSession, lake: DeltaTable) -> None:
    chance = random.Random(7)
    narrow = [TableColumn("ID", "INT", "ID"), TableColumn("TEXT", "STRING", "TEXT")]
    steps: list[Step] = [
        RenameColumn("TEXT", "A NAME, (OTHER)"),
        AddColumn(TableColumn("AT", "TIMESTAMP", "AT")),
        WidenColumn("ID", "BIGINT"),
    ]
    text, at = TableColumn("A NAME, (OTHER)", "STRING", "TEXT"), TableColumn("AT", "TIMESTAMP", "AT")
    rows: dict[Any, dict[str, Any]] = {}
    first = changes_of(chance, narrow, ["ID"], 10)
    follow(rows, first)
    for row in rows.values():
        row["c2"] = None
    assert lake.create_of(first, MODES["mirror"].cdc_type, Applied(10, 1))
    lake.take_all(narrow, steps)
    for scn in (20, 30, 40):
        found = changes_of(chance, [TableColumn("ID", "INT", "ID"), text, at], ["ID"], scn)
        wide = LastChanges(as_wide(found.rows), [TableColumn("ID", "BIGINT", "ID"), text, at], ["ID"])
        assert lake.merge_rows(wide, Applied(scn, 1))
        follow(rows, wide)
    assert read(lake, 3) == modelled(rows, 3)


def as_wide(rows: pa.Table) -> pa.Table:
    for name in ("c0", "k0"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows.column(name).cast(pa.int64()))
    return rows


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {} ADD CONSTRAINT positive CHECK (ID >= 0)",
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "ALTER TABLE {} ADD COLUMNS (MINE STRING)",
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '1')",
    ],
)
def test_a_table_that_needs_more_is_left_to_spark(session: SparkSession, lake: DeltaTable, statement: str) -> None:
    assert lake.create_of(changes_of(random.Random(1), COLUMNS[:1], ["ID"], 10), MODES["mirror"].cdc_type, Applied(10, 1))
    version = lake.newest_version()
    session.sql(statement.format(lake.name))
    assert not lake.merge_rows(changes_of(random.Random(2), COLUMNS[:1], ["ID"], 20), Applied(20, 1))
    assert lake.newest_version() == version + 1


def test_deletion_vectors_may_be_forbidden(session: SparkSession, tmp_path: Path) -> None:
    lake = DeltaTable(session, str(tmp_path / "ours"), Features(frozenset(["deletionVectors"])))
    lake.create(COLUMNS, MODES["mirror"].cdc_type, "mirror", Applied())
    first = changes_of(random.Random(1), COLUMNS, ["ID"], 10)
    assert lake.merge_rows(first, Applied(10, 1))  # inserts only
    assert not lake.merge_rows(first, Applied(10, 1))
    assert lake.read().count() == sum(op != "d" for op in first.rows.column("op").to_pylist())


def test_a_commit_of_another_writer_is_a_conflict(session: SparkSession, lake: DeltaTable) -> None:
    """As of maintenance that joins files between the reading and the commit."""
    lake.create(COLUMNS, MODES["mirror"].cdc_type, "mirror", Applied())
    for scn in (10, 20):
        assert lake.merge_rows(changes_of(random.Random(scn), COLUMNS, ["ID"], scn), Applied(scn, 1))
    marked = deletion_vectors.write_vectors

    def late(*given: Any) -> Any:
        session.sql(f"OPTIMIZE {lake.name}")
        return marked(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "write_vectors", late)
        with pytest.raises(Exception, match="(?i)concurrent") as raised:
            lake.merge_rows(changes_of(random.Random(3), COLUMNS, ["ID"], 30), Applied(30, 1))
    assert is_conflict(raised.value)
    assert lake.applied() == Applied(20, 1)
    assert lake.merge_rows(changes_of(random.Random(3), COLUMNS, ["ID"], 30), Applied(30, 1))
    assert lake.applied() == Applied(30, 1)


def test_vectors_are_read_as_written(session: SparkSession, tmp_path: Path) -> None:
    files = HadoopFiles(session, str(tmp_path))
    vectors = [BitMap64([1]), BitMap64(range(5, 200_000)), BitMap64([3, 2**33])]
    found = write_vectors(files, vectors)
    assert [read_vector(files, one) for one in found] == vectors
    (name,) = tmp_path.glob("*.bin")
    name.write_bytes(name.read_bytes()[:-1] + b"\0")
    assert read_vector(files, found[0]) == vectors[0]
    with pytest.raises(UnknownVector, match="damaged"):
        read_vector(files, found[2])
