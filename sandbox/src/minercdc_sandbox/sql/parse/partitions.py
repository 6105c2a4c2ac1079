"""PARTITION BY RANGE, LIST and HASH of CREATE TABLE, and single partitions; other partitioning is refused with ORA-03001.

by  := PARTITION BY RANGE (..) [INTERVAL (..)] [sub] (p VALUES LESS THAN (..) [inner], ..)
     | PARTITION BY LIST (..) [AUTOMATIC] [sub] (p VALUES (..) [inner], ..) | PARTITION BY HASH (..) [sub] (p [inner], ..) | .. PARTITIONS n
sub := SUBPARTITION BY RANGE | LIST | HASH (..) [SUBPARTITION TEMPLATE (SUBPARTITION s .., ..) | SUBPARTITION TEMPLATE n | SUBPARTITIONS n]
inner := (SUBPARTITION s .., ..) | SUBPARTITIONS n
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.constraints import column_list
from minercdc_sandbox.sql.parse.definitions import physical_options
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.tokens import TokenKind


@dataclass(slots=True)
class PartitionSpec:
    """A declared partition.

    :ivar name: None when the statement gives none.
    :ivar text: its bounds as written between the parentheses; None for HASH and DEFAULT.
    :ivar bounds: of RANGE one list of expressions, MAXVALUE as None; of LIST one list per value; of DEFAULT and HASH none.
    :ivar at: offset in the statement, for errors.
    :ivar parts: its subpartitions; None when it says nothing of them.
    """

    name: str | None
    text: str | None
    bounds: list[list[ast.Expr | None]]
    at: int
    parts: list[PartitionSpec] | None = None


@dataclass(slots=True)
class SubpartitionClause:
    """The clause SUBPARTITION BY of a table.

    :ivar template: () for none; of a number of hash subpartitions without names.
    """

    method: str
    columns: tuple[str, ...]
    at: int
    template: list[PartitionSpec] = field(default_factory=list)


@dataclass(slots=True)
class PartitionBy:
    """The clause PARTITION BY of a table.

    :ivar method: RANGE, LIST or HASH.
    :ivar at: offset in the statement, for errors.
    :ivar partitions: in the order of the statement; of PARTITIONS n without names.
    :ivar interval: of INTERVAL the expression, None for `INTERVAL ()`, and its text; of AUTOMATIC None and ''; else None.
    :ivar sub: of a composite table, else None.
    """

    method: str
    columns: tuple[str, ...]
    at: int
    partitions: list[PartitionSpec] = field(default_factory=list)
    interval: tuple[ast.Expr | None, str] | None = None
    sub: SubpartitionClause | None = None


def partition_by(parser: Parser) -> PartitionBy | None:
    """Read PARTITION BY; None, with nothing read, when it does not come next. Raises ORA-03001 for other methods, ORA-02017 for
    PARTITIONS without a number, and as `column_list`, `interval_of`, `template_of` and `partition_spec`."""
    at = parser.token.start
    if not parser.word("PARTITION", "BY"):
        return None
    method = parser.any_word("RANGE", "LIST", "HASH")
    if method is None:
        raise OraError(3001, f"unimplemented feature: PARTITION BY {parser.token.text}", at)
    found = PartitionBy(method, column_list(parser), at)
    if method == "RANGE" and parser.is_word("INTERVAL"):
        found.interval = interval_of(parser)
    elif method == "LIST" and parser.word("AUTOMATIC"):
        found.interval = (None, "")
    at_sub = parser.token.start
    if parser.word("SUBPARTITION", "BY"):
        inner = parser.any_word("RANGE", "LIST", "HASH")
        if inner is None:
            raise OraError(3001, f"unimplemented feature: SUBPARTITION BY {parser.token.text}", at_sub)
        found.sub = SubpartitionClause(inner, column_list(parser), at_sub)
        if parser.word("SUBPARTITION", "TEMPLATE"):
            found.sub.template = template_of(parser, inner)
        elif parser.word("SUBPARTITIONS"):
            found.sub.template = _unnamed(parser, at_sub)
    divided = None if found.sub is None else found.sub.method
    if method == "HASH" and parser.word("PARTITIONS"):
        found.partitions = [PartitionSpec(None, None, [], at) for _ in range(parser.integer())]
        return found
    found.partitions = parser.enclosed(lambda: parser.listed(lambda: partition_spec(parser, method, divided)))
    return found


def template_of(parser: Parser, method: str) -> list[PartitionSpec]:
    """Read what follows SUBPARTITION TEMPLATE: a list in parentheses, which may be empty, or of HASH a number. Raises ORA-02017,
    and as `subpartition_spec`."""
    at = parser.token.start
    if method == "HASH" and parser.token.kind is TokenKind.NUMBER:
        return _unnamed(parser, at)
    if parser.token.text == "(" and parser.peek().text == ")":
        parser.at += 2
        return []
    return parser.enclosed(lambda: parser.listed(lambda: subpartition_spec(parser, method)))


def _unnamed(parser: Parser, at: int) -> list[PartitionSpec]:
    """Read a number of hash subpartitions, and `STORE IN (..)`, which has no effect."""
    found = [PartitionSpec(None, None, [], at) for _ in range(parser.integer())]
    if parser.word("STORE", "IN"):
        column_list(parser)
    return found


def interval_of(parser: Parser) -> tuple[ast.Expr | None, str]:
    """Read `INTERVAL ([expr])`: the expression, None when it is left out, and the text between the parentheses. Raises ORA-00905
    to ORA-00907, and as `Parser.expr`."""
    parser.expect_word("INTERVAL")
    start = parser.token.start
    parser.expect_op("(")
    expr = None if parser.token.text == ")" else parser.expr()
    parser.expect_op(")")
    return expr, parser.sql[start + 1 : parser.tokens[parser.at - 1].start]


def partition_spec(parser: Parser, method: str, divided: str | None) -> PartitionSpec:
    """Read `PARTITION [name] [VALUES ..] [storage] [subpartitions]`, as in CREATE TABLE and ADD PARTITION; VALUES for RANGE and
    LIST only. Raises ORA-14253 for subpartitions of a table that has none, ORA-14004, and as `_described` and
    `subpartition_spec`.

    :param divided: the method of the subpartitions, None for a table without any.
    """
    parser.expect_word("PARTITION", 14004, "missing PARTITION keyword")
    spec = _described(parser, method)
    at = parser.token.start
    if divided is None and (parser.token.text == "(" or parser.is_word("SUBPARTITIONS")):
        raise OraError(14253, "table is not partitioned by Composite Partition method", at)
    if divided == "HASH" and parser.word("SUBPARTITIONS"):
        spec.parts = _unnamed(parser, at)
    elif divided is not None and parser.token.text == "(":
        spec.parts = parser.enclosed(lambda: parser.listed(lambda: subpartition_spec(parser, divided)))
    return spec


def subpartition_spec(parser: Parser, method: str) -> PartitionSpec:
    """Read `SUBPARTITION [name] [VALUES ..] [storage]`. Raises ORA-00905 without the first word, and as `_described`."""
    parser.expect_word("SUBPARTITION")
    return _described(parser, method)


def _described(parser: Parser, method: str) -> PartitionSpec:
    """Read `[name] [VALUES ..] [storage]`. Raises ORA-14007, ORA-14008 and ORA-00905 for missing words, and as `bounds` and
    `physical_options`."""
    at = parser.token.start
    ends = parser.token.text in ("VALUES", ",", ")", "(", "SUBPARTITIONS") or parser.token.kind is TokenKind.END
    name = None if ends else parser.name()
    spec = PartitionSpec(name, None, [], at)
    if method != "HASH":
        parser.expect_word("VALUES")
        if method == "RANGE":
            parser.expect_word("LESS", 14007, "missing LESS keyword")
            parser.expect_word("THAN", 14008, "missing THAN keyword")
        bounds(parser, method, spec)
    physical_options(parser)
    return spec


def bounds(parser: Parser, method: str, spec: PartitionSpec) -> None:
    """Read `(value, ..)`, with MAXVALUE for a value, or of LIST `(DEFAULT)`, into the `text` and `bounds` of a partition. Raises
    ORA-00906, ORA-00907, and as `Parser.expr`."""
    start = parser.token.start
    parser.expect_op("(")
    default = method == "LIST" and parser.word("DEFAULT")
    items = [] if default else parser.listed(lambda: None if parser.word("MAXVALUE") else parser.expr())
    parser.expect_op(")")
    spec.text = None if default else parser.sql[start + 1 : parser.tokens[parser.at - 1].start]
    spec.bounds = [items] if method == "RANGE" else [_value(item) for item in items]


def _value(item: ast.Expr | None) -> list[ast.Expr | None]:
    """The parts of one value of LIST; several for `(a, b)`, a value of several columns."""
    return list(item.items) if isinstance(item, ast.Row) else [item]
