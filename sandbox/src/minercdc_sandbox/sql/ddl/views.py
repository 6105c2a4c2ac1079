"""CREATE and DROP VIEW and SYNONYM, and the RENAME statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import StoredView, Synonym
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.ddl.alter_table import rename_table
from minercdc_sandbox.sql.ddl.create_table import column_like
from minercdc_sandbox.sql.ddl.exclusive import take_alone
from minercdc_sandbox.sql.ddl.names import new_name
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import column_list
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.tables import Table


def create_view(session: SqlSession, parser: Parser) -> None:
    """CREATE VIEW."""
    _create_view(session, parser, replacing=False)


def replace_view(session: SqlSession, parser: Parser) -> None:
    """CREATE OR REPLACE VIEW."""
    _create_view(session, parser, replacing=True)


def _create_view(session: SqlSession, parser: Parser, *, replacing: bool) -> None:
    """The query is planned now, so its errors are raised now; FORCE is refused."""
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
    with session.storage.lock:
        session.commit()
        catalog, now = session.catalog, session.storage.clock.now()
        old = catalog.view(session.container, owner or session.schema, name) if replacing else None
        place = new_name(session, owner, name, "VIEW", replaced=old)
        columns = names or tuple(column.name for column in session.statements.plan_inner(query).columns)
        _named_once(query, names, columns)
        if names and len(session.statements.plan_inner(query).columns) != len(names):
            raise OraError(1730, "invalid number of column names specified")
        object_id = old.object_id if old is not None else catalog.new_object_id()
        created = old.created if old is not None else now
        shape = [
            replace(column_like(c), name=given)
            for c, given in zip(session.statements.plan_inner(query).columns, columns, strict=True)
        ]
        view = StoredView(session.container, place, name, object_id, text, columns, created, now, check, read_only, shape)
        catalog.containers[session.container].views[place, name] = view
        catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, place, name)


def _named_once(query: ast.Query, names: Sequence[str], columns: Sequence[str]) -> None:
    """Raises ORA-00957, ORA-00998 for an expression without a name."""
    if len(set(columns)) < len(columns):
        raise OraError(957, "duplicate column name")
    body = query.body
    while not isinstance(body, ast.Select):
        body = body.left if isinstance(body, ast.SetOperation) else body.body
    for item in body.items:
        if not names and item.expr is not None and item.alias is None and not isinstance(item.expr, ast.Name):
            raise OraError(998, "must name this expression with a column alias", item.at)


def drop_view(session: SqlSession, parser: Parser) -> None:
    """Raises ORA-00942."""
    owner, name = parser.qualified()
    parser.word("CASCADE", "CONSTRAINTS")
    parser.end()
    with session.storage.lock:
        session.commit()
        place = owner or session.schema
        if session.catalog.view(session.container, place, name) is None:
            raise OraError(942, f'table or view "{place}"."{name}" does not exist')
        if place != session.user:
            require(session.catalog, session.container, session.user, "DROP ANY VIEW")
        del session.catalog.containers[session.container].views[place, name]
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, place, name)


def create_synonym(session: SqlSession, parser: Parser) -> None:
    """CREATE SYNONYM."""
    _create_synonym(session, parser, public=False, replacing=False)


def create_public_synonym(session: SqlSession, parser: Parser) -> None:
    """CREATE PUBLIC SYNONYM."""
    _create_synonym(session, parser, public=True, replacing=False)


def replace_synonym(session: SqlSession, parser: Parser) -> None:
    """CREATE OR REPLACE SYNONYM."""
    _create_synonym(session, parser, public=False, replacing=True)


def replace_public_synonym(session: SqlSession, parser: Parser) -> None:
    """CREATE OR REPLACE PUBLIC SYNONYM."""
    _create_synonym(session, parser, public=True, replacing=True)


def _create_synonym(session: SqlSession, parser: Parser, *, public: bool, replacing: bool) -> None:
    owner, name = parser.qualified()
    parser.expect_word("FOR")
    target_owner, target = parser.qualified()
    parser.end()
    with session.storage.lock:
        session.commit()
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
            *(session.container, owner, name, session.catalog.new_object_id()),
            *(target_owner or session.schema, target, session.storage.clock.now()),
        )
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def drop_synonym(session: SqlSession, parser: Parser) -> None:
    """Raises ORA-01434."""
    owner, name = parser.qualified()
    _drop_synonym(session, parser, owner or session.schema, name)


def drop_public_synonym(session: SqlSession, parser: Parser) -> None:
    """Raises ORA-01432."""
    _drop_synonym(session, parser, "PUBLIC", parser.name())


def _drop_synonym(session: SqlSession, parser: Parser, owner: str, name: str) -> None:
    parser.word("FORCE")
    parser.end()
    with session.storage.lock:
        session.commit()
        synonyms = session.catalog.containers[session.container].synonyms
        if (owner, name) not in synonyms:
            public = owner == "PUBLIC"
            raise OraError(
                1432 if public else 1434, f"{'public' if public else 'private'} synonym to be dropped does not exist"
            )
        del synonyms[owner, name]
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def rename(session: SqlSession, parser: Parser) -> None:
    """`RENAME old TO new`, of one's own tables, views, sequences and private synonyms."""
    old = parser.name()
    parser.expect_word("TO")
    new = parser.name()
    parser.end()
    with session.storage.lock:
        session.commit()
        owner = session.schema
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
        if isinstance(found, StoredView):
            place.views[owner, new] = place.views.pop((owner, old))
        elif isinstance(found, Synonym):
            place.synonyms[owner, new] = place.synonyms.pop((owner, old))
        else:
            place.sequences[owner, new] = place.sequences.pop((owner, old))
        found.name = new
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, None, owner, old)
