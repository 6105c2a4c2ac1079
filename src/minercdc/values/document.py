"""XMLTYPE, JSON and VECTOR: documents whose Row text is their serialized form.

JSON and VECTOR come from snapshots only: LogMiner prints rows of such tables as `Unsupported` (23ai), and JSON values, where
it prints them at all, in Oracle's binary form (OSON), which is not decoded.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import FieldType, Reading, ValueHandling, Writing, as_is

TYPES: Final = frozenset({"XMLTYPE", "JSON", "VECTOR"})

# The names are Debezium's.
_FIELDS: Final = {
    "XMLTYPE": FieldType("string", "io.debezium.data.Xml", 1),
    "JSON": FieldType("string", "io.debezium.data.Json", 1),
    "VECTOR": FieldType("string"),
}
_SELECT: Final = {"JSON": "JSON_SERIALIZE({} RETURNING CLOB)", "VECTOR": "FROM_VECTOR({} RETURNING CLOB)"}


def reading(column: Column) -> Reading:
    """The database serializes: the driver would make Python objects of JSON and VECTOR, and lose digits and order."""
    select = _SELECT.get(column.type_name)
    if column.type_name == "XMLTYPE":
        return Reading({"": None}, as_is, _from_driver)
    return Reading({}, as_is if select is None else select.format, _from_driver)


def _from_driver(value: object) -> str:
    if not isinstance(value, str):
        raise ValueDecodeError(f"{type(value).__name__} where text was expected")
    return value


def writing(column: Column, handling: ValueHandling) -> Writing:
    """A string; XMLTYPE and JSON have a semantic name that says what it holds, VECTOR has none."""
    return Writing(_FIELDS[column.type_name], encode_basestring)
