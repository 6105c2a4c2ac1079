"""Rows that DDL ends or rewrites, without redo, as in Oracle: LogMiner shows the DDL only.

Old versions end at an SCN and rewritten ones begin after it, so open cursors still see the old ones. Callers hold the table alone, so
no version belongs to an open transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from minercdc_sandbox.interfaces import Cell
from minercdc_sandbox.partitioning import ROW_BITS, ROW_MASK
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.store import LIVE, VERSION_BITS, segment
from minercdc_sandbox.tables import Table

_BITS = ROW_BITS + VERSION_BITS


def live_rows(storage: Storage, table: Table, number: int | None = None) -> list[tuple[int, tuple[Cell, ...]]]:
    """(Row number with the partition's bits, cells of all stored columns) of each current row of the partition with this number, or, for None, of all the
    table, by row number. Under the storage lock, as the other functions here."""
    slots = "".join(f",c{column.slot}" for column in table.columns)
    low, high = _range(number)
    sql = f"select vid{slots} from {segment(table)} where vid between ? and ? and e={LIVE} order by vid"
    found = storage.db.execute(sql, (low, high)).fetchall()
    return [(cast(int, row[0]) >> VERSION_BITS, cast("tuple[Cell, ...]", tuple(row[1:]))) for row in found]


def end_rows(storage: Storage, table: Table, numbers: Collection[int]) -> None:
    """End all rows of the partitions with these numbers (0: a table without partitions) at one new SCN, without undo: older
    snapshots still see them."""
    scn = storage.clock.advance()
    for number in numbers:
        storage.db.execute(f"update {segment(table)} set e={scn} where vid between ? and ? and e={LIVE}", _range(number))


def put_rows(storage: Storage, table: Table, rows: list[tuple[int, tuple[Cell, ...]]], number: int = 0) -> None:
    """Insert (row number, row) pairs, visible from one new SCN on; a row number counts within the partition `number`, 0 in a
    table without partitions. The caller increases `next_rid`."""
    scn = storage.clock.advance()
    for rid, row in rows:
        storage.segments.insert_version(table, (number << ROW_BITS | rid) << VERSION_BITS, row, scn)


def rewrite(storage: Storage, table: Table, numbers: Collection[int]) -> None:
    """Move each row of the partitions with these numbers (`TablePartition.number`) to the partition of its key, if that is
    another, with a new row number, which increases `next_rid` there. Raises ORA-14400 for a key without a partition; what was
    moved before stays moved."""
    for number in numbers:
        moved: dict[int, list[tuple[Cell, ...]]] = {}
        gone: list[int] = []
        for rid, row in live_rows(storage, table, number):
            to = table.holding(row)
            if to.number != number:
                moved.setdefault(to.number, []).append(row)
                gone.append(rid)
        scn = storage.clock.advance()
        storage.db.executemany(
            f"update {segment(table)} set e={scn} where vid between ? and ? and e={LIVE}",
            [(rid << VERSION_BITS, ((rid + 1) << VERSION_BITS) - 1) for rid in gone],
        )
        for to_number, rows in moved.items():
            assert table.partitioning is not None
            partition = table.partitioning.numbered(to_number << ROW_BITS)
            first = partition.next_rid & ROW_MASK
            put_rows(storage, table, [(first + n, row) for n, row in enumerate(rows)], partition.number)
            partition.next_rid += len(rows)


def _range(number: int | None) -> tuple[int, int]:
    if number is None:
        return 0, LIVE
    return number << _BITS, ((number + 1) << _BITS) - 1
