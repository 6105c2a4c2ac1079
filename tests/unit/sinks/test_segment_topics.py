"""Segments as the memory of what their readers hold."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.messages.test_envelope import NEEDED

from minercdc.config.load import parse_properties
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.topic_fold import TopicFold
from minercdc.sinks.segments.reader import SegmentLog, segment_file
from minercdc.sinks.segments.topics import SegmentTopics
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset

TABLE = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER"),), (0,))
KEYS = [b"%d" % number for number in range(40)]


def value(op: str) -> bytes:
    return b'{"before":null,"after":null,"op":"' + op.encode() + b'","ts_ms":1}'


def write(sink: SegmentSink, keys: list[bytes], op: str) -> None:
    """A commit for every four records, with one of another topic between them."""
    for number, key in enumerate(keys):
        sink.write(Record("p.S.T", key, value(op)))
        if number % 4 == 3:
            sink.write(Record("p.S.OTHER", b"other", value("c")))
            sink.commit(Offset("x", {}))
    sink.commit(Offset("x", {}))


def ready(fold: TopicFold) -> None:
    deadline = time.monotonic() + 30
    while not fold.ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_keys_that_were_not_written_since_the_mark_are_found(tmp_path: Path) -> None:
    topics = TopicNames(parse_properties({**NEEDED, "topic.prefix": "p"}))
    fold = TopicFold(SegmentTopics(tmp_path / "s"), topics, tmp_path / "state", "c")
    assert fold.ends(TABLE) == ()
    sink = SegmentSink(tmp_path / "s", "c", 700)
    write(sink, KEYS, "c")
    write(sink, KEYS[:5], "d")
    marks = fold.ends(TABLE)
    write(sink, KEYS[10:], "r")
    state = tmp_path / "state"
    state.mkdir()
    left, of_another = (state / f"keys-{name}-{'0' * 32}.sqlite" for name in ("c", "c-d"))
    left.touch()
    of_another.touch()
    fold.begin(TABLE, marks)
    ready(fold)
    assert (left.exists(), of_another.exists()) == (False, True)
    write(sink, KEYS[5:6], "c")  # while it was folded
    assert sorted(fold.gone(100)) == sorted(KEYS[6:10])
    assert fold.limits() == ""
    assert fold.gone(100) == [], "each key is given once, also when nothing is written for it"
    assert "4 keys" in fold.limits()
    numbers = SegmentLog(tmp_path / "s").numbers()
    assert len(numbers) > 5
    segment_file(tmp_path / "s", numbers[0]).unlink()
    fold.begin(TABLE, marks)
    ready(fold)
    assert "retention" in fold.limits()
    fold.close()
    sink.close()
