"""MERGE: one query joins the source to the target; matched rows are updated or deleted, the others inserted.

DELETE WHERE looks at the row after the update, and only at rows the update changed (SQL Language Reference, MERGE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.assignments import Assigned, plan_assigned
from minercdc_sandbox.sql.dml.change import update_rows, version_items, version_rows
from minercdc_sandbox.sql.dml.constraints import delete_rows
from minercdc_sandbox.sql.dml.insert import insert_each
from minercdc_sandbox.sql.dml.iterations import iterate, refuse_fired, restarting
from minercdc_sandbox.sql.dml.rows import RowPlan, RowPlanner, check_count
from minercdc_sandbox.sql.dml.target import BindRow, ChangeTarget, change_target, conversion
from minercdc_sandbox.sql.execution import Parameter, SqlSession, StatementCall
from minercdc_sandbox.sql.query.partitions import in_partition, wanted_partition
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.runtime import begin_run, execute
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.storage.changes import Target
from minercdc_sandbox.tables import Table


@dataclass(slots=True)
class MergePlan:
    """The plan of MERGE. A row of its query has the target's version or NULLs; with an update the new values, whether to update,
    and whether to delete then; with an insert its values, and whether to insert.

    :param parameters: of `sql`, the query.
    :param assigned: how the rows of an update change.
    :param insert: None without WHEN NOT MATCHED; `update`: whether there is WHEN MATCHED.
    """

    table: Table
    sql: str
    parameters: list[Parameter]
    assigned: Assigned
    insert: RowPlan | None
    update: bool

    def run(self, session: SqlSession, call: StatementCall) -> Result:
        """Run it for each row of binds; the count is of rows updated (deleted ones too) and inserted. Raises as `iterate`, and
        ORA-30926."""
        refuse_fired(session, self.table, "MERGE", "INSERT", "UPDATE", "DELETE")
        return iterate(session, call, lambda _, binds: (self._once(session, binds), []))

    def _once(self, session: SqlSession, binds: BindRow) -> int:
        storage, client = session.storage, session.client

        def change() -> int:
            targets, removed, inserts = self._matched(session, binds)
            if targets:
                storage.changes.claim(client, self.table, targets)
                update_rows(session, self.assigned, targets)
            if removed:
                delete_rows(session, self.table, [_updated(session, target) for target in removed])
            if self.insert is not None:
                insert_each(session, self.insert, inserts)
            return len(targets) + len(inserts)

        return restarting(session, self.table, change)

    def _matched(self, session: SqlSession, binds: BindRow) -> tuple[list[Target], list[Target], list[tuple[Cell, ...]]]:
        """Run the query: rows to update, those of them to delete then, and rows for the insert. Raises ORA-30926 for a row to
        update twice, and as `execute` and `Assigned.given`."""
        width = 4 + len(self.table.columns)
        targets: list[Target] = []
        removed: list[Target] = []
        inserts: list[tuple[Cell, ...]] = []
        seen: set[int] = set()
        for row in list(execute(session.storage.db, self.sql, self.parameters, begin_run(session, binds))):
            if row[0] is None:
                if self.insert is not None and row[-1]:
                    inserts.append(tuple(row))
                continue
            flags = width + len(self.assigned.positions)
            if not self.update or not row[flags]:
                continue
            if row[0] in seen:
                raise OraError(30926, "unable to get a stable set of rows in the source tables")
            seen.add(row[0])
            target = Target(row[0], row[1], row[2], row[3], tuple(row[4:width]))
            target.after = self.assigned.given(target.before, row[width:flags])
            targets.append(target)
            if row[flags + 1]:
                removed.append(target)
        return targets, removed, inserts


def plan_merge(env: Environment, merge: ast.Merge, bind_types: Sequence[BindType]) -> MergePlan:
    """Plan a MERGE. Raises ORA-38104 for an updated column that ON names, and as `change_target`, `plan_assigned`,
    `Conditions.condition` and `RowPlanner.expression`."""
    x = Expressions(env, bind_types)
    queries = Queries(env, x)
    target = change_target(env, merge.target, "UPDATE" if merge.update is not None else "INSERT")
    source = Scope()
    source_sql = queries.relation(merge.source, source)
    mine = target.scope(x, "t0")
    both = Scope([*mine.sources, *source.sources])
    part = merge.target.partition
    within = [in_partition(x, target.table, part, "t0.vid")] if part is not None else []
    on = " and ".join([x.condition(merge.on, both), *target.condition(x, "t0"), *within])
    items = version_items(target.table, "t0")
    assignments, where, delete = merge.update if merge.update is not None else ([], None, None)
    _not_in_on(target, merge, assignments, mine)
    assigned = plan_assigned(x, target, both, assignments)
    if merge.update is not None:
        items += assigned.sql
        items.append(x.condition(where, both) if where is not None else "1")
        items.append(_after(x, target, assigned, source, delete) if delete is not None else "0")
    rows = _insert_rows(x, target, merge, source, items, len(bind_types))
    sql = f"select {','.join(items)} from {source_sql} left join {version_rows(x, target.table)} t0 on {on}"
    return MergePlan(target.table, sql, x.parameters, assigned, rows, merge.update is not None)


def _not_in_on(target: ChangeTarget, merge: ast.Merge, assignments: Sequence[ast.Assignment], mine: Scope) -> None:
    named = {n.parts[-1] for n in ast.descendants(merge.on) if isinstance(n, ast.Name) and mine.resolve(n) is not None}
    for name, _, at in assignments:
        if name in named:
            raise OraError(38104, f'Columns referenced in the ON Clause cannot be updated: "{name}"', at)


def _after(x: Expressions, target: ChangeTarget, assigned: Assigned, source: Scope, delete: ast.Expr) -> str:
    """SQL of DELETE WHERE with the assigned columns standing for their new values. Raises as `Conditions.condition`."""
    new = dict(zip(assigned.positions, assigned.sql, strict=True))
    columns = []
    for visible in target.scope(x, "t0").sources[0].columns:
        below = target.columns.get(visible.name)
        at = target.table.position(below) if below in {c.name for c in target.table.columns} and below else -1
        typed = Typed(f"({new[at]})", visible.typed.type) if at in new else visible.typed
        columns.append(Visible(visible.name, typed))
    scope = Scope([Source(target.names, columns, None, target.table), *source.sources])
    return x.condition(delete, scope)


def _insert_rows(
    x: Expressions, target: ChangeTarget, merge: ast.Merge, source: Scope, items: list[str], binds: int
) -> RowPlan | None:
    """Plan the insert; None without one. Its values are computed by the same query, as `items` that it appends, so the query's
    row is what makers read. Raises as `check_count`, `wanted_partition`, `RowPlanner` and `Conditions.condition`."""
    if merge.insert is None:
        return None
    columns, values, where = merge.insert
    x.note_drawn(values)
    planner = RowPlanner(x, target, conversion(x.env, target.table), len(items) + len(values) + 1)
    if merge.target.partition is not None:
        planner.only = wanted_partition(x.env, target.table, merge.target.partition)
    positions = planner.positions(columns)
    check_count(len(positions), len(values), merge.at)
    makers = {}
    for at, expr in zip(positions, values, strict=True):
        if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.DEFAULT:
            makers[at] = planner.default(target.table.columns[at])
            items.append("null")
            continue
        typed = x.value(expr, source)
        makers[at] = planner.given(at, len(items), typed.type)
        items.append(f"case when t0.vid is null then {typed.sql} end")
    items.append(x.condition(where, source) if where is not None else "1")
    planner.width = len(items)
    return planner.plan(makers)


def _updated(session: SqlSession, target: Target) -> Target:
    """The version that the update made of a target, as one to delete."""
    transaction = session.client.transaction
    assert transaction is not None
    own = target.s == transaction.stamp
    vid = target.vid if own else target.vid + 1
    return Target(vid, transaction.stamp, target.e, 0, target.after)
