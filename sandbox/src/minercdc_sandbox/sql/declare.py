"""Columns from declared types, of CREATE TABLE, CAST or PL/SQL."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.redo.large_values import SECUREFILE, XML_BINARY
from minercdc_sandbox.sql import ast, vectors
from minercdc_sandbox.sql.types import SqlType
from minercdc_sandbox.tables import Column, LengthSemantics

TYPES = {
    "VARCHAR2, VARCHAR, CHAR": "AL32UTF8; BYTE and CHAR lengths; VARCHAR2 to 4000 bytes, 32767 with MAX_STRING_SIZE=EXTENDED",
    "NVARCHAR2, NCHAR": "AL16UTF16; lengths count UTF-16 units, functions count characters",
    "NUMBER, NUMERIC, DECIMAL, INTEGER, SMALLINT": "38 digits",
    "FLOAT, REAL, DOUBLE PRECISION": "FLOAT rounds to the decimal digits of its binary precision",
    "BINARY_FLOAT, BINARY_DOUBLE": "NaN is greatest and equal to itself, -0 becomes 0",
    "DATE, TIMESTAMP": "4712 BC to 9999 AD, up to nanoseconds; day arithmetic counts a year 0",
    "TIMESTAMP WITH TIME ZONE": "offsets and regions; compares by instant, but DISTINCT and UNION distinguish zones",
    "TIMESTAMP WITH LOCAL TIME ZONE": "kept in DBTIMEZONE, which is UTC; SQL sees it in the session's zone",
    "INTERVAL YEAR TO MONTH, INTERVAL DAY TO SECOND": "all literal forms",
    "RAW": "to 2000 bytes, 32767 with MAX_STRING_SIZE=EXTENDED",
    "ROWID, UROWID": "of heap tables",
    "CLOB, NCLOB, BLOB": "SecureFiles; locators and values, temporary LOBs; after DROP .. PURGE and TRUNCATE their room is given back with the last log that has a change of them (DBMS_SANDBOX.PURGE_LOG)",
    "BFILE": "BFILENAME and the name of the file; there are no directories, so reading is ORA-22285",
    "LONG, LONG RAW": "as columns; no functions on them",
    "XMLTYPE": "text in and out, binary or CLOB storage; described to clients as CLOB",
    "JSON, BOOLEAN, VECTOR": "23ai profile only (else ORA-00902); LogMiner prints them as Unsupported, JSON as a LOB when ENABLE_GOLDENGATE_REPLICATION is TRUE",
}
"""Types that can be declared, with remarks for the page of the sandbox."""


def declare(name: str, target: ast.TypeName, *, default_char: LengthSemantics = LengthSemantics.BYTE) -> Column:
    """A new column of the declared type, without constraints, default and slot. `default_char`: semantics of a length without
    BYTE or CHAR.

    Raises ORA-00902 for an unknown type, ORA-03001 for `UNKNOWN_TYPES` and other formats of VECTOR, ORA-00906 without a length
    that is needed; for sizes out of range ORA-00910, ORA-01723, ORA-01727, ORA-01728, ORA-01734, ORA-30088, ORA-51801. What the
    release and MAX_STRING_SIZE allow is for `check_declared`.
    """
    numbers = target.numbers
    one = numbers[0] if numbers else None
    word = target.name
    if word in ("VARCHAR2", "VARCHAR", "CHAR", "CHARACTER", "NVARCHAR2", "NCHAR"):
        return _declare_text(name, target, default_char)
    if word in ("NUMBER", "NUMERIC", "DECIMAL", "DEC"):
        return _declare_number(name, numbers, word)
    if word in ("FLOAT", "DOUBLE PRECISION", "REAL"):
        bits = one if one is not None else (63 if word == "REAL" else 126)
        if not 1 <= bits <= 126:
            raise OraError(1734, "illegal parameters - FLOAT precision must be between 1 and 126", target.at)
        return Column(name, OraType.NUMBER, bits, -127, 22, float_=True)
    if word in _TIMESTAMPS:
        code, size = _TIMESTAMPS[word]
        return Column(name, code, scale=_digits(one, 6, target.at), size=size)
    if word == "INTERVAL YEAR TO MONTH":
        return Column(name, OraType.INTERVAL_YM, _digits(one, 2, target.at), 0, 5)
    if word == "INTERVAL DAY TO SECOND":
        return Column(name, OraType.INTERVAL_DS, _digits(one, 2, target.at), _digits(numbers[1], 6, target.at), 11)
    if word == "RAW":
        if one is None:
            raise OraError(906, "missing left parenthesis", target.at)
        if not 1 <= one <= LONGEST:
            raise OraError(910, "specified length too long for its datatype", target.at)
        return Column(name, OraType.RAW, size=one)
    if word in _SIMPLE:
        code, size, national, storage = _SIMPLE[word]
        return Column(name, code, size=size, national=national, storage=storage)
    if word == "UROWID":
        if one is not None and not 1 <= one <= 4000:
            raise OraError(910, "specified length too long for its datatype", target.at)
        return Column(name, OraType.UROWID, size=one or 4000)
    if word == "VECTOR":
        return _declare_vector(name, target)
    if word in UNKNOWN_TYPES:
        raise OraError(3001, f"unimplemented feature: datatype {word}", target.at)
    raise OraError(902, "invalid datatype", target.at)


LONGEST = 32767
"""The most bytes of VARCHAR2 and RAW, when MAX_STRING_SIZE is EXTENDED."""
NO_KEY = frozenset(
    (
        *(OraType.CLOB, OraType.BLOB, OraType.XMLTYPE, OraType.LONG, OraType.LONG_RAW),
        *(OraType.JSON, OraType.VECTOR, OraType.BFILE),
    )
)
"""Types that columns of keys and indexes cannot have."""
_STANDARD_LIMITS = {OraType.VARCHAR2: 4000, OraType.RAW: 2000}
_SIMPLE = {
    **dict.fromkeys(("INTEGER", "INT", "SMALLINT"), (OraType.NUMBER, 22, False, "")),
    "DATE": (OraType.DATE, 7, False, ""),
    "BINARY_FLOAT": (OraType.BINARY_FLOAT, 4, False, ""),
    "BINARY_DOUBLE": (OraType.BINARY_DOUBLE, 8, False, ""),
    "CLOB": (OraType.CLOB, 4000, False, SECUREFILE),
    "NCLOB": (OraType.CLOB, 4000, True, SECUREFILE),
    "BLOB": (OraType.BLOB, 4000, False, SECUREFILE),
    "XMLTYPE": (OraType.XMLTYPE, 2000, False, XML_BINARY),
    "LONG": (OraType.LONG, 0, False, ""),
    "LONG RAW": (OraType.LONG_RAW, 0, False, ""),
    "ROWID": (OraType.ROWID, 10, False, ""),
    "JSON": (OraType.JSON, 8200, False, ""),
    "BOOLEAN": (OraType.BOOLEAN, 1, False, ""),
    "BFILE": (OraType.BFILE, 530, False, ""),
    "BOOL": (OraType.BOOLEAN, 1, False, ""),
}
"""Types without a length: type, size, national, storage."""
_SINCE_23 = frozenset((OraType.BOOLEAN, OraType.JSON, OraType.VECTOR))
UNKNOWN_TYPES = {"ANYDATA", "SDO_GEOMETRY", "REF"}
"""Types of Oracle that are refused with ORA-03001; other names are ORA-00902."""


def _declare_vector(name: str, target: ast.TypeName) -> Column:
    """A column VECTOR[(dimensions | *, format | *)]; `storage` keeps the format, `precision` the dimensions, 0 for any. Raises
    ORA-51801, ORA-03001."""
    dimensions = target.numbers[0] if target.numbers else None
    if dimensions is not None and not 1 <= dimensions <= vectors.LARGEST:
        raise OraError(
            51801, f"VECTOR column type specification has an unsupported dimension count ({dimensions})", target.at
        )
    form = target.unit or "*"
    if form != "*" and form not in vectors.FORMATS:
        raise OraError(3001, f"unimplemented feature: VECTOR of {form}", target.at)
    return Column(name, OraType.VECTOR, dimensions or 0, 0, 8200, storage=form)


def check_declared(columns: Sequence[Column], release: int, *, extended: bool) -> None:
    """Check all columns of a table. Raises ORA-00902 for a type of a later release than `release` (its first number), ORA-00910
    for one too long unless `extended` (MAX_STRING_SIZE), ORA-01754 for two LONGs."""
    for column in columns:
        if column.type in _SINCE_23 and release < 23:
            raise OraError(902, "invalid datatype")
        if not extended and column.size > _STANDARD_LIMITS.get(column.type, column.size):
            raise OraError(910, "specified length too long for its datatype")
    if sum(column.type in (OraType.LONG, OraType.LONG_RAW) for column in columns) > 1:
        raise OraError(1754, "a table may contain only one column of type LONG")


_TIMESTAMPS = {
    "TIMESTAMP": (OraType.TIMESTAMP, 11),
    "TIMESTAMP WITH TIME ZONE": (OraType.TIMESTAMP_TZ, 13),
    "TIMESTAMP WITH LOCAL TIME ZONE": (OraType.TIMESTAMP_LTZ, 11),
}


def _digits(given: int | None, otherwise: int, at: int) -> int:
    digits = otherwise if given is None else given
    if not 0 <= digits <= 9:
        raise OraError(30088, "datetime/interval precision is out of range", at)
    return digits


def _declare_text(name: str, target: ast.TypeName, default_char: LengthSemantics) -> Column:
    """A column of a character type. N types have two bytes for each UTF-16 unit, other ones up to four for a character. Raises
    ORA-00906, ORA-00910, ORA-01723."""
    national, varying = target.name.startswith("N"), "VARCHAR" in target.name
    if varying and (not target.numbers or (target.numbers[0] is None and not national)):
        raise OraError(906, "missing left parenthesis", target.at)
    one = target.numbers[0] if target.numbers else 1
    if one is None:
        one = 0 if national else 1
    if one < 1:
        raise OraError(1723, "zero-length columns are not allowed", target.at)
    if one > (LONGEST // (1 + national) if varying else 1000 if national else 2000):
        raise OraError(910, "specified length too long for its datatype", target.at)
    code = OraType.VARCHAR2 if varying else OraType.CHAR
    if national:
        return Column(name, code, size=2 * one, char_length=one, semantics=LengthSemantics.CHAR, national=True)
    semantics = LengthSemantics[target.unit] if target.unit else default_char
    size = min(one * 4, max(one, 4000 if varying else 2000)) if semantics == LengthSemantics.CHAR else one
    return Column(name, code, size=size, char_length=one, semantics=semantics)


def _declare_number(name: str, numbers: list[int | None], word: str) -> Column:
    if not numbers:
        return Column(name, OraType.NUMBER, 0, -127 if word == "NUMBER" else 0, 22)
    precision, scale = numbers[0], (numbers[1] if len(numbers) > 1 else None)
    if precision is not None and not 1 <= precision <= 38:
        raise OraError(1727, "numeric precision specifier is out of range (1 to 38)")
    if scale is not None and not -84 <= scale <= 127:
        raise OraError(1728, "numeric scale specifier is out of range (-84 to 127)")
    if precision is None and scale is None:
        return Column(name, OraType.NUMBER, 0, -127, 22)
    return Column(name, OraType.NUMBER, precision or 0, scale or 0, 22)


def declared_like(name: str, kind: SqlType) -> Column:
    """A column for the values of an expression of this type: a field of %ROWTYPE, or a virtual column without a type."""
    described = kind.describe(name)
    text = described.type in (OraType.VARCHAR2, OraType.CHAR)
    chars = (described.size // 2 if described.national else described.size) if text else 0
    return Column(
        name,
        described.type,
        described.precision,
        described.scale,
        described.size,
        chars,
        semantics=LengthSemantics.CHAR if described.national else LengthSemantics.BYTE,
        national=described.national,
    )
