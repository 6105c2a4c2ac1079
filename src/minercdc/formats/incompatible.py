"""Which columns a registry means that refuses a schema of Avro: it names places in it, as `/fields/1/type/1/fields/4/type`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_PLACE: Final = re.compile(r"(?:/(?:fields|type|items|values|\d+))+")


def columns_at_fault(said: str, new: str, old: str) -> str:
    """The fields at the places that a registry names; '' where it names none.

    A place may be one of the new schema or of the old one, by the rule that is broken: a field counts that is at it in both.
    """
    try:
        schemas = json.loads(new), json.loads(old)
    except ValueError:  # Protobuf, whose fields a registry names itself
        return ""
    found: dict[str, None] = {}
    for place in _PLACE.findall(said):
        names = {_field_at(schema, place) for schema in schemas}
        if len(names) == 1 and (name := names.pop()):
            found[name] = None
    return ", ".join(found)


def _field_at(schema: Any, place: str) -> str:
    """`before.AMOUNT`, or '' where there is no such place."""
    known = dict(_named(schema))
    at, names = schema, list[str]()
    try:
        for step in place.strip("/").split("/"):
            if isinstance(at, str):
                at = known[at.rpartition(".")[2]]
            at = at[int(step)] if isinstance(at, list) else at[step]
            if isinstance(at, dict) and "name" in at and "type" in at and at["type"] not in ("record", "enum", "fixed"):
                names.append(str(at["name"]))
    except (IndexError, KeyError, TypeError, ValueError):
        return ""
    return ".".join(names)


def _named(schema: Any) -> Iterator[tuple[str, Any]]:
    """The records within a schema, by their names without namespace."""
    if isinstance(schema, list):
        for one in schema:
            yield from _named(one)
    elif isinstance(schema, dict):
        if "fields" in schema:
            yield str(schema.get("name", "")).rpartition(".")[2], schema
        for inner in (*schema.get("fields", ()), schema.get("type"), schema.get("items"), schema.get("values")):
            yield from _named(inner)
