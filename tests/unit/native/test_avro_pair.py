"""The compiled Avro writer against Python's: the same bytes, or left to Python."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.formats.golden import TYPES
from tests.unit.messages.formats.test_avro import name_structs, parts, typed_values
from tests.unit.messages.test_envelope import ORDERS, encoder, event

from minercdc import native
from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.native import described
from minercdc.messages.formats.connect import Schema
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row
from minercdc.values.codec import ValueHandling

pytestmark = pytest.mark.skipif(native.rows is None, reason="no native path")

HEADER = b"\0\0\0\0\x07"


def finite(value: Any) -> Any:
    """Floats that JSON has no numbers for are texts in it."""
    if isinstance(value, dict):
        return {name: finite(member) for name, member in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def by_python(schema: Schema, text: str) -> bytes | None:
    """None where it is an error."""
    try:
        return HEADER + compile_writer(schema)(json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None


def by_native(schema: Schema, text: str) -> bytes | None:
    assert native.rows is not None
    fields = described(schema, native.rows.CONSTANTS)
    assert fields is not None
    document = b"<" + text.encode() + b">"
    found: bytes | None = native.rows.AvroWriter(fields, HEADER).write(document, 1, len(document) - 1)
    return found


def printed(value: Any) -> str:
    return json.dumps(finite(value), separators=(",", ":"), ensure_ascii=False)


structs = typed_values(kinds=("struct",))


@given(structs)
def test_a_printed_payload_is_written_natively(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    name_structs(schema, "n.R")
    text = printed(value)
    written = by_native(schema, text)
    assert written is not None
    assert written == by_python(schema, text)


PIECES = [
    "",
    "0",
    "9",
    "-",
    ".",
    "e5",
    '"',
    "\\",
    "\\u0041",
    "\\u00e9",
    "null",
    "true",
    "{",
    "}",
    ",",
    ":",
    "=",
    "A",
    " ",
    "\x01",
    "é",
]


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


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int8", "127"),
        ("int8", "128"),
        ("int8", "-128"),
        ("int8", "-129"),
        ("int64", "9223372036854775807"),
        ("int64", "9223372036854775808"),
        ("int64", "-9223372036854775808"),
        ("int64", "-9223372036854775809"),
        ("int64", "007"),
        ("int64", "-"),
        ("double", "-0"),
        ("double", "-0.0"),
        ("double", "1e400"),
        ("double", "4.9e-324"),
        ("double", '"NaN"'),
        ("float", "3.5e38"),
        ("float", "0.1"),
        ("float", '"-Infinity"'),
        ("bytes", '"AP8Q"'),
        ("bytes", '"AB=="'),
        ("bytes", '"A==="'),
        ("bytes", '""'),
        ("string", '"a\\"\\\\\\n\\u0000b"'),
        ("string", '"\\ud83d\\ude00"'),
        ("boolean", "false"),
    ],
)
def test_the_ends_of_what_a_type_holds(kind: str, text: str) -> None:
    schema: Schema = {"type": "struct", "name": "n.R", "fields": [{"type": kind, "optional": True, "field": "f"}]}
    document = f'{{"f":{text}}}'
    written = by_native(schema, document)
    assert written is None or written == by_python(schema, document)
    assert by_native(schema, '{"f":null}') == HEADER + b"\0"


MODES = (
    ValueHandling("precise", "adaptive", binary="bytes"),
    ValueHandling("string", "isostring", binary="hex"),
    ValueHandling("double", "connect", binary="base64"),
)


@pytest.mark.parametrize("modes", MODES, ids=lambda modes: modes.time_precision)
@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.shown)
def test_rows_of_each_type_are_written_alike(one: Any, modes: ValueHandling) -> None:
    first = Column("ID", "NUMBER", 9, 0, nullable=False)
    table = TableSchema(ORDERS.id, (first, one.column, replace(one.column, name="W", nullable=False)), key=(0,))
    made = encoder(lambda: 0, modes, by_number=(True, True), lob_enabled="true")
    rows: tuple[Row, ...] = (("1", one.text, one.text), ("1", None, one.text), ("1", UNAVAILABLE, one.text))
    changes = [event(Op.UPDATE, before, after, table) for before, after in itertools.permutations(rows, 2)]
    for change in (event(Op.CREATE, None, rows[0], table), *changes, event(Op.DELETE, rows[1], None, table)):
        for record in made.encode(change):
            for document in filter(None, (record.key, record.value)):
                schema, payload = parts(document)
                written = by_native(schema, payload.decode())
                assert written is not None
                assert written == by_python(schema, payload.decode())


def test_a_range_that_is_not_in_the_document_is_refused() -> None:
    assert native.rows is not None
    writer = native.rows.AvroWriter(described({"type": "int32"}, native.rows.CONSTANTS), HEADER)
    for begin, end in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(IndexError):
            writer.write(b"12", begin, end)


def test_arrays_and_maps_are_left_to_python() -> None:
    assert native.rows is not None
    schema = {"type": "struct", "fields": [{"type": "array", "items": {"type": "string"}, "field": "a"}]}
    assert described(schema, native.rows.CONSTANTS) is None
