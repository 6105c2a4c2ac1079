"""UTL_RAW's casts: the same bytes as a value of another type (PL/SQL Packages and Types Reference, UTL_RAW)."""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number


def to_varchar2(raw: bytes) -> str:
    """UTL_RAW.CAST_TO_VARCHAR2: the text that the bytes are in UTF-8. Raises ORA-29275 for bytes that are none."""
    return _decoded(raw, "utf-8")


def to_nvarchar2(raw: bytes) -> str:
    """UTL_RAW.CAST_TO_NVARCHAR2: the text that the bytes are in UTF-16, the first byte the high one. Raises ORA-29275."""
    return _decoded(raw, "utf-16-be")


def _decoded(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        raise OraError(29275, "partial multibyte character") from None


def to_number(raw: bytes) -> bytes:
    """UTL_RAW.CAST_TO_NUMBER: the NUMBER whose stored bytes they are. Raises ORA-06502 for bytes that no NUMBER has."""
    try:
        is_number = number.encode(number.decode(raw)) == raw
    except (ArithmeticError, ValueError, IndexError, OraError):
        is_number = False
    if not is_number:
        raise OraError(6502, "PL/SQL: numeric or value error")
    return raw


FUNCTIONS: dict[str, Callable[..., object]] = {
    "cast_to_raw": lambda text: text.encode(),
    "cast_to_number": to_number,
}
TEXTUAL: dict[str, Callable[..., object]] = {"cast_to_varchar2": to_varchar2, "cast_to_nvarchar2": to_nvarchar2}
