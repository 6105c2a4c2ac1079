"""Partitions of a new table: bounds are evaluated once, as cells of the key columns, so they compare byte by byte."""

from __future__ import annotations

from minercdc.sandbox.catalog import Partitioning, Table, TablePartition
from minercdc.sandbox.interfaces import Cell, OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.dml.target import column_path, conversion
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.partitions import PartitionBy, PartitionSpec
from minercdc.sandbox.sql.store import storer
from minercdc.sandbox.sql.translate.expressions import Expressions


def add_partitions(session: SqlSession, table: Table, by: PartitionBy) -> None:
    """Raises ORA-14020 .. for bounds that do not fit, ORA-14037 for bounds that do not rise, ORA-14013 for a name twice."""
    places = table.positions(by.columns)
    catalog, now = session.catalog, session.storage.clock.now()
    made: list[TablePartition] = []
    for spec in by.partitions:
        name = spec.name or f"SYS_P{catalog.new_object_id()}"
        if any(other.name == name for other in made):
            raise OraError(14013, "duplicate partition name", spec.at)
        object_id = catalog.new_object_id()
        keys = [_cells(session, table, places, bound, spec) for bound in spec.bounds]
        if by.method == "RANGE" and made and not _rises(made[-1].keys[0], keys[0]):
            raise OraError(14037, f'partition bound of partition "{name}" is too high', spec.at)
        made.append(
            TablePartition(name, object_id, object_id, spec.text or ("DEFAULT" if by.method == "LIST" else None), now)
        )
        made[-1].keys = keys
    table.partitioning = Partitioning(by.method, by.columns, made)


def _cells(
    session: SqlSession, table: Table, places: tuple[int, ...], bound: list[ast.Expr | None], spec: PartitionSpec
) -> tuple[Cell | int, ...]:
    """The values of one bound; MAXVALUE is the integer 1, which is no cell."""
    if len(bound) != len(places):
        number, text = (
            14019,
            "partition bound element must be one of: string, datetime or interval literal, number, or MAXVALUE",
        )
        raise OraError(number, text, spec.at)
    found: list[Cell | int] = []
    for at, expr in zip(places, bound, strict=True):
        if expr is None:
            found.append(1)
            continue
        x = Expressions(session.environment)
        typed = x.value(expr, None)
        column = table.columns[at]
        fit = storer(typed.type, column, column_path(table, column), conversion(session.environment))
        found.append(fit(session.evaluate(typed.sql, x.parameters, session.run())))
    return tuple(found)


def _rises(before: tuple[Cell | int, ...], after: tuple[Cell | int, ...]) -> bool:
    return [_rank(cell) for cell in before] < [_rank(cell) for cell in after]


def _rank(cell: Cell | int) -> tuple[int, bytes]:
    if isinstance(cell, int) or cell is None:
        return 1, b""
    return 0, cell.encode() if isinstance(cell, str) else cell
