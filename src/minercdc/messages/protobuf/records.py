"""Records as messages of Protocol Buffers with Confluent's header: a zero byte, the schema's id, and which of its messages it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from minercdc import native
from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.avro.encoding import UNFIT
from minercdc.messages.formats.connect import Schema, schema_of
from minercdc.messages.formats.converting import NativeWrite, Write
from minercdc.messages.formats.naming import of_topic
from minercdc.messages.protobuf.encoding import compile_single, compile_writer, message_index
from minercdc.messages.protobuf.native import described
from minercdc.messages.protobuf.schema import Message, ProtobufOptions, protobuf_file
from minercdc.messages.protobuf.text import file_text, outline, protobuf_text, wrappers_text
from minercdc.messages.registries.confluent import Reference, SchemaText
from minercdc.messages.registries.registered import ConfluentSchemas, Refusals

_KIND = "PROTOBUF"


class ProtobufFormat:
    """Protobuf of one side of the records, key or value (formats.converting.Format).

    :param skip_known: files that Confluent's registry has are not registered as references.
    """

    def __init__(self, schemas: ConfluentSchemas, options: ProtobufOptions, *, skip_known: bool) -> None:
        self._schemas = schemas
        self._options = options
        self._skip_known = skip_known
        self._refusals = Refusals()
        self._references: dict[str, Reference] = {}

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that writes JSON payloads of a Connect schema as messages. It raises DecodeError for a payload that
        does not fit.

        :raises RecordSchemaError: Protobuf has no such schema, or the registry refuses it.
        :raises SinkError: that is so for all tables, or the registry refuses its user.
        :raises DeliveryError: the registry does not answer.
        """
        connect = schema_of(schema)
        try:
            text, imports, write, place, message = self._compiled(connect)
            registered = SchemaText(text, _KIND, tuple(filter(None, map(self._reference, imports))))
            name, same = str(connect.get("name") or ""), partial(_same, ours=text)
            ask = partial(self._schemas.identity, topic, name, registered, same)
            identity = self._refusals.asked((topic, text), ask)
        except RecordSchemaError as error:
            raise of_topic(topic, error) from None
        header = identity.before + message_index(place)

        def written(document: bytes, begin: int, end: int) -> bytes:
            try:
                return header + write(json.loads(document[begin:end]))
            except UNFIT as error:
                raise DecodeError(f"a record of topic {topic} does not fit its Protobuf schema: {error!r}") from None

        if native.rows is None or message is None or (fields := described(message, native.rows.CONSTANTS)) is None:
            return written
        return NativeWrite(native.rows.ProtobufWriter(fields, header), written)

    def _compiled(self, connect: Schema) -> tuple[str, list[str], Callable[[Any], bytes], int, Message | None]:
        """Text of the schema, paths of what it imports, how values are written, the message's place in it, and the message of a struct."""
        if connect["type"] == "struct":
            file = protobuf_file(connect, self._options)
            return protobuf_text(file), file.imports, compile_writer(file), 0, file.root
        if connect["type"] in ("array", "map"):
            raise RecordSchemaError(
                f"they are of type {connect['type']}, but Protobuf has only messages",
                hint="Use JSON or Avro with a transformation that makes such values.",
            )
        write, place = compile_single(connect)
        return wrappers_text(), [], write, place, None

    def _reference(self, path: str) -> Reference | None:
        """A file that a schema imports, under its path; at the first call it is registered, or looked up where schemas
        are not registered. None for one that every registry has, or where no references are wanted."""
        text = file_text(path)
        if self._skip_known or self._schemas.uses_given or text is None:
            return None
        if path not in self._references:
            schema, registry = SchemaText(text, _KIND), self._schemas.registry
            registers = self._schemas.auto_register
            if registers:
                registry.register(path, schema)
            version = registry.version(path, schema, just_registered=registers)
            self._references[path] = Reference(path, path, version)
        return self._references[path]


def _same(latest: str, ours: str) -> bool:
    """Whether two schemas have the same messages, fields and numbers; False where one of them is no schema of Protobuf."""
    try:
        return outline(latest) == outline(ours)
    except ValueError:
        return False
