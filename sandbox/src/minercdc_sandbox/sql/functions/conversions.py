"""Translations of TO_CHAR, TO_NUMBER, TO_DATE and the other explicit conversions. Each raises as `Conditions.to`; its SQL raises
for a value that does not match the format."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.sql import ast, types
from minercdc_sandbox.sql.functions.rules import Plain, Rule, converted
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import quote
from minercdc_sandbox.sql.types import NUMBER, Family, SqlType, varchar


def to_char(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """TO_CHAR(value [, format [, parameters]]), a VARCHAR2: without a format the value is converted implicitly; the format is of
    a date, or else of a number, to which other values are converted; the parameters have no effect. Raises as `Conditions.to`."""
    if len(args) == 1:
        size = args[0].type.size if args[0].type.family in types.TEXT else 64
        return Typed(x.to(args[0], Family.VARCHAR, expr.at), varchar(size))
    model = x.to(args[1], Family.VARCHAR, expr.at)
    if args[0].type.family in types.TEMPORAL:
        return Typed(x.date_text(args[0], model), varchar(100))
    value = x.to(args[0], Family.NUMBER, expr.at)
    return Typed(f"o_num_char({value},{model},{quote(x.env.nls.numeric_characters)})", varchar(100))


def to_nchar(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """TO_NCHAR: as `to_char`, but of type NVARCHAR2."""
    found = to_char(x, expr, args)
    return replace(found, type=replace(found.type, national=True))


def to_time(kind: SqlType) -> Rule:
    """The rule of TO_DATE, TO_TIMESTAMP or TO_TIMESTAMP_TZ (value [, format [, parameters]]), which return `kind`: without a
    format the value is converted implicitly, else it is read as a text of that format; the parameters have no effect. Translating
    raises as `Conditions.to`."""

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        if len(args) == 1:
            return Typed(x.to(args[0], kind.family, expr.at), kind)
        text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
        return Typed(f"o_text_date({text},{model},'{types.KIND[kind.family]}',{x.zone},{x.today})", kind)

    return translate, 1, 3


def to_number(kind: SqlType) -> Rule:
    """The rule of TO_NUMBER, TO_BINARY_FLOAT or TO_BINARY_DOUBLE (value [, format [, parameters]]), which return `kind`: without
    a format the value is converted implicitly, else it is read as a text of that format; the parameters have no effect.
    Translating raises as `Conditions.to`."""

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        operand = args[0]
        if len(args) > 1:
            text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
            operand = Typed(f"o_char_num({text},{model},{quote(x.env.nls.numeric_characters)})", NUMBER)
        return Typed(x.to(operand, kind.family, expr.at), kind)

    return translate, 1, 3


PLAIN: dict[str, Plain] = {
    "RAWTOHEX": ("raw_hex", "R", 1, varchar()),
    "HEXTORAW": ("hex_raw", "T", 1, SqlType(Family.RAW, size=2000)),
    "UNISTR": ("unistr", "T", 1, SqlType(Family.VARCHAR, size=4000, national=True)),
    "ASCIISTR": ("asciistr", "T", 1, varchar()),
    "UTL_RAW.CAST_TO_RAW": ("cast_to_raw", "T", 1, SqlType(Family.RAW, size=32767)),
    "UTL_RAW.CAST_TO_VARCHAR2": ("cast_to_varchar2", "R", 1, varchar(32767)),
    "UTL_RAW.CAST_TO_NVARCHAR2": ("cast_to_nvarchar2", "R", 1, SqlType(Family.VARCHAR, size=32767, national=True)),
    "UTL_RAW.CAST_TO_NUMBER": ("cast_to_number", "R", 1, NUMBER),
}

RULES: dict[str, Rule] = {
    "TO_CHAR": (to_char, 1, 3),
    "TO_NUMBER": to_number(NUMBER),
    "TO_DATE": to_time(types.DATE),
    "TO_TIMESTAMP": to_time(types.TIMESTAMP),
    "TO_TIMESTAMP_TZ": to_time(types.ZONED),
    "TO_BINARY_FLOAT": to_number(types.FLOAT),
    "TO_BINARY_DOUBLE": to_number(types.DOUBLE),
    "TO_NCHAR": (to_nchar, 1, 3),
    "ROWIDTOCHAR": converted(types.ROWID, varchar(18)),
    "CHARTOROWID": converted(types.ROWID, varchar(18)),
}
