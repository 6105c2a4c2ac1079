"""Reads keys and values that a converter wrote, back to what Connect's JsonConverter has in their place, without a schema."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import fastavro

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.converters import PROTOBUF
from minercdc.config.messages.registries import SIDES, Side
from minercdc.errors import ConfigError
from minercdc.messages.formats.json_values import in_base64, json_number, shortest
from minercdc.messages.protobuf.decoding import compile_reader
from minercdc.messages.registries.schemas_by_id import SchemasById, schemas_of

Read: TypeAlias = Callable[[bytes], Any]
"""Raises ValueError for bytes that are not in the format; SinkError and DeliveryError of the registry."""

MAGIC: Final = 0  # first byte of the wire formats; the schema's id follows
_AS_JSON = {name: {"type": name, "logicalType": "minercdc"} for name in ("float", "double", "bytes")}


def record_readers(config: ConnectorConfig) -> tuple[Read, Read]:
    """Readers of keys and of values, as the configuration has them written.

    :raises ConfigError: a certificate of the registry cannot be read; records are in a format that is not read back.
    """
    key, value = (_reader(config, side) for side in SIDES)
    return key, value


def _reader(config: ConnectorConfig, side: Side) -> Read:
    converters = config.converters
    if reason := converters.unreadable(side):
        raise ConfigError([f"{side}.converter: {reason}, which are not read back"])
    schemas = schemas_of(config, side)
    if schemas is None:
        return json_payload
    compiled = _protobuf if getattr(converters, f"{side}_converter") == PROTOBUF else _avro
    return RegisteredReader(schemas, compiled).read


def json_payload(content: bytes) -> Any:
    """The value of a document of Connect's JsonConverter, or of Apicurio's, without its schema. Raises ValueError when it is no JSON."""
    document = json.loads(content)
    wrapped = isinstance(document, dict) and document.keys() in ({"schema", "payload"}, {"schemaId", "payload"})
    return document["payload"] if wrapped else document


def _avro(text: str) -> Read:
    schema = fastavro.parse_schema(without_logical_types(json.loads(text), _AS_JSON))
    return lambda content: fastavro.schemaless_reader(io.BytesIO(content), schema, None)


def _protobuf(text: str) -> Read:
    read = compile_reader(text)

    def read_first(content: bytes) -> Any:
        if content[:1] != b"\0":  # which of its messages: the first
            raise ValueError("it is not the first message of its schema")
        return read(content[1:])

    return read_first


class RegisteredReader:
    """Reads contents that have the id of their schema before them; each schema is requested from the registry once. JSON that was
    written before is read as such.

    :param compiled: reads contents, from the text of their schema.
    """

    def __init__(self, schemas: SchemasById, compiled: Callable[[str], Read] = _avro) -> None:
        self._schemas = schemas
        self._compiled = compiled
        self._head = 1 + schemas.id_bytes
        self._readers: dict[int, Read] = {}

    def read(self, content: bytes) -> Any:
        """The value of a content as Connect's JsonConverter has it, without a schema.

        :raises ValueError: the content is neither JSON nor of the format, or does not fit its schema.
        :raises SinkError, DeliveryError: the registry does not have the schema, refuses to answer, or does not answer.
        """
        if content[:1] == b"{":
            return json_payload(content)
        if len(content) < self._head or content[0] != MAGIC:
            raise ValueError("this is neither JSON nor a schema id with content")
        number = int.from_bytes(content[1 : self._head], "big")
        try:
            return self._reader(number)(content[self._head :])
        except (EOFError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"it does not fit its schema, id {number}: {error!r}") from None

    def _reader(self, number: int) -> Read:
        if number not in self._readers:
            self._readers[number] = self._compiled(self._schemas.schema(number))
        return self._readers[number]


def without_logical_types(schema: Any, instead: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """An Avro schema whose values are those of its primitive types, as JsonConverter writes them.

    :param instead: what stands in the place of a primitive type, by its name.
    """
    if isinstance(schema, str):
        return instead.get(schema, schema)
    if isinstance(schema, list):
        return [without_logical_types(branch, instead) for branch in schema]
    kind = schema["type"]
    if kind == "record":
        fields = [{**field, "type": without_logical_types(field["type"], instead)} for field in schema["fields"]]
        named = {name: schema[name] for name in ("name", "namespace") if name in schema}
        return {"type": kind, **named, "fields": fields}
    if kind in ("array", "map"):
        inner = "items" if kind == "array" else "values"
        return {"type": kind, inner: without_logical_types(schema[inner], instead)}
    return instead.get(kind, kind) if isinstance(kind, str) else without_logical_types(kind, instead)


# fastavro calls them for values of these types (its documentation, "Custom Logical Types").
fastavro.read.LOGICAL_READERS["float-minercdc"] = lambda number, *_: shortest(number)
fastavro.read.LOGICAL_READERS["double-minercdc"] = lambda number, *_: json_number(number)
fastavro.read.LOGICAL_READERS["bytes-minercdc"] = lambda content, *_: in_base64(content)
