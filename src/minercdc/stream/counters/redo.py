"""Counts the writers of redo: rows and bytes per table, captured or not, as far as LogMiner shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

OTHERS: Final = "(others)"
"""Stands for tables beyond the most that are counted apart."""

_MOST_TABLES = 1000

Counted: TypeAlias = tuple[str | None, str | None, int, int]
"""Schema, table, rows, bytes of SQL_REDO."""


@dataclass(slots=True)
class TableRedo:
    """Redo of one table since the process began.

    :param schema: `PDB.SCHEMA` with several pluggable databases.
    :param rows: changes that LogMiner showed, rolled back ones and their undo too.
    :param bytes: length of their SQL_REDO; LogMiner does not show how long the redo records themselves are.
    """

    schema: str
    table: str
    captured: bool
    rows: int = 0
    bytes: int = 0


class RedoWritten:
    """Counts redo per table since the process began."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], TableRedo] = {}

    def add(self, counted: Iterable[Counted], captured: frozenset[tuple[str, str]]) -> None:
        """Count rows of some tables. After a thousand tables, further ones that are not captured are counted together, as `OTHERS`.

        :param captured: (schema, table) of those among them that are captured.
        """
        for schema, table, rows, size in counted:
            name = (schema or "", table or "")
            found = self._tables.get(name)
            if found is None:
                if len(self._tables) >= _MOST_TABLES and name not in captured:
                    name = (name[0] if (name[0], OTHERS) in self._tables else OTHERS, OTHERS)
                found = self._tables.setdefault(name, TableRedo(*name, captured=False))
            found.captured = name in captured
            found.rows += rows
            found.bytes += size

    def tables(self) -> list[TableRedo]:
        """The tables that were seen, the one with most bytes first."""
        return sorted(self._tables.values(), key=lambda one: (-one.bytes, one.schema, one.table))
