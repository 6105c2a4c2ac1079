"""`minercdc offsets import|set|reset`: another offset for a connector that is stopped.

    look     what is stored, what would be, the redo for it; nothing is changed
    store    structures and offset in one commit of the sink, as the connector itself commits; a kill before it leaves what was

A connector that runs is refused where `refuse_running` sees it. Another process ends at its next commit: storing claims the
connector's name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from minercdc.capture.registry import adopt
from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, SnapshotTooOldError, SourceError
from minercdc.messages.topics import TopicNames
from minercdc.operate.offsets.read import KnownTable, StoredOffset, delivered_scn, from_document, read_stored
from minercdc.operate.signals.repeated import repeated_lines
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.tables import read_altered, read_tables
from minercdc.oracle.present_scn import present_scn
from minercdc.oracle.scn import scn_of_time, time_of_scn
from minercdc.pipeline.databases import SourceDatabases
from minercdc.pipeline.factory import adapter_of
from minercdc.pipeline.history import schema_history
from minercdc.schema.table import TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.membership import SESSION_SECONDS, group_of
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.opening import open_sink
from minercdc.stream.contracts import OffsetSink
from minercdc.stream.offset import Offset, Position, SignalState
from minercdc.stream.process_lock import is_owned, is_running
from minercdc.values.supported import without_unsupported


@dataclass(frozen=True, slots=True)
class Repositioning:
    """A change of the stored offset that has been checked, and is not yet made.

    :param before: what is stored now, None for nothing.
    :param offset: to be stored, None: the stored one is removed.
    :param tables: structures that replace those of the schema history; None: the history stays as it is.
    :param lines: for the user: what changes, and what follows from that.
    """

    config: ConnectorConfig
    before: StoredOffset | None
    offset: Offset | None
    tables: tuple[KnownTable, ...] | None
    lines: tuple[str, ...]

    def store(self) -> None:
        """Store the offset and the structures in one commit, or remove the offset. Claims the connector's name, so that
        another process of the connector ends at its next commit. Called once.

        :raises ConfigError: the connector runs (as `refuse_running`), or its offset has changed since `lines` were written.
        :raises SinkError, SchemaHistoryError: it cannot be stored.
        """
        config = self.config
        refuse_running(config)
        client, topics = KafkaClient(config.kafka, config.topics, config.kafka_client), TopicNames(config)
        sink = open_sink(config, client, topics, Ownership(config.identity.name))
        try:
            if sink.load_offset() != (self.before.offset if self.before else None):
                raise ConfigError(
                    [f"connector {config.identity.name} has stored another offset meanwhile; nothing is changed"]
                )
            if self.offset is None:
                sink.remove_offset()
            else:
                self._store(sink, self.offset, client)
        finally:
            sink.close()

    def _store(self, sink: OffsetSink, offset: Offset, client: KafkaClient) -> None:
        history = schema_history(self.config, client, TopicNames(self.config))
        for _ in history.recover(self.before.offset.history if self.before else 0):
            pass  # it continues after what is valid
        if self.tables is not None:
            if (
                self.config.history.file is None
            ):  # a file is appended to, so that a kill leaves what the stored offset counts on
                history.forget()
            place = offset.position if offset.position is not None else {}
            for table in self.tables:
                record = history.entry(table.change(), place)
                if record is not None:
                    sink.write(record)
        sink.commit(replace(offset, history=history.mark()))


def refuse_running(config: ConnectorConfig) -> None:
    """Raise ConfigError when a process on this machine runs the connector, or one elsewhere does, or is its standby, as far as
    its consumer group shows. While that has members this waits, some seconds longer than Kafka takes to notice a killed one;
    a group that Kafka does not show, or that may not be described, counts as one without members."""
    identity = config.running_identity
    is_here = is_running(config.capture.minercdc_state_dir, config.identity.name) or (identity and is_owned(identity))
    if is_here or _has_members(config):
        raise ConfigError(
            [f"connector {config.identity.name} is running; stop it first"],
            hint="The offset can be moved only while the connector is stopped: otherwise its next delivery would match neither position.",
        )


def _has_members(config: ConnectorConfig) -> bool:
    """Whether the connector's consumer group has members for longer than Kafka counts a killed process as one: waits for that
    time, unless it has none before. False where there is no group, or Kafka does not show it."""
    if not config.sink.is_kafka or not config.kafka.minercdc_kafka_transactional:
        return False
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    until = time.monotonic() + SESSION_SECONDS + 2.0
    while client.group_members(group_of(config.identity.name)):
        if time.monotonic() > until:
            return True
        time.sleep(0.5)
    return False


def look_import(config: ConnectorConfig, file: Path) -> Repositioning:
    """Return the change that an import of an exported offset would make. Nothing is stored.

    :raises ConfigError: the file cannot be read, is no export, or is of another `topic.prefix`; its position is missing, or of
        another family of adapters; or the stored position cannot be read.
    :raises LogGapError: redo from there on is gone.
    :raises SourceError, PrerequisiteError, SinkError, SchemaHistoryError: the database, Kafka or what is stored cannot be read.
    """
    try:
        text = file.read_text()
    except (OSError, ValueError) as error:
        raise ConfigError([f"{file} cannot be read: {error}"]) from None
    name, prefix, given = from_document(text, str(file))
    if prefix != config.identity.topic_prefix:
        raise ConfigError(
            [f"{file} is of topic.prefix {prefix}, but the configuration has {config.identity.topic_prefix}"],
            hint="The two connectors write to different topics, so no topic would have all records.",
        )
    before = read_stored(config)
    adopted = adopt(given.offset, config.database.database_connection_adapter, handover_scn=None)
    assert adopted is not None
    position = _checked_position(config, adopted)
    known = {table.schema for table in before.tables().values()} if before else set()
    wanted = given.tables()
    changed = {table.schema for table in wanted.values()} != known
    lines = [f"offset of connector {name} in {file}: {_described(position, adopted)}"]
    lines += _stored_lines(config, before)
    if adopted.snapshot and adopted.position is None:
        lines.append("its initial snapshot goes on as of the same SCN")
    lines += _consequences(config, before, position.delivered_scn)
    if changed:
        lines.append(f"structures of {len(wanted)} tables are stored in the schema history, replacing those in it")
    return Repositioning(config, before, adopted, tuple(wanted.values()) if changed else None, tuple(lines))


def look_set(config: ConnectorConfig, scn: int | None, time: str | None) -> Repositioning:
    """Return the change after which the stream delivers what was committed after an SCN or a time, one of which is given.
    Nothing is stored.

    :param scn: None: the one of `time`.
    :param time: ISO 8601; UTC unless it has an offset. None: `scn` is given.
    :raises ConfigError: the initial snapshot is not complete, `time` is not ISO 8601, or the stored position cannot be read.
    :raises LogGapError: redo from there on, or of a transaction that was open there, is gone.
    :raises SourceError, PrerequisiteError: the SCN lies in the future, the time has no SCN, or the database cannot be read.
    :raises SinkError, SchemaHistoryError: what is stored cannot be read.
    """
    before = read_stored(config)
    if before is not None and before.offset.position is None and before.offset.snapshot is not None:
        raise ConfigError(
            ["the initial snapshot is not complete: it has a separate SCN"],
            hint="Let it finish; or `minercdc offsets reset CONFIG`, and start with minercdc.start.scn and snapshot.mode=no_data.",
        )
    now = _look_up(config, scn, time)
    scn = now.scn
    within = before is not None and scn <= delivered_scn(config, before.offset)
    tables, unsure = _structures_at(before if within else None, before.tables() if before else {}, now, scn)
    adapter = adapter_of(config)
    position = adapter.start_position(scn, adapter.mine_from(scn))
    offset = Offset(
        adapter=config.database.database_connection_adapter,
        position=position.to_json(),
        signals=before.offset.signals if before else SignalState(),
        suspended=before.offset.suspended if before else (),
        excluded=before.offset.excluded if before else {},
    )
    lines = [
        f"connector {config.identity.name} goes on after SCN {scn} ({now.time}); redo is read from {position}, and exists"
    ]
    lines += [*_stored_lines(config, before), *_consequences(config, before, scn)]
    if unsure:
        names = ", ".join(map(table_names(config).of, unsure))
        lines.append(
            f"DDL on {names} about then or later is not in the schema history: rows from before it may not be decodable"
        )
    return Repositioning(config, before, offset, tuple(tables), tuple(lines))


@dataclass(frozen=True, slots=True)
class _Dictionary:
    """What the database says.

    :param scn: that was wanted; `time` is its time.
    :param tables: captured ones, as they are now.
    :param altered: those that may have had DDL after the SCN.
    """

    scn: int
    time: str
    tables: list[TableSchema]
    altered: frozenset[TableId]


def _look_up(config: ConnectorConfig, scn: int | None, time: str | None) -> _Dictionary:
    wanted = None if time is None else _in_utc(time)
    databases = SourceDatabases(config, connect)
    with closing(databases.connect_first()) as connection:
        if wanted is not None:
            scn = scn_of_time(connection, wanted)
        assert scn is not None
        now = present_scn(connection)
        if scn > now:
            raise SourceError(f"SCN {scn} lies in the future; the current one is {now}")
        tables: list[TableSchema] = []
        altered: set[TableId] = set()
        with databases.places(connection) as places:
            for place in places:
                ids = place.table_ids()
                try:
                    altered |= set(read_altered(place.connection, ids, scn, margin_seconds=5))
                except SnapshotTooOldError:
                    altered |= set(ids)
                tables += read_tables(place.connection, ids, comments=config.messages.include_schema_comments)
        return _Dictionary(scn, time_of_scn(connection, scn), tables, frozenset(altered))


def look_reset(config: ConnectorConfig) -> Repositioning:
    """Return the change that removes the stored offset. Nothing is removed.

    :raises ConfigError: there is none, or its position cannot be read.
    :raises SinkError, SchemaHistoryError: what is stored cannot be read.
    """
    before = read_stored(config)
    if before is None:
        raise ConfigError([f"connector {config.identity.name} has no offset to remove"])
    mode = config.snapshot.snapshot_mode
    lines = [*_stored_lines(config, before), f"it is removed: the next start is a first start, with snapshot.mode={mode}"]
    return Repositioning(config, before, None, None, (*lines, *repeated_lines(config, before.offset.signals)))


def _structures_at(
    within: StoredOffset | None,
    newest: Mapping[TableId, KnownTable],
    now: _Dictionary,
    scn: int,
) -> tuple[list[KnownTable], list[TableId]]:
    """The structures at an SCN, and the tables of which they are not certain: for those the present structures have to do.

    The schema history knows what it has come to. After that the dictionary does, if there was no DDL since the SCN. Tables that
    only the history has keep the structure that it has, and come last.

    :param within: what is stored, if its history has come to the SCN.
    :param newest: the last structures of the history.
    """
    known = within.tables(scn) if within else {}
    found: list[KnownTable] = []
    unsure: list[TableId] = []
    for schema in now.tables:
        if (exact := known.get(schema.id)) is not None:
            found.append(exact)
            continue
        shape, last = without_unsupported(schema), newest.get(schema.id)
        if last is not None and replace(shape, version=last.schema.version) == last.schema:
            found.append(last)
            continue
        if schema.id in now.altered:
            unsure.append(schema.id)
        found.append(KnownTable(replace(shape, version=last.schema.version + 1 if last else 1), scn, 0))
    older = known if within else newest
    gone = older.keys() - {schema.id for schema in now.tables}
    return [*found, *(older[table] for table in sorted(gone))], unsure


def _checked_position(config: ConnectorConfig, offset: Offset) -> Position:
    """Where the stream goes on from."""
    saved = offset.position
    if saved is None and offset.snapshot is not None:
        saved = offset.snapshot.start
    if saved is None:
        raise ConfigError(["the exported offset has no position"])
    adapter = adapter_of(config)
    position = adapter.capture.load_position(saved)
    if gap := adapter.unreadable(position):
        raise gap
    return position


def _described(position: Position, offset: Offset) -> str:
    return f"delivered up to SCN {position.delivered_scn}, adapter {offset.adapter}"


def _stored_lines(config: ConnectorConfig, before: StoredOffset | None) -> Iterator[str]:
    if before is None:
        yield f"connector {config.identity.name} has no offset yet"
        return
    offset = before.offset
    scn = delivered_scn(config, offset)
    yield f"stored now in {before.where}: " + (f"delivered up to SCN {scn}" if scn else "the initial snapshot is under way")
    if offset.partial:
        partial = offset.partial
        yield (
            f"transaction {partial.tx_id} (commit SCN {partial.commit_scn}) is delivered only up to its change"
            f" {partial.seq}: only the stored offset can continue within it"
        )
    if offset.suspended:
        yield f"these tables remain suspended: {', '.join(table.table for table in offset.suspended)}"


def _consequences(config: ConnectorConfig, before: StoredOffset | None, scn: int) -> Iterator[str]:
    """A line about what is delivered again, or never; none when nothing is stored, the initial snapshot is under way, or
    neither is the case.

    :param scn: what was committed at or before it is not delivered from now on.
    """
    delivered = delivered_scn(config, before.offset) if before else 0
    if before is None or not delivered:
        return
    complete = max(delivered, before.offset.complete_scn - 1)
    if scn < delivered:
        yield f"delivered again: changes committed after SCN {scn}, up to SCN {delivered}"
    elif scn > complete:
        yield f"NEVER delivered: changes committed after SCN {complete}, up to SCN {scn}; only a snapshot reads those rows"


def _in_utc(time: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        raise ConfigError([f"--time: {time!r} is not an ISO 8601 time, such as 2026-11-23T05:00:00Z"]) from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
