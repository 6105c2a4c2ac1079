"""Records in Avro's binary form, after what stands for their schema in a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from minercdc import native
from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.avro.encoding import UNFIT, compile_writer
from minercdc.messages.avro.native import described
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.formats.connect import Schema, schema_of
from minercdc.messages.formats.converting import MakeHeaders, NativeWrite, Write
from minercdc.messages.formats.naming import NOT_ADJUSTED, Naming, of_topic
from minercdc.messages.registries.confluent import SchemaText
from minercdc.messages.registries.registered import Identity, Refusals, RegisteredSchemas


class AvroFormat:
    """Avro of one side of the records, key or value (formats.converting.FormatWithHeaders). Each schema's id is asked of the
    registry once for a topic, and again after a refusal.

    :param naming: for the hints of errors.
    :param meta_data: schemas have Connect's properties, `connect.*`.
    """

    def __init__(self, schemas: RegisteredSchemas, naming: Naming = NOT_ADJUSTED, *, meta_data: bool = True) -> None:
        self.schemas = schemas
        self._meta_data = meta_data
        self._naming = naming
        self.has_headers = schemas.has_headers
        self._refusals = Refusals()
        self._identities: dict[tuple[str, str], Identity] = {}

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that writes JSON payloads of a Connect schema. It raises DecodeError for a payload that does not fit.

        :raises RecordSchemaError: the schema cannot be had in Avro, or the registry refuses it.
        :raises SinkError: that is so for all tables, or the registry refuses its user.
        :raises DeliveryError: the registry does not answer.
        """
        return self.compiled(topic, schema_of(schema))[0]

    def compile_headers(self, topic: str, schema: bytes) -> MakeHeaders | None:
        """A function that returns the headers with the id of the schema; None where the id is before the content. For the
        errors see `compile`."""
        headers = self._identity(topic, schema_of(schema)).headers
        return (lambda document, begin, end: headers) if headers else None

    def compiled(self, topic: str, connect: Schema) -> tuple[Write, int]:
        """(the function of `compile`, the schema's id in the registry); for the errors see `compile`."""
        identity = self._identity(topic, connect)
        before = identity.before
        write = compile_writer(connect)

        def written(document: bytes, begin: int, end: int) -> bytes:
            try:
                return before + write(json.loads(document[begin:end]))
            except UNFIT as error:
                raise DecodeError(f"a record of topic {topic} does not fit its Avro schema: {error!r}") from None

        if native.rows is None or (fields := described(connect, native.rows.CONSTANTS)) is None:
            return written, identity.number
        return NativeWrite(native.rows.AvroWriter(fields, before), written), identity.number

    def _identity(self, topic: str, connect: Schema) -> Identity:
        try:
            avro = avro_schema(connect, self._naming, meta_data=self._meta_data)
            text = avro_text(avro)
            if (topic, text) not in self._identities:
                whole = avro if self._meta_data else avro_schema(connect, self._naming)
                name, same = str(connect.get("name") or ""), partial(_same, avro=whole)
                ask = partial(self.schemas.identity, topic, name, SchemaText(text), same)
                self._identities[topic, text] = self._refusals.asked((topic, text), ask)
        except RecordSchemaError as error:
            raise of_topic(topic, error) from None
        return self._identities[topic, text]


def _same(other: str, avro: Any) -> bool:
    """Whether two schemas have the same fields, and say nothing of a value that differs: a reader takes its scale, or unit, from the
    registered one. False where the other one is none of Avro.

    :param avro: ours, with Connect's properties.
    """
    try:
        found = json.loads(other)
        if _fields(found) != _fields(avro):
            return False
        pairs = zip(_meanings(found), _meanings(avro), strict=True)
        return not any(theirs[what] != ours[what] for theirs, ours in pairs for what in theirs.keys() & ours.keys())
    except (AttributeError, KeyError, TypeError, ValueError):  # the subject may hold Protobuf, or JSON Schema
        return False


def _fields(avro: Any) -> Any:
    """A schema without what its bytes do not depend on."""
    if isinstance(avro, list):
        return [_fields(branch) for branch in avro]
    if not isinstance(avro, dict):
        return avro.rpartition(".")[2]
    if avro["type"] == "record":
        return [avro["name"], [[field["name"], _fields(field["type"])] for field in avro["fields"]]]
    inner = avro.get("items", avro.get("values"))
    return avro["type"] if inner is None else [avro["type"], _fields(inner)]


def _meanings(avro: Any) -> Iterator[dict[str, Any]]:
    """What a schema says of the values of each plain type in it, in order: of schemas with the same fields the same number."""
    if isinstance(avro, list):
        for branch in avro:
            yield from _meanings(branch)
    elif not isinstance(avro, dict):
        yield {}
    elif avro["type"] == "record":
        for field in avro["fields"]:
            yield from _meanings(field["type"])
    elif (inner := avro.get("items", avro.get("values"))) is not None:
        yield from _meanings(inner)
    else:
        said = {what: avro[what] for what in ("logicalType", "connect.name") if what in avro}
        if said.get("logicalType") == "decimal":
            said["scale"] = int(avro.get("scale", 0))
        yield said
