"""Typed translation of conditions: both sides of a comparison are converted to the type Oracle compares in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.conversions import Conversions
from minercdc_sandbox.sql.translate.environment import blob, quote
from minercdc_sandbox.sql.types import BINARY_SIZES, DOUBLE, INSTANTS, NUMERIC, TEMPORAL, TEXT, ZONED, Family, inconsistent


@dataclass(slots=True)
class Conditions(Conversions):
    """Translates conditions: comparisons, IN, LIKE, EXISTS, their combinations; the layer of `Expressions` above `Conversions`.

    :ivar value_of: translates a value; the translator of expressions sets it.
    """

    value_of: Callable[[ast.Expr, Scope | None], Typed] = field(init=False)

    def condition(self, expr: ast.Expr, scope: Scope | None) -> str:
        """SQL of a condition: 1, 0 or, for unknown, NULL. `scope` None: no column may be named. Raises ORA-00920 for a value,
        ORA-00913 and ORA-00947 for sides of unlike width, ORA-03001 for rows that are compared by more than = and <>, and as
        `value_of` and `compare`."""
        if isinstance(expr, ast.Logic):
            parts = [self.condition(operand, scope) for operand in expr.operands]
            return f"not ({parts[0]})" if expr.op == "NOT" else "(" + f" {expr.op.lower()} ".join(parts) + ")"
        if isinstance(expr, ast.Compare):
            if isinstance(expr.left, ast.Row):
                return self._compare_rows(expr, scope)
            return self.compare(expr.op, self.value_of(expr.left, scope), self.value_of(expr.right, scope), expr.at)
        if isinstance(expr, ast.Between):
            operand = self.value_of(expr.operand, scope)
            low = self.compare(">=", operand, self.value_of(expr.low, scope), expr.at)
            high = self.compare("<=", operand, self.value_of(expr.high, scope), expr.at)
            return f"not ({low} and {high})" if expr.negated else f"({low} and {high})"
        if isinstance(expr, ast.IsNull):
            return f"({self.value_of(expr.operand, scope).sql}) is {'not ' if expr.negated else ''}null"
        if isinstance(expr, ast.IsBinary):
            operand = self.value_of(expr.operand, scope)
            if operand.type.family not in BINARY_SIZES:
                operand = Typed(self.to(operand, Family.DOUBLE, expr.at), DOUBLE)
            name = "is_nan" if expr.what == "NAN" else "is_infinite"
            return f"{'not ' if expr.negated else ''}o_{name}({operand.sql})"
        if isinstance(expr, ast.Like):
            parts = [self.whole_text(self.value_of(side, scope), expr.at) for side in (expr.operand, expr.pattern)]
            if expr.escape is not None:
                parts.append(self.to(self.value_of(expr.escape, scope), Family.VARCHAR, expr.at))
            return f"{'not ' if expr.negated else ''}o_like({','.join(parts)})"
        if isinstance(expr, ast.In):
            if isinstance(expr.items, ast.Query):
                return self._in_query(expr, expr.items, scope)
            return self._in_list(expr, expr.items, scope)
        if isinstance(expr, ast.Quantified):
            return self._quantified(expr, scope)
        if isinstance(expr, ast.Exists):
            assert self.subquery is not None
            return f"exists ({self.subquery(expr.query, scope)[0]})"
        return self._called(expr, scope)

    def _is_json(self, expr: ast.Call, scope: Scope | None) -> str:
        """SQL of `value IS JSON`; NULL for NULL. A scalar is a document since 21c. Raises as `to`."""
        value, wanted = (self.value_of(arg, scope) for arg in expr.args)
        if value.type.family is Family.JSON:
            return f"case when {value.sql} is not null then 1 end"
        if value.type.family in (Family.BLOB, Family.RAW):
            text = f"o_lob_decoded({self.to(value, Family.BLOB, expr.at)},{blob(number.integer(0))})"
        else:
            text = self.whole_text(value, expr.at)
        return f"o_is_json({text},{wanted.sql},{int(self.env.release >= 21)})"

    def _called(self, expr: ast.Expr, scope: Scope | None) -> str:
        """SQL of a function that is a condition, or of a BOOLEAN. Raises ORA-00920 for any other expression, ORA-00909, and as
        `condition`."""
        if isinstance(expr, ast.Call) and expr.name == "REGEXP_LIKE":
            return self._regexp_like(expr, scope)
        if isinstance(expr, ast.Call) and expr.name == "JSON_EXISTS":
            text = self.json_text(self.value_of(expr.args[0], scope), expr.at)
            return f"o_json_exists({text},{self.value_of(expr.args[1], scope).sql})"
        if isinstance(expr, ast.Call) and expr.name == "IS JSON":
            return self._is_json(expr, scope)
        if isinstance(expr, ast.Call) and expr.name == "LNNVL":
            if len(expr.args) != 1:
                raise OraError(909, "invalid number of arguments", expr.at)
            return f"(({self.condition(expr.args[0], scope)}) is not true)"
        if isinstance(expr, ast.Name | ast.Call | ast.Bind) and self.env.release >= 23:
            flag = self.value_of(expr, scope)
            if flag.type.family is Family.BOOLEAN:
                return f"({flag.sql}=x'01')"
        raise OraError(920, "invalid relational operator", expr.at)

    def _compare_rows(self, expr: ast.Compare, scope: Scope | None) -> str:
        left, right = expr.left, expr.right
        if not isinstance(left, ast.Row) or not isinstance(right, ast.Row) or expr.op not in ("=", "<>"):
            raise OraError(3001, "unimplemented feature: this comparison of rows", expr.at)
        if len(left.items) != len(right.items):
            raise OraError(913, "too many values", expr.at)
        pairs = [
            self.compare("=", self.value_of(a, scope), self.value_of(b, scope), expr.at)
            for a, b in zip(left.items, right.items, strict=True)
        ]
        test = "(" + " and ".join(pairs) + ")"
        return test if expr.op == "=" else f"not {test}"

    def compare(self, op: str, left: Typed, right: Typed, at: int) -> str:
        """SQL of `left op right`, compared in the type that Oracle compares them in; ROWIDs of one table as numbers. Raises
        ORA-00932, ORA-00997 for LONG, with `at` as position."""
        if right.vid is not None and left.vid is None:
            return self.compare(ast.FLIPPED[op], right, left, at)
        if left.vid is not None:
            return self._compare_rowid(op, left, right, at)
        a, b = self.aligned(left, right, at)
        return f"({a}{op}{b})"

    def _compare_rowid(self, op: str, left: Typed, right: Typed, at: int) -> str:
        assert left.vid is not None
        segments, vid = left.vid
        if right.vid is not None and right.vid[0] == segments:
            return f"(({vid}>>26){op}({right.vid[1]}>>26))"
        text = self.to(right, Family.ROWID, at)
        first, after = (f"o_row_bound({text},{segments},{n})" for n in (0, 1))
        return {
            "=": f"({vid}>={first} and {vid}<{after})",
            "<>": f"({vid}<{first} or {vid}>={after})",
            "<": f"({vid}<{first})",
            "<=": f"({vid}<{after})",
            ">": f"({vid}>={after})",
            ">=": f"({vid}>={first})",
        }[op]

    def aligned(self, left: Typed, right: Typed, at: int) -> tuple[str, str]:
        """SQL of both sides in one type, whose values compare like their bytes. Raises ORA-00932, ORA-00997 for LONG."""
        a, b = left.type.family, right.type.family
        for side in (left, right):
            self.comparable(side)  # LOBs and LONGs are not
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
        """SQL of two texts to compare: CHAR against CHAR or a literal ignores trailing blanks; VARCHAR2 on either side does not."""
        if left.type.family is Family.CHAR and right.type.family is Family.CHAR:
            if left.literal is not None and right.literal is not None:
                return quote(left.literal.rstrip(" ")), quote(right.literal.rstrip(" "))
            return f"rtrim({left.sql},' ')", f"rtrim({right.sql},' ')"
        return left.sql, right.sql

    def _in_list(self, expr: ast.In, listed: list[ast.Expr], scope: Scope | None) -> str:
        if isinstance(expr.operand, ast.Row):
            tests = [self._compare_rows(ast.Compare("=", expr.operand, item, expr.at), scope) for item in listed]
            return f"{'not ' if expr.negated else ''}({' or '.join(tests)})"
        operand = self.value_of(expr.operand, scope)
        items = [self.value_of(item, scope) for item in listed]
        if operand.vid is None and all(item.vid is None for item in items):
            pairs = [self.aligned(operand, item, expr.at) for item in items]
            if len({left for left, _ in pairs}) == 1:
                rest = ",".join(right for _, right in pairs)
                return f"({pairs[0][0]} {'not ' if expr.negated else ''}in ({rest}))"
        tests = [self.compare("=", operand, item, expr.at) for item in items]
        return f"{'not ' if expr.negated else ''}({' or '.join(tests)})"

    def _in_query(self, expr: ast.In, query: ast.Query, scope: Scope | None) -> str:
        assert self.subquery is not None
        operands = expr.operand.items if isinstance(expr.operand, ast.Row) else [expr.operand]
        left = [self.value_of(operand, scope) for operand in operands]
        sql, columns = self.subquery(query, scope)
        if len(columns) != len(left):
            many = len(columns) > len(left)
            raise OraError(913 if many else 947, "too many values" if many else "not enough values", expr.at)
        plain = [Typed(one.sql, one.type, one.nullable) for one in left]
        pairs = [
            self.aligned(a, Typed(f"c{n}", b.type), expr.at) for n, (a, b) in enumerate(zip(plain, columns, strict=True))
        ]
        keys = ",".join(b for _, b in pairs)
        operand = ",".join(a for a, _ in pairs)
        return f"(({operand}) {'not ' if expr.negated else ''}in (select {keys} from ({sql})))"

    def _regexp_like(self, expr: ast.Call, scope: Scope | None) -> str:
        args = [self.value_of(arg, scope) for arg in expr.args]
        count_arguments(expr, args, 2, 3)
        return f"o_regexp_like({','.join(self.to(arg, Family.VARCHAR, expr.at) for arg in args)})"

    def _quantified(self, expr: ast.Quantified, scope: Scope | None) -> str:
        """SQL of `op ANY`, `op ALL`: over a list, or over the one column of a query. Raises ORA-00913 for several columns, and as
        `compare`."""
        left = self.value_of(expr.left, scope)
        if isinstance(expr.items, list):
            word = " and " if expr.all else " or "
            return "(" + word.join(self.compare(expr.op, left, self.value_of(i, scope), expr.at) for i in expr.items) + ")"
        assert self.subquery is not None
        sql, columns = self.subquery(expr.items, scope)
        if len(columns) != 1:
            raise OraError(913, "too many values", expr.at)
        plain = Typed(left.sql, left.type, left.nullable)
        test = self.compare(expr.op, plain, Typed("c0", columns[0].type), expr.at)
        # Three truth values: ANY is the maximum of the comparisons, ALL the minimum, unknown when only NULLs decide.
        worst, best = (f"min({test})", f"max(({test}) is null)")
        if expr.all:
            return f"(select case when {worst}=0 then 0 when {best} then null else 1 end from ({sql}))"
        return f"(select case when max({test})=1 then 1 when {best} then null else 0 end from ({sql}))"
