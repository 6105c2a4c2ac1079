"""Reads object ids from the dictionary as it is now: those of a table's partitions, and what a table is called by now.

Redo has a row under the id of the partition it lies in (docs/reference/logminer-facts.md#b-10).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

import oracledb

from minercdc.errors import SnapshotTooOldError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.dependent_tables import Child, read_children, read_part_sources
from minercdc.oracle.dictionary.name_lists import listed, lists
from minercdc.schema.table import TableId, TableSchema

_TABLES: Final = "SELECT OBJECT_ID, OWNER, OBJECT_NAME, LAST_DDL_TIME FROM ALL_OBJECTS WHERE OBJECT_TYPE = 'TABLE' AND OBJECT_ID IN ({list})"
_LISTING: Final = (
    "SELECT SUBOBJECT_NAME, OBJECT_ID, CREATED, OBJECT_TYPE FROM ALL_OBJECTS"
    " WHERE OWNER = :owner AND OBJECT_NAME IN ({names}) AND OBJECT_TYPE IN ('TABLE PARTITION', 'TABLE SUBPARTITION')"
)
_PARTS: Final = (
    "SELECT OBJECT_NAME, OBJECT_ID FROM ALL_OBJECTS"
    " WHERE OWNER = :owner AND OBJECT_NAME IN ({names}) AND OBJECT_TYPE IN ('TABLE PARTITION', 'TABLE SUBPARTITION')"
)
# The rows of an index-organized table have the id of its index, or of a partition of that.
_INDEX_ORGANIZED: Final = (
    "SELECT I.TABLE_NAME, O.OBJECT_ID FROM ALL_INDEXES I JOIN ALL_OBJECTS O ON O.OWNER = I.OWNER AND O.OBJECT_NAME = I.INDEX_NAME"
    " WHERE I.TABLE_OWNER = :owner AND I.TABLE_NAME IN ({names}) AND I.INDEX_TYPE = 'IOT - TOP'"
    " AND O.OBJECT_TYPE IN ('INDEX', 'INDEX PARTITION', 'INDEX SUBPARTITION')"
)

_VISIBLE: Final = "SELECT COLUMN_NAME FROM ALL_TAB_COLUMNS WHERE OWNER = :owner AND TABLE_NAME = :name AND COLUMN_ID > 0 ORDER BY COLUMN_ID"
_ALTERED: Final = (
    "SELECT OBJECT_NAME FROM ALL_OBJECTS WHERE OWNER = :owner AND OBJECT_NAME = :name AND OBJECT_TYPE IN ('TABLE', 'VIEW')"
    " AND LAST_DDL_TIME > :since"
)
_CLUSTERED: Final = (
    "SELECT O.OBJECT_ID FROM ALL_TABLES T JOIN ALL_OBJECTS O ON O.OWNER = T.OWNER AND O.OBJECT_NAME = T.TABLE_NAME"
    " WHERE T.CLUSTER_OWNER = :owner AND T.CLUSTER_NAME = :name AND O.OBJECT_TYPE = 'TABLE' ORDER BY 1"
)
_STORED: Final = (
    "SELECT TABLE_NAME, COLUMN_NAME FROM ALL_TAB_COLS WHERE OWNER = :owner AND TABLE_NAME IN ({names}) AND SEGMENT_COLUMN_ID IS NOT NULL"
    " ORDER BY TABLE_NAME, SEGMENT_COLUMN_ID"
)
# The time of an SCN is known to 3 s.
_SCN_TIME: Final = "SELECT CAST(SCN_TO_TIMESTAMP(:scn) AS DATE) - 5 / 86400 FROM DUAL"
_TEMPORARY: Final = "SELECT TABLE_NAME FROM ALL_TABLES WHERE OWNER = :owner AND TABLE_NAME = :name AND TEMPORARY = 'Y'"

Connect: TypeAlias = Callable[[str], oracledb.Connection]
"""Opens a connection to where the tables of a database are, by its name."""


class Listing(NamedTuple):
    """The partitions that a table has.

    :param ids: of its partitions and subpartitions, and of the index that it is stored in.
    :param created: by the name of a partition its id and when it was made; () where it has subpartitions, too.
    :param source: what makes more of them (`TableSchema.parts_from`).
    :param taken_at: by when that was so, by the time of the database's host, in whole seconds.
    """

    ids: frozenset[int]
    created: dict[str, tuple[int, datetime]]
    source: str
    taken_at: datetime


class StoredNow(NamedTuple):
    """The stored columns that a table has.

    :param names: in segment order, as of `TableSchema.stored`.
    :param altered: it had DDL after an SCN, or may have had.
    """

    names: tuple[str, ...]
    altered: bool


class _Present(NamedTuple):
    name: TableId
    altered: datetime


class ObjectIds:
    """Asks the dictionary for object ids; each call opens a connection and closes it. Methods raise SourceError, PrerequisiteError
    and ConfigError as `connect`, and when Oracle refuses."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    def parts(self, tables: Iterable[TableSchema]) -> dict[TableId, frozenset[int]]:
        """Ids of the partitions that these tables have now, by the names of `tables`, whatever they are called by now; without the
        tables that have none, or are gone. The tables are of one database and have object ids."""
        found: dict[TableId, frozenset[int]] = {}
        wanted = {table.object_id: table.id for table in tables}
        if not wanted:
            return found
        with closing(self._connect(next(iter(wanted.values())).database)) as connection:
            present = _present(connection, wanted)
            by_name = {one.name: wanted[object_id] for object_id, one in present.items()}
            for name, ids in read_parts(connection, by_name).items():
                found[by_name[name]] = ids
        return found

    def listing(self, table: TableSchema) -> Listing | None:
        """The partitions that a table with an object id has now, whatever it is called by now; None when it is gone."""
        with closing(self._connect(table.id.database)) as connection:
            found = _present(connection, {table.object_id: table.id}).get(table.object_id)
            return read_listing(connection, found.name) if found is not None else None

    def sources(self, tables: Iterable[TableSchema]) -> dict[TableId, str]:
        """What makes the partitions of these tables now (`TableSchema.parts_from`), by the names of `tables`; without those that are
        gone. The tables are of one database and have object ids."""
        wanted = {table.object_id: table.id for table in tables}
        if not wanted:
            return {}
        with closing(self._connect(next(iter(wanted.values())).database)) as connection:
            by_name = {one.name: wanted[object_id] for object_id, one in _present(connection, wanted).items()}
            return {by_name[name]: source for name, source in read_part_sources(connection, by_name).items()}

    def children(self, table: TableId) -> tuple[Child, ...]:
        """The tables that refer to a table now, directly or by others."""
        with closing(self._connect(table.database)) as connection:
            return read_children(connection, table)

    def altered(self, tables: Iterable[TableSchema], since: datetime) -> frozenset[TableId]:
        """Which of these tables had DDL since that time of the database's host, or are gone. The tables are of one database."""
        wanted = {table.object_id: table.id for table in tables}
        if not wanted:
            return frozenset()
        with closing(self._connect(next(iter(wanted.values())).database)) as connection:
            present = _present(connection, wanted)
        return frozenset(
            name for object_id, name in wanted.items() if object_id not in present or present[object_id].altered >= since
        )

    def stored_now(self, tables: Iterable[TableSchema], scn: int) -> dict[TableId, StoredNow]:
        """The stored columns that these tables have now, by the names of `tables`, whatever they are called by now; without those that are
        gone. The tables are of one database and have object ids."""
        wanted = {table.object_id: table.id for table in tables}
        if not wanted:
            return {}
        with closing(self._connect(next(iter(wanted.values())).database)) as connection:
            names = {one.name: wanted[object_id] for object_id, one in _present(connection, wanted).items()}
            stored = _read_stored(connection, names)
            since = _time_of(connection, scn)
            after = _present(connection, wanted)  # after: the columns are those of now or of before
        return {
            wanted[object_id]: StoredNow(stored.get(one.name, ()), since is None or one.altered > since)
            for object_id, one in after.items()
        }

    def columns_since(self, table: TableId, since: datetime) -> tuple[str, ...]:
        """Names of the columns that `SELECT *` has of a table or view; () when it is gone, or had DDL after that time of the
        database's host."""
        binds: dict[str, object] = {"owner": table.schema, "name": table.table}
        with (
            closing(self._connect(table.database)) as connection,
            oracle_errors("reading the columns of a table that was copied"),
            connection.cursor() as cursor,
        ):
            cursor.execute(_VISIBLE, binds)
            names = tuple(name for (name,) in cursor)
            cursor.execute(_ALTERED, {**binds, "since": since})
            return () if cursor.fetchone() is not None else names

    def clustered(self, cluster: TableId) -> tuple[int, ...]:
        """Object ids of the tables that are in a cluster of this name now."""
        with (
            closing(self._connect(cluster.database)) as connection,
            oracle_errors("reading the tables of a cluster"),
            connection.cursor() as cursor,
        ):
            cursor.execute(_CLUSTERED, {"owner": cluster.schema, "name": cluster.table})
            return tuple(int(object_id) for (object_id,) in cursor)

    def host_time(self, database: str) -> datetime:
        """The time of the database's host, in whole seconds, by whose clock redo has its times."""
        with closing(self._connect(database)) as connection:
            return read_host_time(connection)

    def is_temporary(self, table: TableId) -> bool:
        """Whether there is a temporary table of this name."""
        with (
            closing(self._connect(table.database)) as connection,
            oracle_errors("looking for a temporary table"),
            connection.cursor() as cursor,
        ):
            cursor.execute(_TEMPORARY, {"owner": table.schema, "name": table.table})
            return cursor.fetchone() is not None

    def present_name(self, table: TableSchema) -> TableId | None:
        """What the table with this object id is called now; None when it is gone."""
        with closing(self._connect(table.id.database)) as connection:
            found = _present(connection, {table.object_id: table.id}).get(table.object_id)
        return found.name if found is not None else None


def refuse_renamed(connection: oracledb.Connection, table: TableSchema, scn: int) -> None:
    """Raise SnapshotTooOldError if the table has got another name after an SCN: AS OF that SCN, its old name means the table that has
    the name now. Does nothing for a table whose object id is not known, or that was dropped: Oracle refuses to read AS OF an SCN
    before the table was made that has the name."""
    if not table.object_id:
        return
    found = _present(connection, {table.object_id: table.id}).get(table.object_id)
    if found is None or found.name == table.id or found.name.table.startswith("BIN$"):
        return
    time = _time_of(connection, scn)
    if time is None or found.altered >= time:
        raise SnapshotTooOldError(f"{table.id} is called {found.name} now: what has its name is another table")


def _read_stored(connection: oracledb.Connection, tables: Collection[TableId]) -> dict[TableId, tuple[str, ...]]:
    by_owner: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        by_owner[table.schema].append(table.table)
    database = next(iter(tables)).database if tables else ""
    found: dict[TableId, list[str]] = defaultdict(list)
    with oracle_errors("reading the stored columns of tables"), connection.cursor() as cursor:
        for owner, names in by_owner.items():
            for some in lists(names):
                for name, column in listed(cursor, _STORED, owner, some):
                    found[TableId(database, owner, name)].append(column)
    return {table: tuple(names) for table, names in found.items()}


def _time_of(connection: oracledb.Connection, scn: int) -> datetime | None:
    """A time of the database's host that is not after an SCN, in whole seconds; None when the database does not know it any more."""
    try:
        with oracle_errors(f"reading the time of SCN {scn}"), connection.cursor() as cursor:
            cursor.execute(_SCN_TIME, {"scn": scn})
            found: list[tuple[datetime]] = cursor.fetchall()
            return found[0][0]
    except SnapshotTooOldError:
        return None


def read_listing(connection: oracledb.Connection, table: TableId) -> Listing:
    """The partitions that a table has now. Raises SourceError or PrerequisiteError when Oracle refuses."""
    with oracle_errors("reading the partitions of a table"), connection.cursor() as cursor:
        rows = listed(cursor, _LISTING, table.schema, [table.table])
        index = listed(cursor, _INDEX_ORGANIZED, table.schema, [table.table])
    taken_at = read_host_time(connection)  # after: a partition of before may be gone by then
    composite = any(kind == "TABLE SUBPARTITION" for *_, kind in rows)
    created = {name: (int(object_id), at) for name, object_id, at, _ in rows} if not composite else {}
    ids = frozenset(int(object_id) for _, object_id, *_ in (*rows, *index))
    return Listing(ids, created, read_part_sources(connection, [table])[table], taken_at)


def read_host_time(connection: oracledb.Connection) -> datetime:
    """The time of the database's host, in whole seconds. Raises SourceError or PrerequisiteError when Oracle refuses."""
    with oracle_errors("reading the time"), connection.cursor() as cursor:
        cursor.execute("SELECT SYSDATE FROM DUAL")
        found: list[tuple[datetime]] = cursor.fetchall()
        return found[0][0]


def read_parts(connection: oracledb.Connection, tables: Collection[TableId]) -> dict[TableId, frozenset[int]]:
    """Ids of the partitions and subpartitions of tables of one database, and of the indexes that they are stored in; without
    tables that have none. Raises SourceError or PrerequisiteError when Oracle refuses."""
    by_owner: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        by_owner[table.schema].append(table.table)
    database = next(iter(tables)).database if tables else ""
    found: dict[TableId, set[int]] = defaultdict(set)
    with oracle_errors("reading the ids of partitions"), connection.cursor() as cursor:
        for owner, names in by_owner.items():
            for some in lists(names):
                for sql in (_PARTS, _INDEX_ORGANIZED):
                    for name, object_id in listed(cursor, sql, owner, some):
                        found[TableId(database, owner, name)].add(int(object_id))
    return {table: frozenset(ids) for table, ids in found.items()}


def _present(connection: oracledb.Connection, wanted: Mapping[int, TableId]) -> dict[int, _Present]:
    found: dict[int, _Present] = {}
    with oracle_errors("reading the names of tables"), connection.cursor() as cursor:
        for some in lists(sorted(object_id for object_id in wanted if object_id)):
            cursor.execute(_TABLES.format(list=", ".join(map(str, some))))
            for object_id, owner, name, altered in cursor:
                database = wanted[int(object_id)].database
                found[int(object_id)] = _Present(TableId(database, owner, name), altered)
    return found
