"""The configuration of a chain, and how it stands among encoders, runs and formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from tests.unit.messages.formats.test_avro import parts
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, encoder, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured, parsed, records

from minercdc.config.transforms.options import PREDICATES, TRANSFORMATIONS
from minercdc.errors import ConfigError, DecodeError, LakeError, RecordSchemaError
from minercdc.lake.table.history import TableHistories
from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.refused_topics import Refusal, RefusedTopics
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.sinks.opening import not_read_back
from minercdc.stream.contracts import EncodedRun, Record
from minercdc.stream.events import ChangeRun, Op, ReadRun, SchemaChange, Scn, UndecodableRow

ROOT = Path(__file__).parents[4]
INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)


def problems(properties: dict[str, str]) -> Sequence[str]:
    with pytest.raises(ConfigError) as caught:
        configured(properties)
    return caught.value.problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"transforms.t0.type": "com.example.Mine"},
            "transforms.t0.type: com.example.Mine cannot run here: Java classes",
        ),
        ({"transforms.t0.type": ""}, "transforms.t0.type: needed"),
        ({"transforms.t0.type": f"{KAFKA}ReplaceField"}, "did you mean org.apache.kafka.connect.transforms.ReplaceField$"),
        (
            {"transforms.t0.type": "io.debezium.transforms.partitions.PartitionRouting"},
            "cannot run here; minercdc.topic.partition.columns chooses the partition by columns of the key",
        ),
        ({"transforms.t0.add.feilds": "op"}, "transforms.t0.add.feilds: this transformation has no such option"),
        ({"transforms.t0.add.fields": "a.b.c"}, "transforms.t0: add.fields, add.headers: a.b.c is not of the form"),
        ({"transforms.t0.predicate": "p"}, "transforms.t0.predicate: predicates does not list p"),
        ({"transforms.t0.negate": "true"}, "transforms.t0.negate: has no effect without transforms.t0.predicate"),
        ({"transforms.t1.type": UNWRAP}, "transforms.t1.type: transforms does not list it"),
        ({"transforms": "t0,t0"}, "transforms: t0 is listed twice"),
        ({"predicates": "p", "predicates.p.type": "Mine"}, "predicates.p.type: Mine cannot run here"),
        (
            {"transforms.t0.predicate": "p", "predicates": "p", "predicates.p.type": "Mine"},
            "predicates.p.type: Mine cannot run here",
        ),
        (
            {"transforms.t0.delete.tombstone.handling.mode": "keep"},
            "transforms.t0.delete.tombstone.handling.mode: 'keep' is not one of drop, tombstone",
        ),
    ],
)
def test_problems_of_a_chain_are_named(change: dict[str, str], problem: str) -> None:
    (found,) = problems(chain((UNWRAP, {})) | change)
    assert problem in found


def test_every_problem_is_reported_at_once() -> None:
    assert len(problems(chain(("A", {}), (f"{KAFKA}RegexRouter", {"regex": "("}), ("B", {})))) == 4


def test_names_may_have_dots() -> None:
    found = configured({"transforms": "a,a.b", "transforms.a.type": UNWRAP, "transforms.a.b.type": UNWRAP}).transforms
    assert [one.name for one in found] == ["a", "a.b"]


def test_dead_letters_stay_as_they_are() -> None:
    row = UndecodableRow(ORDERS.id, "INSERT", "why", "insert ..", Scn(1), 0, None, 0)
    step = (f"{KAFKA}RegexRouter", {"regex": ".*", "replacement": "x"})
    printing = encoder(by_number=(True, True))
    printing._dead_letters = "dead"
    (record,) = RecordTransformer(chain_of(configured(chain(step)).transforms)).encoder(printing).encode(row)
    assert record.topic == "dead"


def test_records_of_no_row_go_on_where_a_transformation_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    change = SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)
    steps = ((f"{KAFKA}RegexRouter", {"regex": ".*", "replacement": "x"}), (f"{KAFKA}ValueToKey", {"fields": "STATUS"}))
    found = records(chain(*steps), change, change)
    assert [record.topic for record in found] == ["shop", "shop"]
    assert [parsed(record.key) for record in found] == [{"databaseName": "SHOPPDB"}] * 2
    assert caplog.text.count("go on without transformation: transforms.t1: the value has no field STATUS") == 1


@pytest.mark.parametrize("schemas", [False, True])
def test_without_a_change_the_records_are_the_encoders_own(schemas: bool) -> None:
    nothing = chain((f"{KAFKA}RegexRouter", {"regex": "x", "replacement": "y"}))
    enabled = {"key_converter_schemas_enable": str(schemas).lower(), "value_converter_schemas_enable": str(schemas).lower()}
    change = SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)
    plain = encoder(by_number=(False, False), **enabled)
    events = (INSERT, UPDATE, DELETE, change)
    assert records(nothing, *events, schemas=schemas) == [record for one in events for record in plain.encode(one)]


def test_unwrapped_rows_have_fastavros_bytes() -> None:
    properties = chain(
        (UNWRAP, {"add.fields": "op,before.TOTAL,scn,source.snapshot", "delete.tombstone.handling.mode": "rewrite"})
    )
    for record in records(properties, INSERT, DELETE, schemas=True):
        for document in (record.key, record.value):
            schema, payload = parts(document)
            avro, written = json.loads(avro_text(avro_schema(schema))), BytesIO(compile_writer(schema)(json.loads(payload)))
            read: Any = fastavro.schemaless_reader(written, fastavro.parse_schema(avro), None)
            assert list(read) == list(json.loads(payload))
        assert (avro["namespace"], avro["name"], avro["fields"][-2]["name"]) == ("shop.SALES.ORDERS", "Value", "__scn")


class _Run:
    """An encoder of runs whose rows have one record each, or two."""

    def __init__(self, statuses: Sequence[str], each: int = 1) -> None:
        self._rows = [
            list(encoder(by_number=(True, True)).encode(event(Op.CREATE, None, ("1", status, "1", None)))) * each
            for status in statuses
        ]

    def __call__(self, run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        done: list[Record] = []
        at = begin
        while at < len(self._rows) and len(done) < most_records:
            done += self._rows[at]
            at += 1
        return EncodedRun(done, at - begin, 0, (at - begin, 0, 0, 0), {}, 0)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("bad", [0, 1, 5, 7])
def test_a_run_ends_before_a_row_that_does_not_fit(bad: int, each: int) -> None:
    statuses = ["7"] * 8
    statuses[bad] = "x"
    transformer = RecordTransformer(
        chain_of(configured(chain((UNWRAP, {}), (f"{KAFKA}Cast$Value", {"spec": "STATUS:int32"}))).transforms)
    )
    encoded = transformer.run_encoder(_Run(statuses, each))(ChangeRun(None), 0, 100, 100)  # type: ignore[arg-type]
    assert encoded.rows == bad
    assert len(encoded.records) == bad * each


def test_a_topic_that_kafka_refused_is_a_failure_of_the_rows_that_are_routed_there() -> None:
    refused = RefusedTopics()
    refused.note("orders", Refusal("INVALID_RECORD", ""))
    routed = chain((f"{KAFKA}RegexRouter", {"regex": ".*", "replacement": "orders"}))
    transformer = RecordTransformer(chain_of(configured(routed).transforms), refused=refused)
    encoded = transformer.run_encoder(_Run("ab"))(ChangeRun(None), 0, 100, 100)  # type: ignore[arg-type]
    assert encoded.rows == 0, "the publisher encodes them one by one"
    with pytest.raises(RecordSchemaError, match="INVALID_RECORD"):
        transformer.records(_Run("a")(ChangeRun(None), 0, 1, 1).records)  # type: ignore[arg-type]


def test_rows_that_are_left_out_count_as_encoded() -> None:
    filtered = chain((f"{DEBEZIUM}Filter", {"language": "cel", "condition": "value.after.STATUS == 'a'"}))
    transformer = RecordTransformer(chain_of(configured(filtered).transforms))
    encoded = transformer.run_encoder(_Run("abab"))(ChangeRun(None), 0, 100, 100)  # type: ignore[arg-type]
    assert (encoded.rows, len(encoded.records)) == (4, 2)


def test_a_record_that_does_not_fit_names_table_key_and_transformation() -> None:
    with pytest.raises(DecodeError) as caught:
        records(chain((UNWRAP, {}), (f"{KAFKA}Cast$Value", {"spec": "STATUS:int32"})), INSERT)
    assert caught.value.message == (
        'transforms.t1: STATUS: NEW cannot be cast to int32 (table SALES.ORDERS, key {"ORDER_ID":70021}, scn 8842017)'
    )


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("an order", "'an order', which cannot be the name of a topic"),
        ("..", "cannot be the name"),
        ("x" * 250, "cannot be the name"),
        ("shop-offsets", "shop-offsets, where the connector keeps its own state .minercdc.offset.topic."),
    ],
)
def test_a_topic_that_kafka_does_not_take_is_an_error_of_the_row(topic: str, why: str) -> None:
    steps = chain((f"{KAFKA}RegexRouter", {"regex": ".*", "replacement": topic}))
    made = RecordTransformer(chain_of(configured(steps).transforms), {"shop-offsets": "minercdc.offset.topic"}).encoder(
        encoder(by_number=(True, True))
    )
    with pytest.raises(DecodeError, match=f"a record is routed to .*{why}"):
        made.encode(INSERT)


def test_transformed_records_are_not_read_back() -> None:
    config = configured(chain((UNWRAP, {})))
    assert not_read_back(config) == "records that transforms have changed cannot be read back"
    with pytest.raises(LakeError, match=r"the records of this connector are transformed \(t0\)"):
        TableHistories(config)


def test_the_page_names_every_class_and_option() -> None:
    page = (ROOT / "docs" / "transforms.md").read_text()
    short = {
        name.split("$")[0].removeprefix(KAFKA).removeprefix(DEBEZIUM).removeprefix("predicates.")
        for name in (*TRANSFORMATIONS, *PREDICATES)
    }
    assert not {name for name in short if f"`{name}" not in page}
    options = {
        field.alias for one in (*TRANSFORMATIONS.values(), *PREDICATES.values()) for field in one.model_fields.values()
    }
    assert not {name for name in options if f"`{name}`" not in page and f"`{name}=" not in page}


def test_every_built_in_class_is_made_by_the_catalog() -> None:
    """With the least options that it takes."""
    least = {
        "regex": ".*", "replacement": "x", "topic.regex": ".*", "topic.replacement": "x", "language": "cel", "condition": "true",
        "topic.expression": "topic", "fields": "a", "headers": "h", "operation": "copy", "header": "h", "value.literal": "v",
        "converted.timezone": "UTC", "static.field": "f", "static.value": "v", "field": "f", "spec": "int32", "target.type": "unix",
    }  # fmt: skip
    for name, options in TRANSFORMATIONS.items():
        taken = {field.alias for field in options.model_fields.values() if field.is_required()}
        if name.split("$")[0].endswith("InsertField"):
            taken |= {"static.field", "static.value"}
        assert chain_of(configured(chain((name, {o: least[o] for o in taken if o}))).transforms)
    assert len(PREDICATES) == 3


def test_the_version_of_a_plugin_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka Connect has it from 4.1 on, of transformations and predicates."""
    step = (f"{KAFKA}DropHeaders", {"headers": "a", "plugin.version": "4.1.0", "predicate": "rows"})
    rows = (f"{KAFKA}predicates.RecordIsTombstone", {"plugin.version": "4.1.0"})
    configured(chain(step, rows=rows))
    assert "transforms.t0.plugin.version has no effect" in caplog.text
    assert "predicates.rows.plugin.version has no effect" in caplog.text
