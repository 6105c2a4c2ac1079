"""The Kafka client: settings for librdkafka, topics, whole-topic reads, and the classification of its errors."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec

from minercdc.config.sections import KafkaConfig, TopicConfig
from minercdc.errors import ConfigError, DeliveryError, FencedError, SinkError

log = logging.getLogger(__name__)
_client_log = logging.getLogger("librdkafka")
_client_log.setLevel(logging.CRITICAL)  # a line per attempt while a broker is down; what matters reaches us as an exception

# another producer's open transaction ends at the latest after its transaction.timeout.ms, which we set to 60 s
_OPEN_TRANSACTIONS_S = 90.0
_GROUP_S = 3.0
_METADATA_S = 20.0  # a call that Python cannot interrupt; a broker that answers needs milliseconds

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
_NO_LEADER = {KafkaError._NOENT, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION}
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


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is.

    :param replicas: the least of its partitions' numbers.
    :param settings: by Kafka's names, defaults among them.
    """

    replicas: int
    settings: Mapping[str, str]


class KafkaClient:
    """Makes clients of one cluster and answers questions about its topics.

    :param topics: whether and how missing topics are created.
    :param client_settings: librdkafka settings given by the user (security and the like).
    """

    def __init__(self, config: KafkaConfig, topics: TopicConfig, client_settings: Mapping[str, str]) -> None:
        self._config = config
        self._topics = topics
        self._settings = dict(client_settings)
        self._known: set[str] = set()
        self._admin: Any = None

    @property
    def timeout(self) -> float:
        """Seconds that one request may take."""
        return self._config.minercdc_kafka_timeout_ms / 1000

    def _common(self) -> dict[str, Any]:
        """Raises ConfigError when the configuration names no brokers: its sink is not Kafka, which this needs."""
        if not self._config.bootstrap_servers:
            raise ConfigError(
                ["minercdc.kafka.bootstrap.servers: needed for this, whatever debezium.sink.type is"],
                hint="The records of another sink than kafka are read as docs/sinks.md says.",
            )
        return {
            "bootstrap.servers": self._config.bootstrap_servers,
            "logger": logging.getLogger("librdkafka"),
        } | self._settings

    def producer(
        self, transactional_id: str | None, undelivered: Callable[[KafkaError, Any], None] | None = None
    ) -> Producer:
        """A producer; older ones of the same id are fenced by its `init_transactions`.

        :param transactional_id: None for one without transactions.
        :param undelivered: called with the error and each message that did not arrive.
        :raises SinkError: librdkafka refuses a setting.
        """
        settings = {
            "partitioner": "murmur2_random",  # the same partition as Java's producer chooses
            "compression.type": "lz4",
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
            return Producer(settings | self._common() | own)
        except KafkaException as error:
            raise classify(error.args[0], "setting up the Kafka producer") from None

    def consumer(self, settings: Mapping[str, Any]) -> Any:
        """A consumer of the cluster; `settings` come before the user's. Raises SinkError when librdkafka refuses one."""
        try:
            return Consumer(self._common() | {"enable.auto.commit": False} | dict(settings))
        except KafkaException as error:
            raise classify(error.args[0], "setting up a Kafka consumer") from None

    def group_members(self, group: str) -> frozenset[str] | None:
        """Client ids of the members of a consumer group; None when Kafka does not say at present, or may not."""
        try:
            answer = self._admin_client().describe_consumer_groups([group], request_timeout=_GROUP_S)[group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return frozenset()
            log.debug("the members of group %s are not known: %s", group, error.args[0].str())
            return None
        return frozenset(member.client_id for member in answer.members)

    def ensure_topic(self, name: str, *, partitions: int | None = None, compacted: bool = False) -> None:
        """Create the topic unless it exists, or `topic.creation.enable` is false.

        A topic is looked up once only.

        :param partitions: None for the configured number; with 1, unless `compacted`, the topic keeps its records for ever.
        :param compacted: `cleanup.policy` is `compact` in place of `delete`.
        :raises DeliveryError, SinkError: Kafka cannot be reached, or refuses.
        """
        if name in self._known:
            return
        if not self._exists(name) and self._topics.topic_creation_enable:
            self._create(name, partitions, compacted)
        self._known.add(name)

    def existing(self, names: Iterable[str]) -> set[str]:
        """Those of the topics that are there. Raises DeliveryError or SinkError when Kafka does not answer."""
        known = self._list_topics()
        return {name for name in names if name in known}

    def ping(self) -> None:
        """List the cluster's topics, only to see whether it answers; raises DeliveryError or SinkError when it does not."""
        self._list_topics()

    def _exists(self, name: str) -> bool:
        return name in self._list_topics()

    def _list_topics(self) -> Mapping[str, object]:
        try:
            topics: Mapping[str, object] = self._admin_client().list_topics(timeout=min(self.timeout, _METADATA_S)).topics
        except KafkaException as error:
            raise self._unreachable(error.args[0]) from None
        return topics

    def _unreachable(self, error: KafkaError) -> SinkError:
        found = classify(error, f"reaching Kafka at {self._config.bootstrap_servers}")
        if isinstance(found, DeliveryError):
            found.hint = "is the broker up, and minercdc.kafka.bootstrap.servers right?"
        return found

    def _admin_client(self) -> Any:
        if self._admin is None:  # kept: destroying it while a request is under way fails that request
            self._admin = AdminClient(self._common())
        return self._admin

    def _create(self, name: str, partitions: int | None, compacted: bool) -> None:
        topic = self._new_topic(name, partitions, compacted)
        try:
            self._admin_client().create_topics([topic], request_timeout=self.timeout)[name].result()
            log.info("created topic %s", name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise classify(error.args[0], f"creating topic {name}") from None

    def _new_topic(self, name: str, partitions: int | None, compacted: bool) -> NewTopic:
        """What `topic.creation.*` says of a topic; the connector's own topics take the replication factor only."""
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
        """Offset and value of every committed record of a partition, to its present end.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        for message in self._read_partition(topic, partition):
            yield message.offset(), message.value()

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        """Committed messages of a partition from offset `begin` to before `end`; waits until open transactions before it are decided.

        The last one may lie at or after `end`, when the offsets just before that hold no such message.

        :raises DeliveryError, SinkError: the topic cannot be read.
        """
        return self._read_partition(topic, partition, begin, end)

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """(partition, offset that its next record will have), of all partitions; () when there is no such topic.

        :raises DeliveryError, SinkError: the topic cannot be read.
        """
        found: Any = self._list_topics().get(topic)
        if found is None or found.error is not None:
            return ()
        doing = f"reading topic {topic}"
        try:
            deadline = self._patience(doing)
            for partition in found.partitions:
                self._await_leader(topic, partition, deadline)
            return tuple((partition, self._end_of(topic, partition, deadline)) for partition in sorted(found.partitions))
        except KafkaException as error:
            raise classify(error.args[0], doing) from None

    def all_ends(self, names: re.Pattern[str]) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset that its next record will have (its high watermark), of all topics with such names.

        :raises DeliveryError, SinkError: Kafka cannot be reached, or a partition has no leader at present.
        """
        found: Mapping[str, Any] = self._list_topics()
        wanted = [
            TopicPartition(name, partition)
            for name, topic in found.items()
            if names.fullmatch(name)
            for partition in topic.partitions
        ]
        if not wanted:
            return {}
        ends: dict[tuple[str, int], int] = {}
        answers = self._admin_client().list_offsets(
            {place: OffsetSpec.latest() for place in wanted},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self.timeout,
        )
        for place, answer in answers.items():
            try:
                ends[place.topic, place.partition] = int(answer.result().offset)
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER:
                    raise classify(error.args[0], f"reading the end of topic {place.topic}") from None
                raise DeliveryError(f"partition {place.partition} of topic {place.topic} has no leader at present") from None
        return ends

    def topic_ids(self, names: re.Pattern[str]) -> dict[str, str]:
        """Name -> Kafka's id, of all topics with such names; a topic that is deleted and made again has another one.

        :raises DeliveryError, SinkError: Kafka cannot be reached.
        """
        wanted = [name for name in self._list_topics() if names.fullmatch(name)]
        if not wanted:
            return {}
        found = {}
        answers = self._admin_client().describe_topics(TopicCollection(wanted), request_timeout=self.timeout)
        for name, answer in answers.items():
            try:
                found[name] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:  # it was deleted just now
                    raise classify(error.args[0], f"describing topic {name}") from None
        return found

    @property
    def brokers(self) -> str:
        """As they are configured."""
        return self._config.bootstrap_servers

    def states(self, names: Sequence[str]) -> dict[str, TopicState]:
        """The topics of these names that are there, and whose settings may be read.

        :raises DeliveryError, SinkError: Kafka cannot be reached.
        """
        known: Mapping[str, Any] = self._list_topics()
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names if name in known]
        if not resources:
            return {}
        found = {}
        for resource, answer in self._admin_client().describe_configs(resources, request_timeout=self.timeout).items():
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
        found: Any = self._list_topics().get(name)
        return 1 if found is None else len(found.partitions) or 1

    def begins(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset of the first record that retention has left; without partitions that are gone.

        :raises DeliveryError, SinkError: Kafka cannot be reached.
        """
        wanted = {TopicPartition(*place): OffsetSpec.earliest() for place in places}
        found = {}
        answers = self._admin_client().list_offsets(wanted, request_timeout=self.timeout) if wanted else {}
        for place, answer in answers.items():
            try:
                found[place.topic, place.partition] = int(answer.result().offset)
            except KafkaException as error:
                if error.args[0].code() not in (*_NO_LEADER, KafkaError.UNKNOWN_TOPIC_OR_PART):
                    raise classify(error.args[0], f"reading the begin of topic {place.topic}") from None
        return found

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Offset of the first record that retention has left; of the next one where there is none.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        return self._offset_once_led(topic, partition, OffsetSpec.earliest())

    def latest_of_key(self, topic: str, key: bytes) -> bytes | None:
        """Value of the last committed record with this key in partition 0; None when there is none, or it is a tombstone.

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        latest: bytes | None = None
        for message in self._read_partition(topic, 0):
            if message.key() == key:
                latest = message.value()
        return latest

    def end_offset(self, topic: str) -> int:
        """Offset that the next record of partition 0 will have (its high watermark).

        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        return self._offset_once_led(topic, 0, OffsetSpec.latest())

    def read_since(self, topic: str, offset: int, *, committed: bool = False) -> Iterator[Any]:
        """Messages of partition 0 from an offset to its present end.

        :param committed: wait until open transactions are decided, and leave aborted ones out; else all records come at once.
        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        if self.end_offset(topic) > offset:
            yield from self._read_partition(
                topic, 0, offset, isolation="read_committed" if committed else "read_uncommitted"
            )

    def produce(self, topic: str, key: bytes, value: bytes) -> None:
        """Write one record to partition 0, outside of any Kafka transaction; it is durable when this returns.

        :raises DeliveryError, SinkError: it may not have arrived.
        """
        failed: list[KafkaError] = []
        producer = Producer(self._common() | {"message.timeout.ms": int(self.timeout * 1000), "acks": "all"})
        producer.produce(topic, value, key, 0, on_delivery=lambda error, _: failed.append(error) if error else None)
        left = producer.flush(self.timeout + 5)
        if failed:
            raise classify(failed[0], f"sending to topic {topic}")
        if left:
            raise DeliveryError(f"sending to topic {topic}: no answer from {self._config.bootstrap_servers}")

    def _read_partition(
        self,
        topic: str,
        partition: int,
        begin: int = OFFSET_BEGINNING,
        end: int | None = None,
        isolation: str = "read_committed",
    ) -> Iterator[Any]:
        """Messages up to the partition's end at the time of the call, unless another one is given.

        A broker that has just started may not know its topics yet, a new leader may not know its high watermark, and another
        producer's open transaction holds the last stable offset back: taking any of these for the end would read an old
        offset and repeat rows. So the topic must exist, the end is requested with isolation level read_uncommitted, and reading
        goes on until it is reached.
        """
        consumer = Consumer(
            self._common()
            | {
                "group.id": "minercdc-reader",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 100,  # a commit marker at the end is passed, and the end shown, by the next answer only
                "auto.offset.reset": "earliest",  # what comes next may have been deleted by retention
            }
        )
        doing = f"reading topic {topic}"
        try:
            deadline = self._patience(doing)
            self._await_leader(topic, partition, deadline)
            assignment = TopicPartition(topic, partition, begin)
            end = self._end_of(topic, partition, deadline) if end is None else end
            consumer.assign([assignment])
            position = max(begin, 0)
            while position < end:
                message = consumer.poll(0.5)
                if message is None:
                    deadline.check()
                elif error := message.error():
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise classify(error, doing)
                    position = message.offset()
                    deadline.check()
                else:
                    deadline.extend()
                    position = message.offset() + 1
                    yield message
        except KafkaException as error:
            raise classify(error.args[0], doing) from None
        finally:
            consumer.close()

    def _patience(self, doing: str) -> _Deadline:
        return _Deadline(max(self.timeout, _OPEN_TRANSACTIONS_S), doing)

    def _await_leader(self, topic: str, partition: int, deadline: _Deadline) -> None:
        while True:
            found: Any = self._list_topics().get(topic)
            if found is not None and found.error is None and getattr(found.partitions.get(partition), "leader", -1) >= 0:
                return
            deadline.check()
            time.sleep(0.2)

    def _end_of(self, topic: str, partition: int, deadline: _Deadline) -> int:
        """High watermark, open transactions included; the broker answers once it knows it for sure (KIP-207)."""
        return self._offset_of(topic, partition, OffsetSpec.latest(), deadline)

    def _offset_once_led(self, topic: str, partition: int, which: OffsetSpec) -> int:
        doing = f"reading topic {topic}"
        deadline = self._patience(doing)
        try:
            self._await_leader(topic, partition, deadline)
            return self._offset_of(topic, partition, which, deadline)
        except KafkaException as error:
            raise classify(error.args[0], doing) from None

    def _offset_of(self, topic: str, partition: int, which: OffsetSpec, deadline: _Deadline) -> int:
        """Tries again while the leader that the metadata name does not know its new partition yet."""
        place = TopicPartition(topic, partition)
        while True:
            try:
                answer = self._admin_client().list_offsets(
                    {place: which}, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=self.timeout
                )
                return int(answer[place].result().offset)
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER:
                    raise
            deadline.check()
            time.sleep(0.2)


class _Deadline:
    """Makes `check` raise DeliveryError when the last `extend` is too long ago."""

    def __init__(self, seconds: float, doing: str) -> None:
        self._seconds = seconds
        self._doing = doing
        self.extend()

    def extend(self) -> None:
        self._at = time.monotonic() + self._seconds

    def check(self) -> None:
        if time.monotonic() > self._at:
            raise DeliveryError(f"{self._doing} made no progress for {self._seconds:.0f} s")
