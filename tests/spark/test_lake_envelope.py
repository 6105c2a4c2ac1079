"""The members of envelopes that the change log reads from the end of the records' text, and what it finds in a batch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minercdc.config.load import parse_properties
from minercdc.lake.read.envelope import with_envelope
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.table.delta_log_table import CHANGES, DeltaLogTable
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.encoder import OtherEvents
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    Op,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionInfo,
    VanishedRow,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEEDED = {
    "topic.prefix": "shop",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "minercdc.kafka.bootstrap.servers": "k",
    "skipped.operations": "none",
}
TABLE = TableSchema(
    TableId("PDB", "SHOP", "ORDERS"), (Column("ID", "NUMBER", 9, 0, nullable=False), Column("T", "VARCHAR2", 4000)), key=(0,)
)
TX = TransactionInfo("0a001f00b3020000", Scn(95), Scn(103), 5_000_000, 7_000_000, 1, "SHOP")
CHANGE = ChangeEvent(Op.UPDATE, TABLE, ("1", "a"), ("1", "b"), Scn(101), 6_000_000, TX, 4, row_id="AAAR3sAAEAAAACXAAA")
FAKE = '","source":{"version":"1","ts_ms":9,"snapshot":"first","scn":"9","commit_scn":"9","row_id":"R","txSeq":9},"op":"d"'
IN_PLACE: dict[str, Event] = {
    "change": CHANGE,
    "insert": replace(CHANGE, op=Op.CREATE, before=None),
    "delete": replace(CHANGE, op=Op.DELETE, after=None),
    "row without ROWID": replace(CHANGE, row_id=None),
    "session without a user": replace(CHANGE, tx=replace(TX, user=None)),
    "row of a snapshot": replace(CHANGE, op=Op.READ, tx=None, seq=0, before=None, snapshot=SnapshotMark.TRUE),
    "row that was gone": VanishedRow(TABLE, b'{"ID":1}', Scn(101), 6_000_000),
    "truncate": SchemaChange(TABLE.id, TABLE, TABLE, "TRUNCATE TABLE ORDERS", Scn(101), 6_000_000, truncate=True),
    "wide row": replace(CHANGE, after=("1", "b" * 4000)),
    "row of many commas": replace(CHANGE, after=("1", "," * 2000)),
    "row cut within a character": replace(CHANGE, after=("1", "\N{EURO SIGN}" * 1000)),
    "row that looks like an envelope": replace(CHANGE, after=("1", FAKE)),
}
PARSED: dict[str, Event] = {
    "user with a comma": replace(CHANGE, tx=replace(TX, user='A,"scn":"7"')),
    "statement with commas": replace(CHANGE, redo_sql="insert into T(A, B) values ('1', '2')"),
    "table with a comma": replace(CHANGE, schema=replace(TABLE, id=TABLE.id._replace(table="A,B"))),
}


def record(event: Event, **properties: str) -> bytes:
    config = parse_properties({**NEEDED, **{name.replace("_", "."): value for name, value in properties.items()}})
    topics = TopicNames(config)
    encoder = envelope_encoder(config, topics, OtherEvents(schema_changes=False))
    (value,) = [one.value for one in encoder.encode(event) if one.value is not None]
    return value


def expected(value: bytes) -> dict[str, Any]:
    found = json.loads(value)
    found = found.get("payload", found)
    names = ("ts_ms", "snapshot", "scn", "commit_scn", "row_id", "commit_ts_ms", "txSeq")
    return {**{name: found["source"][name] for name in names}, "op": found["op"]}


def read(spark: SparkSession, *values: bytes, wrapped: bool = False) -> list[dict[str, Any]]:
    rows = spark.createDataFrame([(i, value) for i, value in enumerate(values)], "i INT, value BINARY")
    return [row["e"].asDict() for row in with_envelope(rows, wrapped=wrapped).orderBy("i").collect()]


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_members_are_those_of_the_document(spark: SparkSession, schemas: str) -> None:
    values = [record(event, value_converter_schemas_enable=schemas) for event in (*IN_PLACE.values(), *PARSED.values())]
    assert read(spark, *values, wrapped=schemas == "true") == [expected(value) for value in values]


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_the_images_are_kept_and_a_document_in_another_order_as_it_is(spark: SparkSession, schemas: str) -> None:
    in_place, parsed = (
        [record(event, value_converter_schemas_enable=schemas) for event in events.values()] for events in (IN_PLACE, PARSED)
    )
    rows = spark.createDataFrame(list(enumerate([*in_place, *parsed])), "i INT, value BINARY")
    found = [row["images"] for row in with_envelope(rows, wrapped=schemas == "true").orderBy("i").collect()]
    for text, value in zip(found, in_place, strict=False):
        document = json.loads(value)
        images = {name: image for name, image in document.get("payload", document).items() if name in ("before", "after")}
        assert json.loads(text) == ({"payload": images} if schemas == "true" else images)
        assert len(text) < len(value) - 500
    assert found[len(in_place) :] == [value.decode() for value in parsed]


def test_the_connectors_records_are_not_parsed(spark: SparkSession) -> None:
    """Then a text that does not begin as JSON does gives the same."""
    values = [record(event) for event in IN_PLACE.values()]
    found = read(spark, *(b"#" + value[1:] for value in values))
    for name, one, value in zip(IN_PLACE, found, values, strict=True):
        assert one == expected(value), name


def test_other_orders_of_members_are_parsed(spark: SparkSession) -> None:
    ordered = record(CHANGE, minercdc_source_sequence="true")
    with_transaction = record(CHANGE).replace(
        b'"transaction":null', b'"transaction":{"id":"T","total_order":1,"data_collection_order":1}'
    )
    of_another_writer = json.dumps(json.loads(record(CHANGE)), sort_keys=True, indent=1).encode()
    values = (ordered, with_transaction, of_another_writer)
    assert read(spark, *values) == [expected(value) for value in values]


def test_what_is_no_envelope_has_no_members(spark: SparkSession) -> None:
    values = [b"", b"null", b"{}", b"[1,2]", b'{"a":1,"op":"c"}', b"no JSON,at all", b"\xff\xfe\x00", b"," * 900]
    found = {value: one["scn"] for value, one in zip(values, read(spark, *values), strict=True)}
    assert found == dict.fromkeys(values)


def test_an_envelope_that_is_cut_has_no_members(spark: SparkSession) -> None:
    value = record(CHANGE)
    cut = [value[:end] for end in range(1, len(value) - 1, 7)]
    assert {one["scn"] for one in read(spark, *cut)} == {None}


def records(spark: SparkSession, *values: bytes | None, topic: str = "t") -> DataFrame:
    rows = [(b'{"ID":1}', value, topic, 0, offset, None) for offset, value in enumerate(values)]
    columns = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT"
    return spark.createDataFrame(rows, f"{columns}, headers ARRAY<STRUCT<key: STRING, value: BINARY>>")


def test_a_batch_of_one_topic_is_observed_as_it_would_be_read(spark: SparkSession, tmp_path: Path) -> None:
    values = parse_properties(NEEDED).values
    log = ChangeLog(spark, DeltaLogTable(spark, str(tmp_path / "log"), CHANGES), values)
    placeholder = f'"{values.unavailable_value_placeholder}"'.encode()
    for number, event in enumerate(IN_PLACE.values(), 1):
        lacking = record(CHANGE).replace(b'"b"', placeholder) if number % 2 else None
        found = log.append(records(spark, record(event), lacking, None), number, "w", number, one_topic=True)
        assert found == log.arrivals(f"batch = {number}")
        assert found is not None
        assert [(one.rows, one.partial) for one in found] == [(1 + number % 2, bool(number % 2))]


def test_what_was_not_written_or_is_of_other_topics_is_not_observed(spark: SparkSession, tmp_path: Path) -> None:
    log = ChangeLog(spark, DeltaLogTable(spark, str(tmp_path / "log"), CHANGES), parse_properties(NEEDED).values)
    value = record(CHANGE)
    assert log.append(records(spark, None), 1, "w", 1, one_topic=True) == []
    assert log.append(records(spark, value), 2, "w", 1, one_topic=True) is None  # the same micro-batch again
    assert log.arrivals("batch = 2") == []
    both = records(spark, value).union(records(spark, value, topic="other"))
    assert log.append(both, 3, "w", 2, one_topic=False) is None
    assert log.append(both, 4, "w", 3, one_topic=True) is None
    assert sorted(one.topic for one in log.arrivals("batch > 2")) == ["other", "other", "t", "t"]
