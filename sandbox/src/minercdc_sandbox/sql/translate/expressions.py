"""Typed translation of expressions to SQLite: every operand is converted to the type Oracle calculates in.

An operator or function that has no rule for the types of its operands raises an ORA- error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.objects import Sequence
from minercdc_sandbox.sql import ast, binary, intervals, number, temporal, types
from minercdc_sandbox.sql.convert import utf16_units
from minercdc_sandbox.sql.date_formats import to_moment
from minercdc_sandbox.sql.declare import declare
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.functions.arguments import common_type
from minercdc_sandbox.sql.functions.environment import PACKAGED, niladic
from minercdc_sandbox.sql.functions.lobs import as_clob
from minercdc_sandbox.sql.functions.registry import call_function, stored_call
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import blob, quote
from minercdc_sandbox.sql.types import BINARY_SIZES, DATE, INTERVALS, NULL, NUMBER, TEMPORAL, TEXT, Family, SqlType, varchar
from minercdc_sandbox.tables import Column

_HIERARCHICAL = frozenset(["LEVEL", "CONNECT_BY_ISLEAF", "CONNECT_BY_ISCYCLE"])


@dataclass(slots=True)
class Expressions(Conditions):
    """Translates expressions and conditions of one statement, and collects their parameters. Subqueries need a `Queries` made with it."""

    def __post_init__(self) -> None:
        self.value_of = self.value

    def value(self, expr: ast.Expr, scope: Scope | None) -> Typed:
        """A translated value; `scope` None: no column may be named. Raises ORA-00904, ORA-00932, .. at its position, ORA-00936
        for a condition."""
        translate = _VALUES.get(type(expr))
        if translate is None:
            raise OraError(936, "missing expression: a condition is not a value", expr.at)
        return translate(self, expr, scope)

    def _parent(self, expr: ast.Parent, scope: Scope | None) -> Typed:
        """PRIOR and CONNECT_BY_ROOT. Raises ORA-01788 outside a hierarchical query, and as `value`."""
        if scope is None or (scope.root is None if expr.root else scope.prior is None):
            raise OraError(1788, "CONNECT BY clause required in this query block", expr.at)
        if expr.root:
            assert scope.root is not None
            return scope.root(expr.operand)
        return self.value(expr.operand, scope.prior)

    def _literal(self, expr: ast.Literal) -> Typed:
        if expr.kind is ast.LiteralKind.NULL:
            return Typed("null", NULL)
        if expr.kind is ast.LiteralKind.NUMBER:
            if expr.text[-1] in "fFdD":
                single = expr.text[-1] in "fF"
                return Typed(
                    blob(binary.parse(expr.text[:-1], 4 if single else 8)), types.FLOAT if single else types.DOUBLE, False
                )
            cell = number.parse(expr.text)
            return Typed(blob(cell), NUMBER, False)
        if expr.kind in (ast.LiteralKind.STRING, ast.LiteralKind.NATIONAL):
            national = expr.kind is ast.LiteralKind.NATIONAL
            if not expr.text:
                return Typed("null", SqlType(Family.VARCHAR, size=1 + national, national=national))
            size = 2 * utf16_units(expr.text) if national else len(expr.text.encode())
            sql = quote(expr.text)
            if "\0" in expr.text:
                text = expr.text
                sql = self.parameter(("text", text), lambda run: text)
            return Typed(sql, SqlType(Family.CHAR, size=size, national=national), False, literal=expr.text)
        if expr.kind is ast.LiteralKind.DATE:
            return Typed(blob(self._literal_moment(expr, "SYYYY-MM-DD", False)), DATE, False)
        if expr.kind is ast.LiteralKind.TIMESTAMP:
            return self._timestamp_literal(expr)
        raise OraError(936, "missing expression", expr.at)

    def _literal_moment(self, expr: ast.Literal, model: str, fraction: bool) -> bytes:
        moment, _ = to_moment(expr.text, model, date(2000, 1, 1))
        return temporal.encode(moment, fraction=fraction)

    def _timestamp_literal(self, expr: ast.Literal) -> Typed:
        text = expr.text.strip()
        date_text, _, rest = text.partition(" ")
        zoned = any(c in rest for c in "+-") or any(c.isalpha() for c in rest)
        model = "SYYYY-MM-DD"
        if rest:
            model += " HH24:MI:SS" + (".FF" if "." in rest else "") + (" TZR" if zoned else "")
        moment, zone = to_moment(text if rest else date_text, model, date(2000, 1, 1))
        if zone is None:
            return Typed(blob(temporal.encode(moment)), SqlType(Family.TIMESTAMP, scale=9), False)
        return Typed(blob(temporal.zoned(moment, zone)), SqlType(Family.ZONED, scale=9), False)

    def _interval(self, expr: ast.IntervalLiteral) -> Typed:
        cell = intervals.literal(expr.text, expr.first, expr.last, expr.lead, expr.digits)
        family = Family.INTERVAL if len(cell) == 11 else Family.MONTHS
        lead = expr.lead if expr.first in ("DAY", "YEAR") else 9
        return Typed(blob(cell), SqlType(family, lead, expr.digits if len(cell) == 11 else 0), False)

    def _negative(self, expr: ast.Negative, scope: Scope | None) -> Typed:
        operand = self.value(expr.operand, scope)
        family = operand.type.family
        if family in BINARY_SIZES:
            return Typed(f"o_float_neg({operand.sql})", operand.type, operand.nullable)
        if family in INTERVALS:
            return Typed(f"o_scale_interval({operand.sql},{blob(number.integer(-1))},0)", operand.type, operand.nullable)
        return Typed(f"o_neg({self.to(operand, Family.NUMBER, expr.at)})", NUMBER)

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
        kind = types.bind_type(self.bind_types[expr.index])
        index, canonical = expr.index, _CANONICAL.get(kind.family)

        def cell(run: Run) -> Cell:
            given = run.binds[index] or None
            return canonical(given) if canonical is not None and isinstance(given, bytes) else given

        return Typed(self.parameter(("bind", index), cell), kind)

    def _name(self, expr: ast.Name, scope: Scope | None) -> Typed:
        found = scope.resolve(expr) if scope is not None else None
        if found is not None:
            return found[0]
        variable = self.env.variables.find(expr.parts)
        if variable is not None:
            return self._bind(ast.Bind(variable, expr.parts[-1], expr.at))
        if len(expr.parts) == 1 and not expr.quoted:
            pseudo = scope.pseudo.get(expr.parts[0]) if scope is not None else None
            if pseudo is not None:
                return pseudo
            if expr.parts[0] in _HIERARCHICAL:
                raise OraError(1788, "CONNECT BY clause required in this query block", expr.at)
            if expr.parts[0] in ("TRUE", "FALSE") and self.env.release >= 23:
                return Typed(blob(bytes((int(expr.parts[0] == "TRUE"),))), types.BOOLEAN, False)
            special = niladic(self, expr.parts[0])
            if special is not None:
                return special
        if expr.parts[-1] in ("NEXTVAL", "CURRVAL") and len(expr.parts) > 1:
            return self._sequence(expr)
        if expr.parts[0].startswith("DBMS_") and ".".join(expr.parts) in PACKAGED:
            return self.value(ast.Call(".".join(expr.parts), [], expr.at), scope)
        if (stored := self.env.stored(self.env.schema, self.env.user, expr.parts)) is not None:
            return stored_call(self, stored, [], expr.at)
        text = ".".join(f'"{part}"' for part in expr.parts)
        raise OraError(904, f"{text}: invalid identifier", expr.at)

    def note_drawn(self, nodes: object) -> None:
        """Note in `drawn` the sequences that expressions take NEXTVAL of; call it before these are translated."""
        for node in ast.descendants(nodes):
            if isinstance(node, ast.Name) and len(node.parts) > 1 and node.parts[-1] == "NEXTVAL":
                found = self._named_sequence(node)
                if found is not None:
                    self.drawn.add(found.object_id)

    def _named_sequence(self, expr: ast.Name) -> Sequence | None:
        """The sequence before NEXTVAL or CURRVAL, by its name or a synonym; None when there is none."""
        *path, name = expr.parts[:-1]
        env, owner = self.env, path[0] if path else None
        found = env.catalog.sequence(env.container, owner or env.schema, name)
        synonym = env.catalog.synonym(env.container, owner, env.schema, name) if found is None else None
        if synonym is not None:
            found = env.catalog.sequence(env.container, synonym.table_owner, synonym.table_name)
        return found

    def _sequence(self, expr: ast.Name) -> Typed:
        """NEXTVAL and CURRVAL, counted in `sequences`. Raises ORA-02289, ORA-02287 where they may not be, and as
        `Environment.allowed`."""
        found, column = self._named_sequence(expr), expr.parts[-1]
        if found is None:
            raise OraError(2289, "sequence does not exist", expr.at)
        self.env.allowed("SELECT", found.owner, found.name, expr.at)
        if not self.sequences_allowed:
            raise OraError(2287, "sequence number not allowed here", expr.at)
        self.sequences.setdefault(found.object_id, 0)
        self.sequences[found.object_id] += 1
        first = self.sequences[found.object_id] == 1 and (column == "NEXTVAL" or found.object_id in self.drawn)
        return Typed(f"o_sequence({found.object_id},{int(first)},{int(column == 'NEXTVAL')})", NUMBER, False)

    def _case(self, expr: ast.Case, scope: Scope | None) -> Typed:
        results = [self.value(result, scope) for _, result in expr.branches]
        if expr.otherwise is not None:
            results.append(self.value(expr.otherwise, scope))
        target = common_type(results, expr.at)
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
        """CAST: a text that is too long is cut, other values are fitted to the type. Raises as `value`, `to`, `declare` and `fitted`."""
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
        """A value converted to the type of a column and rounded to its scale; lengths and precision of numbers are not checked.
        Raises as `to`."""
        kind = types.column_type(column)
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
        if len(columns) != expr.width:
            few = len(columns) < expr.width
            raise OraError(947 if few else 913, "not enough values" if few else "too many values", expr.at)
        return Typed(f"(select o_single(c{expr.column}) from ({sql}))", columns[expr.column].type)

    def _binary(self, expr: ast.Binary, scope: Scope | None) -> Typed:
        left, right = self.value(expr.left, scope), self.value(expr.right, scope)
        if expr.op == "||":
            national = left.type.national or right.type.national
            sizes = [side.type.size * (1 + (national and not side.type.national)) for side in (left, right)]
            size = sizes[0] + sizes[1] if all(sizes) else 4000
            parts = [f"coalesce({self.whole_text(side, expr.at)},'')" for side in (left, right)]
            if Family.CLOB in (left.type.family, right.type.family):
                return as_clob(f"nullif({parts[0]}||{parts[1]},'')", national)
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
        """A date or timestamp and a number of days, an interval or (minus) another one; None for another type of `right`. Raises
        as `to`."""
        a, b = left.type.family, right.type.family
        sign = 1 if op == "+" else -1
        if b in types.NUMERIC or b is Family.NULL or b in TEXT:
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
        zoned = bool(types.INSTANTS & {a, b})
        keys = [self.instant(side) if zoned else side.sql for side in (left, right)]
        scale = max(left.type.scale, right.type.scale, 0)
        return Typed(f"o_interval_between({keys[0]},{keys[1]})", SqlType(Family.INTERVAL, 9, scale))

    def _interval_and(self, left: Typed, right: Typed, op: str, at: int) -> Typed | None:
        a, b = left.type.family, right.type.family
        kind = types.INTERVAL if a is Family.INTERVAL else types.MONTHS
        if op in "+-" and b is a:
            return Typed(f"o_combine_intervals({left.sql},{right.sql},{1 if op == '+' else -1})", kind)
        if op in "*/" and (b in types.NUMERIC or b in TEXT or b is Family.NULL):
            factor = self.to(right, Family.NUMBER, at)
            return Typed(f"o_scale_interval({left.sql},{factor},{int(op == '/')})", kind)
        return None


_CANONICAL: dict[Family, Callable[[bytes], bytes]] = {
    Family.NUMBER: number.canonical,
    **dict.fromkeys(BINARY_SIZES, lambda cell: binary.resized(cell, len(cell))),
    **dict.fromkeys(TEMPORAL, temporal.canonical),
}
"""Functions that give a driver's value the bytes that equal values have here, by family."""

_VALUES: dict[type, Callable[[Expressions, Any, Scope | None], Typed]] = {
    ast.Literal: lambda x, expr, scope: x._literal(expr),
    ast.IntervalLiteral: lambda x, expr, scope: x._interval(expr),
    ast.Bind: lambda x, expr, scope: x._bind(expr),
    ast.Name: Expressions._name,
    ast.Call: call_function,
    ast.Binary: Expressions._binary,
    ast.Negative: Expressions._negative,
    ast.Case: Expressions._case,
    ast.Cast: Expressions._cast,
    ast.Scalar: Expressions._scalar,
    ast.AtZone: Expressions._at_zone,
    ast.Parent: Expressions._parent,
    ast.Missing: lambda x, expr, scope: Typed("null", x.value(expr.operand, scope).type),
}
