"""Reads CREATE TABLE and CREATE UNIQUE INDEX in DDL text, from after their first words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from minercdc.schema.ddl.columns import UNSAID, Defined, defined_column, is_constraint
from minercdc.schema.ddl.constraints import State, at_state, constraint_meant, table_constraint, take_state
from minercdc.schema.ddl.partitions import source_of_parts
from minercdc.schema.ddl.query import query_of
from minercdc.schema.ddl.statements import (
    CreateTable,
    Meant,
    Query,
    SetConstraint,
    Statement,
    TableName,
    Unclear,
    UniqueIndex,
)
from minercdc.schema.ddl.tokens import Tokens, Unknown
from minercdc.schema.table import Column, Key, NotNull, with_nulls

_KINDS_OF_TABLE: Final = frozenset(["SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN"])
_ARCHIVE_STATE: Final = "ORA_ARCHIVE_STATE"
_LAST: Final = ("LONG", "LONG RAW")


@dataclass(slots=True)
class _Table:
    """What the text of CREATE TABLE says, as far as it is read."""

    name: TableName
    columns: list[Defined] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    not_nulls: list[NotNull] = field(default_factory=list)
    has_parts: bool = False
    archival: bool = False

    def made(self, query: Query | None = None) -> CreateTable:
        """The statement."""
        stored = [found for found in self.columns if not found.is_virtual]
        columns = with_nulls((found.column for found in stored), self.keys, self.not_nulls)
        return CreateTable(
            self.name,
            columns,
            tuple(self.keys),
            (*((_ARCHIVE_STATE,) if self.archival else ()), *_in_segment(columns)),
            self.has_parts,
            tuple(self.not_nulls),
            frozenset(found.name for found in stored if found.has_domain or query is not None),
            query,
        )


def _in_segment(columns: Sequence[Column]) -> list[str]:
    """Names of the columns in the order of the rows: a LONG is stored last (Database Concepts, Tables)."""
    return [column.name for column in sorted(columns, key=lambda column: column.type_name in _LAST)]


def create_table(tokens: Tokens) -> Statement | None:
    """The rest of CREATE; None when it makes something else than a table that has redo. Raises Unknown before the table's name is
    read; what is not understood after that is Unclear."""
    if tokens.take("GLOBAL", "TEMPORARY") or tokens.take("PRIVATE", "TEMPORARY"):
        return None
    while tokens.word() in _KINDS_OF_TABLE:
        tokens.at += 1
    if tokens.take("JSON", "COLLECTION", "TABLE"):
        tokens.take("IF", "NOT", "EXISTS")
        return Unclear(tokens.table_name(), "a JSON collection")
    if not tokens.take("TABLE"):
        return None
    only_if_absent = tokens.take("IF", "NOT", "EXISTS")
    name = tokens.table_name()
    try:
        made = _table(tokens, name)
    except Unknown as unknown:
        return Unclear(name, str(unknown))
    parts_from = source_of_parts(tokens) if made.has_parts else ""
    return replace(made, parts_from=parts_from, only_if_absent=only_if_absent)


def _table(tokens: Tokens, name: TableName) -> CreateTable:
    table = _Table(name)
    if tokens.take("SHARING"):
        tokens.take("=")
        tokens.take("EXTENDED")
        tokens.name()  # METADATA, DATA, NONE
    if tokens.word() == "OF" and tokens.peek(1)[0] in ("word", "quoted"):
        raise Unknown("an object table, whose rows LogMiner does not show")
    listed = tokens.take("(")
    like: TableName | None = None
    while listed:
        if is_constraint(tokens):
            _out_of_line(tokens, table)
        else:
            found = defined_column(tokens)
            table.columns.append(found)
            table.keys += found.keys
            table.not_nulls += found.not_nulls
        if not tokens.take(","):
            tokens.expect(")")
            break
    while tokens.peek()[0] != "end":
        if tokens.word() == "AS" and tokens.peek(1)[1] in ("SELECT", "WITH", "("):
            return _from_query(tokens, table)
        if tokens.take("FOR", "EXCHANGE", "WITH", "TABLE"):
            like = tokens.table_name()
            continue
        if tokens.take("PARTITION", "BY") or tokens.take("ORGANIZATION", "INDEX"):
            table.has_parts = True
        elif tokens.take("ROW", "ARCHIVAL"):
            table.archival = True
        elif (
            tokens.word() in ("ENABLE", "DISABLE")
            and tokens.at_clause()
            and tokens.peek(1)[1] not in ("ALL", "TABLE", "ROW")
        ):
            _set_state(tokens, table)
        else:
            _physical(tokens)
    if not listed and like is None:
        raise Unknown("CREATE TABLE without a list of columns")
    for found in table.columns:
        found.require_type()
    return replace(table.made(), like=like) if like is not None else table.made()


def _set_state(tokens: Tokens, table: _Table) -> None:
    """Read ENABLE or DISABLE of a constraint after the list of columns, and set it."""
    state = State()
    while tokens.word() not in ("PRIMARY", "UNIQUE", "CONSTRAINT"):
        take_state(tokens, state)
    meant = Meant(*constraint_meant(tokens))
    while tokens.word() not in ("ENABLE", "DISABLE") and at_state(tokens):
        take_state(tokens, state)
    change = SetConstraint(meant, state.enabled, state.validated)
    table.keys = [change.set_in(key) if key is meant.among(table.keys) else key for key in table.keys]
    if not meant.kind:
        table.not_nulls = [change.set_in(one) if one.name == meant.name else one for one in table.not_nulls]


def _physical(tokens: Tokens) -> None:
    """Step over a part of the table's properties. `STORE AS (..)` is that of a LOB."""
    if not (tokens.take("STORE", "AS") or tokens.peek()[0] == "end"):
        tokens.skip_balanced()


def _out_of_line(tokens: Tokens, table: _Table) -> None:
    if tokens.take("PERIOD", "FOR"):
        tokens.name()
        if tokens.word() != "(":
            raise Unknown("a period whose columns Oracle makes")
        tokens.skip_balanced()
        return
    key = table_constraint(tokens)
    table.keys += [key] if key else []


def _from_query(tokens: Tokens, table: _Table) -> CreateTable:
    """CREATE TABLE .. AS SELECT: names by the list of columns, else by the query; types are not in the text."""
    tokens.at += 1
    start = tokens.at
    try:
        query: Query | None = query_of(tokens)
    except Unknown:
        if not table.columns:
            raise
        tokens.at, query = start, None
    items = query.items if query is not None else ()
    if not table.columns and any(not item.name and not item.is_star for item in items):
        raise Unknown("CREATE TABLE AS SELECT of columns without names")
    if not table.columns and all(item.name for item in items):
        table.columns = [Defined(item.name) for item in items]
    for found in table.columns:
        found.type_name = UNSAID
    return table.made(query or Query((), is_plain=False))


def unique_index(tokens: Tokens) -> UniqueIndex | None:
    """The rest of CREATE UNIQUE INDEX; None for one that is not on columns alone, which identifies no row. Raises Unknown."""
    tokens.take("IF", "NOT", "EXISTS")
    index = tokens.table_name()
    tokens.expect("ON")
    if tokens.word() == "CLUSTER":
        return None
    table = tokens.table_name()
    alias = tokens.name() if tokens.word() != "(" else ""
    tokens.expect("(")
    columns = []
    while True:
        kind, text = tokens.peek()
        if kind not in ("word", "quoted"):
            return None
        tokens.at += 1
        if text in (alias, table.table) and tokens.take("."):
            text = tokens.name()
        columns.append(text)
        tokens.take("ASC")
        if tokens.take(")"):
            return UniqueIndex(table, Key("I", tuple(columns), index.table), index.schema)
        if not tokens.take(","):
            return None
