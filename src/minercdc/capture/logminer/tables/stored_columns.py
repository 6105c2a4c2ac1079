"""Determines the stored columns of a table if an earlier release recorded its structure without those that Oracle creates itself.

`SYS_NCn$` comes with a default of a column that may be NULL (docs/reference/logminer-facts.md#b-6-5), stays as long as the table, and
counts in `COL n`.
"""

from __future__ import annotations

from dataclasses import replace

from minercdc.oracle.dictionary.object_ids import StoredNow
from minercdc.schema.ddl.changes import HIDDEN
from minercdc.schema.table import TableSchema


def with_hidden(table: TableSchema, now: StoredNow | None) -> TableSchema:
    """A table whose `hidden_known` is False, with what the dictionary says; `stored` is () where that leaves open where the hidden
    column lies, or from which version on.

    :param now: None: the table is gone.
    """
    if now is not None and not now.altered:
        return replace(table, stored=now.names, hidden_known=True)
    has_none = now is not None and not any(map(HIDDEN.fullmatch, now.names))
    if table.stored and (has_none or any(map(HIDDEN.fullmatch, table.stored))):
        return replace(table, hidden_known=True)
    return replace(table, stored=())
