"""Writes row changes as Avro, without a JSON document in between: each value's JSON becomes Avro by itself (messages.avro.encoding).

What is written is what the converter makes of the JSON document (messages.avro.records), which is how everything else comes to Avro: schema
changes, key changes, rows whose values are not all in redo, and any row that does not fit its schema, so that errors are the same.

The function of a table version is made as text, as in `row_format`; a value that both rows of an update share is written once.
"""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, TypeAlias

from minercdc.errors import ValueDecodeError
from minercdc.messages.avro.encoding import UNFIT, FragmentWriter, compile_writer, varint
from minercdc.messages.envelope import connect_schema, source_sequence
from minercdc.messages.envelope.row_format import PrintedColumn, compile_key
from minercdc.messages.envelope.source_block import SourceBlock, TablePieces
from minercdc.messages.envelope.table_format import TableFormat
from minercdc.messages.formats.connect import Schema, schema_within
from minercdc.messages.formats.converting import AvroHead
from minercdc.schema.table import TableId
from minercdc.stream.events import ChangeEvent, Op, Row, SnapshotMark, TransactionInfo

Written: TypeAlias = tuple[bytes | None, bytes]
Heads: TypeAlias = tuple[AvroHead | None, AvroHead | None]
"""(what comes before keys, before values); None for those that are written as JSON, which the converter may rewrite."""
_WriteRecord: TypeAlias = Callable[[Row | None, Row | None, bytes, bytes], Written]
_OPS: Final = {op: b"\x02" + op.value.encode() for op in Op}
_NO_TRANSACTION: Final = b"\0"
_THERE, _NULL = b"\2", b"\0"
_OPTIONAL: Final = FragmentWriter({"type": "string", "optional": True})
_LENGTHS: Final = _OPTIONAL.lengths
_NUMBERS: Final = FragmentWriter({"type": "int64", "optional": True}).small
_INTEGERS: Final = ("int8", "int16", "int32", "int64")


def avro_rows(source: SourceBlock, heads: Heads) -> AvroRows | None:
    """The writer of a connector's rows; None where its values are not Avro.

    :param source: prints the member `source` of values.
    :param heads: (what comes before keys, before values), None for a side that is not Avro.
    """
    key, value = heads
    return AvroRows(source, (key, value)) if value is not None else None


class AvroRows:
    """Writes the changes of one connector's tables. The parameters are those of `avro_rows`."""

    def __init__(self, source: SourceBlock, heads: tuple[AvroHead | None, AvroHead]) -> None:
        self._source = _AvroSource(source)
        self._heads = heads
        self._formats: dict[tuple[TableId, int], _WriteRecord] = {}
        self._format: TableFormat | None = None
        self._write: _WriteRecord
        self._ns, self._end = -1, b""

    def written(
        self, compiled: TableFormat, event: ChangeEvent, op: Op, before: Row | None, after: Row | None, ns: int
    ) -> Written | None:
        """(key, value) of a change, key None for a row without one; None where the change has to be written as JSON.

        :param compiled: of the table version of `event`.
        :param before, after: the rows, None for one that the change does not have.
        :param ns: engine time, nanoseconds since the epoch.
        :raises RecordSchemaError: the registry refuses the schema.
        :raises SinkError, DeliveryError: the registry refuses us, or does not answer.
        """
        if compiled is not self._format:
            self._format, self._write = compiled, self._write_of(compiled, event)
        if ns != self._ns:
            self._ns = ns
            self._end = b"".join(_THERE + varint(time) for time in (ns // 1_000_000, ns // 1000, ns))
        try:
            return self._write(before, after, self._source.of_change(event, compiled.source), _OPS[op] + self._end)
        except (*UNFIT, ValueDecodeError):
            return None

    def _write_of(self, compiled: TableFormat, event: ChangeEvent) -> _WriteRecord:
        version = (event.schema.id, event.schema.version)
        if version not in self._formats:
            self._formats[version] = self._compile(compiled, len(event.schema.columns))
        return self._formats[version]

    def _compile(self, compiled: TableFormat, width: int) -> _WriteRecord:
        key_head, value_head = self._heads
        key_schema, schema = schema_within(compiled.key_frame), schema_within(compiled.frame)
        assert schema is not None
        print_key, of_key = None, None
        has_key = bool(compiled.key_columns or compiled.rowid_frame)
        before_key = key_head(compiled.topic, key_schema) if has_key and key_head is not None and key_schema else b""
        if compiled.key_columns and before_key and key_schema is not None:
            of_key = before_key, _columns(compiled.key_columns, key_schema)
        else:
            print_key = compile_key(compiled.key_columns, compiled.key_frame)
        of_value = value_head(compiled.topic, schema), _columns(compiled.columns, schema["fields"][0])
        return _Writing(of_key, of_value, print_key).compiled(width)


class _Column(NamedTuple):
    """How a column is written.

    :param to_json: of its codec; None of a text that is written as it is.
    :param null: what is written for NULL; None where the schema has no null.
    """

    position: int
    kind: str
    to_json: Callable[[str], str] | None
    writer: FragmentWriter
    null: bytes | None


def _columns(columns: Sequence[PrintedColumn], struct: Schema) -> list[_Column]:
    return list(starmap(_column, zip(columns, struct["fields"], strict=True)))


def _column(column: PrintedColumn, schema: Schema) -> _Column:
    writer, to_json = FragmentWriter(schema), column.codec.to_json
    null = writer.null
    if column.null != "null":
        try:
            null = writer.write(column.null)
        except UNFIT:
            null = None
    is_plain = to_json is encode_basestring and schema["type"] == "string"
    return _Column(column.position, schema["type"], None if is_plain else to_json, writer, null)


def _expression(column: _Column, value: str, scope: dict[str, Any], name: str) -> str:
    """Source of the bytes of a value.

    :param value: its source.
    :param scope: gets what the source names.
    :param name: ends these names, so that no other column has them.
    """
    writer, to_json = column.writer, column.to_json
    scope |= {f"few{name}": writer.small or writer.lengths, f"large{name}": writer.large}
    scope |= {f"json{name}": to_json, f"write{name}": writer.write, f"joined{name}": writer.joined}
    json, short = f"json{name}({value})", f"few{name}[n] + t if "
    if to_json is None:
        few = len(writer.lengths)
        source = f"{short}(n := len(t := {value}.encode())) < {few} else joined{name}(t)"
    elif column.kind in _INTEGERS:
        few = len(writer.small)
        source = f"few{name}[n] if 0 <= (n := int({json})) < {few} else large{name}(n)"
    elif column.kind == "bytes":
        few = len(writer.lengths)
        source = f"{short}(f := {json})[0] == '\"' and (n := len(t := a2b_base64(f))) < {few} else write{name}(f)"
    else:
        source = f"write{name}({json})"
    # Where there is no null, a codec refuses None, and the document decides.
    return f"({source})" if column.null is None else f"({column.null!r} if {value} is None else {source})"


_Half: TypeAlias = tuple[bytes, list[_Column]]
"""Of a key, or a value: what comes before, and its columns."""


class _Writing:
    """The text of the function of a table version, and the names in it.

    :param print_key: of keys that are no Avro.
    """

    def __init__(self, of_key: _Half | None, of_value: _Half, print_key: Callable[[Row], bytes | None] | None) -> None:
        self._head, self._columns = of_value
        self._of_key = of_key
        self._shown = {column.position: column for column in self._columns}
        self._scope: dict[str, Any] = {"print_key": print_key, "join": b"".join, "a2b_base64": a2b_base64}

    def compiled(self, width: int) -> _WriteRecord:
        """The function (before, after, source, end) -> (key, value) that writes a change.

        :param width: number of columns of a row.
        """
        before, after = (
            "".join(f"{row[0]}{i}, " if i in self._shown else "_, " for i in range(width)) + f"= {row}"
            for row in ("before", "after")
        )
        lines = [
            "def write_record(before, after, source, end):",
            " if before is None:",
            *(f"  {line}" for line in (after, *self._values("after"))),
            f"  return {self._key('after')}, {self._envelope('after')}",
            *(f" {line}" for line in (before, *self._values("before"))),
            " if after is None:",
            f"  return {self._key('before')}, {self._envelope('before')}",
            *(f" {line}" for line in (after, *self._values("after", "before{0} if a{0} is b{0} else "))),
            f" return {self._key('after')}, {self._envelope('before', 'after')}",
        ]
        exec("\n".join(lines) + "\n", self._scope)
        made: _WriteRecord = self._scope["write_record"]
        return made

    def _values(self, row: str, known: str = "") -> Iterator[str]:
        """Statements that write the columns of a row. `known` is where a value that is written already is taken."""
        for column in self._columns:
            i = column.position
            yield f"{row}{i} = {known.format(i)}{_expression(column, f'{row[0]}{i}', self._scope, str(i))}"

    def _key(self, row: str) -> str:
        if self._of_key is None:
            return f"print_key({row})"
        head, columns = self._of_key
        return f"join(({', '.join([repr(head), *(self._key_part(column, row) for column in columns)])},))"

    def _key_part(self, column: _Column, row: str) -> str:
        i = column.position
        if i in self._shown and _same(column, self._shown[i]):
            return f"{row}{i}"
        return _expression(column, f"{row}[{i}]", self._scope, f"_key{i}")

    def _envelope(self, *rows: str) -> str:
        """Python source of the value of a change. `rows` are those of its rows, `before` and `after`, that are there."""
        parts, constant = [], self._head
        for row in ("before", "after"):
            constant += _THERE if row in rows else _NULL
            if row in rows and self._columns:
                parts += [repr(constant), *(f"{row}{column.position}" for column in self._columns)]
                constant = b""
        parts += [repr(constant)] if constant else []
        return f"join(({', '.join(parts)}, source, end))"


def _same(one: _Column, other: _Column) -> bool:
    """Whether two columns write a text of Oracle as the same bytes, so that what is written for one serves for both."""
    first, second = one.writer, other.writer
    return (one.to_json, one.null, one.kind, first.lengths[0]) == (other.to_json, other.null, other.kind, second.lengths[0])


_FIELDS: Final[Sequence[Schema]] = connect_schema.SOURCE["fields"]  # type: ignore[assignment]
_NAMES: Final = [field["field"] for field in _FIELDS]


def _part(first: str, last: str) -> Callable[[Any], bytes]:
    """The writer of the members of `source` from one to another, both included."""
    return compile_writer({"type": "struct", "fields": _FIELDS[_NAMES.index(first) : _NAMES.index(last) + 1]})


_PARTS: Final = (
    _part("version", "db"),
    _part("ts_us", "txId"),
    _part("commit_scn", "lcr_position"),
    _part("redo_thread", "user_name"),
    _part("commit_ts_ms", "start_ts_ms"),
)


class _AvroSource:
    """Writes `source`, with the transaction member after it, which is null: the parts that a table's rows in a transaction have in
    common are those of the printed block."""

    def __init__(self, source: SourceBlock) -> None:
        self._source = source
        self._has_rs_id = "rs_id" not in source.untracked
        self._tx: TransactionInfo | None = None
        self._time_us: int | None = None
        self._mark: SnapshotMark | None = None
        self._parts: dict[TablePieces, tuple[bytes, ...]] = {}

    def of_change(self, event: ChangeEvent, table: TablePieces) -> bytes:
        tx, time_us, mark = event.tx, event.time_us, event.snapshot
        if time_us != self._time_us or tx is not self._tx or mark is not self._mark:
            self._tx, self._time_us, self._mark = tx, time_us, mark
            self._parts.clear()
        before_token, before_scn, before_rs_id, before_redo_sql, before_seq = self._parts.get(table) or self._made(
            event, table
        )
        small, few = _NUMBERS, len(_NUMBERS)
        scn, rs_id, row_id, redo_sql = str(event.scn), event.rs_id, event.row_id, event.redo_sql
        return b"".join(
            (
                *(before_token, _token(event) if self._source.ordered else _NULL),
                *(before_scn, _LENGTHS[len(scn)], scn.encode(), before_rs_id),
                _LENGTHS[len(rs_id)] + rs_id.encode() if rs_id and self._has_rs_id else _NULL,
                small[ssn] if 0 <= (ssn := event.ssn) < few else _THERE + varint(ssn),
                before_redo_sql,
                _NULL if redo_sql is None else _OPTIONAL.joined(redo_sql.encode()),
                _LENGTHS[len(row_id)] + row_id.encode() if row_id else _NULL,
                before_seq,
                (small[seq] if 0 <= (seq := event.seq) < few else _THERE + varint(seq)) if tx else _NULL,
                _NO_TRANSACTION,
            )
        )

    def _made(self, event: ChangeEvent, table: TablePieces) -> tuple[bytes, ...]:
        members = json.loads(self._source.of_change(event, table))
        made = self._parts[table] = tuple(write(members) for write in _PARTS)
        return made


def _token(event: ChangeEvent) -> bytes:
    return _OPTIONAL.write(source_sequence.of_change(event))
