"""Which kind of statement a text is, and its tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.statements import Parser

KINDS = {
    "SELECT": "joins of every kind, subqueries, WITH (recursive too), set operations, CONNECT BY, PIVOT, analytic functions, AS OF, "
    "VERSIONS BETWEEN, FETCH FIRST, FOR UPDATE [NOWAIT, WAIT n, SKIP LOCKED]",
    "INSERT": "VALUES, subquery, RETURNING INTO, LOG ERRORS; arrays with row counts and batch errors",
    "INSERT ALL, INSERT FIRST": "with and without WHEN",
    "UPDATE": "also `SET (..) = (subquery)`, RETURNING INTO, LOG ERRORS; views, subqueries, key-preserved tables of joins",
    "DELETE": "RETURNING INTO, LOG ERRORS; views, subqueries, the key-preserved table of a join",
    "MERGE": "with DELETE WHERE",
    "BEGIN, DECLARE, CALL": "anonymous blocks, WHERE CURRENT OF a cursor FOR UPDATE of one table; nothing stored: no procedures, functions, packages or triggers of one's own",
}
"""What `parse` reads itself; all other statements are commands (sql/commands/registry.py)."""


@dataclass(slots=True)
class Parsed:
    """A statement by kind: `query`, `insert`, `insert many`, `merge`, `update`, `delete`, `block` or `command`."""

    kind: str
    tree: Any
    binds: list[str]


def parse(sql: str) -> Parsed:
    """Read the text. Raises ORA-00900 and syntax errors with their position."""
    parser = Parser(sql)
    word = parser.token.text
    tree: Any
    if parser.token.kind == "E":
        raise OraError(900, "invalid SQL statement")
    if word in ("SELECT", "WITH", "("):
        kind, tree = "query", parser.query()
    elif word == "INSERT":
        tree = parser.insert()
        kind = "insert many" if isinstance(tree, ast.InsertMany) else "insert"
    elif word == "MERGE":
        kind, tree = "merge", parser.merge()
    elif word == "UPDATE":
        kind, tree = "update", parser.update()
    elif word == "DELETE":
        kind, tree = "delete", parser.delete()
    elif word in ("BEGIN", "DECLARE", "CALL", "<<"):
        return Parsed("block", None, [])
    else:
        return Parsed("command", word, [])
    parser.end()
    return Parsed(kind, tree, parser.binds)
