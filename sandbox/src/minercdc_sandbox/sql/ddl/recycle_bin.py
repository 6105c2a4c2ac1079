"""The recycle bin: FLASHBACK TABLE .. TO BEFORE DROP and PURGE (Administrator's Guide, Managing Tables)."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.alter_table import keep_name
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import move_grants, require
from minercdc_sandbox.tables import Table


def _dropped(session: SqlSession, owner: str, name: str) -> Table | None:
    """The table in the recycle bin with this BIN$ name, or that of the original name that was dropped last; None when there is none."""
    found = [t for t in session.catalog.dropped(session.container) if t.owner == owner and name in (t.name, t.dropped_as)]
    return found[-1] if found else None


def flashback_table(session: SqlSession, parser: Parser) -> None:
    """FLASHBACK TABLE .. TO BEFORE DROP, read from after these two words, which needs "only the privileges necessary to drop the
    table" (SQL Language Reference, FLASHBACK TABLE). Its triggers keep their BIN$ names. Raises ORA-38305 when the table is not
    in the bin, ORA-38312 when the name is taken, ORA-01031, ORA-03001 for TO SCN and TO TIMESTAMP. Commits the open transaction
    first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    if not parser.word("TO", "BEFORE", "DROP"):
        raise OraError(3001, "unimplemented feature: FLASHBACK TABLE TO SCN or TIMESTAMP", parser.token.start)
    new = parser.name() if parser.word("RENAME", "TO") else None
    parser.end()
    with committed(session):
        table = _dropped(session, owner or session.schema, name)
        if table is None:
            raise OraError(38305, "object not in RECYCLE BIN")
        _may_drop(session, table)
        if session.catalog.object_named(session.container, table.owner, new or table.name) is not None:
            raise OraError(38312, "original name is used by an existing object")
        assert table.dropped_as is not None
        del session.catalog.containers[session.container].dropped[table.dropped_as]
        move_grants(session.catalog, table.container, table.owner, table.dropped_as, new or table.name)
        if new is not None:
            keep_name(session, table)
        table.name, table.dropped_as = new or table.name, None
        session.catalog.add_table(table)
        session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)


def purge(session: SqlSession, parser: Parser) -> None:
    """PURGE TABLE name, RECYCLEBIN (the user's own tables), DBA_RECYCLEBIN (all of the container), read from after PURGE. Raises
    ORA-01031, ORA-03001 for another PURGE, and ORA-38307 when the table is not in the bin. Commits the open transaction first, as
    `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    everything = parser.word("DBA_RECYCLEBIN")
    mine = parser.word("RECYCLEBIN")
    if not everything and not mine:
        parser.expect_word("TABLE", 3001, "unimplemented feature: this PURGE")
        owner, name = parser.qualified()
    parser.end()
    with committed(session):
        if everything:
            require(session.catalog, session.container, session.user, "PURGE DBA_RECYCLEBIN")
        bin_ = session.catalog.dropped(session.container)
        if everything or mine:
            tables = [t for t in bin_ if everything or t.owner == session.user]
        else:
            found = _dropped(session, owner or session.schema, name)
            if found is None:
                raise OraError(38307, "object not in RECYCLE BIN")
            _may_drop(session, found)
            tables = [found]
        for table in tables:
            session.storage.drop_segment(table)
            move_grants(session.catalog, table.container, table.owner, table.dropped_as or table.name, None)
            session.catalog.purge(table)
        session.storage.log_ddl(session.client, parser.sql, None, None, None)


def _may_drop(session: SqlSession, table: Table) -> None:
    if table.owner != session.user:
        require(session.catalog, session.container, session.user, "DROP ANY TABLE")
