"""The type family of RAW and LONG RAW. Canonical Row text is lower-case hex."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import b2a_base64, unhexlify
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"RAW", "LONG RAW"})


def reading(column: Column) -> Reading:
    """How values of a RAW column become Row text: from HEXTORAW in redo, and bytes of the driver."""
    return Reading({"HEXTORAW": str.lower}, as_is, _from_driver, spellings=True)


def _from_driver(value: object) -> str:
    if not isinstance(value, bytes):
        raise ValueDecodeError(f"{type(value).__name__} where bytes were expected")
    return value.hex()


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a RAW column is written: as hex or base64 text by `binary.handling.mode`; `bytes` is base64, too, as
    Connect's JSON converter writes it."""
    if handling.binary == "hex":
        return Writing(FieldType("string"), lambda text: f'"{_bytes(text).hex()}"')
    if handling.binary == "base64-url-safe":
        return Writing(FieldType("string"), lambda text: f'"{urlsafe_b64encode(_bytes(text)).decode("ascii")}"')
    return Writing(
        FieldType("bytes" if handling.binary == "bytes" else "string"),
        lambda text: f'"{b2a_base64(_bytes(text), newline=False).decode("ascii")}"',
    )


def _bytes(text: str) -> bytes:
    try:
        return unhexlify(text)
    except ValueError as exc:
        raise ValueDecodeError(f"{text!r} is not hexadecimal text") from exc
