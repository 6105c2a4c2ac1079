"""UPDATE and DELETE: a scan finds the rows with their new values, then storage changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc.sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.convert import Convert
from minercdc.sandbox.sql.dml.checks import CheckPlan, plan_checks
from minercdc.sandbox.sql.dml.constraints import after_update, delete_rows
from minercdc.sandbox.sql.dml.error_log import ErrorLogPlan, FailedRows, row_values
from minercdc.sandbox.sql.dml.iterations import iterate
from minercdc.sandbox.sql.dml.join_views import JoinScan, join_view, plan_join
from minercdc.sandbox.sql.dml.partitions import stays
from minercdc.sandbox.sql.dml.returning import ReturningPlan, plan_returning
from minercdc.sandbox.sql.dml.target import BindRow, ChangeTarget, change_target, column_path, conversion, default_of
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.query.partitions import in_partition
from minercdc.sandbox.sql.query.rownum import split_rownum
from minercdc.sandbox.sql.query.select import Queries
from minercdc.sandbox.sql.runtime import Parameter, execute
from minercdc.sandbox.sql.scope import Scope
from minercdc.sandbox.sql.store import storer
from minercdc.sandbox.sql.translate.environment import Environment, active
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import Family, SqlType
from minercdc.sandbox.storage.changes import StatementRestart, Target
from minercdc.sandbox.storage.rowid import of_row
from minercdc.sandbox.storage.store import VERSION_BITS, segment, visible
from minercdc.sandbox.tables import Table

Failed: TypeAlias = Callable[[OraError, "Target", Sequence[Cell]], None]
"""Told of a row that could not be changed, and of the values it was to have."""


@dataclass(slots=True)
class ScanPlan:
    """UPDATE, DELETE and FOR UPDATE: the scan for its rows; `assigned` are position and storer of each SET, in column order,
    `kinds` the types of their values."""

    table: Table
    sql: str
    parameters: list[Parameter]
    assigned: list[tuple[int, Convert]]
    required: list[tuple[int, str]]
    returning: ReturningPlan | None = None
    checks: CheckPlan | None = None
    kinds: list[SqlType] = field(default_factory=list)
    errors: ErrorLogPlan | None = None


def plan_scan(
    env: Environment,
    ref: ast.TableRef,
    assignments: Sequence[ast.Assignment],
    where: ast.Expr | None,
    bind_types: Sequence[BindType],
    returning: ast.Returning | None = None,
    privilege: str = "SELECT",
) -> ScanPlan:
    """The scan that finds the rows to change, with the new values computed in it."""
    joined = join_view(env, ref) if privilege != "SELECT" and ref.partition is None else None
    if joined is not None:
        assigned_names = [(name, at) for name, _, at in assignments]
        scan = plan_join(env, joined, ref, assigned_names, bind_types, privilege)
        return _plan_joined(env, scan, assignments, where, returning)
    target = change_target(env, ref, privilege)
    x = Expressions(env, bind_types)
    Queries(env, x)
    scope = target.scope(x, "t0")
    x.note_drawn(assignments)
    found = assigned_values(x, target, scope, assignments)
    with x.nested(analytic=False):
        inner, limit = split_rownum(x, where)
        tests = target.condition(x, "t0") + ([x.condition(inner, scope)] if inner is not None else [])
    if ref.partition is not None:
        tests.append(in_partition(x, target.table, ref.partition, "t0.vid"))
    condition = f" where {' and '.join(tests)}" if tests else ""
    items = version_items(target.table, "t0") + [found[at][0] for at in sorted(found)]
    tail = f" limit {limit}" if limit is not None else ""
    sql = f"select {','.join(items)} from {version_rows(x, target.table)} t0{condition}{tail}"
    returned = None
    if returning is not None:
        returned = plan_returning(env, target, returning, bind_types, conversion(env))
    return _scan_plan(env, x, target, sql, found, returned)


def _scan_plan(
    env: Environment,
    x: Expressions,
    target: ChangeTarget,
    sql: str,
    found: dict[int, tuple[str, Convert, SqlType]],
    returned: ReturningPlan | None,
) -> ScanPlan:
    table = target.table
    assigned = [(at, found[at][1]) for at in sorted(found)]
    required = [(at, column_path(table, table.columns[at])) for at in sorted(found) if not table.columns[at].nullable]
    checks = plan_checks(env, table, view=target) if assigned else None
    kinds = [found[at][2] for at in sorted(found)]
    return ScanPlan(table, sql, x.parameters, assigned, required, returned, checks, kinds)


def _plan_joined(
    env: Environment,
    scan: JoinScan,
    assignments: Sequence[ast.Assignment],
    where: ast.Expr | None,
    returning: ast.Returning | None,
) -> ScanPlan:
    """A change of one table of a join: the join's rows, each with the version of that table's row."""
    if returning is not None:
        raise OraError(3001, "unimplemented feature: RETURNING of a join view", returning.at)
    x, table = scan.x, scan.target.table
    x.note_drawn(assignments)
    found = assigned_values(x, scan.target, scan.scope, assignments)
    tests = list(scan.conditions)
    with x.nested(analytic=False):
        inner, limit = split_rownum(x, where)
        tests += [x.condition(inner, scan.scope)] if inner is not None else []
    items = version_items(table, "t0") + [found[at][0] for at in sorted(found)]
    condition = f" where {' and '.join(tests)}" if tests else ""
    tail = f" limit {limit}" if limit is not None else ""
    joined = f"{scan.rows} join {version_rows(x, table)} t0 on t0.vid={scan.vid}"
    return _scan_plan(env, x, scan.target, f"select {','.join(items)} from {joined}{condition}{tail}", found, None)


def assigned_values(
    x: Expressions, target: ChangeTarget, scope: Scope, assignments: Sequence[ast.Assignment]
) -> dict[int, tuple[str, Convert, SqlType]]:
    """By position: the SQL of a new value, how it is stored, and its type. Raises ORA-00957, ORA-32796, ORA-00904."""
    how = conversion(x.env, target.table)
    found: dict[int, tuple[str, Convert, SqlType]] = {}
    for name, expr, at in assignments:
        position = target.position(name, at)
        if position in found:
            raise OraError(957, "duplicate column name", at)
        column = target.table.columns[position]
        if column.identity == "ALWAYS":
            raise OraError(32796, "cannot update a generated always identity column", at)
        if isinstance(expr, ast.Literal) and expr.kind == "P":
            expr = default_of(column)
        with x.nested(analytic=False):
            typed = x.value(expr, scope)
        sql = typed.sql
        if column.on_null and typed.type.family is Family.NULL:
            typed = x.value(default_of(column), None)
            sql = typed.sql
        elif column.on_null and column.default is not None:
            sql = f"coalesce({sql},{x.to_type(x.value(default_of(column), None), typed.type, at)})"
        fit = storer(typed.type, column, column_path(target.table, column), how)
        found[position] = (sql, fit, typed.type)
    return found


def version_items(table: Table, alias: str) -> list[str]:
    """What a `Target` is made of, of a row of `version_rows`."""
    return [f"{alias}.{name}" for name in ("vid", "s", "e", "x", *(f"c{c.slot}" for c in table.columns))]


def version_rows(x: Expressions, table: Table) -> str:
    """The rows a statement sees, with their version's stamps."""
    slots = "".join(f",c{c.slot}" for c in table.columns)
    return f"(select vid,s,e,x{slots} from {segment(table)} where {visible(x.snapshot, x.own)}{active(x.env, table)})"


def targets_of(session: SqlSession, plan: ScanPlan, binds: BindRow, failed: Failed | None = None) -> list[Target]:
    """The rows to change, with their new values.

    :param failed: takes the error of a row that cannot have them, which is then left out.
    """
    run = session.run(binds)
    width = 4 + len(plan.table.columns)
    found = []
    for row in execute(session.storage.db, plan.sql, plan.parameters, run):
        target = Target(row[0], row[1], row[2], row[3], row[4:width])
        if plan.assigned:
            try:
                target.after = _assigned(session, plan, target.before, row[width:])
            except OraError as error:
                if failed is None:
                    raise
                failed(error, target, row[width:])
                continue
        found.append(target)
    return found


def _assigned(session: SqlSession, plan: ScanPlan, before: tuple[Cell, ...], values: Sequence[Cell]) -> tuple[Cell, ...]:
    """The row with its new values. Raises ORA-01407, ORA-02290, ORA-14402 and what conversions raise."""
    after = list(before)
    for n, (at, fit) in enumerate(plan.assigned):
        after[at] = fit(values[n])
    for at, name in plan.required:
        if after[at] is None:
            raise OraError(1407, f"cannot update ({name}) to NULL")
    if plan.checks is not None:
        plan.checks.enforce(session, after)
    stays(session, plan.table, before, after)
    return tuple(after)


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

    def once(result: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
        change = _change_once if plan.errors is None else _change_logging
        targets = change(session, plan, binds, delete)
        if targets:
            result.last_row_id = of_row(plan.table, targets[-1].vid >> VERSION_BITS)
        if plan.returning is None:
            return len(targets), []
        rows = [(t.before if delete else t.after, t.vid) for t in targets]
        return len(targets), plan.returning.rows(session, binds, rows)

    return iterate(session, bind_rows, once, plan.returning, batch_errors=batch_errors, row_counts=row_counts)


def _change_once(session: SqlSession, plan: ScanPlan, binds: BindRow, delete: bool) -> list[Target]:
    storage, client = session.storage, session.client
    storage.changes.lock_for_dml(client, plan.table)
    mark = session.mark()
    while True:
        try:
            targets = targets_of(session, plan, binds)
            if targets:
                storage.changes.claim(client, plan.table, targets)
                _apply(session, plan, targets, delete)
            return targets
        except StatementRestart:
            storage.undo_to(client, mark)
        except OraError:
            storage.undo_to(client, mark)
            raise


def _apply(session: SqlSession, plan: ScanPlan, targets: list[Target], delete: bool) -> None:
    """Change claimed rows."""
    if delete:
        delete_rows(session, plan.table, targets)
        return
    changed = tuple(at for at, _ in plan.assigned)
    session.storage.changes.update(session.client, plan.table, targets, changed)
    after_update(session, plan.table, targets, changed)


def _change_logging(session: SqlSession, plan: ScanPlan, binds: BindRow, delete: bool) -> list[Target]:
    """LOG ERRORS: row by row."""
    assert plan.errors is not None
    storage, client = session.storage, session.client
    storage.changes.lock_for_dml(client, plan.table)
    begun = session.mark()
    while True:
        failed = FailedRows(session, plan.errors, binds)

        def note(error: OraError, target: Target, new: Sequence[Cell] = (), failed: FailedRows = failed) -> None:
            row_id = of_row(plan.table, target.vid >> VERSION_BITS)
            values = dict(row_values(plan.table, target.after or target.before))
            for (at, _), cell, kind in zip(plan.assigned, new, plan.kinds, strict=False):
                values[plan.table.columns[at].name] = (cell, kind)
            failed.note(error, "D" if delete else "U", row_id, values)

        try:
            targets = targets_of(session, plan, binds, note)
            storage.changes.claim(client, plan.table, targets)
            done = [target for target in targets if _applied(session, plan, target, delete, note)]
        except StatementRestart:
            storage.undo_to(client, begun)
            continue
        failed.write()
        return done


def _applied(session: SqlSession, plan: ScanPlan, target: Target, delete: bool, note: Failed) -> bool:
    mark = session.mark()
    try:
        _apply(session, plan, [target], delete)
    except OraError as error:
        session.storage.undo_to(session.client, mark)
        note(error, target, ())
        return False
    return True
