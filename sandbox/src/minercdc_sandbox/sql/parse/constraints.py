"""Constraints as they are declared, in line and out of line (SQL Language Reference, constraint).

constraint := [CONSTRAINT name] NOT NULL | UNIQUE [(..)] | PRIMARY KEY [(..)] | CHECK (..) | [FOREIGN KEY (..)] REFERENCES t [(..)]
              [ON DELETE CASCADE | SET NULL]  {[NOT] DEFERRABLE | INITIALLY DEFERRED | IMMEDIATE | ENABLE | DISABLE | ..}
"""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.tables import ConstraintKind


@dataclass(slots=True)
class ConstraintSpec:
    """One constraint. `kind` as in ALL_CONSTRAINTS; NOT NULL is C without a condition."""

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
    """`(a, b, ..)`."""
    parser.expect_op("(")
    names = parser.names()
    parser.expect_op(")")
    return tuple(names)


def constraint(parser: Parser) -> ConstraintSpec:
    """An out-of-line constraint."""
    name = parser.name() if parser.word("CONSTRAINT") else None
    at = parser.token.start
    if parser.word("PRIMARY", "KEY"):
        spec = ConstraintSpec(name, ConstraintKind.PRIMARY, column_list(parser), at)
    elif parser.word("UNIQUE"):
        spec = ConstraintSpec(name, ConstraintKind.UNIQUE, column_list(parser), at)
    elif parser.word("CHECK"):
        spec = ConstraintSpec(name, ConstraintKind.CHECK, (), at, _condition(parser))
    elif parser.word("FOREIGN", "KEY"):
        columns = column_list(parser)
        parser.expect_word("REFERENCES")
        spec = _references(parser, ConstraintSpec(name, ConstraintKind.FOREIGN, columns, at))
    else:
        raise OraError(3001, f"unimplemented feature: {parser.token.text} constraints", at)
    state(parser, spec)
    return spec


def column_constraint(parser: Parser, column: str) -> ConstraintSpec | None:
    """A constraint in line, if one comes. A name without one is ORA-02253."""
    start = parser.token.start
    name = parser.name() if parser.word("CONSTRAINT") else None
    at = parser.token.start
    spec: ConstraintSpec | None = None
    if parser.word("NOT", "NULL"):
        spec = ConstraintSpec(name, ConstraintKind.CHECK, (column,), at)
    elif parser.word("PRIMARY", "KEY"):
        spec = ConstraintSpec(name, ConstraintKind.PRIMARY, (column,), at)
    elif parser.word("UNIQUE"):
        spec = ConstraintSpec(name, ConstraintKind.UNIQUE, (column,), at)
    elif parser.word("CHECK"):
        spec = ConstraintSpec(name, ConstraintKind.CHECK, (), at, _condition(parser))
    elif parser.word("REFERENCES"):
        spec = _references(parser, ConstraintSpec(name, ConstraintKind.FOREIGN, (column,), at))
    elif name is not None and not parser.is_word("NULL"):
        raise OraError(2253, "constraint specification not allowed here", start)
    if spec is not None:
        state(parser, spec)
    return spec


def _references(parser: Parser, spec: ConstraintSpec) -> ConstraintSpec:
    owner, table = parser.qualified()
    columns = column_list(parser) if parser.token.text == "(" else ()
    spec.reference = owner, table, columns
    if parser.word("ON", "DELETE"):
        if parser.word("CASCADE"):
            spec.delete_rule = "CASCADE"
        elif parser.word("SET", "NULL"):
            spec.delete_rule = "SET NULL"
        else:
            raise OraError(905, "missing keyword", parser.token.start)
    return spec


def _condition(parser: Parser) -> str:
    """`(condition)`, as text."""
    parser.expect_op("(")
    start = parser.token.start
    parser.expr()
    end = parser.tokens[parser.at - 1].end
    parser.expect_op(")")
    return parser.sql[start:end]


def state(parser: Parser, spec: ConstraintSpec) -> None:
    """Constraint states, in any order; DISABLE alone does not validate."""
    while True:
        if parser.word("USING", "INDEX"):
            _using_index(parser, spec)
        elif parser.word("ENABLE"):
            spec.enabled = True
        elif parser.word("DISABLE"):
            spec.enabled = spec.validated = False
        elif parser.word("VALIDATE"):
            spec.validated = True
        elif parser.word("NOVALIDATE"):
            spec.validated = False
        elif parser.any_word("RELY", "NORELY"):
            spec.rely = parser.tokens[parser.at - 1].text == "RELY"
        elif parser.word("NOT", "DEFERRABLE"):
            spec.deferrable = False
        elif parser.word("DEFERRABLE"):
            spec.deferrable = True
        elif parser.word("INITIALLY", "DEFERRED"):
            spec.deferrable = spec.deferred = True
        elif not parser.word("INITIALLY", "IMMEDIATE"):
            return


def _using_index(parser: Parser, spec: ConstraintSpec) -> None:
    if parser.word("TABLESPACE"):
        parser.name()
    elif parser.token.text == "(":
        raise OraError(3001, "unimplemented feature: USING INDEX (CREATE INDEX ..)", parser.token.start)
    elif parser.token.is_name and parser.token.text not in ("ENABLE", "DISABLE", "RELY", "NORELY", "VALIDATE"):
        spec.index = parser.name()
