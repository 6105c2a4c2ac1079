"""The wait of a standby, from its start to the death of the owner.

    thread of the wait      claims in the topic of offsets, members of the group, the owner's HTTP port -> whose turn it is
    thread `preparing`      schema history and database, which may take long to answer

Nothing here proves that the owner is dead. The claim and the fenced producer of `KafkaSink` see to it that there is only one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, DeliveryError, SinkError
from minercdc.messages.topics import TopicNames
from minercdc.pipeline.standby.claims import Claims
from minercdc.pipeline.standby.owner_port import OwnerPort
from minercdc.pipeline.standby.prepared import Prepared
from minercdc.pipeline.standby.turn import Port, Seen, Turn
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.membership import Membership, group_of
from minercdc.sinks.kafka.ownership import Claim, Ownership
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.stream.contracts import StopFlag
from minercdc.stream.offset import JsonValue

_log = logging.getLogger(__name__)

_TICK_SECONDS = 0.2
_MEMBERS_SECONDS = 5.0  # between two questions for the group's members, and while a take-over may be due:
_MEMBERS_SOON_SECONDS = 0.5


def refuse_without_fence(config: ConnectorConfig) -> None:
    """Raise ConfigError unless the sink makes sure by itself that there is one owner, whom a standby can see from afar."""
    why = ""
    if not config.sink.is_kafka:
        why = (
            f"debezium.sink.type: --standby needs kafka, not {config.sink.debezium_sink_type}: a lock on files keeps a second instance"
            " out, but an instance that hangs keeps its lock, and one of another machine is not seen"
        )
    elif not config.kafka.minercdc_kafka_transactional:
        why = (
            "minercdc.kafka.transactional: --standby needs true: without Kafka transactions an instance that was frozen"
            " can write after another one has taken over"
        )
    if why:
        raise ConfigError([why])


class Waiting:
    """Waits until the owner of the name is dead and it is the turn of this standby: first `reach`, then `until_turn`, each
    once.

    :param ownership: of this process, which has claimed nothing yet.
    :param membership: of this process; its `join` is called before `until_turn`.
    :param monotonic: seconds of a clock that never goes back.
    :ivar owner: the latest claim; None while none is known.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        client: KafkaClient,
        topics: TopicNames,
        ownership: Ownership,
        membership: Membership,
        prepared: Prepared,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._client = client
        self._topics = topics
        self._membership = membership
        self._prepared = prepared
        self._monotonic = monotonic
        self._turn = Turn(ownership.instance, monotonic())
        self._port = OwnerPort(monotonic)
        self._members: frozenset[str] | None = None
        self._asked = float("-inf")
        self._name = config.identity.name
        self.owner: Claim | None = None

    def reach(self, stop: StopFlag) -> bool:
        """Wait until Kafka answers and the topic of offsets is there, which is made if need be; False when `stop` was set.
        That Kafka does not answer is logged once, as a warning.

        :raises SinkError: Kafka refuses.
        """
        said = False
        while not stop.is_set():
            try:
                self._client.ensure_topic(self._topics.offsets, partitions=1, compacted=True)
                return True
            except DeliveryError as error:
                if not said:
                    _log.warning("standby: %s; trying again", error)
                said = True
                stop.wait(1.0)
        return False

    def until_turn(self, stop: StopFlag) -> str:
        """Wait until it is this standby's turn; returns the `Turn.reason`, '' when `stop` was set. Outages of Kafka are
        waited for, each with a warning in the log.

        :raises SchemaHistoryError: the stored offset is of a newer version.
        :raises SinkError: Kafka refuses, in a way that waiting does not change.
        """
        shown: Claim | None = None
        reached = True
        while not stop.is_set():
            try:
                stored_offset(self._client, self._topics, self._name)
                with closing(Claims(self._client, self._topics.offsets, self._name, self._monotonic)) as claims:
                    while not stop.wait(_TICK_SECONDS):
                        if self._membership.refused:
                            raise SinkError(
                                f"--standby: this process cannot join consumer group {group_of(self._name)}: {self._membership.refused}",
                                hint="Allow its Kafka user READ and DESCRIBE on that group.",
                            )
                        claims.follow()
                        reached = True
                        self.owner = claims.latest
                        if claims.complete and claims.latest != shown:
                            shown = claims.latest
                            _log.info("standby: %s", self._whom())
                        if claims.complete and (reason := self._turn.reason(self._seen(claims))):
                            return reason
            except DeliveryError as error:
                if reached:
                    _log.warning("standby: %s; nothing can be said about the owner meanwhile", error.message)
                reached = False
                stop.wait(1.0)
        return ""

    def _whom(self) -> str:
        group = group_of(self._name)
        if self.owner is None:
            return (
                f"no instance of connector {self._name} is known; this one starts once it is alone in consumer group {group}"
            )
        return f"instance {self.owner.instance} owns connector {self._name}; this one takes over when it dies or hangs"

    def _seen(self, claims: Claims) -> Seen:
        port = self._port.look(claims.latest)
        soon = self._membership.holds or port is Port.CLOSED
        now = self._monotonic()
        if now - self._asked >= (_MEMBERS_SOON_SECONDS if soon else _MEMBERS_SECONDS):
            self._members = self._client.group_members(group_of(self._name))
            self._asked = self._monotonic()
        return Seen(self._monotonic(), claims.latest, claims.moved, self._membership.holds, self._members, port)

    def document(self) -> dict[str, JsonValue]:
        """For /health: whom it waits for, and what it has at hand."""
        owner, prepared = self.owner, self._prepared
        return {
            "owner": owner.instance if owner else None,
            "joined_group": self._membership.joined,
            "refused_by_group": self._membership.refused or None,
            "schema_history_records": prepared.records,
            "database": prepared.database,
        }

    @property
    def is_warm(self) -> bool:
        """Whether this standby could take over: it is in the group, and has tried to read and to check what a start needs."""
        return self._membership.joined and self._prepared.tried
