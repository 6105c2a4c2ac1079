"""INSERT .. VALUES and INSERT .. SELECT, planned once and run for each row of binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import BatchError, BindType, Cell, ColumnDescription, OraError, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.constraints import after_insert, guards
from minercdc_sandbox.sql.dml.error_log import ErrorLogPlan, FailedRows, Values, plan_error_log
from minercdc_sandbox.sql.dml.iterations import Fired, iterate
from minercdc_sandbox.sql.dml.returning import ReturningPlan, plan_returning
from minercdc_sandbox.sql.dml.rows import RowPlan, RowPlanner, check_count
from minercdc_sandbox.sql.dml.target import BindRow, change_target, conversion
from minercdc_sandbox.sql.execution import Plan, SqlSession, StatementCall
from minercdc_sandbox.sql.query.partitions import wanted_partition
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import SqlType, type_of_wire
from minercdc_sandbox.storage.rowid import of_row
from minercdc_sandbox.storage.store import VERSION_BITS
from minercdc_sandbox.tables import Table


@dataclass(slots=True)
class InsertPlan:
    """The plan of INSERT .. VALUES, or, with a `query`, of its rows.

    :param returning, errors: of RETURNING and LOG ERRORS; None without them.
    """

    rows: RowPlan
    query: Plan | None
    returning: ReturningPlan | None = None
    errors: ErrorLogPlan | None = None

    def run(self, session: SqlSession, call: StatementCall) -> Result:
        """Insert for each row of binds. An error leaves the rows of those before it, as Oracle's array DML does.

        With `call.batch_errors`, errors are in the result and the other rows of binds are inserted; LOG ERRORS writes failed
        rows to its table. Raises OraError of the first row that fails otherwise. Call with the storage locked.
        """
        session.programs.check_table(self.rows.table, changed=True)
        if self.errors is not None:
            return self._logging(session, self.errors, call)
        if self.query is not None:
            return self._from_query(session, call)
        table, programs = self.rows.table, session.programs
        fires = programs.fires(table, "INSERT") or programs.fires(table, "INSERT", of_rows=False)
        if self.returning is not None or guards(table) or fires:
            return self._singly(session, call)
        return self._together(session, call)

    def _together(self, session: SqlSession, call: StatementCall) -> Result:
        """Insert the VALUES rows of all rows of binds in one call of the storage, and one more after each row that it refuses,
        with the result of `run`. Only without RETURNING, `guards` and triggers. Raises as `RowPlan.row` and
        `RowChanges.insert`."""
        result = Result()
        rows: list[BindRow] = []
        origin: list[int] = []
        failure: OraError | None = None
        table = self.rows.table
        for number, binds in enumerate(call.bind_rows):
            try:
                rows.append(self.rows.row(session, binds))
                origin.append(number)
            except OraError as error:
                if not call.batch_errors:
                    failure = error
                    break
                result.batch_errors.append(BatchError(number, error))
        done = 0
        while done < len(rows):
            count, error_ = session.storage.changes.insert(session.client, table, rows[done:])
            result.row_count += count
            done += count
            if error_ is not None:
                if not call.batch_errors:
                    raise _failed(error_, result, call.row_counts)
                result.batch_errors.append(BatchError(origin[done], error_))
                done += 1
        if failure is not None:
            raise _failed(failure, result, call.row_counts)
        note_row(result, table, table.last_rid)
        result.batch_errors.sort(key=lambda e: e.offset)
        if call.row_counts:
            failed = {e.offset for e in result.batch_errors}
            result.row_counts = [0 if n in failed else 1 for n in range(len(call.bind_rows))]
        return result

    def _singly(self, session: SqlSession, call: StatementCall) -> Result:
        """Insert one VALUES row at a time, with the result of `run`: each has its own values to give back, references to check,
        or triggers. Raises as `iterate` and `RowPlan.row`."""
        table = self.rows.table

        def once(_: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
            row = self.rows.row(session, binds)
            insert_rows(session, self.rows, [row])
            if self.returning is None:
                return 1, []
            return 1, self.returning.rows(session, binds, [(row, table.last_rid << VERSION_BITS)])

        result = iterate(session, call, once, self.returning, Fired(table, "INSERT"))
        note_row(result, table, table.last_rid)
        return result

    def _from_query(self, session: SqlSession, call: StatementCall) -> Result:
        query = self.query
        assert query is not None

        def once(_: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
            return insert_each(session, self.rows, session.statements.rows_of(query, binds)), []

        return iterate(session, call, once, fired=Fired(self.rows.table, "INSERT"))

    def _logging(self, session: SqlSession, errors: ErrorLogPlan, call: StatementCall) -> Result:
        """Insert with LOG ERRORS, row by row, with the result of `run`: a row that fails is undone and logged. Raises as
        `FailedRows.note` and `RowPlan.completed`."""
        last: list[int] = []

        def once(_: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
            failed = FailedRows(session, errors, binds)
            done: list[tuple[BindRow, int]] = []
            for inputs in [binds] if self.query is None else session.statements.rows_of(self.query, binds):
                whole, mark = inputs, session.transactions.mark()
                try:
                    whole = self.rows.completed(session, inputs)
                    row = self.rows.fitted(session, whole)
                    insert_rows(session, self.rows, [row])
                except OraError as error:
                    session.storage.undo_to(session.client, mark)
                    failed.note(error, "I", None, _given(self.rows, whole))
                else:
                    done.append((row, self.rows.table.last_rid << VERSION_BITS))
            failed.write()
            if done and self.query is None:
                last.append(done[-1][1] >> VERSION_BITS)
            return len(done), self.returning.rows(session, binds, done) if self.returning is not None else []

        result = iterate(session, call, once, self.returning, Fired(self.rows.table, "INSERT"))
        if last:
            note_row(result, self.rows.table, last[-1])
        return result


def plan_insert(env: Environment, insert: ast.Insert, bind_types: Sequence[BindType]) -> InsertPlan:
    """Plan an INSERT. Raises ORA-00947, ORA-00913, ORA-00933 and, with their positions, as `change_target`, `wanted_partition`,
    `RowPlanner.expression`, `Queries.query`, `plan_returning` and `plan_error_log`."""
    target = change_target(env, insert.target, "INSERT")
    x, how = Expressions(env, bind_types), conversion(env, target.table)
    queries = Queries(env, x)
    query: Plan | None = None
    rows_of = insert.query if not insert.more else _listed(env, insert)
    if rows_of is not None:
        query = queries.plan(rows_of)
        planner = RowPlanner(x, target, how, len(query.columns))
        positions = planner.positions(insert.columns)
        check_count(len(positions), len(query.columns), insert.target.at)
        makers = {at: planner.given(at, n, described(query.columns[n])) for n, at in enumerate(positions)}
    else:
        assert insert.values is not None
        planner = RowPlanner(x, target, how, len(bind_types))
        positions = planner.positions(insert.columns)
        check_count(len(positions), len(insert.values), insert.target.at)
        x.note_drawn(insert.values)
        makers = {at: planner.expression(at, expr) for at, expr in zip(positions, insert.values, strict=True)}
    if insert.target.partition is not None:
        planner.only = wanted_partition(env, target.table, insert.target.partition)
    rows = planner.plan(makers)
    rows.alone = query is None
    returned = None
    if insert.returning is not None:
        if query is not None:
            raise OraError(933, "SQL command not properly ended", insert.returning.at)
        returned = plan_returning(env, target, insert.returning, bind_types, how)
    errors = plan_error_log(env, insert.errors, target.table, bind_types) if insert.errors is not None else None
    return InsertPlan(rows, query, returned, errors)


def _listed(env: Environment, insert: ast.Insert) -> ast.Query:
    """A query of the rows of VALUES (..), (..), which 23ai has (SQL Language Reference, INSERT). Raises ORA-00933 in releases
    before, ORA-00947, ORA-00913, and ORA-03001 for DEFAULT in it."""
    assert insert.values is not None
    if env.release < 23:
        raise OraError(933, "SQL command not properly ended", insert.at)
    body: ast.Select | ast.SetOperation | None = None
    for values in (insert.values, *insert.more):
        check_count(len(insert.values), len(values), insert.target.at)
        if any(isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.DEFAULT for expr in values):
            raise OraError(3001, "unimplemented feature: DEFAULT in VALUES with several rows", insert.at)
        items = [ast.Item(expr, f"C{n}", f"C{n}", at=insert.at) for n, expr in enumerate(values)]
        select = ast.Select(items, [ast.TableRef(None, "DUAL", None, insert.at)], at=insert.at)
        body = select if body is None else ast.SetOperation("UNION ALL", body, select, insert.at)
    assert body is not None
    return ast.Query(body, at=insert.at)


def described(column: ColumnDescription) -> SqlType:
    """Type of a result's column. Raises as `type_of_wire`."""
    return type_of_wire(column.type, column.precision, column.scale, column.size, column.national)


def _failed(error: OraError, result: Result, row_counts: bool) -> OraError:
    """The same error, with the counts of the rows before it: of rows that are inserted one by one, those before the one that
    failed stay."""
    error.rows_done = result.row_count
    error.row_counts = [1] * result.row_count if row_counts else None
    return error


def note_row(result: Result, table: Table, rid: int) -> None:
    """Set the result's `last_row_id` to that of a row number, if the statement changed rows."""
    if result.row_count:
        result.last_row_id = of_row(table, rid)


def _given(plan: RowPlan, inputs: BindRow) -> Values:
    """The values that a statement gave for a row, by column name, with their types, as far as they were computed."""
    columns = plan.table.columns
    return {columns[at].name: (inputs[n], kind) for at, (n, kind) in plan.given.items() if n < len(inputs)}


def insert_each(session: SqlSession, plan: RowPlan, inputs: Sequence[BindRow]) -> int:
    """Insert a row of each input, one by one when a trigger fires; returns how many. Raises as `RowPlan.row` and `insert_rows`;
    the caller then undoes them."""
    if session.programs.fires(plan.table, "INSERT"):
        return sum(insert_rows(session, plan, [plan.row(session, one)]) for one in inputs)
    return insert_rows(session, plan, [plan.row(session, one) for one in inputs])


def insert_rows(session: SqlSession, plan: RowPlan, rows: Sequence[tuple[Cell, ...]]) -> int:
    """Insert finished rows, run AFTER row triggers and check the `guards`; returns how many. Raises ORA-00001, what triggers raise,
    and as `RowChanges.insert` and `after_insert`; the caller then undoes them."""
    if not rows:
        return 0
    count, error = session.storage.changes.insert(session.client, plan.table, rows)
    if error is not None:
        raise error
    for row in rows if session.programs.fires(plan.table, "INSERT") else ():
        session.programs.after_row(plan.table, "INSERT", None, row)
    after_insert(session, plan.table, rows)
    return count
