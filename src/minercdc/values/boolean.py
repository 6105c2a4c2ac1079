"""The type family of BOOLEAN (23ai). Row text is `true` or `false`. Values come from snapshots and OpenLogReplicator: LogMiner prints rows of
a table with such a column as `Unsupported`."""

from __future__ import annotations

from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"BOOLEAN"})


def reading(column: Column) -> Reading:
    """How values of a BOOLEAN column become Row text: from the driver's bool; no redo literal fits, since LogMiner shows none."""
    return Reading({}, as_is, _from_driver)


def _from_driver(value: object) -> str:
    if not isinstance(value, bool):
        raise ValueDecodeError(f"{type(value).__name__} where a boolean was expected")
    return "true" if value else "false"


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a BOOLEAN column is written: as JSON's `true` and `false`, in every mode."""
    return Writing(FieldType("boolean"), _checked)


def _checked(text: str) -> str:
    if text not in ("true", "false"):
        raise ValueDecodeError(f"{text!r} is no boolean")
    return text
