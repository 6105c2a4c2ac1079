"""Chooses the type family of a column and binds it to the connector's settings.

codec = codec_for(column, handling)
codec.to_json("12.50")     -> '"BOI="'      Row text to a fragment of a JSON document
codec.from_redo("'12.5'")  -> "12.5"        redo literal to Row text
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values import boolean, document, interval, lob, number, raw, temporal, text
from minercdc.values.family import Convert, FieldType, Reading, ValueHandling
from minercdc.values.literal import read_literal, text_of

__all__ = [
    "LARGE_TYPES",
    "UNMINED_TYPES",
    "Codec",
    "FieldType",
    "ValueHandling",
    "codec_for",
    "is_supported",
    "reading_for",
]

_FAMILIES: tuple[ModuleType, ...] = (number, text, temporal, raw, interval, lob, document, boolean)
_FAMILY_OF = {name: family for family in _FAMILIES for name in family.TYPES}
CAPTURED_TYPES = frozenset(_FAMILY_OF)
"""Names of the types whose values can be captured, as the dictionary spells them."""


@dataclass(frozen=True, slots=True)
class Codec:
    """Converts the values of one column, with the settings of a connector. The functions take no nulls.

    :param field: type of the column in the Connect schema.
    :param to_json: Row text -> JSON fragment such as `12`, `"a\\"b"`, `{"scale":1,"value":"GA=="}`; raises ValueDecodeError.
    :param from_redo: redo literal as printed (`'12'`, `TO_DATE('..', '..')`) -> Row text; raises RedoSyntaxError for what is
        no literal, ValueDecodeError for one that does not fit the column.
    :param select: quoted column name -> SELECT expression.
    :param from_driver: what `select` gives, as python-oracledb fetched it -> Row text; raises ValueDecodeError.
    """

    field: FieldType
    to_json: Convert
    from_redo: Convert
    select: Callable[[str], str]
    from_driver: Callable[[object], str]


# LogMiner has operation codes of their own for these values, JSON among them, which redo holds as a BLOB; `lob.enabled` reads them.
LARGE_TYPES = lob.TYPES | {"XMLTYPE", "JSON"}

# Snapshots have their values; LogMiner prints every row of a table with such a column as `Unsupported` (23ai).
UNMINED_TYPES = frozenset({"VECTOR", "BOOLEAN"})


def is_supported(column: Column) -> bool:
    """Whether values of this column can be captured, those of UNMINED_TYPES by snapshots only."""
    return column.type_name in _FAMILY_OF


def reading_for(column: Column) -> Reading:
    """How this column's values become Row text; made at each call. Raises ValueDecodeError for a type that is not supported."""
    family = _family(column)
    reading: Reading = family.reading(column)
    return reading


def codec_for(column: Column, handling: ValueHandling) -> Codec:
    """The codec of a column; to be built once per table version. Raises ValueDecodeError for an unsupported type."""
    family = _family(column)
    reading: Reading = family.reading(column)
    writing = family.writing(column, handling)

    def from_redo(literal: str) -> str:
        parsed, end = read_literal(literal, 0)
        if end != len(literal):
            raise ValueDecodeError(f"text after the literal {literal[:end]}")
        return text_of(parsed, reading)

    return Codec(writing.field, writing.to_json, from_redo, reading.select, reading.from_driver)


def _family(column: Column) -> ModuleType:
    try:
        return _FAMILY_OF[column.type_name]
    except KeyError:
        raise ValueDecodeError(f"columns of type {column.type_name} are not supported ({column.name})") from None
