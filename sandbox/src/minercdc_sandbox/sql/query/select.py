"""Translation of queries: WITH, set operations, grouping sets, OFFSET and FETCH around the blocks.

The result columns of every translated query are c0, c1, ..
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.execution import Plan, ViewUse
from minercdc_sandbox.sql.functions.arguments import common_type
from minercdc_sandbox.sql.query.blocks import Blocks
from minercdc_sandbox.sql.query.grouping import same, spread
from minercdc_sandbox.sql.scope import Scope, Typed, Visible
from minercdc_sandbox.sql.types import Family

# Nothing but columns of the one relation t1 that the statement has.
_PICKING = re.compile(r"select t1\.c\d+ as c\d+(?:,t1\.c\d+ as c\d+)* from(?= \"V\$LOGMNR_CONTENTS\" t1(?: where |$))")


@dataclass(slots=True)
class Queries(Blocks):
    """Translates the queries of one statement with their subqueries. It becomes the translator of subqueries for its `x`: make it
    before expressions with subqueries are translated."""

    def __post_init__(self) -> None:
        self.subquery = self.query
        self.x.subquery = self._subquery

    def plan(self, query: ast.Query) -> Plan:
        """The plan of a whole statement; call it once for an object. Raises as `query`."""
        sql, columns = self.query(query, None)
        described = tuple(column.typed.type.describe(column.name, column.typed.nullable) for column in columns)
        uses = self._uses(sql)
        picked = self._picked(query, sql)
        where = None
        if picked:
            sql = _PICKING.sub("select 1 from", sql)
            where = sql.partition(" where ")[2] or None
        return Plan(sql, described, self.x.parameters, bool(self.tables), self.tables, uses, picked, where)

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
        """How the query in the text `sql` reads each view that it names once, by name. An alias is unique in the statement, so
        its columns are found in the finished text."""
        names = [name for name, _ in self._viewed]
        return {
            name: ViewUse(
                name, frozenset(int(at) for at in re.findall(rf"\b{alias}\.c(\d+)\b", sql)), self._conditions.get(alias)
            )
            for name, alias in self._viewed
            if names.count(name) == 1
        }

    def _subquery(self, query: ast.Query, scope: Scope | None) -> tuple[str, list[Typed]]:
        with self.x.nested(analytic=False, aggregates=False), self.x.without_sequences(True):
            sql, columns = self.query(query, scope)
        return sql, [column.typed for column in columns]

    def query(self, query: ast.Query, parent: Scope | None) -> tuple[str, list[Visible]]:
        """SQL and result columns, named c0, c1, .., of a query. `parent`: the scope around it, None for none. Raises ORA-32038 to
        ORA-32040 and ORA-32486 for a CTE, ORA-00904 for ORDER BY of a set operation, ORA-03001 for WITH TIES and CONNECT BY with
        grouping sets, and as `Blocks.block`."""
        if query.with_:
            self._with.append({})
            for name, names, inner in query.with_:
                self._name_query(name, names, inner)
        try:
            body = query.body
            if isinstance(body, ast.Select) and body.grouping:
                return self._spread(query, body, parent)
            if isinstance(body, ast.Select):
                sql, columns = self.block(body, query.order_by, parent, ties=query.ties)
            else:
                sql, columns = self.compound(body, parent)
                if query.order_by:
                    order = self._order_by_columns(query.order_by, columns)
                    rank = f",rank() over (order by {order}) as ties" if query.ties else ""
                    sql = f"select *{rank} from ({sql}) order by {order}"
        finally:
            if query.with_:
                self._with.pop()
        return self._limited(sql, query, columns), columns

    def _name_query(self, name: str, names: list[str], inner: ast.Query) -> None:
        """Translate a query of WITH and note it under its name. Raises ORA-32038; for a recursive one ORA-32039 without column
        names, ORA-32040 without UNION ALL, and as `_recursive`."""
        body = inner.body
        if _reads(inner, name):
            if not names:
                raise OraError(32039, "recursive WITH clause must have column alias list", inner.at)
            if not isinstance(body, ast.SetOperation) or body.op != "UNION ALL" or _reads(body.left, name):
                raise OraError(32040, "recursive WITH clause must use a UNION ALL operation", inner.at)
            self._recursive(name, names, body)
            return
        sql, columns = self.query(inner, None)
        if names and len(names) != len(columns):
            raise OraError(32038, "number of WITH clause column names does not match number of elements", inner.at)
        if names:
            columns = [Visible(n, c.typed) for n, c in zip(names, columns, strict=True)]
        self._with[-1][name] = f"({sql})", columns

    def _recursive(self, name: str, names: list[str], body: ast.SetOperation) -> None:
        """Translate a recursive query of WITH and note it. The anchor decides the types; inside, the name means the rows of the
        step before. Raises ORA-32038, ORA-32486, and as `compound`."""
        anchor, columns = self.compound(body.left, None)
        if len(names) != len(columns):
            raise OraError(32038, "number of WITH clause column names does not match number of elements", body.at)
        step = body.right.body if isinstance(body.right, ast.Query) else body.right
        if not isinstance(step, ast.Select) or step.group_by or step.distinct or step.hierarchy:
            raise OraError(32486, "unsupported operation in recursive branch of recursive WITH clause", body.at)
        table = f"r{next(self._aliases)}"
        named = [Visible(n, replace(c.typed, nullable=True)) for n, c in zip(names, columns, strict=True)]
        self._with[-1][name] = table, named
        fitted = [column.typed.type for column in columns]
        again, _ = self.block(step, [], None, fitted=fitted)
        heads = ",".join(f"c{n}" for n in range(len(columns)))
        sql = f"(with recursive {table}({heads}) as ({anchor} union all {again}) select * from {table})"
        self._with[-1][name] = sql, named

    def _spread(self, query: ast.Query, select: ast.Select, parent: Scope | None) -> tuple[str, list[Visible]]:
        """SQL and result columns of a query with grouping sets; ORDER BY may name expressions that are not selected. Raises
        ORA-03001 as `query`, and as `spread` and `compound`."""
        if query.ties or select.hierarchy is not None:
            raise OraError(3001, "unimplemented feature: WITH TIES or CONNECT BY with grouping sets", select.at)
        shown = len(select.items)
        items = list(select.items)
        order = [replace(item, expr=_selected(item.expr, items)) for item in query.order_by]
        sql, columns = self.compound(spread(replace(select, items=items)), parent)
        if order:
            heads = ",".join(f"c{n}" for n in range(shown))
            sql = f"select {heads} from ({sql}) order by {self._order_by_columns(order, columns)}"
        return self._limited(sql, query, columns[:shown]), columns[:shown]

    def _limited(self, sql: str, query: ast.Query, columns: list[Visible]) -> str:
        """The SQL under OFFSET and FETCH, if there are any; WITH TIES compares the rank that the column `ties` is, PERCENT the
        number of rows there are. Raises as `Expressions.value` and `Conversions.to`."""
        if query.fetch is None and query.offset is None:
            return sql
        heads = ",".join(f"c{n}" for n in range(len(columns)))
        # "If offset is NULL .. then 0 rows are returned", and for a NULL count, too (SQL Language Reference, row_limiting_clause).
        offset = self._count(query.offset, null=1 << 62) if query.offset is not None else "0"
        if not query.percent and not query.ties:
            limit = self._count(query.fetch) if query.fetch is not None else "-1"
            return f"select {heads} from ({sql}) limit {limit} offset {offset}"
        assert query.fetch is not None
        wanted = self._count(query.fetch)
        if query.percent:
            share = self.x.to(self.x.value(query.fetch, None), Family.NUMBER, query.fetch.at)
            wanted = f"o_to_int(o_ceil(o_div(o_mul({share},o_int(total)),x'c202')))"
        inner = f"select *,row_number() over () as place,count(*) over () as total from ({sql})"
        # With ties, the rows that rank no later than the row at the limit belong to it.
        last = "ties" if query.ties and query.order_by else "place"
        return f"select {heads} from ({inner}) where place>{offset} and {last}<={offset}+{wanted}"

    def _count(self, expr: ast.Expr, *, null: int = 0) -> str:
        return f"ifnull(max(0,o_to_int({self.x.to(self.x.value(expr, None), Family.NUMBER, expr.at)})),{null})"

    def compound(self, body: ast.SetOperation | ast.Query | ast.Select, parent: Scope | None) -> tuple[str, list[Visible]]:
        """SQL and result columns of a set operation, or of one of its sides; its columns have the names of the first query.
        Raises ORA-00928 for MINUS ALL and INTERSECT ALL before 21c, ORA-01789, ORA-01790, ORA-00932 for LOBs, and as `query` and
        `block`."""
        if isinstance(body, ast.Select):
            return self.block(body, [], parent)
        if isinstance(body, ast.Query):
            return self.query(body, parent)
        left, left_columns = self.compound(body.left, parent)
        right, right_columns = self.compound(body.right, parent)
        if body.op in _MULTISETS and self.x.env.release < 21:
            raise OraError(928, "missing SELECT keyword", body.at)
        if len(left_columns) != len(right_columns):
            raise OraError(1789, "query block has incorrect number of result columns", body.at)
        columns, items = [], []
        for n, (a, b) in enumerate(zip(left_columns, right_columns, strict=True)):
            try:
                kind = common_type([a.typed, b.typed], body.at)
            except OraError:
                raise OraError(1790, "expression must have same datatype as corresponding expression", body.at) from None
            if body.op != "UNION ALL":
                self.x.comparable(Typed("", kind))
            columns.append(Visible(a.name, Typed(f"c{n}", kind, a.typed.nullable or b.typed.nullable)))
            sides = [self.x.to_type(Typed(f"c{n}", side.typed.type), kind, body.at) for side in (a, b)]
            items.append((f"{sides[0]} as c{n}", f"{sides[1]} as c{n}"))
        first, second = (",".join(item[side] for item in items) for side in (0, 1))
        if body.op in _MULTISETS:
            heads = ",".join(f"c{n}" for n in range(len(items)))
            # The n-th of equal rows meets the n-th of the other side.
            numbered = [
                f"select *,row_number() over (partition by {heads}) as copy from (select {side} from ({rows}))"
                for side, rows in ((first, left), (second, right))
            ]
            return f"select {heads} from ({f' {_MULTISETS[body.op]} '.join(numbered)})", columns
        op = {"MINUS": "except"}.get(body.op, body.op.lower())
        return f"select {first} from ({left}) {op} select {second} from ({right})", columns

    def _order_by_columns(self, order: list[ast.OrderItem], columns: list[Visible]) -> str:
        out = []
        for item in order:
            at = self.position(item.expr, columns)
            if at is None:
                raise OraError(904, "invalid identifier in ORDER BY of a set operation", item.expr.at)
            typed = columns[at].typed
            out.append(self.x.ordering(Typed(f"c{at}", typed.type, typed.nullable), item))
        return ",".join(out)


_MULTISETS = {"MINUS ALL": "except", "INTERSECT ALL": "intersect"}
"""Set operations that count equal rows (SQL Language Reference, The Set Operators; since 21c), by SQLite's."""


def _reads(node: object, name: str) -> bool:
    """Whether a query names this relation without an owner, subqueries included."""
    if isinstance(node, ast.TableRef):
        return node.owner is None and node.name == name
    if isinstance(node, (list, tuple)):
        return any(_reads(one, name) for one in node)
    return is_dataclass(node) and any(_reads(getattr(node, part.name), name) for part in fields(node))


def _selected(expr: ast.Expr, items: list[ast.Item]) -> ast.Expr:
    """An ORDER BY expression as the position of a select item, which is added to `items` when there is none; a number or alias as
    it is."""
    if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.NUMBER:
        return expr
    if isinstance(expr, ast.Name) and len(expr.parts) == 1 and any(item.alias == expr.parts[0] for item in items):
        return expr
    for n, item in enumerate(items):
        if item.expr is not None and same(item.expr, expr):
            return ast.Literal(ast.LiteralKind.NUMBER, str(n + 1), expr.at)
    items.append(ast.Item(expr, None, f"order {len(items)}", at=expr.at))
    return ast.Literal(ast.LiteralKind.NUMBER, str(len(items)), expr.at)
