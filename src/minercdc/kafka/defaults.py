"""The DEFAULT of a column as `default` of its field's schema, where Debezium has one: constants of text and of plain numbers."""

from __future__ import annotations

import json
import re
from typing import Final

from minercdc.offset import JsonValue
from minercdc.schema.table import Column
from minercdc.values.codec import Codec

_TEXT: Final = re.compile(r"[nN]?'((?:[^']|'')*)'", re.DOTALL)
_NUMBER: Final = re.compile(r"'?([+-]?(?:\d+\.?\d*|\.\d+))'?")
_CHARACTER: Final = frozenset({"CHAR", "NCHAR", "VARCHAR2", "NVARCHAR2"})
_NUMERIC: Final = frozenset({"NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE"})


def column_default(column: Column, codec: Codec) -> JsonValue:
    """The value, in the form of the field; None when there is none, or the DEFAULT is no constant.

    Expressions (SYSDATE, a sequence) are left out, for a row without the column does not have their present value.
    """
    text = (column.default or "").strip()
    if column.type_name in _CHARACTER and (found := _TEXT.fullmatch(text)):
        value = found[1].replace("''", "'")
        padded = column.type_name in ("CHAR", "NCHAR") and column.length is not None
        return value.ljust(column.length or 0) if padded else value
    if column.type_name in _NUMERIC and codec.field.type != "struct" and (found := _NUMBER.fullmatch(text)):
        return _json(codec.to_json(codec.from_redo(f"'{found[1]}'")))
    return None


def _json(text: str) -> JsonValue:
    value: JsonValue = json.loads(text)
    return value
