"""Micro-batches that the driver's process scans: the change log has what SQL makes of the same records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.examples import examples
from tests.spark.lakes import jobs_of
from tests.spark.test_lake_envelope import CHANGE, IN_PLACE, NEEDED, PARSED, record

from minercdc.config.load import parse_properties
from minercdc.config.sections import ValueConfig
from minercdc.lake.merge.scheduler import Merger
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.stream import change_log
from minercdc.lake.stream.change_log import OLD_KEY, ChangeLog
from minercdc.lake.stream.record_source import SegmentSource
from minercdc.lake.stream.scanned_batch import BatchScan, SourceRecord, arrival_of, log_rows
from minercdc.lake.table.delta_log_table import CHANGES, DeltaLogTable
from minercdc.lake.table.delta_retention import kept_by_delta
from minercdc.lake.table.format import Once
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER
from minercdc.native.decoding import decode
from minercdc.stream.counters.lake import LakeFigures

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.skipif(decode is None, reason="the extension was not built")

COLUMNS = (
    "topic STRING, partition INT, offset BIGINT, key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
LONG = b'"value":"QUJDREVGR0hJSktM"'
KEYS = [
    b'{"ID":1}',
    None,
    b'{"ROWID":"AAAR3sAAEAAAACXAAA"}',
    b'{"N":{"scale":0,' + LONG + b"}}",
    b'{"T":"a\\"b"}',
    b"\xff",
    b"",
]
SPLICES = [
    *(
        b'"',
        b",",
        b"}",
        b"{",
        b"\\",
        b"null",
        b"0",
        b"9" * 19,
        b'"r"',
        b'"t"',
        b"\xe2\x82",
        "é".encode(),
        b"__debezium_unavailable_value",
    ),
    *(
        LONG,
        b'"value":"QUJDREVGR0hJSktMX19',
        b',"source":{"version":"',
        b',"payload":{"before":',
        b'"op":"d"',
        b'"snapshot":"first"',
        b"-1",
    ),
]


def values_of(**properties: str) -> ValueConfig:
    return parse_properties({**NEEDED, **{name.replace("_", "."): value for name, value in properties.items()}}).values


def headers_of(chance: random.Random) -> list[tuple[str, bytes | None]] | None:
    found: list[list[tuple[str, bytes | None]] | None] = [
        None,
        [],
        [("other", b"x")],
        [(OLD_KEY, b'{"ID":7}'), (OLD_KEY, b'{"ID":8}')],
        [("other", None), (UNAVAILABLE_HEADER, b'["A","B"]')],
        [(UNAVAILABLE_HEADER, None), (OLD_KEY, b'{"N":{' + LONG + b"}}")],
    ]
    return chance.choice(found)


def damaged(value: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(3)):
        end = chance.random() < 0.6  # what the members say is there
        at = max(len(value) - chance.randrange(720), 0) if end else chance.randrange(len(value) + 1)
        value = value[:at] + chance.choice(SPLICES) + value[at + chance.randrange(5) :]
    return value


def odd_records(count: int, **properties: str) -> list[SourceRecord]:
    chance = random.Random(11)
    properties.pop("key_converter_schemas_enable", None)  # the event of a row that was gone has a key without a schema here
    seeds = [record(event, **properties) for event in (*IN_PLACE.values(), *PARSED.values())]
    return [
        SourceRecord("t", offset % 3, offset, chance.choice(KEYS), damaged(chance.choice(seeds), chance), headers_of(chance))
        for offset in range(count)
    ]


def in_sql(spark: SparkSession, values: ValueConfig, records: Sequence[SourceRecord]) -> dict[int, dict[str, Any]]:
    given = [(*one[:5], one.headers) for one in records]
    log = ChangeLog(spark, DeltaLogTable(spark, "none", CHANGES), values)
    return shown(log._parsed(spark.createDataFrame(given, COLUMNS), 4))


def shown(rows: DataFrame) -> dict[int, dict[str, Any]]:
    texts = ("op", "row_id", "key", "value", "unavailable", "old_key")  # of which some are no UTF-8
    selected = [f"CAST({name} AS BINARY) AS {name}" if name in texts else name for name in rows.columns]
    return {row["offset"]: row.asDict() for row in rows.selectExpr(*selected).collect()}


def scanned(spark: SparkSession, values: ValueConfig, records: Sequence[SourceRecord]) -> dict[int, dict[str, Any]]:
    """Of the records that are not left to SQL, each of them in a scan of its own."""
    batches: list[pa.RecordBatch] = []
    for one in records:
        scan = BatchScan(values)
        if scan.add(one) and (rows := scan.rows()):
            batches += log_rows(rows, 4)
    return shown(from_arrow(spark, pa.Table.from_batches(batches), change_log._SCHEMA))


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"value_converter_schemas_enable": "true", "key_converter_schemas_enable": "true"},
        {"unavailable_value_placeholder": "b", "binary_handling_mode": "hex"},
    ],
    ids=["plain", "with schemas", "short placeholder"],
)
def test_a_record_has_the_columns_that_sql_reads_or_is_left(spark: SparkSession, properties: dict[str, str]) -> None:
    values, records = values_of(**properties), odd_records(examples(2_000), **properties)
    wanted, found = in_sql(spark, values, records), scanned(spark, values, records)
    assert len(found) > len(records) // 5
    for offset, row in found.items():
        assert row == wanted[offset], records[offset]


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_the_connector_writes_is_not_left(name: str) -> None:
    scan = BatchScan(values_of())
    assert scan.add(SourceRecord("t", 0, 1, b'{"ID":1}', record(IN_PLACE[name]), None))
    assert (scan.rows() or {})["t"].num_rows == 1


def test_a_batch_is_summed_up_as_the_change_log_is(spark: SparkSession, tmp_path: Path) -> None:
    values = values_of()
    log = ChangeLog(spark, DeltaLogTable(spark, str(tmp_path / "log"), CHANGES), values)
    chance = random.Random(3)
    events = list(IN_PLACE.values())
    for batch in range(1, 8):
        scan = BatchScan(values)
        for offset in range(chance.randrange(1, 6)):
            topic, key = chance.choice("uvw"), chance.choice(KEYS[:2])
            assert scan.add(SourceRecord(topic, 0, offset, key, record(chance.choice(events)), headers_of(chance)))
        assert scan.add(SourceRecord("tombstones", 0, 9, b"{}", None, None))
        rows = scan.rows()
        assert rows is not None
        assert log.append_rows(pa.Table.from_batches(log_rows(rows, batch)), "w", batch, spark)
        found = sorted((arrival_of(topic, batch, part) for topic, part in rows.items()), key=lambda one: one.topic)
        assert found == sorted(log.arrivals(f"batch = {batch}"), key=lambda one: one.topic)


def test_rows_after_a_chunk_without_rows_are_read(spark: SparkSession) -> None:
    chunks = [pa.record_batch({"n": pa.array(numbers, pa.int64())}) for numbers in ([1], [], [2], [])]
    assert [row["n"] for row in from_arrow(spark, pa.Table.from_batches(chunks), "n BIGINT").collect()] == [1, 2]


def test_a_micro_batch_is_appended_once(spark: SparkSession, tmp_path: Path) -> None:
    """And with no Spark job, but where the version's checksum is not there, which says what was appended."""
    kept = kept_by_delta(parse_properties(NEEDED).lake)
    log = ChangeLog(spark, DeltaLogTable(own_session(spark), str(tmp_path / "log"), CHANGES, kept), values_of())
    scan = BatchScan(values_of())
    assert scan.add(SourceRecord("t", 0, 1, b'{"ID":1}', record(CHANGE), None))
    rows = pa.Table.from_batches(log_rows(scan.rows() or {}, 1))
    before = jobs_of(spark)
    assert [log.append_rows(rows, "w", number, spark) for number in (1, 1, 2)] == [True, False, True]
    assert log.append_rows(rows.slice(0, 0), "w", 3, spark)
    assert [log.append_rows(rows, "w", number, spark) for number in (3, *range(4, 14))] == [False, *[True] * 10]
    assert jobs_of(spark) == before
    assert log.rows().count() == 12
    java_class(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    for checksum in (tmp_path / "log" / "_delta_log").glob("*.crc"):  # as after a kill just after the commit
        checksum.unlink()
    assert not log.append_rows(rows, "w", 13, spark)
    assert log.append_rows(rows, "w", 14, spark)


def test_commits_of_several_threads_in_one_session_take_no_spark_job(spark: SparkSession, tmp_path: Path) -> None:
    """As of the stream's thread and of the one that merges: to the change log, and to the lake's record."""
    session, rows = own_session(spark), pa.table({"n": pa.array([1], pa.int64())})
    kept = kept_by_delta(parse_properties(NEEDED).lake)
    tables = [DeltaLogTable(session, str(tmp_path / name), {}, kept) for name in ("one", "other")]
    before = jobs_of(spark)
    with ThreadPoolExecutor(2) as pool:
        for made in (6, 0):
            done = pool.map(lambda table: [table.append_here(rows, Once("w", number)) for number in range(6)], tables)
            assert [found.count(True) for found in done] == [made, made]
    assert jobs_of(spark) == before


def test_a_micro_batch_without_rows_makes_the_change_log(spark: SparkSession, tmp_path: Path) -> None:
    """Such as one of tombstones, or of a connector's own topics in its segments. Merges and maintenance look for the change log."""
    config = parse_properties(NEEDED | segments_at(tmp_path))
    merger = Merger(spark, config, SegmentSource(config), LakeFigures())
    before = jobs_of(spark)
    for number in (1, 2):
        merger.append_scanned({}, "w", number)
    assert jobs_of(spark) == before
    log = ChangeLog(spark, DeltaLogTable(spark, str(tmp_path / "lake" / "_changes"), CHANGES), config.values)
    assert log.exists()
    assert (log.arrivals(), log.rows().count(), log.table.newest_version()) == ([], 0, 0)
    merger.close()


def segments_at(directory: Path) -> dict[str, str]:
    return {
        "debezium.sink.type": "segments",
        "minercdc.sink.path": str(directory),
        "minercdc.lake.path": str(directory / "lake"),
    }


def test_what_another_lake_has_appended_is_merged_by_this_one_too(spark: SparkSession, tmp_path: Path) -> None:
    """As of a process that still ends when the next one has begun with the same micro-batch."""
    config = parse_properties(NEEDED | segments_at(tmp_path))
    mergers = [Merger(spark, config, SegmentSource(config), LakeFigures()) for _ in range(2)]
    scan = BatchScan(config.values)
    assert scan.add(SourceRecord("t", 0, 1, b'{"ID":1}', record(CHANGE), None))
    rows = scan.rows() or {}
    for number, merger in ((1, mergers[0]), (2, mergers[0]), (1, mergers[1]), (2, mergers[1]), (3, mergers[1])):
        merger.append_scanned(rows, "w", number)
    found = [sorted((one.batch, one.rows) for one in merger._arrivals.of("t")) for merger in mergers]
    assert found == [[(1, 1), (2, 1)], [(1, 1), (2, 1), (4, 1)]]
    for merger in mergers:
        merger.close()


def test_a_log_of_an_older_version_is_appended_to_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """It lacks columns, which Spark adds."""
    table = DeltaLogTable(spark, str(tmp_path / "log"), CHANGES)
    log = ChangeLog(spark, table, values_of())
    scan = BatchScan(values_of())
    assert scan.add(SourceRecord("t", 0, 1, b'{"ID":1}', record(CHANGE), None))
    rows = pa.Table.from_batches(log_rows(scan.rows() or {}, 1))
    table.append(from_arrow(spark, rows, change_log._SCHEMA).drop("old_key", "long_number"))
    assert table.append_here(rows, Once("w", 1)) is None
    assert log.append_rows(rows, "w", 1, spark)
    assert table.append_here(rows, Once("w", 2)) is True  # no column is missing now
    assert log.rows().count() == 3
