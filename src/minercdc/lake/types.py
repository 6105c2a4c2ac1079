"""Which Spark type an Oracle column gets, and how it is read from the JSON of an envelope.

| Oracle                      | in the topic (default modes)          | in Spark                                         |
|-----------------------------|---------------------------------------|--------------------------------------------------|
| NUMBER(p,0), p < 3/5/10/19  | int8/int16/int32/int64                | TINYINT/SMALLINT/INT/BIGINT                      |
| NUMBER(p,s)                 | Decimal: base64 of the unscaled value | DECIMAL(p,s); STRING beyond 38 digits            |
| NUMBER, FLOAT               | VariableScaleDecimal {scale, value}   | minercdc.lake.number: STRING, DECIMAL(38,s), DOUBLE |
| text, LOBs, XMLTYPE, JSON.. | string                                | STRING                                           |
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

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext

from minercdc.config.lake import LakeConfig
from minercdc.config.sections import ValueConfig
from minercdc.errors import ConfigError
from minercdc.lake.decimals import MAX_PRECISION, exact_decimal, or_refused, plain_text
from minercdc.lake.sql import literal
from minercdc.schema.name_adjustment import field_name
from minercdc.schema.table import Column

Expression = Callable[[str], str]  # SQL of the parsed member -> SQL

_TEXT = frozenset(
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

    :param json_type: Spark type of the member inside from_json.
    :param spark_type: type in the lake table.
    :param value: SQL of the parsed member -> SQL of the typed value; a member that does not fit is an error.
    :param unavailable: SQL of the parsed member -> boolean SQL: the member is `unavailable.value.placeholder`; false for null.
        None where values of the type have no placeholder.
    :param source: the column in Oracle; None when it is not known.
    :param member: its name in records (`field.name.adjustment.mode`).
    """

    name: str
    json_type: str
    spark_type: str
    value: Expression
    unavailable: Expression | None = None
    source: Column | None = None
    member: str = ""


def refuse_unsupported_modes(values: ValueConfig) -> None:
    """Raise ConfigError when these settings write topics in a form that the lake does not read."""
    if values.decimal_handling_mode == "double":
        raise ConfigError(["decimal.handling.mode: the lake reads precise or string topics only; double loses digits"])


def lake_column(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn | None:
    """The lake's column for a source column; None for a type that the lake leaves out (BFILE, objects and others)."""
    found = _lake_column(column, values, lake)
    return found and replace(found, member=field_name(values.field_name_adjustment_mode)(column.name))


def _lake_column(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn | None:
    kind, name = column.type_name, column.name
    if kind in _TEXT:
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
    """A member that is parsed as what it is."""
    return LakeColumn(column.name, spark_type, spark_type, _same, source=column)


def _checked(column: Column, spark_type: str) -> Expression:
    """A cast whose failure is an error, in ANSI mode or not."""
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
    return LakeColumn(
        name, "BINARY", spark_type, lambda member: exact_decimal(member, precision, scale, name), source=column
    )


def _unconstrained(column: Column, values: ValueConfig, lake: LakeConfig) -> LakeColumn:
    """A NUMBER of any precision and scale, as `minercdc.lake.number` says."""
    json_type, digits = "STRUCT<scale: INT, value: BINARY>", _variable_scale
    if values.decimal_handling_mode == "string":
        json_type, digits = "STRING", _same
    if lake.minercdc_lake_number == "text":
        return LakeColumn(column.name, json_type, "STRING", digits, source=column)
    spark_type = lake.minercdc_lake_number.upper()
    if spark_type == "DOUBLE":
        return LakeColumn(
            column.name, json_type, "DOUBLE", lambda member: f"CAST({digits(member)} AS DOUBLE)", source=column
        )
    scale = int(spark_type.removesuffix(")").partition(",")[2])

    def value(member: str) -> str:
        text = digits(member)
        # a cast would round
        exact = f"try_cast(if({_lost(text, scale)}, NULL, {text}) AS {spark_type})"
        return or_refused(exact, member, column.name, f"{spark_type} (minercdc.lake.number)")

    return LakeColumn(column.name, json_type, spark_type, value, source=column)


def _variable_scale(member: str) -> str:
    return plain_text(f"{member}.value", f"{member}.scale")


def _lost(text: str, scale: int) -> str:
    """Whether plain decimal text has digits, other than zeros, beyond the scale."""
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
    """`2026-02-28T13:45:59.25Z` as the text with nine digits that nanoseconds become."""
    plain = f"rtrim('Z', {member})"
    whole = f"translate(substring_index({plain}, '.', 1), 'T', ' ')"
    return f"concat({whole}, '.', rpad(if(instr({plain}, '.') > 0, substring_index({plain}, '.', -1), ''), 9, '0'))"


def _moment(column: Column, spark_type: str) -> Expression:
    """ISO 8601 text in UTC. Oracle's calendar is the Julian one until 1582: 29 February 1500 is the day after the 28th, 1 March."""

    def value(member: str) -> str:
        day_before = f"try_cast(replace({member}, '-02-29T', '-02-28T') AS {spark_type}) + INTERVAL '24' HOUR"
        parsed = f"coalesce(try_cast({member} AS {spark_type}), {day_before})"
        return or_refused(parsed, member, column.name, spark_type)

    return value


# --- ADD .. DEFAULT

_NUMERIC_LITERAL = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)[fFdD]?", re.ASCII)
_TEXT_LITERAL = re.compile(r"[nN]?'((?:[^']|'')*)'", re.DOTALL)
_QUOTED_LITERAL = re.compile(r"[nN]?[qQ]'(?:\[(.*)\]|\{(.*)\}|\((.*)\)|<(.*)>|([^\s\[{(<'])(.*)\5)'", re.DOTALL)
_TIME_LITERAL = re.compile(
    r"(?:DATE\s*'(\d{4}-\d\d-\d\d)'|TIMESTAMP\s*'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{0,9}))?')",
    re.IGNORECASE | re.ASCII,
)


def fill_of(column: LakeColumn, default: str) -> str | None:
    """Spark SQL for an Oracle DEFAULT; None when it is no literal (SYSDATE: Oracle evaluated it at the DDL, and redo does not hold the value)."""
    text = default.strip()
    if text.upper() == "NULL":
        return f"CAST(NULL AS {column.spark_type})"
    if column.spark_type == "BOOLEAN":
        return text.upper() if text.upper() in ("TRUE", "FALSE") else None
    if number := _NUMERIC_LITERAL.fullmatch(text):
        return _number_fill(column, number[1])
    if time := _TIME_LITERAL.fullmatch(text):
        return _time_fill(column, time[1] or time[2], time[3] or "")
    if (content := _text_of(text)) is None:
        return None
    if column.source is None or column.source.type_name in _TEXT:
        return _text_fill(column, content) if column.spark_type == "STRING" else None
    if column.spark_type == "BINARY" and re.fullmatch(r"([0-9A-Fa-f]{2})*", content):
        return f"X'{content}'" if content else "CAST(NULL AS BINARY)"
    number = _NUMERIC_LITERAL.fullmatch(content.strip())
    return _number_fill(column, number[1]) if number else None


def _text_of(literal_: str) -> str | None:
    if found := _TEXT_LITERAL.fullmatch(literal_):
        return found[1].replace("''", "'")
    if found := _QUOTED_LITERAL.fullmatch(literal_):
        return next(part for part in (*found.groups()[:4], found[6]) if part is not None)
    return None


def _text_fill(column: LakeColumn, content: str) -> str:
    source = column.source
    if source and source.type_name in ("CHAR", "NCHAR"):
        content = content.ljust(source.length or 0) if content else ""
    lob = source is not None and source.type_name in ("CLOB", "NCLOB")
    return literal(content) if content or lob else "CAST(NULL AS STRING)"  # the empty text is null


def _number_fill(column: LakeColumn, text: str) -> str | None:
    """A number as Oracle converts it to the column's type: rounded half up to its scale."""
    value, kind = Decimal(text), column.spark_type
    if kind in ("FLOAT", "DOUBLE"):
        return f"CAST('{text}' AS {kind})"
    if kind == "STRING":
        if column.source is not None and column.source.type_name in ("NUMBER", "FLOAT"):
            return literal(_digits(value, max(column.source.scale or 0, 0)))
        return (
            _text_fill(column, _digits(value, 0)) if value == value.to_integral_value() and value.adjusted() < 38 else None
        )
    if kind.startswith("DECIMAL") or kind in _INTEGER_DIGITS:
        scale = _decimal(kind)[1] if kind.startswith("DECIMAL") else 0
        with localcontext(prec=200):
            rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        return f"CAST('{rounded:f}' AS {kind})"
    return None


def _digits(value: Decimal, places: int) -> str:
    """Plain digits, at least `places` of them after the point."""
    whole, _, fraction = f"{value:f}".lstrip("+").partition(".")
    fraction = fraction.rstrip("0").ljust(places, "0")
    return f"{whole}.{fraction}" if fraction else "0" if whole == "-0" else whole


def _time_fill(column: LakeColumn, moment: str, fraction: str) -> str | None:
    source = column.source
    digits = 0 if source is None or source.type_name == "DATE" else 6 if source.scale is None else source.scale
    if len(fraction.rstrip("0")) > digits or (source is not None and source.type_name not in ("DATE", "TIMESTAMP")):
        return None  # of another zone, or rounded by Oracle
    if column.spark_type == "STRING":
        return literal(f"{moment if len(moment) > 10 else moment + ' 00:00:00'}.{fraction:0<9}")
    if column.spark_type != "TIMESTAMP_NTZ":
        return None
    return f"TIMESTAMP_NTZ'{moment}.{fraction}'" if fraction else f"TIMESTAMP_NTZ'{moment}'"


# --- widening

_INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_RANKS = tuple(_INTEGER_DIGITS)
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def widened(old: str, new: str) -> str | None:
    """The Spark type to which Delta's type widening can change a column of type `old` so that values of type `new` fit, too.

    `old` itself when they fit already; None when there is no such type.
    """
    old, new = old.upper().replace(" ", ""), new.upper().replace(" ", "")
    if old == new:
        return old
    if old in _RANKS and new in _RANKS:
        return max(old, new, key=_RANKS.index)
    if _is_exact(old) and _is_exact(new):
        return _wider_decimal(old, new)
    if {old, new} == {"DATE", "TIMESTAMP_NTZ"}:
        return "TIMESTAMP_NTZ"
    numbers = {*_RANKS[:3], "FLOAT", "DOUBLE"}  # a DOUBLE does not hold every BIGINT or DECIMAL
    if {old, new} <= numbers and {old, new} & {"FLOAT", "DOUBLE"}:
        return "FLOAT" if old == "FLOAT" and new in _RANKS[:2] else "DOUBLE"
    return None


def _is_exact(kind: str) -> bool:
    return kind in _INTEGER_DIGITS or kind.startswith("DECIMAL")


def _decimal(kind: str) -> tuple[int, int]:
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        raise ValueError(f"{kind} is no DECIMAL with precision and scale")
    return int(found[1]), int(found[2])


def _wider_decimal(old: str, new: str) -> str | None:
    whole = scale = 0
    for kind in (old, new):
        precision, places = (_INTEGER_DIGITS[kind], 0) if kind in _INTEGER_DIGITS else _decimal(kind)
        whole, scale = max(whole, precision - places), max(scale, places)
    if old in _INTEGER_DIGITS:  # Delta counts 10 digits of every integer but BIGINT, and 20 of that
        whole = max(whole, 20 if old == "BIGINT" else 10)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= MAX_PRECISION else None
