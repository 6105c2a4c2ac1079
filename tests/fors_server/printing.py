"""Transactions as FORS Oracle Logical Replicator sends them: values in Oracle's internal formats, made by the sandbox's encoders, or as text."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

from tests.fors_server.wire import DELETE, INSERT, UPDATE, Cell, Order, Writer
from tests.olr_server.feed import Committed
from tests.sandbox_capture.lab import canonical

from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Row, Value
from minercdc_sandbox.sql import binary, intervals, number, temporal, zones

TYPES = {
    "VARCHAR2": 1,
    "NVARCHAR2": 1,
    "NUMBER": 2,
    "FLOAT": 2,
    "LONG": 8,
    "DATE": 12,
    "RAW": 23,
    "LONG RAW": 24,
    "XMLTYPE": 58,
    "CHAR": 96,
    "NCHAR": 96,
    "BINARY_FLOAT": 100,
    "BINARY_DOUBLE": 101,
    "CLOB": 112,
    "NCLOB": 112,
    "BLOB": 113,
    "TIMESTAMP": 180,
    "TIMESTAMP WITH TIME ZONE": 181,
    "INTERVAL YEAR TO MONTH": 182,
    "INTERVAL DAY TO SECOND": 183,
    "TIMESTAMP WITH LOCAL TIME ZONE": 231,
}
_CODES = {Op.CREATE: INSERT, Op.DELETE: DELETE, Op.UPDATE: UPDATE}
_LARGE = ("CLOB", "NCLOB", "BLOB", "XMLTYPE")
_CHARSETS = {873: "utf-8", 2000: "utf-16-be", 171: "cp1251"}


@dataclass(frozen=True)
class Style:
    """How the server prints.

    :param values: `minercdc.fors.value.encoding`.
    :param time: `minercdc.fors.timestamp.unit`.
    :param piece: bytes of LOBs at once.
    :param charset: of the database.
    :param clob: `minercdc.fors.clob.charset`.
    :param changed: updates hold the key before, and after it what changed, as with supplemental logging of primary keys only.
    :param binary_xml: XMLTYPE is stored as BLOB.
    :param shift: added to object ids, as those of partitions differ from their tables'.
    :param deduplicated: LOB columns with DEDUPLICATE, COMPRESS or ENCRYPT, which come as NULL.
    """

    order: Order = "little"
    values: Literal["oracle", "text"] = "oracle"
    time: Literal["seconds", "redo"] = "seconds"
    piece: int = 8_000
    charset: int = 873
    clob: Literal["storage", "column"] = "storage"
    changed: bool = False
    binary_xml: bool = False
    deduplicated: frozenset[str] = frozenset()
    shift: int = 0


class Printer:
    """Prints transactions."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._writer = Writer(style.order)

    def operations(self, unit: Committed) -> Iterator[bytes]:
        """Begin, changes with the pieces of their LOBs, Commit."""
        info, writer = unit.info, self._writer
        xid = xid_number(info.id)
        yield writer.begin(info.start_scn, info.commit_scn, xid, self._time(info.start_us))
        for change in unit.changes:
            yield from self._change(change, info.commit_scn, xid)
        yield writer.commit(info.commit_scn, info.commit_scn, xid, self._time(info.commit_us))

    def _time(self, us: int) -> int:
        if self._style.time == "seconds":
            return us // 1_000_000
        at = datetime.fromtimestamp(us // 1_000_000, UTC)
        days = ((at.year - 1988) * 12 + at.month - 1) * 31 + at.day - 1
        return ((days * 24 + at.hour) * 60 + at.minute) * 60 + at.second

    def _change(self, change: ChangeEvent, commit_scn: int, xid: int) -> Iterator[bytes]:
        schema, writer = change.schema, self._writer
        before, after = canonical(schema, change.before), canonical(schema, change.after)
        if self._style.changed and before is not None and after is not None:
            before, after = self._lessened(schema, before, after)
        images: list[list[Cell]] = []
        pieces: list[tuple[Column, str]] = []
        for row, is_last in ((before, False), (after, True)):
            if row is not None:
                images.append([*self._cells(schema, row, pieces if is_last else None)])
        time = self._time(change.time_us)
        names = (schema.id.schema.encode(), schema.id.table.encode(), (change.row_id or "").encode())
        head = writer.head(_CODES[change.op], change.scn, commit_scn, xid, time)
        yield writer.row(head, schema.object_id + self._style.shift, names, images)
        for place, (column, text) in enumerate(pieces):
            data, rest = self._large(column, text), len(pieces) - place - 1
            for start in range(0, max(len(data), 1), self._style.piece):
                is_last = start + self._style.piece >= len(data)
                flags = (1 if is_last else 0) + (2 if is_last and not rest else 0)
                head = writer.head(7, change.scn, commit_scn, xid, time)
                kind = 113 if column.type_name == "BLOB" or self._is_binary(column) else 112
                yield writer.chunk(head, column.name, kind, flags, data[start : start + self._style.piece])

    @staticmethod
    def _lessened(schema: TableSchema, before: Row, after: Row) -> tuple[Row, Row]:
        changed = [old != new for old, new in zip(before, after, strict=True)]
        key = [i in schema.key for i in range(len(before))]
        return (
            tuple(
                old if differs or is_key else UNAVAILABLE for old, differs, is_key in zip(before, changed, key, strict=True)
            ),
            tuple(new if differs else UNAVAILABLE for new, differs in zip(after, changed, strict=True)),
        )

    def _is_binary(self, column: Column) -> bool:
        return column.type_name == "XMLTYPE" and self._style.binary_xml

    def _cells(self, schema: TableSchema, row: Row, pieces: list[tuple[Column, str]] | None) -> Iterator[Cell]:
        for column, value in zip(schema.columns, row, strict=True):
            if value is UNAVAILABLE:
                continue
            charset, form = self._charset(column)
            chunked = column.type_name in _LARGE and value is not None and column.name not in self._style.deduplicated
            if chunked and pieces is None:
                continue  # of an image before, LOBs are not there
            if chunked and pieces is not None:
                assert isinstance(value, str)
                pieces.append((column, value))
            type_ = 112 if column.type_name == "XMLTYPE" and not self._style.binary_xml else TYPES[column.type_name]
            stored = None if column.type_name in _LARGE else self.value(column, value)
            yield Cell(column.name, type_, stored, column.length, column.scale, charset, form, chunked)

    def _charset(self, column: Column) -> tuple[int | None, int | None]:
        if column.type_name in ("NCHAR", "NVARCHAR2", "NCLOB"):
            return 2000, 2
        return (
            (self._style.charset, 1) if column.type_name in ("CHAR", "VARCHAR2", "CLOB", "LONG", "XMLTYPE") else (None, None)
        )

    def _large(self, column: Column, text: str) -> bytes:
        if self._style.values == "text":
            return text.encode()
        if column.type_name == "BLOB":
            return bytes.fromhex(text)
        if self._is_binary(column):
            return b"\x9f\x01" + text.encode("utf-16-be")
        charset = self._charset(column)[0]
        stored = charset in (873, 2000) and self._style.clob == "storage"
        return text.encode("utf-16-be" if stored else _CHARSETS[charset or 0])

    def value(self, column: Column, text: Value) -> bytes | None:
        """A value that is no LOB."""
        if text is None or text is UNAVAILABLE:
            return None
        return text.encode() if self._style.values == "text" else self._stored(column, text)

    def _stored(self, column: Column, text: str) -> bytes:
        name = column.type_name
        if name in ("NUMBER", "FLOAT"):
            return number.encode(Decimal(text))
        if name in ("BINARY_FLOAT", "BINARY_DOUBLE"):
            return binary.encode(float(text), 4 if name == "BINARY_FLOAT" else 8)
        if name in ("RAW", "LONG RAW"):
            return bytes.fromhex(text)
        if name == "DATE":
            return temporal.encode(_moment(text), fraction=False)
        if name in ("TIMESTAMP", "TIMESTAMP WITH LOCAL TIME ZONE"):
            return temporal.encode(_moment(text))
        if name == "TIMESTAMP WITH TIME ZONE":
            stem, _, zone = text.rpartition(" ")
            return temporal.zoned(_moment(stem), zones.parse(zone))
        if name == "INTERVAL YEAR TO MONTH":
            years, months = text.removeprefix("-").split("-")
            total = int(years) * 12 + int(months)
            return intervals.encode_months(-total if text.startswith("-") else total)
        if name == "INTERVAL DAY TO SECOND":
            return intervals.encode(_nanoseconds(text))
        return text.encode(_CHARSETS[self._charset(column)[0] or 0])


def xid_number(xid: str) -> int:
    """Undo segment, slot and sequence in 16, 16 and 32 bits."""
    segment, slot, sequence = struct.unpack("<HHI", bytes.fromhex(xid))
    return int(segment) << 48 | int(slot) << 32 | int(sequence)


def _moment(text: str) -> temporal.Moment:
    sign = -1 if text.startswith("-") else 1
    date, _, clock = text.removeprefix("-").partition(" ")
    year, month, day = map(int, date.split("-"))
    hour, minute, second = clock.split(":")
    whole, _, fraction = second.partition(".")
    return sign * year, month, day, int(hour), int(minute), int(whole), int(fraction.ljust(9, "0") or 0)


def _nanoseconds(text: str) -> int:
    days, _, clock = text.removeprefix("-").partition(" ")
    hour, minute, second = clock.split(":")
    whole, _, fraction = second.partition(".")
    seconds = ((int(days) * 24 + int(hour)) * 60 + int(minute)) * 60 + int(whole)
    total = seconds * 10**9 + int(fraction.ljust(9, "0") or 0)
    return -total if text.startswith("-") else total
