"""Topics in Avro read back: what a row's key is, and whether it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.messages.formats.test_avro import encoded, parts
from tests.unit.messages.test_envelope import NEW, PAID, encoder, event

from minercdc.errors import SinkError
from minercdc.messages.avro.encoding import compile_writer
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.formats.reading import RegisteredReader
from minercdc.messages.formats.topic_reading import FormattedTopics
from minercdc.sinks.kafka.topic_fold import is_alive
from minercdc.stream.events import Op, Scn, VanishedRow


class Registry:
    """Schemas by their ids."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    id_bytes = 4

    def schema(self, number: int) -> str:
        return self.texts[number]

    def written(self, number: int, document: bytes | None) -> bytes:
        schema, payload = parts(document)
        self.texts[number] = avro_text(avro_schema(schema))
        return b"\0" + number.to_bytes(4, "big") + compile_writer(schema)(json.loads(payload))


class Message:
    def __init__(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        self.offset, self.key, self.value = (lambda: offset), (lambda: key), (lambda: value)


class Topic:
    def __init__(self, *messages: Message) -> None:
        self._messages = messages

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        return ((0, len(self._messages)),)

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        return 0

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        yield from self._messages[begin:end]


def read(registry: Registry, *messages: Message) -> list[Any]:
    reader = RegisteredReader(registry).read  # type: ignore[arg-type]
    return list(FormattedTopics(Topic(*messages), reader, reader).read_range("t", 0, 0, len(messages)))


def test_a_key_is_its_content_and_a_value_what_became_of_the_row() -> None:
    registry = Registry()
    created, deleted, _ = encoded(event(Op.CREATE, None, NEW), event(Op.DELETE, PAID, None))
    found = read(
        registry,
        Message(0, registry.written(1, created.key), registry.written(2, created.value)),
        Message(1, registry.written(3, deleted.key), registry.written(2, deleted.value)),
        Message(2, b'{"ORDER_ID":70021}', None),  # written before the topic was in Avro
    )
    assert {message.key() for message in found} == {b'{"schema":null,"payload":{"ORDER_ID":70021}}'}
    assert [is_alive(message.value()) for message in found] == [True, False, False]
    assert [message.offset() for message in found] == [0, 1, 2]


def test_a_record_of_another_format_is_named() -> None:
    with pytest.raises(SinkError, match="offset 7 of topic t, partition 0: .*neither JSON nor"):
        read(Registry(), Message(7, b"\1\2", None))


@pytest.mark.parametrize("by_number", [(True, True), (False, False)])
def test_the_delete_of_a_row_that_vanished_has_the_tables_key(by_number: tuple[bool, bool]) -> None:
    made = encoder(by_number=by_number, key_converter_schemas_enable="true", value_converter_schemas_enable="true")
    (created,) = made.encode(event(Op.CREATE, None, NEW))
    schema = event(Op.CREATE, None, NEW).schema
    gone = VanishedRow(schema, b'{"schema":null,"payload":{"ORDER_ID":70021}}', Scn(9), 0)
    delete, tombstone = made.encode(gone)
    assert delete.key == tombstone.key == created.key
    assert json.loads(parts(delete.value)[1])["before"]["ORDER_ID"] == 70021
