"""Checks of each start, which `minercdc check` makes too: database, signal table, Kafka."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

import oracledb

from minercdc.capture.logminer.logs.downstream import grant_findings
from minercdc.capture.logminer.logs.mining_database import place_findings
from minercdc.capture.logminer.logs.physical_standby import table_findings
from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError, SinkError, TransientSourceError
from minercdc.messages.configured import key_columns
from minercdc.messages.topics import TopicNames
from minercdc.oracle.connect import connect, database_name, database_names, of_database
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.prerequisites import check
from minercdc.oracle.scn import pdb_is_open
from minercdc.pipeline.unused_patterns import pattern_findings
from minercdc.schema.table import TableSchema
from minercdc.signals.stage_builder import signal_findings, signal_table
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.internal_topics import internal_topic_findings

log = logging.getLogger(__name__)

_BROKER_SECONDS: Final = 10.0  # a user waits for the answer; a broker that is up needs milliseconds
_OF_ALL: Final = ("include-list", "exclude-list", "patterns")  # rules that hold for several databases when they hold for one


def check_prerequisites(config: ConnectorConfig, *, first: bool = False) -> list[Finding]:
    """What the database lacks for this configuration, and the other database that is mined, with advice, as on patterns that
    match nothing; when none of that blocks capture, what the signal table lacks, too. Of several pluggable databases it is what
    each of them lacks. Opens sessions of its own, and closes them.

    :param first: before a first start, when a column of `message.key.columns` that its table lacks is an error; later it may
        have been dropped, and is not looked for.
    :raises ConfigError: `database.pdb.name` is no name, the token to log on with cannot be read, or a pattern took too long; `first`, and a
        record key has a column that its table does not have.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses a check itself.
    """
    if config.database.has_several_pdbs:
        return _together({name: _checked_in(config, name, first=first) for name in database_names(config.database)})
    factory = adapter_factory(config.database.database_connection_adapter)
    with closing(connect(config.database, "pdb")) as connection:
        if config.database.database_pdb_name and not pdb_is_open(connection):
            name = database_name(config.database)
            finding = _not_open(name)
            return [replace(finding, problem=f"{name}: {finding.problem}")]
        found = check(
            connection, config.database, table_filter(config), factory.prerequisites, partial(_of_tables, config, first)
        )
        if any(map(_blocks, found)):
            return found
        if config.secondary.is_mined:
            found = [*_in_secondary(config, connection), *found]
            if any(map(_blocks, found)):
                return found
        return [*found, *signal_findings(connection, config, redo=factory.reads_redo)]


def _of_tables(config: ConnectorConfig, first: bool, tables: Sequence[TableSchema]) -> Iterator[Finding]:
    """Findings about the captured tables: patterns that match nothing of them. With `first`, a wrong record key raises."""
    if first:
        key = key_columns(config.filters)
        for table in tables:
            key(table)
    yield from pattern_findings(config, tables)


def _in_secondary(config: ConnectorConfig, connection: oracledb.Connection) -> Iterator[Finding]:
    """What keeps redo from being mined in the physical standby or downstream database; the missing grants alone, when there are
    any. Opens a session there, and closes it.

    :param connection: to where the tables are.
    """
    secondary = config.secondary
    with closing(connect(secondary.database(config.database), "root")) as mined:
        lacking = list(grant_findings(mined, config.database.session_user)) if secondary.is_downstream else []
        yield from lacking
        if lacking:
            return  # the rest is read by what is not granted
        yield from place_findings(connection, mined, is_downstream=secondary.is_downstream)
    if not secondary.is_downstream:
        yield from table_findings(connection, table_filter(config))


def _checked_in(config: ConnectorConfig, name: str, *, first: bool) -> list[Finding]:
    """What one of several pluggable databases lacks: only that it is not open, when it is not. Its errors name it. The signal
    table is checked when it is there and nothing found before blocks."""
    one = of_database(config.database, name)
    needed = adapter_factory(config.database.database_connection_adapter).prerequisites
    try:
        with closing(connect(one, "pdb")) as connection:
            if not pdb_is_open(connection):
                return [_not_open(name, or_else=" or leave it out of database.pdb.name.")]
            found = check(connection, one, table_filter(config, name), needed, partial(_of_tables, config, first))
            signals = signal_table(config)
            if signals is None or signals.database != name or any(map(_blocks, found)):
                return found
            return [*found, *signal_findings(connection, config)]
    except MinerCdcError as error:
        if name not in error.message:
            error.message = f"{name}: {error.message}"
        raise


def _not_open(name: str, *, or_else: str = "") -> Finding:
    """The finding that a pluggable database is not open; its problem does not name it. `or_else` is the end of its fix."""
    fix = f"ALTER PLUGGABLE DATABASE {name} OPEN;{or_else}"
    return Finding("pdb-open", Severity.MISSING, "it is not open, so its tables cannot be read", fix)


def in_database(name: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of one of several pluggable databases, problem and fix beginning with its name."""
    return (replace(one, problem=f"{name}: {one.problem}", fix=f"In {name}: {one.fix}") for one in findings)


def _together(found: Mapping[str, list[Finding]]) -> list[Finding]:
    """The findings of several pluggable databases: what all of them have in common once, and a pattern that matches no table
    only when it is so in all. The others name the database. Blocking ones come first, then those that suspend a table.

    :param found: by name of the database; at least one.
    """
    common = [finding for finding in next(iter(found.values())) if all(finding in some for some in found.values())]
    own = [
        finding
        for name, some in found.items()
        for finding in in_database(name, (_of_one(one) for one in some if one not in common and one.rule not in _OF_ALL))
    ]
    return sorted([*common, *own], key=lambda finding: finding.severity)


def _of_one(finding: Finding) -> Finding:
    """A finding of one database among several: another one has tables."""
    return replace(finding, severity=Severity.ADVICE) if finding.rule == "captured-tables" else finding


def check_broker(config: ConnectorConfig) -> list[Finding]:
    """When Kafka is the sink: one blocking finding, of the rule `broker`, when it does not answer within 10 s or refuses, else
    what is wrong with the connector's own topics. [] for another sink. Raises ConfigError as `TopicNames`."""
    if not config.sink.is_kafka:
        return []
    try:
        client = KafkaClient(config.kafka, config.topics, config.kafka_client)
        client.ping(_BROKER_SECONDS)
        return internal_topic_findings(client, TopicNames(config))
    except SinkError as error:
        fix = error.hint or "Check minercdc.kafka.bootstrap.servers and the settings under minercdc.kafka.client."
        return [Finding("broker", Severity.MISSING, error.message, fix)]


def unanswered(broker: Iterable[Finding]) -> Finding | None:
    """The finding that Kafka does not answer, or refuses, among those of `check_broker`; None when it answers. Each further
    request would wait as long for the same."""
    return next((finding for finding in broker if finding.rule == "broker"), None)


def check_internal_topics(config: ConnectorConfig, client: KafkaClient) -> list[Finding]:
    """What is wrong with the connector's own topics, when Kafka is the sink; else []. Raises SinkError when Kafka does not answer
    (DeliveryError) or refuses, and ConfigError as `TopicNames`."""
    return internal_topic_findings(client, TopicNames(config)) if config.sink.is_kafka else []


def refuse_unprepared(findings: list[Finding]) -> None:
    """Log the findings that do not block capture, as warnings; and those of patterns and of no table, which the snapshot refuses
    that they are for, and `refuse_without_table`.

    :raises TransientSourceError: pluggable databases are not open, and nothing else blocks: they may open yet.
    :raises PrerequisiteError: with all findings that block.
    """
    for finding in findings:
        if not _blocks(finding):
            log.warning("%s  fix: %s", finding.problem, finding.fix)
    if blocking := [finding for finding in findings if _blocks(finding)]:
        lines = [f"{finding.problem}\n      {finding.fix}" for finding in blocking]
        closed = all(finding.rule == "pdb-open" for finding in blocking)
        error = TransientSourceError if closed else PrerequisiteError
        raise error("\n  - ".join(["not ready for capture", *lines]))


def refuse_without_table(findings: Iterable[Finding]) -> None:
    """Raise ConfigError when no table is captured, with the patterns that match nothing: at a first start that is a slip, after which
    nothing would ever be streamed.

    :param findings: of `check_prerequisites`.
    """
    about = [finding for finding in findings if finding.rule in ("captured-tables", "include-list")]
    if any(finding.rule == "captured-tables" for finding in about):
        raise ConfigError(
            [finding.problem for finding in about],
            hint="Patterns of table.include.list are SCHEMA.TABLE, those of schema.include.list SCHEMA: regular expressions of the whole name."
            " Create the tables before the first start, or grant SELECT, FLASHBACK on them.",
        )


def _blocks(finding: Finding) -> bool:
    return finding.blocking and finding.rule not in ("patterns", "captured-tables")
