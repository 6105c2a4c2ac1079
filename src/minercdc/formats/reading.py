"""Reads keys and values that a converter wrote, back to what Connect's JsonConverter has in their place, without a schema."""

from __future__ import annotations

import base64
import io
import json
import math
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import fastavro

from minercdc.config.converters import AVRO, CLOUD_EVENTS, JSON
from minercdc.config.load import ConnectorConfig
from minercdc.config.registries import Side
from minercdc.errors import ConfigError
from minercdc.formats.configured import registry_access
from minercdc.formats.registry import SchemaRegistry

Read: TypeAlias = Callable[[bytes], Any]
"""Raises ValueError for bytes that are not in the format; SinkError and DeliveryError of the registry."""

MAGIC: Final = 0  # first byte of Confluent's wire format; the schema's id follows as four bytes
HEADER_BYTES: Final = 5
_HEADER = struct.Struct(">bI").unpack_from
_FLOAT = struct.Struct("<f").pack
_LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_AS_JSON = {name: {"type": name, "logicalType": "minercdc"} for name in ("float", "double", "bytes")}


def record_readers(config: ConnectorConfig) -> tuple[Read, Read]:
    """Readers of keys and of values, as the configuration has them written.

    :raises ConfigError: a certificate of the registry cannot be read; records are in a format that is not read back.
    """
    key, value = (_reader(config, side) for side in ("key", "value"))
    return key, value


def side_registry(config: ConnectorConfig, side: Side) -> SchemaRegistry | None:
    """The registry that the schemas of keys or of values are in; None where they are written without one."""
    if getattr(config.converters, f"{side}_converter") != AVRO:
        return None
    timeout = config.kafka.minercdc_kafka_timeout_ms / 1000
    return SchemaRegistry(registry_access(config.converters.registry(side), timeout))


def _reader(config: ConnectorConfig, side: Side) -> Read:
    converters = config.converters
    if getattr(converters, f"{side}_converter") not in (AVRO, JSON, CLOUD_EVENTS) or (
        converters.registry_kind(side) and getattr(converters, f"{side}_converter") != AVRO
    ):
        raise ConfigError([f"{side}.converter: {converters.not_read_back()}, which are not read back"])
    registry = side_registry(config, side)
    return json_payload if registry is None else AvroReader(registry).read


def json_payload(content: bytes) -> Any:
    """A document of Connect's JsonConverter, without its schema."""
    document = json.loads(content)
    return document["payload"] if isinstance(document, dict) and document.keys() == {"schema", "payload"} else document


class AvroReader:
    """Reads Confluent's wire format; schemas are asked of the registry once. JSON that was written before is read as such."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._schemas: dict[int, Any] = {}

    def read(self, content: bytes) -> Any:
        """See `Read`."""
        if content[:1] == b"{":
            return json_payload(content)
        if len(content) < HEADER_BYTES or content[0] != MAGIC:
            raise ValueError("this is neither Avro in Confluent's wire format nor JSON")
        (_, number) = _HEADER(content)
        schema = self._schema(number)
        try:
            return fastavro.schemaless_reader(io.BytesIO(content[HEADER_BYTES:]), schema, None)
        except (EOFError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"it does not fit its Avro schema, id {number}: {error!r}") from None

    def _schema(self, number: int) -> Any:
        if number not in self._schemas:
            schema = without_logical_types(json.loads(self._registry.schema(number)), _AS_JSON)
            self._schemas[number] = fastavro.parse_schema(schema)
        return self._schemas[number]


def without_logical_types(schema: Any, instead: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """An Avro schema whose values are those of its primitive types, as JsonConverter writes them.

    :param instead: of a primitive type.
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


def _json_number(number: float) -> float | str:
    """A DOUBLE; NaN and the infinities, for which JSON has no number, as text."""
    if math.isnan(number):
        return "NaN"
    return ("Infinity" if number > 0 else "-Infinity") if math.isinf(number) else number


def _shortest(number: float) -> float | str:
    """A FLOAT as the DOUBLE with the fewest digits that is the same FLOAT."""
    shorter = (float(f"{number:.{digits}g}") for digits in range(1, 9))
    return _json_number(next((one for one in shorter if abs(one) <= _LARGEST and _FLOAT(one) == _FLOAT(number)), number))


def _in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


# fastavro calls them for values of these types (its documentation, "Custom Logical Types").
fastavro.read.LOGICAL_READERS["float-minercdc"] = lambda number, *_: _shortest(number)
fastavro.read.LOGICAL_READERS["double-minercdc"] = lambda number, *_: _json_number(number)
fastavro.read.LOGICAL_READERS["bytes-minercdc"] = lambda content, *_: _in_base64(content)
