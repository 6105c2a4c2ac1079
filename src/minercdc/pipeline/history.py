"""The schema history that the configuration chooses."""

from __future__ import annotations

import time

from minercdc.config.load import ConnectorConfig
from minercdc.messages.topics import TopicNames
from minercdc.sinks.file_schema_history import FileSchemaHistory
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory, KeptRecords
from minercdc.stream.contracts import SchemaHistory


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def schema_history(
    config: ConnectorConfig, client: KafkaClient, topics: TopicNames, kept: KeptRecords | None = None
) -> SchemaHistory:
    """The schema history, where the configuration has it; nothing is read yet.

    :param kept: records of its topic that were read ahead of time; None for none.
    """
    server, file = config.identity.topic_prefix, config.history.file
    if file is not None:
        return FileSchemaHistory(file, server=server, clock_ms=_now_ms)
    transactional = config.kafka.minercdc_kafka_transactional
    return KafkaSchemaHistory(
        client, topic=topics.schema_history, server=server, clock_ms=_now_ms, transactional=transactional, kept=kept
    )
