"""How a cell is stored into a column: conversion, precision and length, chosen once per statement."""

from __future__ import annotations

from decimal import Decimal

from minercdc.sandbox.catalog import Column
from minercdc.sandbox.interfaces import Cell, OraError, OraType
from minercdc.sandbox.sql import binary, intervals, number, temporal
from minercdc.sandbox.sql.convert import Conversion, Convert, convert, utf16_units
from minercdc.sandbox.sql.types import SqlType, column_type


def storer(source: SqlType, column: Column, where: str, how: Conversion) -> Convert:
    """Convert a cell of `source` and fit it to the column.

    :param where: `"OWNER"."TABLE"."COLUMN"`, for messages. Raises ORA-01438, ORA-12899, ORA-00932 and conversion errors.
    """
    target = column_type(column)
    first = convert(source, target.family, how)
    fit = _fit(column, where)
    if first is None:
        return fit
    second = first
    return lambda cell: fit(second(cell))


def _fit(column: Column, where: str) -> Convert:
    if column.type is OraType.NUMBER:
        return _fit_number(column)
    if column.type in (OraType.VARCHAR2, OraType.CHAR):
        return _fit_text(column, where)
    if column.type is OraType.RAW:
        return _fit_raw(column, where)
    if column.type is OraType.DATE:
        return lambda cell: cell[:7] if isinstance(cell, bytes) else None
    if column.type in (OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE):
        return lambda cell: binary.resized(cell, column.size) if isinstance(cell, bytes) else None
    if column.type is OraType.INTERVAL_DS:
        return lambda cell: intervals.fitted(cell, column.precision, column.scale) if isinstance(cell, bytes) else None
    if column.type is OraType.INTERVAL_YM:
        return lambda cell: intervals.fitted_months(cell, column.precision) if isinstance(cell, bytes) else None
    digits = column.scale
    return lambda cell: temporal.round_fraction(temporal.canonical(cell), digits) if isinstance(cell, bytes) else None


def _fit_number(column: Column) -> Convert:
    if column.float_:
        digits = -(-column.precision * 30103 // 100000)
        return lambda cell: _round_float(cell, digits) if isinstance(cell, bytes) else None
    if column.scale == -127:
        return lambda cell: number.canonical(cell) if isinstance(cell, bytes) else None
    precision, scale = column.precision or 38, column.scale
    limit = Decimal(10) ** (precision - scale)
    quick = 193 + (precision - scale) // 2 if scale == 0 else 0

    def fit(cell: Cell) -> Cell:
        if not isinstance(cell, bytes):
            return None
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


def _fit_national(column: Column, where: str) -> Convert:
    chars, padded = column.char_length, column.type is OraType.CHAR

    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        assert isinstance(cell, str)
        length = utf16_units(cell)
        if length > chars:
            raise _too_large(where, length, chars)
        return cell + " " * (chars - length) if padded else cell

    return fit


def _fit_text(column: Column, where: str) -> Convert:
    if column.national:
        return _fit_national(column, where)
    chars, size, padded = column.char_length, column.size, column.type is OraType.CHAR
    by_char = column.semantics == "C"

    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        assert isinstance(cell, str)
        length = len(cell) if by_char or cell.isascii() else len(cell.encode())
        if length > chars:
            raise _too_large(where, length, chars)
        if by_char and length * 4 > size and len(cell.encode()) > size:
            raise _too_large(where, len(cell.encode()), size)
        return cell + " " * (chars - length) if padded else cell

    return fit


def _fit_raw(column: Column, where: str) -> Convert:
    def fit(cell: Cell) -> Cell:
        if not cell:
            return None
        if len(cell) > column.size:
            raise _too_large(where, len(cell), column.size)
        return cell

    return fit
