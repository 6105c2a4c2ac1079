"""Finds the parts of the lake's record and of the change log that are not needed to read SCNs within the retention.

To read a table as of an SCN takes one of its versions that has nothing after it, and the records from that version's state up to
the SCN. So with the records up to a state D go the versions before the first one that has all of D, and the SCNs below that
one's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from minercdc.lake.table.format import Applied
from minercdc.lake.table.state import Entry


@dataclass(frozen=True, slots=True)
class Cut:
    """What may go.

    :param scn: SCNs below it cannot be read afterwards.
    :param merged: records up to here may go, of the tables in `tables` that are not in `lagging`.
    :param tables: names of the tables that have a version. One that was never merged, as it has been in quarantine since the first time,
        keeps its records: nothing else has them.
    :param lagging: name of a table -> up to where its records may go.
    :param until: entries of the kinds `complete`, `table` and `failed` that were written earlier may go, except those in `kept`.
    :param kept: times of entries that are needed.
    """

    scn: int
    merged: Applied
    tables: Collection[str]
    lagging: Mapping[str, Applied]
    until: datetime
    kept: Collection[datetime]


def versions(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Name of a table -> its entries of kind `table`, oldest first, since its lake table was made.

    :param entries: oldest first.
    """
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == "table":
            mine = found.setdefault(entry.name, [])
            if mine and entry.version < mine[-1].version:
                mine.clear()  # the lake table was deleted, and made again
            mine.append(entry)
    return found


def cut(entries: Sequence[Entry], older_than: datetime) -> Cut | None:
    """What may go of a lake whose SCNs that were complete at `older_than` or later stay readable; None for nothing.

    :param entries: oldest first.
    """
    complete = [entry for entry in entries if entry.kind == "complete" and entry.at <= older_than]
    if not complete:
        return None
    last = complete[-1]
    lagging: dict[str, Applied] = {}
    kept, scn = {last.at}, last.scn
    recorded = versions(entries)
    for name, mine in recorded.items():
        newest = mine[-1]
        done = Applied(min(newest.scn, last.scn), min(newest.batch, last.batch))
        if done != Applied(last.scn, last.batch):
            lagging[name] = done
        base = next(entry for entry in mine if entry.scn >= done.scn and entry.batch >= done.batch)
        scn = max(scn, base.scn)
        kept.add(base.at)
    kept |= {entry.at for entry in _newest_failures(entries)}
    return Cut(scn, Applied(last.scn, last.batch), frozenset(recorded), lagging, last.at, frozenset(kept))


def thinned(entries: Iterable[Entry], older_than: datetime) -> list[Entry]:
    """The versions of tables that may go where few are to be kept: of those that were recorded before a time, all but the first one of
    each hour. The oldest of a table stays, since records from it on are kept, and so does the newest.

    SCNs between two versions that stay are read from the earlier one and the change log.

    :param entries: oldest first.
    """
    found: list[Entry] = []
    for mine in versions(entries).values():
        hours = {mine[0].at.replace(minute=0, second=0, microsecond=0)}
        for entry in mine[1:-1]:
            hour = entry.at.replace(minute=0, second=0, microsecond=0)
            if entry.at < older_than and hour in hours:
                found.append(entry)
            hours.add(hour)
    return found


def _newest_failures(entries: Iterable[Entry]) -> list[Entry]:
    """The failures that no later version of their table has ended."""
    failed: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind == "failed":
            failed[entry.name] = entry
        elif entry.kind == "table":
            failed.pop(entry.name, None)
    return list(failed.values())
