"""Protobuf: the schemas of Connect's ProtobufConverter, and the bytes that Google's library writes with them."""

from __future__ import annotations

import base64
import json
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from tests.examples import examples
from tests.unit.messages.formats.protoc import message_class
from tests.unit.messages.formats.test_avro import ALL, ROWS, encoded, name_structs, parts, typed_values
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, event

from minercdc.errors import RecordSchemaError
from minercdc.messages.envelope import connect_schema
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.protobuf.encoding import compile_single, compile_writer, message_index
from minercdc.messages.protobuf.schema import ProtobufOptions, protobuf_file
from minercdc.messages.protobuf.text import outline, protobuf_text, wrappers_text
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Op, Row

OPTIONS = {
    "plain": ProtobufOptions(),
    "optional": ProtobufOptions(optional=True),
    "wrappers": ProtobufOptions(wrappers=True),
    "both": ProtobufOptions(optional=True, wrappers=True),
}


def text_of(schema: Schema, options: ProtobufOptions = OPTIONS["plain"]) -> str:
    return protobuf_text(protobuf_file(schema, options))


def by_google(schema: Schema, value: Any, options: ProtobufOptions) -> Any:
    """A message of Google's library that holds a payload."""
    file = protobuf_file(schema, options)
    name = f"{file.package}.{file.root.name}" if file.package else file.root.name
    message = message_class(protobuf_text(file), name)()
    fill(message, schema, value, options)
    return message


def fill(message: Any, schema: Schema, row: dict[str, Any], options: ProtobufOptions) -> None:
    for member, field in zip(schema["fields"], message.DESCRIPTOR.fields, strict=True):
        value = row[member["field"]]
        if value is None:
            continue
        inner = getattr(message, field.name)
        if member["type"] == "array":
            for item in value:
                if member["items"]["type"] == "struct":
                    fill(inner.add(), member["items"], item, options)
                elif item is not None:
                    place(inner, field, member["items"], item)
        elif member["type"] == "map":
            for key, item in value.items():
                entry = {"fields": [{"type": "string", "field": "key"}, {**member["values"], "field": "value"}]}
                fill(inner.add(), entry, {"key": key, "value": item}, options)
        elif member["type"] == "struct":
            inner.SetInParent()
            fill(inner, member, value, options)
        elif field.message_type is not None:
            inner.SetInParent()
            fill_known(inner, member, value)
        else:
            setattr(message, field.name, scalar(member, value))


def place(items: Any, field: Any, schema: Schema, value: Any) -> None:
    if field.message_type is None:
        items.append(scalar(schema, value))
    else:
        fill_known(items.add(), schema, value)


def scalar(schema: Schema, value: Any) -> Any:
    if schema["type"] == "bytes":
        return base64.b64decode(value)
    return float(value) if schema["type"] in ("float", "double") else value


def fill_known(message: Any, schema: Schema, value: Any) -> None:
    """A message of Confluent or Google."""
    match message.DESCRIPTOR.name:
        case "Decimal":
            message.value = base64.b64decode(value)
            message.precision = len(str(abs(int.from_bytes(message.value, "big", signed=True))))
            message.scale = int(schema["parameters"]["scale"])
        case "Timestamp":
            message.FromMilliseconds(value)
        case "Date":
            day = date(1970, 1, 1) + timedelta(days=value)
            message.year, message.month, message.day = day.year, day.month, day.day
        case "TimeOfDay":
            message.hours, message.minutes = value // 3_600_000, value // 60_000 % 60
            message.seconds, message.nanos = value // 1000 % 60, value % 1000 * 1_000_000
        case _:
            message.value = scalar(schema, value)


def assert_same_bytes(schema: Schema, value: Any, options: ProtobufOptions) -> None:
    written = compile_writer(protobuf_file(schema, options))(value)
    message = by_google(schema, value, options)
    assert written == message.SerializeToString(deterministic=True)
    assert type(message).FromString(written) == message or "nan" in str(message)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("row", ROWS)
def test_rows_of_all_types_have_googles_bytes(row: Row, options: ProtobufOptions) -> None:
    for record in encoded(event(Op.CREATE, None, row, ALL), event(Op.DELETE, row, None, ALL)):
        for document in (record.key, record.value):
            if document is not None:
                schema, payload = parts(document)
                assert_same_bytes(schema, json.loads(payload), options)


def test_updates_and_key_changes_have_googles_bytes() -> None:
    for record in encoded(event(Op.UPDATE, NEW, PAID), event(Op.UPDATE, PAID, ("70022", *PAID[1:]))):
        if record.value is not None:
            schema, payload = parts(record.value)
            assert_same_bytes(schema, json.loads(payload), OPTIONS["plain"])


@settings(max_examples=examples(25), deadline=None)
@given(typed_values(kinds=("struct",)))
def test_any_row_has_googles_bytes(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    name_structs(schema, "n.R")
    if value is not None:
        for options in OPTIONS.values():
            assert_same_bytes(schema, value, options)


ARRAYS: Schema = {
    "type": "struct",
    "name": "a.Arrays",
    "fields": [
        {"type": "array", "items": {"type": "string"}, "optional": True, "field": "texts"},
        {"type": "array", "items": {"type": "int64"}, "optional": True, "field": "numbers"},
        {
            "type": "array",
            "items": {**connect_schema.struct([connect_schema.plain("n", "int32")], name="a.One")},
            "field": "structs",
        },
        {"type": "map", "values": {"type": "string"}, "optional": True, "field": "map"},
    ],
}


@pytest.mark.parametrize(
    "value",
    [
        {"texts": ["a", ""], "numbers": [0, -1, 1 << 40], "structs": [{"n": 1}, {"n": 0}], "map": {"k": "v", "": ""}},
        {"texts": None, "numbers": [], "structs": [], "map": None},
    ],
)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_arrays_and_maps_have_googles_bytes(value: Any, options: ProtobufOptions) -> None:
    assert_same_bytes(ARRAYS, value, options)


def logical(kind: str, name: str, **more: Any) -> Schema:
    field = {"type": kind, "name": name, "version": 1, "optional": True, "field": "v", **more}
    return connect_schema.struct([field], name="l.Row")


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (logical("int64", TIMESTAMP), [0, 1, -1, 1795416890123, -62135596800000]),
        (logical("int32", DATE), [0, -1, 20000]),
        (logical("int32", TIME), [0, 1, 86_399_999]),
        (
            logical("bytes", DECIMAL, parameters={"scale": "2", "connect.decimal.precision": "12"}),
            ["AA==", "/w==", "BNI=", "APkL"],
        ),
        (logical("bytes", DECIMAL, parameters={"scale": "0"}), ["AA=="]),
        (logical("bytes", DECIMAL, parameters={"scale": "-3"}), ["Bw=="]),
    ],
)
def test_logical_types_are_messages(schema: Schema, values: list[Any]) -> None:
    for value in values:
        for options in OPTIONS.values():
            assert_same_bytes(schema, {"v": value}, options)


def test_the_key_schema_is_the_converters() -> None:
    (record,) = encoded(event(Op.CREATE, None, NEW))
    assert text_of(parts(record.key)[0]) == (
        'syntax = "proto3";\npackage shop.SALES.ORDERS;\n\nmessage Key {\n  int64 ORDER_ID = 1;\n}\n'
    )


def test_the_envelope_holds_a_row_once_and_refers_to_it() -> None:
    (record,) = encoded(event(Op.CREATE, None, NEW))
    text = text_of(parts(record.value)[0])
    assert text.count("message Value {") == 1
    found = outline(text)
    assert list(found) == ["Envelope", "Envelope.Value", "Envelope.Source", "Envelope.block"]
    assert [found["Envelope"][number] for number in (1, 2, 3, 4, 5)] == [
        ("", "Value", "before"),
        ("", "Value", "after"),
        ("", "Source", "source"),
        ("", "block", "transaction"),
        ("", "string", "op"),
    ]


def test_what_protobuf_lacks_is_in_the_fields_options() -> None:
    table = TableSchema(
        ORDERS.id,
        (ORDERS.columns[0], Column("TOTAL", "NUMBER", 10, 2), Column("N", "NUMBER", 2, 0)),
        key=(0,),
        stored=("ORDER_ID",),
    )
    (record,) = encoded(event(Op.CREATE, None, ("1", None, None), table))
    text = text_of(parts(record.value)[0])
    assert 'import "confluent/meta.proto";\nimport "confluent/type/decimal.proto";\n' in text
    assert (
        "    confluent.type.Decimal TOTAL = 2 [(confluent.field_meta) = {\n"
        "      params: [\n"
        '        {\n          key: "precision",\n          value: "10"\n        },\n'
        '        {\n          key: "scale",\n          value: "2"\n        }\n'
        "      ]\n    }];\n"
    ) in text
    assert 'key: "connect.type",\n          value: "int8"' in text


def test_a_message_with_its_fields_name_gets_a_suffix() -> None:
    inner = {**connect_schema.struct([connect_schema.plain("n", "int32")], name="a.twin"), "field": "twin"}
    assert "  twinMessage twin = 1;" in text_of(connect_schema.struct([inner], name="a.Row"))


def test_messages_of_one_name_that_differ_are_refused() -> None:
    one, other = (
        {**connect_schema.struct([connect_schema.plain(name, "int32")], name=f"{name}.Twin"), "field": name} for name in "ab"
    )
    with pytest.raises(RecordSchemaError, match="two messages Twin that are not the same"):
        text_of(connect_schema.struct([one, other], name="a.Row"))


def row_with(name: str) -> Schema:
    return connect_schema.struct([connect_schema.plain(name, "int32")], name="a.Row")


@pytest.mark.parametrize("name", ["EMP$ID", "1ST", "ÄÖ"])
def test_a_name_that_protobuf_does_not_have_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(RecordSchemaError, match=r"the name .*\n.*scrub.invalid.names=true"):
        text_of(row_with(name))


@pytest.mark.parametrize(
    ("name", "written"),
    [("EMP$ID", "EMP_24ID"), ("1ST", "x1ST"), ("_A", "x_A"), ("Ä", "_C3_84"), ("A B", "A_B"), ("~", "_7E")],
)
def test_scrubbed_names_are_the_converters(name: str, written: str) -> None:
    assert f"  int32 {written} = 1;" in text_of(row_with(name), ProtobufOptions(scrub=True))


def test_names_that_become_the_same_are_refused() -> None:
    schema = connect_schema.struct([connect_schema.plain(name, "int32") for name in ("A B", "A+B", "A_B")], name="a.Row")
    with pytest.raises(RecordSchemaError, match="fields A B and A_B of Row both become A_B"):
        text_of(schema, ProtobufOptions(scrub=True))


def test_a_topic_that_is_no_package_is_refused_with_the_way_out() -> None:
    with pytest.raises(RecordSchemaError, match=r"my-shop.*\n.*schema.name.adjustment.mode"):
        text_of(connect_schema.key("my-shop.SALES.T", [connect_schema.plain("ID", "int32")]))


def test_an_array_of_arrays_is_refused() -> None:
    nested: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "field": "a"}
    with pytest.raises(RecordSchemaError, match="array of arrays"):
        text_of(connect_schema.struct([nested], name="a.Row"))


@pytest.mark.parametrize(
    ("kind", "value", "name", "place"),
    [
        ("string", "text", "StringValue", 7),
        ("int8", -3, "Int32Value", 4),
        ("bytes", "AAE=", "BytesValue", 8),
        ("double", 0.0, "DoubleValue", 0),
    ],
)
def test_a_single_value_is_googles_wrapper(kind: str, value: Any, name: str, place: int) -> None:
    write, found = compile_single({"type": kind})
    message = message_class(wrappers_text(), f"google.protobuf.{name}")
    assert found == place
    assert message.FromString(write(value)).value == scalar({"type": kind}, value)
    assert list(outline(wrappers_text()))[place] == name


def test_message_indexes_are_confluents() -> None:
    assert message_index(0) == b"\x00"  # the first message is short
    assert message_index(7) == b"\x02\x0e"
    assert message_index(0, 2) == b"\x04\x00\x04"


@pytest.mark.parametrize(
    ("kind", "value"), [("int8", 128), ("int64", 1 << 63), ("string", 5), ("int32", "x"), ("boolean", 1), ("string", None)]
)
def test_a_payload_of_another_type_is_refused(kind: str, value: Any) -> None:
    schema = connect_schema.struct([{"type": kind, "optional": False, "field": "v"}], name="a.Row")
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError)):
        compile_writer(protobuf_file(schema, OPTIONS["plain"]))({"v": value})


def test_a_float_beyond_its_type_is_refused_and_not_infinite() -> None:
    schema = connect_schema.struct([{"type": "float", "optional": True, "field": "v"}], name="a.Row")
    write = compile_writer(protobuf_file(schema, OPTIONS["plain"]))
    assert write({"v": "-Infinity"}) == b"\x0d\x00\x00\x80\xff"
    with pytest.raises(OverflowError):
        write({"v": 1e40})


def test_a_member_that_is_missing_is_refused() -> None:
    schema = connect_schema.struct([{"type": "string", "optional": True, "field": name} for name in "ab"], name="a.Row")
    with pytest.raises(KeyError):
        compile_writer(protobuf_file(schema, OPTIONS["plain"]))({"a": "x"})


def test_schemas_are_compared_by_what_messages_depend_on() -> None:
    ours = text_of(row_with("A"))
    written = ours.replace("int32 A = 1;", 'int32  A = 1 [deprecated = true]; // why\n  /* more; */ option x = "}";')
    assert outline(written) == outline(ours)
    for other in (
        "int64 A = 1;",
        "int32 B = 1;",
        "int32 A = 2;",
        "optional int32 A = 1;",
        "int32 A = 1; oneof o { int32 b = 2; }",
    ):
        assert outline(ours.replace("int32 A = 1;", other)) != outline(ours)
    with pytest.raises(ValueError, match="not a Protobuf schema"):
        outline('{"type":"record"}')
    with pytest.raises(ValueError, match="not a Protobuf message"):
        outline("message {")
