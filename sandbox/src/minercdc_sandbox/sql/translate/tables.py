"""The columns of a stored table in a query: of virtual ones, the translated expression."""

from __future__ import annotations

from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible, column_value
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import column_type
from minercdc_sandbox.tables import Table


def stored_columns(
    x: Expressions,
    table: Table,
    names: tuple[tuple[str, ...], ...],
    alias: str,
    *,
    by_position: bool = False,
    in_table: bool = True,
) -> list[Visible]:
    """The table's columns, virtual and invisible ones too, in the order of `*`, over a relation `alias` whose columns are
    c<slot>, or c<position> when `by_position`. Raises as `Expressions.value` for the expression of a virtual column.

    :param names: of the relation, which expressions of virtual columns may use.
    :param in_table: the relation has the version id as `vid`.
    """
    stored = {
        c.name: Visible(
            c.name,
            column_value(table, c, f"{alias}.c{at if by_position else c.slot}", f"{alias}.vid" if in_table else None),
            invisible=c.invisible,
        )
        for at, c in enumerate(table.columns)
    }
    if not table.virtual:
        return [stored[column.name] for column in table.shown_columns()]
    scope = Scope([Source(names, list(stored.values()))])
    found: list[Visible] = []
    for column in table.shown_columns():
        if column.virtual is None:
            found.append(stored[column.name])
            continue
        value = x.value(Parser(column.virtual).expr(), scope)
        kind = column_type(column)
        sql = x.fitted(value, column, 0).sql if kind.family is not value.type.family else value.sql
        found.append(Visible(column.name, Typed(f"({sql})", kind, column.nullable), invisible=column.invisible))
    return found
