"""`minercdc tail`: the messages of the table topics as lines for people, as they come."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.config.transforms.chain import Transformation
from minercdc.errors import ConfigError, RecordSchemaError
from minercdc.messages.formats.reading import record_readers
from minercdc.messages.transforms.routed import routed_topics, routes_by_content
from minercdc.operate.offsets.read import StoredOffset, connector_topics, read_stored
from minercdc.schema.table import TableId
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.codes import classify
from minercdc.stream.contracts import StopFlag

LATEST: Final = 10
"""Places of each partition that are read first, unless a time is given: so many at least, twice the messages that are wanted if
that is more; commit markers take some of them."""

_log = logging.getLogger(__name__)

Readers: TypeAlias = tuple[Callable[[bytes], Any], Callable[[bytes], Any]]

_POLL_SECONDS = 0.2
_TRANSIENT = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}
_OPERATIONS = {"r": "read", "c": "insert", "u": "update", "d": "delete", "t": "truncate", "m": "message"}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a topic, for people or as JSON.

    :param table: `SCHEMA.TABLE`, or `DATABASE.SCHEMA.TABLE` where several pluggable databases are captured; the topic's name where
        a topic is read by its name, or has messages of several tables.
    :param time_ms: Kafka's time of it, milliseconds since the epoch.
    :param key, value: as JSON values; None for a record without; a text that says why, where they cannot be read.
    """

    table: str
    topic: str
    partition: int
    offset: int
    time_ms: int
    key: Any
    value: Any

    def to_json(self) -> str:
        """The message as a JSON document on one line."""
        document = {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "time": _iso(self.time_ms),
            "key": self.key,
            "value": self.value,
        }
        return json.dumps(document, ensure_ascii=True)

    def line(self) -> str:
        """The message as a line for people: time, table, operation, key, row; of an update, the earlier values of what changed; SCN."""
        return f"{_iso(self.time_ms)} {self.table} {_shown(self.key, self.value)}"


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(key: Any, value: Any) -> str:
    if value is None:
        return f"tombstone {_text(key)}"
    operation = _OPERATIONS.get(str(value.get("op"))) if isinstance(value, dict) else None
    if operation is None:
        return f"{_text(key)} {_text(value)}"
    before, after = value.get("before"), value.get("after")
    text = f"{operation} {_text(key)} {_text(after if after is not None else before)}"
    if isinstance(before, dict) and isinstance(after, dict):
        text += f" was {_text({name: old for name, old in before.items() if after.get(name) != old})}"
    source = value.get("source")
    scn = source.get("commit_scn") or source.get("scn") if isinstance(source, dict) else None
    return f"{text} SCN {scn}" if scn else text


def _text(value: Any) -> str:
    """JSON that no terminal takes for a command: what cannot be printed is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


def tail(
    config: ConnectorConfig, table: str | None, since: datetime | None, count: int | None, stop: StopFlag
) -> Iterator[Message]:
    """Committed messages of all tables, or of one: the latest ones in order of time, or those since a time; then new ones
    as they come. A warning is logged when there is no topic to read.

    :param table: `DATABASE.SCHEMA.TABLE` with several pluggable databases, `SCHEMA.TABLE`, `TABLE` (upper or lower case; all
        captured tables of that name), or else the name of a topic. None for all captured tables.
    :param count: after so many it ends; None: only `stop` ends it.
    :param since: with its time zone; None: the latest ones.
    :raises ConfigError: the sink is not Kafka, there is no such table, none is captured yet, records are in a format that is not
        read back, or a certificate cannot be read.
    :raises SharedTopicError: the table has no topic of its own.
    :raises ValueDecodeError: the pattern of a transformation takes too long for a topic's name.
    :raises SchemaHistoryError: the stored offset, or the schema history, cannot be read.
    :raises SinkError: Kafka, or the schema registry, refuses or does not answer.
    """
    if not config.sink.is_kafka:
        raise ConfigError(
            [f"debezium.sink.type: `minercdc tail` reads topics, but the sink is {config.sink.debezium_sink_type}"],
            hint="docs/sinks.md describes how to read its files.",
        )
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    tables = _tables(config, client, table)
    settings = {
        "group.id": "minercdc-reader",
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    readers = record_readers(config)
    with closing(client.consumer(settings)) as consumer:
        places = _places(client, consumer, tables, since, max(LATEST, 2 * (count or 0)))
        if not places:
            _log.warning("nothing to read: topic %s does not exist", ", ".join(sorted(tables)))
        consumer.assign(places)
        polled = _polled(consumer, stop)
        found: Iterator[Message | None] = (None if one is None else _message(one, tables, readers) for one in polled)
        if since is None:
            found = _in_order(found, len(places), count)
        yield from islice((one for one in found if one is not None), count)


def _polled(consumer: Any, stop: StopFlag) -> Iterator[Any]:
    """What a consumer gets, until `stop` is set; None for the end of a partition. Waits while brokers cannot be reached."""
    while not stop.is_set():
        found = consumer.poll(_POLL_SECONDS)
        if found is None:
            continue
        error = found.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            yield None if error else found
        elif error.code() not in _TRANSIENT:
            raise classify(error, "reading topics")


def _in_order(messages: Iterator[Message | None], partitions: int, count: int | None) -> Iterator[Message]:
    """Messages up to the present ends of so many partitions in order of time, only the last `count` of them; then the
    others, as they come.

    :param messages: with None at the end of each partition, once.
    """
    held: list[Message] = []
    while partitions:
        one = next(messages, None)
        if one is None:
            partitions -= 1
        else:
            held.append(one)
    held.sort(key=lambda one: one.time_ms)
    yield from held if count is None else held[-count:]
    yield from (one for one in messages if one is not None)


def _message(found: Any, tables: Mapping[str, str], readers: Readers) -> Message:
    return Message(
        tables[found.topic()],
        found.topic(),
        found.partition(),
        found.offset(),
        found.timestamp()[1],
        *(_read(read, content) for read, content in zip(readers, (found.key(), found.value()), strict=True)),
    )


def _read(read: Callable[[bytes], Any], content: bytes | None) -> Any:
    try:
        return None if content is None else read(content)
    except ValueError as error:
        return f"{len(content or b'')} bytes that cannot be read: {error}"


def _tables(config: ConnectorConfig, client: KafkaClient, wanted: str | None) -> dict[str, str]:
    """Topic -> table of the messages to be read."""
    stored = read_stored(config)
    names = table_names(config)
    tables, refused = topics_of(config, stored) if stored else ({}, {})
    known = {topic: names.of(one) for topic, one in tables.items()}
    if wanted is not None:
        given = wanted.upper()
        chosen = {
            topic: name
            for topic, name in known.items()
            if given in (name.upper(), str(tables[topic]).upper(), tables[topic].table.upper())
        }
        for one, error in refused.items():
            if not chosen and given in (f"{one.database}.{one}".upper(), str(one).upper(), one.table.upper()):
                raise error
        if not chosen and client.ends(wanted):
            return {wanted: wanted}
        if not chosen:
            raise ConfigError(
                [
                    f"{wanted} is neither a captured table nor a topic; captured tables: {', '.join(sorted(known.values())) or 'none yet'}"
                ]
            )
        known = chosen
    if not known:
        raise ConfigError(
            [f"connector {config.identity.name} has captured no table yet"], hint="Start it: minercdc run CONFIG"
        )
    return followed(known, config.transforms)


def topics_of(config: ConnectorConfig, stored: StoredOffset) -> tuple[dict[str, TableId], dict[TableId, RecordSchemaError]]:
    """Topic -> table of the tables that the connector knows, and why others have none, each of which is logged as a warning.
    Raises ConfigError as `TopicNames`."""
    names = connector_topics(config, stored)
    refused: dict[TableId, RecordSchemaError] = {}
    topics: dict[str, TableId] = {}
    for table in stored.tables():
        if (error := names.refusal(table)) is not None:
            refused[table] = error
            _log.warning("%s has no messages of its own: %s", table, error.message)
        else:
            topics[names.of_table(table)] = table
    return topics, refused


def followed(tables: Mapping[str, str], chain: Sequence[Transformation]) -> dict[str, str]:
    """Topic -> table for the topics that transformations route the messages of the tables' topics to; the topic itself stands for the
    table where it has messages of several. A line in the log says which transformations leave that open. Raises ValueDecodeError
    as `routed_topics`.

    :param tables: by their own topics.
    """
    found: dict[str, str] = {}
    for topic, table in tables.items():
        for routed in routed_topics(topic, chain):
            found[routed] = table if found.get(routed, table) == table else routed
    for name in routes_by_content(chain):
        _log.warning(
            "transforms.%s selects topics by message content: routed messages are not followed; name their topic:"
            " minercdc tail CONFIG TOPIC",
            name,
        )
    return found


def _places(
    client: KafkaClient, consumer: Any, tables: Mapping[str, str], since: datetime | None, latest: int
) -> list[TopicPartition]:
    """Where reading begins: at a time, or without one `latest` places before the end; a topic that is not there yet has
    no place."""
    ends = {(topic, partition): end for topic in tables for partition, end in client.ends(topic)}
    if since is None:
        begins = client.begins(ends)
        return [TopicPartition(*place, max(begins.get(place, 0), end - latest)) for place, end in ends.items()]
    asked = [TopicPartition(*place, int(since.timestamp() * 1000)) for place in ends]
    try:
        found = consumer.offsets_for_times(asked, client.timeout) if asked else []
    except KafkaException as error:
        raise classify(error.args[0], "looking for a time in the topics") from None
    return [
        TopicPartition(one.topic, one.partition, one.offset if one.offset >= 0 else ends[one.topic, one.partition])
        for one in found
    ]
