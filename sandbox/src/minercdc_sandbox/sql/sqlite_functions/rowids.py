"""ROWIDs in SQL: the text of a row's ROWID, and a ROWID's place among the version ids of a table.

A table is given by its data object id; a partitioned one by its negative OBJECT_ID, because its data objects change while
plans are kept.
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.runtime import running_session
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.storage.store import VERSION_BITS
from minercdc_sandbox.tables import Table

_ABOVE = (1 << 63) - 1


def row_text(table_id: int, vid: int) -> str:
    """ROWID of the row of a version id. Raises ORA-08103 for a partitioned table or a partition that was dropped."""
    rid = vid >> VERSION_BITS
    return rowid.row_text(rowid.object_prefix(table_id), rid) if table_id >= 0 else rowid.of_row(_table(table_id), rid)


def row_bound(text: str, table_id: int, after: int) -> int:
    """Bounds of the version ids of a ROWID's row in a table: the first one (`after` 0), or the first beyond (1). Both are equal
    for a ROWID of another object, which no row has.

    Raises ORA-01410 for a text that is no ROWID, ORA-08103 for a partitioned table that was dropped.
    """
    found = rowid.bounds(text, table_id) if table_id >= 0 else rowid.partition_bounds(text, _table(table_id))
    rid = found[after]
    return rid << VERSION_BITS if rid < rowid.ABOVE else _ABOVE


def part(text: str, place: int) -> bytes:
    """DBMS_ROWID, a NUMBER: data object id, file, block or row in the block, by `place` 0 to 3, of a ROWID. Raises ORA-01410 for
    a text that is none."""
    return number.integer(rowid.fields(text)[place])


def _table(table_id: int) -> Table:
    table = running_session().storage.catalog.table_of(-table_id)
    if table is None:
        raise OraError(8103, "object no longer exists")
    return table
