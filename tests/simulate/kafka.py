"""A Kafka cluster in memory, with clients that look as confluent_kafka's: what `minercdc.kafka` uses of them.

Transactions have a coordinator: an epoch for each transactional id, and a decision that comes before the markers which readers wait for.

    open -> decided (commit or abort), markers due -> a marker in each partition        a reader with read_committed stops before the first
                                                                                        record of a transaction without marker
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from tests.simulate.tasks import Killed

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"
_LIMIT_S = 60.0


@dataclass(eq=False)
class Transaction:
    """Of a producer.

    :ivar unmarked: partitions whose marker is not written, with the time when it is due.
    """

    epoch: int
    begun: float
    timeout: float
    state: str = OPEN
    partitions: dict[tuple[str, int], Partition] = field(default_factory=dict)
    unmarked: dict[tuple[str, int], float] = field(default_factory=dict)


@dataclass(slots=True)
class Entry:
    """A record, or with `marker` the end of a transaction."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    transaction: Transaction | None
    marker: bool = False
    parsed: Any = None  # for the judge


@dataclass(eq=False)
class Partition:
    entries: list[Entry] = field(default_factory=list)
    leaderless_until: float = 0.0
    stable: int = 0  # no record before it is undecided


@dataclass
class Topic:
    partitions: list[Partition]
    settings: dict[str, str]


@dataclass
class Coordinated:
    """What the coordinator knows of a transactional id."""

    epoch: int = -1
    transaction: Transaction | None = None


def failure(code: int, text: str, *, fatal: bool = False, retriable: bool = False, abort: bool = False) -> KafkaException:
    return KafkaException(KafkaError(code, text, fatal, retriable, abort))


class Cluster:
    """The brokers.

    :param now: the time.
    :param call: to be called at each request with its name; returns the fault that it meets, '' for none.
    :param between: a delay between two times.
    :param owner: the process whose turn it is.
    """

    def __init__(
        self,
        now: Callable[[], float],
        call: Callable[..., str],
        between: Callable[[float, float], float],
        sleep: Callable[[float], None],
        owner: Callable[[], Any],
    ) -> None:
        self.owner = owner
        self.now, self._call, self.between, self.sleep = now, call, between, sleep
        self.topics: dict[str, Topic] = {}
        self.ids: dict[str, Coordinated] = {}

    def call(self, what: str, *faults: str, owner: Any = None) -> str:
        """A request. Raises Killed when it comes of a process that is dead, as when Python closes what that has left open."""
        if owner is not None and owner.dead:
            raise Killed
        return self._call(what, *faults)

    def create(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        if name in self.topics:
            raise failure(KafkaError.TOPIC_ALREADY_EXISTS, "exists")
        self.topics[name] = Topic([Partition() for _ in range(partitions)], dict(settings))

    def is_compacted(self, topic: str) -> bool:
        return topic in self.topics and "compact" in self.topics[topic].settings.get("cleanup.policy", "")

    def settle(self) -> None:
        """Write the markers that are due, and end transactions that took too long."""
        now = self.now()
        for known in self.ids.values():
            transaction = known.transaction
            if transaction is None:
                continue
            if transaction.state == OPEN and now - transaction.begun > transaction.timeout:
                known.epoch += 1
                self.decide(transaction, ABORTED)
            for place, due in list(transaction.unmarked.items()):
                if due <= now:
                    self._mark(transaction, place)

    def decide(self, transaction: Transaction, state: str, *, delayed: bool = False) -> None:
        transaction.state = state
        now = self.now()
        for place in transaction.partitions:
            transaction.unmarked[place] = now + (self.between(0.0, 0.4) if delayed else 0.0)
        if not delayed:
            self.finish(transaction)

    def finish(self, transaction: Transaction) -> None:
        """Write the markers that are left."""
        for place in list(transaction.unmarked):
            self._mark(transaction, place)

    @staticmethod
    def _mark(transaction: Transaction, place: tuple[str, int]) -> None:
        del transaction.unmarked[place]
        transaction.partitions[place].entries.append(Entry(None, None, (), transaction, marker=True))

    def partition(self, topic: str, number: int) -> Partition:
        found = self.topics.get(topic)
        if found is None or number >= len(found.partitions):
            raise failure(KafkaError.UNKNOWN_TOPIC_OR_PART, f"no topic {topic}")
        return found.partitions[number]

    def append(self, topic: str, number: int, entry: Entry) -> None:
        partition = self.partition(topic, number)
        if entry.transaction is not None:
            entry.transaction.partitions[topic, number] = partition
        partition.entries.append(entry)

    def stable_end(self, topic: str, number: int) -> int:
        """Offset of the first record of a transaction whose marker is not written here; else the end."""
        partition = self.partition(topic, number)
        for offset in range(partition.stable, len(partition.entries)):
            transaction = partition.entries[offset].transaction
            if transaction is not None and (transaction.state == OPEN or (topic, number) in transaction.unmarked):
                partition.stable = offset
                return offset
        partition.stable = len(partition.entries)
        return partition.stable

    def committed(self, topic: str) -> list[tuple[int, int, Entry]]:
        """(partition, offset, record) that read_committed readers see of a topic."""
        self.settle()
        found = []
        for number, partition in enumerate(self.topics[topic].partitions if topic in self.topics else ()):
            end = self.stable_end(topic, number)
            found += [(number, offset, entry) for offset, entry in enumerate(partition.entries[:end]) if visible(entry)]
        return found


def visible(entry: Entry) -> bool:
    """Whether it is a record that read_committed readers see."""
    return not entry.marker and (entry.transaction is None or entry.transaction.state == COMMITTED)


class SimMessage:
    """As confluent_kafka.Message."""

    def __init__(
        self, topic: str, partition: int, offset: int, entry: Entry | None, error: KafkaError | None = None
    ) -> None:
        self._place = topic, partition, offset
        self._entry, self._error = entry, error

    def error(self) -> KafkaError | None:
        return self._error

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._place[2]

    def key(self) -> bytes | None:
        return self._entry.key if self._entry else None

    def value(self) -> bytes | None:
        return self._entry.value if self._entry else None

    def headers(self) -> list[tuple[str, bytes]] | None:
        return list(self._entry.headers) or None if self._entry else None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class SimProducer:
    """As confluent_kafka.Producer. What is produced is sent at once, or with the commit."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._owner = cluster.owner()
        self._id: str = settings.get("transactional.id", "")
        self._timeout = float(settings.get("transaction.timeout.ms", 60_000)) / 1000
        self._epoch = -1
        self._transaction: Transaction | None = None
        self._queued: list[tuple[str, int, Entry]] = []
        self._begun = False
        self._decided = False  # a commit that has happened was not answered
        self._broken = False

    def init_transactions(self, timeout: float) -> None:
        cluster = self._cluster
        fault = cluster.call("kafka init_transactions", "error", "undecided", owner=self._owner)
        if fault == "error":
            raise failure(KafkaError._TIMED_OUT, "init_transactions timed out", retriable=True)
        cluster.settle()
        known = cluster.ids.setdefault(self._id, Coordinated())
        if known.transaction is not None:
            if known.transaction.state == OPEN:
                cluster.decide(known.transaction, ABORTED)
            cluster.finish(known.transaction)
            known.transaction = None
        known.epoch += 1
        self._epoch = known.epoch
        if fault == "undecided":
            raise failure(KafkaError._TIMED_OUT, "init_transactions timed out, and has happened", retriable=True)

    def begin_transaction(self) -> None:
        self._cluster.call("kafka begin_transaction", owner=self._owner)
        self._begun = True

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        on_delivery: Any = None,
        callback: Any = None,
        timestamp: int = 0,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> None:
        cluster = self._cluster
        if partition < 0:
            partition = zlib.crc32(key or b"") % len(cluster.topics[topic].partitions)
        entry = Entry(key, value, list(headers or ()), None)
        if not self._id:
            self._queued.append((topic, partition, entry))
            return
        if cluster.call("kafka produce", "early", owner=self._owner) == "early":
            self._send()
        self._queued.append((topic, partition, entry))

    def _send(self) -> None:
        """Queued records reach the brokers, if this producer is not fenced; that shows at the commit."""
        cluster = self._cluster
        cluster.settle()
        known = cluster.ids[self._id]
        if known.epoch != self._epoch or not self._queued:
            return
        if self._transaction is None:
            if known.transaction is not None:
                cluster.finish(known.transaction)
            self._transaction = known.transaction = Transaction(self._epoch, cluster.now(), self._timeout)
        for topic, partition, entry in self._queued:
            entry.transaction = self._transaction
            cluster.append(topic, partition, entry)
        self._queued.clear()

    def _unsent(self) -> Iterable[tuple[str, bytes | None]]:
        """Topic and key of what is queued."""
        return ((topic, entry.key) for topic, _, entry in self._queued)

    def _check_epoch(self) -> None:
        self._cluster.settle()
        if self._cluster.ids[self._id].epoch != self._epoch:
            raise failure(KafkaError._FENCED, "fenced by a newer producer", fatal=True)

    def commit_transaction(self, timeout: float) -> None:
        cluster = self._cluster
        fault = cluster.call(
            "kafka commit_transaction", "error", "undecided", "aborted", "leader", "late", owner=self._owner
        )
        if self._decided:
            self._ended()
            return
        self._check_epoch()
        if self._broken:
            raise failure(KafkaError._STATE, "the transaction has failed", abort=True)
        if any(key is None and self._cluster.is_compacted(topic) for topic, key in self._unsent()):
            self._broken = True
            raise failure(KafkaError.INVALID_RECORD, "a compacted topic takes no record without key", abort=True)
        if fault == "leader" and self._queued:
            topic, number, _ = self._queued[-1]
            cluster.partition(topic, number).leaderless_until = cluster.now() + cluster.between(0.5, 8.0)
        if any(cluster.partition(topic, number).leaderless_until > cluster.now() for topic, number, _ in self._queued):
            cluster.sleep(min(timeout, 1.0))
            raise failure(KafkaError._TIMED_OUT, "commit timed out, a partition has no leader", retriable=True)
        if fault == "aborted":
            self._broken = True
            raise failure(KafkaError._INCONSISTENT, "a record did not arrive", abort=True)
        if fault == "error":
            self._send()
            cluster.sleep(timeout if cluster.between(0, 1) < 0.3 else 0.5)
            raise failure(KafkaError._TIMED_OUT, "commit timed out, and has not happened", retriable=True)
        self._send()
        cluster.call("kafka commit_transaction sent", owner=self._owner)
        cluster.settle()
        if self._transaction is not None:
            if self._transaction.state != OPEN:
                raise failure(KafkaError._FENCED, "the transaction was ended by the broker", fatal=True)
            cluster.decide(self._transaction, COMMITTED, delayed=fault in ("late", "undecided"))
        if fault == "undecided":
            self._decided = True
            cluster.sleep(timeout if cluster.between(0, 1) < 0.5 else 0.5)
            raise failure(KafkaError._TIMED_OUT, "commit timed out, and has happened", retriable=True)
        self._ended()
        cluster.call("kafka commit_transaction answered", owner=self._owner)

    def _ended(self) -> None:
        self._transaction, self._decided, self._begun = None, False, False

    def abort_transaction(self, timeout: float = -1) -> None:
        cluster = self._cluster
        if cluster.call("kafka abort_transaction", "error", owner=self._owner) == "error":
            raise failure(KafkaError._TIMED_OUT, "abort timed out", retriable=True)
        self._check_epoch()
        self._queued.clear()
        if self._transaction is not None and self._transaction.state == OPEN:
            cluster.decide(self._transaction, ABORTED)
        self._ended()
        self._broken = False

    def poll(self, timeout: float = 0) -> int:
        return 0

    def flush(self, timeout: float = -1) -> int:
        """What is queued arrives, in a transaction only if this producer is not fenced, and may do so without an answer."""
        cluster = self._cluster
        fault = cluster.call("kafka flush", "error", "undecided", owner=self._owner)
        if fault != "error" and self._id:
            self._send()
        elif fault != "error":
            for topic, partition, entry in self._queued:
                cluster.append(topic, partition, entry)
            self._queued.clear()
        return 1 if fault else 0

    def purge(self, *_: Any, **__: Any) -> None:
        self._queued.clear()


class SimConsumer:
    """As confluent_kafka.Consumer, of assigned partitions."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._committed = settings.get("isolation.level", "read_committed") == "read_committed"
        self._topic, self._partition, self._position = "", 0, 0
        self._at_end = -1

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        return listed(self._cluster)

    def assign(self, places: Sequence[Any]) -> None:
        (place,) = places
        self._topic, self._partition, self._position = place.topic, place.partition, max(place.offset, 0)

    def poll(self, timeout: float = -1) -> SimMessage | None:
        cluster = self._cluster
        if cluster.call("kafka poll", "error") == "error":
            cluster.sleep(timeout)
            return None
        cluster.settle()
        partition = cluster.partition(self._topic, self._partition)
        end = cluster.stable_end(self._topic, self._partition) if self._committed else len(partition.entries)
        while self._position < end:
            offset, entry = self._position, partition.entries[self._position]
            self._position += 1
            if not entry.marker and (visible(entry) or not self._committed):
                return SimMessage(self._topic, self._partition, offset, entry)
        if self._at_end != self._position:
            self._at_end = self._position
            return SimMessage(self._topic, self._partition, self._position, None, KafkaError(KafkaError._PARTITION_EOF))
        cluster.sleep(timeout)
        return None

    def close(self) -> None:
        pass


class _Done:
    """As a future that has its result."""

    def __init__(self, result: Any = None, error: Exception | None = None) -> None:
        self._result, self._error = result, error

    def exception(self, timeout: float | None = None) -> Exception | None:
        return self._error

    def result(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._result


@dataclass(slots=True)
class _PartitionState:
    leader: int
    replicas: tuple[int, ...] = (0,)


@dataclass(slots=True)
class _TopicState:
    partitions: dict[int, _PartitionState]
    error: None = None


@dataclass(slots=True)
class _Listed:
    topics: dict[str, _TopicState]


@dataclass(slots=True)
class _Value:
    value: Any = None
    offset: int = 0
    topic_id: str = ""


def listed(cluster: Cluster) -> _Listed:
    if cluster.call("kafka list_topics", "error") == "error":
        raise failure(KafkaError._TRANSPORT, "no broker answers")
    now = cluster.now()
    return _Listed(
        {
            name: _TopicState(
                {i: _PartitionState(-1 if p.leaderless_until > now else 0) for i, p in enumerate(topic.partitions)}
            )
            for name, topic in cluster.topics.items()
        }
    )


class SimAdmin:
    """As confluent_kafka.admin.AdminClient."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> _Listed:
        return listed(self._cluster)

    def create_topics(self, topics: Sequence[Any], **_: Any) -> dict[str, _Done]:
        (topic,) = topics
        self._cluster.call("kafka create_topics")
        try:
            self._cluster.create(topic.topic, topic.num_partitions, topic.config or {})
        except KafkaException as error:
            return {topic.topic: _Done(error=error)}
        return {topic.topic: _Done()}

    def list_offsets(self, places: Mapping[Any, Any], **_: Any) -> dict[Any, _Done]:
        cluster = self._cluster
        fault = cluster.call("kafka list_offsets", "error")
        found = {}
        for place, which in places.items():
            try:
                partition = cluster.partition(place.topic, place.partition)
                if fault or partition.leaderless_until > cluster.now():
                    raise failure(KafkaError.LEADER_NOT_AVAILABLE, "no leader")
                first = type(which).__name__.startswith("Earliest")
                found[place] = _Done(_Value(offset=0 if first else len(partition.entries)))
            except KafkaException as error:
                found[place] = _Done(error=error)
        return found

    def describe_configs(self, resources: Sequence[Any], **_: Any) -> dict[Any, _Done]:
        self._cluster.call("kafka describe_configs")
        topics = self._cluster.topics
        return {one: _Done({k: _Value(v) for k, v in topics[one.name].settings.items()}) for one in resources}

    def describe_topics(self, topics: Any, **_: Any) -> dict[str, _Done]:
        self._cluster.call("kafka describe_topics")
        return {name: _Done(_Value(topic_id=name)) for name in topics.names if name in self._cluster.topics}
