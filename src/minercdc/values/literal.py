"""Reads literals as LogMiner prints them in SQL_REDO.

    literal   := NULL | call ( ` || ` call )*
    call      := quoted | FUNCTION `(` [ quoted ( `,` quoted )* ] `)` | `Unsupported Type`
    quoted    := `'` characters, apostrophes doubled `'`

Of several arguments only the first is the value (TO_DATE's second is a format, which the session settings fix).
Pieces joined by bars belong to one UNISTR that was too long for one call.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from minercdc.errors import RedoSyntaxError, ValueDecodeError
from minercdc.values.family import Reading

UNSUPPORTED: Final = "Unsupported Type"
# Literals without an argument that are values: LOBs of length 0.
EMPTY_LOBS: Final = frozenset({"EMPTY_CLOB", "EMPTY_BLOB"})
_BLANK = re.compile(r"\s*(?:/\*.*?\*/\s*)?", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]+")
_UNSUPPORTED = re.compile(r"Unsupported\s+Type")
_BARS = re.compile(r"\s*\|\|")
_OPEN, _COMMA, _CLOSE = (re.compile(pattern) for pattern in (r"\s*\(\s*", r"\s*,\s*", r"\s*\)"))


class Literal(NamedTuple):
    """One literal: the function around it, `''` when there is none, and the text between the quotes, undoubled.

    The text is None for `NULL`, for a call without arguments (`EMPTY_CLOB()`), and for `Unsupported Type`, a function here.
    """

    function: str
    text: str | None


NULL: Final = Literal("", None)
EMPTY_BLOB: Final = Literal("EMPTY_BLOB", None)


def read_literal(sql: str, at: int) -> tuple[Literal, int]:
    """The literal at index `at`, or after blanks and a comment there, and the index after it. Pieces joined by bars are one.

    :raises RedoSyntaxError: no literal begins there, it has no end, or its pieces cannot be joined.
    """
    literal, at = _read_call(sql, at)
    while True:
        bars = _BARS.match(sql, at)
        if not bars:
            return literal, at
        more, at = _read_call(sql, bars.end())
        if literal.text is None or more.text is None or more.function != literal.function:
            raise RedoSyntaxError(f"cannot join {literal.function or 'text'} and {more.function or 'text'} with ||")
        literal = Literal(literal.function, literal.text + more.text)


def _read_call(sql: str, at: int) -> tuple[Literal, int]:
    if blank := _BLANK.match(sql, at):
        at = blank.end()
    if sql.startswith("'", at):
        text, at = _read_quoted(sql, at)
        return Literal("", text), at
    if unsupported := _UNSUPPORTED.match(sql, at):
        return Literal(UNSUPPORTED, None), unsupported.end()
    word = _WORD.match(sql, at)
    if not word:
        raise RedoSyntaxError(f"a literal was expected at character {at + 1}")
    opened = _OPEN.match(sql, word.end())
    if not opened:
        if word[0] == "NULL":
            return NULL, word.end()
        raise RedoSyntaxError(f"{word[0]} at character {word.start() + 1} is no literal")
    at = opened.end()
    if sql.startswith(")", at):
        return Literal(word[0], None), at + 1
    text, at = _read_quoted(sql, at)
    while comma := _COMMA.match(sql, at):
        _, at = _read_quoted(sql, comma.end())
    closed = _CLOSE.match(sql, at)
    if not closed:
        raise RedoSyntaxError(f"a closing parenthesis was expected at character {at + 1}")
    return Literal(word[0], text), closed.end()


def _read_quoted(sql: str, at: int) -> tuple[str, int]:
    if not sql.startswith("'", at):
        raise RedoSyntaxError(f"a quoted text was expected at character {at + 1}")
    start = at + 1
    at = sql.find("'", start)
    while at >= 0:
        if not sql.startswith("'", at + 1):
            return sql[start:at].replace("''", "'"), at + 1
        at = sql.find("'", at + 2)
    raise RedoSyntaxError(f"the text that starts at character {start} has no end")


def text_of(literal: Literal, reading: Reading) -> str:
    """Row text of a literal; '' of an empty LOB.

    :raises ValueDecodeError: NULL, `Unsupported Type`, an empty LOB that is no value (`Reading.follows`), or a function or
        text that does not fit the column's type.
    """
    if literal.text is None:
        if literal.function in EMPTY_LOBS and literal.function in reading.literals and not reading.follows:
            return ""
        raise ValueDecodeError(f"{literal.function or 'NULL'} has no value")
    try:
        convert = reading.literals[literal.function]
    except KeyError:
        known = ", ".join(name or "a quoted text" for name in reading.literals)
        raise ValueDecodeError(f"{literal.function or 'a quoted text'} where {known} was expected") from None
    return literal.text if convert is None else convert(literal.text)
