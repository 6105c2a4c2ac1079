"""Compiles, per table version, the functions that print its rows and keys as JSON.

Both rows of an update are printed together: a value that did not change is the same object in both, and is printed once.

A row of n columns is one generated expression with n calls, no loop and no dict: the text of the names and of the punctuation
between values is constant for a table version. Names from the database enter that source text as string literals only (`repr`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from minercdc.errors import ValueDecodeError
from minercdc.events import UNAVAILABLE, Row
from minercdc.values.codec import Codec

# What a codec, or the join of what codecs gave, raises for UNAVAILABLE. To look for it in every row would cost more
# than a tenth of printing one.
_NO_TEXT = (TypeError, AttributeError, ValueDecodeError)

RowToJson = Callable[[Row], str]
PairToJson = Callable[[Row, Row], tuple[str, str]]


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


def compile_row(columns: Sequence[PrintedColumn]) -> RowToJson:
    """A function from a row to the JSON object of `columns`."""
    scope = _codecs(columns)
    values = [f"('null' if row[{c.position}] is None else json{i}(row[{c.position}]))" for i, c in enumerate(columns)]
    exec(f"def print_row(row):\n    return {_joined(columns, values)}\n", scope)
    print_row: RowToJson = scope["print_row"]

    def print_any(row: Row) -> str:
        try:
            return print_row(row)
        except _NO_TEXT:
            if UNAVAILABLE in row:
                return _print_partial(columns, row)
            raise

    return print_any


def compile_pair(columns: Sequence[PrintedColumn], print_one: RowToJson) -> PairToJson:
    """A function from a row before and after to the JSON objects of `columns`.

    :param print_one: the same for one row, whatever is unavailable in it.
    """
    scope = _codecs(columns)
    lines = []
    for i, column in enumerate(columns):
        lines += [
            f"    b = before[{column.position}]; a = after[{column.position}]",
            f"    b{i} = 'null' if b is None else json{i}(b)",
            f"    a{i} = b{i} if a is b else 'null' if a is None else json{i}(a)",
        ]
    first, second = ([f"{side}{i}" for i in range(len(columns))] for side in "ba")
    lines.append(f"    return {_joined(columns, first)}, {_joined(columns, second)}")
    exec("def print_pair(before, after):\n" + "\n".join(lines) + "\n", scope)
    print_pair: PairToJson = scope["print_pair"]

    def print_any(before: Row, after: Row) -> tuple[str, str]:
        try:
            return print_pair(before, after)
        except _NO_TEXT:
            return print_one(before), print_one(after)

    return print_any


def _print_partial(columns: Sequence[PrintedColumn], row: Row) -> str:
    members = []
    for column in columns:
        value = row[column.position]
        text = "null" if value is None else column.unavailable if value is UNAVAILABLE else column.codec.to_json(value)
        members.append(f"{encode_basestring(column.name)}:{text}")
    return "{" + ",".join(members) + "}"


def _codecs(columns: Sequence[PrintedColumn]) -> dict[str, Any]:
    return {f"json{i}": column.codec.to_json for i, column in enumerate(columns)}


def _joined(columns: Sequence[PrintedColumn], values: Sequence[str]) -> str:
    """Source of an expression: the object with these expressions as values."""
    pieces, opener = [], "{"
    for column, value in zip(columns, values, strict=True):
        pieces += [repr(f"{opener}{encode_basestring(column.name)}:"), value]
        opener = ","
    pieces.append(repr("}" if columns else "{}"))
    return f"''.join(({', '.join(pieces)},))"
