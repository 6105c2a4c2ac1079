"""CREATE and DROP VIEW and SYNONYM, and the RENAME statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minercdc_sandbox.interfaces import ColumnDescription, OraError
from minercdc_sandbox.objects import StoredView, Synonym
from minercdc_sandbox.sql.ddl.alter_table import rename_table
from minercdc_sandbox.sql.ddl.create_table import column_like
from minercdc_sandbox.sql.ddl.exclusive import committed, take_alone
from minercdc_sandbox.sql.ddl.names import named_objects, named_once, new_name
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import column_list
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import move_grants, require
from minercdc_sandbox.tables import Table


def create_view(session: SqlSession, parser: Parser, *, replacing: bool = False, force: bool = False) -> None:
    """CREATE VIEW, read from after these words; `replacing` CREATE OR REPLACE VIEW. The query is planned now, so its errors are
    raised now, with `force` at its use.

    Raises ORA-00957, ORA-00998, ORA-01027, ORA-01730, and as `new_name`, `column_list`, `Parser.query` and `Queries.query`.
    Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`.
    """
    owner, name = parser.qualified()
    names = column_list(parser) if parser.token.text == "(" else ()
    parser.expect_word("AS")
    start = parser.token.start
    query = parser.query()
    text = parser.sql[start : parser.tokens[parser.at - 1].end]
    read_only = parser.word("WITH", "READ", "ONLY")
    check = parser.word("WITH", "CHECK", "OPTION")
    if (read_only or check) and parser.word("CONSTRAINT"):
        parser.name()
    parser.end()
    if parser.binds:
        raise OraError(1027, "bind variables not allowed for data definition operations")
    with committed(session):
        catalog, now = session.catalog, session.storage.clock.now()
        old = catalog.view(session.container, owner or session.schema, name) if replacing else None
        place = new_name(session, owner, name, "VIEW", replaced=old)
        broken = False
        found: tuple[ColumnDescription, ...] = ()
        try:
            found = session.statements.plan_inner(query).columns
        except OraError:
            if not force:
                raise
            broken = True
        columns = names or tuple(column.name for column in found)
        named_once(query, names, columns)
        if len(found) != len(columns) and not broken:
            raise OraError(1730, "invalid number of column names specified")
        object_id = old.object_id if old is not None else catalog.new_object_id()
        created = old.created if old is not None else now
        shape = [replace(column_like(c), name=given) for c, given in zip(found, columns, strict=not broken)]
        view = StoredView(session.container, place, name, object_id, text, columns, created, now, check, read_only, shape)
        view.names, view.broken = named_objects(session, place, name, text), broken
        catalog.containers[session.container].views[place, name] = view
        session.storage.log_ddl(session.client, parser.sql, None, place, name)


def drop_view(session: SqlSession, parser: Parser) -> None:
    """DROP VIEW, read from after these words. Raises ORA-00942, ORA-01031. Commits the open transaction first, as `committed`,
    and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    parser.word("CASCADE", "CONSTRAINTS")
    parser.end()
    with committed(session):
        place = owner or session.schema
        if session.catalog.view(session.container, place, name) is None:
            raise OraError(942, f'table or view "{place}"."{name}" does not exist')
        if place != session.user:
            require(session.catalog, session.container, session.user, "DROP ANY VIEW")
        del session.catalog.containers[session.container].views[place, name]
        move_grants(session.catalog, session.container, place, name, None)
        session.storage.log_ddl(session.client, parser.sql, None, place, name)


def create_synonym(session: SqlSession, parser: Parser, *, public: bool = False, replacing: bool = False) -> None:
    """CREATE [OR REPLACE] [PUBLIC] SYNONYM, read from after these words; its object need not exist. Raises ORA-00955, ORA-01031,
    ORA-01918. Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    parser.expect_word("FOR")
    target_owner, target = parser.qualified()
    parser.end()
    with committed(session):
        place = session.catalog.containers[session.container]
        if public:
            require(session.catalog, session.container, session.user, "CREATE PUBLIC SYNONYM")
            if ("PUBLIC", name) in place.synonyms and not replacing:
                raise OraError(955, "name is already used by an existing object")
            owner = "PUBLIC"
        else:
            old = place.synonyms.get((owner or session.schema, name)) if replacing else None
            owner = new_name(session, owner, name, "SYNONYM", replaced=old)
        place.synonyms[owner, name] = Synonym(
            session.container,
            owner,
            name,
            session.catalog.new_object_id(),
            target_owner or session.schema,
            target,
            session.storage.clock.now(),
        )
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def drop_synonym(session: SqlSession, parser: Parser, *, public: bool = False) -> None:
    """DROP [PUBLIC] SYNONYM, read from after these words. Raises ORA-01434, of a public one ORA-01432, ORA-01031. Commits the
    open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = ("PUBLIC", parser.name()) if public else parser.qualified()
    owner = owner or session.schema
    parser.word("FORCE")
    parser.end()
    with committed(session):
        synonyms = session.catalog.containers[session.container].synonyms
        if (owner, name) not in synonyms:
            number, kind = (1432, "public") if public else (1434, "private")
            raise OraError(number, f"{kind} synonym to be dropped does not exist")
        if owner != session.user:
            privilege = "DROP PUBLIC SYNONYM" if public else "DROP ANY SYNONYM"
            require(session.catalog, session.container, session.user, privilege)
        del synonyms[owner, name]
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def rename(session: SqlSession, parser: Parser) -> None:
    """`RENAME old TO new`, read from after RENAME, of a table, view, sequence or private synonym, which "must be in your own
    schema" (SQL Language Reference, RENAME). Raises ORA-00955, ORA-04043, ORA-03001 for a program or job, and as `take_alone`.
    Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    old = parser.name()
    parser.expect_word("TO")
    new = parser.name()
    parser.end()
    with committed(session):
        owner = session.user
        found = session.catalog.object_named(session.container, owner, old)
        if found is None:
            raise OraError(4043, f"object {old} does not exist")
        if session.catalog.object_named(session.container, owner, new) is not None:
            raise OraError(955, "name is already used by an existing object")
        if isinstance(found, Table):
            take_alone(session, found)
            rename_table(session, found, new)
            scn = session.storage.log_ddl(session.client, parser.sql, found, owner, old)
            session.catalog.changed(found, scn=scn, now=session.storage.clock.now(), definition=False)
            return
        place = session.catalog.containers[session.container]
        kinds: tuple[dict[tuple[str, str], Any], ...] = (place.views, place.synonyms, place.sequences)
        of_kind = next((objects for objects in kinds if (owner, old) in objects), None)
        if of_kind is None:
            raise OraError(3001, f"unimplemented feature: RENAME of {old}, which is no table, view, sequence or synonym")
        of_kind[owner, new] = of_kind.pop((owner, old))
        found.name = new
        move_grants(session.catalog, session.container, owner, old, new)
        session.storage.log_ddl(session.client, parser.sql, None, owner, old)
