"""`minercdc verify`: compares what the table topics say with Oracle `AS OF` the newest SCN that is complete in Kafka.

    offset         the SCN up to which every commit is delivered; then the ends of the partitions, as `lake.stream.marks` reads them
    topic rows     the last record of each row up to that SCN, in a file
    Oracle's rows  read as a snapshot reads them, encoded as the connector encodes them, looked up in the file

A value is compared where redo or the snapshot gave it, and where its column has had the same type since, VARCHAR2 and RAW of any
length: a column that was added after the last change of a row is not in that row's record.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import oracledb

from minercdc.capture.table_selection import table_filters
from minercdc.config.load import ConnectorConfig
from minercdc.errors import DecodeError, MinerCdcError, PrerequisiteError, SourceError, VerificationError
from minercdc.lake.maintain.verify import SHOWN, Difference, Report, TableReport
from minercdc.lake.source.segment_history import FileHistory
from minercdc.lake.stream.change_log import placeholder_forms
from minercdc.lake.stream.marks import Ends, topic_pattern
from minercdc.lake.table.history import LakeHistory, TableHistories, TableHistory, TableVersion
from minercdc.messages.configured import envelope_encoder, key_columns
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER, OtherEvents
from minercdc.messages.envelope.table_format import ROWID_KEY
from minercdc.messages.formats.connect import payload_of
from minercdc.messages.formats.reading import record_readers
from minercdc.messages.topics import TopicNames
from minercdc.oracle.connect import connect, of_database
from minercdc.oracle.dictionary.captured_later import how_to_read
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.schema.name_adjustment import field_name
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.sinks.opening import need_kafka
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import ChangeEvent, Op, Scn, SnapshotMark
from minercdc.stream.offset import ChunkProgress, Offset
from minercdc.stream.temporary import temporary_directory
from minercdc.values.supported import without_unsupported

Image: TypeAlias = Mapping[str, Any]

# ORA-01555, ORA-01466, a table that Oracle does not show, a value that fits no record, a record that is not ours.
_OF_ONE_TABLE = (SourceError, PrerequisiteError, DecodeError, VerificationError)
_BATCH = 1000
_OF_ANY_LENGTH = ("VARCHAR2", "NVARCHAR2", "RAW")  # MODIFY of the length changes no value
_SHOWN_CHARACTERS = 80
_TABLE = (
    "CREATE TABLE rows (key TEXT PRIMARY KEY, commit_scn INTEGER, seq INTEGER, scn INTEGER, row_id TEXT, image TEXT,"
    " seen INTEGER DEFAULT 0) WITHOUT ROWID"
)
# One UPDATE may shift keys (1 to 2, 2 to 3): then key 2 is deleted, as that of the second row, after it was given to the first.
_PUT = (
    "INSERT INTO rows (key, commit_scn, seq, scn, row_id, image) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " commit_scn = excluded.commit_scn, seq = excluded.seq, scn = excluded.scn, row_id = excluded.row_id, image = excluded.image"
    # LogMiner does not know the ROWID of an INSERT with large values.
    " WHERE NOT (excluded.image IS NULL AND excluded.commit_scn = rows.commit_scn AND"
    " coalesce(excluded.row_id <> rows.row_id, false))"
)
# Records without a key are in any partition.
_PUT_LATER = f"{_PUT} AND (excluded.commit_scn, excluded.seq) >= (rows.commit_scn, rows.seq)"


def verify(
    config: ConnectorConfig,
    *,
    table: str | None = None,
    done: Callable[[TableReport, int], None] = lambda _report, _total: None,
) -> Report:
    """Compare the topics of all captured tables, or of one, with Oracle.

    :param table: see `TableNames.given`; None for all.
    :param done: called after each table, with its report and the number of tables that are compared.
    :raises ConfigError: as `need_kafka`; or a record key, a pattern or a certificate cannot be used.
    :raises LakeError: records are in a form that is not read back.
    :raises VerificationError: the connector has no offset, or one of other pluggable databases, has not completed its initial
        snapshot, or captures no such table.
    :raises MinerCdcError: Oracle, Kafka or the schema history cannot be read.
    """
    need_kafka(config, "`minercdc verify`")
    client = KafkaClient(config.kafka, config.topics, config.kafka_client)
    topics = TopicNames(config)
    offset = _stored(config, client, topics)
    ends = client.all_ends(re.compile(topic_pattern(config)))
    history = LakeHistory(config, client) if config.history.file is None else FileHistory(config, lambda: offset)
    history.refresh()
    with ExitStack() as stack:
        wanted: list[tuple[oracledb.Connection, TableId]] = []
        for database, captured in table_filters(config).items():
            with _named(database, config):
                connection = stack.enter_context(closing(connect(of_database(config.database, database))))
                ids = read_table_ids(connection, captured, database)
            wanted += [(connection, one) for one in ids if table is None or table in history.names.given(one)]
        if table is not None and not wanted:
            raise VerificationError(f"{table} is not among the captured tables")
        if not wanted:
            raise VerificationError(
                "no table is captured: the include and exclude lists select no table that the user can see",
                hint="Correct schema.include.list or table.include.list, or grant SELECT, FLASHBACK on the tables.",
            )
        comparison = _Comparison(config, client, topics, offset, ends, history)
        reports = []
        for connection, one in sorted(wanted, key=lambda found: found[1]):
            reports.append(comparison.compare(connection, one))
            done(reports[-1], len(wanted))
    return Report(offset.complete_scn, reports)


def _stored(config: ConnectorConfig, client: KafkaClient, topics: TopicNames) -> Offset:
    offset = stored_offset(client, topics, config.identity.name) if client.ends(topics.offsets) else None
    if offset is None:
        raise VerificationError(
            f"topic {topics.offsets} has no offset of connector {config.identity.name}", hint="Start it: minercdc run CONFIG"
        )
    pdbs = (offset.position or {}).get("pdbs")
    of_several = list(map(str, pdbs)) if isinstance(pdbs, list) else []
    if offset.position is not None and bool(of_several) != config.database.has_several_pdbs:
        place = f"the pluggable databases {', '.join(of_several)}" if of_several else "a single database"
        raise VerificationError(
            f"the offset of connector {config.identity.name} is of {place}, and database.pdb.name names others",
            hint="Compare with the configuration that the connector runs with.",
        )
    if not offset.complete_scn:
        raise VerificationError("the initial snapshot is not complete yet", hint="Try again once the connector streams.")
    return offset


@contextmanager
def _named(database: str, config: ConnectorConfig) -> Iterator[None]:
    """A context in which errors get the name of the pluggable database before their message, where several are captured."""
    try:
        yield
    except MinerCdcError as error:
        if config.database.has_several_pdbs and database not in error.message:
            error.message = f"{database}: {error.message}"
        raise


class _Comparison:
    """Compares tables with their topics at one SCN, that of the offset, up to the given ends of the topics.

    :raises ConfigError: as `record_readers`.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        client: KafkaClient,
        topics: TopicNames,
        offset: Offset,
        ends: Ends,
        history: TableHistories,
    ) -> None:
        self._config = config
        self._client = client
        self._scn = offset.complete_scn
        self._suspended = {entry.table: entry.reason for entry in offset.suspended}
        self._ends = ends
        self._history = history
        self._key_columns = key_columns(config.filters)
        self._placeholders = placeholder_forms(config.values)
        self._field_name = field_name(config.values.field_name_adjustment_mode)
        self._read_key, self._read_value = record_readers(config)
        self._encoder = envelope_encoder(config, topics, OtherEvents(schema_changes=False))

    def compare(self, connection: oracledb.Connection, table: TableId) -> TableReport:
        """The report of one table. What keeps that table from being compared is in the report, errors of Oracle and of
        its records, too."""
        report = TableReport(self._history.names.of(table))
        known = self._history.find(report.name)
        if report.name in self._suspended:
            report.failure = f"it is suspended: {self._suspended[report.name]}"
        elif reason := self._history.shared(report.name):
            report.failure = reason
        elif known is None or not known.exists_at(self._scn):
            report.failure = f"the connector's schema history does not contain it; to read its rows: {how_to_read(table)}"
        elif known.renamed_from:
            report.failure = "it was renamed, and its older rows are in the topic of the earlier name"
        else:
            try:
                self._compare_existing(connection, known, table, report)
            except _OF_ONE_TABLE as error:
                report.failure = error.message
        return report

    def _compare_existing(
        self, connection: oracledb.Connection, known: TableHistory, table: TableId, report: TableReport
    ) -> None:
        found = read_tables(connection, [table])
        if not found:
            report.failure = "Oracle no longer has it"
            return
        with temporary_directory("minercdc-verify-") as directory:
            self._compare(connection, known, without_unsupported(found[0]), Path(directory) / "rows.sqlite", report)

    def _compare(
        self, connection: oracledb.Connection, table: TableHistory, schema: TableSchema, file: Path, report: TableReport
    ) -> None:
        versions = _Versions(table, self._scn, self._key_columns(schema), schema, self._field_name)
        with closing(sqlite3.connect(file, isolation_level=None)) as rows:
            rows.execute("PRAGMA journal_mode = OFF")
            rows.execute("PRAGMA synchronous = OFF")
            rows.execute(_TABLE)
            self._fold(table, versions, rows)
            for key, row_id, image in self._oracle(connection, schema, versions):
                report.rows += 1
                if details := self._differences(rows, versions, key, image):
                    _add(report, versions.shown(key) if versions.has_key else f"ROWID {row_id}", details)
            for key, text in rows.execute("SELECT key, image FROM rows WHERE NOT seen AND image IS NOT NULL"):
                report.rows += 1
                shown = _short(json.loads(text))
                _add(
                    report, versions.shown(key) if versions.has_key else f"ROWID {key}", [f"Oracle lacks this row: {shown}"]
                )

    def _fold(self, table: TableHistory, versions: _Versions, rows: sqlite3.Connection) -> None:
        """Put the last record of each row up to the SCN into the file `rows`, a deleted row with image NULL."""
        since = max([0, *(scn for scn in (*table.created, *table.truncated) if scn <= self._scn)])
        put = _PUT if versions.has_key else _PUT_LATER
        for (topic, partition), end in self._ends.items():
            if topic != table.topic or not end:
                continue
            begin = self._client.first_offset(topic, partition=partition)
            batch: list[tuple[Any, ...]] = []
            for message in self._client.read_range(topic, partition, begin, end) if begin < end else ():
                if (row := self._row(message, versions, since)) is not None:
                    batch.append(row)
                if len(batch) == _BATCH:
                    rows.executemany(put, batch)
                    batch.clear()
            rows.executemany(put, batch)

    def _row(self, message: Any, versions: _Versions, since: int) -> tuple[Any, ...] | None:
        """What is kept of a record; None for a tombstone, a TRUNCATE, a later commit, or a row that DDL removed."""
        if message.value() is None:
            return None
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        try:
            envelope = self._read_value(message.value())
            source, op = envelope["source"], envelope["op"]
            scn, commit_scn = int(source["scn"]), int(source.get("commit_scn") or source["scn"])
            key = self._read_key(message.key()) if message.key() is not None else {}
            if op == "t" or commit_scn > self._scn or scn < since:
                return None
            image = envelope["before" if op == "d" else "after"]
            identity = versions.identity(scn, key, image, source.get("row_id"))
            kept = None if op == "d" else json.dumps(_held(image, message))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VerificationError(
                f"{where}: the record is not a change event of minercdc ({error!r})",
                hint="Other programs must not write to this topic.",
            ) from None
        return identity, commit_scn, source.get("txSeq") or 0, scn, source.get("row_id"), kept

    def _oracle(
        self, connection: oracledb.Connection, schema: TableSchema, versions: _Versions
    ) -> Iterator[tuple[str, str, Image]]:
        """(identity, ROWID, image) of Oracle's rows as of the SCN."""
        scan = Scan(schema, self._scn, self._config.snapshot.snapshot_fetch_size, lobs=self._config.capture.lob_enabled)
        for batch in scan.batches(connection, ChunkProgress()):
            for row_id, row in batch.convert(batch.rows):
                event = ChangeEvent(
                    Op.READ, schema, None, row, Scn(self._scn), 0, None, 0, row_id=row_id, snapshot=SnapshotMark.TRUE
                )
                (record,) = self._encoder.encode(event)
                assert record.value is not None
                image = json.loads(payload_of(record.value))["after"]
                key = json.loads(payload_of(record.key)) if record.key is not None else {}
                yield versions.identity(self._scn, key, image, row_id), row_id, image

    def _differences(self, rows: sqlite3.Connection, versions: _Versions, key: str, image: Image) -> list[str]:
        found = rows.execute("SELECT scn, image FROM rows WHERE key = ? AND image IS NOT NULL", [key]).fetchone()
        if found is None:
            return [f"the topic lacks this row: {_short(image)}"]
        rows.execute("UPDATE rows SET seen = 1 WHERE key = ?", [key])
        theirs = json.loads(found[1])
        return [
            f"{name}: Oracle {_short(image[name])}, topic {_short(theirs[older])}"
            for name, older in versions.comparable(found[0]).items()
            if name in image and older in theirs and image[name] != theirs[older] and not self._is_unknown(theirs[older])
        ]

    def _is_unknown(self, value: object) -> bool:
        return isinstance(value, str) and value in self._placeholders


class _Versions:
    """The columns of a table over its versions.

    :param scn: that the table is compared at.
    :param key: positions of the record key's columns in `schema`, which is the table as it is now.
    :param name_of: column -> field of a record.
    """

    def __init__(
        self, table: TableHistory, scn: int, key: Sequence[int], schema: TableSchema, name_of: Callable[[str], str]
    ) -> None:
        self._table = table
        self._name_of = name_of
        self._newest = table.version_at(scn)
        self._key = [schema.columns[i].name for i in key]
        self._comparable: dict[int, dict[str, str]] = {}

    @property
    def has_key(self) -> bool:
        return bool(self._key)

    def comparable(self, scn: int) -> Mapping[str, str]:
        """Name of each field -> its name in a record of this SCN; without columns that were missing, or of another type, then."""
        version = self._table.version_at(scn)
        if version.since not in self._comparable:
            same = _same_columns(version, self._newest)
            self._comparable[version.since] = {self._name_of(name): self._name_of(older) for name, older in same.items()}
        return self._comparable[version.since]

    def identity(self, scn: int, key: Image, image: Image | None, row_id: str | None) -> str:
        """Text that is the same in all records of a row: a JSON array of the key's values; without a key the ROWID, ''
        when the record has none."""
        if not self._key:
            return str(row_id or key.get(ROWID_KEY) or "")
        names = _names_in(self._table.version_at(scn), self._newest)
        values = []
        for name in self._key:
            older = self._name_of(names[name])
            values.append(key[older] if older in key else (image or {})[older])
        return json.dumps(values)

    def shown(self, identity: str) -> str:
        """An identity as `COLUMN=VALUE, ..`, for people. Only for a table with a key."""
        return ", ".join(f"{name}={value}" for name, value in zip(self._key, json.loads(identity), strict=True))


def _held(image: Image, message: Any) -> Image:
    """An image without the columns that are null since redo does not hold them. Raises ValueError and the like for another header."""
    named = next((value for name, value in message.headers() or () if name == UNAVAILABLE_HEADER), None)
    if named is None:
        return image
    silent = frozenset(json.loads(named))
    return {name: value for name, value in image.items() if name not in silent}


def _names_in(version: TableVersion, newest: TableVersion) -> dict[str, str]:
    """Name of each column of the newest version -> its name in another one; its own where the other one lacks it."""
    older = {field.id: field.name for field in version.fields}
    return {field.name: older.get(field.id, field.name) for field in newest.fields}


def _same_columns(version: TableVersion, newest: TableVersion) -> dict[str, str]:
    """Name of each column of the newest version -> its name in another one, where a value that did not change has the same text in
    records of both."""
    older = {field.id: field.column for field in version.fields}
    found = {}
    for field in newest.fields:
        column = older.get(field.id)
        if column is not None and _form(column) == _form(field.column):
            found[field.name] = column.name
    return found


def _form(column: Column) -> tuple[str, int | None, int | None]:
    """What a value's text depends on: type, length or precision, and scale."""
    length = None if column.type_name in _OF_ANY_LENGTH else column.length
    return column.type_name, length, column.scale


def _add(report: TableReport, key: str, details: Sequence[str]) -> None:
    report.differences += 1
    if len(report.shown) < SHOWN:
        report.shown.append(Difference(key, tuple(details)))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}.. ({len(text)} characters)"
