"""`minercdc offsets import --from-debezium`: the connector goes on where a stopped Debezium connector ended.

look    Debezium's offset and schema history, the redo since, the dictionary; nothing is changed
store   structures and offset, in one commit of the sink; after a kill it can be repeated
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import oracledb

from minercdc.capture.logminer.imported import position_after
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, SchemaHistoryError, SnapshotTooOldError, SourceError
from minercdc.messages.topics import TopicNames
from minercdc.operate.offsets.debezium.debezium_history import HistoryEnd, end_of, with_stored
from minercdc.operate.offsets.debezium.debezium_offset import DebeziumOffset, offset_of
from minercdc.operate.offsets.debezium.last_records import is_half_sent
from minercdc.operate.offsets.debezium.offset_file import NotAnOffsetFileError, read_offsets
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.tables import read_altered, read_tables
from minercdc.pipeline.factory import adapter_of
from minercdc.pipeline.history import schema_history
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.sinks.opening import open_sink
from minercdc.snapshot.initial.snapshot_scn import describe
from minercdc.stream.events import Scn
from minercdc.stream.offset import Offset, PartialTransaction, SignalState

_KEPT = ".debezium"


@dataclass(frozen=True, slots=True)
class Import:
    """An import of an offset that has been checked, and is not yet made.

    :param where: file or topic in which the offset was found, for messages.
    :param found: Debezium's offset.
    :param partial: the transaction that Debezium delivered in part, or in whole as its last one; None when there is none.
    :param schemas: structures of the captured tables at the position.
    :param of_history: how many of them are taken from Debezium's history, since the dictionary is newer, or has them not.
    """

    config: ConnectorConfig
    where: str
    found: DebeziumOffset
    position: LogMinerPosition
    partial: PartialTransaction | None
    schemas: tuple[TableSchema, ...]
    of_history: int

    def lines(self) -> Iterator[str]:
        """Lines for the user: what was found, and what storing it does. Raises ConfigError as `TopicNames`."""
        found, config = self.found, self.config
        yield f"Debezium's offset of connector {found.name}, topic.prefix {config.identity.topic_prefix}, in {self.where}:"
        for thread, commit in sorted(found.commits.items()):
            yield f"  redo thread {thread} is delivered up to the commits at SCN {commit.scn}"
        if not found.commits:
            yield f"  the initial snapshot is complete, as of SCN {found.snapshot_scn}"
        if self.partial:
            yield f"  transaction {self.partial.tx_id} (SCN {self.partial.commit_scn}) is delivered up to its event {self.partial.seq}"
            if self.partial.inserts:
                yield "    its delete of the old key is in the topic, its insert of the new key is not: the insert follows"
        yield f"minercdc goes on as connector {config.identity.name}:"
        yield f"  redo is read from {self.position}; delivered changes are left out, open transactions are delivered when they are committed"
        altered = (
            f", {self.of_history} of them from Debezium's schema history, because DDL changed them since"
            if self.of_history
            else ""
        )
        yield f"  structures of {len(self.schemas)} tables{altered}"
        if found.incremental:
            tables = ", ".join(table.table for table in found.incremental.tables)
            yield f"  incremental snapshot {found.incremental.id} goes on with {tables}; the first of them is read from its beginning again"
        yield f"  offset and schema history are stored {_place(config)}"

    def store(self) -> None:
        """Store structures and offset, in one commit. Claims the connector's name; called once.

        :raises ConfigError: the connector has an offset.
        :raises SinkError, SchemaHistoryError: they cannot be stored.
        :raises OSError: Debezium's history file cannot be kept.
        """
        config = self.config
        client, topics = KafkaClient(config.kafka, config.topics, config.kafka_client), TopicNames(config)
        sink = open_sink(config, client, topics, Ownership(config.identity.name))
        try:
            if sink.load_offset() is not None:
                raise _has_offset(config)
            keep_file(config.history.file)
            history = schema_history(config, client, topics)
            with suppress(SchemaHistoryError):  # it is Debezium's; looked at for how many records there are
                next(iter(history.recover(None)), None)
            history.forget()
            tables = Tables(comments=config.messages.include_schema_comments)
            position = self.position.to_json()
            scn = Scn(self.position.delivered_scn)
            for change in describe(tables, list(self.schemas), scn, time.time_ns() // 1000):
                if (record := history.entry(change, position)) is not None:
                    sink.write(record)
            snapshots = (self.found.incremental,) if self.found.incremental else ()
            sink.commit(
                Offset(
                    adapter=config.database.database_connection_adapter,
                    position=position,
                    partial=self.partial,
                    history=history.mark(),
                    signals=SignalState(snapshots=snapshots),
                )
            )
        finally:
            sink.close()


def look(config: ConnectorConfig, source: str) -> Import:
    """Return the import that would be made. Nothing is changed: database and Kafka are only read.

    :param source: path of Debezium's offset file, or name of Kafka Connect's offset topic.
    :raises ConfigError: there is no such offset, or it cannot be resumed from; this connector has one already; or several pluggable
        databases are captured.
    :raises LogGapError: redo that the stream needs is gone.
    :raises SchemaHistoryError, SourceError, PrerequisiteError, SinkError: Debezium's schema history, the database or Kafka cannot
        be read, or has none of the captured tables.
    :raises SharedTopicError: a table that is delivered in part would have one of the connector's own topics.
    """
    database = database_name(config.database)
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    if config.sink.is_kafka:
        topics = TopicNames(config)
        if client.ends(topics.offsets) and stored_offset(client, topics, config.identity.name) is not None:
            raise _has_offset(config)
    where, entries = read_entries(client, source)
    found = offset_of(entries, where, server=config.identity.topic_prefix, name=config.identity.name)
    end = _history_end(config, client)
    committed = config.database.database_connection_adapter == "logminer_unbuffered"
    filtered = config.given.get("log.mining.query.filter.mode", "none").strip().lower() != "none"
    delivered = found.delivered(end.ddl_scn, committed=committed, filtered=filtered)
    container = database if config.database.database_pdb_name else None

    def connect_root() -> oracledb.Connection:
        return connect(config.database, "root")

    def connect_pdb() -> oracledb.Connection:
        return connect(config.database, "pdb")

    inside = (connect_pdb,) if container is not None else ()
    imported = position_after(connect_root, delivered, container, table_filter(config).includes, inside)
    position, partial = imported.position, imported.partial
    if partial is not None and imported.moved is not None and config.sink.is_kafka:
        table = TableId(database, *imported.moved)
        inserts = is_half_sent(client, TopicNames(config).of_table(table), found.tx_id, found.tx_seq)
        partial = replace(partial, inserts=inserts)
    if gap := adapter_of(config).unreadable(position):
        raise gap
    schemas, of_history = _structures(config, end, position.delivered_scn)
    if not schemas:
        raise SourceError(
            "Debezium's schema history has none of the captured tables",
            hint="schema.include.list and table.include.list must be those of the Debezium connector.",
        )
    return Import(config, where, found, position, partial, tuple(schemas), of_history)


def _has_offset(config: ConnectorConfig) -> ConfigError:
    return ConfigError(
        [f"connector {config.identity.name} has an offset already; nothing is imported"],
        hint="Use another `name`, or remove its offset by minercdc offsets reset CONFIG.",
    )


def _place(config: ConnectorConfig) -> str:
    if not config.sink.is_kafka:
        return f"beside the records, {config.sink.minercdc_sink_path}"
    topics = TopicNames(config)
    return f"in topic {topics.offsets} and " + (
        f"in topic {topics.schema_history}" if topics.has_history else f"in file {config.history.file}"
    )


def read_entries(client: KafkaClient, source: str) -> tuple[str, dict[bytes, bytes | None]]:
    """(name of `source` for messages, each of its keys with its last value, None for a tombstone).

    :param source: as of `look`.
    :raises ConfigError: it is neither an offset file nor a topic.
    :raises DeliveryError, SinkError: the topic cannot be read.
    """
    path = Path(source)
    if path.exists():
        try:
            return str(path), read_offsets(path.read_bytes())
        except NotAnOffsetFileError as error:
            raise ConfigError([f"{path}: is not an offset file of Debezium's engine: {error}"]) from None
        except OSError as error:
            raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    if "/" in source:
        raise ConfigError([f"{source}: there is no such file"])
    ends = client.ends(source)
    if not ends:
        raise ConfigError([f"{source}: there is neither a file nor a topic of this name"])
    found: dict[bytes, bytes | None] = {}
    begins = client.begins((source, partition) for partition, _ in ends)
    for partition, end in ends:
        begin = begins.get((source, partition), 0)
        for message in client.read_range(source, partition, begin, end) if begin < end else ():
            if message.key() is not None:
                found[message.key()] = message.value()
    return f"topic {source}", found


def _history_end(config: ConnectorConfig, client: KafkaClient) -> HistoryEnd:
    server, file = config.identity.topic_prefix, config.history.file
    if file is None:
        topic = TopicNames(config).schema_history
        if not client.ends(topic):
            raise SchemaHistoryError(
                f"there is no topic {topic}",
                hint="Set schema.history.internal.kafka.topic as the Debezium connector has it.",
            )
        return end_of((value for _, value in client.read_all(topic) if value), f"topic {topic}", server)
    kept = kept_file(file)
    path = kept if kept.exists() else file
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SchemaHistoryError(
            f"{path} cannot be read: {error.strerror}",
            hint="Set schema.history.internal.file.filename as the Debezium connector has it.",
        ) from None
    return end_of(filter(None, lines), f"file {path}", server)


def kept_file(file: Path) -> Path:
    """Where Debezium's history is kept, which ours replaces."""
    return file.with_name(file.name + _KEPT)


def keep_file(file: Path | None) -> None:
    """Copy Debezium's history file to `kept_file`, unless an import that was killed did, or there is no file (`file` None: the
    history is in Kafka). Raises OSError."""
    if file is None:
        return
    kept = kept_file(file)
    if file.exists() and not kept.exists():
        partly = kept.with_name(kept.name + ".part")
        shutil.copyfile(file, partly)
        partly.replace(kept)


def _structures(config: ConnectorConfig, end: HistoryEnd, scn: int) -> tuple[list[TableSchema], int]:
    """The captured tables of Debezium's history, in the order of their names: as the dictionary has them, unless they
    may have had DDL after the SCN or are gone; and the number of those. Connects to the database for that."""
    wanted = table_filter(config)
    ids = sorted(table for table in end.tables if wanted.includes(table.schema, table.table))
    with closing(connect(config.database, "pdb")) as connection:
        try:
            altered = set(read_altered(connection, ids, scn, margin_seconds=5))
        except SnapshotTooOldError:
            altered = set(ids)
        comments = config.messages.include_schema_comments
        present = {schema.id: schema for schema in read_tables(connection, ids, comments=comments)}
    of_history = [table for table in ids if table in altered or table not in present]
    return [
        with_stored(end.tables[table], present.get(table)) if table in of_history else present[table] for table in ids
    ], len(of_history)
