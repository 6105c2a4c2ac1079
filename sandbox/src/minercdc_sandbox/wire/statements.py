"""The facts of a statement's text that the layout of messages depends on: its kind, repeated binds, binds of RETURNING."""

from __future__ import annotations

import re
from enum import Enum, auto

_BLANK = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"\(*\s*([A-Za-z]+)|<<")


class StatementKind(Enum):
    """QUERY returns rows; PLSQL, a block or CALL, may have OUT binds; OTHER is any other statement."""

    QUERY = auto()
    PLSQL = auto()
    OTHER = auto()


def statement_kind(sql: str) -> StatementKind:
    """Kind by the first keyword after blanks, comments and parentheses."""
    blank = _BLANK.match(sql)
    word = _WORD.match(sql, blank.end() if blank else 0)
    if word is None:
        return StatementKind.OTHER
    keyword = (word[1] or "BEGIN").upper()
    if keyword in ("SELECT", "WITH"):
        return StatementKind.QUERY
    return StatementKind.PLSQL if keyword in ("BEGIN", "DECLARE", "CALL") else StatementKind.OTHER


_BIND = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|:\s*([\w$#]+|\"[^\"]+\")", re.DOTALL)


def repeated_binds(sql: str) -> dict[int, int]:
    """0-based position of each bind whose name an earlier bind has, mapped to the position of the first bind of that name. Binds
    count in order of appearance, names in any case; quoted texts and comments have none."""
    names = [match[1].strip('"').upper() for match in _BIND.finditer(sql) if match[1]]
    return {at: names.index(name) for at, name in enumerate(names) if names.index(name) < at}


_MAY_RETURN = re.compile("return", re.IGNORECASE)
_SKIPPED = r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/"
_RETURNING = re.compile(
    rf"{_SKIPPED}|\b(RETURN(?:ING)?)\b|\b(INTO)\b|(:\s*(?:[\w$#]+|\"[^\"]+\"))", re.DOTALL | re.IGNORECASE
)


def return_binds(sql: str) -> frozenset[int]:
    """0-based positions of the binds of RETURNING .. INTO :a, :b in DML, which have no values in a bind row."""
    if _MAY_RETURN.search(sql) is None:
        return frozenset()
    found: set[int] = set()
    position, returning, into = 0, False, False
    for match in _RETURNING.finditer(sql):
        if match[1]:
            returning = True
        elif match[2]:
            into = returning
        elif match[3]:
            if into:
                found.add(position)
            position += 1
    return frozenset(found)
