"""Which Spark type an Oracle column gets, and how it is read from the JSON of an envelope.

| Oracle                      | in the topic (default modes)          | in Spark                                         |
|-----------------------------|---------------------------------------|--------------------------------------------------|
| NUMBER(p,0), p < 3/5/10/19  | int8/int16/int32/int64                | TINYINT/SMALLINT/INT/BIGINT                      |
| NUMBER(p,s)                 | Decimal: base64 of the unscaled value | DECIMAL(p,s)                                     |
| NUMBER, FLOAT               | VariableScaleDecimal {scale, value}   | STRING, all digits: no DECIMAL holds 1E-130      |
| VARCHAR2, CHAR, NVARCHAR2.. | string                                | STRING                                           |
| DATE, TIMESTAMP(0-3)        | int64 milliseconds                    | TIMESTAMP_NTZ                                    |
| TIMESTAMP(4-6)              | int64 microseconds                    | TIMESTAMP_NTZ                                    |
| TIMESTAMP(7-9)              | int64 nanoseconds                     | STRING, nine digits: Spark holds microseconds    |
| .. WITH TIME ZONE           | ISO 8601 text with offset             | STRING: Spark keeps no offset                    |
| .. WITH LOCAL TIME ZONE     | ISO 8601 text in UTC                  | TIMESTAMP; (7-9): STRING                         |
| INTERVAL ..                 | int64 microseconds                    | BIGINT                                           |
| RAW                         | base64                                | BINARY                                           |
| BINARY_FLOAT, BINARY_DOUBLE | number, or "NaN", "Infinity"          | FLOAT, DOUBLE                                    |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from minercdc.config.sections import ValueConfig
from minercdc.errors import ConfigError

Expression = Callable[[str], str]  # SQL of the JSON member -> SQL of the value

_CHARACTER = {"CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2", "ROWID"}
_INTEGERS = ((3, "TINYINT"), (5, "SMALLINT"), (10, "INT"), (19, "BIGINT"))
SPARK_MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the schema history has it."""

    name: str
    type_name: str
    length: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of a lake table.

    :param json_type: type it is parsed as inside the envelope.
    :param spark_type: type in the lake table.
    :param value: from the SQL of the parsed member to the SQL of the value.
    :param since: SCN of the DDL that added the column, with a DEFAULT, to a table known before; else 0.
    :param fill: SQL of the value that this DDL gave to the rows there were; None for null.
    """

    name: str
    json_type: str
    spark_type: str
    value: Expression
    since: int = 0
    fill: str | None = None


def refuse_unsupported_modes(values: ValueConfig) -> None:
    """Raise ConfigError when these settings write topics in a form that the lake does not read."""
    problems = []
    if values.time_precision_mode not in ("adaptive", "adaptive_time_microseconds"):
        problems.append(f"time.precision.mode: the lake reads adaptive topics only, not {values.time_precision_mode}")
    if values.decimal_handling_mode == "double":
        problems.append("decimal.handling.mode: the lake reads precise or string topics only; double loses digits")
    if problems:
        raise ConfigError(problems)


def lake_column(column: SourceColumn, values: ValueConfig) -> LakeColumn | None:
    """The lake's column for a source column; None for a type that the lake leaves out: LOBs, LONG, XMLTYPE, JSON and others."""
    name, kind = column.name, column.type_name
    if kind == "NUMBER":
        return _number(column, values)
    if kind == "FLOAT":
        return _unconstrained(name, values)
    if kind in _CHARACTER:
        return LakeColumn(name, "STRING", "STRING", _same)
    if kind == "DATE":
        return LakeColumn(name, "BIGINT", "TIMESTAMP_NTZ", _milliseconds)
    if kind == "TIMESTAMP":
        return _timestamp(name, 6 if column.scale is None else column.scale)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return LakeColumn(name, "STRING", "STRING", _same)
    if kind == "TIMESTAMP WITH LOCAL TIME ZONE":
        exact = column.scale is None or column.scale <= 6
        return LakeColumn(name, "STRING", "TIMESTAMP", _instant) if exact else LakeColumn(name, "STRING", "STRING", _same)
    if kind in ("INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND"):
        spark_type = "BIGINT" if values.interval_handling_mode == "numeric" else "STRING"
        return LakeColumn(name, spark_type, spark_type, _same)
    if kind == "RAW":
        if values.binary_handling_mode == "bytes":
            return LakeColumn(name, "BINARY", "BINARY", _same)
        return LakeColumn(name, "STRING", "STRING", _same)
    if kind in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        spark_type = kind.removeprefix("BINARY_")
        return LakeColumn(name, "STRING", spark_type, lambda member: f"CAST({member} AS {spark_type})")
    return None


_NUMERIC_LITERAL = re.compile(r"[+-]?\d+(\.\d*)?|[+-]?\.\d+")
_TEXT_LITERAL = re.compile(r"'((?:[^']|'')*)'")


def fill_of(column: LakeColumn, default: str) -> str | None:
    """Spark SQL for an Oracle DEFAULT; None when it is no literal (SYSDATE: Oracle evaluated it at the DDL, and redo does not hold the value)."""
    if _NUMERIC_LITERAL.fullmatch(default):
        return f"CAST('{default}' AS {column.spark_type})"
    if (match := _TEXT_LITERAL.fullmatch(default)) and column.spark_type == "STRING":
        text = match[1].replace("''", "'").replace("\\", "\\\\").replace("'", "\\'")
        return f"'{text}'"
    return None


def _same(member: str) -> str:
    return member


def _instant(member: str) -> str:
    return f"CAST({member} AS TIMESTAMP)"


def _milliseconds(member: str) -> str:
    return f"CAST(timestamp_millis({member}) AS TIMESTAMP_NTZ)"


def _microseconds(member: str) -> str:
    return f"CAST(timestamp_micros({member}) AS TIMESTAMP_NTZ)"


def _nanoseconds(member: str) -> str:
    whole = f"(({member}) - pmod({member}, 1000000000)) DIV 1000000000"
    seconds = f"date_format(CAST(timestamp_seconds({whole}) AS TIMESTAMP_NTZ), 'yyyy-MM-dd HH:mm:ss')"
    return f"concat({seconds}, '.', lpad(CAST(pmod({member}, 1000000000) AS STRING), 9, '0'))"


def _timestamp(name: str, digits: int) -> LakeColumn:
    if digits <= 3:
        return LakeColumn(name, "BIGINT", "TIMESTAMP_NTZ", _milliseconds)
    if digits <= 6:
        return LakeColumn(name, "BIGINT", "TIMESTAMP_NTZ", _microseconds)
    return LakeColumn(name, "BIGINT", "STRING", _nanoseconds)


def _number(column: SourceColumn, values: ValueConfig) -> LakeColumn:
    precision, scale = column.length, column.scale
    if precision is None and scale is None:
        return _unconstrained(column.name, values)
    precision, scale = precision or SPARK_MAX_PRECISION, scale or 0
    width = precision - scale if scale < 0 else precision
    if scale <= 0 and width < 19 and (values.decimal_handling_mode == "precise" or scale < 0):
        spark_type = next(kind for limit, kind in _INTEGERS if width < limit)
        return LakeColumn(column.name, "BIGINT", spark_type, lambda member: f"CAST({member} AS {spark_type})")
    if max(width, scale) > SPARK_MAX_PRECISION:  # NUMBER(38,-10), NUMBER(5,40)
        return LakeColumn(
            column.name, "STRING", "STRING", _same if values.decimal_handling_mode == "string" else _decimal_text(scale)
        )
    spark_type = f"DECIMAL({max(width, scale)},{max(scale, 0)})"
    if values.decimal_handling_mode == "string":
        return LakeColumn(column.name, "STRING", spark_type, lambda member: f"CAST({member} AS {spark_type})")
    return LakeColumn(
        column.name, "BINARY", spark_type, lambda member: f"CAST(decimal_text({scale}, {member}) AS {spark_type})"
    )


def _decimal_text(scale: int) -> Expression:
    return lambda member: f"decimal_text({scale}, unbase64({member}))"


def _unconstrained(name: str, values: ValueConfig) -> LakeColumn:
    if values.decimal_handling_mode == "string":
        return LakeColumn(name, "STRING", "STRING", _same)
    return LakeColumn(
        name, "STRUCT<scale: INT, value: BINARY>", "STRING", lambda member: f"decimal_text({member}.scale, {member}.value)"
    )


def decimal_text(scale: int | None, unscaled: bytes | bytearray | None) -> str | None:
    """Plain decimal text of Connect's Decimal: big-endian two's complement unscaled value, and its scale; None for null."""
    if scale is None or unscaled is None:
        return None
    number = int.from_bytes(unscaled, "big", signed=True)
    if scale <= 0:
        return str(number * 10**-scale)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"
