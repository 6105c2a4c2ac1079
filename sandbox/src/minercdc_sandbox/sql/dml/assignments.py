"""SET of UPDATE and MERGE: the SQL of the new values, and the rows made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.convert import Conversion, Convert
from minercdc_sandbox.sql.dml.checks import CheckPlan, plan_checks
from minercdc_sandbox.sql.dml.partitions import stays
from minercdc_sandbox.sql.dml.target import ChangeTarget, column_path, conversion, default_of
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.scope import Scope
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import Family, SqlType
from minercdc_sandbox.tables import Column, Table


@dataclass(slots=True)
class Assigned:
    """The columns that a statement assigns, in column order, and how their values get into rows. A DELETE has none.

    :param positions: of the columns in the table.
    :param sql: of each new value.
    :param types: of the new values, before conversion.
    :param fits: convert them to the columns' types.
    :param required: position and path of those that are NOT NULL.
    :param checks: of the table and WITH CHECK OPTION; None without any.
    """

    table: Table
    positions: tuple[int, ...]
    sql: tuple[str, ...]
    types: tuple[SqlType, ...]
    fits: tuple[Convert, ...]
    required: list[tuple[int, str]]
    checks: CheckPlan | None

    def given(self, before: Sequence[Cell], values: Sequence[Cell]) -> tuple[Cell, ...]:
        """The row `before` with the values that the statement gives, one for each position; triggers and constraints are not
        looked at. Raises what conversions raise."""
        after = list(before)
        for at, fit, value in zip(self.positions, self.fits, values, strict=True):
            after[at] = fit(value)
        return tuple(after)

    def check(self, session: SqlSession, before: Sequence[Cell], after: Sequence[Cell]) -> None:
        """Check a row after its change. Raises ORA-01407, ORA-01402, ORA-02290, ORA-14402, ORA-14400 for a row that the table
        cannot have. Makes the partition that INTERVAL needs."""
        for at, name in self.required:
            if after[at] is None:
                raise OraError(1407, f"cannot update ({name}) to NULL")
        if self.checks is not None:
            self.checks.enforce(session, after)
        stays(session, self.table, before, after)

    def triggered(self, session: SqlSession, before: tuple[Cell, ...], after: tuple[Cell, ...]) -> tuple[Cell, ...]:
        """The row after the table's BEFORE UPDATE triggers, which run. Raises what they raise, and ORA-01407."""
        found = session.programs.before_row(self.table, "UPDATE", before, after, self.positions)
        for at, column in enumerate(self.table.columns):
            if not column.nullable and found[at] is None:
                raise OraError(1407, f"cannot update ({column_path(self.table, column)}) to NULL")
        return found


def plan_assigned(x: Expressions, target: ChangeTarget, scope: Scope, assignments: Sequence[ast.Assignment]) -> Assigned:
    """Plan the assignments of a statement. Raises ORA-00904, ORA-00957, ORA-01733, ORA-32796, ORA-54017, and as
    `Expressions.value`, `Conversions.to_type` and `plan_checks`."""
    x.note_drawn(assignments)
    table = target.table
    how = conversion(x.env, table)
    found: dict[int, tuple[str, SqlType, Convert]] = {}
    for name, expr, at in assignments:
        position = target.position(name, at)
        if position in found:
            raise OraError(957, "duplicate column name", at)
        found[position] = _value(x, table, table.columns[position], scope, expr, at, how)
    positions = tuple(sorted(found))
    sql, types, fits = zip(*(found[at] for at in positions), strict=True) if found else ((), (), ())
    required = [(at, column_path(table, table.columns[at])) for at in positions if not table.columns[at].nullable]
    return Assigned(table, positions, sql, types, fits, required, plan_checks(x.env, table, view=target) if found else None)


def _value(
    x: Expressions, table: Table, column: Column, scope: Scope, expr: ast.Expr, at: int, how: Conversion
) -> tuple[str, SqlType, Convert]:
    if column.identity == "ALWAYS":
        raise OraError(32796, "cannot update a generated always identity column", at)
    if isinstance(expr, ast.Literal) and expr.kind is ast.LiteralKind.DEFAULT:
        expr = default_of(column)
    with x.nested(analytic=False):
        typed = x.value(expr, scope)
    sql = typed.sql
    if column.on_null and typed.type.family is Family.NULL:
        typed = x.value(default_of(column), None)
        sql = typed.sql
    elif column.on_null and column.default is not None:
        sql = f"coalesce({sql},{x.to_type(x.value(default_of(column), None), typed.type, at)})"
    return sql, typed.type, storer(typed.type, column, column_path(table, column), how)
