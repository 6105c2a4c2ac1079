"""Reads which tables the server is to replicate, and their present shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby

from minercdc.capture.adapter import CaptureContext
from minercdc.errors import SourceError
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.schema.table import TableId, TableSchema
from minercdc.values.supported import without_unsupported

_IN_LIST = 1_000  # ORA-01795


class TableList:
    """The captured tables that are there when the stream begins. The constructor reads the dictionary, by a connection of its
    own that it closes.

    :ivar schemas: their present shapes, without columns of types that are not supported.
    :ivar sql: the query for TableList: `minercdc.fors.table.list.sql`, else `query_of` these tables.
    :raises SourceError: no captured table is there, or the dictionary cannot be read.
    :raises PrerequisiteError, ConfigError: connecting failed, a grant is missing, or a pattern took too long.
    """

    def __init__(self, context: CaptureContext) -> None:
        with closing(context.connect_pdb()) as connection:
            self._ids = read_table_ids(connection, context.mined, context.database)
            read = read_tables(connection, self._ids, comments=context.tables.comments)
            self.schemas: Sequence[TableSchema] = [without_unsupported(one) for one in read]
        if not self._ids:
            raise SourceError(
                "no table to replicate: no table that the user can see matches the include lists",
                hint="Grant SELECT on the tables, or see schema.include.list and table.include.list.",
            )
        self.sql = context.config.fors.minercdc_fors_table_list_sql or query_of(self._ids)

    @property
    def digest(self) -> str:
        """16 hex digits of a hash of `sql`, which a position has in its place."""
        return hashlib.sha256(self.sql.encode()).hexdigest()[:16]


def query_of(tables: Iterable[TableId]) -> str:
    """A query of ALL_TABLES that selects OWNER and NAME of these tables; at least one table."""
    conditions = []
    for owner, found in groupby(sorted(tables), key=lambda table: table.schema):
        names = [_quoted(table.table) for table in found]
        for start in range(0, len(names), _IN_LIST):
            some = ", ".join(names[start : start + _IN_LIST])
            conditions.append(f"(OWNER = {_quoted(owner)} AND TABLE_NAME IN ({some}))")
    return f"SELECT OWNER, TABLE_NAME AS NAME FROM ALL_TABLES WHERE {' OR '.join(conditions)}"


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
