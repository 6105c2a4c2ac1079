"""Builds a pipeline of its parts; `signals.stage_builder` constructs those for signals, an adapter those of its capture."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import oracledb

from minercdc import native
from minercdc.capture.adapter import Adapter, CaptureContext, Secondary
from minercdc.capture.database_identity import other_database, other_pdbs
from minercdc.capture.registry import adapter_factory, adopt
from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import KafkaConfig
from minercdc.errors import DecodeError, MinerCdcError, SchemaHistoryError
from minercdc.messages.configured import key_columns, published_columns
from minercdc.messages.formats.topic_reading import readable
from minercdc.messages.record_encoder import Encoding
from minercdc.messages.topics import TopicNames
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.captured_later import captured_later, unread_rows
from minercdc.oracle.dictionary.object_ids import ObjectIds
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.oracle.prerequisites import unlogged
from minercdc.oracle.present_scn import not_reached
from minercdc.pipeline.databases import Connect, SourceDatabases
from minercdc.pipeline.ddl_notices import lost_rules, of_ddl
from minercdc.pipeline.excluded_tables import follow_excluded
from minercdc.pipeline.history import schema_history
from minercdc.pipeline.pipeline import Begun, Bounds, Initial, Pipeline
from minercdc.pipeline.process import ProcessState
from minercdc.pipeline.start_checks import (
    check_internal_topics,
    check_prerequisites,
    refuse_unprepared,
    refuse_without_table,
)
from minercdc.pipeline.suspension import Suspensions
from minercdc.pipeline.undecodable import is_skipped
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.signals.stage import Watching
from minercdc.signals.stage_builder import CapturedTables, resumptions_of, signal_stage
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.keyed_topic import KafkaKeyedTopic
from minercdc.sinks.kafka.topic_fold import TopicFold
from minercdc.sinks.opening import open_sink, topic_records
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.mode import Start, Steps
from minercdc.snapshot.initial.notices import SkippedSnapshot
from minercdc.snapshot.initial.snapshot import InitialSnapshot, RowReading, StreamStart
from minercdc.snapshot.initial.snapshot_scn import Described, Fixed, fix_given, fix_handover, fix_now
from minercdc.snapshot.initial.structures import StructureSnapshot
from minercdc.snapshot.query import query_of
from minercdc.snapshot.reselect import RowReselect
from minercdc.stream.contracts import (
    KeyedTopic,
    SchemaHistory,
    SignalActions,
    Snapshot,
)
from minercdc.stream.events import ChangeEvent, Notification, SchemaChange
from minercdc.stream.offset import Offset, Position

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a pipeline once its offset is loaded: what is made after that takes it.

    :param offset: the part of the stored one that is used; None for none.
    :param is_handover: it is of another family of adapters.
    :param is_start: of the process; else a restart within it that has got somewhere.
    :param tables: their shapes at the offset, which all parts share.
    :param is_schema_lost: the schema history could not be used.
    :param adapter: the adapter, which keeps `tables` in step with its changes.
    """

    offset: Offset | None
    is_handover: bool
    is_start: bool
    tables: Tables
    is_schema_lost: bool
    adapter: Adapter


class PipelineBuilder:
    """Builds one pipeline, whose sink and capture the engine closes.

    :param connect: to the `root` or `pdb` of a database.
    :param history: the schema history, None for the configured one.
    :param monotonic: see `CaptureContext`.
    :raises ConfigError: as `TopicNames`.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        process: ProcessState,
        *,
        connect: Connect = connect,
        history: SchemaHistory | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._monotonic = monotonic
        self._counters = process.instance.counters
        self._process = process
        self._factory = adapter_factory(config.database.database_connection_adapter)
        self._comments = config.messages.include_schema_comments
        self._described = Described(comments=self._comments, ddl=config.topics.include_schema_changes and not process.target)
        self._connect_to, self._databases = connect, SourceDatabases(config, connect)
        refused, prepared = process.stages.refused, process.instance.prepared
        self._client = KafkaClient(config.kafka, config.topics, config.kafka_client, refused)
        self._suspensions = Suspensions(self._databases.names.of)
        self._topics = TopicNames(config, self._suspensions.gives_up_topic, refused)
        self._history = history or schema_history(config, self._client, self._topics, prepared.history if prepared else None)
        self._counts = TransactionCounts() if config.messages.provide_transaction_metadata else None

    def open(self) -> Pipeline:
        """The pipeline, with its sink opened; called once. Nothing else is connected. Raises ConfigError for what cannot be
        loaded, SinkError and SchemaHistoryError as `open_sink`, and what the target raises."""
        config = self._config
        encoding = Encoding(
            config,
            self._topics,
            self._process.stages,
            counts=self._counts,
            captured=self._databases.captured,
            connect=self._databases.connect_first,
            partitions=self._client.partitions,
        )
        encoder, encode_run = encoding.encoders()
        instance = self._process.instance
        target = self._process.target.open() if self._process.target else None
        pipeline = Pipeline(
            adapter=config.database.database_connection_adapter,
            sink=target.sink if target else open_sink(config, self._client, self._topics, instance.ownership),
            encoder=encoder,
            encode_run=encode_run,
            history=self._history,
            begin=partial(self._begin, without_record=encoding.leaves_out),
            bounds=_bounds_of(config.kafka),
            skip_undecodable=self._skip_undecodable,
            heartbeat=encoding.heartbeat(),
            notified=instance.posting.show,
            waiting=instance.posting.waiting,
            schema_notices=self._schema_notices,
            suspensions=self._suspensions,
            suspends=self._suspends,
            counts=self._counts,
            pass_over=encoding.pass_over,
        )
        return target.adapted(pipeline) if target else pipeline

    def _begin(self, stored: Offset | None, without_record: Callable[[ChangeEvent], bool]) -> Begun:
        """The parts that depend on the stored offset."""
        configured, process = self._config.database.database_connection_adapter, self._process
        offset = adopt(stored, configured, handover_scn=self._config.capture.minercdc_handover_scn)
        recovered = self._recovered(offset)
        tables = Tables(comments=self._comments) if recovered is None else recovered
        is_handover = offset is not stored
        offset = self._with_excluded(offset, tables)
        self._claim_topics(offset, tables)
        known = _Known(offset, is_handover, process.is_start(offset), tables, recovered is None, self.adapter(tables))
        return Begun(
            offset, known.adapter.capture, lambda: self._initial(known), lambda: self._signals(known, without_record)
        )

    def _recovered(self, offset: Offset | None) -> Tables | None:
        """The tables of the schema history at the offset; None when it cannot be used, and the structures are to be read again:
        it is forgotten then."""
        tables, recovered = Tables(comments=self._comments), 0
        try:
            for change in self._history.recover(offset.history if offset is not None else 0):
                tables.apply(change)
                recovered += 1
        except SchemaHistoryError as error:
            if not self._process.decide(Start(offset_exists=True, snapshot_under_way=False)).again_on_schema_error:
                raise
            log.warning("%s; the structures are read again", error.message)
            self._history.forget()
            return None
        self._counters.history_recovered = recovered
        if len(tables):
            log.info("schema history recovered: %d tables", len(tables))
        return tables

    def _with_excluded(self, offset: Offset | None, tables: Tables) -> Offset | None:
        """The offset with the tables that are excluded now. Of those that were and are captured again, it has those suspended that are to
        be read by themselves; of others, a warning is logged. Neither where this start takes a snapshot of all tables in any case."""
        if offset is None:
            return None
        databases = self._databases
        # Of the signal table no rows are published in any case.
        known = [schema.id for schema in tables if schema.id != databases.signals]
        offset, again = follow_excluded(offset, known, databases.captured, databases.names.of)
        if self._process.is_start(offset) and self._process.decide(Start(True, snapshot_under_way=False)).data:
            return offset
        if self._config.incremental.minercdc_snapshot_added_tables == "incremental":
            return replace(offset, suspended=(*offset.suspended, *(one.suspended() for one in again)))
        for one in again:
            log.warning("%s", one.warning())
        return offset

    def _claim_topics(self, offset: Offset | None, tables: Tables) -> None:
        suspended = {entry.table for entry in offset.suspended if entry.gives_up_topic} if offset is not None else set()
        known = (schema.id for schema in tables if self._databases.captured(schema.id))
        self._topics.claim(table for table in known if self._databases.names.of(table) not in suspended)

    def _schema_notices(self, change: SchemaChange) -> Iterator[Notification]:
        if self._config.notifications.minercdc_notification_schema_changes:
            yield from of_ddl(change)
        yield from lost_rules(self._config, change)

    def _suspends(self, table: TableId) -> bool:
        """Whether a table with a row that cannot be decoded is suspended; logs a warning for the signal table. The signal
        table is mined but not published, so that suspending it would help no reader."""
        if self._config.run.event_processing_failure_handling_mode != "suspend":
            return False
        if self._databases.captured(table):
            return True
        log.warning("a row of %s, which is not captured, cannot be decoded: if it was a signal, send it again", table)
        return False

    def _unlogged(self, tables: Tables, table: TableId) -> str:
        """What supplemental logging a table lacks (`CaptureContext.unlogged`), read on a connection of its own; '' when it
        lacks none, has no key or is not one of `tables`. For a warning only, so an error is logged, and gives '' too."""
        known = tables.find(table)
        if known is None or not known.key:
            return ""
        try:
            with closing(self._databases.connect(table.database)) as connection:
                found = unlogged(connection, table)
                return f"{table.database}: {found}" if found and self._databases.are_several else found
        except MinerCdcError as error:
            log.info("supplemental logging of %s could not be looked at: %s", table, error.message)
            return ""

    def _skip_undecodable(self, error: DecodeError) -> bool:
        mode = self._config.run.event_processing_failure_handling_mode
        skipped = is_skipped(mode, error)
        if skipped and mode == "warn":
            log.warning("a row is left out: %s", error)
        return skipped

    def _secondary(self) -> Secondary | None:
        config = self._config.secondary
        if not config.is_mined:
            return None
        return Secondary(lambda: self._connect_to(config.database(self._config.database), "root"), config.is_downstream)

    def _read_table(self, table: TableId) -> TableSchema | None:
        with closing(self._databases.connect(table.database)) as connection:
            found = read_tables(connection, [table], comments=self._comments)
        return found[0] if found else None

    def _signals(self, known: _Known, without_record: Callable[[ChangeEvent], bool]) -> SignalActions:
        instance, config = self._process.instance, self._config
        directory, name = config.capture.minercdc_state_dir, config.identity.name
        records = topic_records(config, self._client)
        memory = TopicFold(readable(config, records), self._topics, directory, name) if records else None
        factory, captured = self._factory, CapturedTables(known.tables, self._databases.filters, without_record)
        resumptions = resumptions_of(
            config,
            self._suspensions,
            captured,
            memory,
            factory.prerequisites,
            redo=factory.reads_redo,
            refusal=self._topics.refusal,
        )
        return signal_stage(
            config,
            known.adapter.open_transactions,
            captured,
            resumptions,
            channels=instance.channels,
            watching=Watching(instance.watch.observe, instance.watch.pausing),
            redo=factory.reads_redo,
            starts=known.is_start,
        )

    def adapter(self, tables: Tables) -> Adapter:
        """The adapter, which has connected to nothing before it is used.

        :param tables: see `CaptureContext`.
        """
        return self._factory.open(
            CaptureContext(
                config=self._config,
                tables=tables,
                mined=self._databases.mined(self._databases.first),
                database=self._databases.first,
                connect_root=self._databases.connect_root,
                connect_pdb=self._databases.connect_first,
                read_table=self._read_table,
                time_zone=self._databases.time_zone,
                counters=self._counters,
                reselect=self._reselect(),
                unread=self._suspensions.unread,
                unlogged=partial(self._unlogged, tables),
                split=lambda: self._suspensions.split,
                runs=native.rows is not None,
                pdbs=self._databases.pdbs(),
                monotonic=self._monotonic,
                secondary=self._secondary(),
                open_transactions_topic=self._open_transactions_topic(),
                object_ids=ObjectIds(self._databases.connect),
                record_key=key_columns(self._config.filters),
            )
        )

    def _open_transactions_topic(self) -> KeyedTopic | None:
        topic = self._topics.open_transactions
        return None if topic is None or self._process.target else KafkaKeyedTopic(self._client, topic)

    def _reselect(self) -> RowReselect | None:
        config, mode = self._config, self._config.capture.minercdc_lob_reselect
        if mode == "none" or not config.capture.lob_enabled:
            return None
        published, key = published_columns(config.filters), key_columns(config.filters)
        connect, only_moved = self._databases.connect, mode == "key_change"
        return RowReselect(connect, published, key, key_changes_only=only_moved, counters=self._counters)

    def _initial(self, known: _Known) -> Initial:
        process, adapter, offset = self._process, known.adapter, known.offset
        if begins := not process.checked:
            self._check(offset)
        position = None if offset is None or offset.position is None else adapter.capture.load_position(offset.position)
        goes_on = position
        if position is None and offset is not None and offset.snapshot is not None:
            goes_on = adapter.capture.load_position(offset.snapshot.start)  # of these databases? before any of them is read
        steps = self._steps(known, position)
        if offset is not None and (position is None or not steps.data):
            self._refuse_unreached(offset, position, goes_on)
        if begins and position is not None and not steps.data:
            self._warn_of_captured_later(known.tables, position)
        return Initial(self._snapshot(known, steps, position), steps.stream)

    def _check(self, offset: Offset | None) -> None:
        """Check topics and database, once in the process."""
        process, prepared = self._process, self._process.instance.prepared
        of_topics = check_internal_topics(self._config, self._client)
        check = prepared.findings if prepared else check_prerequisites
        of_database = check(self._config, first=offset is None)
        refuse_unprepared([*of_topics, *of_database])
        if offset is None:
            refuse_without_table(of_database)
        process.checked, process.first_offset = True, offset

    def _snapshot(self, known: _Known, steps: Steps, position: Position | None) -> Snapshot | None:
        adapter = known.adapter
        if steps.data:
            return InitialSnapshot(
                self._databases.of_tables(),
                known.tables,
                self._config.snapshot,
                StreamStart(self._fix_now, adapter.start_position, adapter.capture.load_position),
                RowReading(
                    selects=self._config.snapshot_selects,
                    query=query_of(self._config.snapshot),
                    lobs=self._config.capture.lob_enabled,
                    runs=native.rows is not None,
                ),
                captured=self._databases.captured,
            )
        if not steps.schema and position is not None:
            return SkippedSnapshot() if known.is_start else None
        return StructureSnapshot(
            self._databases.connect_first,
            known.tables,
            partial(self._fix, known) if position is None else self._fix_now,
            lambda fixed: position or adapter.start_position(fixed.scn, fixed.mine_from),
        )

    def _warn_of_captured_later(self, known: Tables, position: Position) -> None:
        """Log a warning for each captured table that was not captured before and has rows of before, which nothing reads: it is in
        neither the snapshot nor the redo to come. Nothing where no rows are read of any table, and for an adapter that finds new
        tables by itself."""
        if self._config.snapshot.snapshot_mode in ("no_data", "recovery") or not self._factory.reads_redo:
            return
        for database, wanted in self._databases.filters.items():
            with closing(self._databases.connect(database)) as connection:
                captured = read_table_ids(connection, wanted, database)
                found = captured_later(connection, captured, list(known), position.delivered_scn)
            for table in found:
                log.warning("%s", unread_rows(table))

    def _refuse_unreached(self, offset: Offset, position: Position | None, goes_on: Position | None) -> None:
        """Raise LogGapError when the offset, or an unfinished snapshot, is of another database or incarnation, or the database has
        not come to the SCN that it goes on from; SourceError or PrerequisiteError when that cannot be read.

        :param goes_on: the position, or the one that streaming starts from after that snapshot; None for neither.
        """
        scn = position.delivered_scn if position is not None else offset.snapshot.scn if offset.snapshot is not None else 0
        with closing(self._databases.connect_first()) as connection:
            gap = other_database(connection, goes_on) if goes_on is not None else None
            gap = gap or not_reached(connection, scn)
        if gap is None and goes_on is not None:
            gap = other_pdbs(self._databases.connections(), goes_on)
        if gap is not None:
            raise gap

    def _gap(self, adapter: Adapter, position: Position) -> MinerCdcError | None:
        with closing(self._databases.connect_first()) as connection:
            gap = not_reached(connection, position.delivered_scn) or adapter.unreadable(position)
        return gap or other_pdbs(self._databases.connections(), position)

    def _steps(self, known: _Known, position: Position | None) -> Steps:
        """What is to be done before streaming; nothing when this is a restart within the process that has got somewhere.
        Where the redo is gone and that is to be met by a new snapshot, a warning is logged."""
        exists = known.offset is not None
        steps = self._process.decide(Start(exists, exists and position is None and not known.is_handover))
        if known.is_schema_lost:
            steps = replace(steps, schema=True)
        if position is None:
            return replace(steps, data=False, schema=True) if known.is_handover else steps
        if not known.is_start:
            return replace(steps, data=False, schema=known.is_schema_lost)
        if steps.again_on_data_error and (gap := self._gap(known.adapter, position)):
            log.warning("%s; a new snapshot is taken", gap.message)
            return replace(steps, data=True)
        return steps

    def _fix_now(self, connection: oracledb.Connection) -> Fixed:
        lock, redo = lock_of(self._config.snapshot), self._factory.reads_redo
        with self._databases.places(connection) as places:
            return fix_now(places, lock, redo=redo, described=self._described)

    def _fix(self, known: _Known, connection: oracledb.Connection) -> Fixed:
        """The point to stream from without a snapshot of rows: the one that is configured, else now."""
        config, handover_scn = self._config.snapshot, self._config.capture.minercdc_handover_scn
        is_given = config.minercdc_start_scn is not None or config.minercdc_start_timestamp is not None
        if not is_given and (handover_scn is None or not known.is_handover):
            return self._fix_now(connection)
        mine_from = known.adapter.mine_from
        with self._databases.places(connection) as places:
            if handover_scn is not None and known.is_handover:
                return fix_handover(places, handover_scn, mine_from, described=self._described)
            return fix_given(places, config, mine_from, described=self._described)


def _bounds_of(kafka: KafkaConfig) -> Bounds:
    holds = kafka.minercdc_kafka_large_transaction == "hold"
    return Bounds(
        records=kafka.minercdc_kafka_transaction_max_records,
        bytes=kafka.minercdc_kafka_transaction_max_bytes,
        seconds=kafka.minercdc_kafka_transaction_interval_ms / 1000,
        hold_bytes=kafka.minercdc_kafka_large_transaction_hold_max_bytes if holds else 0,
        longest=kafka.longest_transaction / 3,
    )
