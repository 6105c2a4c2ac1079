"""INSERT: planned once per text, run per row of binds, each run atomic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc.sandbox.catalog import Table
from minercdc.sandbox.interfaces import BatchError, BindType, Cell, ColumnDescription, OraError, Result
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.convert import Conversion, Convert
from minercdc.sandbox.sql.dml.checks import CheckPlan, plan_checks
from minercdc.sandbox.sql.dml.returning import ReturningPlan, note, plan_returning
from minercdc.sandbox.sql.dml.target import BindRow, column_path, conversion, default_of, table_names, target_table
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.query.plan import Plan
from minercdc.sandbox.sql.query.select import Queries
from minercdc.sandbox.sql.runtime import Parameter
from minercdc.sandbox.sql.store import storer
from minercdc.sandbox.sql.translate.environment import Environment
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import SqlType, bind_type, type_of_wire
from minercdc.sandbox.storage.store import VERSION_BITS


@dataclass(slots=True)
class InsertPlan:
    """How a row of binds (with the values of computed expressions after it) becomes a row of the table."""

    table: Table
    makers: list[Callable[[BindRow], Cell]]
    required: list[tuple[int, str]]
    computed: str | None
    parameters: list[Parameter]
    query: Plan | None
    returning: ReturningPlan | None = None
    checks: CheckPlan | None = None


def plan_insert(env: Environment, insert: ast.Insert, bind_types: Sequence[BindType]) -> InsertPlan:
    table = target_table(env, insert.owner, insert.table, insert.at)
    positions = _insert_positions(table, insert)
    x = Expressions(env, bind_types)
    how = conversion(env)
    query: Plan | None = None
    makers: list[Callable[[BindRow], Cell]] = [_nothing] * len(table.columns)
    computed: list[str] = []
    if insert.query is not None:
        queries = Queries(env, x)
        query = queries.plan(insert.query)
        sources = [_described(column) for column in query.columns]
        _check_count(len(positions), len(sources), insert.at)
        for n, at in enumerate(positions):
            makers[at] = _from_bind(n, storer(sources[n], table.columns[at], column_path(table, table.columns[at]), how))
    else:
        assert insert.values is not None
        _check_count(len(positions), len(insert.values), insert.at)
        Queries(env, x)
        for at, expr in zip(positions, insert.values, strict=True):
            makers[at] = _maker(x, expr, table, at, how, computed, bind_types)
    for at, column in enumerate(table.columns):
        if at not in positions and column.default is not None:
            makers[at] = _maker(x, default_of(column), table, at, how, computed, bind_types)
    required = [(at, column_path(table, c)) for at, c in enumerate(table.columns) if not c.nullable]
    sql = "select " + ",".join(computed) if computed else None
    returned = None
    if insert.returning is not None:
        if query is not None:
            raise OraError(933, "SQL command not properly ended", insert.returning.at)
        returned = plan_returning(env, table, table_names(table), insert.returning, bind_types, how)
    return InsertPlan(table, makers, required, sql, list(x.parameters), query, returned, plan_checks(env, table))


def _insert_positions(table: Table, insert: ast.Insert) -> list[int]:
    if not insert.columns:
        return list(range(len(table.columns)))
    positions = []
    for name, at in insert.columns:
        try:
            position = table.position(name)
        except OraError as error:
            raise OraError(error.number, error.text, at) from None
        if position in positions:
            raise OraError(957, "duplicate column name", at)
        positions.append(position)
    return positions


def _check_count(columns: int, values: int, at: int) -> None:
    if values < columns:
        raise OraError(947, "not enough values", at)
    if values > columns:
        raise OraError(913, "too many values", at)


def _nothing(row: BindRow) -> Cell:
    return None


def _from_bind(at: int, fit: Convert) -> Callable[[BindRow], Cell]:
    return lambda row: fit(row[at])


def _maker(
    x: Expressions,
    expr: ast.Expr,
    table: Table,
    at: int,
    how: Conversion,
    computed: list[str],
    bind_types: Sequence[BindType],
) -> Callable[[BindRow], Cell]:
    """A bind is converted directly; anything else is computed by SQLite beforehand and follows the binds in the row."""
    column = table.columns[at]
    if isinstance(expr, ast.Literal) and expr.kind == "P":
        if column.default is None:
            return _nothing
        expr = default_of(column)
    if isinstance(expr, ast.Bind):
        if expr.index >= len(bind_types):
            raise OraError(1008, "not all variables bound", expr.at)
        return _from_bind(expr.index, storer(bind_type(bind_types[expr.index]), column, column_path(table, column), how))
    typed = x.value(expr, None)
    fit = storer(typed.type, column, column_path(table, column), how)
    computed.append(typed.sql)
    return _from_bind(len(bind_types) + len(computed) - 1, fit)


def _described(column: ColumnDescription) -> SqlType:
    return type_of_wire(column.type, column.precision, column.scale, column.size, column.national)


def run_insert(
    session: SqlSession, plan: InsertPlan, bind_rows: Sequence[BindRow], *, batch_errors: bool, row_counts: bool
) -> Result:
    """Every row of binds is a statement of its own: an error leaves the rows before it, as Oracle's array DML does."""
    if plan.query is not None:
        return _insert_query(session, plan, bind_rows, row_counts)
    if plan.returning is not None:
        return _insert_returning(session, plan, plan.returning, bind_rows, batch_errors, row_counts)
    result = Result()
    rows: list[BindRow] = []
    origin: list[int] = []
    failure: OraError | None = None
    for number, binds in enumerate(bind_rows):
        try:
            rows.append(_made(session, plan, binds))
            origin.append(number)
        except OraError as error:
            if not batch_errors:
                failure = error
                break
            result.batch_errors.append(BatchError(number, error))
    done = 0
    while done < len(rows):
        count, error_ = session.storage.insert(session.client, plan.table, rows[done:])
        result.row_count += count
        done += count
        if error_ is not None:
            if not batch_errors:
                raise error_
            result.batch_errors.append(BatchError(origin[done], error_))
            done += 1
    if failure is not None:
        raise failure
    result.batch_errors.sort(key=lambda e: e.offset)
    if row_counts:
        failed = {e.offset for e in result.batch_errors}
        result.row_counts = [0 if n in failed else 1 for n in range(len(bind_rows))]
    return result


def _made(session: SqlSession, plan: InsertPlan, binds: BindRow) -> BindRow:
    if plan.computed is not None:
        binds = (*binds, *session.evaluate_row(plan.computed, plan.parameters, session.run(binds)))
    row = tuple([make(binds) for make in plan.makers])
    for at, name in plan.required:
        if row[at] is None:
            raise OraError(1400, f"cannot insert NULL into ({name})")
    if plan.checks is not None:
        plan.checks.enforce(session, row)
    return row


def _insert_returning(
    session: SqlSession,
    plan: InsertPlan,
    returning: ReturningPlan,
    bind_rows: Sequence[BindRow],
    batch_errors: bool,
    row_counts: bool,
) -> Result:
    """One row at a time, as each has its own values to give back."""
    result = Result()
    for number, binds in enumerate(bind_rows):
        found: list[BindRow] = []
        mark = session.mark()
        try:
            row = _made(session, plan, binds)
            _, error = session.storage.insert(session.client, plan.table, [row])
            if error is not None:
                raise error
            found.append(returning.row(session, binds, row, (plan.table.next_rid - 1) << VERSION_BITS))
        except OraError as failure:
            session.storage.undo_to(session.client, mark)
            if not batch_errors:
                raise
            result.batch_errors.append(BatchError(number, failure))
        note(result, returning, found)
        result.row_count += len(found)
        if row_counts:
            result.row_counts.append(len(found))
    return result


def _insert_query(session: SqlSession, plan: InsertPlan, bind_rows: Sequence[BindRow], row_counts: bool) -> Result:
    result = Result()
    assert plan.query is not None
    for binds in bind_rows:
        source = session.rows_of(plan.query, binds)
        rows = [_made(session, plan, row) for row in source]
        mark = session.mark()
        count, error = session.storage.insert(session.client, plan.table, rows) if rows else (0, None)
        if error is not None:
            session.storage.undo_to(session.client, mark)
            raise error
        result.row_count += count
        if row_counts:
            result.row_counts.append(count)
    return result
