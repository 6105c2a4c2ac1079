"""RETURNING .. INTO: the expressions a DML statement hands back of every row it inserted, changed or deleted.

They are computed from parameters: the row of binds, then the row (after the change; before it for DELETE) and its version id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc.sandbox.catalog import Table
from minercdc.sandbox.interfaces import BindType, Cell, OraError, Result
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.convert import Conversion, Convert, convert
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.query.select import Queries
from minercdc.sandbox.sql.runtime import Parameter, Run
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.translate.environment import Environment
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import bind_type, column_type


@dataclass(slots=True)
class ReturningPlan:
    """`binds` are the positions of the INTO list; `fits` bring values to the types of the binds."""

    sql: str
    parameters: list[Parameter]
    binds: tuple[int, ...]
    fits: list[Convert | None]

    def row(self, session: SqlSession, binds: Sequence[Cell], row: Sequence[Cell], vid: int) -> tuple[Cell, ...]:
        """Values of one affected row."""
        session.row_values = (*row, vid)
        found = session.evaluate_row(self.sql, self.parameters, session.run(tuple(binds)))
        return tuple([cell if fit is None else fit(cell) for fit, cell in zip(self.fits, found, strict=True)])


def _field(at: int) -> Callable[[Run], object]:
    return lambda run: run.session.row_values[at]


def plan_returning(
    env: Environment,
    table: Table,
    names: tuple[tuple[str, ...], ...],
    returning: ast.Returning,
    bind_types: Sequence[BindType],
    how: Conversion,
) -> ReturningPlan:
    """Raises ORA-00904 and the like for expressions, ORA-00932 for binds of another type."""
    x = Expressions(env, bind_types)
    Queries(env, x)
    columns = [Visible(c.name, Typed(f"r.c{at}", column_type(c), c.nullable)) for at, c in enumerate(table.columns)]
    scope = Scope([Source(names, columns, (table.data_object_id, "r.vid"), table)])
    fields = [f"{x.parameter(('row', at), _field(at))} as c{at}" for at in range(len(columns))]
    fields.append(f"{x.parameter(('row', 'vid'), _field(len(columns)))} as vid")
    items: list[str] = []
    fits: list[Convert | None] = []
    for item, index in zip(returning.items, returning.binds, strict=True):
        if index >= len(bind_types):
            raise OraError(1008, "not all variables bound", returning.at)
        typed = x.value(item, scope)
        items.append(typed.sql)
        fits.append(convert(typed.type, bind_type(bind_types[index]).family, how))
    sql = f"select {','.join(items)} from (select {','.join(fields)}) r"
    return ReturningPlan(sql, x.parameters, tuple(returning.binds), fits)


def note(result: Result, plan: ReturningPlan, rows: list[tuple[Cell, ...]]) -> None:
    """Add what one row of binds returned."""
    result.return_binds = plan.binds
    result.returned.append(rows)
