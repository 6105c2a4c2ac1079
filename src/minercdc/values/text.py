"""The type family of CHAR, VARCHAR2, NCHAR, NVARCHAR2, LONG and ROWID. CHAR and NCHAR keep their blanks."""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"CHAR", "VARCHAR2", "VARCHAR", "NCHAR", "NVARCHAR2", "LONG", "ROWID"})

_ESCAPE = re.compile(r"\\(?:\\|([0-9A-Fa-f]{4}))?")


def unistr(text: str) -> str:
    r"""The text that UNISTR's argument stands for: `\00E9` is a UTF-16 unit, `\\` a backslash.

    A surrogate pair is two escapes; half a pair, which is no character, becomes U+FFFD. Raises ValueDecodeError for any
    other backslash.
    """
    if "\\" not in text:
        return text

    def unit(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if len(match[0]) == 2:
            return "\\"
        raise ValueDecodeError(f"UNISTR text with a lone backslash at character {match.start() + 1}")

    decoded = _ESCAPE.sub(unit, text)
    if any("\ud800" <= char <= "\udfff" for char in decoded):
        decoded = decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return decoded


def reading(column: Column) -> Reading:
    """How values of a character column become Row text, which is the text itself. Redo prints NCHAR types as UNISTR; a plain
    literal is legal for every one of the types."""
    return Reading({"": None, "UNISTR": unistr}, as_is, str)


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a character column is written: as a string; characters beyond ASCII stay themselves, since the document is
    UTF-8."""
    return Writing(FieldType("string"), encode_basestring)
