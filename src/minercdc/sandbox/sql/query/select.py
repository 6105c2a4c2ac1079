"""Queries to SQLite: grouping, set operations, ROWNUM, FETCH.

Every translated query names its columns c0, c1, ..; the one around it refers to them by these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.functions.arguments import common_type
from minercdc.sandbox.sql.query.grouping import check_grouped, same, spread
from minercdc.sandbox.sql.query.hierarchy import Tree, moved, plant
from minercdc.sandbox.sql.query.pivots import Pivots
from minercdc.sandbox.sql.query.plan import Plan
from minercdc.sandbox.sql.query.rownum import split_rownum
from minercdc.sandbox.sql.query.trees import (
    aggregated,
    conjunction,
    conjuncts,
    descendants,
    nests_aggregates,
    unnested,
    uses_rownum,
)
from minercdc.sandbox.sql.runtime import ViewUse
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.types import NUMBER, Family, SqlType

# Nothing but columns of the one relation t1 that the statement has.
_PICKING = re.compile(r"select t1\.c\d+ as c\d+(?:,t1\.c\d+ as c\d+)* from(?= \"V\$LOGMNR_CONTENTS\" t1(?: where |$))")


@dataclass(slots=True)
class Queries(Pivots):
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
        allowed, self.x.sequences_allowed = self.x.sequences_allowed, False
        try:
            with self.x.nested(analytic=False, aggregates=False):
                sql, columns = self.query(query, scope)
        finally:
            self.x.sequences_allowed = allowed
        return sql, [column.typed for column in columns]

    def query(self, query: ast.Query, parent: Scope | None) -> tuple[str, list[Visible]]:
        """SQL and result columns."""
        if query.with_:
            self._with.append({})
            for name, names, inner in query.with_:
                self._name_query(name, names, inner)
        try:
            body = query.body
            if isinstance(body, ast.Select) and body.grouping:
                return self._spread(query, body, parent)
            if isinstance(body, ast.Select):
                sql, columns = self._select(body, query.order_by, parent, ties=query.ties)
            else:
                sql, columns = self._compound(body, parent)
                if query.order_by:
                    order = self._order_by_columns(query.order_by, columns)
                    rank = f",rank() over (order by {order}) as ties" if query.ties else ""
                    sql = f"select *{rank} from ({sql}) order by {order}"
        finally:
            if query.with_:
                self._with.pop()
        return self._limited(sql, query, columns), columns

    def _name_query(self, name: str, names: list[str], inner: ast.Query) -> None:
        """Note a query of WITH. Raises ORA-32038, ORA-32039 for a recursive one without column names."""
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
        """The anchor decides the types; inside, the name means the rows of the step before."""
        anchor, columns = self._compound(body.left, None)
        if len(names) != len(columns):
            raise OraError(32038, "number of WITH clause column names does not match number of elements", body.at)
        step = body.right.body if isinstance(body.right, ast.Query) else body.right
        if not isinstance(step, ast.Select) or step.group_by or step.distinct or step.hierarchy:
            raise OraError(32486, "unsupported operation in recursive branch of recursive WITH clause", body.at)
        table = f"r{next(self._aliases)}"
        named = [Visible(n, replace(c.typed, nullable=True)) for n, c in zip(names, columns, strict=True)]
        self._with[-1][name] = table, named
        fitted = [column.typed.type for column in columns]
        again, _ = self._select(step, [], None, fitted=fitted)
        heads = ",".join(f"c{n}" for n in range(len(columns)))
        sql = f"(with recursive {table}({heads}) as ({anchor} union all {again}) select * from {table})"
        self._with[-1][name] = sql, named

    def _spread(self, query: ast.Query, select: ast.Select, parent: Scope | None) -> tuple[str, list[Visible]]:
        """Grouping sets; ORDER BY may name expressions that are not selected."""
        if query.ties or select.hierarchy is not None:
            raise OraError(3001, "unimplemented feature: WITH TIES or CONNECT BY with grouping sets", select.at)
        shown = len(select.items)
        items = list(select.items)
        order = [replace(item, expr=_selected(item.expr, items)) for item in query.order_by]
        sql, columns = self._compound(spread(replace(select, items=items)), parent)
        if order:
            heads = ",".join(f"c{n}" for n in range(shown))
            sql = f"select {heads} from ({sql}) order by {self._order_by_columns(order, columns)}"
        return self._limited(sql, query, columns[:shown]), columns[:shown]

    def _limited(self, sql: str, query: ast.Query, columns: list[Visible]) -> str:
        """OFFSET and FETCH; WITH TIES compares the rank that `ties` is, PERCENT the number of rows there are."""
        if query.fetch is None and query.offset is None:
            return sql
        heads = ",".join(f"c{n}" for n in range(len(columns)))
        offset = self._count(query.offset) if query.offset is not None else "0"
        if not query.percent and not query.ties:
            limit = self._count(query.fetch) if query.fetch is not None else "-1"
            return f"select {heads} from ({sql}) limit {limit} offset {offset}"
        assert query.fetch is not None
        wanted = self._count(query.fetch)
        if query.percent:
            share = self.x.to(self.x.value(query.fetch, None), Family.NUMBER, query.fetch.at)
            wanted = f"o_to_int(o_ceil(o_div(o_mul({share},o_int(total)),x'c202')))"
        inner = f"select *,row_number() over () as place,count(*) over () as total from ({sql})"
        if query.ties and query.order_by:
            # The last row's rank is that of the row at the limit: whoever ranks no later belongs to it.
            return f"select {heads} from ({inner}) where place>{offset} and ties<={offset}+{wanted}"
        return f"select {heads} from ({inner}) where place>{offset} and place<={offset}+{wanted}"

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
            if body.op != "UNION ALL":
                self.x.comparable(Typed("", kind))
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
        return self.x.ordering(typed, item.descending, item.nulls_first)

    def _select(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        parent: Scope | None,
        *,
        ties: bool = False,
        fitted: list[SqlType] | None = None,
    ) -> tuple[str, list[Visible]]:
        """One SELECT. `ties` adds the rank of each row in ORDER BY; `fitted` are types its columns must have."""
        if select.grouping:
            return self._compound(spread(select), parent)
        if nests_aggregates(select.items):
            select, order = unnested(select, order), []
        scope = Scope(parent=parent)
        viewed = len(self._viewed)
        source, where = self.from_clause(select, scope)
        if where is not None and len(select.relations) == 1 and isinstance(select.relations[0], ast.TableRef):
            self._conditions.update({alias: where for _, alias in self._viewed[viewed:]})
        tree: Tree | None = None
        if select.hierarchy is not None:
            source, where = self._joined_first(select, source, where, scope)
            tree = plant(self.x, select.hierarchy, source, scope, self.alias())
            tree.leaf, tree.cycle = (_mentions(select, where, order, name) for name in _FLAGS)
            if tree.cycle and not select.hierarchy.nocycle:
                raise OraError(
                    30930, "NOCYCLE keyword is required with CONNECT_BY_ISCYCLE pseudocolumn", select.hierarchy.at
                )
            source, scope = _TREE, tree.outer()
        block = self._block(select, order, scope, source, where, ties, fitted)
        if tree is None:
            return block
        return block[0].replace(_TREE, tree.sql()), block[1]

    def _joined_first(
        self, select: ast.Select, source: str, where: ast.Expr | None, scope: Scope
    ) -> tuple[str, ast.Expr | None]:
        """A join in WHERE comes before CONNECT BY, the other conditions after it."""
        if len(select.relations) < 2:
            return source, where
        before = [term for term in conjuncts(where) if not _hierarchical(term)]
        after = [term for term in conjuncts(where) if _hierarchical(term)]
        joined = conjunction(before)
        if joined is None:
            return source, where
        return f"{source} where {self.x.condition(joined, scope)}", conjunction(after)

    def _block(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        scope: Scope,
        source: str,
        where: ast.Expr | None,
        ties: bool,
        fitted: list[SqlType] | None,
    ) -> tuple[str, list[Visible]]:
        with self.x.nested(analytic=False, aggregates=False), self.x.without_sequences(True):
            where, limit = split_rownum(self.x, where)
            condition = f" where {self.x.condition(where, scope)}" if where is not None else ""
        grouped = bool(select.group_by) or select.grouping == [] or select.having is not None or aggregated(select, order)
        # Without OFFSET SQLite merges the inner query into the outer one and sorts before it limits.
        tail = f" limit {limit} offset 0" if limit is not None else ""
        if limit is not None and (grouped or order or select.distinct):
            source, scope = self._wrapped(f"{source}{condition}{tail}", scope)
            condition = tail = ""
        if grouped:
            if uses_rownum(select.items):
                raise OraError(979, "not a GROUP BY expression", select.at)
        elif uses_rownum(select.items) or uses_rownum(order):
            scope.pseudo["ROWNUM"] = Typed("o_int(row_number() over ())", NUMBER, False)
        with self.x.without_sequences(grouped or select.distinct or bool(order)):
            return self._projected(select, order, scope, f"{source}{condition}", tail, grouped, ties, fitted)

    def _projected(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        scope: Scope,
        source: str,
        tail: str,
        grouped: bool,
        ties: bool,
        fitted: list[SqlType] | None,
    ) -> tuple[str, list[Visible]]:
        with self.x.nested(analytic=False, aggregates=False):
            groups = [self.x.value(expr, scope) for expr in select.group_by]
        columns: list[Visible] = []
        exprs: list[ast.Expr | None] = []
        self.x.note_drawn(select.items)
        with self.x.nested(analytic=True, aggregates=grouped):
            for item in select.items:
                for column, expr in self._item(item, scope):
                    columns.append(column)
                    exprs.append(expr)
        having = ""
        with self.x.nested(analytic=False, aggregates=grouped):
            if select.having is not None:
                having = f" having {self.x.condition(select.having, scope)}"
        with self.x.nested(analytic=True, aggregates=grouped):
            ordering = self._ordering(select, order, columns, exprs, scope, grouped)
            if grouped:
                having_ = [select.having] if select.having else []
                check_grouped(self.x, [*[e for e in exprs if e], *having_], groups, select, scope)
                if any(e is None for e in exprs):
                    raise OraError(979, "not a GROUP BY expression", select.at)
        if fitted is not None:
            columns = self._fitted(columns, fitted, select.at)
        items = ",".join(f"{column.typed.sql} as c{n}" for n, column in enumerate(columns))
        if ties and ordering:
            items += f",rank() over (order by {','.join(ordering)}) as ties"
        group_by = " group by " + ",".join(self.x.comparable(group) for group in groups) if groups else ""
        for column in columns if select.distinct else ():
            self.x.comparable(column.typed)  # LOBs and LONGs are not
        distinct = "distinct " if select.distinct else ""
        order_by = f" order by {','.join(ordering)}" if ordering else ""
        sql = f"select {distinct}{items} from {source}{group_by}{having}{order_by}{tail}"
        result = [Visible(c.name, Typed(f"c{n}", c.typed.type, c.typed.nullable)) for n, c in enumerate(columns)]
        return sql, result

    def _fitted(self, columns: list[Visible], kinds: list[SqlType], at: int) -> list[Visible]:
        """The recursive branch in the anchor's types. Raises ORA-01789, ORA-01790."""
        if len(columns) != len(kinds):
            raise OraError(1789, "query block has incorrect number of result columns", at)
        found = []
        for column, kind in zip(columns, kinds, strict=True):
            try:
                found.append(replace(column, typed=Typed(self.x.to_type(column.typed, kind, at), kind)))
            except OraError:
                raise OraError(1790, "expression must have same datatype as corresponding expression", at) from None
        return found

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
        ordering.pseudo, ordering.prior, ordering.root, ordering.calls = scope.pseudo, scope.prior, scope.root, scope.calls
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

    def _wrapped(self, sql: str, scope: Scope) -> tuple[str, Scope]:
        """The rows under their ROWNUM limit as one relation, because ORDER BY and GROUP BY come after it."""
        alias = f"w{next(self._aliases)}"
        items, sources = moved(scope.sources, alias)
        pseudo = dict(scope.pseudo)
        for name, typed in pseudo.items():
            items.append(typed.sql)
            pseudo[name] = Typed(f"{alias}.c{len(items) - 1}", typed.type, typed.nullable)
        heads = ",".join(f"{item} as c{n}" for n, item in enumerate(items))
        return f"(select {heads} from {sql}) {alias}", Scope(sources, scope.parent, pseudo)


_TREE = "\x02tree\x02"
"""Stands for the relation of a hierarchical query until its expressions are known."""

_FLAGS = ("CONNECT_BY_ISLEAF", "CONNECT_BY_ISCYCLE")


def _mentions(select: ast.Select, where: ast.Expr | None, order: list[ast.OrderItem], name: str) -> bool:
    nodes = descendants([*select.items, where, *order, *select.group_by, select.having])
    return any(isinstance(node, ast.Name) and node.parts == (name,) for node in nodes)


def _hierarchical(term: ast.Expr) -> bool:
    special = {"LEVEL", *_FLAGS}
    return any(
        isinstance(node, ast.Parent) or (isinstance(node, ast.Name) and node.parts[-1] in special)
        for node in descendants(term)
    ) or not any(isinstance(node, ast.Compare) for node in descendants(term))


def _reads(node: object, name: str) -> bool:
    """Whether a query reads a relation of this name, subqueries included."""
    if isinstance(node, ast.TableRef):
        return node.owner is None and node.name == name
    if isinstance(node, (list, tuple)):
        return any(_reads(one, name) for one in node)
    return is_dataclass(node) and any(_reads(getattr(node, part.name), name) for part in fields(node))


def _selected(expr: ast.Expr, items: list[ast.Item]) -> ast.Expr:
    """An ORDER BY expression as the position of a select item, which is added when there is none."""
    if isinstance(expr, ast.Literal) and expr.kind == "N":
        return expr
    if isinstance(expr, ast.Name) and len(expr.parts) == 1 and any(item.alias == expr.parts[0] for item in items):
        return expr
    for n, item in enumerate(items):
        if item.expr is not None and same(item.expr, expr):
            return ast.Literal("N", str(n + 1), expr.at)
    items.append(ast.Item(expr, None, f"order {len(items)}", at=expr.at))
    return ast.Literal("N", str(len(items)), expr.at)
