"""INSERT ALL and INSERT FIRST: each row of a query goes into some of several tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import BindType, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.insert import insert_rows
from minercdc_sandbox.sql.dml.iterations import iterate, refuse_fired
from minercdc_sandbox.sql.dml.rows import RowPlan, RowPlanner, check_count
from minercdc_sandbox.sql.dml.target import BindRow, change_target, conversion
from minercdc_sandbox.sql.execution import Plan, SqlSession, StatementCall
from minercdc_sandbox.sql.query.partitions import wanted_partition
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.scope import Scope
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions


@dataclass(slots=True)
class ManyPlan:
    """The plan of INSERT ALL and, with `first`, INSERT FIRST.

    :param branches: of each WHEN (one for all without WHEN) the place of its condition in the query's row, and what to insert.
    :param otherwise: of ELSE; empty without it.
    """

    first: bool
    query: Plan
    branches: list[tuple[int, list[RowPlan]]] = field(default_factory=list)
    otherwise: list[RowPlan] = field(default_factory=list)

    def run(self, session: SqlSession, call: StatementCall) -> Result:
        """Run it for each row of binds; the count is of all tables. Raises as `iterate` and `RowPlan.row`."""

        def once(_: Result, binds: BindRow) -> tuple[int, list[BindRow]]:
            count = 0
            for row in session.statements.rows_of(self.query, binds):
                for rows in self._ways(row):
                    refuse_fired(session, rows.table, "INSERT ALL", "INSERT")
                    session.programs.check_table(rows.table, changed=True)
                    count += insert_rows(session, rows, [rows.row(session, row)])
            return count, []

        return iterate(session, call, once)

    def _ways(self, row: Sequence[object]) -> list[RowPlan]:
        """The tables one row goes into, in the statement's order: those of every WHEN that holds, of the first with `first`, of
        ELSE when none does."""
        found: list[RowPlan] = []
        matched = False
        for at, rows in self.branches:
            if row[at] == 1:
                matched = True
                found += rows
                if self.first:
                    return found
        return found if matched else self.otherwise


def plan_many(env: Environment, insert: ast.InsertMany, bind_types: Sequence[BindType]) -> ManyPlan:
    """Plan INSERT ALL or INSERT FIRST: conditions and values are columns of one query, so each is computed once per row, NEXTVAL
    too. Raises the errors of its parts."""
    x = Expressions(env, bind_types)
    queries = Queries(env, x)
    scope = Scope()
    source = queries.relation(ast.Derived(insert.query, None, insert.at), scope)
    items: list[str] = []
    every = [into for _, intos in insert.branches for into in intos] + insert.otherwise
    x.note_drawn([into.values for into in every])
    tests = []
    for condition, _ in insert.branches:
        tests.append(len(items))
        items.append(x.condition(condition, scope) if condition is not None else "1")
    planned = iter([_into(x, into, scope, items) for into in every])
    width = len(items)
    plan = ManyPlan(insert.first, Plan("", (), x.parameters, bool(queries.tables), queries.tables))
    for at, (_, intos) in zip(tests, insert.branches, strict=True):
        plan.branches.append((at, [next(planned)(width) for _ in intos]))
    plan.otherwise = [next(planned)(width) for _ in insert.otherwise]
    plan.query.sql = f"select {','.join(items)} from {source}"
    return plan


def _into(x: Expressions, into: ast.InsertInto, scope: Scope, items: list[str]) -> Callable[[int], RowPlan]:
    """Translate one INTO: its values become `items` of the query. Returns a function that finishes it when the width of the row
    is known, as defaults come after it. Raises as `change_target`, `wanted_partition`, `check_count` and `RowPlanner.expression`."""
    target = change_target(x.env, into.target, "INSERT")
    planner = RowPlanner(x, target, conversion(x.env, target.table), 0)
    if into.target.partition is not None:
        planner.only = wanted_partition(x.env, target.table, into.target.partition)
    positions = planner.positions(into.columns)
    values = into.values
    if values is None:
        columns = scope.sources[0].columns
        values = [ast.Name((column.name,), into.target.at) for column in columns]
    check_count(len(positions), len(values), into.target.at)
    given = {}
    defaults = []
    for at, expr in zip(positions, values, strict=True):
        if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.DEFAULT:
            defaults.append(at)
            continue
        typed = x.value(expr, scope)
        given[at] = planner.given(at, len(items), typed.type)
        items.append(typed.sql)

    def finish(width: int) -> RowPlan:
        planner.width = width
        return planner.plan({**given, **{at: planner.default(target.table.columns[at]) for at in defaults}})

    return finish
