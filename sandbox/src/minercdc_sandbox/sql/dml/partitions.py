"""The partition of a changed row, which INTERVAL or AUTOMATIC makes when it is needed.

A row moves to another partition only where ROW MOVEMENT is enabled, and then is deleted and inserted (VLDB and Partitioning
Guide, "Row Movement"). LogMiner shows no DDL that INTERVAL or AUTOMATIC makes a partition by: it is recursive.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from minercdc_sandbox.interfaces import Cell, OraError, OraType
from minercdc_sandbox.partitioning import Bound, Interval, Key, TablePartition, is_below
from minercdc_sandbox.sql import number, temporal
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.tables import Column, Table

AUTOMATIC = Interval("", "AUTOMATIC", Decimal(0))
"""Of LIST partitions: each new value gets a partition."""


def home(session: SqlSession, table: Table, row: Sequence[Cell], only: TablePartition | None = None) -> TablePartition:
    """The partition of a row in a partitioned table, made if need be: by INTERVAL or AUTOMATIC, also when the statement then
    fails. Raises ORA-14400 without one, ORA-14401 when it is not `only`, which the statement named (None: any), and as
    `new_partition`."""
    by = table.partitioning
    assert by is not None
    key = table.partition_key(tuple(row))
    found = by.holding(key)
    if found is None and by.interval is not None and key[0] is not None:
        found = _grown(session, table, by.interval, key)
    if found is None:
        raise OraError(14400, "inserted partition key does not map to any partition")
    if only is not None and found is not only:
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
    session: SqlSession, table: Table, name: str | None, bound: str | None, keys: list[Bound], low: Bound | None = None
) -> TablePartition:
    """An empty partition with object ids and a number of its own, not yet among the others. Raises ORA-14013 for a name that is
    taken, ORA-14299.

    :param name: None for a generated one; `bound`: the text of its upper bound or values, `keys` their cells.
    :param low: the lower bound of one that INTERVAL makes, else None.
    """
    by, catalog = table.partitioning, session.catalog
    assert by is not None
    name = name or f"SYS_P{catalog.new_object_id()}"
    if any(other.name == name for other in by.partitions):
        raise OraError(14013, "duplicate partition name")
    object_id = catalog.new_object_id()
    made = TablePartition(name, object_id, object_id, bound, session.storage.clock.now(), keys, low=low)
    made.number_as(by.new_number())
    return made


def _grown(session: SqlSession, table: Table, interval: Interval, key: Key) -> TablePartition:
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
    return made


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
