"""Splits statements of SQL_REDO at their apostrophes: into literals, and the glue between them (`glue.py`)."""

from __future__ import annotations


def split(sql: str) -> list[str]:
    """The pieces of a statement: glue, text, glue, text .. glue, texts undoubled; an even number when a text has no end."""
    pieces = sql.split("'")
    if not all(pieces):
        _undouble(pieces)
    return pieces


def _undouble(pieces: list[str]) -> None:
    """Put the texts together again that doubled apostrophes tore apart: no glue between two texts is such an apostrophe."""
    between = pieces[2:-1:2]
    at, torn = 0, between.count("")
    while torn:
        at = between.index("", at)
        end = at + 1
        while end < len(between) and not between[end]:
            end += 1
        torn -= end - at
        text = slice(2 * at + 1, 2 * end + 2)
        pieces[text] = ["'".join(pieces[text][::2])]
        del between[at:end]
