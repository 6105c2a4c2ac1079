"""The partition of a changed row, which INTERVAL or AUTOMATIC makes when it is needed.

A row moves to another partition only where ROW MOVEMENT is enabled, and then is deleted and inserted (VLDB and Partitioning
Guide, "Row Movement"). LogMiner shows no DDL that INTERVAL or AUTOMATIC makes a partition by: it is recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError, OraType
from minercdc_sandbox.partitioning import Bound, Interval, Key, Partitioning, TablePartition, is_below
from minercdc_sandbox.sql import number, temporal
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.tables import Column, Table

Part: TypeAlias = "tuple[str | None, str | None, list[Bound]]"
"""A subpartition to be: its name, None for a generated one, HIGH_VALUE and keys as of `TablePartition`."""
# The one subpartition of a partition that nothing is said of (SQL Language Reference, CREATE TABLE, "composite_range_partitions").
_EVERYTHING = {"RANGE": "MAXVALUE", "LIST": "DEFAULT", "HASH": None}
_ALL_KEYS: dict[str, Callable[[int], list[Bound]]] = {
    "RANGE": lambda columns: [(1,) * columns],
    "LIST": lambda columns: [],
    "HASH": lambda columns: [],
}

AUTOMATIC = Interval("", "AUTOMATIC", Decimal(0))
"""Of LIST partitions: each new value gets a partition."""


def home(session: SqlSession, table: Table, row: Sequence[Cell], only: TablePartition | None = None) -> TablePartition:
    """The partition or subpartition of a row in a partitioned table, made if need be: by INTERVAL or AUTOMATIC, also when the
    statement then fails. Raises ORA-14400 without one, ORA-14401 when it is not `only`, which the statement named (None: any), nor
    in it, and as `new_partition`."""
    by = table.partitioning
    assert by is not None
    key = table.partition_key(tuple(row))
    found = by.holding(key)
    if found is None and by.interval is not None and key[0] is not None and by.partition_of(key[: len(by.columns)]) is None:
        _grown(session, table, by.interval, key[: len(by.columns)])
        found = by.holding(key)
    if found is None:
        raise OraError(14400, "inserted partition key does not map to any partition")
    if only is not None and all(found is not one for one in only.segments()):
        raise OraError(14401, "inserted partition key is outside specified partition")
    return found


def stays(session: SqlSession, table: Table, before: Sequence[Cell], after: Sequence[Cell]) -> None:
    """Check the partition of an updated row; nothing in a table without partitions. Raises ORA-14402 when it changes without ROW
    MOVEMENT, with it as `home`."""
    by = table.partitioning
    if by is None or table.partition_key(tuple(before)) == table.partition_key(tuple(after)):
        return
    if table.row_movement:
        home(session, table, after)
    elif by.holding(table.partition_key(tuple(before))) is not by.holding(table.partition_key(tuple(after))):
        raise OraError(14402, "updating partition key column would cause a partition change")


def new_partition(
    session: SqlSession,
    table: Table,
    name: str | None,
    bound: str | None,
    keys: list[Bound],
    low: Bound | None = None,
    parts: Sequence[Part] | None = None,
) -> TablePartition:
    """An empty partition with object ids and a number of its own, or with subpartitions, not yet among the others. Raises
    ORA-14013 for a name that is taken, ORA-14299, and as `divide`.

    :param name: None for a generated one; `bound`: the text of its upper bound or values, `keys` their cells.
    :param low: the lower bound of one that INTERVAL makes, else None.
    :param parts: its subpartitions in a composite table, None for those of the template.
    """
    by, catalog = table.partitioning, session.catalog
    assert by is not None
    name = name or f"SYS_P{catalog.new_object_id()}"
    if any(other.name == name for other in by.partitions):
        raise OraError(14013, "duplicate partition name")
    object_id = catalog.new_object_id()
    made = TablePartition(name, object_id, object_id, bound, session.storage.clock.now(), keys, low=low)
    if by.divided is None:
        made.number_as(by.new_number())
        return made
    if parts is None:
        named, template = by.divided.is_named, by.divided.template
        parts = [(f"{name}_{part}" if named else None, text, list(of)) for part, text, of in template]
    everything = (None, _EVERYTHING[by.divided.method], list(_ALL_KEYS[by.divided.method](len(by.divided.columns))))
    made.subpartitions = Partitioning(by.divided.method, by.divided.columns, [])
    for part in parts or [everything]:
        made.subpartitions.partitions.append(new_subpartition(session, table, made, *part))
    return made


def new_subpartition(
    session: SqlSession, table: Table, of: TablePartition, name: str | None, bound: str | None, keys: list[Bound]
) -> TablePartition:
    """An empty subpartition of the partition `of`, which may not be among those of the table yet, with object ids and a number of
    its own, not yet among the others. Raises ORA-14159 for a name that is taken, ORA-14299. Parameters as of `new_partition`."""
    by, object_id = table.partitioning, session.catalog.new_object_id()
    assert by is not None
    name = name or f"SYS_SUBP{object_id}"
    if any(other.name == name for other in (*by.segments(), *of.segments())):
        raise OraError(14159, "duplicate subpartition name")
    made = TablePartition(name, object_id, object_id, bound, session.storage.clock.now(), keys)
    made.number_as(by.new_number())
    return made


def _grown(session: SqlSession, table: Table, interval: Interval, key: Key) -> None:
    """Make the partition of a key, its cells of the partitions' columns."""
    by = table.partitioning
    assert by is not None
    column = table.columns[table.position(by.columns[0])]
    if interval is AUTOMATIC or interval.unit == AUTOMATIC.unit:
        keys: list[Bound] = [key]
        columns = [table.columns[at] for at in table.positions(by.columns)]
        text = ", ".join(_bound_text(one, cell) for one, cell in zip(columns, key, strict=True))
        made = new_partition(session, table, None, text, keys)
        at = next((n for n, other in enumerate(by.partitions) if not other.keys), len(by.partitions))
    else:
        anchor = next(p for p in reversed(by.partitions) if not p.automatic).keys[0][0]
        assert isinstance(key[0], bytes)
        assert isinstance(anchor, bytes)
        low, bound = _bounds_around(interval, column, anchor, key[0])
        made = new_partition(session, table, None, _bound_text(column, bound), [(bound,)], (low,))
        at = next((n for n, p in enumerate(by.partitions) if is_below((bound,), p.keys[0])), len(by.partitions))
    by.partitions.insert(at, made)
    session.catalog.note_segments(table)


def _bounds_around(interval: Interval, column: Column, anchor: bytes, value: bytes) -> tuple[bytes, bytes]:
    """The bounds at or below and above a value, whole intervals from the bound `anchor`, as cells. Raises ORA-01841 outside the
    calendar."""
    if interval.unit == "NUMBER":
        start = number.decode(anchor)
        turns = (number.decode(value) - start) // interval.step
        return number.encode(start + turns * interval.step), number.encode(start + (turns + 1) * interval.step)
    if interval.unit == "TIME":
        first, step = temporal.to_ns(temporal.decode(anchor)), int(interval.step)
        below = first + (temporal.to_ns(temporal.decode(value)) - first) // step * step
        fraction = column.type is not OraType.DATE
        low, high = (temporal.encode(temporal.from_ns(ns), fraction=fraction) for ns in (below, below + step))
        return low, high
    (year, month, *_), (year_0, month_0, *_) = temporal.decode(value), temporal.decode(anchor)
    step = int(interval.step)
    turn = max(((year - year_0) * 12 + month - month_0) // step, 0)
    while (bound := temporal.shift_months(anchor, turn * step)) <= value:
        turn += 1
    return temporal.shift_months(anchor, (turn - 1) * step), bound


def _bound_text(column: Column, cell: Cell) -> str:
    """A value in HIGH_VALUE as Oracle writes it."""
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return "'" + cell.replace("'", "''") + "'"
    if column.type is OraType.NUMBER:
        return number.text(cell)
    if column.type is OraType.RAW:
        return f"HEXTORAW('{cell.hex().upper()}')"
    year, month, day, hour, minute, second, nano = temporal.decode(cell)
    text = f"{'-' if year < 0 else ' '}{abs(year):04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    if column.type is OraType.DATE:
        return f"TO_DATE('{text}', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"
    return f"TIMESTAMP'{text}{f'.{nano:09}'.rstrip('0') if nano else ''}'"
