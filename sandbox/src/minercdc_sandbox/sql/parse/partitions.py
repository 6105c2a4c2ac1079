"""PARTITION BY RANGE, LIST and HASH of CREATE TABLE, and single partitions; other partitioning is refused with ORA-03001.

by := PARTITION BY RANGE (..) [INTERVAL (..)] (PARTITION p VALUES LESS THAN (..), ..) | LIST (..) [AUTOMATIC] (PARTITION p VALUES (..), ..) | HASH (..) ..
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
    """

    name: str | None
    text: str | None
    bounds: list[list[ast.Expr | None]]
    at: int


@dataclass(slots=True)
class PartitionBy:
    """The clause PARTITION BY of a table.

    :ivar method: RANGE, LIST or HASH.
    :ivar at: offset in the statement, for errors.
    :ivar partitions: in the order of the statement; of PARTITIONS n without names.
    :ivar interval: of INTERVAL the expression, None for `INTERVAL ()`, and its text; of AUTOMATIC None and ''; else None.
    """

    method: str
    columns: tuple[str, ...]
    at: int
    partitions: list[PartitionSpec] = field(default_factory=list)
    interval: tuple[ast.Expr | None, str] | None = None


def partition_by(parser: Parser) -> PartitionBy | None:
    """Read PARTITION BY; None, with nothing read, when it does not come next. Raises ORA-03001 for other methods and for
    subpartitions, ORA-02017 for PARTITIONS without a number, and as `column_list`, `interval_of` and `partition_spec`."""
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
    for word in ("SUBPARTITION", "SUBPARTITIONS"):
        if parser.is_word(word):
            raise OraError(3001, f"unimplemented feature: {word} partitioning", parser.token.start)
    if method == "HASH" and parser.word("PARTITIONS"):
        found.partitions = [PartitionSpec(None, None, [], at) for _ in range(parser.integer())]
        return found
    found.partitions = parser.enclosed(lambda: parser.listed(lambda: partition_spec(parser, method)))
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


def partition_spec(parser: Parser, method: str) -> PartitionSpec:
    """Read `PARTITION [name] [VALUES ..] [storage]`, as in CREATE TABLE and ADD PARTITION; VALUES for RANGE and LIST only. Raises
    ORA-03001 for subpartitions, ORA-14004, ORA-14007, ORA-14008 and ORA-00905 for missing words, and as `bounds` and
    `physical_options`."""
    at = parser.token.start
    parser.expect_word("PARTITION", 14004, "missing PARTITION keyword")
    name = None if parser.token.text in ("VALUES", ",", ")") or parser.token.kind is TokenKind.END else parser.name()
    spec = PartitionSpec(name, None, [], at)
    if method != "HASH":
        parser.expect_word("VALUES")
        if method == "RANGE":
            parser.expect_word("LESS", 14007, "missing LESS keyword")
            parser.expect_word("THAN", 14008, "missing THAN keyword")
        bounds(parser, method, spec)
    physical_options(parser)
    if parser.token.text == "(":
        raise OraError(3001, "unimplemented feature: SUBPARTITION partitioning", parser.token.start)
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
