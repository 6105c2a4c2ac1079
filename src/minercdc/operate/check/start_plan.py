"""`minercdc plan CONFIG`: what a start would do. Nothing is written to Oracle or Kafka.

start      what is stored, and what `snapshot.mode` makes of it
tables     topic, key, rows by the optimizer's statistics, types of Oracle and of the record
time       the snapshot at a rate that was measured elsewhere; redo a second by the archived logs of the last day
grants     the SQL for this configuration, with grants on single tables; without a session, those that one needs
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Final

import oracledb

from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError, PrerequisiteError
from minercdc.messages.topics import TopicNames
from minercdc.observe.status.sentence import seconds_text
from minercdc.operate.check.page import document_of
from minercdc.operate.check.plan_grants import grants, grants_of_session
from minercdc.operate.offsets.read import (
    connector_topics,
    offset_findings,
    position_findings,
    read_stored,
    unread_findings,
)
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import database_names
from minercdc.oracle.finding import Finding
from minercdc.oracle.open_transactions import transactions_view
from minercdc.pipeline.start_checks import check_broker, check_prerequisites, unanswered
from minercdc.pipeline.table_plan import TablePlan, connected, plans_of_tables
from minercdc.schema.table import TableNames
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.snapshot.initial.mode import Start, decision_of

ROWS_PER_SECOND: Final = 10_000
"""Of the initial snapshot, about what docs/performance.md has for one core."""

_REDO = (
    "SELECT SUM(BLOCKS * BLOCK_SIZE), (MAX(NEXT_TIME) - MIN(FIRST_TIME)) * 86400 FROM V$ARCHIVED_LOG"
    " WHERE FIRST_TIME > SYSDATE - 1 AND STANDBY_DEST = 'NO'"
)


def plan(config: ConnectorConfig, noted: dict[str, object] | None = None) -> Iterator[str]:
    """Lines for people, each as soon as it is known. Sessions with the database are closed at the end. What is stored, and
    Kafka, need not be readable: a line says so.

    :param noted: gets the same for programs: connector, adapter, start, tables, snapshot, redo, findings, grants.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses.
    :raises ConfigError: the configuration cannot be used with these tables.
    """
    noted = {} if noted is None else noted
    noted |= {"connector": config.identity.name, "adapter": config.database.database_connection_adapter}
    yield f"connector {config.identity.name}, adapter {config.database.database_connection_adapter}"
    broker = check_broker(config)
    silent = unanswered(broker)
    reads, names = yield from _start(config, silent, noted)
    client = None
    if config.sink.is_kafka and not silent:
        client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    try:
        session = connected(config, database_names(config.database)[0])
    except PrerequisiteError:
        yield from ("", "grants by a DBA, needed first for a session to plan from:")
        yield from (f"  {one}" for one in grants_of_session(config))
        raise
    with closing(session) as connection:
        tables = list(plans_of_tables(config, connection, names, client))
        noted["tables"] = [_as_document(one, table_names(config)) for one in tables]
        yield from _shown(tables, table_names(config))
        yield from _times(config, connection, tables, reads, noted)
        several = _reads_redo(config) and _has_several_instances(connection)
    stored = [] if silent else [*offset_findings(config), *position_findings(config)]
    stored += () if silent or stored else unread_findings(config)
    findings = [*broker, *stored, *check_prerequisites(config)]
    noted["findings"] = [document_of(one) for one in findings]
    yield from _findings(findings)
    needed = list(grants(config, [one.schema.id for one in tables], several_instances=several))
    noted["grants"] = needed
    yield from ("", "grants, by a DBA:", *(f"  {one}" for one in needed))


def _start(
    config: ConnectorConfig, silent: Finding | None, noted: dict[str, object]
) -> Generator[str, None, tuple[bool, TopicNames]]:
    """Yields lines; returns whether rows are read, and the names of topics. What is stored and cannot be read counts as
    nothing stored.

    :param silent: that Kafka does not answer, where it is the sink: nothing is requested of it.
    :param noted: gets `start`.
    """
    stored, reason = None, silent.problem if silent else ""
    try:
        stored = None if silent else read_stored(config)
    except MinerCdcError as error:
        reason = error.message
    if reason:
        yield f"start: the stored state cannot be read: {reason}"
    under_way = stored is not None and stored.offset.position is None
    steps = decision_of(config.snapshot)(Start(stored is not None, under_way))
    first = "is taken for the first one" if reason else "is the first one: there is no offset"
    what = "goes on from its offset" if stored else first
    does = [
        name
        for wanted, name in ((steps.data, "reads rows"), (steps.schema, "reads structures"), (steps.stream, "streams"))
        if wanted
    ]
    noted["start"] = {
        "goes_on": bool(stored),
        "unreadable": reason or None,
        "snapshot.mode": config.snapshot.snapshot_mode,
        "reads_rows": steps.data,
        "reads_structures": steps.schema,
        "streams": steps.stream,
    }
    yield f"start: it {what}; snapshot.mode={config.snapshot.snapshot_mode}: it {', '.join(does) or 'streams'}"
    return steps.data, connector_topics(config, stored)


def _reads_redo(config: ConnectorConfig) -> bool:
    return adapter_factory(config.database.database_connection_adapter).reads_redo


def _has_several_instances(connection: oracledb.Connection) -> bool:
    """False, too, where V$THREAD is not granted yet: once it is, a later plan has the grants for several."""
    try:
        return transactions_view(connection).startswith("G")
    except PrerequisiteError:
        return False


def _shown(tables: Sequence[TablePlan], names: TableNames) -> Iterator[str]:
    yield f"tables: {len(tables)}"
    for table in tables:
        there = {True: "", False: ", to be created", None: ""}[table.exists]
        rows = "unknown number of rows: no statistics" if table.rows is None else f"about {table.rows:,} rows"
        name = names.of(table.schema.id)
        if table.refused is not None:
            yield f"  {name}: not published: {table.refused.message}"
            yield f"    {table.refused.hint}"
            continue
        yield f"  {name} -> {table.topic}{there}; key {', '.join(table.key) or 'none'}; {rows}"
        for name, of_oracle, of_record in table.columns:
            yield f"    {name}  {of_oracle}  ->  {of_record}"


def _as_document(table: TablePlan, names: TableNames) -> dict[str, object]:
    return {
        "table": names.of(table.schema.id),
        "topic": None if table.refused else table.topic,
        "topic_exists": table.exists,
        "key": list(table.key),
        "rows": table.rows,
        "columns": [{"name": name, "oracle": oracle, "record": record} for name, oracle, record in table.columns],
        "refused": table.refused.message if table.refused else None,
    }


def _times(
    config: ConnectorConfig,
    connection: oracledb.Connection,
    tables: Sequence[TablePlan],
    reads: bool,
    noted: dict[str, object],
) -> Iterator[str]:
    if reads:
        known = [table.rows for table in tables if table.rows is not None]
        seconds_all = round(sum(known) / ROWS_PER_SECOND, 1)
        noted["snapshot"] = {"rows": sum(known), "tables_of_unknown_size": len(tables) - len(known), "seconds": seconds_all}
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
        yield f"redo: unknown: {error.message}"
        return
    if size and seconds:
        noted["redo"] = {"bytes_per_second": round(float(size) / float(seconds))}
        yield f"redo: {float(size) / float(seconds) / 1e6:.2f} MB/s on average over the archived logs of the last day; the connector reads all of it, captured or not"
    else:
        yield "redo: unknown: no log was archived within a day"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield "ready" if not findings else "to do first, or to note (`minercdc check CONFIG`):"
    for one in findings:
        yield f"  {one.word}: {one.problem}"
        yield f"    {one.fix}"
