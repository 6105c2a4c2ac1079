"""Records in Avro's binary form with Confluent's header: a zero byte, the schema's id as four bytes, the value."""

from __future__ import annotations

import json
import struct
from typing import Any

from minercdc import native
from minercdc.errors import DecodeError, SinkError
from minercdc.formats.avro_encoding import compile_writer
from minercdc.formats.avro_native import described
from minercdc.formats.avro_schema import avro_schema, avro_text
from minercdc.formats.connect import schema_of
from minercdc.formats.converting import Write
from minercdc.formats.registry import SchemaRegistry
from minercdc.formats.subjects import Subject

_HEADER = struct.Struct(">bI").pack


class AvroFormat:
    """Avro of one side of the records, key or value (formats.converting.Format).

    :param auto_register: register schemas; else each has to be there.
    :param use_latest: write with the newest schema of the subject, which has to have the same fields.
    """

    def __init__(
        self, registry: SchemaRegistry, subject: Subject, *, auto_register: bool, use_latest: bool, normalize: bool
    ) -> None:
        self._registry = registry
        self._subject = subject
        self._auto_register = auto_register
        self._use_latest = use_latest
        self._normalize = normalize

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that writes JSON payloads of a Connect schema.

        :raises SinkError: the schema cannot be had in Avro, or the registry refuses it.
        :raises DeliveryError: the registry does not answer.
        """
        connect = schema_of(schema)
        avro = avro_schema(connect)
        subject = self._subject(topic, str(connect.get("name") or ""))
        header = _HEADER(0, self._id(subject, avro))
        write = compile_writer(connect)

        def written(document: bytes, begin: int, end: int) -> bytes:
            try:
                return header + write(json.loads(document[begin:end]))
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                raise DecodeError(f"a record of topic {topic} does not fit its Avro schema: {error!r}") from None

        fields = described(connect)
        if native.rows is None or fields is None:
            return written
        write_natively = native.rows.AvroWriter(fields, header).write
        return lambda document, begin, end: write_natively(document, begin, end) or written(document, begin, end)

    def _id(self, subject: str, avro: Any) -> int:
        text = avro_text(avro)
        if self._use_latest:
            number, latest = self._registry.latest(subject)
            if _fields(json.loads(latest)) != _fields(avro):
                raise SinkError(
                    f"the newest schema of subject {subject} (id {number}) has other fields than the table: {latest}",
                    hint="Register a schema of the table's fields, or leave use.latest.version out.",
                )
            return number
        if self._auto_register:
            return self._registry.register(subject, text, normalize=self._normalize)
        return self._registry.lookup(subject, text)


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
