"""A connector's pipelines, and its adapter alone, from the configuration."""

from __future__ import annotations

import logging
import time

from minercdc.capture.adapter import Adapter
from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.registries import Side
from minercdc.messages.formats.configured import record_converter
from minercdc.messages.formats.converting import RecordConverter
from minercdc.messages.formats.naming import Naming
from minercdc.messages.record_encoder import RecordStages
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.messages.topics import TopicNames
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.pipeline.pipeline import PipelineFactory, Target
from minercdc.pipeline.pipeline_builder import PipelineBuilder
from minercdc.pipeline.process import Instance, ProcessState
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.mode import Decision, decision_of

log = logging.getLogger(__name__)


def _reserved(config: ConnectorConfig) -> dict[str, str]:
    """Topics with state, which records may not be routed to, each with the property that names it."""
    return {one.topic: one.names for one in TopicNames(config).own.values() if one.is_state}


def converter_of(config: ConnectorConfig) -> RecordConverter | None:
    """The converter of records into the configured formats; None where they are printed in them. Raises ConfigError when a certificate
    cannot be read."""
    schemas: dict[Side, bool] = {
        "key": config.values.key_converter_schemas_enable,
        "value": config.values.value_converter_schemas_enable,
    }
    transformed = bool(config.transforms)
    return record_converter(
        config.converters,
        config.kafka.minercdc_kafka_timeout_ms / 1000,
        {side: on for side, on in schemas.items() if transformed or config.converters.fills_nulls(side)},
        Naming(
            config.values.field_name_adjustment_mode,
            config.values.schema_name_adjustment_mode,
            transformed=transformed,
            prefix=config.identity.topic_prefix,
        ),
        config.extension_options,
    )


def adapter_of(config: ConnectorConfig) -> Adapter:
    """The adapter of `database.connection.adapter`, for other uses than a run of the connector. It is not connected yet.
    Raises ConfigError when the configuration names a function that cannot be loaded."""
    process = ProcessState(decision_of(config.snapshot), Instance.of(config), RecordStages())
    return PipelineBuilder(config, process).adapter(Tables(comments=config.messages.include_schema_comments))


def build(
    config: ConnectorConfig,
    instance: Instance | None = None,
    decide: Decision | None = None,
    target: Target | None = None,
) -> PipelineFactory:
    """The factory of a connector's pipelines; nothing is connected before the engine opens one. Logs properties without effect.

    :param instance: this process, as others see it; None for a new one.
    :param decide: what a start does; None: what `snapshot.mode` says.
    :param target: where events go instead of the configured sink; None: to that sink.
    :raises ConfigError: `snapshot.mode.custom.name` names nothing that can be called; a certificate cannot be read; an expression
        of `transforms` cannot be compiled; or, with these, `topic.naming.strategy` names a function that cannot be loaded.
    """
    for notice in config.notices.values():
        log.warning("%s", notice)
    for name, reason in sorted(config.ignored.items()):
        if name in config.not_read:
            log.warning("%s has no effect, as with Debezium: %s", name, reason)
        else:
            log.info("%s has no effect here: %s", name, reason)
    decided = decide or decision_of(config.snapshot)
    refused, chain = RefusedTopics(), chain_of(config.transforms)
    transformer = RecordTransformer(chain, _reserved(config), refused) if config.transforms else None
    stages = RecordStages(refused, transformer, converter_of(config))
    instance = instance or Instance.of(config)
    process = ProcessState(decided, instance, stages, target)
    return PipelineFactory(
        open_pipeline=lambda: PipelineBuilder(config, process).open(),
        max_restarts=config.run.errors_max_retries,
        longest_wait=config.run.retriable_restart_connector_wait_ms / 1000,
        monotonic=time.monotonic,
        counters=instance.counters,
    )
