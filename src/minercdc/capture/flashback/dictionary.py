"""Reads what the dictionary shows of the captured tables: which there are, when they had DDL, their shapes and foreign keys.

No DDL is seen as such. A table whose LAST_DDL_TIME or OBJECT_ID changed is read again; so is one whose DDL is only seconds old,
since that time has seconds only and one statement may follow another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import oracledb

from minercdc.capture.flashback.order import ForeignKey, ForeignKeys
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.schema.table import TableId, TableSchema, without_comments
from minercdc.schema.table_filter import TableFilter
from minercdc.values.supported import without_unsupported

_RECENT_SECONDS = 10
_STAMPS = (
    "SELECT OBJECT_NAME, OBJECT_ID, TO_CHAR(LAST_DDL_TIME, 'YYYY-MM-DD HH24:MI:SS'),"
    f" CASE WHEN LAST_DDL_TIME > SYSDATE - {_RECENT_SECONDS} / 86400 THEN 1 ELSE 0 END"
    " FROM ALL_OBJECTS WHERE OBJECT_TYPE = 'TABLE' AND OWNER = :owner"
)
_FOREIGN_KEYS = (
    "SELECT C.CONSTRAINT_NAME, C.TABLE_NAME, K.COLUMN_NAME, P.OWNER, P.TABLE_NAME, R.COLUMN_NAME"
    " FROM ALL_CONSTRAINTS C"
    " JOIN ALL_CONSTRAINTS P ON P.OWNER = C.R_OWNER AND P.CONSTRAINT_NAME = C.R_CONSTRAINT_NAME"
    " JOIN ALL_CONS_COLUMNS K ON K.OWNER = C.OWNER AND K.CONSTRAINT_NAME = C.CONSTRAINT_NAME"
    " JOIN ALL_CONS_COLUMNS R ON R.OWNER = P.OWNER AND R.CONSTRAINT_NAME = P.CONSTRAINT_NAME AND R.POSITION = K.POSITION"
    " WHERE C.OWNER = :owner AND C.CONSTRAINT_TYPE = 'R' ORDER BY C.CONSTRAINT_NAME, K.POSITION"
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What shows that a table had DDL: it differs from the one read before. `recent` does not count in comparisons.

    :param altered: LAST_DDL_TIME, to the second.
    :param recent: that is not 10 s ago, so that more DDL may follow with the same `altered`.
    """

    object_id: int
    altered: str
    recent: bool = field(compare=False)


class Dictionary:
    """The captured tables as the dictionary had them at the last `refresh`, which is to be called first. Its methods raise as
    `codes.classify`, and ConfigError when a pattern took too long; it keeps no connection.

    :param table_filter: of the tables to read.
    :param database: first part of each TableId.
    :param comments: shapes have the comments of tables and columns, as they were when the shape last changed.
    :ivar shapes: as of the last `refresh`, without columns of unsupported types, version 1; {} before.
    :ivar foreign_keys: between the tables in `shapes`, as of the last `refresh` that found DDL or a table that is gone.
    """

    def __init__(self, table_filter: TableFilter, database: str, *, comments: bool = False) -> None:
        self._comments = comments
        self._filter = table_filter
        self._database = database
        self._stamps: dict[TableId, Stamp] = {}
        self.shapes: dict[TableId, TableSchema] = {}
        self.foreign_keys = ForeignKeys()

    def refresh(self, connection: oracledb.Connection) -> frozenset[TableId]:
        """Read the dictionary again, into `shapes` and `foreign_keys`: shapes only of tables that had DDL since, or less than
        10 s ago.

        :returns: the tables that are new, gone, or have another shape (comments apart).
        """
        stamps = dict(self._read_stamps(connection))
        doubtful = [table for table, stamp in stamps.items() if stamp != self._stamps.get(table) or stamp.recent]
        gone = self._stamps.keys() - stamps.keys()
        if not doubtful and not gone:
            return frozenset()
        read = self._read(connection, sorted(doubtful))
        shapes = {table: read.get(table, self.shapes.get(table)) for table in stamps}
        found = {table: self._known(shape) for table, shape in shapes.items() if shape is not None}
        changed = {table for table in {*found, *self.shapes} if found.get(table) != self.shapes.get(table)}
        altered = any(stamp != self._stamps.get(table) for table, stamp in stamps.items())
        self._stamps, self.shapes = stamps, found
        if altered or gone:
            self.foreign_keys = ForeignKeys(self._read_foreign_keys(connection))
        return frozenset(changed)

    def altered_since(self, connection: oracledb.Connection) -> bool:
        """Whether a table had DDL since `refresh`, or is new or gone. It changes neither `shapes` nor what `refresh` compares
        with."""
        stamps = dict(self._read_stamps(connection))
        if stamps != self._stamps:
            return True
        recent = sorted(table for table, stamp in stamps.items() if stamp.recent)
        read = self._read(connection, recent)
        return any(_shape(read.get(table)) != _shape(self.shapes.get(table)) for table in recent)

    def _read(self, connection: oracledb.Connection, tables: Sequence[TableId]) -> dict[TableId, TableSchema]:
        read = read_tables(connection, tables, comments=self._comments)
        return {schema.id: without_unsupported(schema) for schema in read}

    def _known(self, shape: TableSchema) -> TableSchema:
        """The shape in `shapes` where it differs from `shape` by comments only, since they change no row; else `shape`."""
        known = self.shapes.get(shape.id)
        return known if known is not None and _shape(known) == _shape(shape) else shape

    def _read_stamps(self, connection: oracledb.Connection) -> Iterator[tuple[TableId, Stamp]]:
        ids = read_table_ids(connection, self._filter, self._database)
        with oracle_errors("looking for DDL"), connection.cursor() as cursor:
            for owner, tables in _by_owner(ids):
                cursor.execute(_STAMPS, {"owner": owner})
                known = {name: Stamp(int(number), altered, bool(int(recent))) for name, number, altered, recent in cursor}
                yield from ((table, known[table.table]) for table in tables if table.table in known)

    def _read_foreign_keys(self, connection: oracledb.Connection) -> list[ForeignKey]:
        found = list[ForeignKey]()
        with oracle_errors("reading the foreign keys"), connection.cursor() as cursor:
            for owner, _ in _by_owner(self.shapes):
                cursor.execute(_FOREIGN_KEYS, {"owner": owner})
                columns = defaultdict[tuple[TableId, TableId, str], list[tuple[str, str]]](list)
                for name, child, column, parent_owner, parent, parent_column in cursor:
                    ends = TableId(self._database, owner, child), TableId(self._database, parent_owner, parent)
                    columns[*ends, name].append((column, parent_column))
                found += [
                    ForeignKey(child, tuple(own for own, _ in pairs), parent, tuple(theirs for _, theirs in pairs))
                    for (child, parent, _), pairs in columns.items()
                    if child in self.shapes and parent in self.shapes
                ]
        return found


def _shape(table: TableSchema | None) -> TableSchema | None:
    return None if table is None else without_comments(table)


def _by_owner(tables: Iterable[TableId]) -> Iterator[tuple[str, list[TableId]]]:
    for owner, some in groupby(sorted(tables), key=lambda table: table.schema):
        yield owner, list(some)
