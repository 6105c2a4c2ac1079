"""Compiles how the rows of a table version become keys and values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc.config.sections import ValueConfig
from minercdc.errors import ConfigError, RecordSchemaError, ValueDecodeError
from minercdc.messages.envelope import connect_schema
from minercdc.messages.envelope.column_changes import TEXTS, ColumnChanges, changed, null, unavailable
from minercdc.messages.envelope.defaults import column_default
from minercdc.messages.envelope.row_format import (
    NO_TRANSACTION,
    Frame,
    PrintedColumn,
    PrintRecord,
    compile_record,
)
from minercdc.messages.envelope.source_block import SourceBlock, TablePieces
from minercdc.messages.formats.connect import numbered
from minercdc.messages.topics import TopicNames
from minercdc.schema.name_adjustment import field_name, schema_name
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.values import raw
from minercdc.values.codec import Codec, FieldType, ValueHandling, codec_for, is_supported
from minercdc.values.supported import is_large

log = logging.getLogger(__name__)

ROWID_KEY = "ROWID"
_ROWID_FIELD = connect_schema.field_schema(ROWID_KEY, FieldType("string"), optional=False)
_BYTES = raw.TYPES | {"BLOB"}
_NO_CHANGES = ColumnChanges()
CodecOf: TypeAlias = Callable[[TableId, Column, Codec], Codec]
Published = Callable[[TableId, Column], bool]
KeyColumns = Callable[[TableSchema], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TableFormat:
    """The compiled format of one version of a table.

    :param key: positions of the record key's columns.
    :param rowid_frame: of a key that is the row's ROWID; None for tables whose key is not.
    :param frame, columns: of values; the published columns.
    :param key_frame, key_columns: of keys.
    :param silent: (position, name) of each published column whose value is null where redo does not hold it.
    :param is_changed: some column is masked, hashed or cut, or taken by a custom converter: its codec is not that of its type.
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
    silent: tuple[tuple[int, str], ...]
    is_changed: bool


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """What the keys of records are made of.

    :param columns: positions of a table's record key; empty for none.
    :param rowid: a table without a key has its ROWID as key; otherwise its records have a null key.
    """

    columns: KeyColumns
    rowid: bool = False


@dataclass(frozen=True, slots=True)
class ColumnFormats:
    """What becomes of columns.

    :param published: whether a column of a table appears in values.
    :param changes: what becomes of the values and schemas of published columns.
    :param codec_of: the codec of a column, from the one of its type; of custom converters.
    """

    published: Published
    changes: ColumnChanges = _NO_CHANGES
    codec_of: CodecOf = lambda _table, _column, codec: codec


class TableFormats:
    """The formats of the table versions of one connector, each compiled once.

    :param by_number: whether numbers stand for the schemas of tables' keys, and values (formats.connect).
    :param counted: events are numbered within their transaction; else the envelope's `transaction` is null.
    """

    def __init__(
        self,
        topics: TopicNames,
        source: SourceBlock,
        values: ValueConfig,
        handling: ValueHandling,
        keys: RecordKeys,
        columns: ColumnFormats,
        *,
        by_number: tuple[bool, bool] = (False, False),
        counted: bool = False,
    ) -> None:
        self.topics, self.source, self.values, self.handling = topics, source, values, handling
        self.key_columns = keys.columns
        self.by_number = by_number
        self._rowid_keys = keys.rowid
        self._published = columns.published
        self._changes = columns.changes
        self._codec_of = columns.codec_of
        self._transaction = "" if counted else NO_TRANSACTION
        self._formats: dict[tuple[TableId, int], TableFormat] = {}
        self._field_name = field_name(values.field_name_adjustment_mode)
        self._schema_name = schema_name(values.schema_name_adjustment_mode)

    def of(self, schema: TableSchema) -> TableFormat:
        """The format of a table version, compiled at the first call, which takes the table's topic, and warns when its
        records have no key.

        :raises ValueDecodeError: a column that is to be hidden is no text.
        :raises RecordSchemaError: its record key has a column that it does not have, or cannot be found in time; or two columns
            become one name.
        :raises SharedTopicError: another table has the same topic, or it is one of the connector's own.
        :raises ConfigError: a pattern takes too long; or a converter or naming function gives what is not usable.
        """
        return self._formats.get((schema.id, schema.version)) or self._compile(schema)

    def _compile(self, schema: TableSchema) -> TableFormat:
        topic, name = self.topics.of_table(schema.id), self._schema_name
        key = self._key(schema, topic)
        rowid_key = not key and self._rowid_keys
        if not key and not rowid_key:
            log.warning(
                "table %s has no primary or NOT NULL unique key: its records get a null key "
                "(minercdc.keyless.table.key=rowid or message.key.columns give it one)",
                schema.id,
            )
        names = self._field_names(schema, key, topic)
        plain = {i: codec_for(column, self.handling) for i, column in enumerate(schema.columns) if is_supported(column)}
        codecs = {i: self._codec_of(schema.id, schema.columns[i], codec) for i, codec in plain.items()}
        described = _with_defaults_of(schema, {i for i, codec in codecs.items() if codec is plain[i]})
        published = {i: codec for i, codec in codecs.items() if self._published(schema.id, schema.columns[i])}
        shown = [self._printed(schema, i, names[i], codec) for i, codec in published.items()]
        key_shown = [PrintedColumn(names[i], i, codecs[i]) for i in key]
        value_fields = [self._field(described, c.position, c.name, c.codec) for c in shown]
        value_frame = self._value_frame(connect_schema.envelope(name(topic), value_fields))
        key_fields = [_field(names[i], described.columns[i], codecs[i]) for i in key] or [_ROWID_FIELD]
        key_frame = self._key_frame(connect_schema.key(name(topic), key_fields))
        compiled = self._formats[schema.id, schema.version] = TableFormat(
            topic,
            key,
            compile_record(shown, key_shown, key_frame, value_frame, transaction=self._transaction),
            key_frame if rowid_key else None,
            self.source.of_table(schema.id),
            value_frame,
            tuple(shown),
            key_frame,
            tuple(key_shown),
            tuple((column.position, column.name) for column in shown if column.is_silent),
            any(column.codec is not plain[column.position] for column in (*shown, *key_shown)),
        )
        return compiled

    def _printed(self, schema: TableSchema, i: int, name: str, codec: Codec) -> PrintedColumn:
        """How a published column is printed, which may be masked, hashed or cut."""
        column = schema.columns[i]
        rule = self._changes.rule_of(schema.id, column)
        if rule is None:
            return PrintedColumn(name, i, codec, self._unavailable(column, codec), large=is_large(column))
        made = changed(codec, column, rule)
        texts = unavailable(rule, made, self.handling.unavailable), null(rule, made)
        is_mask, large = rule.kind == "mask", is_large(column)
        return PrintedColumn(name, i, made, *texts, large=large, masked=is_mask, hashed=rule.is_hash)

    def _field(self, schema: TableSchema, i: int, name: str, codec: Codec) -> connect_schema.Schema:
        """The schema of a published column, with what `ColumnChanges.parameters` adds."""
        column = schema.columns[i]
        made = _field(name, column, codec)
        if parameters := self._changes.parameters(schema.id, column):
            known = made.get("parameters")
            made["parameters"] = {**(known if isinstance(known, dict) else {}), **parameters}
        return made

    def _key_frame(self, schema: connect_schema.Schema) -> Frame:
        by_number, _ = self.by_number
        return numbered(schema) if by_number else connect_schema.wrapped(self.values.key_converter_schemas_enable, schema)

    def _value_frame(self, schema: connect_schema.Schema) -> Frame:
        _, by_number = self.by_number
        return numbered(schema) if by_number else connect_schema.wrapped(self.values.value_converter_schemas_enable, schema)

    def _key(self, schema: TableSchema, topic: str) -> tuple[int, ...]:
        try:
            return self.key_columns(schema)
        except ConfigError as error:  # as after ALTER TABLE .. DROP COLUMN
            where = f"table {schema.id}, topic {topic}"
            hint = error.hint or "Correct message.key.columns, and start the connector again."
            raise RecordSchemaError("; ".join(error.problems), where=where, hint=hint) from None

    def _field_names(self, schema: TableSchema, key: tuple[int, ...], topic: str) -> list[str]:
        """Names of the columns in records."""
        names = [self._field_name(column.name) for column in schema.columns]
        published = [i for i, column in enumerate(schema.columns) if self._published(schema.id, column)]
        for positions in (published, key):
            seen: dict[str, int] = {}
            for i in positions:
                if (other := seen.setdefault(names[i], i)) != i:
                    mode, pair = self.values.field_name_adjustment_mode, (schema.columns[other].name, schema.columns[i].name)
                    raise RecordSchemaError(
                        f"columns {pair[0]} and {pair[1]} both become {names[i]} by field.name.adjustment.mode={mode}",
                        where=f"table {schema.id}, topic {topic}",
                        hint="avro_unicode keeps them apart; or leave one out by column.exclude.list.",
                    )
        return names

    def _unavailable(self, column: Column, codec: Codec) -> str:
        """JSON of a value that redo does not hold. Only text, documents and bytes have room for a placeholder; other types
        print null, as Debezium does, also where they are printed as text. The placeholder of bytes is encoded as bytes
        are; where a custom converter refuses it, that is null, too."""
        if codec.field.type == "string" and column.type_name in TEXTS:
            return encode_basestring(self.handling.unavailable)
        if column.type_name in _BYTES and codec.field.type in ("bytes", "string"):
            try:
                return codec.to_json(self.handling.unavailable.encode().hex())
            except ValueDecodeError:  # of a custom converter
                pass
        return "null"


def _with_defaults_of(schema: TableSchema, positions: Container[int]) -> TableSchema:
    """A copy of the table in which only the columns at `positions` keep their DEFAULT: a custom converter gives its column
    another type than the DEFAULT has."""
    columns = (c if i in positions else replace(c, default=None) for i, c in enumerate(schema.columns))
    return replace(schema, columns=tuple(columns))


def _field(name: str, column: Column, codec: Codec) -> connect_schema.Schema:
    default = column_default(column, codec)
    return connect_schema.field_schema(name, codec.field, optional=column.nullable, default=default, doc=column.comment)
