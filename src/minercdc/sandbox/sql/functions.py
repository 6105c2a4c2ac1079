"""SQL functions: which argument types each takes, and the SQLite expression it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from minercdc.sandbox.interfaces import Cell, OraError
from minercdc.sandbox.sql import ast, binary, number, temporal
from minercdc.sandbox.sql.runtime import Run
from minercdc.sandbox.sql.scope import Scope, Typed
from minercdc.sandbox.sql.types import (
    BINARY_SIZES,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    INTERVALS,
    KIND,
    MONTHS,
    NULL,
    NUMBER,
    NUMERIC,
    TEMPORAL,
    TEXT,
    TIMESTAMP,
    ZONED,
    Family,
    SqlType,
    inconsistent,
    varchar,
)
from minercdc.sandbox.sql.zones import Zone

if TYPE_CHECKING:
    from minercdc.sandbox.sql.expressions import Expressions

Rule: TypeAlias = "Callable[[Expressions, ast.Call, list[Typed]], Typed]"

_FAMILY = {"N": Family.NUMBER, "T": Family.VARCHAR, "R": Family.RAW, "D": Family.DATE}

_PLAIN: dict[str, tuple[str, str, int, SqlType]] = {
    # Oracle name: (SQLite function, argument families, how many are required, result)
    "UPPER": ("upper", "T", 1, varchar()),
    "LOWER": ("lower", "T", 1, varchar()),
    "INITCAP": ("initcap", "T", 1, varchar()),
    "SUBSTR": ("substr", "TNN", 2, varchar()),
    "INSTR": ("instr", "TTNN", 2, NUMBER),
    "LENGTH": ("length", "T", 1, NUMBER),
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
    "ABS": ("abs", "N", 1, NUMBER),
    "SIGN": ("sign", "N", 1, NUMBER),
    "CEIL": ("ceil", "N", 1, NUMBER),
    "FLOOR": ("floor", "N", 1, NUMBER),
    "SQRT": ("sqrt", "N", 1, NUMBER),
    "POWER": ("power", "NN", 2, NUMBER),
    "MOD": ("mod", "NN", 2, NUMBER),
    "RAWTOHEX": ("raw_hex", "R", 1, varchar()),
    "HEXTORAW": ("hex_raw", "T", 1, SqlType(Family.RAW, size=2000)),
    "LAST_DAY": ("last_day", "D", 1, DATE),
    "ADD_MONTHS": ("add_months", "DN", 2, DATE),
    "MONTHS_BETWEEN": ("months_between", "DD", 2, NUMBER),
    "NUMTODSINTERVAL": ("interval", "NT", 2, INTERVAL),
    "NUMTOYMINTERVAL": ("month_interval", "NT", 2, MONTHS),
    "TO_DSINTERVAL": ("text_interval", "T", 1, INTERVAL),
    "TO_YMINTERVAL": ("text_months", "T", 1, MONTHS),
    "UNISTR": ("unistr", "T", 1, SqlType(Family.VARCHAR, size=4000, national=True)),
    "ASCIISTR": ("asciistr", "T", 1, varchar()),
}
_FLOATING = frozenset(["ABS", "SIGN", "CEIL", "FLOOR", "SQRT", "POWER", "MOD"])
"""Functions that stay in BINARY_FLOAT or BINARY_DOUBLE when an argument is one."""


def call(x: Expressions, expr: ast.Call, scope: Scope | None) -> Typed:
    """Translate a function call. Raises ORA-00904 for an unknown function, ORA-00909/00938 for the number of arguments."""
    name = expr.name.removeprefix("SYS.").removeprefix("STANDARD.")
    if name in AGGREGATES:
        if not x.aggregates_allowed:
            raise OraError(934, "group function is not allowed here", expr.at)
        x.aggregates_allowed = False
        try:
            return AGGREGATES[name](x, expr, [x.value(arg, scope) for arg in expr.args])
        finally:
            x.aggregates_allowed = True
    if expr.star or expr.distinct:
        raise OraError(
            30482 if expr.distinct else 936,
            "DISTINCT option not allowed for this function" if expr.distinct else "missing expression",
            expr.at,
        )
    if name == "EXTRACT":
        part = expr.args[0]
        assert isinstance(part, ast.Literal)
        return _extract(x, part.text, x.value(expr.args[1], scope), expr.at)
    args = [x.value(arg, scope) for arg in expr.args]
    if name in _PLAIN:
        return _plain(x, name, expr, args)
    if name in RULES:
        return RULES[name](x, expr, args)
    shown = ".".join(f'"{part}"' for part in expr.name.split("."))
    raise OraError(904, f"{shown}: invalid identifier", expr.at)


_TIME_FIELDS = {
    Family.DATE: frozenset(["YEAR", "MONTH", "DAY"]),
    Family.INTERVAL: frozenset(["DAY", "HOUR", "MINUTE", "SECOND"]),
    Family.MONTHS: frozenset(["YEAR", "MONTH"]),
}
_ALL_FIELDS = frozenset(["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"])
_ZONE_FIELDS = frozenset(["TIMEZONE_HOUR", "TIMEZONE_MINUTE", "TIMEZONE_REGION"])


def _extract(x: Expressions, part: str, operand: Typed, at: int) -> Typed:
    """EXTRACT(part FROM operand). Raises ORA-30076 for a part the operand has not."""
    family = operand.type.family
    fields = _TIME_FIELDS.get(family, _ALL_FIELDS if family in TEMPORAL else frozenset())
    if part not in fields and not (family is Family.ZONED and part in _ZONE_FIELDS):
        raise OraError(30076, "invalid extract field for extract source", at)
    if part == "TIMEZONE_REGION":
        return Typed(f"o_zone_name({operand.sql})", varchar(64))
    if family in INTERVALS:
        return Typed(f"o_extract_interval('{part}',{operand.sql})", NUMBER)
    return Typed(f"o_extract('{part}',{x.wall(operand)})", NUMBER)


def _plain(x: Expressions, name: str, expr: ast.Call, args: list[Typed]) -> Typed:
    function, families, required, result = _PLAIN[name]
    _count(expr, args, required, len(families))
    if name in _FLOATING and any(arg.type.family in BINARY_SIZES for arg in args):
        kind = x.numeric(*args)
        operands = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
        return Typed(f"o_float_{function}({operands})", NUMBER if name == "SIGN" else kind)
    if result.family in TEXT and args[0].type.national:
        result = replace(result, national=True)
    sql = ",".join(x.to(arg, _FAMILY[kind], expr.at) for arg, kind in zip(args, families, strict=False))
    return Typed(f"o_{function}({sql})", result)


def _count(expr: ast.Call, args: Sequence[Typed], low: int, high: int | None = None) -> None:
    if len(args) < low:
        raise OraError(
            938 if low > 1 else 909,
            "not enough arguments for function" if low > 1 else "invalid number of arguments",
            expr.at,
        )
    if high is not None and len(args) > high:
        raise OraError(939, "too many arguments for function", expr.at)


def common_type(args: Sequence[Typed], at: int) -> SqlType:
    """Type of CASE, COALESCE and set operations. Raises ORA-00932."""
    known = [arg.type for arg in args if arg.type.family is not Family.NULL]
    if not known:
        return NULL
    families = {kind.family for kind in known}
    if len(set(known)) == 1:
        return known[0]
    if families <= TEXT:
        national = any(kind.national for kind in known)
        return replace(varchar(max(kind.size for kind in known)), national=national)
    if families <= NUMERIC:
        return DOUBLE if Family.DOUBLE in families else FLOAT if Family.FLOAT in families else NUMBER
    if len(families) == 1 and families <= INTERVALS:
        family = known[0].family
        return SqlType(family, max(kind.precision for kind in known), max(kind.scale for kind in known))
    if families <= TEMPORAL:
        if families & {Family.ZONED, Family.LOCAL}:
            return ZONED
        return TIMESTAMP if Family.TIMESTAMP in families else DATE
    if families <= {Family.RAW}:
        return SqlType(Family.RAW, size=max(kind.size for kind in known))
    if families <= {Family.ROWID, *TEXT}:
        return varchar(4000)
    raise inconsistent(known[0].family, next(k.family for k in known if k.family is not known[0].family), at)


def _first_type(args: Sequence[Typed], at: int) -> SqlType:
    """Type of NVL, COALESCE, GREATEST: the first argument's, others are converted to it."""
    first = next((arg.type for arg in args if arg.type.family is not Family.NULL), NULL)
    if first.family in TEXT:
        size = max([arg.type.size for arg in args if arg.type.family in TEXT] or [4000])
        return replace(varchar(size), national=first.national)
    if first.family in NUMERIC:
        families = {arg.type.family for arg in args}
        return DOUBLE if Family.DOUBLE in families else FLOAT if Family.FLOAT in families else NUMBER
    return first


def _coalesce(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 2, 2 if expr.name == "NVL" else None)
    kind = _first_type(args, expr.at)
    sql = ",".join(x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(f"coalesce({sql})", kind, all(arg.nullable for arg in args))


def _nvl2(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 3, 3)
    kind = _first_type(args[1:], expr.at)
    yes, no = (x.to(arg, kind.family, expr.at) for arg in args[1:])
    return Typed(f"case when {args[0].sql} is not null then {yes} else {no} end", kind)


def _nullif(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 2, 2)
    return Typed(f"case when {x.compare('=', args[0], args[1], expr.at)} then null else {args[0].sql} end", args[0].type)


def _decode(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DECODE compares NULL equal to NULL, in the type of the first search value."""
    _count(expr, args, 3)
    subject, rest = args[0], args[1:]
    pairs = [(rest[n], rest[n + 1]) for n in range(0, len(rest) - 1, 2)]
    otherwise = rest[-1] if len(rest) % 2 else None
    results = [result for _, result in pairs] + ([otherwise] if otherwise else [])
    kind = _first_type(results, expr.at)
    out = []
    for search, result in pairs:
        a, b = x.aligned(subject, Typed(search.sql, search.type, search.nullable), expr.at)
        out.append(f"when {a} is {b} then {x.to(result, kind.family, expr.at)}")
    last = f" else {x.to(otherwise, kind.family, expr.at)}" if otherwise else ""
    return Typed(f"case {' '.join(out)}{last} end", kind)


def _extreme(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    """GREATEST and LEAST; SQLite's max and min of several values are NULL when one is, as Oracle's."""
    _count(expr, args, 1)
    kind = _first_type(args, expr.at)
    items = [x.to(arg, kind.family, expr.at) for arg in args]
    if len(items) == 1:
        return Typed(items[0], kind)
    return Typed(f"{'max' if expr.name == 'GREATEST' else 'min'}({','.join(items)})", kind)


def _round(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 2)
    trunc = expr.name == "TRUNC"
    if args[0].type.family in TEMPORAL:
        if trunc:
            model = x.to(args[1], Family.VARCHAR, expr.at) if len(args) > 1 else "'DD'"
            return Typed(f"o_trunc_date({x.wall(args[0])},{model})", DATE)
        if len(args) > 1:
            raise OraError(3001, "unimplemented feature: ROUND of a date with a format", expr.at)
        return Typed(f"o_round_date({x.wall(args[0])})", DATE)
    places = x.to(args[1], Family.NUMBER, expr.at) if len(args) > 1 else "x'80'"
    if args[0].type.family in BINARY_SIZES:
        return Typed(f"o_float_{expr.name.lower()}({args[0].sql},{places})", args[0].type)
    return Typed(f"o_{expr.name.lower()}({x.to(args[0], Family.NUMBER, expr.at)},{places})", NUMBER)


def _to_char(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 3)
    if len(args) == 1:
        return Typed(
            x.to(args[0], Family.VARCHAR, expr.at), varchar(args[0].type.size if args[0].type.family in TEXT else 64)
        )
    model = x.to(args[1], Family.VARCHAR, expr.at)
    if args[0].type.family in TEMPORAL:
        return Typed(x.date_text(args[0], model), varchar(100))
    value = x.to(args[0], Family.NUMBER, expr.at)
    return Typed(f"o_num_char({value},{model},{_characters(x)})", varchar(100))


def _characters(x: Expressions) -> str:
    return "'" + x.env.nls.numeric_characters.replace("'", "''") + "'"


def _to_number(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 3)
    if len(args) == 1:
        return Typed(x.to(args[0], Family.NUMBER, expr.at), NUMBER)
    text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
    return Typed(f"o_char_num({text},{model},{_characters(x)})", NUMBER)


def _to_time(family: Family, kind: SqlType) -> Rule:
    letter = KIND[family]

    def rule(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
        _count(expr, args, 1, 3)
        if len(args) == 1:
            return Typed(x.to(args[0], family, expr.at), kind)
        text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
        return Typed(f"o_text_date({text},{model},'{letter}',{x.zone},{x.today})", kind)

    return rule


def _to_binary(kind: SqlType) -> Rule:
    def rule(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
        _count(expr, args, 1, 3)
        operand = args[0]
        if len(args) > 1:
            text, model = (x.to(arg, Family.VARCHAR, expr.at) for arg in args[:2])
            operand = Typed(f"o_char_num({text},{model},{_characters(x)})", NUMBER)
        return Typed(x.to(operand, kind.family, expr.at), kind)

    return rule


def _nanvl(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    """The second value when the first is NaN."""
    _count(expr, args, 2, 2)
    kind = x.numeric(*args)
    first, second = (x.to(arg, kind.family, expr.at) for arg in args)
    return Typed(first if kind is NUMBER else f"case when o_is_nan({first}) then {second} else {first} end", kind)


def _to_nchar(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    found = _to_char(x, expr, args)
    return replace(found, type=replace(found.type, national=True))


def _from_tz(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    """A TIMESTAMP on the wall of a zone."""
    _count(expr, args, 2, 2)
    if args[0].type.family is not Family.TIMESTAMP:
        raise inconsistent(Family.TIMESTAMP, args[0].type.family, expr.at)
    zone = x.to(args[1], Family.VARCHAR, expr.at)
    return Typed(f"o_retime({args[0].sql},'T','Z',{zone})", replace(ZONED, scale=args[0].type.scale))


def _sys_extract_utc(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    return Typed(
        f"o_zone_key({x.to(args[0], Family.ZONED, expr.at)},'+00:00')", replace(TIMESTAMP, scale=args[0].type.scale)
    )


def _tz_offset(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    now = x.parameter("SYS_EXTRACT_UTC", lambda run: _moment(run, TIMESTAMP, 0))
    return Typed(f"o_zone_offset({x.to(args[0], Family.VARCHAR, expr.at)},{now})", varchar(7))


def _sys_context(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 2, 3)
    space, name = args[0].literal, args[1].literal
    if space is None or name is None:
        raise OraError(3001, "unimplemented feature: SYS_CONTEXT with names that are not literals", expr.at)
    if space.upper() != "USERENV":
        return Typed("null", varchar(256))
    key = name.upper()
    sql = x.parameter(("userenv", key), lambda run: run.session.userenv(key))
    return Typed(sql, varchar(256))


def _scn_to_timestamp(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    return Typed(f"o_scn_time({x.to(args[0], Family.NUMBER, expr.at)})", TIMESTAMP)


def _timestamp_to_scn(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    return Typed(f"o_time_scn({x.to(args[0], Family.TIMESTAMP, expr.at)})", NUMBER)


def _concat(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 2, 2)
    parts = [f"coalesce({x.to(arg, Family.VARCHAR, expr.at)},'')" for arg in args]
    return Typed(f"nullif({'||'.join(parts)},'')", varchar())


def _rowid_to_char(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    return Typed(x.to(args[0], Family.ROWID, expr.at), varchar(18))


def _charset_id(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    """NLS_CHARSET_ID of the two character sets the database has; NULL for others, as Oracle for unknown names."""
    _count(expr, args, 1, 1)
    name = x.to(args[0], Family.VARCHAR, expr.at)
    known = {"AL32UTF8": 873, "AL16UTF16": 2000}
    branches = " ".join(f"when '{text}' then x'{number.integer(code).hex()}'" for text, code in known.items())
    return Typed(f"case upper({name}) {branches} end", NUMBER)


RULES: dict[str, Rule] = {
    "NLS_CHARSET_ID": _charset_id,
    "NVL": _coalesce,
    "COALESCE": _coalesce,
    "NVL2": _nvl2,
    "NULLIF": _nullif,
    "DECODE": _decode,
    "GREATEST": _extreme,
    "LEAST": _extreme,
    "ROUND": _round,
    "TRUNC": _round,
    "TO_CHAR": _to_char,
    "TO_NUMBER": _to_number,
    "TO_DATE": _to_time(Family.DATE, DATE),
    "TO_TIMESTAMP": _to_time(Family.TIMESTAMP, TIMESTAMP),
    "TO_TIMESTAMP_TZ": _to_time(Family.ZONED, ZONED),
    "FROM_TZ": _from_tz,
    "SYS_EXTRACT_UTC": _sys_extract_utc,
    "TZ_OFFSET": _tz_offset,
    "TO_BINARY_FLOAT": _to_binary(FLOAT),
    "TO_BINARY_DOUBLE": _to_binary(DOUBLE),
    "NANVL": _nanvl,
    "TO_NCHAR": _to_nchar,
    "SYS_CONTEXT": _sys_context,
    "SCN_TO_TIMESTAMP": _scn_to_timestamp,
    "TIMESTAMP_TO_SCN": _timestamp_to_scn,
    "CONCAT": _concat,
    "ROWIDTOCHAR": _rowid_to_char,
    "CHARTOROWID": _rowid_to_char,
}


# ---- aggregates ----


def _aggregate_count(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    if expr.star:
        return Typed("o_int(count(*))", NUMBER, False)
    _count(expr, args, 1, 1)
    distinct = "distinct " if expr.distinct else ""
    return Typed(f"o_int(count({distinct}{x.comparable(args[0])}))", NUMBER, False)


def _aggregate_sum(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    distinct = "distinct " if expr.distinct else ""
    if args[0].type.family in BINARY_SIZES:
        kind = args[0].type
        total = f"o_float_{expr.name.lower()}({distinct}{x.to(args[0], Family.DOUBLE, expr.at)})"
        return Typed(x.to(Typed(total, DOUBLE), kind.family, expr.at), kind)
    return Typed(f"o_{expr.name.lower()}({distinct}{x.to(args[0], Family.NUMBER, expr.at)})", NUMBER)


def _aggregate_extreme(x: Expressions, expr: ast.Call, args: list[Typed]) -> Typed:
    _count(expr, args, 1, 1)
    return Typed(f"{expr.name.lower()}({args[0].sql})", args[0].type)


AGGREGATES: dict[str, Rule] = {
    "COUNT": _aggregate_count,
    "SUM": _aggregate_sum,
    "AVG": _aggregate_sum,
    "MIN": _aggregate_extreme,
    "MAX": _aggregate_extreme,
}


def regexp_like(x: Expressions, expr: ast.Call, scope: Scope | None) -> str:
    """REGEXP_LIKE, a condition."""
    args = [x.value(arg, scope) for arg in expr.args]
    _count(expr, args, 2, 3)
    return f"o_regexp_like({','.join(x.to(arg, Family.VARCHAR, expr.at) for arg in args)})"


# ---- functions without arguments ----


def niladic(x: Expressions, name: str) -> Typed | None:
    """SYSDATE, USER, ..; None when there is no such word."""
    if name in _BINARY_CONSTANTS:
        kind = DOUBLE if "DOUBLE" in name else FLOAT
        cell = binary.encode(float(_BINARY_CONSTANTS[name]), BINARY_SIZES[kind.family])
        return Typed(f"x'{cell.hex()}'", kind, False)
    if name == "SYSDATE":
        return Typed(x.parameter(name, lambda run: _moment(run, DATE, 0)), DATE, False)
    if name == "SYSTIMESTAMP":
        return Typed(x.parameter(name, lambda run: _moment(run, ZONED, 0)), ZONED, False)
    zone = x.env.nls.zone
    if name == "CURRENT_DATE":
        return Typed(x.parameter(name, lambda run: _moment(run, DATE, zone)), DATE, False)
    if name == "CURRENT_TIMESTAMP":
        return Typed(x.parameter(name, lambda run: _moment(run, ZONED, zone)), ZONED, False)
    if name == "LOCALTIMESTAMP":
        return Typed(x.parameter(name, lambda run: _moment(run, TIMESTAMP, zone)), SqlType(Family.TIMESTAMP, scale=6), False)
    if name == "USER":
        return Typed(x.parameter(name, lambda run: run.session.user), varchar(128), False)
    if name == "UID":
        return Typed(x.parameter(name, lambda run: number.integer(run.session.user_id())), NUMBER, False)
    if name == "SESSIONTIMEZONE":
        return Typed(x.parameter(name, lambda run: run.session.nls.time_zone), varchar(64), False)
    if name == "DBTIMEZONE":
        return Typed("'+00:00'", varchar(6), False)
    return None


_BINARY_CONSTANTS = {
    **dict.fromkeys(("BINARY_FLOAT_NAN", "BINARY_DOUBLE_NAN"), "nan"),
    **dict.fromkeys(("BINARY_FLOAT_INFINITY", "BINARY_DOUBLE_INFINITY"), "inf"),
}


def _moment(run: Run, kind: SqlType, zone: Zone) -> Cell:
    utc = temporal.from_ns(int(run.now * 1_000_000) * 1000)
    if kind.family is Family.ZONED:
        return temporal.encode_zoned(utc, zone)
    return temporal.encode(temporal.to_wall(utc, zone), fraction=kind.family is Family.TIMESTAMP)
