"""What is remembered of schema changes comes back as the tables they led to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from minercdc.errors import SchemaHistoryError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory
from minercdc.stream.contracts import Record
from minercdc.stream.events import SchemaChange, Scn

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
    """A topic in memory; `deleted` records at its beginning are gone."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.deleted = 0

    def first_offset(self, topic: str) -> int:
        return self.deleted

    def read_all(self, topic: str) -> Iterator[tuple[int, bytes | None]]:
        kept = list(enumerate(self.records))[self.deleted :]
        return ((offset, record.value) for offset, record in kept if record.topic == topic)


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
    assert recovered(change(None, OLD, 1), change(OLD, NEW, 2)).find_object(NEW.id.database, 7) == NEW.id


def test_a_dropped_table_is_gone() -> None:
    assert list(recovered(change(None, OLD, 1), change(OLD, None, 2))) == []


def test_a_name_may_be_used_again_after_a_rename() -> None:
    again = replace(OLD, version=2, object_id=8)
    assert set(recovered(change(None, OLD, 1), change(OLD, NEW, 2), change(None, again, 3))) == {NEW, again}


def history_in(topic: Topic, server: str = "s") -> KafkaSchemaHistory:
    return KafkaSchemaHistory(cast(KafkaClient, topic), topic="h", server=server, clock_ms=lambda: 1)


def written(topic: Topic, *values: bytes) -> None:
    topic.records += [Record("h", None, value) for value in values]


GARBAGE = (b"", b"{", b"[]", b"{}", b"\xff", b'{"source":{"server":"s"}}', b'{"structures_read_anew":true}')


@pytest.mark.parametrize("garbage", GARBAGE)
def test_what_cannot_be_read_stops_until_it_starts_over(garbage: bytes) -> None:
    topic = Topic()
    history = history_in(topic)
    topic.records.append(history.entry(change(None, OLD, 1), {}))
    written(topic, garbage)
    with pytest.raises(SchemaHistoryError, match=r"record 1 .*") as caught:
        list(history.recover(None))
    assert "snapshot.mode=recovery" in caught.value.hint
    history.forget()
    topic.records.append(history.entry(change(None, NEW, 2), {}))
    topic.records.append(history.entry(change(None, OLD, 3), {}))
    assert [found.after for found in history_in(topic).recover(None)] == [NEW, OLD]
    written(topic, garbage)
    with pytest.raises(SchemaHistoryError, match="record 4 "):
        list(history_in(topic).recover(None))


def test_a_history_without_its_beginning_is_not_taken_for_whole() -> None:
    topic = Topic()
    history = history_in(topic)
    topic.records += [history.entry(change(None, table, 1), {}) for table in (OLD, NEW)]
    topic.deleted = 1
    with pytest.raises(SchemaHistoryError, match="first 1 records"):
        list(history.recover(None))
    history.forget()
    topic.records.append(history.entry(change(None, NEW, 2), {}))
    assert [found.after for found in history_in(topic).recover(None)] == [NEW]


def test_another_connector_in_the_topic_that_starts_over_does_not_count() -> None:
    topic = Topic()
    topic.records.append(history_in(topic).entry(change(None, OLD, 1), {}))
    other = history_in(topic, "other")
    other.forget()
    topic.records.append(other.entry(change(None, NEW, 1), {}))
    assert [found.after for found in history_in(topic).recover(None)] == [OLD]


def test_the_text_of_a_snapshot_is_not_stored() -> None:
    """Readers of the history take its `ddl` for a statement of the stream; the structure has all that counts."""
    found = replace(change(None, OLD, 5), snapshot=True)
    topic = KafkaSchemaHistory(cast(KafkaClient, Topic()), topic="h", server="s", clock_ms=lambda: 1)
    texts = [json.loads(topic.entry(one, {}).value or b"")["ddl"] for one in (found, change(None, OLD, 6))]
    assert texts == ["", "ddl"]
