"""CREATE and DROP INDEX."""

from __future__ import annotations

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql.ddl.constraints import check_existing
from minercdc.sandbox.sql.ddl.exclusive import take_alone
from minercdc.sandbox.sql.declare import NO_KEY
from minercdc.sandbox.sql.dml.target import target_table
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.definitions import physical_options
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.tables import Index


def create_index(session: SqlSession, parser: Parser) -> None:
    _create_index(session, parser, False)


def create_unique_index(session: SqlSession, parser: Parser) -> None:
    _create_index(session, parser, True)


def _create_index(session: SqlSession, parser: Parser, unique: bool) -> None:
    owner, name = parser.qualified()
    parser.expect_word("ON", 969, "missing ON keyword")
    at = parser.token.start
    table_owner, table_name = parser.qualified()
    parser.expect_op("(")
    columns = []
    while True:
        columns.append(parser.name(904, "invalid identifier"))
        if parser.token.text == "(":
            raise OraError(3001, "unimplemented feature: function-based index", parser.token.start)
        parser.any_word("ASC", "DESC")
        if not parser.op(","):
            break
    parser.expect_op(")")
    physical_options(parser)
    parser.end()
    with session.storage.lock:
        session.commit()
        table = target_table(session.environment, table_owner, table_name, at, "INDEX")
        take_alone(session, table)
        place = owner or session.schema
        if any(i.name == name and i.owner == place for t in session.catalog.tables(table.container) for i in t.indexes):
            raise OraError(955, "name is already used by an existing object")
        if any(i.columns == tuple(columns) for i in table.indexes):
            raise OraError(1408, "such column list already indexed")
        places = table.positions(tuple(columns))
        if any(table.columns[position].type in NO_KEY for position in places):
            raise OraError(2327, "cannot create index on expression with datatype LOB")
        if unique:
            try:
                check_existing(session, table, "U", tuple(columns), name)
            except OraError:
                raise OraError(1452, "cannot CREATE UNIQUE INDEX; duplicate keys found") from None
        index = Index(place, name, tuple(columns), unique, session.catalog.new_object_id(), session.storage.clock.now())
        session.storage.segments.create_index(table, index)
        table.indexes.append(index)
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)


def drop_index(session: SqlSession, parser: Parser) -> None:
    owner, name = parser.qualified()
    parser.end()
    with session.storage.lock:
        session.commit()
        place = owner or session.schema
        for table in session.catalog.tables(session.container):
            for index in table.indexes:
                if index.name == name and index.owner == place:
                    if any(c.index == name for c in table.constraints):
                        raise OraError(2429, "cannot drop index used for enforcement of unique/primary key")
                    take_alone(session, table)
                    table.indexes.remove(index)
                    session.storage.segments.drop_index(table, index)
                    session.catalog.version += 1
                    session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)
                    return
        raise OraError(1418, "specified index does not exist")
