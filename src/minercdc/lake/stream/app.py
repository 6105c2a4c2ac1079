"""The running lake: one stream appends all topics to the change log, and a thread merges tables from it.

Kafka or segments ──► Structured Streaming ──► change log ──► merges, several tables at once ──► state
                        (one micro-batch)        (bronze)        up to a complete commit SCN
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.config.urls import without_secrets
from minercdc.errors import DeliveryError, LakeError
from minercdc.lake.maintain.maintenance import Maintenance
from minercdc.lake.merge.attempts import cause_of
from minercdc.lake.merge.scheduler import Merger
from minercdc.lake.read.avro import AvroTopics
from minercdc.lake.read.skipped import warn_of_skipped
from minercdc.lake.spark.own_sessions import prefer_few_partitions, prefer_zstd
from minercdc.lake.spark.session import refuse_session
from minercdc.lake.stream.checkpoint import Checkpoint
from minercdc.lake.stream.driver_scans import DriverScans
from minercdc.lake.stream.marks import Ends, Mark, until_mark
from minercdc.lake.stream.passing import LateStarts, hides_outcome, of_another_lake
from minercdc.lake.stream.record_source import refuse_unread_sinks, source_of
from minercdc.lake.stream.watching import StreamWatch
from minercdc.lake.table.format import READERS_TIME
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.ownership import claim
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.types import refuse_unsupported_modes
from minercdc.stream.counters.lake import LakeFigures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

log = logging.getLogger(__name__)

_MERGE_POLL_S = 0.5
_MOST_MARKS = 50  # that are waited for
_LOOK_S = 5.0


class StopFlag(Protocol):
    """A request to stop; a `threading.Event` fits."""

    def is_set(self) -> bool:
        """Whether to stop; `Lake.await_end` looks about once a second."""


def start(spark: SparkSession, config: ConnectorConfig) -> Lake:
    """Start the stream, and the threads that merge tables and maintain files. Returns while they run.

    :raises ConfigError: the lake is another connector's, the topics have numbers as doubles (decimal.handling.mode), Spark's
        Kafka client lacks a setting of `minercdc.kafka.client.*`, a certificate cannot be read, or as `refuse_unread_sinks` and `TopicNames`.
    :raises LakeError: the session is one of Spark Connect, of a Spark before 4.0, or without the format, the records are in a form that the lake does not
        read, Spark lacks Avro where the topics are in it, a lake table was deleted that the change log cannot make again, or the
        change log that has the checkpoint's records is not there.
    :raises SinkError, SchemaHistoryError: Kafka, or the schema history, cannot be read.
    """
    refuse_session(spark, config)
    refuse_unsupported_modes(config.values)
    refuse_unread_sinks(config)
    claim(spark, config, first=lambda: _refuse_without_log(spark, config))
    warn_of_skipped(config)
    return Lake(spark, config)


def _refuse_without_log(spark: SparkSession, config: ConnectorConfig) -> None:
    """Raise LakeError where the checkpoint has read records, and there is no change log that has them, or another one: the lake would go on
    without them."""
    paths = LakePaths(config)
    checkpoint, changes = Checkpoint(spark, paths.checkpoint), format_of(config).changes(spark)
    if checkpoint.last() is None:
        return
    there = changes.exists()
    if not there or checkpoint.change_log() not in ("", changes.identity()):
        cause = "another change log than" if there else "no change log: there is none in"
        raise LakeError(
            f"the records up to the checkpoint {paths.checkpoint} are in {cause}"
            f"{f' {changes.name} in' if there else ''} minercdc.lake.format={config.lake.minercdc_lake_format} for the lake at {paths.root}",
            hint="Give minercdc.lake.format, minercdc.lake.catalog.* and minercdc.lake.path back what the lake was begun with. A lake in"
            " another format or catalog needs a minercdc.lake.path (and minercdc.lake.checkpoint) of its own; to begin this one anew,"
            " delete all of it, the checkpoint too.",
        )


class Lake:
    """The stream into the change log, and the merges from it. `start` makes it, and has the errors; `stop` ends it.

    :ivar query: Spark's query of the stream.
    :ivar figures: what was done since the start, and up to which SCN each table is merged.
    """

    def __init__(self, spark: SparkSession, config: ConnectorConfig) -> None:
        self._spark = spark
        self._config = config
        self._paths = LakePaths(config)
        self._source = source_of(config)
        self._topics = AvroTopics(spark, config)
        self.figures = LakeFigures()
        self._merger = Merger(spark, config, self._source, self.figures)
        self._marks: deque[Mark] = deque()  # that are not reached, in order
        self._waits = False  # for the connector's first offset, and that is logged
        self._looked = 0.0  # when a mark that is not reached was compared with the topics that there are
        self._writer = ""  # id of the stream, which its checkpoint keeps
        self._checkpoint = Checkpoint(spark, self._paths.checkpoint)
        self._is_noted = False  # beside the checkpoint, which change log has its records
        last = self._checkpoint.last()
        self._read_to = None if last is None else self._checkpoint.offset(last)  # where the stream ended the last time
        self._read: Ends = {} if self._read_to is None else self._source.ends(self._read_to)
        self._scans = DriverScans(self._source, config.values, are_json=self._topics.are_json)
        self._checkpoint.remove_leftovers()
        self._stop = threading.Event()
        self._wake = threading.Event()  # a micro-batch was appended, or to stop
        self._asked = 0.0  # for a mark the last time
        self._turn = threading.Lock()  # of what marks and merges
        self._failure: Exception | None = None
        self._batch_failure: Exception | None = None
        self._ending = False
        self._appended = self._restarted = -1  # numbers of micro-batches
        self._late = LateStarts()
        self._watch = StreamWatch(self.figures)
        self.query: StreamingQuery = self._started()
        self._threads = [threading.Thread(target=self._merge, name="lake-merges", daemon=True)]
        if config.lake.minercdc_lake_maintenance_interval_ms:
            self._threads.append(threading.Thread(target=self._maintain, name="lake-maintenance", daemon=True))
        for thread in self._threads:
            thread.start()

    def _started(self) -> StreamingQuery:
        return (
            self._source.stream(self._spark)
            .writeStream.foreachBatch(self._append_or_note)
            .option("checkpointLocation", self._paths.checkpoint)
            .trigger(processingTime=f"{self._config.lake.minercdc_lake_trigger_interval_ms} milliseconds")
            .queryName(f"minercdc-{self._config.identity.name}")
            .start()
        )

    def _start_again(self, error: BaseException) -> None:
        """Start the query again that ended by what passes: Spark could not report a micro-batch that it had done (once a micro-batch), or did
        not wait for its own Python process (some times in a row). Any other error is raised; that of `_append` where Spark's own hides it."""
        if self._late.counts(str(error)):
            log.warning(
                "Python's start took longer than the 10 s that Spark waits for it: the machine is busy. The stream is started again (%s in a row)",
                self._late.count,
            )
            self.query = self._started()
            return
        if not hides_outcome(str(error)):
            raise error
        if self._batch_failure is not None:
            raise LakeError(f"the lake's stream ended: {cause_of(self._batch_failure)}") from self._batch_failure
        if self._appended == self._restarted:
            raise error
        log.debug("Spark could not report micro-batch %s; the stream is started again", self._appended)
        self._restarted = self._appended
        self.query = self._started()

    def _append_or_note(self, records: DataFrame, number: int) -> None:
        self._batch_failure = None
        self._late.forget()
        try:
            self._append(records, number)
        except Exception as error:
            self._batch_failure = error
            if self._ending:
                log.debug("micro-batch %s was interrupted", number, exc_info=True)
                # Spark seeks in the text of an error of py4j whether it is one of an interruption, by an expression that overflows the stack of
                # its thread.
                raise LakeError("the lake is stopped") from None
            raise
        self._appended = number
        self._wake.set()

    def _append(self, records: DataFrame, number: int) -> None:
        """One micro-batch: append it to the change log, and note how far the topics are read then."""
        if not self._writer:
            prefer_few_partitions(records.sparkSession)  # the query's own
            prefer_zstd(records.sparkSession)
            self._writer = self._checkpoint.stream_id()
        offset = self._checkpoint.offset(number)
        ends = self._source.ends(offset)
        new = {place: end - self._read.get(place, 0) for place, end in ends.items()}
        topics, rows = {topic for (topic, _), rows in new.items() if rows}, sum(new.values())
        begun = time.monotonic()
        scanned = self._scans.read(self._read_to, offset, rows)
        self._merger.note_unread(self._read, ends)  # once it is read: retention may delete records meanwhile
        if scanned is not None:
            self._merger.append_scanned(scanned.rows, self._writer, number)
            self.figures.records += scanned.records
            self.figures.triggers.add(time.monotonic() - begun)
        else:
            self._topics.learn(records)
            self._merger.append(self._topics.as_json(records), self._writer, number, rows, one_topic=len(topics) == 1)
            self._merger.note_unread(self._read, ends)
            self._watch.expect(number)
        if not self._is_noted and (identity := self._merger.log_identity()):
            self._checkpoint.note_change_log(identity)
            self._is_noted = True
        self._read, self._read_to = ends, offset

    def _advance(self) -> None:
        """Publish the marks that are reached. Topics that are gone no longer count."""
        if len(self._marks) < _MOST_MARKS and (newest := self._source.newest()) is not None:
            self._marks.append(newest)
        if not self._marks:
            if self._source.missing and not self._waits:
                self._waits = True
                log.info("waiting: %s", self._source.missing)
            return
        if not self._marks[0].is_reached(self._read) and time.monotonic() - self._looked >= _LOOK_S:
            self._looked = time.monotonic()
            topics = self._source.topics()
            self._marks = deque(mark.without_vanished(topics) for mark in self._marks)
        while self._marks and self._marks[0].is_reached(self._read):
            self._merger.complete(self._marks[0])
            self._marks.popleft()

    def _merge(self) -> None:
        waiting = False
        while not self._stop.is_set():
            appended = self._wake.wait(min(_MERGE_POLL_S, max(self._until_mark(), 0.01)))
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                with self._turn:
                    self._watch.look(self.query)
                    if appended or self._until_mark() <= 0:
                        self._asked = time.time()
                        self._advance()
                    self._merger.merge_due()
                waiting = False
            except DeliveryError as error:  # Kafka will be back
                if not waiting:
                    log.warning("merging waits: %s", error)
                waiting = True
            except Exception as error:
                self._failure = error  # raised by await_end
                log.debug("merging ended", exc_info=True)
                return

    def _until_mark(self) -> float:
        """Seconds until a mark is to be asked for."""
        return until_mark(self._asked, time.time(), self._config.lake.minercdc_lake_trigger_interval_ms / 1000)

    def _maintain(self) -> None:
        """Maintain the files after each `minercdc.lake.maintenance.interval.ms` until `stop`; run in a thread. A failure is
        logged and ends nothing."""
        maintenance = Maintenance(self._spark, self._config, least=READERS_TIME)
        while not self._stop.wait(self._config.lake.minercdc_lake_maintenance_interval_ms / 1000):
            try:
                for report in maintenance.run(stopped=self._stop.is_set):
                    if report.failure:
                        log.warning("%s was not maintained, and is tried again: %s", report.name, report.failure)
            except Exception as error:
                log.warning("maintenance of the lake's files failed and is tried again: %s", first_cause(str(error)))
                log.debug("maintenance failed", exc_info=True)

    @property
    def complete_scn(self) -> int:
        """The SCN up to which the change log has every commit, as published since the start; 0 for none."""
        return self._merger.complete_scn

    def process_all_available(self) -> None:
        """Return once all that is in the topics now is in the change log, and what is complete of it in tables that do not fail.

        :raises LakeError: merging has ended by an error.
        :raises SinkError, SchemaHistoryError: Kafka, or the schema history, cannot be read.
        :raises pyspark.errors.StreamingQueryException: the stream has ended by an error.
        """
        from pyspark.errors import StreamingQueryException

        done = False
        while not done:
            try:
                self.query.processAllAvailable()
                done = True
            except StreamingQueryException as error:
                self._start_again(error)
        with self._turn:
            self._watch.look(self.query)
            for _ in range(2):  # where the newest mark found no room
                self._advance()
            self._merger.flush()
        self._raise_failure()

    def await_end(self, stop: StopFlag) -> None:
        """Wait until `stop` is set or the stream ends by itself; then stop.

        :raises LakeError: the stream or the merging failed; the message has our own error, else Spark's cause.
        """
        from pyspark.errors import StreamingQueryException

        try:
            while not stop.is_set():
                try:
                    if self.query.awaitTermination(1):
                        break
                except StreamingQueryException as error:
                    self._start_again(error)
                self._raise_failure()
        except StreamingQueryException as error:
            log.debug(
                "the stream ended", exc_info=True
            )  # Spark's own log does not have it (`local/spark-log4j2.properties`)
            raise self._ended(str(error)) from error
        finally:
            self.stop()

    def _ended(self, cause: str) -> LakeError:
        """The error that the stream has ended, by the text of Spark's."""
        if of_another_lake(cause):
            return LakeError(
                f"another process keeps the lake at {self._paths.root}: it has written the checkpoint {self._paths.checkpoint}",
                hint="Run `minercdc lake` once for a lake. Nothing is lost: the other one goes on.",
            )
        return LakeError(f"the lake's stream ended: {first_cause(cause)}")

    def stop(self) -> None:
        """Stop the stream; then wait for the merges of all tables that are due in the present round, and for the table that
        the maintenance is at. Safe to call twice."""
        self._ending = True
        self.query.stop()
        self._watch.look(self.query)
        self._stop.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()
        self._merger.close()
        self._source.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise LakeError(f"merging ended: {first_cause(str(self._failure))}") from self._failure


def first_cause(text: str) -> str:
    """The last line of a Spark error's text that names an error of ours, as from foreachBatch; else its first one, without the secrets of URLs."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ours = (line for line in reversed(lines) if line.startswith("minercdc.errors."))
    return next(ours, without_secrets(lines[0]) if lines else "no message")


def own_cause(text: str) -> str:
    """`first_cause` without the name of our error's class."""
    line = first_cause(text)
    return line.partition(": ")[2] if line.startswith("minercdc.errors.") else line
