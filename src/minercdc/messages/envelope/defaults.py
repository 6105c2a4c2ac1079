"""The DEFAULT of a column as `default` of its field's schema, where Debezium has one: constants, also in parentheses.

Text and intervals; numbers unless their field is a struct; times that TO_DATE and its kin make with a format. A NOT NULL column
also has DATE and TIMESTAMP literals, and the epoch for SYSDATE and its kin. Other expressions give no default, nor do those of
TIMESTAMP WITH LOCAL TIME ZONE: their value now is not that of a row which lacks the column.
"""

from __future__ import annotations

import json
import re
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.messages.envelope.date_format import literal_moment, moment
from minercdc.schema.table import Column
from minercdc.stream.offset import JsonValue
from minercdc.values.codec import Codec

_COMMENT: Final = re.compile(r"""('(?:[^']|'')*')|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_TEXT: Final = re.compile(r"[nN]?'((?:[^']|'')*)'", re.DOTALL)
_QUOTED: Final = re.compile(r"[nN]?[qQ]'(?:\[(.*)\]|\{(.*)\}|\((.*)\)|<(.*)>|([^\s\[{(<'])(.*)\5)'", re.DOTALL)
_NUMBER: Final = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)[fFdD]?")
_WHOLE: Final = re.compile(r"[+-]?\d+")
_CALL: Final = re.compile(
    r"(TO_DATE|TO_TIMESTAMP|TO_TIMESTAMP_TZ|TO_DSINTERVAL|TO_YMINTERVAL)\s*\(\s*'([^']*)'\s*(?:,\s*'([^']*)'\s*)?\)",
    re.IGNORECASE,
)
_TIME_LITERAL: Final = re.compile(r"(?:DATE|TIMESTAMP)\s*'([^']*)'", re.IGNORECASE)
_NOW: Final = re.compile(
    r"SYSDATE|SYSTIMESTAMP|CURRENT_DATE|(?:CURRENT_TIMESTAMP|LOCALTIMESTAMP)(?:\s*\(\d\))?", re.IGNORECASE
)
_CHARACTER: Final = frozenset({"CHAR", "NCHAR", "VARCHAR2", "NVARCHAR2"})
_NUMERIC: Final = frozenset({"NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE"})
_INTEGERS: Final = frozenset({"int8", "int16", "int32", "int64"})
_LOCAL: Final = "TIMESTAMP WITH LOCAL TIME ZONE"
_EPOCH: Final = "1970-01-01 00:00:00.000000000"


def column_default(column: Column, codec: Codec) -> JsonValue:
    """The DEFAULT as a JSON value of the field's type; None when there is none, it does not fit the column, or it is of
    no form that the rules above read."""
    text = _bare(column.default or "")
    if not text:
        return None
    try:
        printed = _printed(column, codec, text)
    except ValueDecodeError:  # Oracle takes a DEFAULT that fits no row
        return None
    return None if printed is None else json.loads(printed)


def _printed(column: Column, codec: Codec, text: str) -> str | None:
    """The value as JSON; None where no rule reads `text`, the DEFAULT without comments and outer parentheses."""
    kind = column.type_name
    if kind in _CHARACTER:
        return _character(column, text)
    if kind in _NUMERIC:
        found = (_WHOLE if codec.field.type in _INTEGERS else _NUMBER).fullmatch(text)
        return codec.to_json(_NUMBER.sub(r"\1", found[0])) if found and codec.field.type != "struct" else None
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        found_time = _time(column, text)
        return None if found_time is None else codec.to_json(found_time)
    if kind.startswith("INTERVAL"):
        call = _CALL.fullmatch(text)
        interval = call[2] if call else found[1] if (found := _TEXT.fullmatch(text)) else None
        return None if interval is None else codec.to_json(interval.strip())
    return None


def _character(column: Column, text: str) -> str | None:
    if found := _TEXT.fullmatch(text):
        value = found[1].replace("''", "'")
    elif found := _QUOTED.fullmatch(text):
        value = next(part for part in (*found.groups()[:4], found[6]) if part is not None)
    else:
        return None
    padded = column.type_name in ("CHAR", "NCHAR") and column.length is not None
    return json.dumps(value.ljust(column.length or 0) if padded else value)


def _time(column: Column, text: str) -> str | None:
    zoned = column.type_name == "TIMESTAMP WITH TIME ZONE"
    if column.type_name == _LOCAL:
        return None  # what time it is depends on the session that inserts
    if call := _CALL.fullmatch(text):
        return moment(call[2], call[3]) if call[3] else None  # without a format the session's applies
    if column.nullable:
        return None  # Debezium reads neither literals nor the present
    if literal := _TIME_LITERAL.fullmatch(text):
        return literal_moment(literal[1])
    return (f"{_EPOCH} +00:00" if zoned else _EPOCH) if _NOW.fullmatch(text) else None


def _bare(text: str) -> str:
    """The expression without comments, and without parentheses around all of it."""
    text = _COMMENT.sub(lambda match: match[1] or " ", text).strip()
    while text.startswith("(") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closes(text: str) -> int:
    """Where the parenthesis that `text` begins with is closed; -1 when it is not."""
    depth, quoted = 0, False
    for i, char in enumerate(text):
        quoted ^= char == "'"
        depth += 0 if quoted else (char == "(") - (char == ")")
        if not depth:
            return i
    return -1
