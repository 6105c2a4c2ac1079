"""How values become a row of a table: conversion, defaults, identity, NOT NULL and CHECK, planned once per statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.convert import Conversion, Convert
from minercdc_sandbox.sql.dml.checks import CheckPlan, plan_checks
from minercdc_sandbox.sql.dml.partitions import home
from minercdc_sandbox.sql.dml.target import BindRow, ChangeTarget, column_path, default_of
from minercdc_sandbox.sql.execution import Parameter, SqlSession
from minercdc_sandbox.sql.query.partitions import Wanted
from minercdc_sandbox.sql.runtime import begin_run, evaluate_row
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import Family, SqlType, bind_type
from minercdc_sandbox.tables import Column, Table


@dataclass(slots=True)
class RowPlan:
    """How a row of inputs (with the values of computed expressions after it) becomes a row of the table.

    :param makers: of each column: makes its cell from that row.
    :param required: position and path of columns that are NOT NULL.
    :param computed: SQL of the computed expressions; None without any.
    :param parameters: of `computed`.
    :param checks: None without any.
    :param only: the partition that the statement named, where all rows must go; None for any.
    :param given: place in that row, and type, of each column that the statement gives.
    :param alone: each statement inserts one row, given by VALUES.
    """

    table: Table
    makers: list[Callable[[BindRow], Cell]]
    required: list[tuple[int, str]]
    computed: str | None
    parameters: list[Parameter]
    checks: CheckPlan | None
    only: Wanted | None = None
    given: dict[int, tuple[int, SqlType]] = field(default_factory=dict)
    alone: bool = False

    def completed(self, session: SqlSession, inputs: BindRow) -> BindRow:
        """The inputs, then the computed values, which draw from sequences. Raises as `evaluate_row`."""
        if self.computed is None:
            return inputs
        return (*inputs, *evaluate_row(self.computed, self.parameters, begin_run(session, inputs)))

    def row(self, session: SqlSession, inputs: BindRow) -> BindRow:
        """The table's row of inputs: `completed`, then `fitted`. Raises ORA-01400, ORA-01402, ORA-02290, ORA-14400, ORA-14401 and
        what conversions, computed expressions and triggers raise."""
        return self.fitted(session, self.completed(session, inputs))

    def fitted(self, session: SqlSession, inputs: BindRow) -> BindRow:
        """The table's row of completed inputs, after its BEFORE triggers, which run; makes the partition that INTERVAL needs.
        Raises ORA-01400 and the others of `row`, and what the triggers raise."""
        row: BindRow = tuple([make(inputs) for make in self.makers])
        if session.programs.fires(self.table, "INSERT"):
            row = session.programs.before_row(self.table, "INSERT", None, row, alone=self.alone)
        for at, name in self.required:
            if row[at] is None:
                raise OraError(1400, f"cannot insert NULL into ({name})")
        if self.checks is not None:
            self.checks.enforce(session, row)
        if self.table.partitioning is not None:
            home(session, self.table, row, self.only(begin_run(session)) if self.only is not None else None)
        return row


@dataclass(slots=True)
class RowPlanner:
    """Makes the parts of a `RowPlan` for one statement: call `positions`, then a maker for each column given, then `plan`.

    :param width: how many inputs come first in the row that makers read; `computed` is the SQL of the values after them.
    :param x: translates the expressions.
    :param how: settings of conversions.
    :param only: the partition that the statement names; None for any.
    :param given_inputs: filled as `RowPlan.given`.
    """

    x: Expressions
    target: ChangeTarget
    how: Conversion
    width: int
    computed: list[str] = field(default_factory=list)
    only: Wanted | None = None
    given_inputs: dict[int, tuple[int, SqlType]] = field(default_factory=dict)

    def positions(self, columns: list[tuple[str, int]]) -> list[int]:
        """Positions of the named columns, of all shown stored ones when none is named. Raises ORA-00904, ORA-00957, ORA-01733,
        ORA-54013 for a virtual column."""
        if not columns:
            columns = [(name, 0) for name in self.target.shown()]
            virtual = {column.name for _, column in self.target.table.virtual}
            columns = [(name, at) for name, at in columns if self.target.columns[name] not in virtual]
        found: list[int] = []
        for name, at in columns:
            try:
                position = self.target.position(name, at)
            except OraError as error:
                if error.number == 54017:
                    raise OraError(54013, "INSERT operation disallowed on virtual columns", at) from None
                raise
            if position in found:
                raise OraError(957, "duplicate column name", at)
            found.append(position)
        return found

    def given(self, at: int, n: int, kind: SqlType) -> Callable[[BindRow], Cell]:
        """Maker of the column at `at` from the n-th input, of type `kind`. Raises ORA-32795, and as `storer` and `default`."""
        column = self.target.table.columns[at]
        self._not_always(column, 0)
        self.given_inputs[at] = (n, kind)
        fit = storer(kind, column, column_path(self.target.table, column), self.how)
        if not column.on_null:
            return from_input(n, fit)
        other = self.default(column)
        return lambda row: fit(row[n]) if row[n] is not None else other(row)

    def expression(self, at: int, expr: ast.Expr) -> Callable[[BindRow], Cell]:
        """Maker of the column at `at` from an expression: a bind is an input, anything else is computed. Raises ORA-01008,
        ORA-32795 and as `Expressions.value` and `storer`."""
        column = self.target.table.columns[at]
        if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.DEFAULT:
            return self.default(column)
        self._not_always(column, expr.at)
        x, path = self.x, column_path(self.target.table, column)
        if isinstance(expr, ast.Bind) and not column.on_null:
            if expr.index >= len(x.bind_types):
                raise OraError(1008, "not all variables bound", expr.at)
            self.given_inputs[at] = (expr.index, bind_type(x.bind_types[expr.index]))
            return from_input(expr.index, storer(bind_type(x.bind_types[expr.index]), column, path, self.how))
        typed = x.value(expr, None)
        sql = typed.sql
        if column.on_null and typed.type.family is Family.NULL:
            return self.default(column)
        if column.on_null and column.default is not None:
            other = x.value(default_of(column), None)
            sql = f"coalesce({sql},{x.to_type(other, typed.type, expr.at)})"
        self.given_inputs[at] = (self.width + len(self.computed), typed.type)
        return self._computed(sql, storer(typed.type, column, path, self.how))

    def default(self, column: Column) -> Callable[[BindRow], Cell]:
        """Maker of the column's default, NULL without one; adds its expression to `computed`. Raises as `Parser.expr`,
        `Expressions.value` and `storer`."""
        if column.default is None:
            return lambda row: None
        typed = self.x.value(default_of(column), None)
        return self._computed(typed.sql, storer(typed.type, column, column_path(self.target.table, column), self.how))

    def _computed(self, sql: str, fit: Convert) -> Callable[[BindRow], Cell]:
        self.computed.append(sql)
        return from_input(self.width + len(self.computed) - 1, fit)

    def _not_always(self, column: Column, at: int) -> None:
        if column.identity == "ALWAYS":
            raise OraError(32795, "cannot insert into a generated always identity column", at)

    def plan(self, makers: dict[int, Callable[[BindRow], Cell]]) -> RowPlan:
        """The plan with these makers by position, else defaults; call it last. Raises as `default` and `plan_checks`."""
        table = self.target.table
        every = [makers[at] if at in makers else self.default(column) for at, column in enumerate(table.columns)]
        required = [(at, column_path(table, c)) for at, c in enumerate(table.columns) if not c.nullable]
        sql = "select " + ",".join(self.computed) if self.computed else None
        checks = plan_checks(self.x.env, table, view=self.target)
        return RowPlan(table, every, required, sql, list(self.x.parameters), checks, self.only, self.given_inputs)


def check_count(columns: int, values: int, at: int) -> None:
    """Raises ORA-00947 for fewer values than columns, ORA-00913 for more, at the offset `at`."""
    if values < columns:
        raise OraError(947, "not enough values", at)
    if values > columns:
        raise OraError(913, "too many values", at)


def from_input(at: int, fit: Convert) -> Callable[[BindRow], Cell]:
    """Maker that converts the input at the place `at`; it raises as `fit`."""
    return lambda row: fit(row[at])
