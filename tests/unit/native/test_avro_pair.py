"""The compiled Avro writer against Python's: the same bytes, or left to Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.formats.test_avro import name_structs, typed_values

from minercdc import native
from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.native import described
from minercdc.messages.formats.connect import Schema

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
    fields = described(schema)
    assert fields is not None
    assert native.rows is not None
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


def test_a_range_that_is_not_in_the_document_is_refused() -> None:
    assert native.rows is not None
    writer = native.rows.AvroWriter(described({"type": "int32"}), HEADER)
    for begin, end in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(IndexError):
            writer.write(b"12", begin, end)


def test_arrays_and_maps_are_left_to_python() -> None:
    assert described({"type": "struct", "fields": [{"type": "array", "items": {"type": "string"}, "field": "a"}]}) is None
