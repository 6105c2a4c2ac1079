"""Messages of Protocol Buffers read back as Connect's JSON has them; the classes are compared with those of Google's compiler in
test_protobuf.py."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.messages.formats.golden import TYPES, _value
from tests.unit.messages.formats.test_avro import parts
from tests.unit.messages.test_envelope import NEW, PAID, encoder, event

from minercdc.messages.envelope import connect_schema
from minercdc.messages.protobuf.decoding import compile_reader
from minercdc.messages.protobuf.encoding import compile_writer
from minercdc.messages.protobuf.schema import ProtobufOptions, protobuf_file
from minercdc.messages.protobuf.text import protobuf_text
from minercdc.stream.events import Op

OPTIONAL, WRAPPERS = ProtobufOptions(optional=True), ProtobufOptions(wrappers=True)
MODES = [
    pytest.param(one, {family: mode} if family else {}, id=f"{one.shown} {mode}")
    for one in TYPES
    for family, modes in (one.modes or {"": ("",)}).items()
    for mode in modes
]


@pytest.mark.parametrize("options", [OPTIONAL, WRAPPERS], ids=["optional", "wrappers"])
@pytest.mark.parametrize(("typed", "mode"), MODES)
def test_values_of_each_type_and_mode_come_back(typed: Any, mode: dict[str, str], options: ProtobufOptions) -> None:
    schema, value = _value(typed.column, typed.text, **mode)
    file = protobuf_file(connect_schema.struct([schema], name="Row"), options)
    write, read = compile_writer(file), compile_reader(protobuf_text(file))
    assert read(write({"V": value})) == {"V": value}
    assert read(write({"V": None})) == {"V": None}


@pytest.mark.parametrize("options", [OPTIONAL, WRAPPERS], ids=["optional", "wrappers"])
def test_envelopes_come_back(options: ProtobufOptions) -> None:
    made = encoder(key_converter_schemas_enable="true", value_converter_schemas_enable="true")
    for change in (event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)):
        for content in (made.encode(change)[0].key, made.encode(change)[0].value):
            schema, payload = parts(content)
            file = protobuf_file(schema, options)
            read = compile_reader(protobuf_text(file))
            assert read(compile_writer(file)(json.loads(payload))) == json.loads(payload)


def test_zeros_and_empty_texts_are_no_nulls() -> None:
    schema = connect_schema.struct(
        [
            {"type": "int64", "optional": True, "field": "N"},
            {"type": "string", "optional": True, "field": "S"},
            {"type": "array", "items": {"type": "int32", "optional": False}, "optional": False, "field": "A"},
            {"type": "array", "items": {"type": "string", "optional": False}, "optional": False, "field": "T"},
        ],
        name="Row",
    )
    rows: list[dict[str, Any]] = [
        {"N": 0, "S": "", "A": [1, -2, 300], "T": ["", "b"]},
        {"N": None, "S": None, "A": [], "T": []},
    ]
    for row in rows:
        for options in (OPTIONAL, WRAPPERS):
            file = protobuf_file(schema, options)
            assert compile_reader(protobuf_text(file))(compile_writer(file)(row)) == row
    plain = protobuf_file(schema, ProtobufOptions())
    assert compile_reader(protobuf_text(plain))(b"") == {"N": 0, "S": "", "A": [], "T": []}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x12\x05ab", "parsing message with type 'M'"),
        (b"\x08", "parsing message"),
        (b"\x08" + b"\xff" * 10, "parsing message"),
        (b"\x0b", "parsing message"),
        (b"\x0d\0\0\0\0", "field n is of another type"),
        (b"\x12\x01\xff", "parsing message"),
    ],
)
def test_bytes_of_no_message_are_refused(content: bytes, says: str) -> None:
    read = compile_reader('syntax = "proto3"; message M { optional int64 n = 1; string s = 2; }')
    with pytest.raises(ValueError, match=says):
        read(content)
    assert read(b"\x1a\x01x\x12\x01y") == {"n": None, "s": "y"}, "fields of later versions are passed over"


def test_a_schema_that_is_not_read_back_is_named() -> None:
    with pytest.raises(ValueError, match="of type google.protobuf.Any"):
        compile_reader('syntax = "proto3"; message M { google.protobuf.Any a = 1; }')(b"")
    with pytest.raises(ValueError, match="no message"):
        compile_reader('syntax = "proto3";')


def test_columns_whose_names_differ_by_an_underscore_or_case_are_apart() -> None:
    """Their derived names in Protobuf's own JSON are the same, which Google's library would refuse."""
    names = ["ADDRESS1", "ADDRESS_1", "address1", "_ADDRESS1", "X_ADDRESS1", "self", "DESCRIPTOR", "message"]
    schema = connect_schema.struct([{"type": "string", "optional": True, "field": name} for name in names], name="a.Row")
    for options in (OPTIONAL, WRAPPERS):
        file = protobuf_file(schema, options)
        row = {name: f"of {name}" for name in names}
        assert compile_reader(protobuf_text(file))(compile_writer(file)(row)) == row


def test_schemas_of_others_with_numbers_that_are_none_are_refused() -> None:
    for field in ("int64 n = 0;", "int64 n = 536870912;"):
        with pytest.raises(ValueError, match="not a Protobuf schema"):
            compile_reader(f'syntax = "proto3"; message M {{ {field} }}')


def test_a_message_with_a_field_of_its_own_type_is_read() -> None:
    read = compile_reader('syntax = "proto3"; message M { int32 n = 1; M next = 2; }')
    assert read(b"\x08\x01\x12\x02\x08\x02") == {"n": 1, "next": {"n": 2, "next": None}}
