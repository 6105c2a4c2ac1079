"""Translation of one SELECT: hierarchy, WHERE with its ROWNUM limit, grouping, select list and ORDER BY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.query.grouping import check_grouped, spread
from minercdc_sandbox.sql.query.hierarchy import Tree, moved, plant
from minercdc_sandbox.sql.query.pivots import Pivots
from minercdc_sandbox.sql.query.rownum import split_rownum
from minercdc_sandbox.sql.query.trees import (
    aggregated,
    conjunction,
    conjuncts,
    nests_aggregates,
    unnested,
    uses_rownum,
)
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc_sandbox.sql.types import NUMBER, SqlType

_TREE = "\x02tree\x02"
"""Stands for the relation of a hierarchical query until its expressions are known."""

_FLAGS = ("CONNECT_BY_ISLEAF", "CONNECT_BY_ISCYCLE")


@dataclass(slots=True)
class Blocks(Pivots):
    """Translates query blocks; the layer of `select.Queries` between `Pivots` and whole queries."""

    def position(self, expr: ast.Expr, columns: list[Visible]) -> int | None:
        """Index, from 0, of the result column that an ORDER BY item gives by number or name; None for any other item. Raises
        ORA-01785."""
        if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.NUMBER and expr.text.isdecimal():
            if not 1 <= int(expr.text) <= len(columns):
                raise OraError(1785, "ORDER BY item must be the number of a SELECT-list expression", expr.at)
            return int(expr.text) - 1
        if isinstance(expr, ast.Name) and len(expr.parts) == 1:
            return next((n for n, column in enumerate(columns) if column.name == expr.parts[0]), None)
        return None

    def block(
        self,
        select: ast.Select,
        order: list[ast.OrderItem],
        parent: Scope | None,
        *,
        ties: bool = False,
        fitted: list[SqlType] | None = None,
    ) -> tuple[str, list[Visible]]:
        """SQL and result columns, named c0, c1, .., of one SELECT with its ORDER BY. Raises ORA-00979 and ORA-00937 as
        `check_grouped`, ORA-01791, ORA-30930, as `from_clause`, `plant`, `Expressions.value` and `Conditions.condition`.

        :param parent: the scope of the query around it; None for none.
        :param ties: the rows also have a column `ties`, their rank in ORDER BY, if there is one.
        :param fitted: types that the columns are converted to; None: none. Raises ORA-01789, ORA-01790 if they cannot be.
        """
        if select.grouping:
            return self.subquery(ast.Query(spread(select), at=select.at), parent)
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
        block = self._filtered(select, order, scope, source, where, ties, fitted)
        if tree is None:
            return block
        return block[0].replace(_TREE, tree.sql()), block[1]

    def _joined_first(
        self, select: ast.Select, source: str, where: ast.Expr | None, scope: Scope
    ) -> tuple[str, ast.Expr | None]:
        """Relations and remaining condition of a hierarchical SELECT: a join in WHERE comes before CONNECT BY, the other
        conditions after it. Raises as `Conditions.condition`."""
        if len(select.relations) < 2:
            return source, where
        joined = conjunction([term for term in conjuncts(where) if not _hierarchical(term)])
        if joined is None:
            return source, where
        after = conjunction([term for term in conjuncts(where) if _hierarchical(term)])
        return f"{source} where {self.x.condition(joined, scope)}", after

    def _filtered(
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
        elif uses_rownum([*select.items, *order]):
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
        self.x.note_drawn(select.items)
        with self.x.nested(analytic=True, aggregates=grouped):
            found = [one for item in select.items for one in self.item_columns(item, scope)]
        columns, exprs = [column for column, _ in found], [expr for _, expr in found]
        having = ""
        with self.x.nested(analytic=False, aggregates=grouped):
            if select.having is not None:
                having = f" having {self.x.condition(select.having, scope)}"
        with self.x.nested(analytic=True, aggregates=grouped):
            ordering = self._ordering(select, order, columns, exprs, scope, grouped)
            if grouped:
                check_grouped(self.x, [e for e in [*exprs, select.having] if e], groups, select, scope)
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
        """The columns of a recursive branch in the anchor's types. Raises ORA-01789, ORA-01790, and as `Conversions.to_type`."""
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
            at = self.position(item.expr, columns)
            typed = columns[at].typed if at is not None else self.x.value(item.expr, ordering)
            if select.distinct and all(typed.sql != column.typed.sql for column in columns):
                raise OraError(1791, "not a SELECTed expression", item.expr.at)
            if grouped and at is None:
                exprs.append(item.expr)
            out.append(self.x.ordering(typed, item))
        return out

    def item_columns(self, item: ast.Item, scope: Scope) -> Iterator[tuple[Visible, ast.Expr | None]]:
        """The columns of a select item, each with its expression; of `*` those of the relations that it shows, with None. Raises
        ORA-00904, and the errors of the expression."""
        if item.expr is not None:
            typed = self.x.value(item.expr, scope)
            name = item.alias
            if name is None:
                name = item.expr.parts[-1] if isinstance(item.expr, ast.Name) else item.heading
            yield Visible(name, typed), item.expr
            return
        sources = scope.named(item.star_of) if item.star_of else scope.sources
        if not sources:
            raise OraError(904, f'"{".".join(item.star_of)}": invalid identifier', item.at)
        for source in sources:
            for column in source.columns:
                if not column.invisible and (not column.hidden or item.star_of):
                    yield column, None

    def _wrapped(self, sql: str, scope: Scope) -> tuple[str, Scope]:
        """The rows under their ROWNUM limit as one relation with a scope of its own, because ORDER BY and GROUP BY come after it."""
        alias = f"w{next(self._aliases)}"
        items, sources = moved(scope.sources, alias)
        pseudo = dict(scope.pseudo)
        for name, typed in pseudo.items():
            items.append(typed.sql)
            pseudo[name] = Typed(f"{alias}.c{len(items) - 1}", typed.type, typed.nullable)
        heads = ",".join(f"{item} as c{n}" for n, item in enumerate(items))
        return f"(select {heads} from {sql}) {alias}", Scope(sources, scope.parent, pseudo)


def _mentions(select: ast.Select, where: ast.Expr | None, order: list[ast.OrderItem], name: str) -> bool:
    nodes = ast.descendants([*select.items, where, *order, *select.group_by, select.having])
    return any(isinstance(node, ast.Name) and node.parts == (name,) for node in nodes)


def _hierarchical(term: ast.Expr) -> bool:
    special = {"LEVEL", *_FLAGS}
    return any(
        isinstance(node, ast.Parent) or (isinstance(node, ast.Name) and node.parts[-1] in special)
        for node in ast.descendants(term)
    ) or not any(isinstance(node, ast.Compare) for node in ast.descendants(term))
