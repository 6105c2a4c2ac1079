"""A process of a connector as a member of the connector's consumer group, `minercdc-<name>`: Kafka notices when it dies or hangs.

The members subscribe to the topic of offsets, which has one partition, and read nothing. The owner of the connector's name and
its standbys are in the group; the client id of each has its instance. So a standby sees whether the owner is alive, and the
standby that holds the partition is the one that takes over.
"""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from minercdc.errors import MinerCdcError
from minercdc.sinks.kafka.client import KafkaClient

_log = logging.getLogger(__name__)

SESSION_SECONDS: Final = 6.0
"""Without a heartbeat for so long a member is dead: the least that brokers allow by default."""

_HUNG_SECONDS = 15.0  # the thread does not poll: no thread of the process moves
_POLL_SECONDS = 0.5
_FINAL = {
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.INVALID_SESSION_TIMEOUT,
    KafkaError.GROUP_MAX_SIZE_REACHED,
    KafkaError.INCONSISTENT_GROUP_PROTOCOL,
}


def group_of(name: str) -> str:
    """The consumer group of a connector, named as its transactional id."""
    return f"minercdc-{name}"


def member_of(instance: str) -> str:
    """Client id of an instance in its group."""
    return f"minercdc-{instance}"


class Membership:
    """One process in the group of connector `name`, by a thread of its own from `join` to `leave`.

    :param topic: of offsets; it must exist.
    :param heartbeat: seconds between two heartbeats, by which it also learns that another member is gone.
    :ivar holds: the partition is assigned to this process.
    :ivar joined: it has been assigned a share once, be it nothing.
    :ivar refused: why Kafka does not let it into the group, '' otherwise.
    :ivar again: the group's shares were dealt out once more since this was set to False: Kafka may have taken this member for
        dead.
    """

    def __init__(self, client: KafkaClient, name: str, topic: str, instance: str, heartbeat: float = 2.0) -> None:
        self._client = client
        self._topic = topic
        self._settings = {
            "group.id": group_of(name),
            "client.id": member_of(instance),
            "session.timeout.ms": int(SESSION_SECONDS * 1000),
            "heartbeat.interval.ms": int(heartbeat * 1000),
            "max.poll.interval.ms": int(_HUNG_SECONDS * 1000),
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "latest",
        }
        self._ended = Event()
        self._thread = Thread(target=self._run, name="membership", daemon=True)
        self.holds = self.joined = self.again = False
        self.refused = ""

    def join(self) -> None:
        """Begin to be a member; called once; what goes wrong is in `refused` and logged, since a connector works without a
        group, too."""
        self._thread.start()

    def leave(self) -> None:
        """End the membership: Kafka need not wait for heartbeats. Safe to call twice; waits a second at most."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def _run(self) -> None:
        try:
            consumer = self._client.consumer(self._settings)
        except MinerCdcError as error:
            self._refuse(error.message)
            return
        try:
            consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
            while not self._ended.is_set() and not self.refused:
                message = consumer.poll(_POLL_SECONDS)
                if message is not None and message.error():
                    self._failed(message.error())
        except KafkaException as error:
            self._failed(error.args[0])
        finally:
            self.holds = False
            consumer.close()

    def _failed(self, error: KafkaError) -> None:
        if error.code() in _FINAL:
            self._refuse(f"{error.str()} ({error.name()})")
        else:
            _log.debug("consumer group %s: %s", self._settings["group.id"], error.str())

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        _log.info(
            "no standby can see that this instance is alive: it cannot join consumer group %s: %s",
            self._settings["group.id"],
            reason,
        )

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)  # nothing is to be read
            self.holds = True
        self.again = self.joined
        self.joined = True

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        if partitions:
            self.holds = False
        consumer.incremental_unassign(partitions)
