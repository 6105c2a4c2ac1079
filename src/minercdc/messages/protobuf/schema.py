"""Messages of Protocol Buffers (proto3) from Kafka Connect's schemas, in the form that Connect's ProtobufConverter gives them.

struct      message named by the last part of its name; the parts before are the package of the outermost one. Others lie within the
            message that has a field of them, once. A message that would have the name of its field gets the suffix `Message`
fields      numbered from 1 in their order
optional    nothing: null is left out, and a zero or an empty text is, too; by option the label `optional`, or google.protobuf's wrappers
int8, int16, Decimal    with what Protobuf lacks as `confluent.field_meta`
Decimal, Date, Time, Timestamp of Connect    messages of Confluent and Google; Debezium's types are their plain values
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_plus

from minercdc.errors import RecordSchemaError
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from minercdc.messages.formats.naming import NOT_ADJUSTED, Naming
from minercdc.schema.name_adjustment import NAME

META: Final = "confluent/meta.proto"
LOGICAL: Final[Mapping[str, tuple[str, str]]] = {
    DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
WRAPPERS: Final = "google/protobuf/wrappers.proto"
SCALARS: Final[Mapping[str, str]] = {
    "boolean": "bool",
    "int8": "int32",
    "int16": "int32",
    "int32": "int32",
    "int64": "int64",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
}
WRAPPED: Final[Mapping[str, str]] = {
    "double": "DoubleValue",
    "float": "FloatValue",
    "int64": "Int64Value",
    "uint64": "UInt64Value",
    "int32": "Int32Value",
    "uint32": "UInt32Value",
    "bool": "BoolValue",
    "string": "StringValue",
    "bytes": "BytesValue",
}
"""google.protobuf's wrapper of each scalar, in the order of its file."""
_DEFAULT_NAME: Final = "ConnectDefault"
_FREE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]")
_MOST_FIELDS: Final = 18_999  # those from 19000 on belong to Protobuf itself


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """What Connect's converter lets one choose.

    :param optional: nullable fields get the label `optional`.
    :param wrappers: nullable scalars are google.protobuf's wrappers.
    :param scrub: other characters in names of fields and messages are replaced.
    :param naming: for the hints of errors.
    """

    optional: bool = False
    wrappers: bool = False
    scrub: bool = False
    naming: Naming = NOT_ADJUSTED


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    :param label: `optional`, `repeated` or ''.
    :param type: a scalar's name, or a message's.
    :param wrapped: `type` is a wrapper of this scalar; '' where it is none.
    :param message: the field's message, where this schema defines it; else None.
    :param member: name in the Connect struct.
    :param schema: of the value, or of a repeated field's items.
    :param params: of its `confluent.field_meta`.
    """

    name: str
    number: int
    label: str
    type: str
    wrapped: str
    message: Message | None
    member: str
    schema: Schema
    params: Mapping[str, str]


@dataclass(slots=True)
class Message:
    """One message, with those that are defined within it."""

    name: str
    fields: list[Field] = field(default_factory=list)
    nested: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class ProtobufFile:
    """A schema as a file of Protobuf.

    :param package: '' for none.
    :param imports: in the order of their first use.
    """

    package: str
    root: Message
    imports: list[str]


def protobuf_file(schema: Schema, options: ProtobufOptions) -> ProtobufFile:
    """The file of a Connect struct.

    :raises RecordSchemaError: a name in it is none of Protobuf's, two become the same, or Protobuf does not have what is in it.
    :raises SinkError: a name is none of Protobuf's in a part that the names of all tables have (`topic.prefix`).
    """
    return _Conversion(options).file(schema)


class _Conversion:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._imports: list[str] = []
        self._unnamed = 0

    def file(self, schema: Schema) -> ProtobufFile:
        package, _, name = self._full_name(schema).rpartition(".")
        for part in package.split("."):
            if package and not NAME.fullmatch(part):
                full = f"{package}.{name}"
                raise self._options.naming.refused_schema(full, part, "has a part that is not a valid Protobuf package")
        return ProtobufFile(package, self._message(self._name(name), schema), self._imports)

    def _full_name(self, schema: Schema) -> str:
        if name := schema.get("name"):
            return str(name)
        self._unnamed += 1
        return f"{_DEFAULT_NAME}{self._unnamed}"

    def _name(self, name: str) -> str:
        """A name of a field or message as it is written. With `scrub`, other characters than Protobuf's are replaced;
        without it, they raise RecordSchemaError."""
        if _FREE.fullmatch(name) or (not self._options.scrub and NAME.fullmatch(name)):
            return name
        if not self._options.scrub:
            raise RecordSchemaError(
                f"the name {name} is not valid in Protobuf: names have only letters, digits and _, and do not begin with a digit",
                hint=self._options.naming.of_field("scrub.invalid.names=true of the converter"),
            )
        found = quote_plus(name, safe="*").replace("~", "%7E")
        return _NOT_IN_NAMES.sub("_", f"x{found}" if found[0] == "_" or found[0].isdigit() else found)

    def _message(self, name: str, schema: Schema) -> Message:
        message, seen = Message(name), dict[str, str]()
        if len(schema["fields"]) > _MOST_FIELDS:
            raise RecordSchemaError(f"message {name} has {len(schema['fields'])} fields, more than Protobuf numbers")
        known: dict[str, tuple[Schema, Message]] = {name: (schema, message)}
        for number, member in enumerate(schema["fields"], 1):
            found = self._field(message, known, number, member["field"], member)
            if found.name in seen:
                raise RecordSchemaError(
                    f"fields {seen[found.name]} and {member['field']} of {name} both become {found.name} in Protobuf",
                    hint=self._options.naming.apart(),
                )
            seen[found.name] = member["field"]
            message.fields.append(found)
        return message

    def _field(
        self, within: Message, known: dict[str, tuple[Schema, Message]], number: int, member: str, schema: Schema
    ) -> Field:
        name, label, inner = self._name(member), "", schema
        if schema["type"] == "array":
            label, inner = "repeated", schema["items"]
        elif schema["type"] == "map":
            label = "repeated"
        elif self._options.optional and schema.get("optional"):
            label = "optional"
        if inner["type"] == "array":
            raise RecordSchemaError(f"field {member} is an array of arrays, which Protobuf does not support")
        params, wrapped, message = dict[str, str](), "", None
        if inner["type"] in ("struct", "map"):
            message = self._nested(within, known, name, inner)
            kind = message.name
        else:
            kind, wrapped = self._scalar(inner, params)
        return Field(name, number, label, kind, wrapped, message, member, inner, params)

    def _scalar(self, schema: Schema, params: dict[str, str]) -> tuple[str, str]:
        """Type of a field, and the scalar that it wraps or ''. What the type does not say is added to `params`, and its
        file to the imports."""
        kind, name = schema["type"], schema.get("name")
        if isinstance(name, str) and name in LOGICAL:
            given = schema.get("parameters") or {}
            if name == DECIMAL:
                of_it = {"precision": given.get("connect.decimal.precision"), "scale": given.get("scale")}
                params |= {key: str(value) for key, value in of_it.items() if value is not None}
            self._import(LOGICAL[name][1], bool(params))
            return LOGICAL[name][0], ""
        if kind in ("int8", "int16"):
            params["connect.type"] = kind
            self._import(META, False)
        scalar = SCALARS[kind]
        if self._options.wrappers and schema.get("optional"):
            self._import(WRAPPERS, False)
            return f"google.protobuf.{WRAPPED[scalar]}", scalar
        return scalar, ""

    def _import(self, path: str, with_params: bool) -> None:
        for one in (META, path) if with_params else (path,):
            if one not in self._imports:
                self._imports.append(one)

    def _nested(self, within: Message, known: dict[str, tuple[Schema, Message]], field_name: str, schema: Schema) -> Message:
        name = self._name(self._full_name(schema).rpartition(".")[2])
        if schema["type"] == "map":
            name, schema = f"{name}Entry", {"type": "struct", "fields": list(_entry(schema))}
        elif name == field_name:
            name += "Message"
        if name in known:
            other, message = known[name]
            if _content(other) != _content(schema):
                raise RecordSchemaError(f"message {within.name} would have two messages {name} that are not the same")
            return message
        message = self._message(name, schema)
        known[name] = (schema, message)
        within.nested.append(message)
        return message


def _entry(schema: Schema) -> Iterator[Schema]:
    keys = schema.get("keys") or {"type": "string", "optional": False}
    yield {**keys, "field": "key"}
    yield {**schema["values"], "field": "value"}


def _content(schema: Schema) -> object:
    return schema.get("fields")
