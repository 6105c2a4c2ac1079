"""Partitions by columns of the record key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.test_envelope import NEW, PAID, encoder, event
from tests.unit.messages.transforms.made import KAFKA, UNWRAP, chain, configured

from minercdc.config.target.topics import partition_rules
from minercdc.errors import RecordSchemaError
from minercdc.messages.partitioning import HashingEncoder, PartitioningEncoder, murmur2
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record, RecordEncoder
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Scn

LINES = TableSchema(
    TableId("D", "SHOP", "LINES"), tuple(Column(name, "NUMBER") for name in ("ORDER_ID", "LINE", "V")), (0, 1)
)


RULES = list(partition_rules("shop.li.*:order_id"))


class Scripted:
    def __init__(self, records: int) -> None:
        self.records = records

    def encode(self, event: Event) -> Sequence[Record]:
        return [Record("t", b"k", b"v") for _ in range(self.records)]


class Changed:
    """A transformation between."""

    def __init__(self, encoder: RecordEncoder, change: Callable[[Record], Record | None]) -> None:
        self._encoder, self._change = encoder, change

    def encode(self, event: Event) -> Sequence[Record]:
        return [done for record in self._encoder.encode(event) if (done := self._change(record)) is not None]


def partitioned(
    encoder: RecordEncoder, rules: Any = RULES, change: Callable[[Record], Record | None] = lambda record: record
) -> PartitioningEncoder:
    counts = {"t": 16, "few": 3}
    return PartitioningEncoder(Changed(HashingEncoder(encoder, rules, lambda table: table.key), change), counts.__getitem__)


def partitions(records: int, op: Op, before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> list[int | None]:
    change = ChangeEvent(op, LINES, before, after, Scn(1), 0, None, 1)
    return [record.partition for record in partitioned(Scripted(records)).encode(change)]


# As Kafka's own Utils.murmur2 gives them, without the sign.
@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(data: bytes, value: int) -> None:
    assert murmur2(data) == value & 0x7FFFFFFF


def test_rows_with_equal_values_are_in_one_partition() -> None:
    one, two = ("7", "1", "x"), ("7", "2", "y")
    (home,) = partitions(1, Op.CREATE, None, one)
    assert home == murmur2(b"7") % 16
    assert partitions(1, Op.UPDATE, one, two) == partitions(1, Op.READ, None, two) == [home]
    assert partitions(2, Op.DELETE, one, None) == [home, home]


def test_a_key_change_is_in_both_partitions() -> None:
    (old,), (new,) = partitions(1, Op.CREATE, None, ("7", "1", "")), partitions(1, Op.CREATE, None, ("8", "1", ""))
    assert old != new
    assert partitions(3, Op.UPDATE, ("7", "1", ""), ("8", "1", "")) == [old, old, new]


MOVED = ChangeEvent(Op.UPDATE, LINES, ("7", "1", ""), ("8", "1", ""), Scn(1), 0, None, 1)


def test_records_that_a_transformation_leaves_out_do_not_move_the_others() -> None:
    """The delete of the old key stays in its partition, even as the last record."""
    number = 0

    def deletes_only(record: Record) -> Record | None:
        nonlocal number
        number += 1
        return None if number == 3 else record

    old = murmur2(b"7") % 16
    assert [record.partition for record in partitioned(Scripted(3), change=deletes_only).encode(MOVED)] == [old, old]


def test_the_partitions_are_those_of_the_topic_that_records_are_routed_to() -> None:
    routed = partitioned(Scripted(2), change=lambda record: replace(record, topic="few"))
    assert [record.partition for record in routed.encode(MOVED)] == [murmur2(b"7") % 3, murmur2(b"8") % 3]


def test_a_partition_that_a_transformation_chooses_stays() -> None:
    chosen = partitioned(Scripted(2), change=lambda record: replace(record, partition=5))
    assert [record.partition for record in chosen.encode(MOVED)] == [5, 5]
    released = partitioned(Scripted(2), change=lambda record: replace(record, partition=None))
    assert [record.partition for record in released.encode(MOVED)] == [None, None]


def test_a_chain_keeps_the_hash_of_records_with_a_key() -> None:
    """RegexRouter and the rows in place of envelopes; the tombstone of the old key is left out."""
    properties = chain((UNWRAP, {}), (f"{KAFKA}RegexRouter", {"regex": "(.*)", "replacement": "few"}))
    transformer = RecordTransformer(chain_of(configured(properties).transforms))
    hashing = HashingEncoder(encoder(by_number=(True, True)), [("SALES.ORDERS", ("ORDER_ID",))], lambda table: table.key)
    moved = event(Op.UPDATE, NEW, ("70022", *PAID[1:]))
    found = PartitioningEncoder(transformer.encoder(hashing), {"few": 3}.__getitem__).encode(moved)
    assert [(record.topic, record.value is None, record.partition) for record in found] == [
        ("few", True, murmur2(b"70021") % 3),
        ("few", False, murmur2(b"70022") % 3),
    ]


def test_other_tables_and_events_keep_the_partition_of_their_key() -> None:
    other = partitioned(Scripted(1), list(partition_rules("SHOP.X:A")))
    insert = ChangeEvent(Op.CREATE, LINES, None, ("7", "1", ""), Scn(1), 0, None, 1)
    assert other.encode(insert)[0].partition is None
    assert other.encode(Progress(None, Scn(1), 0))[0].partition is None


def test_columns_outside_the_key_are_refused() -> None:
    refused = partitioned(Scripted(1), [("SHOP.LINES", ("V",))])
    with pytest.raises(RecordSchemaError, match=r"V is not a column of the record key of SHOP.LINES"):
        refused.encode(ChangeEvent(Op.CREATE, LINES, None, ("7", "1", ""), Scn(1), 0, None, 1))


@pytest.mark.parametrize("text", ["A.B", "A.B:", ":X", "A.(:X"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="form|regular expression"):
        list(partition_rules(text))
