"""Compiles, per schema, the function that writes a payload of Connect's JSON as Avro's binary form (Avro 1.12, "Binary encoding").

The function is made as text: one statement after another for all values of the schema, structs in structs included, so that few
functions are called.
"""

from __future__ import annotations

import base64
import json
import struct
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from minercdc.messages.formats.connect import Schema

Write: TypeAlias = Callable[[Any], bytes]
WriteText: TypeAlias = Callable[[str], bytes]
UNFIT: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, struct.error)
"""What a writer raises for a value of another schema."""

_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_DEEPEST: Final = 12  # structs in structs that one function writes
_FEW: Final = 1024  # numbers and lengths that are looked up
_VARIABLE_SCALE: Final = "io.debezium.data.VariableScaleDecimal"
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def unsigned_varint(number: int) -> bytes:
    """The bytes of a number: seven bits a byte, the lowest first. Raises ValueError for a negative one."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


_LAST: Final = tuple(unsigned_varint(n) for n in range(1 << 14))
"""The last one or two bytes of a varint."""
_BEFORE: Final = tuple(bytes([n & 127 | 128, n >> 7 | 128]) for n in range(1 << 14))
"""Two bytes that others follow."""


def varint(number: int) -> bytes:
    """The bytes of a long (64 bits) in zigzag form."""
    number = (number << 1) ^ (number >> 63)
    if number < 1 << 14:
        return _LAST[number]
    if number < 1 << 28:
        return _BEFORE[number & 16383] + _LAST[number >> 14]
    if number < 1 << 56:
        rest = number >> 28
        begin = _BEFORE[number & 16383] + _BEFORE[number >> 14 & 16383]
        return begin + (_LAST[rest] if rest < 1 << 14 else _BEFORE[rest & 16383] + _LAST[rest >> 14])
    return unsigned_varint(number)


_SHORT: Final = tuple(varint(n) for n in range(_FEW))


def compile_writer(schema: Schema) -> Write:
    """A function that writes payloads of `schema`, as `json.loads` gives them.

    It raises one of UNFIT for a payload of another schema.
    """
    return _Writing().compiled(schema)


class FragmentWriter:
    """Writes single values from their JSON, with the branch of their union, without a JSON parser for common types.

    :ivar null: what is written for null; None where the schema has none.
    :ivar write: writes the JSON of any other value. It raises one of UNFIT for one that does not fit, unless boolean.
    :ivar small: of integers: the bytes of those from 0, each at its place; else empty.
    :ivar large: writes any integer of the type. It raises OverflowError for one beyond its bits.
    :ivar lengths: what comes before a text, or bytes, by its length in bytes up to 1023: branch and length.
    """

    def __init__(self, schema: Schema) -> None:
        kind, is_optional, has_default = schema["type"], bool(schema.get("optional")), schema.get("default") is not None
        there = (b"\0" if has_default else b"\2") if is_optional else b""
        self.null = (b"\2" if has_default else b"\0") if is_optional else None
        numbers = tuple(there + one for one in _SHORT)
        self.small = numbers[: 1 << _BITS[kind] - 1] if kind in _BITS else ()
        self.large = _large(_BITS.get(kind, 64), there)
        self.lengths = numbers
        self._there = there
        self.write: WriteText = self._chosen(schema)

    def _chosen(self, schema: Schema) -> WriteText:
        there, integer = self._there, self.large
        if schema["type"] in _BITS:
            return lambda fragment: integer(int(fragment))
        if schema["type"] == "bytes":
            return lambda fragment: self.joined(a2b_base64(_quoted(fragment)))  # which passes over the quotes
        if schema["type"] == "string":
            return self._text
        if schema.get("name") == _VARIABLE_SCALE:
            return lambda fragment: there + _variable_scale(fragment)
        write = compile_writer({**schema, "optional": False})
        return lambda fragment: there + write(json.loads(fragment))

    def joined(self, content: bytes) -> bytes:
        """Bytes, or an encoded text, after the branch of their union and their length."""
        length = len(content)
        return (self.lengths[length] if length < _FEW else self._there + varint(length)) + content

    def _text(self, fragment: str) -> bytes:
        text = json.loads(fragment) if "\\" in fragment else _quoted(fragment)[1:-1]
        return self.joined(text.encode())


def _quoted(fragment: str) -> str:
    if fragment[0] != '"':
        raise TypeError(f"{fragment[:60]} is no text")
    return fragment


def _variable_scale(fragment: str) -> bytes:
    _, first, scale, second, _, value, _ = fragment.split('"')
    if (first, second) != ("scale", "value"):
        raise KeyError(first)
    content = a2b_base64(value)
    return varint(int(scale[1:-1])) + varint(len(content)) + content


class _Writing:
    """The text of one function, and the names in it."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {"varint": varint, "b64decode": base64.b64decode, "FLOAT": _FLOAT, "DOUBLE": _DOUBLE}

    def compiled(self, schema: Schema) -> Write:
        body = "\n".join(self._value(schema, "v0", 1, 0))
        exec(f"def write(v0):\n out = []\n add = out.append\n{body}\n return b''.join(out)", self._known)
        made: Write = self._known["write"]
        return made

    def _named(self, value: Any) -> str:
        name = f"k{len(self._known)}"
        self._known[name] = value
        return name

    def _value(self, schema: Schema, name: str, indent: int, depth: int) -> Iterator[str]:
        """Statements that write the value in a variable.

        :param indent: blanks before each.
        :param depth: structs around it.
        """
        at = " " * indent
        if not schema.get("optional"):
            yield from self._base(schema, name, indent, depth, b"")
            return
        null, there = (b"\0", b"\2") if schema.get("default") is None else (b"\2", b"\0")
        yield f"{at}if {name} is None: add({null!r})"
        yield f"{at}else:"
        yield from self._base(schema, name, indent + 1, depth, there)

    def _base(self, schema: Schema, name: str, indent: int, depth: int, before: bytes) -> Iterator[str]:
        """Statements that write a value that is not null; for the parameters see `_value`.

        :param before: what comes before the value: the branch of its union.
        """
        at, kind = " " * indent, schema["type"]
        if kind == "struct" and depth < _DEEPEST:
            if before:
                yield f"{at}add({before!r})"
            for field in schema["fields"]:
                inner = f"v{depth + 1}"
                yield f"{at}{inner} = {name}[{field['field']!r}]"
                yield from self._value(field, inner, indent, depth + 1)
        elif kind in _BITS:
            yield f"{at}if 0 <= {name} < {min(_FEW, 1 << _BITS[kind] - 1)}: add({self._numbers(before)}[{name}])"
            yield f"{at}else: add({self._named(_integer(_BITS[kind], before))}({name}))"
        elif kind in ("string", "bytes"):
            yield f"{at}t = {name}.encode()" if kind == "string" else f"{at}t = b64decode({name})"
            yield f"{at}n = len(t)"
            yield f"{at}add({self._numbers(before)}[n] if n < {_FEW} else {before!r} + varint(n))"
            yield f"{at}add(t)"
        elif kind in ("float", "double"):  # NaN and the infinities are texts in our JSON
            yield f"{at}add({before!r} + {kind.upper()}(float({name})))"
        elif kind == "boolean":
            yes, no = before + b"\1", before + b"\0"
            yield f"{at}add({yes!r} if {name} else {no!r})"
        else:
            yield f"{at}add({before!r} + {self._named(_apart(schema))}({name}))"

    def _numbers(self, before: bytes) -> str:
        """Name of the table of numbers from 0 to 1023, as varints that each come after the bytes `before`."""
        name = f"few{before.hex()}"
        if name not in self._known:
            self._known[name] = tuple(before + one for one in _SHORT)
        return name


def _apart(schema: Schema) -> Write:
    """A writer of what has a function of its own, without the branch of a union. It raises as that of `compile_writer`."""
    if schema["type"] == "struct":
        return compile_writer({**schema, "optional": False})
    if schema["type"] == "array":
        item = compile_writer(schema["items"])
        return lambda value: _block([item(one) for one in value])
    key, entry = compile_writer({"type": "string"}), compile_writer(schema["values"])
    return lambda value: _block([key(name) + entry(one) for name, one in value.items()])


@cache
def _large(bits: int, there: bytes) -> Write:
    """A writer of integers after the bytes `there`. They are those of single columns, which hardly come again: so `varint`
    is within the function, and none is remembered. It raises OverflowError for one beyond `bits`."""
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1
    first, before, last = tuple(there + two for two in _BEFORE), _BEFORE, _LAST

    def write(value: int) -> bytes:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        number = value << 1 if value >= 0 else ~(value << 1)
        if 1 << 14 <= number < 1 << 28:
            return first[number & 16383] + last[number >> 14]
        if 1 << 42 <= number < 1 << 56:  # milliseconds and microseconds of our time
            return first[number & 16383] + before[number >> 14 & 16383] + before[number >> 28 & 16383] + last[number >> 42]
        return there + varint(value)

    return write


@cache
def _integer(bits: int, before: bytes) -> Write:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    @lru_cache(maxsize=4096)  # times come again in the rows of a transaction
    def write(value: int) -> bytes:
        if not lowest <= value <= highest:
            raise OverflowError(f"{value} is not between {lowest} and {highest}")
        return before + varint(value)

    return write


def _block(items: list[bytes]) -> bytes:
    return varint(len(items)) + b"".join(items) + b"\0" if items else b"\0"
