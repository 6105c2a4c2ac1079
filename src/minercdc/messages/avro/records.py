"""Records in Avro's binary form, after what stands for their schema in a registry."""

from __future__ import annotations

import json
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
                name, same = str(connect.get("name") or ""), partial(_same, avro=avro)
                ask = partial(self.schemas.identity, topic, name, SchemaText(text), same)
                self._identities[topic, text] = self._refusals.asked((topic, text), ask)
        except RecordSchemaError as error:
            raise of_topic(topic, error) from None
        return self._identities[topic, text]


def _same(other: str, avro: Any) -> bool:
    """Whether two schemas have the same fields; False where the other one is none of Avro."""
    try:
        return bool(_fields(json.loads(other)) == _fields(avro))
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
