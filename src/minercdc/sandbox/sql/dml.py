"""INSERT, UPDATE, DELETE and SELECT FOR UPDATE: planned once per text, run per row of binds, each run atomic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from minercdc.sandbox.catalog import Column, Table
from minercdc.sandbox.interfaces import BatchError, BindType, Cell, ColumnDescription, OraError, Result
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.checks import CheckPlan, plan_checks
from minercdc.sandbox.sql.expressions import Environment, Expressions
from minercdc.sandbox.sql.parser import Parser
from minercdc.sandbox.sql.queries import Plan, Queries, find_relation
from minercdc.sandbox.sql.returning import ReturningPlan, note, plan_returning
from minercdc.sandbox.sql.runtime import Parameter, execute
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.types import Conversion, Convert, SqlType, bind_type, column_type, storer, type_of_wire
from minercdc.sandbox.storage import rowid
from minercdc.sandbox.storage.engine import StatementRestart, Target
from minercdc.sandbox.storage.store import VERSION_BITS, segment, visible

if TYPE_CHECKING:
    from minercdc.sandbox.session import SandboxSession

BindRow: TypeAlias = "tuple[Cell, ...]"


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


def conversion(env: Environment) -> Conversion:
    return Conversion(env.nls, date.today())


def target_table(env: Environment, owner: str | None, name: str, at: int) -> Table:
    """Raises ORA-00942, and ORA-02030/01732 for what cannot be changed."""
    found = find_relation(env, owner, name, at)
    if isinstance(found, Table):
        return found
    raise OraError(1732 if found is None else 2030, "data manipulation operation not legal on this view", at)


def _where(table: Table, column: Column) -> str:
    return f'"{table.owner}"."{table.name}"."{column.name}"'


# ---- INSERT ----


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
            makers[at] = _from_bind(n, storer(sources[n], table.columns[at], _where(table, table.columns[at]), how))
    else:
        assert insert.values is not None
        _check_count(len(positions), len(insert.values), insert.at)
        Queries(env, x)
        for at, expr in zip(positions, insert.values, strict=True):
            makers[at] = _maker(x, expr, table, at, how, computed, bind_types)
    for at, column in enumerate(table.columns):
        if at not in positions and column.default is not None:
            makers[at] = _maker(x, _default(column), table, at, how, computed, bind_types)
    required = [(at, _where(table, c)) for at, c in enumerate(table.columns) if not c.nullable]
    sql = "select " + ",".join(computed) if computed else None
    returned = None
    if insert.returning is not None:
        if query is not None:
            raise OraError(933, "SQL command not properly ended", insert.returning.at)
        returned = plan_returning(env, table, _names(table), insert.returning, bind_types, how)
    return InsertPlan(table, makers, required, sql, list(x.parameters), query, returned, plan_checks(env, table))


def _names(table: Table) -> tuple[tuple[str, ...], ...]:
    return (table.name,), (table.owner, table.name)


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


def _default(column: Column) -> ast.Expr:
    return Parser(column.default or "NULL").expr()


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
        expr = _default(column)
    if isinstance(expr, ast.Bind):
        if expr.index >= len(bind_types):
            raise OraError(1008, "not all variables bound", expr.at)
        return _from_bind(expr.index, storer(bind_type(bind_types[expr.index]), column, _where(table, column), how))
    typed = x.value(expr, None)
    fit = storer(typed.type, column, _where(table, column), how)
    computed.append(typed.sql)
    return _from_bind(len(bind_types) + len(computed) - 1, fit)


def _described(column: ColumnDescription) -> SqlType:
    return type_of_wire(column.type, column.precision, column.scale, column.size, column.national)


def run_insert(
    session: SandboxSession, plan: InsertPlan, bind_rows: Sequence[BindRow], *, batch_errors: bool, row_counts: bool
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


def _made(session: SandboxSession, plan: InsertPlan, binds: BindRow) -> BindRow:
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
    session: SandboxSession,
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


def _insert_query(session: SandboxSession, plan: InsertPlan, bind_rows: Sequence[BindRow], row_counts: bool) -> Result:
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


# ---- UPDATE, DELETE, FOR UPDATE ----


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
            expr = _default(column)
        typed = x.value(expr, scope)
        found[position] = (typed.sql, storer(typed.type, column, _where(table, column), how))
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
    required = [(at, _where(table, table.columns[at])) for at in sorted(found) if not table.columns[at].nullable]
    returned = None
    if returning is not None:
        returned = plan_returning(env, table, names, returning, bind_types, how)
    return ScanPlan(table, sql, x.parameters, assigned, required, returned, plan_checks(env, table) if assigned else None)


def _targets(session: SandboxSession, plan: ScanPlan, binds: BindRow) -> list[Target]:
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
    session: SandboxSession,
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


def _change_once(session: SandboxSession, plan: ScanPlan, binds: BindRow, delete: bool) -> list[Target]:
    storage, client = session.storage, session.client
    storage.lock_for_dml(client, plan.table)
    mark = session.mark()
    changed = tuple(at for at, _ in plan.assigned)
    while True:
        try:
            targets = _targets(session, plan, binds)
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


def lock_rows(session: SandboxSession, plan: ScanPlan, binds: BindRow, wait: ast.LockWait) -> None:
    """FOR UPDATE: claim and lock what the query's WHERE finds."""
    session.storage.lock_for_dml(session.client, plan.table, wait.seconds)
    while True:
        try:
            targets = _targets(session, plan, binds)
            session.storage.claim(session.client, plan.table, targets, wait.seconds)
            session.storage.lock_rows(session.client, plan.table, targets)
            return
        except StatementRestart:
            continue


def lock_free_rows(session: SandboxSession, plan: ScanPlan, binds: BindRow) -> list[str]:
    """FOR UPDATE SKIP LOCKED: lock what nobody else holds; returns the ROWIDs."""
    storage, client = session.storage, session.client
    transaction = storage.lock_for_dml(client, plan.table)
    targets = [t for t in _targets(session, plan, binds) if storage.blocker(plan.table, t, transaction) is None]
    storage.claim(client, plan.table, targets)
    storage.lock_rows(client, plan.table, targets)
    prefix = rowid.object_prefix(plan.table.data_object_id)
    return [rowid.row_text(prefix, target.vid >> VERSION_BITS) for target in targets]


_LIST = 500
"""SQLite limits the depth of a chain of OR to 1000."""


def only_rows(query: ast.Query, row_ids: Sequence[str]) -> ast.Query:
    """The query of one table, of these rows only."""
    select = query.body
    assert isinstance(select, ast.Select)
    name = ast.Name(("ROWID",), select.at, False)
    literals: list[ast.Expr] = [ast.Literal("S", text, select.at) for text in row_ids]
    lists: list[ast.Expr] = [
        ast.InList(name, literals[n : n + _LIST], False, select.at) for n in range(0, len(literals), _LIST)
    ]
    none = ast.Compare("<>", ast.Literal("N", "0", select.at), ast.Literal("N", "0", select.at), select.at)
    condition: ast.Expr = ast.Logic("OR", lists, select.at) if lists else none
    where = condition if select.where is None else ast.Logic("AND", [condition, select.where], select.at)
    return replace(query, body=replace(select, where=where), for_update=None)
