"""What stands between the parentheses of CREATE TABLE and after ALTER TABLE ADD: columns, constraints, log groups.

definition := column type {DEFAULT expr | [CONSTRAINT n] NOT NULL | PRIMARY KEY | UNIQUE ..}
            | [CONSTRAINT n] PRIMARY KEY (..) | UNIQUE (..) | CHECK (..) | SUPPLEMENTAL LOG {DATA (..) COLUMNS | GROUP g (..) [ALWAYS]}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc.sandbox import catalog as dictionary
from minercdc.sandbox.catalog import Column, SupplementalLogGroup
from minercdc.sandbox.interfaces import OraError, OraType
from minercdc.sandbox.redo.large_values import BASICFILE, SECUREFILE, XML_BINARY, XML_CLOB
from minercdc.sandbox.sql.declare import declare
from minercdc.sandbox.sql.parse.statements import Parser

_KINDS = {
    "ALL": dictionary.ALL_LOGGING,
    "PRIMARY KEY": dictionary.KEY_LOGGING,
    "UNIQUE": dictionary.UNIQUE_LOGGING,
    "FOREIGN KEY": dictionary.FOREIGN_LOGGING,
}


@dataclass(slots=True)
class Definition:
    """What stands between the parentheses of CREATE TABLE, or after ADD."""

    columns: list[Column] = field(default_factory=list)
    constraints: list[tuple[str | None, str, tuple[str, ...], int]] = field(default_factory=list)
    checks: list[tuple[str | None, str, int]] = field(default_factory=list)
    groups: list[SupplementalLogGroup] = field(default_factory=list)


def supplemental_kinds(parser: Parser) -> list[str]:
    """`(ALL, PRIMARY KEY, ..) COLUMNS`."""
    parser.expect_op("(")
    kinds = []
    while True:
        if parser.word("ALL"):
            kinds.append("ALL")
        elif parser.word("PRIMARY", "KEY"):
            kinds.append("PRIMARY KEY")
        elif parser.word("UNIQUE", "INDEX") or parser.word("UNIQUE"):
            kinds.append("UNIQUE")
        elif parser.word("FOREIGN", "KEY"):
            kinds.append("FOREIGN KEY")
        else:
            raise OraError(905, "missing keyword", parser.token.start)
        if not parser.op(","):
            break
    parser.expect_op(")")
    parser.expect_word("COLUMNS")
    return kinds


def column_list(parser: Parser) -> tuple[str, ...]:
    """`(a, b, ..)`."""
    parser.expect_op("(")
    names = parser.names()
    parser.expect_op(")")
    return tuple(names)


def definition_item(parser: Parser, into: Definition) -> None:
    """One column or out-of-line constraint."""
    if (
        parser.is_word("CONSTRAINT")
        or parser.is_word("PRIMARY", "KEY")
        or (parser.token.text in ("UNIQUE", "CHECK") and parser.peek().text == "(")
    ):
        _constraint(parser, into)
    elif parser.is_word("SUPPLEMENTAL", "LOG"):
        parser.at += 2
        into.groups += supplemental(parser)
    elif parser.is_word("FOREIGN", "KEY"):
        raise OraError(3001, "unimplemented feature: FOREIGN KEY constraints", parser.token.start)
    else:
        _column(parser, into)


def supplemental(parser: Parser) -> list[SupplementalLogGroup]:
    """After SUPPLEMENTAL LOG: `DATA (..) COLUMNS` or `GROUP g (..) [ALWAYS]`."""
    if parser.word("DATA"):
        return [SupplementalLogGroup("", _KINDS[kind]) for kind in supplemental_kinds(parser)]
    parser.expect_word("GROUP")
    name = parser.name()
    if parser.token.text != "(":
        return [SupplementalLogGroup(name, dictionary.USER_GROUP, generated=False)]
    columns = column_list(parser)
    return [SupplementalLogGroup(name, dictionary.USER_GROUP, parser.word("ALWAYS"), columns, False)]


def _constraint(parser: Parser, into: Definition) -> None:
    name = parser.name() if parser.word("CONSTRAINT") else None
    at = parser.token.start
    if parser.word("PRIMARY", "KEY"):
        into.constraints.append((name, "P", column_list(parser), at))
    elif parser.word("UNIQUE"):
        into.constraints.append((name, "U", column_list(parser), at))
    elif parser.word("CHECK"):
        into.checks.append((name, _condition(parser), at))
    else:
        raise OraError(3001, f"unimplemented feature: {parser.token.text} constraints", at)
    _constraint_state(parser)


def _condition(parser: Parser) -> str:
    """`(condition)`, as text."""
    parser.expect_op("(")
    start = parser.token.start
    parser.expr()
    end = parser.tokens[parser.at - 1].end
    parser.expect_op(")")
    return parser.sql[start:end]


def _constraint_state(parser: Parser) -> None:
    while True:
        if parser.word("USING", "INDEX"):
            while parser.any_word("TABLESPACE"):
                parser.name()
        elif not (parser.any_word("ENABLE", "VALIDATE", "RELY") or parser.word("NOT", "DEFERRABLE")):
            return


def _column(parser: Parser, into: Definition) -> None:
    at = parser.token.start
    name = parser.name(904, "invalid identifier")
    column = declare(name, parser.type_name())
    if any(other.name == name for other in into.columns):
        raise OraError(957, "duplicate column name", at)
    into.columns.append(column)
    column_options(parser, column, into)


def column_options(parser: Parser, column: Column, into: Definition) -> None:
    """DEFAULT, NULL, and constraints in line. Raises ORA-03001 for REFERENCES, GENERATED and the like."""
    while True:
        named = parser.name() if parser.word("CONSTRAINT") else None
        at = parser.token.start
        if parser.word("DEFAULT"):
            if parser.is_word("ON", "NULL"):
                raise OraError(3001, "unimplemented feature: DEFAULT ON NULL", at)
            start = parser.token.start
            parser.expr()
            column.default = parser.sql[start : parser.tokens[parser.at - 1].end]
        elif parser.word("NOT", "NULL"):
            column.nullable = False
            into.constraints.append((named, "C", (column.name,), at))
            _constraint_state(parser)
        elif parser.word("NULL"):
            column.nullable = True
        elif parser.word("PRIMARY", "KEY"):
            into.constraints.append((named, "P", (column.name,), at))
            _constraint_state(parser)
        elif parser.word("UNIQUE"):
            into.constraints.append((named, "U", (column.name,), at))
            _constraint_state(parser)
        elif parser.word("CHECK"):
            into.checks.append((named, _condition(parser), at))
            _constraint_state(parser)
        elif parser.token.text in ("REFERENCES", "GENERATED", "AS", "INVISIBLE", "ENCRYPT", "COLLATE"):
            raise OraError(3001, f"unimplemented feature: {parser.token.text} in a column definition", at)
        else:
            return


def large_storage(parser: Parser, columns: list[Column]) -> bool:
    """`LOB (c, ..) STORE AS [SECUREFILE | BASICFILE] ..` or `XMLTYPE [COLUMN] c STORE AS [..] BINARY XML | CLOB`, if it comes."""
    if parser.is_word("LOB") and parser.peek().text == "(":
        parser.take()
        names, is_xml = column_list(parser), False
    elif parser.word("XMLTYPE"):
        parser.word("COLUMN")
        names, is_xml = (parser.name(904, "invalid identifier"),), True
    else:
        return False
    parser.expect_word("STORE")
    parser.expect_word("AS")
    storage = parser.any_word(SECUREFILE, BASICFILE) or SECUREFILE
    if is_xml:
        storage = XML_BINARY
        if parser.word("CLOB"):
            storage = XML_CLOB
        elif not parser.word("BINARY", "XML"):
            raise OraError(3001, "unimplemented feature: this storage of an XMLTYPE column", parser.token.start)
    _storage_parameters(parser)
    for name in names:
        column = next((c for c in columns if c.name == name), None)
        if column is None:
            raise OraError(904, f'"{name}": invalid identifier')
        if column.type not in ((OraType.XMLTYPE,) if is_xml else (OraType.CLOB, OraType.BLOB)):
            raise OraError(22859, "invalid modification of columns")
        column.storage = storage
    return True


_LOB_PARAMETERS = ("CACHE", "NOCACHE", "LOGGING", "NOCOMPRESS", "KEEP_DUPLICATES", "DECRYPT")


def _storage_parameters(parser: Parser) -> None:
    """`[name] [( .. )]`: what has no effect on redo is read; the rest is refused."""
    if parser.token.kind in "WQ" and parser.peek().text == "(":
        parser.take()
    if not parser.op("("):
        return
    while not parser.op(")"):
        if parser.any_word("TABLESPACE", "CHUNK", "PCTVERSION", "RETENTION"):
            parser.take()
        elif not (parser.word("ENABLE", "STORAGE", "IN", "ROW") or parser.any_word(*_LOB_PARAMETERS)):
            raise OraError(3001, f"unimplemented feature: LOB parameter {parser.token.text}", parser.token.start)


def physical_options(parser: Parser) -> None:
    """Storage clauses have no meaning here."""
    while True:
        if parser.any_word("TABLESPACE", "PCTFREE", "PCTUSED", "INITRANS", "MAXTRANS") or parser.word("SEGMENT", "CREATION"):
            parser.take()
        elif parser.word("STORAGE"):
            while parser.take().text != ")":
                pass
        elif not (
            parser.any_word("LOGGING", "NOLOGGING", "NOCOMPRESS", "NOPARALLEL", "NOCACHE", "ONLINE")
            or parser.word("ORGANIZATION", "HEAP")
            or parser.word("ENABLE", "ROW", "MOVEMENT")
        ):
            return
