"""Partitions of a new table. Bounds are evaluated once, to cells of the key columns."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.partitioning import Bound, Interval, Partitioning, SubpartitionBy, TablePartition, is_below
from minercdc_sandbox.sql import ast, intervals, number
from minercdc_sandbox.sql.dml.partitions import AUTOMATIC, Part, new_partition
from minercdc_sandbox.sql.dml.target import column_path, conversion
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.partitions import PartitionBy, PartitionSpec
from minercdc_sandbox.sql.runtime import begin_run, evaluate
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import Family
from minercdc_sandbox.tables import Table

_STEPS = {Family.NUMBER: "NUMBER", Family.MONTHS: "MONTHS", Family.INTERVAL: "TIME"}
_MOMENTS = (OraType.DATE, OraType.TIMESTAMP)


def add_partitions(session: SqlSession, table: Table, by: PartitionBy) -> None:
    """Partition a new table as CREATE TABLE describes it. Raises ORA-00904, ORA-14013 for a name twice, ORA-14037 for bounds that
    do not rise, and as `described_partition`, `set_template` and `interval_step`."""
    table.positions(by.columns)
    table.partitioning = Partitioning(by.method, by.columns, [])
    if by.sub is not None:
        table.positions(by.sub.columns)
        table.partitioning.divided = SubpartitionBy(by.sub.method, by.sub.columns)
        set_template(session, table, by.sub.template)
    if by.interval is not None:
        table.partitioning.interval = interval_step(session, table, *by.interval, by.at)
    for spec in by.partitions:
        made = described_partition(session, table, spec)
        found = table.partitioning.partitions
        if by.method == "RANGE" and found and not is_below(found[-1].keys[0], made.keys[0]):
            raise OraError(14037, f'partition bound of partition "{made.name}" is too high', spec.at)
        found.append(made)


def described_partition(session: SqlSession, table: Table, spec: PartitionSpec) -> TablePartition:
    """A new partition as it is described, with numbers of its own, not yet among the others. Raises as `described_parts` and
    `new_partition`."""
    by = table.partitioning
    assert by is not None
    [(name, text, keys)] = described_parts(session, table, by, [spec])
    parts = None
    if spec.parts is not None and by.divided is not None:
        parts = described_parts(session, table, by.divided, spec.parts)
    return new_partition(session, table, name, text, keys, parts=parts)


def described_parts(
    session: SqlSession, table: Table, by: Partitioning | SubpartitionBy, specs: list[PartitionSpec]
) -> list[Part]:
    """Names, texts and cells of the bounds of partitions by `by`, as they are described. Raises ORA-14037 for bounds that do not
    rise, and as `bound_cells`."""
    found: list[Part] = []
    for spec in specs:
        keys = [bound_cells(session, table, by.columns, bound, spec.at) for bound in spec.bounds]
        if by.method == "RANGE" and found and not is_below(found[-1][2][0], keys[0]):
            raise OraError(14037, f'partition bound of partition "{spec.name or ""}" is too high', spec.at)
        found.append((spec.name, spec.text or ("DEFAULT" if by.method == "LIST" else None), keys))
    return found


def set_template(session: SqlSession, table: Table, specs: list[PartitionSpec]) -> None:
    """Let the table's partitions that say nothing of subpartitions have these from now on; [] for one that takes all. Raises as
    `described_parts`."""
    by = table.partitioning
    assert by is not None
    assert by.divided is not None
    parts = described_parts(session, table, by.divided, specs)
    named = tuple((name or f"S{place}", text, keys) for place, (name, text, keys) in enumerate(parts, 1))
    by.divided = replace(by.divided, template=named, is_named=any(spec.name is not None for spec in specs))


def interval_step(session: SqlSession, table: Table, expr: ast.Expr | None, text: str, at: int) -> Interval | None:
    """The INTERVAL of a table, whose `partitioning` has its columns, or AUTOMATIC of LIST; None for an empty INTERVAL. Raises
    ORA-14750 for several columns, ORA-14751 for a column that has no intervals, ORA-14752 for a step that is no positive constant
    of the right type, and as `Expressions.value` and `evaluate`."""
    by = table.partitioning
    assert by is not None
    if by.method == "LIST":
        return AUTOMATIC
    if expr is None:
        return None
    if len(by.columns) != 1:
        raise OraError(14750, "Range partitioned table with INTERVAL clause has more than one column", at)
    kind = table.columns[table.position(by.columns[0])].type
    if kind is not OraType.NUMBER and kind not in _MOMENTS:
        raise OraError(14751, "Invalid data type for partitioning column of an interval partitioned table", at)
    x = Expressions(session.environment)
    typed = x.value(expr, None)
    unit = _STEPS.get(typed.type.family)
    cell = evaluate(typed.sql, x.parameters, begin_run(session)) if unit is not None else None
    if unit is None or not isinstance(cell, bytes) or (unit == "NUMBER") is not (kind is OraType.NUMBER):
        raise OraError(14752, "Interval expression is not a constant of the correct type", at)
    if unit == "NUMBER":
        step = number.decode(cell)
    else:
        step = Decimal(intervals.decode(cell) if unit == "TIME" else intervals.decode_months(cell))
    if step <= 0:
        raise OraError(14752, "Interval expression is not a constant of the correct type", at)
    return Interval(text, unit, step)


def bound_cells(session: SqlSession, table: Table, columns: tuple[str, ...], bound: list[ast.Expr | None], at: int) -> Bound:
    """The cells of one bound, as the key `columns` store them; MAXVALUE (None in `bound`) is the integer 1. Raises ORA-14019 for
    another number of values, at the offset `at`, and as `Expressions.value`, `evaluate` and `storer`."""
    places = table.positions(columns)
    if len(bound) != len(places):
        text = "partition bound element must be one of: string, datetime or interval literal, number, or MAXVALUE"
        raise OraError(14019, text, at)
    found: list[bytes | str | int | None] = []
    for place, expr in zip(places, bound, strict=True):
        if expr is None:
            found.append(1)
            continue
        x = Expressions(session.environment)
        typed = x.value(expr, None)
        column = table.columns[place]
        fit = storer(typed.type, column, column_path(table, column), conversion(session.environment))
        found.append(fit(evaluate(typed.sql, x.parameters, begin_run(session))))
    return tuple(found)
