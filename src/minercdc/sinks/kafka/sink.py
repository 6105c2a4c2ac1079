"""Sends records and the offset in Kafka transactions: they become visible to `read_committed` readers all together, or never.

The producer's transactional id is `minercdc-<name of the connector>`. Start-up has three steps:

1. claim the name (`ownership`);
2. `init_transactions`, which aborts what an older run left open, and fences that run;
3. read the offset. No other process can move it any more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import KafkaError, KafkaException
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay

from minercdc import native
from minercdc.errors import DeliveryError, FencedError, SinkError
from minercdc.messages.large_records import LargeRecords, shown_key
from minercdc.messages.topics import TopicNames
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.codes import FINAL, MISSING_TOPIC, classify, classify_lost, missing_topic, refusal_of
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_REPORTS_SECONDS: Final = 1.0  # to wait for reports of records, where a transaction failed


def stored_offset(client: KafkaClient, topics: TopicNames, name: str) -> Offset | None:
    """The offset that a connector committed last; None for one that never committed any.

    :param name: of the connector.
    :raises SchemaHistoryError: it is stored in a form that this version does not read.
    :raises SinkError: there is no offset topic, or Kafka cannot be read.
    """
    stored = client.latest_of_key(topics.offsets, name.encode())
    return None if stored is None else offset_from_bytes(stored, f"topic {topics.offsets}, key {name}")


class Undelivered(NamedTuple):
    """A record that did not arrive.

    :param record: its topic, key and size, for a message.
    """

    error: KafkaError
    record: str
    size: int


class KafkaSink:
    """The transactional sink of one connector (contracts.RecordSink). Construction creates the topics of offsets, history and open
    transactions when they are missing and `topic.creation.enable` is true, claims the name, and fences older sinks of it.

    :param name: of the connector: key of its offset, and part of its transactional id.
    :param ownership: the claim of this process.
    :param large: what is sent in place of records that are too large; None: Kafka refuses them. Those that a restart reads (schema
        history, open transactions) are sent as they are in any case.
    :raises DeliveryError, FencedError, SinkError: Kafka cannot be used, or another process has claimed the name.
    """

    def __init__(
        self,
        client: KafkaClient,
        topics: TopicNames,
        name: str,
        ownership: Ownership,
        large: LargeRecords | None = None,
    ) -> None:
        self._client = client
        self._topics = topics
        self._name = name
        self._ownership = ownership
        self._large = large
        self._open = False
        self._undelivered: Undelivered | None = None
        self._refused_record: tuple[str, KafkaError, bool] | None = (
            None  # topic and error of a record that Kafka does not take as it is
        )
        self._one_partition = {topics.schema_changes, topics.schema_history, topics.notifications, topics.heartbeats}
        self._read_again = {topics.offsets, topics.schema_history, topics.open_transactions}
        self._seen: set[str] = set()
        client.ensure_topic(topics.offsets, partitions=1, compacted=True)
        if topics.has_history:
            client.ensure_topic(topics.schema_history, partitions=1)
        if topics.open_transactions is not None:
            client.ensure_topic(topics.open_transactions, partitions=1, compacted=True)
        ownership.claim(client, topics.offsets)
        self._producer: Any = self._join()
        self.check_owner()

    def _join(self) -> Any:
        """A producer that may write: older ones of the same transactional id are fenced, and their open transaction is
        aborted."""
        producer = self._client.producer(f"minercdc-{self._name}", self._note_undelivered)
        self._call(producer.init_transactions, "joining Kafka as " + self._name)
        return producer

    def _note_undelivered(self, error: KafkaError, message: Any) -> None:
        """Remember the largest record that did not arrive: Kafka refuses those that were sent together for the size of one."""
        if error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            return
        size = len(message.value() or b"")
        keyed = message.key() is not None
        if refusal_of(error, message.topic(), keyed=keyed) is not None or error.code() in MISSING_TOPIC:
            self._refused_record = message.topic(), error, keyed
        if self._undelivered is None or size > self._undelivered.size:
            what = f"topic {message.topic()}, key {shown_key(message.key())}, {size} bytes"
            self._undelivered = Undelivered(error, what, size)

    def check_owner(self) -> None:
        """Read the claims of the name that came since. Raises FencedError when another process has claimed it, else as
        `Ownership.check`."""
        self._ownership.check(self._client, self._topics.offsets)

    def load_offset(self) -> Offset | None:
        """The offset that was committed last; None for none. Raises as `stored_offset`."""
        return stored_offset(self._client, self._topics, self._name)

    def write(self, record: Record) -> None:
        """Queue a record in the open Kafka transaction, or a new one; creates its topic as `KafkaClient.ensure_topic` does.

        Waits while librdkafka's queue is full, as long as one request may take.

        :raises DeliveryError, FencedError, SinkError: the transaction cannot be completed; open the sink again.
        """
        if not self._open:
            self._begin()
        if (
            self._large is not None
            and record.topic not in self._read_again
            and self._large.is_large(record.key, record.value)
        ):
            record = self._large.replaced(record)
        self._make_topic(record.topic)
        partition = -1 if record.partition is None else record.partition
        self._produce(record.topic, record.key, record.value, record.headers, partition, record.timestamp_ms)

    def write_run(self, records: Sequence[Record]) -> None:
        """See `contracts.RunSink`; what the native path printed is queued without an object for each record."""
        if native.rows is None or not isinstance(records, native.rows.Records):
            for record in records:
                self.write(record)
            return
        if not records:
            return
        if not self._open:
            self._begin()
        for topic in records.new_topics(self._seen):
            self._make_topic(topic)
        done = 0
        while done < len(records):
            try:
                done = records.produce(self._producer.produce if self._large is None else self._produce_fitting, done)
            except KafkaException as error:
                refused = records[records.at]
                raise self._refused(error.args[0], refused.topic, refused.key, len(refused.value or b"")) from None
            if done < len(records):  # its queue was full
                self.write(records[done])
                done += 1

    def _produce_fitting(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        on_delivery: None = None,
        callback: None = None,
        timestamp: int = 0,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """`produce` of librdkafka, with what is sent in place of a record that is too large."""
        if self._large is None or not self._large.is_large(key, value):
            self._producer.produce(topic, value, key, partition, headers=list(headers) or None)
            return
        record = self._large.replaced(Record(topic, key, value, tuple(headers), None if partition < 0 else partition))
        self._make_topic(record.topic)
        where = -1 if record.partition is None else record.partition
        self._producer.produce(record.topic, record.value, record.key, where, headers=list(record.headers) or None)

    def _make_topic(self, topic: str) -> None:
        if topic not in self._seen:
            one_partition = 1 if topic in self._one_partition else None
            self._client.ensure_topic(topic, partitions=one_partition, compacted=topic == self._topics.heartbeats)
            self._seen.add(topic)

    def _produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Any,
        partition: int,
        timestamp_ms: int | None = None,
    ) -> None:
        waited, more = 0.0, {} if timestamp_ms is None else {"timestamp": timestamp_ms}
        while True:
            try:
                self._producer.produce(topic, value, key, partition, headers=list(headers) or None, **more)
                return
            except BufferError:
                if waited >= self._client.timeout:
                    raise DeliveryError(f"Kafka took no record for {waited:.0f} s") from None
                self._poll(0.1)
                waited += 0.1
            except KafkaException as error:
                raise self._refused(error.args[0], topic, key, len(value or b"")) from None

    def _poll(self, seconds: float) -> None:
        """Have librdkafka report what became of records; what is fatal, as a fence, it raises here as well."""
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            raise self._failed(error.args[0], "sending to Kafka") from None

    def _refused(self, error: KafkaError, topic: str, key: bytes | None, size: int) -> SinkError:
        """The error, to be raised, for a record that our own client does not take. `size` is that of the value, in bytes."""
        if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
            self._poll(0)  # reports a record that failed before, which is the cause
            return self._failed(error, f"sending to topic {topic}")
        return SinkError(
            f"sending to topic {topic} failed: a record of {size} bytes is larger than the client takes; its key is {shown_key(key)}",
            hint="Raise minercdc.kafka.client.message.max.bytes, and, if they are lower, max.message.bytes of the topic; or see"
            " minercdc.kafka.record.too.large.",
        )

    def _begin(self) -> None:
        self._call(lambda _: self._producer.begin_transaction(), "beginning a Kafka transaction")
        self._open = True

    def commit(self, offset: Offset) -> None:
        """See `contracts.RecordSink`. A record that was not delivered makes it fail.

        :raises DeliveryError, FencedError, SinkError: the transaction may not be committed; open the sink again.
        """
        self._commit(offset_to_bytes(offset))

    def remove_offset(self) -> None:
        """See `contracts.OffsetSink`: a tombstone."""
        self._commit(None)

    def _commit(self, stored: bytes | None) -> None:
        if not self._open:
            self._begin()
        self._produce(self._topics.offsets, self._name.encode(), stored, (), 0)
        # a delivery failure of any record of the transaction surfaces here
        self._call(self._commit_transaction, "committing to Kafka")
        self._open = False

    def _commit_transaction(self, seconds: float) -> None:
        try:
            self._producer.commit_transaction(seconds)
        except KafkaException as error:
            if not error.args[0].retriable():
                # It may be told that the transaction failed before it is told for which record.
                self._producer.flush(_REPORTS_SECONDS)
            raise

    def close(self) -> None:
        """Abort the open Kafka transaction, if there is one; a failure is only logged."""
        if self._open:
            self._open = False
            try:
                self._producer.abort_transaction(5)
            except KafkaException as error:
                # the broker aborts it when the next instance starts or after transaction.timeout.ms
                log.info("open Kafka transaction left to time out: %s", error)

    def _of_refused_topic(self) -> SinkError | None:
        """The error for a record that will be refused again, as one without a key in a compacted topic, or of a topic
        that is missing and not created; None without one."""
        if self._refused_record is None:
            return None
        topic, error, keyed = self._refused_record
        refusal = refusal_of(error, topic, keyed=keyed)
        if refusal is None and not self._client.creates_topics and not self._client.existing([topic]):
            refusal = missing_topic(topic)
        return None if refusal is None else self._client.refused.note(topic, refusal)

    def _call(self, request: Callable[[float], _T], doing: str) -> _T:
        """Run a transactional request, repeating it for as long as one request may take when librdkafka says that is
        safe.

        :param request: gets the seconds that are left.
        """
        deadline = time.monotonic() + self._client.timeout
        retrying = Retrying(
            retry=retry_if_exception(_is_retriable),
            stop=stop_after_delay(self._client.timeout),
            before_sleep=lambda state: log.info("%s: %s; trying again", doing, _error_of(state).str()),
            reraise=True,
        )
        try:
            return retrying(lambda: request(max(deadline - time.monotonic(), 0.1)))
        except KafkaException as exception:
            raise self._failed(exception.args[0], doing) from None

    def _failed(self, error: KafkaError, doing: str) -> SinkError:
        """Our error for librdkafka's. The claim shows whether another instance is the cause, not librdkafka: a fatal error may
        hide a fence, and a fence may be a transaction of ours that timed out."""
        if (refused := self._of_refused_topic()) is not None:
            return refused
        if (lost := self._undelivered) is not None and lost.error.code() in FINAL:
            return classify_lost(lost.error, f"sending a record ({lost.record})")
        found = classify(error, doing)
        if not error.fatal() and not isinstance(found, FencedError):
            return found
        try:
            self.check_owner()
        except SinkError as owned:
            return owned
        return DeliveryError(f"{doing} failed: {error.str()} ({error.name()})")  # a new producer goes on from the offset


def _is_retriable(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and bool(error.args[0].retriable())


def _error_of(state: RetryCallState) -> KafkaError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, KafkaException)
    return error.args[0]
