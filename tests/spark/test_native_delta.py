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
from tests.spark.lakes import jobs_of
from tests.spark.test_lake_envelope import NEEDED

from minercdc.config.load import parse_properties
from minercdc.errors import LakeError
from minercdc.lake.merge.modes import MODES, soft_clear
from minercdc.lake.merge.rows import CDC_TYPE, Clear, MergeStep
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.table import delta
from minercdc.lake.table.columns import AddColumn, DropColumn, RenameColumn, Step, TableColumn, WidenColumn
from minercdc.lake.table.delta import DeltaTable, is_conflict
from minercdc.lake.table.delta_features import Features
from minercdc.lake.table.delta_retention import kept_by_delta
from minercdc.lake.table.format import Applied, LakeTable, LastChanges, changed_since
from minercdc.lake.table.native import small_files
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
        "BIGINT": number,
        "DECIMAL(18,4)": Decimal(number) / 10000,
        "DECIMAL(38,0)": Decimal(10) ** 37 + number,
        "STRING": "é€𝄞" * 11 + str(number),
        "TIMESTAMP_NTZ": EPOCH.replace(tzinfo=None) - timedelta(days=500 * 365) + timedelta(microseconds=number),
        "TIMESTAMP": EPOCH + timedelta(days=number),
        "BINARY": bytes([number % 256, 0, number // 256]),
        "BOOLEAN": number % 2 == 0,
        "DOUBLE": -0.0 if number % 3 == 0 else float("nan") if number % 3 == 1 else number / 3,
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


def merged_by_spark(spark: SparkSession, lake: LakeTable, changes: LastChanges, applied: Applied) -> None:
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


KEYS: Mapping[str, list[str]] = {
    "integer": ["ID"],
    "large decimal and text": ["BIG", "TEXT"],
    "times": ["AT", "ZONED"],
    "bytes": ["RAW"],
    "ROWID": [],
}


LATER = TableColumn("LATER", "TIMESTAMP", "LATER")
ALTERS: list[list[Step]] = [
    [RenameColumn("TEXT", "A NAME, (OTHER)"), AddColumn(LATER), WidenColumn("ID", "BIGINT")],
    [DropColumn("FLAG")],
    [AddColumn(TableColumn("FLAG", "STRING", "FLAG@2")), RenameColumn("RAW", 'r"`.x')],
]
BY_DAY = ("merge", "again", "alter", "optimize", "delete")
CASES = [(name, seed) for seed in range(3) for name in KEYS]


class Both:
    """A table that the driver's process merges, and one that Spark does."""

    def __init__(self, session: SparkSession, directory: Path, chance: random.Random, key: list[str]) -> None:
        self._session, self._chance, self._key, self._scn = session, chance, key, 10
        self.ours = DeltaTable(session, str(directory / "ours"), live=LiveFiles())
        self.theirs = DeltaTable(session, str(directory / "theirs"))
        self._columns, self._alters = COLUMNS, iter(ALTERS)
        self._done = [changes_of(chance, COLUMNS, key, 10)]
        assert self.ours.create_of(self._done[0], CDC_TYPE, Applied(10, 1))
        self.theirs.create(COLUMNS, CDC_TYPE, "mirror", Applied())
        merged_by_spark(session, self.theirs, self._done[0], Applied(10, 1))

    def merge(self) -> None:
        self._scn += 10
        self._done.append(changes_of(self._chance, self._columns, self._key, self._scn))
        self._merge(self._done[-1])

    def again(self) -> None:
        """Changes that are there, or older than what is there, as after a kill."""
        there = [one for one in self._done[-3:] if one.target == self._columns]
        if there:
            self._merge(self._chance.choice(there))

    def _merge(self, changes: LastChanges) -> None:
        applied, before = Applied(self._scn, self._scn // 10), self.ours.newest_version()
        assert self.ours.merge_rows(changes, applied)
        assert self.ours.newest_version() <= before + 1
        merged_by_spark(self._session, self.theirs, changes, applied)

    def optimize(self) -> None:
        for one in (self.ours, self.theirs):
            self._session.sql(f"OPTIMIZE {one.name}")

    def delete(self) -> None:
        for one in (self.ours, self.theirs):
            self._session.sql(f"DELETE FROM {one.name} WHERE __cdc.row_id > 'AAA0030'")

    def alter(self) -> None:
        if (steps := next(self._alters, None)) is not None:
            for one in (self.ours, self.theirs):
                one.take_all(one.columns() or [], steps)
            self._columns = self.ours.columns() or []
            assert self._columns == self.theirs.columns()

    def restart(self) -> None:
        self.ours = DeltaTable(self._session, self.ours.path, live=LiveFiles())

    def rows(self) -> list[list[str]]:
        return [sorted(str(row) for row in one.read().collect()) for one in (self.ours, self.theirs)]


@pytest.mark.parametrize(("name", "seed"), every_nth(CASES, len(CASES)))
def test_both_merges_make_the_same_table(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    """`tests/unit/lake/test_delta_merge.py` has long histories, with no Spark."""
    monkeypatch.setattr(small_files, "_MOST_SMALL", 2)
    chance = random.Random(f"{name} {seed}")
    both = Both(session, tmp_path, chance, KEYS[name])
    steps = [*BY_DAY, "restart"] if seed == 0 else chance.choices([*BY_DAY, "restart"], k=20)
    for step in steps:
        getattr(both, step)()
    both.merge()
    ours, theirs = both.rows()
    assert ours == theirs
    assert len(ours) > 5
    assert both.ours.applied() == both.theirs.applied()


def test_rows_that_stay_are_those_of_merge_in_spark(session: SparkSession, lake: DeltaTable, tmp_path: Path) -> None:
    """Deleted rows stay; what all went with is followed by a change of the same SCN; and the same changes come again. By night also after a
    merge with nothing of that."""
    chance, theirs = random.Random(3), DeltaTable(session, str(tmp_path / "theirs"))
    first = changes_of(chance, COLUMNS, ["ID"], 20, 30)._replace(mode="soft_delete")
    assert lake.create_of(first, MODES["soft_delete"].cdc_type, Applied(20, 1))
    theirs.create(COLUMNS, MODES["soft_delete"].cdc_type, "soft_delete", Applied())
    merged_by_spark(session, theirs, first, Applied(20, 1))
    for scn in every_nth((40, 30), 2)[::-1]:
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


def test_a_query_passes_over_no_file_that_has_its_rows(session: SparkSession, lake: DeltaTable) -> None:
    """By the least and greatest values that the log has of a file."""
    chance = random.Random(5)
    assert lake.create_of(changes_of(chance, COLUMNS, ["ID"], 10), CDC_TYPE, Applied(10, 1))
    assert lake.merge_rows(changes_of(chance, COLUMNS, ["ID"], 20), Applied(20, 1))
    for row in every_nth(lake.read().collect()[:6], 2):
        wanted = " AND ".join(f"{column.name} <=> {sql_of(column, row[column.name])}" for column in COLUMNS)
        assert lake.read().where(wanted).count() == 1


def sql_of(column: TableColumn, value: Any) -> str:
    if value is None or column.type in ("INT", "BOOLEAN"):
        return "NULL" if value is None else str(value)
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex()}'"
    return f"CAST('{value + 0.0!r}' AS DOUBLE)" if isinstance(value, float) else f"CAST('{value}' AS {column.type})"


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
    assert lake.create_of(changes_of(random.Random(1), COLUMNS[:1], ["ID"], 10), CDC_TYPE, Applied(10, 1))
    version = lake.newest_version()
    session.sql(statement.format(lake.name))
    assert not lake.merge_rows(changes_of(random.Random(2), COLUMNS[:1], ["ID"], 20), Applied(20, 1))
    assert lake.newest_version() == version + 1


def test_no_merge_takes_a_spark_job(session: SparkSession, tmp_path: Path) -> None:
    """Not that which makes the table, nor the first one whose rows go, nor one after which Delta makes a checkpoint by default."""
    config, chance = parse_properties(NEEDED), random.Random(5)
    said, kept = {"minercdc.connector": "c"}, kept_by_delta(config.lake)
    lake = DeltaTable(session, str(tmp_path / "ours"), said=said, live=LiveFiles(), kept=kept)
    before = jobs_of(session)
    assert lake.create_of(changes_of(chance, COLUMNS, ["ID"], 1), CDC_TYPE, Applied(1, 1))
    for scn in range(2, 14):
        assert lake.merge_rows(changes_of(chance, COLUMNS, ["ID"], scn), Applied(scn, 1))
    assert (lake.applied(), lake.newest_version(), len(lake.columns() or ())) == (Applied(13, 1), 12, len(COLUMNS))
    assert jobs_of(session) == before
    properties = {row[0]: row[1] for row in session.sql(f"SHOW TBLPROPERTIES {lake.name}").collect()}
    assert properties.items() >= {**said, **kept, "delta.feature.deletionVectors": "supported"}.items()


def test_deletion_vectors_may_be_forbidden(session: SparkSession, tmp_path: Path) -> None:
    lake = DeltaTable(session, str(tmp_path / "ours"), Features(frozenset(["deletionVectors"])))
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
    first = changes_of(random.Random(1), COLUMNS, ["ID"], 10)
    assert lake.merge_rows(first, Applied(10, 1))  # inserts only
    assert not lake.merge_rows(first, Applied(10, 1))
    assert lake.read().count() == sum(op != "d" for op in first.rows.column("op").to_pylist())


def test_a_commit_of_another_writer_is_a_conflict(session: SparkSession, lake: DeltaTable) -> None:
    """As of maintenance that joins files between the reading and the commit."""
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
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


def test_a_table_that_another_program_restores_says_how_far_it_is_then(
    session: SparkSession, lake: DeltaTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
    for scn in (10, 20, 30):
        assert lake.merge_rows(changes_of(random.Random(scn), COLUMNS, ["ID"], scn), Applied(scn, 1))
    for version, scn in ((2, 20), (1, 10), (4, 20)):  # the last one is a version that was restored
        session.sql(f"RESTORE TABLE {lake.name} TO VERSION AS OF {version}")
        for files in (50, 1):  # what the log's files do not say, Delta's history does
            monkeypatch.setattr(delta, "_NEWEST", files)
            assert lake.applied() == Applied(scn, 1)
    assert changed_since(lake, 3, Applied(30, 1)) == Applied(20, 1)
    assert lake.merge_rows(changes_of(random.Random(4), COLUMNS, ["ID"], 40), Applied(40, 1))
    assert lake.applied() == Applied(40, 1)
    time = session.sql(f"DESCRIBE HISTORY {lake.name}").where("version = 5").select("timestamp").collect()[0][0]
    session.sql(f"RESTORE TABLE {lake.name} TO TIMESTAMP AS OF '{time}'")
    with pytest.raises(LakeError, match="was set back to a time by another program in version 8: RESTORE"):
        lake.applied()


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
