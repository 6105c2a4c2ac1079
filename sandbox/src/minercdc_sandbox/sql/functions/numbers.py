"""Translations of functions on numbers; ROUND and TRUNC also of dates."""

from __future__ import annotations

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import BINARY_SIZES, DATE, NUMBER, TEMPORAL, Family


def round_value(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """ROUND and TRUNC (value [, places or format]): a NUMBER, BINARY_FLOAT or BINARY_DOUBLE keeps its type; a date or timestamp
    becomes a DATE; other values are converted to NUMBER. Raises as `Conditions.to`."""
    if args[0].type.family in TEMPORAL:
        model = f",{x.to(args[1], Family.VARCHAR, expr.at)}" if len(args) > 1 else ""
        function = "trunc_date" if expr.name == "TRUNC" else "round_to" if model else "round_date"
        return Typed(f"o_{function}({x.wall(args[0])}{model})", DATE)
    places = x.to(args[1], Family.NUMBER, expr.at) if len(args) > 1 else "x'80'"
    if args[0].type.family in BINARY_SIZES:
        return Typed(f"o_float_{expr.name.lower()}({args[0].sql},{places})", args[0].type)
    return Typed(f"o_{expr.name.lower()}({x.to(args[0], Family.NUMBER, expr.at)},{places})", NUMBER)


_OF_ONE = [
    "ABS",
    "SIGN",
    "CEIL",
    "FLOOR",
    "SQRT",
    "EXP",
    "LN",
    "SIN",
    "COS",
    "TAN",
    "ASIN",
    "ACOS",
    "ATAN",
    "SINH",
    "COSH",
    "TANH",
]
_OF_TWO = ["POWER", "MOD", "REMAINDER", "BITAND", "LOG", "ATAN2"]

PLAIN: dict[str, Plain] = {
    **{name: (name.lower(), "N", 1, NUMBER) for name in _OF_ONE},
    **{name: (name.lower(), "NN", 2, NUMBER) for name in _OF_TWO},
    "BIN_TO_NUM": ("bits_of", "N" * 30, 1, NUMBER),
    "WIDTH_BUCKET": ("width_bucket", "NNNN", 4, NUMBER),
}


RULES: dict[str, Rule] = {"ROUND": (round_value, 1, 2), "TRUNC": (round_value, 1, 2)}
