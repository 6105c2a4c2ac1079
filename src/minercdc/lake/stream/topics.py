"""The table topics as a streaming DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError
from minercdc.lake.read.avro import AvroTopics
from minercdc.lake.read.changes import typed_changes
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.stream.kafka_options import spark_kafka_options
from minercdc.lake.stream.marks import topic_pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_changes(spark: SparkSession, config: ConnectorConfig, table: str | None = None) -> DataFrame:
    """The changes of one table as a stream of typed rows; without a table, the records of all topics `PREFIX.*.*` as they
    are: topics that `topic.naming.strategy` names otherwise are not read.

    A typed row has op, scn, commit_scn, seq, commit_time and row_id, and the structs key (unless no version has one), before
    and after in the types of the lake. Each record is decoded with the table's version of its time, and has the columns of
    the newest one that is known when this is called. At a record of a later version the query ends with a LakeError that
    names the DDL: call this again, and start the query with its checkpoint. A column that redo does not hold is null.
    Executors read the schema history, so they need minercdc, PyArrow, and before Spark 4.1 pandas. The session may be one of Spark 3.5, or
    of Spark Connect.

    With `debezium.sink.type=segments` the records come from there; the connector runs elsewhere.

    :param table: `SCHEMA.TABLE`; where several pluggable databases have it, `PDB.SCHEMA.TABLE`.
    :raises ConfigError: the sink has no stream, Spark's Kafka client lacks a setting of `minercdc.kafka.client.*`, or a
        certificate cannot be read; with a table, also as `history_of`, and when the topics have numbers as doubles
        (decimal.handling.mode).
    :raises LakeError: the schema history has no such table, its topic is another table's, several pluggable databases have it,
        the records are in a form that is not read, Spark lacks Avro, or a session of Spark Connect is asked for topics in Avro, or
        for columns whose names differ in case only.
    :raises SinkError, SchemaHistoryError: the schema history, or the schema registry, cannot be read.
    """
    if table is None:
        return read_topics(spark, config) if config.sink.is_kafka else read_segments(spark, config)
    history = history_of(config)
    history.refresh()
    found = history.known(table)
    read = read_topics if config.sink.is_kafka else read_segments
    topics = AvroTopics(spark, config)
    topics.learn_subjects(found.topic)
    return typed_changes(topics.as_json(read(spark, config, found.topic)), found, config)


def read_topics(
    spark: SparkSession,
    config: ConnectorConfig,
    topic: str | None = None,
    *,
    fail_on_loss: bool = True,
    headers: bool = False,
) -> DataFrame:
    """All table topics of a connector, or `topic` alone, as a stream of Spark's Kafka columns (topic, key, value, ..).

    Only committed records are read, from the beginning; topics that are created later join by themselves.

    :param fail_on_loss: the query ends when a topic that it reads is deleted, or retention removed records that it did not read.
    :param headers: with the records' headers, as Spark's column `headers`.
    :raises ConfigError: as `spark_kafka_options`.
    """
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config.kafka.bootstrap_servers)
        .option("subscribePattern" if topic is None else "subscribe", topic or topic_pattern(config))
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .option("failOnDataLoss", str(fail_on_loss).lower())
        .option("includeHeaders", str(headers).lower())
        .option("kafka.metadata.max.age.ms", "2000")  # how soon a new table's topic is seen
        .option("maxOffsetsPerTrigger", config.lake.minercdc_lake_max_offsets_per_trigger)
        .options(**spark_kafka_options(config.kafka_client))
        .load()
    )


def read_segments(spark: SparkSession, config: ConnectorConfig, topic: str | None = None) -> DataFrame:
    """As `read_topics`, from a connector's segments, with the columns of `source.segment_batches.RECORDS`.

    :raises ConfigError: the sink is not segments.
    :raises LakeError: this Spark has no streams of segments.
    """
    from pyspark.sql.functions import col

    # An older Spark than 4.2 is refused by this import; later it would be refused in a process of Spark's, whose error hides the reason.
    import minercdc.lake.source.segment_batches  # noqa: F401

    if config.sink.debezium_sink_type != "segments":
        raise ConfigError([f"debezium.sink.type: no stream reads {config.sink.debezium_sink_type}"])
    records = (
        spark.readStream.format("minercdc")
        .option("path", str(config.sink.directory.absolute()))
        .option("maxOffsetsPerTrigger", config.lake.minercdc_lake_max_offsets_per_trigger)
        .load()
    )
    return records.where(col("topic").rlike(f"^(?:{topic_pattern(config)})$") if topic is None else col("topic") == topic)
