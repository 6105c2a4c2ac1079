"""Reads partitions of a topic to their end, and finds where they begin and end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from tenacity import Retrying, retry_if_exception, retry_if_result, wait_fixed
from tenacity.retry import retry_base

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka.codes import NO_LEADER, classify
from minercdc.sinks.kafka.connections import METADATA_S, Connections

# another producer's open transaction ends at the latest after its transaction.timeout.ms, which we set to 60 s
_OPEN_TRANSACTIONS_S = 90.0
_BETWEEN_TRIES_S = 0.2
_LEADERS_S = 10.0


class PartitionReader:
    """Waits for the leader of a partition, then reads.

    Every public method raises DeliveryError or SinkError when the topic cannot be read; and, but for `await_leaders`, when
    it does not exist."""

    def __init__(self, cluster: Connections) -> None:
        self._cluster = cluster

    def messages(
        self,
        topic: str,
        partition: int,
        begin: int = OFFSET_BEGINNING,
        end: int | None = None,
        isolation: str = "read_committed",
    ) -> Iterator[Any]:
        """Messages from offset `begin` on, to before `end`, or the partition's end when iteration begins; the last one may lie
        at or after `end` when the offsets just before it hold no message. Raises DeliveryError when none comes for 90 s, or
        the configured timeout if that is longer.

        A broker that has just started may not know its topics yet, a new leader may not know its high watermark, and another
        producer's open transaction holds the last stable offset back: taking any of these for the end would read an old
        offset and repeat rows. So the topic must exist, the end is requested with isolation level read_uncommitted, and reading
        goes on until it is reached."""
        settings = {
            "group.id": "minercdc-reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # a commit marker at the end is passed, and the end shown, by the next answer only
            "auto.offset.reset": "earliest",  # what comes next may have been deleted by retention
        }
        deadline = self._patience(topic)
        with closing(self._cluster.consumer(settings)) as consumer, _classified(deadline.doing):
            self._await_leader(topic, partition, deadline)
            end = self._end_of(topic, partition, deadline) if end is None else end
            # else it learns the leader half a second later
            consumer.list_topics(topic, timeout=min(self._cluster.timeout, METADATA_S))
            consumer.assign([TopicPartition(topic, partition, begin)])
            position = max(begin, 0)
            while position < end:
                message = consumer.poll(0.5)
                if message is None:
                    deadline.check()
                elif error := message.error():
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise classify(error, deadline.doing)
                    position = message.offset()
                    deadline.check()
                else:
                    deadline.extend()
                    position = message.offset() + 1
                    yield message

    def ends(self, topic: str, partitions: Iterable[int]) -> tuple[tuple[int, int], ...]:
        """(partition, its high watermark) of each partition, the lowest first, once all of them have leaders."""
        deadline, wanted = self._patience(topic), sorted(partitions)
        with _classified(deadline.doing):
            for partition in wanted:
                self._await_leader(topic, partition, deadline)
            return tuple(zip(wanted, self._offsets(topic, wanted, OffsetSpec.latest(), deadline), strict=True))

    def offset(self, topic: str, partition: int, which: OffsetSpec) -> int:
        """The first offset of a partition, or its high watermark, as `which` says; once it has a leader."""
        deadline = self._patience(topic)
        with _classified(deadline.doing):
            self._await_leader(topic, partition, deadline)
            return self._offsets(topic, [partition], which, deadline)[0]

    def await_leaders(self, topic: str) -> None:
        """Wait until the leader of each partition serves it; at most 10 s for partitions that have none. Nothing is waited for when
        there is no such topic.

        To be called before a producer's first record. While a broker does not know yet that it leads a new partition it refuses a
        producer's first batch, and takes the second one that is under way: for it, the producer is new. The first batch is lost then,
        for librdkafka takes the answer to the second one for that of both ("implicitly acked").
        """
        deadline, lacks_one = self._patience(topic), retry_if_result(lambda leaders: min(leaders.values(), default=0) < 0)
        try:
            leaders = _Deadline(_LEADERS_S, deadline.doing).retrying(lacks_one)(self._leaders, topic)
        except DeliveryError:  # a broker is down: the other partitions' records go on
            leaders = self._leaders(topic)
        with _classified(deadline.doing):
            self._offsets(topic, [n for n, leader in leaders.items() if leader >= 0], OffsetSpec.latest(), deadline)

    def _leaders(self, topic: str) -> dict[int, int]:
        """Partition -> broker that leads it, -1 for none; {} for no such topic."""
        found: Any = self._cluster.list_topics().get(topic)
        return {} if found is None or found.error is not None else {n: part.leader for n, part in found.partitions.items()}

    def _patience(self, topic: str) -> _Deadline:
        return _Deadline(max(self._cluster.timeout, _OPEN_TRANSACTIONS_S), f"reading topic {topic}")

    def _await_leader(self, topic: str, partition: int, deadline: _Deadline) -> None:
        def is_led() -> bool:
            return self._leaders(topic).get(partition, -1) >= 0

        deadline.retrying(retry_if_result(lambda led: not led))(is_led)

    def _end_of(self, topic: str, partition: int, deadline: _Deadline) -> int:
        """High watermark, open transactions included; the broker answers once it knows it for sure (KIP-207)."""
        return self._offsets(topic, [partition], OffsetSpec.latest(), deadline)[0]

    def _offsets(self, topic: str, partitions: Sequence[int], which: OffsetSpec, deadline: _Deadline) -> list[int]:
        """The offset of each partition, in one request, which is tried again while a leader that the metadata name does
        not know its new partition yet."""
        places = [TopicPartition(topic, partition) for partition in partitions]

        def offsets() -> list[int]:
            answer = self._cluster.admin().list_offsets(
                dict.fromkeys(places, which),
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=self._cluster.timeout,
            )
            return [int(answer[place].result().offset) for place in places]

        return deadline.retrying(retry_if_exception(_has_no_leader))(offsets) if places else []


def _has_no_leader(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in NO_LEADER


@contextmanager
def _classified(doing: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise classify(error.args[0], doing) from None


class _Deadline:
    """Makes `check` raise DeliveryError when the last `extend` is too long ago."""

    def __init__(self, seconds: float, doing: str) -> None:
        self.doing = doing
        self._seconds = seconds
        self.extend()

    def extend(self) -> None:
        self._at = time.monotonic() + self._seconds

    def check(self) -> None:
        if time.monotonic() > self._at:
            raise DeliveryError(f"{self.doing} made no progress for {self._seconds:.0f} s")

    def retrying(self, wanted: retry_base) -> Retrying:
        """A `Retrying` that calls a function again, every 0.2 s, while its result or error is `wanted`.

        Its call raises DeliveryError after the deadline.
        """
        pause = wait_fixed(_BETWEEN_TRIES_S)
        return Retrying(retry=wanted, wait=pause, sleep=time.sleep, before_sleep=lambda _: self.check())
