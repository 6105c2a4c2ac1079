"""Debezium and Connect properties that have no field here, each with the reason.

`IGNORED` have no meaning here, and are accepted with a log line. `INERT` are accepted only with a value that holds here anyway.
`UNSUPPORTED` are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

_CONNECT = "there is no Kafka Connect here"
_PEM = "Java key stores cannot be read; .ssl.ca.location, .ssl.certificate.location and .ssl.key.location name PEM files"
_CACHE = "there is no such cache here"

IGNORED: Mapping[str, str] = {
    "connector.class": _CONNECT,
    "tasks.max": "one connector is one task",
    "header.converter": "headers are JSON",
    "exactly.once.support": "delivery is exactly once already",
    "transaction.boundary": "Kafka transactions hold whole source transactions",
    "offset.storage": "offsets live in a Kafka topic",
    "offset.flush.interval.ms": "offsets are committed with the data",
    "offset.flush.timeout.ms": "offsets are committed with the data",
    "topic.cache.size": _CACHE,
    "max.batch.size": "events stream without a queue",
    "max.queue.size": "events stream without a queue",
    "max.queue.size.in.bytes": "events stream without a queue",
    "executor.shutdown.timeout.ms": "there is no executor",
    "schema.history.internal.name": "a label only",
    "schema.history.internal.kafka.recovery.poll.interval.ms": "recovery reads to the end of the topic",
    "schema.history.internal.kafka.recovery.attempts": "recovery reads to the end of the topic",
    "schema.history.internal.kafka.query.timeout.ms": "see minercdc.kafka.timeout.ms",
    "schema.history.internal.kafka.create.timeout.ms": "see minercdc.kafka.timeout.ms",
    "schema.history.internal.kafka.buffer.batch.size": "history is not buffered",
    "schema.history.internal.store.only.captured.tables.ddl": "only captured tables are stored",
    "schema.history.internal.store.only.captured.databases.ddl": "only the captured database is stored",
    "schema.history.internal.skip.unparseable.ddl": "unknown DDL makes us read the dictionary",
    "log.mining.flush.table.name": "nothing is written to the source; see minercdc.log.mining.flush.table",
    "log.mining.read.only": "nothing is written to the source anyway",
    "log.mining.batch.size.default": "redo is read by address, not by SCN steps",
    "log.mining.batch.size.min": "redo is read by address, not by SCN steps",
    "log.mining.batch.size.max": "redo is read by address, not by SCN steps",
    "log.mining.batch.size.increment": "redo is read by address, not by SCN steps",
    "log.mining.sleep.time.default.ms": "see poll.interval.ms",
    "log.mining.sleep.time.min.ms": "see poll.interval.ms",
    "log.mining.sleep.time.max.ms": "see poll.interval.ms",
    "log.mining.sleep.time.increment.ms": "see poll.interval.ms",
    "log.mining.scn.gap.detection.gap.size.min": "redo is read by address, not by SCN steps",
    "log.mining.scn.gap.detection.time.interval.max.ms": "redo is read by address, not by SCN steps",
    "log.mining.buffer.type": "rows wait in memory and spill to disk",
    "log.mining.buffer.drop.on.stop": "the buffer is rebuilt at each start",
    "log.mining.buffer.track.client_id": "no message shows it, and filters need it",
    "log.mining.query.filter.mode": "the query is filtered where that is safe",
    "log.mining.restart.connection": "a renewed session is a new connection",
    "signal.kafka.groupId": "how far the topic is read is stored with the offset",
    "signal.kafka.poll.timeout.ms": "the topic is looked at without waiting",
    "signal.emit.failure.max.retries": "a mark is written again until it is there",
    "signal.emit.failure.backoff.ms": "a mark is written again until it is there",
    "incremental.snapshot.allow.schema.changes": "always: a chunk read in another shape is read again",
}

IGNORED_PREFIXES: Mapping[str, str] = {
    "log.mining.buffer.infinispan.": _CACHE,
    "log.mining.buffer.ehcache.": _CACHE,
    "errors.retry.": "waits double up to retriable.restart.connector.wait.ms",
    "errors.log.": "every error is logged",
}

# property -> the values (in any case) that need nothing that is missing here
INERT: Mapping[str, tuple[str, ...]] = {
    "include.schema.comments": ("false",),
    "log.mining.continuous.mine": ("false",),
    "log.mining.window.max.ms": ("0",),
    "archive.log.hours": ("0",),
    "capture.mode": ("primary",),
    "minercdc.delivery": ("exactly-once",),
    "guardrail.collections.max": ("0",),
    "openlineage.integration.enabled": ("false",),
    "statistics.metrics.enabled": ("false",),
    "topic.naming.strategy": (
        "io.debezium.schema.SchemaTopicNamingStrategy",
        "io.debezium.schema.DefaultTopicNamingStrategy",
    ),
    "errors.tolerance": ("none",),
    "key.converter.connect.meta.data": ("true",),
    "value.converter.connect.meta.data": ("true",),
    "key.converter.enhanced.avro.schema.support": ("false",),
    "value.converter.enhanced.avro.schema.support": ("false",),
}

UNSUPPORTED: Mapping[str, str] = {
    "rac.nodes": "no node is written to, all threads are read from one instance",
    "sourceinfo.struct.maker": "Java classes cannot run here",
    "database.connection.factory.class": "Java classes cannot run here",
    "errors.deadletterqueue.topic.name": "Kafka Connect has dead letters for sinks only; minercdc.dead.letter.topic has ours",
}

UNSUPPORTED_PREFIXES: Mapping[str, str] = {
    "key.converter.schema.registry.ssl.truststore.": _PEM,
    "key.converter.schema.registry.ssl.keystore.": _PEM,
    "value.converter.schema.registry.ssl.truststore.": _PEM,
    "value.converter.schema.registry.ssl.keystore.": _PEM,
    "xstream.": "XStream needs Oracle's OCI client",
    "openlogreplicator.": "the OpenLogReplicator adapter is not there yet",
    "secondary.": "reading a standby is not there yet",
    "errors.deadletterqueue.": "Kafka Connect has dead letters for sinks only; minercdc.dead.letter.topic has ours",
    "openlineage.": "lineage events are not emitted",
    "driver.": "JDBC driver properties mean nothing to python-oracledb",
}

# passed through to librdkafka, the part after the prefix
KAFKA_PASS_THROUGH: tuple[str, ...] = ("minercdc.kafka.client.", "producer.override.", "schema.history.internal.producer.")
SIGNAL_PASS_THROUGH: tuple[str, ...] = ("signal.consumer.",)
# passed through to Spark, as `spark.` and the part after the prefix
SPARK_PASS_THROUGH: tuple[str, ...] = ("minercdc.lake.spark.", "lake.spark.")
IGNORED_PREFIXES_KAFKA: tuple[str, ...] = ("schema.history.internal.consumer.",)
