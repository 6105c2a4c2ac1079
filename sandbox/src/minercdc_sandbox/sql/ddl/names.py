"""The owner of a new schema object, and the checks of its name and of the privilege to create it."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.sql.tokens import tokenize

_RESOURCE = frozenset({"SEQUENCE", "PROCEDURE"})
"""Kinds that the role RESOURCE may create in its own schema (Security Guide, predefined roles)."""


def new_name(session: SqlSession, owner: str | None, name: str, kind: str, *, replaced: object = None) -> str:
    """Check that the user may make a new object of this name; returns its owner, the current schema without `owner`. Raises
    ORA-00955 for a name that is taken, ORA-01031, ORA-01918.

    :param kind: of the privilege: SEQUENCE, SYNONYM, VIEW or PROCEDURE.
    :param replaced: the object that CREATE OR REPLACE may replace; None for none.
    """
    place = owner or session.schema
    catalog = session.catalog
    if catalog.user(session.container, place) is None:
        raise OraError(1918, f"user '{place}' does not exist")
    if place == session.user:
        roles = ("RESOURCE",) if kind in _RESOURCE else ()
        require(catalog, session.container, session.user, f"CREATE {kind}", f"CREATE ANY {kind}", *roles)
    else:
        require(catalog, session.container, session.user, f"CREATE ANY {kind}")
    found = catalog.object_named(session.container, place, name)
    if found is not None and found is not replaced:
        raise OraError(955, "name is already used by an existing object")
    return place


def program_owner(session: SqlSession, owner: str | None, kind: str = "PROCEDURE") -> str:
    """Check that the user may make a package body or, with `kind` TRIGGER, a trigger, whose names are apart from those of other
    objects; returns its owner, the current schema without `owner`. Raises ORA-01031, ORA-01918."""
    place = owner or session.schema
    if session.catalog.user(session.container, place) is None:
        raise OraError(1918, f"user '{place}' does not exist")
    own = (f"CREATE {kind}", "RESOURCE") if place == session.user else ()
    require(session.catalog, session.container, session.user, f"CREATE ANY {kind}", *own)
    return place


def named_objects(session: SqlSession, owner: str, name: str, text: str) -> frozenset[str]:
    """The names in a text of objects of the schema `owner` that are there now, without `name`, which the text defines."""
    words = {token.text for token in tokenize(text) if token.is_name} - {name}
    return frozenset(word for word in words if session.catalog.object_named(session.container, owner, word) is not None)


def named_once(query: ast.Query, names: Sequence[str], columns: Sequence[str]) -> None:
    """Check the column names of a view, or of CREATE TABLE .. AS. Raises ORA-00957 for a name twice, ORA-00998 for an expression
    without a name.

    :param names: that the statement gives the columns; empty without any. `columns`: the names that the columns get.
    """
    if len(set(columns)) < len(columns):
        raise OraError(957, "duplicate column name")
    body = query.body
    while not isinstance(body, ast.Select):
        body = body.left if isinstance(body, ast.SetOperation) else body.body
    for item in body.items:
        if not names and item.expr is not None and item.alias is None and not isinstance(item.expr, ast.Name):
            raise OraError(998, "must name this expression with a column alias", item.at)
