"""Compares two schemas of a registry's subject field by field, and reports incompatible changes.

A level of compatibility says who reads whose records (Avro 1.12, "Schema Resolution"; Confluent's levels):

BACKWARD    the new schema reads records of the one before: a field that is new needs a default
FORWARD     the one before reads records of the new schema: a field that is gone needs one
FULL        both

Registries name places in a schema (`/fields/1/type/1/fields/4/type`), or only the kind of the fault, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from minercdc.messages.protobuf.text import messages

_SHOWN: Final = 20
"""Fields that a message names."""
_PLACE: Final = re.compile(r"(?:/(?:fields|type|items|values|\d+))+")
_PROMOTED: Final[Mapping[str, frozenset[str]]] = {
    "long": frozenset({"int"}),
    "float": frozenset({"int", "long"}),
    "double": frozenset({"int", "long", "float"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
"""Type of the reader -> types of the writer that it reads as its own."""
_ONE_WIRE_TYPE: Final = frozenset({"int32", "uint32", "int64", "uint64", "bool"})


def avro_faults(old: str, new: str, level: str) -> list[str]:
    """The fields of two schemas of Avro that break a level of compatibility, each with the reason; none where a text is no schema.

    :param level: as the registry names it; another word, or '', stands for both directions.
    """
    try:
        before, after = json.loads(old), json.loads(new)
        found = dict.fromkeys(_avro_faults(before, after, level))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):  # the subject held Protobuf before
        return []
    return list(found)


def _avro_faults(before: Any, after: Any, level: str) -> Iterator[str]:
    if not level.startswith("FORWARD"):
        for fault in _Reading(after, before).faults():
            yield (
                _changed(fault.path, fault.written, fault.read) if fault.there else f"{fault.path} is new and has no default"
            )
    if not level.startswith("BACKWARD"):
        for fault in _Reading(before, after).faults():
            yield (
                _changed(fault.path, fault.read, fault.written)
                if fault.there
                else f"{fault.path} was removed and had no default"
            )


def _changed(path: str, old: Any, new: Any) -> str:
    return f"{path or 'the record'} was {_shown(old)} and is {_shown(new)}"


def _shown(avro: Any) -> str:
    if isinstance(avro, list):
        return " or ".join(map(_shown, avro))
    if not isinstance(avro, dict):
        return str(avro)
    if "fields" in avro:
        return str(avro["name"])
    inner = avro.get("items", avro.get("values"))
    name = str(avro.get("logicalType", avro["type"]))
    return name if inner is None else f"{name} of {_shown(inner)}"


@dataclass(frozen=True, slots=True)
class _Fault:
    """A field that a reader's schema cannot take from a writer's.

    :ivar there: both have the field; else the writer's schema has none, and the reader's no default.
    """

    path: str
    there: bool
    read: Any = None
    written: Any = None


class _Reading:
    """Finds what keeps one schema, the reader, from reading the records of another one, the writer."""

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader, self._writer = reader, writer
        self._of_reader, self._of_writer = dict(_named(reader)), dict(_named(writer))
        self._seen: set[tuple[str, str]] = set()  # records that are compared, by their names

    def faults(self) -> Iterator[_Fault]:
        yield from self._compared("", self._reader, self._writer)

    def _compared(self, path: str, read: Any, written: Any) -> Iterator[_Fault]:
        """The faults of a field, or of the fields of its record."""
        if not self._fits(read, written):
            yield _Fault(path, True, read, written)
            return
        for writer in self._branches(written, self._of_writer):
            reader = next((b for b in self._branches(read, self._of_reader) if self._fits_one(b, writer)), None)
            if not isinstance(reader, dict):
                continue
            if "fields" in reader:
                yield from self._fields(path, reader, writer)
            for inner in ("items", "values"):
                if inner in reader:
                    yield from self._compared(path, reader[inner], writer[inner])

    def _fields(self, path: str, reader: Mapping[str, Any], writer: Mapping[str, Any]) -> Iterator[_Fault]:
        pair = (reader["name"], writer["name"])
        if pair in self._seen:
            return
        self._seen.add(pair)
        written = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            at = f"{path}.{field['name']}" if path else str(field["name"])
            if field["name"] in written:
                yield from self._compared(at, field["type"], written[field["name"]]["type"])
            elif "default" not in field:
                yield _Fault(at, False)

    def _fits(self, read: Any, written: Any) -> bool:
        """Whether each branch of the writer has one of the reader. Fields of records are not looked at."""
        readers = self._branches(read, self._of_reader)
        return all(
            any(self._fits_one(reader, writer) for reader in readers) for writer in self._branches(written, self._of_writer)
        )

    def _fits_one(self, reader: Any, writer: Any) -> bool:
        kind, other = _kind(reader), _kind(writer)
        if kind != other:
            return other in _PROMOTED.get(kind, ())
        if kind in ("record", "enum", "fixed"):
            same = bool(_bare(reader["name"]) == _bare(writer["name"]))
            return same and (kind != "fixed" or bool(reader["size"] == writer["size"]))
        if kind in ("array", "map"):
            inner = "items" if kind == "array" else "values"
            return self._fits(reader[inner], writer[inner])
        return True

    @staticmethod
    def _branches(avro: Any, known: Mapping[str, Any]) -> Sequence[Any]:
        """The branches of a union, or the type alone, with records in place of their names."""
        found = avro if isinstance(avro, list) else [avro]
        return [known.get(_bare(one), one) if isinstance(one, str) else one for one in found]


def _kind(avro: Any) -> str:
    return str(avro["type"] if isinstance(avro, dict) else avro)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def protobuf_faults(old: str, new: str) -> list[str]:
    """The fields of a new schema of Protobuf that are not read as what had their number in the old one, and messages that are
    gone; [] where a text is no schema."""
    try:
        before, after = messages(old), messages(new)
    except ValueError:
        return []
    found = [f"message {name} was removed" for name in before if name not in after]
    for name in before.keys() & after.keys():
        for number in sorted(before[name].keys() & after[name].keys()):
            was, now = before[name][number], after[name][number]
            if not _is_read_alike(was, now):
                found.append(f"number {number} of {name} was {_numbered(was)} and is {_numbered(now)}")
    return sorted(found)


def _is_read_alike(was: tuple[str, str, str], now: tuple[str, str, str]) -> bool:
    """Whether values of a field are read as those of another one; of both (label, type, name)."""
    kinds, repeated = {was[1], now[1]}, {one[0] == "repeated" for one in (was, now)}
    return len(repeated) == 1 and (len(kinds) == 1 or kinds <= _ONE_WIRE_TYPE)


def _numbered(field: tuple[str, str, str]) -> str:
    label, kind, name = field
    return f"{name} repeated {kind}" if label == "repeated" else f"{name} {kind}"


def reasons(level: str, faults: Sequence[str], said: str) -> str:
    """The end of a sentence about a schema that a registry refuses.

    :param level: of compatibility, '' where it is not known.
    :param faults: of fields, as far as they are found.
    :param said: the registry's own words.
    """
    by = f" ({level})" if level else ""
    more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
    found = f": {'; '.join([*faults[:_SHOWN], *more])}" if faults else ""
    return f"{by}{found}; the registry says: {said}"


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
    """`before.AMOUNT`, or '' where there is no such place.

    :param place: as a registry names it: the keys and numbers of the schema's JSON, as `/fields/0/type`.
    """
    known = dict(_named(schema))
    at, names = schema, list[str]()
    try:
        for step in place.strip("/").split("/"):
            if isinstance(at, str):
                at = known[_bare(at)]
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
            yield _bare(str(schema.get("name", ""))), schema
        for inner in (*schema.get("fields", ()), schema.get("type"), schema.get("items"), schema.get("values")):
            yield from _named(inner)
