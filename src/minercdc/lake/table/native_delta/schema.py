"""The schema of a Delta table as Arrow types, and statistics of rows in it, as its log has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from minercdc.lake.table.native.fields import FileField

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_KNOWN = ("comment", "delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.typeChanges")
_MOST_STATISTICS = 32  # columns, as Delta's own default
_LONGEST = 32  # characters of a text in statistics
_LAST = "\U0010ffff"  # the greatest character
_EPOCH = datetime(1970, 1, 1)
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_000  # the years 1 to 9999
_EXACT_DIGITS = 15  # of a decimal that JSON's readers may take as a double


def fields_of(schema: str) -> tuple[FileField, ...] | None:
    """The columns of a schema in Delta's JSON; None where rows of it need more than their types say, as generated columns do.

    :param schema: `schemaString` of the log's `metaData`.
    """
    return _fields(json.loads(schema)["fields"])


def _fields(found: Sequence[Mapping[str, Any]]) -> tuple[FileField, ...] | None:
    import pyarrow as pa

    fields = []
    for one in found:
        metadata = one.get("metadata", {})
        if not one["nullable"] or not set(metadata) <= set(_KNOWN):
            return None
        members: tuple[FileField, ...] | None = ()
        if isinstance(one["type"], str):
            kind = _arrow_type(one["type"])
        else:
            members = _fields(one["type"].get("fields", ())) if one["type"]["type"] == "struct" else None
            kind = None if members is None else pa.struct([member.arrow() for member in members])
        if kind is None or members is None:
            return None
        physical = metadata.get("delta.columnMapping.physicalName", one["name"])
        fields.append(FileField(one["name"], physical, metadata.get("delta.columnMapping.id"), kind, members))
    return tuple(fields)


def _arrow_type(name: str) -> pa.DataType | None:
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "string": pa.string(),
        "binary": pa.binary(),
    }.get(name)


_NAMES = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "STRING": "string",
    "BINARY": "binary",
}
_STRUCT = re.compile(r"STRUCT<(.*)>")


def schema_of(columns: Iterable[tuple[str, str, str]]) -> str | None:
    """The schema, in Delta's JSON, of columns (name, type as Spark SQL names it, comment); None for a type that is not known here."""
    fields = []
    for name, kind, comment in columns:
        if (found := _delta_type(kind)) is None:
            return None
        metadata = {"comment": comment} if comment else {}
        fields.append({"name": name, "type": found, "nullable": True, "metadata": metadata})
    return json.dumps({"type": "struct", "fields": fields})


def _delta_type(kind: str) -> Any:
    if found := _STRUCT.fullmatch(kind):
        members = [member.split(": ") for member in found[1].split(", ")]
        schema = schema_of((name, of, "") for name, of in members)
        return None if schema is None else json.loads(schema)
    return kind.lower() if _DECIMAL.fullmatch(kind.lower()) else _NAMES.get(kind)


def statistics_of(rows: pa.Table) -> str:
    """The log's statistics of a data file's rows: of columns whose least and greatest values JSON says exactly, or cut as Delta cuts them."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name in rows.schema.names[:_MOST_STATISTICS]:
        bounds = _bounds(rows.column(name))
        if bounds is not None:
            nulls[name] = rows.column(name).null_count
            if bounds:
                least[name], greatest[name] = bounds
    found = {"numRecords": rows.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    return json.dumps(found, separators=(",", ":"))


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | tuple[()] | None:
    """The least and the greatest value, () where all are null; None where they are not told."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    kind = column.type
    if pa.types.is_timestamp(kind):
        found = pc.min_max(column.cast(pa.int64())).as_py()
        return () if found["min"] is None else _moments(found["min"], found["max"], zone="Z" if kind.tz else "")
    exact = pa.types.is_decimal(kind) and kind.precision <= _EXACT_DIGITS
    if not (exact or pa.types.is_integer(kind) or pa.types.is_string(kind)):
        return None
    found = pc.min_max(column).as_py()
    return () if found["min"] is None else (_told(found["min"], last=False), _told(found["max"], last=True))


def _told(value: Any, *, last: bool) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, str) and len(value) > _LONGEST:
        return _above(value) if last else value[:_LONGEST]  # what is cut is less than the value
    return value


def _above(text: str) -> str:
    """The text, or a shorter one that is greater: by the greatest character in the place of a lesser one."""
    cut = next((at for at in range(_LONGEST, len(text)) if text[at] != _LAST), None)
    return text if cut is None else text[:cut] + _LAST


def _moments(least: int, greatest: int, *, zone: str) -> tuple[str, str] | None:
    """Bounds of times in milliseconds, from microseconds since 1970; None where a year has not four digits."""
    first, last = least // 1000, -(-greatest // 1000)
    if first < _FIRST_MS or last > _LAST_MS:
        return None
    texts = []
    for moment in (first, last):
        seconds, millis = divmod(moment, 1000)
        time = _EPOCH + timedelta(seconds=seconds)
        texts.append(f"{time.year:04}-{time:%m-%dT%H:%M:%S}.{millis:03}{zone}")
    return texts[0], texts[1]
