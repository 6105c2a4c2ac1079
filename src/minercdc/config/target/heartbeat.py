"""Section for heartbeats: records at regular times that show that the connector is alive."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from minercdc.config.section import Section, rule
from minercdc.config.sections import TRANSPORTABLE

_TOPIC = f"^{TRANSPORTABLE.pattern}$"


class HeartbeatConfig(Section):
    """Heartbeats.

    How often they are written, to which topic, and the statement that the database runs with each."""

    heartbeat_interval_ms: int = Field(
        0,
        ge=0,
        description="Time between two records of the heartbeat topic; 0: none. The offset is stored with each record; on an idle source it also advances without heartbeats.",
    )
    heartbeat_action_query: str = Field(
        "",
        description="Statement that is executed and committed in the pluggable database at each heartbeat; the connector's user needs the grants.",
    )
    topic_heartbeat_prefix: str = Field(
        "__debezium-heartbeat", pattern=_TOPIC, description="The heartbeat topic is `<this>.<topic.prefix>`."
    )
    heartbeat_topics_prefix: str | None = Field(
        None, pattern=_TOPIC, description="Older name of `topic.heartbeat.prefix`; wins over its default."
    )
    topic_heartbeat_name: str | None = Field(
        None, pattern=_TOPIC, description="Complete name of the heartbeat topic, instead of prefix and `topic.prefix`."
    )

    @rule
    def _beats(self) -> Iterator[str]:
        if self.heartbeat_action_query and not self.heartbeat_interval_ms:
            yield "heartbeat.interval.ms: needed with heartbeat.action.query"

    def topic(self, delimiter: str, prefix: str) -> str:
        """Name of the heartbeat topic, made of `topic.delimiter` and `topic.prefix` unless it is given whole."""
        head = self.topic_heartbeat_prefix
        if "topic_heartbeat_prefix" not in self.model_fields_set:
            head = self.heartbeat_topics_prefix or head
        return self.topic_heartbeat_name or f"{head}{delimiter}{prefix}"

    def names_topic(self) -> str:
        """The property that names the heartbeat topic."""
        if self.topic_heartbeat_name:
            return "topic.heartbeat.name"
        is_older = "topic_heartbeat_prefix" not in self.model_fields_set and self.heartbeat_topics_prefix
        return "heartbeat.topics.prefix" if is_older else "topic.heartbeat.prefix"
