"""Turns events into records: Debezium's envelopes, tombstones, key changes, schema-change records.

vanished                delete, tombstone: the row was gone when a suspended table was read again; only its key is known
insert, read            one record
update, same key        one record; with `skip_unchanged` none, if no published column changed
update of a key column  delete of the old key, its tombstone, create of the new key; without the first two when another row of the
                        transaction has taken the old key over (messages/moved_keys.py)
delete                  the delete, its tombstone; none when another row of the transaction has taken the key over
left out                a dead letter, when there is a topic for them
truncate                one record with a null key, in the table's topic
DDL, structures         a record of the schema-change topic, with `include.schema.changes`; none for a TRUNCATE
notification            one record, when there is a topic for them
begin, end              of a transaction: a record each, with `provide.transaction.metadata`

Tombstones come only with `tombstones.on.delete`, and never for a null key. The delete of a vanished row has no `before` where the
schema of rows needs more than its key; there is no record when its key is of another key definition. Row changes and truncates of
`skipped.operations` have no record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc import native
from minercdc.errors import DecodeError, MissingKeyError, SchemaMismatchError, ValueDecodeError
from minercdc.messages import table_changes
from minercdc.messages.dead_letter import dead_letter
from minercdc.messages.envelope import connect_schema
from minercdc.messages.envelope.row_format import NO_TRANSACTION, Frame
from minercdc.messages.envelope.run_encoder import RunEncoder
from minercdc.messages.envelope.skip_unchanged import is_unchanged
from minercdc.messages.envelope.table_format import ROWID_KEY, TableFormat, TableFormats
from minercdc.messages.envelope.vanished import fits_key, fits_row, in_values, members, print_vanished
from minercdc.messages.formats.connect import WITHOUT_SCHEMA, payload_of
from minercdc.messages.moved_keys import MovedKeys, is_checked_late
from minercdc.messages.notification import NotificationEncoder
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.messages.transaction_metadata import TransactionEncoder
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.contracts import EncodedRun, Record
from minercdc.stream.events import (
    UNAVAILABLE,
    ChangeEvent,
    ChangeRun,
    Event,
    Notification,
    Op,
    ReadRun,
    Row,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionMark,
    UndecodableRow,
    VanishedRow,
)

log = logging.getLogger(__name__)

RESELECT_HEADER = "__minercdc.reselect.scn"
UNAVAILABLE_HEADER = "__minercdc.unavailable"
"""JSON array of the columns that redo does not hold and that are null in the record, for want of a placeholder of their type: in the row
after, or in that of a delete."""
Headers: TypeAlias = tuple[tuple[str, bytes], ...]
# Not looked up in the enum for every row: that takes longer than the comparison.
_CREATE, _UPDATE, _DELETE = Op.CREATE, Op.UPDATE, Op.DELETE
# Reading a clock costs little, printing it three times as much as a column: rows within this time, in ns, share it.
_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class OtherEvents:
    """Which events other than rows have records.

    :param schema_changes: `include.schema.changes`: DDL has records in the schema-change topic.
    :param captured: whether DDL of a table is published. DDL of the signal table updates our schema but is not published.
    :param dead_letters: topic for rows that are left out, None for none.
    :param notifications: makes records of notifications; None when they are not wanted in a topic.
    :param transactions: makes records of transactions' begins and ends; None for none.
    """

    schema_changes: bool
    captured: Callable[[TableId], bool] = lambda _: True
    dead_letters: str | None = None
    notifications: NotificationEncoder | None = None
    transactions: TransactionEncoder | None = None


class EnvelopeEncoder:
    """Encodes the events of one run of a connector, in the order of the stream, as JSON: it numbers events, follows keys that
    rows take over, and takes and releases topics as they come.

    :param formats: of the tables.
    :param others: which events other than rows have records.
    :param counts: numbers the events of a transaction, where `formats` have them; else None.
    :param moved: keys that rows took over, shared with what passes over delivered changes.
    :param skip_unchanged: leave out updates that change no published column.
    :param lobs: `lob.enabled`.
    :param clock_ns: engine time, nanoseconds since the epoch.
    """

    def __init__(
        self,
        formats: TableFormats,
        others: OtherEvents,
        *,
        clock_ns: Callable[[], int],
        skip_unchanged: bool = False,
        lobs: bool = False,
        counts: TransactionCounts | None = None,
        moved: MovedKeys | None = None,
    ) -> None:
        self._formats = formats
        self._topics, self._source, self._values = formats.topics, formats.source, formats.values
        self._moved = moved or MovedKeys(formats.key_columns)
        self._transactions = others.transactions
        self._counts = counts
        self._skip_unchanged, self._lobs = skip_unchanged, lobs
        self._include_schema_changes = others.schema_changes
        self._clock_ns = clock_ns
        self._dead_letters = others.dead_letters
        self._notifications = others.notifications
        self._captured = others.captured
        self._schema: TableSchema | None = None
        self._format: TableFormat
        self._is_checked_late = False  # the key of `_schema`
        self._skipped = tuple(self._values.skipped_operations)
        self._ns, self._end = -_MILLISECOND, ""
        self._runs = None
        if native.rows is not None:
            plain = counts is None
            changes = plain and not skip_unchanged and not self._source.untracked
            self._runs = RunEncoder(native.rows, formats, changes=changes, reads=plain)

    def encode(self, event: Event) -> Sequence[Record]:
        """Records of an event, in the order to be written; none for a run, which `encode_run` takes, and for some others, such
        as Progress and skipped operations.

        :raises ValueDecodeError: a value does not fit its column's type, or a column that is to be hidden is no text.
        :raises SchemaMismatchError: redo does not hold the key of a row (MissingKeyError), or the ROWID that serves as its key;
            or the key of a VanishedRow cannot be read.
        :raises RecordSchemaError: as `TableFormats.of`.
        :raises ConfigError: a pattern takes too long; or a converter or naming function gives what is not usable.
        """
        if type(event) is not ChangeEvent:
            return self._encode_other(event)
        schema, op, before, after = event.schema, event.op, event.before, event.after
        if op in self._skipped:
            return ()
        compiled = self._format if schema is self._schema else self._format_of(schema)
        if op is _UPDATE and before is not None and after is not None:
            if _changes_key(compiled, before, after):
                return self._key_change(compiled, event)
            if self._skip_unchanged and is_unchanged(compiled.columns, event, before, after, lobs=self._lobs):
                return ()
        if op is _DELETE and self._moved.holds(schema.id) and not self._moved.frees(event):
            return ()
        if op is _CREATE and self._is_checked_late:
            self._moved.inserted(event)
        self._look_at_clock()
        key, value = self._print(compiled, event, op, before, after)
        # Rows without a key keep their order.
        headers = () if event.reselected_scn is None else _reselected(event.reselected_scn)
        if (row := before if after is None else after) is not None and UNAVAILABLE in row:
            headers += _not_held(compiled, row)
        record = Record(compiled.topic, key, value, headers, 0 if key is None else None)
        if op is _DELETE and key is not None and self._values.tombstones_on_delete:
            return (record, Record(compiled.topic, key, None))
        return (record,)

    def leaves_out(self, event: ChangeEvent) -> bool:
        """Whether `encode` makes no record of a change: its operation is skipped, or it changes nothing that is published. False, too, for
        one of which it raises DecodeError. Raises ConfigError as `encode`."""
        if event.op in self._skipped:
            return True
        before, after = event.before, event.after
        if not self._skip_unchanged or event.op is not _UPDATE or before is None or after is None:
            return False
        try:
            compiled = self._formats.of(event.schema)
            changes_key = _changes_key(compiled, before, after)
            return not changes_key and is_unchanged(compiled.columns, event, before, after, lobs=self._lobs)
        except DecodeError:
            return False

    def encode_run(self, run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        """See `contracts.RunEncoder`; only where the native path is in use. Raises as `encode`."""
        assert self._runs is not None
        self._look_at_clock()
        if isinstance(run, ReadRun):
            return self._runs.encode_reads(run, begin, most_records, most_bytes, self._end)
        moved = not self._moved.is_empty and self._moved.is_within(run.rows.place(begin)[0])
        return self._runs.encode_changes(run, begin, most_records, most_bytes, self._end, moved=moved)

    def _look_at_clock(self) -> None:
        ns = self._clock_ns()
        if not 0 <= ns - self._ns < _MILLISECOND:
            self._ns, self._end = ns, _end(ns)

    def _encode_other(self, event: Event) -> Sequence[Record]:
        """Records of events other than row changes; none of those whose topics are not wanted."""
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
        self, compiled: TableFormat, event: ChangeEvent, op: Op, before: Row | None, after: Row | None
    ) -> tuple[bytes | None, bytes]:
        """(key, value) of a change, key None for a row without one; `_look_at_clock` was called before."""
        try:
            source = self._source.of_change(event, compiled.source)
            if self._counts is not None:
                source += self._transaction(self._counts, event)
            key, value = compiled.print_record(before, after, source, op, self._end)
        except ValueDecodeError:
            row = before if after is None else after
            if row and any(row[i] is UNAVAILABLE for i in compiled.key):
                raise _key_missing(event) from None
            raise
        return _rowid_key(compiled.rowid_frame, event) if compiled.rowid_frame else key, value

    @staticmethod
    def _transaction(counts: TransactionCounts, event: ChangeEvent) -> str:
        """The member of the envelope that numbers the event within its transaction, which counts it; null for rows of
        snapshots."""
        tx, table = event.tx, event.schema.id
        if tx is None:
            return NO_TRANSACTION
        total, of_table = counts.next(tx, f"{table.database}.{table}")
        return f',"transaction":{{"id":"{tx.id}","total_order":{total},"data_collection_order":{of_table}}}'

    def _schema_changed(self, event: SchemaChange) -> Sequence[Record]:
        if event.before is not None and (event.after is None or event.after.id != event.before.id):
            self._formats.topics.release(event.before.id)
        # As Debezium: a TRUNCATE changes no structure; by option it is a record in the table's topic.
        shown = self._include_schema_changes and not event.truncate and self._captured(event.table)
        records = [self._schema_change(event)] if shown else []
        if event.truncate and Op.TRUNCATE not in self._skipped:
            if not event.left_out:
                records.append(self._truncate(event))
            elif self._dead_letters:
                records.append(dead_letter(self._dead_letters, UndecodableRow.of_truncate(event, "the table is suspended")))
        return records

    def _vanished(self, event: VanishedRow) -> Sequence[Record]:
        if Op.DELETE in self._skipped:
            return ()
        compiled = self._format_of(event.schema)
        key = members(event.key, wrapped=self._values.key_converter_schemas_enable)
        gone = ChangeEvent(Op.DELETE, event.schema, None, None, event.scn, event.time_us, None, 0)
        gone.snapshot = SnapshotMark.INCREMENTAL
        by_schema = event.key.startswith(WITHOUT_SCHEMA)
        if by_schema and not fits_key(compiled.key_columns, bool(compiled.rowid_frame), key):
            log.warning(
                "%s: key %s in topic %s is of another key definition; it is left as it is",
                event.schema.id,
                event.key.decode(),
                compiled.topic,
            )
            return ()
        source = self._source.of_change(gone, compiled.source)
        names: tuple[str, ...] | None = tuple(column.name for column in compiled.columns)
        has_schema = self._formats.by_number[1] or self._values.value_converter_schemas_enable
        if has_schema and not fits_row(compiled.columns, event.schema, key):
            names = None
        known = in_values(compiled.columns, compiled.key_columns, key)
        value = print_vanished(compiled.frame, names, known, source, _end(self._clock_ns()))
        record_key = event.key
        if record_key.startswith(WITHOUT_SCHEMA):
            head, tail = compiled.key_frame
            record_key = head.encode() + record_key[len(WITHOUT_SCHEMA) : -1] + tail.encode()
        record, tombstone = Record(compiled.topic, record_key, value), Record(compiled.topic, record_key, None)
        return (record, tombstone) if self._values.tombstones_on_delete else (record,)

    def _truncate(self, change: SchemaChange) -> Record:
        table = change.after or change.before
        assert table is not None
        compiled = self._format_of(table)
        source = self._source.of_schema_change(change)
        if self._counts is not None:
            source += NO_TRANSACTION
        _, value = compiled.print_record(None, None, source, Op.TRUNCATE, _end(self._clock_ns()))
        return Record(compiled.topic, None, value, partition=0)

    def _format_of(self, schema: TableSchema) -> TableFormat:
        """The table version's format."""
        found = self._formats.of(schema)
        self._schema, self._format = schema, found
        self._is_checked_late = is_checked_late(schema, found.key)
        return found

    def _key_change(self, compiled: TableFormat, event: ChangeEvent) -> Sequence[Record]:
        assert event.before is not None
        assert event.after is not None
        self._look_at_clock()
        deletes = self._moved.frees(event)
        if deletes:
            old, deleted = self._print(compiled, event, _DELETE, event.before, None)
        else:
            old, deleted = compiled.print_record(event.before, None, "null", _DELETE, self._end)
        new, created = self._print(compiled, event, _CREATE, None, event.after)
        assert old is not None
        assert new is not None
        # As Connect's header converter writes them: without schema. Numbers of schemas are left to the format, or a transformation.
        wrapped = self._values.key_converter_schemas_enable and not self._formats.by_number[0]
        in_header = payload_of if wrapped else bytes
        to_new: Headers = (("__debezium.newkey", in_header(new)),)
        to_old: Headers = (("__debezium.oldkey", in_header(old)),)
        if event.reselected_scn is not None:
            to_old = (*to_old, *_reselected(event.reselected_scn))
        to_old = (*to_old, *_not_held(compiled, event.after))
        create = Record(compiled.topic, new, created, to_old)
        delete = Record(compiled.topic, old, deleted, (*to_new, *_not_held(compiled, event.before)))
        if not deletes:
            return (create,)
        if self._values.tombstones_on_delete:
            return (delete, Record(compiled.topic, old, None, to_new), create)
        return (delete, create)

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


def _changes_key(compiled: TableFormat, before: Row, after: Row) -> bool:
    return any(before[i] != after[i] and before[i] is not UNAVAILABLE for i in compiled.key)


def _reselected(scn: Scn) -> Headers:
    return ((RESELECT_HEADER, str(scn).encode()),)


def _not_held(compiled: TableFormat, row: Row) -> Headers:
    """The header that names the columns which are null for want of a placeholder; () when there are none."""
    names = [name for position, name in compiled.silent if row[position] is UNAVAILABLE]
    return ((UNAVAILABLE_HEADER, json.dumps(names, separators=(",", ":")).encode()),) if names else ()


def _end(ns: int) -> str:
    """The end of an envelope, from the quote after the operation's letter on. `ns` is nanoseconds since the epoch."""
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
