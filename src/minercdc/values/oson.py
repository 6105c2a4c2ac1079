"""Decodes OSON, the binary form of JSON columns, to the text that JSON_SERIALIZE gives of the same value.

    FF 4A 5A version flags
    a scalar      size of the tree, tree
    an object     how many names, size of their segment [flags, how many long names, size of their segment]
    or array      size of the tree, number of tiny nodes, names [long names], tree
    names         a hash of each, the offset of each, a segment with length and UTF-8 of each
    tree          nodes, the root first; a container has offsets of its children, and an object numbers of their names, from 1

The layout is the one that python-oracledb reads and writes (`impl/base/oson.pyx`); its decoder needs a connection, and gives
floats and sets of members in place of their text. What is not known here is refused: a flag or node of another kind, as an
update in parts might leave, bytes after the tree, and containers that are in two places, which could be one in the other.

Numbers have all their digits, in E notation beyond 40 of them. Members come in the order of the image. Scalars that JSON has
not are strings, as the JSON Developer's Guide has it (objects that represent extended scalars): dates, times and intervals by
ISO 8601, bytes as of RAWTOHEX. How many digits a fraction of a second gets, and how BINARY_FLOAT is rounded, it does not say:
see docs/types.md.
"""

from __future__ import annotations

import math
import struct
from binascii import Error, unhexlify
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values import number
from minercdc.values.image import Encoding, text_of_image

_MAGIC: Final = b"\xffJZ"
_SHORT_NAMES, _LONG_NAMES = 1, 3
# Flags of the image; those of no name say how a writer chose among forms that all are read here.
_RELATIVE, _NAMES_UINT32, _SCALAR, _HASH_UINT8 = 0x0001, 0x0008, 0x0010, 0x0100
_NAMES_UINT16, _SEGMENT_UINT32, _TREE_UINT32, _LONG_SEGMENT_UINT16 = 0x0400, 0x0800, 0x1000, 0x0100
_KNOWN_FLAGS: Final = (
    _RELATIVE | 0x0002 | 0x0004 | _NAMES_UINT32 | _SCALAR | _HASH_UINT8 | _NAMES_UINT16 | _SEGMENT_UINT32 | 0x3000
)
# Kinds of nodes.
_CONTAINER, _ARRAY, _WIDE_OFFSETS, _COUNTED, _SHARED = 0x80, 0x40, 0x20, 0x18, 0x18
_COUNT_WIDTHS: Final = {0x00: 1, 0x08: 2, 0x10: 4}
_CONSTANTS: Final = {0x30: "null", 0x31: "true", 0x32: "false"}
_TEXTS: Final = {0x33: 1, 0x37: 2, 0x38: 4}  # bytes of the length
_BINARIES: Final = {0x3A: 2, 0x3B: 4, 0x7E: 1}
_NUMBER, _DATE, _SECOND, _TIMESTAMP, _ZONED, _MONTHS, _SECONDS = 0x34, 0x3C, 0x7D, 0x39, 0x7C, 0x3D, 0x3E
_SINGLE, _DOUBLE, _EXTENDED = 0x7F, 0x36, 0x7B
_FIXED: Final = {
    _DATE: (7, "DATE"),
    _SECOND: (7, "DATE"),
    _TIMESTAMP: (11, "TIMESTAMP"),
    _ZONED: (13, "TIMESTAMP WITH TIME ZONE"),
    _MONTHS: (5, "INTERVAL YEAR TO MONTH"),
    _SECONDS: (11, "INTERVAL DAY TO SECOND"),
    _SINGLE: (4, "BINARY_FLOAT"),
    _DOUBLE: (8, "BINARY_DOUBLE"),
}
_COLUMNS: Final = {name: Column("", name) for name in ("NUMBER", *(name for _, name in _FIXED.values()))}
_ENCODING: Final = Encoding()
# TO_CHAR's width: longer numbers have an exponent.
_MOST_DIGITS: Final = 40


def json_text(digits: str) -> str:
    """JSON text of an image in hexadecimal digits.

    :raises ValueDecodeError: it is damaged, or has a form that is not known here.
    """
    try:
        data = unhexlify(digits)
    except (Error, ValueError):
        raise ValueDecodeError(f"{digits[:60]!r} is not hexadecimal text") from None
    try:
        return _Image(data).text()
    except UnicodeDecodeError as error:
        raise _damaged(f"text that is not UTF-8 ({error.reason})") from error


def _damaged(what: str) -> ValueDecodeError:
    return ValueDecodeError(f"the JSON image has {what}")


class _Image:
    """Decodes one image: the constructor reads its header and names, `text`, called once, the value. All raise
    ValueDecodeError when it is damaged or of a form that is not known here, and UnicodeDecodeError for text that is not UTF-8."""

    def __init__(self, data: bytes) -> None:
        self._data, self._end = data, len(data)
        if self._bytes(0, 3) != _MAGIC:
            raise _damaged(f"{data[:3].hex()} in place of its mark")
        version, self._flags = self._number(3, 1), self._number(4, 2)
        if version not in (_SHORT_NAMES, _LONG_NAMES) or self._flags & ~_KNOWN_FLAGS:
            raise _damaged(f"version {version} and flags {self._flags:#06x}, which are not known")
        self._names: list[str] = []
        self._name_width = 1
        self._seen: set[int] = set()
        tree_width, at = 4 if self._flags & _TREE_UINT32 else 2, 6
        if self._flags & _SCALAR:
            size, self._tree = self._number(at, tree_width), at + tree_width
        else:
            size, self._tree = self._read_names(at, tree_width, version == _LONG_NAMES)
        if self._tree + size != self._end:
            raise _damaged(f"{self._end - self._tree} bytes of nodes where its header has {size}")

    def _bytes(self, at: int, size: int) -> bytes:
        if at + size > self._end:
            raise _damaged(f"{self._end} bytes, of which number {at + size} is wanted")
        return self._data[at : at + size]

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self._bytes(at, width), "big")

    # ---- names ----

    def _read_names(self, at: int, tree_width: int, has_long: bool) -> tuple[int, int]:
        """Read what follows the flags of an object or array, up to the tree, and put the names, as JSON strings, into
        `_names`; returns the size of the tree, and the byte where it begins.

        :param at: byte after the flags.
        :param tree_width: bytes of the tree's size.
        """
        flags = self._flags
        self._name_width = 4 if flags & _NAMES_UINT32 else 2 if flags & _NAMES_UINT16 else 1
        width = 4 if flags & _SEGMENT_UINT32 else 2
        count, segment = self._number(at, self._name_width), self._number(at + self._name_width, width)
        at += self._name_width + width
        long_flags = long_count = long_segment = 0
        if has_long:
            long_flags, long_count, long_segment = self._number(at, 2), self._number(at + 2, 4), self._number(at + 6, 4)
            at += 10
        if (count and not flags & _HASH_UINT8) or long_flags & ~_LONG_SEGMENT_UINT16:
            raise _damaged(f"names by flags {flags:#06x} and {long_flags:#06x}, which are not known")
        size, at = self._number(at, tree_width), at + tree_width + 2
        at = self._read_segment(at, count, segment, offset_width=width, length_width=1)
        long_width = 2 if long_flags & _LONG_SEGMENT_UINT16 else 4
        return size, self._read_segment(at, long_count, long_segment, offset_width=long_width, length_width=2)

    def _read_segment(self, at: int, count: int, size: int, *, offset_width: int, length_width: int) -> int:
        """Read a segment of names, of which each has a hash of as many bytes as its length, and add them to `_names`; returns
        the byte that follows the segment.

        :param size: bytes of the segment.
        """
        at += length_width * count
        begin = at + offset_width * count
        end = begin + size
        self._bytes(begin, size)
        for place in range(count):
            start = begin + self._number(at + offset_width * place, offset_width)
            length = self._number(start, length_width)
            if start + length_width + length > end:
                raise _damaged(f"a name that ends after its segment, at byte {end}")
            self._names.append(encode_basestring(self._bytes(start + length_width, length).decode()))
        return end

    # ---- nodes ----

    def text(self) -> str:
        """JSON text of the value. To be called once."""
        out: list[str] = []
        open_: list[Iterator[int]] = [iter((self._tree,))]  # what is left of each container; there may be a thousand
        while open_:
            at = next(open_[-1], None)
            if at is None:
                open_.pop()
                continue
            kind = self._number(at, 1)
            if kind & _CONTAINER:
                open_.append(self._container(kind, at, out))
            else:
                out.append(self._scalar(kind, at + 1))
        return "".join(out)

    def _container(self, kind: int, start: int, out: list[str]) -> Iterator[int]:
        """Add the text of an object or array to `out`, but for its children: yields the byte of each, whose text the caller
        adds before it goes on.

        :param kind: the first byte of the node, at byte `start`.
        """
        if start in self._seen:
            raise _damaged(f"a container in two places, at byte {start}")
        self._seen.add(start)
        is_object, width = not kind & _ARRAY, 4 if kind & _WIDE_OFFSETS else 2
        count, names, at = self._counted(kind, start, width)
        if at + width * count > self._end:
            raise _damaged(f"{count} children where it has no room for them, at byte {start}")
        out.append("{" if is_object else "[")
        for place in range(count):
            if place:
                out.append(",")
            if is_object:
                name = self._number(names + self._name_width * place, self._name_width)
                if not 1 <= name <= len(self._names):
                    raise _damaged(f"name {name} of {len(self._names)}")
                out.append(self._names[name - 1] + ":")
            child = self._number(at + width * place, width) + (start if self._flags & _RELATIVE else self._tree)
            yield child
        out.append("}" if is_object else "]")

    def _counted(self, kind: int, start: int, width: int) -> tuple[int, int, int]:
        """How many children a container has, the byte where the numbers of their names are, and that of their offsets.

        :param width: bytes of an offset.
        """
        is_shared = kind & _COUNTED == _SHARED
        at = start + 1
        if is_shared:  # the names are those of another object
            if kind & _ARRAY:
                raise _damaged("an array with names")
            at = self._tree + self._number(start + 1, width)
            kind, at = self._number(at, 1), at + 1
            if kind & (_CONTAINER | _ARRAY) != _CONTAINER or kind & _COUNTED == _SHARED:
                raise _damaged(f"the names of a node {kind:#04x}, which has none")
        count_width = _COUNT_WIDTHS[kind & _COUNTED]
        count, names = self._number(at, count_width), at + count_width
        if is_shared:
            return count, names, start + 1 + width
        return count, names, names if kind & _ARRAY else names + self._name_width * count

    def _scalar(self, kind: int, at: int) -> str:
        """JSON text of a scalar of this kind, whose content begins at byte `at`."""
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _TEXTS:
            return encode_basestring(self._counted_bytes(at, _TEXTS[kind]).decode())
        if kind in _BINARIES:
            return f'"{self._counted_bytes(at, _BINARIES[kind]).hex().upper()}"'
        if kind in _FIXED:
            size, name = _FIXED[kind]
            return _fixed_text(name, self._bytes(at, size))
        if kind == _NUMBER:
            return _number_text(self._counted_bytes(at, 1))
        if kind <= 0x1F:  # a text, whose length the kind has; so have those that follow
            return encode_basestring(self._bytes(at, kind).decode())
        if kind & 0xF0 in (0x20, 0x60):
            return _number_text(self._bytes(at, (kind & 0x0F) + 1))
        if kind & 0xF0 in (0x40, 0x50):
            return _number_text(self._bytes(at, kind & 0x0F))
        raise _damaged("a vector" if kind == _EXTENDED else f"a node of kind {kind:#04x}, which is not known")

    def _counted_bytes(self, at: int, width: int) -> bytes:
        return self._bytes(at + width, self._number(at, width))


def _stored(name: str, image: bytes) -> str:
    return text_of_image(_COLUMNS[name], image, _ENCODING)


def _number_text(image: bytes) -> str:
    return _exponential(_stored("NUMBER", image))


def _exponential(plain: str) -> str:
    """A canonical number as it is, or with an exponent when it has more digits than TO_CHAR has room for."""
    sign, body = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    whole, _, fraction = body.partition(".")
    if len(whole) - (whole == "0") + len(fraction) <= _MOST_DIGITS:
        return plain
    digits = (whole + fraction).lstrip("0")
    exponent = len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}E{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _fixed_text(name: str, image: bytes) -> str:
    """JSON text of a scalar whose stored bytes are those of a column of the type `name`."""
    text = _stored(name, image)
    if name.startswith("BINARY"):
        return _float_text(name, text)
    if name == "INTERVAL YEAR TO MONTH":
        years, months = text.lstrip("-").split("-")
        return _duration(text, _parts((years, "Y"), (months, "M")) or "0M")
    if name == "INTERVAL DAY TO SECOND":
        days, clock = text.lstrip("-").split(" ")
        hours, minutes, seconds = clock.split(":")
        time = _parts((hours, "H"), (minutes, "M"), (seconds, "S"))
        return _duration(text, (_parts((days, "D")) + (f"T{time}" if time else "")) or "T0S")
    day, clock, *zone = text.split(" ")
    clock = clock.rstrip("0").rstrip(".") if "." in clock else clock
    offset = "" if not zone else "Z" if zone[0] == "+00:00" else zone[0]
    return f'"{day}T{clock}{offset}"'


def _float_text(name: str, text: str) -> str:
    """A BINARY_DOUBLE as the shortest number that reads back the same, a BINARY_FLOAT as TO_NUMBER makes one of it: by
    nine digits."""
    value = float(text)
    if not math.isfinite(value):
        raise _damaged(f"{text}, for which JSON has no number")
    if name == "BINARY_FLOAT":
        (value,) = struct.unpack(">f", struct.pack(">f", value))
        text = f"{value:.9g}"
    return _exponential(number.canonical(text))


def _parts(*parts: tuple[str, str]) -> str:
    """(Number, unit) parts of a duration in one text, without those that are zero; '' when all are."""
    plain = ((number.canonical(text), unit) for text, unit in parts)
    return "".join(text + unit for text, unit in plain if text != "0")


def _duration(interval: str, parts: str) -> str:
    return f'"{"-" if interval.startswith("-") else ""}P{parts}"'
