"""The consumer group of a connector, for its owner and its standbys."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError
from minercdc.messages.topics import TopicNames
from minercdc.pipeline.standby.claims import latest_claim
from minercdc.pipeline.standby.prepared import Prepared
from minercdc.pipeline.standby.waiting import Waiting
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.membership import Membership
from minercdc.sinks.kafka.ownership import Claim, Ownership
from minercdc.stream.contracts import StopFlag
from minercdc.stream.offset import JsonValue

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_HEARTBEAT_SECONDS = 0.5  # of a standby
_ANYWHERE = ("0.0.0.0", "::", "")


class StandbyGroup:
    """Makes one process a member of the consumer group of its connector, as owner (`shown`) or as standby (`wait`).

    :ivar exists: the sink is Kafka with transactions; without them there is no group.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self.exists = config.sink.is_kafka and config.kafka.minercdc_kafka_transactional

    @contextmanager
    def shown(self, ownership: Ownership) -> Iterator[None]:
        """While the context lasts, this process is a member once it has claimed the name, so that standbys see it."""
        ended = Event()
        thread = Thread(target=self._show, args=(ownership, ended), name="group", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(1.5)

    def _show(self, ownership: Ownership, ended: Event) -> None:
        while not ownership.topic:
            if ended.wait(_LOOK_SECONDS):
                return
        client = self._client()
        membership = Membership(client, ownership.name, ownership.topic, ownership.instance)
        membership.join()
        while not ended.wait(_LOOK_SECONDS):
            if membership.again:
                membership.again = False
                if self._is_replaced(client, ownership):
                    break  # it must not look alive, nor hold the partition, until it notices by itself
        membership.leave()

    def _is_replaced(self, client: KafkaClient, ownership: Ownership) -> bool:
        try:
            claim = latest_claim(client, ownership.topic, ownership.name)
        except MinerCdcError as error:
            _log.debug("claims cannot be read: %s", error.message)
            return False
        return claim is not None and claim.instance != ownership.instance

    def wait(self, ownership: Ownership, prepared: Prepared) -> Wait:
        """The wait of a standby, not begun yet; the caller closes it. Raises ConfigError as `TopicNames`."""
        return Wait(self._config, self._client(), ownership, prepared)

    def address(self, served: str) -> tuple[str, int] | None:
        """Host and port by which other processes reach an HTTP port of this one; None for no port.

        :param served: `http://HOST:PORT`, '' for no port.
        """
        host, _, port = served.removeprefix("http://").rpartition(":")
        if not port:
            return None
        if host.strip("[]") not in _ANYWHERE:
            return host.strip("[]"), int(port)
        return self._own_host(), int(port)

    def _own_host(self) -> str:
        """Our address on the way to the first broker; the name of this machine where that cannot be found."""
        broker, _, port = self._config.kafka.bootstrap_servers.split(",")[0].strip().rpartition(":")
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((broker, int(port)))  # sends nothing
                return str(probe.getsockname()[0])
        except (OSError, ValueError):
            return socket.gethostname()

    def _client(self) -> KafkaClient:
        return KafkaClient(self._config.kafka, self._config.topics, self._config.kafka_client)


class Wait:
    """The wait of one standby, with the threads that it needs: `until_turn` is called once, and `close` at the end.

    :raises ConfigError: as `TopicNames`.
    """

    def __init__(self, config: ConnectorConfig, client: KafkaClient, ownership: Ownership, prepared: Prepared) -> None:
        self._config = config
        self._client = client
        self._prepared = prepared
        self._topics = TopicNames(config)
        self._membership = Membership(client, ownership.name, self._topics.offsets, ownership.instance, _HEARTBEAT_SECONDS)
        self._waiting = Waiting(config, client, self._topics, ownership, self._membership, prepared)
        self._ended = Event()

    def until_turn(self, stop: StopFlag) -> str:
        """Prepare meanwhile, wait for Kafka, join the group, then see `Waiting.until_turn`; '' too when stopped before Kafka
        answered.

        The process stays a member afterwards, until `close`. Raises as `Waiting.reach` and `Waiting.until_turn`.
        """
        Thread(target=self._prepare, name="preparing", daemon=True).start()
        if not self._waiting.reach(stop):
            return ""
        self._membership.join()
        reason = self._waiting.until_turn(stop)
        self._ended.set()
        return reason

    def _prepare(self) -> None:
        client = KafkaClient(self._config.kafka, self._config.topics, self._config.kafka_client)
        while not self._ended.is_set():
            try:
                self._prepared.prepare(self._config, client, self._topics)
            except Exception:
                _log.exception("preparing failed")
            self._ended.wait(_LOOK_SECONDS)

    @property
    def owner(self) -> Claim | None:
        """The latest claim; None while none is known."""
        return self._waiting.owner

    @property
    def is_warm(self) -> bool:
        """Whether this standby could take over: it is in the group, and has tried to read and to check what a start needs."""
        return self._waiting.is_warm

    def document(self) -> dict[str, JsonValue]:
        """For /health: whom it waits for, and what it has at hand (`Waiting.document`)."""
        return self._waiting.document()

    def close(self) -> None:
        """Leave the group; safe to call twice."""
        self._ended.set()
        self._membership.leave()
