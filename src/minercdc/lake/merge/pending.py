"""Plans the steps, and the records of the change log, that bring a lake table from one state to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minercdc.lake.merge.latest import FEW_ROWS
from minercdc.lake.merge.rows import Clear
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.change_log import Arrival
from minercdc.lake.table.format import Applied
from minercdc.lake.table.history import TableHistory


@dataclass(frozen=True, slots=True)
class Pending:
    """The records that bring a table from one state to another.

    :param applied: how far the table is.
    :param batch: the last one whose records count.
    :param scn: records up to this commit SCN.
    :param since: rows that were changed before this SCN are gone; 0 for none.
    :param snapshot: rows that were committed before this SCN are gone, since an initial snapshot read all rows; 0 for none.
    :param read: what was committed up to this SCN is in the table, as it was read from Oracle; 0 for none.
    :param clears: the table may still have rows that are gone by `since` or `snapshot`.
    :param scns: bounds of the SCNs of their changes, which may be wider than need be.
    :param arrivals: the batches that may hold them.
    :param furthest: SCN up to which the table may have changes, where that is after `applied`; 0 for `applied`.
    """

    applied: Applied
    batch: int
    scn: int
    since: int
    snapshot: int
    read: int
    clears: bool
    scns: tuple[int, int]
    arrivals: tuple[Arrival, ...]
    furthest: int = 0

    @property
    def rows(self) -> int:
        """There are at most so many records."""
        return sum(arrival.rows for arrival in self.arrivals)

    @property
    def partial(self) -> bool:
        """Some have the placeholder in place of a value."""
        return any(arrival.partial for arrival in self.arrivals)

    @property
    def vanished(self) -> bool:
        """Of some only the key is known, since their row was found to be gone."""
        return any(arrival.vanished for arrival in self.arrivals)

    @property
    def late(self) -> bool:
        """The table may have some of them already."""
        known = self.applied
        if self.furthest > known.scn and any(arrival.lowest <= self.furthest for arrival in self.arrivals):
            return True
        return any(arrival.batch > known.batch and arrival.lowest <= known.scn for arrival in self.arrivals)

    @property
    def reads(self) -> bool:
        """Some rows were read by a snapshot."""
        return any(arrival.read for arrival in self.arrivals)

    @property
    def unplaced(self) -> int:
        """How many have no ROWID: LogMiner does not know that of an INSERT with large values."""
        return sum(arrival.unplaced for arrival in self.arrivals)

    @property
    def undecodable(self) -> int:
        """How many are not change events of minercdc."""
        return sum(arrival.undecodable for arrival in self.arrivals)

    @property
    def long_numbers(self) -> bool:
        """Some may have a number of more than eight bytes."""
        return any(arrival.long_numbers for arrival in self.arrivals)

    @property
    def is_short(self) -> bool:
        """Whether the records are few, and none may have a number of more than eight bytes: then the expressions with less
        to plan do (`RowDecoder.decode`)."""
        return self.rows < FEW_ROWS and not self.long_numbers

    def clear(self, table: TableHistory) -> Clear | None:
        """What has to be cleared before the records are merged; None for nothing."""
        scn = max(self.since, self.snapshot)
        return Clear(scn, table.times.get(scn), read=scn != self.since) if self.clears else None

    def limits(self, topic: str) -> Limits:
        """Which records of the change log they are, in a table's topic."""
        known = self.applied
        return Limits(topic, self.batch, self.scn, self.since, self.snapshot, self.read, known.batch, known.scn)


def is_pending(arrival: Arrival, applied: Applied, goal: Applied) -> bool:
    """Whether a batch may hold records that a table at `applied` lacks, and a table at `goal` has."""
    later = arrival.batch > applied.batch or arrival.highest > applied.scn
    return later and arrival.batch <= goal.batch and arrival.lowest <= goal.scn


def pending(
    table: TableHistory,
    arrivals: Sequence[Arrival],
    applied: Applied,
    goal: Applied,
    *,
    truncate: bool,
    read: int = 0,
    furthest: int = 0,
) -> Pending:
    """What has to be done to bring a table from `applied` to `goal`; of a table that was dropped, to the SCN before that.

    :param arrivals: of its topic.
    :param truncate: whether TRUNCATE removes rows.
    :param read: SCN as of which the table was read from Oracle last, 0 for none.
    :param furthest: see `Pending`.
    """
    scn = goal.scn
    if not table.exists_at(scn):  # dropped: it keeps the rows that it had
        scn = max((gone for gone in table.dropped if gone <= goal.scn), default=scn + 1) - 1
    mine = tuple(arrival for arrival in arrivals if is_pending(arrival, applied, Applied(scn, goal.batch)))
    # Also those that the table has passed: a change log that was read again has rows of before.
    emptied, reads = clearings(table, mine, scn, truncate=truncate)
    lowest = min((arrival.scns[0] for arrival in mine), default=0)
    highest = max((arrival.scns[1] for arrival in mine), default=0)
    if mine:  # rows may be of a version that is later than their change
        highest = max(highest, *(table.versions[i].since for i in _of_commit(table, lowest, scn)), lowest)
    since = max(emptied, default=0)
    snapshot = max(reads, default=0)
    return Pending(
        applied,
        goal.batch,
        scn,
        since,
        snapshot,
        read if read <= applied.scn else 0,
        max(since, snapshot) > applied.scn,
        (max(lowest, since), max(highest, since)),
        mine,
        furthest,
    )


def clearings(table: TableHistory, arrivals: Iterable[Arrival], scn: int, *, truncate: bool) -> tuple[list[int], list[int]]:
    """(SCNs before which all rows went, SCNs as of which an initial snapshot read all rows), up to `scn`; a 0 means nothing.

    :param truncate: whether TRUNCATE removes rows.
    """
    emptied = list(table.created)
    if truncate:
        emptied += [*table.truncated, *(arrival.truncated for arrival in arrivals)]
    reads = [*table.reads, *(arrival.snapshot for arrival in arrivals if arrival.snapshot in table.snapshots)]
    return [at for at in emptied if at <= scn], [at for at in reads if at <= scn]


class Limits(NamedTuple):
    """Which records of the change log are pending; see `Pending` and `Applied` for the numbers.

    :param batch: the last one that counts.
    """

    topic: str
    batch: int
    scn: int
    since: int
    snapshot: int
    read: int
    applied_batch: int
    applied_scn: int

    def condition(self) -> str:
        """SQL of the records in the change log."""
        return pending_condition(literal(self.topic), *map(str, self[1:]))


def _of_commit(table: TableHistory, after: int, until: int) -> Iterator[int]:
    """Indexes of the versions between two SCNs that rows changed before them may be of."""
    for index, version in enumerate(table.versions):
        if after < version.since <= until and table.of_commit(index):
            yield index


def pending_condition(
    topic: str, batch: str, scn: str, since: str, snapshot: str, read: str, applied_batch: str, applied_scn: str
) -> str:
    """SQL condition of the records within limits that are SQL expressions, named as in `Limits`."""
    return (
        f"topic = {topic} AND batch <= {batch} AND commit_scn <= {scn} AND op <> 't' AND scn >= {since} "
        f"AND commit_scn >= {snapshot} AND commit_scn > {read} "
        f"AND NOT (batch <= {applied_batch} AND commit_scn <= {applied_scn})"
    )


def stages(
    table: TableHistory, arrivals: Sequence[Arrival], applied: Applied, goal: Applied, *, apart: Iterable[int] = ()
) -> list[Applied]:
    """The goals that bring a table from `applied` to `goal`, one after another; where records lack values, such that within each
    step a row keeps its ROWID.

    The values are taken from earlier changes of that ROWID, and MOVE gives rows other ones. It waits for the transactions
    on its table, so all changes before it have lower commit SCNs.

    :param apart: SCNs at which another step begins.
    """
    begins = set(apart)
    if any((arrival.partial or arrival.vanished) and is_pending(arrival, applied, goal) for arrival in arrivals):
        begins |= {scn for scn, _ in table.moved}
    ends = sorted({scn - 1 for scn in begins if applied.scn < scn - 1 < goal.scn})
    return [*(Applied(scn, goal.batch) for scn in ends), goal]
