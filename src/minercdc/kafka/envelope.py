"""Turns events into records: Debezium's envelopes, tombstones, key changes, schema-change records.

vanished                delete, tombstone: the row was gone when a suspended table was read again; only its key is known
insert, read            one record
update, same key        one record
update of a key column  delete of the old key, its tombstone, create of the new key
delete                  the delete, its tombstone
left out                a dead letter, when there is a topic for them
truncate                one record with a null key

Tombstones come only with `tombstones.on.delete`, and never for a null key. Row changes and truncates of `skipped.operations` have
no record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc import native
from minercdc.config.sections import TableFilterConfig, ValueConfig
from minercdc.contracts import EncodedRun, Record
from minercdc.errors import ConfigError, DecodeError, MissingKeyError, SchemaMismatchError, ValueDecodeError
from minercdc.events import (
    UNAVAILABLE,
    ChangeEvent,
    ChangeRun,
    Event,
    Notification,
    Op,
    Row,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionMark,
    UndecodableRow,
    VanishedRow,
)
from minercdc.formats.connect import numbered
from minercdc.kafka import connect_schema, table_changes
from minercdc.kafka.column_changes import TEXTS, ColumnChanges, changed, unavailable
from minercdc.kafka.dead_letter import dead_letter
from minercdc.kafka.defaults import column_default
from minercdc.kafka.name_adjustment import field_name, schema_name
from minercdc.kafka.notification import NotificationEncoder
from minercdc.kafka.row_format import NO_TEXT, NO_TRANSACTION, Frame, PrintedColumn, PrintRecord, compile_record
from minercdc.kafka.run_print import table_print
from minercdc.kafka.source_block import SourceBlock, TablePieces
from minercdc.kafka.topics import TopicNames
from minercdc.kafka.transaction_metadata import TransactionEncoder
from minercdc.kafka.vanished import members, print_vanished
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.transaction_counts import TransactionCounts
from minercdc.values import raw
from minercdc.values.codec import Codec, FieldType, ValueHandling, codec_for, is_supported

log = logging.getLogger(__name__)

ROWID_KEY = "ROWID"
RESELECT_HEADER = "__minercdc.reselect.scn"
Headers: TypeAlias = tuple[tuple[str, bytes], ...]
# Not looked up in the enum for every row: that takes longer than the comparison.
_CREATE, _UPDATE, _DELETE = Op.CREATE, Op.UPDATE, Op.DELETE
# Reading a clock costs little, printing it three times as much as a column: rows within this time, in ns, share it.
_MILLISECOND = 1_000_000
_BYTES = raw.TYPES | {"BLOB"}
_NO_CHANGES = ColumnChanges()
CodecOf: TypeAlias = Callable[[TableId, Column, Codec], Codec]
Published = Callable[[TableId, Column], bool]
KeyColumns = Callable[[TableSchema], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _TableFormat:
    """The compiled format of one version of a table.

    :param key: positions of the record key's columns.
    :param rowid_frame: of a key that is the row's ROWID; None for tables whose key is not.
    :param frame, columns: of values; the published columns.
    :param key_frame, key_columns: of keys.
    :param is_changed: values of some column are masked, hashed or cut.
    """

    topic: str
    key: tuple[int, ...]
    print_record: PrintRecord
    rowid_frame: Frame | None
    source: TablePieces
    frame: Frame
    columns: tuple[PrintedColumn, ...]
    key_frame: Frame
    key_columns: tuple[PrintedColumn, ...]
    is_changed: bool


class EnvelopeEncoder:
    """Encodes the events of one connector as JSON.

    :param published: whether a column of a table appears in values.
    :param key_columns: positions of a table's record key; empty for none, then `minercdc.keyless.table.key` decides between a
        null key and the ROWID.
    :param dead_letters: topic for rows that are left out, None for none.
    :param notifications: None when they are not wanted in a topic.
    :param captured: whether DDL of a table is published. DDL of the signal table updates our schema but is not published.
    :param changes: what becomes of the values and schemas of published columns.
    :param transactions: makes records of transactions' begins and ends; None for none.
    :param codec_of: the codec of a column, from the one of its type; of custom converters.
    :param counts: numbers the events of a transaction; None: envelopes have no transaction.
    :param skip_unchanged: leave out updates that change no published column.
    :param by_number: whether numbers stand for the schemas of tables' keys, and values (formats.connect).
    :param clock_ns: engine time, nanoseconds since the epoch.
    """

    def __init__(
        self,
        *,
        topics: TopicNames,
        source: SourceBlock,
        values: ValueConfig,
        filters: TableFilterConfig,
        handling: ValueHandling,
        published: Published,
        key_columns: KeyColumns,
        include_schema_changes: bool,
        clock_ns: Callable[[], int],
        dead_letters: str | None = None,
        notifications: NotificationEncoder | None = None,
        captured: Callable[[TableId], bool] = lambda _: True,
        by_number: tuple[bool, bool] = (False, False),
        changes: ColumnChanges = _NO_CHANGES,
        skip_unchanged: bool = False,
        transactions: TransactionEncoder | None = None,
        counts: TransactionCounts | None = None,
        codec_of: CodecOf = lambda _table, _column, codec: codec,
    ) -> None:
        self._codec_of = codec_of
        self._transactions = transactions
        self._counts = counts
        self._changes = changes
        self._skip_unchanged = skip_unchanged
        self._by_number = by_number
        self._topics = topics
        self._source = source
        self._values = values
        self._rowid_keys = filters.minercdc_keyless_table_key == "rowid"
        self._handling = handling
        self._published = published
        self._key_columns = key_columns
        self._include_schema_changes = include_schema_changes
        self._clock_ns = clock_ns
        self._dead_letters = dead_letters
        self._notifications = notifications
        self._captured = captured
        self._formats: dict[tuple[TableId, int], _TableFormat] = {}
        self._schema: TableSchema | None = None
        self._format: _TableFormat
        self._field_name = field_name(values.field_name_adjustment_mode)
        self._schema_name = schema_name(values.schema_name_adjustment_mode)
        self._skipped = tuple(values.skipped_operations)
        self._ns, self._end = -_MILLISECOND, ""
        self._printer = (
            None
            if native.rows is None
            else native.rows.RunPrinter(self._table_print, values.tombstones_on_delete, "".join(values.skipped_operations))
        )

    def encode(self, event: Event) -> Sequence[Record]:
        """Records of an event, in the order to be written; none for Progress, skipped operations and what is not published.

        :raises ValueDecodeError: a value does not fit its column's type.
        :raises SchemaMismatchError: redo does not hold the key of a row (MissingKeyError), or the ROWID that serves as its key;
            or the key of a VanishedRow cannot be read.
        :raises ConfigError: from `key_columns`.
        :raises SinkError: another table has the same topic.
        """
        if type(event) is not ChangeEvent:
            return self._encode_other(event)
        schema, op, before, after = event.schema, event.op, event.before, event.after
        if op in self._skipped:
            return ()
        compiled = self._format if schema is self._schema else self._format_of(schema)
        if op is _UPDATE and before is not None and after is not None:
            for i in compiled.key:
                if before[i] != after[i] and before[i] is not UNAVAILABLE:
                    return self._key_change(compiled, event)
            if self._skip_unchanged and _is_unchanged(compiled.columns, before, after):
                return ()
        key, value = self._print(compiled, event, op, before, after)
        # Rows without a key keep their order.
        headers = () if event.reselected_scn is None else _reselected(event.reselected_scn)
        record = Record(compiled.topic, key, value, headers, 0 if key is None else None)
        if op is _DELETE and key is not None and self._values.tombstones_on_delete:
            return (record, Record(compiled.topic, key, None))
        return (record,)

    def encode_run(self, run: ChangeRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        """See `contracts.RunEncoder`; only where the native path is in use."""
        assert self._printer is not None
        self._look_at_clock()
        end = self._end.encode()
        return EncodedRun(*self._printer.print_run(run.rows, begin, most_records, most_bytes, end))

    def _table_print(self, schema: TableSchema) -> object:
        """How the native printer prints a table version; None where Python does."""
        if self._skip_unchanged or self._counts is not None or self._source.untracked:
            return None
        try:
            compiled = self._format_of(schema)
        except DecodeError:
            return None  # raised again for the row itself
        if compiled.is_changed:
            return None
        return table_print(
            schema,
            compiled.topic,
            (compiled.frame, compiled.columns),
            (compiled.key_frame, compiled.key_columns),
            ROWID_KEY if compiled.rowid_frame else "",
            self._source.constants_of(compiled.source),
            self._handling.binary,
        )

    def _look_at_clock(self) -> None:
        ns = self._clock_ns()
        if not 0 <= ns - self._ns < _MILLISECOND:
            self._ns, self._end = ns, _end(ns)

    def _encode_other(self, event: Event) -> Sequence[Record]:
        """Records of events other than row changes."""
        if isinstance(event, UndecodableRow):
            return (dead_letter(self._dead_letters, event),) if self._dead_letters else ()
        if isinstance(event, Notification):
            return (self._notifications.encode(event),) if self._notifications else ()
        if isinstance(event, VanishedRow):
            return self._vanished(event)
        if isinstance(event, TransactionMark):
            return (self._transactions.encode(event),) if self._transactions else ()
        return self._schema_changed(event) if isinstance(event, SchemaChange) else ()

    def _print(
        self, compiled: _TableFormat, event: ChangeEvent, op: Op, before: Row | None, after: Row | None
    ) -> tuple[bytes | None, bytes]:
        self._look_at_clock()
        try:
            source = self._source.of_change(event, compiled.source)
            if self._counts is not None:
                source += self._transaction(self._counts, event)
            key, value = compiled.print_record(before, after, source, op, self._end)
        except NO_TEXT:
            row = before if after is None else after
            if row and any(row[i] is UNAVAILABLE for i in compiled.key):
                raise _key_missing(event) from None
            raise
        return _rowid_key(compiled.rowid_frame, event) if compiled.rowid_frame else key, value

    @staticmethod
    def _transaction(counts: TransactionCounts, event: ChangeEvent) -> str:
        """The member of the envelope that numbers the event within its transaction; snapshots have none."""
        tx, table = event.tx, event.schema.id
        if tx is None:
            return NO_TRANSACTION
        total, of_table = counts.next(tx, f"{table.database}.{table}")
        return f',"transaction":{{"id":"{tx.id}","total_order":{total},"data_collection_order":{of_table}}}'

    def _schema_changed(self, event: SchemaChange) -> Sequence[Record]:
        # As Debezium: a TRUNCATE changes no structure; by option it is a record in the table's topic.
        shown = self._include_schema_changes and not event.truncate and self._captured(event.table)
        records = [self._schema_change(event)] if shown else []
        if event.truncate and Op.TRUNCATE not in self._skipped:
            records.append(self._truncate(event))
        return records

    def _vanished(self, event: VanishedRow) -> Sequence[Record]:
        compiled = self._format_of(event.schema)
        key = members(event.key, wrapped=self._values.key_converter_schemas_enable)
        gone = ChangeEvent(Op.DELETE, event.schema, None, None, event.scn, event.time_us, None, 0)
        gone.snapshot = SnapshotMark.INCREMENTAL
        source = self._source.of_change(gone, compiled.source)
        names = tuple(column.name for column in compiled.columns)
        value = print_vanished(compiled.frame, names, key, source, _end(self._clock_ns()))
        record = Record(compiled.topic, event.key, value)
        return (record, Record(compiled.topic, event.key, None)) if self._values.tombstones_on_delete else (record,)

    def _truncate(self, change: SchemaChange) -> Record:
        table = change.after or change.before
        assert table is not None
        compiled = self._format_of(table)
        source = self._source.of_schema_change(change)
        if self._counts is not None:
            source += NO_TRANSACTION
        _, value = compiled.print_record(None, None, source, Op.TRUNCATE, _end(self._clock_ns()))
        return Record(compiled.topic, None, value, partition=0)

    def _format_of(self, schema: TableSchema) -> _TableFormat:
        """The table version's format. Events of one table follow each other, and need no look-up then."""
        found = self._formats.get((schema.id, schema.version)) or self._compile(schema)
        self._schema, self._format = schema, found
        return found

    def _key_change(self, compiled: _TableFormat, event: ChangeEvent) -> Sequence[Record]:
        assert event.before is not None
        assert event.after is not None
        old, deleted = self._print(compiled, event, _DELETE, event.before, None)
        new, created = self._print(compiled, event, _CREATE, None, event.after)
        assert old is not None
        assert new is not None
        to_new: Headers = (("__debezium.newkey", new),)
        to_old: Headers = (("__debezium.oldkey", old),)
        if event.reselected_scn is not None:
            to_old = (*to_old, *_reselected(event.reselected_scn))
        delete, create = Record(compiled.topic, old, deleted, to_new), Record(compiled.topic, new, created, to_old)
        if self._values.tombstones_on_delete:
            return (delete, Record(compiled.topic, old, None, to_new), create)
        return (delete, create)

    def _compile(self, schema: TableSchema) -> _TableFormat:
        topic = self._topics.of_table(schema.id)
        key = self._key_columns(schema)
        rowid_key = not key and self._rowid_keys
        if not key and not rowid_key:
            log.warning(
                "table %s has no primary or NOT NULL unique key: its records get a null key "
                "(minercdc.keyless.table.key=rowid or message.key.columns give it one)",
                schema.id,
            )
        names = self._field_names(schema)
        plain = {i: codec_for(column, self._handling) for i, column in enumerate(schema.columns) if is_supported(column)}
        codecs = {i: self._codec_of(schema.id, schema.columns[i], codec) for i, codec in plain.items()}
        # The DEFAULT of a column is of the type that it has without a converter.
        columns = (
            replace(c, default=None) if codecs.get(i) is not plain.get(i) else c for i, c in enumerate(schema.columns)
        )
        described = replace(schema, columns=tuple(columns))
        published = {i: codec for i, codec in codecs.items() if self._published(schema.id, schema.columns[i])}
        shown = [self._printed(schema, i, names[i], codec) for i, codec in published.items()]
        key_shown = [PrintedColumn(names[i], i, codecs[i]) for i in key]
        value_frame = self._value_frame(
            connect_schema.envelope(
                self._schema_name(topic), [self._field(described, c.position, c.name, c.codec) for c in shown]
            ),
        )
        rowid_field = connect_schema.field_schema(ROWID_KEY, FieldType("string"), optional=False)
        key_frame = self._key_frame(
            connect_schema.key(
                self._schema_name(topic),
                [_field(names[i], described.columns[i], codecs[i]) for i in key] if key else [rowid_field],
            ),
        )
        compiled = self._formats[schema.id, schema.version] = _TableFormat(
            topic,
            key,
            compile_record(
                *(shown, key_shown, len(schema.columns), key_frame, value_frame),
                transaction=NO_TRANSACTION if self._counts is None else "",
            ),
            key_frame if rowid_key else None,
            self._source.of_table(schema.id),
            value_frame,
            tuple(shown),
            key_frame,
            tuple(key_shown),
            any(column.codec is not plain[column.position] for column in (*shown, *key_shown)),
        )
        return compiled

    def _printed(self, schema: TableSchema, i: int, name: str, codec: Codec) -> PrintedColumn:
        """How a published column is printed, which may be masked, hashed or cut."""
        column = schema.columns[i]
        rule = self._changes.rule_of(schema.id, column)
        if rule is None:
            return PrintedColumn(name, i, codec, self._unavailable(column, codec))
        made = changed(codec, column, rule)
        return PrintedColumn(name, i, made, unavailable(rule, made, self._handling.unavailable))

    def _field(self, schema: TableSchema, i: int, name: str, codec: Codec) -> connect_schema.Schema:
        """The schema of a published column."""
        column = schema.columns[i]
        made = _field(name, column, codec)
        if parameters := self._changes.parameters(schema.id, column):
            known = made.get("parameters")
            made["parameters"] = {**(known if isinstance(known, dict) else {}), **parameters}
        return made

    def _key_frame(self, schema: connect_schema.Schema) -> Frame:
        by_number, _ = self._by_number
        return numbered(schema) if by_number else connect_schema.wrapped(self._values.key_converter_schemas_enable, schema)

    def _value_frame(self, schema: connect_schema.Schema) -> Frame:
        _, by_number = self._by_number
        return numbered(schema) if by_number else connect_schema.wrapped(self._values.value_converter_schemas_enable, schema)

    def _field_names(self, schema: TableSchema) -> list[str]:
        """Names of the columns in records. Raises ConfigError when two of them become the same."""
        names = [self._field_name(column.name) for column in schema.columns]
        seen: dict[str, Column] = {}
        for name, column in zip(names, schema.columns, strict=True):
            if not self._published(schema.id, column):
                continue
            if (other := seen.setdefault(name, column)) is not column:
                mode = self._values.field_name_adjustment_mode
                raise ConfigError(
                    [
                        f"columns {other.name} and {column.name} of {schema.id} both become {name} by field.name.adjustment.mode={mode}"
                    ],
                    hint="avro_unicode keeps them apart; or leave one out by column.exclude.list.",
                )
        return names

    def _unavailable(self, column: Column, codec: Codec) -> str:
        """Only text, documents and bytes have room for a placeholder; other types print null, as Debezium does, also where
        they are printed as text. That of bytes is encoded as they are."""
        if codec.field.type == "string" and column.type_name in TEXTS:
            return encode_basestring(self._handling.unavailable)
        if column.type_name in _BYTES and codec.field.type in ("bytes", "string"):
            try:
                return codec.to_json(self._handling.unavailable.encode().hex())
            except ValueDecodeError:  # of a custom converter
                pass
        return "null"

    def _schema_change(self, change: SchemaChange) -> Record:
        key_head, key_tail = connect_schema.wrapped(
            self._values.key_converter_schemas_enable, connect_schema.SCHEMA_CHANGE_KEY
        )
        head, tail = connect_schema.wrapped(self._values.value_converter_schemas_enable, connect_schema.SCHEMA_CHANGE_VALUE)
        changes = json.dumps(table_changes.published(change), separators=(",", ":"), ensure_ascii=False)
        database, schema = encode_basestring(change.table.database), encode_basestring(change.table.schema)
        value = (
            f'{head}{{"source":{self._source.of_schema_change(change)},"ts_ms":{self._clock_ns() // 1_000_000},'
            f'"databaseName":{database},"schemaName":{schema},"ddl":{encode_basestring(change.ddl)},"tableChanges":{changes}}}{tail}'
        )
        key = f'{key_head}{{"databaseName":{database}}}{key_tail}'
        return Record(self._topics.schema_changes, key.encode(), value.encode(), partition=0)


def _is_unchanged(columns: Sequence[PrintedColumn], before: Row, after: Row) -> bool:
    """Whether both rows are printed alike."""
    return all(
        before[c.position] is after[c.position]
        or before[c.position] == after[c.position]
        or c.print(before[c.position]) == c.print(after[c.position])
        for c in columns
    )


def _reselected(scn: Scn) -> Headers:
    """The SCN as of which large values were read, as text."""
    return ((RESELECT_HEADER, str(scn).encode()),)


def _end(ns: int) -> str:
    """The end of an envelope, from the operation on."""
    return f'","ts_ms":{ns // 1_000_000},"ts_us":{ns // 1000},"ts_ns":{ns}}}'


def _rowid_key(frame: Frame, event: ChangeEvent) -> bytes:
    if not event.row_id:
        raise SchemaMismatchError(f"a row of {event.schema.id} without a ROWID cannot get its key", where=f"scn {event.scn}")
    head, tail = frame
    return f'{head}{{"{ROWID_KEY}":"{event.row_id}"}}{tail}'.encode()


def _key_missing(event: ChangeEvent) -> MissingKeyError:
    table = event.schema.id
    return MissingKeyError(
        f"redo does not hold the key of a changed row of {table}",
        where=f"scn {event.scn}, rs_id {event.rs_id}",
        hint=f'ALTER TABLE "{table.schema}"."{table.table}" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;',
    )


def _field(name: str, column: Column, codec: Codec) -> connect_schema.Schema:
    default = column_default(column, codec)
    return connect_schema.field_schema(name, codec.field, optional=column.nullable, default=default)
