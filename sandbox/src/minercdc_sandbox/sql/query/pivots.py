"""PIVOT and UNPIVOT as grouping and UNION ALL (SQL Language Reference, SELECT)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.functions.arguments import common_type
from minercdc_sandbox.sql.query.joins import Joins
from minercdc_sandbox.sql.query.relations import named_by, renamed
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc_sandbox.sql.types import varchar


@dataclass(slots=True)
class Pivots(Joins):
    """Translates PIVOT and UNPIVOT of a relation; the layer of `select.Queries` above `Joins`."""

    def relation(self, relation: ast.Relation, scope: Scope) -> str:
        """SQL of a relation, whose columns are added to the scope. Raises ORA-00918 for two aggregates of PIVOT without aliases,
        ORA-00913 for values that are not one for each of its columns, ORA-00932 for columns of UNPIVOT without a common type, and
        as `Joins.relation`."""
        if isinstance(relation, ast.Pivot):
            return self._pivot(relation, scope)
        if isinstance(relation, ast.Unpivot):
            return self._unpivot(relation, scope)
        return super(Pivots, self).relation(relation, scope)

    def _pivot(self, pivot: ast.Pivot, scope: Scope) -> str:
        """SQL of PIVOT: grouped by the columns that neither FOR nor an aggregate names; each value is a column of the aggregate
        of matching rows, for each aggregate. Raises ORA-00918, ORA-00913 for another number of values than columns, and as
        `relation` and `Conversions.comparable`."""
        inner = Scope(parent=scope.parent)
        source = self.relation(pivot.source, inner)
        used = {n.parts[-1] for call, _ in pivot.aggregates for n in ast.descendants(call) if isinstance(n, ast.Name)}
        used |= {name.parts[-1] for name in pivot.columns}
        groups = _others(inner, used)
        columns = [Visible(c.name, c.typed) for c in groups]
        for values, name in pivot.values:
            for call, alias in pivot.aggregates:
                if alias is None and len(pivot.aggregates) > 1:
                    raise OraError(918, "column ambiguously specified", pivot.at)
                with self.x.nested(analytic=False, aggregates=True):
                    typed = self.x.value(_conditional(pivot, call, values), inner)
                columns.append(Visible(f"{name}_{alias}" if alias else name, typed))
        items = ",".join(f"{c.typed.sql} as c{n}" for n, c in enumerate(columns))
        by = ",".join(self.x.comparable(c.typed) for c in groups)
        alias = self.alias()
        scope.sources.append(Source(named_by(pivot.alias), renamed(columns, alias)))
        return f"(select {items} from {source}{f' group by {by}' if by else ''}) {alias}"

    def _unpivot(self, unpivot: ast.Unpivot, scope: Scope) -> str:
        """SQL of UNPIVOT: one row per row and IN item; rows whose values are all NULL are left out unless INCLUDE NULLS. Raises
        as `relation`, `common_type` and `Conversions.to_type`."""
        inner = Scope(parent=scope.parent)
        source = self.relation(unpivot.source, inner)
        used = {name.parts[-1] for names, _ in unpivot.columns for name in names}
        kept = _others(inner, used)
        rows = [[self.x.value(name, inner) for name in names] for names, _ in unpivot.columns]
        kinds = [common_type([row[n] for row in rows], unpivot.at) for n in range(len(unpivot.values))]
        labels = [
            self.x.value(
                literal or ast.Literal(ast.LiteralKind.STRING, "_".join(n.parts[-1] for n in names), unpivot.at), None
            )
            for names, literal in unpivot.columns
        ]
        label = common_type(labels, unpivot.at)
        parts = []
        for row, mark in zip(rows, labels, strict=True):
            values = [self.x.to_type(v, kind, unpivot.at) for v, kind in zip(row, kinds, strict=True)]
            cells = [*(c.typed.sql for c in kept), self.x.to_type(mark, label, unpivot.at), *values]
            some = " or ".join(f"{value} is not null" for value in values)
            where = "" if unpivot.include_nulls else f" where {some}"
            parts.append(f"select {','.join(f'{sql} as c{n}' for n, sql in enumerate(cells))} from {source}{where}")
        columns = [Visible(c.name, c.typed) for c in kept]
        columns.append(Visible(unpivot.name, Typed("", label if label.size > 0 else varchar(), False)))
        columns += [Visible(name, Typed("", kind)) for name, kind in zip(unpivot.values, kinds, strict=True)]
        alias = self.alias()
        scope.sources.append(Source(named_by(unpivot.alias), renamed(columns, alias)))
        return f"({' union all '.join(parts)}) {alias}"


def _others(scope: Scope, used: set[str]) -> list[Visible]:
    return [c for s in scope.sources for c in s.columns if not c.hidden and not c.invisible and c.name not in used]


def _conditional(pivot: ast.Pivot, call: ast.Call, values: list[ast.Expr]) -> ast.Call:
    """The aggregate of the rows that have these values in PIVOT's columns. Raises ORA-00913 for another number of values."""
    if len(values) != len(pivot.columns):
        raise OraError(913, "too many values", pivot.at)
    tests: list[ast.Expr] = [
        ast.Compare("=", column, value, pivot.at) for column, value in zip(pivot.columns, values, strict=True)
    ]
    condition = tests[0] if len(tests) == 1 else ast.Logic("AND", tests, pivot.at)
    argument: ast.Expr = ast.Literal(ast.LiteralKind.NUMBER, "1", pivot.at) if call.star else call.args[0]
    return replace(call, star=False, args=[ast.Case(None, [(condition, argument)], None, pivot.at), *call.args[1:]])
