"""Data messages as protobuf (`format.type` `protobuf`): RedoResponse with the code PAYLOAD."""

from __future__ import annotations

import struct
from typing import Final

from minercdc.capture.olr.message import (
    ABSENT,
    Binary,
    Message,
    Number,
    Operation,
    Place,
    Single,
    Value,
    time_of,
    xid_of,
    xid_of_number,
)
from minercdc.capture.olr.protobuf import BYTES, FIXED32, FIXED64, VARINT, fields, signed
from minercdc.capture.olr.protocol import ResponseCode
from minercdc.values.number import binary_float

_OPS: Final = ("begin", "commit", "c", "u", "d", "ddl", "chkpt")


def read_protobuf(data: bytes) -> Message:
    """The message of a frame. Fields that are not known are passed over.

    :raises ValueError: it is none of OpenLogReplicator's messages, or an answer to a request.
    """
    found = Message(Place(0, 0), operations := [])
    code, scn, index = 0, None, None
    for number, kind, value in fields(data):
        if number == 1:
            code = _int(number, kind, value)
        elif number == 2:
            found.scn = _int(number, kind, value)
        elif number == 3:
            found.scn = int(_text(number, kind, value), 16)
        elif number == 4:
            found.time_us = time_of(str(_int(number, kind, value)))
        elif number == 5:
            found.time_us = time_of(_text(number, kind, value))
        elif number == 6:
            found.xid = xid_of(_text(number, kind, value))
        elif number == 7:
            found.xid = xid_of_number(_int(number, kind, value))
        elif number == 9:
            operations.append(_operation(_bytes(number, kind, value)))
        elif number == 10:
            scn = _int(number, kind, value)
        elif number == 11:
            index = _int(number, kind, value)
    if code != ResponseCode.PAYLOAD:
        known = {one.value: one.name for one in ResponseCode}
        raise ValueError(f"the server sent {known.get(code, code)} among the changes")
    if scn is None:
        raise ValueError("it has no c_scn")
    found.place = Place(scn, index or 0)
    return found


def _operation(data: bytes) -> Operation:
    op, found = 0, Operation("begin")
    before: dict[str, Value] = {}
    after: dict[str, Value] = {}
    for number, kind, value in fields(data):
        if number == 1:
            op = _int(number, kind, value)
        elif number == 2:
            _read_schema(found, _bytes(number, kind, value))
        elif number == 3:
            found.row_id = _text(number, kind, value)
        elif number in (4, 5):
            name, content = _value(_bytes(number, kind, value))
            (before if number == 4 else after)[name] = content
        elif number == 6:
            found.sql = _text(number, kind, value)
        elif number == 10:
            found.number = _int(number, kind, value)
    if op >= len(_OPS):
        raise ValueError(f"unknown operation {op}")
    found.op = _OPS[op]
    if found.op in ("c", "u", "d") and found.number is None:
        found.number = 0  # which is not on the wire
    found.before, found.after = before or None, after or None
    return found


def _read_schema(found: Operation, data: bytes) -> None:
    for number, kind, value in fields(data):
        if number == 1:
            found.owner = _text(number, kind, value)
        elif number == 2:
            found.table = _text(number, kind, value)
        elif number == 3:
            found.object_id = _int(number, kind, value)
    # Released servers list one column only, whose name is the last one's: the list says nothing.


def _value(data: bytes) -> tuple[str, Value]:
    name, found = "", ABSENT  # type: tuple[str, Value]
    for number, kind, value in fields(data):
        if number == 1:
            name = _text(number, kind, value)
        elif number == 2:
            found = Number(signed(_int(number, kind, value)))
        elif number == 3:
            (single,) = struct.unpack("<f", _sized(number, kind, value, FIXED32))
            found = Single(binary_float(repr(single)))
        elif number == 4:
            (double,) = struct.unpack("<d", _sized(number, kind, value, FIXED64))
            found = Binary(repr(double))
        elif number == 5:
            found = _text(number, kind, value)
        elif number == 6:
            found = _bytes(number, kind, value)
    return name, found


def _int(number: int, kind: int, value: int | bytes) -> int:
    if kind != VARINT or not isinstance(value, int):
        raise ValueError(f"field {number} is no number")
    return value


def _sized(number: int, kind: int, value: int | bytes, wanted: int) -> bytes:
    if kind != wanted or not isinstance(value, bytes):
        raise ValueError(f"field {number} has wire type {kind}")
    return value


def _bytes(number: int, kind: int, value: int | bytes) -> bytes:
    return _sized(number, kind, value, BYTES)


def _text(number: int, kind: int, value: int | bytes) -> str:
    return _sized(number, kind, value, BYTES).decode()
