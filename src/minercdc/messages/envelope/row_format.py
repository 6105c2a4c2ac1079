"""Prints the keys and values of a table version as JSON. Ordinary rows of redo and snapshots are printed by the native path where it is in
use (`native/print.c`); this is its reference, and prints all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from operator import add
from typing import Final, TypeAlias

from minercdc.errors import ValueDecodeError
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.codec import Codec

PrintRecord: TypeAlias = Callable[[Row | None, Row | None, str, Op, str], tuple[bytes | None, bytes]]
"""Key and value from the row before, the row after, the source block, the operation, and the envelope's end from there on.

The key is that of the row after, or of a deleted row; None for a table without one, and when there is no row. Raises ValueDecodeError
when redo does not hold a value of the key, or a value does not fit its type.
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
    :param hashed: each value is printed as a hash, and so is the placeholder.
    """

    name: str
    position: int
    codec: Codec
    unavailable: str = "null"
    null: str = "null"
    large: bool = False
    masked: bool = False
    hashed: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether nothing in the record's value says that redo does not hold the column."""
        return self.hashed or self.unavailable == "null"

    def print(self, value: Value) -> str:
        """JSON of a value. Raises ValueDecodeError for one that does not fit the column's type."""
        return self.null if value is None else self.unavailable if value is UNAVAILABLE else self.codec.to_json(value)


def compile_record(
    columns: Sequence[PrintedColumn],
    key: Sequence[PrintedColumn],
    key_frame: Frame,
    frame: Frame,
    *,
    transaction: str = NO_TRANSACTION,
) -> PrintRecord:
    """A function that prints the key and the envelope of a row change; for its errors see `PrintRecord`.

    :param columns: of the envelope's rows.
    :param key: columns of the key, empty for a table without one.
    :param key_frame, frame: text before and after the key, and the envelope.
    :param transaction: member of the envelope after `source`; '' when the text of `source` has it.
    """
    members, key_members = _members(columns), _members(key)
    (key_head, key_tail), (head, tail) = key_frame, frame

    def print_key(row: Row) -> bytes:
        values = [_print_of_key(column, row[column.position]) for column in key]
        return f"{key_head}{_object(key_members, values)}{key_tail}".encode()

    def print_record(before: Row | None, after: Row | None, source: str, op: Op, end: str) -> tuple[bytes | None, bytes]:
        old = [] if before is None else [column.print(before[column.position]) for column in columns]
        new = [] if after is None else _print_after(columns, after, before, old)
        row = before if after is None else after
        printed_key = print_key(row) if key and row is not None else None
        old_text = "null" if before is None else _object(members, old)
        new_text = "null" if after is None else _object(members, new)
        value = f'{head}{{"before":{old_text},"after":{new_text},"source":{source}{transaction},"op":"{op}{end}{tail}'
        return printed_key, value.encode()

    return print_record


def _print_after(columns: Sequence[PrintedColumn], after: Row, before: Row | None, old: Sequence[str]) -> list[str]:
    """JSON of the values of a row after; those that are the same in the row before are printed already, as `old`."""
    if before is None:
        return [column.print(after[column.position]) for column in columns]
    return [
        text if after[column.position] is before[column.position] else column.print(after[column.position])
        for column, text in zip(columns, old, strict=True)
    ]


def _print_of_key(column: PrintedColumn, value: Value) -> str:
    if value is UNAVAILABLE:
        raise ValueDecodeError(f"redo does not hold column {column.name} of the key")
    return column.print(value)


def _members(columns: Sequence[PrintedColumn]) -> list[str]:
    """What stands before the values of a JSON object."""
    return [f"{encode_basestring(column.name)}:" for column in columns]


def _object(members: Sequence[str], values: Sequence[str]) -> str:
    return "{" + ",".join(map(add, members, values)) + "}"
