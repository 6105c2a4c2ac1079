"""UPDATE and DELETE: a scan finds the rows with their new values, then storage changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minercdc_sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.assignments import Assigned, plan_assigned
from minercdc_sandbox.sql.dml.constraints import after_update, delete_rows
from minercdc_sandbox.sql.dml.error_log import ErrorLogPlan, FailedRows, plan_error_log, row_values
from minercdc_sandbox.sql.dml.iterations import Fired, iterate, restarting
from minercdc_sandbox.sql.dml.join_views import JoinScan, join_view, plan_join
from minercdc_sandbox.sql.dml.returning import ReturningPlan, plan_returning
from minercdc_sandbox.sql.dml.target import BindRow, change_target, conversion
from minercdc_sandbox.sql.execution import Parameter, SqlSession, StatementCall
from minercdc_sandbox.sql.query.partitions import in_partition
from minercdc_sandbox.sql.query.rownum import split_rownum
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.runtime import begin_run, execute
from minercdc_sandbox.sql.scope import Scope
from minercdc_sandbox.sql.translate.environment import Environment, active
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.storage.changes import StatementRestart, Target
from minercdc_sandbox.storage.rowid import of_row
from minercdc_sandbox.storage.store import VERSION_BITS, segment, visible
from minercdc_sandbox.tables import Table

Failed: TypeAlias = Callable[[OraError, "Target", Sequence[Cell]], None]
"""Called with a row that could not be changed, and the values it was to have."""


@dataclass(slots=True)
class ScanPlan:
    """The scan that finds the rows that a statement changes or locks, with the new values of the assigned columns.

    :param sql: selects vid, s, e, x and all columns of a row version, then the new values.
    :param returning: of RETURNING; None without it.
    """

    table: Table
    sql: str
    parameters: list[Parameter]
    assigned: Assigned
    returning: ReturningPlan | None = None


def plan_scan(
    env: Environment,
    ref: ast.TableRef,
    assignments: Sequence[ast.Assignment],
    where: ast.Expr | None,
    bind_types: Sequence[BindType],
    returning: ast.Returning | None = None,
    privilege: str = "SELECT",
) -> ScanPlan:
    """Plan the scan of UPDATE, DELETE and FOR UPDATE; checks the privilege. Raises as `change_target`, `plan_join`,
    `plan_assigned`, `plan_returning`, `in_partition` and `Conditions.condition`.

    :param privilege: UPDATE, DELETE, or SELECT for FOR UPDATE, which does not go through joins.
    """
    joined = join_view(env, ref, privilege) if privilege != "SELECT" and ref.partition is None else None
    if joined is not None:
        assigned_names = [(name, at) for name, _, at in assignments]
        scan = plan_join(env, joined, ref, assigned_names, bind_types, privilege)
        return _plan_joined(scan, assignments, where, returning)
    target = change_target(env, ref, privilege)
    x = Expressions(env, bind_types)
    Queries(env, x)
    scope = target.scope(x, "t0")
    assigned = plan_assigned(x, target, scope, assignments)
    tests = target.condition(x, "t0")
    if ref.partition is not None:
        tests.append(in_partition(x, target.table, ref.partition, "t0.vid"))
    sql = _scan_sql(x, assigned, f"{version_rows(x, target.table)} t0", tests, where, scope)
    returned = None
    if returning is not None:
        returned = plan_returning(env, target, returning, bind_types, conversion(env))
    return ScanPlan(target.table, sql, x.parameters, assigned, returned)


def _plan_joined(
    scan: JoinScan, assignments: Sequence[ast.Assignment], where: ast.Expr | None, returning: ast.Returning | None
) -> ScanPlan:
    """The scan of a change of one table of a join: the join's rows, each with the version of that table's row. Raises ORA-03001
    for RETURNING, and as `plan_assigned`."""
    if returning is not None:
        raise OraError(3001, "unimplemented feature: RETURNING of a join view", returning.at)
    x, table = scan.x, scan.target.table
    assigned = plan_assigned(x, scan.target, scan.scope, assignments)
    joined = f"{scan.rows} join {version_rows(x, table)} t0 on t0.vid={scan.vid}"
    return ScanPlan(table, _scan_sql(x, assigned, joined, scan.conditions, where, scan.scope), x.parameters, assigned)


def _scan_sql(
    x: Expressions, assigned: Assigned, rows: str, tests: Sequence[str], where: ast.Expr | None, scope: Scope
) -> str:
    with x.nested(analytic=False):
        inner, limit = split_rownum(x, where)
        tests = [*tests, *([x.condition(inner, scope)] if inner is not None else [])]
    condition = f" where {' and '.join(tests)}" if tests else ""
    tail = f" limit {limit}" if limit is not None else ""
    return f"select {','.join([*version_items(assigned.table, 't0'), *assigned.sql])} from {rows}{condition}{tail}"


def version_items(table: Table, alias: str) -> list[str]:
    """SQL of the columns of `version_rows` that a `Target` is made of, under the alias."""
    return [f"{alias}.{name}" for name in ("vid", "s", "e", "x", *(f"c{c.slot}" for c in table.columns))]


def version_rows(x: Expressions, table: Table) -> str:
    """SQL, in parentheses, of the row versions of a table that a statement sees, with vid, s, e, x and the columns."""
    slots = "".join(f",c{c.slot}" for c in table.columns)
    return f"(select vid,s,e,x{slots} from {segment(table)} where {visible(x.snapshot, x.own)}{active(x.env, table)})"


def targets_of(session: SqlSession, plan: ScanPlan, binds: BindRow, failed: Failed | None = None) -> list[Target]:
    """Run the scan: the rows to change, with their new values, which without UPDATE triggers are checked. Nothing is claimed.
    Raises as `begin_run`, `execute`, `Assigned.given` and `Assigned.check`.

    :param failed: called for a row whose new values raise an error; the row is then left out. None: the error is raised.
    """
    run = begin_run(session, binds)
    width = 4 + len(plan.table.columns)
    triggers = session.programs.fires(plan.table, "UPDATE")
    found = []
    for row in execute(session.storage.db, plan.sql, plan.parameters, run):
        target = Target(row[0], row[1], row[2], row[3], row[4:width])
        if plan.assigned.positions:
            try:
                target.after = plan.assigned.given(target.before, row[width:])
                if not triggers:
                    plan.assigned.check(session, target.before, target.after)
            except OraError as error:
                if failed is None:
                    raise
                failed(error, target, row[width:])
                continue
        found.append(target)
    return found


def update_rows(session: SqlSession, assigned: Assigned, targets: list[Target], *, checked: bool = False) -> None:
    """Change claimed rows to their new values and check foreign keys, with triggers row by row. Raises as `Assigned.check`,
    `Assigned.triggered`, `RowChanges.update` and `after_update`; the caller then undoes them.

    :param checked: without triggers, the rows have been checked against the table's constraints.
    """
    table, changes = assigned.table, session.storage.changes
    if not session.programs.fires(table, "UPDATE"):
        for target in [] if checked else targets:
            assigned.check(session, target.before, target.after)
        changes.update(session.client, table, targets, assigned.positions)
        after_update(session, table, targets, assigned.positions)
        return
    for target in targets:
        given = target.after
        target.after = assigned.triggered(session, target.before, given)
        assigned.check(session, target.before, target.after)
        moved = [at for at, (one, two) in enumerate(zip(given, target.after, strict=True)) if one != two]
        positions = tuple(sorted({*assigned.positions, *moved}))
        changes.update(session.client, table, [target], positions)
        session.programs.after_row(table, "UPDATE", target.before, target.after, assigned.positions)
        after_update(session, table, [target], positions)


@dataclass(slots=True)
class ChangePlan:
    """The plan of UPDATE or DELETE of the rows that a scan finds; a run is done again with a new snapshot when one of them has
    changed meanwhile.

    :param errors: of LOG ERRORS, else None.
    """

    scan: ScanPlan
    deletes: bool
    errors: ErrorLogPlan | None

    def run(self, session: SqlSession, call: StatementCall) -> Result:
        """Run it for each row of binds; the result has the rows of RETURNING. Raises as `iterate`."""
        returning = self.scan.returning

        def once(result: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
            targets = self._once(session, binds) if self.errors is None else self._logging(session, self.errors, binds)
            if targets:
                result.last_row_id = of_row(self.scan.table, targets[-1].vid >> VERSION_BITS)
            if returning is None:
                return len(targets), []
            rows = [(t.before if self.deletes else t.after, t.vid) for t in targets]
            return len(targets), returning.rows(session, binds, rows)

        event = "DELETE" if self.deletes else "UPDATE"
        return iterate(session, call, once, returning, Fired(self.scan.table, event, self.scan.assigned.positions))

    def _once(self, session: SqlSession, binds: BindRow) -> list[Target]:
        def change() -> list[Target]:
            targets = targets_of(session, self.scan, binds)
            if targets:
                session.storage.changes.claim(session.client, self.scan.table, targets)
                self._apply(session, targets)
            return targets

        return restarting(session, self.scan.table, change)

    def _apply(self, session: SqlSession, targets: list[Target]) -> None:
        """Change or delete claimed rows. Raises as `update_rows` and `delete_rows`; the caller then undoes them."""
        if self.deletes:
            delete_rows(session, self.scan.table, targets)
            return
        update_rows(session, self.scan.assigned, targets, checked=True)

    def _logging(self, session: SqlSession, errors: ErrorLogPlan, binds: BindRow) -> list[Target]:
        """Run it with LOG ERRORS, row by row: a row that fails is undone and logged. Returns the rows that were changed. Raises
        as `FailedRows.note`, `RowChanges.claim`, `RowChanges.lock_for_dml` and `targets_of`."""
        storage, client = session.storage, session.client
        storage.changes.lock_for_dml(client, self.scan.table)
        begun = session.transactions.mark()
        while True:
            failed = FailedRows(session, errors, binds)

            def note(error: OraError, target: Target, new: Sequence[Cell] = (), failed: FailedRows = failed) -> None:
                row_id = of_row(self.scan.table, target.vid >> VERSION_BITS)
                values = dict(row_values(self.scan.table, target.after or target.before))
                for at, cell, kind in zip(self.scan.assigned.positions, new, self.scan.assigned.types, strict=False):
                    values[self.scan.table.columns[at].name] = (cell, kind)
                failed.note(error, "D" if self.deletes else "U", row_id, values)

            try:
                targets = targets_of(session, self.scan, binds, note)
                storage.changes.claim(client, self.scan.table, targets)
                done = [target for target in targets if self._applied(session, target, note)]
            except StatementRestart:
                storage.undo_to(client, begun)
                continue
            failed.write()
            return done

    def _applied(self, session: SqlSession, target: Target, note: Failed) -> bool:
        mark = session.transactions.mark()
        try:
            self._apply(session, [target])
        except OraError as error:
            session.storage.undo_to(session.client, mark)
            note(error, target, ())
            return False
        return True


def plan_update(env: Environment, update: ast.Update, bind_types: Sequence[BindType]) -> ChangePlan:
    """Plan an UPDATE. Raises as `plan_scan` and `plan_error_log`."""
    scan = plan_scan(env, update.target, update.assignments, update.where, bind_types, update.returning, "UPDATE")
    return ChangePlan(scan, False, _error_log(env, update.errors, scan, bind_types))


def plan_delete(env: Environment, delete: ast.Delete, bind_types: Sequence[BindType]) -> ChangePlan:
    """Plan a DELETE. Raises as `plan_scan` and `plan_error_log`."""
    scan = plan_scan(env, delete.target, (), delete.where, bind_types, delete.returning, "DELETE")
    return ChangePlan(scan, True, _error_log(env, delete.errors, scan, bind_types))


def _error_log(
    env: Environment, errors: ast.ErrorLog | None, scan: ScanPlan, bind_types: Sequence[BindType]
) -> ErrorLogPlan | None:
    return plan_error_log(env, errors, scan.table, bind_types) if errors is not None else None
