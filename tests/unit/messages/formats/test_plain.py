"""Texts and bare bytes; tests/parity compares the texts with Java's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.load import parse_properties
from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.formats.configured import record_converter
from minercdc.messages.formats.converting import Side
from minercdc.messages.formats.plain import BytesFormat, StringFormat
from minercdc.messages.formats.reading import record_readers
from minercdc.sinks.opening import not_read_back

STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def document(schema: dict[str, Any], payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


ROW = {
    "type": "struct",
    "fields": [
        {"type": "int32", "optional": False, "field": "ID"},
        {"type": "string", "optional": True, "field": "NAME"},
        {"type": "string", "optional": True, "field": "STATE", "default": "new"},
        {"type": "array", "items": {"type": "double"}, "optional": True, "field": "LIST"},
        {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}, "field": "D"},
    ],
}


def test_a_row_is_the_text_of_a_struct() -> None:
    side = Side(StringFormat())
    assert (
        side.rewritten("t", document(ROW, {"ID": 1, "NAME": None, "STATE": None, "LIST": [1, 1e10], "D": "BNI="}))
        == b"Struct{ID=1,LIST=[1.0, 1.0E10],D=12.34}"
    )


@pytest.mark.parametrize(
    ("kind", "value", "text"), [("string", "grün", "grün"), ("int64", -5, "-5"), ("boolean", True, "true")]
)
def test_a_single_value_is_its_text(kind: str, value: Any, text: str) -> None:
    assert Side(StringFormat()).rewritten("t", document({"type": kind}, value)).decode() == text


@pytest.mark.parametrize(("kind", "name"), [("bytes", None), ("int64", "org.apache.kafka.connect.data.Timestamp")])
def test_what_java_has_no_text_for_is_refused_with_the_field(kind: str, name: str | None) -> None:
    row = {"type": "struct", "fields": [{"type": kind, "name": name, "field": "V"}]}
    with pytest.raises(RecordSchemaError, match=r"topic t .*\(V\)(.|\n)*handling.mode"):
        Side(StringFormat()).rewritten("t", document(row, {"V": None}))


def test_bytes_are_written_as_they_are() -> None:
    assert Side(BytesFormat()).rewritten("t", document({"type": "bytes"}, "AAH/")) == b"\0\1\xff"
    with pytest.raises(RecordSchemaError, match=r"topic t are of type struct(.|\n)*outbox"):
        Side(BytesFormat()).rewritten("t", document(ROW, {}))


@pytest.mark.parametrize("value", [None, 5, "A"])
def test_what_are_no_bytes_is_a_record_that_cannot_be_written(value: object) -> None:
    with pytest.raises(DecodeError, match="topic t cannot be written as bytes"):
        Side(BytesFormat()).rewritten("t", document({"type": "bytes", "optional": True}, value))


@pytest.mark.parametrize("converter", [STRING, BYTES])
def test_they_go_with_any_converter_of_the_other_side_and_are_not_read_back(converter: str) -> None:
    config = parse_properties({**GOOD, "key.converter": converter})
    assert record_converter(config.converters, 1) is not None
    assert "keys or values" in not_read_back(config)
    with pytest.raises(Exception, match="key.converter: .*not read back"):
        record_readers(config)
