"""The subject of a registry under which a schema is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["key", "value"]
Subject: TypeAlias = Callable[[str, str], str]
"""The subject of a topic and of the full name of the record's schema."""

TOPIC = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
TOPIC_RECORD = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"


def subject_names(strategy: str, side: Side) -> Subject:
    """The function that names subjects.

    :param strategy: Confluent's Java class; `TOPIC-key` or `TOPIC-value` for one that is neither RECORD nor TOPIC_RECORD.
    """
    if strategy == RECORD:
        return lambda _, name: name
    if strategy == TOPIC_RECORD:
        return lambda topic, name: f"{topic}-{name}"
    return lambda topic, _: f"{topic}-{side}"
