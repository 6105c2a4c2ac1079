"""Turns the events of one pipeline into records: prints and transforms them, and converts keys and values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import oracledb

from minercdc import native
from minercdc.config.load import ConnectorConfig
from minercdc.config.target.own_topics import transaction_topic
from minercdc.config.target.topics import partition_rules
from minercdc.messages.configured import encoded_values, envelope_encoder, key_columns
from minercdc.messages.envelope.context_headers import ContextHeaders
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.formats.converting import RecordConverter
from minercdc.messages.heartbeat import KafkaHeartbeat
from minercdc.messages.moved_keys import MovedKeys
from minercdc.messages.notification import NotificationEncoder
from minercdc.messages.partitioning import HashingEncoder, PartitioningEncoder
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.messages.topics import TopicNames
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.messages.transaction_metadata import TransactionEncoder
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.oracle.heartbeat_action import HeartbeatAction
from minercdc.schema.table import TableId
from minercdc.stream.contracts import Record, RecordEncoder, RunEncoder
from minercdc.stream.events import ChangeEvent


@dataclass(frozen=True, slots=True)
class RecordStages:
    """What becomes of printed records, in all pipelines of a process.

    :param refused: topics that Kafka refused, and records in them.
    :param transformer: None where there are no transformations.
    :param converter: into the format of keys and values; None where records are printed in it.
    """

    refused: RefusedTopics = field(default_factory=RefusedTopics)
    transformer: RecordTransformer | None = None
    converter: RecordConverter | None = None


class Encoding:
    """Makes the encoders of one pipeline, which share the keys that rows have taken over (`MovedKeys`), and its heartbeat.

    :param stages: what becomes of printed records.
    :param counts: numbers the events of a transaction, None without transaction metadata.
    :param captured: whether DDL of a table is published.
    :param connect: to the pluggable database, for the heartbeat's statement.
    :param partitions: number of partitions of a topic of Kafka, which is made if there is none.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        topics: TopicNames,
        stages: RecordStages,
        *,
        counts: TransactionCounts | None,
        captured: Callable[[TableId], bool],
        connect: Callable[[], oracledb.Connection],
        partitions: Callable[[str], int],
    ) -> None:
        self._partitions = partitions
        self._config = config
        self._topics = topics
        self._transformer, self._converter = stages.transformer, stages.converter
        self._counts = counts
        self._captured = captured
        self._connect = connect
        self._moved = MovedKeys(key_columns(config.filters))
        values = encoded_values(config)
        self._schemas = {
            "key_schemas": values.key_converter_schemas_enable,
            "value_schemas": values.value_converter_schemas_enable,
        }

    def encoders(self) -> tuple[RecordEncoder, RunEncoder | None]:
        """The encoder of events, and that of runs, None where their changes are encoded one by one.

        :raises ConfigError: a custom converter cannot be loaded.
        """
        self._printing = printing = self._encoder()
        encoder: RecordEncoder = printing
        encode_run: RunEncoder | None = printing.encode_run if native.rows is not None and self._counts is None else None
        rules = list(partition_rules(self._config.topics.minercdc_topic_partition_columns))
        chooses_partitions = bool(rules) and self._config.sink.is_kafka
        if chooses_partitions:
            encoder, encode_run = HashingEncoder(encoder, rules, key_columns(self._config.filters)), None
        extended = self._config.messages.extended_headers_enabled
        headers = ContextHeaders(self._config.identity.topic_prefix, str(uuid4())) if extended else None
        for stage in (headers, self._transformer, self._converter):
            if stage is not None:
                encoder, encode_run = stage.encoder(encoder), encode_run and stage.run_encoder(encode_run)
        return PartitioningEncoder(encoder, self._partitions) if chooses_partitions else encoder, encode_run

    def _made(self, record: Record) -> Record | None:
        """A record that is not of an event, transformed and converted as those of events; None when the transformations
        drop it."""
        made = record if self._transformer is None else self._transformer.other(record)
        return made if made is None or self._converter is None else self._converter.other(made)

    def _encoder(self) -> EnvelopeEncoder:
        config = self._config
        return envelope_encoder(
            config,
            self._topics,
            OtherEvents(
                schema_changes=config.topics.include_schema_changes,
                captured=self._captured,
                dead_letters=config.run.minercdc_dead_letter_topic,
                notifications=self._notification_encoder(),
                transactions=self._transaction_encoder(),
            ),
            counts=self._counts,
            moved=self._moved,
        )

    def leaves_out(self, event: ChangeEvent) -> bool:
        """Whether a change has no record, whatever the transformations do; after `encoders`. See `EnvelopeEncoder.leaves_out`."""
        return self._printing.leaves_out(event)

    def pass_over(self, event: ChangeEvent) -> None:
        """Note a change that an earlier run has delivered: what is encoded of the same transaction after it may depend on it.
        Raises ConfigError as `configured.key_columns`."""
        self._moved.pass_over(event)

    def heartbeat(self) -> KafkaHeartbeat | None:
        """The heartbeat; None when no topic is configured for it (`heartbeat.interval.ms` is 0)."""
        topic, config = self._topics.heartbeats, self._config
        if topic is None:
            return None
        action = config.heartbeat.heartbeat_action_query
        return KafkaHeartbeat(
            topic,
            config.identity.topic_prefix,
            config.heartbeat.heartbeat_interval_ms / 1000,
            **self._schemas,
            clock_ms=lambda: time.time_ns() // 1_000_000,
            converted=self._made,
            action=HeartbeatAction(self._connect, action) if action else lambda: None,
        )

    def _notification_encoder(self) -> NotificationEncoder | None:
        topic, config = self._topics.notifications, self._config
        if topic is None:
            return None
        return NotificationEncoder(
            topic,
            config.identity.topic_prefix,
            **self._schemas,
        )

    def _transaction_encoder(self) -> TransactionEncoder | None:
        config = self._config
        if not config.messages.provide_transaction_metadata:
            return None
        sections = {"identity": config.identity, "topics": config.topics, "messages": config.messages}
        return TransactionEncoder(
            transaction_topic(sections),
            **self._schemas,
        )
