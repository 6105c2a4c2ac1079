"""Reads CREATE TABLE and CREATE UNIQUE INDEX in DDL text, from after their first words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from minercdc.schema.ddl import CreateTable, Meant, SetConstraint, Statement, TableName, Unclear, UniqueIndex
from minercdc.schema.ddl_columns import UNSAID, Defined, defined_column, is_constraint
from minercdc.schema.ddl_constraints import State, at_state, constraint_meant, table_constraint, take_state
from minercdc.schema.ddl_parts import source_of_parts
from minercdc.schema.ddl_tokens import Tokens, Unknown
from minercdc.schema.table import Key

_KINDS_OF_TABLE: Final = frozenset(["SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN"])
_ARCHIVE_STATE: Final = "ORA_ARCHIVE_STATE"


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
    tokens.take("IF", "NOT", "EXISTS")
    name = tokens.table_name()
    try:
        made = _table(tokens, name)
    except Unknown as unknown:
        return Unclear(name, str(unknown))
    return replace(made, parts_from=source_of_parts(tokens)) if made.has_parts else made


def _table(tokens: Tokens, name: TableName) -> CreateTable:
    columns: list[Defined] = []
    keys: list[Key] = []
    listed = tokens.take("(")
    while listed:
        if is_constraint(tokens):
            _out_of_line(tokens, keys)
        else:
            columns.append(defined_column(tokens))
            keys += columns[-1].keys
        if not tokens.take(","):
            tokens.expect(")")
            break
    has_parts = archival = False
    while tokens.peek()[0] != "end":
        if tokens.word() == "AS" and tokens.peek(1)[1] in ("SELECT", "WITH", "("):
            return _from_query(tokens, name, columns, keys, has_parts=has_parts, archival=archival)
        has_parts = has_parts or tokens.take("PARTITION", "BY") or tokens.take("ORGANIZATION", "INDEX")
        archival = archival or tokens.take("ROW", "ARCHIVAL")
        if (
            tokens.word() in ("ENABLE", "DISABLE")
            and tokens.at_clause()
            and tokens.peek(1)[1] not in ("ALL", "TABLE", "ROW")
        ):
            _set_state(tokens, columns, keys)
        else:
            _physical(tokens)
    if not listed:
        raise Unknown("CREATE TABLE without a list of columns")
    return _made(name, columns, keys, has_parts=has_parts, archival=archival)


def _set_state(tokens: Tokens, columns: list[Defined], keys: list[Key]) -> None:
    """Read ENABLE or DISABLE of a constraint after the list of columns, and set it in `keys`; a primary key that is not enabled makes no
    column NOT NULL. Raises Unknown for text that is none."""
    state = State()
    while tokens.word() not in ("PRIMARY", "UNIQUE", "CONSTRAINT"):
        take_state(tokens, state)
    meant = Meant(*constraint_meant(tokens))
    while tokens.word() not in ("ENABLE", "DISABLE") and at_state(tokens):
        take_state(tokens, state)
    key = meant.among(keys)
    if key is None:  # a check or a foreign key
        return
    after = keys[keys.index(key)] = SetConstraint(meant, state.enabled, state.validated).set_in(key)
    if key.kind == "P" and not after.holds:
        for found in columns:
            found.nullable = found.nullable_alone if found.name in key.columns else found.nullable


def _physical(tokens: Tokens) -> None:
    """Step over a part of the table's properties. `STORE AS (..)` is that of a LOB."""
    if not (tokens.take("STORE", "AS") or tokens.peek()[0] == "end"):
        tokens.skip_balanced()


def _out_of_line(tokens: Tokens, keys: list[Key]) -> None:
    if tokens.take("PERIOD", "FOR"):
        tokens.name()
        if tokens.word() != "(":
            raise Unknown("a period whose columns Oracle makes")
        tokens.skip_balanced()
        return
    key, _ = table_constraint(tokens)
    keys += [key] if key else []


def _made(name: TableName, columns: list[Defined], keys: list[Key], *, has_parts: bool, archival: bool) -> CreateTable:
    never_null = {column for key in keys if key.kind == "P" and key.holds for column in key.columns}
    made = [found.column for found in columns if not found.is_virtual]
    made = [replace(column, nullable=False) if column.name in never_null else column for column in made]
    stored = tuple(column.name for column in made) + ((_ARCHIVE_STATE,) if archival else ())
    return CreateTable(name, tuple(made), tuple(keys), stored, has_parts)


def _from_query(
    tokens: Tokens, name: TableName, columns: list[Defined], keys: list[Key], *, has_parts: bool, archival: bool
) -> CreateTable:
    """CREATE TABLE .. AS SELECT: names by the list of columns, else by the query; only the dictionary has the types. Raises Unknown
    where the text does not say all names."""
    if not columns:
        tokens.at += 1
        if (copied := _copied(tokens)) is not None:
            return CreateTable(name, (), (), (_ARCHIVE_STATE,) if archival else (), has_parts, copied)
        columns = [Defined(column) for column in _selected(tokens)]
    for found in columns:
        found.type_name = UNSAID
    return _made(name, columns, keys, has_parts=has_parts, archival=archival)


def _copied(tokens: Tokens) -> TableName | None:
    """The table of `SELECT * FROM table`, alone and with any conditions; None, with nothing read, for another query."""
    start = tokens.at
    while tokens.take("("):
        pass
    if tokens.take("SELECT", "*", "FROM") and tokens.peek()[0] in ("word", "quoted"):
        found = tokens.table_name()
        rest = tokens.words_ahead(len(tokens.items))
        if not {",", "@", "JOIN", "APPLY", "PIVOT", "UNPIVOT", "UNION", "MODEL"} & set(rest):
            return found
    tokens.at = start
    return None


def _selected(tokens: Tokens) -> list[str]:
    """Names of the columns of a query. Raises Unknown where one is not in its text, as with `*`."""
    while tokens.take("("):
        pass
    if tokens.word() == "WITH":
        while tokens.word() != "SELECT":
            tokens.skip_balanced()
    tokens.expect("SELECT")
    names = []
    while True:
        names.append(_selected_name(tokens))
        if not tokens.take(","):
            return names


def _selected_name(tokens: Tokens) -> str:
    """Step over one item of SELECT, up to the comma or FROM after it, and return its name: the alias, or that of a column. Raises
    Unknown for anything else."""
    last: tuple[str, str] = ("end", "")
    while not (tokens.ends_item() or tokens.word() == "FROM"):
        last = tokens.peek()
        tokens.skip_balanced()
    if last[0] not in ("word", "quoted") or last[1] in ("END", "NULL"):
        raise Unknown("CREATE TABLE AS SELECT of columns without names")
    return last[1]


def unique_index(tokens: Tokens) -> UniqueIndex | None:
    """The rest of CREATE UNIQUE INDEX; None for one that is not on columns alone, which identifies no row. Raises Unknown."""
    tokens.take("IF", "NOT", "EXISTS")
    index = tokens.table_name()
    tokens.expect("ON")
    if tokens.word() == "CLUSTER":
        return None
    table = tokens.table_name()
    if tokens.word() != "(":  # an alias
        return None
    tokens.take("(")
    columns = []
    while True:
        kind, text = tokens.peek()
        if kind not in ("word", "quoted"):
            return None
        columns.append(text)
        tokens.at += 1
        tokens.take("ASC")
        if tokens.take(")"):
            return UniqueIndex(table, Key("I", tuple(columns), index.table), index.schema)
        if not tokens.take(","):
            return None
