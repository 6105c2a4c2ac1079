"""Gives rows that LogMiner shows with the placeholder their ROWID, where rows of large values are not selected.

The rows of a statement with LOBs follow each other then: the one with the placeholder, and the UPDATE of small values or the row of
code 0 that ends the statement. That one has the ROWID (docs/reference/logminer-facts.md#b-9). The rows of large values have it
themselves: `lobs.lob_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode, same_object

_CHANGES = (OpCode.INSERT, OpCode.DELETE, OpCode.UPDATE)


def with_row_ids(rows: Iterable[LogMinerRow]) -> Iterator[LogMinerRow]:
    """The rows of one transaction, without those of code 0. In place of the placeholder an INSERT, UPDATE or DELETE has its ROWID,
    None where the row after it does not say it: the placeholder would make one row of many."""
    held: LogMinerRow | None = None
    for row in rows:
        if held is not None:
            yield held._replace(row_id=row.row_id if _names(row, held) else None)
            held = None
        if row.code in _CHANGES and row.row_id == PLACEHOLDER_ROW_ID:
            held = row
        elif row.code != OpCode.INTERNAL:
            yield row
    if held is not None:
        yield held._replace(row_id=None)


def _names(row: LogMinerRow, before: LogMinerRow) -> bool:
    """Whether a row has the ROWID of the one before it."""
    if row.code == OpCode.INTERNAL:
        return True
    return row.code == OpCode.UPDATE and row.row_id != PLACEHOLDER_ROW_ID and same_object(row, before)
