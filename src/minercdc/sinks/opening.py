"""Opens the sink that a configuration names, and refuses what does not work with it."""

from __future__ import annotations

from minercdc.config import extensions
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError
from minercdc.messages.large_records import LargeRecords
from minercdc.messages.topics import TopicNames
from minercdc.sinks.json_lines import JsonLines
from minercdc.sinks.kafka.at_least_once import AtLeastOnceSink
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.sinks.kafka.topic_fold import TopicRecords
from minercdc.sinks.segments.topics import SegmentTopics
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.contracts import OffsetSink


def open_sink(config: ConnectorConfig, client: KafkaClient, topics: TopicNames, ownership: Ownership) -> OffsetSink:
    """The sink of `debezium.sink.type`, opened for one connector; the caller closes it. Sinks of files are locked, and what
    was not committed is cut off.

    :param client, topics, ownership: of Kafka; not used by the other sinks.
    :raises ConfigError: the sink is a relay, which brings its own; or is not installed, or cannot be imported.
    :raises SchemaHistoryError: JSON lines: the stored offset cannot be read.
    :raises SinkError: the sink cannot be used, or (FencedError) another process uses it.
    """
    opened: OffsetSink = extensions.loaded(extensions.SINKS, config.sink.debezium_sink_type, "debezium.sink.type")(
        config, client, topics, ownership
    )
    return opened


def open_kafka(config: ConnectorConfig, client: KafkaClient, topics: TopicNames, ownership: Ownership) -> OffsetSink:
    """The sink `kafka`; for parameters and errors see `open_sink`."""
    kind = KafkaSink if config.kafka.minercdc_kafka_transactional else AtLeastOnceSink
    return kind(client, topics, config.identity.name, ownership, large_records(config))


def open_segments(config: ConnectorConfig, client: KafkaClient, topics: TopicNames, ownership: Ownership) -> OffsetSink:
    """The sink `segments`; for parameters and errors see `open_sink`."""
    del client, topics, ownership
    return SegmentSink(config.sink.directory, config.identity.name, config.sink.minercdc_sink_segment_bytes)


def open_json_lines(config: ConnectorConfig, client: KafkaClient, topics: TopicNames, ownership: Ownership) -> OffsetSink:
    """The sink `json`; for parameters and errors see `open_sink`."""
    del client, topics, ownership
    return JsonLines(config.sink.file, config.sink.beside(config.capture.minercdc_state_dir, config.identity.name))


def open_relay(config: ConnectorConfig, client: KafkaClient, topics: TopicNames, ownership: Ownership) -> OffsetSink:
    """Raises ConfigError: a relay brings its sink itself."""
    raise ConfigError(["debezium.sink.type: relay is run by `minercdc relay CONFIG`"])


def large_records(config: ConnectorConfig) -> LargeRecords | None:
    """The configured replacement of records that are too large; None: they are sent as they are, and Kafka refuses them."""
    kafka = config.kafka
    if kafka.minercdc_kafka_record_too_large == "fail":
        return None
    dead_letters = config.run.minercdc_dead_letter_topic if kafka.minercdc_kafka_record_too_large == "dead_letter" else None
    return LargeRecords(kafka.minercdc_kafka_record_max_bytes, kafka.minercdc_claim_check_path, dead_letters)


def topic_records(config: ConnectorConfig, client: KafkaClient) -> TopicRecords | None:
    """What reads the records of the configured sink's topics: `client` itself for Kafka; None where records cannot be read
    back, as `not_read_back` says. Nothing is opened yet."""
    if not_read_back(config):
        return None
    if config.sink.debezium_sink_type == "segments":
        return SegmentTopics(config.sink.directory)
    return client


def not_read_back(config: ConnectorConfig) -> str:
    """Why the records that a connector with this configuration writes cannot be read back by it, as text for people; '' where
    they can."""
    if reason := config.converters.not_read_back():
        return f"{reason}, which cannot be read back"
    if config.transforms:
        return "records that transforms have changed cannot be read back"
    if config.sink.is_kafka and config.kafka.minercdc_kafka_record_too_large != "fail":
        return (
            f"minercdc.kafka.record.too.large={config.kafka.minercdc_kafka_record_too_large} leaves values out of the topic"
        )
    if config.sink.is_kafka and config.topics.minercdc_topic_partition_columns:
        return "minercdc.topic.partition.columns puts records into other partitions than their keys alone would"
    kind = config.sink.debezium_sink_type
    return "" if kind in ("kafka", "segments") else f"debezium.sink.type={kind} cannot be read back"


def need_kafka(config: ConnectorConfig, what: str, instead: str = "") -> None:
    """Raise ConfigError when the configured sink is not Kafka, or its topics do not have all values under names that can be
    found.

    :param what: names what needs Kafka; it begins the message.
    :param instead: how the same is done with this sink, for the hint; '' for no hint.
    """
    if not config.sink.is_kafka:
        raise ConfigError([f"debezium.sink.type: {what} needs kafka, not {config.sink.debezium_sink_type}"], hint=instead)
    if config.topics.is_rewritten or ":" in config.topics.topic_naming_strategy:
        names = config.topics.topic_delimiter.join((config.identity.topic_prefix, "*", "*"))
        raise ConfigError([f"topic.naming.strategy: {what} finds topics by their names {names} only"])
    if (mode := config.kafka.minercdc_kafka_record_too_large) != "fail":
        raise ConfigError(
            [f"minercdc.kafka.record.too.large: {what} needs all values in the topics, and {mode} leaves some out"]
        )
