"""Topics chosen by their names, by expressions and by rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.test_envelope import LOG, NEW, ORDERS, PAID, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured, parsed, records

from minercdc.errors import ConfigError, DecodeError, RecordSchemaError
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Op, SchemaChange, Scn

INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)
DDL = SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)


def topics(properties: dict[str, str], *events: Any) -> list[str]:
    return [record.topic for record in records(properties, *events)]


@pytest.mark.parametrize(
    ("regex", "replacement", "expected"),
    [
        (r"shop\.(.*)\.(.*)", "$2-of-$1", "ORDERS-of-SALES"),
        (r"(?<all>.*)", r"${all}\-", "shop.SALES.ORDERS-"),
        ("SALES", "x", "shop.SALES.ORDERS"),
        ("(shop)(?!x).*", "$1", "shop"),
    ],
)
def test_regex_router_writes_groups_as_java_does(regex: str, replacement: str, expected: str) -> None:
    assert topics(chain((f"{KAFKA}RegexRouter", {"regex": regex, "replacement": replacement})), INSERT) == [expected]


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        (f"{KAFKA}RegexRouter", {"regex": "(.*)", "replacement": "$3"}, r"replacement: \$3 has \$3"),
        (f"{KAFKA}RegexRouter", {"regex": "(?<a>.*)", "replacement": r"\${b}${b}"}, r"replacement: .* has \$\{b\}"),
        (
            f"{DEBEZIUM}ByLogicalTableRouter",
            {"topic.regex": "(.*)", "topic.replacement": "$2"},
            r"topic.replacement: \$2 has",
        ),
        (f"{DEBEZIUM}outbox.EventRouter", {"route.topic.replacement": "${x}"}, r"route.topic.replacement: \$\{x\} has"),
    ],
)
def test_a_replacement_with_a_group_that_is_not_there_is_refused(kind: str, options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"transforms.t0.{problem}"):
        configured(chain((kind, options)))


ROUTE = (f"{KAFKA}RegexRouter", {"regex": ".*", "replacement": "routed"})


def predicated(name: str, options: dict[str, str], negate: bool = False) -> dict[str, str]:
    kind = f"{KAFKA}predicates.{name}"
    step = (ROUTE[0], {**ROUTE[1], "predicate": "p", "negate": str(negate).lower()})
    return chain(step, p=(kind, options))


def test_predicates_choose_the_records() -> None:
    plain, routed = "shop.SALES.ORDERS", "routed"
    assert topics(predicated("TopicNameMatches", {"pattern": r"shop\..*"}), INSERT, DDL) == [routed, "shop"]
    assert topics(predicated("RecordIsTombstone", {}), DELETE) == [plain, routed]
    assert topics(predicated("RecordIsTombstone", {}, negate=True), DELETE) == [routed, plain]
    moved = event(Op.UPDATE, NEW, ("7", *NEW[1:]))
    assert topics(predicated("HasHeaderKey", {"name": "__debezium.newkey"}), moved) == [routed, routed, plain]


def test_kafkas_filter_leaves_out_what_its_predicate_is_true_of() -> None:
    properties = chain((f"{KAFKA}Filter", {"predicate": "p"}), p=(f"{KAFKA}predicates.RecordIsTombstone", {}))
    assert [record.value is None for record in records(properties, DELETE)] == [False]


def logical(**options: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    route = {"topic.regex": r"(.*)\.ORDERS.*", "topic.replacement": "$1.ALL", **named}
    return chain((f"{DEBEZIUM}ByLogicalTableRouter", route))


def test_a_logical_table_has_the_physical_ones_name_in_its_key() -> None:
    insert, _, tombstone = records(logical(), INSERT, DELETE, schemas=True)
    assert insert.topic == "shop.SALES.ALL"
    key, value = parsed(insert.key), parsed(insert.value)
    assert key["payload"] == {"ORDER_ID": 70021, "__dbz__physicalTableIdentifier": "shop.SALES.ORDERS"}
    assert key["schema"]["name"] == "shop.SALES.ALL.Key"
    assert key["schema"]["fields"][1] == {"type": "string", "optional": False, "field": "__dbz__physicalTableIdentifier"}
    assert value["schema"]["name"] == "shop.SALES.ALL.Envelope"
    assert {field["name"] for field in value["schema"]["fields"][:2]} == {"shop.SALES.ALL.Value"}
    assert value["payload"]["source"]["table"] == "ORDERS"
    assert (tombstone.topic, tombstone.value, tombstone.key) == (insert.topic, None, insert.key)


def test_the_name_in_the_key_may_be_another() -> None:
    (record,) = records(
        logical(key_field_name="shard", key_field_regex=r"shop\.(.*)\.(.*)", key_field_replacement="$1"), INSERT
    )
    assert parsed(record.key) == {"ORDER_ID": 70021, "shard": "SALES"}
    (record,) = records(logical(key_enforce_uniqueness="false"), INSERT)
    assert parsed(record.key) == {"ORDER_ID": 70021}


def test_rows_without_key_are_routed_without_one_in_order() -> None:
    table = TableSchema(ORDERS.id, LOG.columns, key=())
    (record,) = records(logical(), event(Op.CREATE, None, ("a", None, "1"), table))
    assert (record.topic, record.key, record.partition) == ("shop.SALES.ALL", None, 0)


def test_unwrapped_records_have_the_logical_tables_schema() -> None:
    properties = logical() | {"transforms": "t0,u", "transforms.u.type": UNWRAP}
    (record,) = records(properties, INSERT, schemas=True)
    assert parsed(record.value)["schema"]["name"] == "shop.SALES.ALL.Value"


def cel(kind: str, text: str, **options: str) -> dict[str, str]:
    option = "condition" if kind == "Filter" else "topic.expression"
    named = {name.replace("_", "."): value for name, value in options.items()}
    return chain((f"{DEBEZIUM}{kind}", {"language": "cel", option: text, **named}))


def test_a_filter_keeps_what_its_condition_is_true_of() -> None:
    kept = records(
        cel("Filter", "value.op == 'u' && value.before.STATUS == 'NEW' && key.ORDER_ID > 1"), INSERT, UPDATE, DELETE
    )
    assert [None if r.value is None else parsed(r.value)["op"] for r in kept] == ["u", None]


@pytest.mark.parametrize(("mode", "tombstones"), [("keep", 1), ("drop", 0), ("evaluate", 0)])
def test_nulls_are_handled_as_the_option_says(mode: str, tombstones: int) -> None:
    kept = records(cel("Filter", "value != null", null_handling_mode=mode), DELETE)
    assert [record.value is None for record in kept] == [False] + [True] * tombstones


def test_an_expression_is_made_of_the_named_topics_only() -> None:
    assert len(records(cel("Filter", "false", topic_regex=r"shop\.SALES\.OTHER"), INSERT)) == 1


def test_content_chooses_the_topic() -> None:
    by = cel("ContentBasedRouter", "value.after != null && value.after.STATUS == 'PAID' ? topic + '.PAID' : ''")
    assert topics(by, INSERT, UPDATE) == ["shop.SALES.ORDERS", "shop.SALES.ORDERS.PAID"]


def test_headers_are_seen_by_expressions() -> None:
    moved = event(Op.UPDATE, NEW, ("7", *NEW[1:]))
    kept = records(cel("Filter", "'__debezium.newkey' in headers && headers['__debezium.newkey'].ORDER_ID == 7"), moved)
    assert [parsed(record.value) and parsed(record.value)["op"] for record in kept] == ["d", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value.op ==", "is not a CEL expression"),
        ("nothing.op == 'c'", "undeclared reference to 'nothing.op'"),
        ("'a' + topic", "is of type STRING, not BOOL"),
        ("value.op == 'c' ? 1 : 0", "is of type INT, not BOOL"),
        ("null", "is of type NULL.*, not BOOL"),
    ],
)
def test_an_expression_that_cannot_be_compiled_is_refused_at_the_start(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"transforms.t0.condition: .*{message}"):
        records(cel("Filter", text))


def test_a_field_that_is_not_there_is_an_error_of_the_row() -> None:
    with pytest.raises(
        DecodeError, match=r'Key not found in map : "NOTHING" \(table SALES.ORDERS, key \{"ORDER_ID":70021\}, scn 8842017\)'
    ):
        records(cel("Filter", "value.after.NOTHING == 1"), INSERT)


@pytest.mark.parametrize(("text", "kind"), [("value.op", "STRING"), ("value.after", "MAP.*"), ("value.before", "NULL.*")])
def test_a_condition_that_is_neither_true_nor_false_is_an_error_of_the_row(text: str, kind: str) -> None:
    """Its type is known only when there is a value."""
    with pytest.raises(DecodeError, match=rf"{text} gives {kind}, not BOOL \(table SALES.ORDERS, .*scn 8842017\)"):
        records(cel("Filter", text), INSERT)


@pytest.mark.parametrize("language", ["jsr223.groovy", "jsr223.graal.js", "js"])
def test_other_languages_are_refused_by_name(language: str) -> None:
    properties = cel("Filter", "true") | {"transforms.t0.language": language}
    with pytest.raises(ConfigError, match=rf"transforms.t0.language: {language} cannot run .*language=cel"):
        records(properties)


OUTBOX = TableSchema(
    ORDERS.id,
    (
        Column("ID", "VARCHAR2", 36, nullable=False),
        Column("AGGREGATETYPE", "VARCHAR2", 30),
        Column("AGGREGATEID", "VARCHAR2", 30),
        Column("TYPE", "VARCHAR2", 30),
        Column("PAYLOAD", "VARCHAR2", 4000),
    ),
    key=(0,),
    stored=("ID", "AGGREGATETYPE", "AGGREGATEID", "TYPE", "PAYLOAD"),
)
COLUMNS = {
    "route.by.field": "AGGREGATETYPE",
    "table.field.event.id": "ID",
    "table.field.event.key": "AGGREGATEID",
    "table.field.event.payload": "PAYLOAD",
}


def outbox(**options: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return chain((f"{DEBEZIUM}outbox.EventRouter", {**COLUMNS, **named}))


def row(payload: str | None, kind: str | None = "order") -> Any:
    return event(Op.CREATE, None, ("e-1", kind, "42", "Created", payload), OUTBOX)


def test_a_row_of_the_outbox_is_the_event_that_it_holds() -> None:
    (record,) = records(outbox(table_fields_additional_placement="TYPE:header:eventType"), row('{"a":1}'))
    assert (record.topic, record.key, record.value) == ("outbox.event.order", b'"42"', b'"{\\"a\\":1}"')
    assert record.headers == (("id", b"e-1"), ("eventType", b"Created"))


def test_a_column_that_is_null_is_a_header_without_a_value() -> None:
    null = event(Op.CREATE, None, ("e-1", "order", "42", None, "x"), OUTBOX)
    (record,) = records(outbox(table_fields_additional_placement="TYPE:header:eventType"), null)
    assert record.headers == (("id", b"e-1"), ("eventType", None))


def test_json_may_be_taken_out_of_its_text() -> None:
    (record,) = records(
        outbox(table_expand_json_payload="true"), row('{"a":1,"b":{"c":[1.5]},"n":null,"big":3000000000}'), schemas=True
    )
    document = parsed(record.value)
    assert document["payload"] == {"a": 1, "b": {"c": [1.5]}, "big": 3000000000}
    assert [(f["field"], f["type"]) for f in document["schema"]["fields"]] == [
        ("a", "int32"),
        ("b", "struct"),
        ("big", "int64"),
    ]


def test_members_that_are_null_may_be_kept() -> None:
    options = {"table_expand_json_payload": "true", "table_json_payload_null_behavior": "optional_bytes"}
    (record,) = records(outbox(**options), row('{"a":null,"b":1}'), schemas=True)
    document = parsed(record.value)
    assert document["payload"] == {"a": None, "b": 1}
    assert [(f["field"], f["type"]) for f in document["schema"]["fields"]] == [("a", "bytes"), ("b", "int32")]


NUMBERED = replace(OUTBOX, columns=(*OUTBOX.columns, Column("P", "NUMBER", 9, 0)), stored=(*OUTBOX.stored, "P"), version=2)


@pytest.mark.parametrize("schema", [NUMBERED, replace(NUMBERED, key=())], ids=["a key", "no key"])
@pytest.mark.parametrize("partition", ["0", "3"])
def test_a_column_may_choose_the_partition(schema: TableSchema, partition: str) -> None:
    after = ("e-1", "order", "42", "Created", "x", partition)
    placed = outbox(table_fields_additional_placement="P:partition")
    (record,) = records(placed, event(Op.CREATE, None, after, schema))
    assert (record.partition, record.key, record.value) == (int(partition), b'"42"', b'"x"')
    (other,) = records(outbox(), event(Op.CREATE, None, after, schema))
    assert other.partition is None


@pytest.mark.parametrize("value", [None, "-1"])
def test_what_is_no_partition_is_an_error_of_the_row(value: str | None) -> None:
    after = ("e-1", "order", "42", "Created", "x", value)
    with pytest.raises(DecodeError, match="P is .* which is not a number of a partition"):
        records(outbox(table_fields_additional_placement="P:partition"), event(Op.CREATE, None, after, NUMBERED))


TIMED = replace(
    OUTBOX, columns=(*OUTBOX.columns, Column("AT", "TIMESTAMP", None, 6)), stored=(*OUTBOX.stored, "AT"), version=3
)


def timed(at: str | None, schema: TableSchema = TIMED, *more: tuple[str, dict[str, str]]) -> Any:
    step = (f"{DEBEZIUM}outbox.EventRouter", {**COLUMNS, "table.field.event.timestamp": "AT"})
    (record,) = records(chain(step, *more), event(Op.CREATE, None, ("e-1", "order", "42", "Created", "x", at), schema))
    return record


def test_a_column_may_have_the_time_of_the_record() -> None:
    assert timed("2026-02-28 13:45:59.123456000").timestamp_ms == 1_772_286_359_123
    router = (f"{KAFKA}RegexRouter", {"regex": "(.*)", "replacement": "x.$1"})
    assert timed("1970-01-01 00:00:00.000000000", TIMED, router).timestamp_ms == 0
    assert timed(None).timestamp_ms is None
    with pytest.raises(DecodeError, match="AT is before 1970"):
        timed("1969-12-31 23:59:59.999000000")
    text = replace(TIMED, columns=(*OUTBOX.columns, Column("AT", "VARCHAR2", 40)), version=4)
    with pytest.raises(RecordSchemaError, match="AT is not a time in milliseconds"):
        timed("2026-02-28", text)


@pytest.mark.parametrize(
    "option", ["tracing.span.context.field", "tracing.operation.name", "tracing.with.context.field.only"]
)
def test_tracing_is_refused_by_name(option: str) -> None:
    with pytest.raises(ConfigError, match=rf"transforms\.t0\.{option}: not supported; spans are OpenTelemetry's for Java"):
        records(chain((f"{DEBEZIUM}outbox.EventRouter", {**COLUMNS, option: "true"})), row("x"))


def test_schemas_of_events_have_debeziums_names() -> None:
    """In Avro, two structs without a name would be one."""
    expanded = outbox(table_expand_json_payload="true", table_fields_additional_placement="TYPE:envelope:kind")
    (record,) = records(expanded, row('{"a":{"b":{"c":1}},"d":[{"e":2}]}'), schemas=True)
    schema = parsed(record.value)["schema"]
    (payload, _), names = schema["fields"], []
    pending = [payload]
    while pending:
        found = pending.pop(0)
        names.append(found.get("name"))
        pending += [one.get("items", one) for one in found["fields"] if one["type"] in ("struct", "array")]
    assert (schema["name"], names) == (
        "shop.SALES.ORDERS.order.Value",
        ["PAYLOAD", "PAYLOAD.a", "PAYLOAD.d", "PAYLOAD.a.b"],
    )


def test_fields_may_stand_beside_the_payload() -> None:
    placed = "TYPE:envelope:kind,ID:header"
    (record,) = records(outbox(table_fields_additional_placement=placed, route_topic_replacement="events"), row("x"))
    assert (record.topic, parsed(record.value)) == ("events", {"payload": "x", "kind": "Created"})


def test_an_empty_payload_may_be_a_tombstone() -> None:
    (record,) = records(outbox(route_tombstone_on_empty_payload="true"), row(None))
    assert (record.topic, record.key, record.value) == ("outbox.event.order", b'"42"', None)


def test_deletes_from_the_outbox_are_left_out_and_updates_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    old = ("e-1", "order", "42", "Created", "x")
    assert records(outbox(), event(Op.DELETE, old, None, OUTBOX), event(Op.UPDATE, old, (*old[:4], "y"), OUTBOX)) == []
    assert "a row of the outbox topic shop.SALES.ORDERS was updated" in caplog.text
    with pytest.raises(ConfigError, match="fatal"):
        records(outbox(table_op_invalid_behavior="fatal"), event(Op.UPDATE, old, (*old[:4], "y"), OUTBOX))


def test_a_row_without_a_route_is_an_error_of_the_row() -> None:
    with pytest.raises(DecodeError, match="route.by.field: AGGREGATETYPE is null"):
        records(outbox(), row("x", kind=None))


def test_a_column_that_the_outbox_lacks_is_named() -> None:
    with pytest.raises(DecodeError, match="the outbox table has no field payload; there is PAYLOAD"):
        records(outbox(table_field_event_payload="payload"), row("x"))
