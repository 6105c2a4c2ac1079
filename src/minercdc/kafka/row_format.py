"""Compiles, per table version, the functions that print its rows and keys as JSON.

A row of n columns is one generated expression with n calls, no loop and no dict: the text of the names and of the punctuation
between values is constant for a table version. Names from the database enter that source text as string literals only (`repr`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from minercdc.events import UNAVAILABLE, Row
from minercdc.values.codec import Codec

RowToJson = Callable[[Row], str]


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
    scope: dict[str, Any] = {f"json{i}": column.codec.to_json for i, column in enumerate(columns)}
    pieces, opener = [], "{"
    for i, column in enumerate(columns):
        pieces.append(repr(f"{opener}{encode_basestring(column.name)}:"))
        value = f"row[{column.position}]"
        pieces.append(f"('null' if {value} is None else json{i}({value}))")
        opener = ","
    pieces.append(repr("}" if columns else "{}"))
    exec(f"def print_row(row):\n    return ''.join(({', '.join(pieces)},))\n", scope)
    print_row: RowToJson = scope["print_row"]

    def print_partial(row: Row) -> str:
        members = []
        for column in columns:
            value = row[column.position]
            text = "null" if value is None else column.unavailable if value is UNAVAILABLE else column.codec.to_json(value)
            members.append(f"{encode_basestring(column.name)}:{text}")
        return "{" + ",".join(members) + "}"

    def print_any(row: Row) -> str:
        return print_partial(row) if UNAVAILABLE in row else print_row(row)

    return print_any
