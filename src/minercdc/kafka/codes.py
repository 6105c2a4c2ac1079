"""What an error of librdkafka leads to: trying again, or the end of the connector."""

from __future__ import annotations

from confluent_kafka import KafkaError

from minercdc.errors import DeliveryError, FencedError, SinkError

# these name their topic or record, so that sending again would fail again
FINAL = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.INVALID_PARTITIONS,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError._AUTHENTICATION,
    KafkaError._INVALID_ARG,
}
# a partition whose leader has just been chosen, or is being chosen
NO_LEADER = {
    *(KafkaError._NOENT, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION),
    *(
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
    ),  # client and broker do not know of the same leader yet
}
FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}


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
        hint = (
            "raise max.message.bytes of the topic and message.max.bytes of the broker"
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE
            else ""
        )
        return SinkError(text, hint=hint)
    return DeliveryError(text)
