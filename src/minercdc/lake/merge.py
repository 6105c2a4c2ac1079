"""Brings one lake table to a commit SCN: the pending records of the change log, decoded, reduced to one per row, and merged.

Pending are the records of later batches than the table has, and those of its batches that were committed after its SCN.

Each merge is one Delta commit that says how far the table is then. A merge that is repeated after a kill does not make a
difference: a change never overwrites a row with a later (commit SCN, number within the transaction).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.change_log import Arrival, ChangeLog
from minercdc.lake.columns import CDC, TableColumn, evolution
from minercdc.lake.decode import RowDecoder, TableShape
from minercdc.lake.delta import Applied, DeltaTable
from minercdc.lake.history import TableHistory
from minercdc.lake.latest import complete_rows, latest_records, latest_rows
from minercdc.lake.sql import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CDC_FIELDS = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id")
CDC_TYPE = "STRUCT<op: STRING, scn: BIGINT, commit_scn: BIGINT, seq: BIGINT, commit_time: TIMESTAMP, row_id: STRING, deleted: BOOLEAN>"
NEWER = f"(c.commit_scn > t.{CDC}.commit_scn OR (c.commit_scn = t.{CDC}.commit_scn AND c.seq >= t.{CDC}.seq))"


@dataclass(frozen=True, slots=True)
class Pending:
    """The records that bring a table from one state to another.

    :param scn: records up to this commit SCN.
    :param since: rows that were changed before this SCN are gone; 0 for none.
    :param snapshot: rows that were committed before this SCN are gone, since an initial snapshot read all rows; 0 for none.
    :param read: what was committed up to this SCN is in the table, as it was read from Oracle; 0 for none.
    :param clears: the table has such rows.
    :param scns: lowest and highest SCN among them, as far as known.
    :param rows: at most so many records.
    :param partial: some have the placeholder in place of a value.
    """

    scn: int
    since: int
    snapshot: int
    read: int
    clears: bool
    scns: tuple[int, int]
    rows: int
    partial: bool


def is_pending(arrival: Arrival, applied: Applied, goal: Applied) -> bool:
    """Whether a batch may hold records between the two."""
    later = arrival.batch > applied.batch or arrival.highest > applied.scn
    return later and arrival.batch <= goal.batch and arrival.lowest <= goal.scn


def pending(
    table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, *, truncate: bool, read: int = 0
) -> Pending:
    """What has to be done to bring a table from `applied` to `goal`.

    :param truncate: whether TRUNCATE removes rows.
    :param read: SCN as of which the table was read from Oracle last, 0 for none.
    """
    scn = goal.scn
    if not table.exists_at(scn):  # dropped: it keeps the rows that it had
        scn = max((gone for gone in table.dropped if gone <= goal.scn), default=scn + 1) - 1
    mine = [arrival for arrival in arrivals if is_pending(arrival, applied, Applied(scn, goal.batch))]
    # Also those that the table has passed: a change log that was read again has rows of before.
    emptied = [at for at in table.created if at <= scn]
    if truncate:
        emptied += [at for at in (*table.truncated, *(a.truncated for a in mine)) if at <= scn]
    lowest = min((arrival.scns[0] for arrival in mine), default=0)
    highest = max((arrival.scns[1] for arrival in mine), default=0)
    since = max(emptied, default=0)
    reads = [*table.reads, *(a.snapshot for a in mine if a.snapshot in table.snapshots)]
    snapshot = max((at for at in reads if at <= scn), default=0)
    return Pending(
        scn,
        since,
        snapshot,
        read if read <= applied.scn else 0,
        max(since, snapshot) > applied.scn,
        (max(lowest, since), max(highest, since)),
        sum(arrival.rows for arrival in mine),
        any(arrival.partial for arrival in mine),
    )


def pending_filter(topic: str, work: Pending, applied: Applied, batch: int) -> str:
    """SQL condition of these records in the change log."""
    return (
        f"topic = {literal(topic)} AND batch <= {batch} AND commit_scn <= {work.scn} AND op <> 't' AND scn >= {work.since} "
        f"AND commit_scn >= {work.snapshot} AND commit_scn > {work.read} "
        f"AND NOT (batch <= {applied.batch} AND commit_scn <= {applied.scn})"
    )


def stages(table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied) -> list[Applied]:
    """The goals to bring a table to, one after another, so that within each step a row keeps its ROWID.

    Missing values are taken from earlier changes of the same ROWID, and MOVE gives rows other ones. It waits for the transactions
    on its table, so all changes before it have lower commit SCNs.
    """
    if not any(arrival.partial and is_pending(arrival, applied, goal) for arrival in arrivals):
        return [goal]
    moved = sorted({scn - 1 for scn, _ in table.moved if applied.scn < scn - 1 < goal.scn})
    return [*(Applied(scn, goal.batch) for scn in moved), goal]


class TableMerge:
    """Merges tables; one per thread.

    :param log: read in the session of the thread.
    """

    def __init__(self, config: ConnectorConfig, log: ChangeLog, decoder: RowDecoder) -> None:
        self._lake = config.lake
        self._log = log
        self._decoder = decoder

    def run(
        self,
        delta: DeltaTable,
        table: TableHistory,
        arrivals: Sequence[Arrival],
        applied: Applied,
        goal: Applied,
        *,
        read: int = 0,
        again: bool = False,
    ) -> None:
        """Bring `table` from `applied` to `goal`.

        :param arrivals: of its topic, as far as they may be pending.
        :param read: SCN as of which the table was read from Oracle last, 0 for none.
        :param again: replace what is there by what the change log has, in one commit.
        :raises LakeError: its topic holds records that are no envelopes of ours.
        """
        for stage in stages(table, arrivals, applied, goal):
            self._run(delta, table, arrivals, applied, stage, read=read, again=again)
            applied, again = stage, False

    def _run(
        self,
        delta: DeltaTable,
        table: TableHistory,
        arrivals: Sequence[Arrival],
        applied: Applied,
        goal: Applied,
        *,
        read: int,
        again: bool,
    ) -> None:
        truncate = self._lake.minercdc_lake_truncate == "apply"
        work = pending(table, arrivals, applied, goal, truncate=truncate, read=read)
        if not table.versions or table.versions[0].since > work.scn:
            return
        _refuse_undecodable(table, [a for a in arrivals if is_pending(a, applied, goal)], self._log.path)
        shape = self._decoder.shape(table.version_at(work.scn))
        there = delta.columns()
        recreated = again or (any(applied.scn < scn <= work.scn for scn in table.created) and applied.scn > 0)
        if there is None or recreated:
            target, empty = shape.table_columns(), True
        else:
            target = self._evolved(delta, table, shape, there, work, applied)
            empty = work.clears or delta.is_empty()
        if not work.rows:
            if there is None or recreated:
                delta.create(target, CDC_TYPE)
            elif work.clears:
                delta.clear()
            return
        key = key_ids(shape)
        refuse_unplaced(table, key, arrivals, applied, goal)
        rows = self._log.rows().where(pending_filter(table.topic, work, applied, goal.batch))
        changes = reduced(self._decoder, rows, None if empty else delta.read(), table, target, key, work)
        if empty:
            delta.replace(as_rows(changes.where("op <> 'd'"), target), target, goal)
        else:
            delta.merge(changes, matches(target, key), _clauses(target), goal)

    def _evolved(
        self,
        delta: DeltaTable,
        table: TableHistory,
        shape: TableShape,
        there: Sequence[TableColumn],
        work: Pending,
        applied: Applied,
    ) -> list[TableColumn]:
        """Bring the lake table's columns to those of the source, and fill older rows with the DEFAULT of an added one.

        :returns: the columns that the source has, in its order.
        """
        wanted = shape.table_columns()
        known = {field.id for version in table.versions for field in version.fields}
        steps = evolution(there, wanted, known, self._lake.minercdc_lake_type_change)
        for step in steps:
            delta.take(step)
        if steps:
            there = delta.columns() or []
        of_id = {column.id: column for column in there}
        for number, (since, value) in self._decoder.fills(table).items():
            if number in of_id and applied.scn < since <= work.scn:
                delta.fill(of_id[number], value, since)
        return [of_id[column.id] for column in wanted]


def reduced(
    decoder: RowDecoder,
    rows: DataFrame,
    present: DataFrame | None,
    table: TableHistory,
    target: Sequence[TableColumn],
    key: Sequence[str],
    work: Pending,
) -> DataFrame:
    """The last change of each row, decoded.

    :param rows: the pending records of the change log.
    :param present: the rows in the lake, None when there are none.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    first, last = table.version_at(work.scns[0]), table.version_at(work.scns[1])
    one_version = first is last and key_ids(decoder.shape(first)) == list(key)  # an ALTER may have changed the key since
    large = any(column.unavailable is not None for _, column, _ in decoder.shape(last).columns)
    if one_version and not work.partial:
        records = latest_records(rows, ["key"] if key else ["row_id"], large=large, count=work.rows)
        return decoder.decode(records, table, target, key, work.scns)
    decoded = decoder.decode(rows, table, target, key, work.scns, partial=work.partial, before=not one_version)
    by = [f"k{i}" for i in range(len(key))] or ["row_id"]
    return complete_rows(decoded, present, target, key, by) if work.partial else latest_rows(decoded, by, large=large)


def _refuse_undecodable(table: TableHistory, arrivals: Sequence[Arrival], log_path: str) -> None:
    if count := sum(arrival.undecodable for arrival in arrivals):
        raise LakeError(
            f"topic {table.topic} holds {count} records that are no change events of minercdc",
            hint="Delete them from the change log, then start the lake again: "
            f"DELETE FROM delta.`{log_path}` WHERE topic = '{table.topic}' AND (op IS NULL OR scn IS NULL)",
        )


def refuse_unplaced(
    table: TableHistory, key: Sequence[str], arrivals: Sequence[Arrival], applied: Applied, goal: Applied
) -> None:
    """Raise LakeError when rows that are pending can be found neither by key nor by ROWID."""
    count = 0 if key else sum(arrival.unplaced for arrival in arrivals if is_pending(arrival, applied, goal))
    if count:
        raise LakeError(
            f"{table.name} has no key, and {count} changes of it have no ROWID: redo does not hold that of an INSERT with large values",
            hint="Name columns that identify its rows in message.key.columns; or set lob.enabled=false. Then rebuild the table.",
        )


def key_ids(shape: TableShape) -> list[str]:
    """Ids of the key's columns, in the order of the record key."""
    ids = {field.name: field.id for field, _, _ in shape.columns}
    return [ids[name] for name in shape.key]


def cdc_struct(source: str = "") -> str:
    """SQL of `__cdc` from the columns of a decoded row."""
    fields = ", ".join(f"{literal(name)}, {source}{name}" for name in CDC_FIELDS)
    return f"named_struct({fields}, 'deleted', false)"


def as_rows(changes: DataFrame, target: Sequence[TableColumn]) -> DataFrame:
    return changes.selectExpr(*(f"c{i} AS {quoted(c.name)}" for i, c in enumerate(target)), f"{cdc_struct()} AS {CDC}")


def matches(target: Sequence[TableColumn], key: Sequence[str]) -> str:
    if not key:
        return f"t.{CDC}.row_id = c.row_id"
    names = {column.id: column.name for column in target}
    return " AND ".join(f"t.{quoted(names[part])} <=> c.k{i}" for i, part in enumerate(key))


def _clauses(target: Sequence[TableColumn]) -> str:
    """What MERGE does with a change: insert, update or delete, unless the row has a later one."""
    names = [quoted(column.name) for column in target]
    values = [f"c.c{i}" for i in range(len(target))]
    sets = ", ".join(f"t.{name} = {value}" for name, value in zip(names, values, strict=True))
    cdc = cdc_struct("c.")
    return (
        f"WHEN MATCHED AND {NEWER} AND c.op = 'd' THEN DELETE "
        f"WHEN MATCHED AND {NEWER} THEN UPDATE SET {sets}, t.{CDC} = {cdc} "
        f"WHEN NOT MATCHED AND c.op <> 'd' THEN INSERT ({', '.join((*names, CDC))}) VALUES ({', '.join((*values, cdc))})"
    )
