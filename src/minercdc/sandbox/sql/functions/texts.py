"""Functions on text."""

from __future__ import annotations

from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.functions.arguments import count_arguments
from minercdc.sandbox.sql.functions.lobs import as_clob
from minercdc.sandbox.sql.functions.rules import Plain, Rule
from minercdc.sandbox.sql.scope import Typed
from minercdc.sandbox.sql.translate.conditions import Conditions
from minercdc.sandbox.sql.types import (
    NUMBER,
    Family,
    varchar,
)


def concat(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 2, 2)
    parts = [f"coalesce({x.whole_text(arg, expr.at)},'')" for arg in args]
    joined = f"nullif({'||'.join(parts)},'')"
    if any(arg.type.family is Family.CLOB for arg in args):
        return as_clob(joined, args[0].type.national)
    return Typed(joined, varchar())


def charset_id(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NLS_CHARSET_ID of the two character sets the database has; NULL for others, as Oracle for unknown names."""
    count_arguments(expr, args, 1, 1)
    name = x.to(args[0], Family.VARCHAR, expr.at)
    known = {"AL32UTF8": 873, "AL16UTF16": 2000}
    branches = " ".join(f"when '{text}' then x'{number.integer(code).hex()}'" for text, code in known.items())
    return Typed(f"case upper({name}) {branches} end", NUMBER)


PLAIN: dict[str, Plain] = {
    "UPPER": ("upper", "T", 1, varchar()),
    "LOWER": ("lower", "T", 1, varchar()),
    "INITCAP": ("initcap", "T", 1, varchar()),
    "SUBSTR": ("substr", "TNN", 2, varchar()),
    "INSTR": ("instr", "TTNN", 2, NUMBER),
    "LENGTHB": ("lengthb", "T", 1, NUMBER),
    "TRIM": ("trim", "TT", 1, varchar()),
    "LTRIM": ("ltrim", "TT", 1, varchar()),
    "RTRIM": ("rtrim", "TT", 1, varchar()),
    "LPAD": ("lpad", "TNT", 2, varchar()),
    "RPAD": ("rpad", "TNT", 2, varchar()),
    "REPLACE": ("replace", "TTT", 2, varchar()),
    "TRANSLATE": ("translate", "TTT", 3, varchar()),
    "REGEXP_SUBSTR": ("regexp_substr", "TT", 2, varchar()),
    "REGEXP_REPLACE": ("regexp_replace", "TTT", 2, varchar()),
    "ASCII": ("ascii", "T", 1, NUMBER),
    "CHR": ("chr", "N", 1, varchar(4)),
}


RULES: dict[str, Rule] = {
    "NLS_CHARSET_ID": charset_id,
    "CONCAT": concat,
}
