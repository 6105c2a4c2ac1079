"""What is remembered of schema changes comes back as the tables they led to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from minercdc.contracts import Record
from minercdc.events import SchemaChange, Scn
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.schema_history import KafkaSchemaHistory
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables

OLD = TableSchema(
    TableId("DB", "LAB", "OLD"),
    (Column("ID", "NUMBER", 10, 0, nullable=False), Column("C", "CLOB")),
    (0,),
    1,
    object_id=7,
    stored=("ID", "C"),
)
NEW = replace(OLD, id=TableId("DB", "LAB", 'N"ew'.replace('"', "'")), version=1)


class Topic:
    """A topic in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def read_all(self, topic: str) -> Iterator[tuple[int, bytes | None]]:
        return ((offset, record.value) for offset, record in enumerate(self.records) if record.topic == topic)


def recovered(*changes: SchemaChange) -> Tables:
    topic = Topic()
    history = KafkaSchemaHistory(cast(KafkaClient, topic), topic="h", server="s", clock_ms=lambda: 1)
    topic.records = [history.entry(change, {}) for change in changes]
    tables = Tables()
    for change in history.recover(None):
        tables.apply(change)
    return tables


def change(before: TableSchema | None, after: TableSchema | None, scn: int) -> SchemaChange:
    table = after or before
    assert table is not None
    return SchemaChange(table.id, before, after, "ddl", Scn(scn), 0)


def test_tables_come_back_as_they_were() -> None:
    assert list(recovered(change(None, OLD, 1))) == [OLD]


def test_a_renamed_table_is_gone_under_its_old_name() -> None:
    assert list(recovered(change(None, OLD, 1), change(OLD, NEW, 2))) == [NEW]
    assert recovered(change(None, OLD, 1), change(OLD, NEW, 2)).find_object(7) == NEW.id


def test_a_dropped_table_is_gone() -> None:
    assert list(recovered(change(None, OLD, 1), change(OLD, None, 2))) == []


def test_a_name_may_be_used_again_after_a_rename() -> None:
    again = replace(OLD, version=2, object_id=8)
    assert set(recovered(change(None, OLD, 1), change(OLD, NEW, 2), change(None, again, 3))) == {NEW, again}
