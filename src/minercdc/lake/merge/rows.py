"""The rows of a lake table in SQL, and what a mode (`modes`) has to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from minercdc.config.target.lake import Mode
from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.format import Applied, LakeTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CDC_FIELDS = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id")
_CHANGE = "op: STRING, scn: BIGINT, commit_scn: BIGINT, seq: BIGINT, commit_time: TIMESTAMP, row_id: STRING"
CDC_TYPE = f"STRUCT<{_CHANGE}, deleted: BOOLEAN>"
APPEND_TYPE = f"STRUCT<{_CHANGE}>"
SCD2_TYPE = f"STRUCT<{_CHANGE}, valid_from: TIMESTAMP, valid_from_scn: BIGINT, valid_to: TIMESTAMP, valid_to_scn: BIGINT>"
NEWER = f"(c.commit_scn > t.{CDC}.commit_scn OR (c.commit_scn = t.{CDC}.commit_scn AND c.seq >= t.{CDC}.seq))"


Takes: TypeAlias = Literal["row", "commit", "change"]


@dataclass(frozen=True, slots=True)
class Clear:
    """All rows that were changed before SCN `scn` went.

    :param time_us: when, in microseconds since 1970; None when that is not known.
    :param read: an initial snapshot found it: rows that it read, as of the SCN, did not go.
    """

    scn: int
    time_us: int | None
    read: bool

    def time(self) -> str:
        """SQL of the time; that of the query where the time is not known."""
        return "current_timestamp()" if self.time_us is None else f"timestamp_micros({self.time_us}L)"


@dataclass(frozen=True, slots=True)
class MergeStep:
    """What one merge brings a table to.

    :param target: the lake table's columns.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    :param key_since: SCN from which on that is the key; 0 for always.
    :param clear: rows that went, and are cleared before the changes are merged; None for none.
    :param late: some of the changes may be in the table already.
    :param read: some of the changes are rows that a snapshot read.
    :param applied: how far the table is before it; None where it may be brought further meanwhile.
    :param goal: how far it is after it.
    """

    target: Sequence[TableColumn]
    key: Sequence[str]
    key_since: int
    clear: Clear | None
    late: bool
    read: bool
    applied: Applied | None
    goal: Applied


class TableMode(Protocol):
    """One way of keeping a table.

    :ivar cdc_type: Spark type of `__cdc`.
    :ivar takes: of the changes of each row the last one, the last one of each commit SCN, or all.
    :ivar keeps: rows stay when they are deleted: deletes come with their values, and rows go in steps of their own.
    """

    name: Mode
    cdc_type: str
    takes: Takes
    keeps: bool

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """The source's rows, as a mirror has them, of the lake table's rows.

        :param target: columns of the lake table.
        :param key: ids of the key's columns; empty when the ROWID identifies rows.
        """

    def rekey(self, lake: LakeTable, target: Sequence[TableColumn], key: Sequence[str], begins: Clear) -> None:
        """Prepare the table for changes under another key. By default nothing is done.

        :param target: columns of the lake table.
        :param key: ids of the columns of the key until now; empty for the ROWID.
        :param begins: the SCN from which on it is another one, as a clear.
        """
        return

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """The rows of a new table, in the columns of `step.target` and `__cdc`, from changes as `takes` says."""

    def merge(self, lake: LakeTable, changes: DataFrame | None, step: MergeStep) -> None:
        """Merge changes, or none, into a table that is there; it has all up to `step.goal` then, perhaps without a commit that
        says so. Repeated after a kill, it changes nothing more."""


def cdc_struct(source: str = "", deleted: str = "false") -> str:
    """SQL of `__cdc` from the columns of a decoded row.

    :param source: what stands before their names: `c.` in a MERGE, '' else.
    :param deleted: SQL of whether the row is gone.
    """
    fields = ", ".join(f"{literal(name)}, {source}{name}" for name in CDC_FIELDS)
    return f"named_struct({fields}, 'deleted', {deleted})"


def named(target: Sequence[TableColumn]) -> list[str]:
    """SQL of each of the lake's columns from those of a decoded row."""
    return [f"c{i} AS {quoted(column.name)}" for i, column in enumerate(target)]


def identity(key: Sequence[str]) -> list[str]:
    """Names of the columns of a decoded row that identify the source's row: `k0`, ..; `row_id` for a key that is empty."""
    return [f"k{i}" for i in range(len(key))] or ["row_id"]


def as_rows(changes: DataFrame, target: Sequence[TableColumn]) -> DataFrame:
    """Decoded rows, none of them deletes, as the rows of a mirror: the columns of `target`, and `__cdc`."""
    return changes.selectExpr(*named(target), f"{cdc_struct()} AS {CDC}")


def matches(target: Sequence[TableColumn], key: Sequence[str]) -> str:
    """SQL condition that a change `c` is one of the lake's row `t`.

    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    if not key:
        return f"t.{CDC}.row_id = c.row_id"
    names = {column.id: column.name for column in target}
    return " AND ".join(f"t.{quoted(names[part])} <=> c.k{i}" for i, part in enumerate(key))


def sets_of(target: Sequence[TableColumn]) -> str:
    """SQL of what follows SET in a MERGE: each data column of `t` from the change `c`."""
    return ", ".join(f"t.{quoted(column.name)} = c.c{i}" for i, column in enumerate(target))


def insert_of(target: Sequence[TableColumn], cdc: str) -> str:
    """SQL of the INSERT of a MERGE: a row of the change `c`, with `cdc` as SQL of its `__cdc`."""
    names = (*(quoted(column.name) for column in target), CDC)
    values = (*(f"c.c{i}" for i in range(len(target))), cdc)
    return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"
