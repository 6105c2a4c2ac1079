"""Oracle DDL text, as far as it changes the shape of a table.

    CREATE [..] TABLE name (column | constraint, ..)     ALTER TABLE name change ..     TRUNCATE TABLE name
    DROP TABLE name                                      RENAME name TO name
    change := ADD column | ADD (column, ..) | ADD constraint | MODIFY .. | DROP COLUMN name | DROP (name, ..)
            | RENAME COLUMN name TO name | RENAME TO name | anything known to change no shape

What is not understood yields `Unclear`: the caller reads the dictionary instead of guessing. Statements on other
kinds of objects yield None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from minercdc.schema.ddl import (
    AddColumns,
    AlterTable,
    Change,
    CreateTable,
    DropColumns,
    DropTable,
    ModifyColumn,
    PrimaryKey,
    RenameColumn,
    RenameTable,
    Statement,
    TableName,
    TruncateTable,
    Unclear,
)
from minercdc.schema.table import Column

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|"(?P<quoted>[^"]+)"|(?P<word>[^\W\d][\w$\#]*)|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<text>'(?:[^']|'')*')|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
# After ALTER TABLE t: clauses that leave columns and keys alone.
_NO_SHAPE: Final = frozenset(
    """SUPPLEMENTAL ENABLE DISABLE MOVE SHRINK LOGGING NOLOGGING PARALLEL NOPARALLEL CACHE NOCACHE COMPRESS NOCOMPRESS
    PCTFREE PCTUSED INITRANS STORAGE ALLOCATE DEALLOCATE TRUNCATE SPLIT MERGE EXCHANGE COALESCE READ INMEMORY FLASHBACK
    MONITORING NOMONITORING ROW PARTITION INTERVAL ILM CHECK UNIQUE FOREIGN CONSTRAINT MINIMIZE NOMINIMIZE""".split()  # noqa: SIM905
)
_CREATE_WORDS: Final = frozenset(["SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN"])
_CONSTRAINTS: Final = frozenset(["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "SUPPLEMENTAL", "PERIOD"])
# Type words that are spelled otherwise in the dictionary: dictionary's name, and precision and scale it implies.
_TYPE_ALIASES: Final[dict[str, tuple[str, int | None, int | None]]] = {
    "VARCHAR": ("VARCHAR2", None, None),
    "CHARACTER": ("CHAR", None, None),
    "INTEGER": ("NUMBER", None, 0),
    "INT": ("NUMBER", None, 0),
    "SMALLINT": ("NUMBER", None, 0),
    "DECIMAL": ("NUMBER", None, 0),
    "DEC": ("NUMBER", None, 0),
    "NUMERIC": ("NUMBER", None, 0),
    "REAL": ("FLOAT", 63, None),
    "DOUBLE": ("FLOAT", 126, None),
    "FLOAT": ("FLOAT", 126, None),
}
_MOST_DIGITS: Final = 9


class _Unknown(Exception):
    """Text beyond the grammar."""


class _Tokens:
    """A statement's tokens with a cursor. A token is (kind, text); words are in upper case."""

    def __init__(self, sql: str) -> None:
        self.items: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(sql):
            kind = match.lastgroup or "other"
            if kind != "blank":
                self.items.append((kind, match[kind].upper() if kind == "word" else match[kind]))
        while self.items and self.items[-1] == ("other", ";"):
            self.items.pop()
        self.at = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        i = self.at + ahead
        return self.items[i] if i < len(self.items) else ("end", "")

    def word(self) -> str:
        """The next token when it is an unquoted word or a sign, else ''."""
        kind, text = self.peek()
        return text if kind in ("word", "other") else ""

    def take(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if all(self.peek(i) in (("word", word), ("other", word)) for i, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise _Unknown(f"{' '.join(words)} was expected before {self.peek()[1]!r}")

    def name(self) -> str:
        kind, text = self.peek()
        if kind not in ("word", "quoted"):
            raise _Unknown(f"a name was expected before {text!r}")
        self.at += 1
        return text

    def table_name(self) -> TableName:
        first = self.name()
        return TableName(first, self.name()) if self.take(".") else TableName(None, first)

    def number(self) -> int:
        negative = self.take("-")
        kind, text = self.peek()
        if kind != "number" or not text.isdigit() or len(text) > _MOST_DIGITS:
            raise _Unknown(f"a whole number was expected before {text[:60]!r}")
        self.at += 1
        return -int(text) if negative else int(text)

    def skip_balanced(self) -> None:
        """Step over one token, or over everything up to the matching parenthesis."""
        depth = 0
        while True:
            if self.peek()[0] == "end":
                raise _Unknown("a parenthesis is not closed") if depth else _Unknown("the text ends early")
            depth += (self.word() == "(") - (self.word() == ")")
            self.at += 1
            if depth <= 0:
                return

    def at_definition_end(self) -> bool:
        """Whether a column's or constraint's definition ends here: the next item, the list's end, another clause."""
        if self.peek() == ("word", "SET"):  # not that of ON DELETE SET NULL
            return self.peek(1) == ("word", "UNUSED")
        return self.peek()[0] == "end" or self.word() in (",", ")", "ADD", "DROP", "MODIFY", "RENAME")

    def names_in_parentheses(self) -> tuple[str, ...]:
        self.expect("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.expect(")")
        return tuple(names)


def parse_ddl(sql: str) -> Statement | None:
    """What a DDL statement does to a table; None when it is about something else. Never raises."""
    tokens = _Tokens(sql)
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
        if tokens.take("FLASHBACK", "TABLE") or tokens.take("UNDROP", "TABLE"):
            return Unclear(tokens.table_name(), "FLASHBACK TABLE")
    except _Unknown as unknown:
        return Unclear(name, str(unknown))
    return None


def _create(tokens: _Tokens) -> Statement | None:
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
                column, is_key = _column(tokens)
                columns.append(column)
                key = (column.name,) if is_key else key
            if not tokens.take(","):
                break
        tokens.expect(")")
    except _Unknown as unknown:
        return Unclear(name, str(unknown))
    if any(tokens.items[i] == ("word", "AS") for i in range(tokens.at, len(tokens.items))):
        return Unclear(name, "CREATE TABLE AS SELECT")
    return CreateTable(name, tuple(_not_null(c) if c.name in key else c for c in columns), key)


def _not_null(column: Column) -> Column:
    return replace(column, nullable=False)


def _table_constraint(tokens: _Tokens) -> tuple[str, ...]:
    """Step over an out-of-line constraint; the columns, when it is the primary key."""
    if tokens.take("CONSTRAINT"):
        tokens.name()
    key: tuple[str, ...] = ()
    if tokens.take("PRIMARY", "KEY"):
        key = tokens.names_in_parentheses()
    while not tokens.at_definition_end():
        tokens.skip_balanced()
    return key


def _column(tokens: _Tokens) -> tuple[Column, bool]:
    """A column definition; whether it is the primary key."""
    name = tokens.name()
    type_name, length, scale = _data_type(tokens)
    nullable, default, is_key = _column_properties(tokens)
    return Column(name, type_name, length, scale, bool(nullable is not False and not is_key), default), is_key


def _data_type(tokens: _Tokens) -> tuple[str, int | None, int | None]:
    if tokens.peek()[0] != "word":
        raise _Unknown(f"a type was expected before {tokens.peek()[1]!r}")
    word = tokens.name()
    if word == "TIMESTAMP":
        scale = _arguments(tokens)[0] if tokens.word() == "(" else 6
        if tokens.take("WITH", "LOCAL", "TIME", "ZONE"):
            return "TIMESTAMP WITH LOCAL TIME ZONE", None, scale
        return ("TIMESTAMP WITH TIME ZONE" if tokens.take("WITH", "TIME", "ZONE") else "TIMESTAMP"), None, scale
    if word == "INTERVAL":
        return _interval(tokens)
    if word in ("NATIONAL", "LONG"):
        if word == "LONG":
            return ("LONG RAW" if tokens.take("RAW") else "LONG"), None, None
        tokens.at += 1
        word = "NCHAR"
    if word == "DOUBLE":
        tokens.expect("PRECISION")
    if word in ("CHAR", "CHARACTER", "NCHAR") and tokens.take("VARYING"):
        word = "NVARCHAR2" if word == "NCHAR" else "VARCHAR2"
    type_name, length, scale = _TYPE_ALIASES.get(word, (word, None, None))
    if tokens.take("."):  # an object type of some schema
        return tokens.name(), None, None
    if tokens.word() == "(":
        arguments = _arguments(tokens)
        length = arguments[0]
        scale = arguments[1] if len(arguments) > 1 else 0 if type_name == "NUMBER" and length is not None else scale
    elif type_name in ("CHAR", "NCHAR"):
        length = 1
    return type_name, length, scale


def _arguments(tokens: _Tokens) -> list[int | None]:
    """`(10,2)`, `(*,0)`, `(20 CHAR)`; a star is None."""
    tokens.expect("(")
    arguments: list[int | None] = [None if tokens.take("*") else tokens.number()]
    if tokens.take(","):
        arguments.append(tokens.number())
    if tokens.word() in ("CHAR", "BYTE"):
        tokens.at += 1
    tokens.expect(")")
    return arguments


def _interval(tokens: _Tokens) -> tuple[str, int | None, int | None]:
    unit = tokens.name()
    precision = _arguments(tokens)[0] if tokens.word() == "(" else 2
    if unit == "YEAR":
        tokens.expect("TO", "MONTH")
        return "INTERVAL YEAR TO MONTH", precision, None
    tokens.expect("TO", "SECOND")
    return "INTERVAL DAY TO SECOND", precision, _arguments(tokens)[0] if tokens.word() == "(" else 6


def _column_properties(tokens: _Tokens) -> tuple[bool | None, str | None, bool]:
    """Nullable (None: not said), default, primary key; up to the comma or parenthesis that ends the column."""
    nullable: bool | None = None
    default: str | None = None
    is_key = False
    while not tokens.at_definition_end():
        if tokens.take("NOT", "NULL"):
            nullable = False
        elif tokens.take("NULL"):
            nullable = True
        elif tokens.take("PRIMARY", "KEY"):
            is_key = True
        elif tokens.take("DEFAULT"):
            default = _default(tokens)
        elif tokens.word() in ("GENERATED", "AS", "VIRTUAL"):
            if not (tokens.peek(1) == ("word", "BY") or tokens.peek(3) == ("word", "IDENTITY")):
                # LogMiner does not show virtual columns, and identity columns only look alike.
                raise _Unknown("a generated column")
            nullable = False
            tokens.at += 1
        else:
            tokens.skip_balanced()
    return nullable, default, is_key


def _default(tokens: _Tokens) -> str | None:
    tokens.take("ON", "NULL")
    start = tokens.at
    ends = {"NOT", "NULL", "PRIMARY", "CONSTRAINT", "UNIQUE", "CHECK", "REFERENCES", "ENABLE", "DISABLE", ",", ")"}
    if tokens.word() == "NULL":
        tokens.at += 1
        return None
    while tokens.peek()[0] != "end" and tokens.word() not in ends:
        tokens.skip_balanced()
    return _joined(tokens.items[start : tokens.at]) or None


def _joined(items: Sequence[tuple[str, str]]) -> str:
    return "".join(f'"{text}"' if kind == "quoted" else text for kind, text in items)


def _alter(tokens: _Tokens, name: TableName) -> Statement:
    changes: list[Change] = []
    while tokens.peek()[0] != "end":
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
        elif tokens.take("RENAME", "CONSTRAINT") or tokens.word() in _NO_SHAPE:
            _skip_rest(tokens)
        else:
            raise _Unknown(f"ALTER TABLE .. {tokens.peek()[1]}")
    return AlterTable(name, tuple(changes))


def _skip_rest(tokens: _Tokens) -> None:
    """Step over a clause that changes no shape; another clause behind it would be beyond this grammar."""
    while tokens.peek()[0] != "end":
        tokens.skip_balanced()
        if tokens.word() in ("ADD", "DROP", "MODIFY", "RENAME"):
            raise _Unknown(f"{tokens.word()} behind another clause")


def _add(tokens: _Tokens) -> list[Change]:
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
            column, is_key = _column(tokens)
            changes.append(AddColumns((column,)))
            if is_key:
                changes.append(PrimaryKey((column.name,)))
        if not (listed and tokens.take(",")):
            break
    if listed:
        tokens.expect(")")
    return changes


def _modify(tokens: _Tokens) -> list[Change]:
    if tokens.word() in ("CONSTRAINT", "PARTITION", "SUBPARTITION", "DEFAULT", "NESTED", "LOB"):
        _skip_rest(tokens)
        return []
    changes: list[Change] = []
    listed = tokens.take("(")
    while True:
        name = tokens.name()
        type_given = tokens.peek()[0] == "word" and tokens.word() not in ("NOT", "NULL", "DEFAULT", "CONSTRAINT", "VISIBLE")
        type_name, length, scale = _data_type(tokens) if type_given else ("", None, None)
        nullable, default, _ = _column_properties(tokens)
        column = Column(name, type_name, length, scale, nullable is not False, default)
        changes.append(ModifyColumn(column, type_given, nullable is not None))
        if not (listed and tokens.take(",")):
            break
    if listed:
        tokens.expect(")")
    return changes


def _drop(tokens: _Tokens) -> list[Change]:
    if tokens.take("PRIMARY", "KEY"):
        tokens.at = len(tokens.items)
        return [PrimaryKey(())]
    if tokens.take("CONSTRAINT"):
        # Whether that was the primary key, only the dictionary knows.
        raise _Unknown("DROP CONSTRAINT")
    if tokens.word() in ("UNUSED", "PARTITION", "SUBPARTITION", "SUPPLEMENTAL", "UNIQUE"):
        _skip_rest(tokens)
        return []
    if tokens.word() == "COLUMN" or tokens.word() == "(":
        return [_dropped_columns(tokens)]
    raise _Unknown(f"DROP {tokens.peek()[1]}")


def _dropped_columns(tokens: _Tokens, *, unused: bool = False) -> DropColumns:
    if tokens.take("COLUMN"):
        names: tuple[str, ...] = (tokens.name(),)
    else:
        names = tokens.names_in_parentheses()
    while tokens.word() in ("CASCADE", "CONSTRAINTS", "INVALIDATE", "CHECKPOINT", "ONLINE"):
        tokens.at += 1
    return DropColumns(names, unused)
