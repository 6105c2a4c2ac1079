"""The connections to a Kafka cluster: librdkafka's settings, and its clients made with them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from minercdc.config.sections import KafkaConfig
from minercdc.errors import ConfigError, DeliveryError, SinkError
from minercdc.sinks.kafka.codes import classify

_client_log = logging.getLogger("librdkafka")
_client_log.setLevel(logging.CRITICAL)  # a line per attempt while a broker is down; what matters reaches us as an exception

METADATA_S = 20.0  # a call that Python cannot interrupt; a broker that answers needs milliseconds


class Connections:
    """Makes producers, consumers and the administration client of one cluster; each raises ConfigError as `settings` does.

    :param client_settings: librdkafka settings given by the user (security and the like).
    """

    def __init__(self, config: KafkaConfig, client_settings: Mapping[str, str]) -> None:
        self._config = config
        self._settings = dict(client_settings)
        self._admin: Any = None

    @property
    def brokers(self) -> str:
        """Addresses of the brokers as they are configured; '' without any."""
        return self._config.bootstrap_servers

    @property
    def timeout(self) -> float:
        """Seconds that one request may take."""
        return self._config.minercdc_kafka_timeout_ms / 1000

    def settings(self) -> dict[str, Any]:
        """librdkafka's settings of every client of the cluster. Raises ConfigError when the configuration names no brokers: its
        sink is not Kafka, which the caller needs."""
        if not self._config.bootstrap_servers:
            raise ConfigError(
                ["minercdc.kafka.bootstrap.servers: needed for this, whatever debezium.sink.type is"],
                hint="The records of another sink than kafka are read as docs/sinks.md says.",
            )
        return {
            "bootstrap.servers": self._config.bootstrap_servers,
            "logger": _client_log,
        } | self._settings

    def producer(
        self, transactional_id: str | None, undelivered: Callable[[KafkaError, Any], None] | None = None
    ) -> Producer:
        """A producer; older ones of the same id are fenced by its `init_transactions`.

        :param transactional_id: None for one without transactions.
        :param undelivered: called with the error and each message that did not arrive; None: they are not reported.
        :raises SinkError: librdkafka refuses a setting.
        """
        settings = {
            "partitioner": "murmur2_random",  # the same partition as Java's producer chooses
            "compression.type": "none",  # as Kafka's and Connect's; some clients read no other codec but gzip as they are installed
            "linger.ms": 5,
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": 262_144,
            "message.max.bytes": 16_777_216,
            "delivery.report.only.error": True,
        }
        own: dict[str, Any] = {"enable.idempotence": True}
        if undelivered is not None:
            own["on_delivery"] = undelivered
        if transactional_id is not None:
            settings["transaction.timeout.ms"] = int(self._config.longest_transaction * 1000)
            own["transactional.id"] = transactional_id
        else:
            settings["message.timeout.ms"] = int(self.timeout * 1000)
        try:
            return Producer(settings | self.settings() | own)
        except KafkaException as error:
            raise classify(error.args[0], "setting up the Kafka producer") from None

    def consumer(self, settings: Mapping[str, Any]) -> Any:
        """A consumer of the cluster, which the caller closes; `settings` override the user's. Raises SinkError when librdkafka
        refuses one."""
        try:
            return Consumer(self.settings() | {"enable.auto.commit": False} | dict(settings))
        except KafkaException as error:
            raise classify(error.args[0], "setting up a Kafka consumer") from None

    def ping(self, seconds: float = METADATA_S) -> None:
        """List the cluster's topics, only to see whether it answers; raises DeliveryError or SinkError when it does not within
        this time, or that of one request if that is shorter."""
        self.list_topics(seconds)

    def list_topics(self, seconds: float = METADATA_S) -> Mapping[str, Any]:
        """Name -> metadata of each topic. Raises DeliveryError or SinkError when Kafka does not answer, as `ping`."""
        try:
            topics: Mapping[str, Any] = self.admin().list_topics(timeout=min(self.timeout, seconds)).topics
        except KafkaException as error:
            raise self._unreachable(error.args[0]) from None
        return topics

    def _unreachable(self, error: KafkaError) -> SinkError:
        found = classify(error, f"reaching Kafka at {self._config.bootstrap_servers}")
        if isinstance(found, DeliveryError):
            found.hint = "is the broker up, and minercdc.kafka.bootstrap.servers right?"
        return found

    def admin(self) -> Any:
        """The AdminClient, made at the first call. Raises KafkaException when librdkafka refuses a setting."""
        if self._admin is None:  # kept: destroying it while a request is under way fails that request
            self._admin = AdminClient(self.settings())
        return self._admin
