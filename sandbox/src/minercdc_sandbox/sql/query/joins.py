"""Joins: ANSI joins, APPLY, and Oracle's (+) in WHERE, which becomes LEFT JOINs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.query.relations import Relations
from minercdc_sandbox.sql.query.trees import conjunction, conjuncts
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible


@dataclass(slots=True)
class Joins(Relations):
    """Translates joins of relations; the layer of `select.Queries` above `Relations`."""

    def relation(self, relation: ast.Relation, scope: Scope) -> str:
        """SQL of a relation, whose columns are added to the scope. Raises ORA-00904 for a column of USING that a side lacks,
        ORA-00918, and as `Relations.relation`."""
        if isinstance(relation, ast.Join):
            return self._join(relation, scope)
        return super(Joins, self).relation(relation, scope)

    def from_clause(self, select: ast.Select, scope: Scope) -> tuple[str, ast.Expr | None]:
        """SQL of FROM, whose relations are added to the scope, and the condition of WHERE without the terms with `(+)`, which
        become joins; None when none is left.

        Raises ORA-25156 for `(+)` beside ANSI joins, ORA-01416 and ORA-01468 for joins that cannot be, and as `relation`.
        """
        terms = conjuncts(select.where)
        outer = [term for term in terms if _marked(term)]
        if not outer:
            return ",".join([self.relation(relation, scope) for relation in select.relations]), select.where
        if any(isinstance(relation, ast.Join) for relation in select.relations):
            raise OraError(25156, "old style outer join (+) cannot be used with ANSI joins", outer[0].at)
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for relation in select.relations:
            first = len(scope.sources)
            texts.append(self.relation(relation, scope))
            spans.append((first, len(scope.sources)))
        sql = self._old_joins(outer, texts, spans, scope)
        return sql, conjunction([term for term in terms if not _marked(term)])

    def _old_joins(self, outer: list[ast.Expr], texts: list[str], spans: list[tuple[int, int]], scope: Scope) -> str:
        """SQL of FROM: relations without (+) first, then each marked one after those its conditions name. Raises ORA-01416,
        ORA-01468, ORA-00918."""
        conditions: dict[int, list[ast.Expr]] = {}
        needs: dict[int, set[int]] = {}
        for term in outer:
            marked = {_span_of(name, spans, scope) for name in _names(term) if name.outer}
            if len(marked) > 1:
                raise OraError(1468, "a predicate may reference only one outer-joined table", term.at)
            [at] = marked
            others = {_span_of(name, spans, scope) for name in _names(term) if not name.outer} - {-1}
            if at in others:
                raise OraError(1416, "two tables cannot be outer-joined to each other", term.at)
            conditions.setdefault(at, []).append(term)
            needs.setdefault(at, set()).update(others)
        done = [n for n in range(len(texts)) if n not in conditions]
        sql = ",".join(texts[n] for n in done) or None
        while len(done) < len(texts):
            ready = next((n for n in range(len(texts)) if n not in done and needs[n] <= set(done)), None)
            if ready is None or sql is None:
                raise OraError(1416, "two tables cannot be outer-joined to each other", outer[0].at)
            tests = " and ".join(self.x.condition(term, scope) for term in conditions[ready])
            sql = f"{sql} left join {texts[ready]} on {tests}"
            make_nullable(scope.sources[slice(*spans[ready])])
            done.append(ready)
        assert sql is not None
        return sql

    def _join(self, join: ast.Join, scope: Scope) -> str:
        before = len(scope.sources)
        left = self.relation(join.left, scope)
        middle = len(scope.sources)
        right = self.relation(join.right, scope)
        if isinstance(join.right, ast.Join):
            right = f"({right})"
        joined = Scope(scope.sources[before:], scope.parent)
        sides = scope.sources[before:middle], scope.sources[middle:]
        if join.natural:
            join = replace(join, using=_common(*sides))
        if join.kind == "CROSS" or (join.natural and not join.using and join.kind == "INNER"):
            return f"{left} cross join {right}"
        if join.kind == "LEFT" and join.on is None and not join.using:
            condition = "1"
        elif join.using:
            condition, merged = self._using(join, *sides)
            scope.sources.insert(before, Source((), merged))
        else:
            assert join.on is not None
            condition = self.x.condition(join.on, joined)
        if join.kind in ("LEFT", "FULL"):
            make_nullable(sides[1])
        if join.kind in ("RIGHT", "FULL"):
            make_nullable(sides[0])
        return f"{left} {join.kind.lower()} join {right} on {condition}"

    def _using(self, join: ast.Join, left: list[Source], right: list[Source]) -> tuple[str, list[Visible]]:
        """SQL of the condition of USING, and its columns, which come before all others: that of the left side, for RIGHT that of
        the right one, for FULL the first that is not NULL. Both sides' own are hidden. Raises ORA-00904, ORA-00918, and as
        `Conversions.to`."""
        tests: list[str] = []
        columns: list[Visible] = []
        for name in join.using:
            found = [Scope(sources).resolve(ast.Name((name,), join.at)) for sources in (left, right)]
            if found[0] is None or found[1] is None:
                raise OraError(904, f'"{name}": invalid identifier', join.at)
            a, b = found[0][0], found[1][0]
            tests.append(self.x.compare("=", a, b, join.at))
            merged = replace(b if join.kind == "RIGHT" else a, vid=None)
            if join.kind == "FULL":
                merged = Typed(f"coalesce({a.sql},{self.x.to(b, a.type.family, join.at)})", a.type)
            columns.append(Visible(name, merged))
            for source in (*left, *right):
                for column in source.columns:
                    column.hidden = column.hidden or column.name == name
        return " and ".join(tests), columns


def _common(left: list[Source], right: list[Source]) -> list[str]:
    shown = [
        [c.name for source in side for c in source.columns if not c.hidden and not c.invisible] for side in (left, right)
    ]
    return [name for name in shown[0] if name in shown[1]]


def _names(term: ast.Expr) -> list[ast.Name]:
    return [node for node in ast.descendants(term) if isinstance(node, ast.Name)]


def _marked(term: ast.Expr) -> bool:
    return any(name.outer for name in _names(term))


def _span_of(name: ast.Name, spans: list[tuple[int, int]], scope: Scope) -> int:
    """Number of the relation of FROM that a name belongs to; -1 for none of them. Raises ORA-00918."""
    for at, (first, last) in enumerate(spans):
        if Scope(scope.sources[first:last]).resolve(name) is not None:
            return at
    return -1


def make_nullable(sources: list[Source]) -> None:
    """Mark all columns of relations as nullable, because an outer join may have no row of them."""
    for source in sources:
        for column in source.columns:
            column.typed = replace(column.typed, nullable=True)
