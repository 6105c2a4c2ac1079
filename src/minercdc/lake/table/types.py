"""The Spark type of an Oracle column, and how it is read from the JSON of an envelope.

| Oracle                      | in the topic (default modes)          | in Spark                                         |
|-----------------------------|---------------------------------------|--------------------------------------------------|
| NUMBER(p,0), p < 3/5/10/19  | int8/int16/int32/int64                | TINYINT/SMALLINT/INT/BIGINT                      |
| NUMBER(p,s)                 | Decimal: base64 of the unscaled value | DECIMAL(p,s); STRING beyond 38 digits            |
| NUMBER, FLOAT               | VariableScaleDecimal {scale, value}   | minercdc.lake.number: STRING, DECIMAL(38,s), DOUBLE |
| text, CLOB, XMLTYPE, JSON.. | string                                | STRING                                           |
| DATE, TIMESTAMP             | int64 milli-, microseconds            | TIMESTAMP_NTZ                                    |
| TIMESTAMP(7-9)              | int64 nanoseconds                     | STRING, nine digits: Spark holds microseconds    |
| .. WITH TIME ZONE           | ISO 8601 text with offset             | STRING: Spark keeps no offset                    |
| .. WITH LOCAL TIME ZONE     | ISO 8601 text in UTC                  | TIMESTAMP; (7-9): STRING                         |
| INTERVAL ..                 | int64 microseconds                    | BIGINT                                           |
| RAW, LONG RAW, BLOB         | base64                                | BINARY                                           |
| BINARY_FLOAT, BINARY_DOUBLE | number, or "NaN", "Infinity"          | FLOAT, DOUBLE                                    |
| BOOLEAN                     | boolean                               | BOOLEAN                                          |

The expressions depend neither on the session's time zone nor on ANSI mode.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace

from minercdc.config.sections import ValueConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.errors import ConfigError
from minercdc.lake.read.decimals import (
    MAX_PRECISION,
    SHORT_DIGITS,
    exact_decimal,
    or_refused,
    plain_text,
    short_decimal,
    short_text,
)
from minercdc.lake.spark.sql import literal
from minercdc.schema.name_adjustment import field_name
from minercdc.schema.table import Column

Expression = Callable[[str], str]  # SQL of the parsed member -> SQL

TEXT_TYPES = frozenset(
    (
        "CHAR",
        "VARCHAR2",
        "VARCHAR",
        "NCHAR",
        "NVARCHAR2",
        "LONG",
        "ROWID",
        "UROWID",
        "CLOB",
        "NCLOB",
        "XMLTYPE",
        "JSON",
        "VECTOR",
    )
)
_BYTES = frozenset(("RAW", "LONG RAW", "BLOB"))
_INTEGERS = ((3, "TINYINT"), (5, "SMALLINT"), (10, "INT"), (19, "BIGINT"))
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


@dataclass(frozen=True)
class LakeColumn:
    """A column of a lake table.

    :param name: the column's in Oracle.
    :param json_type: Spark type of the member inside from_json.
    :param spark_type: type in the lake table.
    :param value: SQL of the parsed member -> SQL of the typed value; a member that does not fit makes the query fail.
    :param unavailable: SQL of the parsed member -> boolean SQL: the member is `unavailable.value.placeholder`; false for null.
        None where values of the type have no placeholder.
    :param source: the column in Oracle; None when it is not known.
    :param member: its name in records (`field.name.adjustment.mode`).
    :param short: as `value`, with less to plan, for few records and numbers of up to eight bytes; None where there is none.
    """

    name: str
    json_type: str
    spark_type: str
    value: Expression
    unavailable: Expression | None = None
    source: Column | None = None
    member: str = ""
    short: Expression | None = None


def refuse_unsupported_modes(values: ValueConfig) -> None:
    """Raise ConfigError when decimal.handling.mode=double writes numbers that the lake does not read."""
    if values.decimal_handling_mode == "double":
        raise ConfigError(
            ["decimal.handling.mode: the lake and read_changes read precise or string topics only; double loses digits"]
        )


def lake_column(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn | None:
    """The lake's column for a source column; None for a type that the lake leaves out (BFILE, objects and others)."""
    found = _lake_column(column, values, lake)
    return found and replace(found, member=field_name(values.field_name_adjustment_mode)(column.name))


def _lake_column(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn | None:
    kind, name = column.type_name, column.name
    if kind in TEXT_TYPES:
        return LakeColumn(name, "STRING", "STRING", _same, _equals(literal(values.unavailable_value_placeholder)), column)
    if kind in _BYTES:
        return _binary(column, values)
    if kind in ("BINARY_FLOAT", "BINARY_DOUBLE", "BOOLEAN"):
        return _plain(column, kind.removeprefix("BINARY_"))
    if kind == "FLOAT" or (kind == "NUMBER" and column.length is None and column.scale is None):
        return _unconstrained(column, values, lake)
    if kind == "NUMBER":
        return _number(column, values)
    if kind in ("DATE", "TIMESTAMP"):
        return _wall_clock(column, values)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return _plain(column, "STRING")
    if kind == "TIMESTAMP WITH LOCAL TIME ZONE":
        if (6 if column.scale is None else column.scale) > 6:
            return _plain(column, "STRING")
        return LakeColumn(name, "STRING", "TIMESTAMP", _moment(column, "TIMESTAMP"), source=column)
    if kind in ("INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND"):
        return _plain(column, "BIGINT" if values.interval_handling_mode == "numeric" else "STRING")
    return None


def _same(member: str) -> str:
    return member


def _equals(constant: str) -> Expression:
    return lambda member: f"{member} <=> {constant}"


def _plain(column: Column, spark_type: str) -> LakeColumn:
    """The lake column of a source column whose member from_json parses as `spark_type` already."""
    return LakeColumn(column.name, spark_type, spark_type, _same, source=column)


def _checked(column: Column, spark_type: str) -> Expression:
    """A function that makes SQL of a cast, whose failure makes the query fail, in ANSI mode or not."""
    return lambda member: or_refused(f"try_cast({member} AS {spark_type})", member, column.name, spark_type)


# --- bytes


def _binary(column: Column, values: ValueConfig) -> LakeColumn:
    placeholder, name = values.unavailable_value_placeholder.encode(), column.name
    match values.binary_handling_mode:
        case "bytes":
            return LakeColumn(name, "BINARY", "BINARY", _same, _equals(f"X'{placeholder.hex()}'"), column)
        case "hex":
            value, printed = (lambda member: f"unhex({member})"), placeholder.hex()
        case "base64":
            value, printed = (lambda member: f"unbase64({member})"), b64encode(placeholder).decode()
        case "base64-url-safe":
            value, printed = _url_safe, urlsafe_b64encode(placeholder).decode()
    return LakeColumn(name, "STRING", "BINARY", value, _equals(literal(printed)), column)


def _url_safe(member: str) -> str:
    return f"unbase64(translate({member}, '-_', '+/'))"


# --- numbers


def _number(column: Column, values: ValueConfig) -> LakeColumn:
    name, text = column.name, values.decimal_handling_mode == "string"
    scale = column.scale or 0
    width = (column.length or MAX_PRECISION) - min(scale, 0)
    if scale <= 0 and width < _INTEGERS[-1][0]:
        spark_type = next(kind for limit, kind in _INTEGERS if width < limit)
        if text and scale == 0:
            return LakeColumn(name, "STRING", spark_type, _checked(column, spark_type), source=column)
        # JSON's bytes are parsed from -128 to 255
        json_type = "SMALLINT" if spark_type == "TINYINT" else spark_type
        value = _same if json_type == spark_type else _checked(column, spark_type)
        return LakeColumn(name, json_type, spark_type, value, source=column)
    precision = max(width, scale)
    if precision > MAX_PRECISION:  # NUMBER(38,-10), NUMBER(5,40)
        if text:
            return _plain(column, "STRING")
        return LakeColumn(name, "BINARY", "STRING", lambda member: plain_text(member, str(scale)), source=column)
    spark_type = f"DECIMAL({precision},{max(scale, 0)})"
    if text:
        return LakeColumn(name, "STRING", spark_type, _checked(column, spark_type), source=column)
    exact = LakeColumn(
        name, "BINARY", spark_type, lambda member: exact_decimal(member, precision, scale, name), source=column
    )
    if precision > SHORT_DIGITS:
        return exact
    return replace(exact, short=lambda member: short_decimal(member, precision, scale, name))


def _unconstrained(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn:
    """A NUMBER of any precision and scale, as `minercdc.lake.number` says."""
    spark_type = "STRING" if lake.minercdc_lake_number == "text" else lake.minercdc_lake_number.upper()
    if values.decimal_handling_mode == "string":
        return LakeColumn(column.name, "STRING", spark_type, _from_digits(_same, column, spark_type), source=column)

    def short_digits(member: str) -> str:
        return short_text(f"{member}.value", f"{member}.scale", column.name)

    value, short = (_from_digits(digits, column, spark_type) for digits in (_variable_scale, short_digits))
    return LakeColumn(column.name, "STRUCT<scale: INT, value: BINARY>", spark_type, value, source=column, short=short)


def _from_digits(digits: Expression, column: Column, spark_type: str) -> Expression:
    """SQL of the parsed member -> SQL of the typed value.

    :param digits: SQL of the parsed member -> SQL of its digits as text.
    """
    if spark_type == "STRING":
        return digits
    if spark_type == "DOUBLE":
        return lambda member: f"CAST({digits(member)} AS DOUBLE)"
    scale = int(spark_type.removesuffix(")").partition(",")[2])

    def value(member: str) -> str:
        text = digits(member)
        # a cast would round
        exact = f"try_cast(if({_lost(text, scale)}, NULL, {text}) AS {spark_type})"
        return or_refused(exact, member, column.name, f"{spark_type} (minercdc.lake.number)")

    return value


def _variable_scale(member: str) -> str:
    return plain_text(f"{member}.value", f"{member}.scale")


def _lost(text: str, scale: int) -> str:
    """SQL condition that plain decimal text has digits, other than zeros, beyond the scale."""
    return f"instr({text}, '.') > 0 AND length(rtrim('0', {text})) - instr({text}, '.') > {scale}"


# --- times


def _wall_clock(column: Column, values: ValueConfig) -> LakeColumn:
    """DATE and TIMESTAMP, in the unit of `time.precision.mode`."""
    digits = 0 if column.type_name == "DATE" else 6 if column.scale is None else column.scale
    spark_type = "STRING" if digits > 6 else "TIMESTAMP_NTZ"
    mode = values.time_precision_mode
    if mode == "isostring":
        value = _iso_text if digits > 6 else _moment(column, spark_type)
        return LakeColumn(column.name, "STRING", spark_type, value, source=column)
    unit = {"connect": 3, "microseconds": 6, "nanoseconds": 9}.get(mode, 3 if digits <= 3 else 6 if digits <= 6 else 9)
    if unit < 9:
        step = "0.001" if unit == 3 else "0.000001"
        return LakeColumn(column.name, "BIGINT", "TIMESTAMP_NTZ", lambda member: _after_epoch(member, step), source=column)
    return LakeColumn(column.name, "BIGINT", spark_type, _nanoseconds if digits > 6 else _whole_microseconds, source=column)


def _after_epoch(count: str, step: str) -> str:
    return f"{_EPOCH} + {count} * INTERVAL '{step}' SECOND"


def _floor(member: str, unit: int) -> str:
    return f"({member} DIV {unit} - if({member} % {unit} < 0, 1, 0))"


def _whole_microseconds(member: str) -> str:
    return _after_epoch(_floor(member, 1000), "0.000001")


def _nanoseconds(member: str) -> str:
    seconds = _after_epoch(_floor(member, 10**9), "1")
    return f"concat(CAST({seconds} AS STRING), '.', lpad(CAST(pmod({member}, 1000000000) AS STRING), 9, '0'))"


def _iso_text(member: str) -> str:
    """SQL of the text `2026-02-28 13:45:59.250000000` from SQL of `2026-02-28T13:45:59.25Z`."""
    plain = f"rtrim('Z', {member})"
    whole = f"translate(substring_index({plain}, '.', 1), 'T', ' ')"
    return f"concat({whole}, '.', rpad(if(instr({plain}, '.') > 0, substring_index({plain}, '.', -1), ''), 9, '0'))"


def _moment(column: Column, spark_type: str) -> Expression:
    """A function that makes SQL of a time from SQL of ISO 8601 text in UTC; another text makes the query fail. Oracle's
    calendar is the Julian one until 1582: 29 February 1500 is the day after the 28th, 1 March."""

    def value(member: str) -> str:
        day_before = f"try_cast(replace({member}, '-02-29T', '-02-28T') AS {spark_type}) + INTERVAL '24' HOUR"
        parsed = f"coalesce(try_cast({member} AS {spark_type}), {day_before})"
        return or_refused(parsed, member, column.name, spark_type)

    return value
