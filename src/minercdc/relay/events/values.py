"""Rows in Avro's binary form: written from Row text, read by fastavro."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import fastavro

from minercdc.errors import RelayDataError, ValueDecodeError
from minercdc.relay.events.schemas import AvroSchema, base_type
from minercdc.relay.events.varint import varint
from minercdc.schema.table import TableSchema
from minercdc.stream.events import UNAVAILABLE, Row, Value
from minercdc.values.codec import ValueHandling, codec_for, reading_for
from minercdc.values.number import canonical

WriteRow: TypeAlias = Callable[[Row], bytes]
WriteValue: TypeAlias = Callable[[str], bytes]

_LONGS = range(-(1 << 63), 1 << 63)
_MILLISECONDS = ValueHandling(time_precision="connect")
_NULL, _THERE = b"\x02", b"\x00"  # branches of ["type", "null"]


class NotLongError(ValueDecodeError):
    """A NUMBER does not fit a long.

    :param column: its name.
    """

    def __init__(self, column: str, text: str) -> None:
        super().__init__(f"{text[:60]} in column {column} is not a whole number of 64 bits")
        self.column = column


def row_writer(table: TableSchema, positions: Sequence[int], schema: AvroSchema, unavailable: str) -> WriteRow:
    """A function that writes rows of a table by its generated schema, whose fields are the columns at `positions`. It raises
    NotLongError for a number that needs another schema, ValueDecodeError for a value that is not in redo and is neither text
    nor bytes, ValueDecodeError or ValueError for a text that does not fit its column.

    :param unavailable: stands for a value that redo does not hold and that is text or bytes in the schema.
    """
    writers = [
        (position, _nullable(table.columns[position].name, *_writer(table, position, base_type(field)), unavailable))
        for position, field in zip(positions, schema["fields"], strict=True)
    ]

    def write(row: Row) -> bytes:
        return b"".join([writer(row[position]) for position, writer in writers])

    return write


def _nullable(column: str, write: WriteValue, texts: bool, unavailable: str) -> Callable[[Value], bytes]:
    def writer(value: Value) -> bytes:
        if value is None:
            return _NULL
        if value is UNAVAILABLE:
            if not texts:
                raise ValueDecodeError(
                    f"redo does not hold the value of column {column}, which is no text",
                    hint="ALTER TABLE .. ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS has all values logged.",
                )
            return _THERE + _sized(unavailable.encode())
        return _THERE + write(value)

    return writer


def _writer(table: TableSchema, position: int, kind: str) -> tuple[WriteValue, bool]:
    """How values of a column are written, and whether they are texts or bytes, which can hold the placeholder. The function
    raises ValueDecodeError or ValueError for a text that it cannot write."""
    column = table.columns[position]
    type_name = column.type_name
    if kind == "long" and type_name == "NUMBER":
        return _whole(column.name), False
    if kind in ("float", "double"):
        pack = struct.Struct("<f" if kind == "float" else "<d").pack
        return lambda text: pack(float(text)), False
    if kind == "long":
        milliseconds = codec_for(column, _MILLISECONDS).to_json
        return (lambda text: varint(int(milliseconds(text)))), False
    if kind == "boolean":
        return (lambda text: b"\x01" if text.lower() in ("true", "1") else b"\x00"), False
    if kind == "bytes":
        return (lambda text: _sized(bytes.fromhex(text))), True
    if type_name in ("NUMBER", "FLOAT"):
        return (lambda text: _sized(canonical(text).encode())), True
    literals = reading_for(column).literals
    plain = [convert for convert in literals.values() if convert is not None]
    if type_name.startswith("TIMESTAMP") and plain:
        convert = plain[0]
        return (lambda text: _sized(convert(text).encode())), True
    return (lambda text: _sized(text.encode("utf-8", "replace"))), True


def _whole(column: str) -> WriteValue:
    def write(text: str) -> bytes:
        try:
            number = int(text)
        except ValueError:
            plain = canonical(text)
            if "." in plain:
                raise NotLongError(column, plain) from None
            number = int(plain)
        if -64 <= number < 64 or number in _LONGS:
            return varint(number)
        raise NotLongError(column, text)

    return write


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def row_reader(schema: AvroSchema) -> Callable[[bytes], dict[str, Any]]:
    """A function that reads the rows that were written by `schema`. It raises RelayDataError for other bytes. Raises
    fastavro's SchemaParseException for what is no schema."""
    parsed = fastavro.parse_schema(schema)

    def read(data: bytes) -> dict[str, Any]:
        stream = io.BytesIO(data)
        try:
            found: dict[str, Any] = fastavro.schemaless_reader(stream, parsed, None)
        except Exception as error:  # fastavro raises whatever it meets in damaged bytes
            raise RelayDataError(f"a row does not fit its schema {schema['name']}: {error!r}") from None
        if stream.tell() != len(data):
            raise RelayDataError(f"a row has {len(data) - stream.tell()} bytes more than its schema {schema['name']}")
        return found

    return read
