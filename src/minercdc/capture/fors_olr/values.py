"""Turns values as the server sends them into canonical Row text (`minercdc.stream.rows`), by `minercdc.fors.value.encoding`.

oracle   Oracle's internal formats, as redo has them; text in the character set that comes with the column, LOBs see `_of_lob`
text     UTF-8: numbers in decimals, dates in ISO 8601, bytes in hex digits
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from minercdc.capture.fors_olr.charsets import AL16UTF16, MULTI_BYTE, text_of
from minercdc.capture.fors_olr.operations import ColumnValue
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.errors import SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import Column
from minercdc.stream.events import UNAVAILABLE, Value
from minercdc.values import lob, number, raw, text
from minercdc.values.codec import reading_for
from minercdc.values.image import Encoding, text_of_image

XML_TYPE: Final = 58
CLOB_TYPE: Final = 112
BLOB_TYPE: Final = 113
_NATIONAL: Final = frozenset({"NCHAR", "NVARCHAR2", "NCLOB"})
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*", re.ASCII)
_ZONE: Final = re.compile(r"(?<=\d)(?:Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_TYPE_NAMES: Final[Mapping[int, frozenset[str]]] = {
    1: frozenset({"VARCHAR2", "VARCHAR", "NVARCHAR2"}),
    2: frozenset({"NUMBER", "FLOAT"}),
    8: frozenset({"LONG"}),
    9: frozenset({"VARCHAR2", "VARCHAR", "NVARCHAR2"}),
    12: frozenset({"DATE"}),
    23: frozenset({"RAW"}),
    24: frozenset({"LONG RAW"}),
    XML_TYPE: frozenset({"XMLTYPE"}),
    96: frozenset({"CHAR", "NCHAR"}),
    100: frozenset({"BINARY_FLOAT"}),
    101: frozenset({"BINARY_DOUBLE"}),
    CLOB_TYPE: frozenset({"CLOB", "NCLOB", "XMLTYPE"}),
    BLOB_TYPE: frozenset({"BLOB", "XMLTYPE"}),
    178: frozenset({"TIME"}),
    179: frozenset({"TIME WITH TIME ZONE"}),
    180: frozenset({"TIMESTAMP"}),
    181: frozenset({"TIMESTAMP WITH TIME ZONE"}),
    182: frozenset({"INTERVAL YEAR TO MONTH"}),
    183: frozenset({"INTERVAL DAY TO SECOND"}),
    231: frozenset({"TIMESTAMP WITH LOCAL TIME ZONE"}),
}
_SIZES: Final[Mapping[str, frozenset[int]]] = {
    "DATE": frozenset({7}),
    "TIMESTAMP": frozenset({7, 11}),
    "TIMESTAMP WITH LOCAL TIME ZONE": frozenset({7, 11}),
    "TIMESTAMP WITH TIME ZONE": frozenset({13}),
    "BINARY_FLOAT": frozenset({4}),
    "BINARY_DOUBLE": frozenset({8}),
    "INTERVAL YEAR TO MONTH": frozenset({5}),
    "INTERVAL DAY TO SECOND": frozenset({11}),
}

Convert: TypeAlias = Callable[[ColumnValue, "Pieces | None"], Value]
"""Makes Row text of a value, and of its pieces where it came in some; None for NULL, UNAVAILABLE for what is not read. Raises
ValueDecodeError for what does not fit, SchemaMismatchError for another type than the column's."""


@dataclass(slots=True)
class Pieces:
    """The value of a column that comes in pieces, as far as they have come.

    :param type: number of their Oracle type, 0 until one has come.
    :param data: their bytes; empty when there are more than `minercdc.fors.lob.max.bytes`.
    :param size: how many bytes came.
    """

    type: int
    data: bytearray
    size: int = 0


def converter(column: Column, config: ForsConfig, time_zone: Callable[[], str]) -> Convert:
    """A function that makes Row text of this column's values; what it takes and raises, see `Convert`.

    :param time_zone: reads DBTIMEZONE; called for each value that needs it.
    """
    plain = _from_text(column) if config.minercdc_fors_value_encoding == "text" else _from_oracle(column, config, time_zone)
    name = column.type_name

    def converted(found: ColumnValue, pieces: Pieces | None) -> Value:
        _check_type(column, found)
        if name == "XMLTYPE" and _is_binary_xml(found, pieces):
            return UNAVAILABLE
        if not found.chunked:
            return None if found.value is None else plain(found.value, found)
        if pieces is None:
            return UNAVAILABLE
        if pieces.size > len(pieces.data):
            raise ValueDecodeError(
                f"{column.name}: its value has {pieces.size} bytes",
                hint=f"minercdc.fors.lob.max.bytes is {config.minercdc_fors_lob_max_bytes}.",
            )
        if not pieces.size:
            return "" if config.minercdc_fors_empty_lob == "empty" else None
        return plain(bytes(pieces.data), found)

    return converted


def _is_binary_xml(found: ColumnValue, pieces: Pieces | None) -> bool:
    """Whether a value of an XMLTYPE column is not NULL and did not come as a CLOB: then it is in compressed tokens that only the
    database can read."""
    if found.value is None and not found.chunked:
        return False
    return (pieces.type if pieces is not None else found.type) != CLOB_TYPE


def _check_type(column: Column, found: ColumnValue) -> None:
    if column.type_name not in _TYPE_NAMES.get(found.type, frozenset()):
        raise SchemaMismatchError(f"{column.name}: the server sent type {found.type}, the column is a {column.type_name}")


_Plain: TypeAlias = Callable[[bytes, ColumnValue], str]


def _from_oracle(column: Column, config: ForsConfig, time_zone: Callable[[], str]) -> _Plain:
    name = column.type_name
    if name == "BLOB" or name in raw.TYPES:
        return lambda data, _: data.hex()
    if name in text.TYPES:
        return lambda data, found: text_of(data, found.charset)
    if name in lob.TYPES or name == "XMLTYPE":
        stored = config.minercdc_fors_clob_charset == "storage"
        return lambda data, found: text_of(data, _of_lob(column, found) if stored else found.charset)
    encoding, sizes = Encoding(time_zone=time_zone), _SIZES.get(name)

    def decoded(data: bytes, _: ColumnValue) -> str:
        if sizes is not None and len(data) not in sizes:
            raise ValueDecodeError(f"{column.name}: {data[:40].hex()} has {len(data)} bytes, a {name} has {min(sizes)}")
        return text_of_image(column, data, encoding)

    return decoded


def _of_lob(column: Column, found: ColumnValue) -> int | None:
    """NLS_CHARSET_ID of the character set that a character LOB is stored in: AL16UTF16 for an NCLOB, and where characters of
    the column's character set may have several bytes; else that of the column, None when it is not given."""
    is_wide = column.type_name in _NATIONAL or found.charset in MULTI_BYTE
    return AL16UTF16 if is_wide else found.charset


def _from_text(column: Column) -> _Plain:
    name = column.type_name

    def spelled(data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise ValueDecodeError(f"{column.name}: {data[:40].hex()} is not valid UTF-8 text") from error

    def hexadecimal(data: bytes, _: ColumnValue) -> str:
        found = spelled(data)
        if not _HEX.fullmatch(found):
            raise ValueDecodeError(f"{column.name}: {found[:60]!r} is not hexadecimal text")
        return found.lower()

    if name == "BLOB" or name in raw.TYPES:
        return hexadecimal
    if name in text.TYPES or name in lob.TYPES or name == "XMLTYPE":
        return lambda data, _: spelled(data)
    if name == "BINARY_FLOAT":
        return lambda data, _: number.binary_float(spelled(data))
    if name == "BINARY_DOUBLE":
        return lambda data, _: number.binary_double(spelled(data))
    if name in number.TYPES:
        return lambda data, _: number.canonical(spelled(data))
    convert = reading_for(column).from_driver
    if name == "TIMESTAMP WITH TIME ZONE":
        return lambda data, _: convert(_ZONE.sub(_blank_before, spelled(data).replace("T", " ", 1)))
    return lambda data, _: convert(spelled(data).replace("T", " ", 1))


def _blank_before(zone: re.Match[str]) -> str:
    return " +00:00" if zone[0] == "Z" else f" {zone[0]}"
