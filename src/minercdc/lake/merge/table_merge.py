"""Brings one lake table to a commit SCN: the pending records of the change log, decoded, reduced to one per row, and merged.

Pending are the records of later batches than the table has, and those of its batches that were committed after its SCN.

Each merge ends with a commit that says how far the table is then. A merge that is repeated after a kill does not make a
difference: a change never overwrites a row with a later (commit SCN, number within the transaction).
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.merge.compiled import CompiledReads
from minercdc.lake.merge.joint_read import JointRead, JointTable
from minercdc.lake.merge.kept_records import KeptRecords
from minercdc.lake.merge.latest import FEW_ROWS, complete_rows, latest_records, latest_rows
from minercdc.lake.merge.modes import MIRROR, modes_of
from minercdc.lake.merge.pending import Pending, clearings, pending, stages
from minercdc.lake.merge.rows import Clear, MergeStep, TableMode, identity
from minercdc.lake.read.decode import RowDecoder, ScannedRows, TableShape
from minercdc.lake.read.native_columns import RecordLeft
from minercdc.lake.stream.change_log import Arrival, ChangeLog
from minercdc.lake.table.columns import CDC, TableColumn, TypeChange, evolution, recommented
from minercdc.lake.table.format import Applied, LakeTable, LastChanges
from minercdc.lake.table.history import TableHistory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_IN_TASK = 250_000  # records whose last ones are found in one task, without a shuffle


class TableMerge:
    """Merges tables; each thread has one of its own.

    :param log: the change log, in the session of the thread.
    :param joint: what was read for several tables at once; None for nothing.
    :param compiled: whether compiled code decodes; None for never.
    :param kept: records that this process has; None for none.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        log: ChangeLog,
        decoder: RowDecoder,
        joint: JointRead | None = None,
        compiled: CompiledReads | None = None,
        kept: KeptRecords | None = None,
    ) -> None:
        self._lake = config.lake
        self._mode_of = modes_of(config)
        self._log = log
        self._decoder = decoder
        self._joint = joint
        self._compiled = compiled
        self._kept = kept

    def run(
        self,
        lake: LakeTable,
        table: TableHistory,
        arrivals: Sequence[Arrival],
        applied: Applied,
        goal: Applied,
        *,
        read: int = 0,
        furthest: int = 0,
        again: bool = False,
    ) -> None:
        """Bring `table` from `applied` to `goal`.

        :param lake: its lake table, in the session of the thread; made where there is none.
        :param arrivals: of its topic, all that may be pending.
        :param read: SCN as of which the table was read from Oracle last, 0 for none.
        :param furthest: SCN up to which the table may have changes already; 0 for `applied`.
        :param again: the first commit replaces what is there by what the change log has.
        :raises LakeError: its topic holds records that are no envelopes of ours; the lake table is not ours, or was made in
            another mode; or rows have neither a key nor a ROWID.
        """
        mode = self._mode_of(table.table)
        if not again and lake.exists() and (there := lake.mode()) != mode.name and lake.columns() is not None:
            raise LakeError(
                f"{table.name} is configured as {mode.name} (minercdc.lake.mode, minercdc.lake.table.modes), but its lake table was created as {there}",
                hint=f"Rebuild it: minercdc lake rebuild CONFIG --table {shlex.quote(table.name)}",
            )
        for stage in self._stages(table, arrivals, applied, goal, mode):
            work = pending(table, arrivals, applied, stage, truncate=self._truncates, read=read, furthest=furthest)
            if table.versions and table.versions[0].since <= work.scn:  # a table at that SCN
                try:
                    self._run(lake, table, work, stage, mode, again=again)
                except Exception as error:
                    if self._compiled is None or not self._compiled.goes_on(error, table.name):
                        raise
                    self._run(lake, table, work, stage, mode, again=again)
                again = False
            applied = stage
        if table.comment is not None and lake.exists() and lake.comment() != table.comment:
            lake.describe(table.comment)

    def joint_table(
        self, table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, *, read: int
    ) -> JointTable | None:
        """The part of the change log that `run` can read together with those of other tables; None: `run` reads it by itself.

        :param arrivals, applied, goal, read: see `run`.
        """
        mode = self._mode_of(table.table)
        work = pending(table, arrivals, applied, goal, truncate=self._truncates, read=read)
        if not 0 < work.rows < FEW_ROWS or not table.versions or table.versions[0].since > work.scn:
            return None
        if len(self._stages(table, arrivals, applied, goal, mode)) > 1:
            return None
        key = key_ids(self._decoder.shape(table.version_at(work.scn)))
        if work.unplaced or not _takes_records(self._decoder, table, key, work, mode):
            return None
        if self._is_scanned(table, work):
            return None
        return JointTable(work.limits(table.topic), bool(key), work.rows)

    def unread(
        self, table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, *, read: int
    ) -> tuple[Arrival, ...]:
        """The batches whose records `run` takes from those that this process has; none where Spark has to read them.

        :param arrivals, applied, goal, read: see `run`.
        """
        mode = self._mode_of(table.table)
        work = pending(table, arrivals, applied, goal, truncate=self._truncates, read=read)
        if not work.rows or not table.versions or table.versions[0].since > work.scn:
            return ()
        key = key_ids(self._decoder.shape(table.version_at(work.scn)))
        if not _takes_alone(self._decoder, table, key, work, mode) or not self._decodes_here(table, work):
            return ()
        return work.arrivals

    def _decodes_here(self, table: TableHistory, work: Pending) -> bool:
        """Whether this process decodes the records of a table version that it has."""
        if self._kept is None or self._compiled is None or not self._compiled.takes_scanned(table.name):
            return False
        return self._decoder.is_compiled(table.version_at(work.scn))

    def _is_scanned(self, table: TableHistory, work: Pending) -> bool:
        """Whether `_scanned` has the records of a table version, as far as that is known before they are read."""
        return self._kept is not None and self._decodes_here(table, work) and self._kept.has(work.arrivals)

    def _stages(
        self, table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, mode: TableMode
    ) -> list[Applied]:
        apart = rekeyings(self._decoder, table)
        if mode.keeps:  # what was done to rows comes before they go
            apart += [scn for scns in clearings(table, arrivals, goal.scn, truncate=self._truncates) for scn in scns]
        return stages(table, arrivals, applied, goal, apart=apart)

    @property
    def _truncates(self) -> bool:
        return self._lake.minercdc_lake_truncate == "apply"

    def _run(
        self, lake: LakeTable, table: TableHistory, work: Pending, goal: Applied, mode: TableMode, *, again: bool
    ) -> None:
        """One step of `run`."""
        applied = work.applied
        refuse_undecodable(table, work, self._log.table.name)
        shape = self._decoder.shape(table.version_at(work.scn))
        key, clear = key_ids(shape), work.clear(table)
        since = key_since(self._decoder, table, work.scn)
        recreated = any(applied.scn < scn <= work.scn for scn in table.created) and applied.scn > 0
        there = lake.columns()
        if again or (recreated and not mode.keeps):
            there = None
        if there is not None and clear is None and applied.scn < since <= work.scn:
            old = key_ids(self._decoder.shape(table.version_at(applied.scn)))
            if not key:
                refuse_unplaced_rows(table, mode.current(lake.read(), there, old))
            mode.rekey(lake, there, old, Clear(since, table.times.get(since), read=False))
        new = there is None
        target = table.commented(shape.table_columns()) if there is None else self._evolved(lake, table, shape, there, work)
        step = MergeStep(target, key, since, clear, work.late, work.reads, applied, goal)
        changes = None
        if work.rows:
            refuse_unplaced(table, key, work)
            rows = self._scanned(table, target, key, work, mode)
            if rows is not None and not again and self._merged(lake, rows, step, mode, new=new):
                return
            if rows is not None:
                changes = rows.frame(self._log.spark)
            else:
                present = None if new or clear is not None else mode.current(lake.read(), target, key)
                changes = self._changes(present, table, target, key, work, mode)
        if not new:
            mode.merge(lake, changes, step)
        elif changes is None:
            lake.create(target, mode.cdc_type, mode.name, goal)
        else:
            lake.replace(mode.rows(changes, step), target, goal, mode.name)

    def _changes(
        self,
        present: DataFrame | None,
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        work: Pending,
        mode: TableMode,
    ) -> DataFrame:
        limits = work.limits(table.topic)
        if self._joint is not None and (records := self._joint.records(self._log.spark, limits)) is not None:
            return self._decoder.decode(records, table, target, key, work.scns, before=mode.keeps, short=work.is_short)
        rows = self._log.rows().where(limits.condition())
        if self._compiled is not None and self._compiled.takes(table.name, work.rows):
            found = compiled(self._decoder, rows, table, target, key, work, mode)
            if found is not None:
                return found
        return reduced(self._decoder, rows, present, table, target, key, work, mode)

    def _scanned(
        self,
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        work: Pending,
        mode: TableMode,
    ) -> ScannedRows | None:
        """The changes, of records that this process has; None where it lacks some, or only SQL decodes them."""
        if self._kept is None or self._compiled is None or not self._compiled.takes_scanned(table.name):
            return None
        if not _takes_alone(self._decoder, table, key, work, mode):
            return None
        if (rows := self._kept.of(work.limits(table.topic), work.arrivals)) is None:
            return None
        try:
            every = mode.takes == "change"
            return self._decoder.scanned(rows, table, target, key, work.scns, before=mode.keeps, every=every)
        except RecordLeft:
            self._compiled.leave(table.name)
            return None

    def _merged(self, lake: LakeTable, rows: ScannedRows, step: MergeStep, mode: TableMode, *, new: bool) -> bool:
        """Whether changes that this process has are in the table now, with no Spark job."""
        if mode.takes == "commit" or (step.clear is not None and not new) or (columns := rows.rows()) is None:
            return False
        if not new and ((mode.takes == "change" and step.late) or (mode.keeps and step.key_since)):
            return False
        changes = LastChanges(columns, step.target, step.key, mode.name, step.applied)
        return lake.create_of(changes, mode.cdc_type, step.goal) if new else lake.merge_rows(changes, step.goal)

    def _evolved(
        self,
        lake: LakeTable,
        table: TableHistory,
        shape: TableShape,
        there: Sequence[TableColumn],
        work: Pending,
    ) -> list[TableColumn]:
        """Bring the lake table's columns to those of the source, and fill older rows with the DEFAULT of an added one.

        :returns: the columns that the source has, in its order.
        """
        # The columns of a table that was dropped since are taken for those of the same names.
        made = max((scn for scn in table.created if scn <= work.scn), default=0)
        known = {field.id for version in table.versions if version.since >= made for field in version.fields}
        columns = evolved(lake, there, table.commented(shape.table_columns()), known, self._lake.minercdc_lake_type_change)
        of_id = {column.id: column for column in columns}
        for number, (since, value) in self._decoder.fills(table).items():
            if number in of_id and work.applied.scn < since <= work.scn:
                lake.fill(of_id[number], value, since)
        return columns


def evolved(
    lake: LakeTable,
    there: Sequence[TableColumn],
    wanted: Sequence[TableColumn],
    known: Collection[str],
    policy: TypeChange,
) -> list[TableColumn]:
    """Bring a lake table's columns to the wanted ones, as `LakeTable.take_all`; for the other parameters see `columns.evolution`.

    :returns: those, in their order, as the table has them then: a type may be wider than the wanted one.
    """
    while steps := evolution(there, wanted, known, policy, lake.can_widen):
        lake.take_all(there, steps)
        there = lake.columns() or []
    if comments := recommented(there, wanted):  # once: a catalog may keep less of a comment than it was given
        lake.take_all(there, comments)
    of_id = {column.id: column for column in there}
    return [of_id[column.id] for column in wanted]


def reduced(
    decoder: RowDecoder,
    rows: DataFrame,
    present: DataFrame | None,
    table: TableHistory,
    target: Sequence[TableColumn],
    key: Sequence[str],
    work: Pending,
    mode: TableMode = MIRROR,
) -> DataFrame:
    """The changes that the mode takes, decoded: the last one of each row, the last one of each row in each commit, or all.

    :param target: columns of the lake table.
    :param work: what the records are.
    :param rows: the pending records of the change log.
    :param present: the source's rows in the lake, None when there are none.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    one_version = _has_one_version(decoder, table, key, work)
    partial, by = _lacks_values(work, mode), identity(key)
    if _takes_records(decoder, table, key, work, mode):
        records = latest_records(rows, ["key"] if key else ["row_id"], unplaced=bool(work.unplaced), count=work.rows)
        return decoder.decode(records, table, target, key, work.scns, before=mode.keeps, short=work.is_short)
    if mode.keeps:  # a record may be in the change log twice
        rows = rows.dropDuplicates(["partition", "offset", "commit_scn", "seq"])
    images = mode.keeps or not one_version
    decoded = decoder.decode(rows, table, target, key, work.scns, partial=partial, before=images, short=work.is_short)
    if partial:
        decoded = complete_rows(decoded, present, target, key, by, every=mode.takes != "row", before=mode.keeps)
        if mode.takes == "row":
            return decoded
    if mode.takes == "change":
        return decoded
    return latest_rows(decoded, by if mode.takes == "row" else [*by, "commit_scn"], unplaced=bool(work.unplaced))


def compiled(
    decoder: RowDecoder,
    rows: DataFrame,
    table: TableHistory,
    target: Sequence[TableColumn],
    key: Sequence[str],
    work: Pending,
    mode: TableMode,
) -> DataFrame | None:
    """As `reduced`, of the last record of each row, by compiled code; None where that is not enough, or only SQL decodes the records."""
    if not _takes_records(decoder, table, key, work, mode):
        return None
    last = not work.unplaced and work.rows <= _MOST_IN_TASK
    if not last:
        rows = latest_records(rows, ["key"] if key else ["row_id"], unplaced=bool(work.unplaced), count=work.rows)
    return decoder.compiled(rows, table, target, key, work.scns, before=mode.keeps, last=last)


def _has_one_version(decoder: RowDecoder, table: TableHistory, key: Sequence[str], work: Pending) -> bool:
    first, last = table.version_at(work.scns[0]), table.version_at(work.scns[1])
    return first is last and key_ids(decoder.shape(first)) == list(key)  # an ALTER may have changed the key since


def _lacks_values(work: Pending, mode: TableMode) -> bool:
    return work.partial or (mode.keeps and work.vanished)


def _takes_records(decoder: RowDecoder, table: TableHistory, key: Sequence[str], work: Pending, mode: TableMode) -> bool:
    """Whether the last record of each row says all, so that no other has to be decoded."""
    return mode.takes == "row" and _takes_alone(decoder, table, key, work, mode)


def _takes_alone(decoder: RowDecoder, table: TableHistory, key: Sequence[str], work: Pending, mode: TableMode) -> bool:
    """Whether each record that the mode takes says all: the last one of each row, or each one."""
    is_whole = _has_one_version(decoder, table, key, work) and not _lacks_values(work, mode)
    return is_whole and mode.takes != "commit"


def refuse_undecodable(table: TableHistory, work: Pending, log_name: str) -> None:
    """Raise LakeError when pending records are no envelopes of ours.

    :param log_name: of the change log, in SQL.
    """
    if work.undecodable:
        raise LakeError(
            f"topic {table.topic} holds {work.undecodable} records that are not change events of minercdc",
            hint="Delete them from the change log, then start the lake again: "
            f"DELETE FROM {log_name} WHERE topic = '{table.topic}' AND (op IS NULL OR scn IS NULL)",
        )


def refuse_unplaced(table: TableHistory, key: Sequence[str], work: Pending) -> None:
    """Raise LakeError when pending rows can be found neither by key nor by ROWID.

    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    if work.unplaced and not key:
        raise LakeError(
            f"{table.name} has no key, and {work.unplaced} of its changes have no ROWID: redo does not contain the ROWID of an INSERT with large values",
            hint="Name columns that identify its rows in message.key.columns; or set lob.enabled=false. Then rebuild the table.",
        )


def refuse_unplaced_rows(table: TableHistory, present: DataFrame) -> None:
    """Raise LakeError when rows of a table that has no key from now on have no ROWID either: no change would find them.

    :param present: the source's rows in the lake.
    """
    if not present.where(f"{CDC}.row_id IS NULL").isEmpty():
        raise LakeError(
            f"{table.name} has no key any more, and not all of its rows have a ROWID in the lake: redo does not contain the ROWID of an INSERT with large values",
            hint=f"Rebuild it: minercdc lake rebuild CONFIG --table {shlex.quote(table.name)}",
        )


def key_since(decoder: RowDecoder, table: TableHistory, scn: int) -> int:
    """The SCN from which on a table has had the key that it has at `scn`; 0 for always."""
    index = table.index_at(scn)
    key = key_ids(decoder.shape(table.versions[index]))
    while index and key_ids(decoder.shape(table.versions[index - 1])) == key:
        index -= 1
    return table.versions[index].since if index else 0


def rekeyings(decoder: RowDecoder, table: TableHistory) -> list[int]:
    """SCNs, ascending, from which on a table has another key than before."""
    keys = [key_ids(decoder.shape(version)) for version in table.versions]
    return [table.versions[i].since for i in range(1, len(keys)) if keys[i] != keys[i - 1]]


def key_ids(shape: TableShape) -> list[str]:
    """Ids of the key's columns, in the order of the record key."""
    ids = {field.name: field.id for field, _, _ in shape.columns}
    return [ids[name] for name in shape.key]
