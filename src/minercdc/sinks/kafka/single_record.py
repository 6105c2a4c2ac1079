"""Writes one record, outside of any Kafka transaction: a claim of ownership, a signal."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka.codes import classify

# librdkafka gives up first, and says why.
_MARGIN_S = 5.0


def produce_record(settings: Mapping[str, Any], topic: str, key: bytes, value: bytes, *, seconds: float) -> None:
    """Write one record to partition 0; all replicas in sync have it when this returns.

    :param settings: of librdkafka, the brokers among them.
    :param seconds: how long to try.
    :raises DeliveryError, SinkError: it may not have arrived, or librdkafka refuses it or a setting.
    """
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    own = {"message.timeout.ms": int(seconds * 1000), "acks": "all"}
    try:
        producer = Producer({"logger": logging.getLogger("librdkafka"), **settings, **own})
        producer.produce(topic, value, key, 0, on_delivery=delivered)
    except KafkaException as error:
        raise classify(error.args[0], f"sending to topic {topic}") from None
    left = producer.flush(seconds + _MARGIN_S)
    if failed:
        raise classify(failed[0], f"sending to topic {topic}")
    if left:
        raise DeliveryError(f"sending to topic {topic}: no answer from {settings.get('bootstrap.servers')}")
