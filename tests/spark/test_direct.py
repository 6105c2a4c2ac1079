"""format("minercdc"): batches, restarts, limits, retention and DDL over segments that the test writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from tests.spark.direct_query import in_time
from tests.spark.segments import SegmentConnector, opened, segment_config

from minercdc.config.load import load_config
from minercdc.errors import MinerCdcError
from minercdc.lake import read_changes
from minercdc.lake.source.segments import MinercdcSource
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.segments.reader import SegmentLog
from minercdc.stream.events import UNAVAILABLE, Op

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

T = TableSchema(
    TableId("PDB", "LAB", "T"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("N", "NUMBER", 9, 0), Column("C", "CLOB")),
    key=(0,),
)
U = replace(T, id=TableId("PDB", "LAB", "U"))


def stream(spark: SparkSession, file: Path, **options: object) -> DataFrame:
    reader = spark.readStream.format("minercdc").option("config", str(file)).option("run", "false")
    return reader.options(**options).load()


class Target:
    """What a query wrote, batch by batch; the same batch may come twice after a restart."""

    def __init__(self, directory: Path) -> None:
        self.checkpoint = directory / "checkpoint"
        self.batches: list[tuple[int, list[dict[str, Any]]]] = []
        self.fails: Callable[[int], bool] = lambda _: False

    def start(self, rows: DataFrame, **trigger: Any) -> StreamingQuery:
        return (
            rows.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**trigger)
            .start()
        )

    def run(self, rows: DataFrame) -> None:
        assert in_time(lambda: self.start(rows, availableNow=True).awaitTermination(600))

    def running(self, rows: DataFrame) -> StreamingQuery:
        """A query that has read what is there, and goes on."""

        def start() -> StreamingQuery:
            query = self.start(rows, processingTime="0 seconds")
            query.processAllAvailable()
            return query

        return in_time(start)

    def _take(self, rows: DataFrame, number: int) -> None:
        self.batches.append((number, [row.asDict(recursive=True) for row in rows.collect()]))
        if self.fails(number):
            raise RuntimeError("killed")

    def rows(self) -> list[dict[str, Any]]:
        return [row for _, rows in self.batches for row in rows]


def writes(connector: SegmentConnector, first: int, count: int, table: TableSchema = T) -> None:
    """A commit for each row."""
    for number in range(first, first + count):
        connector.change(Op.CREATE, None, (str(number), "7", "text"), table)
        connector.commit()


def test_records_come_as_kafka_has_them(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path, minercdc_sink_segment_bytes=2000)
    connector, target = opened(file), Target(tmp_path)
    connector.structure(T)
    writes(connector, 1, 2)
    connector.change(Op.DELETE, ("1", "7", "text"), None)
    connector.commit()
    target.run(stream(spark, file))
    rows = target.rows()
    assert [(row["topic"], row["offset"], row["partition"]) for row in rows if row["topic"] == "p.LAB.T"] == [
        ("p.LAB.T", number, 0) for number in (1, 2, 3, 4)
    ]
    assert [row["key"] and json.loads(row["key"]) for row in rows[1:]] == [{"ID": 1}, {"ID": 2}, {"ID": 1}, {"ID": 1}]
    assert [row["value"] and json.loads(row["value"])["op"] for row in rows[1:]] == ["c", "c", "d", None]
    assert len(SegmentLog(tmp_path / "segments").numbers()) > 1
    connector.sink.close()


def test_a_batch_that_failed_comes_again_with_the_same_rows_whatever_was_written_since(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = segment_config(tmp_path)
    connector, target = opened(file), Target(tmp_path)
    connector.structure(T)
    connector.commit()
    writes(connector, 1, 10)
    target.fails = lambda number: number == 1
    rows = stream(spark, file, table="LAB.T", maxOffsetsPerTrigger=4)
    with pytest.raises(StreamingQueryException, match="killed"):
        target.run(rows)
    writes(connector, 11, 5)
    target.fails = lambda _: False
    target.run(rows)
    failed, again = (rows for number, rows in target.batches if number == 1)
    assert failed == again
    assert [row["key"]["ID"] for number, rows in target.batches if rows is not failed for row in rows] == list(range(1, 16))
    connector.sink.close()


def test_typed_changes_are_those_of_read_changes(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path)
    connector = opened(file)
    connector.structure(T)
    connector.structure(U)
    connector.change(Op.CREATE, None, ("1", "7", "text"), T)
    connector.change(Op.CREATE, None, ("9", "9", "other"), U)
    wide = replace(T, columns=(T.columns[0], Column("M", "NUMBER", 12, 2), T.columns[2]), version=2)
    connector.alter(T, "ALTER TABLE lab.t RENAME COLUMN n TO m", wide)
    connector.change(Op.UPDATE, ("1", "7", UNAVAILABLE), ("1", "8.5", UNAVAILABLE), wide)
    connector.change(Op.DELETE, ("1", "8.5", "text"), None, wide)
    connector.commit()
    (tmp_path / "sql").mkdir()
    ours, sql = Target(tmp_path), Target(tmp_path / "sql")
    ours.run(stream(spark, file, table="LAB.T"))
    sql.run(read_changes(spark, load_config(file), table="LAB.T"))
    assert ours.rows() == sql.rows()
    assert [(row["op"], row["key"], row["before"], row["after"]) for row in ours.rows()] == [
        ("c", {"ID": 1}, None, {"ID": 1, "M": Decimal("7.00"), "C": "text"}),
        ("u", {"ID": 1}, {"ID": 1, "M": Decimal("7.00"), "C": None}, {"ID": 1, "M": Decimal("8.50"), "C": None}),
        ("d", {"ID": 1}, {"ID": 1, "M": Decimal("8.50"), "C": "text"}, None),
    ]
    by_sql = read_changes(spark, load_config(file), table="LAB.T").schema.simpleString()
    assert stream(spark, file, table="LAB.T").schema.simpleString() == by_sql
    (tmp_path / "all").mkdir()
    topics = Target(tmp_path / "all")
    topics.run(read_changes(spark, load_config(file)))
    assert {row["topic"] for row in topics.rows()} == {"p.LAB.T", "p.LAB.U"}
    connector.sink.close()


def test_a_query_ends_at_ddl_that_it_does_not_know_and_goes_on_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = segment_config(tmp_path)
    connector, target = opened(file), Target(tmp_path)
    connector.structure(T)
    writes(connector, 1, 2)
    query = target.running(stream(spark, file, table="LAB.T"))
    wide = replace(T, columns=(T.columns[0], Column("N", "NUMBER", 12, 2), T.columns[2]), version=2)
    connector.alter(T, "ALTER TABLE lab.t MODIFY (n NUMBER(12,2))", wide)
    connector.change(Op.CREATE, None, ("3", "9.5", "text"), wide)
    connector.commit()
    with pytest.raises(StreamingQueryException) as raised:
        query.processAllAvailable()
    assert re.search(r"LAB.T has a different structure since SCN \d+.*MODIFY \(n NUMBER", str(raised.value), re.DOTALL)
    target.run(stream(spark, file, table="LAB.T"))
    assert [row["after"]["N"] for row in target.rows()] == [7, 7, Decimal("9.50")]
    connector.sink.close()


def test_segments_that_were_read_are_removed_when_retention_says_so(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path, minercdc_sink_segment_bytes=1024, minercdc_sink_retention="delete")
    connector, target = opened(file), Target(tmp_path)
    connector.structure(T)
    writes(connector, 1, 6)
    numbers = SegmentLog(tmp_path / "segments").numbers()
    assert len(numbers) > 2
    for _ in range(2):  # Spark commits a batch when it plans the next one
        target.run(stream(spark, file, table="LAB.T", maxOffsetsPerTrigger=3))
        writes(connector, 7, 1)
    left = SegmentLog(tmp_path / "segments").numbers()
    assert left[0] > numbers[0]
    assert left[-1] >= numbers[-1]
    ids = [row["key"]["ID"] for row in target.rows()]
    assert ids == [*range(1, 7), 7]
    connector.sink.close()


def test_a_checkpoint_of_other_segments_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path)
    for name in ("first", "second"):
        connector, target = opened(file), Target(tmp_path)
        connector.structure(T)
        writes(connector, 1, 2)
        connector.sink.close()
        if name == "second":
            with pytest.raises(StreamingQueryException, match="were started over after the query read"):
                target.run(stream(spark, file))
        else:
            target.run(stream(spark, file))
            (tmp_path / "segments").rename(tmp_path / "gone")


def test_damage_ends_the_query_with_file_and_byte(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path)
    connector, target = opened(file), Target(tmp_path)
    connector.structure(T)
    writes(connector, 1, 2)
    connector.sink.close()
    (path,) = (tmp_path / "segments").glob("*.segment")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StreamingQueryException, match=r"0000000000000001.segment is damaged at byte \d+"):
        target.run(stream(spark, file))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option config: needed"),
        ({"config": "gone.yaml"}, "No such file"),
        ({"config": "{file}", "tabel": "x"}, "option tabel: not one of"),
        ({"config": "{file}", "run": "maybe"}, "option run: 'maybe' is not true or false"),
        ({"config": "{file}", "table": "LAB.X", "run": "false"}, "no table LAB.X"),
        ({"config": "{kafka}"}, "reads segments, not kafka"),
    ],
)
def test_options_that_cannot_be_are_named(tmp_path: Path, options: dict[str, str], message: str) -> None:
    """As Spark asks the source in a process of its own, which the next test has it do."""
    kafka = tmp_path / "kafka.yaml"
    file = segment_config(tmp_path)
    kafka.write_text(
        "".join(line for line in file.read_text().splitlines(keepends=True) if "sink" not in line)
        + "minercdc.kafka.bootstrap.servers: x\n"
    )
    given = {name: value.format(file=file, kafka=kafka) for name, value in options.items()}
    with pytest.raises(MinerCdcError, match=message):
        MinercdcSource(given).schema()


def test_spark_says_what_is_wrong_with_an_option(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"no table LAB\.X"):
        stream(spark, segment_config(tmp_path), table="LAB.X")


def test_tables_of_one_name_in_two_databases_are_two(spark: SparkSession, tmp_path: Path) -> None:
    file = segment_config(tmp_path, database_pdb_name="PDB, OTHER")
    connector = opened(file)
    narrow = replace(T, id=TableId("OTHER", "LAB", "T"), columns=T.columns[:2])
    for table, row in ((T, ("1", "7", "text")), (narrow, ("2", "8"))):
        connector.structure(table)
        connector.change(Op.CREATE, None, row, table)
        connector.commit()
    connector.sink.close()
    found = []
    for name in ("PDB.LAB.T", "OTHER.LAB.T"):
        target = Target(tmp_path / name)
        target.run(stream(spark, file, table=name))
        found += [row["after"] for row in target.rows()]
    assert found == [{"ID": 1, "N": 7, "C": "text"}, {"ID": 2, "N": 8}]
    with pytest.raises(PySparkException, match=r"LAB\.T is a table of several pluggable databases"):
        stream(spark, file, table="LAB.T")
