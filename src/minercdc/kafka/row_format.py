"""Compiles, per table version, the functions that print its keys and values as JSON.

A record value is one generated expression, no loop and no dict: the text of the names and of the punctuation between values
is constant for a table version, so a value of a row costs the call of its codec. Both rows of an update are printed
together: a value that did not change is the same object in both, and is printed once. Names from the database enter that
source text as string literals only (`repr`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

from minercdc.errors import ValueDecodeError
from minercdc.events import UNAVAILABLE, Op, Row
from minercdc.values.codec import Codec

# What a codec, or the join of what codecs gave, raises for UNAVAILABLE, and unpacking for a row that is not there. To look
# for them in every row would cost more than a tenth of printing one.
NO_TEXT: Final = (TypeError, AttributeError, ValueDecodeError)

PrintKey: TypeAlias = Callable[[Row], bytes]
"""Raises one of `NO_TEXT` when redo does not tell a value of the key."""

PrintValue: TypeAlias = Callable[[Row | None, Row | None, str, Op, str], bytes]
"""From the row before, the row after, the source block, the operation, and the engine's time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class PrintedColumn:
    """One member of a printed struct.

    :param position: in the row.
    :param unavailable: JSON printed when redo does not say the value.
    """

    name: str
    position: int
    codec: Codec
    unavailable: str = "null"


@dataclass(frozen=True, slots=True)
class _Expression:
    """Python source of a text that is known when a row is printed; a plain str among its neighbours is constant text."""

    source: str


_Document: TypeAlias = list[str | _Expression]


def compile_key(columns: Sequence[PrintedColumn], head: str, tail: str) -> PrintKey:
    """A function from a row to its key.

    :param head: text before the key.
    :param tail: text behind it.
    """
    members = _object(columns, [_printed(column, f"row[{column.position}]") for column in columns])
    scope = _codecs(columns)
    exec(f"def print_key(row):\n    {_returned([head, *members, tail])}\n", scope)
    print_key: PrintKey = scope["print_key"]
    return print_key


def compile_value(columns: Sequence[PrintedColumn], width: int, head: str, tail: str) -> PrintValue:
    """A function that prints the envelope of a row change.

    :param width: of rows.
    :param head: text before the envelope.
    :param tail: text behind it.
    """

    def partial(before: Row | None, after: Row | None, source: str, op: Op, ns: str) -> bytes:
        rows = [row for row in (before, after) if row is not None]
        if rows and not any(UNAVAILABLE in row for row in rows):
            raise
        texts = ["null" if row is None else _print_partial(columns, row) for row in (before, after)]
        printed: bytes = scope["print_texts"](*texts, source, op, ns)
        return printed

    printed_rows = _envelope(head, [_Expression("before")], [_Expression("after")], tail)
    lines = ["def print_texts(before, after, source, op, ns):", f"    {printed_rows}"]
    lines += ["def print_value(before, after, source, op, ns):", "    try:"]
    lines += (f"        {line}" for line in _value_lines(columns, width, head, tail))
    lines += ["    except no_text:", "        return partial(before, after, source, op, ns)"]
    scope = {**_codecs(columns), "no_text": NO_TEXT, "partial": partial}
    exec("\n".join(lines) + "\n", scope)
    print_value: PrintValue = scope["print_value"]
    return print_value


def _envelope(head: str, before: _Document, after: _Document, tail: str) -> str:
    """The statement that returns an envelope."""
    document: _Document = [head, '{"before":', *before, ',"after":', *after, ',"source":', _Expression("source")]
    document += [',"transaction":null,"op":"', _Expression("op"), '","ts_ms":', _Expression("ns[:-6]")]
    document += [',"ts_us":', _Expression("ns[:-3]"), ',"ts_ns":', _Expression("ns"), "}", tail]
    return _returned(document)


def _value_lines(columns: Sequence[PrintedColumn], width: int, head: str, tail: str) -> list[str]:
    """With a row before, a row after, or both."""
    at = [column.position for column in columns]
    unpack_before, unpack_after = (
        "".join(f"{row[0]}{i}, " if i in set(at) else "_, " for i in range(width)) + f"= {row}"
        for row in ("before", "after")
    )
    before, after = (_object(columns, [f"{row}{i}" for i in at]) for row in ("before", "after"))
    return [
        "if before is None:",
        f"    {unpack_after}",
        *(f"    after{c.position} = {_printed(c, f'a{c.position}')}" for c in columns),
        f"    {_envelope(head, ['null'], after, tail)}",
        unpack_before,
        *(f"before{c.position} = {_printed(c, f'b{c.position}')}" for c in columns),
        "if after is None:",
        f"    {_envelope(head, before, ['null'], tail)}",
        unpack_after,
        *(f"after{i} = before{i} if a{i} is b{i} else {_printed(c, f'a{i}')}" for c in columns for i in [c.position]),
        _envelope(head, before, after, tail),
    ]


def _print_partial(columns: Sequence[PrintedColumn], row: Row) -> str:
    members = []
    for column in columns:
        value = row[column.position]
        text = "null" if value is None else column.unavailable if value is UNAVAILABLE else column.codec.to_json(value)
        members.append(f"{encode_basestring(column.name)}:{text}")
    return "{" + ",".join(members) + "}"


def _codecs(columns: Sequence[PrintedColumn]) -> dict[str, Any]:
    return {f"json{column.position}": column.codec.to_json for column in columns}


def _printed(column: PrintedColumn, value: str) -> str:
    return f"('null' if {value} is None else json{column.position}({value}))"


def _object(columns: Sequence[PrintedColumn], values: Sequence[str]) -> _Document:
    """:param values: Python source of each column's JSON."""
    document: _Document = ["{"]
    for column, value in zip(columns, values, strict=True):
        separator = "," if len(document) > 1 else ""
        document += [f"{separator}{encode_basestring(column.name)}:", _Expression(value)]
    return [*document, "}"]


def _returned(document: _Document) -> str:
    """The statement that returns a document as bytes."""
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
    return f"return ''.join(({', '.join(pieces)},)).encode()"
