"""Changes that the driver's process merges into an Iceberg table: the table has what Spark's MERGE makes of the same changes."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.examples import every_nth
from tests.spark.lakes import jobs_of
from tests.spark.test_lake_envelope import NEEDED
from tests.spark.test_native_delta import ALTERS, COLUMNS, KEYS, changes_of, merged_by_spark, sql_of

from minercdc.config.load import parse_properties
from minercdc.lake.merge.modes import MODES, soft_clear
from minercdc.lake.merge.rows import CDC_TYPE, Clear
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.table.columns import AddColumn, TableColumn
from minercdc.lake.table.format import Applied, LakeTable, LastChanges, LogTable, Once, Overtaken, RowsAsked
from minercdc.lake.table.iceberg.tables import Iceberg
from minercdc.lake.table.native import small_files
from minercdc.lake.table.native_iceberg import files
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

Lakes = Callable[..., LakeTable]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return own_session(spark)


@pytest.fixture
def iceberg(tmp_path: Path, prefix: str) -> Callable[..., Iceberg]:
    def made(**more: str) -> Iceberg:
        name = f"native_{prefix}".replace("-", "_")
        given = {"minercdc.lake.format": "iceberg", "minercdc.lake.path": str(tmp_path / "lake")}
        given |= {"minercdc.lake.catalog.name": name, **more}
        return Iceberg(parse_properties({**NEEDED, **given}))

    return made


@pytest.fixture
def lakes(session: SparkSession, iceberg: Callable[..., Iceberg]) -> Lakes:
    return lambda name="OURS", **more: iceberg(**more).table(session, TableId("D", "LAB", name))


def rows_of(*lakes: LakeTable) -> list[list[str]]:
    return [sorted(str(row) for row in one.read().collect()) for one in lakes]


def snapshots_of(session: SparkSession, lake: LakeTable) -> int:
    return int(session.sql(f"SELECT count(1) FROM {lake.name}.snapshots").collect()[0][0])


class Both:
    """A table that the driver's process merges, and one that Spark does."""

    def __init__(self, session: SparkSession, lakes: Lakes, chance: random.Random, key: list[str]) -> None:
        self._session, self._lakes, self._chance, self._key, self._scn = session, lakes, chance, key, 10
        self.ours, self.theirs = lakes("OURS"), lakes("THEIRS")
        self._columns, self._alters = COLUMNS, iter(ALTERS)
        self._done = [changes_of(chance, COLUMNS, key, 10)]
        assert self.ours.create_of(self._done[0], CDC_TYPE, Applied(10, 1))
        self.theirs.create(COLUMNS, CDC_TYPE, "mirror", Applied())
        merged_by_spark(session, self.theirs, self._done[0], Applied(10, 1))
        assert self.ours.columns() == self.theirs.columns()

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
        applied, before = Applied(self._scn, self._scn // 10), snapshots_of(self._session, self.ours)
        assert self.ours.merge_rows(changes, applied)
        assert snapshots_of(self._session, self.ours) <= before + 1
        merged_by_spark(self._session, self.theirs, changes, applied)

    def merge_by_spark(self) -> None:
        """Deletes by position that Spark writes."""
        self._scn += 10
        changes = changes_of(self._chance, self._columns, self._key, self._scn)
        for one in (self.ours, self.theirs):
            merged_by_spark(self._session, one, changes, Applied(self._scn, self._scn // 10))

    def optimize(self) -> None:
        for one in (self.ours, self.theirs):
            one.compact(timedelta(0))

    def delete(self) -> None:
        for one in (self.ours, self.theirs):
            self._session.sql(f"DELETE FROM {one.name} WHERE __cdc.row_id > 'AAA0030'")

    def alter(self) -> None:
        if (steps := next(self._alters, None)) is not None:
            for one in (self.ours, self.theirs):
                one.take_all(one.columns() or [], steps)
            self._columns = self.ours.columns() or []
            assert self._columns == self.theirs.columns()


BY_DAY = ("merge", "again", "alter", "merge_by_spark", "merge", "optimize", "delete", "alter")
CASES = [(name, seed) for seed in range(3) for name in KEYS]


@pytest.mark.parametrize(("name", "seed"), every_nth(CASES, len(CASES)))
def test_both_merges_make_the_same_table(
    session: SparkSession, lakes: Lakes, monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    monkeypatch.setattr(small_files, "_MOST_SMALL", 3)
    chance = random.Random(f"{name} {seed}")
    both = Both(session, lakes, chance, KEYS[name])
    steps = BY_DAY if seed == 0 else chance.choices(BY_DAY, k=16)
    for step in steps:
        getattr(both, step)()
        ours, theirs = rows_of(both.ours, both.theirs)
        assert ours == theirs, step
    both.merge()
    ours, theirs = rows_of(both.ours, both.theirs)
    assert ours == theirs
    assert len(ours) > 5
    assert both.ours.applied() == both.theirs.applied()


def test_rows_that_stay_are_those_of_merge_in_spark(session: SparkSession, lakes: Lakes) -> None:
    """Deleted rows stay; what all went with is followed by a change of the same SCN; and the same changes come again."""
    chance, both = random.Random(3), (lakes("OURS"), lakes("THEIRS"))
    for one in both:
        one.create(COLUMNS, MODES["soft_delete"].cdc_type, "soft_delete", Applied())
    for scn in (20, 30, 40):
        changes, applied = changes_of(chance, COLUMNS, ["ID"], scn, 30)._replace(mode="soft_delete"), Applied(scn, 1)
        for one in both:
            if scn == 40:
                one.update(f"__cdc = {soft_clear(Clear(40, 0, read=False))}", "ID % 2 = 0", Applied(30, 1))
        for again in (changes, changes._replace(rows=changes.rows.slice(5, 9))):
            assert both[0].merge_rows(again, applied)
            merged_by_spark(session, both[1], again, applied)
    ours, theirs = rows_of(*both)
    assert ours == theirs
    assert both[0].mode() == "soft_delete"


def test_all_changes_are_those_of_append_in_spark(session: SparkSession, lakes: Lakes) -> None:
    chance, both = random.Random(4), (lakes("OURS"), lakes("THEIRS"))
    for one in both:
        one.create(COLUMNS, MODES["append"].cdc_type, "append", Applied())
    for scn in (10, 20):
        changes = changes_of(chance, COLUMNS, [], scn, 9)._replace(mode="append")
        assert both[0].merge_rows(changes, Applied(scn, 1))
        merged_by_spark(session, both[1], changes, Applied())
    ours, theirs = rows_of(*both)
    assert ours == theirs
    assert (both[0].mode(), both[0].applied()) == ("append", Applied(20, 1))
    more = changes_of(chance, COLUMNS, [], 30, 9)._replace(mode="append", known=Applied(10, 1))
    with pytest.raises(Overtaken, match="from SCN 10 to 20"):
        both[0].merge_rows(more, Applied(30, 1))
    assert rows_of(both[0]) == [ours]


@pytest.mark.parametrize("of_other", ["rows", "table"])
def test_rows_are_not_appended_to_what_another_process_has_made(
    lakes: Lakes, iceberg: Callable[..., Iceberg], monkeypatch: pytest.MonkeyPatch, of_other: str
) -> None:
    """As by `lake rebuild`, whose table has the same changes."""
    lake, cdc_type = lakes(), MODES["append"].cdc_type
    lake.create(COLUMNS, cdc_type, "append", Applied())
    changes = changes_of(random.Random(1), COLUMNS, [], 10)._replace(mode="append", known=Applied())
    written = files.IcebergFiles.new_rows

    def late(self: Any, *given: Any) -> Any:
        monkeypatch.undo()
        if of_other == "table":
            lakes().create(COLUMNS, cdc_type, "append", Applied())
        assert lakes().merge_rows(changes, Applied(10, 1))
        return written(self, *given)

    monkeypatch.setattr(files.IcebergFiles, "new_rows", late)
    with pytest.raises(Exception, match="ValidationException|is not an ancestor") as raised:
        lake.merge_rows(changes, Applied(10, 1))
    assert iceberg().is_conflict(raised.value)
    assert lake.read().count() == changes.rows.num_rows


def test_a_query_passes_over_no_file_that_has_its_rows(session: SparkSession, lakes: Lakes) -> None:
    """By the least and greatest values that the table's metadata has of a file."""
    chance, lake = random.Random(5), lakes()
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
    for scn in (10, 20):
        assert lake.merge_rows(changes_of(chance, COLUMNS, ["ID"], scn), Applied(scn, 1))
    for row in lake.read().collect()[:6]:
        wanted = " AND ".join(f"{column.name} <=> {sql_of(column, row[column.name])}" for column in COLUMNS)
        assert lake.read().where(wanted).count() == 1, wanted


@pytest.mark.parametrize(
    ("more", "statement"),
    [
        ({}, "ALTER TABLE {} ADD COLUMNS (MINE STRING)"),
        ({}, "ALTER TABLE {} ADD PARTITION FIELD bucket(4, ID)"),
        ({}, "ALTER TABLE {} WRITE ORDERED BY ID"),
        ({"minercdc.lake.iceberg.format.version": "3"}, "ALTER TABLE {} SET TBLPROPERTIES ('a' = 'b')"),
        ({}, "ALTER TABLE {} SET TBLPROPERTIES ('write.format.default' = 'orc')"),
    ],
)
def test_a_table_that_needs_more_is_left_to_spark(
    session: SparkSession, lakes: Lakes, more: dict[str, str], statement: str
) -> None:
    lake = lakes("OURS", **more)
    lake.create(COLUMNS[:1], CDC_TYPE, "mirror", Applied())
    session.sql(statement.format(lake.name))
    before = lake.newest_version()
    assert not lake.merge_rows(changes_of(random.Random(2), COLUMNS[:1], ["ID"], 20), Applied(20, 1))
    assert lake.newest_version() == before


def by_spark(lakes: Lakes) -> LakeTable:
    lake = lakes("BY_SPARK")
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
    return lake


def test_no_merge_takes_a_spark_job(session: SparkSession, lakes: Lakes) -> None:
    lake, chance = lakes(), random.Random(5)
    before = jobs_of(session)
    assert lake.create_of(changes_of(chance, COLUMNS, ["ID"], 1), CDC_TYPE, Applied(1, 1))
    assert not lake.create_of(changes_of(chance, COLUMNS, ["ID"], 1), CDC_TYPE, Applied(1, 1))
    for scn in range(2, 10):
        assert lake.merge_rows(changes_of(chance, COLUMNS, ["ID"], scn), Applied(scn, 1))
    assert (lake.applied(), len(lake.columns() or ())) == (Applied(9, 1), len(COLUMNS))
    assert jobs_of(session) == before
    assert snapshots_of(session, lake) == 9
    assert session.table(lake.name).schema == session.table(by_spark(lakes).name).schema
    deletes = session.sql(f"SELECT count(1) FROM {lake.name}.delete_files").collect()[0][0]
    data = session.sql(f"SELECT count(1) FROM {lake.name}.files WHERE content = 0").collect()[0][0]
    assert 0 < deletes <= data  # one of each data file at most


def test_small_merges_leave_little_metadata(session: SparkSession, lakes: Lakes, tmp_path: Path) -> None:
    """What a commit writes beside rows: its manifests, and a file that lists all versions."""
    chance, ours = random.Random(1), lakes()
    assert ours.create_of(changes_of(chance, COLUMNS, ["ID"], 10, 40), CDC_TYPE, Applied(10, 1))
    for n in range(2, 15):
        assert ours.mode() == "mirror"
        assert ours.merge_rows(changes_of(chance, COLUMNS, ["ID"], n * 10, 12), Applied(n * 10, 1))
    said = session.sql(f"SELECT count(1), count(summary['minercdc.mode']) FROM {ours.name}.snapshots").collect()[0]
    assert tuple(said) == (14, 14)  # so that the mode is found at once
    manifests = session.sql(f"SELECT count_if(content = 0), count_if(content = 1) FROM {ours.name}.manifests").collect()[0]
    assert max(manifests) <= 3
    versions = list((tmp_path / "lake").rglob("*.metadata.json"))
    assert len(versions) == 11
    assert all(version.name.endswith(".gz.metadata.json") for version in versions)


def test_a_commit_of_another_writer_is_a_conflict(
    lakes: Lakes, iceberg: Callable[..., Iceberg], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of maintenance that joins files between the reading and the commit."""
    lake = lakes()
    lake.create(COLUMNS, CDC_TYPE, "mirror", Applied())
    for scn in (10, 20):
        assert lake.merge_rows(changes_of(random.Random(scn), COLUMNS, ["ID"], scn), Applied(scn, 1))
    written = files.IcebergFiles.new_rows

    def late(self: Any, *given: Any) -> Any:
        lakes().compact(timedelta(days=1))
        return written(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(files.IcebergFiles, "new_rows", late)
        with pytest.raises(Exception, match="ValidationException") as raised:
            lake.merge_rows(changes_of(random.Random(3), COLUMNS, ["ID"], 30), Applied(30, 1))
    assert iceberg().is_conflict(raised.value)
    assert lake.applied() == Applied(20, 1)
    assert lake.merge_rows(changes_of(random.Random(3), COLUMNS, ["ID"], 30), Applied(30, 1))
    assert lake.applied() == Applied(30, 1)


RECORDS = pa.schema([("batch", pa.int64()), ("topic", pa.string()), ("at", pa.timestamp("us", "UTC"))])


def records(*batches: int) -> pa.Table:
    return pa.Table.from_pylist([{"batch": n, "topic": f"t{n % 2}", "at": n} for n in batches], RECORDS)


@pytest.fixture
def log(session: SparkSession, iceberg: Callable[..., Iceberg]) -> LogTable:
    return iceberg().changes(session)


def test_rows_are_appended_and_read_with_no_spark_job(session: SparkSession, log: LogTable) -> None:
    before = jobs_of(session)
    assert not log.exists()
    for number in (1, 2):
        assert log.append_here(records(number, number + 10), Once("w", number))
        assert log.append_here(records(99), Once("w", number)) is False
    assert log.append_here(records(3), Once("other", 1))
    parts = log.read_here(RowsAsked(10**6)) or []
    assert sorted(row["batch"] for part in parts for row in part.to_pylist()) == [1, 2, 3, 11, 12]
    for bounds, batches in (({"batch": (12, 20)}, [2, 12]), ({"batch": (2, 3), "topic": ("t2", "t3")}, [])):
        some = log.read_here(RowsAsked(10**6, bounds=bounds)) or []
        assert sorted(row["batch"] for part in some for row in part.to_pylist()) == batches
    assert jobs_of(session) == before
    assert sorted(row["batch"] for row in log.read().collect()) == [1, 2, 3, 11, 12]
    log.append(session.createDataFrame([(4, "t")], "batch BIGINT, topic STRING"), Once("w", 3))
    assert log.append_here(records(99), Once("w", 3)) is False


def test_rows_of_other_columns_or_with_deletes_are_left_to_spark(session: SparkSession, log: LogTable) -> None:
    assert log.append_here(records(1, 2))
    assert log.append_here(records(1).drop_columns(["at"])) is None
    log.delete("batch = 1")
    assert log.read_here(RowsAsked(10**6)) is None
    assert [row["batch"] for row in log.read().collect()] == [2]
    session.sql(f"ALTER TABLE {log.name} ADD COLUMNS (more STRING)")
    assert log.append_here(records(3)) is None


def test_a_column_that_is_added_is_null_in_older_files(lakes: Lakes) -> None:
    lake = lakes()
    lake.create(COLUMNS[:2], CDC_TYPE, "mirror", Applied())
    assert lake.merge_rows(changes_of(random.Random(1), COLUMNS[:2], ["ID"], 10), Applied(10, 1))
    key = TableColumn("LATER", "INT", "LATER")
    lake.take_all(lake.columns() or [], [AddColumn(key)])
    changes = changes_of(random.Random(2), [*COLUMNS[:2], key], ["LATER"], 20)
    before = lake.read().count()
    assert lake.merge_rows(changes, Applied(20, 1))
    assert lake.read().count() == before + sum(op != "d" for op in changes.rows.column("op").to_pylist())
