"""ROWNUM in WHERE and CONNECT BY, as a limit on the rows before they are sorted and grouped."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.query.trees import conjunction, conjuncts, is_rownum, uses_rownum
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import Family

_ALL = (1 << 62) - 1


def split_rownum(x: Expressions, where: ast.Expr | None) -> tuple[ast.Expr | None, str | None]:
    """The condition without its terms on ROWNUM, and SQL of the row limit that these make, the least of them; each None if there
    is none.

    Raises ORA-03001 for a term that is not a comparison of ROWNUM, and the errors of the limits.
    """
    kept: list[ast.Expr] = []
    limits: list[str] = []
    for term in conjuncts(where):
        if uses_rownum(term):
            limits += [_limit(x, test) for test in _comparisons(term)]
        else:
            kept.append(term)
    limit = limits[0] if len(limits) == 1 else f"min({','.join(limits)})" if limits else None
    return conjunction(kept), limit


def _comparisons(term: ast.Expr) -> list[ast.Expr]:
    if isinstance(term, ast.Between) and not term.negated:
        return [ast.Compare(">=", term.operand, term.low, term.at), ast.Compare("<=", term.operand, term.high, term.at)]
    return [term]


def _limit(x: Expressions, term: ast.Expr) -> str:
    if isinstance(term, ast.Compare):
        left, right, op = term.left, term.right, term.op
        if is_rownum(right):
            left, right, op = right, left, ast.FLIPPED[op]
        if is_rownum(left) and not uses_rownum(right):
            value = x.to(x.value(right, None), Family.NUMBER, term.at)
            one = number.integer(1).hex()
            if op == "<=":
                return f"max(0,o_to_int(o_floor({value})))"
            if op == "<":
                return f"max(0,o_to_int(o_ceil({value}))-1)"
            if op == "=":
                return f"({value}=x'{one}')"
            if op == ">=":
                return f"(case when {value}<=x'{one}' then {_ALL} else 0 end)"
            if op == ">":
                return f"(case when {value}<x'{one}' then {_ALL} else 0 end)"
            return f"(case when {value}=x'{one}' then 0 else max(0,o_to_int({value})-1) end)"
    raise OraError(3001, "unimplemented feature: this use of ROWNUM in a condition", term.at)
