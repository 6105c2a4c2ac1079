"""Examines rules of keys, topics, registry and disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.registries import SIDES
from minercdc.errors import MinerCdcError, SharedTopicError
from minercdc.messages.formats.configured import registry_access
from minercdc.messages.registries.access import RegistryAccess
from minercdc.messages.registries.apicurio import ApicurioRegistry
from minercdc.messages.registries.confluent import SchemaRegistry
from minercdc.messages.topics import TopicNames
from minercdc.operate.check.source import advice
from minercdc.oracle.finding import Finding, Severity
from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.sinks.kafka.client import KafkaClient

_LEAST_ROOM: Final = 1 << 30
_SECONDS: Final = 5.0
_UNUSED_SUBJECT: Final = "minercdc-check"


def key_findings(tables: Sequence[TableSchema], has_key: Sequence[bool], names: TableNames) -> Iterator[Finding]:
    """A finding, advice, for each table whose records have no key.

    :param has_key: of each table, whether its records have one, by the table or by `message.key.columns`.
    :param names: how tables are named.
    """
    for table, keyed in zip(tables, has_key, strict=True):
        if not keyed:
            inside = "" if names.database else f"In {table.id.database}: "
            fix = f'{inside}ALTER TABLE "{table.id.schema}"."{table.id.table}" ADD PRIMARY KEY (its columns); or message.key.columns={table.id}:its columns'
            yield advice("keys", f"{names.of(table.id)} has no key of NOT NULL columns: its records have no key", fix)


def topic_findings(
    config: ConnectorConfig, client: KafkaClient, names: TopicNames, tables: Sequence[TableSchema], has_key: Sequence[bool]
) -> Iterator[Finding]:
    """Findings of tables' topics: blocking ones for a topic that is another's; advice for one that is missing, where it is
    not created, and for one that does not take records without a key.

    :param client: of Kafka; not closed here.
    :param has_key: as of `key_findings`.
    :raises DeliveryError, SinkError: Kafka cannot be reached.
    :raises ConfigError: as `TopicNames.of_table`.
    """
    by_table: dict[TableId, str] = {}
    for table in tables:
        try:
            by_table[table.id] = names.of_table(table.id)
        except SharedTopicError as error:
            yield Finding("table-topics", Severity.MISSING, error.message, error.hint)
    there = client.existing(by_table.values())
    if not config.topics.topic_creation_enable:
        named = table_names(config)
        for table_id, topic in by_table.items():
            if topic not in there:
                name = named.of(table_id)
                fix = f"kafka-topics.sh --bootstrap-server {client.brokers} --create --topic {topic}"
                yield advice("table-topics", f"topic {topic} of {name} does not exist, and topic.creation.enable=false", fix)
    keyless = [
        by_table[table.id] for table, keyed in zip(tables, has_key, strict=True) if not keyed and table.id in by_table
    ]
    for topic, state in client.states([topic for topic in keyless if topic in there]).items():
        if "compact" in state.settings.get("cleanup.policy", ""):
            problem = f"topic {topic} is compacted, and its table has no key: Kafka refuses its records"
            fix = (
                f"kafka-configs.sh --bootstrap-server {client.brokers} --alter --entity-type topics --entity-name {topic}"
                " --add-config cleanup.policy=delete"
            )
            yield advice("compacted-topics", problem, fix)


def registry_findings(config: ConnectorConfig) -> Iterator[Finding]:
    """A blocking finding for each schema registry of the converters that does not answer within 5 s, or refuses; each is
    queried once."""
    seen: set[RegistryAccess] = set()
    for side in SIDES:
        kind = config.converters.registry_kind(side)
        if not kind:
            continue
        if kind == "apicurio":
            access = RegistryAccess(
                urls=tuple(config.converters.apicurio(side, "url")),
                user=str(config.converters.apicurio(side, "auth_username")),
                password=str(config.converters.apicurio(side, "auth_password")),
                timeout=_SECONDS,
            )
        else:
            access = registry_access(config.converters.registry(side), _SECONDS)
        if access in seen:
            continue
        seen.add(access)
        try:
            if kind == "apicurio":
                ApicurioRegistry(access).latest("default", _UNUSED_SUBJECT)
            else:
                SchemaRegistry(access).versions(_UNUSED_SUBJECT)
        except MinerCdcError as error:
            fix = error.hint or f"Start it, or correct {side}.converter's URL of the registry."
            yield Finding("registry", Severity.MISSING, error.message, fix)


def state_findings(directory: Path) -> Iterator[Finding]:
    """What is wrong with `minercdc.state.dir`, which need not be there: it cannot be written (blocking), or has less than 1
    GiB left (advice). Nothing is made. At most one finding."""
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        fix = f"Make {directory} writable, or name another directory by minercdc.state.dir."
        yield Finding("state-directory", Severity.MISSING, f"minercdc.state.dir: {place} cannot be written", fix)
        return
    free = shutil.disk_usage(place).free
    if free < _LEAST_ROOM:
        problem = f"minercdc.state.dir: {place} has {free >> 20} MiB left, and rows of open transactions may be stored there"
        yield advice("state-directory", problem, "Free some room, or name another directory by minercdc.state.dir.")
