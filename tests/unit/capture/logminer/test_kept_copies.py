"""Copies of kept transactions in a topic: from them a start on another machine makes the files again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.memory_topic import MemoryTopic
from tests.unit.capture.logminer.redo import A, B, C, Miner, Redo, changes
from tests.unit.capture.logminer.test_keeping import ALL, PATHS, after, damage, miner, position_of, two_passes

from minercdc.capture.logminer.kept import copies as kept_copies
from minercdc.capture.logminer.kept.copies import KeptCopies
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import unusable
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import DeliveryError


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_copies, "PIECE", 100)


@pytest.fixture
def topic() -> MemoryTopic:
    return MemoryTopic()


def of(topic: MemoryTopic) -> KeptCopies:
    """What a new process has."""
    return KeptCopies(topic, "test/1")


def kept(directory: Path, topic: MemoryTopic, rows: int = 20, **other: Any) -> tuple[Redo, Miner]:
    """Redo with an open transaction of some rows, and who has kept it."""
    redo = Redo()
    redo.start(A)
    for key in range(rows):
        redo.insert(A, key, key)
    return redo, two_passes(directory, redo, copies=of(topic), **other)


@pytest.mark.parametrize("runs", PATHS)
def test_another_machine_has_the_rows_and_needs_no_redo_of_their_beginning(
    tmp_path: Path, topic: MemoryTopic, runs: bool
) -> None:
    redo, one = kept(tmp_path / "a", topic, runs=runs)
    position = position_of(one)
    redo.update(A, 4, 4, 5)
    redo.insert(C, 1001)
    one.read(redo.rows)  # appended to the file after the offset that is gone on from
    topic.compact()
    two = miner(tmp_path / "b", position, runs=runs, copies=of(topic))
    assert two.lost == ()
    redo.commit(A)
    redo.commit(C)
    events = two.read(after(redo.rows, position))
    assert changes(events) == [*(("c", str(key)) for key in range(20)), ("u", "4"), ("c", "999"), ("c", "1001")]
    assert topic.keys
    two.files.confirm(two.assembly.position())
    assert topic.keys == set()
    assert list(two.files.directory.iterdir()) == []


@pytest.mark.parametrize("runs", PATHS)
def test_a_damaged_file_is_made_again(tmp_path: Path, topic: MemoryTopic, runs: bool) -> None:
    redo, one = kept(tmp_path, topic, runs=runs)
    position = position_of(one)
    one.assembly.close()
    redo.commit(A)
    expected = [("c", str(key)) for key in range(20)]
    for what in damage(one.files.directory, position):
        two = miner(tmp_path, position, runs=runs, copies=of(topic))
        assert two.lost == (), what
        assert changes(two.read(after(redo.rows, position))) == expected, what
        two.assembly.close()


def test_a_copy_with_a_gap_is_noticed(tmp_path: Path, topic: MemoryTopic) -> None:
    redo, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    assert len(topic.keys) > 3
    for key in (sorted(topic.keys)[1], max(topic.keys, key=lambda key: int(key.rpartition("/")[2]))):
        poor = MemoryTopic()
        poor.log = [record for record in topic.log if record[0] != key]
        two = miner(tmp_path / key.rpartition("/")[2], position, copies=of(poor))
        assert [one.xid for one, _ in two.lost if one.xid == A.hex()] == [A.hex()]
        assert not list(two.files.directory.glob("*.part"))
    redo.commit(A)
    assert changes(two.read(redo.rows)) == [("c", str(key)) for key in range(20)]


def test_what_was_kept_on_disk_only_is_copied_with_the_next_rows(tmp_path: Path, topic: MemoryTopic) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path / "a", redo)
    position = position_of(one)
    one.assembly.close()
    two = miner(tmp_path / "a", position, copies=of(topic))
    two.read(redo.rows)
    redo.insert(C, 1000)
    two.read(redo.rows)
    position = position_of(two)
    two.assembly.close()
    three = miner(tmp_path / "b", position, copies=of(topic))
    assert three.lost == ()
    redo.commit(A)
    assert changes(three.read(after(redo.rows, position))) == [("c", "1")]


def test_files_of_another_machine_that_no_offset_names_go_with_those_of_its_own(tmp_path: Path, topic: MemoryTopic) -> None:
    redo, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    topic.put("test/1/0123.topic.rows/0", b"of a run that stored no offset")
    topic.put("test/2/0123.topic.rows/0", b"of another connector")
    topic.put("test/1/nonsense", b"of another program")
    topic.flush()
    two = miner(tmp_path / "b", position, copies=of(topic))
    redo.commit(A)
    two.read(after(redo.rows, position))
    two.files.confirm(two.assembly.position())
    assert {"test/2/0123.topic.rows/0", "test/1/nonsense"} <= topic.keys
    assert "test/1/0123.topic.rows/0" not in topic.keys


def test_no_position_names_what_the_topic_does_not_have(tmp_path: Path, topic: MemoryTopic) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = miner(tmp_path, copies=of(topic))
    one.read(redo.rows)
    redo.insert(C, 999)
    topic.is_down = True
    with pytest.raises(DeliveryError):
        one.read(redo.rows)
    assert position_of(one).kept == ()


@pytest.mark.parametrize("left", [0, 2])
def test_a_topic_that_lost_records_is_filled_again_from_the_files(tmp_path: Path, topic: MemoryTopic, left: int) -> None:
    redo, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    one.assembly.close()
    topic.log = topic.log[:left]  # it was deleted, or deletes
    two = miner(tmp_path / "a", position, copies=of(topic))
    assert two.lost == ()
    two.read(after(redo.rows, position))
    redo.insert(C, 1000)
    two.read(after(redo.rows, position))
    position = position_of(two)
    two.assembly.close()
    three = miner(tmp_path / "b", position, copies=of(topic))
    assert three.lost == ()
    redo.commit(A)
    assert changes(three.read(after(redo.rows, position))) == [("c", str(key)) for key in range(20)]


def test_whether_the_rows_are_there_is_known_before_they_are_needed(tmp_path: Path, topic: MemoryTopic) -> None:
    _, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    elsewhere = KeptFiles(tmp_path / "b", "test", of(topic))
    assert unusable(position, elsewhere, ALL) == {}
    assert not elsewhere.directory.exists()
    topic.log.clear()
    lost = unusable(position, KeptFiles(tmp_path / "b", "test", of(topic)), ALL)
    assert all("No such file" in reason for _, reason in lost.values())
    assert len(lost) == len(position.kept)


def test_a_damaged_copy_is_not_announced_as_good(tmp_path: Path, topic: MemoryTopic) -> None:
    _, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    topic.log = [(key, value and b"x" * len(value)) for key, value in topic.log]
    two = miner(tmp_path / "b", position, copies=of(topic))
    assert {reason.rpartition(", ")[2] for _, reason in two.lost} == {"and so it is in the copy in Kafka"}


def test_a_topic_that_cannot_be_read_is_not_taken_for_one_without_copies(tmp_path: Path, topic: MemoryTopic) -> None:
    _, one = kept(tmp_path / "a", topic)
    position = position_of(one)
    topic.is_down = True
    with pytest.raises(DeliveryError):
        miner(tmp_path / "b", position, copies=of(topic))
    with pytest.raises(DeliveryError):
        unusable(position, KeptFiles(tmp_path / "c", "test", of(topic)), ALL)


def test_a_copy_that_cannot_be_removed_stops_nothing(
    tmp_path: Path, topic: MemoryTopic, caplog: pytest.LogCaptureFixture
) -> None:
    redo, one = kept(tmp_path, topic)
    redo.commit(A)
    redo.commit(C)
    one.read(redo.rows)
    topic.is_down = True
    one.files.confirm(one.assembly.position())
    assert "is left in Kafka" in caplog.text


def test_rows_that_were_never_kept_are_not_copied(tmp_path: Path, topic: MemoryTopic) -> None:
    redo = Redo()
    for key in range(20):
        redo.insert(A, key)
    redo.rollback(A)
    one = miner(tmp_path, copies=of(topic), memory_max=1)
    one.read(redo.rows)
    assert one.files.directory.exists()  # they were written out
    assert topic.log == []


@pytest.mark.parametrize("seed", range(4))
def test_moves_between_machines_miss_and_repeat_nothing(tmp_path: Path, topic: MemoryTopic, seed: int) -> None:
    """Each pass may be the last one of its machine; what was under way to the topic may be lost, and the topic be compacted."""
    chance, redo = random.Random(seed), Redo()
    position, delivered, machine = LogMinerPosition(), list[tuple[str, str]](), 0
    one, expected = miner(tmp_path / "0", copies=of(topic)), list[tuple[str, str]]()
    pending: dict[bytes, list[tuple[str, str]]] = {A: [], B: []}
    for key in range(60):
        transaction = chance.choice([A, B])
        redo.insert(transaction, key)
        pending[transaction].append(("c", str(key)))
        if chance.random() < 0.1:
            redo.commit(transaction)
            expected += pending[transaction]
            pending[transaction] = []
        seen = changes(one.read(after(redo.rows, position) if position.threads else redo.rows))
        if chance.random() < 0.4:  # its offset is not stored any more
            topic.die(chance.randrange(3))
            machine += 1
            one = miner(tmp_path / str(machine % 7), position, copies=of(topic))
            assert one.lost == ()
            continue
        delivered += seen
        position = position_of(one)
        one.files.confirm(one.assembly.position())
        if chance.random() < 0.2:
            topic.compact()
    delivered += changes(one.read(after(redo.rows, position)))
    assert delivered == expected
    assert machine > 10
