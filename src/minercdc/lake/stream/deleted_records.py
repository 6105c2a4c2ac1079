"""Records of the table topics that were deleted before the lake read them; pure.

A topic may be deleted, or deleted and recreated under its name, which Kafka's id of it shows. Retention may remove records that
were not read yet. Either way the table has to be read again from Oracle: nothing else knows what was lost.

Compaction leaves no trace of what it removes. A key that was deleted goes with its tombstone, so that a lake that comes later keeps the
row; before `delete.retention.ms` nothing of it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from minercdc.lake.stream.marks import Ends


def unread(read: Ends, held: Ends, ends: Ends, begins: Ends) -> Iterator[tuple[str, str]]:
    """(topic, cause) of each partition in which a micro-batch will not find all records.

    :param read: how far the partitions were read before it; nothing after a loss of the checkpoint.
    :param held: how far the change log had them at the start.
    :param ends: how far the micro-batch reads the partitions.
    :param begins: the first offset that is left in them.
    """
    for (topic, partition), end in ends.items():
        place, before = f"partition {partition} of topic {topic}", read.get((topic, partition), 0)
        known = max(before, held.get((topic, partition), 0))
        if end < before:
            yield topic, f"{place} ends at offset {end}, and it was read to {before} earlier: it was recreated or truncated"
        elif (begin := begins.get((topic, partition), 0)) > known:
            yield topic, f"records {known} to {begin - 1} of {place} were deleted before the lake read them"


def deleted(known: Mapping[str, str], there: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(topic, cause) of topics that are gone, or were made again.

    :param known, there: topic -> Kafka's id of it, as seen last and now; '' for one that was gone.
    """
    for topic, number in known.items():
        if number and there.get(topic, "") != number:
            how = "deleted and recreated" if topic in there else "deleted"
            yield topic, f"its topic {topic} was {how}, with the records that the lake had not read"


class Waiting(NamedTuple):
    """Records of a partition that were not read while no lake ran.

    :param known: the offset up to which the lake has it.
    :param first: the offset of the first record that is left from there on.
    :param age_s: seconds since that record was written.
    """

    known: int
    first: int
    age_s: float


def uncertain(
    waiting: Mapping[tuple[str, int], Waiting], kept_s: Mapping[str, float], stood_s: float
) -> Iterator[tuple[str, str]]:
    """(topic, cause) of each partition of which deletes may have been removed by compaction before they were read.

    :param kept_s: compacted topic -> seconds for which it keeps deletes, its `delete.retention.ms`.
    :param stood_s: seconds since the lake read the topics for the last time.
    """
    for (topic, partition), found in waiting.items():
        kept = kept_s.get(topic)
        if kept is None or stood_s <= kept:
            continue
        if found.first > found.known or found.age_s > kept:
            yield (
                topic,
                (
                    f"the lake has not read partition {partition} of topic {topic} for {stood_s / 3600:.0f} h; the topic is compacted, and keeps"
                    f" deletes for {kept / 3600:.0f} h"
                ),
            )
