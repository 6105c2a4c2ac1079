"""What each of Kafka's error codes at a commit ends in: every code that librdkafka knows is said by the producer once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from minercdc.config.load import parse_properties
from minercdc.errors import DeliveryError, FencedError, SinkError
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.messages.topics import TopicNames
from minercdc.sinks.kafka.codes import FENCED, FINAL, not_created
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.stream.offset import Offset

CODES = sorted({value for name, value in vars(KafkaError).items() if isinstance(value, int) and name.strip("_").isupper()})
OFFSET = Offset("logminer", position={"x": 1})


class Client:
    """A cluster whose producer fails to commit.

    :ivar failures: what the next commits raise.
    :ivar lost: of one record of the next commit that does not arrive; `late`: that is reported only when reports are waited for.
    :ivar topics: those that are there.
    """

    timeout = 60.0
    creates_topics = False

    def __init__(self) -> None:
        self.refused = RefusedTopics()
        self.lost: KafkaError | None = None
        self.late = False
        self.topics = set[str]()
        self.failures: list[KafkaError] = []
        self.commits = 0
        self.claims: list[tuple[Any, ...]] = []

    def ensure_topic(self, name: str, **_: Any) -> None: ...

    def existing(self, names: Iterable[str]) -> set[str]:
        return self.topics & set(names)

    def producer(self, transactional_id: str, note: Callable[[KafkaError, Any], None]) -> Client:
        self.note = note
        return self

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def produce(self, topic: str, *record: Any, **__: Any) -> None:
        if len(record) == 2:  # a claim
            self.claims.append(record)

    def read_since(self, topic: str, offset: int) -> Iterator[Any]:
        for number, (key, value) in list(enumerate(self.claims))[offset:]:
            yield SimpleNamespace(offset=lambda n=number: n, key=lambda k=key: k, value=lambda v=value: v)

    def commit_transaction(self, timeout: float) -> None:
        self.commits += 1
        if self.lost is not None:
            self._report(now=not self.late)
            raise KafkaException(KafkaError(KafkaError._STATE))
        if self.failures:
            raise KafkaException(self.failures.pop(0))

    def flush(self, timeout: float) -> int:
        self._report(now=self.late)
        return 0

    def _report(self, *, now: bool) -> None:
        if now and self.lost is not None:
            self.note(self.lost, SimpleNamespace(topic=lambda: "p.S.T", key=lambda: b"k", value=lambda: b"v"))


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def sink(client: Client) -> KafkaSink:
    config = parse_properties(
        {
            "name": "n",
            "topic.prefix": "p",
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": "b:1",
        }
    )
    return KafkaSink(client, TopicNames(config), "n", Ownership("n"))  # type: ignore[arg-type]


def kind_of(code: int) -> type[SinkError]:
    if code in FENCED:
        return DeliveryError  # the claim still is ours: the transaction timed out, or a restart of ours is the cause
    return SinkError if code in FINAL else DeliveryError


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_what_the_tables_say(sink: KafkaSink, client: Client, code: int) -> None:
    client.failures = [KafkaError(code)]
    with pytest.raises(SinkError) as caught:
        sink.commit(OFFSET)
    assert type(caught.value) is kind_of(code)
    assert client.commits == 1


@pytest.mark.parametrize(
    "error", [KafkaError(code) for code in sorted(FENCED)] + [KafkaError(KafkaError._FATAL, fatal=True)]
)
def test_a_fence_and_any_fatal_error_ends_an_instance_that_was_replaced(
    sink: KafkaSink, client: Client, error: KafkaError
) -> None:
    Ownership("n").claim(client, "t")  # type: ignore[arg-type]
    client.failures = [error]
    with pytest.raises(FencedError, match="another instance"):
        sink.commit(OFFSET)


def test_codes_in_the_tables_are_codes_of_librdkafka() -> None:
    assert set(CODES) >= FENCED | FINAL
    assert not FENCED & FINAL


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError.CONCURRENT_TRANSACTIONS])
def test_what_may_be_repeated_is_repeated_in_place(sink: KafkaSink, client: Client, code: int) -> None:
    client.failures = [KafkaError(code, retriable=True)] * 2
    sink.commit(OFFSET)
    assert client.commits == 3


def test_it_is_not_repeated_for_ever(sink: KafkaSink, client: Client) -> None:
    client.timeout = 0.05
    client.failures = [KafkaError(KafkaError._TIMED_OUT, retriable=True)] * 10**6
    with pytest.raises(DeliveryError):
        sink.commit(OFFSET)


@pytest.mark.parametrize("code", sorted(FINAL))
def test_a_producer_that_is_spent_is_replaced(sink: KafkaSink, client: Client, code: int) -> None:
    """librdkafka's fatal errors end the producer, not the connector: a new one goes on from the offset."""
    client.failures = [KafkaError(code, fatal=True)]
    with pytest.raises(DeliveryError):
        sink.commit(OFFSET)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (KafkaError.INVALID_RECORD, "Where the brokers check schemas"),
        (KafkaError.INVALID_TIMESTAMP, "Compare the clocks"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "kafka-topics.sh --create --topic p.S.T"),
        (KafkaError._UNKNOWN_TOPIC, "kafka-topics.sh --create --topic p.S.T"),
    ],
)
def test_what_kafka_refuses_of_one_topic_sets_its_table_aside(sink: KafkaSink, client: Client, code: int, hint: str) -> None:
    client.lost = KafkaError(code)
    with pytest.raises(DeliveryError) as caught:
        sink.commit(OFFSET)
    refusal = client.refused.refusal("p.S.T", "table S.T")
    assert refusal is not None
    assert hint in refusal.hint
    assert caught.value.hint == refusal.hint
    with pytest.raises(SinkError) as again:  # no table was set aside for it
        sink.commit(OFFSET)
    assert type(again.value) is SinkError


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_record_that_does_not_arrive_is_named_whenever_it_is_reported(sink: KafkaSink, client: Client, late: bool) -> None:
    """librdkafka says that the transaction failed before or after it says for which record."""
    client.lost, client.late = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), late
    with pytest.raises(SinkError, match="topic p.S.T, key k, 1 bytes"):
        sink.commit(OFFSET)


def test_a_topic_that_is_there_and_not_known_yet_sets_no_table_aside(sink: KafkaSink, client: Client) -> None:
    client.lost, client.topics = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), {"p.S.T"}
    with pytest.raises(DeliveryError):
        sink.commit(OFFSET)
    assert client.refused.refusal("p.S.T", "") is None


@pytest.mark.parametrize("code", sorted(FINAL - {KafkaError._INVALID_ARG}))
def test_what_ends_the_connector_says_what_to_do(sink: KafkaSink, client: Client, code: int) -> None:
    client.lost = KafkaError(code)
    with pytest.raises(SinkError, match=r"topic p\.S\.T, key k") as caught:
        sink.commit(OFFSET)
    assert type(caught.value) is SinkError
    assert caught.value.hint
    assert ("record.too.large" in caught.value.hint) == (code == KafkaError.MSG_SIZE_TOO_LARGE)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Topic 'a.b' collides with existing topics: a_b", "differ in . and _ only"),
        ("Topic name is invalid: it contains '$'", "a name that Kafka takes"),
    ],
)
def test_a_name_that_kafka_does_not_take_has_its_own_hint(text: str, hint: str) -> None:
    refusal = not_created(KafkaError(KafkaError.TOPIC_EXCEPTION, text), "a.b")
    assert refusal is not None
    assert hint in refusal.hint
    assert "compact" not in refusal.hint
    assert not_created(KafkaError(KafkaError.POLICY_VIOLATION), "a.b") is None
