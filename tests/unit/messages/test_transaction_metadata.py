"""Begin, end and numbers of source transactions: once, with Kafka transactions and kills in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.examples import every_other
from tests.runs import in_runs
from tests.scripted import At, NoHistory
from tests.unit.messages.transforms.made import KAFKA, UNWRAP, chain, configured

from minercdc.errors import LogGapError
from minercdc.messages.configured import encoded_values, envelope_encoder
from minercdc.messages.envelope.encoder import OtherEvents
from minercdc.messages.topics import TopicNames
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.messages.transaction_metadata import TransactionEncoder
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.pipeline import Begun, Bounds, Pipeline, PipelineFactory
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record, StopFlag
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    Op,
    Progress,
    Row,
    Scn,
    TransactionInfo,
    TransactionMark,
)
from minercdc.stream.offset import Offset, Position
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes


def table(name: str) -> TableSchema:
    columns = (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 10))
    return TableSchema(TableId("ORCLPDB1", "SHOP", name), columns, (0,), stored=("ID", "V"))


A, B = table("A"), table("B")
Change = tuple[Op, TableSchema, Row | None, Row | None]


def create(of: TableSchema, number: int, text: str = "x") -> Change:
    return (Op.CREATE, of, None, (str(number), text))


MOVED: Change = (Op.UPDATE, A, ("1", "x"), ("2", "x"))
DELETED: Change = (Op.DELETE, A, ("2", "x"), None)
BAD: Change = (Op.CREATE, B, None, ("no number", "x"))
HISTORY: Sequence[Sequence[Change]] = (
    [create(A, 1), MOVED, create(B, 1), create(B, 2), DELETED],
    [],
    [BAD],
    [BAD, create(B, 3), BAD, create(A, 4), create(A, 5), BAD],
    [(Op.UPDATE, B, ("3", "x"), ("3", "x"))],  # left out by skip.messages.without.change
    [create(A, 6)],
)


class Killed(LogGapError):
    """The process is gone."""


@dataclass
class Kafka:
    """What is committed. `kill` is the number of the commit at which the process dies, before or after it is durable."""

    records: list[Record] = field(default_factory=list)
    offset: Offset | None = field(default_factory=lambda: Offset("test", position={"done": 0}))
    commits: int = 0
    kill: int = -1
    durable: bool = False


@dataclass
class Sink:
    kafka: Kafka
    open: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        self.open.append(record)

    def commit(self, offset: Offset) -> None:
        dies = self.kafka.commits == self.kafka.kill
        self.kafka.commits += 1
        if dies and not self.kafka.durable:
            raise Killed("killed")
        self.kafka.records += self.open
        self.kafka.offset = offset_from_bytes(offset_to_bytes(offset), "here")
        self.open = []
        if dies:
            raise Killed("killed")

    def check_owner(self) -> None: ...

    def load_offset(self) -> Offset | None:
        return self.kafka.offset

    def close(self) -> None:
        self.open = []


class Capture:
    """:param runs: transactions in a run; 0 for changes one by one."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def load_position(self, saved: Mapping[str, Any]) -> At:
        return At(saved["done"])

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        return in_runs(self._events(start), self.runs) if self.runs else self._events(start)

    def _events(self, start: Position) -> Iterator[Event]:
        assert isinstance(start, At)
        for number in range(start.done, len(HISTORY)):
            yield Progress(At(number), Scn(number), 0)
            tx = TransactionInfo(f"{number:016x}", Scn(1), Scn(number + 100), 1_000_000, 2_000_000 + number * 1000, 1, None)
            for seq, (op, of, before, after) in enumerate(HISTORY[number], 1):
                yield ChangeEvent(op, of, before, after, Scn(1), 1_500_000, tx, seq)
            yield Progress(At(number + 1), Scn(number + 100), 0, committed=tx)

    def confirm(self, position: Position) -> None: ...

    def close(self) -> None: ...


def parts(kafka: Kafka, bound: int, runs: int = 0, **properties: str) -> PipelineFactory:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    config = configured({"provide.transaction.metadata": "true", "skip.messages.without.change": "true", **named})
    topics = TopicNames(config)

    def open_pipeline() -> Pipeline:
        counts, values = TransactionCounts(), encoded_values(config)
        marks = TransactionEncoder(
            "shop.transaction",
            key_schemas=values.key_converter_schemas_enable,
            value_schemas=values.value_converter_schemas_enable,
        )
        encoder = envelope_encoder(config, topics, OtherEvents(schema_changes=True, transactions=marks), counts=counts)
        transformer = RecordTransformer(chain_of(config.transforms)) if config.transforms else None
        return Pipeline(
            adapter="test",
            sink=Sink(kafka),
            encoder=transformer.encoder(encoder) if transformer else encoder,
            history=NoHistory(),
            begin=lambda offset: Begun(offset, Capture(runs)),
            bounds=Bounds(bound, 10**9, 0),
            skip_undecodable=lambda _: True,
            counts=counts,
        )

    return PipelineFactory(open_pipeline, 0, 0.001, lambda: 0.0)


def run(kafka: Kafka, bound: int, runs: int = 0, **properties: str) -> Kafka:
    run_once(parts(kafka, bound, runs, **properties), threading.Event())
    return kafka


def marks(kafka: Kafka) -> list[Any]:
    return [json.loads(r.value or b"") for r in kafka.records if r.topic == "shop.transaction"]


def changes(kafka: Kafka) -> list[Any]:
    return [json.loads(r.value) for r in kafka.records if r.topic != "shop.transaction" and r.value]


def shown(kafka: Kafka) -> list[Any]:
    """All records without engine time."""
    found = []
    for record in kafka.records:
        value = None if record.value is None else json.loads(record.value)
        if value and "op" in value:
            value = {name: member for name, member in value.items() if not name.startswith("ts_")}
        found.append((record.topic, record.key, value))
    return found


def test_each_transaction_with_events_has_a_begin_and_an_end() -> None:
    found = marks(run(Kafka(), 1000))
    none = {"event_count": None, "data_collections": None, "ts_ms": 1500}
    assert found == [
        {"status": "BEGIN", "id": f"{0:016x}", **none},
        {
            "status": "END",
            "id": f"{0:016x}",
            "event_count": 6,
            "data_collections": [
                {"data_collection": "ORCLPDB1.SHOP.A", "event_count": 4},
                {"data_collection": "ORCLPDB1.SHOP.B", "event_count": 2},
            ],
            "ts_ms": 2000,
        },
        {"status": "BEGIN", "id": f"{3:016x}", **none},
        {
            "status": "END",
            "id": f"{3:016x}",
            "event_count": 3,
            "data_collections": [
                {"data_collection": "ORCLPDB1.SHOP.B", "event_count": 1},
                {"data_collection": "ORCLPDB1.SHOP.A", "event_count": 2},
            ],
            "ts_ms": 2003,
        },
        {"status": "BEGIN", "id": f"{5:016x}", **none},
        {
            "status": "END",
            "id": f"{5:016x}",
            "event_count": 1,
            "data_collections": [{"data_collection": "ORCLPDB1.SHOP.A", "event_count": 1}],
            "ts_ms": 2005,
        },
    ]


def test_events_are_numbered_within_their_transaction_and_table() -> None:
    """A change of a key is two events; a row that is left out is none."""
    found = [(c["source"]["table"], c["op"], c["transaction"]) for c in changes(run(Kafka(), 1000))]
    first, second = f"{0:016x}", f"{3:016x}"
    assert [(name, op, t["id"], t["total_order"], t["data_collection_order"]) for name, op, t in found] == [
        ("A", "c", first, 1, 1),
        ("A", "d", first, 2, 2),
        ("A", "c", first, 3, 3),
        ("B", "c", first, 4, 1),
        ("B", "c", first, 5, 2),
        ("A", "d", first, 6, 4),
        ("B", "c", second, 1, 1),
        ("A", "c", second, 2, 1),
        ("A", "c", second, 3, 2),
        ("A", "c", f"{5:016x}", 1, 1),
    ]


def test_the_begin_comes_before_the_first_event_and_the_end_after_the_last() -> None:
    topics = [record.topic for record in run(Kafka(), 1000).records]
    assert topics[0] == topics[-1] == "shop.transaction"
    assert json.loads(run(Kafka(), 1000).records[0].key or b"") == {"id": f"{0:016x}"}


@pytest.mark.parametrize("runs", [0, 1, 3])
@pytest.mark.parametrize("bound", every_other([1, 2, 3, 5, 1000]))
@pytest.mark.parametrize("durable", [False, True], ids=["before", "after"])
def test_a_kill_at_any_commit_neither_loses_nor_repeats_anything(bound: int, durable: bool, runs: int) -> None:
    whole = shown(run(Kafka(), 1000))
    commits = run(Kafka(), bound, runs).commits
    for at in range(commits):
        kafka = Kafka(kill=at, durable=durable)
        with pytest.raises(Killed):
            run(kafka, bound, runs)
        kafka.kill = -1
        assert shown(run(kafka, bound, runs)) == whole, f"killed at commit {at} of {commits}"


def test_a_kill_neither_loses_nor_repeats_what_transformations_leave() -> None:
    steps = chain(
        (f"{KAFKA}Filter", {"predicate": "b"}),
        (UNWRAP, {"add.fields": "op,total_order", "delete.tombstone.handling.mode": "rewrite-with-tombstone"}),
        (f"{KAFKA}RegexRouter", {"regex": r"(.*)\.A", "replacement": "$1.flat"}),
        b=(f"{KAFKA}predicates.TopicNameMatches", {"pattern": r".*\.B"}),
    )
    plain = {"provide.transaction.metadata": "true", **steps}

    def payloads(kafka: Kafka) -> list[Any]:
        """All records without schemas, whose numbers rise."""
        return [(r.topic, *((side or b"").partition(b',"payload":')[2] for side in (r.key, r.value))) for r in kafka.records]

    whole = payloads(run(Kafka(), 1000, 0, **plain))
    assert {topic for topic, _, _ in whole} == {"shop.transaction", "shop.SHOP.flat"}
    for durable in (False, True):
        for at in range(run(Kafka(), 2, 3, **plain).commits):
            kafka = Kafka(kill=at, durable=durable)
            with pytest.raises(Killed):
                run(kafka, 2, 3, **plain)
            kafka.kill = -1
            assert payloads(run(kafka, 2, 3, **plain)) == whole


def test_a_kill_at_every_commit() -> None:
    whole, kafka = shown(run(Kafka(), 1000)), Kafka(durable=True)
    for _ in range(100):
        kafka.kill = kafka.commits
        try:
            run(kafka, 2)
        except Killed:
            continue
        break
    assert shown(kafka) == whole


def test_transformations_see_the_transactions_too_and_what_they_leave_out_counts() -> None:
    steps = chain(
        (f"{KAFKA}Filter", {"predicate": "b"}),
        (f"{KAFKA}RegexRouter", {"regex": r"shop\.transaction", "replacement": "tx"}),
        (UNWRAP, {"add.fields": "total_order,transaction.id"}),
        b=(f"{KAFKA}predicates.TopicNameMatches", {"pattern": r".*\.B"}),
    )
    kafka = run(Kafka(), 1000, 0, **steps)
    ends = [json.loads(r.value or b"")["payload"] for r in kafka.records if r.topic == "tx"]
    assert [end["event_count"] for end in ends if end["status"] == "END"] == [6, 3, 1]
    rows = [json.loads(r.value.split(b'"payload":')[1][:-1]) for r in kafka.records if r.topic == "shop.SHOP.A" and r.value]
    assert [row["__total_order"] for row in rows] == [1, 3, 2, 3, 1]
    assert rows[0]["__transaction_id"] == f"{0:016x}"


def test_snapshot_rows_have_no_transaction() -> None:
    config, counts = configured({"provide.transaction.metadata": "true"}), TransactionCounts()
    topics = TopicNames(config)
    encoder = envelope_encoder(config, topics, OtherEvents(schema_changes=True), counts=counts)
    (record,) = encoder.encode(ChangeEvent(Op.READ, A, None, ("1", "x"), Scn(1), 0, None, 0))
    assert json.loads(record.value or b"")["transaction"] is None
    assert counts.total == 0


@pytest.mark.parametrize("schemas", [False, True])
def test_a_mark_has_debeziums_schema(schemas: bool) -> None:
    tx = TransactionInfo("0a001f00b3020000", Scn(1), Scn(2), 0, 0, 1, None)
    made = TransactionEncoder("t", key_schemas=schemas, value_schemas=schemas).encode(
        TransactionMark(tx, 1000, {"D.S.T": 2})
    )
    value = json.loads(made.value or b"")
    if schemas:
        assert value["schema"]["name"] == "io.debezium.connector.common.TransactionMetadataValue"
        assert value["schema"]["fields"][3]["items"]["name"] == "event.collection"
        value = value["payload"]
    assert value["data_collections"] == [{"data_collection": "D.S.T", "event_count": 2}]


def test_counts_are_taken_back_for_a_change_that_is_left_out() -> None:
    counts, tx = TransactionCounts(), TransactionInfo("x", Scn(1), Scn(2), 0, 0, 1, None)
    assert counts.next(tx, "A") == (1, 1)
    assert counts.keep() == 1
    assert (counts.next(tx, "A"), counts.next(tx, "B")) == ((2, 2), (3, 1))
    counts.take_back()
    assert counts.of(tx) == {"A": 1}
    assert counts.next(tx, "B") == (2, 1)
    assert counts.of(replace(tx, commit_scn=Scn(3))) == {}
