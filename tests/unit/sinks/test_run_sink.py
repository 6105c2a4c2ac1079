"""The records of a native run at the sink: in their order, each once, whatever the producer's queue holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from tests.native_pair import IS_NATIVE, NO_BOUND, encoder
from tests.unit.capture.logminer.redo import ITEM, A, Redo
from tests.unit.messages.test_envelope import NEEDED

from minercdc import native
from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.config.load import parse_properties
from minercdc.errors import SinkError
from minercdc.messages.large_records import LargeRecords
from minercdc.messages.topics import TopicNames
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.stream.contracts import Record
from minercdc.stream.events import ChangeRun, Scn, TransactionInfo

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")


class Cluster:
    """Its producer's queue takes `room` records, and as many again after each poll."""

    timeout = 1.0

    def __init__(self, room: int) -> None:
        self.room = self.left = room
        self.taken: list[tuple[Any, ...]] = []
        self.topics: list[str] = []
        self.refused: int | None = None

    def ensure_topic(self, name: str, **_: Any) -> None:
        self.topics.append(name)

    def producer(self, transactional_id: str, *_: object) -> Cluster:
        return self

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def read_since(self, topic: str, offset: int) -> list[Any]:
        return []

    def poll(self, timeout: float) -> None:
        self.left = self.room

    def produce(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None = None,
        on_delivery: None = None,
        callback: None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """librdkafka's, with its arguments in its order."""
        if partition is None:
            return  # a claim
        if len(self.taken) == self.refused:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        if not self.left:
            raise BufferError
        self.left -= 1
        self.taken.append((topic, value, key, partition, tuple(headers or ())))


def sink_of(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, large: LargeRecords | None = None) -> KafkaSink:
    monkeypatch.setattr(KafkaSink, "check_owner", lambda _: None)
    monkeypatch.setattr(Ownership, "claim", lambda *_: None)
    return KafkaSink(cast(KafkaClient, cluster), TopicNames(parse_properties(NEEDED)), "n", Ownership("n"), large)


def records() -> Any:
    redo = Redo()
    for key in range(10):
        redo.insert(A, key)
        redo.delete(A, key)
    buffer = transaction_buffer(1 << 30, Path("unused"), native_rows=True)
    for row in redo.rows:
        buffer.append(row, RedoAddress(row.rs_id.strip(), 1))
    shapes = ShapeTracker(Tables([ITEM]), TableFilter(), "DB", lambda _: None, lambda _: "")
    info = TransactionInfo("0a001f00b3020000", Scn(90), Scn(1000), 0, 0, 1, None)
    (run,) = TransactionDecoder(shapes, HostClock(), DecodingOptions(runs=True)).events(buffer.open()[0], info)
    assert isinstance(run, ChangeRun)
    found = encoder().encode_run(run, 0, NO_BOUND, NO_BOUND).records
    assert native.rows is not None
    assert isinstance(found, native.rows.Records)
    assert len(found) == 30  # with tombstones
    return found


def shown(written: list[Record]) -> list[tuple[Any, ...]]:
    return [(r.topic, r.value, r.key, -1 if r.partition is None else r.partition, tuple(r.headers)) for r in written]


@pytest.mark.parametrize("headers", [(), (("h", b"x"), ("i", None))])
@pytest.mark.parametrize("room", [1, 7, 30, 100])
def test_each_record_is_queued_once_in_order(monkeypatch: pytest.MonkeyPatch, room: int, headers: Any) -> None:
    cluster, written = Cluster(room), records()
    written.headers = headers
    assert [record.headers for record in written] == [headers] * 30
    sink_of(cluster, monkeypatch).write_run(written)
    assert cluster.taken == shown(list(written))
    assert cluster.topics.count(written[0].topic) == 1


def test_a_record_that_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, written = Cluster(100), records()
    cluster.refused = 11
    with pytest.raises(SinkError, match=f"a record of {len(written[11].value or b'')} bytes is larger"):
        sink_of(cluster, monkeypatch).write_run(written)


def test_a_large_structure_stays_in_the_schema_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, a restart would decode rows by the structure before."""
    history = TopicNames(parse_properties(NEEDED)).schema_history
    cluster, written = Cluster(100), [Record(history, None, b"x" * 11, partition=0), Record("t", b"k", b"x" * 11)]
    sink = sink_of(cluster, monkeypatch, LargeRecords(10, None, "dead"))
    for record in written:
        sink.write(record)
    assert [topic for topic, *_ in cluster.taken] == [history, "dead"]
    assert cluster.taken[0] == shown(written)[0]


def test_other_records_are_written_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, plain = Cluster(100), [Record("t", b"k", b"1"), Record("t", None, b"2", (), 0)]
    sink_of(cluster, monkeypatch).write_run(plain)
    assert cluster.taken == shown(plain)
