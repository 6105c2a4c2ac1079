"""Lists the properties that have no field in the sections, most of them from Debezium and Connect.

`IGNORED` have no meaning here, and are accepted with a log line; `NOT_READ` among them have none with Debezium either. `INERT` are accepted only with a value that holds here anyway.
`UNSUPPORTED` are refused. `.._PASS_THROUGH` are prefixes of settings of Kafka's client or of Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

_CONNECT = "minercdc does not use Kafka Connect"
_PEM = "Java key stores cannot be read; .ssl.ca.location, .ssl.certificate.location and .ssl.key.location name PEM files"
_CACHE = "minercdc has no such cache"
_READING = "of reading, or of types that no column has"
_REGISTRY_CACHE = "each schema is requested from the registry once"
_WORKER = "minercdc does not use Kafka Connect: it has no worker and no Connect topics"
_ADDRESS = "redo is read by redo address, not by SCN ranges"
_ONE_CLIENT = "one client serves data and history"
_DEAD_LETTERS = "Kafka Connect has dead letters for sinks only; use minercdc.dead.letter.topic"
_ENGINE = "minercdc does not use Debezium's engine: records are written in order, in one process"
_PLUGINS = "minercdc does not use Kafka Connect: it has no plugins to choose versions of"
_JAVA = "Java classes cannot run here"
_NATIVE_NETWORK = "the driver (thin mode) has no native network encryption; use TLS (minercdc.database.protocol=tcps)"

NOT_READ: Mapping[str, str] = {
    "database.jdbc.driver": "the driver is python-oracledb",
    "database.oracle.version": "the version is read from the database",
    "database.schema": "the schemas are those of schema.include.list and table.include.list",
    "database.tablename.case.insensitive": "names of tables match in any case",
    "errors.deadletterqueue.topic.name": _DEAD_LETTERS,
    "event.deserialization.failure.handling.mode": "see event.processing.failure.handling.mode",
    "gracefull.shutdown.timeout": "minercdc has no executor",
    "inconsistent.schema.handling.mode": "see event.processing.failure.handling.mode",
    "log.mining.buffer.location": _CACHE,
    "log.mining.continuous.mine": "Oracle 19c and later do not have it",
    "log.mining.dml.parser": "minercdc has only one parser",
    "log.mining.history.recorder.class": "`minercdc record` keeps what LogMiner gives",
    "log.mining.history.retention.hours": "`minercdc record` keeps what LogMiner gives",
    "snapshot.custom.class": "see snapshot.mode.custom.name",
    "snapshot.new.tables": "a table that becomes captured is streamed; the signal execute-snapshot reads its rows",
    "source.struct.version": "minercdc has only one version of `source`",
    "table.ignore.builtin": "tables of Oracle's own users are never captured",
    "toasted.value.placeholder": "see unavailable.value.placeholder",
    "transaction.topic": "see topic.transaction",
    "truncate.handling.mode": "see skipped.operations",
}
"""Properties that Debezium 3.6.1 and Kafka Connect do not read either: of older versions, of other connectors, or of sinks. Each makes a
warning, since who gives it expects something of it."""

IGNORED: dict[str, str] = {
    **NOT_READ,
    "connector.class": _CONNECT,
    "tasks.max": "one connector is one task",
    "tasks.max.enforce": "one connector is one task",
    "connector.plugin.version": _PLUGINS,
    "header.converter": "headers are texts as they are, and keys in them JSON",
    "exactly.once.support": "delivery is exactly once already",
    "transaction.boundary": "Kafka transactions hold whole source transactions",
    "offset.storage": "offsets live in a Kafka topic",
    "offset.flush.interval.ms": "offsets are committed with the data",
    "offset.flush.timeout.ms": "offsets are committed with the data",
    "topic.cache.size": _CACHE,
    "log.mining.include.internal.events": "the rows that end a statement with large values are always read",
    "max.batch.size": "events stream without a queue",
    "max.queue.size": "events stream without a queue",
    "max.queue.size.in.bytes": "events stream without a queue",
    "executor.shutdown.timeout.ms": "minercdc has no executor",
    "record.processing.threads": _ENGINE,
    "record.processing.order": _ENGINE,
    "record.processing.shutdown.timeout.ms": _ENGINE,
    "record.processing.with.serial.consumer": _ENGINE,
    "task.management.timeout.ms": _ENGINE,
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
    "log.mining.batch.size.default": _ADDRESS,
    "log.mining.batch.size.min": _ADDRESS,
    "log.mining.batch.size.max": _ADDRESS,
    "log.mining.batch.size.increment": _ADDRESS,
    "log.mining.sleep.time.default.ms": "see minercdc.log.mining.pass.interval.ms",
    "log.mining.sleep.time.min.ms": "see minercdc.log.mining.pass.interval.ms",
    "log.mining.sleep.time.max.ms": "see minercdc.log.mining.pass.interval.ms",
    "log.mining.sleep.time.increment.ms": "see minercdc.log.mining.pass.interval.ms",
    "log.mining.scn.gap.detection.gap.size.min": _ADDRESS,
    "log.mining.scn.gap.detection.time.interval.max.ms": _ADDRESS,
    "log.mining.buffer.type": "rows wait in memory and spill to disk",
    "log.mining.buffer.drop.on.stop": "the buffer is rebuilt at each start",
    "log.mining.buffer.track.client_id": "no message shows it, and filters need it",
    "log.mining.query.filter.mode": "the query is filtered where that is safe",
    "log.mining.restart.connection": "a renewed session is a new connection",
    "signal.kafka.groupId": "how far the topic is read is stored with the offset",
    "signal.kafka.poll.timeout.ms": "the topic is polled without waiting",
    "signal.emit.failure.max.retries": "a mark is written again until it is there",
    "signal.emit.failure.backoff.ms": "a mark is written again until it is there",
    "incremental.snapshot.allow.schema.changes": "always: a chunk read in another shape is read again",
    "rac.nodes": "all threads are read from one instance, and no node is written to",
    "connection.validation.timeout.ms": "see database.connection.timeout.ms",
    "guardrail.collections.limit.action": "goes with guardrail.collections.max",
    "snapshot.scan.all.columns.force": "columns are read from the dictionary, table by table",
    "snapshot.enhance.predicate.scn": "every SELECT reads as of the snapshot's SCN; the token is taken out of it",
    "log.mining.transaction.snapshot.boundary.mode": "transactions that are open at the snapshot are delivered whole, always",
    "log.position.check.enable": "each start checks that redo of the offset exists",
    "schema.history.internal.ddl.filter": "DDL that affects no captured table is skipped",
    "schema.history.internal.prefer.ddl": "the structures of tables are stored, not replayed",
    "schema.history.internal.memory.optimization": "structures of tables take little memory here",
    "log.mining.schema_changes.username.exclude.list": "rows after a DDL can be decoded with it only, whoever runs it",
    "memory.management.schemas.class": "structures of tables take little memory here",
    "memory.management.tables.class": "structures of tables take little memory here",
    "log.mining.use.cte.query": "the query is filtered where that is safe",
    "log.mining.hash.area.size": "the query neither joins nor sorts; else give ALTER SESSION in database.initial.statements",
    "log.mining.sort.area.size": "the query neither joins nor sorts; else give ALTER SESSION in database.initial.statements",
    "log.mining.max.scn.deviation.ms": _ADDRESS,
    "log.mining.redo.thread.scn.adjustment": _ADDRESS,
    "log.mining.sql.relaxed.quote.detection": "statements are read by the rules of SQL_REDO, quotes included",
    "log.mining.resume.position.interval.ms": "the position is part of each commit",
    "object.id.cache.size": _CACHE,
    "log.mining.buffer.deferred.transaction.start": "a transaction takes memory from its first captured row on",
    "log.mining.buffer.deferred.transaction.retention.ms": "a transaction takes memory from its first captured row on",
    "event.converting.failure.handling.mode": "see event.processing.failure.handling.mode: no value is left out of a row",
    "queue.provider.type": "events stream without a queue",
    "poll.dispatch.interval.ms": "events stream without a queue",
    "offset.activity.monitor.interval.ms": "the offset moves on without changes; the metric minercdc_lag_seconds shows when it does not",
    "advanced.metrics.enable": "all metrics are always available",
    "offset.storage.topic": "see minercdc.offset.topic; `minercdc offsets import` reads Debezium's",
    "offset.storage.partitions": "see minercdc.offset.topic",
    "offset.storage.replication.factor": "see topic.creation.default.replication.factor",
    "offset.storage.file.filename": "`minercdc offsets import` reads Debezium's file",
    "offset.commit.policy": "offsets are committed with the data",
    "transaction.boundary.interval.ms": "Kafka transactions hold whole source transactions",
    "offsets.storage.topic": "see minercdc.offset.topic",
    "config.action.reload": _CONNECT,
    "group.id": _WORKER,
    "plugin.path": _WORKER,
    "plugin.discovery": _WORKER,
    "rest.port": _WORKER,
    "rest.host.name": _WORKER,
    "listeners": _WORKER,
    "exactly.once.source.support": "delivery is exactly once already",
    "internal.key.converter": _WORKER,
    "internal.value.converter": _WORKER,
    "debezium.sink.kafka.wait.message.delivery.timeout.ms": "see minercdc.kafka.timeout.ms",
    "debezium.format.header": "headers are texts as they are, and keys in them JSON",
}

# Of key.converter and value.converter.
_OF_CONVERTERS: Mapping[str, str] = {
    "plugin.version": _PLUGINS,
    "converter.type": "it is the property's: key or value",
    "schema.content": "of reading only: records are written with their tables' schemas",
    "enhanced.avro.schema.support": "no column is an enumeration of Avro, and records have their packages in any case",
    "enhanced.protobuf.schema.support": _READING,
    "generalized.sum.type.support": _READING,
    "generate.index.for.unions": _READING,
    "generate.struct.for.nulls": _READING,
    "flatten.unions": _READING,
    "flatten.singleton.unions": _READING,
    "int.for.enums": _READING,
    "optional.for.proto2": _READING,
    "wrapper.for.raw.primitives": _READING,
    "schemas.cache.config": _REGISTRY_CACHE,
    "schemas.cache.size": _REGISTRY_CACHE,
    "latest.cache.size": _REGISTRY_CACHE,
    "latest.cache.ttl.sec": _REGISTRY_CACHE,
    "max.schemas.per.subject": _REGISTRY_CACHE,
    "id.compatibility.strict": "with use.schema.id the schema has to have the table's fields in any case",
    "latest.compatibility.strict": "with use.latest.version the newest schema has to have the table's fields in any case",
}
IGNORED = IGNORED | {f"{side}.converter.{name}": why for side in ("key", "value") for name, why in _OF_CONVERTERS.items()}

NOT_READ_PREFIXES: Mapping[str, str] = {"errors.deadletterqueue.": _DEAD_LETTERS}
"""The same for all names that begin so."""

IGNORED_PREFIXES: Mapping[str, str] = {
    **NOT_READ_PREFIXES,
    "log.mining.buffer.infinispan.": _CACHE,
    "log.mining.buffer.ehcache.": _CACHE,
    "errors.retry.": "waits double up to retriable.restart.connector.wait.ms",
    "errors.log.": "every error is logged",
    "header.converter.": "headers are texts as they are, and keys in them JSON",
    "schema.history.internal.consumer.": _ONE_CLIENT,
    "consumer.override.": _ONE_CLIENT,
    "admin.override.": _ONE_CLIENT,
    "internal.key.converter.": _WORKER,
    "internal.value.converter.": _WORKER,
    "config.storage.": _WORKER,
    "status.storage.": _WORKER,
    "rest.advertised.": _WORKER,
    "rest.extension.": _WORKER,
    "quarkus.": "minercdc does not use Quarkus; --verbose sets the log level, minercdc.http.port the port",
    "driver.": "the driver is python-oracledb; see minercdc.database.*",
}

_REFERENCES = "io.confluent.kafka.serializers.subject.defaultreferencesubjectnamestrategy"

# property -> the values (in any case) that need nothing that is missing here
INERT: Mapping[str, tuple[str, ...]] = {
    "log.mining.window.max.ms": ("0",),
    "archive.log.hours": ("0",),
    "transaction.metadata.factory": ("io.debezium.pipeline.txmetadata.DefaultTransactionMetadataFactory",),
    "minercdc.delivery": ("exactly-once",),
    "guardrail.collections.max": ("0",),
    "openlineage.integration.enabled": ("false",),
    "statistics.metrics.enabled": ("false",),
    "errors.tolerance": ("none",),
    "key.converter.decimal.format": ("BASE64",),
    "value.converter.decimal.format": ("BASE64",),
    "key.converter.reference.subject.name.strategy": (_REFERENCES,),
    "value.converter.reference.subject.name.strategy": (_REFERENCES,),
}

UNSUPPORTED: Mapping[str, str] = {
    "sourceinfo.struct.maker": _JAVA,
    "database.connection.factory.class": _JAVA,
    "log.mining.path.dictionary": "log.mining.strategy=dictionary_from_file is not supported; redo_log_catalog uses a dictionary in redo",
    "custom.retriable.exception": "errors are classified by their code, see docs/errors.md",
    "custom.metric.tags": "labels are added where Prometheus scrapes (relabel_configs)",
    "driver.oracle.jdbc.accessToken": "a token expires; minercdc.database.token.location names a file that is read for each session",
}

UNSUPPORTED_PREFIXES: Mapping[str, str] = {
    "key.converter.schema.registry.ssl.truststore.": _PEM,
    "key.converter.schema.registry.ssl.keystore.": _PEM,
    "value.converter.schema.registry.ssl.truststore.": _PEM,
    "value.converter.schema.registry.ssl.keystore.": _PEM,
    "xstream.": "XStream needs Oracle's OCI client",
    "openlineage.": "lineage events are not emitted",
    "driver.javax.net.ssl.": "Java key stores cannot be read; minercdc.database.wallet.location names a directory with ewallet.pem",
    "driver.oracle.net.encryption_": _NATIVE_NETWORK,
    "driver.oracle.net.crypto_checksum_": _NATIVE_NETWORK,
    "driver.oracle.net.authentication_services": "the driver (thin mode) supports only password, token and proxy logon",
    "debezium.sink.": "no such sink or sink property; the sinks are kafka, segments and json (docs/sinks.md)",
}

# passed through to librdkafka, the part after the prefix
# Later ones win.
KAFKA_PASS_THROUGH: tuple[str, ...] = (
    "schema.history.internal.producer.",
    "debezium.sink.kafka.producer.",
    "producer.override.",
    "minercdc.kafka.client.",
)
SIGNAL_PASS_THROUGH: tuple[str, ...] = ("signal.consumer.",)
# passed through to Spark, as `spark.` and the part after the prefix
SPARK_PASS_THROUGH: tuple[str, ...] = ("minercdc.lake.spark.", "lake.spark.")
# passed through to the Iceberg catalog, the part after the prefix
CATALOG_PASS_THROUGH: tuple[str, ...] = ("minercdc.lake.catalog.",)
