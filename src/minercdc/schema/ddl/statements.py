"""DDL statements, as far as they change what is known of a table. `parser` reads their text, `changes` applies them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, TypeVar

from minercdc.schema.table import Column, Key, NotNull, TableId, key_of

Constraint = TypeVar("Constraint", Key, NotNull)


@dataclass(frozen=True, slots=True)
class TableName:
    """A name as the dictionary spells it: unquoted words in upper case. `schema` is None when it was not qualified."""

    schema: str | None
    table: str

    def within(self, database: str, default_schema: str) -> TableId:
        """The id of the table that the name means in `database`, for a session whose current schema is `default_schema`."""
        return TableId(database, self.schema or default_schema, self.table)


class Selected(NamedTuple):
    """One item of a query: a column, or with `name` '' and a `table` all columns of that, as `*` has them.

    :param name: of the column that it makes; '' where an expression has none, as before a list of names.
    :param table, column: the column that it is a plain reference to; None and '' where it is an expression, or the text does not say.
    """

    name: str
    table: TableName | None = None
    column: str = ""

    @property
    def is_star(self) -> bool:
        """Whether it means all columns of `table`."""
        return not self.name and self.table is not None


class Query(NamedTuple):
    """The query of CREATE TABLE .. AS.

    :param is_plain: it selects from one table, and neither groups nor combines rows: NOT NULL constraints of its columns are copied.
    """

    items: tuple[Selected, ...]
    is_plain: bool


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE.

    :param keys: its keys; `key` has the names of the columns of the one that identifies its rows, () for none.
    :param stored: names of the columns in the order of the stored rows; where only the query has the columns, those that stand
        before them.
    :param not_nulls: its NOT NULL constraints.
    :param unsaid: names of its columns that may have further ones: those of a domain, or of the query's tables.
    :param query: AS; where the text does not name the columns, `columns` is ().
    :param like: FOR EXCHANGE WITH this table: its columns are all of that, and `columns` is ().
    :param has_parts: it is partitioned, or organized as an index: its rows have other object ids.
    :param parts_from: what makes its partitions (`TableSchema.parts_from`), '' for a table without any.
    :param only_if_absent: IF NOT EXISTS: it changes nothing where there is a table of the name.
    """

    name: TableName
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    stored: tuple[str, ...] = ()
    has_parts: bool = False
    not_nulls: tuple[NotNull, ...] = ()
    unsaid: frozenset[str] = frozenset()
    query: Query | None = None
    like: TableName | None = None
    parts_from: str = ""
    only_if_absent: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """Names of the columns of the key."""
        return tuple(self.columns[i].name for i in key_of(self.columns, self.keys))


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE, with or without PURGE; `recycled` is its name in the recycle bin, '' where the text does not say it."""

    name: TableName
    recycled: str = ""


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """TRUNCATE TABLE: all rows are gone, the shape stays; with `cascades` (CASCADE) also those of the tables whose foreign keys
    refer to it ON DELETE CASCADE, and so on."""

    name: TableName
    cascades: bool = False


@dataclass(frozen=True, slots=True)
class TruncateCluster:
    """TRUNCATE CLUSTER: all rows of the tables in it are gone. The cluster is in `schema`, None for that of the session."""

    schema: str | None
    cluster: str


@dataclass(frozen=True, slots=True)
class DropUser:
    """DROP USER: all tables of the schema are gone."""

    user: str


@dataclass(frozen=True, slots=True)
class DropContents:
    """Tables are gone that the text does not name: DROP TABLESPACE .. INCLUDING CONTENTS, DROP CLUSTER .. INCLUDING TABLES."""


@dataclass(frozen=True, slots=True)
class DropMaterializedView:
    """DROP MATERIALIZED VIEW: its table is gone, unless it was there before the view, which the dictionary knows."""

    name: TableName


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME of a table, to `new_name` in the same schema."""

    name: TableName
    new_name: str


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ADD of columns, after the others, in this order."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ModifyColumn:
    """MODIFY of one column. Attributes that the statement does not give stay as they are in the table.

    :param column: the attributes given; `type_given` and `default_given` say which.
    :param null_given: NULL is given: its NOT NULL constraint goes.
    :param default_given: True of DEFAULT NULL, too, which removes the default.
    """

    column: Column
    type_given: bool
    null_given: bool
    default_given: bool


@dataclass(frozen=True, slots=True)
class DropColumns:
    """DROP of columns, by their names; with `unused`, SET UNUSED, after which they stay in the stored rows."""

    names: tuple[str, ...]
    unused: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME of a column, which keeps its place."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class AddKey:
    """ADD of a primary key, a unique constraint or a unique index."""

    key: Key


@dataclass(frozen=True, slots=True)
class AddNotNull:
    """ADD of a NOT NULL constraint, by ADD or MODIFY of its column."""

    not_null: NotNull


class Meant(NamedTuple):
    """Which constraint a clause is about: `kind` P, `kind` U by its columns, or, with kind '', any constraint by its name."""

    kind: str = ""
    columns: tuple[str, ...] = ()
    name: str = ""

    def among(self, keys: Iterable[Key]) -> Key | None:
        """The key that is meant; None where it is none of these."""
        for key in keys:
            if self.kind == "P" == key.kind or (self.kind == "U" == key.kind and set(self.columns) == set(key.columns)):
                return key
            if not self.kind and key.kind != "I" and key.name == self.name:
                return key
        return None


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """DROP of a constraint. With `keeps_index` (KEEP INDEX) its index stays; whether that is unique the dictionary knows."""

    meant: Meant
    keeps_index: bool = False


@dataclass(frozen=True, slots=True)
class SetConstraint:
    """ENABLE, DISABLE or MODIFY of a constraint; None stays as it is. `keeps_index` as of DropConstraint."""

    meant: Meant
    enabled: bool | None
    validated: bool | None
    keeps_index: bool = False

    def set_in(self, one: Constraint) -> Constraint:
        """The constraint after ENABLE, which validates, DISABLE, which does not, or MODIFY; unless VALIDATE or NOVALIDATE is said.

        MODIFY .. VALIDATE counts as ENABLE: a table with a key that is DISABLE VALIDATE takes no rows (ORA-25128).
        """
        enabled = (one.enabled or self.validated is True) if self.enabled is None else self.enabled
        validated = self.validated if self.validated is not None else one.validated if self.enabled is None else enabled
        return one._replace(enabled=enabled, validated=validated)


@dataclass(frozen=True, slots=True)
class RenameConstraint:
    """RENAME of a constraint."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class NullUnsaid:
    """Whether a column is NOT NULL may have changed, and only the dictionary knows: a domain says it.

    :param on_null: only where DEFAULT ON NULL made it so: it has another DEFAULT now.
    """

    name: str
    on_null: bool = False


@dataclass(frozen=True, slots=True)
class DropIdentity:
    """DROP IDENTITY of a column, which takes its NOT NULL constraint away, too."""

    name: str


@dataclass(frozen=True, slots=True)
class DropUnused:
    """DROP UNUSED COLUMNS: they are not in the stored rows any more."""


@dataclass(frozen=True, slots=True)
class RowArchival:
    """[NO] ROW ARCHIVAL: the column ORA_ARCHIVE_STATE comes, or goes."""

    comes: bool


Change: TypeAlias = (
    AddColumns
    | ModifyColumn
    | DropColumns
    | RenameColumn
    | AddKey
    | AddNotNull
    | DropConstraint
    | SetConstraint
    | RenameConstraint
    | NullUnsaid
    | DropIdentity
    | DropUnused
    | RowArchival
)


class OfParts(NamedTuple):
    """What an ALTER TABLE says of partitions.

    :param made: names of the partitions and subpartitions that it makes; None where the text does not name them all.
    :param exchanged: of EXCHANGE the other table, whose rows went and came, too.
    :param cascades: CASCADE: what it does, it does to the tables that are partitioned by reference to this one, too.
    :param source: what makes partitions of it from now on (`TableSchema.parts_from`); '' where that stays.
    """

    made: tuple[str, ...] | None
    exchanged: TableName | None = None
    cascades: bool = False
    source: str = ""


NO_PARTS: Final = OfParts(())
"""Of a statement that says nothing of partitions."""


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE, with its changes in the order written; () when the statement changes no shape.

    :param loses_rows: it takes rows away or brings some without redo of them: TRUNCATE, DROP and EXCHANGE PARTITION.
    :param moves_rows: rows have other ROWIDs since: MOVE, SHRINK; SPLIT, MERGE and COALESCE PARTITION.
    :param changes_parts: it makes partitions or subpartitions, or takes some away.
    :param parts: what it says of partitions beside that.
    """

    name: TableName
    changes: tuple[Change, ...]
    loses_rows: bool = False
    moves_rows: bool = False
    changes_parts: bool = False
    parts: OfParts = NO_PARTS


@dataclass(frozen=True, slots=True)
class CommentOn:
    """COMMENT ON a table, or on a column of it. `column` is None for the table; `text` None takes the comment away."""

    name: TableName
    column: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Unclear:
    """A statement about a table whose effect this grammar does not know.

    :param name: None when not even the table is clear.
    :param loses_rows, moves_rows: as of AlterTable, of what was understood.
    :param undropped: of FLASHBACK TABLE .. TO BEFORE DROP the name by which the table was dropped, or which it has in the recycle bin.
    """

    name: TableName | None
    reason: str
    loses_rows: bool = False
    moves_rows: bool = False
    undropped: TableName | None = None


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """CREATE UNIQUE INDEX on columns of a table, by their names; the index is in `schema`, None for that of the session."""

    name: TableName
    key: Key
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class IndexChange:
    """DROP INDEX, or with `new_name` ALTER INDEX .. RENAME; the index is in `schema`, None for that of the session."""

    schema: str | None
    index: str
    new_name: str = ""


@dataclass(frozen=True, slots=True)
class DropDomain:
    """DROP DOMAIN .. FORCE: columns of any table lose what the domain gave them, NOT NULL and a default."""


Statement: TypeAlias = (
    CreateTable
    | AlterTable
    | DropTable
    | TruncateTable
    | TruncateCluster
    | RenameTable
    | CommentOn
    | Unclear
    | UniqueIndex
    | IndexChange
    | DropDomain
    | DropUser
    | DropContents
    | DropMaterializedView
)


class ShapeUnclear(Exception):
    """A change does not fit the known version of the table; its text says why. Whoever applies changes reads the dictionary
    then."""
