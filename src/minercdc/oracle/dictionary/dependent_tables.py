"""Reads from the dictionary, as it is now, which tables refer to a table by foreign keys, and what makes the partitions of tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.name_lists import listed, lists
from minercdc.schema.table import TableId

# Who may not see the parent does not see its key.
_CHILDREN: Final = (
    "SELECT C.OWNER, C.TABLE_NAME, C.CONSTRAINT_NAME, C.STATUS, C.DELETE_RULE, C.LAST_CHANGE, K.TABLE_NAME"
    " FROM ALL_CONSTRAINTS C LEFT JOIN ALL_CONSTRAINTS K ON K.OWNER = C.R_OWNER AND K.CONSTRAINT_NAME = C.R_CONSTRAINT_NAME"
    " WHERE C.CONSTRAINT_TYPE = 'R' AND C.R_OWNER = :owner AND (K.TABLE_NAME = :name OR K.TABLE_NAME IS NULL)"
)
_OBJECT_ID: Final = (
    "SELECT OBJECT_ID FROM ALL_OBJECTS WHERE OWNER = :owner AND OBJECT_NAME = :name AND OBJECT_TYPE = 'TABLE'"
)
# All columns, since releases before 12.2 have no AUTOLIST.
_PARTITIONED: Final = "SELECT * FROM ALL_PART_TABLES WHERE OWNER = :owner AND TABLE_NAME IN ({names})"


class Child(NamedTuple):
    """A table that refers to another one, directly or by tables between the two.

    :param by_reference: its partitions are those of its parent, at every step.
    :param cascades: every foreign key on the way is enabled and ON DELETE CASCADE.
    :param changed: when one of these was enabled or disabled last, by the time of the database's host; None when that is not known.
    """

    table: TableId
    object_id: int
    by_reference: bool
    cascades: bool
    changed: datetime | None


def read_children(connection: oracledb.Connection, parent: TableId) -> tuple[Child, ...]:
    """The tables that refer to a table, directly or not, each once, without the table itself. Raises SourceError or PrerequisiteError
    when Oracle refuses."""
    found: dict[TableId, Child] = {}
    waiting = [Child(parent, 0, True, True, datetime.min)]
    with oracle_errors("reading the foreign keys that refer to a table"), connection.cursor() as cursor:
        while waiting:
            above = waiting.pop()
            for child in _children_of(cursor, above):
                known = found.get(child.table)
                merged = child if known is None else _of_both(known, child)
                if child.table != parent and merged != known:
                    found[child.table] = merged
                    waiting.append(merged)
    return tuple(found[table] for table in sorted(found))


def _of_both(one: Child, other: Child) -> Child:
    """A table that refers to another one in two ways: a DELETE comes by either of them."""
    if one.cascades != other.cascades:
        changed = one.changed if one.cascades else other.changed
    elif one.changed is None or other.changed is None:
        changed = (one.changed or other.changed) if one.cascades else None
    else:
        changed = (min if one.cascades else max)(one.changed, other.changed)
    either = one.by_reference or other.by_reference, one.cascades or other.cascades
    return Child(one.table, one.object_id, *either, changed)


def _children_of(cursor: oracledb.Cursor, above: Child) -> list[Child]:
    binds = {"owner": above.table.schema, "name": above.table.table}
    cursor.execute(_CHILDREN, binds)
    made: list[Child] = []
    for owner, name, constraint, status, rule, changed, parent in cursor.fetchall():
        table = TableId(above.table.database, owner, name)
        cursor.execute(_OBJECT_ID, {"owner": owner, "name": name})
        row = cursor.fetchone()
        facts = _facts(cursor, owner, [name]).get(name, {})
        by_reference = above.by_reference and facts.get("REF_PTN_CONSTRAINT_NAME") == constraint
        certain = parent is not None and changed is not None and above.changed is not None
        made.append(
            Child(
                table,
                int(row[0]) if row is not None else 0,
                by_reference,
                above.cascades and status == "ENABLED" and rule == "CASCADE",
                max(changed, above.changed) if certain else None,
            )
        )
    return made


def read_part_sources(connection: oracledb.Connection, tables: Collection[TableId]) -> dict[TableId, str]:
    """What makes the partitions of tables of one database (`TableSchema.parts_from`): DDL, too, for those that have none. Raises
    SourceError or PrerequisiteError when Oracle refuses."""
    by_owner: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        by_owner[table.schema].append(table.table)
    database = next(iter(tables)).database if tables else ""
    found = dict.fromkeys(tables, "DDL")
    with oracle_errors("reading how tables are partitioned"), connection.cursor() as cursor:
        for owner, names in by_owner.items():
            for some in lists(names):
                for name, facts in _facts(cursor, owner, some).items():
                    if facts.get("PARTITIONING_TYPE") == "REFERENCE":
                        found[TableId(database, owner, name)] = "PARENT"
                    elif facts.get("INTERVAL") or facts.get("AUTOLIST") == "YES":
                        found[TableId(database, owner, name)] = "ROWS"
    return found


def _facts(cursor: oracledb.Cursor, owner: str, names: Collection[str]) -> dict[str, dict[str, object]]:
    """The rows of ALL_PART_TABLES for these tables, by the table's name."""
    found = {}
    for row in listed(cursor, _PARTITIONED, owner, list(names)):
        facts = dict(zip((column[0] for column in cursor.description or ()), row, strict=True))
        found[str(facts["TABLE_NAME"])] = facts
    return found
