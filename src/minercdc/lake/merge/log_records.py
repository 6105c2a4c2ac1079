"""Records of the change log that this process reads, with no Spark job, as it keeps those that it has scanned: after a restart, and where
Spark scanned a micro-batch. A few records cost Spark's MERGE seconds, and this process a tenth of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from minercdc.lake.merge.kept_records import KeptRecords
from minercdc.lake.stream.change_log import Arrival
from minercdc.lake.stream.log_columns import OF_RECORD, in_columns
from minercdc.lake.table.format import LogTable, RowsAsked

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_MOST_RECORDS = 250_000  # as of a micro-batch that the driver reads
_MOST_BYTES = 128 * 1024 * 1024  # of the parts of files that have them


def keep_pending(kept: KeptRecords, table: LogTable, wanted: Collection[Arrival]) -> None:
    """Have `kept` hold the records of batches, where these are few enough; others are left to Spark, and so is what cannot be read.

    :param table: the change log.
    """
    few = few_of([arrival for arrival in wanted if not kept.has([arrival])])
    rows = log_rows(table, few) if few else {}
    for arrival in few:
        found = rows.get((arrival.topic, arrival.batch))
        if found is not None and found.num_rows == arrival.rows:
            kept.add(arrival.batch, {arrival.topic: found})


def few_of(wanted: Iterable[Arrival]) -> list[Arrival]:
    """The batches of as many topics, those of the fewest records first, as have no more than `_MOST_RECORDS` together."""
    of_topic: dict[str, list[Arrival]] = {}
    for arrival in wanted:
        of_topic.setdefault(arrival.topic, []).append(arrival)
    found: list[Arrival] = []
    for arrivals in sorted(of_topic.values(), key=_records):
        if _records(found) + _records(arrivals) > _MOST_RECORDS:
            break
        found += arrivals
    return found


def _records(arrivals: Sequence[Arrival]) -> int:
    return sum(arrival.rows for arrival in arrivals)


def log_rows(table: LogTable, wanted: Iterable[Arrival]) -> dict[tuple[str, int], pa.RecordBatch]:
    """By topic and batch, the rows of the change log besides these two columns, as `BatchScan.rows` has them; none where only Spark reads
    them.

    :param table: the change log.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    places = {(arrival.topic, arrival.batch) for arrival in wanted}
    topics, batches = ({place[i] for place in places} for i in (0, 1))
    bounds = {"batch": (min(batches), max(batches)), "topic": (min(topics), max(topics))}
    parts = table.read_here(RowsAsked(_MOST_BYTES, bounds=bounds, takes=lambda part: not places.isdisjoint(_places(part))))
    found: dict[tuple[str, int], list[pa.Table]] = {}
    for part in parts or ():
        if (rows := in_columns(part, OF_RECORD)) is None:
            return {}
        for topic, batch in _places(part) & places:
            chosen = pc.and_(pc.equal(part.column("topic"), topic), pc.equal(part.column("batch"), batch))
            found.setdefault((topic, batch), []).append(rows.filter(chosen))
    return {place: _one_batch(pa.concat_tables(tables)) for place, tables in found.items()}


def _places(part: pa.Table) -> set[tuple[str, int]]:
    """The topics and batches of rows."""
    found = part.select(["topic", "batch"]).group_by(["topic", "batch"]).aggregate([]).to_pydict()
    return set(zip(found["topic"], found["batch"], strict=True))


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    (found,) = rows.combine_chunks().to_batches()
    return found
