"""Queries to SQLite: grouping, set operations, ROWNUM, FETCH.

Every translated query names its columns c0, c1, ..; the one around it refers to them by these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast, number
from minercdc.sandbox.sql.functions.aggregates import AGGREGATES
from minercdc.sandbox.sql.functions.arguments import common_type
from minercdc.sandbox.sql.query.plan import Plan
from minercdc.sandbox.sql.query.relations import Relations
from minercdc.sandbox.sql.query.trees import aggregated, children, is_rownum, nests_aggregates, unnested, uses_rownum
from minercdc.sandbox.sql.runtime import ViewUse
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.types import Family

# Nothing but columns of the one relation t1 that the statement has.
_PICKING = re.compile(r"select t1\.c\d+ as c\d+(?:,t1\.c\d+ as c\d+)* from(?= \"V\$LOGMNR_CONTENTS\" t1(?: where |$))")


@dataclass(slots=True)
class Queries(Relations):
    """Translates the queries of one statement."""

    def __post_init__(self) -> None:
        self.x.subquery = self._subquery

    def plan(self, query: ast.Query) -> Plan:
        """The whole statement."""
        sql, columns = self.query(query, None)
        described = tuple(column.typed.type.describe(column.name, column.typed.nullable) for column in columns)
        uses = self._uses(sql)
        picked = self._picked(query, sql)
        if picked:
            sql = _PICKING.sub("select 1 from", sql)
        return Plan(sql, described, self.x.parameters, bool(self.tables), self.tables, uses, picked)

    def _picked(self, query: ast.Query, sql: str) -> tuple[int, ...]:
        """Positions for `Plan.picked`; empty for any query that SQLite must do more for than test each row of a view."""
        select = query.body
        simple = (
            isinstance(select, ast.Select)
            and not (query.with_ or query.order_by or query.fetch or query.offset)
            and not (select.distinct or select.group_by or select.having)
            and len(select.relations) == 1
            and isinstance(select.relations[0], ast.TableRef)
        )
        if not simple or len(self._viewed) != 1 or self.tables:
            return ()
        match = _PICKING.match(sql)
        found = tuple(int(at) for at in re.findall(r"\.c(\d+) as", match[0])) if match else ()
        return found if len(found) > 1 else ()

    def _uses(self, sql: str) -> dict[str, ViewUse]:
        """Of views named once. An alias is unique in the statement, so its columns are found in the finished text."""
        names = [name for name, _ in self._viewed]
        return {
            name: ViewUse(
                name,
                frozenset(int(at) for at in re.findall(rf"\b{alias}\.c(\d+)\b", sql)),
                self._conditions.get(alias),
            )
            for name, alias in self._viewed
            if names.count(name) == 1
        }

    def _subquery(self, query: ast.Query, scope: Scope | None) -> tuple[str, list[Typed]]:
        allowed, self.x.aggregates_allowed = self.x.aggregates_allowed, False
        try:
            sql, columns = self.query(query, scope)
        finally:
            self.x.aggregates_allowed = allowed
        return sql, [column.typed for column in columns]

    def query(self, query: ast.Query, parent: Scope | None) -> tuple[str, list[Visible]]:
        """SQL and result columns."""
        if query.with_:
            self._with.append({})
            for name, names, inner in query.with_:
                sql, columns = self.query(inner, None)
                if names and len(names) != len(columns):
                    raise OraError(32038, "number of WITH clause column names does not match number of elements", inner.at)
                self._with[-1][name] = (
                    sql,
                    [Visible(n, c.typed) for n, c in zip(names, columns, strict=True)] if names else columns,
                )
        try:
            body = query.body
            if isinstance(body, ast.Select):
                sql, columns = self._select(body, query.order_by, parent)
            else:
                sql, columns = self._compound(body, parent)
                if query.order_by:
                    sql = f"select * from ({sql}) order by {self._order_by_columns(query.order_by, columns)}"
        finally:
            if query.with_:
                self._with.pop()
        return self._limited(sql, query, columns), columns

    def _limited(self, sql: str, query: ast.Query, columns: list[Visible]) -> str:
        if query.fetch is None and query.offset is None:
            return sql
        limit = self._count(query.fetch) if query.fetch is not None else "-1"
        offset = self._count(query.offset) if query.offset is not None else "0"
        return f"select * from ({sql}) limit {limit} offset {offset}"

    def _count(self, expr: ast.Expr) -> str:
        return f"max(0,o_to_int({self.x.to(self.x.value(expr, None), Family.NUMBER, expr.at)}))"

    def _compound(self, body: ast.SetOperation | ast.Query | ast.Select, parent: Scope | None) -> tuple[str, list[Visible]]:
        if isinstance(body, ast.Select):
            return self._select(body, [], parent)
        if isinstance(body, ast.Query):
            return self.query(body, parent)
        left, left_columns = self._compound(body.left, parent)
        right, right_columns = self._compound(body.right, parent)
        if len(left_columns) != len(right_columns):
            raise OraError(1789, "query block has incorrect number of result columns", body.at)
        columns, items = [], []
        for n, (a, b) in enumerate(zip(left_columns, right_columns, strict=True)):
            try:
                kind = common_type([a.typed, b.typed], body.at)
            except OraError:
                raise OraError(1790, "expression must have same datatype as corresponding expression", body.at) from None
            columns.append(Visible(a.name, Typed(f"c{n}", kind, a.typed.nullable or b.typed.nullable)))
            sides = [self.x.to_type(Typed(f"c{n}", side.typed.type), kind, body.at) for side in (a, b)]
            items.append((f"{sides[0]} as c{n}", f"{sides[1]} as c{n}"))
        op = {"MINUS": "except"}.get(body.op, body.op.lower())
        first, second = (",".join(item[side] for item in items) for side in (0, 1))
        return f"select {first} from ({left}) {op} select {second} from ({right})", columns

    def _order_by_columns(self, order: list[ast.OrderItem], columns: list[Visible]) -> str:
        out = []
        for item in order:
            at = self._position(item.expr, columns)
            if at is None:
                raise OraError(904, "invalid identifier in ORDER BY of a set operation", item.expr.at)
            typed = columns[at].typed
            out.append(self._ordered(Typed(f"c{at}", typed.type, typed.nullable), item))
        return ",".join(out)

    def _position(self, expr: ast.Expr, columns: list[Visible]) -> int | None:
        """Result column an ORDER BY item names by number or alias."""
        if isinstance(expr, ast.Literal) and expr.kind == "N" and expr.text.isdigit():
            if not 1 <= int(expr.text) <= len(columns):
                raise OraError(1785, "ORDER BY item must be the number of a SELECT-list expression", expr.at)
            return int(expr.text) - 1
        if isinstance(expr, ast.Name) and len(expr.parts) == 1:
            return next((n for n, column in enumerate(columns) if column.name == expr.parts[0]), None)
        return None

    def _ordered(self, typed: Typed, item: ast.OrderItem) -> str:
        """NULLs come last ascending and first descending. A descending index scan could show a row twice: `+` forbids it."""
        sql = typed.vid[1] if typed.vid is not None else self.x.comparable(typed)
        first = item.descending if item.nulls_first is None else item.nulls_first
        text = f"+{sql} desc" if item.descending else sql
        return f"{text} nulls {'first' if first else 'last'}" if typed.nullable else text

    def _select(self, select: ast.Select, order: list[ast.OrderItem], parent: Scope | None) -> tuple[str, list[Visible]]:
        if nests_aggregates(select.items):
            select, order = unnested(select, order), []
        scope = Scope(parent=parent)
        viewed = len(self._viewed)
        source_sql = ",".join([self._relation(relation, scope) for relation in select.relations])
        if select.where is not None and len(select.relations) == 1 and isinstance(select.relations[0], ast.TableRef):
            self._conditions.update({alias: select.where for _, alias in self._viewed[viewed:]})
        where, limit = self.split_rownum(select.where)
        condition = f" where {self.x.condition(where, scope)}" if where is not None else ""
        grouped = bool(select.group_by) or select.having is not None or aggregated(select, order)
        # Without OFFSET SQLite merges the inner query into the outer one and sorts before it limits.
        tail = f" limit {limit} offset 0" if limit is not None else ""
        if limit is not None and (grouped or order or select.distinct):
            source_sql, scope = self._wrapped(f"{source_sql}{condition}{tail}", scope)
            condition = tail = ""
        if grouped:
            if uses_rownum(select.items):
                raise OraError(979, "not a GROUP BY expression", select.at)
        elif uses_rownum(select.items) or uses_rownum(order):
            scope.rownum = "o_int(row_number() over ())"
        return self._projected(select, order, scope, source_sql, condition, tail, grouped)

    def _projected(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        scope: Scope,
        source_sql: str,
        condition: str,
        tail: str,
        grouped: bool,
    ) -> tuple[str, list[Visible]]:
        groups = [self.x.value(expr, scope) for expr in select.group_by]
        self.x.aggregates_allowed = grouped
        try:
            columns: list[Visible] = []
            exprs: list[ast.Expr | None] = []
            for item in select.items:
                for column, expr in self._item(item, scope):
                    columns.append(column)
                    exprs.append(expr)
            having = f" having {self.x.condition(select.having, scope)}" if select.having is not None else ""
            ordering = self._ordering(select, order, columns, exprs, scope, grouped)
            if grouped:
                self._check_grouped(
                    [*[e for e in exprs if e], *([select.having] if select.having else [])], groups, select, scope
                )
                if any(e is None for e in exprs):
                    raise OraError(979, "not a GROUP BY expression", select.at)
        finally:
            self.x.aggregates_allowed = False
        items = ",".join(f"{column.typed.sql} as c{n}" for n, column in enumerate(columns))
        group_by = " group by " + ",".join(self.x.comparable(group) for group in groups) if groups else ""
        distinct = "distinct " if select.distinct else ""
        order_by = f" order by {','.join(ordering)}" if ordering else ""
        sql = f"select {distinct}{items} from {source_sql}{condition}{group_by}{having}{order_by}{tail}"
        result = [Visible(c.name, Typed(f"c{n}", c.typed.type, c.typed.nullable)) for n, c in enumerate(columns)]
        return sql, result

    def _ordering(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        columns: list[Visible],
        exprs: list[ast.Expr | None],
        scope: Scope,
        grouped: bool,
    ) -> list[str]:
        out = []
        aliased = [
            Visible(item.alias, self.x.value(item.expr, scope))
            for item in select.items
            if order and item.alias is not None and item.expr is not None
        ]
        ordering = Scope([Source((), aliased)], scope) if aliased else scope
        ordering.rownum = scope.rownum
        for item in order:
            at = self._position(item.expr, columns)
            typed = columns[at].typed if at is not None else self.x.value(item.expr, ordering)
            if select.distinct and all(typed.sql != column.typed.sql for column in columns):
                raise OraError(1791, "not a SELECTed expression", item.expr.at)
            if grouped and at is None:
                exprs.append(item.expr)
            out.append(self._ordered(typed, item))
        return out

    def _item(self, item: ast.Item, scope: Scope) -> Iterator[tuple[Visible, ast.Expr | None]]:
        if item.expr is not None:
            typed = self.x.value(item.expr, scope)
            name = item.alias
            if name is None:
                name = item.expr.parts[-1] if isinstance(item.expr, ast.Name) else item.heading
            yield Visible(name, Typed(typed.sql, typed.type, typed.nullable, typed.literal, typed.vid)), item.expr
            return
        sources = scope.named(item.star_of) if item.star_of else scope.sources
        if not sources:
            raise OraError(904, f'"{".".join(item.star_of)}": invalid identifier', item.at)
        for source in sources:
            for column in source.columns:
                if not column.hidden or item.star_of:
                    yield column, None

    def _check_grouped(self, exprs: list[ast.Expr], groups: list[Typed], select: ast.Select, scope: Scope) -> None:
        """What is neither grouped by nor aggregated: ORA-00979, or ORA-00937 without GROUP BY."""
        known = {group.sql for group in groups}
        for expr in exprs:
            culprit = self._ungrouped(expr, known, scope)
            if culprit is not None:
                if select.group_by:
                    raise OraError(979, "not a GROUP BY expression", culprit.at)
                raise OraError(937, "not a single-group group function", culprit.at)

    def _ungrouped(self, expr: ast.Expr, known: set[str], scope: Scope) -> ast.Expr | None:
        if isinstance(expr, ast.Call) and expr.name in AGGREGATES:
            return None
        if isinstance(expr, ast.Name):
            found = scope.resolve(expr)
            return expr if found is not None and found[1] is scope and found[0].sql not in known else None
        if (
            isinstance(expr, (ast.Call, ast.Binary, ast.Unary, ast.Case, ast.Cast))
            and self.x.value(expr, scope).sql in known
        ):
            return None
        for child in children(expr):
            culprit = self._ungrouped(child, known, scope)
            if culprit is not None:
                return culprit
        return None

    def split_rownum(self, where: ast.Expr | None) -> tuple[ast.Expr | None, str | None]:
        """Take `ROWNUM <= n` out of the conjunction as a limit; ROWNUM elsewhere in WHERE is refused."""
        if where is None:
            return None, None
        terms = where.operands if isinstance(where, ast.Logic) and where.op == "AND" else [where]
        kept: list[ast.Expr] = []
        limits: list[str] = []
        for term in terms:
            if not uses_rownum(term):
                kept.append(term)
                continue
            limits.append(self._rownum_limit(term))
        limit = limits[0] if len(limits) == 1 else f"min({','.join(limits)})" if limits else None
        if not kept:
            return None, limit
        return (kept[0] if len(kept) == 1 else ast.Logic("AND", kept, where.at)), limit

    def _rownum_limit(self, term: ast.Expr) -> str:
        if isinstance(term, ast.Compare):
            left, right, op = term.left, term.right, term.op
            if is_rownum(right):
                left, right = right, left
                op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
            if is_rownum(left) and not uses_rownum(right):
                value = self.x.to(self.x.value(right, None), Family.NUMBER, term.at)
                one = number.integer(1).hex()
                if op == "<=":
                    return f"max(0,o_to_int(o_floor({value})))"
                if op == "<":
                    return f"max(0,o_to_int(o_ceil({value}))-1)"
                if op == "=":
                    return f"({value}=x'{one}')"
                if op == ">=":
                    return f"(case when {value}<=x'{one}' then -1 else 0 end)"
                if op == ">":
                    return f"(case when {value}<x'{one}' then -1 else 0 end)"
        raise OraError(3001, "unimplemented feature: this use of ROWNUM in a condition", term.at)

    def _wrapped(self, sql: str, scope: Scope) -> tuple[str, Scope]:
        """The rows under their ROWNUM limit as one relation, because ORDER BY and GROUP BY come after it."""
        alias = f"w{next(self._aliases)}"
        items, sources, n = [], [], 0
        for source in scope.sources:
            columns = []
            for column in source.columns:
                items.append(f"{column.typed.sql} as c{n}")
                columns.append(
                    Visible(column.name, Typed(f"{alias}.c{n}", column.typed.type, column.typed.nullable), column.hidden)
                )
                n += 1
            vid = None
            if source.vid is not None:
                items.append(f"{source.vid[1]} as c{n}")
                vid = (source.vid[0], f"{alias}.c{n}")
                n += 1
            sources.append(Source(source.names, columns, vid, source.table))
        return f"(select {','.join(items)} from {sql}) {alias}", Scope(sources, scope.parent)
