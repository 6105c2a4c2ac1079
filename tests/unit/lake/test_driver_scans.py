"""Which micro-batches the driver's process reads, and which are left to Spark; and which of their records a merge takes."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.unit.lake.test_record_source import config

from minercdc.config.load import parse_properties
from minercdc.errors import DeliveryError, SinkError
from minercdc.lake.merge.kept_records import KeptRecords
from minercdc.lake.merge.pending import Limits
from minercdc.lake.stream import driver_scans
from minercdc.lake.stream.change_log import Arrival
from minercdc.lake.stream.driver_scans import DriverScans
from minercdc.lake.stream.record_source import KafkaSource, SegmentSource
from minercdc.lake.stream.scanned_batch import SourceRecord
from minercdc.native.decoding import decode
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset

needs_extension = pytest.mark.skipif(decode is None, reason="the extension was not built")

ENVELOPE = (
    b'{"before":null,"after":{"ID":1},"source":{"version":"0.1.0","connector":"oracle","name":"s","ts_ms":6,"snapshot":"false","db":"P",'
    b'"sequence":null,"ts_us":6,"ts_ns":6,"schema":"S","table":"T","txId":"0a","scn":"101","commit_scn":"103","lcr_position":null,'
    b'"rs_id":null,"ssn":0,"redo_thread":1,"user_name":"U","redo_sql":null,"row_id":"AAA","commit_ts_ms":7,"start_scn":"95",'
    b'"start_ts_ms":5,"txSeq":4},"transaction":null,"op":"u","ts_ms":1,"ts_us":1,"ts_ns":1}'
)


class Source:
    """A source of these records; an error in their place is raised."""

    def __init__(self, *records: bytes | None | Exception) -> None:
        self._records = records
        self.closed = 0

    def between(self, begin: str | None, end: str) -> Generator[SourceRecord]:
        try:
            for offset, value in enumerate(self._records):
                if isinstance(value, Exception):
                    raise value
                yield SourceRecord("p.S.T", 0, offset, b'{"ID":1}', value, None)
        finally:
            self.closed += 1


def scans(source: object, *, are_json: bool = True) -> DriverScans:
    values = parse_properties({"topic.prefix": "p", "minercdc.kafka.bootstrap.servers": "k"} | CONNECTOR).values
    return DriverScans(source, values, are_json=are_json)  # type: ignore[arg-type]


CONNECTOR = {"database.hostname": "x", "database.user": "u", "database.password": "p", "database.dbname": "d"}


@needs_extension
def test_records_are_counted_and_tombstones_have_no_row() -> None:
    source = Source(ENVELOPE, None, ENVELOPE)
    found = scans(source).read(None, "{}", 3)
    assert found is not None
    assert (found.records, {topic: part.num_rows for topic, part in found.rows.items()}) == (3, {"p.S.T": 2})
    (row, _) = found.rows["p.S.T"].to_pylist()
    assert (row["commit_scn"], row["value"], row["row_id"]) == (103, '{"before":null,"after":{"ID":1}}', "AAA")


@needs_extension
def test_tombstones_alone_are_not_left_to_spark() -> None:
    found = scans(Source(None, None)).read(None, "{}", 2)
    assert found is not None
    assert (found.records, found.rows) == (2, {})


@needs_extension
@pytest.mark.parametrize(
    "records",
    [
        (ENVELOPE, b"{}", ENVELOPE),
        (ENVELOPE, DeliveryError("no answer")),
        (SinkError("damaged"),),
        (ENVELOPE.replace(b'{"ID":1}', b'{"ID":"\xff"}'),),
    ],
    ids=["not ours", "not read", "damaged", "no text"],
)
def test_what_is_not_certain_is_left_to_spark(records: tuple[bytes | None | Exception, ...]) -> None:
    source = Source(*records)
    assert scans(source).read(None, "{}", len(records)) is None
    assert source.closed == 1


@needs_extension
def test_large_micro_batches_and_other_formats_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(*[ENVELOPE] * 2000)
    assert scans(source, are_json=False).read(None, "{}", 2000) is None
    assert scans(source).read(None, "{}", 10**6) is None
    assert source.closed == 0
    assert scans(source).read(None, "{}", 2000) is not None
    monkeypatch.setattr(driver_scans, "_MOST_BYTES", 1000)
    assert scans(source).read(None, "{}", 2000) is None


def test_segments_are_read_between_two_offsets(tmp_path: Path) -> None:
    sink = SegmentSink(tmp_path, "c", 1000)
    places = []
    source = SegmentSource(config(tmp_path))
    for turn in range(6):
        for topic in ("p.A.T", "other", "p.A.U"):
            sink.write(Record(topic, b"%d" % turn, b"v" * 100, headers=(("h", b"1"),)))
        sink.commit(Offset("test", {}, complete_scn=turn))
        (place, _) = list(source._log.commits(source._read_to))[-1]
        log = source._log.header(place.segment).log
        places.append(f'{{"log":"{log}","segment":{place.segment},"byte":{place.byte}}}')
    assert len(source._log.numbers()) > 2
    found = list(source.between(places[1], places[4]))
    assert [(one.topic, one.offset, one.key) for one in found] == [
        (topic, 3 * turn + number, b"%d" % turn) for turn in (2, 3, 4) for topic, number in (("p.A.T", 0), ("p.A.U", 2))
    ]
    assert found[0].headers == (("h", b"1"),)
    assert len(list(source.between(None, places[5]))) == 12
    assert list(source.between(None, '{"log":"","segment":0,"byte":0}')) == []
    with pytest.raises(SinkError):
        list(source.between(places[0], places[1].replace('"log":"', '"log":"x')))


def test_a_topic_that_ends_before_it_was_read_to_is_left_to_spark(tmp_path: Path) -> None:
    kafka = parse_properties({"topic.prefix": "p", "minercdc.kafka.bootstrap.servers": "127.0.0.1:1"} | CONNECTOR)
    with pytest.raises(DeliveryError, match="recreated"):
        list(KafkaSource(kafka).between('{"p.S.T":{"0":7}}', '{"p.S.T":{"0":6}}'))


def rows(*changes: tuple[str, int, int]) -> pa.RecordBatch:
    """(op, SCN, commit SCN) of each."""
    ops, scns, commit_scns = zip(*changes, strict=True)
    return pa.RecordBatch.from_pydict(
        {"op": pa.array(ops), "scn": pa.array(scns, pa.int64()), "commit_scn": pa.array(commit_scns, pa.int64())}
    )


def arrival(batch: int, topic: str = "t") -> Arrival:
    return Arrival(topic, batch, 1, 1, 9, (1, 9), 0, 0, 0, partial=False)


def limits(**given: int) -> Limits:
    return Limits("t", **{**dict.fromkeys(Limits._fields[1:], 0), "batch": 9, "scn": 99, **given})


CHANGES = (("c", 5, 10), ("u", 6, 11), ("t", 7, 12), ("d", 8, 13))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, [10, 11, 13]),
        ({"scn": 11}, [10, 11]),
        ({"since": 6}, [11, 13]),
        ({"snapshot": 11}, [11, 13]),
        ({"read": 11}, [13]),
        ({"applied_batch": 2, "applied_scn": 10}, [11, 13]),
        ({"applied_batch": 1, "applied_scn": 10}, [10, 11, 13]),
        ({"batch": 1}, None),
        ({"since": 99}, None),
    ],
)
def test_the_records_within_the_limits_are_taken(given: dict[str, int], wanted: list[int] | None) -> None:
    kept = KeptRecords()
    kept.add(2, {"t": rows(*CHANGES)})
    found = kept.of(limits(**given), [arrival(2)])
    assert (None if found is None else [scn for part in found for scn in part["commit_scn"].to_pylist()]) == wanted


def test_records_are_kept_until_they_are_merged_or_too_many() -> None:
    one = rows(*CHANGES)
    kept = KeptRecords(most=3 * one.nbytes)
    for batch in (1, 2):
        kept.add(batch, {"t": one, "other": one} if batch == 1 else {"t": one})
    assert kept.has([arrival(1), arrival(2), arrival(1, "other")])
    found = kept.of(limits(), [arrival(2), arrival(1)])
    assert found is not None
    assert len(found) == 2
    kept.keep_only("t", {2}, until=2)
    assert not kept.has([arrival(1)])
    assert kept.of(limits(), [arrival(1), arrival(2)]) is None
    kept.add(3, {"t": one})
    kept.keep_only("t", (), until=2)  # 3 is not known as arrived yet
    assert kept.has([arrival(3), arrival(1, "other")])
    for batch in (4, 5):
        kept.add(batch, {"t": one})
    assert kept.has([arrival(3), arrival(4), arrival(5)])
    assert not kept.has([arrival(1, "other")])
