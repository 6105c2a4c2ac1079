"""`minercdc plan CONFIG`: what a start would do. Nothing is written to Oracle or Kafka.

start      what is stored, and what `snapshot.mode` makes of it
tables     topic, key, rows by the optimizer's statistics, types of Oracle and of the record
time       the snapshot at a rate that was measured elsewhere; redo a second by the archived logs of the last day
grants     the SQL for this configuration, with grants on single tables; without a session, those that one needs
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import oracledb

from minercdc.capture.registry import adapter_factory
from minercdc.checks import check_broker, check_prerequisites, unanswered
from minercdc.config.load import ConnectorConfig
from minercdc.config.value_handling import value_handling
from minercdc.errors import MinerCdcError, PrerequisiteError, SharedTopicError, SinkError, ValueDecodeError
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.column_changes import ColumnChanges
from minercdc.kafka.custom_converters import column_codecs
from minercdc.kafka.topics import TopicNames
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect, database_names, of_database
from minercdc.oracle.dictionary import read_row_statistics, read_table_ids, read_tables
from minercdc.oracle.prerequisites import Finding
from minercdc.oracle.scn import pdb_is_open, transactions_view
from minercdc.plan_grants import grants, grants_of_session
from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.selection import key_columns, published_columns, table_filter, table_names, topic_names
from minercdc.snapshot.mode import Start, decision_of
from minercdc.status.sentence import seconds_text
from minercdc.stored_offset import connector_topics, offset_findings, position_findings, read_stored, unread_findings
from minercdc.values.codec import Codec, codec_for, is_supported

ROWS_PER_SECOND: Final = 10_000
"""Of the initial snapshot, about what docs/performance.md has for one core."""

_REDO = (
    "SELECT SUM(BLOCKS * BLOCK_SIZE), (MAX(NEXT_TIME) - MIN(FIRST_TIME)) * 86400 FROM V$ARCHIVED_LOG"
    " WHERE FIRST_TIME > SYSDATE - 1 AND STANDBY_DEST = 'NO'"
)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What becomes of a table.

    :param refused: why it cannot have the topic; None when it can.
    :param rows: by the optimizer's statistics, None without.
    :param exists: the topic is there already; None when Kafka does not answer, or is not the sink.
    :param columns: of each published column: name, Oracle's type, and the record's with what hides or cuts its values.
    :param key: names of the record key's columns; empty for none.
    """

    schema: TableSchema
    topic: str
    exists: bool | None
    rows: int | None
    columns: Sequence[tuple[str, str, str]]
    key: Sequence[str]
    refused: SharedTopicError | None = None


def plan(config: ConnectorConfig) -> Iterator[str]:
    """Lines for people, each as soon as it is known. Sessions with the database are closed at the end. What is stored, and
    Kafka, need not be readable: a line says so.

    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses.
    :raises ConfigError: the configuration cannot be used with these tables.
    """
    yield f"connector {config.identity.name}, adapter {config.database.database_connection_adapter}"
    broker = check_broker(config)
    silent = unanswered(broker)
    reads, names = yield from _start(config, silent)
    client = None
    if config.sink.is_kafka and not silent:
        client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    try:
        connected = _connected(config, database_names(config.database)[0])
    except PrerequisiteError:
        yield from ("", "grants, by a DBA, without which there is no session to plan from:")
        yield from (f"  {one}" for one in grants_of_session(config))
        raise
    with closing(connected) as connection:
        tables = list(_all_tables(config, connection, names, client))
        yield from _shown(tables, table_names(config))
        yield from _times(config, connection, tables, reads)
        several = _reads_redo(config) and _has_several_instances(connection)
    stored = [] if silent else [*offset_findings(config), *position_findings(config)]
    stored += () if silent or stored else unread_findings(config)
    yield from _findings(config, [*broker, *stored])
    needed = grants(config, [one.schema.id for one in tables], several_instances=several)
    yield from ("", "grants, by a DBA:", *(f"  {one}" for one in needed))


def _start(config: ConnectorConfig, silent: Finding | None) -> Generator[str, None, tuple[bool, TopicNames]]:
    """Yields lines; returns whether rows are read, and the names of topics. What is stored and cannot be read counts as nothing
    stored. Raises ConfigError as `topic_names`, and when a custom `snapshot.mode` cannot be loaded.

    :param silent: that Kafka does not answer, where it is the sink: nothing is requested of it.
    """
    stored, reason = None, silent.problem if silent else ""
    try:
        stored = None if silent else read_stored(config)
    except MinerCdcError as error:
        reason = error.message
    if reason:
        yield f"start: what is stored cannot be read: {reason}"
    under_way = stored is not None and stored.offset.position is None
    steps = decision_of(config.snapshot)(Start(stored is not None, under_way))
    first = "is taken for the first one" if reason else "is the first one: there is no offset"
    what = "goes on from its offset" if stored else first
    does = [
        name
        for wanted, name in ((steps.data, "reads rows"), (steps.schema, "reads structures"), (steps.stream, "streams"))
        if wanted
    ]
    yield f"start: it {what}; snapshot.mode={config.snapshot.snapshot_mode}: it {', '.join(does) or 'streams'}"
    return steps.data, connector_topics(config, stored)


def _connected(config: ConnectorConfig, database: str) -> oracledb.Connection:
    return connect(of_database(config.database, database), "pdb")


def _all_tables(
    config: ConnectorConfig, connection: oracledb.Connection, names: TopicNames, client: KafkaClient | None = None
) -> Iterator[TablePlan]:
    """The plans of the tables of each captured database that is open.

    :param connection: to the first; those to the others are opened and closed here.
    :param client: says which topics exist; None: that stays open.
    :raises ConfigError, SourceError, PrerequisiteError: as `plan`.
    """
    first, *others = database_names(config.database)
    yield from _tables(config, connection, first, names, client)
    for name in others:
        with closing(_connected(config, name)) as inside:
            yield from _tables(config, inside, name, names, client)


def _tables(
    config: ConnectorConfig,
    connection: oracledb.Connection,
    database: str,
    names: TopicNames,
    client: KafkaClient | None,
) -> Iterator[TablePlan]:
    if of_database(config.database, database).database_pdb_name and not pdb_is_open(connection):
        return  # `check_prerequisites` finds it
    ids = read_table_ids(connection, table_filter(config, database), database)
    rows = read_row_statistics(connection, ids)
    keys, published = key_columns(config.filters), published_columns(config.filters)
    handling = value_handling(config.values, legacy_decimal=config.messages.legacy_decimal_handling_strategy)
    refused = {one: error for one in ids if (error := _taken(names, one)) is not None}
    present = _existing(client, [names.name_of(one) for one in ids]) if client else None
    codec_of, changes = column_codecs(config.custom_converters, handling), ColumnChanges(config.column_rules)
    for schema in read_tables(connection, ids):
        topic, problem = names.name_of(schema.id), refused.get(schema.id)
        columns = []
        for one in schema.columns:
            if not published(schema.id, one):
                continue
            codec = codec_of(schema.id, one, codec_for(one, handling)) if is_supported(one) else None
            kind = _record_type(codec) + hidden(schema.id, one, changes) if codec else "left out: not supported"
            columns.append((one.name, _oracle_type(one), kind))
        key = [schema.columns[position].name for position in keys(schema)]
        exists = None if present is None else topic in present
        yield TablePlan(schema, topic, exists, rows.get(schema.id), columns, key, problem)


def _taken(names: TopicNames, table: TableId) -> SharedTopicError | None:
    """Claim the table's topic in `names`. Returns why it cannot have one, None when it has it. Raises ConfigError as
    `TopicNames.of_table`."""
    try:
        names.of_table(table)
    except SharedTopicError as error:
        return error
    return None


def hidden(table: TableId, column: Column, changes: ColumnChanges) -> str:
    """What becomes of a column's values by `column.mask.*` or `column.truncate.*`, for the end of a line; '' when they stay. Raises
    ConfigError when a pattern takes too long."""
    try:
        rule = changes.rule_of(table, column)
    except ValueDecodeError as error:
        return f"; refused: {error.message}"
    if rule is None:
        return ""
    by = {"mask": f"masked, {rule.length} asterisks", "truncate": f"cut after {rule.length} characters"}
    return f"; {by.get(rule.kind) or f'hashed by {rule.algorithm}'} ({rule.given_as})"


def check_tables(config: ConnectorConfig) -> None:
    """Read the structures of all captured tables, in sessions of its own, and raise what a start would with them: ConfigError
    for a record key or topic, SharedTopicError for a topic of two tables unless failures suspend a table, SourceError or
    PrerequisiteError when the database cannot be read."""
    with closing(_connected(config, database_names(config.database)[0])) as connection:
        for table in _all_tables(config, connection, topic_names(config)):
            if table.refused is not None and config.run.event_processing_failure_handling_mode != "suspend":
                raise table.refused


def _reads_redo(config: ConnectorConfig) -> bool:
    return adapter_factory(config.database.database_connection_adapter).reads_redo


def _has_several_instances(connection: oracledb.Connection) -> bool:
    """False, too, where V$THREAD is not granted yet: once it is, a later plan has the grants for several. Raises SourceError."""
    try:
        return transactions_view(connection).startswith("G")
    except PrerequisiteError:
        return False


def _existing(client: KafkaClient, topics: Sequence[str]) -> set[str] | None:
    try:
        return client.existing(topics)
    except SinkError:  # it answered a moment ago
        return None


def _oracle_type(column: Column) -> str:
    arguments = ",".join(str(one) for one in (column.length, column.scale) if one is not None)
    text = f"{column.type_name}({arguments})" if arguments else column.type_name
    return text if column.nullable else f"{text} NOT NULL"


def _record_type(codec: Codec) -> str:
    return f"{codec.field.type} {codec.field.name}" if codec.field.name else codec.field.type


def _shown(tables: Sequence[TablePlan], names: TableNames) -> Iterator[str]:
    yield f"tables: {len(tables)}"
    for table in tables:
        there = {True: "", False: ", to be created", None: ""}[table.exists]
        rows = "rows not known: no statistics" if table.rows is None else f"about {table.rows:,} rows"
        name = names.of(table.schema.id)
        if table.refused is not None:
            yield f"  {name}: not published: {table.refused.message}"
            yield f"    {table.refused.hint}"
            continue
        yield f"  {name} -> {table.topic}{there}; key {', '.join(table.key) or 'none'}; {rows}"
        for name, of_oracle, of_record in table.columns:
            yield f"    {name}  {of_oracle}  ->  {of_record}"


def _times(
    config: ConnectorConfig, connection: oracledb.Connection, tables: Sequence[TablePlan], reads: bool
) -> Iterator[str]:
    if reads:
        known = [table.rows for table in tables if table.rows is not None]
        missing = f", and {len(tables) - len(known)} tables of unknown size" if len(known) < len(tables) else ""
        yield (
            f"snapshot: {sum(known):,} rows{missing}; about {seconds_text(sum(known) / ROWS_PER_SECOND)} at {ROWS_PER_SECOND:,} rows/s of one core"
            f" (snapshot.max.threads={config.snapshot.snapshot_max_threads})"
        )
    if not _reads_redo(config):
        return
    try:
        with oracle_errors("reading V$ARCHIVED_LOG"), connection.cursor() as cursor:
            cursor.execute(_REDO)
            size, seconds = cursor.fetchone() or (None, None)
    except MinerCdcError as error:
        yield f"redo: not known: {error.message}"
        return
    if size and seconds:
        yield f"redo: {float(size) / float(seconds) / 1e6:.2f} MB/s on average over the archived logs of the last day; all of it is read, captured or not"
    else:
        yield "redo: not known: no log was archived within a day"


def _findings(config: ConnectorConfig, of_kafka: Sequence[Finding]) -> Iterator[str]:
    findings = [*of_kafka, *check_prerequisites(config)]
    yield "ready" if not findings else "to be done first, or to be known (`minercdc check CONFIG`):"
    for one in findings:
        yield f"  {'missing' if one.blocking or one.suspends else 'advice'}: {one.problem}"
        yield f"    {one.fix}"
