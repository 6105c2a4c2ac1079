"""Which columns of CREATE TABLE .. AS have a NOT NULL constraint of the table that they are selected from."""

from __future__ import annotations

from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.tables import ConstraintKind, Table


def copied_not_nulls(session: SqlSession, query: ast.Query) -> list[bool] | None:
    """For each column of a query of one table whether a NOT NULL constraint is copied with it: one that was made for the column, is not
    deferrable and is validated, if the query selects the column and no expression; none that a primary key implies (SQL Language Reference,
    CREATE TABLE, AS subquery). None for a query of several tables, or of a view, and for one that groups or combines rows."""
    body = query.body
    while isinstance(body, ast.Query) and not query.with_:
        body = body.body
    if not isinstance(body, ast.Select) or body.group_by or body.distinct or body.hierarchy or len(body.relations) != 1:
        return None
    source = body.relations[0]
    if not isinstance(source, ast.TableRef) or source.inline is not None or source.versions is not None or query.with_:
        return None
    table = session.catalog.table(session.container, source.owner or session.schema, source.name)
    if table is None or table.is_view:
        return None
    required = _required(table)
    found: list[bool] = []
    for item in body.items:
        if item.expr is None:
            found += [column.name in required for column in table.shown_columns() if not column.invisible]
        else:
            found.append(isinstance(item.expr, ast.Name) and item.expr.parts[-1] in required)
    return found


def _required(table: Table) -> set[str]:
    return {
        constraint.columns[0]
        for constraint in table.constraints
        if constraint.kind == ConstraintKind.CHECK
        and constraint.enabled
        and constraint.validated
        and not constraint.deferrable
    }
