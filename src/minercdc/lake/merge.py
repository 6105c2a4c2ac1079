"""Brings one lake table to a commit SCN: the pending records of the change log, decoded, reduced to one per row, and merged.

Pending are the records of later batches than the table has, and those of its batches that were committed after its SCN.

Each merge is one Delta commit that says how far the table is then. A merge that is repeated after a kill does not make a
difference: a change never overwrites a row with a later (commit SCN, number within the transaction).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.change_log import Arrival, ChangeLog
from minercdc.lake.columns import TableColumn, TypeChange, evolution
from minercdc.lake.decode import RowDecoder, TableShape
from minercdc.lake.delta import Applied, DeltaTable
from minercdc.lake.history import TableHistory
from minercdc.lake.latest import complete_rows, latest_records, latest_rows
from minercdc.lake.modes import MIRROR, modes_of
from minercdc.lake.rows import Clear, MergeStep, TableMode, identity
from minercdc.lake.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    :param vanished: of some only the key is known, since their row was found to be gone.
    :param late: the table may have some of them already.
    :param reads: some rows were read by a snapshot.
    """

    scn: int
    since: int
    snapshot: int
    read: int
    clears: bool
    scns: tuple[int, int]
    rows: int
    partial: bool
    vanished: bool
    late: bool
    reads: bool

    def clear(self, table: TableHistory) -> Clear | None:
        """What has to be cleared first."""
        scn = max(self.since, self.snapshot)
        return Clear(scn, table.times.get(scn), read=scn != self.since) if self.clears else None


def is_pending(arrival: Arrival, applied: Applied, goal: Applied) -> bool:
    """Whether a batch may hold records that a table at `applied` lacks, and a table at `goal` has."""
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
    emptied, reads = clearings(table, mine, scn, truncate=truncate)
    lowest = min((arrival.scns[0] for arrival in mine), default=0)
    highest = max((arrival.scns[1] for arrival in mine), default=0)
    since = max(emptied, default=0)
    snapshot = max(reads, default=0)
    return Pending(
        scn,
        since,
        snapshot,
        read if read <= applied.scn else 0,
        max(since, snapshot) > applied.scn,
        (max(lowest, since), max(highest, since)),
        sum(arrival.rows for arrival in mine),
        partial=any(arrival.partial for arrival in mine),
        vanished=any(arrival.vanished for arrival in mine),
        late=any(arrival.batch > applied.batch and arrival.lowest <= applied.scn for arrival in mine),
        reads=any(arrival.read for arrival in mine),
    )


def clearings(table: TableHistory, arrivals: Iterable[Arrival], scn: int, *, truncate: bool) -> tuple[list[int], list[int]]:
    """SCNs up to `scn` before which all rows went, and those as of which an initial snapshot read all rows.

    :param truncate: whether TRUNCATE removes rows.
    """
    emptied = list(table.created)
    if truncate:
        emptied += [*table.truncated, *(arrival.truncated for arrival in arrivals)]
    reads = [*table.reads, *(arrival.snapshot for arrival in arrivals if arrival.snapshot in table.snapshots)]
    return [at for at in emptied if at <= scn], [at for at in reads if at <= scn]


def pending_filter(topic: str, work: Pending, applied: Applied, batch: int) -> str:
    """SQL condition of the records of `work` in the change log.

    :param applied: how far the table is.
    :param batch: the last one that counts.
    """
    return (
        f"topic = {literal(topic)} AND batch <= {batch} AND commit_scn <= {work.scn} AND op <> 't' AND scn >= {work.since} "
        f"AND commit_scn >= {work.snapshot} AND commit_scn > {work.read} "
        f"AND NOT (batch <= {applied.batch} AND commit_scn <= {applied.scn})"
    )


def stages(
    table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, *, apart: Iterable[int] = ()
) -> list[Applied]:
    """The goals that bring a table from `applied` to `goal`, one after another, so that within each step a row keeps its ROWID.

    Missing values are taken from earlier changes of the same ROWID, and MOVE gives rows other ones. It waits for the transactions
    on its table, so all changes before it have lower commit SCNs.

    :param apart: SCNs at which a step of its own begins.
    """
    begins = set(apart)
    if any((arrival.partial or arrival.vanished) and is_pending(arrival, applied, goal) for arrival in arrivals):
        begins |= {scn for scn, _ in table.moved}
    ends = sorted({scn - 1 for scn in begins if applied.scn < scn - 1 < goal.scn})
    return [*(Applied(scn, goal.batch) for scn in ends), goal]


class TableMerge:
    """Merges tables; one per thread.

    :param log: read in the session of the thread.
    """

    def __init__(self, config: ConnectorConfig, log: ChangeLog, decoder: RowDecoder) -> None:
        self._lake = config.lake
        self._mode_of = modes_of(config.lake)
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
        :raises LakeError: its topic holds records that are no envelopes of ours; the lake table is not ours, or was made in
            another mode; or rows have neither a key nor a ROWID.
        """
        mode = self._mode_of(table.name)
        if not again and delta.exists() and (there := delta.mode()) != mode.name and delta.columns() is not None:
            raise LakeError(
                f"{table.name} is to be kept as {mode.name} (minercdc.lake.mode, minercdc.lake.table.modes), and its lake table was made as {there}",
                hint=f"Make it again: minercdc lake rebuild CONFIG --table {table.name}",
            )
        apart = rekeyings(self._decoder, table)
        if mode.keeps:  # what was done to rows comes before they go
            apart += [scn for scns in clearings(table, arrivals, goal.scn, truncate=self._truncates) for scn in scns]
        for stage in stages(table, arrivals, applied, goal, apart=apart):
            if self._run(delta, table, arrivals, applied, stage, mode, read=read, again=again):
                again = False
            applied = stage

    @property
    def _truncates(self) -> bool:
        return self._lake.minercdc_lake_truncate == "apply"

    def _run(
        self,
        delta: DeltaTable,
        table: TableHistory,
        arrivals: Sequence[Arrival],
        applied: Applied,
        goal: Applied,
        mode: TableMode,
        *,
        read: int,
        again: bool,
    ) -> bool:
        """One step of `run`. Returns whether there was anything to do it with: a table at that SCN."""
        work = pending(table, arrivals, applied, goal, truncate=self._truncates, read=read)
        if not table.versions or table.versions[0].since > work.scn:
            return False
        _refuse_undecodable(table, [a for a in arrivals if is_pending(a, applied, goal)], self._log.path)
        shape = self._decoder.shape(table.version_at(work.scn))
        key, clear = key_ids(shape), work.clear(table)
        since = key_since(self._decoder, table, work.scn)
        recreated = any(applied.scn < scn <= work.scn for scn in table.created) and applied.scn > 0
        there = delta.columns()
        if again or (recreated and not mode.keeps):
            there = None
        if there is not None and clear is None and applied.scn < since <= work.scn:
            old = key_ids(self._decoder.shape(table.version_at(applied.scn)))
            mode.rekey(delta, there, old, Clear(since, table.times.get(since), read=False), applied)
        new = there is None
        target = shape.table_columns() if there is None else self._evolved(delta, table, shape, there, work, applied)
        step = MergeStep(target, key, since, clear, work.late, work.reads, applied, goal)
        changes = None
        if work.rows:
            refuse_unplaced(table, key, arrivals, applied, goal)
            rows = self._log.rows().where(pending_filter(table.topic, work, applied, goal.batch))
            present = None if new or clear is not None else mode.current(delta.read(), target, key)
            changes = reduced(self._decoder, rows, present, table, target, key, work, mode)
        if not new:
            mode.merge(delta, changes, step)
        elif changes is None:
            delta.create(target, mode.cdc_type, mode.name, goal)
        else:
            delta.replace(mode.rows(changes, step), target, goal, mode.name)
        return True

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
        # The columns of a table that was dropped since are taken for those of the same names.
        made = max((scn for scn in table.created if scn <= work.scn), default=0)
        known = {field.id for version in table.versions if version.since >= made for field in version.fields}
        columns = evolved(delta, there, shape.table_columns(), known, self._lake.minercdc_lake_type_change)
        of_id = {column.id: column for column in columns}
        for number, (since, value) in self._decoder.fills(table).items():
            if number in of_id and applied.scn < since <= work.scn:
                delta.fill(of_id[number], value, since)
        return columns


def evolved(
    delta: DeltaTable,
    there: Sequence[TableColumn],
    wanted: Sequence[TableColumn],
    known: Collection[str],
    policy: TypeChange,
) -> list[TableColumn]:
    """Bring a lake table's columns to the wanted ones.

    :returns: those, in their order, as the table has them then; for the other parameters see `columns.evolution`.
    """
    steps = evolution(there, wanted, known, policy)
    for step in steps:
        delta.take(step)
    if steps:
        there = delta.columns() or []
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
    """The last change of each row, decoded; or every change, as the mode takes them.

    :param target: columns of the lake table. `work` says what the records are.
    :param rows: the pending records of the change log.
    :param present: the source's rows in the lake, None when there are none.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    first, last = table.version_at(work.scns[0]), table.version_at(work.scns[1])
    one_version = first is last and key_ids(decoder.shape(first)) == list(key)  # an ALTER may have changed the key since
    large = any(column.unavailable is not None for _, column, _ in decoder.shape(last).columns)
    partial, by = work.partial or (mode.keeps and work.vanished), identity(key)
    if one_version and not partial and mode.takes == "row":
        records = latest_records(rows, ["key"] if key else ["row_id"], large=large, count=work.rows)
        return decoder.decode(records, table, target, key, work.scns, before=mode.keeps)
    if mode.keeps:  # a record may be in the change log twice
        rows = rows.dropDuplicates(["partition", "offset", "commit_scn", "seq"])
    decoded = decoder.decode(rows, table, target, key, work.scns, partial=partial, before=mode.keeps or not one_version)
    if partial:
        decoded = complete_rows(decoded, present, target, key, by, every=mode.takes != "row", before=mode.keeps)
        if mode.takes == "row":
            return decoded
    if mode.takes == "change":
        return decoded
    return latest_rows(decoded, by if mode.takes == "row" else [*by, "commit_scn"], large=large)


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
    """Raise LakeError when rows that are pending between `applied` and `goal` can be found neither by key nor by ROWID.

    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    count = 0 if key else sum(arrival.unplaced for arrival in arrivals if is_pending(arrival, applied, goal))
    if count:
        raise LakeError(
            f"{table.name} has no key, and {count} changes of it have no ROWID: redo does not hold that of an INSERT with large values",
            hint="Name columns that identify its rows in message.key.columns; or set lob.enabled=false. Then rebuild the table.",
        )


def key_since(decoder: RowDecoder, table: TableHistory, scn: int) -> int:
    """The SCN from which on a table has had the key that it has at `scn`; 0 for always."""
    index = table.index_at(scn)
    key = key_ids(decoder.shape(table.versions[index]))
    while index and key_ids(decoder.shape(table.versions[index - 1])) == key:
        index -= 1
    return table.versions[index].since if index else 0


def rekeyings(decoder: RowDecoder, table: TableHistory) -> list[int]:
    """SCNs from which on a table has another key: until then, rows are brought together by the one before."""
    keys = [key_ids(decoder.shape(version)) for version in table.versions]
    return [table.versions[i].since for i in range(1, len(keys)) if keys[i] != keys[i - 1]]


def key_ids(shape: TableShape) -> list[str]:
    """Ids of the key's columns, in the order of the record key."""
    ids = {field.name: field.id for field, _, _ in shape.columns}
    return [ids[name] for name in shape.key]
