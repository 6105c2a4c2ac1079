"""ROWIDs of the rows of a test's tables."""

from __future__ import annotations

from minercdc.schema.table import TableSchema
from minercdc.stream.events import Row


class RowIds:
    """Gives each row with a key a ROWID, which it keeps while its key changes. A change without one is left to Spark by the lake, and redo has
    one of nearly all."""

    def __init__(self) -> None:
        self._of: dict[tuple[object, ...], str] = {}
        self._given = 0

    def of(self, before: Row | None, after: Row | None, table: TableSchema) -> str | None:
        """The ROWID of a changed row; None in a table without a key, whose test has to name it."""
        if not table.key:
            return None
        old, new = (None if row is None else (table.id, *(row[part] for part in table.key)) for row in (before, after))
        found = None if old is None else self._of.pop(old, None)
        if found is None:
            self._given += 1
            found = f"AAA{self._given:015}"
        if new is not None:
            self._of[new] = found
        return found
