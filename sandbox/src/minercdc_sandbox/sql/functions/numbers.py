"""Functions on numbers."""

from __future__ import annotations

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import BINARY_SIZES, DATE, NUMBER, TEMPORAL, Family


def round_value(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 2)
    trunc = expr.name == "TRUNC"
    if args[0].type.family in TEMPORAL:
        if trunc:
            model = x.to(args[1], Family.VARCHAR, expr.at) if len(args) > 1 else "'DD'"
            return Typed(f"o_trunc_date({x.wall(args[0])},{model})", DATE)
        if len(args) > 1:
            model = x.to(args[1], Family.VARCHAR, expr.at)
            return Typed(f"o_round_to({x.wall(args[0])},{model})", DATE)
        return Typed(f"o_round_date({x.wall(args[0])})", DATE)
    places = x.to(args[1], Family.NUMBER, expr.at) if len(args) > 1 else "x'80'"
    if args[0].type.family in BINARY_SIZES:
        return Typed(f"o_float_{expr.name.lower()}({args[0].sql},{places})", args[0].type)
    return Typed(f"o_{expr.name.lower()}({x.to(args[0], Family.NUMBER, expr.at)},{places})", NUMBER)


_ANGLES = ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH")

PLAIN: dict[str, Plain] = {
    "ABS": ("abs", "N", 1, NUMBER),
    "SIGN": ("sign", "N", 1, NUMBER),
    "CEIL": ("ceil", "N", 1, NUMBER),
    "FLOOR": ("floor", "N", 1, NUMBER),
    "SQRT": ("sqrt", "N", 1, NUMBER),
    "POWER": ("power", "NN", 2, NUMBER),
    "MOD": ("mod", "NN", 2, NUMBER),
    "REMAINDER": ("remainder", "NN", 2, NUMBER),
    "BITAND": ("bitand", "NN", 2, NUMBER),
    "BIN_TO_NUM": ("bits_of", "N" * 30, 1, NUMBER),
    "WIDTH_BUCKET": ("width_bucket", "NNNN", 4, NUMBER),
    "EXP": ("exp", "N", 1, NUMBER),
    "LN": ("ln", "N", 1, NUMBER),
    "LOG": ("log", "NN", 2, NUMBER),
    **{name: (name.lower(), "N", 1, NUMBER) for name in _ANGLES},
    "ATAN2": ("atan2", "NN", 2, NUMBER),
}


RULES: dict[str, Rule] = {"ROUND": round_value, "TRUNC": round_value}
