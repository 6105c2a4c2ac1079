"""Which columns of the lake compiled code reads from records, and how (`native_columns`)."""

from __future__ import annotations

import re

from minercdc.config.sections import ValueConfig
from minercdc.lake.read.native_columns import ReadColumn
from minercdc.lake.table.types import LakeColumn

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_BYTES = {"bytes": "BASE64", "base64": "BASE64", "base64-url-safe": "BASE64_URL", "hex": "HEX"}
_LARGE = frozenset(
    ("CLOB", "NCLOB", "BLOB", "XMLTYPE", "JSON", "LONG", "LONG RAW", "VECTOR")
)  # a batch of them may not fit in memory
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')  # a name that is printed as it is


def read_column(column: LakeColumn, values: ValueConfig) -> ReadColumn | None:
    """How a lake column is read by the compiled code; None where only SQL reads it."""
    kind = _kind(column, values)
    if kind is None or not _PLAIN.fullmatch(column.member):
        return None
    precision, scale = 0, 0
    if found := _DECIMAL.fullmatch(column.spark_type):
        precision, scale = int(found[1]), int(found[2])
    elif kind == "INTEGER":
        scale = int(column.json_type == "STRING")
    elif kind == "SCALED_TEXT":
        assert column.source is not None
        scale = column.source.scale or 0
    return ReadColumn(column.member, kind, column.spark_type, precision, scale)


def _kind(column: LakeColumn, values: ValueConfig) -> str | None:
    source, spark_type, json_type = column.source, column.spark_type, column.json_type
    if source is None or source.type_name in _LARGE:
        return None
    kind = source.type_name
    if kind == "RAW":
        return _BYTES[values.binary_handling_mode]
    if kind in ("DATE", "TIMESTAMP"):
        return _wall_clock(column, values)
    if spark_type == "TIMESTAMP":
        return "ISO"
    if spark_type in ("FLOAT", "DOUBLE") and json_type == spark_type:
        return "SINGLE" if spark_type == "FLOAT" else "DOUBLE"
    if spark_type == "BOOLEAN":
        return "BOOLEAN"
    if spark_type in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return "INTEGER"
    if spark_type.startswith("DECIMAL"):
        return _decimal(column)
    if spark_type != "STRING":
        return None
    if json_type == "BINARY":
        return "SCALED_TEXT"
    return "TEXT" if json_type == "STRING" else "VARIABLE_TEXT"


def _decimal(column: LakeColumn) -> str | None:
    assert column.source is not None
    if (column.source.scale or 0) < 0:
        return None
    return {"BINARY": "DECIMAL", "STRING": "DECIMAL_TEXT"}.get(column.json_type)


def _wall_clock(column: LakeColumn, values: ValueConfig) -> str:
    source, has_nanos = column.source, column.spark_type == "STRING"
    assert source is not None
    if column.json_type == "STRING":
        return "ISO_TEXT" if has_nanos else "ISO"
    if has_nanos:
        return "NANOS_TEXT"
    digits = 0 if source.type_name == "DATE" else 6 if source.scale is None else source.scale
    otherwise = 3 if digits <= 3 else 6 if digits <= 6 else 9
    unit = {"connect": 3, "microseconds": 6, "nanoseconds": 9}.get(values.time_precision_mode, otherwise)
    return {3: "MILLIS", 6: "MICROS", 9: "NANOS"}[unit]
