"""Values as Java's texts or as bare bytes, as Connect's StringConverter and ByteArrayConverter write them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, TypeAlias

from minercdc.errors import DecodeError, RecordSchemaError
from minercdc.messages.formats.connect import DATE, DECIMAL, TIME, TIMESTAMP, Schema, schema_of
from minercdc.messages.formats.converting import Write

Text: TypeAlias = Callable[[Any], str]

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_FLOAT = struct.Struct("<f")
_LEAST_PLAIN, _LEAST_LARGE = 1e-3, 1e7  # between them Java prints a number without exponent


class StringFormat:
    """Texts of one side of the records, key or value (formats.converting.Format): `Struct{ID=1,NAME=one}`, or a single value's."""

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that writes payloads as the texts of their Java objects. It raises DecodeError for a payload of
        another schema.

        :raises RecordSchemaError: Java has no text for such values that says anything.
        """
        text = _texts(schema_of(schema), topic)

        def written(document: bytes, begin: int, end: int) -> bytes:
            try:
                return text(json.loads(document[begin:end])).encode()
            except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, struct.error) as error:
                raise DecodeError(f"a record of topic {topic} cannot be written as text: {error!r}") from None

        return written


class BytesFormat:
    """Bytes of one side of the records, key or value (formats.converting.Format), whose values are single ones of type bytes."""

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that writes payloads as the bytes that they are in base64. It raises DecodeError for a payload that is
        none.

        :raises RecordSchemaError: values are not bytes.
        """
        connect = schema_of(schema)
        if connect["type"] != "bytes" or connect.get("name") == DECIMAL:
            raise RecordSchemaError(
                f"records of topic {topic} are of type {connect['type']}, and ByteArrayConverter writes bytes only",
                hint="Use it with transformations that make bytes, such as the outbox; others need a different converter.",
            )

        def written(document: bytes, begin: int, end: int) -> bytes:
            try:
                return base64.b64decode(json.loads(document[begin:end]))
            except (TypeError, ValueError) as error:
                raise DecodeError(f"a record of topic {topic} cannot be written as bytes: {error!r}") from None

        return written


def _texts(schema: Schema, topic: str) -> Text:
    """A function that prints a value as its Java object does; not of null."""
    kind, name = schema["type"], schema.get("name")
    if kind == "struct":
        return _struct(schema, topic)
    if kind == "array":
        item = _texts(schema["items"], topic)
        return lambda values: "[" + ", ".join("null" if one is None else item(one) for one in values) + "]"
    if kind == "map":
        entry = _texts(schema["values"], topic)
        return lambda values: "{" + ", ".join(f"{k}={'null' if v is None else entry(v)}" for k, v in values.items()) + "}"
    if name == DECIMAL:
        scale = int(schema["parameters"]["scale"])
        return lambda value: str(decimal_of(value, scale))
    if kind == "bytes" or name in (DATE, TIME, TIMESTAMP):
        what = "bytes" if kind == "bytes" else str(name)
        raise RecordSchemaError(
            f"records of topic {topic} hold {what} ({schema.get('field', 'the value')}), which StringConverter cannot"
            " write as readable text",
            hint="decimal.handling.mode, binary.handling.mode and time.precision.mode can publish them as texts or numbers.",
        )
    return {
        "boolean": lambda value: "true" if value else "false",
        "float": java_float,
        "double": java_double,
        "string": _string,
    }.get(kind, str)


def _struct(schema: Schema, topic: str) -> Text:
    """A function that prints a struct without its null members, as Java's Struct.toString does, which looks at no
    default."""
    members = [(field["field"], _texts(field, topic)) for field in schema["fields"]]

    def text(row: dict[str, Any]) -> str:
        shown = []
        for name, print_value in members:
            value = row[name]
            if value is not None:
                shown.append(f"{name}={print_value(value)}")
        return f"Struct{{{','.join(shown)}}}"

    return text


def _string(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def decimal_of(value: str, scale: int) -> Decimal:
    """The number that a Decimal of Connect is. As text it is what Java's BigDecimal.toString gives.

    :param value: its bytes in base64.
    """
    return Decimal(int.from_bytes(base64.b64decode(value), "big", signed=True)).scaleb(-scale, _EXACT)


def java_double(value: float | str) -> str:
    """A DOUBLE as Java prints it; NaN and the infinities may be given as texts."""
    return _java(repr(float(value)), float(value))


def java_float(value: float | str) -> str:
    """A FLOAT as Java prints it; NaN and the infinities may be given as texts."""
    number = _FLOAT.unpack(_FLOAT.pack(float(value)))[0]
    shorter = (f"{number:.{digits}g}" for digits in range(1, 10))
    return _java(next(one for one in shorter if _same(float(one), number)), number)


def _same(one: float, other: float) -> bool:
    try:
        return _FLOAT.pack(one) == _FLOAT.pack(other)
    except OverflowError:
        return False


def _java(shortest: str, number: float) -> str:
    """The shortest digits of a number, placed as Java places them."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(text)
    minus = "-" if sign else ""
    if not text:
        return f"{minus}0.0"
    if _LEAST_PLAIN <= abs(number) < _LEAST_LARGE:
        plain = format(Decimal((0, tuple(map(int, text)), exponent)), "f")
        return f"{minus}{plain if '.' in plain else plain + '.0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{exponent + len(text) - 1}"
