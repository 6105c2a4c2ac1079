"""IF [NOT] EXISTS of 23ai: whether the object that a DDL names is there, and so whether the DDL has anything to do.

"If the object exists, CREATE .. IF NOT EXISTS changes nothing; if it does not, ALTER and DROP .. IF EXISTS change nothing" (SQL
Language Reference 23ai). Such a statement commits, and redo has no DDL of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Sequence as NumberSequence
from minercdc_sandbox.objects import StoredProgram, StoredView, Synonym
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.tables import Table

_OBJECTS = {"TABLE": Table, "VIEW": StoredView, "SEQUENCE": NumberSequence, "SYNONYM": Synonym}
_PROGRAMS = ("PACKAGE", "FUNCTION", "PROCEDURE")


def nothing_to_do(session: SqlSession, parser: Parser, words: Sequence[str]) -> bool:
    """Read IF [NOT] EXISTS, if it comes next, after the first words of a statement, and return whether that makes it do nothing;
    then the transaction was committed, as DDL does, and the rest was not read.

    Before 23ai nothing is read. Raises ORA-11541 with OR REPLACE, ORA-03001 for an object that may not have the clause here and for
    the wrong one of the two clauses, and as `Parser.qualified`.
    """
    verb = words[0]
    if session.environment.release < 23 or verb not in ("CREATE", "ALTER", "DROP"):
        return False
    if not parser.is_word("IF", "EXISTS") and not parser.is_word("IF", "NOT", "EXISTS"):
        return False
    at = parser.token.start
    parser.take()
    negated = parser.word("NOT")
    parser.expect_word("EXISTS")
    if "REPLACE" in words:
        raise OraError(11541, "REPLACE and IF NOT EXISTS cannot coexist in the same DDL statement", at)
    kind = _kind(words)
    if kind is None or negated != (verb == "CREATE"):
        clause = "IF NOT EXISTS" if negated else "IF EXISTS"
        raise OraError(3001, f"unimplemented feature: {' '.join(words)} {clause}", at)
    begun = parser.at
    owner, name = parser.qualified()
    parser.at = begun
    owner = "PUBLIC" if "PUBLIC" in words else owner or session.schema
    if _is_there(session, kind, owner, name) != negated:
        return False
    session.commit()
    return True


def _kind(words: Sequence[str]) -> str | None:
    """The kind of object that the words are of; None for one that may not have the clause here: CREATE of a program or trigger,
    whose source would have to be kept without it."""
    kind = "PACKAGE BODY" if words[-1] == "BODY" else words[-1]
    known = (*_OBJECTS, "INDEX", "USER", *(() if words[0] == "CREATE" else (*_PROGRAMS, "PACKAGE BODY", "TRIGGER")))
    return kind if kind in known else None


def _is_there(session: SqlSession, kind: str, owner: str, name: str) -> bool:
    """Whether an object of this kind is there; one of another kind with the name does not count, and is the statement's error."""
    catalog, container = session.catalog, session.container
    place = catalog.containers[container]
    if kind == "USER":
        return catalog.user(container, name) is not None
    if kind == "INDEX":
        return any(i.owner == owner and i.name == name for table in catalog.tables(container) for i in table.indexes)
    if kind == "TRIGGER":
        return (owner, name) in place.triggers
    if kind == "PACKAGE BODY":
        return (owner, name) in place.bodies
    found = catalog.object_named(container, owner, name)
    if kind in _PROGRAMS:
        return isinstance(found, StoredProgram) and found.kind == kind
    return isinstance(found, _OBJECTS[kind])
