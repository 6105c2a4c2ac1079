"""The definitions of CREATE TABLE and of ALTER TABLE ADD: columns, constraints, log groups; and the storage clauses of tables.

definition := column [type] {DEFAULT expr | GENERATED .. | [CONSTRAINT n] NOT NULL | PRIMARY KEY | UNIQUE ..}
            | [CONSTRAINT n] PRIMARY KEY (..) | UNIQUE (..) | CHECK (..) | SUPPLEMENTAL LOG {DATA (..) COLUMNS | GROUP g (..) [ALWAYS]}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox import tables as dictionary
from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.redo.large_values import BASICFILE, SECUREFILE, XML_BINARY, XML_CLOB
from minercdc_sandbox.sql.declare import declare
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec, column_constraint, column_list, constraint
from minercdc_sandbox.sql.parse.sequences import SequenceOptions, sequence_options
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.tables import Column, ConstraintKind, SupplementalLogGroup

_KINDS = {
    "ALL": dictionary.ALL_LOGGING,
    "PRIMARY KEY": dictionary.KEY_LOGGING,
    "UNIQUE": dictionary.UNIQUE_LOGGING,
    "FOREIGN KEY": dictionary.FOREIGN_LOGGING,
}


@dataclass(slots=True)
class Definition:
    """What `definition_item` has read so far of the definitions of a table; each list in the order of the statement.

    :ivar constraints: in line and out of line; NOT NULL, also that of DEFAULT ON NULL and identity columns, is among them.
    :ivar untyped: names of columns without a type, and where they stand in the statement: a foreign key gives it.
    :ivar identities: the sequence options of the identity column, by its name; at most one.
    :ivar groups: supplemental log groups and kinds.
    """

    columns: list[Column] = field(default_factory=list)
    constraints: list[ConstraintSpec] = field(default_factory=list)
    untyped: dict[str, int] = field(default_factory=dict)
    identities: dict[str, SequenceOptions] = field(default_factory=dict)
    groups: list[SupplementalLogGroup] = field(default_factory=list)


def supplemental_kinds(parser: Parser) -> list[str]:
    """Read `(ALL | PRIMARY KEY | UNIQUE [INDEX] | FOREIGN KEY, ..) COLUMNS`; the kinds, as keys of `_KINDS`, in this order.
    Raises ORA-00905 for another word, ORA-00906, ORA-00907."""
    kinds = parser.enclosed(lambda: parser.listed(lambda: _supplemental_kind(parser)))
    parser.expect_word("COLUMNS")
    return kinds


def _supplemental_kind(parser: Parser) -> str:
    for kind in _KINDS:
        if parser.word(*kind.split()):
            if kind == "UNIQUE":
                parser.word("INDEX")
            return kind
    raise OraError(905, "missing keyword", parser.token.start)


def definition_item(parser: Parser, into: Definition) -> None:
    """Read one column, out-of-line constraint or SUPPLEMENTAL LOG clause into the definitions. Raises ORA-00957 for a second
    column of a name, ORA-00902 for one without a type, and as `declare`, `column_options`, `constraint` and `supplemental`."""
    if (
        parser.is_word("CONSTRAINT")
        or parser.is_word("PRIMARY", "KEY")
        or parser.is_word("FOREIGN", "KEY")
        or (parser.token.text in ("UNIQUE", "CHECK") and parser.peek().text == "(")
    ):
        into.constraints.append(constraint(parser))
    elif parser.word("SUPPLEMENTAL", "LOG"):
        into.groups += supplemental(parser)
    else:
        _column(parser, into)


def supplemental(parser: Parser) -> list[SupplementalLogGroup]:
    """Read, after SUPPLEMENTAL LOG, `DATA (..) COLUMNS`, which is one group without name for each kind,
    `GROUP g (c [NO LOG], ..) [ALWAYS]`, or `GROUP g` as DROP names it, without columns. Raises ORA-00905 for NO without LOG, and as
    `supplemental_kinds` and `Parser.name`."""
    if parser.word("DATA"):
        return [SupplementalLogGroup("", _KINDS[kind]) for kind in supplemental_kinds(parser)]
    parser.expect_word("GROUP")
    name = parser.name()
    if parser.token.text != "(":
        return [SupplementalLogGroup(name, dictionary.USER_GROUP, generated=False)]
    unlogged: list[str] = []
    columns = tuple(parser.enclosed(lambda: parser.listed(lambda: _grouped(parser, unlogged))))
    always = parser.word("ALWAYS")
    return [SupplementalLogGroup(name, dictionary.USER_GROUP, always, columns, False, frozenset(unlogged))]


def _grouped(parser: Parser, unlogged: list[str]) -> str:
    """Read `c [NO LOG]`, a column of a log group; one with NO LOG is added to `unlogged`."""
    column = parser.name(904, "invalid identifier")
    if parser.word("NO"):
        parser.expect_word("LOG")
        unlogged.append(column)
    return column


_BEGIN_CONSTRAINTS = (
    "CONSTRAINT",
    "REFERENCES",
    "NOT",
    "NULL",
    "PRIMARY",
    "UNIQUE",
    "CHECK",
    "DEFAULT",
    "DOMAIN",
    "ANNOTATIONS",
)


def _column(parser: Parser, into: Definition) -> None:
    at = parser.token.start
    name = parser.name(904, "invalid identifier")
    if parser.token.text in ("GENERATED", "AS"):
        # A virtual column may leave its type to its expression.
        column = Column(name, OraType.NUMBER, virtual="")
    elif parser.token.text in (",", ")") or parser.token.kind is TokenKind.END or parser.is_any_word(*_BEGIN_CONSTRAINTS):
        column = Column(name, OraType.NUMBER)
        into.untyped[name] = at
    else:
        column = declare(name, parser.type_name())
    if any(other.name == name for other in into.columns):
        raise OraError(957, "duplicate column name", at)
    into.columns.append(column)
    column_options(parser, column, into)
    if column.virtual == "":
        raise OraError(902, "invalid datatype", at)


def column_options(parser: Parser, column: Column, into: Definition) -> None:
    """Read DEFAULT, GENERATED, NULL, VISIBLE and in-line constraints, in any order and none of them needed, into the column and
    the definitions.

    Raises ORA-00905, ORA-03001 for ENCRYPT, COLLATE, WITH, SCOPE and others, ORA-30669 for a second identity, ORA-30675 for one that is
    no NUMBER or has a DEFAULT, and as `Parser.expr`, `sequence_options` and `column_constraint`.
    """
    while True:
        at = parser.token.start
        if parser.word("DEFAULT"):
            column.on_null = parser.word("ON", "NULL")
            column.default = parser.source_text()
            if column.on_null:
                _not_null(column, into, at)
        elif parser.is_word("GENERATED") or (parser.is_word("AS") and parser.peek().text == "("):
            _generated(parser, column, into)
        elif parser.word("NULL"):
            column.nullable = True
        elif parser.is_any_word("VISIBLE", "INVISIBLE"):
            column.invisible = parser.take().text == "INVISIBLE"
        elif parser.token.text in ("ENCRYPT", "COLLATE", "WITH", "SCOPE", "DOMAIN", "ANNOTATIONS", "RESERVABLE"):
            raise OraError(3001, f"unimplemented feature: {parser.token.text} in a column definition", at)
        else:
            spec = column_constraint(parser, column.name)
            if spec is None:
                return
            if spec.kind == ConstraintKind.CHECK and spec.condition is None:
                column.nullable = not spec.enabled
            into.constraints.append(spec)


def _not_null(column: Column, into: Definition, at: int) -> None:
    column.nullable = False
    into.constraints.append(ConstraintSpec(None, ConstraintKind.CHECK, (column.name,), at))


def _generated(parser: Parser, column: Column, into: Definition) -> None:
    """Read `[GENERATED ALWAYS] AS (expr) [VIRTUAL]` or `GENERATED [ALWAYS | BY DEFAULT [ON NULL]] AS IDENTITY [(options)]` into the
    column; an identity also into `into`, with NOT NULL. Raises as `column_options`."""
    at = parser.token.start
    how = "ALWAYS"
    if parser.word("GENERATED") and not parser.word("ALWAYS") and parser.word("BY", "DEFAULT"):
        how = "BY DEFAULT"
        column.on_null = parser.word("ON", "NULL")
    parser.expect_word("AS")
    if parser.word("IDENTITY"):
        if into.identities:
            raise OraError(30669, "table can have only one identity column", at)
        if column.type is not OraType.NUMBER or column.float_ or column.default is not None:
            raise OraError(30675, "identity column must be a numeric type", at)
        column.identity = how
        options = parser.closed(lambda: sequence_options(parser)) if parser.op("(") else SequenceOptions()
        into.identities[column.name] = options
        _not_null(column, into, at)
        return
    column.virtual = parser.enclosed(parser.source_text)
    parser.word("VIRTUAL")


def large_storage(parser: Parser, columns: list[Column]) -> bool:
    """Read `LOB (c, ..) STORE AS [SECUREFILE | BASICFILE] ..` or `XMLTYPE [COLUMN] c STORE AS [..] BINARY XML | CLOB` into the
    columns, if one comes next; returns whether it did.

    Raises ORA-00904 for a column that is not among `columns`, ORA-22859 for one of another type, ORA-03001 for other storage and
    its parameters, ORA-00905 for missing words.
    """
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
    in_row = _storage_parameters(parser)
    for name in names:
        column = next((c for c in columns if c.name == name), None)
        if column is None:
            raise OraError(904, f'"{name}": invalid identifier')
        if column.type not in ((OraType.XMLTYPE,) if is_xml else (OraType.CLOB, OraType.BLOB)):
            raise OraError(22859, "invalid modification of columns")
        column.storage, column.in_row = storage, in_row or is_xml
    return True


def _at_large_storage(parser: Parser) -> bool:
    """Whether `LOB (c, ..) STORE` comes next, and not a segment called LOB with its parameters."""
    ahead = 1
    while parser.peek(ahead).text != ")" and parser.peek(ahead).kind is not TokenKind.END:
        ahead += 1
    return parser.is_word("LOB") and parser.peek(ahead + 1).text == "STORE"


_LOB_PARAMETERS = ("CACHE", "NOCACHE", "LOGGING", "NOCOMPRESS", "KEEP_DUPLICATES", "DECRYPT")


def _storage_parameters(parser: Parser) -> bool:
    """Read `[name] [( .. )]`, both may be left out; returns whether values may lie in the row: not with DISABLE STORAGE IN ROW
    (SQL Language Reference, CREATE TABLE, "LOB_storage_parameters"). The other parameters have no effect on redo. Raises
    ORA-03001 for those that are not read."""
    # A further list of columns may follow at once: LOB (a) STORE AS SECUREFILE LOB (b) STORE AS ..
    in_row = True
    if _at_large_storage(parser):
        return in_row
    if parser.token.is_name and (parser.peek().text in ("(", "LOB") or parser.peek().kind is TokenKind.END):
        parser.take()
    if not parser.op("("):
        return in_row
    while not parser.op(")"):
        if parser.is_any_word("ENABLE", "DISABLE") and parser.peek().text == "STORAGE":
            in_row = parser.take().text == "ENABLE"
            for word in ("STORAGE", "IN", "ROW"):
                parser.expect_word(word)
        elif parser.any_word("TABLESPACE", "CHUNK", "PCTVERSION", "RETENTION"):
            parser.take()
        elif not parser.any_word(*_LOB_PARAMETERS):
            raise OraError(3001, f"unimplemented feature: LOB parameter {parser.token.text}", parser.token.start)
    return in_row


_STORAGE_WORDS = [
    "LOGGING",
    "NOLOGGING",
    "NOCOMPRESS",
    "NOPARALLEL",
    "CACHE",
    "NOCACHE",
    "ONLINE",
    "MONITORING",
    "NOMONITORING",
]


def physical_options(parser: Parser) -> bool:
    """Read the storage clauses that come next, which have no effect; returns whether any came. Raises ORA-03001 for CLUSTER and
    ORGANIZATION but HEAP and INDEX, which is not read, ORA-00907 for STORAGE without its end."""
    begun = parser.at
    while True:
        at = parser.token.start
        if parser.any_word("TABLESPACE", "PCTFREE", "PCTUSED", "INITRANS", "MAXTRANS") or parser.word("SEGMENT", "CREATION"):
            parser.take()
        elif parser.word("STORAGE"):
            parser.pass_to(")")
        elif parser.word("PARALLEL") or parser.word("COMPRESS") or parser.word("ROW", "STORE", "COMPRESS"):
            _degree(parser)
        elif parser.is_word("ORGANIZATION") and parser.peek().text != "INDEX":
            parser.take()
            if not parser.word("HEAP"):
                raise OraError(3001, f"unimplemented feature: ORGANIZATION {parser.token.text}", at)
        elif parser.word("CLUSTER"):
            raise OraError(3001, "unimplemented feature: CLUSTER", at)
        elif not parser.any_word(*_STORAGE_WORDS):
            return parser.at > begun


def index_organized(parser: Parser) -> bool:
    """Read `ORGANIZATION INDEX` with its clauses and storage, which have no effect; returns whether it came. The table is a heap
    here, with an index for its key: so say its ROWIDs, IOT_TYPE of ALL_TABLES, and redo. Raises ORA-03001 for MAPPING TABLE, and as
    `physical_options`."""
    if not parser.word("ORGANIZATION", "INDEX"):
        return False
    while physical_options(parser) or parser.is_any_word("PCTTHRESHOLD", "INCLUDING", "OVERFLOW", "MAPPING", "NOMAPPING"):
        at = parser.token.start
        if parser.any_word("PCTTHRESHOLD", "INCLUDING"):
            parser.take()
        elif parser.word("MAPPING"):
            raise OraError(3001, "unimplemented feature: MAPPING TABLE of an index-organized table", at)
        elif parser.word("NOMAPPING"):
            pass
        else:
            parser.word("OVERFLOW")
    return True


def _degree(parser: Parser) -> None:
    """Read a number, `FOR` and a word, or BASIC | ADVANCED [LOW | HIGH], which may follow PARALLEL and COMPRESS; nothing if none
    comes next."""
    if parser.token.kind is TokenKind.NUMBER or parser.word("FOR"):
        parser.take()
    elif parser.any_word("BASIC", "ADVANCED"):
        parser.any_word("LOW", "HIGH")
