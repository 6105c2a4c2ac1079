"""Columns of a stored table as a query sees them: stored ones by slot, virtual ones by their expression."""

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
    """Columns named `alias.c<slot>`, or `alias.c<position>` of a row that is at hand.

    :param in_table: the row has its version id beside it; a row that is only to be checked has none.
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
