"""Literals as LogMiner prints them in SQL_REDO.

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
_COMMENT = re.compile(r"/\*.*?\*/ ?", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]+")
_BARS = re.compile(r" ?\|\| ?")
# In the relaxed reading an apostrophe ends a literal only when one of these follows (or the end of the text).
_AFTER_QUOTE = re.compile(r"\)|,| and | where |;|$")


class Literal(NamedTuple):
    """One literal: the function around it, `''` when there is none, and the text between the quotes, undoubled.

    `NULL` has no text and no function.
    """

    function: str
    text: str | None


NULL: Final = Literal("", None)


def read_literal(sql: str, at: int, *, relaxed: bool = False) -> tuple[Literal, int]:
    """The literal that starts at `at`, and where it ends.

    :param relaxed: apostrophes inside may be single: LogMiner fails to double them in VARCHAR2 columns declared
        longer than 4000 bytes (DBZ-8034).
    """
    comment = _COMMENT.match(sql, at)
    if comment:
        at = comment.end()
    literal, at = _read_call(sql, at, relaxed)
    while True:
        bars = _BARS.match(sql, at)
        if not bars:
            return literal, at
        more, at = _read_call(sql, bars.end(), relaxed)
        if literal.text is None or more.text is None or more.function != literal.function:
            raise RedoSyntaxError(f"cannot join {literal.function or 'text'} and {more.function or 'text'} with ||")
        literal = Literal(literal.function, literal.text + more.text)


def _read_call(sql: str, at: int, relaxed: bool) -> tuple[Literal, int]:
    if sql.startswith("'", at):
        text, at = _read_quoted(sql, at, relaxed)
        return Literal("", text), at
    if sql.startswith(UNSUPPORTED, at):
        return Literal(UNSUPPORTED, None), at + len(UNSUPPORTED)
    word = _WORD.match(sql, at)
    if not word:
        raise RedoSyntaxError(f"a literal was expected at character {at + 1}")
    at = word.end()
    if not sql.startswith("(", at):
        if word[0] == "NULL":
            return NULL, at
        raise RedoSyntaxError(f"{word[0]} at character {word.start() + 1} is no literal")
    at += 1
    if sql.startswith(")", at):
        return Literal(word[0], None), at + 1
    text, at = _read_quoted(sql, at, relaxed)
    while sql.startswith(",", at):
        _, at = _read_quoted(sql, at + 1 + sql.startswith(" ", at + 1), relaxed)
    if not sql.startswith(")", at):
        raise RedoSyntaxError(f"a closing parenthesis was expected at character {at + 1}")
    return Literal(word[0], text), at + 1


def _read_quoted(sql: str, at: int, relaxed: bool) -> tuple[str, int]:
    if not sql.startswith("'", at):
        raise RedoSyntaxError(f"a quoted text was expected at character {at + 1}")
    start = at + 1
    at = sql.find("'", start)
    while at >= 0:
        if sql.startswith("'", at + 1):
            at = sql.find("'", at + 2)
        elif relaxed and not _AFTER_QUOTE.match(sql, at + 1):
            at = sql.find("'", at + 1)
        else:
            return sql[start:at].replace("''", "'"), at + 1
    raise RedoSyntaxError(f"the text that starts at character {start} has no end")


def text_of(literal: Literal, reading: Reading) -> str:
    """Row text of a literal that has one (not NULL, not `Unsupported Type`)."""
    if literal.text is None:
        if literal.function in EMPTY_LOBS and literal.function in reading.literals:
            return ""
        raise ValueDecodeError(f"{literal.function or 'NULL'} has no value")
    try:
        convert = reading.literals[literal.function]
    except KeyError:
        known = ", ".join(name or "a quoted text" for name in reading.literals)
        raise ValueDecodeError(f"{literal.function or 'a quoted text'} where {known} was expected") from None
    return literal.text if convert is None else convert(literal.text)
