"""A micro-batch's records as the columns of the change log, read by compiled code in the driver's process (`native/envelope.c`).

The SQL of `change_log` and `read.envelope` is the reference: compiled code reads the connector's own envelopes in JSON, in its order of
members. One record that it is not certain about leaves the whole micro-batch to SQL. `tests/spark/test_lake_scanned.py` compares both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minercdc.config.sections import ValueConfig
from minercdc.lake.read.native_columns import array_of
from minercdc.lake.stream.change_log import OLD_KEY, Arrival, placeholder_forms
from minercdc.lake.stream.log_columns import schema_of
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER
from minercdc.messages.envelope.table_format import ROWID_KEY
from minercdc.native.decoding import decode

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class SourceRecord(NamedTuple):
    """A record of a topic, or of the segments, as it was read."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] | None


class BatchScan:
    """Collects the records of one micro-batch.

    :param values: how the connector writes values.
    """

    def __init__(self, values: ValueConfig) -> None:
        text, raw = placeholder_forms(values)
        self._placeholders = (text.encode(), raw.encode())
        self._wrapped = (values.value_converter_schemas_enable, values.key_converter_schemas_enable)
        self._of_topic: dict[str, Any] = {}

    def add(self, record: SourceRecord) -> bool:
        """Add a record; a tombstone is left out. False where SQL has to read the micro-batch."""
        if record.value is None:
            return True
        found = self._of_topic.get(record.topic)
        if found is None:
            assert decode is not None
            found = decode.EnvelopeScan(self._placeholders, ROWID_KEY.encode(), *self._wrapped)
            self._of_topic[record.topic] = found
        old_key = unavailable = None
        if record.headers:
            old_key, unavailable = (_header(record.headers, name) for name in (OLD_KEY, UNAVAILABLE_HEADER))
        added: bool = found.add(record.partition, record.offset, record.key, record.value, old_key, unavailable)
        return added

    @property
    def size(self) -> int:
        """Bytes of what is collected."""
        return sum(found.size for found in self._of_topic.values())

    def rows(self) -> dict[str, pa.RecordBatch] | None:
        """By topic, the rows of the change log besides `batch` and `topic`; None where a text is not UTF-8, so that SQL has to read them."""
        rows = {topic: _rows(*found.taken()) for topic, found in sorted(self._of_topic.items())}
        return rows if all(map(_is_text, rows.values())) else None


def _header(headers: Sequence[tuple[str, bytes | None]], name: str) -> bytes | None:
    return next((content for found, content in headers if found == name), None)


def _rows(count: int, columns: dict[str, tuple[bytes | None, bytes | None, bytes, int]]) -> pa.RecordBatch:
    import pyarrow as pa

    schema = schema_of(list(columns))
    arrays = [
        array_of(kind, count, valid, offsets, values, nulls)
        for kind, (valid, offsets, values, nulls) in zip(schema.types, columns.values(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema.names)


def _is_text(rows: pa.RecordBatch) -> bool:
    import pyarrow as pa

    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def arrival_of(topic: str, batch: int, rows: pa.RecordBatch) -> Arrival:
    """What a batch holds of a topic, as the change log's own query finds it.

    :param rows: as `BatchScan.rows` has them, one at least.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    op, scn, seq = rows.column("op"), rows.column("scn"), rows.column("seq")
    has_op = {name: pc.equal(op, name) for name in ("t", "r", "d")}
    placed = pc.or_(pc.is_valid(rows.column("row_id")), has_op["t"])
    vanished = pc.and_(has_op["d"], pc.equal(seq, 0))
    commit_scns, scns = _bounds(rows.column("commit_scn")), _bounds(scn)
    return Arrival(
        topic,
        batch,
        rows.num_rows,
        *commit_scns,
        scns=scns,
        truncated=_greatest(scn, has_op["t"]),
        snapshot=_greatest(scn, rows.column("initial")),
        undecodable=0,
        partial=bool(pc.any(rows.column("partial")).as_py()),
        unplaced=rows.num_rows - int(pc.sum(placed).as_py()),
        read=bool(pc.any(has_op["r"]).as_py()),
        vanished=bool(pc.any(vanished).as_py()),
        oldest_us=_bounds(rows.column("commit_time").view(pa.int64()))[0],
        long_numbers=bool(pc.any(rows.column("long_number")).as_py()),
    )


def _bounds(numbers: pa.Array) -> tuple[int, int]:
    import pyarrow.compute as pc

    found = pc.min_max(numbers).as_py()
    return found["min"], found["max"]


def _greatest(numbers: pa.Array, chosen: pa.Array) -> int:
    import pyarrow.compute as pc

    return pc.max(numbers.filter(chosen)).as_py() or 0


def log_rows(rows: Mapping[str, pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
    """The rows of the change log with all their columns, a topic after the other.

    :param batch: number of the append.
    """
    import pyarrow as pa

    for topic, part in rows.items():
        numbers = pa.repeat(pa.scalar(batch, pa.int64()), part.num_rows)
        topics = pa.repeat(pa.scalar(topic, pa.string()), part.num_rows)
        yield pa.RecordBatch.from_arrays([numbers, topics, *part.columns], ["batch", "topic", *part.schema.names])
