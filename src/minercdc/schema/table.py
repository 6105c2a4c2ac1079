"""Names and shapes of tables, as they are at one point of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple, Self

_KINDS: Final = "PUI"
_UNNAMED: Final = "SYS_C:"  # after the names that Oracle has made before, SYS_Cn, and before other names as they are


class TableId(NamedTuple):
    """A table's name in three parts. Schema and table are spelled as in the dictionary; `database` is the PDB's name, or the
    database's, in upper case.

    `str` is `SCHEMA.TABLE`, without `database`.
    """

    database: str
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class TableNames:
    """How stored state and its figures name tables: `SCHEMA.TABLE`, with several databases `DATABASE.SCHEMA.TABLE`. A schema
    with a dot in its name stands in double quotes: without them the name would be that of another table, too.

    :param database: the database, where there is one; '' for several.
    """

    database: str = ""

    @classmethod
    def among(cls, databases: Iterable[str]) -> Self:
        """The TableNames for tables of all these databases, at least one."""
        first, *others = databases
        return cls("" if others else first)

    def of(self, table: TableId) -> str:
        """The name of a table in stored state."""
        schema = f'"{table.schema}"' if "." in table.schema else table.schema
        name = f"{schema}.{table.table}"
        return name if self.database else f"{table.database}.{name}"

    def given(self, table: TableId) -> tuple[str, str]:
        """The two names by which a user may mean a table: that of `of`, and `SCHEMA.TABLE`, which with several databases
        means the table of that name in each."""
        return self.of(table), str(table)

    def table(self, name: str) -> TableId:
        """The id of the table that `of` gave this name."""
        database = self.database  # a service name may have dots, a pluggable database's name not
        if not database:
            database, _, name = name.partition(".")
        schema, _, table = name[1:].partition('".') if name.startswith('"') else name.partition(".")
        return TableId(database, schema, table)

    def full(self, name: str) -> str:
        """`DATABASE.SCHEMA.TABLE` of a name that `of` gave."""
        return f"{self.database}.{name}" if self.database else name


@dataclass(frozen=True, slots=True)
class Column:
    """One column as ALL_TAB_COLS has it.

    :param type_name: DATA_TYPE without arguments: NUMBER, VARCHAR2, TIMESTAMP, `TIMESTAMP WITH TIME ZONE`, ...
    :param length: of text, in the unit it was declared in (characters or bytes); bytes of RAW; precision of NUMBER, FLOAT
        and INTERVAL; None when not given, as for NUMBER and NUMBER(*).
    :param scale: digits after the decimal point of NUMBER, or of seconds of TIMESTAMP and INTERVAL; None when not given.
    :param default: DATA_DEFAULT as SQL text, None when there is none or it is NULL.
    :param comment: of COMMENT ON COLUMN, None when there is none, or comments are not captured.
    """

    name: str
    type_name: str
    length: int | None = None
    scale: int | None = None
    nullable: bool = True
    default: str | None = None
    comment: str | None = None


class Key(NamedTuple):
    """A primary key, a unique constraint or a unique index of a table.

    :param kind: `P`, `U` as CONSTRAINT_TYPE has them, or `I` of an index that is no constraint's.
    :param name: '' where Oracle made the name, and it is not known.
    :param enabled, validated, deferrable: as STATUS, VALIDATED and DEFERRABLE of the constraint say.
    :param owner: of an index the schema that it is in, '' for that of its table; None where that is not known.
    """

    kind: str
    columns: tuple[str, ...]
    name: str = ""
    enabled: bool = True
    validated: bool = True
    owner: str | None = ""
    deferrable: bool = False

    @property
    def holds(self) -> bool:
        """Whether it holds for all rows, as they are committed."""
        return self.enabled and self.validated

    @property
    def is_not_null(self) -> bool:
        """Whether it makes its columns NOT NULL in the dictionary."""
        return self.kind == "P" and self.holds and not self.deferrable


class NotNull(NamedTuple):
    """A NOT NULL constraint of a column. A CHECK (c IS NOT NULL) is none: the dictionary calls its column nullable
    (docs/reference/logminer-facts.md#b-8).

    :param name: '' where Oracle made the name, and it is not known.
    :param enabled, validated, deferrable: as of `Key`.
    :param on_null: DEFAULT ON NULL implies it.
    """

    column: str
    name: str = ""
    enabled: bool = True
    validated: bool = True
    deferrable: bool = False
    on_null: bool = False

    @property
    def holds(self) -> bool:
        """Whether the dictionary calls the column NOT NULL for it."""
        return self.enabled and self.validated and not self.deferrable


def key_of(columns: Sequence[Column], keys: Iterable[Key]) -> tuple[int, ...]:
    """Positions of what identifies the rows of a table: the primary key, else a unique constraint, else a unique index on columns
    that are NOT NULL, the first by name; only one that holds, and whose columns are all in `columns`. () when there is none.

    A name that is not known is one of Oracle's, SYS_Cn with the next number: it stands among the others as that does, so that the key
    is the one that the dictionary would give.
    """
    positions = {column.name: i for i, column in enumerate(columns)}
    for key in sorted(keys, key=lambda key: (_KINDS.index(key.kind), key.name or _UNNAMED)):
        if key.holds and all(
            name in positions and (key.kind == "P" or not columns[positions[name]].nullable) for name in key.columns
        ):
            return tuple(positions[name] for name in key.columns)
    return ()


def with_nulls(columns: Iterable[Column], keys: Iterable[Key], not_nulls: Iterable[NotNull]) -> tuple[Column, ...]:
    """The columns, NOT NULL exactly where one of the constraints says so."""
    never = {one.column for one in not_nulls if one.holds}
    never.update(name for key in keys if key.is_not_null for name in key.columns)
    return tuple(
        column if column.nullable == (column.name not in never) else replace(column, nullable=column.name not in never)
        for column in columns
    )


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One version of a table.

    :param columns: in column order; rows are tuples aligned with it.
    :param key: positions in `columns` of the primary key, else of a NOT NULL unique key; empty when there is none.
    :param version: rises by one with every DDL that changed the shape; encoders keep what they compiled by (id, version).
    :param object_id: OBJECT_ID of the dictionary, 0 when unknown; changes when a table is dropped and created again.
    :param stored: names of all stored columns in segment order, also of those left out of `columns`: the n-th is LogMiner's
        `COL n` in rows of another version than the dictionary's. Empty when not known.
    :param comment: of COMMENT ON TABLE, None when there is none, or comments are not captured.
    :param parts: object ids of its partitions and subpartitions, and of the index that an index-organized table is stored in: redo
        has their rows under these. Ids of partitions that went stay. None for a table without any. Not a part of the shape: two
        versions that differ in nothing else are equal.
    :param read_at: it was read from the dictionary at this time of the database's host, in place of what redo does not say: a row
        of before may be of an older version. None: it is that of its place in redo. Not compared, either.
    :param keys: all its keys, of which `key` is one, for later DDL on them; None when they are not known. Not compared, either.
    :param not_nulls: its NOT NULL constraints, for later DDL on them; None when they are not known, as of a table that an earlier
        release stored. Not compared, either.
    :param changed: when each constraint was last made, enabled or disabled, by its name, in the time of the database's host; of a
        shape that was read from the dictionary just now. Not compared, either.
    :param indexes: its unique indexes, those of constraints among them, as keys of kind `I`, with the time of the database's host when each was
        made; of a shape that was read from the dictionary just now. Not compared, either.
    :param parts_from: what makes its partitions: DDL; ROWS, where INTERVAL or AUTOMATIC makes one for a row that has none; PARENT,
        where it is partitioned by reference. '' where that is not known. Not compared, either.
    :param listed_at: `parts` has all partitions that rows after this time of the database's host may lie in, but those that rows or
        the parent make. None: not known. Not compared, either.
    :param hidden_known: `stored` has the columns that Oracle makes itself, too. False: an earlier release stored the table, which did
        not know them. Not compared, either.
    """

    id: TableId
    columns: tuple[Column, ...]
    key: tuple[int, ...] = ()
    version: int = 1
    object_id: int = 0
    stored: tuple[str, ...] = ()
    comment: str | None = None
    parts: frozenset[int] | None = field(default=None, compare=False)
    keys: tuple[Key, ...] | None = field(default=None, compare=False)
    not_nulls: tuple[NotNull, ...] | None = field(default=None, compare=False)
    changed: Mapping[str, datetime] = field(default_factory=dict, compare=False)
    indexes: Mapping[Key, datetime] = field(default_factory=dict, compare=False)
    read_at: datetime | None = field(default=None, compare=False)
    parts_from: str = field(default="", compare=False)
    listed_at: datetime | None = field(default=None, compare=False)
    hidden_known: bool = field(default=True, compare=False)

    def positions(self) -> dict[str, int]:
        """The position of each column, by its name; made at each call."""
        return {column.name: i for i, column in enumerate(self.columns)}


def without_comments(schema: TableSchema) -> TableSchema:
    """A copy without the comments of the table and its columns; `schema` itself when it has none."""
    if schema.comment is None and all(column.comment is None for column in schema.columns):
        return schema
    return replace(schema, columns=tuple(replace(column, comment=None) for column in schema.columns), comment=None)
