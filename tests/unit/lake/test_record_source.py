"""How far a lake's source is complete, by the commits of a connector's segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.stream.record_source import KafkaSource, SegmentSource, source_of
from minercdc.sinks.segments.reader import Place, SegmentLog, segment_file
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset, SuspendedTable

_PLACE = ("segments", 0)


_CONNECTOR = {
    "name": "c",
    "topic.prefix": "p",
    "database.hostname": "x",
    "database.user": "u",
    "database.password": "secret",
    "database.dbname": "d",
}


def config(directory: Path, kind: str = "segments") -> ConnectorConfig:
    return parse_properties(_CONNECTOR | {"debezium.sink.type": kind, "minercdc.sink.path": str(directory)})


@pytest.fixture
def sink(tmp_path: Path) -> SegmentSink:
    return SegmentSink(tmp_path, "c", 1000)


def commit(sink: SegmentSink, records: int, scn: int, *suspended: SuspendedTable) -> None:
    for number in range(records):
        sink.write(Record("p.A.T", b"%d" % number, b"v" * 100))
    sink.commit(Offset("test", {}, complete_scn=scn, suspended=suspended))


def test_a_mark_is_the_last_commit_and_the_records_up_to_it(tmp_path: Path, sink: SegmentSink) -> None:
    source = SegmentSource(config(tmp_path))
    assert source.newest() is None
    assert source.missing == f"connector c has no offset in {tmp_path} yet; start it: minercdc run CONFIG"
    commit(sink, 3, 10)
    mark = source.newest()
    assert mark is not None
    assert (mark.scn, mark.ends, source.missing) == (10, {_PLACE: 3}, "")
    assert source.newest() is None
    for scn in range(11, 31):  # over several segments
        commit(sink, 2, scn)
    mark = source.newest()
    assert mark is not None
    assert (mark.scn, mark.ends) == (30, {_PLACE: 43})
    assert len(SegmentLog(tmp_path).numbers()) > 3


def test_an_offset_of_the_checkpoint_is_as_many_records_as_its_place_has(tmp_path: Path, sink: SegmentSink) -> None:
    source, log = SegmentSource(config(tmp_path)), SegmentLog(tmp_path)
    for scn in range(1, 21):
        commit(sink, 2, scn)
    found = [
        source.ends(f'{{"log": "x", "segment": {at.segment}, "byte": {at.byte}}}') for at, _ in log.commits(Place(0, 0))
    ]
    assert found == [{_PLACE: 2 * number} for number in range(1, 21)]
    assert source.ends('{"log": "x", "segment": 2, "byte": 0}') == {_PLACE: log.header(2).records}
    assert source.ends('{"log": "", "segment": 0, "byte": 0}') == {}


def test_each_table_that_is_left_out_for_a_while_is_in_a_mark_however_late_it_is_read(
    tmp_path: Path, sink: SegmentSink
) -> None:
    source = SegmentSource(config(tmp_path))
    commit(sink, 1, 10)
    commit(sink, 1, 20, SuspendedTable("PDB.A.T", 15, "MC-4001", "why"))
    commit(sink, 1, 30)
    mark = source.newest()
    assert mark is not None
    assert [(entry.kind, entry.name, entry.scn) for entry in mark.left_out] == [
        ("suspended", "PDB.A.T", 15),
        ("resumed", "PDB.A.T", 30),
    ]


def test_what_is_written_but_not_committed_is_in_no_mark(tmp_path: Path, sink: SegmentSink) -> None:
    source = SegmentSource(config(tmp_path))
    commit(sink, 1, 10)
    assert source.newest() is not None
    content = segment_file(tmp_path, 1).read_bytes()
    commit(sink, 1, 20)
    whole = segment_file(tmp_path, 1).read_bytes()
    for length in range(len(content), len(whole)):  # as a reader may find it at any moment
        segment_file(tmp_path, 1).write_bytes(whole[:length])
        assert source.newest() is None
    segment_file(tmp_path, 1).write_bytes(whole)
    mark = source.newest()
    assert mark is not None
    assert mark.scn == 20


def test_segments_that_begin_after_what_was_read_are_a_loss(tmp_path: Path, sink: SegmentSink) -> None:
    source = SegmentSource(config(tmp_path))
    for scn in range(1, 21):
        commit(sink, 2, scn)
    first = SegmentLog(tmp_path).header(2).records
    segment_file(tmp_path, 1).unlink()
    assert source.unread({_PLACE: first}, {}, {}) == ()
    assert source.unread({}, {("p.A.T", 0): first}, {}) == ()
    with pytest.raises(LakeError, match=rf"records {first - 1} to {first - 1} of the segments in {tmp_path} were deleted"):
        source.unread({_PLACE: first - 1}, {}, {})


def test_segments_that_the_connector_began_again_are_refused(tmp_path: Path, sink: SegmentSink) -> None:
    source = SegmentSource(config(tmp_path))
    commit(sink, 1, 10)
    assert source.newest() is not None
    sink.close()
    for number in SegmentLog(tmp_path).numbers():
        segment_file(tmp_path, number).unlink()
    again = SegmentSink(tmp_path, "c", 1000)
    commit(again, 1, 5)
    with pytest.raises(LakeError, match="were started over while they were read"):
        source.newest()
    again.close()


def test_the_sink_decides(tmp_path: Path) -> None:
    assert isinstance(source_of(config(tmp_path)), SegmentSource)
    with pytest.raises(ConfigError, match="the lake needs kafka, not json"):
        source_of(config(tmp_path, "json"))
    assert isinstance(
        source_of(parse_properties(_CONNECTOR | {"minercdc.kafka.bootstrap.servers": "localhost:1"})), KafkaSource
    )
