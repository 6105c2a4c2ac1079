"""Records of the change log that the driver's process reads: they are those that Spark reads of it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame
from tests.spark.connector import Connector
from tests.spark.histories import Killed
from tests.spark.lakes import jobs_of
from tests.spark.reading import frame
from tests.spark.test_lake import A, named
from tests.spark.test_lake_envelope import NEEDED

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake.merge import log_records
from minercdc.lake.merge.joint_read import JointRead
from minercdc.lake.merge.kept_records import KeptRecords
from minercdc.lake.merge.log_records import few_of, keep_pending, log_rows
from minercdc.lake.merge.pending import Limits
from minercdc.lake.merge.table_merge import TableMerge
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.stream import change_log
from minercdc.lake.stream.change_log import Arrival, ChangeLog
from minercdc.lake.stream.driver_scans import DriverScans
from minercdc.lake.table.delta import DeltaTable
from minercdc.lake.table.delta_log_table import CHANGES, STATE, DeltaLogTable
from minercdc.lake.table.state import _COLUMNS, Entry, StateTable
from minercdc.native.decoding import decode
from minercdc.schema.table import TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(decode is None, reason="the extension was not built")

TYPES = {
    "batch": pa.int64(),
    "topic": pa.string(),
    "partition": pa.int32(),
    **dict.fromkeys(("offset", "scn", "commit_scn", "seq"), pa.int64()),
    "commit_time": pa.timestamp("us", "UTC"),
    **dict.fromkeys(("initial", "partial", "long_number"), pa.bool_()),
}
NAMES = [column.split()[0] for column in change_log._SCHEMA.split(", ")]
TOPICS = ["s.T", "s.T" + "é" * 40, "s.T" + "é" * 40 + "𝄞", "zzz"]


def rows_of(chance: random.Random, batch: int, count: int) -> pa.Table:
    """Rows of a batch, in any order; some are no envelopes of ours."""
    found = []
    for offset in range(count):
        scn = chance.choice([None, *range(90, 120)])
        found.append(
            {
                "batch": batch,
                "topic": chance.choice(TOPICS[: 1 + batch % 4]),
                "partition": chance.randrange(3),
                "offset": batch * 1000 + offset,
                "op": chance.choice(["c", "u", "d", "r", "t", None]),
                "scn": scn,
                "commit_scn": None if scn is None else chance.choice([None, scn, scn + chance.randrange(20)]),
                "seq": chance.randrange(3),
                "commit_time": chance.choice([None, datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=offset)]),
                "row_id": chance.choice([None, f"AAA{offset}"]),
                "initial": False,
                "partial": chance.random() < 0.1,
                "long_number": chance.choice([True, False]),
                "key": chance.choice([None, f'{{"ID":{offset}}}']),
                "value": '{"after":"é𝄞"}' * chance.randrange(4),
                "unavailable": chance.choice([None, '["A"]']),
                "old_key": chance.choice([None, '{"ID":1}']),
            }
        )
    return pa.Table.from_pylist(found, pa.schema([(name, TYPES.get(name, pa.string())) for name in NAMES]))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> DeltaLogTable:
    return DeltaLogTable(own_session(spark), str(tmp_path / "log"), CHANGES)


@pytest.fixture
def log(table: DeltaLogTable) -> ChangeLog:
    return ChangeLog(table._spark, table, parse_properties(NEEDED).values)


def as_kept(table: DeltaLogTable, arrivals: list[Arrival], limits: Limits) -> list[str]:
    arrivals = [one for one in arrivals if one.topic == limits.topic and one.batch <= limits.batch]
    kept = KeptRecords()
    keep_pending(kept, table, arrivals)
    assert kept.has(arrivals)
    found = kept.of(limits, arrivals) or []
    return sorted(repr(tuple(row.values())) for part in found for row in part.to_pylist())


def in_spark(log: ChangeLog, asked: list[Limits]) -> list[list[str]]:
    """The rows within each of some limits, by one query."""
    names = [name for name in NAMES if name not in ("batch", "topic")]
    within = [f"({limits.condition()}) AS within{i}" for i, limits in enumerate(asked)]
    rows = log.rows().selectExpr(*names, *within).toArrow().to_pylist()
    return [sorted(repr(tuple(row[name] for name in names)) for row in rows if row[f"within{i}"]) for i in range(len(asked))]


def some_limits(chance: random.Random) -> Limits:
    scn, since, snapshot, read = (chance.choice([0, 0, *range(90, 110)]) for _ in range(4))
    return Limits(chance.choice(TOPICS), chance.randrange(12), 60 + scn, since, snapshot, read, chance.randrange(12), 100)


def test_the_rows_are_those_that_spark_reads(log: ChangeLog, table: DeltaLogTable) -> None:
    """Of files that were written by this process or by Spark, joined, and some of whose rows maintenance deleted; of a log that an older
    version began."""
    chance, spark = random.Random(4), log.spark
    table.append(from_arrow(spark, rows_of(chance, 1, 40), change_log._SCHEMA).drop("old_key", "long_number", "unavailable"))
    for batch in range(2, 9):
        rows = rows_of(chance, batch, chance.randrange(1, 60))
        if batch % 3:
            assert log.append_rows(rows, "w", batch, spark)
        else:
            table.append(from_arrow(spark, rows, change_log._SCHEMA))
        if batch == 5:
            spark.sql(f"OPTIMIZE {table.name}")
            table.delete("batch <= 2 AND coalesce(commit_scn, 0) <= 100")
    arrivals, filled = log.arrivals("1 = 1"), 0
    assert by_place(log.arrivals()) == by_place(arrivals)
    (spark_ends,) = [
        {(r[0], r[1]): r[2] + 1 for r in log.rows().groupBy("topic", "partition").agg({"offset": "max"}).collect()}
    ]
    assert log.ends() == spark_ends
    asked = [some_limits(chance) for _ in range(8)]
    for limits, wanted in zip(asked, in_spark(log, asked), strict=True):
        assert as_kept(table, arrivals, limits) == wanted
        filled += bool(wanted)
    assert filled >= 3


def by_place(arrivals: list[Arrival]) -> list[Arrival]:
    return sorted(arrivals, key=lambda one: (one.topic, one.batch))


def arrival(topic: str, batch: int, rows: int) -> Arrival:
    return Arrival(topic, batch, rows, 0, 0, (0, 0), 0, 0, undecodable=0, partial=False)


def test_few_are_those_of_the_smallest_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_records, "_MOST_RECORDS", 10)
    found = few_of([arrival("large", 1, 6), arrival("small", 1, 2), arrival("large", 2, 6), arrival("small", 2, 8)])
    assert found == [arrival("small", 1, 2), arrival("small", 2, 8)]


def test_too_many_bytes_are_left_to_spark(log: ChangeLog, table: DeltaLogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    for batch in (1, 2):
        log.append_rows(rows_of(random.Random(batch), batch, 50), "w", batch, log.spark)
    arrivals = log.arrivals()
    assert log_rows(table, arrivals)
    monkeypatch.setattr(log_records, "_MOST_BYTES", 1000)
    assert log_rows(table, arrivals) == {}


def test_rows_that_are_marked_as_deleted_are_left_to_spark(log: ChangeLog, table: DeltaLogTable) -> None:
    """Whoever has given the change log deletion vectors."""
    log.append_rows(rows_of(random.Random(1), 1, 50), "w", 1, log.spark)
    log.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    arrivals = log.arrivals()
    assert log_rows(table, arrivals)
    table.delete("offset = 1001")
    assert log_rows(table, log.arrivals()) == {}


def test_a_batch_that_lacks_rows_is_not_kept(log: ChangeLog, table: DeltaLogTable) -> None:
    log.append_rows(rows_of(random.Random(1), 4, 50), "w", 1, log.spark)
    arrivals, kept = log.arrivals(), KeptRecords()
    table.delete("offset = 4001")
    keep_pending(kept, table, arrivals)
    (lacking,) = [one for one in arrivals if not kept.has([one])]
    assert lacking.rows == next(one.rows for one in log.arrivals() if one.topic == lacking.topic) + 1


def test_the_record_is_read_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    session = own_session(spark)
    state = StateTable(session, DeltaLogTable(session, str(tmp_path / "state"), STATE))
    state.append([Entry("table", "S.T", 3, 7, 2), Entry("failed", "S.Ü", scn=7, detail="a\nb")])
    rows = [(datetime(1969, 12, 31, 23, 0, 0, 5, tzinfo=UTC), "complete", "", 0, 2**60, 2, "")]
    state.table.append(session.createDataFrame(rows, _COLUMNS))
    state.append([Entry("complete", scn=8, batch=3)])
    state.table.delete("kind = 'failed'")
    here = state._entries_here()
    assert here is not None
    assert sorted(here, key=repr) == sorted(state._entries_of_spark(), key=repr)
    assert len(here) == 3


def test_after_a_restart_no_merge_takes_a_spark_job(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what was scanned before it, and of what Spark scanned. A lost checkpoint, after which all topics are read again, changes no table."""
    tables = [named(A, f"A{i}") for i in range(5)]  # so many as Spark would read together
    for table in tables:
        connector.structure(table)
        connector.change(Op.CREATE, None, ("1", "1", None, "first"), table, row_id=f"AAA{table.id.table}1")
    connector.commit()
    with monkeypatch.context() as patch:
        patch.setattr(TableMerge, "run", failing)
        sync()
    without_spark(monkeypatch)
    before = jobs_of(spark)
    sync()
    assert jobs_of(spark) == before
    assert texts(spark, config, tables[:1]) == {"A0": ["first"]}
    for table in tables:
        connector.change(
            Op.UPDATE, ("1", "1", None, "first"), ("1", "1", None, "second"), table, row_id=f"AAA{table.id.table}1"
        )
        connector.change(Op.CREATE, None, ("2", "1", None, "new"), table, row_id=f"AAA{table.id.table}2")
    connector.commit()
    monkeypatch.setattr(DriverScans, "read", lambda *_: None)
    sync()
    both = {table.id.table: ["new", "second"] for table in tables}
    assert texts(spark, config, tables) == both
    shutil.rmtree(f"{config.lake.minercdc_lake_path}/_checkpoint")
    sync()
    assert texts(spark, config, tables) == both


def texts(spark: SparkSession, config: ConnectorConfig, tables: list[TableSchema]) -> dict[str, list[str]]:
    """T of the rows of each table, by one query."""
    parts = [frame(spark, config, "LAB", one.id.table).selectExpr(f"'{one.id.table}' AS name", "T") for one in tables]
    found: dict[str, list[str]] = {}
    for row in reduce(DataFrame.union, parts).collect():
        found.setdefault(row["name"], []).append(row["T"])
    return {name: sorted(each) for name, each in found.items()}


def failing(*_: object, **__: object) -> None:
    raise Killed


def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("merge", "replace", "append"):
        monkeypatch.setattr(DeltaTable, name, failing)
    monkeypatch.setattr(JointRead, "_last_records", failing)
