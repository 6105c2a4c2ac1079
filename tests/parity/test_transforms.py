"""What transformations make of our records is what Kafka Connect's and Debezium's own classes make of them: keys, values and headers, with
their schemas.

Our records go in with their schemas; the header bytes are those of Connect's SimpleHeaderConverter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.parity.java_converters import JavaConverters
from tests.unit.messages.formats.test_avro import ALL, ROWS
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, records
from tests.unit.messages.transforms.test_fields import MOMENT
from tests.unit.messages.transforms.test_routing import COLUMNS, row

from minercdc.schema.table import Column
from minercdc.stream.contracts import Record
from minercdc.stream.events import ChangeEvent, Op

WIDER = replace(
    ORDERS,
    columns=(*ORDERS.columns, Column("CHANNEL", "VARCHAR2", 12, default="'WEB'"), Column("N", "NUMBER", 4, 0, default="7")),
    stored=(*ORDERS.stored, "CHANNEL", "N"),
    version=2,
)
EVENTS = [
    event(Op.CREATE, None, (*NEW, None, "12"), WIDER),
    event(Op.UPDATE, (*NEW, "TEL", None), (*PAID, "WEB", "5"), WIDER),
    event(Op.CREATE, None, ROWS[0], ALL),
]
DELETE = event(Op.DELETE, (*PAID, "WEB", "5"), None, WIDER)
Step = tuple[str, dict[str, str]]
FLAT: Step = (UNWRAP, {})
KEEP = {"replace.null.with.default": "false"}
UNCHANGED: Step = (f"{DEBEZIUM}ExtractChangedRecordState", {"header.unchanged.name": "u"})
INNER: Step = (f"{KAFKA}ExtractField$Value", {"field": "after", **KEEP})  # an optional struct


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConverters]:
    with JavaConverters(tmp_path_factory.mktemp("java")) as running:
        yield running


def shown(record: Record) -> tuple[Any, ...]:
    """A record that can be compared: a value of null with a schema is none."""
    parsed = [None if text is None else json.loads(text) for text in (record.key, record.value)]
    sides = [None if one is None or one["payload"] is None else one for one in parsed]
    return (record.topic, *sides, record.headers)


def compare(java: JavaConverters, steps: tuple[Step, ...], *events: ChangeEvent) -> None:
    given = records({}, *events, schemas=True)
    expected = [shown(made) for made in java.transformed(steps, given)]
    assert [shown(made) for made in records(chain(*steps), *events, schemas=True)] == expected


@pytest.mark.parametrize(
    "step",
    [
        ("ReplaceField$Value", {"exclude": "TOTAL", "renames": "STATUS:state", **KEEP}),
        ("ReplaceField$Value", {"exclude": "TOTAL", "replace.null.with.default": "true"}),
        ("MaskField$Value", {"fields": "STATUS,ORDER_ID", **KEEP}),
        ("InsertField$Value", {"static.field": "s", "static.value": "x", "topic.field": "t!", **KEEP}),
        ("ExtractField$Value", {"field": "STATUS", **KEEP}),
        ("ExtractField$Value", {"field": "CHANNEL", **KEEP}),
        ("HoistField$Value", {"field": "row"}),
        ("HoistField$Key", {"field": "row"}),
        ("HeaderFrom$Value", {"fields": "STATUS,TOTAL,CHANNEL", "headers": "a,b,c", "operation": "move", **KEEP}),
        ("HeaderFrom$Value", {"fields": "ORDER_ID", "headers": "a", "operation": "copy", **KEEP}),
        ("Cast$Value", {"spec": "ORDER_ID:string,N:int64,CREATED:string", **KEEP}),
        ("TimestampConverter$Value", {"field": "CREATED", "target.type": "Timestamp", **KEEP}),
        ("TimestampConverter$Value", {"field": "NOT_HERE", "target.type": "Timestamp", **KEEP}),
        ("SetSchemaMetadata$Value", {"schema.name": "a.B", "schema.version": "3", **KEEP}),
        ("ValueToKey", {"fields": "STATUS,CHANNEL", **KEEP}),
    ],
    ids=lambda step: f"{step[0]} {','.join(step[1])}",
)
@pytest.mark.parametrize("before", [FLAT, INNER], ids=["required", "optional"])
def test_a_schema_is_taken_over_as_connect_does(java: JavaConverters, before: Step, step: Step) -> None:
    compare(java, (before, (KAFKA + step[0], step[1])), *EVENTS[:2])


@pytest.mark.parametrize(
    "steps",
    [
        (
            ("ExtractField$Value", {"field": "after.N", "field.syntax.version": "V2", **KEEP}),
            ("Cast$Value", {"spec": "string", **KEEP}),
        ),
        (
            ("ExtractField$Value", {"field": "after.CREATED", "field.syntax.version": "V2", **KEEP}),
            ("Cast$Value", {"spec": "string", **KEEP}),
        ),
        (
            ("ExtractField$Value", {"field": "after.CREATED", "field.syntax.version": "V2", **KEEP}),
            ("HoistField$Value", {"field": "at"}),
        ),
        (("ExtractField$Key", {"field": "ORDER_ID", **KEEP}), ("Cast$Key", {"spec": "float64", **KEEP})),
    ],
    ids=lambda steps: " ".join(kind for kind, _ in steps),
)
def test_single_values_are_as_connects(java: JavaConverters, steps: tuple[Step, ...]) -> None:
    compare(java, tuple((KAFKA + kind, options) for kind, options in steps), *EVENTS[:2])


@pytest.mark.parametrize("target", ["string", "boolean", "int32", "int64", "float32", "float64"])
def test_numbers_with_decimals_are_cast_as_by_connect(java: JavaConverters, target: str) -> None:
    columns = ("AMOUNT", "BF", "BD")
    numbers = (("-12.34", "1.5", "-0.1"), ("100000000.00", "1.0E-5", "1.0E+22"), ("0.50", "16777216", "12345678.9"))
    places = [[column.name for column in ALL.columns].index(name) for name in columns]
    rows = []
    for values in numbers:
        if target.startswith("int") and "E+22" in values[2]:
            continue  # Java gives the largest integer
        changed = dict(zip(places, values, strict=True))
        rows.append(event(Op.CREATE, None, tuple(changed.get(i, value) for i, value in enumerate(ROWS[0])), ALL))
    compare(java, (FLAT, (f"{KAFKA}Cast$Value", {"spec": ",".join(f"{name}:{target}" for name in columns), **KEEP})), *rows)


@pytest.mark.parametrize("before", [FLAT, INNER], ids=["required", "optional"])
def test_structs_are_flattened_as_by_connect(java: JavaConverters, before: Step) -> None:
    """Of rows without nulls in columns with a DEFAULT, for which Connect's Flatten has no option."""
    whole = event(Op.UPDATE, (*NEW, "TEL", "1"), (*PAID, "WEB", "5"), WIDER)
    compare(java, (before, (f"{KAFKA}Flatten$Value", {})), whole)
    compare(java, ((f"{KAFKA}Flatten$Value", {"delimiter": "_"}),), whole)


@pytest.mark.parametrize(
    "options",
    [{}, {"add.fields": "op,after.CHANNEL"}, {"delete.tombstone.handling.mode": "rewrite"}],
    ids=lambda options: ",".join(options),
)
def test_nulls_become_defaults_where_debezium_replaces_them(java: JavaConverters, options: dict[str, str]) -> None:
    compare(java, ((UNWRAP, {**options, "replace.null.with.default": "true"}),), EVENTS[0], EVENTS[1], DELETE)


WHOLE = [
    event(Op.CREATE, None, (*NEW, "TEL", "12"), WIDER),
    event(Op.UPDATE, (*NEW, "TEL", "1"), (*PAID, "WEB", "5"), WIDER),
    EVENTS[2],
]  # without nulls in columns with a DEFAULT, which steps without an option replace


@pytest.mark.parametrize("event_", WHOLE, ids=["insert", "update", "types"])
@pytest.mark.parametrize(
    "steps",
    [
        ((UNWRAP, {"add.fields": "op,source.scn,ts_ms,before.STATUS", "replace.null.with.default": "false"}),),
        (
            (
                UNWRAP,
                {
                    "add.headers": "op,source.scn,redo_sql,transaction.id,before.STATUS,after.TOTAL,source.txSeq",
                    "replace.null.with.default": "false",
                },
            ),
        ),
        ((UNWRAP, {"delete.tombstone.handling.mode": "rewrite", "replace.null.with.default": "false"}),),
        ((f"{DEBEZIUM}ExtractChangedRecordState", {"header.changed.name": "c", "header.unchanged.name": "u"}),),
        (UNCHANGED, (UNWRAP, {"drop.fields.header.name": "u"})),
        (UNCHANGED, (UNWRAP, {"drop.fields.header.name": "u", "drop.fields.from.key": "true"})),
        (UNCHANGED, (UNWRAP, {"drop.fields.header.name": "u", "drop.fields.keep.schema.compatible": "false"})),
        (
            (f"{KAFKA}InsertHeader", {"header": "h", "value.literal": "42"}),
            (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "source.h", "operation": "copy"}),
            (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "move"}),
        ),
        (
            INNER,
            (f"{KAFKA}InsertHeader", {"header": "inner", "value.literal": "x"}),
            (f"{DEBEZIUM}HeaderToValue", {"headers": "inner", "fields": "inner", "operation": "move"}),
        ),
        ((f"{DEBEZIUM}ByLogicalTableRouter", {"topic.regex": r"(.*)\.ORDERS", "topic.replacement": "$1.ALL"}),),
    ],
    ids=lambda steps: f"{steps[-1][0].rpartition('.')[2]} {','.join(steps[0][1])}",
)
def test_debeziums_steps_are_debeziums(java: JavaConverters, steps: tuple[Step, ...], event_: ChangeEvent) -> None:
    if "before.STATUS" in str(steps) and event_ is WHOLE[2]:
        pytest.skip("the table has no such column")
    compare(java, steps, event_)


@pytest.mark.parametrize("zone", ["+05:30", "-08:00", "UTC", "Asia/Tokyo"])
def test_times_in_another_zone_are_printed_as_debezium_prints_them(java: JavaConverters, zone: str) -> None:
    rows = [MOMENT.after, ("1", "2026-07-01 12:00:00.000000000 +00:00", *MOMENT.after[2:])]  # type: ignore[index]
    for moment in ("9999-12-31 23:30:00", "0001-01-01 00:10:00", "-4712-01-01 00:00:00", "-0001-12-31 23:59:59"):
        zoned = [f"{moment}.250000000 +00:00"] if moment[0] != "-" else [None]
        rows.append(("1", *zoned, f"{moment}.250000000", moment))
    for after in rows:
        compare(
            java,
            ((f"{DEBEZIUM}TimezoneConverter", {"converted.timezone": zone}),),
            event(Op.CREATE, None, after, MOMENT.schema),
        )


LITERALS = (
    *("", "eu", " eu ", "42", "-1", "+7", "128", "-129", "40000", "3000000000", "9223372036854775808", "1.0", "1e2", "-0"),
    *("1.5", "+.5", ".5", "1.", "0.1", "1e40", "1e-10", "3.14159265358979", "12345678901234567890.5", "1e400", "007"),
    *("true", "FALSE", "false", "true ", "null", "2026-09-21", "10:30:00.123Z", "2026-09-21T10:30:00.123Z"),
    *("1_000", "12abc", "0x10", "1f", "-", "+", "a:b", "a b", '"x"', "NaN"),
)


@pytest.mark.parametrize("literal", LITERALS)
def test_the_type_of_a_literal_is_the_one_that_connect_infers(java: JavaConverters, literal: str) -> None:
    steps = (
        (f"{KAFKA}InsertHeader", {"header": "h", "value.literal": literal}),
        (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "copy"}),
    )
    compare(java, steps[:1], EVENTS[0])
    if literal != "null":  # there is no schema to make a field of
        compare(java, steps, EVENTS[0])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"table.fields.additional.placement": "TYPE:header:kind,ID:header"},
        {"table.fields.additional.placement": "TYPE:envelope:kind"},
        {"table.expand.json.payload": "true"},
        {"table.expand.json.payload": "true", "table.json.payload.null.behavior": "optional_bytes"},
        {"table.field.event.type": "KIND"},
        {"table.expand.json.payload": "true", "table.fields.additional.placement": "TYPE:envelope"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "payload",
    [
        '{"a":1,"b":[{"c":null,"d":"x"}],"e":{"f":{"g":1.5}},"h":3000000000}',
        '{"a":null,"b":[null,"x"],"c":{"d":null}}',
        "text",
        None,
    ],
)
def test_events_of_an_outbox_are_debeziums(java: JavaConverters, options: dict[str, str], payload: str | None) -> None:
    compare(java, ((f"{DEBEZIUM}outbox.EventRouter", {**COLUMNS, **options}),), row(payload))
