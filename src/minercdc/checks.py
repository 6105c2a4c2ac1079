"""Checks of `minercdc check`: database, signal table, Kafka. Every start repeats those of the database and signal table."""

from __future__ import annotations

import logging
from contextlib import closing

from minercdc.capture.logminer.physical_standby import identity, role_findings, table_findings
from minercdc.capture.registry import adapter_factory
from minercdc.config.load import ConnectorConfig
from minercdc.errors import PrerequisiteError, SinkError
from minercdc.kafka.client import KafkaClient
from minercdc.kafka.internal_topics import internal_topic_findings
from minercdc.oracle.connect import connect
from minercdc.oracle.prerequisites import Finding, check
from minercdc.selection import table_filter, topic_names
from minercdc.signalling import signal_findings

log = logging.getLogger(__name__)


def check_prerequisites(config: ConnectorConfig) -> list[Finding]:
    """What the database lacks for this configuration, and the physical standby that is mined; when none of that blocks capture, what the
    signal table lacks, too.

    :raises ConfigError: `database.pdb.name` is no name, the token to log on with cannot be read, or a pattern took too long.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses a check itself.
    """
    with closing(connect(config.database, "pdb")) as connection:
        factory = adapter_factory(config.database.database_connection_adapter)
        found = check(connection, config.database, table_filter(config), factory.prerequisites)
        if any(finding.blocking for finding in found):
            return found
        if config.physical_standby.is_mined:
            with closing(connect(config.physical_standby.database(config.database), "root")) as standby:
                found = [*role_findings(identity(connection), identity(standby)), *found]
            found = [*table_findings(connection, table_filter(config)), *found]
            if any(finding.blocking for finding in found):
                return found
        return [*found, *signal_findings(connection, config, redo=factory.reads_redo)]


def check_broker(config: ConnectorConfig) -> list[Finding]:
    """When Kafka is the sink: one blocking finding when it does not answer or refuses, else what is wrong with the connector's
    own topics. [] for another sink. Raises ConfigError as `topic_names`."""
    if not config.sink.is_kafka:
        return []
    try:
        client = KafkaClient(config.kafka, config.topics, config.kafka_client)
        client.ping()
        return internal_topic_findings(client, topic_names(config))
    except SinkError as error:
        fix = error.hint or "Check minercdc.kafka.bootstrap.servers and the settings under minercdc.kafka.client."
        return [Finding(error.message, fix, blocking=True, rule="broker")]


def check_internal_topics(config: ConnectorConfig, client: KafkaClient) -> list[Finding]:
    """What is wrong with the connector's own topics, when Kafka is the sink; else []. Raises SinkError when Kafka does not answer
    (DeliveryError) or refuses, and ConfigError as `topic_names`."""
    return internal_topic_findings(client, topic_names(config)) if config.sink.is_kafka else []


def refuse_unprepared(findings: list[Finding]) -> None:
    """Log the findings that do not block capture. Raises PrerequisiteError with all that do."""
    for finding in findings:
        if not finding.blocking:
            log.warning("%s  fix: %s", finding.problem, finding.fix)
    if blocking := [finding for finding in findings if finding.blocking]:
        lines = [f"{finding.problem}\n      {finding.fix}" for finding in blocking]
        raise PrerequisiteError("\n  - ".join(["not ready for capture", *lines]))
