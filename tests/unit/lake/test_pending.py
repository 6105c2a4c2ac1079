"""Which records a lake table still needs, and up to which SCN the change log is complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.merge.pending import Pending, is_pending, pending, stages
from minercdc.lake.merge.table_merge import refuse_unplaced
from minercdc.lake.stream.change_log import Arrival
from minercdc.lake.stream.marks import Mark, Marks
from minercdc.lake.table.format import Applied
from minercdc.lake.table.history import TableHistory, TableVersion
from minercdc.schema.table import TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient

TABLE = TableId("DB", "S", "T")


def history(versions: Sequence[int] = (1,), **events: list[int]) -> TableHistory:
    schema = TableSchema(TABLE, ())
    found = TableHistory(TABLE, "p.S.T", [TableVersion(scn, schema, ()) for scn in versions])
    for kind, scns in events.items():
        getattr(found, kind).extend(scns)
    return found


def arrival(batch: int, lowest: int, highest: int, **more: int) -> Arrival:
    return Arrival(
        "p.S.T",
        batch,
        10,
        lowest,
        highest,
        (lowest, highest),
        truncated=more.get("truncated", 0),
        snapshot=more.get("snapshot", 0),
        undecodable=0,
        partial=False,
    )


@pytest.mark.parametrize(
    ("batch", "lowest", "highest", "expected"),
    [
        (3, 5, 9, False),  # the table has it all
        (3, 5, 11, True),  # some of a batch that it has was committed later
        (4, 5, 9, True),  # a later batch, of a snapshot's rows for example
        (5, 5, 9, False),  # a batch that is not complete yet
        (4, 21, 30, False),  # committed after the goal
    ],
)
def test_records_of_later_batches_or_later_commits_are_pending(
    batch: int, lowest: int, highest: int, expected: bool
) -> None:
    assert is_pending(arrival(batch, lowest, highest), Applied(10, 3), Applied(20, 4)) is expected


@pytest.mark.parametrize(
    ("batch", "lowest", "furthest", "expected"),
    [
        (2, 11, 0, False),  # of a batch that the table has, but for what was committed later
        (3, 11, 0, False),
        (3, 9, 0, True),  # the change log was read again, or a snapshot's rows came later
        (2, 11, 20, True),  # another process has set the table back, perhaps not all of it
        (2, 21, 20, False),
    ],
)
def test_the_table_may_have_some_changes_already(batch: int, lowest: int, furthest: int, expected: bool) -> None:
    given = [arrival(batch, lowest, 30)]
    assert pending(history(), given, Applied(10, 2), Applied(50, 3), truncate=True, furthest=furthest).late is expected


def test_a_truncate_in_the_history_or_the_topic_makes_older_rows_go() -> None:
    applied, goal = Applied(10, 1), Applied(50, 2)
    found = history(truncated=[5, 20, 60])
    arrivals = [arrival(2, 11, 45, truncated=30)]
    assert pending(found, arrivals, applied, goal, truncate=True).since == 30
    assert pending(found, [arrival(2, 11, 45)], applied, goal, truncate=True).since == 20
    assert pending(found, arrivals, applied, goal, truncate=False).since == 0


def test_a_dropped_table_keeps_the_rows_that_it_had() -> None:
    work = pending(history(dropped=[30]), [arrival(1, 5, 29)], Applied(), Applied(50, 1), truncate=True)
    assert (work.scn, work.since, work.rows) == (29, 0, 10)


def test_a_table_that_was_created_again_has_later_rows_only() -> None:
    found = history(versions=[1, 40], dropped=[30], created=[40])
    work = pending(found, [arrival(1, 5, 45)], Applied(), Applied(50, 1), truncate=True)
    assert (work.scn, work.since) == (50, 40)


def test_a_second_snapshot_replaces_the_rows_if_it_read_any() -> None:
    found = history(snapshots=[40])
    assert pending(found, [arrival(2, 40, 40, snapshot=40)], Applied(20, 1), Applied(50, 2), truncate=True).snapshot == 40
    assert not pending(found, [arrival(2, 41, 45)], Applied(20, 1), Applied(50, 2), truncate=True).clears


def test_an_initial_snapshot_that_read_no_row_empties_the_table() -> None:
    found = history(snapshots=[40], reads=[5, 40])
    work = pending(found, [], Applied(20, 1), Applied(50, 2), truncate=True)
    assert (work.snapshot, work.clears, work.rows) == (40, True, 0)
    assert not pending(found, [], Applied(40, 1), Applied(50, 2), truncate=True).clears
    assert pending(found, [], Applied(20, 1), Applied(39, 2), truncate=True).snapshot == 5


def test_a_mark_is_reached_when_every_partition_is_read_to_its_end() -> None:
    mark = Mark(9, {("a", 0): 5, ("a", 1): 0, ("b", 0): 7})
    assert mark.is_reached({("a", 0): 5, ("b", 0): 8})
    assert not mark.is_reached({("a", 0): 4, ("b", 0): 8})
    assert not mark.is_reached({("a", 0): 5})


class Message:
    def __init__(self, key: bytes, value: bytes) -> None:
        self.key = lambda: key
        self.value = lambda: value


def test_the_mark_is_that_of_the_connectors_last_offset(config: ConnectorConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = [
        {"snapshot": {"scn": "7"}},
        {"position": {}, "complete_scn": "12"},
        {"snapshot": {"scn": "30"}},  # a second snapshot has begun: what was complete stays so
    ]
    messages = [Message(b"n", json.dumps(offset).encode()) for offset in offsets]
    messages.insert(1, Message(b"another", b'{"complete_scn": "99"}'))
    end = 1
    monkeypatch.setattr(KafkaClient, "all_ends", lambda self, names: {("p-offsets", 0): end, ("p.S.T", 0): 3})
    monkeypatch.setattr(KafkaClient, "read_range", lambda self, topic, partition, begin, until: messages[begin:until])
    monkeypatch.setattr(KafkaClient, "topic_ids", lambda self, names: {"p.S.T": "1"})
    marks = Marks(config, KafkaClient(config.kafka, config.topics, {}))
    assert "has no offset in topic" in marks.missing
    found = []
    for end in range(1, 5):  # noqa: B007 - read by the lambda
        mark = marks.newest()
        assert mark is not None
        found.append((mark.scn, mark.snapshot))
    assert found == [(7, True), (7, True), (12, False), (12, False)]
    assert marks.newest() is None, "nothing new"
    assert marks.missing == ""


def test_a_table_whose_rows_moved_is_brought_to_the_move_first_where_values_are_missing() -> None:
    found = history()
    found.moved = [(5, "x"), (20, "ALTER TABLE t MOVE"), (30, "ALTER TABLE t MOVE"), (60, "x")]
    whole, partial = arrival(2, 11, 45), replace(arrival(2, 11, 45), partial=True)
    assert stages(found, [whole], Applied(10, 1), Applied(50, 2)) == [Applied(50, 2)]
    assert stages(found, [partial], Applied(10, 1), Applied(50, 2)) == [Applied(19, 2), Applied(29, 2), Applied(50, 2)]
    assert stages(found, [partial], Applied(29, 1), Applied(50, 2)) == [Applied(50, 2)]


def test_rows_without_key_and_rowid_are_refused() -> None:
    lost = [replace(arrival(2, 11, 45), unplaced=3)]

    def between(applied: Applied, goal: Applied) -> Pending:
        return pending(history(), lost, applied, goal, truncate=True)

    refuse_unplaced(history(), ["ID@1"], between(Applied(10, 1), Applied(50, 2)))
    refuse_unplaced(history(), [], between(Applied(50, 2), Applied(60, 3)))
    with pytest.raises(LakeError, match=r"S.T has no key, and 3 of its changes have no ROWID"):
        refuse_unplaced(history(), [], between(Applied(10, 1), Applied(50, 2)))


def test_what_was_read_from_oracle_is_not_merged_again() -> None:
    work = pending(history(), [arrival(2, 11, 45)], Applied(30, 1), Applied(50, 2), truncate=True, read=30)
    assert (work.read, work.clears) == (30, False)
    assert "commit_scn > 30 " in work.limits("p.S.T").condition()
    assert pending(history(), [], Applied(20, 1), Applied(25, 2), truncate=True, read=30).read == 0, "not read yet"
