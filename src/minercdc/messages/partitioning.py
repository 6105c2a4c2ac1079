"""Partitions of records by some columns of their key, so that rows that belong together come in order.

    SHOP.ORDER_LINES:ORDER_ID      all lines of an order in one partition, with any other columns in their key

The columns are of the record key: all records of a key are in one partition then, tombstones among them.

    HashingEncoder       record.partition = hash of the columns        which row a record is of is known before the transformations only
    transformations      leave records out, choose topic or partition
    PartitioningEncoder  hash modulo the partitions of the topic       which is known after them only
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from minercdc.errors import RecordSchemaError
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.contracts import Record, RecordEncoder
from minercdc.stream.events import ChangeEvent, Event, Op, Row

PROPERTY: Final = "minercdc.topic.partition.columns"
_MASK: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, not negative."""
    length = len(data)
    found = (0x9747B28C ^ length) & _MASK
    for at in range(0, length - length % 4, 4):
        part = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        part = (part ^ part >> 24) * _M & _MASK
        found = (found * _M & _MASK) ^ part
    if rest := data[length - length % 4 :]:
        found = (found ^ int.from_bytes(rest, "little")) * _M & _MASK
    found = (found ^ found >> 13) * _M & _MASK
    return (found ^ found >> 15) & 0x7FFFFFFF


class _RowHash(int):
    """A hash in place of a partition, until the topic is known."""


class HashingEncoder:
    """Gives the records that `encoder` makes of ChangeEvents a hash as partition (contracts.RecordEncoder), of which
    `PartitioningEncoder` makes one; others keep theirs.

    :param rules: (pattern, columns); the first that matches a table counts.
    :param key: positions of a table's record key.
    """

    def __init__(
        self,
        encoder: RecordEncoder,
        rules: Sequence[tuple[str, tuple[str, ...]]],
        key: Callable[[TableSchema], tuple[int, ...]],
    ) -> None:
        self._encoder = encoder
        self._rules = rules
        self._key = key
        self._places: dict[tuple[TableId, int], tuple[int, ...]] = {}

    def encode(self, event: Event) -> Sequence[Record]:
        """See `contracts.RecordEncoder`.

        :raises RecordSchemaError: a rule names a column that is not of the table's record key.
        :raises ConfigError: a pattern takes too long.
        """
        records = self._encoder.encode(event)
        if isinstance(event, ChangeEvent) and records and (places := self._places_of(event.schema)):
            after = None if event.after is None else _hash(event.after, places)
            before = None if event.before is None else _hash(event.before, places)
            if event.op != Op.UPDATE:
                before = after = before if after is None else after
            # Of an update that changes the key, all records but the last are of the old one.
            for number, record in enumerate(records, 1):
                record.partition = after if number == len(records) else before
        return records

    def _places_of(self, table: TableSchema) -> tuple[int, ...]:
        """Positions of the columns that decide; () for none."""
        known = self._places.get((table.id, table.version))
        if known is None:
            known = self._places[table.id, table.version] = self._found(table)
        return known

    def _found(self, table: TableSchema) -> tuple[int, ...]:
        for pattern, names in self._rules:
            if configured_pattern(pattern).matches(str(table.id)):
                own = {table.columns[place].name.upper(): place for place in self._key(table)}
                if other := [name for name in names if name.upper() not in own]:
                    raise RecordSchemaError(
                        f"{PROPERTY}: {other[0]} is not a column of the record key of {table.id}",
                        where=f"table {table.id}",
                        hint="Use columns of its key there, or add this column to its key by message.key.columns.",
                    )
                return tuple(own[name.upper()] for name in names)
        return ()


def _hash(row: Row, places: tuple[int, ...]) -> _RowHash:
    return _RowHash(murmur2("\0".join(str(row[place]) for place in places).encode()))


class PartitioningEncoder:
    """Makes partitions of the hashes of a `HashingEncoder` that is below `encoder` (contracts.RecordEncoder); records with another
    partition, or none, keep it.

    :param count: number of partitions of a topic.
    """

    def __init__(self, encoder: RecordEncoder, count: Callable[[str], int]) -> None:
        self._encoder = encoder
        self._count = count
        self._counts: dict[str, int] = {}

    def encode(self, event: Event) -> Sequence[Record]:
        """See `contracts.RecordEncoder`. Raises what `count` raises, too: DeliveryError, SinkError."""
        records = self._encoder.encode(event)
        for record in records:
            if isinstance(record.partition, _RowHash):
                record.partition = record.partition % self._count_of(record.topic)
        return records

    def _count_of(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = self._count(topic)
        return self._counts[topic]
