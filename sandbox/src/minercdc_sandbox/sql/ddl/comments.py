"""COMMENT ON tables and columns."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.tokens import TokenKind


def comment_on(session: SqlSession, parser: Parser) -> None:
    """COMMENT ON TABLE and COLUMN, read from after COMMENT ON; '' takes the comment away. Raises ORA-00904, ORA-00942, ORA-01031,
    ORA-01747, ORA-01780, ORA-03001 for another object. Commits the open transaction first, as `committed`, and logs itself as
    DDL. Syntax errors are those of `Parser`."""
    column_wanted = parser.word("COLUMN")
    if not column_wanted:
        parser.expect_word("TABLE", 3001, "unimplemented feature: COMMENT ON this")
    at = parser.token.start
    parts = [parser.name()]
    while parser.op("."):
        parts.append(parser.name())
    if not column_wanted + 1 <= len(parts) <= column_wanted + 2:
        raise OraError(1747, "invalid user.table.column, table.column, or column specification", at)
    parser.expect_word("IS")
    text = parser.take()
    parser.end()
    if text.kind is not TokenKind.STRING:
        raise OraError(1780, "string literal required", text.start)
    column = parts.pop() if column_wanted else None
    with committed(session):
        table = target_table(session.environment, parts[0] if len(parts) > 1 else None, parts[-1], at, "COMMENT")
        if column is not None:
            table.columns[table.position(column)].comment = text.text or None
        else:
            table.comment = text.text or None
        session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)
