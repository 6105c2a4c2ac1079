"""How a table is kept: what a change makes of the lake table, one class per mode.

    mirror       the source's rows
    soft_delete  the source's rows, and those that went, marked as deleted
    append       every change as a row
    scd2         every version of a row, with the time and SCN from which, and up to which, it was valid

A change that is merged comes as a row of `decode` without `m0`, ..: the last one of each row, or all of them (`TableMode.every`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from minercdc.config.lake import LakeConfig, Mode
from minercdc.lake.columns import CDC, TableColumn
from minercdc.lake.delta import Applied, DeltaTable
from minercdc.lake.sql import literal, quoted
from minercdc.schema.patterns import configured_pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CDC_FIELDS = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id")
CDC_TYPE = "STRUCT<op: STRING, scn: BIGINT, commit_scn: BIGINT, seq: BIGINT, commit_time: TIMESTAMP, row_id: STRING, deleted: BOOLEAN>"
NEWER = f"(c.commit_scn > t.{CDC}.commit_scn OR (c.commit_scn = t.{CDC}.commit_scn AND c.seq >= t.{CDC}.seq))"


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
        """SQL of the time."""
        return "current_timestamp()" if self.time_us is None else f"timestamp_micros({self.time_us}L)"


@dataclass(frozen=True, slots=True)
class MergeStep:
    """What one merge brings a table to.

    :param target: the lake table's columns.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    :param key_since: SCN from which on that is the key; 0 for always.
    :param clear: rows that went at its begin, None for none.
    :param late: some of the changes may be in the table already.
    :param read: some of the changes are rows that a snapshot read.
    :param applied: how far the table is before it, `goal` after it.
    """

    target: Sequence[TableColumn]
    key: Sequence[str]
    key_since: int
    clear: Clear | None
    late: bool
    read: bool
    applied: Applied
    goal: Applied


class TableMode(Protocol):
    """One way of keeping a table.

    :ivar cdc_type: Spark type of `__cdc`.
    :ivar every: takes every change; else the last one of each row.
    :ivar keeps: rows stay when they are deleted: deletes come with their values, and rows go in steps of their own.
    """

    name: Mode
    cdc_type: str
    every: bool
    keeps: bool

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """The source's rows, as a mirror has them, of the lake table's rows."""

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """The rows of a new table."""

    def merge(self, delta: DeltaTable, changes: DataFrame | None, step: MergeStep) -> None:
        """Merge changes, or none, into a table that is there."""


class Mirror:
    """The source's rows."""

    name: Mode = "mirror"
    cdc_type = CDC_TYPE
    every = False
    keeps = False

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        del target, key
        return rows

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        return as_rows(changes.where("op <> 'd'"), step.target)

    def merge(self, delta: DeltaTable, changes: DataFrame | None, step: MergeStep) -> None:
        if changes is None:
            if step.clear is not None:
                delta.clear()
        elif step.clear is not None or delta.is_empty():
            delta.replace(self.rows(changes, step), step.target, step.goal, self.name)
        else:
            delta.merge(changes, matches(step.target, step.key), mirror_clauses(step.target), step.goal)


class SoftDelete:
    """As a mirror, but a row that went stays with its last values, marked by `__cdc.deleted`, until its key comes again."""

    name: Mode = "soft_delete"
    cdc_type = CDC_TYPE
    every = False
    keeps = True

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        del target, key
        return rows.where(f"NOT {CDC}.deleted")

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        return changes.selectExpr(*named(step.target), f"{cdc_struct(deleted=_DELETED)} AS {CDC}")

    def merge(self, delta: DeltaTable, changes: DataFrame | None, step: MergeStep) -> None:
        clear = step.clear
        if clear is not None and (changes is None or not clear.read):
            sets = f"{CDC} = {soft_clear(clear)}"
            delta.update(sets, f"NOT {CDC}.deleted", step.goal if changes is None else step.applied)
            clear = None
        if changes is not None:
            on = f"{matches(step.target, step.key)} AND {soft_matches(step.key_since)}"
            delta.merge(changes, on, soft_clauses(step.target, clear), step.goal)


_DELETED = "op = 'd'"


def soft_matches(key_since: int) -> str:
    """A row that went under another key, or in a table that was dropped since, is another row, though its key be equal."""
    return f"(NOT t.{CDC}.deleted OR t.{CDC}.commit_scn > {key_since} OR c.commit_scn <= {key_since})"


def soft_clear(clear: Clear, source: str = "") -> str:
    """SQL of `__cdc` of a row that went with all others."""
    return (
        f"named_struct('op', 't', 'scn', {clear.scn}L, 'commit_scn', {clear.scn}L, 'seq', 0L, 'commit_time', {clear.time()},"
        f" 'row_id', {source}{CDC}.row_id, 'deleted', true)"
    )


def soft_clauses(target: Sequence[TableColumn], clear: Clear | None) -> str:
    """What MERGE does with a change: insert or update, unless the row has a later one.

    :param clear: a snapshot, which rows that it did not read do not outlast.
    """
    cdc = cdc_struct("c.", deleted=f"c.{_DELETED}")
    text = f"WHEN MATCHED AND {NEWER} THEN UPDATE SET {_sets(target)}, t.{CDC} = {cdc} WHEN NOT MATCHED THEN {_insert(target, cdc)}"
    if clear is not None:
        gone = f"NOT t.{CDC}.deleted AND t.{CDC}.commit_scn < {clear.scn}"
        text += f" WHEN NOT MATCHED BY SOURCE AND {gone} THEN UPDATE SET t.{CDC} = {soft_clear(clear, 't.')}"
    return text


MIRROR: TableMode = Mirror()
MODES: dict[Mode, TableMode] = {mode.name: mode for mode in (MIRROR, SoftDelete())}


def modes_of(config: LakeConfig) -> Callable[[str], TableMode]:
    """A function that returns the mode of a table `SCHEMA.TABLE`: that of the first entry of minercdc.lake.table.modes that matches
    it, else minercdc.lake.mode.
    """
    entries = [(configured_pattern(pattern), MODES[mode]) for pattern, mode in config.table_modes()]

    def mode(table: str) -> TableMode:
        return next((found for pattern, found in entries if pattern.matches(table)), MODES[config.minercdc_lake_mode])

    return mode


def cdc_struct(source: str = "", deleted: str = "false") -> str:
    """SQL of `__cdc` from the columns of a decoded row."""
    fields = ", ".join(f"{literal(name)}, {source}{name}" for name in CDC_FIELDS)
    return f"named_struct({fields}, 'deleted', {deleted})"


def named(target: Sequence[TableColumn]) -> list[str]:
    """SQL of the lake's columns from those of a decoded row."""
    return [f"c{i} AS {quoted(column.name)}" for i, column in enumerate(target)]


def as_rows(changes: DataFrame, target: Sequence[TableColumn]) -> DataFrame:
    """Changes as the rows of a mirror."""
    return changes.selectExpr(*named(target), f"{cdc_struct()} AS {CDC}")


def matches(target: Sequence[TableColumn], key: Sequence[str]) -> str:
    """SQL condition that a change `c` is one of the lake's row `t`."""
    if not key:
        return f"t.{CDC}.row_id = c.row_id"
    names = {column.id: column.name for column in target}
    return " AND ".join(f"t.{quoted(names[part])} <=> c.k{i}" for i, part in enumerate(key))


def mirror_clauses(target: Sequence[TableColumn]) -> str:
    """What MERGE does with a change: insert, update or delete, unless the row has a later one."""
    cdc = cdc_struct("c.")
    return (
        f"WHEN MATCHED AND {NEWER} AND c.op = 'd' THEN DELETE "
        f"WHEN MATCHED AND {NEWER} THEN UPDATE SET {_sets(target)}, t.{CDC} = {cdc} "
        f"WHEN NOT MATCHED AND c.op <> 'd' THEN {_insert(target, cdc)}"
    )


def _sets(target: Sequence[TableColumn]) -> str:
    return ", ".join(f"t.{quoted(column.name)} = c.c{i}" for i, column in enumerate(target))


def _insert(target: Sequence[TableColumn], cdc: str) -> str:
    names = (*(quoted(column.name) for column in target), CDC)
    values = (*(f"c.c{i}" for i in range(len(target))), cdc)
    return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"
