"""Builds a connector from its configuration: the only place that constructs and connects."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

import oracledb

from minercdc.capture.logminer.capture import LogMinerCapture
from minercdc.capture.logminer.flush import RedoFlush
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import TableFilterConfig, ValueConfig
from minercdc.contracts import Capture, SchemaHistory, SignalActions, Snapshot
from minercdc.errors import ConfigError, DecodeError, MinerCdcError, PrerequisiteError, SchemaHistoryError, SinkError
from minercdc.events import Notification
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.envelope import EnvelopeEncoder, KeyColumns, Published
from minercdc.kafka.file_schema_history import FileSchemaHistory
from minercdc.kafka.heartbeat import KafkaHeartbeat
from minercdc.kafka.notification import NotificationEncoder, document
from minercdc.kafka.ownership import Ownership
from minercdc.kafka.schema_history import KafkaSchemaHistory
from minercdc.kafka.sink import KafkaSink
from minercdc.kafka.source_block import SourceBlock
from minercdc.kafka.topic_fold import TopicFold
from minercdc.kafka.topics import TopicNames
from minercdc.life import Bounds, Life, Parts
from minercdc.metrics import Counters
from minercdc.offset import Offset
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary import read_tables
from minercdc.oracle.prerequisites import Finding, check, unlogged
from minercdc.oracle.scn import database_time_zone
from minercdc.schema.filter import TableFilter
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.signalling import mined_tables, resumptions_of, signal_findings, signal_stage, signal_table
from minercdc.signals.channels import SignalChannel
from minercdc.signals.watch import Watch
from minercdc.snapshot.initial import InitialSnapshot
from minercdc.snapshot.locks import lock_of
from minercdc.snapshot.mode import Decision, Start, Steps, decision_of
from minercdc.snapshot.notices import SkippedSnapshot
from minercdc.snapshot.reselect import RowReselect
from minercdc.snapshot.start import Fixed, fix_given, fix_now
from minercdc.snapshot.structures import StructureSnapshot
from minercdc.suspension import Suspensions
from minercdc.values.codec import ValueHandling

log = logging.getLogger(__name__)


def table_filter(config: ConnectorConfig) -> TableFilter:
    """The include and exclude lists, ready to be asked."""
    lists, flushed = config.filters, config.log_mining.minercdc_log_mining_flush_table
    return TableFilter(
        *(lists.schema_include_list, lists.schema_exclude_list, lists.table_include_list, lists.table_exclude_list),
        never=frozenset([(config.database.database_user.upper(), flushed.upper())] if flushed else ()),
    )


def value_handling(config: ValueConfig) -> ValueHandling:
    return ValueHandling(
        decimal=config.decimal_handling_mode,
        time_precision=config.time_precision_mode,
        interval=config.interval_handling_mode,
        binary=config.binary_handling_mode,
        unavailable=config.unavailable_value_placeholder,
    )


def published_columns(config: TableFilterConfig) -> Published:
    """column.include.list and column.exclude.list as a question about one column."""
    include, exclude = config.column_include_list, config.column_exclude_list

    def published(table: TableId, column: Column) -> bool:
        name = f"{table.schema}.{table.table}.{column.name}"
        if include:
            return _matches(include, name)
        return not _matches(exclude, name)

    return published


def key_columns(config: TableFilterConfig) -> KeyColumns:
    """message.key.columns, else the table's own key.

    The returned function raises ConfigError for a column that the table does not have.
    """
    rules = [part.split(":") for part in config.message_key_columns.split(";") if part]

    def columns(table: TableSchema) -> tuple[int, ...]:
        for pattern, names in rules:
            if _matches((pattern.strip(),), str(table.id)):
                positions = table.positions()
                wanted = [_named(positions, name.strip()) for name in names.split(",")]
                if missing := [name for name in wanted if name not in positions]:
                    raise ConfigError([f"message.key.columns: table {table.id} has no column {missing[0]}"])
                return tuple(positions[name] for name in wanted)
        return table.key

    return columns


def _named(columns: Iterable[str], name: str) -> str:
    """The column of this name, in whichever case; `name` itself when there is none, or several."""
    folded = [column for column in columns if column.upper() == name.upper()]
    return folded[0] if len(folded) == 1 else name


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(configured_pattern(pattern).matches(name) for pattern in patterns)


def check_prerequisites(config: ConnectorConfig) -> list[Finding]:
    """Everything the database lacks for this configuration."""
    connection = connect(config.database, "pdb")
    try:
        found = check(connection, config.database, table_filter(config))
        return found if any(finding.blocking for finding in found) else [*found, *signal_findings(connection, config)]
    finally:
        connection.close()


def check_broker(config: ConnectorConfig) -> list[Finding]:
    """Whether Kafka answers."""
    try:
        KafkaClient(config.kafka, config.topics, config.kafka_client).ping()
    except SinkError as error:
        fix = error.hint or "Check minercdc.kafka.bootstrap.servers and the settings under minercdc.kafka.client."
        return [Finding(error.message, fix, blocking=True)]
    return []


class _Run:
    """What the lives of one process share: the database is checked once, and `snapshot.mode=always` means once.

    :param watch: what the process remembers of its signals.
    :param channels: channels of signals that the process keeps.
    :param ownership: of the connector's name.
    :ivar first_offset: the offset found at the start; another one later is our own.
    :ivar schema_lost: the schema history could not be used.
    :ivar steps: what the last life had to do before streaming.
    """

    def __init__(self, decide: Decision, watch: Watch, channels: Sequence[SignalChannel], ownership: Ownership) -> None:
        self.ownership = ownership
        self.watch = watch
        self.channels = channels
        self.decide = decide
        self.checked = False
        self.schema_lost = False
        self.first_offset: Offset | None = None
        self.steps = Steps(data=False, schema=False)


class _Life:
    """Opens what one life of the stream needs, all sharing one picture of the tables."""

    def __init__(self, config: ConnectorConfig, this_run: _Run, counters: Counters) -> None:
        self._config = config
        self._counters = counters
        self._run = this_run
        self._tables = Tables()
        self._filter = table_filter(config)
        self._database = database_name(config.database)
        self._signal_table = signal_table(config)
        self._client = KafkaClient(config.kafka, config.topics, config.kafka_client)
        self._topics = TopicNames(
            config.identity, config.topics, config.kafka, config.notifications, config.heartbeat, config.history
        )
        self._history = self._schema_history()
        self._suspensions = Suspensions()

    def _schema_history(self) -> SchemaHistory:
        server, file = self._config.identity.topic_prefix, self._config.history.file
        if file is not None:
            return FileSchemaHistory(file, server=server, clock_ms=_now_ms)
        return KafkaSchemaHistory(self._client, topic=self._topics.schema_history, server=server, clock_ms=_now_ms)

    def open(self) -> Life:
        config = self._config
        return Life(
            adapter=config.database.database_connection_adapter,
            sink=KafkaSink(self._client, self._topics, config.identity.name, self._run.ownership),
            encoder=self._encoder(),
            history=self._history,
            snapshot=self._snapshot,
            capture=self._capture,
            bounds=Bounds(
                records=config.kafka.minercdc_kafka_transaction_max_records,
                bytes=config.kafka.minercdc_kafka_transaction_max_bytes,
                seconds=config.kafka.minercdc_kafka_transaction_interval_ms / 1000,
            ),
            skip_undecodable=self._skip_undecodable,
            streams=lambda: self._run.steps.stream,
            heartbeat=self._heartbeat(),
            signals=self._signals,
            notified=self._notified,
            suspensions=self._suspensions,
            suspends=self._suspends,
        )

    def _encoder(self) -> EnvelopeEncoder:
        config = self._config
        return EnvelopeEncoder(
            topics=self._topics,
            source=SourceBlock(config.identity.topic_prefix),
            values=config.values,
            filters=config.filters,
            handling=value_handling(config.values),
            published=published_columns(config.filters),
            key_columns=key_columns(config.filters),
            include_schema_changes=config.topics.include_schema_changes,
            clock_ns=time.time_ns,
            dead_letters=config.run.minercdc_dead_letter_topic,
            notifications=self._notification_encoder(),
            captured=lambda table: self._filter.includes(table.schema, table.table),
        )

    def _heartbeat(self) -> KafkaHeartbeat | None:
        topic, config = self._topics.heartbeats, self._config
        if topic is None:
            return None
        return KafkaHeartbeat(
            topic,
            config.identity.topic_prefix,
            config.heartbeat.heartbeat_interval_ms / 1000,
            key_schemas=config.values.key_converter_schemas_enable,
            value_schemas=config.values.value_converter_schemas_enable,
            clock_ms=_now_ms,
        )

    def _notification_encoder(self) -> NotificationEncoder | None:
        topic, config = self._topics.notifications, self._config
        if topic is None:
            return None
        return NotificationEncoder(
            topic,
            config.identity.topic_prefix,
            key_schemas=config.values.key_converter_schemas_enable,
            value_schemas=config.values.value_converter_schemas_enable,
        )

    def _notified(self, notification: Notification) -> None:
        told = document(notification, self._config.identity.topic_prefix)
        self._run.watch.notify(told)
        if "log" in self._config.notifications.notification_enabled_channels:
            log.info("notification: %s", json.dumps(told))

    def _suspends(self, table: TableId) -> bool:
        """Whether a table with a row that cannot be decoded is suspended. The signal table is mined, but nobody reads its rows."""
        if self._config.run.event_processing_failure_handling_mode != "suspend":
            return False
        if self._filter.includes(table.schema, table.table):
            return True
        log.warning("a row of %s, which is not captured, cannot be decoded: if it was a signal, send it again", table)
        return False

    def _unlogged(self, table: TableId) -> str:
        """For a warning only: that it cannot be found out is no failure."""
        known = self._tables.find(table)
        if known is None or not known.key:
            return ""
        try:
            with closing(self._connect_pdb()) as connection:
                return unlogged(connection, table)
        except MinerCdcError as error:
            log.info("supplemental logging of %s could not be looked at: %s", table, error.message)
            return ""

    def _skip_undecodable(self, error: DecodeError) -> bool:
        mode = self._config.run.event_processing_failure_handling_mode
        if mode == "warn":
            log.warning("a row is left out: %s", error)
        return mode != "fail"

    def _connect_root(self) -> oracledb.Connection:
        return connect(self._config.database, "root")

    def _read_table(self, table: TableId) -> TableSchema | None:
        connection = connect(self._config.database, "pdb")
        try:
            found = read_tables(connection, [table])
        finally:
            connection.close()
        return found[0] if found else None

    def _time_zone(self) -> str:
        connection = connect(self._config.database, "pdb")
        try:
            return database_time_zone(connection)
        finally:
            connection.close()

    def _signals(self, capture: Capture) -> SignalActions:
        assert isinstance(capture, LogMinerCapture)
        run = self._run
        memory = TopicFold(
            self._client, self._topics, self._config.log_mining.minercdc_state_dir, self._config.identity.name
        )
        resumptions = resumptions_of(self._config, self._suspensions, self._tables, self._filter, memory)
        return signal_stage(self._config, capture, self._tables, self._filter, run.channels, run.watch.observe, resumptions)

    def _log_miner(self) -> LogMinerCapture:
        config = self._config
        flushed = config.log_mining.minercdc_log_mining_flush_table
        return LogMinerCapture(
            self._connect_root,
            self._read_table,
            self._tables,
            mined_tables(self._filter, self._signal_table),
            config.log_mining,
            database=self._database,
            container=self._database if config.database.database_pdb_name else None,
            on_failure=config.run.event_processing_failure_handling_mode,
            committed=config.database.database_connection_adapter == "logminer_unbuffered",
            counters=self._counters,
            time_zone=self._time_zone,
            flush=RedoFlush(self._connect_pdb, flushed) if flushed else None,
            reselect=self._reselect(),
            unread=self._suspensions.unread,
            unlogged=self._unlogged,
        )

    def _reselect(self) -> RowReselect | None:
        config, mode = self._config, self._config.log_mining.minercdc_lob_reselect
        if mode == "none" or not config.log_mining.lob_enabled:
            return None
        published, key = published_columns(config.filters), key_columns(config.filters)
        return RowReselect(self._connect_pdb, published, key, key_changes_only=mode == "key_change", counters=self._counters)

    def _capture(self, offset: Offset | None) -> Capture:
        try:
            for change in self._history.recover(offset.history if offset is not None else 0):
                self._tables.apply(change)
        except SchemaHistoryError as error:
            if not self._run.decide(Start(offset_exists=True, snapshot_under_way=False)).again_on_schema_error:
                raise
            log.warning("%s; the structures are read anew", error.message)
            self._tables = Tables()
            self._history.forget()
            self._run.schema_lost = True
        else:
            self._run.schema_lost = False
        if len(self._tables):
            log.info("schema history recovered: %d tables", len(self._tables))
        return self._log_miner()

    def _snapshot(self, offset: Offset | None) -> Snapshot | None:
        this_run = self._run
        if not this_run.checked:
            refuse_unprepared(check_prerequisites(self._config))
            this_run.checked, this_run.first_offset = True, offset
        log_miner = self._log_miner()
        position = None if offset is None or offset.position is None else log_miner.load_position(offset.position)
        steps = this_run.steps = self._steps(offset, log_miner, position)
        config = self._config.snapshot
        if steps.data:
            return InitialSnapshot(
                self._connect_pdb,
                self._tables,
                config,
                database=self._database,
                fix=self._fix_now,
                start_position=log_miner.start_position,
                load_position=log_miner.load_position,
                selects=self._config.snapshot_selects,
                lobs=self._config.log_mining.lob_enabled,
            )
        if not steps.schema and position is not None:
            return SkippedSnapshot() if offset == this_run.first_offset else None
        given = config.minercdc_start_scn is not None or config.minercdc_start_timestamp is not None
        fix = self._fix_given if given and position is None else self._fix_now
        return StructureSnapshot(
            self._connect_pdb,
            self._tables,
            fix,
            lambda fixed: position or log_miner.start_position(fixed.scn, fixed.mine_from),
        )

    def _steps(self, offset: Offset | None, log_miner: LogMinerCapture, position: LogMinerPosition | None) -> Steps:
        """What is to be done before streaming; nothing when this is a restart within the process that has got somewhere."""
        this_run = self._run
        start = Start(offset is not None, offset is not None and position is None)
        steps = this_run.decide(start)
        if this_run.schema_lost:
            steps = replace(steps, schema=True)
        if position is None:
            return steps
        if offset != this_run.first_offset:
            return replace(steps, data=False, schema=this_run.schema_lost)
        if steps.again_on_data_error and (gap := log_miner.missing_redo(position)):
            log.warning("%s; a new snapshot is taken", gap.message)
            return replace(steps, data=True)
        return steps

    def _connect_pdb(self) -> oracledb.Connection:
        return connect(self._config.database, "pdb")

    def _fix_now(self, connection: oracledb.Connection) -> Fixed:
        return fix_now(connection, self._filter, self._database, lock_of(self._config.snapshot))

    def _fix_given(self, connection: oracledb.Connection) -> Fixed:
        return fix_given(connection, self._filter, self._database, self._config.snapshot)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def refuse_unprepared(findings: list[Finding]) -> None:
    """:raises PrerequisiteError: something is missing without which changes would be lost; the rest is logged."""
    for finding in findings:
        if not finding.blocking:
            log.warning("%s  fix: %s", finding.problem, finding.fix)
    if blocking := [finding for finding in findings if finding.blocking]:
        lines = [f"{finding.problem}\n      {finding.fix}" for finding in blocking]
        raise PrerequisiteError("\n  - ".join(["the database is not ready for capture", *lines]))


def build(
    config: ConnectorConfig,
    counters: Counters | None = None,
    watch: Watch | None = None,
    channels: Sequence[SignalChannel] = (),
) -> Parts:
    """The parts of a connector; nothing is connected before the engine runs.

    :param watch: told of notifications and of what signals have under way.
    :param channels: channels of signals that this process keeps.
    """
    for name, reason in sorted(config.ignored.items()):
        log.info("%s has no effect here: %s", name, reason)
    counted = counters or Counters()
    this_run = _Run(decision_of(config.snapshot), watch or Watch(counted), channels, Ownership(config.identity.name))
    live: Callable[[], Life] = lambda: _Life(config, this_run, counted).open()  # noqa: E731
    return Parts(
        live=live,
        max_restarts=config.run.errors_max_retries,
        longest_wait=config.run.retriable_restart_connector_wait_ms / 1000,
        monotonic=time.monotonic,
        counters=counted,
    )
