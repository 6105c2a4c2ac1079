"""UPDATE and DELETE: a scan finds the rows with their new values, then storage changes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc.sandbox.catalog import Table
from minercdc.sandbox.interfaces import BatchError, BindType, OraError, Result
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.convert import Convert
from minercdc.sandbox.sql.dml.checks import CheckPlan, plan_checks
from minercdc.sandbox.sql.dml.returning import ReturningPlan, note, plan_returning
from minercdc.sandbox.sql.dml.target import BindRow, column_path, conversion, default_of, target_table
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.query.select import Queries
from minercdc.sandbox.sql.runtime import Parameter, execute
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.store import storer
from minercdc.sandbox.sql.translate.environment import Environment
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import column_type
from minercdc.sandbox.storage.engine import StatementRestart, Target
from minercdc.sandbox.storage.store import segment, visible


@dataclass(slots=True)
class ScanPlan:
    """UPDATE, DELETE and FOR UPDATE: the scan for its rows; `assigned` are position and storer of each SET, in column order."""

    table: Table
    sql: str
    parameters: list[Parameter]
    assigned: list[tuple[int, Convert]]
    required: list[tuple[int, str]]
    returning: ReturningPlan | None = None
    checks: CheckPlan | None = None


def plan_scan(
    env: Environment,
    target: ast.TableRef,
    assignments: Sequence[tuple[str, ast.Expr, int]],
    where: ast.Expr | None,
    bind_types: Sequence[BindType],
    returning: ast.Returning | None = None,
) -> ScanPlan:
    """The scan that finds the rows to change, with the new values computed in it."""
    table = target_table(env, target.owner, target.name, target.at)
    x = Expressions(env, bind_types)
    queries = Queries(env, x)
    names = ((target.alias,),) if target.alias else ((target.name,), (table.owner, target.name))
    columns = [Visible(c.name, Typed(f"t0.c{c.slot}", column_type(c), c.nullable)) for c in table.columns]
    scope = Scope([Source(names, columns, (table.data_object_id, "t0.vid"), table)])
    how = conversion(env)
    found: dict[int, tuple[str, Convert]] = {}
    for name, expr, at in assignments:
        try:
            position = table.position(name)
        except OraError as error:
            raise OraError(error.number, error.text, at) from None
        if position in found:
            raise OraError(957, "duplicate column name", at)
        column = table.columns[position]
        if isinstance(expr, ast.Literal) and expr.kind == "P":
            expr = default_of(column)
        typed = x.value(expr, scope)
        found[position] = (typed.sql, storer(typed.type, column, column_path(table, column), how))
    inner, limit = queries.split_rownum(where)
    condition = f" where {x.condition(inner, scope)}" if inner is not None else ""
    slots = "".join(f",c{c.slot}" for c in table.columns)
    seen = visible(x.snapshot, x.own)
    items = ["t0.vid", "t0.s", "t0.e", "t0.x", *[f"t0.c{c.slot}" for c in table.columns]]
    items += [found[at][0] for at in sorted(found)]
    tail = f" limit {limit}" if limit is not None else ""
    source = f"(select vid,s,e,x{slots} from {segment(table)} where {seen}) t0"
    sql = f"select {','.join(items)} from {source}{condition}{tail}"
    assigned = [(at, found[at][1]) for at in sorted(found)]
    required = [(at, column_path(table, table.columns[at])) for at in sorted(found) if not table.columns[at].nullable]
    returned = None
    if returning is not None:
        returned = plan_returning(env, table, names, returning, bind_types, how)
    return ScanPlan(table, sql, x.parameters, assigned, required, returned, plan_checks(env, table) if assigned else None)


def targets_of(session: SqlSession, plan: ScanPlan, binds: BindRow) -> list[Target]:
    run = session.run(binds)
    width = 4 + len(plan.table.columns)
    found = []
    for row in execute(session.storage.db, plan.sql, plan.parameters, run):
        before = row[4:width]
        target = Target(row[0], row[1], row[2], row[3], before)
        if plan.assigned:
            after = list(before)
            for n, (at, fit) in enumerate(plan.assigned):
                after[at] = fit(row[width + n])
            for at, name in plan.required:
                if after[at] is None:
                    raise OraError(1407, f"cannot update ({name}) to NULL")
            if plan.checks is not None:
                plan.checks.enforce(session, after)
            target.after = tuple(after)
        found.append(target)
    return found


def run_change(
    session: SqlSession,
    plan: ScanPlan,
    bind_rows: Sequence[BindRow],
    *,
    delete: bool,
    batch_errors: bool,
    row_counts: bool,
) -> Result:
    """UPDATE or DELETE; restarted with a new snapshot when it meets a row that changed meanwhile."""
    result = Result()
    for number, binds in enumerate(bind_rows):
        count = 0
        returned: list[BindRow] = []
        mark = session.mark()
        try:
            targets = _change_once(session, plan, binds, delete)
            count = len(targets)
            if plan.returning is not None:
                rows = [(t.before if delete else t.after, t.vid) for t in targets]
                returned = [plan.returning.row(session, binds, row, vid) for row, vid in rows]
        except OraError as error:
            session.storage.undo_to(session.client, mark)
            count = 0
            if not batch_errors:
                raise
            result.batch_errors.append(BatchError(number, error))
        if plan.returning is not None:
            note(result, plan.returning, returned)
        result.row_count += count
        if row_counts:
            result.row_counts.append(count)
    return result


def _change_once(session: SqlSession, plan: ScanPlan, binds: BindRow, delete: bool) -> list[Target]:
    storage, client = session.storage, session.client
    storage.lock_for_dml(client, plan.table)
    mark = session.mark()
    changed = tuple(at for at, _ in plan.assigned)
    while True:
        try:
            targets = targets_of(session, plan, binds)
            if targets:
                storage.claim(client, plan.table, targets)
                if delete:
                    storage.delete(client, plan.table, targets)
                else:
                    storage.update(client, plan.table, targets, changed)
            return targets
        except StatementRestart:
            storage.undo_to(client, mark)
        except OraError:
            storage.undo_to(client, mark)
            raise
