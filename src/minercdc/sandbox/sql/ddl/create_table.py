"""CREATE TABLE, also AS a query. It commits first and is logged as its own transaction."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.sandbox.catalog import Column, Table
from minercdc.sandbox.interfaces import ColumnDescription, OraError, OraType
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.ddl.constraints import add_check, add_constraint, add_group
from minercdc.sandbox.sql.declare import check_declared
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.definitions import Definition, definition_item, large_storage, physical_options
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.sql.translate.expressions import Expressions


def create_table(session: SqlSession, parser: Parser) -> None:
    owner, name = parser.qualified()
    definition = Definition()
    query: ast.Query | None = None
    if parser.op("("):
        definition_item(parser, definition)
        while parser.op(","):
            definition_item(parser, definition)
        parser.expect_op(")")
    physical_options(parser)
    while large_storage(parser, definition.columns):
        physical_options(parser)
    if parser.word("AS"):
        if definition.columns:
            raise OraError(1773, "may not specify column datatypes in this CREATE TABLE")
        query = parser.query()
    parser.end()
    with session.storage.lock:
        session.commit()
        plan = None
        if query is not None:
            plan = session.plan_inner(query)
            definition.columns = [_column_like(c) for c in plan.columns]
        table = _new_table(session, owner or session.schema, name, definition)
        session.storage.segments.create(table)
        session.catalog.add_table(table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        table.ddl_scn = scn
        if plan is not None:
            rows = session.rows_of(plan, ())
            if rows:
                session.storage.insert(session.client, table, rows)
            session.commit()


def _column_like(described: ColumnDescription) -> Column:
    text = described.type in (OraType.VARCHAR2, OraType.CHAR)
    chars = (described.size // 2 if described.national else described.size) if text else 0
    return Column(
        described.name,
        described.type,
        described.precision,
        described.scale,
        described.size,
        chars,
        semantics="C" if described.national else "B",
        nullable=described.nullable,
        national=described.national,
    )


def _new_table(session: SqlSession, owner: str, name: str, definition: Definition) -> Table:
    catalog = session.catalog
    if catalog.user(session.container, owner) is None:
        raise OraError(1918, f"user '{owner}' does not exist")
    if not definition.columns:
        raise OraError(904, "invalid identifier")
    check_columns(session, definition.columns)
    if len(definition.columns) > 1000:
        raise OraError(1792, "maximum number of columns in a table or view is 1000")
    if catalog.table(session.container, owner, name) is not None:
        raise OraError(955, "name is already used by an existing object")
    for slot, column in enumerate(definition.columns):
        column.slot = slot
    now = session.storage.clock.now()
    object_id = catalog.new_object_id()
    table = Table(
        session.container, owner, name, object_id, object_id, definition.columns, now, now, session.storage.clock.advance()
    )
    table.next_slot = len(definition.columns)
    for constraint in definition.constraints:
        add_constraint(session, table, *constraint)
    for check in definition.checks:
        add_check(session, table, *check)
    for group in definition.groups:
        add_group(session, table, group)
    check_defaults(session, definition.columns)
    return table


def check_columns(session: SqlSession, columns: Sequence[Column]) -> None:
    """Raises ORA-00902 and the like for types this database does not have."""
    env = session.environment
    check_declared(columns, env.release, extended=env.extended_strings)


def check_defaults(session: SqlSession, columns: Sequence[Column]) -> None:
    """A default is understood now or refused now."""
    for column in columns:
        if column.default is not None:
            try:
                Expressions(session.environment).value(Parser(column.default).expr(), None)
            except OraError as error:
                if error.number == 904:
                    raise OraError(984, "column not allowed here") from None
                raise
