"""The type family of CLOB, NCLOB and BLOB. Row text is the text itself, or lower-case hex; an empty LOB is the empty text, not
null."""

from __future__ import annotations

from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values import raw, text
from minercdc.values.family import Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"CLOB", "NCLOB", "BLOB"})


def reading(column: Column) -> Reading:
    """How values of a LOB column become Row text. Redo has small values as plain literals; those that lie outside the row
    come piece by piece (capture/logminer/lobs/lob_rows.py), and not by this."""
    if column.type_name == "BLOB":
        return Reading({"HEXTORAW": str.lower, "EMPTY_BLOB": None}, as_is, raw.reading(column).from_driver)
    # EMPTY_CLOB() stands for empty NCLOBs, too.
    return Reading({"": None, "UNISTR": text.unistr, "EMPTY_CLOB": None}, as_is, _from_driver)


def _from_driver(value: object) -> str:
    if not isinstance(value, str):
        raise ValueDecodeError(f"{type(value).__name__} where text was expected")
    return value


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a LOB column is written: CLOB and NCLOB as a string; BLOB as RAW, by `binary.handling.mode`."""
    return raw.writing(column, handling) if column.type_name == "BLOB" else text.writing(column, handling)
