"""Avro: the schemas of Connect's AvroConverter, and the bytes that fastavro writes with them."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, encoder, event

from minercdc.errors import RecordSchemaError
from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.envelope import connect_schema
from minercdc.messages.formats.connect import Schema, numbered, schema_of, split
from minercdc.schema.name_adjustment import Mode, field_name
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import Op, Row

ALL = TableSchema(
    TableId("SHOPPDB", "SALES", "ALL_TYPES"),
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("TINY", "NUMBER", 2, 0),
        Column("SMALL", "NUMBER", 4, 0),
        Column("AMOUNT", "NUMBER", 12, 2),
        Column("ANY_NUMBER", "NUMBER"),
        Column("BF", "BINARY_FLOAT"),
        Column("BD", "BINARY_DOUBLE"),
        Column("RAW_BYTES", "RAW", 16),
        Column("CREATED", "DATE"),
        Column("TEXT", "VARCHAR2", 10),
    ),
    key=(0,),
    stored=("ID", "TINY", "SMALL", "AMOUNT", "ANY_NUMBER", "BF", "BD", "RAW_BYTES", "CREATED", "TEXT"),
)
ROWS: tuple[Row, ...] = (
    (
        "1",
        "-7",
        "1234",
        "-12.34",
        "123456789012345678901234567890.5",
        "1.5",
        "-0.1",
        "00FF10",
        "2026-09-21 10:30:00",
        "grün",
    ),
    ("2147483", None, None, None, None, None, None, None, None, None),
    ("3", "0", "-9999", "0", "0", "NaN", "Infinity", "", "1999-12-31 23:59:59", ""),
)


def parts(document: bytes | None) -> tuple[Schema, bytes]:
    assert document is not None
    found = split(document)
    assert found is not None
    return schema_of(found[0]), found[1]


def datum(schema: Schema, value: Any) -> Any:
    """A JSON payload as fastavro takes it."""
    if value is None:
        return None
    match schema["type"]:
        case "struct":
            return {field["field"]: datum(field, value[field["field"]]) for field in schema["fields"]}
        case "array":
            return [datum(schema["items"], item) for item in value]
        case "map":
            return {key: datum(schema["values"], item) for key, item in value.items()}
        case "bytes":
            return base64.b64decode(value)
        case "float" | "double":
            return float(value)
    return value


def by_fastavro(schema: Schema, value: Any) -> bytes:
    written = BytesIO()
    fastavro.schemaless_writer(
        written, fastavro.parse_schema(json.loads(avro_text(avro_schema(schema)))), datum(schema, value)
    )
    return written.getvalue()


def assert_same_bytes(document: bytes | None) -> None:
    schema, payload = parts(document)
    value = json.loads(payload)
    assert compile_writer(schema)(value) == by_fastavro(schema, value)


def encoded(*events: Any, table: TableSchema = ORDERS) -> list[Record]:
    made = encoder(value_converter_schemas_enable="true", key_converter_schemas_enable="true")
    return [record for one in events for record in made.encode(one)]


@pytest.mark.parametrize("row", ROWS)
def test_rows_of_all_types_have_fastavros_bytes(row: Row) -> None:
    for record in encoded(event(Op.CREATE, None, row, ALL), event(Op.DELETE, row, None, ALL)):
        for document in (record.key, record.value):
            if document is not None:
                assert_same_bytes(document)


def test_updates_and_key_changes_have_fastavros_bytes() -> None:
    moved = ("70022", *PAID[1:])
    for record in encoded(event(Op.UPDATE, NEW, PAID), event(Op.UPDATE, PAID, moved)):
        if record.value is not None:
            assert_same_bytes(record.value)


def test_the_key_schema_is_the_converters() -> None:
    (record,) = encoded(event(Op.CREATE, None, NEW))
    schema, _ = parts(record.key)
    assert avro_text(avro_schema(schema)) == (
        '{"type":"record","name":"Key","namespace":"shop.SALES.ORDERS","fields":[{"name":"ORDER_ID","type":"long"}],'
        '"connect.name":"shop.SALES.ORDERS.Key"}'
    )


def test_the_envelope_names_a_row_once_and_refers_to_it() -> None:
    (record,) = encoded(event(Op.CREATE, None, NEW))
    schema, _ = parts(record.value)
    avro = avro_schema(schema)
    assert isinstance(avro, dict)
    assert (avro["name"], avro["namespace"], avro["connect.name"]) == (
        "Envelope",
        "shop.SALES.ORDERS",
        "shop.SALES.ORDERS.Envelope",
    )
    before, after, source, transaction = avro["fields"][:4]
    assert before["type"][0] == "null"
    assert before["type"][1]["name"] == "Value"
    assert "namespace" not in before["type"][1]  # that of the envelope
    assert after == {"name": "after", "type": ["null", "Value"], "default": None}
    assert source["type"]["namespace"] == "io.debezium.connector.oracle"
    snapshot = next(field for field in source["type"]["fields"] if field["name"] == "snapshot")
    assert snapshot["type"][1] == "null"
    assert list(snapshot["type"][0]) == ["type", "connect.version", "connect.parameters", "connect.default", "connect.name"]
    assert snapshot["default"] == "false"
    assert transaction["type"][1]["namespace"] == "event"


def column(name: str, kind: str, length: int | None = None, scale: int | None = None) -> Any:
    table = TableSchema(
        ORDERS.id, (ORDERS.columns[0], Column(name, kind, length, scale)), key=(0,), stored=("ORDER_ID", name)
    )
    (record,) = encoded(event(Op.CREATE, None, ("1", None), table))
    avro = avro_schema(parts(record.value)[0])
    assert isinstance(avro, dict)
    return avro["fields"][0]["type"][1]["fields"][1]


def test_a_decimal_has_avros_logical_type() -> None:
    assert column("TOTAL", "NUMBER", 10, 2)["type"][1] == {
        "type": "bytes",
        "scale": 2,
        "precision": 10,
        "connect.version": 1,
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "logicalType": "decimal",
    }


def test_debeziums_times_have_no_logical_type() -> None:
    assert column("D", "DATE")["type"] == [
        "null",
        {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.Timestamp"},
    ]


def test_short_integers_name_their_type() -> None:
    assert column("N", "NUMBER", 2, 0)["type"] == ["null", {"type": "int", "connect.type": "int8"}]


def test_a_number_of_any_scale_is_a_documented_record() -> None:
    found = column("N", "NUMBER")
    assert list(found) == ["name", "type", "default"]  # the documentation is the type's
    assert found["type"][1] == {
        "type": "record",
        "name": "VariableScaleDecimal",
        "namespace": "io.debezium.data",
        "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
        "connect.doc": "Variable scaled decimal",
        "connect.version": 1,
        "connect.name": "io.debezium.data.VariableScaleDecimal",
    }


@pytest.mark.parametrize("name", ["EMP$ID", "1ST", "ÄÖ"])
def test_a_name_that_avro_does_not_have_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(RecordSchemaError, match=r"field name .*\n.*field.name.adjustment.mode"):
        column(name, "VARCHAR2", 10)


def test_a_negative_scale_is_refused_with_the_way_out() -> None:
    field: Schema = {
        "type": "bytes",
        "optional": True,
        "field": "N",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "-2"},
    }
    with pytest.raises(RecordSchemaError, match=r"column N .* scale -2(.|\n)*decimal.handling.mode"):
        avro_schema(connect_schema.struct([field], name="a.B"))


PLAIN = {
    "boolean": st.booleans(),
    "int8": st.integers(-128, 127),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "double": st.floats(),
    "string": st.text(),
    "bytes": st.binary().map(lambda raw: base64.b64encode(raw).decode()),
}


@st.composite
def typed_values(
    draw: st.DrawFn, depth: int = 2, kinds: tuple[str, ...] = ("struct", "array", "map"), top: bool = True
) -> tuple[Schema, Any]:
    """A schema and a payload of it.

    :param kinds: of what holds others; when there is one only, it is at the top.
    """
    choices = [*PLAIN, *(kinds if depth else ())]
    kind = kinds[0] if top and len(kinds) == 1 else draw(st.sampled_from(choices))
    schema: Schema = {"type": kind, "optional": draw(st.booleans())}
    if kind == "struct":
        members = draw(st.lists(typed_values(depth - 1, kinds, top=False), max_size=4))
        schema["fields"] = [{**inner, "field": f"f{i}"} for i, (inner, _) in enumerate(members)]
        value: Any = {f"f{i}": inner for i, (_, inner) in enumerate(members)}
    elif kind in ("array", "map"):
        inner, item = draw(typed_values(depth - 1, kinds, top=False))
        schema["items" if kind == "array" else "values"] = inner
        value = [item] * draw(st.integers(0, 3)) if kind == "array" else {"k": item}
    else:
        value = draw(PLAIN[kind])
    return schema, None if schema["optional"] and draw(st.booleans()) else value


def name_structs(schema: Schema, name: str) -> None:
    """Give each struct a name of its own."""
    if schema["type"] == "struct":
        schema["name"] = name
    for i, inner in enumerate([*schema.get("fields", ()), *(schema[n] for n in ("items", "values") if n in schema)]):
        name_structs(inner, f"{name}_{i}")


@given(typed_values())
def test_any_payload_has_fastavros_bytes(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    name_structs(schema, "n.R")
    assert compile_writer(schema)(value) == by_fastavro(schema, value)


@pytest.mark.parametrize(
    ("kind", "value"), [("int32", 1 << 31), ("int64", 1 << 63), ("string", 5), ("int32", "x"), ("string", None)]
)
def test_a_payload_of_another_type_is_refused(kind: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError)):
        compile_writer({"type": kind, "optional": False})(value)


def test_adjusted_names_are_avros() -> None:
    table = TableSchema(
        TableId("SHOPPDB", "SALES", "EMP$OLD"),
        (Column("ID", "NUMBER", 9, 0, nullable=False), Column("EMP$ID", "NUMBER", 9, 0), Column("1ST", "NUMBER", 9, 0)),
        key=(0,),
        stored=("ID", "EMP$ID", "1ST"),
    )
    made = encoder(
        value_converter_schemas_enable="true", schema_name_adjustment_mode="avro", field_name_adjustment_mode="avro"
    )
    (record,) = made.encode(event(Op.CREATE, None, ("1", "2", "3"), table))
    schema, payload = parts(record.value)
    assert json.loads(payload)["after"] == {"ID": 1, "EMP_ID": 2, "_1ST": 3}
    assert schema["name"] == "shop.SALES.EMP_OLD.Envelope"
    assert_same_bytes(record.value)


def test_names_that_become_the_same_are_refused() -> None:
    table = TableSchema(
        ORDERS.id, (Column("A$B", "NUMBER", 9, 0), Column("A#B", "NUMBER", 9, 0)), key=(), stored=("A$B", "A#B")
    )
    with pytest.raises(
        RecordSchemaError,
        match=r"columns A\$B and A#B both become A_B by field.name.adjustment.mode=avro .table SALES.ORDERS, topic shop.SALES.ORDERS.",
    ):
        encoder(field_name_adjustment_mode="avro").encode(event(Op.CREATE, None, ("1", "2"), table))


@pytest.mark.parametrize(
    ("mode", "name", "expected"),
    [
        ("avro", "A-Ü.b", "A___b"),
        ("avro", "9", "_9"),
        ("avro_unicode", "a_b$", "a_u005fb_u0024"),
        ("avro_unicode", "\U0001f600", "_ud83d_ude00"),
        ("none", "A-$", "A-$"),
    ],
)
def test_a_field_name_is_adjusted(mode: Mode, name: str, expected: str) -> None:
    assert field_name(mode)(name) == expected


def test_a_number_stands_for_a_schema_that_is_taken_out_anyway() -> None:
    inline = encoder(value_converter_schemas_enable="true", key_converter_schemas_enable="true")
    (written,) = inline.encode(event(Op.UPDATE, NEW, PAID))
    (short,) = encoder(by_number=(True, True)).encode(event(Op.UPDATE, NEW, PAID))
    for document, shorter in ((written.key, short.key), (written.value, short.value)):
        assert parts(document) == parts(shorter)
        assert len(document or b"") > len(shorter or b"") + 100


def test_a_schema_has_one_number() -> None:
    first, again = ({"type": "struct", "name": "one.number", "fields": []} for _ in range(2))
    assert numbered(first) == numbered(again)
    assert numbered({**first, "name": "another"}) != numbered(first)
    head, _ = numbered(again)
    assert schema_of(head.encode()[len(b'{"schema":') : -len(b',"payload":')]) == first


@pytest.mark.parametrize(("kind", "bits"), [("int8", 8), ("int16", 16), ("int32", 32), ("int64", 64)])
@pytest.mark.parametrize("optional", [False, True])
def test_integers_at_the_ends_of_their_types(kind: str, bits: int, optional: bool) -> None:
    schema: Schema = {"type": kind, "optional": optional}
    before = b"\2" if optional else b""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for value in {0, 1, -1, 63, 64, 127, high, high - 1, low, low + 1, min(1023, high), min(1024, high), min(1 << 27, high)}:
        written = BytesIO()
        fastavro.schemaless_writer(written, fastavro.parse_schema("long"), value)
        assert compile_writer(schema)(value) == before + written.getvalue()
    for beyond in (low - 1, high + 1):
        with pytest.raises(OverflowError, match="is not between"):
            compile_writer(schema)(beyond)


def test_texts_about_as_long_as_lengths_that_are_looked_up() -> None:
    for size in (0, 63, 64, 1023, 1024, 8191, 8192, 1 << 21):
        for kind, text in (("string", "x" * size), ("bytes", base64.b64encode(b"x" * size).decode())):
            written = BytesIO()
            fastavro.schemaless_writer(written, fastavro.parse_schema("string"), "x" * size)
            assert compile_writer({"type": kind, "optional": False})(text) == written.getvalue()


def test_structs_in_many_structs() -> None:
    schema: Schema = {"type": "int32", "field": "f"}
    value: Any = 1000
    for _ in range(40):
        schema, value = {"type": "struct", "fields": [schema], "optional": True, "field": "f"}, {"f": value}
    assert compile_writer(schema)(value) == b"\2" * 40 + b"\xd0\x0f"


def test_a_columns_comment_is_its_doc_in_keys_and_values() -> None:
    described = tuple(
        Column(c.name, c.type_name, c.length, c.scale, c.nullable, comment=f"it's {c.name}") for c in ALL.columns[:5]
    )
    table = TableSchema(ALL.id, described, key=(0,))
    made = encoder(key_converter_schemas_enable="true", value_converter_schemas_enable="true")
    (record,) = made.encode(event(Op.CREATE, None, ("1", "2", "3", "4", "5"), table))
    key, value = (avro_schema(parts(document)[0]) for document in (record.key, record.value))
    assert isinstance(key, dict)
    assert isinstance(value, dict)
    assert key["fields"][0]["type"]["connect.doc"] == "it's ID"
    row = value["fields"][0]["type"][1]
    kinds = [field["type"] if isinstance(field["type"], dict) else field["type"][1] for field in row["fields"]]
    assert [kind["connect.doc"] for kind in kinds] == [f"it's {column.name}" for column in described]
    fastavro.parse_schema(json.loads(avro_text(value)))
