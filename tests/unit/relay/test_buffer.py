"""Buffer and serving table against a model: the list of all windows that were ever published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.examples import examples

from minercdc.errors import RelayError
from minercdc.relay.buffer.mapped_file import open_mapped
from minercdc.relay.buffer.storage import Memory
from minercdc.relay.buffer.windows import EventBuffer, OvertakenError, ScnNotFoundError, Window
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.events.event import UPSERT, RelayEvent, end_of_window, events_in, packed
from minercdc.relay.server.serving import answer, filtered_answer

SCHEMA = bytes(range(16))
SIZE = 16_384


def event(scn: int, key: int, source: int = 101, size: int = 0) -> bytes:
    return packed(source, scn, UPSERT, key, bytes(size), SCHEMA, scn)


def window(scn: int, count: int, size: int = 0) -> Window:
    return Window(scn, [event(scn, key, 101 + key % 3, size) for key in range(count)], scn)


def read(buffer: EventBuffer, place: Checkpoint, size: int = 1 << 30) -> list[RelayEvent]:
    return list(events_in(b"".join(answer(buffer, place, size).chunks(buffer))))


def ended(windows: Sequence[Window]) -> list[RelayEvent]:
    return [one for w in windows for one in events_in(b"".join((*w.events, end_of_window(w.scn, w.time_ns))))]


class Model(RuleBasedStateMachine):
    """Random windows of random sizes go in; random checkpoints come."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[Window] = []

    @initialize(size=st.sampled_from([4_096, SIZE, 40_000]), start=st.integers(0, 3))
    def begin(self, size: int, start: int) -> None:
        self.buffer = EventBuffer(Memory(size))
        if start:
            self.buffer.start_after(start)
        self.first = start

    @rule(gaps=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12), st.integers(0, 150)), min_size=1, max_size=12))
    def publish(self, gaps: list[tuple[int, int, int]]) -> None:
        scn = self.windows[-1].scn if self.windows else max(self.first, 1)
        made = []
        for gap, count, size in gaps:
            scn += gap
            made.append(window(scn, count, size))
        self.buffer.publish(made)
        self.windows += made

    def held(self) -> list[Window]:
        """The windows that the buffer still has: the newest ones."""
        state = self.buffer.state
        return [w for w in self.windows if w.scn > state.prev_scn]

    @invariant()
    def the_buffer_has_the_newest_windows(self) -> None:
        if not hasattr(self, "buffer"):
            return
        held, state = self.held(), self.buffer.state
        assert read(self.buffer, Checkpoint()) == ended(held)
        if self.windows:
            assert state.max_scn == self.windows[-1].scn
        if state.prev_scn > self.first and held:
            before = [w.scn for w in self.windows if w.scn < held[0].scn]
            assert state.prev_scn == before[-1]
        total = sum(61 + sum(map(len, w.events)) for w in held)
        assert total == state.tail - state.head <= self.buffer.size

    @precondition(lambda self: self.windows)
    @rule(scn=st.integers(0, 300), data=st.data(), size=st.integers(61, 6_000))
    def serve(self, scn: int, data: st.DataObject, size: int) -> None:
        held, state = self.held(), self.buffer.state
        known = {w.scn: w for w in held}
        count = len(known[scn].events) if scn in known else 5
        offset = data.draw(st.integers(-1, count), label="offset")
        place = Checkpoint(scn, offset)
        lost = scn < state.prev_scn or (scn == state.prev_scn and offset != -1)
        if lost:
            with pytest.raises(ScnNotFoundError):
                self.buffer.start_of(place)
            return
        expected = ended([w for w in held if w.scn > scn])
        if scn in known and offset != -1:
            expected = ended([known[scn]])[offset:] + expected
        found = answer(self.buffer, place, size)
        events = list(events_in(b"".join(found.chunks(self.buffer))))
        assert events == expected[: len(events)]
        assert found.end - found.begin <= size
        if expected and not events:
            assert found.pending == _length(expected[0]) > size
        elif not expected:
            assert not events

    @precondition(lambda self: self.windows)
    @rule(size=st.integers(220, 2_000), remainder=st.integers(0, 2))
    def read_to_the_end_in_pieces(self, size: int, remainder: int) -> None:
        """A client that counts what it gets comes to the end; with a filter, by what the relay says."""
        held = self.held()
        assert _drained(self.buffer, size) == ended(held)
        wanted = [one for one in ended(held) if one.source < 0 or one.source % 3 == remainder]
        assert _drained_filtered(self.buffer, size, remainder) == wanted


def _length(event: RelayEvent) -> int:
    return 61 + len(event.value)


def _drained(buffer: EventBuffer, size: int) -> list[RelayEvent]:
    place, found = Checkpoint(), []
    while events := read(buffer, place, size):
        found += events
        inside = 0 if place.window_offset == -1 or place.window_scn != events[-1].sequence else place.window_offset
        for one in reversed(events):
            if one.is_end_of_window:
                inside = 0 if one is not events[-1] else inside
                break
        last = events[-1]
        if last.is_end_of_window:
            place = Checkpoint(last.sequence)
        else:
            ends = [i for i, one in enumerate(events) if one.is_end_of_window]
            place = Checkpoint(last.sequence, len(events) - (ends[-1] + 1 if ends else 0) + (0 if ends else inside))
    return found


def _drained_filtered(buffer: EventBuffer, size: int, remainder: int) -> list[RelayEvent]:
    place, found = Checkpoint(), []
    while True:
        one = filtered_answer(buffer, place, size, lambda event: event.source % 3 == remainder)
        events = list(events_in(one.filtered or b""))
        found += events
        if one.end == one.begin:
            return found
        place = Checkpoint(one.window_scn, one.window_offset) if one.window_offset >= 0 else Checkpoint(events[-1].sequence)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=examples(60), stateful_step_count=25, deadline=None)


def test_windows_have_to_rise() -> None:
    buffer = EventBuffer(Memory(SIZE))
    buffer.publish([window(5, 1)])
    for scn in (4, 5):
        with pytest.raises(RelayError, match=f"window {scn} comes after window 5"):
            buffer.publish([window(scn, 1)])
    assert [one.sequence for one in read(buffer, Checkpoint())] == [5, 5]


def test_a_window_larger_than_the_buffer_is_refused() -> None:
    buffer = EventBuffer(Memory(4_096))
    with pytest.raises(RelayError, match="window 7 has .* bytes, and the relay's buffer 4096"):
        buffer.publish([window(7, 100)])


def test_a_reader_that_is_overtaken_gets_an_error_and_no_other_bytes() -> None:
    buffer = EventBuffer(Memory(4_096))
    buffer.publish([window(1, 20)])
    slow = answer(buffer, Checkpoint(), 1 << 20)
    buffer.publish([window(scn, 20) for scn in range(2, 9)])
    with pytest.raises(OvertakenError):
        list(slow.chunks(buffer))


def test_an_empty_buffer_knows_what_it_had() -> None:
    buffer = EventBuffer(Memory(SIZE))
    buffer.start_after(100)
    assert read(buffer, Checkpoint(100)) == read(buffer, Checkpoint(105)) == read(buffer, Checkpoint()) == []
    for place in (Checkpoint(99), Checkpoint(100, 2)):
        with pytest.raises(ScnNotFoundError, match="after SCN 100"):
            buffer.start_of(place)


def test_the_newest_window() -> None:
    buffer = EventBuffer(Memory(SIZE))
    buffer.publish([window(scn, 3) for scn in (1, 4, 9)])
    found = answer(buffer, Checkpoint(), 1 << 20, latest=True)
    assert {one.sequence for one in events_in(b"".join(found.chunks(buffer)))} == {9}


def filled(path: Path, size: int = SIZE, last: int = 400) -> list[RelayEvent]:
    buffer, _ = open_mapped(path, size)
    buffer.publish([window(scn, scn % 4) for scn in range(1, last)])
    kept = read(buffer, Checkpoint())
    buffer.close()
    return kept


def test_a_mapped_buffer_is_found_again(tmp_path: Path) -> None:
    kept = filled(tmp_path / "buffer")
    buffer, _ = open_mapped(tmp_path / "buffer", SIZE)
    assert read(buffer, Checkpoint()) == kept
    assert buffer.state.max_scn == 399
    assert 1 < buffer.state.prev_scn == kept[0].sequence - 1
    for scn in range(kept[0].sequence, 400):
        assert read(buffer, Checkpoint(scn)) == [one for one in kept if one.sequence > scn]
    buffer.publish([window(400, 2)])
    assert read(buffer, Checkpoint(399))[-1].sequence == 400
    buffer.close()


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, SIZE - 1), st.integers(0, 7))
def test_a_damaged_file_is_noticed(tmp_path_factory: pytest.TempPathFactory, at: int, bit: int) -> None:
    path = tmp_path_factory.mktemp("relay") / "buffer"
    kept = filled(path)
    content = bytearray(path.read_bytes())
    content[4_096 + at] ^= 1 << bit
    path.write_bytes(content)
    buffer, _ = open_mapped(path, SIZE)
    found = read(buffer, Checkpoint())
    assert found == kept or found == []
    if not found:
        assert buffer.state.prev_scn == buffer.state.max_scn == 399
        with pytest.raises(ScnNotFoundError):
            buffer.start_of(Checkpoint(398))
    buffer.close()


@pytest.mark.parametrize("left", [0, 7, 100, 4_096, 9_000, 4_096 + SIZE - 1])
def test_a_truncated_file_is_emptied(tmp_path: Path, left: int) -> None:
    path = tmp_path / "buffer"
    filled(path)
    path.write_bytes(path.read_bytes()[:left])
    buffer, _ = open_mapped(path, SIZE)
    assert buffer.state.is_empty
    buffer.publish([window(1000, 2)])
    assert len(read(buffer, Checkpoint())) == 3
    buffer.close()


def test_a_slot_that_is_half_written_leaves_the_state_before(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    buffer, _ = open_mapped(path, SIZE)
    buffer.publish([window(1, 1)])
    before = path.read_bytes()[:4_096]
    buffer.publish([window(2, 1)])
    content = bytearray(path.read_bytes())
    changed = next(at for at in range(64, 192) if content[at] != before[at])
    slot = 64 if changed < 128 else 128
    content[slot + 30] ^= 0xFF
    buffer.close()
    path.write_bytes(content)
    buffer, _ = open_mapped(path, SIZE)
    assert buffer.state.max_scn == 1
    assert {one.sequence for one in read(buffer, Checkpoint())} == {1}
    buffer.close()


def test_a_buffer_of_another_size_is_emptied(tmp_path: Path) -> None:
    filled(tmp_path / "buffer")
    buffer, _ = open_mapped(tmp_path / "buffer", 2 * SIZE)
    assert buffer.state.is_empty
    buffer.close()
