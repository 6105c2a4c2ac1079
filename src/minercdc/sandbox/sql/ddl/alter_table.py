"""ALTER TABLE."""

from __future__ import annotations

from minercdc.sandbox.catalog import Table
from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql.ddl.columns import add_column, drop_column, modify_column
from minercdc.sandbox.sql.ddl.constraints import (
    add_check,
    add_constraint,
    add_group,
    check_existing,
    check_rows,
    drop_constraint,
)
from minercdc.sandbox.sql.ddl.create_table import check_columns, check_defaults
from minercdc.sandbox.sql.ddl.exclusive import take_alone, whole_or_not
from minercdc.sandbox.sql.dml.checks import rename_in_check
from minercdc.sandbox.sql.dml.target import target_table
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.definitions import Definition, column_list, definition_item, large_storage, supplemental
from minercdc.sandbox.sql.parse.statements import Parser


def alter_table(session: SqlSession, parser: Parser) -> None:
    at = parser.token.start
    owner, name = parser.qualified()
    with session.storage.lock:
        session.commit()
        table = target_table(session.environment, owner, name, at)
        take_alone(session, table)
        with whole_or_not(table):
            definition = _alter(session, parser, table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=definition)


def _alter(session: SqlSession, parser: Parser, table: Table) -> bool:
    """Apply it; returns whether the stored columns changed."""
    if parser.word("ADD"):
        return _alter_add(session, parser, table)
    if parser.word("DROP"):
        return _alter_drop(session, parser, table)
    if parser.word("MODIFY"):
        _alter_modify(session, parser, table)
        return True
    if parser.word("RENAME", "COLUMN"):
        position = table.position(parser.name(904, "invalid identifier"))
        parser.expect_word("TO")
        name = parser.name(904, "invalid identifier")
        parser.end()
        if any(column.name == name for column in table.columns):
            raise OraError(957, "duplicate column name")
        for check in table.checks:
            rename_in_check(check, table.columns[position].name, name)
        session.catalog.rename_column(table, position, name)
        return True
    if parser.word("RENAME", "TO"):
        name = parser.name()
        parser.end()
        _rename(session, table, name)
        return False
    raise OraError(3001, "unimplemented feature: this ALTER TABLE", parser.token.start)


def _rename(session: SqlSession, table: Table, name: str) -> None:
    place = session.catalog.containers[table.container].tables
    if (table.owner, name) in place:
        raise OraError(955, "name is already used by an existing object")
    del place[table.owner, table.name]
    table.name = name
    session.catalog.add_table(table)


def _alter_add(session: SqlSession, parser: Parser, table: Table) -> bool:
    definition = Definition()
    if parser.op("("):
        definition_item(parser, definition)
        while parser.op(","):
            definition_item(parser, definition)
        parser.expect_op(")")
    else:
        definition_item(parser, definition)
        while parser.op(","):
            parser.word("ADD")
            definition_item(parser, definition)
    while large_storage(parser, definition.columns):
        pass
    parser.end()
    check_columns(session, [*table.columns, *definition.columns])
    check_defaults(session, definition.columns)
    for column in definition.columns:
        add_column(session, table, column)
    for constraint in definition.constraints:
        index = add_constraint(session, table, *constraint)
        check_existing(session, table, constraint[1], constraint[2], table.constraints[-1].name)
        if index is not None:
            session.storage.segments.create_index(table, index)
    for check in definition.checks:
        add_check(session, table, *check)
        check_rows(session, table, table.checks[-1].name)
    for group in definition.groups:
        add_group(session, table, group)
    return bool(definition.columns)


def _alter_drop(session: SqlSession, parser: Parser, table: Table) -> bool:
    if parser.word("SUPPLEMENTAL", "LOG"):
        for group in supplemental(parser):
            same = [g for g in table.log_groups if g.kind == group.kind and (not group.name or g.name == group.name)]
            if not same:
                raise OraError(32587, "Cannot drop nonexistent supplemental logging")
            table.log_groups.remove(same[0])
        parser.end()
        return False
    if parser.word("CONSTRAINT") or parser.is_word("PRIMARY", "KEY") or parser.is_word("UNIQUE"):
        drop_constraint(session, parser, table)
        return False
    names = [parser.name(904, "invalid identifier")] if parser.word("COLUMN") else list(column_list(parser))
    parser.word("CASCADE", "CONSTRAINTS")
    parser.end()
    for name in names:
        drop_column(session, table, name)
    return True


def _alter_modify(session: SqlSession, parser: Parser, table: Table) -> None:
    listed = parser.op("(")
    while True:
        modify_column(session, parser, table)
        if not listed or not parser.op(","):
            break
    if listed:
        parser.expect_op(")")
    parser.end()
