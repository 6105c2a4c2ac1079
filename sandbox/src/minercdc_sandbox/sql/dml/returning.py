"""RETURNING .. INTO: the expressions a DML statement hands back of every row it inserted, changed or deleted.

They are computed from parameters: the row of binds, then the row (after the change; before it for DELETE) and its version id.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.convert import Conversion, Convert, convert
from minercdc_sandbox.sql.dml.checks import row_field
from minercdc_sandbox.sql.dml.target import ChangeTarget
from minercdc_sandbox.sql.execution import Parameter, SqlSession
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.query.trees import has_aggregate
from minercdc_sandbox.sql.runtime import begin_run, evaluate_row
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import bind_type


@dataclass(slots=True)
class ReturningPlan:
    """The plan of RETURNING.

    :param binds: positions of the binds of INTO, by item; `fits` convert the values to their types, None where they need not.
    :param aggregated: the items are aggregates, with one row of values for all affected rows.
    """

    sql: str
    parameters: list[Parameter]
    binds: tuple[int, ...]
    fits: list[Convert | None]
    aggregated: bool = False

    def rows(
        self, session: SqlSession, binds: Sequence[Cell], affected: Sequence[tuple[Sequence[Cell], int]]
    ) -> list[tuple[Cell, ...]]:
        """The values of each affected row, in order, of aggregates one row of all of them. Raises as `evaluate_row` and `fits`.

        :param affected: rows with their version ids.
        """
        if self.aggregated:
            packed = marshal.dumps([(*row, vid) for row, vid in affected])
            return [self._fitted(evaluate_row(self.sql, self.parameters, begin_run(session, tuple(binds), (packed,))))]
        found = []
        for row, vid in affected:
            run = begin_run(session, tuple(binds), (*row, vid))
            found.append(self._fitted(evaluate_row(self.sql, self.parameters, run)))
        return found

    def _fitted(self, cells: Sequence[Cell]) -> tuple[Cell, ...]:
        return tuple([cell if fit is None else fit(cell) for fit, cell in zip(self.fits, cells, strict=True)])


def plan_returning(
    env: Environment, target: ChangeTarget, returning: ast.Returning, bind_types: Sequence[BindType], how: Conversion
) -> ReturningPlan:
    """Plan RETURNING. Raises as `Expressions.value`, ORA-01008 for a bind that is not given, ORA-00932 for one of a type that
    the value does not convert to."""
    x = Expressions(env, bind_types)
    Queries(env, x)
    table = target.table
    grouped = has_aggregate(returning.items)
    scope = target.scope(x, "r", by_position=True)
    if grouped:
        source = f"o_unpack({x.parameter(('row', 0), row_field(0))})"
        heads = [f"c{at}" for at in range(len(table.columns))] + [f"c{len(table.columns)} as vid"]
        source = f"(select {','.join(heads)} from {source})"
    else:
        fields = [f"{x.parameter(('row', at), row_field(at))} as c{at}" for at in range(len(table.columns))]
        fields.append(f"{x.parameter(('row', 'vid'), row_field(len(table.columns)))} as vid")
        source = f"(select {','.join(fields)})"
    items: list[str] = []
    fits: list[Convert | None] = []
    for item, index in zip(returning.items, returning.binds, strict=True):
        if index >= len(bind_types):
            raise OraError(1008, "not all variables bound", returning.at)
        with x.nested(analytic=False, aggregates=grouped):
            typed = x.value(item, scope)
        items.append(typed.sql)
        fits.append(convert(typed.type, bind_type(bind_types[index]).family, how))
    sql = f"select {','.join(items)} from {source} r"
    return ReturningPlan(sql, x.parameters, tuple(returning.binds), fits, grouped)


def note(result: Result, plan: ReturningPlan, rows: list[tuple[Cell, ...]]) -> None:
    """Add to the result the rows of values that one row of binds returned; [] for none."""
    result.return_binds = plan.binds
    result.returned.append(rows)
