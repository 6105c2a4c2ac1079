"""Transformations of fields, types, headers and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.formats.test_avro import ALL, ROWS
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured, parsed, records

from minercdc.errors import ConfigError, DecodeError
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.record import ConnectRecord, typed
from minercdc.messages.transforms.time_zones import _offset_of_clock, zone_of
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Op

INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)
FLAT: tuple[str, dict[str, str]] = (UNWRAP, {})


def flat(kind: str, options: dict[str, str], *events: Any, schemas: bool = False) -> list[tuple[Any, Any]]:
    """Keys and values of unwrapped rows, further transformed."""
    made = records(chain(FLAT, (f"{KAFKA}{kind}", options)), *(events or (INSERT,)), schemas=schemas)
    return [(parsed(record.key), parsed(record.value)) for record in made]


def test_fields_are_left_out_and_renamed() -> None:
    ((_, value),) = flat("ReplaceField$Value", {"exclude": "TOTAL", "renames": "ORDER_ID:id,STATUS:state"})
    assert value == {"id": 70021, "state": "NEW", "CREATED": 1789986600000}
    ((_, value),) = flat("ReplaceField$Value", {"include": "ORDER_ID,STATUS"}, schemas=True)
    assert value["payload"] == {"ORDER_ID": 70021, "STATUS": "NEW"}
    assert [field["field"] for field in value["schema"]["fields"]] == ["ORDER_ID", "STATUS"]
    assert value["schema"]["name"] == "shop.SALES.ORDERS.Value"
    ((key, _),) = flat("ReplaceField$Key", {"renames": "ORDER_ID:id"})
    assert key == {"id": 70021}


def test_tombstones_stay_tombstones() -> None:
    ((key, value),) = flat("ReplaceField$Value", {"exclude": "TOTAL"}, DELETE)
    assert (key, value) == ({"ORDER_ID": 70021}, None)


def test_masked_fields_are_zeros_and_empty_texts() -> None:
    ((_, value),) = flat("MaskField$Value", {"fields": "ORDER_ID,STATUS,TOTAL,NOT_HERE"})
    assert value == {"ORDER_ID": 0, "STATUS": "", "TOTAL": "AA==", "CREATED": 1789986600000}


def test_masked_fields_may_have_a_replacement() -> None:
    ((_, value),) = flat("MaskField$Value", {"fields": "STATUS", "replacement": "***"})
    assert value["STATUS"] == "***"
    ((_, value),) = flat("MaskField$Value", {"fields": "ORDER_ID,TOTAL", "replacement": "-12"})
    assert (value["ORDER_ID"], value["TOTAL"]) == (-12, "+1A=")
    with pytest.raises(DecodeError, match=r"transforms.t1: field ORDER_ID: the replacement \*\*\* is no value of int64"):
        flat("MaskField$Value", {"fields": "ORDER_ID", "replacement": "***"})


@pytest.mark.parametrize(("text", "shown"), [("nan", "NaN"), ("1e999", "Infinity"), ("-inf", "-Infinity"), ("1.5", 1.5)])
def test_what_is_no_number_in_json_is_a_text(text: str, shown: Any) -> None:
    for target in ("float32", "float64"):
        ((_, value),) = flat("Cast$Value", {"spec": f"STATUS:{target}"}, event(Op.CREATE, None, ("1", text, None, None)))
        assert value["STATUS"] == shown


def test_null_is_not_masked() -> None:
    ((_, value),) = flat("MaskField$Value", {"fields": "STATUS"}, event(Op.CREATE, None, ("1", None, None, None)))
    assert value["STATUS"] is None


@pytest.mark.parametrize(
    ("field", "shown"), [("BF", 0.0), ("ANY_NUMBER", None), ("RAW_BYTES", None), ("TINY", 0)], ids=lambda case: str(case)
)
def test_types_that_have_no_zero_are_not_masked(field: str, shown: Any) -> None:
    row = event(Op.CREATE, None, ROWS[0], ALL)
    if shown is None:
        with pytest.raises(DecodeError, match=f"field {field}: values of type .* cannot be masked"):
            flat("MaskField$Value", {"fields": field}, row)
    else:
        assert flat("MaskField$Value", {"fields": field}, row)[0][1][field] == shown


def test_constants_and_the_topic_are_inserted() -> None:
    options = {"static.field": "from!", "static.value": "oracle", "topic.field": "topic?"}
    ((_, value),) = flat("InsertField$Value", options, schemas=True)
    assert value["payload"]["from"], value["payload"]["topic"] == ("oracle", "shop.SALES.ORDERS")
    assert [(f["field"], f["optional"]) for f in value["schema"]["fields"][-2:]] == [("topic", True), ("from", False)]
    ((key, _),) = flat("InsertField$Key", {"topic.field": "topic"})
    assert key == {"ORDER_ID": 70021, "topic": "shop.SALES.ORDERS"}


@pytest.mark.parametrize("option", ["timestamp.field", "partition.field", "offset.field"])
def test_what_only_kafka_knows_cannot_be_inserted(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option}: not known before the record is in Kafka"):
        flat("InsertField$Value", {option: "x"})


def test_a_field_is_taken_out_and_put_in_again() -> None:
    made = records(chain((f"{KAFKA}ExtractField$Key", {"field": "ORDER_ID"})), INSERT, schemas=True)
    assert parsed(made[0].key) == {"schema": {"type": "int64", "optional": False}, "payload": 70021}
    both = chain((f"{KAFKA}ExtractField$Key", {"field": "ORDER_ID"}), (f"{KAFKA}HoistField$Key", {"field": "id"}))
    assert parsed(records(both, INSERT)[0].key) == {"id": 70021}
    nested = (f"{KAFKA}ExtractField$Value", {"field": "source.table", "field.syntax.version": "V2"})
    assert records(chain(nested), INSERT)[0].value == b'"ORDERS"'


def test_a_field_that_is_null_leaves_a_tombstone() -> None:
    made = records(chain((f"{KAFKA}ExtractField$Value", {"field": "before"})), INSERT)
    assert made[0].value is None


def test_structs_are_flattened() -> None:
    (record,) = records(chain((f"{KAFKA}Flatten$Value", {"delimiter": "_"})), INSERT, schemas=True)
    document = parsed(record.value)
    assert (document["payload"]["after_STATUS"], document["payload"]["source_table"]) == ("NEW", "ORDERS")
    assert document["payload"]["before_STATUS"] is None
    (field,) = [field for field in document["schema"]["fields"] if field["field"] == "after_ORDER_ID"]
    assert (field["type"], field["optional"]) == ("int64", True)


def test_a_schema_gets_another_name_and_version() -> None:
    ((_, value),) = flat("SetSchemaMetadata$Value", {"schema.name": "a.Order", "schema.version": "3"}, schemas=True)
    assert (value["schema"]["name"], value["schema"]["version"]) == ("a.Order", 3)


def test_the_key_is_made_of_fields_of_the_value() -> None:
    (key, _), *_ = flat("ValueToKey", {"fields": "STATUS,ORDER_ID"}, schemas=True)
    assert key["payload"] == {"STATUS": "NEW", "ORDER_ID": 70021}
    assert [(f["field"], f["type"]) for f in key["schema"]["fields"]] == [("STATUS", "string"), ("ORDER_ID", "int64")]


def test_a_tombstone_has_no_fields_to_make_a_key_of() -> None:
    with pytest.raises(
        DecodeError, match=r"transforms.t1: a record without a value(.|\n)*RecordIsTombstone with negate=true"
    ):
        flat("ValueToKey", {"fields": "STATUS"}, DELETE)
    step = (f"{KAFKA}ValueToKey", {"fields": "STATUS", "predicate": "gone", "negate": "true"})
    made = records(chain(FLAT, step, gone=(f"{KAFKA}predicates.RecordIsTombstone", {})), INSERT, DELETE)
    assert [parsed(record.key) for record in made] == [{"STATUS": "NEW"}, {"ORDER_ID": 70021}]


def test_a_key_for_rows_without_one_gives_them_partitions_by_key() -> None:
    table = TableSchema(ORDERS.id, ORDERS.columns, key=())
    made = records(chain(FLAT, (f"{KAFKA}ValueToKey", {"fields": "ORDER_ID"})), event(Op.CREATE, None, NEW, table))
    assert (parsed(made[0].key), made[0].partition) == ({"ORDER_ID": 70021}, None)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ORDER_ID:string", {"ORDER_ID": "70021"}),
        ("ORDER_ID:float64,TOTAL:string", {"ORDER_ID": 70021.0, "TOTAL": "15.00"}),
        ("TOTAL:int32,ORDER_ID:boolean", {"TOTAL": 15, "ORDER_ID": True}),
    ],
)
def test_fields_are_cast(spec: str, expected: dict[str, Any]) -> None:
    ((_, value),) = flat("Cast$Value", {"spec": spec})
    assert value.items() >= expected.items()


FLOATS = replace(
    ORDERS,
    id=ORDERS.id._replace(table="FLOATS"),
    columns=(Column("ID", "NUMBER", 9, 0), Column("BF", "BINARY_FLOAT"), Column("BD", "BINARY_DOUBLE")),
    stored=("ID", "BF", "BD"),
)


@pytest.mark.parametrize(
    ("single", "double", "target", "expected"),
    [
        ("1.6777216E+007", "1.23456789E+007", "string", ("1.6777216E7", "1.23456789E7")),
        ("1.0E-005", "1.0E+022", "string", ("1.0E-5", "1.0E22")),
        ("1.5", "-0.1", "string", ("1.5", "-0.1")),
        ("NaN", "-Infinity", "string", ("NaN", "-Infinity")),
        ("1.0E-001", "1.0E-001", "float32", (0.1, 0.1)),
        ("1.0E-001", "1.0E-001", "float64", (0.10000000149011612, 0.1)),
        ("-5.0E-001", "9.9E-001", "boolean", (False, False)),
        ("1.5", "-2.0E+000", "boolean", (True, True)),
        ("NaN", "Infinity", "boolean", (False, True)),
    ],
)
def test_floats_are_cast_as_by_java(single: str, double: str, target: str, expected: tuple[Any, Any]) -> None:
    """tests/parity/test_transforms.py compares them with Connect."""
    row = event(Op.CREATE, None, ("1", single, double), FLOATS)
    ((_, value),) = flat("Cast$Value", {"spec": f"BF:{target},BD:{target}"}, row)
    assert (value["BF"], value["BD"]) == expected


def test_a_whole_key_is_cast() -> None:
    steps = ((f"{KAFKA}ExtractField$Key", {"field": "ORDER_ID"}), (f"{KAFKA}Cast$Key", {"spec": "string"}))
    assert records(chain(*steps), INSERT)[0].key == b'"70021"'


@pytest.mark.parametrize(
    ("spec", "why"), [("ORDER_ID:int8", "70021 cannot be cast to int8"), ("STATUS:int32", "NEW cannot be cast")]
)
def test_a_value_that_does_not_fit_a_cast_is_an_error_of_the_row(spec: str, why: str) -> None:
    with pytest.raises(
        DecodeError, match=rf"transforms.t1: {spec.split(':')[0]}: {why}.*table SALES.ORDERS, key \{{\"ORDER_ID\""
    ):
        flat("Cast$Value", {"spec": spec})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"target.type": "string", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}, "2026-09-21T10:30:00.000Z"),
        ({"target.type": "unix", "unix.precision": "milliseconds"}, 1789986600000),
        ({"target.type": "Timestamp"}, 1789986600000),
        ({"target.type": "Date"}, 20717),
        ({"target.type": "Time"}, 37800000),
    ],
)
def test_times_are_converted(options: dict[str, str], expected: Any) -> None:
    ((_, value),) = flat("TimestampConverter$Value", {"field": "CREATED", **options})
    assert value["CREATED"] == expected


def test_a_text_is_read_as_a_time() -> None:
    there_and_back = (
        (f"{KAFKA}TimestampConverter$Value", {"field": "CREATED", "target.type": "string", "format": "dd.MM.yyyy HH:mm:ss"}),
        (
            f"{KAFKA}TimestampConverter$Value",
            {"field": "CREATED", "target.type": "Timestamp", "format": "dd.MM.yyyy HH:mm:ss"},
        ),
    )
    (record,) = records(chain(FLAT, *there_and_back), INSERT, schemas=True)
    document = parsed(record.value)
    assert document["payload"]["CREATED"] == 1789986600000
    assert document["schema"]["fields"][3]["name"] == "org.apache.kafka.connect.data.Timestamp"


def test_a_format_that_is_not_supported_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"transforms.t1.format: EEE is not supported"):
        flat("TimestampConverter$Value", {"field": "CREATED", "target.type": "string", "format": "EEE"})


def test_headers_become_fields() -> None:
    steps = (
        (f"{KAFKA}InsertHeader", {"header": "origin", "value.literal": "eu"}),
        (f"{DEBEZIUM}HeaderToValue", {"headers": "origin", "fields": "source.region", "operation": "copy"}),
        (f"{DEBEZIUM}HeaderToValue", {"headers": "origin", "fields": "region", "operation": "move"}),
    )
    (record,) = records(chain(*steps), INSERT, schemas=True)
    document = parsed(record.value)
    assert (document["payload"]["source"]["region"], document["payload"]["region"], record.headers) == ("eu", "eu", ())
    assert document["schema"]["fields"][-1] == {"type": "string", "optional": False, "field": "region"}
    inner = next(field for field in document["schema"]["fields"] if field["field"] == "source")
    assert inner["fields"][-1]["field"] == "region"


def test_headers_are_dropped() -> None:
    moved = event(Op.UPDATE, NEW, ("7", *NEW[1:]))
    made = records(chain((f"{KAFKA}DropHeaders", {"headers": "__debezium.newkey"})), moved)
    assert [[name for name, _ in record.headers] for record in made] == [[], [], ["__debezium.oldkey"]]


ZONED = TableSchema(
    ORDERS.id,
    (
        ORDERS.columns[0],
        Column("AT_ZONE", "TIMESTAMP WITH TIME ZONE", scale=6),
        Column("AT_CLOCK", "TIMESTAMP", scale=6),
        Column("ON_DAY", "DATE"),
    ),
    key=(0,),
    stored=("ORDER_ID", "AT_ZONE", "AT_CLOCK", "ON_DAY"),
)
MOMENT = event(
    Op.CREATE,
    None,
    ("1", "2026-07-01 12:00:00.250000000 +00:00", "2026-07-01 12:00:00.250000000", "2026-01-01 12:00:00"),
    ZONED,
)


def zoned(**options: str) -> Any:
    named = {name.replace("_", "."): value for name, value in options.items()}
    (record,) = records(chain((f"{DEBEZIUM}TimezoneConverter", named)), MOMENT)
    return parsed(record.value)["after"]


def test_times_are_shown_in_another_zone() -> None:
    before, after = zoned(converted_timezone="UTC"), zoned(converted_timezone="Europe/Berlin")
    assert (before["AT_ZONE"], after["AT_ZONE"]) == ("2026-07-01T12:00:00.25Z", "2026-07-01T14:00:00.25+02:00")
    # A clock's time in the zone is so much earlier as a moment: two hours in summer, one in winter.
    assert before["AT_CLOCK"] - after["AT_CLOCK"] == 2 * 3600 * 10**6
    assert before["ON_DAY"] - after["ON_DAY"] == 3600 * 10**3
    assert zoned(converted_timezone="-03:30")["AT_ZONE"] == "2026-07-01T08:30:00.25-03:30"


@pytest.mark.parametrize(
    ("moment", "zone", "shown"),
    [
        ("9999-12-31 23:30:00", "Asia/Tokyo", "+10000-01-01T08:30:00+09:00"),
        ("9999-12-31 23:30:00", "America/New_York", "9999-12-31T18:30:00-05:00"),
        ("9999-07-01 12:00:00", "Europe/Berlin", "9999-07-01T14:00:00+02:00"),
        ("0001-01-01 00:10:00", "-08:00", "0000-12-31T16:10:00-08:00"),
        ("0001-01-01 00:10:00", "UTC", "0001-01-01T00:10:00Z"),
    ],
)
def test_times_at_the_ends_of_the_calendar_are_shown_as_java_shows_them(moment: str, zone: str, shown: str) -> None:
    step = (f"{DEBEZIUM}TimezoneConverter", {"converted.timezone": zone})
    row = ("1", f"{moment}.000000000 +00:00", f"{moment}.000000000", "-4712-01-01 00:00:00")
    (record,) = records(chain(step), event(Op.CREATE, None, row, ZONED))
    assert parsed(record.value)["after"]["AT_ZONE"] == shown


def test_a_clocks_time_far_away_has_the_offset_of_its_day() -> None:
    summer, winter = 253_386_878_400, 253_402_300_799  # 9999-07-01 12:00, 9999-12-31 23:59:59
    berlin = zone_of("Europe/Berlin")
    assert [_offset_of_clock(seconds, berlin) for seconds in (summer, winter, summer + 400 * 31_556_952)] == [
        7200,
        3600,
        7200,
    ]
    assert _offset_of_clock(-(2**53), berlin) == 3208, "local mean time"


@pytest.mark.parametrize(("fraction", "shown"), [("500000000", ".5"), ("000000000", ""), ("000001000", ".000001")])
def test_a_converted_time_has_no_more_digits_than_java_prints(fraction: str, shown: str) -> None:
    """A topic has as many as the column; Debezium prints a converted time by ISO_OFFSET_DATE_TIME."""
    row = ("1", f"2026-07-01 12:00:00.{fraction} +00:00", None, None)
    step = (f"{DEBEZIUM}TimezoneConverter", {"converted.timezone": "+05:30"})
    (record,) = records(chain(step), event(Op.CREATE, None, row, ZONED))
    assert parsed(record.value)["after"]["AT_ZONE"] == f"2026-07-01T17:30:00{shown}+05:30"


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"include_list": "source:ORDERS:AT_ZONE"}, {"AT_ZONE"}),
        ({"include_list": "source:ORDERS"}, {"AT_ZONE", "AT_CLOCK", "ON_DAY"}),
        ({"include_list": "source:ORDERS:AT_ZONE,ORDERS:ON_DAY"}, {"AT_ZONE", "ON_DAY"}),
        ({"include_list": "topic:shop.SALES.ORDERS:AT_CLOCK"}, {"AT_CLOCK"}),
        ({"include_list": "source:OTHERS"}, set()),
        ({"exclude_list": "source:ORDERS:AT_ZONE"}, {"AT_CLOCK", "ON_DAY"}),
        ({"exclude_list": "source:ORDERS"}, set()),
        ({"exclude_list": "OTHERS:X"}, {"AT_ZONE", "AT_CLOCK", "ON_DAY"}),
    ],
)
def test_rules_choose_tables_topics_and_fields(options: dict[str, str], changed: set[str]) -> None:
    (untouched,) = records({}, MOMENT)
    plain, shown = parsed(untouched.value)["after"], zoned(converted_timezone="Asia/Tokyo", **options)
    assert {name for name in plain if plain[name] != shown[name]} == changed


def test_a_zone_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"transforms.t0.converted.timezone: Mars/Base is neither a time zone"):
        zoned(converted_timezone="Mars/Base")


def test_values_outside_javascripts_numbers_stay_what_they_are() -> None:
    schema = {"type": "struct", "optional": False, "fields": [{"type": "int64", "optional": False, "field": "n"}]}
    made = chain_of(configured(chain((f"{KAFKA}Cast$Value", {"spec": "n:string"}))).transforms)(
        ConnectRecord("t", None, typed(schema, {"n": 2**63 - 1}))
    )
    assert made is not None
    assert made.value is not None
    assert made.value.value == {"n": str(2**63 - 1)}
