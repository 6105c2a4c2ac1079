"""Builds what acts on signals from the configuration: the stage of a pipeline, its channels, and what reads tables again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import oracledb

from minercdc import native
from minercdc.capture.table_selection import captured_by, table_names
from minercdc.config.load import ConnectorConfig
from minercdc.config.target.own_topics import signal_topic_name
from minercdc.errors import RecordSchemaError
from minercdc.messages.table_changes import change_of
from minercdc.oracle.connect import connect, database_name, of_database
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.finding import Finding
from minercdc.oracle.prerequisites import CapturePrerequisites
from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.signals.actions import Actions, Source
from minercdc.signals.channels import SignalChannel, SignalFile
from minercdc.signals.kafka_channel import TopicChannel
from minercdc.signals.prerequisites import signal_table_findings
from minercdc.signals.stage import Polling, SignalStage, SignalTable, TableReads, Watching
from minercdc.sinks.kafka.signal_topic import SignalTopic
from minercdc.sinks.opening import not_read_back
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.database import TableSource
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.reader import ChunkReader, Pace
from minercdc.snapshot.incremental.repair import RepairSource
from minercdc.snapshot.incremental.resuming import Resumptions
from minercdc.snapshot.incremental.resuming_contracts import Suspended, TopicMemory
from minercdc.snapshot.incremental.watermarks import Marks
from minercdc.snapshot.query import own_select, query_of
from minercdc.stream.contracts import OpenTransactions
from minercdc.stream.events import ChangeEvent
from minercdc.stream.signal import Signal

_UNWATCHED = Watching()


def signal_table(config: ConnectorConfig) -> TableId | None:
    """`signal.data.collection` within the captured database, or that of several which it names; None when it is not given."""
    given = config.signals.signal_data_collection
    if not given:
        return None
    database, *rest = given.split(".")
    several = config.database.has_several_pdbs
    return TableId(database.upper() if several else database_name(config.database), *rest)


def signal_findings(connection: oracledb.Connection, config: ConnectorConfig, *, redo: bool = True) -> list[Finding]:
    """Findings about the signal table; [] when it lacks nothing, or none is configured. With marks, what is not committed on
    `connection` is rolled back.

    :param redo: the adapter reads redo.
    :raises SourceError, PrerequisiteError: Oracle refuses a check itself.
    """
    table, close_by = signal_table(config), config.incremental.marks
    if table is None:
        return []
    marks = {"insert": ["INSERT"], "delete": ["INSERT", "DELETE"], None: []}[close_by]
    return list(signal_table_findings(connection, table, config.database.session_user, marks, redo=redo))


def mined_tables(table_filter: TableFilter, table: TableId | None) -> TableFilter:
    """The filter of the tables that are read from redo: the captured ones, and the signal table if there is one."""
    return replace(table_filter, also=frozenset({(table.schema, table.table)}), _cache={}) if table else table_filter


def _connect(config: ConnectorConfig, database: str) -> oracledb.Connection:
    return connect(of_database(config.database, database), "pdb")


@dataclass(frozen=True, slots=True)
class CapturedTables:
    """The tables of a pipeline.

    :param tables: their shapes at the point the stream has come to, which the capture keeps in step with redo.
    :param filters: of the captured tables of each database, by its name; without the signal table.
    :param without_record: which of their changes have no record in the topic.
    """

    tables: Tables
    filters: Mapping[str, TableFilter]
    without_record: Callable[[ChangeEvent], bool] = lambda _: False


def resumptions_of(
    config: ConnectorConfig,
    suspended: Suspended,
    captured: CapturedTables,
    memory: TopicMemory | None,
    needed: CapturePrerequisites,
    *,
    redo: bool = True,
    refusal: Callable[[TableId], RecordSchemaError | None] = lambda _: None,
) -> Resumptions:
    """The object that reads suspended tables again. Nothing is connected yet.

    :param suspended: the tables that are suspended now.
    :param needed: the adapter's prerequisites.
    :param redo: the adapter reads redo.
    :param memory: keys in the tables' topics, by which rows that vanished are found; None where they cannot be read. Not used
        when `skipped.operations` keeps changes out of the topics, or rows that cannot be written are left out one by one.
    :param refusal: see `Resumptions`.
    """
    skipped = sorted({"c", "u", "d"} & set(config.values.skipped_operations))
    why = f"skipped.operations leaves {', '.join(skipped)} out, so rows that vanished cannot be found" if skipped else ""
    mode = config.run.event_processing_failure_handling_mode
    if mode in ("warn", "skip"):
        why = f"event.processing.failure.handling.mode={mode} leaves rows out, from which those that vanished cannot be told"
    if memory is None:
        why = f"{not_read_back(config)}, so rows that vanished cannot be found"
    source = RepairSource(
        partial(_connect, config),
        needed,
        whole_rows=bool(config.filters.message_key_columns),
        redo=redo,
    )
    return Resumptions(
        suspended,
        source,
        _known(config, captured, _table_source(config, captured)),
        None if why else memory,
        why=why,
        refusal=refusal,
        selects=_selects(config, captured),
    )


def _selects(config: ConnectorConfig, captured: CapturedTables) -> Callable[[TableId], bool]:
    """Whether a table that the stream has is read by a SELECT of the user's."""
    select = _own_select(config, captured.tables)
    return lambda table: bool(select(table, [known.id for known in captured.tables]))


OwnSelect: TypeAlias = Callable[[TableId, Iterable[TableId]], str | None]
"""The SELECT of the user's that a table, one of the captured ones, is read by in a snapshot; None where all of it is read."""


def _own_select(config: ConnectorConfig, tables: Tables) -> OwnSelect:
    """`own_select` by the configuration. What is returned raises as `read_tables` for a table that is none of `tables`."""
    query = query_of(config.snapshot)

    def shape(table: TableId) -> TableSchema | None:
        if (known := tables.find(table)) is not None:
            return known
        with closing(_connect(config, table.database)) as connection:
            return next(iter(read_tables(connection, [table])), None)

    return lambda table, captured: own_select(config.snapshot_selects, query, table, captured, lambda: shape(table))


def _exactly(table: TableId) -> str:
    """A regular expression, for `DATABASE.SCHEMA.TABLE`, that matches this table only."""
    return ".".join(re.escape(part) for part in (table.database, table.schema, table.table))


def _known(config: ConnectorConfig, captured: CapturedTables, source: TableSource) -> KnownTables:
    return KnownTables(captured.tables.find, source.learn, table_names(config), captured_by(captured.filters))


def _table_source(config: ConnectorConfig, captured: CapturedTables) -> TableSource:
    return TableSource(
        partial(_connect, config),
        captured.tables,
        captured.filters,
        fetch_size=config.snapshot.snapshot_fetch_size,
        lobs=config.capture.lob_enabled,
        now_us=_now_us,
        ddl=config.topics.include_schema_changes,
    )


def signal_stage(
    config: ConnectorConfig,
    open_transactions: OpenTransactions | None,
    captured: CapturedTables,
    resumptions: Resumptions | None = None,
    *,
    channels: Sequence[SignalChannel] = (),
    watching: Watching = _UNWATCHED,
    redo: bool = True,
    starts: bool = True,
) -> SignalStage:
    """The stage that acts on signals in one pipeline.

    :param open_transactions: None when the adapter does not know them.
    :param resumptions: None when no table is ever suspended.
    :param channels: channels of this process.
    :param redo: the adapter reads redo, and finds no tables by itself.
    :param starts: whether this is the start of a process, at which tables may have been added to the configuration. After a
        restart within it, tables that the stream does not know yet are newer than its position: their rows come by the stream.
    """
    names, table, tables = table_names(config), signal_table(config), captured.tables
    lobs, runs = config.capture.lob_enabled, native.rows is not None
    reads_added = redo and config.incremental.minercdc_snapshot_added_tables == "incremental"

    source, is_captured = _table_source(config, captured), captured_by(captured.filters)
    known = _known(config, captured, source)
    close_by = config.incremental.marks
    marks = Marks(table, close_by) if table and close_by else None
    at = partial(_connect, config)
    pace = Pace(config.incremental.incremental_snapshot_chunk_size, lobs)
    reader = ChunkReader(at, tables.find, pace, marks)
    return SignalStage(
        _table(config, table, is_captured),
        _actions(config, Source(source.list_tables, open_transactions, change_of), tables, is_captured, resumptions),
        TableReads(
            IncrementalSnapshots(reader, known, runs=runs, has_commit_scns=redo),
            BlockingSnapshots(source, known, _now_us, runs=runs),
            resumptions,
        ),
        Polling([*_channels(config), *channels], config.signals.signal_poll_interval_ms / 1000),
        now_us=_now_us,
        watching=watching,
        without_record=captured.without_record,
        at_start=(lambda: _added(source.list_tables(), tables, names, _own_select(config, tables)))
        if reads_added and starts
        else tuple,
    )


def _actions(
    config: ConnectorConfig,
    source: Source,
    tables: Tables,
    captured: Callable[[TableId], bool],
    resumptions: Resumptions | None,
) -> Actions:
    return Actions(
        source,
        tables,
        captured,
        table_names(config),
        resumptions.suspended if resumptions else lambda: (),
        several=config.database.pdbs if config.database.has_several_pdbs else (),
        answers_while_paused=config.signals.answers_while_paused,
    )


def _added(captured: Iterable[TableId], tables: Tables, names: TableNames, select: OwnSelect) -> Sequence[Signal]:
    """Signals to read the captured tables that the stream does not know yet: what the user's SELECT returns, where there is one, which
    an incremental snapshot cannot read."""
    captured, signals = sorted(captured), []
    for found in captured:
        if tables.find(found) is not None:
            continue
        data: dict[str, Any] = {"data-collections": [_exactly(found)]}
        if own := select(found, captured):
            data |= {"type": "blocking", "additional-conditions": [{"data-collection": _exactly(found), "filter": own}]}
        signals.append(Signal(f"added-{names.of(found)}", "execute-snapshot", data, "start"))
    return signals


def _now_us() -> int:
    return time.time_ns() // 1000


def _table(config: ConnectorConfig, table: TableId | None, captured: Callable[[TableId], bool]) -> SignalTable | None:
    if table is None:
        return None
    listens = "source" in config.signals.signal_enabled_channels
    return SignalTable(table, listens, captured(table))


@dataclass(frozen=True, slots=True)
class SignalTopicAddress:
    """Where channel `kafka` is: librdkafka's settings, topic, key of this connector's records, whether to create the topic."""

    settings: Mapping[str, str]
    name: str
    key: str
    create: bool


def signal_topic(config: ConnectorConfig) -> SignalTopicAddress:
    """Address of channel `kafka`. `signal.kafka.bootstrap.servers` replaces the brokers and client settings of the data;
    `signal.consumer.*` is added in any case.
    """
    signals, prefix, create = config.signals, config.identity.topic_prefix, config.topics.topic_creation_enable
    settings = {
        "bootstrap.servers": signals.signal_kafka_bootstrap_servers or config.kafka.bootstrap_servers,
        **(config.kafka_client if not signals.signal_kafka_bootstrap_servers else {}),
        **config.signal_client,
    }
    return SignalTopicAddress(settings, signal_topic_name(signals, prefix), prefix, create)


def _channels(config: ConnectorConfig) -> Iterator[SignalChannel]:
    signals = config.signals
    if "kafka" in signals.signal_enabled_channels:
        topic = signal_topic(config)
        yield TopicChannel(SignalTopic(topic.settings, topic.name, topic.key, create=topic.create))
    if "file" in signals.signal_enabled_channels:
        yield SignalFile(signals.signal_file)
