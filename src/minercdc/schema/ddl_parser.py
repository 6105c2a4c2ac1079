"""Parses Oracle DDL text, as far as it changes the shape of a table.

    CREATE [..] TABLE name (column | constraint, ..)     ALTER TABLE name change ..     TRUNCATE TABLE name
    DROP TABLE name                                      RENAME name TO name
    COMMENT ON TABLE name IS text                        COMMENT ON COLUMN name.name IS text
    change := ADD column | ADD (column, ..) | ADD constraint | MODIFY .. | DROP COLUMN name | DROP (name, ..)
            | RENAME COLUMN name TO name | RENAME TO name | anything known to change no shape

What is not understood yields `Unclear`: the caller reads the dictionary instead of guessing. Statements on other kinds of
objects, and a COMMENT ON that is not understood, yield None.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from minercdc.schema.ddl import (
    AddColumns,
    AlterTable,
    Change,
    CommentOn,
    CreateTable,
    DropColumns,
    DropTable,
    KeyUnclear,
    ModifyColumn,
    PrimaryKey,
    RenameColumn,
    RenameTable,
    Statement,
    TableName,
    TruncateTable,
    Unclear,
)
from minercdc.schema.ddl_columns import column_definition, column_properties, data_type
from minercdc.schema.ddl_tokens import Tokens, Unknown
from minercdc.schema.table import Column

# After ALTER TABLE t: clauses that leave columns and keys alone.
_NO_SHAPE: Final = frozenset(
    """SUPPLEMENTAL ENABLE DISABLE MOVE SHRINK LOGGING NOLOGGING PARALLEL NOPARALLEL CACHE NOCACHE COMPRESS NOCOMPRESS
    PCTFREE PCTUSED INITRANS STORAGE ALLOCATE DEALLOCATE TRUNCATE SPLIT MERGE EXCHANGE COALESCE READ INMEMORY FLASHBACK
    MONITORING NOMONITORING ROW PARTITION INTERVAL ILM CHECK UNIQUE FOREIGN CONSTRAINT MINIMIZE NOMINIMIZE""".split()  # noqa: SIM905
)
_CREATE_WORDS: Final = frozenset(["SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN"])
_KEYS: Final = frozenset(["CONSTRAINT", "PRIMARY", "UNIQUE"])
_CONSTRAINTS: Final = frozenset(["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "SUPPLEMENTAL", "PERIOD"])
# Begin what follows the name of a column in MODIFY when its type is not given.
_NOT_A_TYPE: Final = frozenset(
    """NOT NULL DEFAULT CONSTRAINT VISIBLE INVISIBLE PRIMARY UNIQUE CHECK REFERENCES ENCRYPT DECRYPT COLLATE GENERATED DROP
    SORT ADD MODIFY RENAME ENABLE DISABLE""".split()  # noqa: SIM905
)


def parse_ddl(sql: str) -> Statement | None:
    """The effect of a DDL statement on a table; None when it is about something else, creates a temporary table, or is a COMMENT
    ON that is not understood. Never raises.

    What else is not understood is Unclear. `RENAME .. TO ..` is taken as that of a table, though it may be of a view or sequence.
    """
    tokens = Tokens(sql)
    name: TableName | None = None
    try:
        if tokens.take("CREATE"):
            return _create(tokens)
        if tokens.take("TRUNCATE", "TABLE"):
            return TruncateTable(tokens.table_name())
        if tokens.take("DROP", "TABLE"):
            tokens.take("IF", "EXISTS")
            return DropTable(tokens.table_name())
        if tokens.take("RENAME"):
            name = tokens.table_name()
            tokens.expect("TO")
            return RenameTable(name, tokens.name())
        if tokens.take("ALTER", "TABLE"):
            tokens.take("IF", "EXISTS")
            name = tokens.table_name()
            return _alter(tokens, name)
        if tokens.take("COMMENT", "ON"):
            return _comment(tokens)
        if tokens.take("FLASHBACK", "TABLE") or tokens.take("UNDROP", "TABLE"):
            return Unclear(tokens.table_name(), "FLASHBACK TABLE")
    except Unknown as unknown:
        return Unclear(name, str(unknown))
    return None


def _create(tokens: Tokens) -> Statement | None:
    if tokens.take("GLOBAL", "TEMPORARY") or tokens.take("PRIVATE", "TEMPORARY"):
        return None
    while tokens.word() in _CREATE_WORDS:
        tokens.at += 1
    if not tokens.take("TABLE"):
        return None
    tokens.take("IF", "NOT", "EXISTS")
    name = tokens.table_name()
    if not tokens.take("("):
        return Unclear(name, "CREATE TABLE without a list of columns")
    columns: list[Column] = []
    key: tuple[str, ...] = ()
    try:
        while True:
            if tokens.word() in _CONSTRAINTS:
                key = _table_constraint(tokens) or key
            else:
                column, is_key = column_definition(tokens)
                columns.append(column)
                key = (column.name,) if is_key else key
            if not tokens.take(","):
                break
        tokens.expect(")")
    except Unknown as unknown:
        return Unclear(name, str(unknown))
    if any(tokens.items[i] == ("word", "AS") for i in range(tokens.at, len(tokens.items))):
        return Unclear(name, "CREATE TABLE AS SELECT")
    return CreateTable(name, tuple(_not_null(c) if c.name in key else c for c in columns), key)


def _not_null(column: Column) -> Column:
    return replace(column, nullable=False)


def _table_constraint(tokens: Tokens) -> tuple[str, ...]:
    """Step over an out-of-line constraint. Returns the columns of a primary key, () for any other; raises Unknown for a
    primary key that is disabled."""
    if tokens.take("CONSTRAINT"):
        tokens.name()
    key: tuple[str, ...] = ()
    if tokens.take("PRIMARY", "KEY"):
        key = tokens.names_in_parentheses()
    while not tokens.at_definition_end():
        if key and tokens.word() == "DISABLE":
            raise Unknown("a primary key that is disabled")
        tokens.skip_balanced()
    return key


def _comment(tokens: Tokens) -> CommentOn | None:
    """The rest of COMMENT ON a table or column; None where it is on something else, or is not understood: that changes no
    column. An empty text is None in it."""
    on_column = tokens.take("COLUMN")
    if not on_column and not tokens.take("TABLE"):
        return None
    try:
        names = [tokens.name()]
        while tokens.take("."):
            names.append(tokens.name())
        tokens.expect("IS")
        text = tokens.text()
    except Unknown:
        return None
    column = names.pop() if on_column else None
    if len(names) not in (1, 2):
        return None
    schema = names[0] if len(names) > 1 else None
    return CommentOn(TableName(schema, names[-1]), column, text or None)


def _alter(tokens: Tokens, name: TableName) -> Statement:
    changes: list[Change] = []
    loses_rows = moves_rows = False
    while tokens.peek()[0] != "end":
        loses_rows = loses_rows or tokens.takes_partitions_away()
        moves_rows = moves_rows or tokens.moves_rows()
        if tokens.take("RENAME", "TO"):
            return RenameTable(name, tokens.name())
        if tokens.take("ADD"):
            changes += _add(tokens)
        elif tokens.take("MODIFY"):
            changes += _modify(tokens)
        elif tokens.take("DROP"):
            changes += _drop(tokens)
        elif tokens.take("RENAME", "COLUMN"):
            old = tokens.name()
            tokens.expect("TO")
            changes.append(RenameColumn(old, tokens.name()))
        elif tokens.take("SET", "UNUSED"):
            changes.append(_dropped_columns(tokens, unused=True))
        elif _switches_constraint(tokens):
            changes.append(_key_unclear(tokens))
        elif tokens.take("RENAME", "CONSTRAINT") or tokens.word() in _NO_SHAPE:
            _skip_rest(tokens)
        else:
            raise Unknown(f"ALTER TABLE .. {tokens.peek()[1]}")
    return AlterTable(name, tuple(changes), loses_rows, moves_rows)


def _switches_constraint(tokens: Tokens) -> bool:
    """Whether ENABLE or DISABLE of a constraint comes next, which may be the key."""
    if tokens.word() not in ("ENABLE", "DISABLE"):
        return False
    stated = tokens.peek(1) in (("word", "VALIDATE"), ("word", "NOVALIDATE"))
    kind, text = tokens.peek(2 if stated else 1)
    return kind == "word" and text in _KEYS


def _key_unclear(tokens: Tokens) -> KeyUnclear:
    """Step over a clause on a constraint: whether that is the key, and what holds then, only the dictionary knows. Raises
    Unknown as `_skip_rest`."""
    _skip_rest(tokens)
    return KeyUnclear()


def _skip_rest(tokens: Tokens) -> None:
    """Step over a clause that changes no shape. Raises Unknown when a further clause follows."""
    while tokens.peek()[0] != "end":
        tokens.skip_balanced()
        if tokens.take("DROP", "INDEX"):  # of a constraint that is dropped or disabled
            continue
        if tokens.word() in ("ADD", "DROP", "MODIFY", "RENAME"):
            raise Unknown(f"{tokens.word()} after another clause")


def _add(tokens: Tokens) -> list[Change]:
    tokens.take("COLUMN")
    if tokens.word() in _NO_SHAPE and tokens.word() not in _CONSTRAINTS:
        _skip_rest(tokens)
        return []
    changes: list[Change] = []
    listed = tokens.take("(")
    while True:
        if tokens.word() in _CONSTRAINTS:
            if key := _table_constraint(tokens):
                changes.append(PrimaryKey(key))
        else:
            column, is_key = column_definition(tokens)
            changes.append(AddColumns((column,)))
            if is_key:
                changes.append(PrimaryKey((column.name,)))
        if not (listed and tokens.take(",")):
            break
    if listed:
        tokens.expect(")")
    return changes


def _modify(tokens: Tokens) -> list[Change]:
    if tokens.word() == "CONSTRAINT" or tokens.peek(1) == ("word", "KEY"):
        return [_key_unclear(tokens)]
    if tokens.word() in ("PARTITION", "SUBPARTITION", "DEFAULT", "NESTED", "LOB"):
        _skip_rest(tokens)
        return []
    changes: list[Change] = []
    listed = tokens.take("(")
    while True:
        name = tokens.name()
        type_given = tokens.peek()[0] == "word" and tokens.word() not in _NOT_A_TYPE
        type_name, length, scale = data_type(tokens) if type_given else ("", None, None)
        found = column_properties(tokens)
        column = Column(name, type_name, length, scale, found.nullable is not False, found.default)
        changes.append(ModifyColumn(column, type_given, found.nullable is not None, found.default_given))
        if found.is_key:
            changes.append(PrimaryKey((name,)))
        if not (listed and tokens.take(",")):
            break
    if listed:
        tokens.expect(")")
    return changes


def _drop(tokens: Tokens) -> list[Change]:
    if tokens.word() in _KEYS:
        return [_key_unclear(tokens)]
    if tokens.word() in ("UNUSED", "PARTITION", "PARTITIONS", "SUBPARTITION", "SUBPARTITIONS", "SUPPLEMENTAL"):
        _skip_rest(tokens)
        return []
    if tokens.word() == "COLUMN" or tokens.word() == "(":
        return [_dropped_columns(tokens)]
    raise Unknown(f"DROP {tokens.peek()[1]}")


def _dropped_columns(tokens: Tokens, *, unused: bool = False) -> DropColumns:
    if tokens.take("COLUMN"):
        names: tuple[str, ...] = (tokens.name(),)
    else:
        names = tokens.names_in_parentheses()
    while tokens.word() in ("CASCADE", "CONSTRAINTS", "INVALIDATE", "CHECKPOINT", "ONLINE"):
        tokens.at += 1
    return DropColumns(names, unused)
