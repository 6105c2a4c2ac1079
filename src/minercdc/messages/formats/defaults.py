"""Defaults of columns in place of nulls, as Connect's converters write them (`replace.null.with.default`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from minercdc.messages.formats.connect import Schema, schema_of
from minercdc.messages.formats.converting import Format, FormatWithHeaders, MakeHeaders, Write

_Fill: TypeAlias = Callable[[Any], Any]
_ENUM = "io.debezium.data.Enum"  # of `source.snapshot`, which is never null


class WithDefaults:
    """A format whose records have a field's default in place of its null (formats.converting.FormatWithHeaders).

    :param inner: writes the records.
    """

    def __init__(self, inner: Format) -> None:
        self._inner = inner
        self.has_headers = isinstance(inner, FormatWithHeaders) and inner.has_headers

    def compile(self, topic: str, schema: bytes) -> Write:
        """As of the inner format; where no field has a default, it is the inner format's."""
        write, connect = self._inner.compile(topic, schema), schema_of(schema)
        names = sorted(set(_defaulted(connect)))
        if not names:
            return write
        # In a text the quotation marks would be escaped.
        may_be_null = re.compile(
            rb"(?:%b):null" % b"|".join(re.escape(json.dumps(name, ensure_ascii=False).encode()) for name in names)
        )
        fill = _filling(connect)

        def written(document: bytes, begin: int, end: int) -> bytes:
            if may_be_null.search(document, begin, end) is None:
                return write(document, begin, end)
            payload = json.dumps(fill(json.loads(document[begin:end])), separators=(",", ":"), ensure_ascii=False).encode()
            return write(payload, 0, len(payload))

        return written

    def compile_headers(self, topic: str, schema: bytes) -> MakeHeaders | None:
        """As of the inner format."""
        return self._inner.compile_headers(topic, schema) if isinstance(self._inner, FormatWithHeaders) else None


def _defaulted(schema: Schema) -> Iterator[str]:
    """Names of the fields with a default, at any depth of structs."""
    for field in schema.get("fields", ()):
        if field.get("default") is not None and field.get("name") != _ENUM:
            yield field["field"]
        yield from _defaulted(field)


def _filling(schema: Schema) -> _Fill:
    """A function that returns a struct's value with defaults in place of nulls; other values as they are."""
    if schema["type"] != "struct":
        return lambda value: value
    fields = [(field["field"], field.get("default"), _filling(field)) for field in schema["fields"]]

    def fill(value: Any) -> Any:
        if value is None:
            return None
        return {name: default if value[name] is None else inner(value[name]) for name, default, inner in fields}

    return fill
