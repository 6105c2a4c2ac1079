"""The plan of a table version for the compiled code: how each column is scanned and printed.

Both are derived from what the Python path uses itself, the `Reading` and the `FieldType` of a column, so that a choice which is
made there is not made here once more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

from minercdc.schema.table import Column
from minercdc.values.codec import FieldType
from minercdc.values.family import Convert, Reading

ScannedColumn: TypeAlias = tuple[str, int, bytes, int, int]
"""name, position (-1: passed over), uses by function, check, absent; see `scan_column` in core.h."""
PrintedCell: TypeAlias = tuple[int, int, int, int, bytes, bytes | None]
"""position, kind, spelling, digits, member, unavailable; see `print_column` in core.h."""
Conversions: TypeAlias = tuple[Convert | None, ...]
"""By function, from a literal's text to Row text; None where that is the same."""
Constants: TypeAlias = Mapping[str, int]

_FUNCTIONS: Final = (
    ("FUNCTION_NONE", ""),
    ("FUNCTION_UNISTR", "UNISTR"),
    ("FUNCTION_TO_DATE", "TO_DATE"),
    ("FUNCTION_TO_TIMESTAMP", "TO_TIMESTAMP"),
    ("FUNCTION_TO_TIMESTAMP_TZ", "TO_TIMESTAMP_TZ"),
    ("FUNCTION_HEXTORAW", "HEXTORAW"),
    ("FUNCTION_TO_YMINTERVAL", "TO_YMINTERVAL"),
    ("FUNCTION_TO_DSINTERVAL", "TO_DSINTERVAL"),
    ("FUNCTION_EMPTY_CLOB", "EMPTY_CLOB"),
    ("FUNCTION_EMPTY_BLOB", "EMPTY_BLOB"),
)
# What the text of a literal has to be like, so that the reading's conversion of it does not fail.
_CHECKS: Final = {
    "NUMBER": "NUMBER",
    "FLOAT": "NUMBER",
    "BINARY_FLOAT": "SINGLE",
    "BINARY_DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "ZONED",
    "INTERVAL YEAR TO MONTH": "YEAR_MONTH",
    "INTERVAL DAY TO SECOND": "DAY_SECOND",
    "RAW": "ANY",
    "LONG RAW": "ANY",
    "BLOB": "ANY",
}
_SPELLINGS: Final = {"DATE": "SPELLED_DATE", "TIMESTAMP WITH TIME ZONE": "SPELLED_ZONED"}
_BY_NAME: Final = {
    "org.apache.kafka.connect.data.Timestamp": ("EPOCH", 3),
    "io.debezium.time.Timestamp": ("EPOCH", 3),
    "io.debezium.time.MicroTimestamp": ("EPOCH", 6),
    "io.debezium.time.NanoTimestamp": ("EPOCH", 9),
    "io.debezium.time.IsoTimestamp": ("ISO", 0),
    "io.debezium.data.VariableScaleDecimal": ("VARIABLE_SCALE", 0),
}
_BINARY: Final = {"bytes": "BASE64", "base64": "BASE64", "base64-url-safe": "BASE64_URL", "hex": "HEX"}
_TEXTS: Final = ("CHAR", "VARCHAR2", "VARCHAR", "NCHAR", "NVARCHAR2", "LONG", "ROWID", "CLOB", "NCLOB", "XMLTYPE")


def conversions(readings: Sequence[Reading], constants: Constants) -> list[Conversions]:
    """How the literals of columns become Row text, for each column.

    :param readings: of the columns.
    :param constants: of the compiled code, by name.
    """
    names = [name for _, name in sorted((constants[function], name) for function, name in _FUNCTIONS)]
    return [tuple(reading.literals.get(name) for name in names) for reading in readings]


def scanned_columns(
    columns: Sequence[Column],
    readings: Sequence[Reading],
    hidden: Collection[str],
    passed_over: Collection[str],
    null_when_absent: Collection[int],
    constants: Constants,
) -> list[ScannedColumn]:
    """How the columns of a table version are scanned: its own in their order, then the names of `passed_over`, sorted.

    :param readings: of the columns.
    :param hidden: names of columns whose values are not read.
    :param passed_over: names that redo has and the table version has not.
    :param null_when_absent: positions of columns that are null when an INSERT does not name them; others are UNAVAILABLE.
    :param constants: of the compiled code, by name.
    """
    found: list[ScannedColumn] = []
    for i, (column, reading) in enumerate(zip(columns, readings, strict=True)):
        uses = bytearray(constants["FUNCTIONS"])
        for function, name in _FUNCTIONS:
            if name in reading.literals and not (reading.follows and name == "EMPTY_BLOB"):
                use = "USE_AS_IS" if reading.literals[name] is None else "USE_CHECKED"
                uses[constants[function]] = constants[use]
        check = constants["CHECK_" + _CHECKS.get(column.type_name, "NEVER")]
        absent = constants["CELL_NULL" if i in null_when_absent else "CELL_ABSENT"]
        found.append((column.name, -1 if column.name in hidden else i, bytes(uses), check, absent))
    nothing = bytes(constants["FUNCTIONS"])
    return [*found, *((name, -1, nothing, 0, 0) for name in sorted(passed_over))]


def printed_cell(
    column: Column,
    field: FieldType,
    binary: str,
    position: int,
    member: str,
    unavailable: str | None,
    constants: Constants,
) -> PrintedCell:
    """How a column is printed.

    :param field: its Connect type.
    :param binary: `binary.handling.mode`.
    :param member: JSON before its value: `{` or a comma, the name, a colon.
    :param unavailable: JSON for a value that redo does not hold; None when there is none.
    :param constants: of the compiled code, by name.
    """
    kind, digits = _kind(column, field, binary)
    spelling = constants[_SPELLINGS.get(column.type_name, "SPELLED_TIMESTAMP")]
    shown = None if unavailable is None else unavailable.encode()
    return position, constants["PRINT_" + kind], spelling, digits, member.encode(), shown


def _kind(column: Column, field: FieldType, binary: str) -> tuple[str, int]:
    """`print_kind`, and its digits. NEVER for what only Python prints."""
    kind = column.type_name
    if kind in _TEXTS:
        return "TEXT", 0
    if kind in ("RAW", "LONG RAW", "BLOB"):
        return _BINARY[binary], 0
    if kind in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        return ("SINGLE" if kind == "BINARY_FLOAT" else "DOUBLE"), 0
    if field.name in _BY_NAME:
        return _BY_NAME[field.name]
    if field.name == "io.debezium.time.ZonedTimestamp":
        return "ZONED", 6 if column.scale is None else column.scale
    if kind.startswith("INTERVAL"):
        part = "MONTHS" if kind == "INTERVAL YEAR TO MONTH" else "SECONDS"
        return part + ("_ISO" if field.type == "string" else ""), 0
    return _number_kind(column, field) if kind in ("NUMBER", "FLOAT") else ("NEVER", 0)


def _number_kind(column: Column, field: FieldType) -> tuple[str, int]:
    if field.type.startswith("int"):
        return "INTEGER", 0
    if field.type == "float64":
        return "NUMBER_DOUBLE", 0
    if field.type == "string":
        places = 0 if column.type_name == "FLOAT" else max(column.scale or 0, 0)
        return ("PADDED", places) if places else ("CANONICAL", 0)
    scale = int(field.parameters["scale"])
    return ("DECIMAL", scale) if scale >= 0 else ("NEVER", 0)
