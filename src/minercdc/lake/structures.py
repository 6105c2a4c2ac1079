"""The columns of the tables, from the connector's schema-history topic.

A history record lies in the Kafka transaction of the first rows of its shape, or in an earlier one. So a reader that has rows
and then reads the history to its end knows their shape.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from minercdc.config.sections import ConnectorIdentity, KafkaConfig, TopicConfig, ValueConfig
from minercdc.errors import DeliveryError, SchemaHistoryError
from minercdc.lake.types import LakeColumn, SourceColumn, fill_of, lake_column

log = logging.getLogger(__name__)

_NOT_IN_A_TOPIC = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(slots=True)
class Structure:
    """A table's columns over all its versions: those dropped in the source stay.

    :param key: names of the key columns of its newest version.
    """

    schema: str
    table: str
    columns: dict[str, LakeColumn] = field(default_factory=dict)
    key: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"


class Structures:
    """The tables of one connector, brought up to date by `refresh`."""

    def __init__(
        self,
        identity: ConnectorIdentity,
        topics: TopicConfig,
        kafka: KafkaConfig,
        values: ValueConfig,
        client: Mapping[str, str],
    ) -> None:
        self._prefix = identity.topic_prefix
        self._delimiter = topics.topic_delimiter
        self._topic = kafka.schema_history_internal_kafka_topic or f"{self._prefix}-schema-history"
        self._timeout = kafka.minercdc_kafka_timeout_ms / 1000
        self._values = values
        self._by_topic: dict[str, Structure] = {}
        self._next_offset = OFFSET_BEGINNING
        self._settings: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": f"minercdc-lake-{identity.name}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "logger": logging.getLogger("librdkafka"),
            **client,
        }

    def of_topic(self, topic: str) -> Structure | None:
        """The table whose changes the topic holds; None when the history, as read so far, has no such table."""
        return self._by_topic.get(topic)

    def refresh(self) -> None:
        """Read the records that the history topic has gained since the last call, to its end.

        :raises DeliveryError, SchemaHistoryError: the topic, or a record since the last snapshot.mode=recovery, is unreadable.
        """
        unreadable: Exception | None = None
        for value in self._new_records():
            try:
                document = json.loads(value)
                if document["source"]["server"] == self._prefix:
                    if document["position"].get("structures_read_anew"):
                        unreadable = None  # snapshot.mode=recovery
                    for change in document["tableChanges"]:
                        self._apply(change, int(document["position"]["scn"]))
            except (ValueError, KeyError, TypeError) as error:
                unreadable = unreadable or error
        if unreadable is not None:
            raise SchemaHistoryError(
                f"a record of the schema history {self._topic} cannot be read: {unreadable!r}",
                hint="Start the connector once with snapshot.mode=recovery, and then the lake again.",
            )

    def _new_records(self) -> Iterator[bytes]:
        consumer = Consumer(self._settings)
        try:
            consumer.assign([TopicPartition(self._topic, 0, self._next_offset)])
            while True:
                message = consumer.poll(self._timeout)
                if message is None:
                    raise DeliveryError(f"the schema history {self._topic} could not be read within {self._timeout:.0f} s")
                if error := message.error():
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    raise DeliveryError(f"reading the schema history {self._topic} failed: {error.str()}")
                self._next_offset = message.offset() + 1
                if (value := message.value()) is not None:
                    yield value
        except KafkaException as exception:
            raise DeliveryError(f"reading the schema history {self._topic} failed: {exception.args[0].str()}") from None
        finally:
            consumer.close()

    def _apply(self, change: dict[str, Any], scn: int) -> None:
        _, schema, table = (part.strip('"') for part in change["id"].split('"."'))
        topic = _NOT_IN_A_TOPIC.sub("_", self._delimiter.join((self._prefix, schema, table)))
        known = self._by_topic.setdefault(topic, Structure(schema, table))
        if change["type"] == "DROP" or not change.get("table"):
            return
        old = bool(known.columns)
        for item in change["table"]["columns"]:
            column = lake_column(
                SourceColumn(item["name"], item["typeName"], item.get("length"), item.get("scale")), self._values
            )
            if column is None:
                log.warning("column %s.%s of type %s is not in the lake", known.name, item["name"], item["typeName"])
                continue
            before = known.columns.get(column.name)
            if before is not None and before.spark_type != column.spark_type:
                log.warning(
                    "column %s.%s changes from %s to %s", known.name, column.name, before.spark_type, column.spark_type
                )
            if before is not None:
                column = replace(column, since=before.since, fill=before.fill)
            elif old:
                column = self._added(known, column, item.get("defaultValueExpression"), scn)
            known.columns[column.name] = column
        known.key = tuple(change["table"]["primaryKeyColumnNames"])

    @staticmethod
    def _added(table: Structure, column: LakeColumn, default: str | None, scn: int) -> LakeColumn:
        """A column that joins a table with rows: ADD .. DEFAULT gives it to them all without a trace in redo."""
        if default is None:
            return column
        fill = fill_of(column, default)
        if fill is None:
            log.warning(
                "column %s.%s was added with DEFAULT %s, which only the database can evaluate: older rows have null in the lake",
                table.name,
                column.name,
                default,
            )
        return replace(column, since=scn, fill=fill)
