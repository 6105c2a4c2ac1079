"""Reads tables, columns and keys from the dictionary, by a few queries for all tables of a schema together.

Oracle's errors are raised as `codes.classify` makes them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.dependent_tables import read_part_sources
from minercdc.oracle.dictionary.name_lists import listed, lists
from minercdc.oracle.dictionary.object_ids import read_host_time, read_parts
from minercdc.schema.table import Column, Key, NotNull, TableId, TableSchema, key_of
from minercdc.schema.table_filter import TableFilter

_TABLES = "SELECT OWNER, TABLE_NAME FROM ALL_TABLES WHERE TEMPORARY = 'N' AND NESTED = 'NO' AND IOT_NAME IS NULL"
# INVISIBLE columns have no COLUMN_ID, and one that is made VISIBLE again gets the last: by INTERNAL_COLUMN_ID a column stays
# where DDL put it.
_COLUMNS = (
    "SELECT TABLE_NAME, USER_GENERATED, VIRTUAL_COLUMN, SEGMENT_COLUMN_ID, DEFAULT_ON_NULL, COLUMN_NAME, DATA_TYPE, DATA_LENGTH, CHAR_LENGTH, DATA_PRECISION, DATA_SCALE, NULLABLE, DATA_DEFAULT"
    " FROM ALL_TAB_COLS WHERE OWNER = :owner AND TABLE_NAME IN ({names})"
    " ORDER BY TABLE_NAME, INTERNAL_COLUMN_ID"
)
# What SET UNUSED makes of a column's name: SYS_C00002_26031210:31:02$.
_UNUSED = re.compile(r"SYS_C\d+_\d+:\d\d:\d\d\$")
_KEYS = (
    "SELECT C.TABLE_NAME, C.CONSTRAINT_TYPE, C.CONSTRAINT_NAME, C.STATUS, C.VALIDATED, C.INDEX_NAME, K.COLUMN_NAME, NVL(C.INDEX_OWNER, C.OWNER), C.DEFERRABLE, C.LAST_CHANGE"
    " FROM ALL_CONSTRAINTS C JOIN ALL_CONS_COLUMNS K ON K.OWNER = C.OWNER AND K.CONSTRAINT_NAME = C.CONSTRAINT_NAME"
    " WHERE C.OWNER = :owner AND C.TABLE_NAME IN ({names}) AND C.CONSTRAINT_TYPE IN ('P', 'U')"
    " ORDER BY C.TABLE_NAME, C.CONSTRAINT_TYPE, C.CONSTRAINT_NAME, K.POSITION"
)
# The text of a NOT NULL constraint is Oracle's own. A CHECK may have the same; then the column is nullable.
_NOT_NULLS = (
    "SELECT C.TABLE_NAME, K.COLUMN_NAME, C.CONSTRAINT_NAME, C.STATUS, C.VALIDATED, C.DEFERRABLE, C.LAST_CHANGE"
    " FROM ALL_CONSTRAINTS C JOIN ALL_CONS_COLUMNS K ON K.OWNER = C.OWNER AND K.CONSTRAINT_NAME = C.CONSTRAINT_NAME"
    " WHERE C.OWNER = :owner AND C.TABLE_NAME IN ({names}) AND C.CONSTRAINT_TYPE = 'C'"
    " AND C.SEARCH_CONDITION_VC = '\"' || K.COLUMN_NAME || '\" IS NOT NULL'"
    " ORDER BY C.TABLE_NAME, K.COLUMN_NAME, C.CONSTRAINT_NAME"
)
_UNIQUE_INDEXES = (
    "SELECT I.TABLE_NAME, 'I', I.INDEX_NAME, 'ENABLED', 'VALIDATED', NULL, K.COLUMN_NAME, I.OWNER, 'NOT DEFERRABLE', O.CREATED"
    " FROM ALL_INDEXES I JOIN ALL_IND_COLUMNS K ON K.INDEX_OWNER = I.OWNER AND K.INDEX_NAME = I.INDEX_NAME"
    " LEFT JOIN ALL_OBJECTS O ON O.OWNER = I.OWNER AND O.OBJECT_NAME = I.INDEX_NAME AND O.OBJECT_TYPE = 'INDEX'"
    " WHERE I.TABLE_OWNER = :owner AND I.TABLE_NAME IN ({names}) AND I.UNIQUENESS = 'UNIQUE'"
    " ORDER BY I.TABLE_NAME, I.INDEX_NAME, I.OWNER, K.COLUMN_POSITION"
)
_OBJECTS = (
    "SELECT OBJECT_NAME, OBJECT_ID FROM ALL_OBJECTS"
    " WHERE OWNER = :owner AND OBJECT_NAME IN ({names}) AND OBJECT_TYPE = 'TABLE' AND TEMPORARY = 'N'"
)
# LAST_DDL_TIME and SCN_TO_TIMESTAMP both are the database host's time.
_ALTERED = (
    "SELECT OBJECT_NAME FROM ALL_OBJECTS WHERE OWNER = :owner AND OBJECT_TYPE = 'TABLE'"
    " AND LAST_DDL_TIME > CAST(SCN_TO_TIMESTAMP(:scn) AS DATE) - :margin / 86400"
)
_TABLE_COMMENTS = (
    "SELECT TABLE_NAME, NULL, COMMENTS FROM ALL_TAB_COMMENTS"
    " WHERE OWNER = :owner AND TABLE_NAME IN ({names}) AND COMMENTS IS NOT NULL"
)
_COLUMN_COMMENTS = (
    "SELECT TABLE_NAME, COLUMN_NAME, COMMENTS FROM ALL_COL_COMMENTS"
    " WHERE OWNER = :owner AND TABLE_NAME IN ({names}) AND COMMENTS IS NOT NULL"
)
_CHARACTER = frozenset({"CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2"})


def read_table_ids(connection: oracledb.Connection, table_filter: TableFilter, database: str) -> list[TableId]:
    """Tables that the user may see and that pass the filter, in order of schema and name. Temporary tables have no redo text
    and are left out, as are nested tables and overflow segments.

    :param database: first part of the ids.
    :raises ConfigError: a pattern of the filter took too long.
    """
    with oracle_errors("listing tables"), connection.cursor() as cursor:
        cursor.execute(_TABLES)
        found = [TableId(database, owner, table) for owner, table in cursor if table_filter.includes(owner, table)]
    return sorted(found)


def read_tables(connection: oracledb.Connection, ids: Iterable[TableId], *, comments: bool = False) -> list[TableSchema]:
    """Present shapes of the tables that exist, in the order of `ids`, all with version 1; not of views, nor of temporary tables,
    whose rows are not in redo. Columns of all types, INVISIBLE too; no virtual or unused ones. With the comments of tables and columns where `comments` says so. Raises SourceError or
    PrerequisiteError when Oracle refuses."""
    by_owner: dict[tuple[str, str], list[str]] = defaultdict(list)
    wanted = list(ids)
    for table in wanted:
        by_owner[table.database, table.schema].append(table.table)
    found: dict[TableId, TableSchema] = {}
    for (database, owner), names in by_owner.items():
        for some in lists(names):
            read = list(_read_some(connection, database, owner, some))
            for schema in _with_comments(connection, owner, some, read) if comments else read:
                found[schema.id] = schema
    return [found[table] for table in wanted if table in found]


def read_row_statistics(connection: oracledb.Connection, ids: Iterable[TableId]) -> dict[TableId, int]:
    """Number of rows of each table by the optimizer's statistics; tables without statistics are missing. Raises SourceError
    or PrerequisiteError when Oracle refuses."""
    found = {}
    with oracle_errors("reading table statistics"), connection.cursor() as cursor:
        for owner, tables in groupby(sorted(ids, key=lambda table: table.schema), key=lambda table: table.schema):
            cursor.execute("SELECT TABLE_NAME, NUM_ROWS FROM ALL_TABLES WHERE OWNER = :owner", {"owner": owner})
            counts = dict(cursor.fetchall())
            found.update({table: int(counts[table.table]) for table in tables if counts.get(table.table) is not None})
    return found


def read_altered(
    connection: oracledb.Connection, ids: Iterable[TableId], scn: int, *, margin_seconds: int = 0
) -> list[TableId]:
    """Which of these tables had DDL, grants included, after the second of an SCN; in order of name, without those that are
    gone.

    :param margin_seconds: counts DDL of so long before, too: the time of an SCN is known to 3 s only, so that 5 misses none.
    :raises SnapshotTooOldError: the database does not know the time of the SCN any more (ORA-08181).
    """
    found = []
    with oracle_errors(f"finding what was altered since SCN {scn}"), connection.cursor() as cursor:
        for owner, tables in groupby(sorted(ids), key=lambda table: table.schema):
            cursor.execute(_ALTERED, {"owner": owner, "scn": scn, "margin": margin_seconds})
            altered = {name for (name,) in cursor}
            found += [table for table in tables if table.table in altered]
    return found


def _read_some(connection: oracledb.Connection, database: str, owner: str, names: Sequence[str]) -> Iterator[TableSchema]:
    with oracle_errors(f"reading the tables of {owner}"), connection.cursor() as cursor:
        columns: dict[str, list[Column]] = defaultdict(list)
        stored: dict[str, dict[int, str]] = defaultdict(dict)
        on_null: dict[str, set[str]] = defaultdict(set)
        for table, user_generated, virtual, place, default_on_null, *facts in listed(cursor, _COLUMNS, owner, names):
            if place is not None:
                stored[table][int(place)] = facts[0]
            if default_on_null == "YES":
                on_null[table].add(facts[0])
            if user_generated == "YES" and virtual == "NO" and not _UNUSED.fullmatch(facts[0]):
                columns[table].append(column_of(*facts))
        constraints = list(listed(cursor, _KEYS, owner, names))
        its_indexes = list(listed(cursor, _UNIQUE_INDEXES, owner, names))
        keys, indexes = keys_of([*constraints, *its_indexes], owner), _indexes_of(its_indexes, owner)
        not_nulls: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for table, *one in listed(cursor, _NOT_NULLS, owner, names):
            not_nulls[table].append(tuple(one))
        changed = _times(
            [
                *((row[0], row[2], row[-1]) for row in constraints),
                *((t, one[1], one[-1]) for t in not_nulls for one in not_nulls[t]),
            ]
        )
        objects = dict(listed(cursor, _OBJECTS, owner, names))
    tables = [TableId(database, owner, name) for name in columns]
    parts = read_parts(connection, tables)
    sources = read_part_sources(connection, parts)
    taken_at = read_host_time(connection) if parts else None  # after: a partition of before may be gone by then
    for name, its_columns in columns.items():
        if name not in objects:
            continue
        its_keys, table = keys.get(name, ()), TableId(database, owner, name)
        yield TableSchema(
            table,
            tuple(its_columns),
            key_of(its_columns, its_keys),
            object_id=int(objects[name] or 0),
            keys=its_keys,
            not_nulls=not_nulls_of(its_columns, its_keys, not_nulls[name], on_null[name]),
            changed=changed[name],
            indexes=indexes.get(name, {}),
            stored=tuple(column for _, column in sorted(stored[name].items())),
            parts=parts.get(table),
            parts_from=sources[table] if table in parts else "",
            listed_at=taken_at if table in parts else None,
        )


def _times(rows: Iterable[tuple[str, str, datetime | None]]) -> dict[str, dict[str, datetime]]:
    """The time of each constraint that has one, by table and name."""
    found: dict[str, dict[str, datetime]] = defaultdict(dict)
    for table, name, time in rows:
        if time is not None:
            found[table][name] = time
    return found


def _indexes_of(rows: Sequence[tuple[Any, ...]], owner: str) -> dict[str, dict[Key, datetime]]:
    """The unique indexes of each table, and when they were made, without those of which that cannot be seen; `rows` as of `keys_of`."""
    times = {(row[0], row[2], row[7]): row[-1] for row in rows}
    found: dict[str, dict[Key, datetime]] = {}
    for table, keys in keys_of(rows, owner).items():
        made = {key: times[table, key.name, key.owner or owner] for key in keys}
        found[table] = {key: time for key, time in made.items() if time is not None}
    return found


def _with_comments(
    connection: oracledb.Connection, owner: str, names: Sequence[str], schemas: Iterable[TableSchema]
) -> Iterator[TableSchema]:
    with oracle_errors(f"reading the comments of {owner}"), connection.cursor() as cursor:
        rows = [row for sql in (_TABLE_COMMENTS, _COLUMN_COMMENTS) for row in listed(cursor, sql, owner, names)]
    texts: dict[tuple[str, str | None], str] = {(table, column): text for table, column, text in rows}
    for schema in schemas:
        table = schema.id.table
        columns = tuple(replace(column, comment=texts.get((table, column.name))) for column in schema.columns)
        yield replace(schema, columns=columns, comment=texts.get((table, None)))


def column_of(
    name: str,
    data_type: str,
    data_length: int | None,
    char_length: int | None,
    precision: int | None,
    scale: int | None,
    nullable: str,
    default: str | None,
) -> Column:
    """A Column from its row of ALL_TAB_COLS. Numbers in parentheses are taken out of the type, as in `TIMESTAMP(6) WITH TIME
    ZONE`. Its length is in characters of a text, bytes of a RAW, and the precision of other types; a default NULL counts as none.

    :param nullable: `Y`, or anything else for NOT NULL.
    """
    type_name = re.sub(r"\(\d+\)", "", data_type)
    length = char_length if type_name in _CHARACTER else data_length if type_name == "RAW" else precision
    return Column(
        name,
        type_name,
        None if length is None else int(length),
        None if scale is None else int(scale),
        nullable == "Y",
        default.strip() if default and default.strip().upper() != "NULL" else None,
    )


def keys_of(rows: Iterable[tuple[Any, ...]], owner: str) -> dict[str, tuple[Key, ...]]:
    """The keys of each table: its constraints in order of name, and the unique indexes that enforce none of them.

    :param rows: table, kind (`Key.kind`), name, STATUS, VALIDATED, name of the constraint's index, column, owner of the index,
        DEFERRABLE, LAST_CHANGE, of an index CREATED; columns of a key in their order, constraints before indexes.
    :param owner: of the tables.
    """
    found: dict[str, dict[tuple[str, str, str], Key]] = defaultdict(dict)
    enforcing: set[tuple[str, str, str]] = set()
    for table, kind, name, status, validated, index, column, index_owner, deferrable, _ in rows:
        if kind == "I" and (table, name, index_owner) in enforcing:
            continue
        enforcing.add((table, index, index_owner))
        whose = index_owner if kind == "I" and index_owner != owner else ""
        same = kind, name, whose
        states = status == "ENABLED", validated == "VALIDATED"
        new = Key(kind, (), name, *states, owner=whose, deferrable=deferrable == "DEFERRABLE")
        key = found[table].get(same, new)
        found[table][same] = key._replace(columns=(*key.columns, column))
    return {table: tuple(keys.values()) for table, keys in found.items()}


def not_nulls_of(
    columns: Iterable[Column], keys: Iterable[Key], rows: Iterable[tuple[Any, ...]], on_null: Collection[str] = ()
) -> tuple[NotNull, ...]:
    """The NOT NULL constraints of a table, so that they and the keys say the same of its columns as the dictionary does: a constraint
    that would make a nullable column NOT NULL is a CHECK with the same text, and is left out; a column that is NOT NULL without one
    has one that is not known.

    :param rows: column, name, STATUS, VALIDATED, DEFERRABLE, LAST_CHANGE.
    :param on_null: names of columns whose DEFAULT is ON NULL.
    """
    nullable = {column.name: column.nullable for column in columns}
    found = [
        NotNull(column, name, status == "ENABLED", validated == "VALIDATED", deferrable == "DEFERRABLE", column in on_null)
        for column, name, status, validated, deferrable, _ in rows
    ]
    found = [one for one in found if not (one.holds and nullable.get(one.column))]
    said = {one.column for one in found if one.holds} | {name for key in keys if key.is_not_null for name in key.columns}
    return (*found, *(NotNull(name) for name, may in nullable.items() if not may and name not in said))
