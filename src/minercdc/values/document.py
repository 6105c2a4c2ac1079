"""The type family of XMLTYPE, JSON and VECTOR: documents whose Row text is their serialized form.

Redo has JSON in Oracle's binary form (OSON), after a hint and as a LOB, where the source logs it: under
ENABLE_GOLDENGATE_REPLICATION. Otherwise LogMiner prints all rows of tables with JSON as `Unsupported`, and always those of
tables with VECTOR (23ai).
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import Convert, FieldType, Reading, ValueHandling, Writing, as_is
from minercdc.values.oson import json_text

TYPES: Final = frozenset({"XMLTYPE", "JSON", "VECTOR"})
LOG_JSON: Final = "ALTER SYSTEM SET ENABLE_GOLDENGATE_REPLICATION = TRUE"
"""The statement that makes LogMiner show rows of tables with JSON columns."""

# The names are Debezium's.
_FIELDS: Final = {
    "XMLTYPE": FieldType("string", "io.debezium.data.Xml", 1),
    "JSON": FieldType("string", "io.debezium.data.Json", 1),
    "VECTOR": FieldType("string"),
}
_SELECT: Final = {"JSON": "JSON_SERIALIZE({} RETURNING CLOB)", "VECTOR": "FROM_VECTOR({} RETURNING CLOB)"}


def reading(column: Column) -> Reading:
    """How values of a column of these types become Row text. The SELECT has the database serialize them, since the driver
    would make Python objects of JSON and VECTOR, and lose digits and order."""
    select = _SELECT.get(column.type_name)
    if column.type_name == "XMLTYPE":
        return Reading({"": None}, as_is, _from_driver)
    literals: dict[str, Convert | None] = {}
    if column.type_name == "JSON":
        literals = {"HEXTORAW": _from_image(column.name), "EMPTY_BLOB": None}
    return Reading(literals, as_is if select is None else select.format, _from_driver, follows=bool(literals))


def _from_image(name: str) -> Convert:
    def text(digits: str) -> str:
        try:
            return json_text(digits)
        except ValueDecodeError as error:
            raise ValueDecodeError(f"column {name}: {error.message}", hint=error.hint) from error

    return text


def _from_driver(value: object) -> str:
    if not isinstance(value, str):
        raise ValueDecodeError(f"{type(value).__name__} where text was expected")
    return value


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a column of these types is written: as a string; XMLTYPE and JSON have a semantic name that says what
    it holds, VECTOR has none."""
    return Writing(_FIELDS[column.type_name], encode_basestring)
