"""Typed translation of expressions to SQLite: every operand is brought to the type Oracle would compare or calculate in.

An operator or function without a rule for its operands' types raises an ORA- error; SQLite never gets to guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from minercdc.sandbox.catalog import Catalog, Column
from minercdc.sandbox.interfaces import BindType, Cell, OraError, View
from minercdc.sandbox.sql import ast, binary, formats, functions, intervals, number, temporal
from minercdc.sandbox.sql.nls import Nls
from minercdc.sandbox.sql.runtime import Parameter
from minercdc.sandbox.sql.scope import Scope, Typed
from minercdc.sandbox.sql.types import (
    BINARY_SIZES,
    DATE,
    DOUBLE,
    FLOAT,
    INSTANTS,
    INTERVAL,
    INTERVALS,
    KIND,
    MONTHS,
    NULL,
    NUMBER,
    NUMERIC,
    TEMPORAL,
    TEXT,
    ZONED,
    Family,
    SqlType,
    bind_type,
    column_type,
    declare,
    inconsistent,
    model_of,
    utf16_units,
    varchar,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Environment:
    """What a translation depends on, besides the text."""

    catalog: Catalog
    views: Mapping[str, View]
    container: int
    schema: str
    user: str
    nls: Nls


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def blob(cell: bytes) -> str:
    return f"x'{cell.hex()}'"


@dataclass(slots=True)
class Expressions:
    """Translates expressions of one statement and collects its parameters."""

    env: Environment
    bind_types: Sequence[BindType] = ()
    parameters: list[Parameter] = field(default_factory=list)
    _keys: dict[object, str] = field(default_factory=dict)
    subquery: Callable[[ast.Query, Scope | None], tuple[str, list[Typed]]] | None = None
    aggregates_allowed: bool = False

    # ---- parameters ----

    def parameter(self, key: object, value: Parameter) -> str:
        """`?n` for a value known when the statement runs; one number per key."""
        if key not in self._keys:
            self.parameters.append(value)
            self._keys[key] = f"?{len(self.parameters)}"
        return self._keys[key]

    @property
    def snapshot(self) -> str:
        return self.parameter("snapshot", lambda run: run.snapshot)

    @property
    def own(self) -> str:
        return self.parameter("own", lambda run: run.own)

    @property
    def today(self) -> str:
        return self.parameter("today", lambda run: date(*temporal.from_ns(int(run.now) * 10**9)[:3]).isoformat())

    # ---- expressions ----

    def value(self, expr: ast.Expr, scope: Scope | None) -> Typed:
        """A value. Raises ORA-00904, ORA-00932, .. with the position of the culprit."""
        if isinstance(expr, ast.Literal):
            return self._literal(expr)
        if isinstance(expr, ast.Bind):
            return self._bind(expr)
        if isinstance(expr, ast.Name):
            return self._name(expr, scope)
        if isinstance(expr, ast.Call):
            return functions.call(self, expr, scope)
        if isinstance(expr, ast.Binary):
            return self._binary(expr, scope)
        if isinstance(expr, ast.Unary):
            return self._negative(self.value(expr.operand, scope), expr.at)
        if isinstance(expr, ast.Case):
            return self._case(expr, scope)
        if isinstance(expr, ast.Cast):
            return self._cast(expr, scope)
        if isinstance(expr, ast.Scalar):
            return self._scalar(expr, scope)
        if isinstance(expr, ast.IntervalLiteral):
            cell = intervals.literal(expr.text, expr.first, expr.last, expr.lead, expr.digits)
            family = Family.INTERVAL if len(cell) == 11 else Family.MONTHS
            lead = expr.lead if expr.first in ("DAY", "YEAR") else 9
            return Typed(blob(cell), SqlType(family, lead, expr.digits if len(cell) == 11 else 0), False)
        if isinstance(expr, ast.AtZone):
            return self._at_zone(expr, scope)
        raise OraError(936, "missing expression: a condition is not a value", expr.at)

    def _literal(self, expr: ast.Literal) -> Typed:
        if expr.kind == "0":
            return Typed("null", NULL)
        if expr.kind == "N":
            if expr.text[-1] in "fFdD":
                single = expr.text[-1] in "fF"
                return Typed(blob(binary.parse(expr.text[:-1], 4 if single else 8)), FLOAT if single else DOUBLE, False)
            cell = number.parse(expr.text)
            return Typed(blob(cell), NUMBER, False)
        if expr.kind in "SU":
            national = expr.kind == "U"
            if not expr.text:
                return Typed("null", SqlType(Family.VARCHAR, size=1 + national, national=national))
            size = 2 * utf16_units(expr.text) if national else len(expr.text.encode())
            sql = quote(expr.text)
            if "\0" in expr.text:
                text = expr.text
                sql = self.parameter(("text", text), lambda run: text)
            return Typed(sql, SqlType(Family.CHAR, size=size, national=national), False, literal=expr.text)
        if expr.kind == "D":
            return Typed(blob(self._literal_moment(expr, "SYYYY-MM-DD", False)), DATE, False)
        if expr.kind == "T":
            return self._timestamp_literal(expr)
        raise OraError(936, "missing expression", expr.at)

    def _literal_moment(self, expr: ast.Literal, model: str, fraction: bool) -> bytes:
        moment, _ = formats.to_moment(expr.text, model, date(2000, 1, 1))
        return temporal.encode(moment, fraction=fraction)

    def _timestamp_literal(self, expr: ast.Literal) -> Typed:
        text = expr.text.strip()
        date_text, _, rest = text.partition(" ")
        zoned = any(c in rest for c in "+-") or any(c.isalpha() for c in rest)
        model = "SYYYY-MM-DD"
        if rest:
            model += " HH24:MI:SS" + (".FF" if "." in rest else "") + (" TZR" if zoned else "")
        moment, zone = formats.to_moment(text if rest else date_text, model, date(2000, 1, 1))
        if zone is None:
            return Typed(blob(temporal.encode(moment)), SqlType(Family.TIMESTAMP, scale=9), False)
        return Typed(blob(temporal.zoned(moment, zone)), SqlType(Family.ZONED, scale=9), False)

    def _negative(self, operand: Typed, at: int) -> Typed:
        family = operand.type.family
        if family in BINARY_SIZES:
            return Typed(f"o_float_neg({operand.sql})", operand.type, operand.nullable)
        if family in INTERVALS:
            return Typed(f"o_scale_interval({operand.sql},{blob(number.integer(-1))},0)", operand.type, operand.nullable)
        return Typed(f"o_neg({self.to(operand, Family.NUMBER, at)})", NUMBER)

    def _at_zone(self, expr: ast.AtZone, scope: Scope | None) -> Typed:
        operand = self.value(expr.operand, scope)
        if operand.type.family not in TEMPORAL:
            raise OraError(30084, "invalid data type for datetime primary with time zone modifier", expr.at)
        zone = self.zone
        if expr.zone is not None:
            given = self.value(expr.zone, scope)
            if given.type.family is Family.INTERVAL:
                raise OraError(3001, "unimplemented feature: AT TIME ZONE of an interval", expr.at)
            zone = self.to(given, Family.VARCHAR, expr.at)
        kind = SqlType(Family.ZONED, scale=operand.type.scale if operand.type.scale >= 0 else 0)
        return Typed(f"o_at_zone({self.to(operand, Family.ZONED, expr.at)},{zone})", kind, operand.nullable)

    def _bind(self, expr: ast.Bind) -> Typed:
        if expr.index >= len(self.bind_types):
            raise OraError(1008, "not all variables bound", expr.at)
        kind = bind_type(self.bind_types[expr.index])
        index = expr.index
        if kind.family in TEMPORAL:
            return Typed(self.parameter(("bind", index), lambda run: _canonical(run.binds[index])), kind)
        if kind.family in BINARY_SIZES:
            return Typed(self.parameter(("bind", index), lambda run: _canonical_float(run.binds[index])), kind)
        if kind.family is Family.NUMBER:
            return Typed(self.parameter(("bind", index), lambda run: _canonical_number(run.binds[index])), kind)
        return Typed(self.parameter(("bind", index), lambda run: run.binds[index] or None), kind)

    def _name(self, expr: ast.Name, scope: Scope | None) -> Typed:
        found = scope.resolve(expr) if scope is not None else None
        if found is not None:
            return found[0]
        if len(expr.parts) == 1 and not expr.quoted:
            if expr.parts[0] == "ROWNUM" and scope is not None and scope.rownum is not None:
                return Typed(scope.rownum, NUMBER, False)
            special = functions.niladic(self, expr.parts[0])
            if special is not None:
                return special
        if expr.parts[-1] in ("NEXTVAL", "CURRVAL") and len(expr.parts) > 1:
            raise OraError(2289, "sequence does not exist", expr.at)
        text = ".".join(f'"{part}"' for part in expr.parts)
        raise OraError(904, f"{text}: invalid identifier", expr.at)

    def _case(self, expr: ast.Case, scope: Scope | None) -> Typed:
        results = [self.value(result, scope) for _, result in expr.branches]
        if expr.otherwise is not None:
            results.append(self.value(expr.otherwise, scope))
        target = functions.common_type(results, expr.at)
        parts = []
        for (condition, _), result in zip(expr.branches, results, strict=False):
            if expr.operand is None:
                test = self.condition(condition, scope)
            else:
                test = self.compare("=", self.value(expr.operand, scope), self.value(condition, scope), expr.at)
            parts.append(f"when {test} then {self.to_type(result, target, expr.at)}")
        last = f" else {self.to_type(results[-1], target, expr.at)}" if expr.otherwise is not None else ""
        return Typed(f"case {' '.join(parts)}{last} end", target)

    def _cast(self, expr: ast.Cast, scope: Scope | None) -> Typed:
        """As storing into a column of that type; a text that is too long is cut."""
        operand = self.value(expr.operand, scope)
        name = expr.target.name
        if name in ("VARCHAR2", "VARCHAR", "CHAR", "NVARCHAR2", "NCHAR") and expr.target.numbers:
            size, national = expr.target.numbers[0] or 1, name.startswith("N")
            fixed = name.endswith("CHAR") and name != "VARCHAR"
            kind = SqlType(Family.CHAR if fixed else Family.VARCHAR, size=size * (1 + national), national=national)
            cut = f"o_substr({self.to(operand, Family.VARCHAR, expr.at)},{blob(number.integer(1))},{blob(number.integer(size))})"
            return Typed(f"o_rpad({cut},{blob(number.integer(size))})" if fixed else cut, kind)
        target = declare("CAST", expr.target)
        return self.fitted(operand, target, expr.at)

    def fitted(self, operand: Typed, column: Column, at: int) -> Typed:
        """CAST to a number or date type."""
        kind = column_type(column)
        sql = self.to(operand, kind.family, at)
        if kind.family is Family.NUMBER and kind.scale != -127:
            sql = f"o_round({sql},{blob(number.integer(kind.scale))})"
        elif kind.family is Family.DATE:
            sql = f"o_retime({sql},'T','D',{self.zone})"
        elif kind.family in TEMPORAL:
            sql = f"o_round_fraction({sql},{kind.scale})"
        elif kind.family is Family.INTERVAL:
            sql = f"o_fit_interval({sql},{kind.precision},{kind.scale})"
        elif kind.family is Family.MONTHS:
            sql = f"o_fit_months({sql},{kind.precision})"
        return Typed(sql, kind)

    def _scalar(self, expr: ast.Scalar, scope: Scope | None) -> Typed:
        assert self.subquery is not None
        sql, columns = self.subquery(expr.query, scope)
        if len(columns) != 1:
            raise OraError(913, "too many values", expr.at)
        return Typed(f"(select o_single(c0) from ({sql}))", columns[0].type)

    def _binary(self, expr: ast.Binary, scope: Scope | None) -> Typed:
        left, right = self.value(expr.left, scope), self.value(expr.right, scope)
        if expr.op == "||":
            national = left.type.national or right.type.national
            sizes = [side.type.size * (1 + (national and not side.type.national)) for side in (left, right)]
            size = sizes[0] + sizes[1] if all(sizes) else 4000
            parts = [f"coalesce({self.to(side, Family.VARCHAR, expr.at)},'')" for side in (left, right)]
            kind = replace(varchar(size), national=national)
            return Typed(f"nullif({parts[0]}||{parts[1]},'')", kind, left.nullable and right.nullable)
        families = {left.type.family, right.type.family}
        if families & TEMPORAL or families & INTERVALS:
            return self._time_arithmetic(expr, left, right)
        kind = self.numeric(left, right)
        name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[expr.op]
        name = name if kind is NUMBER else f"float_{name}"
        operands = [self.to(side, kind.family, expr.at) for side in (left, right)]
        return Typed(f"o_{name}({operands[0]},{operands[1]})", kind, left.nullable or right.nullable)

    def numeric(self, *operands: Typed) -> SqlType:
        """What numbers calculate and compare in: BINARY_DOUBLE before BINARY_FLOAT before NUMBER."""
        families = {operand.type.family for operand in operands}
        return DOUBLE if Family.DOUBLE in families else FLOAT if Family.FLOAT in families else NUMBER

    def _time_arithmetic(self, expr: ast.Binary, left: Typed, right: Typed) -> Typed:
        op = expr.op
        a, b = left.type.family, right.type.family
        if (op == "+" and b in TEMPORAL) or (op == "*" and b in INTERVALS):
            left, right, a, b = right, left, b, a
        found: Typed | None = None
        if a in TEMPORAL and op in "+-":
            found = self._time_and(left, right, op, expr.at)
        elif a in INTERVALS:
            found = self._interval_and(left, right, op, expr.at)
        if found is None:
            number_ = 30081 if INTERVALS & {a, b} else 975
            raise OraError(number_, "invalid data type for datetime/interval arithmetic", expr.at)
        return found

    def _time_and(self, left: Typed, right: Typed, op: str, at: int) -> Typed | None:
        """A date or timestamp and a number of days, an interval or (minus) another one."""
        a, b = left.type.family, right.type.family
        sign = 1 if op == "+" else -1
        if b in NUMERIC or b is Family.NULL or b in TEXT:
            days = self.to(right, Family.NUMBER, at)
            return Typed(f"o_days({self.wall(left)},{days if sign > 0 else f'o_neg({days})'})", DATE)
        if b is Family.INTERVAL:
            return Typed(f"o_shift({left.sql},{right.sql},{sign})", left.type)
        if b is Family.MONTHS:
            moved = f"o_shift_months({self.wall(left)},{right.sql},{sign})"
            if a is Family.LOCAL:
                moved = f"o_retime({moved},'T','L',{self.zone})"
            return Typed(moved, left.type)
        if b not in TEMPORAL or op != "-":
            return None
        if a is b is Family.DATE:
            return Typed(f"o_days_between({left.sql},{right.sql})", NUMBER)
        zoned = bool(INSTANTS & {a, b})
        keys = [self.instant(side) if zoned else side.sql for side in (left, right)]
        scale = max(left.type.scale, right.type.scale, 0)
        return Typed(f"o_interval_between({keys[0]},{keys[1]})", SqlType(Family.INTERVAL, 9, scale))

    def _interval_and(self, left: Typed, right: Typed, op: str, at: int) -> Typed | None:
        a, b = left.type.family, right.type.family
        kind = INTERVAL if a is Family.INTERVAL else MONTHS
        if op in "+-" and b is a:
            return Typed(f"o_combine_intervals({left.sql},{right.sql},{1 if op == '+' else -1})", kind)
        if op in "*/" and (b in NUMERIC or b in TEXT or b is Family.NULL):
            factor = self.to(right, Family.NUMBER, at)
            return Typed(f"o_scale_interval({left.sql},{factor},{int(op == '/')})", kind)
        return None

    # ---- conversions ----

    def to(self, typed: Typed, family: Family, at: int) -> str:
        """SQL of the value in another family, by Oracle's implicit conversions. Raises ORA-00932."""
        have = typed.type.family
        if have is family or have is Family.NULL or (have in TEXT and family in TEXT):
            return typed.sql
        point = quote(self.env.nls.numeric_characters[0])
        if have in NUMERIC and family in NUMERIC:
            if family is Family.NUMBER:
                return f"o_float_number({typed.sql})"
            name = "float_of_number" if have is Family.NUMBER else "float_resized"
            return f"o_{name}({typed.sql},{BINARY_SIZES[family]})"
        if have in TEXT and family in BINARY_SIZES:
            return f"o_float_of_text({typed.sql},{BINARY_SIZES[family]},{point})"
        if have in TEXT and family in INTERVALS:
            return f"o_text_{'interval' if family is Family.INTERVAL else 'months'}({typed.sql})"
        if have in TEXT and family is Family.NUMBER:
            return f"o_to_num({typed.sql},{point})"
        if have in TEXT and family in TEMPORAL:
            model = self.model(family)
            return f"o_text_date({typed.sql},{quote(model)},'{KIND[family]}',{self.zone},{self.today})"
        if have in TEXT and family is Family.RAW:
            return f"o_hex_raw({typed.sql})"
        if have in TEXT and family is Family.ROWID:
            return typed.sql
        if family in TEXT:
            if have is Family.NUMBER:
                return f"o_num_text({typed.sql},{point})"
            if have in BINARY_SIZES:
                return f"o_float_text({typed.sql},{point})"
            if have is Family.INTERVAL:
                return f"o_interval_text({typed.sql},{typed.type.precision},{typed.type.scale})"
            if have is Family.MONTHS:
                return f"o_months_text({typed.sql},{typed.type.precision})"
            if have is Family.RAW:
                return f"o_raw_hex({typed.sql})"
            if have is Family.ROWID:
                return typed.sql
            if have in TEMPORAL:
                return self.date_text(typed, quote(self.model(have)))
        if have in TEMPORAL and family in TEMPORAL:
            return f"o_retime({typed.sql},'{KIND[have]}','{KIND[family]}',{self.zone})"
        raise inconsistent(family, have, at)

    def to_type(self, typed: Typed, target: SqlType, at: int) -> str:
        if typed.type.family is target.family:
            return typed.sql
        return self.to(typed, target.family, at)

    def model(self, family: Family) -> str:
        """The session's default format."""
        return model_of(family, self.env.nls)

    @property
    def zone(self) -> str:
        """SQL of the session's time zone."""
        return quote(self.env.nls.time_zone)

    def date_text(self, typed: Typed, model: str) -> str:
        digits = typed.type.scale if 0 <= typed.type.scale <= 9 else 6
        return f"o_date_text({typed.sql},{model},{digits},{self.zone},'{KIND[typed.type.family]}')"

    def wall(self, typed: Typed) -> str:
        """A date or timestamp with its fields as the session sees them."""
        return f"o_retime({typed.sql},'L','T',{self.zone})" if typed.type.family is Family.LOCAL else typed.sql

    def instant(self, typed: Typed) -> str:
        """UTC fields of a date or timestamp."""
        return typed.sql if typed.type.family is Family.LOCAL else f"o_zone_key({typed.sql},{self.zone})"

    def comparable(self, typed: Typed) -> str:
        """What a value sorts and groups by: zoned timestamps by instant, the rest by its bytes."""
        return self.instant(typed) if typed.type.family is Family.ZONED else typed.sql

    # ---- conditions ----

    def condition(self, expr: ast.Expr, scope: Scope | None) -> str:
        """A condition, as SQL with SQLite's three truth values."""
        if isinstance(expr, ast.Logic):
            parts = [self.condition(operand, scope) for operand in expr.operands]
            return f"not ({parts[0]})" if expr.op == "NOT" else "(" + f" {expr.op.lower()} ".join(parts) + ")"
        if isinstance(expr, ast.Compare):
            if isinstance(expr.left, ast.Row):
                return self._compare_rows(expr, scope)
            return self.compare(expr.op, self.value(expr.left, scope), self.value(expr.right, scope), expr.at)
        if isinstance(expr, ast.Between):
            operand = self.value(expr.operand, scope)
            low = self.compare(">=", operand, self.value(expr.low, scope), expr.at)
            high = self.compare("<=", operand, self.value(expr.high, scope), expr.at)
            return f"not ({low} and {high})" if expr.negated else f"({low} and {high})"
        if isinstance(expr, ast.IsNull):
            return f"({self.value(expr.operand, scope).sql}) is {'not ' if expr.negated else ''}null"
        if isinstance(expr, ast.IsBinary):
            operand = self.value(expr.operand, scope)
            if operand.type.family not in BINARY_SIZES:
                operand = Typed(self.to(operand, Family.DOUBLE, expr.at), DOUBLE)
            name = "is_nan" if expr.what == "NAN" else "is_infinite"
            return f"{'not ' if expr.negated else ''}o_{name}({operand.sql})"
        if isinstance(expr, ast.Like):
            parts = [self.to(self.value(side, scope), Family.VARCHAR, expr.at) for side in (expr.operand, expr.pattern)]
            if expr.escape is not None:
                parts.append(self.to(self.value(expr.escape, scope), Family.VARCHAR, expr.at))
            return f"{'not ' if expr.negated else ''}o_like({','.join(parts)})"
        if isinstance(expr, ast.InList):
            return self._in_list(expr, scope)
        if isinstance(expr, ast.InQuery):
            return self._in_query(expr, scope)
        if isinstance(expr, ast.Exists):
            assert self.subquery is not None
            return f"exists ({self.subquery(expr.query, scope)[0]})"
        if isinstance(expr, ast.Call) and expr.name == "REGEXP_LIKE":
            return functions.regexp_like(self, expr, scope)
        raise OraError(920, "invalid relational operator", expr.at)

    def _compare_rows(self, expr: ast.Compare, scope: Scope | None) -> str:
        left, right = expr.left, expr.right
        if not isinstance(left, ast.Row) or not isinstance(right, ast.Row) or expr.op not in ("=", "<>"):
            raise OraError(3001, "unimplemented feature: this comparison of rows", expr.at)
        if len(left.items) != len(right.items):
            raise OraError(913, "too many values", expr.at)
        pairs = [
            self.compare("=", self.value(a, scope), self.value(b, scope), expr.at)
            for a, b in zip(left.items, right.items, strict=True)
        ]
        test = "(" + " and ".join(pairs) + ")"
        return test if expr.op == "=" else f"not {test}"

    def compare(self, op: str, left: Typed, right: Typed, at: int) -> str:
        """`left op right` in the type Oracle would compare in."""
        if right.vid is not None and left.vid is None:
            flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
            return self.compare(flipped, right, left, at)
        if left.vid is not None:
            return self._compare_rowid(op, left, right, at)
        a, b = self.aligned(left, right, at)
        return f"({a}{op}{b})"

    def _compare_rowid(self, op: str, left: Typed, right: Typed, at: int) -> str:
        assert left.vid is not None
        data_object_id, vid = left.vid
        if right.vid is not None and right.vid[0] == data_object_id:
            return f"(({vid}>>26){op}({right.vid[1]}>>26))"
        text = self.to(right, Family.ROWID, at)
        first, after = (f"o_row_bound({text},{data_object_id},{n})" for n in (0, 1))
        return {
            "=": f"({vid}>={first} and {vid}<{after})",
            "<>": f"({vid}<{first} or {vid}>={after})",
            "<": f"({vid}<{first})",
            "<=": f"({vid}<{after})",
            ">": f"({vid}>={after})",
            ">=": f"({vid}>={first})",
        }[op]

    def aligned(self, left: Typed, right: Typed, at: int) -> tuple[str, str]:
        """Both sides as SQL that compares rightly byte by byte."""
        a, b = left.type.family, right.type.family
        if a in TEXT and b in TEXT:
            return self._aligned_text(left, right)
        if a in TEMPORAL or b in TEMPORAL:
            if a is b:
                return self.comparable(left), self.comparable(right)
            if INSTANTS & {a, b}:
                kinds = [s.type.family in TEMPORAL for s in (left, right)]
                first, second = (
                    self.instant(s if known else Typed(self.to(s, Family.ZONED, at), ZONED))
                    for s, known in zip((left, right), kinds, strict=True)
                )
                return first, second
            if a in TEMPORAL and b in TEMPORAL:
                return left.sql, right.sql
            family = a if a in TEMPORAL else b
            return self.to(left, family, at), self.to(right, family, at)
        if NUMERIC & {a, b}:
            family = self.numeric(left, right).family
            return self.to(left, family, at), self.to(right, family, at)
        for family in (Family.INTERVAL, Family.MONTHS, Family.RAW, Family.ROWID):
            if family in (a, b):
                return self.to(left, family, at), self.to(right, family, at)
        if a is b or Family.NULL in (a, b):
            return left.sql, right.sql
        raise inconsistent(a, b, at)

    def _aligned_text(self, left: Typed, right: Typed) -> tuple[str, str]:
        """CHAR against CHAR or a literal ignores trailing blanks; VARCHAR2 on either side does not."""
        if left.type.family is Family.CHAR and right.type.family is Family.CHAR:
            if left.literal is not None and right.literal is not None:
                return quote(left.literal.rstrip(" ")), quote(right.literal.rstrip(" "))
            return f"rtrim({left.sql},' ')", f"rtrim({right.sql},' ')"
        return left.sql, right.sql

    def _in_list(self, expr: ast.InList, scope: Scope | None) -> str:
        if isinstance(expr.operand, ast.Row):
            tests = [self._compare_rows(ast.Compare("=", expr.operand, item, expr.at), scope) for item in expr.items]
            return f"{'not ' if expr.negated else ''}({' or '.join(tests)})"
        operand = self.value(expr.operand, scope)
        items = [self.value(item, scope) for item in expr.items]
        if operand.vid is None and all(item.vid is None for item in items):
            pairs = [self.aligned(operand, item, expr.at) for item in items]
            if len({left for left, _ in pairs}) == 1:
                listed = ",".join(right for _, right in pairs)
                return f"({pairs[0][0]} {'not ' if expr.negated else ''}in ({listed}))"
        tests = [self.compare("=", operand, item, expr.at) for item in items]
        return f"{'not ' if expr.negated else ''}({' or '.join(tests)})"

    def _in_query(self, expr: ast.InQuery, scope: Scope | None) -> str:
        assert self.subquery is not None
        operands = expr.operand.items if isinstance(expr.operand, ast.Row) else [expr.operand]
        left = [self.value(operand, scope) for operand in operands]
        sql, columns = self.subquery(expr.query, scope)
        if len(columns) != len(left):
            raise OraError(
                913 if len(columns) > len(left) else 947,
                "too many values" if len(columns) > len(left) else "not enough values",
                expr.at,
            )
        plain = [Typed(one.sql, one.type, one.nullable) for one in left]
        pairs = [
            self.aligned(a, Typed(f"c{n}", b.type), expr.at) for n, (a, b) in enumerate(zip(plain, columns, strict=True))
        ]
        keys = ",".join(b for _, b in pairs)
        operand = ",".join(a for a, _ in pairs)
        return f"(({operand}) {'not ' if expr.negated else ''}in (select {keys} from ({sql})))"


def _canonical_number(cell: Cell) -> Cell:
    return number.canonical(cell) if isinstance(cell, bytes) and cell else None


def _canonical_float(cell: Cell) -> Cell:
    return binary.resized(cell, len(cell)) if isinstance(cell, bytes) and cell else None


def _canonical(cell: Cell) -> Cell:
    return temporal.canonical(cell) if isinstance(cell, bytes) else cell
