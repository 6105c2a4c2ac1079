"""A producer's first record waits until the leader of a new partition serves it."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from minercdc.errors import DeliveryError
from minercdc.sinks.kafka import partition_reader
from minercdc.sinks.kafka.partition_reader import PartitionReader


class Cluster:
    """Answers of a broker.

    :param leaders: of each list of topics, the leader of each partition; the last one stays.
    :param errors: of each request for offsets, None for an answer; the last one stays.
    """

    timeout = 1.0

    def __init__(self, leaders: list[list[int]], errors: list[int | None]) -> None:
        self.leaders, self.errors, self.asked = leaders, errors, list[list[int]]()

    def list_topics(self) -> dict[str, Any]:
        leaders = self.leaders.pop(0) if len(self.leaders) > 1 else self.leaders[0]
        partitions = {number: SimpleNamespace(leader=leader) for number, leader in enumerate(leaders)}
        return {"new": SimpleNamespace(error=None, partitions=partitions)} if leaders else {}

    def admin(self) -> Cluster:
        return self

    def list_offsets(self, places: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        self.asked.append(sorted(place.partition for place in places))
        error = self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
        answer: Future[Any] = Future()
        if error is None:
            answer.set_result(SimpleNamespace(offset=0))
        else:
            answer.set_exception(KafkaException(KafkaError(error)))
        return dict.fromkeys(places, answer)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_reader, "_BETWEEN_TRIES_S", 0.0)


def test_it_waits_for_all_leaders_and_then_until_they_know_it() -> None:
    refused = KafkaError.NOT_LEADER_FOR_PARTITION
    cluster = Cluster([[-1, -1], [1, -1], [1, 2]], [refused, refused, None])
    PartitionReader(cluster).await_leaders("new")  # type: ignore[arg-type]
    assert (cluster.leaders, cluster.asked) == ([[1, 2]], [[0, 1]] * 3)


def test_a_partition_that_stays_without_leader_holds_the_others_up_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_reader, "_LEADERS_S", 0.0)
    cluster = Cluster([[1, -1, 3]], [None])
    PartitionReader(cluster).await_leaders("new")  # type: ignore[arg-type]
    assert cluster.asked == [[0, 2]]


def test_a_topic_that_is_not_there_is_not_waited_for() -> None:
    cluster = Cluster([[]], [None])
    PartitionReader(cluster).await_leaders("new")  # type: ignore[arg-type]
    assert cluster.asked == []


def test_another_error_is_ours() -> None:
    with pytest.raises(DeliveryError, match="reading topic new"):
        PartitionReader(Cluster([[1]], [KafkaError._TIMED_OUT])).await_leaders("new")  # type: ignore[arg-type]
