"""Declarations of constraints, in line and out of line (SQL Language Reference, constraint).

constraint := [CONSTRAINT name] NOT NULL | UNIQUE [(..)] | PRIMARY KEY [(..)] | CHECK (..) | [FOREIGN KEY (..)] REFERENCES t [(..)]
              [ON DELETE CASCADE | SET NULL]  {[NOT] DEFERRABLE | INITIALLY DEFERRED | IMMEDIATE | ENABLE | DISABLE | ..}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.tables import ConstraintKind


@dataclass(slots=True)
class ConstraintSpec:
    """One declared constraint, which the statement adds to the catalog's table later.

    :ivar name: None when the statement gives none.
    :ivar kind: as in ALL_CONSTRAINTS; NOT NULL is CHECK without a condition.
    :ivar columns: those it is declared for; () of CHECK (..).
    :ivar at: offset in the statement, for errors.
    :ivar condition: text of CHECK; None for other kinds.
    :ivar reference: owner or None, table and columns that REFERENCES names; no columns for the primary key.
    :ivar delete_rule: NO ACTION, CASCADE or SET NULL.
    :ivar index: the name after USING INDEX; None for none.
    """

    name: str | None
    kind: ConstraintKind
    columns: tuple[str, ...]
    at: int
    condition: str | None = None
    reference: tuple[str | None, str, tuple[str, ...]] | None = None
    delete_rule: str = "NO ACTION"
    enabled: bool = True
    validated: bool = True
    deferrable: bool = False
    deferred: bool = False
    rely: bool = False
    index: str | None = None


def column_list(parser: Parser) -> tuple[str, ...]:
    """Read `(a, b, ..)`; the names in this order. Raises ORA-00904, ORA-00906, ORA-00907, ORA-00972."""
    return tuple(parser.enclosed(parser.names))


def constraint(parser: Parser) -> ConstraintSpec:
    """Read an out-of-line constraint with its states. Raises ORA-03001 for a kind that is not known, ORA-00905 to ORA-00907 for
    missing words, as `Parser.expr` of CHECK, and as `state`."""
    name = parser.name() if parser.word("CONSTRAINT") else None
    at = parser.token.start
    spec = _spec(parser, name, lambda: column_list(parser))
    if spec is None and parser.word("FOREIGN", "KEY"):
        spec = ConstraintSpec(name, ConstraintKind.FOREIGN, column_list(parser), at)
        parser.expect_word("REFERENCES")
        _references(parser, spec)
    if spec is None:
        raise OraError(3001, f"unimplemented feature: {parser.token.text} constraints", at)
    state(parser, spec)
    return spec


def column_constraint(parser: Parser, column: str) -> ConstraintSpec | None:
    """Read an in-line constraint of `column` with its states; None, with nothing read but CONSTRAINT and a name, when none comes
    next. Raises ORA-02253 for a name without a constraint or NULL, ORA-00905 to ORA-00907 for missing words, as `Parser.expr` of
    CHECK, and as `state`."""
    start = parser.token.start
    name = parser.name() if parser.word("CONSTRAINT") else None
    at = parser.token.start
    spec = _spec(parser, name, lambda: (column,))
    if spec is None and parser.word("NOT", "NULL"):
        spec = ConstraintSpec(name, ConstraintKind.CHECK, (column,), at)
    elif spec is None and parser.word("REFERENCES"):
        spec = ConstraintSpec(name, ConstraintKind.FOREIGN, (column,), at)
        _references(parser, spec)
    if spec is not None:
        state(parser, spec)
    elif name is not None and not parser.is_word("NULL"):
        raise OraError(2253, "constraint specification not allowed here", start)
    return spec


def _spec(parser: Parser, name: str | None, columns: Callable[[], tuple[str, ...]]) -> ConstraintSpec | None:
    """Read PRIMARY KEY, UNIQUE or CHECK, which are written alike in line and out of line; None, with nothing read, when none of
    them comes next. `columns` reads or knows the columns."""
    at = parser.token.start
    if parser.word("PRIMARY", "KEY"):
        return ConstraintSpec(name, ConstraintKind.PRIMARY, columns(), at)
    if parser.word("UNIQUE"):
        return ConstraintSpec(name, ConstraintKind.UNIQUE, columns(), at)
    if parser.word("CHECK"):
        return ConstraintSpec(name, ConstraintKind.CHECK, (), at, parser.enclosed(parser.source_text))
    return None


def _references(parser: Parser, spec: ConstraintSpec) -> None:
    spec.reference = *parser.qualified(), column_list(parser) if parser.token.text == "(" else ()
    if parser.word("ON", "DELETE"):
        spec.delete_rule = "SET NULL" if parser.word("SET", "NULL") else parser.one_of("CASCADE")


def state(parser: Parser, spec: ConstraintSpec) -> None:
    """Read the states that come next, in any order and none of them needed, into a constraint. DISABLE without VALIDATE after it
    is NOVALIDATE. Raises ORA-03001 for USING INDEX (CREATE INDEX ..), ORA-00903 and ORA-00972 for names."""
    while True:
        if parser.word("USING", "INDEX"):
            using_index(parser, spec)
        elif parser.word("ENABLE"):
            spec.enabled = True
        elif parser.word("DISABLE"):
            spec.enabled = spec.validated = False
        elif parser.word("VALIDATE"):
            spec.validated = True
        elif parser.word("NOVALIDATE"):
            spec.validated = False
        elif parser.is_any_word("RELY", "NORELY"):
            spec.rely = parser.take().text == "RELY"
        elif parser.word("NOT", "DEFERRABLE"):
            spec.deferrable = False
        elif parser.word("DEFERRABLE"):
            spec.deferrable = True
        elif parser.word("INITIALLY", "DEFERRED"):
            spec.deferrable = spec.deferred = True
        elif not parser.word("INITIALLY", "IMMEDIATE"):
            return


def using_index(parser: Parser, spec: ConstraintSpec) -> None:
    """Read what may follow USING INDEX into a constraint: TABLESPACE and a name, the name of an index, or nothing. Raises ORA-03001
    for (CREATE INDEX ..), ORA-00903 and ORA-00972 for names."""
    if parser.word("TABLESPACE"):
        parser.name()
    elif parser.token.text == "(":
        raise OraError(3001, "unimplemented feature: USING INDEX (CREATE INDEX ..)", parser.token.start)
    elif parser.token.is_name and parser.token.text not in ("ENABLE", "DISABLE", "RELY", "NORELY", "VALIDATE"):
        spec.index = parser.name()
