"""Prints the delete of a row of which only the record key is known: it left the table by redo that could not be decoded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json import JSONDecoder
from json.encoder import encode_basestring

from minercdc.errors import SchemaMismatchError
from minercdc.messages.envelope.row_format import Frame, PrintedColumn
from minercdc.schema.table import TableSchema

_scan = JSONDecoder().raw_decode


def members(key: bytes, *, wrapped: bool) -> dict[str, str]:
    """JSON text of each column of a record key, as it stands there: a number must not pass through a float.

    :param wrapped: whether the key is the payload of {schema, payload}.
    :raises SchemaMismatchError: it is no such key.
    """
    try:
        found = _members(key.decode(), 0)
        return _members(found["payload"], 0) if wrapped else found
    except (ValueError, KeyError, IndexError) as error:
        raise SchemaMismatchError(
            f"the key of a record cannot be read: {error!r}", where=key[:100].decode(errors="replace")
        ) from None


def _members(text: str, at: int) -> dict[str, str]:
    """Members of an object as we print it, without blanks, by name: the JSON text of each.

    :param at: where its brace is.
    """
    found: dict[str, str] = {}
    if text[at] != "{":
        raise ValueError(f"no object at character {at + 1}")
    at += 1
    while text[at] != "}":
        at += text[at] == ","
        name, at = _scan(text, at)
        end = _scan(text, at + 1)[1]
        found[str(name)] = text[at + 1 : end]
        at = end
    return found


def fits_key(columns: Sequence[PrintedColumn], is_rowid: bool, key: dict[str, str]) -> bool:
    """Whether a key read back is one of the table's present key: written by another definition it could be the key of a live row.

    :param columns: of the present key.
    :param is_rowid: the key is the ROWID instead.
    """
    if is_rowid:
        return key.keys() == {"ROWID"}
    return key.keys() == {c.name for c in columns} and all(_fits(c, key[c.name]) for c in columns)


def fits_row(columns: Sequence[PrintedColumn], schema: TableSchema, key: dict[str, str]) -> bool:
    """Whether a row of which only the key is known fits the schema of values: no other column is NOT NULL, and the key's fit."""
    return all(_fits(c, key[c.name]) if c.name in key else schema.columns[c.position].nullable for c in columns)


def _fits(column: PrintedColumn, text: str) -> bool:
    """Whether JSON is of the column's type, as far as its first characters show."""
    kind = column.codec.field.type
    if kind in ("string", "bytes"):
        return text.startswith('"')
    if kind in ("float32", "float64"):
        return text in ('"NaN"', '"Infinity"', '"-Infinity"') or (text[0] not in '"{[ntf' and any(c in text for c in ".eE"))
    if kind == "boolean":
        return text in ("true", "false")
    return text.startswith("{") if kind == "struct" else text.lstrip("-").isdigit()


def in_values(columns: Sequence[PrintedColumn], key_columns: Sequence[PrintedColumn], key: dict[str, str]) -> dict[str, str]:
    """JSON text of the published columns of a key, as values have them: a text that is masked, hashed or cut there is so here, although
    the key has it as it is.

    :param columns: the published ones; `key_columns` those of the key.
    :param key: from `members`.
    """
    of_key = {column.position: column for column in key_columns}
    found = {}
    for column in columns:
        if column.name in key:
            known = of_key.get(column.position)
            is_changed = known is not None and known.codec is not column.codec
            found[column.name] = column.print(json.loads(key[column.name])) if is_changed else key[column.name]
    return found


def print_vanished(frame: Frame, columns: Sequence[str] | None, key: dict[str, str], source: str, end: str) -> bytes:
    """The envelope of the delete, whose `before` has the columns of the key, and null for all others.

    :param columns: names of all published columns; None for a `before` that is null.
    :param key: from `in_values`.
    :param source: text of the source block.
    :param end: text from the operation's closing quote on.
    """
    before = "null"
    if columns is not None:
        before = "{" + ",".join(f"{encode_basestring(name)}:{key.get(name, 'null')}" for name in columns) + "}"
    head, tail = frame
    return f'{head}{{"before":{before},"after":null,"source":{source},"transaction":null,"op":"d{end}{tail}'.encode()
