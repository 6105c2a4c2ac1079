"""The topics of a Kafka cluster: made, described, read and written to."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec

from minercdc.config.sections import KafkaConfig, TopicConfig
from minercdc.errors import DeliveryError
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.sinks.kafka.codes import NO_LEADER, classify, not_created
from minercdc.sinks.kafka.connections import Connections
from minercdc.sinks.kafka.partition_reader import PartitionReader
from minercdc.sinks.kafka.single_record import produce_record

log = logging.getLogger(__name__)

_GROUP_S = 3.0


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is.

    :param replicas: of the partition that has the fewest.
    :param settings: by Kafka's names, defaults among them.
    """

    replicas: int
    settings: Mapping[str, str]


class KafkaClient(Connections):
    """Connections to one cluster, and what is done with its topics. Nothing is connected before the first call; connections end
    with the object. What reaches Kafka raises ConfigError, too, when the configuration names no brokers.

    :param topics: whether and how missing topics are created.
    :param client_settings: librdkafka settings given by the user (security and the like).
    :param refused: where it is noted that Kafka refuses a topic; None: by this object only.
    """

    def __init__(
        self,
        config: KafkaConfig,
        topics: TopicConfig,
        client_settings: Mapping[str, str],
        refused: RefusedTopics | None = None,
    ) -> None:
        super().__init__(config, client_settings)
        self._topics = topics
        self.refused = refused or RefusedTopics()
        self._known: set[str] = set()
        self._reader = PartitionReader(self)

    @property
    def creates_topics(self) -> bool:
        """Whether missing topics are created: `topic.creation.enable`."""
        return self._topics.topic_creation_enable

    def group_members(self, group: str) -> frozenset[str] | None:
        """Client ids of the members of a consumer group, an empty set for a group that does not exist; None when Kafka does
        not say within 3 s, or may not be asked."""
        try:
            answer = self.admin().describe_consumer_groups([group], request_timeout=_GROUP_S)[group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return frozenset()
            log.debug("the members of group %s are not known: %s", group, error.args[0].str())
            return None
        return frozenset(member.client_id for member in answer.members)

    def ensure_topic(self, name: str, *, partitions: int | None = None, compacted: bool = False) -> None:
        """Create the topic unless it exists, or `topic.creation.enable` is false, and wait until its partitions are served: without
        that a producer's first records may be lost (`PartitionReader.await_leaders`).

        A topic is looked up once only; a warning is logged where it is missing and not created.

        :param partitions: None for the configured number; with 1, unless `compacted`, the topic keeps its records for ever.
        :param compacted: `cleanup.policy` is `compact`; otherwise `delete`, unless `topic.creation.*` says another. With either
            parameter the topic is the connector's own: of `topic.creation.*` it takes the default replication factor and, without
            `partitions`, the default number of them.
        :raises DeliveryError, SinkError: Kafka cannot be reached, or refuses.
        """
        if name in self._known:
            return
        if name not in self.list_topics():
            if self._topics.topic_creation_enable:
                self._create(name, partitions, compacted)
            else:
                log.warning(
                    "topic %s does not exist, and topic.creation.enable=false: create it (kafka-topics.sh --create --topic %s),"
                    " unless the broker creates topics by itself (auto.create.topics.enable)",
                    name,
                    name,
                )
        self._reader.await_leaders(name)
        self._known.add(name)

    def existing(self, names: Iterable[str]) -> set[str]:
        """Those of the topics that are there. Raises DeliveryError or SinkError when Kafka does not answer."""
        known = self.list_topics()
        return {name for name in names if name in known}

    def _create(self, name: str, partitions: int | None, compacted: bool) -> None:
        topic = self._new_topic(name, partitions, compacted)
        try:
            self.admin().create_topics([topic], request_timeout=self.timeout)[name].result()
            log.info("created topic %s", name)
        except KafkaException as error:
            if (refusal := not_created(error.args[0], name)) is not None:
                raise self.refused.note(name, refusal) from None
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise classify(error.args[0], f"creating topic {name}") from None

    def _new_topic(self, name: str, partitions: int | None, compacted: bool) -> NewTopic:
        """A topic to be made, as `topic.creation.*` says; the connector's own take from that the replication factor and,
        without `partitions`, the number of them only. Of one partition, and not compacted, it keeps its records for
        ever; for the parameters see `ensure_topic`."""
        own = partitions is not None or compacted
        settings = {"cleanup.policy": "compact" if compacted else "delete"}
        if partitions == 1 and not compacted:
            settings["retention.ms"] = "-1"  # a schema history or schema-change topic is never old
        count, replication = (
            self._topics.topic_creation_default_partitions,
            self._topics.topic_creation_default_replication_factor,
        )
        found = None if own else next((rule for rule in self._topics.creation if rule.matches(name)), None)
        if found is not None:
            settings |= found.settings
            count = found.partitions if found.partitions is not None else count
            replication = found.replication if found.replication is not None else replication
        return NewTopic(name, num_partitions=partitions or count, replication_factor=replication, config=settings)

    def read_all(self, topic: str, *, partition: int = 0) -> Iterator[tuple[int, bytes | None]]:
        """Offset and value of every committed record of a partition, to its present end; None for a tombstone's value. Waits
        until open transactions before that are decided.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        for message in self._reader.messages(topic, partition):
            yield message.offset(), message.value()

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        """Committed messages of a partition from offset `begin` to before `end`; waits until open transactions before it are
        decided.

        The last one may lie at or after `end`, when the offsets just before that hold no such message.

        :raises DeliveryError, SinkError: the topic cannot be read.
        """
        return self._reader.messages(topic, partition, begin, end)

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """(partition, offset that its next record will have), of all partitions, once all have leaders; () when there is no such
        topic, or Kafka reports an error of it.

        :raises DeliveryError, SinkError: the topic cannot be read.
        """
        found = self.list_topics().get(topic)
        return () if found is None or found.error is not None else self._reader.ends(topic, found.partitions)

    def all_ends(self, names: re.Pattern[str]) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset that its next record will have (its high watermark), of all topics whose whole names match.

        :raises DeliveryError, SinkError: Kafka cannot be reached, or a partition has no leader at present.
        """
        found = self.list_topics()
        wanted = [
            TopicPartition(name, partition)
            for name, topic in found.items()
            if names.fullmatch(name)
            for partition in topic.partitions
        ]
        if not wanted:
            return {}
        ends: dict[tuple[str, int], int] = {}
        answers = self.admin().list_offsets(
            {place: OffsetSpec.latest() for place in wanted},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self.timeout,
        )
        for place, answer in answers.items():
            try:
                ends[place.topic, place.partition] = int(answer.result().offset)
            except KafkaException as error:
                if error.args[0].code() not in NO_LEADER:
                    raise classify(error.args[0], f"reading the end of topic {place.topic}") from None
                raise DeliveryError(f"partition {place.partition} of topic {place.topic} has no leader at present") from None
        return ends

    def topic_ids(self, names: re.Pattern[str]) -> dict[str, str]:
        """Name -> Kafka's id, of all topics whose whole names match, without one that is deleted meanwhile; a topic that is
        deleted and recreated has another id.

        :raises DeliveryError, SinkError: Kafka cannot be reached.
        """
        wanted = [name for name in self.list_topics() if names.fullmatch(name)]
        if not wanted:
            return {}
        found = {}
        answers = self.admin().describe_topics(TopicCollection(wanted), request_timeout=self.timeout)
        for name, answer in answers.items():
            try:
                found[name] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:  # it was deleted just now
                    raise classify(error.args[0], f"describing topic {name}") from None
        return found

    def states(self, names: Sequence[str]) -> dict[str, TopicState]:
        """Name -> state of those topics that are there, and whose settings may be read.

        :raises DeliveryError, SinkError: Kafka cannot be reached.
        """
        known = self.list_topics()
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names if name in known]
        if not resources:
            return {}
        found = {}
        for resource, answer in self.admin().describe_configs(resources, request_timeout=self.timeout).items():
            try:
                settings = {name: str(entry.value) for name, entry in answer.result().items()}
            except KafkaException as error:
                if error.args[0].code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                    log.info(
                        "the settings of topic %s may not be read (DescribeConfigs), and are not checked", resource.name
                    )
                    continue
                raise classify(error.args[0], f"reading the settings of topic {resource.name}") from None
            partitions = known[resource.name].partitions.values()
            found[resource.name] = TopicState(min((len(p.replicas) for p in partitions), default=0), settings)
        return found

    def partitions(self, name: str) -> int:
        """How many partitions a topic has, which is created first as `ensure_topic` does; 1 where there is none.

        :raises DeliveryError, SinkError: Kafka cannot be reached, or refuses.
        """
        self.ensure_topic(name)
        found = self.list_topics().get(name)
        return 1 if found is None else len(found.partitions) or 1

    def begins(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset of the first record that retention has left; without partitions that are gone, or have no
        leader at present.

        :raises DeliveryError, SinkError: Kafka cannot be reached, or refuses.
        """
        wanted = {TopicPartition(*place): OffsetSpec.earliest() for place in places}
        found = {}
        answers = self.admin().list_offsets(wanted, request_timeout=self.timeout) if wanted else {}
        for place, answer in answers.items():
            try:
                found[place.topic, place.partition] = int(answer.result().offset)
            except KafkaException as error:
                if error.args[0].code() not in (*NO_LEADER, KafkaError.UNKNOWN_TOPIC_OR_PART):
                    raise classify(error.args[0], f"reading the begin of topic {place.topic}") from None
        return found

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Offset of the first record that retention has left; of the next one where there is none.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        return self._reader.offset(topic, partition, OffsetSpec.earliest())

    def latest_of_key(self, topic: str, key: bytes) -> bytes | None:
        """Value of the last committed record with this key in partition 0; None when there is none, or it is a tombstone. Reads
        the whole partition, and waits as `read_all`.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        latest: bytes | None = None
        for message in self._reader.messages(topic, 0):
            if message.key() == key:
                latest = message.value()
        return latest

    def end_offset(self, topic: str) -> int:
        """Offset that the next record of partition 0 will have (its high watermark).

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        return self._reader.offset(topic, 0, OffsetSpec.latest())

    def read_since(self, topic: str, offset: int, *, committed: bool = False) -> Iterator[Any]:
        """Messages of partition 0 from an offset to its present end.

        :param committed: wait until open transactions are decided, and leave aborted ones out; else all records come at once.
        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        if self.end_offset(topic) > offset:
            yield from self._reader.messages(
                topic, 0, offset, isolation="read_committed" if committed else "read_uncommitted"
            )

    def produce(self, topic: str, key: bytes, value: bytes) -> None:
        """Write one record to partition 0, outside of any Kafka transaction; it is durable when this returns.

        :raises DeliveryError, SinkError: it may not have arrived, or librdkafka refuses it or a setting.
        """
        produce_record(self.settings(), topic, key, value, seconds=self.timeout)
