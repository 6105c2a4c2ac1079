"""Classes of google.protobuf for the messages of a schema.

The bytes of a message depend on the numbers, types and labels of its fields only, so messages and fields have other names here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from minercdc.messages.protobuf.schema import SCALARS, WRAPPED, Message, ProtobufFile
from minercdc.messages.protobuf.text import Outline

if TYPE_CHECKING:
    from google.protobuf import message as google

KNOWN: Final[Outline] = {
    "confluent.type.Decimal": {1: ("", "bytes", "value"), 2: ("", "uint32", "precision"), 3: ("", "int32", "scale")},
    "google.type.Date": {number: ("", "int32", name) for number, name in enumerate(("year", "month", "day"), 1)},
    "google.type.TimeOfDay": {
        number: ("", "int32", name) for number, name in enumerate(("hours", "minutes", "seconds", "nanos"), 1)
    },
    "google.protobuf.Timestamp": {1: ("", "int64", "seconds"), 2: ("", "int32", "nanos")},
    **{f"google.protobuf.{name}": {1: ("", scalar, "value")} for scalar, name in WRAPPED.items()},
}
"""The messages of Google and Confluent that ours have fields of."""
SCALAR_TYPES: Final = frozenset({*SCALARS.values(), *WRAPPED})


def outline_of(file: ProtobufFile) -> Outline:
    """The outline of a schema's messages, the outermost first."""
    found: Outline = {}
    _add(found, "", file.root)
    return found


def _add(found: Outline, within: str, message: Message) -> None:
    path = f"{within}.{message.name}" if within else message.name
    found[path] = {field.number: (field.label, field.type, field.name) for field in message.fields}
    for nested in message.nested:
        _add(found, path, nested)


def field_name(number: int) -> str:
    """The name that a field has in a class, by its number. Its own may be one that Google's library cannot have beside another one, as
    AB beside A_B, or as a parameter, as self."""
    return f"f{number}"


def message_class(outline: Outline) -> type[google.Message]:
    """The class of an outline's first message.

    :raises ValueError: the outline has no message, a type that is neither in it nor in `KNOWN`, or a number that is none.
    """
    from google.protobuf import descriptor_pool, message_factory

    if not outline:
        raise ValueError("the schema has no message")
    file = _File(outline)
    name = file.message(next(iter(outline)))
    pool = descriptor_pool.DescriptorPool()
    try:
        pool.Add(file.proto)
    except (TypeError, ValueError) as error:
        raise ValueError(f"this is not a Protobuf schema: {error}") from None
    made: type[google.Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return made


def path_of(within: str, kind: str, outline: Outline) -> str:
    """Where a type's message is in an outline, or in `KNOWN`.

    :param within: the message that has a field of the type.
    :param kind: the type, as it is written.
    :raises ValueError: it is in neither.
    """
    kind = kind.removeprefix(".")
    if kind in KNOWN:
        return kind
    scope = within
    while True:
        inner = f"{scope}.{kind}" if scope else kind
        if inner in outline:
            return inner
        if not scope:
            raise ValueError(f"the schema has a field of type {kind}, which is not read back")
        scope = scope.rpartition(".")[0]


class _File:
    """A descriptor of one file with the messages of an outline that are used.

    :ivar proto: the descriptor.
    """

    def __init__(self, outline: Outline) -> None:
        from google.protobuf import descriptor_pb2

        self.proto = descriptor_pb2.FileDescriptorProto(name="schema.proto", syntax="proto3")
        self._outline = outline
        self._names: dict[str, str] = {}

    def message(self, path: str) -> str:
        """The name of the message at a path, which is added with those that it has fields of."""
        if path not in self._names:
            name = path.replace(".", "_")
            while name in self._names.values():
                name += "_"
            self._names[path] = name
            message = self.proto.message_type.add(name=name)
            known = path in KNOWN
            for number, (label, kind, member) in (KNOWN if known else self._outline)[path].items():
                name = member if known else field_name(number)
                field = message.field.add(name=name, number=number, **self._type(path, kind))
                field.label = field.LABEL_REPEATED if label == "repeated" else field.LABEL_OPTIONAL
                if label == "optional":  # as Google's compiler does: a field with presence is a oneof by itself
                    field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
                    message.oneof_decl.add(name=f"o{number}")
        return self._names[path]

    def _type(self, within: str, kind: str) -> dict[str, str]:
        if kind in SCALAR_TYPES:
            return {"type": f"TYPE_{kind.upper()}"}
        return {"type": "TYPE_MESSAGE", "type_name": f".{self.message(path_of(within, kind, self._outline))}"}
