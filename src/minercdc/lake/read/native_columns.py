"""Records of the change log decoded by compiled code in Spark's Python workers (`mapInArrow`), for many rows of one table version.

`columns_of` has the module's work done in a worker, which imports little for it. The SQL of `decode` is the reference: a column that only it
reads has no plan (`compiled_plan`), and a record that the compiled code is not certain about
makes the query fail with `RecordLeft`, to be run again in SQL. `tests/unit/lake/test_native_columns.py` and
`tests/spark/test_lake_compiled.py` compare both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minercdc.native.decoding import decode

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_WIDTHS = {
    "TINYINT": 1,
    "SMALLINT": 2,
    "INT": 4,
    "BIGINT": 8,
    "FLOAT": 4,
    "DOUBLE": 8,
    "BOOLEAN": 1,
    "TIMESTAMP": 8,
    "TIMESTAMP_NTZ": 8,
    "STRING": 0,
    "BINARY": 0,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


class RecordLeft(Exception):
    """A record that the compiled code leaves to Spark SQL. Spark's error has its name."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """How the member of a record becomes a column.

    :param kind: of decode.h, by name.
    :param scale: of a number; of an integer 1 where it is printed as text.
    """

    member: str
    kind: str
    spark_type: str
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How the records of a table version become columns.

    :param images, keys: columns from the row image, and from the record key.
    :param before: a deleted row's columns are those of its image before.
    """

    images: tuple[ReadColumn, ...]
    keys: tuple[ReadColumn, ...]
    value_wrapped: bool
    key_wrapped: bool
    before: bool


def columns_of(
    plan: ReadPlan, names: Sequence[str], last: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow`: records of the change log, with the columns `key`, `value` and `names`, to `names`, the columns of the images
    and those of the key.

    :param names: columns that are passed on as they are, among them `op`.
    :param last: only the last record of each row: of each `key` or `row_id`; then `names` has what orders them. None for all records.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from minercdc.lake.read.native_columns import read_batches  # so that the worker's module does it

        return read_batches(plan, names, last, batches)

    return read


def read_batches(
    plan: ReadPlan,
    names: Sequence[str],
    last: str | None,
    batches: Iterator[pa.RecordBatch],
    row_ids: Sequence[pa.Array] | None = None,
) -> Iterator[pa.RecordBatch]:
    """See `columns_of`. Raises RecordLeft.

    :param row_ids: of the records, by which the last ones are found; None for those that they have.
    """
    reader = _BatchReader(plan, names)
    if last is None:
        yield from map(reader.read, batches)
        return
    from minercdc.lake.read.kept_batches import KeptBatches

    parts: list[tuple[Any, ...]] = []
    with KeptBatches() as kept:
        for batch in batches:
            parts.append(_order(batch, last, None if row_ids is None else row_ids[len(parts)]))
            kept.add(reader.read(batch))
        assert decode is not None
        import pyarrow as pa

        chosen, begin = pa.py_buffer(decode.last_changes(parts, last == "key")), 0
        for found in kept:
            mask = pa.Array.from_buffers(pa.uint8(), found.num_rows, [None, chosen], offset=begin)
            begin += found.num_rows
            yield found.filter(mask.cast(pa.bool_()))


def _order(batch: pa.RecordBatch, last: str, row_ids: pa.Array | None) -> tuple[Any, ...]:
    numbers = (_longs(batch.column(name)) for name in ("commit_scn", "seq", "offset"))
    texts = (batch.column(last), batch.column("row_id") if row_ids is None else row_ids, batch.column("op"))
    return (*map(_texts, texts), *numbers)


def _longs(column: Any) -> memoryview:
    begin = 8 * column.offset
    return memoryview(column.buffers()[1])[begin : begin + 8 * len(column)].cast("q")


def _texts(column: Any) -> Any:
    assert decode is not None
    valid, offsets, data = column.buffers()
    return decode.Texts(len(column), column.offset, valid, offsets, data)


def array_of(kind: Any, rows: int, valid: bytes | None, offsets: bytes | None, values: bytes, nulls: int) -> pa.Array:
    """The Arrow array of what compiled code made of a column.

    :param valid: its bits of validity; None where no row is null.
    :param offsets: of text or bytes; None for a type of fixed width.
    """
    import pyarrow as pa

    parts = (valid, values) if offsets is None else (valid, offsets, values)
    return pa.Array.from_buffers(kind, rows, [None if part is None else pa.py_buffer(part) for part in parts], nulls)


class _BatchReader:
    """Reads the batches of one task."""

    def __init__(self, plan: ReadPlan, names: Sequence[str]) -> None:
        if decode is None:
            raise RecordLeft("the extension is not there")
        self._decode, self._plan, self._names = decode, plan, names
        images, keys = ([_cells(column) for column in part] for part in (plan.images, plan.keys))
        self._reader = decode.ColumnReader(images, keys, plan.value_wrapped, plan.key_wrapped)
        self._types = [_arrow_type(column.spark_type) for column in (*plan.images, *plan.keys)]

    def read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        key, value, op = (_texts(batch.column(name)) for name in ("key", "value", "op"))
        found = self._reader.read(key, value, op, self._plan.before)
        if isinstance(found, int):
            raise RecordLeft(f"record {found} of {batch.num_rows}")
        columns = [batch.column(name) for name in self._names]
        for kind, (valid, offsets, values, nulls) in zip(self._types, found, strict=True):
            columns.append(array_of(kind, batch.num_rows, valid, offsets, values, nulls))
        return pa.RecordBatch.from_arrays(columns, [*self._names, *(f"n{i}" for i in range(len(self._types)))])


def _cells(column: ReadColumn) -> tuple[bytes, int, int, int, int]:
    assert decode is not None
    width = _WIDTHS.get(column.spark_type, 16)
    return column.member.encode(), decode.KINDS[column.kind], width, column.precision, column.scale


def _arrow_type(spark_type: str) -> Any:
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(spark_type):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
        "TIMESTAMP_NTZ": pa.timestamp("us"),
        "STRING": pa.string(),
        "BINARY": pa.binary(),
    }[spark_type]
