"""Schemas of Protocol Buffers as text: written as they are registered, and read as far as messages depend on it.

google.protobuf neither prints nor parses this text. What is printed is what Connect's converter registers, so that subjects keep their versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from minercdc.messages.protobuf.schema import META, WRAPPED, Field, Message, ProtobufFile

Outline: TypeAlias = dict[str, dict[int, tuple[str, str, str]]]
"""Message, with those around it -> number of a field -> label, type, name."""

_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[\w.]+|//[^\n]*|/\*.*?\*/|[^\s]', re.DOTALL)
_FILES: Final[dict[str, str]] = {
    "confluent/type/decimal.proto": (
        'syntax = "proto3";\npackage confluent.type;\n\nmessage Decimal {\n  bytes value = 1;\n  uint32 precision = 2;\n  int32 scale = 3;\n}\n'
    ),
    META: (
        'syntax = "proto3";\npackage confluent;\n\nimport "google/protobuf/descriptor.proto";\n\n'
        "message Meta {\n  string doc = 1;\n  map<string, string> params = 2;\n}\n\n"
        "extend google.protobuf.FieldOptions {\n  Meta field_meta = 1088;\n}\n"
    ),
}


def protobuf_text(file: ProtobufFile) -> str:
    """A schema as it is registered."""
    parts = ['syntax = "proto3";']
    if file.package:
        parts.append(f"package {file.package};")
    if file.imports:
        parts += ["", *(f'import "{path}";' for path in file.imports)]
    return "\n".join([*parts, "", *_message(file.root, ""), ""])


def wrappers_text() -> str:
    """The schema of a single value: google.protobuf's file of wrappers."""
    messages = (f"message {name} {{\n  {scalar} value = 1;\n}}\n" for scalar, name in WRAPPED.items())
    return 'syntax = "proto3";\npackage google.protobuf;\n\n' + "".join(messages)


def file_text(path: str) -> str | None:
    """The text of a file that our schemas import; None for one of Google's, which every implementation has."""
    return _FILES.get(path)


def _message(message: Message, indent: str) -> Iterator[str]:
    yield f"{indent}message {message.name} {{"
    for field in message.fields:
        yield from _field(field, f"{indent}  ")
    if message.nested:
        yield ""
    for inner in message.nested:
        yield from _message(inner, f"{indent}  ")
    yield f"{indent}}}"


def _field(field: Field, indent: str) -> Iterator[str]:
    label = f"{field.label} " if field.label else ""
    begin = f"{indent}{label}{field.type} {field.name} = {field.number}"
    if not field.params:
        yield f"{begin};"
        return
    yield f"{begin} [(confluent.field_meta) = {{"
    yield f"{indent}  params: ["
    last = len(field.params) - 1
    for i, (key, value) in enumerate(field.params.items()):
        yield f"{indent}    {{"
        yield f'{indent}      key: "{key}",'
        yield f'{indent}      value: "{value}"'
        yield f"{indent}    }}{',' if i < last else ''}"
    yield f"{indent}  ]"
    yield f"{indent}}}];"


def outline(text: str) -> Outline:
    """The messages of a schema and their fields, with types without their package. Options, and what stands outside of messages, are
    left out; another block within a message (enum, oneof) counts as a field with a negative number.

    :raises ValueError: this is no schema of Protobuf.
    """
    return {
        message: {number: (label, kind.rpartition(".")[2], name) for number, (label, kind, name) in fields.items()}
        for message, fields in messages(text).items()
    }


def messages(text: str) -> Outline:
    """As `outline`, with types as they are written: with their package where that is another one. Raises ValueError as it."""
    tokens = [token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*"))]
    found: Outline = {}
    _read(tokens, 0, "", found)
    return found


def _read(tokens: list[str], at: int, within: str, found: Outline) -> int:
    """Read what is between braces, from `at` on, into `found`; returns the place of the closing one."""
    while at < len(tokens) and tokens[at] != "}":
        end = _statement_end(tokens, at)
        statement = tokens[at:end] or [";"]
        if statement[0] == "message" and tokens[end : end + 1] == ["{"]:
            if len(statement) != 2:
                raise ValueError(f"not a Protobuf message: {' '.join(statement)} {{")
            name = f"{within}.{statement[1]}" if within else statement[1]
            found[name] = {}
            at = _read(tokens, end + 1, name, found) + 1
        elif tokens[end : end + 1] == ["{"]:  # enum, oneof, extend ..
            if within:
                found[within][-1 - len(found[within])] = (statement[0], "", " ".join(statement))
            at = _skip(tokens, end)
        else:
            if within and "=" in statement and statement[0] not in ("option", "reserved"):
                _take_field(statement, found[within])
            at = end + 1
    return at


def _take_field(statement: list[str], fields: dict[int, tuple[str, str, str]]) -> None:
    """Add the field that a statement as `optional .a.Type name = 3 [..]` declares."""
    equals = statement.index("=")
    *kind, name = statement[:equals]
    label = kind.pop(0) if kind and kind[0] in ("optional", "repeated", "required") else ""
    try:
        fields[int(statement[equals + 1], 0)] = (label, "".join(kind), name)
    except (IndexError, ValueError):
        raise ValueError(f"not a Protobuf field: {' '.join(statement)}") from None


def _statement_end(tokens: list[str], at: int) -> int:
    """The place of the semicolon or brace that ends a statement; options in brackets belong to it."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == "[") - (tokens[place] == "]")
        if depth == 0 and tokens[place] in (";", "{", "}"):
            if place == at and tokens[place] != ";":
                break
            return place
    raise ValueError("this is not a Protobuf schema: a statement has no begin or end")


def _skip(tokens: list[str], at: int) -> int:
    """The place after the block that begins with the brace at `at`."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == "{") - (tokens[place] == "}")
        if depth == 0:
            return place + 1
    raise ValueError("this is not a Protobuf schema: a block has no end")
