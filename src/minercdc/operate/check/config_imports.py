"""Finds names in a configuration that cannot be loaded: expressions, Python code, settings of librdkafka.

A start alone would find one of them after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from minercdc.config.debezium.ignored import SIGNAL_PASS_THROUGH
from minercdc.config.debezium.kafka_client import given_settings
from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.value_handling import value_handling
from minercdc.errors import ConfigError
from minercdc.messages.envelope.custom_converters import column_codecs
from minercdc.messages.topics import TopicNames
from minercdc.messages.transforms.catalog import chain_of
from minercdc.sinks.kafka.refused_settings import refused_settings
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.mode import decision_of
from minercdc.snapshot.query import query_of


def not_loadable(config: ConnectorConfig, unusable: Collection[str]) -> Iterator[str]:
    """A problem for each part of the configuration that cannot be loaded; it begins with the property. Python modules are
    imported, and converters made; nothing is connected.

    :param unusable: properties without a value that can be used.
    """
    whole = [one for one in config.transforms if not _has_any(f"transforms.{one.name}.", unusable)]
    yield from _problems(lambda: chain_of(whole))
    handling = value_handling(config.values, legacy_decimal=config.messages.legacy_decimal_handling_strategy)
    for one in config.custom_converters:
        if _has_any(f"{one.name}.", unusable):
            continue
        yield from _problems(partial(column_codecs, (one,), handling))
    snapshot = config.snapshot
    for name, load in (
        (":" in config.topics.topic_naming_strategy and "topic.naming.strategy", lambda: TopicNames(config)),
        (snapshot.snapshot_mode_custom_name and "snapshot.mode", lambda: decision_of(snapshot)),
        (snapshot.snapshot_query_mode_custom_name and "snapshot.query.mode", lambda: query_of(snapshot)),
        (snapshot.snapshot_locking_mode_custom_name and "snapshot.locking.mode", lambda: lock_of(snapshot)),
    ):
        if name and name not in unusable:
            yield from _problems(load)
    if config.sink.is_kafka:
        yield from _refused(config)


def _has_any(prefix: str, names: Collection[str]) -> bool:
    return any(name.startswith(prefix) for name in names)


def _problems(load: Callable[[], Any]) -> Iterator[str]:
    try:
        load()
    except ConfigError as error:
        yield from error.problems


def _refused(config: ConnectorConfig) -> Iterator[str]:
    """Settings that librdkafka does not take, each as `PROPERTY: problem`."""
    for name, settings in given_settings(config.given):
        yield from (f"{name}: {problem}" for problem in refused_settings(settings))
    if "kafka" in config.signals.signal_enabled_channels:
        for name, settings in given_settings(config.given, SIGNAL_PASS_THROUGH):
            yield from (f"{name}: {problem}" for problem in refused_settings(settings, consumes=True))
