"""A table's topic in another format, read back as `kafka.topic_fold` reads one in JSON: keys by their content, of values what has become of the row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.converters import JSON
from minercdc.errors import SinkError
from minercdc.messages.formats.connect import WITHOUT_SCHEMA
from minercdc.messages.formats.reading import Read, record_readers


class Topics(Protocol):
    """What is read: `kafka.topic_fold.TopicRecords`. Its methods raise DeliveryError or SinkError when it cannot be read."""

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """(partition, offset of its next record) of all partitions; () when there is no such topic."""

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Offset of the first record that is left; of the next one where there is none."""

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        """Committed messages of a partition from offset `begin` to before `end`."""


def readable(config: ConnectorConfig, topics: Topics) -> Topics:
    """The topics as if keys and values were JSON; `topics` itself where they are.

    :raises ConfigError: a certificate of the registry cannot be read, or records are in a format that is not read back.
    """
    converters = config.converters
    if {converters.key_converter, converters.value_converter} == {JSON}:
        return topics
    read_key, read_value = record_readers(config)
    return FormattedTopics(
        topics,
        None if converters.key_converter == JSON else read_key,
        None if converters.value_converter == JSON else read_value,
    )


class FormattedTopics:
    """Topics whose keys, or values, are not plain JSON, read as if they were.

    :param read_key, read_value: None where they are.
    """

    def __init__(self, topics: Topics, read_key: Read | None, read_value: Read | None) -> None:
        self._topics = topics
        self._read_key = read_key
        self._read_value = read_value

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """(partition, offset of its next record) of all partitions; () when there is no such topic. Raises as
        `Topics.ends`."""
        return self._topics.ends(topic)

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Offset of the first record that is left; of the next one where there is none. Raises as `Topics.first_offset`."""
        return self._topics.first_offset(topic, partition=partition)

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        """The same messages; what is in another format as JSON: keys without schemas, and of values the member `op` only.

        :raises SinkError: a record is not in the format, the registry refuses to answer, or the topic cannot be read.
        :raises DeliveryError: the registry, or the place of the topic, does not answer.
        """
        for message in self._topics.read_range(topic, partition, begin, end):
            try:
                yield _Message(message.offset(), self._key(message.key()), self._value(message.value()))
            except ValueError as error:
                raise SinkError(
                    f"the record at offset {message.offset()} of topic {topic}, partition {partition}: {error}"
                ) from None

    def _key(self, key: bytes | None) -> bytes | None:
        if key is None or self._read_key is None:
            return key
        # Its bytes depend on the schema's id, its content does not.
        text = json.dumps(self._read_key(key), separators=(",", ":"), ensure_ascii=False)
        return WITHOUT_SCHEMA + text.encode() + b"}"

    def _value(self, value: bytes | None) -> bytes | None:
        if value is None or self._read_value is None:
            return value
        found = self._read_value(value)
        if not isinstance(found, dict) or "op" not in found:
            raise ValueError("it is not a change event")
        return f'{{"op":"{found["op"]}"}}'.encode()


class _Message:
    """The part of a Kafka message that is looked at."""

    __slots__ = ("_key", "_offset", "_value")

    def __init__(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        self._offset, self._key, self._value = offset, key, value

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value
