"""DROP TABLE and TRUNCATE TABLE."""

from __future__ import annotations

import base64
import hashlib

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.exclusive import committed, take_alone
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import move_grants
from minercdc_sandbox.tables import KEYS, ConstraintKind, Table


def drop_table(session: SqlSession, parser: Parser) -> None:
    """DROP TABLE, read from after these words: into the recycle bin, unless PURGE or a temporary table. Foreign keys of other
    tables that refer to it go with CASCADE CONSTRAINTS. Raises ORA-02449 without it, and as `target_table` and `take_alone`.
    Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    at = parser.token.start
    owner, name = parser.qualified()
    cascade = parser.word("CASCADE", "CONSTRAINTS")
    purge = parser.word("PURGE")
    parser.end()
    with committed(session):
        table = target_table(session.environment, owner, name, at, "DROP")
        take_alone(session, table)
        _release(session, table, cascade=cascade)
        text = parser.sql.rstrip().rstrip(";")
        renames: list[str] = []
        if purge or table.temporary is not None:
            session.storage.drop_segment(table)
            session.catalog.purge(table)
            move_grants(session.catalog, table.container, table.owner, name, None)
        else:
            bin_name = _recycle_name(table.object_id)
            session.catalog.recycle(table, bin_name)
            move_grants(session.catalog, table.container, table.owner, name, bin_name)
            text = f'{text} AS "{bin_name}" '
            renames = _renames(table, bin_name)
        session.storage.log_ddl(session.client, text, table, table.owner, name, renames)


def _renames(table: Table, bin_name: str) -> list[str]:
    """The statements by which the recycle bin first gives constraints, indexes and the table names of its own, as the redo of
    DROP has them (docs/reference/logminer-facts.md#b-8)."""
    target = f'"{table.owner}"."{table.name}"'
    kept = [constraint for constraint in table.constraints if constraint.kind in KEYS]
    found = [
        f'ALTER TABLE {target} RENAME CONSTRAINT "{constraint.name}" TO "{_recycle_name(table.object_id, constraint.name)}" '
        for constraint in kept
    ]
    found += [
        f'ALTER INDEX "{index.owner}"."{index.name}" RENAME TO "{_recycle_name(index.object_id)}" '
        for index in table.indexes
    ]
    return [*found, f'ALTER TABLE {target} RENAME TO "{bin_name}" ']


def _release(session: SqlSession, table: Table, *, cascade: bool) -> None:
    """Drop the table's own foreign keys, and with CASCADE CONSTRAINTS those of others that refer to it. Raises ORA-02449 for such
    without `cascade`."""
    others = [(child, c) for child, c in session.catalog.children_of(table) if child is not table]
    if others and not cascade:
        raise OraError(2449, "unique/primary keys in table referenced by foreign keys")
    for child, constraint in others:
        child.constraints.remove(constraint)
    table.constraints = [c for c in table.constraints if c.kind != ConstraintKind.FOREIGN]


def _recycle_name(object_id: int, name: str = "") -> str:
    """The name in the recycle bin, `BIN$..$0`: of a table or index, from its object id; of a constraint, which has none, from the
    id of its table and the constraint's `name`. The same at each call."""
    digest = hashlib.md5(f"{object_id}{name}".encode(), usedforsecurity=False).digest()
    return f"BIN${base64.b64encode(digest).decode()}$0"


def truncate_table(session: SqlSession, parser: Parser) -> None:
    """TRUNCATE TABLE, read from after these words: rows go without redo, data object ids are new. Raises ORA-02266 for a table
    that enabled foreign keys of others refer to, ORA-03001 with CASCADE for it, as it is not known how redo has the children's
    TRUNCATE, ORA-14705 where not all of them are ON DELETE CASCADE, and as `target_table` and `take_alone`. Commits the open transaction first, as
    `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    at = parser.token.start
    owner, name = parser.qualified()
    if parser.any_word("PRESERVE", "PURGE"):
        for word in ("MATERIALIZED", "VIEW", "LOG"):
            parser.expect_word(word)
    if parser.any_word("DROP", "REUSE"):
        parser.word("ALL")
        parser.expect_word("STORAGE")
    cascade = parser.word("CASCADE")
    parser.end()
    with committed(session):
        table = target_table(session.environment, owner, name, at, "DROP")
        take_alone(session, table)
        _refuse_children(session, table, cascade=cascade)
        session.storage.drop_segment(table)
        table.data_object_id, table.next_rid = session.catalog.new_object_id(), 0
        for partition in table.partitioning.segments() if table.partitioning is not None else ():
            partition.data_object_id = session.catalog.new_object_id()
            partition.number_as(partition.number)
        session.storage.segments.create(table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=False)
        table.ddl_scn = scn


def _refuse_children(session: SqlSession, table: Table, *, cascade: bool) -> None:
    """Raises as `truncate_table` when enabled foreign keys of other tables refer to this one."""
    references = [reference for child, reference in session.catalog.children_of(table) if child is not table]
    if not references:
        return
    if not cascade:
        raise OraError(2266, "unique/primary keys in table referenced by enabled foreign keys")
    if any(reference.delete_rule != "CASCADE" for reference in references):
        raise OraError(14705, "unique or primary keys referenced by enabled foreign keys in table")
    raise OraError(
        3001, f"unimplemented feature: TRUNCATE TABLE {table.owner}.{table.name} CASCADE, with tables that refer to it"
    )
