"""The modes of lake tables, one class per mode: how changes are applied to the table.

    mirror       the source's rows
    soft_delete  the source's rows, and those that went, marked as deleted
    append       every change as a row
    scd2         every version of a row, with the time and SCN from which, and up to which, it was valid

A change comes as a row of `decode` without `m0`, ..: the last one of each row, or more of them (`TableMode.takes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Mode
from minercdc.lake.merge.latest import latest_rows
from minercdc.lake.merge.rows import (
    APPEND_TYPE,
    CDC_FIELDS,
    CDC_TYPE,
    NEWER,
    SCD2_TYPE,
    Clear,
    MergeStep,
    TableMode,
    Takes,
    as_rows,
    cdc_struct,
    identity,
    insert_of,
    matches,
    named,
    sets_of,
)
from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.format import LakeTable
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Mirror(TableMode):
    """The source's rows."""

    name: Mode = "mirror"
    cdc_type = CDC_TYPE
    takes: Takes = "row"
    keeps = False

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """All rows: they are the source's."""
        del target, key
        return rows

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """The changes that are no deletes."""
        return as_rows(changes.where("op <> 'd'"), step.target)

    def merge(self, lake: LakeTable, changes: DataFrame | None, step: MergeStep) -> None:
        """See `TableMode`. A table without rows, or whose rows all went, is replaced as a whole."""
        if changes is None:
            if step.clear is not None:
                lake.clear()
        elif step.clear is not None or lake.is_empty():
            lake.replace(self.rows(changes, step), step.target, step.goal, self.name)
        else:
            lake.merge(changes, matches(step.target, step.key), mirror_clauses(step.target), step.goal)


def mirror_clauses(target: Sequence[TableColumn]) -> str:
    """SQL of what MERGE does with a change: insert, update or delete, unless the row has a later one."""
    cdc = cdc_struct("c.")
    return (
        f"WHEN MATCHED AND {NEWER} AND c.op = 'd' THEN DELETE "
        f"WHEN MATCHED AND {NEWER} THEN UPDATE SET {sets_of(target)}, t.{CDC} = {cdc} "
        f"WHEN NOT MATCHED AND c.op <> 'd' THEN {insert_of(target, cdc)}"
    )


class SoftDelete(TableMode):
    """As a mirror, but a row that went stays with its last values, marked by `__cdc.deleted`, until its key comes again."""

    name: Mode = "soft_delete"
    cdc_type = CDC_TYPE
    takes: Takes = "row"
    keeps = True

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """The rows that are not marked as deleted."""
        del target, key
        return rows.where(f"NOT {CDC}.deleted")

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """A row for each change, also of a delete, which is marked."""
        return changes.selectExpr(*named(step.target), f"{cdc_struct(deleted=_DELETED)} AS {CDC}")

    def merge(self, lake: LakeTable, changes: DataFrame | None, step: MergeStep) -> None:
        """See `TableMode`. Rows that a clear takes away are marked as deleted."""
        clear = step.clear
        if clear is not None and (changes is None or not clear.read):
            sets = f"{CDC} = {soft_clear(clear)}"
            lake.update(sets, f"NOT {CDC}.deleted", step.goal if changes is None else None)
            clear = None
        if changes is not None:
            on = f"{matches(step.target, step.key)} AND {soft_matches(step.key_since)}"
            lake.merge(changes, on, soft_clauses(step.target, clear), step.goal)


_DELETED = "op = 'd'"


def soft_matches(key_since: int) -> str:
    """SQL condition that a change `c` may be one of row `t`. A row that went under another key, or in a table that was dropped
    since, counts as another row, even if its key is the same.

    :param key_since: SCN from which on the table has its key; 0 for always.
    """
    return f"(NOT t.{CDC}.deleted OR t.{CDC}.commit_scn > {key_since} OR c.commit_scn <= {key_since})"


def soft_clear(clear: Clear, source: str = "") -> str:
    """SQL of `__cdc` of a row that went with all others.

    :param source: what stands before the row's own `__cdc`: `t.` in a MERGE, '' else.
    """
    return (
        f"named_struct('op', 't', 'scn', {clear.scn}L, 'commit_scn', {clear.scn}L, 'seq', 0L, 'commit_time', {clear.time()},"
        f" 'row_id', {source}{CDC}.row_id, 'deleted', true)"
    )


def soft_clauses(target: Sequence[TableColumn], clear: Clear | None) -> str:
    """SQL of what MERGE does with a change: insert or update, unless the row has a later one.

    :param clear: a snapshot: rows that it did not read become deleted ones; None for none.
    """
    cdc = cdc_struct("c.", deleted=f"c.{_DELETED}")
    # What is there already has values that the change itself may lack.
    later = f"(c.commit_scn > t.{CDC}.commit_scn OR (c.commit_scn = t.{CDC}.commit_scn AND (c.seq > t.{CDC}.seq OR t.{CDC}.op = 't')))"
    text = f"WHEN MATCHED AND {later} THEN UPDATE SET {sets_of(target)}, t.{CDC} = {cdc} WHEN NOT MATCHED THEN {insert_of(target, cdc)}"
    if clear is not None:
        gone = f"NOT t.{CDC}.deleted AND t.{CDC}.commit_scn < {clear.scn}"
        text += f" WHEN NOT MATCHED BY SOURCE AND {gone} THEN UPDATE SET t.{CDC} = {soft_clear(clear, 't.')}"
    return text


class Append(TableMode):
    """Every change as a row: a row of a snapshot (`r`), INSERT, UPDATE, DELETE with what was deleted, and `t` where all rows
    went."""

    name: Mode = "append"
    cdc_type = APPEND_TYPE
    takes: Takes = "change"
    keeps = True

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """What the changes since the last `t` row make: the last change of each row, unless it is a delete."""
        from pyspark.sql.functions import broadcast, expr

        names = {column.id: column.name for column in target}
        flat = rows.selectExpr(
            *(f"{CDC}.{name} AS {name}" for name in CDC_FIELDS),
            "0 AS partition",
            "0L AS offset",
            *(f"{quoted(names[part])} AS k{i}" for i, part in enumerate(key)),
            *(f"{quoted(column.name)} AS c{i}" for i, column in enumerate(target)),
        )
        begun = flat.where("op = 't'").agg(expr("coalesce(max(commit_scn), 0) AS begun"))
        flat = flat.crossJoin(broadcast(begun)).where("op <> 't' AND commit_scn >= begun").drop("begun")
        return as_rows(latest_rows(flat, identity(key), unplaced=True).where("op <> 'd'"), target)

    def rekey(self, lake: LakeTable, target: Sequence[TableColumn], key: Sequence[str], begins: Clear) -> None:
        """Append a `t` row and the source's rows, as those of a snapshot: the new key finds no row under the old one.
        Nothing is done where that was done before a kill."""
        if _is_cleared(lake, begins):
            return
        rows = lake.read()
        again = f"named_struct({_again(begins, 'r')}, 'row_id', {CDC}.row_id) AS {CDC}"
        names = [quoted(column.name) for column in target]
        present = self.current(rows, target, key).selectExpr(*names, again)
        lake.append(cleared(rows, target, begins).unionByName(present), None)

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """A row for each change."""
        return changes.selectExpr(*named(step.target), f"{change_struct()} AS {CDC}")

    def merge(self, lake: LakeTable, changes: DataFrame | None, step: MergeStep) -> None:
        """See `TableMode`. Where changes may be there already, only those that are not are added."""
        clear = step.clear
        rows = [] if changes is None else [self.rows(changes, step)]
        if clear is not None and not lake.is_empty() and not _is_cleared(lake, clear):
            if changes is not None and step.late:
                lake.append(cleared(lake.read(), step.target, clear), None)
            else:
                rows.append(cleared(lake.read(), step.target, clear))
        if changes is not None and step.late:
            same = " AND ".join(f"t.{CDC}.{name} = c.{name}" for name in ("commit_scn", "seq", "op"))
            values = insert_of(step.target, change_struct("c."))
            lake.merge(changes, f"{same} AND {matches(step.target, step.key)}", f"WHEN NOT MATCHED THEN {values}", step.goal)
        elif rows:
            lake.append(rows[0] if len(rows) == 1 else rows[0].unionByName(rows[1]), step.goal, known=step.applied)


def _is_cleared(lake: LakeTable, clear: Clear) -> bool:
    """Whether a table of changes has the `t` row of this clear already, as after a kill."""
    return not lake.read().where(f"{CDC}.op = 't' AND {CDC}.commit_scn = {clear.scn}").isEmpty()


def change_struct(source: str = "") -> str:
    """SQL of `__cdc` of a change that is a row of its own."""
    return f"named_struct({', '.join(f'{literal(name)}, {source}{name}' for name in CDC_FIELDS)})"


def cleared(rows: DataFrame, target: Sequence[TableColumn], clear: Clear) -> DataFrame:
    """The one row (op `t`), with nulls in the columns of `target`, that says that all rows of before went.

    :param rows: any frame; its session is used.
    """
    nulls = (f"CAST(NULL AS {column.type}) AS {quoted(column.name)}" for column in target)
    struct = f"named_struct({_again(clear, 't')}, 'row_id', CAST(NULL AS STRING)) AS {CDC}"
    return rows.sparkSession.range(1).selectExpr(*nulls, struct)


def _again(clear: Clear, op: str) -> str:
    """SQL of members of `__cdc` of what begins with a clear."""
    return f"'op', '{op}', 'scn', {clear.scn}L, 'commit_scn', {clear.scn}L, 'seq', 0L, 'commit_time', {clear.time()}"


class Scd2(TableMode):
    """Every version of a row; `__cdc` says from when to when it was valid, by commit time and by commit SCN."""

    name: Mode = "scd2"
    cdc_type = SCD2_TYPE
    takes: Takes = "commit"
    keeps = True

    def current(self, rows: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
        """The versions that are valid, with `__cdc` as a mirror has it."""
        del target, key
        from pyspark.sql.functions import expr

        return rows.where(_OPEN).withColumn(CDC, expr(cdc_struct(f"{CDC}.")))

    def rows(self, changes: DataFrame, step: MergeStep) -> DataFrame:
        """The versions that the changes make."""
        versions = versions_of(changes, None, step).where("NOT closes")
        return versions.selectExpr(*named(step.target), f"{version_struct()} AS {CDC}")

    def merge(self, lake: LakeTable, changes: DataFrame | None, step: MergeStep) -> None:
        """See `TableMode`. A version that a change ends, or that a clear takes away, gets its end."""
        clear = step.clear
        if clear is not None and (changes is None or not clear.read):
            sets = f"{CDC}.valid_to = {clear.time()}, {CDC}.valid_to_scn = {clear.scn}L"
            lake.update(sets, _OPEN, step.goal if changes is None else None)
            clear = None
        if changes is not None:
            step = replace(step, clear=clear)
            known = known_versions(lake.read(), step) if step.late or step.read else None
            on = f"c.closes AND t.{_OPEN} AND {matches(step.target, step.key)}"
            lake.merge(versions_of(changes, known, step), on, version_clauses(step.target, clear), step.goal)


_OPEN = f"{CDC}.valid_to_scn IS NULL"


def known_versions(rows: DataFrame, step: MergeStep) -> DataFrame:
    """Per row of the source that the lake has: its key (`p0`, ..), the commit SCN of the last change that the lake knows
    (`edge`), and a struct of the valid values (`open`), null for a row that went.

    :param rows: of the lake table.
    """
    from pyspark.sql.functions import expr

    names = {column.id: column.name for column in step.target}
    keys = [quoted(names[part]) for part in step.key] or [f"{CDC}.row_id"]
    values = ", ".join(f"'c{i}', {quoted(column.name)}" for i, column in enumerate(step.target))
    flat = rows.selectExpr(
        *(f"{key} AS p{i}" for i, key in enumerate(keys)),
        f"coalesce({CDC}.valid_to_scn, {CDC}.valid_from_scn) AS changed",
        f"if({_OPEN}, named_struct({values}), NULL) AS valid",
    )
    by = [f"p{i}" for i in range(len(keys))]
    return flat.groupBy(*by).agg(expr("max(changed) AS edge"), expr("first(valid, true) AS open"))


def versions_of(changes: DataFrame, known: DataFrame | None, step: MergeStep) -> DataFrame:
    """Of the last changes of each row in each commit: the versions that they make, and per row what closes the one before
    (`closes`); `valid_to_scn` and `valid_to` are null for a version that is valid still.

    A row that was read again, with the values that it had, makes no version.

    :param known: result of `known_versions`, where changes may be in the lake already, or rows were read; else None.
    """
    from pyspark.sql.functions import expr

    by = identity(step.key)
    keys = ", ".join(by)
    values = f"struct({', '.join(f'c{i}' for i in range(len(step.target)))})"
    in_order = f"PARTITION BY {keys} ORDER BY commit_scn"
    valid = f"lag(if(op = 'd', NULL, {values})) OVER ({in_order})"
    if known is not None:
        same = " AND ".join(f"{name} <=> p{i}" for i, name in enumerate(by))
        changes = changes.join(known, expr(same), "left").where("edge IS NULL OR commit_scn > edge")
        valid = f"if(row_number() OVER ({in_order}) = 1, open, {valid})"
    rows = changes.selectExpr("*", f"{valid} AS valid", f"row_number() OVER ({in_order}) = 1 AS first")
    rows = rows.selectExpr("*", f"op = 'r' AND valid IS NOT NULL AND valid <=> {values} AS same")
    ahead = f"{in_order} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"
    at = "named_struct('scn', commit_scn, 'time', commit_time)"
    rows = rows.selectExpr("*", f"min(if(same, NULL, {at})) OVER ({ahead}) AS next", f"{at} AS at")
    ends = "at" if step.clear is None else f"named_struct('scn', {step.clear.scn}L, 'time', {step.clear.time()})"
    makes = "filter(array(if(first, true, NULL), if(NOT same AND op <> 'd', false, NULL)), one -> one IS NOT NULL)"
    rows = rows.selectExpr("*", f"explode({makes}) AS closes", f"if(same, next, {ends}) AS ends")
    kept = [*CDC_FIELDS, *(name for name in by if name not in CDC_FIELDS), *(f"c{i}" for i in range(len(step.target)))]
    return rows.selectExpr(
        *kept, "closes", "if(closes, ends, next).scn AS valid_to_scn", "if(closes, ends, next).time AS valid_to"
    )


def version_struct(source: str = "") -> str:
    """SQL of `__cdc` of a version."""
    valid = f"'valid_from', {source}commit_time, 'valid_from_scn', {source}commit_scn"
    return f"{change_struct(source)[:-1]}, {valid}, 'valid_to', {source}valid_to, 'valid_to_scn', {source}valid_to_scn)"


def version_clauses(target: Sequence[TableColumn], clear: Clear | None) -> str:
    """SQL of what MERGE does with rows of `versions_of`.

    :param clear: a snapshot: versions of rows that it did not read end with it; None for none.
    """
    text = (
        f"WHEN MATCHED AND c.valid_to_scn > t.{CDC}.valid_from_scn"
        f" THEN UPDATE SET t.{CDC}.valid_to = c.valid_to, t.{CDC}.valid_to_scn = c.valid_to_scn"
        f" WHEN NOT MATCHED AND NOT c.closes THEN {insert_of(target, version_struct('c.'))}"
    )
    if clear is not None:
        gone = f"t.{_OPEN} AND t.{CDC}.valid_from_scn < {clear.scn}"
        sets = f"t.{CDC}.valid_to = {clear.time()}, t.{CDC}.valid_to_scn = {clear.scn}L"
        text += f" WHEN NOT MATCHED BY SOURCE AND {gone} THEN UPDATE SET {sets}"
    return text


MIRROR: TableMode = Mirror()
MODES: dict[Mode, TableMode] = {mode.name: mode for mode in (MIRROR, SoftDelete(), Append(), Scd2())}


def modes_of(config: ConnectorConfig) -> Callable[[TableId], TableMode]:
    """A function that returns the mode of a table: that of the first entry of minercdc.lake.table.modes that matches one of
    `TableNames.given`, else minercdc.lake.mode.
    """
    entries = [(configured_pattern(pattern), MODES[mode]) for pattern, mode in config.lake.table_modes()]
    names, otherwise = table_names(config), MODES[config.lake.minercdc_lake_mode]

    def mode(table: TableId) -> TableMode:
        given = names.given(table)
        return next((found for pattern, found in entries if any(map(pattern.matches, given))), otherwise)

    return mode
