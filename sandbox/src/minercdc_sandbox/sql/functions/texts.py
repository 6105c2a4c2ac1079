"""Translations of functions on text, and of those that show a value's bytes."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.functions.lobs import as_clob
from minercdc_sandbox.sql.functions.rules import Plain, Rule, Translate
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import NUMBER, Family, SqlType, varchar


def concat(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """CONCAT(a, b): NULL counts as the empty text, the empty result is NULL. A CLOB among the arguments makes a new temporary
    CLOB, or NCLOB if the first argument is national; otherwise VARCHAR2(4000). Raises as `Conditions.to`."""
    parts = [f"coalesce({x.whole_text(arg, expr.at)},'')" for arg in args]
    joined = f"nullif({'||'.join(parts)},'')"
    if any(arg.type.family is Family.CLOB for arg in args):
        return as_clob(joined, args[0].type.national)
    return Typed(joined, varchar())


def charset_id(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NLS_CHARSET_ID(name), a NUMBER for the database's two character sets AL32UTF8 and AL16UTF16, in any case; NULL for any
    other name. Raises as `Conditions.to`."""
    name = x.to(args[0], Family.VARCHAR, expr.at)
    known = {"AL32UTF8": 873, "AL16UTF16": 2000}
    branches = " ".join(f"when '{text}' then x'{number.integer(code).hex()}'" for text, code in known.items())
    return Typed(f"case upper({name}) {branches} end", NUMBER)


_OF_ONE = ("UPPER", "LOWER", "INITCAP", "REVERSE", "COMPOSE", "DECOMPOSE")

PLAIN: dict[str, Plain] = {
    **{name: (name.lower(), "T", 1, varchar()) for name in _OF_ONE},
    **{f"NLS_{name}": (name.lower(), "T", 1, varchar()) for name in ("UPPER", "LOWER", "INITCAP")},
    **{name: (name.lower(), "TT", 1, varchar()) for name in ("TRIM", "LTRIM", "RTRIM")},
    **{name: (name.lower(), "TNT", 2, varchar()) for name in ("LPAD", "RPAD")},
    **dict.fromkeys(("SUBSTR", "SUBSTRC", "SUBSTR4"), ("substr", "TNN", 2, varchar())),
    **dict.fromkeys(("INSTR", "INSTRC", "INSTR4"), ("instr", "TTNN", 2, NUMBER)),
    **dict.fromkeys(("LENGTHC", "LENGTH4", "LENGTH2"), ("length", "T", 1, NUMBER)),
    "LENGTHB": ("lengthb", "T", 1, NUMBER),
    "SUBSTRB": ("substrb", "TNN", 2, varchar()),
    "INSTRB": ("instrb", "TT", 2, NUMBER),
    "REPLACE": ("replace", "TTT", 2, varchar()),
    "TRANSLATE": ("translate", "TTT", 3, varchar()),
    "SOUNDEX": ("soundex", "T", 1, varchar(4)),
    "REGEXP_SUBSTR": ("regexp_substr", "TTNNTN", 2, varchar()),
    "REGEXP_REPLACE": ("regexp_replace", "TTTNNT", 2, varchar()),
    "REGEXP_INSTR": ("regexp_instr", "TTNNNTN", 2, NUMBER),
    "REGEXP_COUNT": ("regexp_count", "TTNT", 2, NUMBER),
    "NCHR": ("nchr", "N", 1, SqlType(Family.VARCHAR, size=4, national=True)),
    "ASCII": ("ascii", "T", 1, NUMBER),
    "CHR": ("chr", "N", 1, varchar(4)),
}


def _dump(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DUMP(value [, format]), a VARCHAR2(4000) with the type code of Oracle's internal datatypes; the text 'NULL' for NULL.
    Raises ORA-03001 for a type without a code in `_CODES`, and as `Conditions.to`."""
    code = _CODES.get(args[0].type.family)
    if code is None:
        raise OraError(3001, f"unimplemented feature: DUMP of {args[0].type.family}", expr.at)
    model = f",{x.to(args[1], Family.NUMBER, expr.at)}" if len(args) > 1 else ""
    return Typed(f"coalesce(o_dump({args[0].sql},{code}{model}),'NULL')", varchar())


def _of_cell(function: str, result: SqlType) -> Translate:
    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        tail = f",{x.to(args[1], Family.VARCHAR, expr.at)}" if len(args) > 1 else ""
        return Typed(f"o_{function}({args[0].sql}{tail})", result)

    return translate


_CODES = {
    Family.VARCHAR: 1,
    Family.NUMBER: 2,
    Family.DATE: 12,
    Family.RAW: 23,
    Family.CHAR: 96,
    Family.FLOAT: 100,
    Family.DOUBLE: 101,
    Family.TIMESTAMP: 180,
    Family.ZONED: 181,
    Family.LOCAL: 231,
}

RULES: dict[str, Rule] = {
    "DUMP": (_dump, 1, 2),
    "VSIZE": (_of_cell("vsize", NUMBER), 1, 1),
    "STANDARD_HASH": (_of_cell("standard_hash", SqlType(Family.RAW, size=64)), 1, 2),
    "NLS_CHARSET_ID": (charset_id, 1, 1),
    "CONCAT": (concat, 2, 2),
}
