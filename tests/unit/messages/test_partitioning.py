"""Partitions by columns of the record key."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from minercdc.config.target.topics import partition_rules
from minercdc.errors import RecordSchemaError
from minercdc.messages.partitioning import PartitionedEncoder, murmur2
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Scn

LINES = TableSchema(
    TableId("D", "SHOP", "LINES"), tuple(Column(name, "NUMBER") for name in ("ORDER_ID", "LINE", "V")), (0, 1)
)


class Scripted:
    def __init__(self, records: int) -> None:
        self.records = records

    def encode(self, event: Event) -> Sequence[Record]:
        return [Record("t", b"k", b"v") for _ in range(self.records)]


def partitions(records: int, op: Op, before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> list[int | None]:
    encoder = PartitionedEncoder(
        Scripted(records), list(partition_rules("shop.li.*:order_id")), lambda table: table.key, lambda _: 16
    )
    event = ChangeEvent(op, LINES, before, after, Scn(1), 0, None, 1)
    return [record.partition for record in encoder.encode(event)]


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


def test_other_tables_and_events_keep_the_partition_of_their_key() -> None:
    other = PartitionedEncoder(Scripted(1), list(partition_rules("SHOP.X:A")), lambda table: table.key, lambda _: 16)
    event = ChangeEvent(Op.CREATE, LINES, None, ("7", "1", ""), Scn(1), 0, None, 1)
    assert other.encode(event)[0].partition is None
    assert other.encode(Progress(None, Scn(1), 0))[0].partition is None


def test_columns_outside_the_key_are_refused() -> None:
    encoder = PartitionedEncoder(Scripted(1), [("SHOP.LINES", ("V",))], lambda table: table.key, lambda _: 16)
    with pytest.raises(RecordSchemaError, match=r"V is not a column of the record key of SHOP.LINES"):
        encoder.encode(ChangeEvent(Op.CREATE, LINES, None, ("7", "1", ""), Scn(1), 0, None, 1))


@pytest.mark.parametrize("text", ["A.B", "A.B:", ":X", "A.(:X"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="form|regular expression"):
        list(partition_rules(text))
