"""What the lake needs of a table format. `delta` and `iceberg` have it; no other module of the lake names a format.

Each commit of the lake says how far its table is then (`Applied`), so that what a kill left unrecorded is found in the table itself.
A version is a number that is greater with each commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Format, Mode
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.columns import CDC, Step, TableColumn, lake_comment, read_comment
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import Column, DataFrame, SparkSession

NO_TABLE = -1
"""The version of a table that is not there, such as one that was dropped before its first row."""

READERS_TIME = timedelta(minutes=10)
"""A merge or a reader may be using files that a commit just replaced."""


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a lake table is: it has all changes up to commit SCN `scn` of the change log's batches up to `batch`."""

    scn: int = 0
    batch: int = 0

    def to_json(self) -> str:
        """Text for a commit's metadata, which `from_json` reads."""
        return json.dumps({"minercdc": {"scn": str(self.scn), "batch": self.batch}})

    @staticmethod
    def from_json(text: str | None) -> Applied | None:
        """What `to_json` wrote into a commit's metadata; None for any other text."""
        try:
            found = json.loads(text or "")["minercdc"]
            return Applied(int(found["scn"]), int(found["batch"]))
        except (ValueError, KeyError, TypeError):
            return None


class Overtaken(Exception):
    """Another process, such as `lake rebuild`, has brought a table further since it was looked at: what is to be appended may be there."""


def refuse_overtaken(name: str, said: Applied | None, known: Applied | None) -> None:
    """Raise Overtaken where a table is further than is known; not where that is None.

    :param name: of the table.
    :param said: what it says (`LakeTable.applied`).
    """
    if said is not None and known is not None and said.scn > known.scn:
        raise Overtaken(f"another process has brought {name} from SCN {known.scn} to {said.scn}")


@dataclass(frozen=True, slots=True)
class Once:
    """The name of an append that happens once, however often it is repeated.

    :param writer: id of who appends.
    :param number: of the append; a later one of the same writer has a greater one.
    """

    writer: str
    number: int


class LastChanges(NamedTuple):
    """The last change of each row, that this process has; all of them for a table of every change.

    :param rows: columns `op`, `scn`, `commit_scn`, `seq`, `commit_time`, `row_id`; `c0`, .. for each of `target`; `k0`, .. for each of `key`.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    :param mode: of the table: mirror, soft_delete or append.
    :param known: see `LakeTable.append`.
    """

    rows: pa.Table
    target: Sequence[TableColumn]
    key: Sequence[str]
    mode: Mode = "mirror"
    known: Applied | None = None


class RowsAsked(NamedTuple):
    """Which rows of a table this process is to read: by default all of them.

    :param most: bytes.
    :param columns: which ones; those that a part lacks are left out; None for all.
    :param bounds: column -> the least and the greatest value that are asked for, integers or text.
    :param takes: asked of the columns of `bounds` of each part, whether it is to be read.
    """

    most: int
    columns: Sequence[str] | None = None
    bounds: Mapping[str, tuple[Any, Any]] = MappingProxyType({})
    takes: Callable[[pa.Table], bool] = lambda _: True


class LogTable(Protocol):
    """A table of the lake's own records. Rows are appended; maintenance removes those that are not needed any more."""

    name: str
    """The table's name in SQL."""

    def exists(self) -> bool:
        """Whether there is such a table."""

    def identity(self) -> str:
        """What tells the table from any other one, also from one that takes its place. The table has to be there."""

    def prepare(self) -> None:
        """Have a table of an older version, or configuration, keep its versions as long as the present one says; while no one writes to it."""

    def append(self, rows: DataFrame, once: Once | None = None) -> None:
        """Append rows in one commit; the first one makes the table. Columns that it lacks are added.

        :param once: nothing is appended where this append was made before; None to append in any case.
        """

    def append_here(self, rows: pa.Table, once: Once | None = None) -> bool | None:
        """Append rows that this process has, with no Spark job. False where this append was made before; None where only `append` does it.

        :param rows: in all columns of the table.
        """

    def read(self) -> DataFrame:
        """All rows. The table has to be there."""

    def read_here(self, asked: RowsAsked) -> list[pa.Table] | None:
        """Rows that are asked for, and perhaps others, in parts, read with no Spark job; None where only `read` does it. The table has to be
        there."""

    def delete(self, where: str) -> None:
        """Delete the rows that meet an SQL condition."""

    def newest_version(self) -> int:
        """The newest version, of any process; `NO_TABLE` for no table."""

    def size(self) -> tuple[int, int]:
        """(files of the newest version, their bytes)."""

    def compact(self, age: timedelta) -> None:
        """Join small files, and remove what versions that were replaced longer ago than `age` had alone."""


class LakeTable(Protocol):
    """The lake's table of one source table, in a session that no other thread uses."""

    name: str
    """The table's name in SQL."""

    def columns(self) -> list[TableColumn] | None:
        """The columns besides `__cdc`; None when there is no table.

        :raises LakeError: the table there has no `__cdc`, so that no lake, or an older version, made it.
        """

    def exists(self) -> bool:
        """Whether there is a table."""

    def mode(self, version: int | None = None) -> Mode:
        """How the table is kept; how it was at a version, where that is given. The table has to be there."""

    def comment(self) -> str:
        """The table's comment, '' for none. The table has to be there."""

    def describe(self, comment: str) -> None:
        """Give the table a comment, '' for none, in a commit that changes no row."""

    def create(self, columns: Sequence[TableColumn], cdc: str, mode: Mode, applied: Applied) -> None:
        """Create the table, or replace it by an empty one, in one commit that says that it has everything up to `applied`.

        :param cdc: Spark type of `__cdc`.
        """

    def create_of(self, changes: LastChanges, cdc: str, applied: Applied) -> bool:
        """As `create`, in the mode of the changes, with the rows that these make, and no Spark job. False where there is a table, or only `replace` does
        it."""

    def replace(self, rows: DataFrame, columns: Sequence[TableColumn], applied: Applied, mode: Mode) -> None:
        """Become a table of these rows and columns, in one commit that says how far the table is then.

        :param rows: in the columns' order, and `__cdc`.
        :raises LakeError: the format cannot have such a table.
        """

    def can_widen(self, old: str, new: str) -> bool:
        """Whether a column of Spark type `old` can become one of type `new`, which holds all its values, by its type alone."""

    def take_all(self, there: Sequence[TableColumn], steps: Sequence[Step]) -> None:
        """Take the steps of `columns.evolution`; what is done when this returns is durable. Raises LakeError as `replace`.

        :param there: the columns of the table.
        """

    def fill(self, column: TableColumn, value: str, before: int) -> None:
        """Give rows committed before SCN `before` that have no value in a column the value of this SQL."""

    def clear(self) -> None:
        """Delete all rows."""

    def is_empty(self) -> bool:
        """Whether the newest version has no row. The table has to be there."""

    def read(self, version: int | None = None) -> DataFrame:
        """The rows of the newest version, or of the version that is given. The table has to be there."""

    def append(self, rows: DataFrame, applied: Applied | None, *, known: Applied | None = None) -> None:
        """Append rows in one commit that says how far the table is then.

        :param applied: None where a later commit has the rest: this one says nothing, since the table has more than it had, and not all.
        :param known: how far the table is without them; None where that does not count.
        :raises Overtaken: it is further; or an error that `TableFormat.is_conflict` knows.
        """

    def update(self, sets: str, where: str, applied: Applied | None) -> None:
        """UPDATE rows in one commit that says how far the table is then; perhaps no commit where there are none.

        :param sets, where: SQL of the SET and WHERE clauses.
        :param applied: see `append`.
        """

    def merge(self, changes: DataFrame, on: str, clauses: str, applied: Applied) -> None:
        """MERGE `changes` (as `c`) into the table (as `t`) in one commit that says how far the table is then.

        :param on: SQL condition of the ON clause.
        :param clauses: SQL of all that follows it.
        """

    def merge_rows(self, changes: LastChanges, applied: Applied) -> bool:
        """As `merge` or `append` of what the mode makes of changes, with no Spark job. False where only these do it.

        :param applied: what the commit says, where the table changes.
        :raises Overtaken: as `append`.
        """

    def applied(self) -> Applied | None:
        """What the newest commit of the lake says, of those that the table has been set back to where another program did that; None when
        there is none. The table has to be there.

        :raises LakeError: it is not known which ones these are.
        """

    def version(self) -> int:
        """The newest version that this process knows: of its own last commit, or a later one; `NO_TABLE` for no table."""

    def reached(self, applied: Applied, *, first: bool = False) -> int:
        """As `version`, when that is to be recorded as the one that has everything up to `applied`: a format that names versions names it.
        A merge may have made others before it, which are half done and say less.

        :param first: the first version that says it, as after a kill, which may have left later ones half done.
        """

    def newest_version(self) -> int:
        """The newest version, of any process; `NO_TABLE` for no table."""

    def rewritten(self, version: int) -> int:
        """The newest version that has the rows of `version`: only `compact` came after it, which may have removed its files."""

    def size(self) -> tuple[int, int]:
        """(files of the newest version, their bytes)."""

    def clustering(self) -> list[str]:
        """Names of the columns by which `compact` clusters the table."""

    def cluster(self, names: Sequence[str]) -> None:
        """Have `compact` cluster the table by these columns; none for no clustering."""

    def compact(self, age: timedelta, kept: Collection[int] | None = None) -> None:
        """As `LogTable.compact`; takes deleted rows out, and clusters the table.

        :param kept: the versions that are needed of those that are younger than `age`; None for all. The log of a table keeps what the
            oldest of them takes, and all after it.
        """


class TableFormat(Protocol):
    """A format, for the lake of one configuration.

    :ivar session: Spark's settings with which a session knows the format and its tables.
    :ivar java_class: a class that a Spark with the format's jars has.
    :ivar maintenance: settings of the sessions in which tables are compacted.
    :ivar lists_versions: each commit writes a list of all versions that are kept, so that they should be few.
    """

    name: Format
    session: Mapping[str, str]
    java_class: str
    lists_versions: bool
    maintenance: Mapping[str, str]

    def table(self, spark: SparkSession, table: TableId) -> LakeTable:
        """The lake's table of a source table, in a session."""

    def changes(self, spark: SparkSession) -> LogTable:
        """The table of the change log, in a session."""

    def state(self, spark: SparkSession) -> LogTable:
        """The table of the lake's record, in a session."""

    def is_conflict(self, error: BaseException) -> bool:
        """Whether a commit was refused because another writer, such as maintenance, was first; so is Overtaken."""


def take_over(taker: LakeTable, source: LakeTable, applied: Applied) -> None:
    """Make `taker` a copy of another lake table, in its columns and mode; the last commit says how far it is then. Nothing happens when
    there is no such table. Raises LakeError as `LakeTable.columns`."""
    columns = source.columns()
    if columns is not None:
        taker.replace(source.read(), columns, applied, source.mode())


def changed_since(lake: LakeTable, version: int, applied: Applied) -> Applied | None:
    """How far a table is, when commits after a version have changed that, or another program has set the table back to one before it; None
    when it is at `applied` still, or no commit of the lake says it."""
    if lake.newest_version() == version:
        return None
    found = lake.applied()
    return None if found == applied else found


def commented(columns: Sequence[TableColumn]) -> list[Column]:
    """Spark's columns of these names, which carry the comments of the lake's."""
    from pyspark.sql.functions import col

    return [
        col(quoted(one.name)).alias(one.name, metadata={"comment": lake_comment(one.id, one.comment)}) for one in columns
    ]


def source_properties(config: ConnectorConfig, table: TableId) -> dict[str, str]:
    """The properties by which a lake table says what it is a copy of."""
    return {
        "minercdc.source.database": table.database,
        "minercdc.source.table": str(table),
        "minercdc.connector": config.identity.name,
        "minercdc.topic.prefix": config.identity.topic_prefix,
    }


def columns_of(schema: object) -> list[TableColumn]:
    """The columns of a lake table's Spark schema besides `__cdc`, with what their comments carry."""
    from pyspark.sql.types import StructType

    assert isinstance(schema, StructType)
    return [
        TableColumn(
            field.name, field.dataType.simpleString().upper(), *read_comment((field.metadata or {}).get("comment", ""))
        )
        for field in schema.fields
        if field.name != CDC
    ]
