"""Avro read back is what JSON has in its place."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.formats.test_avro import ALL, ROWS, encoded, parts
from tests.unit.messages.test_envelope import event

from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.formats.reading import RegisteredReader, json_payload, without_logical_types
from minercdc.stream.contracts import Record
from minercdc.stream.events import Op


class Registry:
    """Schemas by id, as `registry.SchemaRegistry.schema` gives them."""

    def __init__(self, *schemas: str) -> None:
        self._schemas = schemas

    id_bytes = 4

    def schema(self, number: int) -> str:
        return self._schemas[number]


def reader(*schemas: Any) -> RegisteredReader:
    return RegisteredReader(Registry(*map(avro_text, schemas)))  # type: ignore[arg-type]


def records() -> list[Record]:
    events = [event(Op.CREATE, None, row, ALL) for row in ROWS]
    return encoded(*events, event(Op.UPDATE, ROWS[0], ROWS[1], ALL), event(Op.DELETE, ROWS[2], None, ALL))


def test_rows_of_all_types_come_back_as_json_has_them() -> None:
    for record in records():
        for document in (record.key, record.value):
            if document is None:
                continue
            schema, payload = parts(document)
            content = struct.pack(">bI", 0, 0) + compile_writer(schema)(json.loads(payload))
            assert reader(avro_schema(schema)).read(content) == json.loads(payload)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_has_the_fewest_digits(number: float) -> None:
    found = reader("float").read(b"\0\0\0\0\0" + struct.pack("<f", number))
    assert struct.pack("<f", found) == struct.pack("<f", number)
    assert len(Decimal(repr(found)).normalize().as_tuple().digits) <= 9 or found == number


def test_json_of_before_is_read_too() -> None:
    assert reader("string").read(b'{"schema":{"type":"int32"},"payload":7}') == 7
    assert json_payload(b'{"payload":7,"other":1}') == {"payload": 7, "other": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\0", "neither JSON nor"),
        (b"\1\0\0\0\0\2a", "neither JSON nor"),
        (b"plain text", "neither JSON nor"),
        (b"\0\0\0\0\0\x0aab", "does not fit its schema, id 0"),
    ],
)
def test_other_bytes_are_refused_with_a_reason(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reader("string").read(content)


def test_logical_types_are_left_out_at_any_depth() -> None:
    day = {"type": "int", "logicalType": "date", "connect.version": 1}
    record = {"type": "record", "name": "R", "fields": [{"name": "d", "type": ["null", day], "default": None}]}
    wanted = [{"name": "d", "type": ["null", "int"], "default": None}]
    found = without_logical_types({"type": "array", "items": record})
    assert found == {"type": "array", "items": {"type": "record", "name": "R", "fields": wanted}}
