"""UPDATE and DELETE .. WHERE CURRENT OF: the row a cursor FOR UPDATE has fetched last.

    cursor c is select * from item i for update     is run as     select i.*, i.ROWID from item i for update

PL/SQL uses the ROWID too (PL/SQL Language Reference, "UPDATE Statement Extensions"); here it is one more column of the query, which
FETCH does not assign.
"""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql.frame import Frame, Value
from minercdc_sandbox.sql.tokens import TokenKind


def with_row_id(text: str) -> str | None:
    """The query with its row's ROWID as last column. None unless `text` is a correct query FOR UPDATE of one table or view."""
    parser = Parser(text)
    try:
        query = parser.query()
    except OraError:
        return None
    select = query.body
    if query.for_update is None or not isinstance(select, ast.Select) or len(select.relations) != 1:
        return None
    table = select.relations[0]
    if not isinstance(table, ast.TableRef) or table.inline is not None:
        return None
    name = f'"{table.alias or table.name}"'
    pieces, taken, depth = [], 0, 0
    for before, token in zip(parser.tokens, parser.tokens[1:], strict=False):
        if token.kind is TokenKind.OPERATOR:
            depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.text == "*" and before.text in ("SELECT", "ALL", ","):
            pieces += [text[taken : token.start], f"{name}.*"]
            taken = token.end
        if depth == 0 and token.kind is TokenKind.WORD and token.text == "FROM":
            return "".join((*pieces, text[taken : token.start], f", {name}.ROWID ", text[token.start :]))
    return None


def current_row(slot: int) -> Value:
    """A function that computes the ROWID of the row which the cursor in the place `slot` fetched last. It raises ORA-01001 for a
    cursor that is not open, ORA-01410 when its last fetch found no row or there was none yet."""

    def row_id(frame: Frame) -> str:
        cursor = frame.cursor(slot)
        if cursor.row_id is None:
            raise OraError(1410, "invalid ROWID")
        return cursor.row_id

    return row_id
