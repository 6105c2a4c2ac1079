"""Compiles, per table version, the function that prints its keys and values as JSON.

Key and value are a generated expression each, no loop and no dict: the text of the names and of the punctuation between values
is constant for a table version, so a value of a row costs the call of its codec. Both rows of an update are printed
together, with the key: a value that did not change is the same object in both, and is printed once. Names from the database
enter that source text as string literals only (`repr`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

from minercdc.errors import ValueDecodeError
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.codec import Codec

# What a codec, or the join of what codecs gave, raises for UNAVAILABLE, and unpacking for a row that is not there. To look
# for them in every row would cost more than a tenth of printing one.
NO_TEXT: Final = (TypeError, AttributeError, ValueDecodeError)

PrintRecord: TypeAlias = Callable[[Row | None, Row | None, str, Op, str], tuple[bytes | None, bytes]]
"""Key and value from the row before, the row after, the source block, the operation, and the envelope's end from there on.

The key is that of the row after, or of a deleted row; None for a table without one, and when there is no row. Raises one of
`NO_TEXT` when redo does not hold a value of the key, and ValueDecodeError when a value does not fit its type.
"""

NO_TRANSACTION: Final = ',"transaction":null'

Frame: TypeAlias = tuple[str, str]
"""Text before and after a key or an envelope."""


@dataclass(frozen=True, slots=True)
class PrintedColumn:
    """One member of a printed struct.

    :param position: in the row.
    :param unavailable: JSON printed when redo does not hold the value.
    :param null: JSON printed for NULL.
    :param large: redo need not hold its value.
    :param masked: each value is printed as the same mask.
    """

    name: str
    position: int
    codec: Codec
    unavailable: str = "null"
    null: str = "null"
    large: bool = False
    masked: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether nothing in the record's value says that redo does not hold the column."""
        return self.unavailable == "null"

    def print(self, value: Value) -> str:
        """JSON of a value. Raises ValueDecodeError for one that does not fit the column's type."""
        return self.null if value is None else self.unavailable if value is UNAVAILABLE else self.codec.to_json(value)


@dataclass(frozen=True, slots=True)
class _Expression:
    """Python source of a text that is known when a row is printed; a plain str among its neighbours is constant text."""

    source: str


_Document: TypeAlias = list[str | _Expression]


def compile_record(
    columns: Sequence[PrintedColumn],
    key: Sequence[PrintedColumn],
    width: int,
    key_frame: Frame,
    frame: Frame,
    *,
    transaction: str = NO_TRANSACTION,
) -> PrintRecord:
    """A function that prints the key and the envelope of a row change; for its errors see `PrintRecord`.

    :param columns: of the envelope's rows.
    :param key: columns of the key, empty for a table without one.
    :param width: number of columns of a row, printed or not.
    :param key_frame, frame: text before and after the key, and the envelope.
    :param transaction: member of the envelope after `source`; '' when the text of `source` has it.
    """

    def partial(before: Row | None, after: Row | None, source: str, op: Op, end: str) -> tuple[bytes | None, bytes]:
        rows = [row for row in (before, after) if row is not None]
        if rows and not any(UNAVAILABLE in row for row in rows):
            raise
        texts = ["null" if row is None else _print_partial(columns, row) for row in (before, after)]
        value: bytes = scope["print_texts"](*texts, source, op, end)
        return scope["print_key"](rows[-1]) if rows else None, value

    own = _with_own_codec(columns, key)
    key_of_row = _key(key, key_frame, [_printed(c, f"row[{c.position}]", own) for c in key])
    lines = ["def print_key(row):", f"    return {key_of_row}"]
    lines += ["def print_texts(before, after, source, op, end):"]
    lines += [f"    return {_envelope(frame, [_Expression('before')], [_Expression('after')], transaction)}"]
    lines += ["def print_record(before, after, source, op, end):", "    try:"]
    lines += (f"        {line}" for line in _record_lines(columns, key, width, key_frame, frame, transaction))
    lines += ["    except no_text:", "        return partial(before, after, source, op, end)"]
    codecs = {f"json{column.position}": column.codec.to_json for column in (*key, *columns)}
    codecs |= {f"key_json{column.position}": column.codec.to_json for column in key}
    scope: dict[str, Any] = {**codecs, "no_text": NO_TEXT, "partial": partial}
    exec("\n".join(lines) + "\n", scope)
    print_record: PrintRecord = scope["print_record"]
    return print_record


def compile_key(key: Sequence[PrintedColumn], frame: Frame) -> Callable[[Row], bytes | None]:
    """A function that prints the key of a row; it returns None for a table without a key, and raises one of `NO_TEXT` when redo
    does not hold the key, or a value does not fit its type."""
    scope: dict[str, Any] = {f"json{column.position}": column.codec.to_json for column in key}
    exec(f"def print_key(row): return {_key(key, frame, [_printed(c, f'row[{c.position}]') for c in key])}", scope)
    print_key: Callable[[Row], bytes | None] = scope["print_key"]
    return print_key


def _record_lines(
    columns: Sequence[PrintedColumn],
    key: Sequence[PrintedColumn],
    width: int,
    key_frame: Frame,
    frame: Frame,
    transaction: str,
) -> list[str]:
    """Source lines for a row before, a row after, or both. A column's JSON is printed once, for both rows, key and value."""
    printed = {column.position: column for column in (*key, *columns)}  # NULL, too, as in values
    own = _with_own_codec(columns, key)
    unpack_before, unpack_after = (
        "".join(f"{row[0]}{i}, " if i in printed else "_, " for i in range(width)) + f"= {row}"
        for row in ("before", "after")
    )
    before, after = (_object(columns, [f"{row}{c.position}" for c in columns]) for row in ("before", "after"))
    old_key, new_key = (
        _key(
            key,
            key_frame,
            [_printed(c, f"{row[0]}{c.position}", own) if c.position in own else f"{row}{c.position}" for c in key],
        )
        for row in ("before", "after")
    )
    return [
        "if before is None:",
        f"    {unpack_after}",
        *(f"    after{i} = {_printed(c, f'a{i}')}" for i, c in printed.items()),
        f"    return {new_key}, {_envelope(frame, ['null'], after, transaction)}",
        unpack_before,
        *(f"before{i} = {_printed(c, f'b{i}')}" for i, c in printed.items()),
        "if after is None:",
        f"    return {old_key}, {_envelope(frame, before, ['null'], transaction)}",
        unpack_after,
        *(f"after{i} = before{i} if a{i} is b{i} else {_printed(c, f'a{i}')}" for i, c in printed.items()),
        f"return {new_key}, {_envelope(frame, before, after, transaction)}",
    ]


def _key(key: Sequence[PrintedColumn], frame: Frame, values: Sequence[str]) -> str:
    head, tail = frame
    return _bytes([head, *_object(key, values), tail]) if key else "None"


def _envelope(frame: Frame, before: _Document, after: _Document, transaction: str) -> str:
    head, tail = frame
    document: _Document = [head, '{"before":', *before, ',"after":', *after, ',"source":', _Expression("source")]
    return _bytes([*document, f'{transaction},"op":"', _Expression("op"), _Expression("end"), tail])


def _print_partial(columns: Sequence[PrintedColumn], row: Row) -> str:
    members = []
    for column in columns:
        members.append(f"{encode_basestring(column.name)}:{column.print(row[column.position])}")
    return "{" + ",".join(members) + "}"


def _with_own_codec(columns: Sequence[PrintedColumn], key: Sequence[PrintedColumn]) -> frozenset[int]:
    """Positions of the key's columns that are printed otherwise in values, as those that are masked there."""
    shown = {column.position: column.codec for column in columns}
    return frozenset(c.position for c in key if shown.get(c.position, c.codec) is not c.codec)


def _printed(column: PrintedColumn, value: str, of_key: Collection[int] = ()) -> str:
    """Python source of a column's JSON, from that of its Row text. `of_key`: positions whose text is the key's own."""
    to_json = f"{'key_' if column.position in of_key else ''}json{column.position}"
    return f"({column.null!r} if {value} is None else {to_json}({value}))"


def _object(columns: Sequence[PrintedColumn], values: Sequence[str]) -> _Document:
    """The parts of a JSON object. `values` are Python source of each column's JSON."""
    document: _Document = ["{"]
    for column, value in zip(columns, values, strict=True):
        separator = "," if len(document) > 1 else ""
        document += [f"{separator}{encode_basestring(column.name)}:", _Expression(value)]
    return [*document, "}"]


def _bytes(document: _Document) -> str:
    """Python source of the bytes of a document, in UTF-8: its parts joined, constant ones beside each other as one."""
    pieces: list[str] = []
    constant = ""
    for part in [*document, None]:
        if isinstance(part, str):
            constant += part
            continue
        if constant:
            pieces.append(repr(constant))
            constant = ""
        if part is not None:
            pieces.append(part.source)
    return f"''.join(({', '.join(pieces)},)).encode()"
