"""Classifies errors of librdkafka: retry, suspension of one table, or the end of the connector.

of a record, or of a topic with what is in it    `refusal_of`: noted; the table of the topic is suspended, others go on
of a right, a setting, or any topic              FINAL: the connector ends, and says what to correct
another instance                                 FENCED
any other                                        the stream goes on from its offset
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError

from minercdc.errors import DeliveryError, FencedError, SinkError
from minercdc.messages.refused_topics import Refusal

_PERMIT: Final = "Permit it by an ACL: READ, WRITE, DESCRIBE and CREATE of the connector's topics, and WRITE and DESCRIBE of its transactional id."
_LOG_ON: Final = "Correct the user, password and mechanism under minercdc.kafka.client.sasl."
_CREATION: Final = "Correct topic.creation.*, or create the topic by hand."
_TIME: Final = (
    "its time, which is this machine's or that of table.field.event.timestamp, is too far from the broker's for"
    " message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic"
)
_TIME_FIX: Final = (
    "Compare the clocks of this machine and of the brokers, or remove these settings of the topic (kafka-configs.sh --alter"
    " --entity-type topics --entity-name {topic} --delete-config message.timestamp.before.max.ms,message.timestamp.after.max.ms)."
)
_SCHEMA_FIX: Final = "Where the brokers check schemas, the topic's subject has to have that of the records."
_HINTS: Final[Mapping[int, str]] = {
    KafkaError.MSG_SIZE_TOO_LARGE: "raise max.message.bytes of the topic and message.max.bytes of the broker; or, where single records are smaller"
    " than these, lower minercdc.kafka.client.batch.size, since records that are sent together count as one",
    KafkaError.RECORD_LIST_TOO_LARGE: "raise segment.bytes of the topic, or lower minercdc.kafka.client.batch.size",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _PERMIT,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: _PERMIT,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _PERMIT,
    KafkaError.GROUP_AUTHORIZATION_FAILED: "Permit READ of the consumer group by an ACL.",
    KafkaError.SASL_AUTHENTICATION_FAILED: _LOG_ON,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: _LOG_ON,
    KafkaError._AUTHENTICATION: _LOG_ON,
    KafkaError.INVALID_CONFIG: _CREATION,
    KafkaError.INVALID_REPLICATION_FACTOR: "Set topic.creation.default.replication.factor to at most the number of brokers.",
    KafkaError.INVALID_PARTITIONS: "Correct topic.creation.default.partitions.",
    KafkaError.POLICY_VIOLATION: f"The brokers have a policy (create.topic.policy.class.name) for topics. {_CREATION}",
    KafkaError.TOPIC_EXCEPTION: "A topic's name has at most 249 of the characters A-Z a-z 0-9 . _ -.",
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: "Set minercdc.kafka.client.compression.type to one that the brokers take, as lz4 or none.",
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: "Remove message.format.version of the topic: headers and transactions need 0.11 at least.",
    KafkaError.INVALID_REQUIRED_ACKS: "Remove minercdc.kafka.client.acks.",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "Lower minercdc.kafka.client.transaction.timeout.ms to the brokers' transaction.max.timeout.ms.",
    KafkaError._INVALID_ARG: "",
}
FINAL: Final = frozenset(_HINTS)
"""These name their topic, record or setting, so that sending again would fail again."""
# a partition whose leader has just been chosen, or is being chosen
NO_LEADER = {
    *(KafkaError._NOENT, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION),
    *(
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
    ),  # client and broker do not know of the same leader yet
}
MISSING_TOPIC: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_ID}
)
FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}


def refusal_of(error: KafkaError, topic: str, *, keyed: bool) -> Refusal | None:
    """Why a record of a topic would be refused at each try, though those of other topics are not; None for another error.

    :param keyed: the record has a key.
    """
    what = f"Kafka does not take a record of topic {topic} ({error.name()})"
    time = _TIME_FIX.format(topic=topic)
    # librdkafka reports INVALID_TIMESTAMP for a record that was sent alone only; for those of a batch INVALID_RECORD.
    if error.code() == KafkaError.INVALID_RECORD and keyed:
        return Refusal(f"{what}: {_TIME}; or its schema is not the one that the brokers want", f"{time} {_SCHEMA_FIX}")
    if error.code() == KafkaError.INVALID_RECORD:
        return Refusal(
            f"{what}: it has no key, and the topic is compacted; or {_TIME}",
            "A compacted topic takes no record without a key: give the table one (message.key.columns), or the topic another policy"
            f" (kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=delete)."
            f" Where it is not compacted: {time} {_SCHEMA_FIX}",
        )
    if error.code() == KafkaError.INVALID_TIMESTAMP:
        return Refusal(f"{what}: {_TIME}", time)
    return None


def missing_topic(topic: str) -> Refusal:
    """That there is no such topic, and that nothing creates it."""
    return Refusal(
        f"topic {topic} does not exist, and topic.creation.enable=false",
        f"Create it: kafka-topics.sh --create --topic {topic}.",
    )


def not_created(error: KafkaError, topic: str) -> Refusal | None:
    """Why no topic can have this name; None for another error of its creation."""
    if error.code() != KafkaError.TOPIC_EXCEPTION:
        return None
    reason = f"creating topic {topic} failed: {error.str()}"
    if "collide" not in error.str():
        return Refusal(
            reason, "Set a topic.naming.strategy that gives the table a name that Kafka takes, or leave the table out."
        )
    return Refusal(
        reason,
        "Kafka takes one of several topics whose names differ in . and _ only. Delete the other topic, if it is not needed; or give this"
        " one another name by topic.naming.strategy, topic.delimiter or topic.prefix; or leave the table out with table.exclude.list.",
    )


def classify(error: KafkaError, doing: str) -> SinkError:
    """Our error for librdkafka's, to be raised: FencedError; SinkError where trying again cannot help; else DeliveryError.

    :param doing: what was tried, e.g. `committing to Kafka`; begins the message.
    """
    text = f"{doing} failed: {error.str()} ({error.name()})"
    if error.code() in FENCED:
        return FencedError(
            f"{doing}: another instance of this connector has taken over",
            hint="run one instance per connector name; this one stops",
        )
    if error.code() in FINAL:
        return SinkError(text, hint=_HINTS[error.code()])
    return DeliveryError(text)


def classify_lost(error: KafkaError, doing: str) -> SinkError:
    """As `classify`, for a record that did not arrive."""
    found = classify(error, doing)
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        found.hint += "; or see minercdc.kafka.record.too.large"
    return found
