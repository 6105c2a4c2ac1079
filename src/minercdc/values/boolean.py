"""BOOLEAN (23ai). Row text is `true` or `false`. It comes from snapshots only: LogMiner prints its rows as `Unsupported`."""

from __future__ import annotations

from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"BOOLEAN"})


def reading(column: Column) -> Reading:
    """Reads the driver's bool; there are no redo literals, since LogMiner does not show BOOLEAN."""
    return Reading({}, as_is, _from_driver)


def _from_driver(value: object) -> str:
    if not isinstance(value, bool):
        raise ValueDecodeError(f"{type(value).__name__} where a boolean was expected")
    return "true" if value else "false"


def writing(column: Column, handling: ValueHandling) -> Writing:
    """JSON's `true` and `false`, in every mode."""
    return Writing(FieldType("boolean"), _checked)


def _checked(text: str) -> str:
    if text not in ("true", "false"):
        raise ValueDecodeError(f"{text!r} is no boolean")
    return text
