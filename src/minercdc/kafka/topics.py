"""Topic names: `<prefix>.<SCHEMA>.<TABLE>` for tables, `<prefix>` for schema changes."""

from __future__ import annotations

import re

from minercdc.config.ad_hoc import NotificationConfig
from minercdc.config.heartbeat import HeartbeatConfig
from minercdc.config.schema_history import SchemaHistoryConfig
from minercdc.config.sections import ConnectorIdentity, KafkaConfig, TopicConfig
from minercdc.errors import SinkError
from minercdc.schema.table import TableId

_NOT_IN_A_TOPIC = re.compile(r"[^A-Za-z0-9._-]")


class TopicNames:
    """Names topics and refuses two tables that would share one.

    :ivar heartbeats: None when there are none.
    :ivar has_history: whether the schema history is in a topic, not in a file.
    :ivar notifications: None when they go to no topic.
    """

    def __init__(
        self,
        identity: ConnectorIdentity,
        topics: TopicConfig,
        kafka: KafkaConfig,
        notifications: NotificationConfig | None = None,
        heartbeat: HeartbeatConfig | None = None,
        history: SchemaHistoryConfig | None = None,
    ) -> None:
        self._prefix = identity.topic_prefix
        self._delimiter = topics.topic_delimiter
        self._tables: dict[str, TableId] = {}
        self.schema_changes = self._prefix
        beats = heartbeat is not None and heartbeat.heartbeat_interval_ms > 0
        self.heartbeats = heartbeat.topic(self._delimiter, self._prefix) if heartbeat and beats else None
        self.notifications = notifications.sink_topic if notifications else None
        self.has_history = history is None or history.file is None
        self.schema_history = kafka.schema_history_internal_kafka_topic or f"{self._prefix}-schema-history"
        self.offsets = kafka.minercdc_offset_topic or f"{self._prefix}-offsets"

    def of_table(self, table: TableId) -> str:
        """Topic of a table's changes; characters that a topic cannot hold (`$`, `#`, blanks) become `_`. The name stays taken.

        :raises SinkError: another table already has that topic.
        """
        name = _NOT_IN_A_TOPIC.sub("_", self._delimiter.join((self._prefix, table.schema, table.table)))
        owner = self._tables.setdefault(name, table)
        if owner != table:
            raise SinkError(
                f"tables {owner} and {table} would share the topic {name}",
                hint="leave one of them out with table.exclude.list, or capture it with a connector of another topic.prefix",
            )
        return name
