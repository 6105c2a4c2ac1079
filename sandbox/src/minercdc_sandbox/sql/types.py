"""Types of expressions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from minercdc_sandbox.interfaces import BindType, ColumnDescription, OraError, OraType
from minercdc_sandbox.sql.temporal import TimeKind
from minercdc_sandbox.tables import Column


class Family(StrEnum):
    """Kinds of types whose values have one encoding and follow the same rules of comparison and conversion."""

    NUMBER = "NUMBER"
    FLOAT = "BINARY_FLOAT"
    DOUBLE = "BINARY_DOUBLE"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR2"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    ZONED = "TIMESTAMP WITH TIME ZONE"
    LOCAL = "TIMESTAMP WITH LOCAL TIME ZONE"
    INTERVAL = "INTERVAL DAY TO SECOND"
    MONTHS = "INTERVAL YEAR TO MONTH"
    RAW = "RAW"
    ROWID = "ROWID"
    NULL = "NULL"
    CLOB = "CLOB"
    BLOB = "BLOB"
    XML = "XMLTYPE"
    JSON = "JSON"
    VECTOR = "VECTOR"
    BFILE = "BFILE"
    BOOLEAN = "BOOLEAN"
    LONG = "LONG"
    LONG_RAW = "LONG RAW"


TEXT = frozenset({Family.CHAR, Family.VARCHAR})

LARGE = frozenset({Family.CLOB, Family.BLOB, Family.XML, Family.JSON, Family.VECTOR, Family.BFILE})
"""Their values are locators, which have no order and no equality: ORA-00932."""

TEMPORAL = frozenset({Family.DATE, Family.TIMESTAMP, Family.ZONED, Family.LOCAL})

INSTANTS = frozenset({Family.ZONED, Family.LOCAL})

NUMERIC = frozenset({Family.NUMBER, Family.FLOAT, Family.DOUBLE})

BINARY_SIZES = {Family.FLOAT: 4, Family.DOUBLE: 8}

INTERVALS = frozenset({Family.INTERVAL, Family.MONTHS})

KIND = {
    Family.DATE: TimeKind.DATE,
    Family.TIMESTAMP: TimeKind.TIMESTAMP,
    Family.ZONED: TimeKind.ZONED,
    Family.LOCAL: TimeKind.LOCAL,
}
"""The families of TEMPORAL as `temporal` names them."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """The type of an expression.

    :ivar precision: digits of a NUMBER, or leading digits of an interval; 0 for none.
    :ivar scale: scale of a NUMBER, -127 for none, or fractional digits of a timestamp or interval.
    :ivar size: bytes of text, RAW and ROWID; 0 of others.
    :ivar national: of text and CLOB: the national character set.
    """

    family: Family
    precision: int = 0
    scale: int = -127
    size: int = 0
    national: bool = False

    def describe(self, name: str, nullable: bool = True) -> ColumnDescription:
        """A result's column of this type, as clients see it; NULL is VARCHAR2."""
        if self.family is Family.NUMBER:
            precision = 38 if self.precision == 0 and self.scale != -127 else self.precision
            return ColumnDescription(name, OraType.NUMBER, precision, self.scale, 22, nullable)
        code, size = _CODES[self.family]
        if self.family in INTERVALS:
            return ColumnDescription(name, code, self.precision, max(self.scale, 0), size, nullable)
        scale = self.scale if self.family in TEMPORAL and self.scale >= 0 else 0
        national = self.national and self.family in (*TEXT, Family.CLOB)
        return ColumnDescription(name, code, 0, scale, size or max(self.size, 1), nullable, national)


_CODES: dict[Family, tuple[OraType, int]] = {
    Family.CHAR: (OraType.CHAR, 0),
    Family.VARCHAR: (OraType.VARCHAR2, 0),
    Family.NULL: (OraType.VARCHAR2, 0),
    Family.DATE: (OraType.DATE, 7),
    Family.TIMESTAMP: (OraType.TIMESTAMP, 11),
    Family.ZONED: (OraType.TIMESTAMP_TZ, 13),
    Family.RAW: (OraType.RAW, 0),
    Family.ROWID: (OraType.ROWID, 18),
    Family.FLOAT: (OraType.BINARY_FLOAT, 4),
    Family.DOUBLE: (OraType.BINARY_DOUBLE, 8),
    Family.LOCAL: (OraType.TIMESTAMP_LTZ, 11),
    Family.INTERVAL: (OraType.INTERVAL_DS, 11),
    Family.MONTHS: (OraType.INTERVAL_YM, 5),
    Family.CLOB: (OraType.CLOB, 4000),
    Family.BLOB: (OraType.BLOB, 4000),
    Family.XML: (OraType.XMLTYPE, 2000),
    Family.JSON: (OraType.JSON, 8200),
    Family.VECTOR: (OraType.VECTOR, 8200),
    Family.BFILE: (OraType.BFILE, 530),
    Family.BOOLEAN: (OraType.BOOLEAN, 1),
    Family.LONG: (OraType.LONG, 0x7FFFFFFF),
    Family.LONG_RAW: (OraType.LONG_RAW, 0x7FFFFFFF),
}

NUMBER = SqlType(Family.NUMBER)

NULL = SqlType(Family.NULL)

DATE = SqlType(Family.DATE)

TIMESTAMP = SqlType(Family.TIMESTAMP, scale=9)

ZONED = SqlType(Family.ZONED, scale=6)

INTERVAL = SqlType(Family.INTERVAL, 9, 9)

MONTHS = SqlType(Family.MONTHS, 9, 0)

FLOAT = SqlType(Family.FLOAT)

DOUBLE = SqlType(Family.DOUBLE)

LOCAL = SqlType(Family.LOCAL, scale=6)

ROWID = SqlType(Family.ROWID, size=18)

CLOB, NCLOB, BLOB = SqlType(Family.CLOB), SqlType(Family.CLOB, national=True), SqlType(Family.BLOB)

BOOLEAN = SqlType(Family.BOOLEAN)

_STAMPS = {
    OraType.TIMESTAMP: Family.TIMESTAMP,
    OraType.TIMESTAMP_TZ: Family.ZONED,
    OraType.TIMESTAMP_LTZ: Family.LOCAL,
}
_FIXED = {
    OraType.DATE: DATE,
    OraType.BINARY_FLOAT: FLOAT,
    OraType.BINARY_DOUBLE: DOUBLE,
    OraType.ROWID: ROWID,
    OraType.UROWID: ROWID,
    OraType.BLOB: BLOB,
    OraType.XMLTYPE: SqlType(Family.XML),
    OraType.JSON: SqlType(Family.JSON),
    OraType.VECTOR: SqlType(Family.VECTOR),
    OraType.BFILE: SqlType(Family.BFILE),
    OraType.BOOLEAN: BOOLEAN,
}
"""Types that need no sizes."""


def calculated(families: Collection[Family]) -> SqlType:
    """The type in which numbers of these families calculate: BINARY_DOUBLE if one is, else BINARY_FLOAT if one is, else NUMBER."""
    return DOUBLE if Family.DOUBLE in families else FLOAT if Family.FLOAT in families else NUMBER


def varchar(size: int = 4000) -> SqlType:
    """The type VARCHAR2 of that many bytes, taken as 1 below and as 32767 above."""
    return SqlType(Family.VARCHAR, size=max(1, min(size, 32767)))


def type_of_wire(code: OraType, precision: int = 0, scale: int = -127, size: int = 0, national: bool = False) -> SqlType:
    """Type of a described column or bind; LONG is VARCHAR2, LONG RAW is RAW. Raises ORA-00932 for a type without a family."""
    if code is OraType.NUMBER:
        return SqlType(Family.NUMBER, precision, scale)
    if code in (OraType.VARCHAR2, OraType.LONG):
        return replace(varchar(size or 4000), national=national)
    if code is OraType.CHAR:
        return SqlType(Family.CHAR, size=size or 1, national=national)
    if code in _STAMPS:
        return SqlType(_STAMPS[code], scale=scale if 0 <= scale <= 9 else 9)
    if code is OraType.INTERVAL_DS:
        return SqlType(Family.INTERVAL, precision, scale)
    if code is OraType.INTERVAL_YM:
        return SqlType(Family.MONTHS, precision, 0)
    if code in (OraType.RAW, OraType.LONG_RAW):
        return SqlType(Family.RAW, size=size or 2000)
    if code is OraType.CLOB:
        return NCLOB if national else CLOB
    if code in _FIXED:
        return _FIXED[code]
    raise OraError(932, f"inconsistent datatypes: {code.name} is not supported here")


def bind_type(bind: BindType) -> SqlType:
    """Type of a bind; a NUMBER has no precision and scale. Raises as `type_of_wire`."""
    if bind.type is OraType.NUMBER:
        return NUMBER
    return type_of_wire(bind.type, 9, 9, bind.size, bind.national)


_LONG = {OraType.LONG: SqlType(Family.LONG), OraType.LONG_RAW: SqlType(Family.LONG_RAW)}


def column_type(column: Column) -> SqlType:
    """Type of a table's column; LONG and LONG RAW have families of their own. Raises as `type_of_wire`."""
    if column.type in _LONG:
        return _LONG[column.type]
    return type_of_wire(column.type, column.precision, column.scale, column.size, column.national)


def inconsistent(expected: object, got: object, at: int = 0) -> OraError:
    """The error ORA-00932, which names both types, at the offset `at`; the caller raises it."""
    return OraError(932, f"inconsistent datatypes: expected {expected} got {got}", at)
