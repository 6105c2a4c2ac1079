"""Compiles, per schema, the function that writes a payload of Connect's JSON as Avro's binary form (Avro 1.12, "Binary encoding").

The function is made as text: one statement after another for all values of the schema, structs in structs included, so that no
function is called for each value.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from minercdc.formats.connect import Schema

Write: TypeAlias = Callable[[Any], bytes]

_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_DEEPEST: Final = 12  # structs in structs that one function writes
_FEW: Final = 1024  # numbers and lengths that are looked up
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def unsigned_varint(number: int) -> bytes:
    """A number that is not negative: seven bits a byte, the lowest first."""
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
    """A long in zigzag form."""
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

    It raises AttributeError, KeyError, TypeError, ValueError or OverflowError for a payload of another schema.
    """
    return _Writing().compiled(schema)


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
        """:param before: what comes before the value: the branch of its union."""
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
        """The table of small numbers, each after the same bytes."""
        name = f"few{before.hex()}"
        if name not in self._known:
            self._known[name] = tuple(before + one for one in _SHORT)
        return name


def _apart(schema: Schema) -> Write:
    """A writer of what has a function of its own, without the branch of a union."""
    if schema["type"] == "struct":
        return compile_writer({**schema, "optional": False})
    if schema["type"] == "array":
        item = compile_writer(schema["items"])
        return lambda value: _block([item(one) for one in value])
    key, entry = compile_writer({"type": "string"}), compile_writer(schema["values"])
    return lambda value: _block([key(name) + entry(one) for name, one in value.items()])


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
