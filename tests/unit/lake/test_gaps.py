"""At which SCNs a table is not complete, and why."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.errors import LakeError
from minercdc.lake.source.version_check import refuse_newer
from minercdc.lake.stream.deleted_records import Waiting, deleted, uncertain, unread
from minercdc.lake.stream.marks import Mark, left_out
from minercdc.lake.table.gaps import gap_at, kept_since, last_read
from minercdc.lake.table.history import Handed, TableHistory, TableVersion
from minercdc.lake.table.state import NONE_LEFT, Entry
from minercdc.schema.table import TableId, TableSchema

TABLE = TableId("DB", "S", "T")


def gaps(scns: list[int], *noted: Entry, by_rowid: bool = False, **events: Any) -> list[int]:
    """Where the gap begins that S.T has at each SCN, 0 for none."""
    table = TableHistory(TABLE, "p.S.T", [TableVersion(1, TableSchema(TABLE, ()), ())])
    for kind, values in events.items():
        setattr(table, kind, values)
    found = [gap_at(table, noted, scn, by_rowid=by_rowid) for scn in scns]
    return [gap.since if gap else 0 for gap in found]


def test_rows_that_partition_ddl_took_are_missed_until_the_table_is_read_again() -> None:
    lost = [(20, "ALTER TABLE t DROP PARTITION p")]
    assert gaps([19, 20, 99], lost=lost) == [0, 20, 20]
    assert gaps([20, 29, 30, 99], Entry("read", "S.T", scn=30), lost=lost) == [20, 20, 0, 0]
    assert gaps([20, 99], Entry("read", "S.T", scn=19), lost=lost) == [20, 20]
    assert gaps([20, 30], reads=[1, 30], lost=lost) == [20, 0]
    assert gaps([20, 30], created=[30], lost=lost) == [20, 0]
    assert gaps([20, 30], dropped=[30], lost=lost) == [20, 0]


def test_other_rowids_matter_to_a_table_without_a_key_only() -> None:
    moved = [(20, "ALTER TABLE t MOVE")]
    assert gaps([25], moved=moved) == [0]
    assert gaps([25], moved=moved, by_rowid=True) == [20]


def test_lost_records_of_the_topic_are_missed_from_the_last_complete_scn_on() -> None:
    lost = Entry("lost", "p.S.T", scn=20, detail="it was deleted")
    assert gaps([19, 20, 29, 30], lost, Entry("read", "S.T", scn=30)) == [0, 20, 20, 0]


def test_a_snapshot_or_create_whose_records_may_be_lost_does_not_end_what_is_missed() -> None:
    """As of a lake that stood still longer than the topics keep their records, or is started for the first time after that."""
    cause = "records 0 to 9 were deleted before the lake read them"
    none_left, left = (Entry("lost", "p.S.T", version=one, scn=1, detail=cause) for one in (NONE_LEFT, 60))
    of: list[dict[str, Any]] = [{"reads": [40]}, {"created": [40]}, {"reads": [60]}]
    for events in of:
        assert gaps([70], none_left, **events) == [1]
        assert gaps([70], none_left, left, **events) == [1]
    assert gaps([60, 70], none_left, left, reads=[61]) == [1, 0], "all that it read is left"
    assert gaps([70], none_left, left, Entry("read", "S.T", scn=65)) == [0]
    assert gaps([70], none_left, Entry("read", "S.T", scn=50)) == [0]
    assert gaps([70], none_left, Entry("read", "S.T", scn=50), left) == [0], "its records are all of later changes"
    assert gaps([70], Entry("read", "S.T", scn=50), none_left, left) == [1], (
        "changes between that and the first one that is left"
    )


def test_what_was_read_before_a_deletion_of_the_topic_was_met_may_have_gone_with_it() -> None:
    table = TableHistory(TABLE, "p.S.T", reads=[10, 40], created=[30])
    assert (last_read(None, 35), last_read(table, 35), last_read(table, 50)) == (35, 40, 50)
    gone = Entry("lost", "p.S.T", version=last_read(table, 35), scn=20, detail="its topic was deleted and recreated")
    assert gaps([70], gone, reads=[10, 40], created=[30]) == [20]
    assert gaps([40, 70], gone, reads=[10, 40, 41]) == [20, 0]


def test_what_happened_under_an_earlier_name_counts_up_to_the_rename() -> None:
    earlier = {"S.OLD": 50, "p.S.OLD": 50}
    lost, read = Entry("lost", "p.S.OLD", scn=20, detail="x"), Entry("read", "S.OLD", scn=30)
    assert gaps([60], lost, earlier=earlier) == [20]
    assert gaps([60], lost, read, earlier=earlier) == [0]
    assert gaps([60], Entry("lost", "p.S.OLD", scn=55, detail="of another table"), earlier=earlier) == [0]


def test_what_was_read_under_a_name_before_other_rows_came_to_it_ends_nothing_of_theirs() -> None:
    """A table is renamed to the name of one that was created, read and dropped since its rows went."""
    handed, renamed = [Handed(50, 20, "x", moved=False)], [(50, TableId("DB", "S", "OLD"))]
    earlier = {"S.OLD": 50, "p.S.OLD": 50}
    events: dict[str, Any] = {"handed": handed, "renamed_from": renamed, "earlier": earlier, "created": [30]}
    assert gaps([49, 50, 99], Entry("read", "S.T", scn=40), **events) == [0, 50, 50]
    assert gaps([50, 60], Entry("read", "S.T", scn=60), **events) == [50, 0]
    assert gaps([50], Entry("read", "S.OLD", scn=30), **events) == [0], "the lake had read it again before"
    assert gaps([50], Entry("read", "S.OLD", scn=19), **events) == [50]
    assert gaps([50, 60], **(events | {"renamed_from": [*renamed, (60, TABLE)]})) == [50, 0]
    lost = Entry("lost", "p.S.OLD", scn=20, detail="x")
    assert gaps([60], lost, earlier=earlier, created=[30]) == [20]
    assert gaps([60], lost, Entry("read", "S.T", scn=40), earlier=earlier) == [20]
    moved = [Handed(50, 20, "x", moved=True)]
    assert (gaps([60], handed=moved), gaps([60], handed=moved, by_rowid=True)) == ([0], [50])
    assert gaps([45, 60], lost=[(40, "of the rows that went")], renamed_from=renamed) == [40, 0]


def test_rows_that_the_connector_leaves_out_come_when_it_has_read_the_table_again() -> None:
    noted = [
        Entry("suspended", "S.T", scn=20, detail="x"),
        Entry("resumed", "S.T", scn=30),
        Entry("suspended", "S.T", scn=40, detail="y"),
    ]
    assert gaps([19, 20, 29, 30, 39, 40, 99], *noted) == [0, 20, 20, 0, 0, 40, 40]
    assert gaps([99], Entry("suspended", "S.T", scn=20, detail="x"), Entry("read", "S.T", scn=50)) == [20]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ({}, {}),
        ({"suspended": [{"table": "S.T", "since_scn": "7", "reason": "x"}]}, {"S.T": 7}),
        ({"signals": {"resuming": [{"table": "S.T", "phase": "deleting"}]}}, {"S.T": 0}),
        ({"signals": {"resuming": [{"table": "S.T", "phase": "done"}]}}, {}),
        ({"signals": {"snapshots": [{"id": "initial-9", "initial": True, "tables": [{"table": "S.T"}]}]}}, {"S.T": 9}),
        ({"signals": {"snapshots": [{"id": "mine", "initial": False, "tables": [{"table": "S.T"}]}]}}, {}),
    ],
)
def test_the_offset_says_which_tables_are_left_out(offset: dict[str, Any], expected: dict[str, int]) -> None:
    assert {table: since for table, (since, _) in left_out(offset).items()} == expected


def test_deletes_of_a_compacted_topic_may_be_gone_after_a_day() -> None:
    hour = 3600.0
    kept, place = {"a": 24 * hour}, ("a", 0)
    old, gap, fresh = Waiting(10, 10, 30 * hour), Waiting(10, 15, hour), Waiting(10, 10, hour)
    for waiting in (old, gap):
        assert [topic for topic, _ in uncertain({place: waiting}, kept, 48 * hour)] == ["a"]
        assert not list(uncertain({place: waiting}, kept, 24 * hour)), "it read them in time"
        assert not list(uncertain({place: waiting}, {}, 48 * hour)), "it is not compacted"
    assert not list(uncertain({place: fresh}, kept, 48 * hour)), "nothing was written meanwhile"
    ((_, cause),) = uncertain({place: old}, kept, 48 * hour)
    assert cause.startswith(
        "the lake has not read partition 0 of topic a for 48 h; the topic is compacted, and keeps deletes for 24 h"
    )


def test_records_that_were_deleted_unread_are_found_by_the_ends_of_partitions() -> None:
    read, place = {("a", 0): 10, ("b", 0): 10}, ("a", 0)
    assert list(unread(read, {}, {place: 20}, {place: 10})) == []
    assert [cause for _, cause in unread(read, {}, {place: 20}, {place: 15})] == [
        "records 10 to 14 of partition 0 of topic a were deleted before the lake read them"
    ]
    assert [topic for topic, _ in unread(read, {}, {place: 5}, {place: 0})] == ["a"]
    assert list(unread({}, {place: 15}, {place: 20}, {place: 15})) == [], "the checkpoint is lost, the change log is not"
    assert [topic for topic, _ in unread({}, {}, {place: 20}, {place: 15})] == ["a"], "retention was before the first start"


def test_a_topic_that_is_gone_or_was_made_again_is_deleted_once_and_no_mark_waits_for_it() -> None:
    known = {"a": "1", "b": "2", "c": "3", "d": ""}
    assert [topic for topic, _ in deleted(known, {"a": "1", "b": "9", "d": "4", "e": "5"})] == ["b", "c"]
    mark = Mark(9, {("a", 0): 5, ("b", 0): 7}, topics={"a": "1", "b": "2"})
    assert mark.without_vanished({"a": "1", "b": "2"}) is mark
    assert mark.without_vanished({"a": "1"}).ends == {("a", 0): 5}
    assert mark.without_vanished({"a": "1", "b": "9"}).ends == {("a", 0): 5}


def test_the_topic_has_all_of_a_table_since_its_last_snapshot_or_creation_unless_something_is_lost() -> None:
    def since(scn: int, *noted: Entry, **events: Any) -> int | None:
        table = TableHistory(TABLE, "p.S.T", [TableVersion(1, TableSchema(TABLE, ()), ())])
        for kind, values in events.items():
            setattr(table, kind, values)
        return kept_since(table, noted, scn)

    assert since(50) is None, "a history that does not say that rows were read"
    assert since(50, reads=[1, 30, 60]) == 30
    assert since(50, reads=[1], created=[40]) == 40
    assert since(50, reads=[1], renamed_from=[(20, TABLE)]) is None
    assert since(50, reads=[1, 30], renamed_from=[(20, TABLE)]) == 30
    assert since(50, reads=[1], lost=[(20, "x")]) is None
    assert since(50, Entry("lost", "p.S.T", scn=20), reads=[1]) is None
    assert since(50, Entry("lost", "p.S.T", scn=20), reads=[1, 20]) is None
    assert since(50, Entry("lost", "p.S.T", scn=20), reads=[1, 21]) == 21
    assert since(50, Entry("lost", "p.S.T", version=NONE_LEFT, scn=20), reads=[1, 30]) is None
    assert since(50, Entry("lost", "p.S.T", version=30, scn=20), reads=[1, 30]) is None
    assert since(50, Entry("lost", "p.S.T", version=29, scn=20), reads=[1, 30]) == 30


def test_a_record_of_a_later_version_is_refused_with_its_ddl() -> None:
    class History:
        def find(self, name: str) -> TableHistory:
            schema = TableSchema(TABLE, ())
            versions = [TableVersion(1, schema, ()), TableVersion(20, schema, (), "ALTER TABLE t ADD (x NUMBER)")]
            return TableHistory(TABLE, "p.S.T", versions)

    refuse_newer(History(), "S.T", 1, 19)  # type: ignore[arg-type]
    refuse_newer(History(), "S.T", 2, 99)  # type: ignore[arg-type]
    with pytest.raises(LakeError, match=r"since SCN 20, .* ALTER TABLE t ADD \(x NUMBER\)"):
        refuse_newer(History(), "S.T", 1, 20)  # type: ignore[arg-type]
