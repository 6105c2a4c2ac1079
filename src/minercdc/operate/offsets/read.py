"""The stored offset of a connector, read without claiming the connector's name; and as a document that another place can take.

    {"kind": "minercdc-offset", "version": 1, "connector": "orders", "topic.prefix": "shop",
     "offset": {..}, "tables": [{"scn": "2000381", "time_us": 1790000000000000, "change": {..}}]}

The tables are the schema history's at the offset, so that the document is all a connector needs to go on: on this Kafka cluster,
on another one, or in files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from minercdc.capture.adapter import Adapter
from minercdc.capture.database_identity import other_pdbs
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.registry import adapter_factory, adopt
from minercdc.capture.table_selection import captured_by, table_filters, table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, LogGapError, MinerCdcError, SchemaHistoryError, SinkError
from minercdc.messages import table_changes
from minercdc.messages.topics import TopicNames
from minercdc.oracle.connect import connect, database_names, of_database
from minercdc.oracle.dictionary.captured_later import captured_later, how_to_read
from minercdc.oracle.dictionary.tables import read_table_ids
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.present_scn import not_reached, present_scn
from minercdc.oracle.scn import pdb_is_open, time_of_scn
from minercdc.pipeline.excluded_tables import follow_excluded
from minercdc.pipeline.factory import adapter_of
from minercdc.pipeline.history import schema_history
from minercdc.schema.table import TableId, TableSchema
from minercdc.sinks.json_lines import stored_lines_offset
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.sinks.segments.reader import SegmentLog
from minercdc.snapshot.initial.mode import Start, decision_of
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.json_document import member, within
from minercdc.stream.offset import Offset, Position, SnapshotState
from minercdc.stream.offset_json import RUN_NEWER, offset_from_bytes, offset_to_bytes

_KIND, _VERSION = "minercdc-offset", 1


@dataclass(frozen=True, slots=True)
class KnownTable:
    """The structure that a table has at the offset, or at an earlier SCN.

    :param scn: of the change that made it; `time_us` is its time, microseconds since the epoch.
    """

    schema: TableSchema
    scn: int
    time_us: int

    def change(self) -> SchemaChange:
        """The SchemaChange that makes the table known, as a snapshot of structures emits one."""
        return SchemaChange(self.schema.id, None, self.schema, "", Scn(self.scn), self.time_us, snapshot=True)


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """What a connector goes on from.

    :param where: place where it is stored, for messages.
    :param changes: of the schema history up to the offset, oldest first.
    """

    offset: Offset
    where: str
    changes: tuple[SchemaChange, ...]

    def tables(self, scn: int | None = None) -> dict[TableId, KnownTable]:
        """The structures at the offset; with `scn`, those of an SCN before it (its own changes included), as far as the history
        goes back. Each call makes them from `changes` again."""
        found: dict[TableId, KnownTable] = {}
        for change in self.changes:
            if scn is not None and change.scn > scn:
                continue
            if change.before is not None and (change.after is None or change.after.id != change.before.id):
                found.pop(change.before.id, None)
            if change.after is not None:
                found[change.after.id] = KnownTable(change.after, change.scn, change.time_us)
        return found


def connector_topics(config: ConnectorConfig, stored: StoredOffset | None) -> TopicNames:
    """The names of all topics of a connector as it would go on from what is stored: the captured tables that it knows have
    theirs. Raises ConfigError as `TopicNames` and `TableFilter.includes`."""
    if stored is None:
        return TopicNames(config)
    suspended = {entry.table for entry in stored.offset.suspended if entry.gives_up_topic}
    named = table_names(config)
    names = TopicNames(config, lambda table: named.of(table) in suspended)
    filters = table_filters(config)
    known = (one for one in stored.tables() if one.database in filters)
    captured = (one for one in known if filters[one.database].includes(one.schema, one.table))
    names.claim(one for one in captured if named.of(one) not in suspended)
    return names


def read_stored(config: ConnectorConfig) -> StoredOffset | None:
    """The offset that the connector stored last, with its schema history; None when it has none. Nothing is changed.

    :raises ConfigError: as `TopicNames`.
    :raises SchemaHistoryError: the offset or the schema history cannot be read.
    :raises SinkError: Kafka, or the sink's files, cannot be read.
    """
    client, topics = KafkaClient(config.kafka, config.topics, config.kafka_client), TopicNames(config)
    offset, where = _last_offset(config, client, topics)
    if offset is None:
        return None
    return StoredOffset(offset, where, tuple(schema_history(config, client, topics).recover(offset.history)))


def _last_offset(config: ConnectorConfig, client: KafkaClient, topics: TopicNames) -> tuple[Offset | None, str]:
    """The offset, None when there is none, and the place where it is stored."""
    name = config.identity.name
    if config.sink.debezium_sink_type == "segments":
        stored = SegmentLog(config.sink.directory).last_offset()
        where = str(config.sink.directory.absolute())
        return (None if stored is None else offset_from_bytes(stored.encode(), where)), where
    if config.sink.debezium_sink_type == "json":
        file = config.sink.beside(config.capture.minercdc_state_dir, name)
        return stored_lines_offset(file), f"{file.absolute()}.offset"
    there = bool(client.ends(topics.offsets))
    return (stored_offset(client, topics, name) if there else None), f"topic {topics.offsets}, key {name}"


def stored_position(config: ConnectorConfig) -> Position | None:
    """Where the connector's stream goes on from, as it stored it last (`position_of`); None when nothing is stored. Nothing is
    changed. Raises as `read_stored` and `position_of`."""
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    offset, _ = _last_offset(config, client, TopicNames(config))
    return None if offset is None else position_of(config, offset)


def position_of(config: ConnectorConfig, offset: Offset) -> Position | None:
    """Where the stream goes on from: the position, or the start that a snapshot under way has noted; None for neither. Raises
    ConfigError when it cannot be read, or is of an unknown adapter."""
    saved = offset.position if offset.position is not None else offset.snapshot.start if offset.snapshot else None
    return None if saved is None else adapter_of_offset(config, offset).capture.load_position(saved)


def offset_findings(config: ConnectorConfig) -> Iterator[Finding]:
    """What a start would have against the stored offset before it connects to the database, at most one finding: it cannot be
    read, is of other pluggable databases than are captured now, or of an adapter whose positions this one cannot go on from, without
    `minercdc.handover.scn`. Where Kafka or the files cannot be reached it is not examined, which is a finding, too. None without an
    offset.

    :raises ConfigError: as `TopicNames`, and for an unknown adapter.
    """
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    try:
        offset, where = _last_offset(config, client, TopicNames(config))
    except SchemaHistoryError as error:
        fix = error.hint or "Take a new snapshot: minercdc offsets reset CONFIG"
        yield Finding("stored-offset", Severity.MISSING, error.message, fix)
        return
    except SinkError as error:
        problem = f"stored-offset: not examined: {error.message}"
        yield Finding("stored-offset", Severity.UNKNOWN, problem, error.hint or "Try it again.")
        return
    family = adapter_factory(config.database.database_connection_adapter).family
    if offset is None:
        return
    try:
        if adapter_factory(offset.adapter).family != family:
            adopt(offset, config.database.database_connection_adapter, handover_scn=config.capture.minercdc_handover_scn)
            return
        capture = adapter_of(config).capture
        for saved in (offset.position, offset.snapshot.start if offset.snapshot else None):
            if saved is not None:
                capture.load_position(saved)
    except ConfigError as error:
        yield Finding("stored-offset", Severity.MISSING, f"{where}: {'; '.join(error.problems)}", error.hint)


def position_findings(config: ConnectorConfig) -> Iterator[Finding]:
    """What a start would have against the stored offset once it asks the database, at most one finding: it is of another database,
    or the redo that it goes on from is gone, or that from `minercdc.handover.scn` on; advice where `snapshot.mode` takes a new snapshot then. None where `offset_findings`
    has one. Where the database does not answer it is not examined, which is a finding, too. Opens sessions, and closes them.

    :raises ConfigError: as `offset_findings`.
    """
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    try:
        offset, where = _last_offset(config, client, TopicNames(config))
        if offset is None or (gap := _unreached(config, offset)) is None:
            return
    except (ConfigError, SchemaHistoryError, SinkError):
        return
    except MinerCdcError as error:
        problem = f"stored-offset: not examined: {error.message}"
        yield Finding("stored-offset", Severity.UNKNOWN, problem, error.hint or "Try it again.")
        return
    again = (
        offset.position is not None
        and not _is_handover(config, offset)
        and decision_of(config.snapshot)(Start(True, False)).again_on_data_error
    )
    problem = f"{where}: {gap.message}" + ("; the next start takes a new snapshot" if again else "")
    yield Finding("stored-offset", Severity.ADVICE if again else Severity.MISSING, problem, gap.hint)


def unread_findings(config: ConnectorConfig) -> Iterator[Finding]:
    """Advice for each captured table whose rows of before nothing would read, as it was listed after the snapshot, or excluded for a
    time: the command that has them read. None where the start takes a snapshot, or no rows are read of any table, or the adapter finds new tables by itself; nor
    where `offset_findings` or `position_findings` say what is wrong. Opens sessions, and closes them.

    :raises ConfigError: as `offset_findings`.
    :raises SourceError, PrerequisiteError: the dictionary cannot be read.
    """
    factory = adapter_factory(config.database.database_connection_adapter)
    if config.snapshot.snapshot_mode in ("no_data", "recovery") or not factory.reads_redo:
        return
    try:
        stored = read_stored(config)
        if stored is None or stored.offset.position is None or decision_of(config.snapshot)(Start(True, False)).data:
            return
        scn = delivered_scn(config, stored.offset)
    except (ConfigError, SchemaHistoryError, SinkError):
        return
    known = [one.schema for one in stored.tables().values()]
    for name, wanted in table_filters(config).items():
        with closing(connect(of_database(config.database, name), "pdb")) as connection:
            if of_database(config.database, name).database_pdb_name and not pdb_is_open(connection):
                continue
            for table in captured_later(connection, read_table_ids(connection, wanted, name), known, scn):
                problem = f"{table_names(config).of(table)} is newly captured: its existing rows are not published, only their changes"
                yield Finding("captured-later", Severity.ADVICE, problem, how_to_read(table))
    if config.incremental.minercdc_snapshot_added_tables == "none":
        captured = captured_by(table_filters(config))
        for one in follow_excluded(stored.offset, [schema.id for schema in known], captured, table_names(config).of)[1]:
            yield Finding("captured-later", Severity.ADVICE, one.problem, how_to_read(one.table))


def _unreached(config: ConnectorConfig, offset: Offset) -> MinerCdcError | None:
    """Why the stream, or an unfinished snapshot, cannot go on from the offset in this database, or from `minercdc.handover.scn` with
    the offset of another family; None when it can, and where `offset_findings` says that it cannot."""
    if _is_handover(config, offset):
        return _handover_gap(config, offset)
    saved = offset.position if offset.position is not None else offset.snapshot.start if offset.snapshot else None
    if saved is None:
        return None
    adapter = adapter_of(config)
    return _gap(config, adapter, adapter.capture.load_position(saved), offset.snapshot)


def _is_handover(config: ConnectorConfig, offset: Offset) -> bool:
    return adapter_factory(offset.adapter).family != adapter_factory(config.database.database_connection_adapter).family


def _handover_gap(config: ConnectorConfig, offset: Offset) -> MinerCdcError | None:
    scn = config.capture.minercdc_handover_scn
    if scn is None or offset.position is None:
        return None
    adapter = adapter_of(config)
    gap = _gap(config, adapter, adapter.start_position(scn, scn), None)
    if gap is None:
        return None
    hint = (
        f"Set it to an SCN up to which {offset.adapter} has delivered every commit, and from which on redo exists; if there is none,"
        " take a new snapshot: minercdc offsets reset CONFIG"
    )
    return LogGapError(f"minercdc.handover.scn={scn}: {gap.message}", hint=hint)


def _gap(
    config: ConnectorConfig, adapter: Adapter, position: Position, snapshot: SnapshotState | None
) -> MinerCdcError | None:
    scn = max(position.delivered_scn, snapshot.scn if snapshot else 0)
    with closing(connect(of_database(config.database, database_names(config.database)[0]), "pdb")) as connection:
        gap = not_reached(connection, scn) or adapter.unreadable(position)
    databases = {name: of_database(config.database, name) for name in database_names(config.database)}
    return gap or other_pdbs({name: partial(connect, database, "pdb") for name, database in databases.items()}, position)


def adapter_of_offset(config: ConnectorConfig, offset: Offset) -> Adapter:
    """The adapter that made the position, which may be another one than the configuration's. Raises ConfigError for an unknown
    one."""
    adapter_factory(offset.adapter)
    database = config.database.model_copy(update={"database_connection_adapter": offset.adapter})
    return adapter_of(replace(config, database=database))


def delivered_scn(config: ConnectorConfig, offset: Offset) -> int:
    """Highest SCN of what is delivered, 0 during the initial snapshot. Raises ConfigError when the position cannot be read, or is
    of an unknown adapter."""
    if offset.position is None:
        return 0
    return adapter_of_offset(config, offset).capture.load_position(offset.position).delivered_scn


def report(config: ConnectorConfig, stored: StoredOffset) -> Iterator[tuple[str, str]]:
    """Pairs for the user: (what, how it is). The database says the times, and whether the redo is there; it need not answer.

    :raises ConfigError: the position cannot be read, or is of an unknown adapter.
    """
    offset = stored.offset
    yield "stored in", stored.where
    yield "adapter", offset.adapter
    adapter = adapter_of_offset(config, offset)
    if (position := position_of(config, offset)) is not None:
        yield "reads on from", str(position)
        if offset.position is not None:
            yield "delivered up to", f"SCN {position.delivered_scn}"
        if isinstance(position, LogMinerPosition):
            for kept in position.kept:
                yield "kept transaction", f"{kept}, {kept.bytes} bytes"
            if position.kept:
                where = f"in {config.capture.minercdc_state_dir.absolute()}"
                if topic := TopicNames(config).open_transactions:
                    where += f" and topic {topic}"
                yield "kept rows", f"{where}: if they do not exist, redo is read from the start of these transactions"
        yield "database", _of_database(config, adapter, position, offset.snapshot)
    if offset.partial:
        partial = offset.partial
        yield (
            "split transaction",
            f"{partial.tx_id}, commit SCN {partial.commit_scn}, delivered up to its change {partial.seq}",
        )
    yield "initial snapshot", _snapshot(offset.snapshot)
    for snapshot in offset.signals.snapshots:
        kind = "blocking" if snapshot.blocking else "incremental"
        yield f"{kind} snapshot", f"{snapshot.id}: {', '.join(table.table for table in snapshot.tables)} to be read"
    for table in offset.suspended:
        yield "suspended", f"{table.table} since SCN {table.since_scn}: {table.reason}"
    yield "schema history", f"{len(stored.tables())} tables"


def _of_database(config: ConnectorConfig, adapter: Adapter, position: Position, snapshot: SnapshotState | None) -> str:
    try:
        with closing(connect(of_database(config.database, database_names(config.database)[0]), "pdb")) as connection:
            now = present_scn(connection)
            times = (
                f"SCN {position.delivered_scn} was at {time_of_scn(connection, position.delivered_scn)}; now is SCN {now}"
            )
        gap = _gap(config, adapter, position, snapshot)
    except MinerCdcError as error:
        return f"not asked: {error.message}"
    return f"{times}; " + ("all redo that is needed exists" if gap is None else f"CANNOT GO ON: {gap.message}. {gap.hint}")


def _snapshot(state: SnapshotState | None) -> str:
    if state is None or state.completed:
        return "complete, or none was needed"
    done = sum(table.completed for table in state.tables)
    rows = sum(table.rows for table in state.tables)
    return f"under way as of SCN {state.scn}: {done} of {len(state.tables)} tables, {rows} rows"


def to_document(config: ConnectorConfig, stored: StoredOffset) -> str:
    """The document, indented JSON; the same for the same state."""
    tables = [
        {"scn": str(one.scn), "time_us": one.time_us, "change": table_changes.remembered(one.change())[0]}
        for _, one in sorted(stored.tables().items())
    ]
    document = {
        "kind": _KIND,
        "version": _VERSION,
        "connector": config.identity.name,
        "topic.prefix": config.identity.topic_prefix,
        "offset": json.loads(offset_to_bytes(replace(stored.offset, history=None))),
        "tables": tables,
    }
    return json.dumps(document, indent=2)


def from_document(text: str, where: str) -> tuple[str, str, StoredOffset]:
    """Name of the connector, its topic.prefix, and the offset of a document.

    :param where: the document comes from, for messages.
    :raises ConfigError: it is none of ours, or of another version.
    """
    hint = "It must be the output of `minercdc offsets export`."
    try:
        document = _json(text)
        if (kind := member(document, "kind", str)) != _KIND:
            raise ValueError(f"kind is {kind!r}")
        if (version := member(document, "version", int)) != _VERSION:
            raise ValueError(f"version {version} is not {_VERSION}: another release of minercdc wrote it")
        name, prefix = member(document, "connector", str), member(document, "topic.prefix", str)
        offset = offset_from_bytes(json.dumps(member(document, "offset", dict)).encode(), where)
        return name, prefix, StoredOffset(offset, where, tuple(_changes(member(document, "tables", list))))
    except SchemaHistoryError as error:
        raise ConfigError([error.message], hint=RUN_NEWER if error.hint == RUN_NEWER else hint) from None
    except ValueError as error:
        raise ConfigError([f"{where} is not an exported offset: {error}"], hint=hint) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def _changes(items: list[Any]) -> Iterator[SchemaChange]:
    for number, item in enumerate(items):
        with within(f"tables[{number}]"):
            change, scn, time_us = member(item, "change", dict), member(item, "scn", str, int), member(item, "time_us", int)
            with within("change"):
                schema = table_changes.table_of(change)
            yield KnownTable(schema, int(scn), time_us).change()
