"""Segments: what is committed is read, and nothing else, wherever a crash or damage comes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from minercdc.errors import DeliveryError, FencedError, SinkError
from minercdc.sinks import durable_files as files
from minercdc.sinks.segments import reader as segment_log
from minercdc.sinks.segments import writer as segments
from minercdc.sinks.segments.frames import StoredRecord, frames, record_frame, record_of
from minercdc.sinks.segments.reader import Place, SegmentLog, segment_file
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset

BEGIN = Place(1, 0)


def sink(directory: Path, segment_bytes: int = 1 << 20, name: str = "c") -> SegmentSink:
    return SegmentSink(directory, name, segment_bytes, clock_ms=lambda: 7)


def record(number: int) -> Record:
    return Record("t", b"%d" % number, b'{"n":%d}' % number)


def offset(number: int) -> Offset:
    return Offset("logminer", {"at": number})


def committed(directory: Path, start: Place = BEGIN, most: int | None = None) -> tuple[list[StoredRecord], Place]:
    log = SegmentLog(directory)
    end = log.reach(start, most)
    return [one for begin, until in log.ranges(start, end) for one in log.read(begin, until)], end


def keys(directory: Path) -> list[int]:
    return [int(one.key or b"") for one in committed(directory)[0]]


def position(stored: Offset | None) -> object:
    return None if stored is None or stored.position is None else stored.position["at"]


def filled(directory: Path, batches: int = 3, segment_bytes: int = 1 << 20) -> None:
    """Batches of two records."""
    writer = sink(directory, segment_bytes)
    for batch in range(batches):
        writer.write(record(2 * batch))
        writer.write(record(2 * batch + 1))
        writer.commit(offset(batch))
    writer.close()


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    writer = sink(tmp_path)
    written = [
        Record("t.A", b'{"ID":1}', b'{"op":"c"}', (("name", b"\x00\xff"), ("ü", b""), ("null", None))),
        Record("t.A", b'{"ID":1}', None, partition=3),
        Record("ü", None, b""),
    ]
    for one in written:
        writer.write(one)
    writer.commit(offset(1))
    found, _ = committed(tmp_path)
    assert [(one.topic, one.key, one.value, one.headers) for one in found] == [
        (one.topic, one.key, one.value, one.headers) for one in written
    ]
    assert [(one.number, one.time_ms) for one in found] == [(0, 7), (1, 7), (2, 7)]
    writer.close()


@pytest.mark.parametrize("segment_bytes", [1 << 20, 1])
def test_a_range_has_its_own_records_whatever_was_committed_after_it(tmp_path: Path, segment_bytes: int) -> None:
    filled(tmp_path, batches=4, segment_bytes=segment_bytes)
    log = SegmentLog(tmp_path)
    places = [BEGIN]
    while (end := log.reach(places[-1], 2)) != places[-1]:
        places.append(end)
    assert len(places) == 5
    for first, begin in enumerate(places):
        for last, end in enumerate(places[first:], first):
            found = [one.number for at, until in log.ranges(begin, end) for one in log.read(at, until)]
            assert found == list(range(2 * first, 2 * last)), (begin, end)


def test_what_is_not_committed_is_neither_read_nor_kept(tmp_path: Path) -> None:
    writer = sink(tmp_path)
    writer.write(record(1))
    writer.commit(offset(1))
    writer.write(record(2))
    assert keys(tmp_path) == [1]
    writer.close()
    again = sink(tmp_path)
    assert position(again.load_offset()) == 1
    again.write(record(3))
    again.commit(offset(3))
    assert keys(tmp_path) == [1, 3]
    again.close()


@pytest.mark.parametrize("segment_bytes", [1 << 20, 1])
def test_cut_at_every_byte_the_last_whole_commit_is_what_counts(tmp_path: Path, segment_bytes: int) -> None:
    filled(tmp_path / "whole", segment_bytes=max(segment_bytes, 1))
    newest = SegmentLog(tmp_path / "whole").numbers()[-1]
    content = segment_file(tmp_path / "whole", newest).read_bytes()
    ends = [one.end for one in frames(content) if one.kind in b"HC"]
    before = 0 if segment_bytes > 1 else 2 * (newest - 1)  # records of the earlier segments
    for cut in range(ends[0], len(content) + 1):
        with TemporaryDirectory(dir=tmp_path) as scratch:
            there = Path(scratch)
            for number in range(1, newest):
                segment_file(there, number).write_bytes(segment_file(tmp_path / "whole", number).read_bytes())
            segment_file(there, newest).write_bytes(content[:cut])
            whole = before + 2 * (sum(end <= cut for end in ends) - 1)
            assert keys(there) == list(range(whole)), cut
            writer = sink(there)
            assert position(writer.load_offset()) == (whole // 2 - 1 if whole else None), cut
            writer.write(record(whole))
            writer.commit(offset(99))
            writer.close()
            assert keys(there) == list(range(whole + 1)), cut


def test_damage_before_a_commit_is_named_with_file_and_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_log, "_BETWEEN_LOOKS_S", 0)
    filled(tmp_path, batches=2)
    path = segment_file(tmp_path, 1)
    content = path.read_bytes()
    *_, last = [one.end for one in frames(content) if one.kind == b"C"][:-1]
    for at in range(last):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :])
        for use in (lambda: sink(tmp_path), lambda: committed(tmp_path)):
            with pytest.raises(SinkError) as raised:
                use()
            assert "0000000000000001.segment is damaged at byte" in raised.value.message, at
            assert "Restore the file" in raised.value.hint
    path.write_bytes(content)
    assert keys(tmp_path) == list(range(4))


def test_the_end_of_a_segment_that_another_one_follows_is_no_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_log, "_BETWEEN_LOOKS_S", 0)
    filled(tmp_path, batches=2, segment_bytes=1)
    path = segment_file(tmp_path, 1)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1  # of its last commit
    path.write_bytes(content)
    for read in (lambda: committed(tmp_path), lambda: list(SegmentLog(tmp_path).read(BEGIN, None))):
        with pytest.raises(SinkError, match=r"0000000000000001.segment is damaged"):
            read()


def test_a_segment_that_was_cut_at_a_commit_is_damaged(tmp_path: Path) -> None:
    filled(tmp_path, batches=4, segment_bytes=500)
    assert len(SegmentLog(tmp_path).numbers()) > 1
    path = segment_file(tmp_path, 1)
    first, *later = [one.end for one in frames(path.read_bytes()) if one.kind == b"C"]
    assert later
    path.write_bytes(path.read_bytes()[:first])
    with pytest.raises(SinkError, match=rf"0000000000000001.segment is damaged at byte {first}"):
        committed(tmp_path)


def test_a_damaged_range_that_was_planned_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    _, end = committed(tmp_path)
    path = segment_file(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SinkError, match="damaged at byte"):
        list(SegmentLog(tmp_path).read(BEGIN, end.byte))
    with pytest.raises(SinkError, match="ends before byte"):
        SegmentLog(tmp_path).reach(end)


def test_a_second_process_is_fenced_and_the_first_goes_on(tmp_path: Path) -> None:
    first = sink(tmp_path)
    other = (
        "import sys; from pathlib import Path; from minercdc.sinks.segments.writer import SegmentSink;"
        "from minercdc.errors import FencedError\n"
        "try: SegmentSink(Path(sys.argv[1]), 'c', 99999)\n"
        "except FencedError as error: print(error.message)"
    )
    done = subprocess.run([sys.executable, "-c", other, str(tmp_path)], capture_output=True, text=True, check=True)
    assert f"belongs to another process, pid {os.getpid()}" in done.stdout
    with pytest.raises(FencedError):
        sink(tmp_path)
    first.write(record(1))
    first.commit(offset(1))
    first.close()
    sink(tmp_path).close()
    assert keys(tmp_path) == [1]


def test_a_directory_that_is_removed_under_the_connector_fences_it(tmp_path: Path) -> None:
    writer = sink(tmp_path / "s")
    (tmp_path / "s").rename(tmp_path / "moved")
    with pytest.raises(FencedError, match="removed or replaced"):
        writer.check_owner()
    writer.write(record(1))
    with pytest.raises(FencedError, match="removed or replaced"):
        writer.commit(offset(1))
    writer.close()


def test_a_directory_that_a_file_replaces_fences_it(tmp_path: Path) -> None:
    writer = sink(tmp_path / "s")
    (tmp_path / "s").rename(tmp_path / "moved")
    (tmp_path / "s").write_text("")
    with pytest.raises(FencedError, match="removed or replaced"):
        writer.check_owner()
    writer.close()


def test_a_lock_that_cannot_be_looked_at_is_an_error_of_the_sink(tmp_path: Path) -> None:
    writer = sink(tmp_path)
    lock = tmp_path / segment_log.LOCK
    lock.unlink()
    lock.symlink_to(lock)
    with pytest.raises(SinkError, match="looking at .*owner.lock failed"):
        writer.check_owner()
    writer.close()


def test_segments_of_another_connector_are_left_alone(tmp_path: Path) -> None:
    sink(tmp_path).close()
    with pytest.raises(SinkError, match="of connector c, not of d"):
        sink(tmp_path, name="d")
    sink(tmp_path).close()


@pytest.mark.parametrize("part", ["records", "commit", "header"])
def test_a_full_disk_loses_nothing_and_goes_on_once_there_is_room(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, batches=1)
    writer = sink(tmp_path, segment_bytes=1 if part == "header" else 1 << 20)
    writes = {"records": 0, "commit": 1}.get(part)

    def full(descriptor: int, data: bytes) -> None:
        nonlocal writes
        if writes:
            writes -= 1
            files.write_all(descriptor, data)
            return
        os.write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def no_file(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(segments, "write_all", full)
        if part == "header":
            disk.setattr(segments, "replace_file", no_file)
        writer.write(record(2))
        with pytest.raises(DeliveryError, match="No space left") as raised:
            writer.commit(offset(1))
        writer.close()
    assert "Make room" in raised.value.hint
    assert keys(tmp_path) == [0, 1]
    again = sink(tmp_path)
    assert position(again.load_offset()) == 0
    again.write(record(2))
    again.commit(offset(1))
    again.close()
    assert keys(tmp_path) == [0, 1, 2]


def test_records_are_on_disk_before_the_commit_and_that_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = sink(tmp_path)
    steps: list[bytes] = []

    def write(file: int, data: bytes) -> None:
        steps.append(data[8:9])
        files.write_all(file, data)

    def sync(file: int) -> None:
        steps.append(b"sync")
        files.make_durable(file)

    monkeypatch.setattr(segments, "write_all", write)
    monkeypatch.setattr(segments, "make_durable", sync)
    writer.write(record(1))
    writer.commit(offset(1))
    assert steps == [b"R", b"sync", b"C", b"sync"]
    writer.close()


def test_segments_roll_and_number_their_records_through(tmp_path: Path) -> None:
    filled(tmp_path, batches=5, segment_bytes=1)
    assert SegmentLog(tmp_path).numbers() == [1, 2, 3, 4, 5]
    assert [one.number for one in committed(tmp_path)[0]] == list(range(10))
    segment_file(tmp_path, 1).unlink()  # as retention does
    segment_file(tmp_path, 2).unlink()
    assert [one.number for one in committed(tmp_path, Place(3, 0))[0]] == list(range(4, 10))
    with pytest.raises(SinkError, match=r"0000000000000002.segment is missing"):
        committed(tmp_path, Place(2, 0))
    segment_file(tmp_path, 4).unlink()
    with pytest.raises(SinkError, match=r"0000000000000004.segment is missing"):
        committed(tmp_path, Place(3, 0))


def test_a_segment_that_was_begun_last_knows_the_offset(tmp_path: Path) -> None:
    filled(tmp_path, batches=2, segment_bytes=1)
    writer = sink(tmp_path, segment_bytes=1)
    writer._roll()  # killed right after it
    writer.close()
    again = sink(tmp_path)
    assert position(again.load_offset()) == 1
    assert keys(tmp_path) == [0, 1, 2, 3]
    again.close()


def test_a_limit_ends_at_the_first_commit_that_reaches_it(tmp_path: Path) -> None:
    filled(tmp_path, batches=6, segment_bytes=400)
    assert len(SegmentLog(tmp_path).numbers()) > 1
    start, found = BEGIN, []
    while True:
        batch, end = committed(tmp_path, start, most=3)
        if end == start:
            break
        assert len(batch) == 4
        found += [one.number for one in batch]
        start = end
    assert found == list(range(12))


def test_commits_without_records_are_passed_over_now_and_then_only(tmp_path: Path) -> None:
    filled(tmp_path, batches=1)
    _, start = committed(tmp_path)
    writer = sink(tmp_path)
    moves, place = 0, start
    for number in range(1500):
        writer.commit(offset(number))
        if number % 20 == 0:
            moves += place != (place := SegmentLog(tmp_path).reach(place))
    writer.write(record(2))
    writer.commit(offset(0))
    assert 1 <= moves <= 3
    assert [one.number for one in committed(tmp_path, place)[0]] == [2]
    writer.close()


_texts = st.text(max_size=20)
_bytes = st.none() | st.binary(max_size=200) | st.just(b"COMMIT" * 3)
_records = st.builds(
    Record,
    _texts,
    _bytes,
    _bytes,
    st.lists(st.tuples(_texts, st.none() | st.binary(max_size=20)), max_size=3).map(tuple),
)


@given(st.lists(st.lists(_records, max_size=4), max_size=6), st.integers(1, 400), st.integers(1, 5))
@settings(max_examples=examples(60))
def test_any_batches_come_back_in_order_by_any_steps(batches: list[list[Record]], segment_bytes: int, most: int) -> None:
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        for number, batch in enumerate(batches):  # each by a process of its own
            writer = sink(directory, segment_bytes)
            for one in batch:
                writer.write(one)
            writer.commit(offset(number))
            writer.write(Record("not", b"committed", None))
            writer.close()
        if not batches:
            return
        found: list[StoredRecord] = []
        start = BEGIN
        while True:
            part, end = committed(directory, start, most)
            if end == start:
                break
            found, start = found + part, end
        expected = [one for batch in batches for one in batch]
        assert [(one.topic, one.key, one.value, one.headers) for one in found] == [
            (one.topic, one.key, one.value, one.headers) for one in expected
        ]
        assert [one.number for one in found] == list(range(len(expected)))


@given(_records)
def test_a_frame_is_read_whole_or_not_at_all(one: Record) -> None:
    data = record_frame(one)
    (found,) = frames(data)
    assert record_of(found.payload, 5, 6)[2:] == (one.topic, one.key, one.value, one.headers)
    assert all(not list(frames(data[:cut])) for cut in range(len(data)))
