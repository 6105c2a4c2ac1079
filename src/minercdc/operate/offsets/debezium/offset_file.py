"""The offset file of Debezium's engine and server (FileOffsetBackingStore): a `java.util.HashMap<byte[], byte[]>` by Java serialization.

The stream is read by the grammar of "Java Object Serialization Specification", chapter 6, as far as such a map uses it:

    magic version, object(class HashMap, loadFactor, threshold, block(capacity, size), key, value, ... , end)
"""

from __future__ import annotations

import struct
from typing import Final

_HEADER: Final = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x72, 0x73, 0x75, 0x77, 0x78
_FIRST_HANDLE: Final = 0x7E0000
_MAP, _BYTES = "java.util.HashMap", "[B"
_MAP_FIELDS: Final = (("F", "loadFactor"), ("I", "threshold"))


class NotAnOffsetFileError(ValueError):
    """The bytes are not of this form; the message says where."""


def read_offsets(content: bytes) -> dict[bytes, bytes | None]:
    """The entries of the map. Raises NotAnOffsetFileError for bytes of another form."""
    return _Reader(content).map()


class _Reader:
    """Reads from the beginning on. Classes and arrays get handles in the order they are read, which references name."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._seen: list[str | bytes] = []

    def map(self) -> dict[bytes, bytes | None]:
        if self._take(4) != _HEADER:
            raise NotAnOffsetFileError("it does not begin as a stream of Java serialization")
        self._expect(_OBJECT, "an object")
        if self._class() != _MAP:
            raise NotAnOffsetFileError("it does not contain a java.util.HashMap")
        self._seen.append(_MAP)  # the map itself
        self._take(8)  # loadFactor, threshold
        self._expect(_BLOCK, "the size of the map")
        if self._take(1) != b"\x08":
            raise self._wrong("the size of the map")
        _, size = struct.unpack(">ii", self._take(8))
        found: dict[bytes, bytes | None] = {}
        for _ in range(size):
            key = self._bytes()
            value = self._bytes()
            if key is None:
                raise self._wrong("a key")
            found[key] = value
        self._expect(_END, "the end of the map")
        if self._at != len(self._content):
            raise self._wrong("the end of the file")
        return found

    def _bytes(self) -> bytes | None:
        tag = self._take(1)[0]
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self._reference()
            if not isinstance(found, bytes):
                raise self._wrong("an array of bytes")
            return found
        if tag != _ARRAY or self._class() != _BYTES:
            raise self._wrong("an array of bytes")
        place = len(self._seen)
        self._seen.append(b"")
        (length,) = struct.unpack(">i", self._take(4))
        self._seen[place] = content = self._take(length)
        return content

    def _class(self) -> str:
        """Name of a class: described here, or before."""
        tag = self._take(1)[0]
        if tag == _REFERENCE:
            found = self._reference()
            if not isinstance(found, str):
                raise self._wrong("a class")
            return found
        if tag != _CLASS:
            raise self._wrong("a class")
        name = self._text()
        self._take(8)  # serialVersionUID
        self._seen.append(name)
        self._take(1)  # flags
        (count,) = struct.unpack(">H", self._take(2))
        fields = tuple((self._take(1).decode("latin-1"), self._text()) for _ in range(count))
        if fields != (_MAP_FIELDS if name == _MAP else ()):
            raise self._wrong(f"the fields of {_MAP}")
        self._expect(_END, "the end of a class")
        self._expect(_NULL, "a class without a parent")
        return name

    def _reference(self) -> str | bytes:
        handle = int.from_bytes(self._take(4), "big")
        place = handle - _FIRST_HANDLE
        if not 0 <= place < len(self._seen):
            raise self._wrong("a reference to what came before")
        return self._seen[place]

    def _text(self) -> str:
        (length,) = struct.unpack(">H", self._take(2))
        return self._take(length).decode("utf-8", "replace")

    def _expect(self, tag: int, what: str) -> None:
        if self._take(1)[0] != tag:
            raise self._wrong(what)

    def _take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._content):
            raise NotAnOffsetFileError(f"it ends within a value, after {len(self._content)} bytes")
        self._at += count
        return self._content[self._at - count : self._at]

    def _wrong(self, what: str) -> NotAnOffsetFileError:
        return NotAnOffsetFileError(f"{what} was expected before byte {self._at}")
