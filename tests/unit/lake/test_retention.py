"""What may go while SCNs within the retention stay readable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from minercdc.lake.maintain.maintenance import unneeded_records
from minercdc.lake.maintain.retention import cut, thinned, versions
from minercdc.lake.table.format import Applied
from minercdc.lake.table.state import Entry

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=10 * minute)


def table(name: str, version: int, scn: int, batch: int, minute: int) -> Entry:
    return Entry("table", name, version, scn, batch, at=at(minute))


def complete(scn: int, batch: int, minute: int) -> Entry:
    return Entry("complete", scn=scn, batch=batch, at=at(minute))


def test_nothing_goes_before_anything_is_old_enough() -> None:
    assert cut([table("A", 0, 10, 1, 5), complete(10, 1, 5)], at(4)) is None


def test_a_table_that_lags_keeps_its_records() -> None:
    entries = [
        table("A", 0, 10, 1, 1),
        table("B", 0, 10, 1, 1),
        complete(10, 1, 1),
        table("A", 1, 20, 2, 2),
        complete(20, 2, 2),
    ]
    found = cut(entries, at(3))
    assert found is not None
    assert (found.scn, found.merged, dict(found.lagging)) == (20, Applied(20, 2), {"B": Applied(10, 1)})
    assert unneeded_records(found, {"A": "t.A", "B": "t.B"}.get) == (
        "(topic IN ('t.A') AND batch <= 2 AND coalesce(commit_scn, 0) <= 20) OR "
        "(topic = 't.B' AND batch <= 1 AND coalesce(commit_scn, 0) <= 10)"
    )


def test_a_table_that_was_never_merged_keeps_its_records() -> None:
    """It is in quarantine since its first merge, and has nothing but them."""
    failure = Entry("failed", "B", scn=10, batch=1, detail="why", at=at(1))
    found = cut([failure, table("A", 0, 10, 1, 1), complete(10, 1, 1)], at(2))
    assert found is not None
    condition = unneeded_records(found, {"A": "t.A", "B": "t.B"}.get)
    assert condition == "(topic IN ('t.A') AND batch <= 1 AND coalesce(commit_scn, 0) <= 10)"
    alone = cut([failure, complete(10, 1, 1)], at(2))
    assert alone is not None
    assert unneeded_records(alone, {"B": "t.B"}.get) == "false"


def test_a_table_that_was_further_than_the_complete_scn_sets_the_lowest_readable_one() -> None:
    """`lake snapshot` had read it as of a later SCN: it has no version before."""
    found = cut([table("A", 0, 30, 1, 1), complete(20, 1, 2)], at(3))
    assert found is not None
    assert found.scn == 30


def test_a_failure_that_holds_is_kept() -> None:
    failure = Entry("failed", "B", detail="why", at=at(1))
    found = cut([failure, table("A", 0, 10, 1, 2), complete(10, 1, 2)], at(3))
    assert found is not None
    assert failure.at in found.kept
    ended = cut([failure, table("B", 0, 10, 1, 2), complete(10, 1, 2)], at(3))
    assert ended is not None
    assert failure.at not in ended.kept


def without(entries: Sequence[Entry], going: Iterable[Entry]) -> list[Entry]:
    gone = {entry.at for entry in going}
    return [entry for entry in entries if entry.at not in gone]


def test_one_version_an_hour_stays_of_those_that_are_old_enough() -> None:
    entries = [table("A", number, number, number, minute=number) for number in range(20)]  # each ten minutes
    stay = without(entries, thinned(entries, at(14)))
    assert [entry.version for entry in stay] == [0, 6, 12, 14, 15, 16, 17, 18, 19]
    assert thinned(stay, at(14)) == []


def test_the_oldest_version_and_the_newest_stay() -> None:
    entries = [table("A", number, number, number, minute=3 + number) for number in range(3)]
    assert [entry.version for entry in without(entries, thinned(entries, at(99)))] == [0, 2]


def test_versions_begin_where_the_delta_table_was_made_again() -> None:
    entries = [table("A", 4, 10, 1, 1), table("A", 0, 10, 1, 2), table("A", 1, 20, 2, 3)]
    assert versions(entries) == {"A": entries[1:]}


@given(
    st.lists(st.tuples(st.sets(st.sampled_from("ABC")), st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=12),
    st.data(),
)
def test_every_scn_from_the_cut_on_can_be_read(turns: list[tuple[set[str], int, int]], data: st.DataObject) -> None:
    """Each turn brings some tables to a goal, and publishes it. What is kept has to do for the SCNs that the cut promises, also where
    versions are thinned out before it and after it."""
    entries: list[Entry] = []
    scn = batch = 0
    newest: dict[str, int] = {}
    for minute, (merged, step, batches) in enumerate(turns):
        scn, batch = scn + step, batch + batches
        for name in sorted(merged):
            newest[name] = newest.get(name, -1) + 1
            entries.append(Entry("table", name, newest[name], scn, batch, at=at(minute) + timedelta(seconds=ord(name))))
        entries.append(Entry("complete", scn=scn, batch=batch, at=at(minute) + timedelta(seconds=100)))
    entries = without(entries, thinned(entries, at(data.draw(st.integers(0, len(turns))))))
    found = cut(entries, at(data.draw(st.integers(0, len(turns)))) + timedelta(seconds=200))
    if found is None:
        return
    left = [entry for entry in entries if entry.at >= found.until or entry.at in found.kept]
    assert max(entry.scn for entry in left if entry.kind == "complete") == scn
    left = without(left, thinned(left, at(data.draw(st.integers(0, len(turns))))))
    for wanted in range(found.scn, scn + 1):
        for name, mine in versions(left).items():
            base = [entry for entry in mine if entry.scn <= wanted][-1]
            gone = found.lagging.get(name, found.merged)  # records up to here are gone
            assert base.scn >= gone.scn
            assert base.batch >= gone.batch
