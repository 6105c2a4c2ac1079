"""TO_CHAR, TO_NUMBER, TO_DATE and the other explicit conversions."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import (
    DATE,
    DOUBLE,
    FLOAT,
    KIND,
    NUMBER,
    TEMPORAL,
    TEXT,
    TIMESTAMP,
    ZONED,
    Family,
    SqlType,
    varchar,
)


def to_char(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 3)
    if len(args) == 1:
        return Typed(
            x.to(args[0], Family.VARCHAR, expr.at), varchar(args[0].type.size if args[0].type.family in TEXT else 64)
        )
    model = x.to(args[1], Family.VARCHAR, expr.at)
    if args[0].type.family in TEMPORAL:
        return Typed(x.date_text(args[0], model), varchar(100))
    value = x.to(args[0], Family.NUMBER, expr.at)
    return Typed(f"o_num_char({value},{model},{numeric_characters(x)})", varchar(100))


def numeric_characters(x: Conditions) -> str:
    return "'" + x.env.nls.numeric_characters.replace("'", "''") + "'"


def to_number(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 3)
    if len(args) == 1:
        return Typed(x.to(args[0], Family.NUMBER, expr.at), NUMBER)
    text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
    return Typed(f"o_char_num({text},{model},{numeric_characters(x)})", NUMBER)


def to_time(family: Family, kind: SqlType) -> Rule:
    letter = KIND[family]

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 1, 3)
        if len(args) == 1:
            return Typed(x.to(args[0], family, expr.at), kind)
        text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
        return Typed(f"o_text_date({text},{model},'{letter}',{x.zone},{x.today})", kind)

    return rule


def to_binary(kind: SqlType) -> Rule:
    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 1, 3)
        operand = args[0]
        if len(args) > 1:
            text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
            operand = Typed(f"o_char_num({text},{model},{numeric_characters(x)})", NUMBER)
        return Typed(x.to(operand, kind.family, expr.at), kind)

    return rule


def to_nchar(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    found = to_char(x, expr, args)
    return replace(found, type=replace(found.type, national=True))


def rowid_to_char(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(x.to(args[0], Family.ROWID, expr.at), varchar(18))


PLAIN: dict[str, Plain] = {
    "RAWTOHEX": ("raw_hex", "R", 1, varchar()),
    "HEXTORAW": ("hex_raw", "T", 1, SqlType(Family.RAW, size=2000)),
    "UNISTR": ("unistr", "T", 1, SqlType(Family.VARCHAR, size=4000, national=True)),
    "ASCIISTR": ("asciistr", "T", 1, varchar()),
}


RULES: dict[str, Rule] = {
    "TO_CHAR": to_char,
    "TO_NUMBER": to_number,
    "TO_DATE": to_time(Family.DATE, DATE),
    "TO_TIMESTAMP": to_time(Family.TIMESTAMP, TIMESTAMP),
    "TO_TIMESTAMP_TZ": to_time(Family.ZONED, ZONED),
    "TO_BINARY_FLOAT": to_binary(FLOAT),
    "TO_BINARY_DOUBLE": to_binary(DOUBLE),
    "TO_NCHAR": to_nchar,
    "ROWIDTOCHAR": rowid_to_char,
    "CHARTOROWID": rowid_to_char,
}
