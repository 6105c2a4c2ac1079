"""Where the running lake's records come from: the topics in Kafka, or the connector's segments with no broker in between."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, DeliveryError, LakeError, SinkError
from minercdc.lake.source.segment_history import SegmentHistory
from minercdc.lake.stream.deleted_records import Waiting, uncertain, unread
from minercdc.lake.stream.marks import Ends, Mark, Marks, Progress, topic_pattern
from minercdc.lake.stream.scanned_batch import SourceRecord
from minercdc.lake.stream.topics import read_segments, read_topics
from minercdc.lake.table.history import LakeHistory, TableHistories
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.range_reader import RangeReader
from minercdc.sinks.opening import need_kafka
from minercdc.sinks.segments.reader import Place, SegmentLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DAY_MS = 86_400_000  # Kafka's default


class RecordSource(Protocol):
    """The records of one connector, and how far they are complete. Methods raise SinkError where it cannot be read, and DeliveryError
    where that passes."""

    @property
    def missing(self) -> str:
        """What is waited for, as text for people, as of the last call of `newest`; '' once the connector has an offset with an SCN."""

    def stream(self, spark: SparkSession) -> DataFrame:
        """The records as a stream of Spark's Kafka columns, with headers.

        :raises ConfigError: Spark's Kafka client lacks a setting, or a certificate cannot be read.
        :raises LakeError: this Spark has no such stream.
        """

    def ends(self, offset: str) -> Ends:
        """How far the records are read, of an offset as Spark's checkpoint has it."""

    def between(self, begin: str | None, end: str) -> Generator[SourceRecord]:
        """The records of a micro-batch, read by this process; raises SinkError or DeliveryError where Spark has to say what is wrong.

        :param begin, end: offsets as Spark's checkpoint has them; None for the first record that is there.
        """

    def close(self) -> None:
        """End connections of `between`."""

    def unread(self, read: Ends, held: Ends, ends: Ends) -> Iterable[tuple[str, str]]:
        """(topic, cause) of each loss: what a micro-batch will not find, as it was deleted before it was read.

        :param read, ends: how far the records are read before it, and after it.
        :param held: how far the change log had the topics' partitions at the start.
        :raises LakeError: it is not known which topics lack records.
        """

    def uncertain(self, read: Ends, held: Ends, ends: Ends, since: datetime) -> Iterable[tuple[str, str]]:
        """(topic, cause) where deletes may be gone though other records are left, and nothing says so.

        :param read, held, ends: as of `unread`.
        :param since: when the records were read the last time.
        """

    def newest(self) -> Mark | None:
        """The newest mark; None before an offset with an SCN, and when nothing is new since the last call."""

    def topics(self) -> Mapping[str, str]:
        """Table topic -> id of it, of those that are there; {} where topics cannot go."""

    def history(self) -> TableHistories:
        """The tables, not read yet."""


def source_of(config: ConnectorConfig) -> RecordSource:
    """The source that the configured sink writes. Raises as `refuse_unread_sinks`."""
    refuse_unread_sinks(config)
    return SegmentSource(config) if config.sink.debezium_sink_type == "segments" else KafkaSource(config)


def refuse_unread_sinks(config: ConnectorConfig) -> None:
    """Raise ConfigError where no lake reads the sink, or the schema history of a connector with Kafka is in a file."""
    if config.sink.debezium_sink_type == "segments":
        return
    need_kafka(config, "the lake", "debezium.sink.type=segments also works.")
    if config.history.file is not None:
        raise ConfigError(
            [
                "schema.history.internal: the lake reads the tables from the topic of the schema history; a file is not supported"
            ]
        )


class KafkaSource:
    """The topics of one connector."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._client = KafkaClient(config.kafka, config.topics, config.kafka_client)
        self._marks = Marks(config, self._client)
        self._reader = RangeReader(self._client)

    @property
    def missing(self) -> str:
        """As `RecordSource` says."""
        return self._marks.missing

    def stream(self, spark: SparkSession) -> DataFrame:
        """As `RecordSource` says."""
        return read_topics(spark, self._config, fail_on_loss=False, headers=True)

    def ends(self, offset: str) -> Ends:
        """As `RecordSource` says, by topic and partition."""
        found = json.loads(offset)
        return {(topic, int(partition)): end for topic, ends in found.items() for partition, end in ends.items()}

    def between(self, begin: str | None, end: str) -> Generator[SourceRecord]:
        """As `RecordSource` says."""
        read = {} if begin is None else self.ends(begin)
        ranges = {place: (read.get(place, 0), until) for place, until in self.ends(end).items()}
        if any(first > until for first, until in ranges.values()):
            raise DeliveryError("a topic was recreated or truncated")
        new = {place: both for place, both in ranges.items() if both[0] < both[1]}
        with closing(self._reader.messages(new)) as messages:
            for one in messages:
                yield SourceRecord(one.topic(), one.partition(), one.offset(), one.key(), one.value(), one.headers())

    def close(self) -> None:
        """As `RecordSource` says."""
        self._reader.close()

    def unread(self, read: Ends, held: Ends, ends: Ends) -> Iterable[tuple[str, str]]:
        """As `RecordSource` says."""
        begins = self._client.begins(place for place, end in ends.items() if end > read.get(place, 0))
        return unread(read, held, ends, begins)

    def uncertain(self, read: Ends, held: Ends, ends: Ends, since: datetime) -> Iterable[tuple[str, str]]:
        """As `RecordSource` says: of compacted topics."""
        places = {place: max(read.get(place, 0), held.get(place, 0)) for place in ends}
        unread_from = {place: known for place, known in places.items() if 0 < known < ends[place]}
        if not unread_from:
            return ()
        now = datetime.now(UTC)
        stood_s = (now - since).total_seconds()
        kept_s = {
            topic: kept
            for topic, state in self._client.states(sorted({topic for topic, _ in unread_from})).items()
            if "compact" in state.settings.get("cleanup.policy", "")
            and stood_s > (kept := int(state.settings.get("delete.retention.ms", _DAY_MS)) / 1000)
        }
        waiting: dict[tuple[str, int], Waiting] = {}
        for place, known in unread_from.items():
            if place[0] in kept_s:
                found: Any = self._client.read_range(*place, known, ends[place])
                with closing(found) as messages:
                    if (first := next(messages, None)) is not None:
                        waiting[place] = Waiting(known, first.offset(), now.timestamp() - first.timestamp()[1] / 1000)
        return uncertain(waiting, kept_s, stood_s)

    def newest(self) -> Mark | None:
        """As `RecordSource` says; waits until open transactions are decided."""
        return self._marks.newest()

    def topics(self) -> Mapping[str, str]:
        """As `RecordSource` says, with Kafka's ids."""
        return self._marks.topics()

    def history(self) -> TableHistories:
        """As `RecordSource` says."""
        return LakeHistory(self._config, self._client)


class SegmentSource:
    """The segments of one connector. They are read as a whole, so there is one partition: ("segments", 0), whose offsets count records."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._log = SegmentLog(config.sink.directory)
        self._topics = re.compile(topic_pattern(config))
        self._progress = Progress()
        self._read_to = Place(0, 0)
        self._begun = ""  # id of the segments that are read
        self._records = 0

    @property
    def missing(self) -> str:
        """As `RecordSource` says."""
        if self._progress.scn:
            return ""
        return f"connector {self._config.identity.name} has no offset in {self._config.sink.directory} yet; start it: minercdc run CONFIG"

    def stream(self, spark: SparkSession) -> DataFrame:
        """As `RecordSource` says."""
        return read_segments(spark, self._config)

    def ends(self, offset: str) -> Ends:
        """As `RecordSource` says."""
        found = json.loads(offset)
        if not found["log"]:
            return {}
        return {_PLACE: self._log.records(Place(found["segment"], found["byte"]))}

    def between(self, begin: str | None, end: str) -> Generator[SourceRecord]:
        """As `RecordSource` says."""
        until = self._place(end)
        numbers = self._log.numbers()
        since = (None if begin is None else self._place(begin)) or (Place(numbers[0], 0) if numbers else None)
        if until is None or since is None:
            return
        for place, byte in self._log.ranges(since, until):
            for one in self._log.read(place, byte):
                if self._topics.fullmatch(one.topic):
                    yield SourceRecord(one.topic, 0, one.number, one.key, one.value, one.headers)

    def _place(self, offset: str) -> Place | None:
        found = json.loads(offset)
        if not found["log"]:
            return None
        if self._log.header(found["segment"]).log != found["log"]:
            raise SinkError("the segments were started over")
        return Place(found["segment"], found["byte"])

    def close(self) -> None:
        """As `RecordSource` says."""

    def unread(self, read: Ends, held: Ends, ends: Ends) -> Iterable[tuple[str, str]]:
        """As `RecordSource` says: (), or LakeError, since a segment has records of all topics."""
        del ends
        numbers, known = self._log.numbers(), max([read.get(_PLACE, 0), *held.values()])
        if numbers and (first := self._log.header(numbers[0]).records) > known:
            raise LakeError(
                f"records {known} to {first - 1} of the segments in {self._config.sink.directory} were deleted before the lake read them",
                hint="Set minercdc.sink.retention=keep, move the segments and the lake away, and start both over with a new snapshot.",
            )
        return ()

    def uncertain(self, read: Ends, held: Ends, ends: Ends, since: datetime) -> Iterable[tuple[str, str]]:
        """As `RecordSource` says: ()."""
        return ()

    def newest(self) -> Mark | None:
        """As `RecordSource` says.

        :raises LakeError: the connector has begun its segments again since the last call.
        """
        numbers = self._log.numbers()
        if not numbers:
            return None
        log = self._log.header(numbers[-1]).log
        if self._begun not in ("", log):
            raise LakeError(
                f"the segments in {self._config.sink.directory} were started over while they were read",
                hint="The connector takes a new snapshot: start the lake over, with an empty minercdc.lake.path.",
            )
        self._begun = log
        for place, commit in self._log.commits(self._read_to):
            self._read_to, self._records = place, commit.records
            if commit.offset is not None:
                self._progress.read(commit.offset)
        if not self._progress.scn or not self._progress.is_unmarked:
            return None
        return self._progress.mark({_PLACE: self._records}, {})

    def topics(self) -> Mapping[str, str]:
        """As `RecordSource` says: {}."""
        return {}

    def history(self) -> TableHistories:
        """As `RecordSource` says."""
        return SegmentHistory(self._config)


_PLACE = ("segments", 0)
