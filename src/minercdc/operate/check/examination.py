"""Examines all rules for a configuration, for `minercdc check`. Nothing is written to Oracle or Kafka; tables may be locked
in ROW SHARE mode for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Final

import oracledb

from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_filter, table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import PrerequisiteError, SinkError, SourceError, TransientSourceError
from minercdc.messages.configured import key_columns
from minercdc.messages.topics import TopicNames
from minercdc.operate.check import access, database, downstream, physical_standby, targets
from minercdc.operate.check.catalogue import BY_NAME
from minercdc.operate.check.source import Examine, ExaminedSource
from minercdc.operate.offsets.read import offset_findings, position_findings, unread_findings
from minercdc.oracle.connect import connect, database_names, in_root, of_database
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import Platform, platform_of, session_privileges
from minercdc.oracle.scn import pdb_is_open
from minercdc.pipeline.start_checks import check_broker, check_prerequisites, in_database, unanswered
from minercdc.schema.table import TableSchema
from minercdc.sinks.kafka.client import KafkaClient

_FIRST: Final = ("grant-logminer", "grant-views", "standby-role", "downstream-grants", "downstream-role")


def examine(config: ConnectorConfig, broker: Sequence[Finding] | None = None) -> Iterator[Finding]:
    """Every finding, as it is found: those of Kafka, registry and disk before those of the database, which may not answer;
    those of keys and tables' topics last. When capture cannot start for want of privileges, or of the right database, none after
    those of a start. A rule that cannot be examined is a finding of severity UNKNOWN. Connects to Oracle, Kafka and registry.

    :param broker: what `check_broker` found a moment ago; None: it is called.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses a check itself.
    :raises ConfigError: as `check_prerequisites` and `TopicNames`; or a record key has a column that its table does not have.
    """
    broker = check_broker(config) if broker is None else broker
    yield from broker
    if not unanswered(broker):
        yield from offset_findings(config)
    yield from targets.registry_findings(config)
    yield from targets.state_findings(config.capture.minercdc_state_dir)
    found = check_prerequisites(config)
    yield from found
    if any(finding.rule in _FIRST and finding.blocking for finding in found):
        return  # most others are examined by the same views, or in the other role
    if not unanswered(broker):
        gaps = list(position_findings(config))
        yield from gaps or unread_findings(config)
    tables: list[TableSchema] = []
    for number, name in enumerate(database_names(config.database)):
        yield from _of_database(config, name, tables, redo=not number)
    has_key = [bool(key_columns(config.filters)(table)) for table in tables]
    yield from targets.key_findings(tables, has_key, table_names(config))
    if config.sink.is_kafka and not unanswered(broker):
        yield from _of_topics(config, tables, has_key)


def _of_database(config: ConnectorConfig, name: str, tables: list[TableSchema], *, redo: bool) -> Iterator[Finding]:
    """What the rules of one database find: those of its tables only if it is open. Connections that it opens are closed
    once it is iterated to its end.

    :param name: of the database, one of `database_names`.
    :param tables: the captured tables are added to it.
    :param redo: the rules of redo are examined, too, if LogMiner reads it.
    """
    one = replace(config, database=of_database(config.database, name))
    is_pdb = bool(one.database.database_pdb_name)
    with closing(connect(one.database, "pdb")) as connection:
        if not is_pdb or pdb_is_open(connection):
            some = read_tables(connection, read_table_ids(connection, table_filter(config, name), name))
            tables += some
            source = _source(one, connection, some)
            found = chain(_examined(source, access.OF_TABLES), _examined(source, database.OF_TABLES))
            yield from in_database(name, found) if config.database.has_several_pdbs else found
        if redo and adapter_factory(config.database.database_connection_adapter).family == "logminer":
            with in_root(connection, one.database) if is_pdb else nullcontext():
                yield from _of_redo(_source(one, connection))


def _source(config: ConnectorConfig, connection: oracledb.Connection, tables: Sequence[TableSchema] = ()) -> ExaminedSource:
    """The source, as the session of `connection` sees it."""
    adapter = adapter_factory(config.database.database_connection_adapter)
    return ExaminedSource(
        config,
        connection,
        tables,
        platform_of(connection),
        adapter.family == "logminer",
        session_privileges(connection),
        reads_redo=adapter.reads_redo,
    )


def _of_redo(source: ExaminedSource) -> Iterator[Finding]:
    """What the rules of redo find, and those of the secondary database where it is mined."""
    yield from list(_examined(source, database.OF_REDO))
    secondary = source.config.secondary
    if secondary.is_mined:
        rules = downstream.OF_DOWNSTREAM if secondary.is_downstream else physical_standby.OF_STANDBY
        with closing(connect(secondary.database(source.config.database), "root")) as mined:
            yield from list(_examined(replace(source, secondary=mined), rules))


def _examined(source: ExaminedSource, rules: Mapping[str, Examine]) -> Iterator[Finding]:
    for name, function in rules.items():
        try:
            yield from list(function(source))
        except TransientSourceError:
            raise
        except (SourceError, PrerequisiteError) as error:
            yield Finding(name, Severity.UNKNOWN, f"{name}: not examined: {error.message}", _to_examine(source, name))


def _to_examine(source: ExaminedSource, name: str) -> str:
    views = [view.replace("V$", "V_$", 1) for view in BY_NAME[name].views]
    if not views:
        return "Nothing has to be done for it."
    if source.platform is Platform.RDS:
        grants = [f"EXEC rdsadmin.rdsadmin_util.grant_sys_object('{view}', '{source.user}', 'SELECT');" for view in views]
    else:
        more = " CONTAINER=ALL" if source.is_common else ""
        grants = [f"GRANT SELECT ON SYS.{view} TO {source.user}{more};" for view in views]
    return " ".join(grants)


def _of_topics(config: ConnectorConfig, tables: Sequence[TableSchema], has_key: Sequence[bool]) -> Iterator[Finding]:
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    try:
        yield from targets.topic_findings(config, client, TopicNames(config), tables, has_key)
    except SinkError as error:
        problem = f"table-topics: not examined: {error.message}"
        yield Finding("table-topics", Severity.UNKNOWN, problem, error.hint or "Try it again.")
