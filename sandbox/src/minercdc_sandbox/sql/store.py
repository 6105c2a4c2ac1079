"""Storing cells into columns: conversion, precision and length, chosen once per statement."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias
from xml.etree import ElementTree

from minercdc_sandbox.interfaces import Cell, LobKind, OraError, OraType
from minercdc_sandbox.lobs.locator import as_cell, is_locator
from minercdc_sandbox.redo.large_values import lob_kind
from minercdc_sandbox.sql import binary, intervals, number, oson, temporal, vectors
from minercdc_sandbox.sql.convert import Conversion, Convert, convert, utf16_units
from minercdc_sandbox.sql.types import LARGE, TEXT, Family, SqlType, column_type, inconsistent
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.tables import Column, LengthSemantics

Fit: TypeAlias = Callable[[Any], Cell]
"""Fits a cell that is not NULL to a column."""


def storer(source: SqlType, column: Column, where: str, how: Conversion) -> Convert:
    """A function that converts a cell of `source` and fits it to the column; NULL stays NULL. Raises ORA-00932 when there is no
    conversion, ORA-00997 for a LOB into a LONG.

    The function raises ORA-01438, ORA-12899, ORA-01873 for an interval, the errors of the conversion, and those of a wrong ROWID,
    XML document, JSON text, vector or boolean. For LOB columns it stores the content in `how.lobs`.

    :param where: `"OWNER"."TABLE"."COLUMN"`, for ORA-12899.
    """
    if column.type in _LARGE_COLUMNS:
        return _large_storer(source, column, how)
    target = column_type(column)
    first, fit = convert(source, target.family, how), _fit(column, where)
    return fit if first is None else lambda cell: fit(first(cell))


_IMAGES = {OraType.JSON: Family.JSON, OraType.VECTOR: Family.VECTOR}
_LARGE_COLUMNS = frozenset(
    (
        *(OraType.CLOB, OraType.BLOB, OraType.XMLTYPE, OraType.LONG, OraType.LONG_RAW, OraType.BOOLEAN, OraType.BFILE),
        *_IMAGES,
    )
)


def _large_storer(source: SqlType, column: Column, how: Conversion) -> Convert:
    """`storer` for LOBs, XML and LONG, whose values come as text, bytes or a locator, for BFILE and for BOOLEAN. Raises ORA-00932
    for other types; the function makes a new LOB in the column's segment, unless the locator is of that segment already, and
    raises as `check_xml`, `boolean` and the conversion."""
    lobs, have, kind = how.lobs, source.family, lob_kind(column)
    if column.type is OraType.BOOLEAN:
        return lambda cell: None if cell is None else boolean(cell, source)
    if column.type is OraType.BFILE:
        if have not in (Family.BFILE, Family.NULL):
            raise inconsistent(Family.BFILE, have)
        return lambda cell: cell
    if column.type in (OraType.LONG, OraType.LONG_RAW):
        return _long_storer(source, column, how)
    if column.type in _IMAGES:
        return _image_storer(source, column, how)
    to = Family.XML if column.type is OraType.XMLTYPE else Family.BLOB if kind is LobKind.BLOB else Family.CLOB
    if column.type is OraType.XMLTYPE and have not in (*TEXT, Family.XML, Family.NULL):
        raise inconsistent(to, have)
    if have in LARGE and have is not to:
        raise inconsistent(to, have)
    first = convert(source, Family.VARCHAR if have not in (*TEXT, *LARGE, Family.RAW) else to, how)

    def store(cell: Cell) -> Cell:
        if first is not None:
            cell = first(cell)
        if not cell:
            return None
        if to is Family.XML:
            check_xml(cell if isinstance(cell, str) else lobs.text(lobs.value(cell)))
        if (isinstance(cell, bytes) and have is Family.RAW) or (kind is LobKind.BLOB and not is_locator(cell)):
            return as_cell(lobs.create(kind, cell, how.segment))
        return lobs.stored(cell, kind, how.segment)

    return store


def _image_storer(source: SqlType, column: Column, how: Conversion) -> Convert:
    """`storer` for JSON and VECTOR: text is parsed, the images that clients send are checked. Raises ORA-00932 for other types;
    the function raises as `parse_json`, `parse_vector` and `check_vector`."""
    lobs, have = how.lobs, source.family
    if have not in (*TEXT, Family.CLOB, Family.RAW, Family.NULL, _IMAGES[column.type]):
        raise inconsistent(_IMAGES[column.type], have)

    def store(cell: Cell) -> Cell:
        if not cell:
            return None
        content = lobs.read(lobs.value(cell)) if is_locator(cell) else cell
        if column.type is OraType.JSON:
            image = oson.parse_json(content) if isinstance(content, str) else oson.checked(content)
        else:
            image = vectors.parse_vector(content, column.storage) if isinstance(content, str) else content
            image = vectors.check_vector(image, column.precision, column.storage)
        return as_cell(lobs.create(LobKind.BLOB, image, how.segment))

    return store


def _long_storer(source: SqlType, column: Column, how: Conversion) -> Convert:
    if source.family in LARGE:
        raise OraError(997, "illegal use of LONG datatype")
    family = Family.VARCHAR if column.type is OraType.LONG else Family.RAW
    first = convert(source, family, how)
    return first if first is not None else lambda cell: cell or None


def check_xml(text: str) -> None:
    """Raises ORA-31011 for a text that is not a well-formed XML document; else does nothing."""
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise OraError(31011, f"XML parsing failed\nORA-19202: Error occurred in XML processing\n{error}") from None


_TRUTHS = {
    **dict.fromkeys(("TRUE", "YES", "ON", "1", "T", "Y"), b"\x01"),
    **dict.fromkeys(("FALSE", "NO", "OFF", "0", "F", "N"), b"\x00"),
}


def boolean(cell: Cell, source: SqlType) -> bytes:
    """The cell of a BOOLEAN of a cell that is not NULL: text, NUMBER (0 is FALSE) or BOOLEAN. Raises ORA-61800 for other texts,
    ORA-00932 for other types."""
    if source.family is Family.BOOLEAN:
        assert isinstance(cell, bytes)
        return cell
    if isinstance(cell, str):
        found = _TRUTHS.get(cell.strip().upper())
        if found is None:
            raise OraError(61800, f"invalid boolean literal: {cell}")
        return found
    if source.family is not Family.NUMBER or cell is None:
        raise inconsistent(Family.BOOLEAN, source.family)
    return bytes((int(cell != number.integer(0)),))


def _fit(column: Column, where: str) -> Convert:
    fit = _FITS.get(column.type, _fit_stamp)(column, where)
    return lambda cell: fit(cell) if cell else None


def _fit_number(column: Column, where: str) -> Fit:
    if column.float_:
        digits = -(-column.precision * 30103 // 100000)
        return lambda cell: _round_float(cell, digits)
    if column.scale == -127:
        return number.canonical
    precision, scale = column.precision or 38, column.scale
    limit = Decimal(10) ** (precision - scale)
    quick = 193 + (precision - scale) // 2 if scale == 0 else 0

    def fit(cell: bytes) -> Cell:
        # An integer with fewer digit pairs than the precision needs no arithmetic.
        if 193 <= cell[0] < quick and len(cell) - 2 <= cell[0] - 193 and cell[-1] != 1:
            return cell
        cell = number.canonical(cell)
        value = number.decode(cell)
        if int(value.as_tuple().exponent) < -scale or scale < 0:
            value = number.rounded(value, scale)
            cell = number.encode(value)
        if value >= limit or value <= -limit:
            raise OraError(1438, "value larger than specified precision allowed for this column")
        return cell

    return fit


def _round_float(cell: bytes, digits: int) -> bytes:
    value = number.decode(cell)
    shift = digits - 1 - value.adjusted() if value else 0
    return number.encode(number.rounded(value, shift)) if value else cell


def _too_large(where: str, actual: int, maximum: int) -> OraError:
    return OraError(12899, f"value too large for column {where} (actual: {actual}, maximum: {maximum})")


def _fit_text(column: Column, where: str) -> Fit:
    chars, size, padded = column.char_length, column.size, column.type is OraType.CHAR
    by_char = column.semantics == LengthSemantics.CHAR and not column.national
    measure = utf16_units if column.national else len if by_char else lambda cell: len(cell.encode())

    def fit(cell: str) -> Cell:
        length = measure(cell)
        if length > chars:
            raise _too_large(where, length, chars)
        if by_char and length * 4 > size and len(cell.encode()) > size:
            raise _too_large(where, len(cell.encode()), size)
        return cell + " " * (chars - length) if padded else cell

    return fit


def _fit_row_id(column: Column, where: str) -> Fit:
    """A fit for the ROWID of any row, which need not exist. The fit raises ORA-01410 for a text that is no ROWID."""

    def fit(cell: str) -> Cell:
        rowid.parse(cell)
        return cell

    return fit


def _fit_raw(column: Column, where: str) -> Fit:
    def fit(cell: bytes) -> Cell:
        if len(cell) > column.size:
            raise _too_large(where, len(cell), column.size)
        return cell

    return fit


def _fit_stamp(column: Column, where: str) -> Fit:
    digits = column.scale
    return lambda cell: temporal.round_fraction(temporal.canonical(cell), digits)


_FITS: dict[OraType, Callable[[Column, str], Fit]] = {
    OraType.NUMBER: _fit_number,
    **dict.fromkeys((OraType.VARCHAR2, OraType.CHAR), _fit_text),
    OraType.RAW: _fit_raw,
    **dict.fromkeys((OraType.ROWID, OraType.UROWID), _fit_row_id),
    OraType.DATE: lambda column, where: lambda cell: cell[:7],
    **dict.fromkeys(
        (OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE), lambda column, where: lambda cell: binary.resized(cell, column.size)
    ),
    OraType.INTERVAL_DS: lambda column, where: lambda cell: intervals.fitted(cell, column.precision, column.scale),
    OraType.INTERVAL_YM: lambda column, where: lambda cell: intervals.fitted_months(cell, column.precision),
}
