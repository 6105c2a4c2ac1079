"""Examines all rules for a configuration, for `minercdc check`. Nothing is written to Oracle or Kafka; tables may be locked
in ROW SHARE mode for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Final

from minercdc.capture.registry import adapter_factory
from minercdc.checks import check_broker, check_prerequisites, in_database
from minercdc.config.load import ConnectorConfig
from minercdc.errors import PrerequisiteError, SinkError, SourceError, TransientSourceError
from minercdc.kafka.client import KafkaClient
from minercdc.oracle.connect import connect, database_names, in_root, of_database
from minercdc.oracle.dictionary import read_table_ids, read_tables
from minercdc.oracle.grants import Platform, platform_of, session_privileges
from minercdc.oracle.prerequisites import Finding
from minercdc.rules import access, database, downstream, physical_standby, places
from minercdc.rules.catalogue import BY_NAME
from minercdc.rules.source import Examine, ExaminedSource
from minercdc.schema.table import TableSchema
from minercdc.selection import key_columns, table_filter, topic_names

_FIRST: Final = ("grant-logminer", "grant-views", "standby-role", "downstream-grants", "downstream-role")


def examine(config: ConnectorConfig) -> Iterator[Finding]:
    """Every finding, as it is found: those of Kafka, registry and disk before those of the database, which may not answer. When
    capture cannot start for want of privileges, or of the right database, none after those of a start. A rule that cannot be
    examined is a finding with `examined` False. It connects to Oracle, Kafka and the registry.

    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses a check itself.
    :raises ConfigError: as `check_prerequisites` and `topic_names`; or a record key has a column that its table does not have.
    """
    broker = check_broker(config)
    yield from broker
    yield from places.registry_findings(config)
    yield from places.state_findings(config.capture.minercdc_state_dir)
    found = check_prerequisites(config)
    yield from found
    if any(finding.rule in _FIRST and finding.blocking for finding in found):
        return  # most others are examined by the same views, or in the other role
    tables: list[TableSchema] = []
    for number, name in enumerate(database_names(config.database)):
        yield from _of_database(config, name, tables, redo=not number)
    has_key = [bool(key_columns(config.filters)(table)) for table in tables]
    yield from places.key_findings(tables, has_key)
    if config.sink.is_kafka and not any(finding.rule == "broker" for finding in broker):
        yield from _of_topics(config, tables, has_key)


def _of_database(config: ConnectorConfig, name: str, tables: list[TableSchema], *, redo: bool) -> Iterator[Finding]:
    """What the rules of one database find. Connects to the database, and where it is mined to the secondary one, and closes these
    connections once it is iterated to its end. Raises SourceError, PrerequisiteError or ConfigError.

    :param name: of the database, one of `database_names`.
    :param tables: the captured tables are added to it.
    :param redo: the rules of redo are examined, too, if LogMiner reads it.
    """
    one = replace(config, database=of_database(config.database, name))
    with closing(connect(one.database, "pdb")) as connection:
        adapter = adapter_factory(config.database.database_connection_adapter)
        mines = adapter.family == "logminer"
        some = read_tables(connection, read_table_ids(connection, table_filter(config, name), name))
        tables += some
        privileges = session_privileges(connection)
        source = ExaminedSource(
            one, connection, some, platform_of(connection), mines, privileges, reads_redo=adapter.reads_redo
        )
        found = chain(_examined(source, access.OF_TABLES), _examined(source, database.OF_TABLES))
        yield from in_database(name, found) if config.database.has_several_pdbs else found
        if mines and redo:
            with in_root(connection, one.database) if one.database.database_pdb_name else nullcontext():
                yield from list(_examined(source, database.OF_REDO))
                if config.secondary.is_mined:
                    rules = downstream.OF_DOWNSTREAM if config.secondary.is_downstream else physical_standby.OF_STANDBY
                    with closing(connect(config.secondary.database(config.database), "root")) as secondary:
                        yield from list(_examined(replace(source, secondary=secondary), rules))


def _examined(source: ExaminedSource, rules: Mapping[str, Examine]) -> Iterator[Finding]:
    for name, function in rules.items():
        try:
            yield from list(function(source))
        except TransientSourceError:
            raise
        except (SourceError, PrerequisiteError) as error:
            yield Finding(
                f"{name}: not examined: {error.message}",
                _to_examine(source, name),
                blocking=False,
                rule=name,
                examined=False,
            )


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
        yield from places.topic_findings(config, client, topic_names(config), tables, has_key)
    except SinkError as error:
        problem = f"table-topics: not examined: {error.message}"
        yield Finding(problem, error.hint or "Try it again.", blocking=False, rule="table-topics", examined=False)
