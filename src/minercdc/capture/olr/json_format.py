"""Data messages as JSON (`format.type` `json` and `debezium`).

Numbers keep their spelling, so that none loses digits. OpenLogReplicator prints `inf` and `nan` of binary floats unquoted, which
JSON has not; they count as numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from minercdc.capture.olr.message import Message, Number, Operation, Place, Value, time_of, xid_of, xid_of_number

_DECODER: Final = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)
_STRING_OR_SPECIAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"|([-+]?)(inf|nan)\b', re.DOTALL)
_SPECIAL: Final = {"inf": "Infinity", "nan": "NaN"}
_OPS: Final = frozenset(["begin", "commit", "c", "u", "d", "ddl", "chkpt"])


def read_json(data: bytes) -> Message:
    """The message of a frame.

    :param data: JSON text in UTF-8.
    :raises ValueError: it is no JSON, or none of OpenLogReplicator's messages.
    """
    text = data.decode()
    try:
        try:
            document = _DECODER.decode(text)
        except json.JSONDecodeError:
            document = _DECODER.decode(_STRING_OR_SPECIAL.sub(_quoted_or_special, text))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    return _message(document)


def _quoted_or_special(match: re.Match[str]) -> str:
    if match[2] is None:
        return match[0]
    return ("-" if match[1] == "-" and match[2] == "inf" else "") + _SPECIAL[match[2]]


def _message(document: Mapping[str, Any]) -> Message:
    for name in ("c_scn", "c_idx"):
        if name not in document:
            raise ValueError(f"it has no {name}: this server is older than 1.3")
    payload = document.get("payload")
    if not isinstance(payload, list):
        raise ValueError("it has no payload")
    return Message(
        Place(_whole(document["c_scn"]), _whole(document["c_idx"])),
        [_operation(one) for one in payload],
        _scn(document, "scn"),
        _scn(document, "b_scn"),
        _scn(document, "e_scn"),
        _time(document, "tm"),
        _time(document, "b_tm"),
        _time(document, "e_tm"),
        _xid(document),
        _text(document, "usr"),
        _whole(document.get("rth", 0)),
    )


def _operation(found: Any) -> Operation:
    if not isinstance(found, dict):
        raise ValueError("an operation is not an object")
    op = found.get("op")
    if not isinstance(op, str) or op not in _OPS:
        raise ValueError(f"unknown operation {str(op)[:60]!r}")
    schema = found.get("schema", {})
    if not isinstance(schema, dict):
        raise ValueError("a schema is not an object")
    return Operation(
        op,
        _text(schema, "owner"),
        _text(schema, "table"),
        _whole(schema.get("obj", 0)),
        _columns(schema.get("columns")),
        _whole(found["num"]) if "num" in found else None,
        _text(found, "rid"),
        _row(found.get("before")),
        _row(found.get("after")),
        _text(found, "sql") or "",
    )


def _columns(listed: Any) -> frozenset[str] | None:
    if not listed:
        return None
    if not isinstance(listed, list) or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in listed):
        raise ValueError("the columns of a schema have no names")
    return frozenset(one["name"] for one in listed)


def _row(found: Any) -> Mapping[str, Value] | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ValueError("an image of a row is not an object")
    for name, value in found.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(f"the value of {name[:60]!r} is {type(value).__name__}")
    return found


def _scn(document: Mapping[str, Any], name: str) -> int | None:
    if name in document:
        return _whole(document[name])
    text = document.get(f"{name}s")
    return int(text, 16) if isinstance(text, str) else None


def _time(document: Mapping[str, Any], name: str) -> int | None:
    found = document.get(name, document.get(f"{name}s"))
    return None if found is None else time_of(str(found))


def _xid(document: Mapping[str, Any]) -> str | None:
    if "xidn" in document:
        return xid_of_number(_whole(document["xidn"]))
    text = _text(document, "xid")
    return None if text is None else xid_of(text)


def _whole(found: Any) -> int:
    if not isinstance(found, (str, int)) or isinstance(found, bool) or len(str(found)) > 30:
        raise ValueError(f"{str(found)[:60]!r} is not a whole number")
    return int(found)


def _text(found: Mapping[str, Any], name: str) -> str | None:
    text = found.get(name)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{name} is {type(text).__name__}")
    return text
