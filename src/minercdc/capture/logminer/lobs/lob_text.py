"""Parses the texts of rows that carry large values: LOB pieces, XML documents, extended strings. First step of `lob_rows`.

    9   DECLARE .. BEGIN select "C" into loc_c from "S"."T" where .. for update;        up to 19c; nothing in 23ai
    10  buf_c := 'text'; dbms_lob.write(loc_c, amount, offset, buf_c);                   23ai: a block with the SELECT of 9
    11  dbms_lob.trim(loc_c, length);        29  e_len := n; dbms_lob.erase(loc_c, e_len, offset);
    68  XML DOC BEGIN: select "X" from "S"."T" where ..    |  update "S"."T" a set a."X" = XMLType(:1) where ..
    70  XML_REDO := HEXTORAW('3c612f3e'):4                 |  bare text
    91  .. Stmt := 'update "S"."T" a set a."V" = :V where ..';      92  buf_c := 'text'; call(..);

Amounts and offsets count characters of CLOBs and bytes of BLOBs, offsets from 1. Each function reads one statement, once;
a text of another form is a RedoSyntaxError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.sql_redo.text import parse_condition
from minercdc.errors import RedoSyntaxError, SchemaMismatchError
from minercdc.stream.events import Row
from minercdc.values import literal
from minercdc.values.text import unistr

_TABLE = r'"[^"]+"\s*\.\s*"[^"]+"'
_DECLARE = re.compile(r"\s*DECLARE\b")
# The condition is group 2; a LOB's data, which holds what a user wrote, comes after all of it.
_SELECT = re.compile(
    rf"""[^']*?\bBEGIN\b\s*select\s*"([^"]+)"\s*into\s+loc_(?:c|b|nc)\s+from\s*{_TABLE}"""
    r"""((?:[^'"]|'[^']*'|"[^"]*")*?)\bfor\s+update\s*;"""
)
_BUFFER = re.compile(r"\s*buf_(c|b|nc)\s*:=\s*")
_WRITE = re.compile(
    r"\s*;\s*dbms_lob\s*\.\s*write\s*\(\s*loc_(c|b|nc)\s*,\s*(\d{1,15})\s*,\s*([1-9]\d{0,14})\s*,\s*buf_(?:c|b|nc)\s*\)\s*;"
)
_TRIM = re.compile(r"\s*dbms_lob\s*\.\s*trim\s*\(\s*loc_(?:c|b|nc)\s*,\s*(\d{1,15})\s*\)\s*;")
_ERASE = re.compile(
    r"\s*e_len\s*:=\s*(\d{1,15})\s*;\s*dbms_lob\s*\.\s*erase\s*\(\s*loc_(?:c|b|nc)\s*,\s*e_len\s*,\s*([1-9]\d{0,14})\s*\)\s*;"
)
_XML_SELECT = re.compile(rf'\s*XML\s+DOC\s+BEGIN\s*:\s*select\s*"([^"]+)"\s*from\s*{_TABLE}')
# A long string's bind variable is named like its column.
_SET_BIND = re.compile(
    rf'\s*update\s*{_TABLE}\s*(?:a\s+)?set\s*(?:a\s*\.\s*)?"([^"]+)"\s*=\s*(?:XMLType\s*\(\s*:\s*1\s*\)|:\s*(?:\1)?)'
)
_XML_REDO = re.compile(r"\s*XML_REDO\s*:=\s*")
_HEX = re.compile(r"HEXTORAW\s*\(\s*'([0-9A-Fa-f]*)'?\s*\)?\s*(?:(?:amount\s*)?:\s*(\d{1,15}))?\s*")
_AMOUNT = re.compile(r"(?:\s*amount|(?<=')\s*)\s*:\s*(\d{1,15})\s*$")
_STATEMENT = re.compile(r"\bStmt\s*:=\s*'")
_FUNCTION = re.compile(r"\s*([A-Z]+)\s*\(\s*")
_FRAGMENT_END = re.compile(r"[\s)]*;")
_TYPES: Final = {"c": frozenset({"CLOB"}), "nc": frozenset({"NCLOB"}), "b": frozenset({"BLOB"})}
# Stands for '' in an extended string: a fragment is never empty.
_EMPTY_STRING: Final = "LM_EMPTY_STRING"


@dataclass(frozen=True, slots=True)
class Target:
    """The column of a row that a large value belongs to.

    :param column: its position; None when it is not captured.
    :param known: what the condition holds of the row; () when the column is not captured.
    """

    decoder: RedoDecoder
    column: int | None
    known: Row


@dataclass(frozen=True, slots=True)
class Write:
    """A piece of a LOB that is written at an offset.

    :param offset: from 0, in characters or bytes.
    :param data: text, or lower-case hex.
    """

    offset: int
    data: str


@dataclass(frozen=True, slots=True)
class Trim:
    """A LOB is cut to a length in characters (CLOB) or bytes (BLOB)."""

    length: int


@dataclass(frozen=True, slots=True)
class Erase:
    """A stretch of a LOB is overwritten with blanks or zero bytes; the length stays.

    :param offset: from 0, in characters or bytes, as `amount`.
    """

    offset: int
    amount: int


Edit: TypeAlias = Write | Trim | Erase


def parse_locator(sql: str, decoder: RedoDecoder) -> Target:
    """The target that a row of code 9 selects. Raises RedoSyntaxError and ValueDecodeError."""
    target, at = _read_select(sql, decoder)
    _expect_end(sql, at, "")
    return target


def parse_lob_edit(sql: str, decoder: RedoDecoder) -> tuple[Target | None, Edit]:
    """The target of a row of code 10, 11 or 29, None when the row names none; and its edit. Raises RedoSyntaxError and
    ValueDecodeError."""
    target, at, end = None, 0, ""
    edit: Edit
    if _DECLARE.match(sql):
        target, at = _read_select(sql, decoder)
        end = "END;"
    if match := _BUFFER.match(sql, at):
        edit, at = _read_write(sql, match.end(), match[1])
    elif match := _TRIM.match(sql, at):
        edit, at = Trim(int(match[1])), match.end()
    elif match := _ERASE.match(sql, at):
        edit, at = Erase(int(match[2]) - 1, int(match[1])), match.end()
    else:
        raise RedoSyntaxError(f"a write, trim or erase of a LOB was expected at character {at + 1}")
    _expect_end(sql, at, end)
    return target, edit


def selected(sql: str) -> tuple[str | None, dict[str, literal.Literal]]:
    """The column that the block of a LOB's piece selects, and what its condition says of the row; (None, {}) for other texts."""
    match = _SELECT.match(sql) if _DECLARE.match(sql) else None
    if match is None:
        return None, {}
    try:
        return match[1], parse_condition(sql[: match.end(2)], match.start(2))
    except RedoSyntaxError:
        return None, {}


def lob_types(sql: str) -> frozenset[str]:
    """The types of column that a write of a LOB can be of, by its buffer; none for other texts."""
    match = _BUFFER.match(sql)
    return _TYPES[match[1]] if match else frozenset()


def parse_xml_begin(sql: str, decoder: RedoDecoder) -> Target:
    """The target of a row of code 68. Raises RedoSyntaxError and ValueDecodeError."""
    match = _XML_SELECT.match(sql) or _SET_BIND.match(sql)
    if not match:
        raise RedoSyntaxError("an UPDATE with a bind variable was expected")
    return _target(decoder, match[1], sql, match.end())


def parse_xml_fragment(sql: str | None, *, binary: bool) -> str | bytes | None:
    """The fragment of a document that a row of code 70 holds: bytes in the database's character set, text, None for null.

    :param binary: the row is of binary storage (`XML_REDO := ..`); otherwise all of it is document.
    :raises RedoSyntaxError: the text of a row of binary storage cannot be read.
    """
    if sql is None or not binary:
        return sql
    begin = _XML_REDO.match(sql)
    if not begin:
        raise RedoSyntaxError("'XML_REDO := ' was expected at character 1")
    body = sql[begin.end() :]
    if body.strip() == "NULL":
        return None
    if match := _HEX.fullmatch(body):
        if len(match[1]) % 2 or (match[2] and int(match[2]) * 2 != len(match[1])):
            raise RedoSyntaxError(f"the bytes at character {begin.end() + 1} do not match the length that the text gives")
        return bytes.fromhex(match[1])
    if not body.startswith("'"):
        raise RedoSyntaxError(f"a document was expected at character {begin.end() + 1}")
    return _quoted_document(body)


def parse_string_begin(sql: str, decoder: RedoDecoder) -> Target:
    """The target of a row of code 91, whose text quotes an UPDATE as of a document. Raises RedoSyntaxError and
    ValueDecodeError."""
    begin, end = _STATEMENT.search(sql), sql.rfind("'")
    if not begin or end < begin.end():
        raise RedoSyntaxError('"Stmt := \'" with a statement was expected')
    return parse_xml_begin(sql[begin.end() : end].replace("''", "'"), decoder)


def parse_string_fragment(sql: str) -> str:
    """The data of a row of code 92: text, or lower-case hex; '' for the empty string. Raises RedoSyntaxError, and
    ValueDecodeError for UNISTR with a wrong escape.

    Apostrophes inside are not doubled, as everywhere in these columns (DBZ-8034): the last one of the row ends the data.
    """
    match = _BUFFER.match(sql)
    if not match:
        raise RedoSyntaxError("an assignment to a buffer was expected at character 1")
    call = _FUNCTION.match(sql, match.end())
    start, end = call.end() if call else match.end(), sql.rfind("'")
    if not sql.startswith("'", start) or end <= start or not _FRAGMENT_END.match(sql, end + 1):
        raise RedoSyntaxError(f"quoted data was expected at character {match.end() + 1}")
    data, function = sql[start + 1 : end], call[1] if call else ""
    if function == "HEXTORAW":
        return _hex(data, start + 1)
    if function == "UNISTR":
        return unistr(data)
    if function:
        raise RedoSyntaxError(f"{function!r} at character {match.end() + 1} is not text")
    return "" if data == _EMPTY_STRING else data


def _quoted_document(body: str) -> str:
    """The document in `'<a/>'`, which the amount (of characters or bytes) may follow: `amount: 4` on a line of its own, or `:4`.
    Whether apostrophes are doubled is not known: they are not when the amount fits the text as it is; else, or without an
    amount, doubled ones become single."""
    tail = _AMOUNT.search(body)
    head = body[: tail.start()] if tail else body
    head = head.rstrip()
    plain = head[1:-1] if len(head) > 1 and head.endswith("'") else head[1:]
    if tail and int(tail[1]) in (len(plain), len(plain.encode("utf-8", "replace"))):
        return plain
    return plain.replace("''", "'")


def _read_select(sql: str, decoder: RedoDecoder) -> tuple[Target, int]:
    match = _SELECT.match(sql)
    if not match:
        raise RedoSyntaxError("a block with the SELECT of a locator FOR UPDATE was expected at character 1")
    return _target(decoder, match[1], sql[: match.end(2)], match.start(2)), match.end()


def _target(decoder: RedoDecoder, column: str, sql: str, at: int) -> Target:
    """The target in a column, by the condition.

    :param at: where the condition begins, which goes up to the end of `sql`.
    """
    position = decoder.positions.get(column)
    if position is None and decoder.is_place(column):
        raise SchemaMismatchError(
            f"a large value belongs to another version of the table: it identifies its column by position, {column}"
        )
    return Target(decoder, position, () if position is None else decoder.row_of(sql, at))


def _read_write(sql: str, at: int, buffer: str) -> tuple[Write, int]:
    found, after = literal.read_literal(sql, at)
    if found.text is None:
        raise RedoSyntaxError(f"data was expected at character {at + 1}")
    if buffer == "b":
        if found.function != "HEXTORAW":
            raise RedoSyntaxError(f"HEXTORAW was expected at character {at + 1}")
        data = _hex(found.text, at)
    else:
        data = unistr(found.text) if found.function == "UNISTR" else found.text
    match = _WRITE.match(sql, after)
    if not match or match[1] != buffer:
        raise RedoSyntaxError(f"dbms_lob.write of buf_{buffer} was expected at character {after + 1}")
    length = len(data) // 2 if buffer == "b" else len(data)
    if int(match[2]) != length:
        raise RedoSyntaxError(f"the data at character {at + 1} has {length} units where {match[2]} are written")
    return Write(int(match[3]) - 1, data), match.end()


def _hex(text: str, at: int) -> str:
    try:
        return bytes.fromhex(text).hex()
    except ValueError:
        raise RedoSyntaxError(f"hexadecimal digits were expected at character {at + 1}") from None


def _expect_end(sql: str, at: int, end: str) -> None:
    if "".join(sql[at:].split()) not in ("", end):
        raise RedoSyntaxError(f"text after the statement's end at character {at + 1}")
