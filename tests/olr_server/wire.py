"""OpenLogReplicator's protobuf messages as dictionaries, by their field numbers. Nothing of it is the product's."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

# Field -> (number, kind): varint, sint (int64 as varint), text, bytes, float, double, or the fields of a message; a list is repeated.
VALUE: Mapping[str, Any] = {
    "name": (1, "text"),
    "value_int": (2, "varint"),
    "value_float": (3, "float"),
    "value_double": (4, "double"),
    "value_string": (5, "text"),
    "value_bytes": (6, "bytes"),
}
COLUMN: Mapping[str, Any] = {"name": (1, "text"), "type": (2, "varint"), "length": (3, "varint"), "nullable": (6, "varint")}
SCHEMA: Mapping[str, Any] = {"owner": (1, "text"), "name": (2, "text"), "obj": (3, "varint"), "column": (6, [COLUMN])}
PAYLOAD: Mapping[str, Any] = {
    "op": (1, "varint"),
    "schema": (2, SCHEMA),
    "rid": (3, "text"),
    "before": (4, [VALUE]),
    "after": (5, [VALUE]),
    "ddl": (6, "text"),
    "seq": (7, "varint"),
    "offset": (8, "varint"),
    "redo": (9, "varint"),
    "num": (10, "varint"),
}
RESPONSE: Mapping[str, Any] = {
    "code": (1, "varint"),
    "scn": (2, "varint"),
    "scns": (3, "text"),
    "tm": (4, "varint"),
    "tms": (5, "text"),
    "xid": (6, "text"),
    "xidn": (7, "varint"),
    "db": (8, "text"),
    "payload": (9, [PAYLOAD]),
    "c_scn": (10, "varint"),
    "c_idx": (11, "varint"),
}
REQUEST: Mapping[str, Any] = {
    "code": (1, "varint"),
    "database_name": (2, "text"),
    "scn": (3, "varint"),
    "tms": (4, "text"),
    "tm_rel": (5, "varint"),
    "seq": (6, "varint"),
    "c_scn": (8, "varint"),
    "c_idx": (9, "varint"),
}
_KINDS = {"varint": 0, "double": 1, "text": 2, "bytes": 2, "float": 5}


def encode(fields: Mapping[str, Any], message: Mapping[str, Any]) -> bytes:
    """The bytes of a message; fields that hold 0 or '' are left out, as proto3 does."""
    found = b""
    for name, content in message.items():
        number, kind = fields[name]
        many = content if isinstance(kind, list) else [content]
        kind = kind[0] if isinstance(kind, list) else kind
        for one in many:
            if isinstance(kind, Mapping):
                body = encode(kind, one)
                found += _number(number * 8 + 2) + _number(len(body)) + body
            elif kind == "varint":
                found += _number(number * 8) + _number(one % 2**64) if one or name.startswith("value") else b""
            elif kind in ("float", "double"):
                found += _number(number * 8 + _KINDS[kind]) + struct.pack("<f" if kind == "float" else "<d", one)
            else:
                body = one.encode() if isinstance(one, str) else one
                found += _number(number * 8 + 2) + _number(len(body)) + body
    return found


def decode(fields: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The fields of a message without repeated ones; of numbers and texts only."""
    names = {number: (name, kind) for name, (number, kind) in fields.items()}
    found: dict[str, Any] = {}
    at = 0
    while at < len(data):
        tag, at = _read_number(data, at)
        name, kind = names[tag // 8]
        assert tag % 8 == _KINDS[kind]
        value, at = _read_number(data, at)
        if kind == "text":
            found[name], at = data[at : at + value].decode(), at + value
        else:
            found[name] = value
    return found


def _number(value: int) -> bytes:
    groups = []
    while True:
        value, group = divmod(value, 128)
        groups.append(group + (128 if value else 0))
        if not value:
            return bytes(groups)


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    shift = value = 0
    while data[at] >= 128:
        value += (data[at] - 128) << shift
        at, shift = at + 1, shift + 7
    return value + (data[at] << shift), at + 1
