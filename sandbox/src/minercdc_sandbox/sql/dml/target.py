"""The target of a DML statement: a table, or through a simple view the table below it, and how values are stored into it.

A view can be changed when it selects from one table without DISTINCT, grouping, set operations or ROWNUM (ORA-01732; of joins
see `join_views`); its columns that are expressions cannot (ORA-01733), nor anything of one WITH READ ONLY (ORA-42399).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.objects import StoredView
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.convert import Conversion
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.query.names import find_relation
from minercdc_sandbox.sql.query.trees import aggregated, uses_rownum
from minercdc_sandbox.sql.query.versions import row_scn
from minercdc_sandbox.sql.scope import Scope, Source, Visible
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.translate.tables import stored_columns
from minercdc_sandbox.tables import Column, Table

BindRow: TypeAlias = "tuple[Cell, ...]"


@dataclass(slots=True)
class ChangeTarget:
    """The target of DML: a table, or a view or subquery that stands for one.

    :param table: the table that is changed.
    :param columns: of the target, with the column of the table that each is; None for an expression.
    :param names: by which the statement may qualify columns; `inner`: those of the view's own query.
    :param where: conditions of the view and of views below it.
    :param view: None for a table or subquery.
    :param computed: columns that are expressions, in the names of `below`.
    :param below: the target of the view's own query; None for a table.
    """

    table: Table
    columns: dict[str, str | None]
    names: tuple[tuple[str, ...], ...]
    where: list[ast.Expr] = field(default_factory=list)
    view: StoredView | None = None
    inner: tuple[str, ...] = ()
    computed: dict[str, ast.Expr] = field(default_factory=dict)
    below: ChangeTarget | None = None

    @property
    def through(self) -> bool:
        """Whether it is a view or subquery, not a table."""
        return self.below is not None

    def shown(self) -> list[str]:
        """The target's columns of `*`, in order: of a table all but INVISIBLE ones."""
        invisible = {c.name for c in self.table.all_columns() if c.invisible} if not self.through else set()
        return [name for name in self.columns if name not in invisible]

    def position(self, name: str, at: int) -> int:
        """0-based position in the table of a column of the target that may be assigned; `at` is its offset in the text. Raises
        ORA-00904, ORA-01733 for an expression, ORA-54017 for virtual columns."""
        if name not in self.columns:
            raise OraError(904, f'"{name}": invalid identifier', at)
        below = self.columns[name]
        if below is None:
            raise OraError(1733, "virtual column not allowed here", at)
        if any(column.name == below for _, column in self.table.virtual):
            raise OraError(54017, "UPDATE operation disallowed on virtual columns", at)
        return self.table.position(below)

    def scope(self, x: Expressions, alias: str, *, by_position: bool = False) -> Scope:
        """The scope of the columns of one row, in the row source `alias`, by the names of the statement. Raises as
        `stored_columns`.

        :param by_position: the row source has columns c0, c1, .. by position, not by slot.
        """
        below = stored_columns(x, self.table, self.names, alias, by_position=by_position)
        columns = below
        if self.through:
            named = {column.name: column for column in below}
            columns = [replace(named[b], name=name) for name, b in self.columns.items() if b is not None]
            columns += self._computed(x, alias, by_position)
        vid = (self.table.row_ids(), f"{alias}.vid")
        pseudo = {} if by_position or self.through else {"ORA_ROWSCN": row_scn(self.table, alias, x.snapshot)}
        return Scope([Source(self.names, columns, vid, self.table, pseudo)])

    def _computed(self, x: Expressions, alias: str, by_position: bool) -> list[Visible]:
        if not self.computed:
            return []
        assert self.below is not None
        [source] = self.below.scope(x, alias, by_position=by_position).sources
        inner = Scope([replace(source, names=((self.below.table.name,), self.inner))])
        return [Visible(name, replace(x.value(expr, inner), vid=None)) for name, expr in self.computed.items()]

    def condition(self, x: Expressions, alias: str) -> list[str]:
        """SQL of each of the conditions in `where`, over the row source `alias`; [] for a table. Raises as `Conditions.condition`."""
        below = stored_columns(x, self.table, self.names, alias)
        scope = Scope([Source(((self.table.name,), self.inner), below, None, self.table)])
        return [x.condition(term, scope) for term in self.where]


def conversion(env: Environment, table: Table | None = None) -> Conversion:
    """Settings of implicit conversions as of today; new LOBs belong to the segment of `table`, without it they are temporary ones."""
    return Conversion(env.nls, date.today(), env.lobs, table.data_object_id if table is not None else 0)


def change_target(env: Environment, ref: ast.TableRef, privilege: str) -> ChangeTarget:
    """The target that a reference names, once the user may change it (`privilege`). Raises as `find_relation`, ORA-01732 for
    DUAL, ORA-02030 for a dictionary view, ORA-12081 for a read-only table, ORA-14501, and of views ORA-01732, ORA-42399,
    ORA-03001."""
    if ref.inline is not None:
        return _through(env, ref.inline, ref, privilege)
    found = find_relation(env, ref.owner, ref.name, ref.at, privilege)
    if ref.partition is not None and (not isinstance(found, Table) or found.partitioning is None):
        raise OraError(14501, "object is not partitioned", ref.partition.at)
    if isinstance(found, Table):
        if found.read_only:
            raise OraError(12081, f'update operation not allowed on table "{found.owner}"."{found.name}"', ref.at)
        names = ((ref.alias,),) if ref.alias else ((ref.name,), (found.owner, ref.name))
        return ChangeTarget(found, {c.name: c.name for c in found.shown_columns()}, names)
    if isinstance(found, StoredView):
        return _below(env, found, ref)
    raise OraError(1732 if found is None else 2030, "data manipulation operation not legal on this view", ref.at)


def _below(env: Environment, view: StoredView, ref: ast.TableRef) -> ChangeTarget:
    """The target of a view, or of a view on a view, with the rights of its owner. Raises ORA-42399 for a read-only view, and as
    `_through`."""
    if view.read_only:
        raise OraError(42399, "cannot perform a DML operation on a read-only view", ref.at)
    owner_env = replace(env, schema=view.owner, user=view.owner)
    return _through(owner_env, Parser(view.text).query(), ref, "SELECT", view)


def _through(
    env: Environment, query: ast.Query, ref: ast.TableRef, privilege: str, view: StoredView | None = None
) -> ChangeTarget:
    """The target of a query that DML goes through; `env` is of who may see the table below. Raises ORA-01732 for a query that
    cannot be changed, ORA-03001 for joins, PARTITION and AS OF, and as `change_target`."""
    select = query.body
    illegal = OraError(1732, "data manipulation operation not legal on this view", ref.at)
    if not isinstance(select, ast.Select) or query.fetch is not None or query.with_:
        raise illegal
    if select.distinct or select.group_by or select.having or select.hierarchy or aggregated(select, []):
        raise illegal
    if uses_rownum([select.where, *select.items]):
        raise illegal
    if len(select.relations) > 1 or isinstance(select.relations[0], ast.Join):
        # UPDATE and DELETE of a join have their own plan, but not a view on one
        raise OraError(3001, "unimplemented feature: INSERT, MERGE or a view on a view through a join", ref.at)
    base = select.relations[0]
    if not isinstance(base, ast.TableRef):
        raise illegal
    if base.partition is not None or base.as_of is not None or base.versions is not None:
        raise OraError(3001, "unimplemented feature: DML through a view of a PARTITION or of the past", ref.at)
    below = change_target(env, replace(base, at=ref.at), privilege)
    columns: dict[str, str | None] = {}
    computed: dict[str, ast.Expr] = {}
    names = iter(view.columns if view is not None else _names(select, below))
    for item in select.items:
        if item.expr is None:
            columns.update({next(names): below.columns[name] for name in below.shown()})
        else:
            plain = isinstance(item.expr, ast.Name) and item.expr.parts[-1] in below.columns
            name = next(names)
            columns[name] = below.columns[item.expr.parts[-1]] if plain else None  # type: ignore[union-attr]
            if not plain:
                computed[name] = item.expr
    where = [*below.where, *([select.where] if select.where is not None else [])]
    shown: tuple[tuple[str, ...], ...] = ((ref.alias,),) if ref.alias else ((ref.name,),)
    if view is not None and not ref.alias:
        shown = ((ref.name,), (view.owner, ref.name))
    return ChangeTarget(below.table, columns, shown, where, view, (base.alias or base.name,), computed, below)


def _names(select: ast.Select, below: ChangeTarget) -> Iterator[str]:
    """Names of the columns of a subquery, in order, as the statement knows them."""
    for item in select.items:
        if item.expr is None:
            yield from below.shown()
        else:
            yield item.alias or (item.expr.parts[-1] if isinstance(item.expr, ast.Name) else item.heading)


def target_table(env: Environment, owner: str | None, name: str, at: int, privilege: str = "ALTER") -> Table:
    """The table that a DDL or LOCK TABLE names, not the session's copy of a temporary one. Raises ORA-00942 for a view, and as
    `find_relation`, with `at` as position."""
    found = find_relation(env, owner, name, at, privilege)
    if isinstance(found, Table):
        return env.catalog.table(found.container, found.owner, found.name) or found
    raise OraError(942, "table or view does not exist", at)


def column_path(table: Table, column: Column) -> str:
    """A column's name as errors show it: `"OWNER"."TABLE"."COLUMN"`."""
    return f'"{table.owner}"."{table.name}"."{column.name}"'


def default_of(column: Column) -> ast.Expr:
    """The default's expression, parsed again at each call; NULL without one. Raises as `Parser.expr`."""
    return Parser(column.default or "NULL").expr()
