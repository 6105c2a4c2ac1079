"""The compiled Protobuf writer against Google's library: the same bytes, or left to Python."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.messages.formats.golden import TYPES
from tests.unit.messages.formats.test_avro import name_structs, parts, typed_values
from tests.unit.messages.formats.test_protobuf import OPTIONS
from tests.unit.messages.test_envelope import ORDERS, encoder, event
from tests.unit.native.test_avro_pair import HEADER, MODES, PIECES, printed

from minercdc import native
from minercdc.messages.avro.encoding import UNFIT
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.protobuf.encoding import compile_writer
from minercdc.messages.protobuf.native import described
from minercdc.messages.protobuf.schema import ProtobufOptions, protobuf_file
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row

pytestmark = pytest.mark.skipif(native.rows is None, reason="no native path")

PLAIN = OPTIONS["plain"]
structs = typed_values(kinds=("struct",))


def by_python(schema: Schema, text: str, options: ProtobufOptions = PLAIN) -> bytes | None:
    """None where it is an error."""
    write = compile_writer(protobuf_file(schema, options))
    try:
        return HEADER + write(json.loads(text))
    except UNFIT:
        return None


def by_native(schema: Schema, text: str, options: ProtobufOptions = PLAIN) -> bytes | None:
    assert native.rows is not None
    fields = described(protobuf_file(schema, options).root, native.rows.CONSTANTS)
    assert fields is not None
    document = b"<" + text.encode() + b">"
    found: bytes | None = native.rows.ProtobufWriter(fields, HEADER).write(document, 1, len(document) - 1)
    return found


@settings(max_examples=examples(25), deadline=None)
@given(structs)
def test_a_printed_payload_is_written_natively(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    name_structs(schema, "n.R")
    for options in OPTIONS.values() if value is not None else ():
        written = by_native(schema, printed(value), options)
        assert written == by_python(schema, printed(value), options) or (written is None and "-0.0" in printed(value))


@settings(max_examples=examples(25), deadline=None)
@given(structs, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.sampled_from(PIECES)), min_size=1, max_size=3))
def test_a_damaged_payload_is_written_as_python_does_or_not_at_all(
    pair: tuple[Schema, Any], damages: list[tuple[int, int, str]]
) -> None:
    schema, value = pair
    name_structs(schema, "n.R")
    text = printed(value)
    for at, cut, piece in damages:
        place = at % (len(text) + 1)
        text = text[:place] + piece + text[place + cut :]
    written = by_native(schema, text)
    assert written is None or written == by_python(schema, text)


LOGICAL = {
    DATE: ("int32", ["0", "-1", "20000", "-719162", "2932896", "-719163", "2932897", "59", "60"]),
    TIME: ("int32", ["0", "86399999", "86400000", "-1", "3600000", "1"]),
    TIMESTAMP: ("int64", ["0", "-1", "-1000", "1789990213402", "-62135596800000", "9223372036854775807"]),
    DECIMAL: (
        "bytes",
        ['"AA=="', '"/w=="', '"AP8="', '"gAAAAAAAAAAAAAAAAAAAAA=="', '"AAAAAAAAAAAAAAAAAAAAAAAB"', '""', '"Y2Q="'],
    ),
}


@pytest.mark.parametrize("name", LOGICAL)
def test_connects_own_types(name: str) -> None:
    kind, texts = LOGICAL[name]
    for scale in ("0", "2", "-3"):
        field = {"type": kind, "optional": True, "field": "f", "name": name, "version": 1, "parameters": {"scale": scale}}
        schema: Schema = {"type": "struct", "name": "n.R", "fields": [field]}
        for text in texts:
            written = by_native(schema, f'{{"f":{text}}}')
            assert written is None or written == by_python(schema, f'{{"f":{text}}}')
        assert by_native(schema, f'{{"f":{texts[0]}}}') is not None
        assert by_native(schema, '{"f":null}') == HEADER


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *itertools.product(("int8", "int16", "int32", "int64"), ("0", "127", "128", "-128", "-129", "32768", "2147483648")),
        *(("int64", text) for text in ("9223372036854775807", "9223372036854775808", "-9223372036854775808", "007", "-")),
        *itertools.product(
            ("float", "double"), ("0.0", "-0.0", "0", "-0", "1e400", "4.9e-324", '"NaN"', '"-Infinity"', "0.1")
        ),
        ("float", "3.5e38"),
        ("bytes", '"AB=="'),
        ("bytes", '""'),
        ("string", '"a\\"\\\\\\n\\u0000b"'),
        ("string", '"\\ud83d\\ude00"'),
        ("string", '"' + "x" * 20_000 + '"'),
        ("boolean", "true"),
        ("boolean", "null"),
    ],
)
@pytest.mark.parametrize("optional", [False, True])
def test_the_ends_of_what_a_type_holds(kind: str, text: str, optional: bool) -> None:
    schema: Schema = {"type": "struct", "name": "n.R", "fields": [{"type": kind, "optional": optional, "field": "f"}]}
    for options in OPTIONS.values():
        written = by_native(schema, f'{{"f":{text}}}', options)
        assert written is None or written == by_python(schema, f'{{"f":{text}}}', options)


@pytest.mark.parametrize("modes", MODES, ids=lambda modes: modes.time_precision)
@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.shown)
def test_rows_of_each_type_are_written_alike(one: Any, modes: Any) -> None:
    first = Column("ID", "NUMBER", 9, 0, nullable=False)
    table = TableSchema(ORDERS.id, (first, one.column, replace(one.column, name="W", nullable=False)), key=(0,))
    made = encoder(lambda: 0, modes, by_number=(True, True), lob_enabled="true")
    rows: tuple[Row, ...] = (("1", one.text, one.text), ("1", None, one.text), ("1", UNAVAILABLE, one.text))
    for change in (event(Op.CREATE, None, rows[0], table), event(Op.UPDATE, rows[1], rows[2], table)):
        for record in made.encode(change):
            for document in filter(None, (record.key, record.value)):
                schema, payload = parts(document)
                written = by_native(schema, payload.decode())
                assert written == by_python(schema, payload.decode())


def test_arrays_and_maps_are_left_to_python() -> None:
    assert native.rows is not None
    for kind in ({"type": "array", "items": {"type": "string"}}, {"type": "map", "values": {"type": "string"}}):
        schema: Schema = {"type": "struct", "name": "n.R", "fields": [{**kind, "field": "a"}]}
        assert described(protobuf_file(schema, PLAIN).root, native.rows.CONSTANTS) is None
