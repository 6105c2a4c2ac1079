"""OSON, the binary image of JSON values in JSON columns and on the wire, to and from JSON text.

    FF 4A 5A version flags
    a scalar      tree size, node
    an object     names: count, bytes of their segment | tree size, tiny nodes 0 | hash of each name, offset of each, the segment
    or array      tree: nodes, the root first; a container's children are found by their offset in the tree

Names are ordered by hash, length and bytes; a name's number is its place in that order, from 1. The layout is the one that
python-oracledb reads and writes; NUMBERs are Oracle's own.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import binary, number, temporal

MAGIC = b"\xffJZ"
_NAMES_255 = 1
_RELATIVE, _INLINE_LEAF, _SHORT_LEAVES, _NAMES_UINT32, _SCALAR = 0x01, 0x02, 0x04, 0x08, 0x10
_HASH_UINT8, _NAMES_UINT16, _SEGMENT_UINT32, _TREE_UINT32, _TINY = 0x0100, 0x0400, 0x0800, 0x1000, 0x2000
_OBJECT, _ARRAY, _WIDE_OFFSETS = 0x84, 0xC0, 0x20
_NULL, _TRUE, _FALSE, _TEXT8, _NUMBER8, _DOUBLE, _TEXT16, _TEXT32 = 0x30, 0x31, 0x32, 0x33, 0x34, 0x36, 0x37, 0x38
_FLOAT, _DATE, _STAMP, _STAMP7 = 0x7F, 0x3C, 0x39, 0x7D
_COUNTS = {0x00: (1, ">B"), 0x08: (2, ">H"), 0x10: (4, ">I")}


def parse_json(text: str) -> bytes:
    """The image of a JSON text, any value; of equal names of an object the last counts. Raises ORA-40441 for a text that is no
    JSON, and as `encode`."""
    try:
        return encode(json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        raise OraError(
            40441, f"JSON syntax error\nJZN-00078: {error.msg} (line {error.lineno}, position {error.colno})"
        ) from None


def _refuse(constant: str) -> NoReturn:
    # Python reads NaN and Infinity, which RFC 8259 does not have.
    raise OraError(40441, f"JSON syntax error\nJZN-00078: Expecting value, not {constant}")


def serialize(image: bytes) -> str:
    """JSON text of an image, without blanks between its tokens. Raises the errors of `decode`."""
    return text_of(decode(image))


def checked(image: bytes) -> bytes:
    """The image that a client sent, with the flag for short leaves set. Raises the errors of `decode`.

    ojdbc reads only images with this flag; python-oracledb writes images without it.
    """
    decode(image)
    version, flags = struct.unpack_from(">BH", image, len(MAGIC))
    return MAGIC + struct.pack(">BH", version, flags | _SHORT_LEAVES) + image[len(MAGIC) + 3 :]


def text_of(value: Any) -> str:
    """JSON text of a value as `decode` returns it, without blanks between its tokens; numbers have all their digits."""
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text_of(item)}" for name, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, Decimal):
        shown = number.exact_text(number.encode(value))
        return shown.replace("-.", "-0.") if shown.startswith("-.") else "0" + shown if shown.startswith(".") else shown
    return json.dumps(value, ensure_ascii=False)


def encode(value: Any) -> bytes:
    """The image of None, a bool, Decimal or str, or of a list or dict of such. Raises ORA-03001 for names beyond 255 bytes,
    ORA-01426 for a number beyond NUMBER."""
    if not isinstance(value, list | dict):
        node = _scalar(value)
        wide = len(node) > 0xFFFF
        flags = _INLINE_LEAF | _SHORT_LEAVES | _SCALAR | (_TREE_UINT32 if wide else 0)
        return MAGIC + struct.pack(">BH", _NAMES_255, flags) + struct.pack(">I" if wide else ">H", len(node)) + node
    names = _Names(_names_of(value))
    tree = _Tree(names.numbers)
    tree.add(value)
    flags = _INLINE_LEAF | _SHORT_LEAVES | _HASH_UINT8 | _TINY
    count, offset = ">B", ">H"
    if len(names.numbers) > 0xFF:
        flags, count = (flags | _NAMES_UINT16, ">H") if len(names.numbers) <= 0xFFFF else (flags | _NAMES_UINT32, ">I")
    if len(names.segment) > 0xFFFF:
        flags, offset = flags | _SEGMENT_UINT32, ">I"
    wide = len(tree.data) > 0xFFFF
    flags |= _TREE_UINT32 if wide else 0
    head = MAGIC + struct.pack(">BH", _NAMES_255, flags) + struct.pack(count, len(names.numbers))
    sizes = struct.pack(offset, len(names.segment)) + struct.pack(">I" if wide else ">H", len(tree.data)) + b"\0\0"
    offsets = b"".join(struct.pack(offset, at) for at in names.offsets)
    return head + sizes + bytes(names.hashes) + offsets + names.segment + bytes(tree.data)


def _form(count: int) -> str:
    """struct's format, big-endian, of the unsigned numbers up to `count`."""
    return ">B" if count <= 0xFF else ">H" if count <= 0xFFFF else ">I"


def _names_of(value: Any) -> set[bytes]:
    if isinstance(value, dict):
        return {name.encode() for name in value}.union(*map(_names_of, value.values()))
    return set().union(*map(_names_of, value)) if isinstance(value, list) else set()


def _hash(name: bytes) -> int:
    """The FNV-1a hash of a name, 32 bits."""
    found = 0x811C9DC5
    for byte in name:
        found = (found ^ byte) * 16777619 & 0xFFFFFFFF
    return found


class _Names:
    """The names of an image in their order, as it stores them: number by name from 1, and hash and offset in `segment` of each.
    Raises ORA-03001 for a name beyond 255 bytes."""

    def __init__(self, names: set[bytes]) -> None:
        if any(len(name) > 255 for name in names):
            raise OraError(3001, "unimplemented feature: names longer than 255 bytes in JSON")
        ordered = sorted(names, key=lambda name: (_hash(name) & 0xFF, len(name), name))
        self.numbers = {name: place for place, name in enumerate(ordered, 1)}
        self.hashes = [_hash(name) & 0xFF for name in ordered]
        self.offsets: list[int] = []
        segment = bytearray()
        for name in ordered:
            self.offsets.append(len(segment))
            segment += bytes((len(name),)) + name
        self.segment = bytes(segment)


@dataclass(slots=True)
class _Tree:
    """The tree of an image while it is written: `data` has the nodes, the root first.

    :param numbers: of the names, as in `_Names`.
    """

    numbers: dict[bytes, int]
    data: bytearray = field(default_factory=bytearray)

    def add(self, value: Any) -> None:
        if not isinstance(value, list | dict):
            self.data += _scalar(value)
            return
        kind, fmt = _OBJECT if isinstance(value, dict) else _ARRAY, _form(len(value))
        bits = {">B": 0, ">H": 0x08, ">I": 0x10}[fmt]
        self.data += bytes((kind | _WIDE_OFFSETS | bits,)) + struct.pack(fmt, len(value))
        if isinstance(value, dict):
            form = _form(len(self.numbers))
            self.data += b"".join(struct.pack(form, self.numbers[name.encode()]) for name in value)
            value = list(value.values())
        at = len(self.data)
        self.data += bytes(4 * len(value))
        for item in value:
            self.data[at : at + 4] = struct.pack(">I", len(self.data))
            at += 4
            self.add(item)


def _scalar(value: Any) -> bytes:
    if value is None or isinstance(value, bool):
        return bytes((_NULL if value is None else _TRUE if value else _FALSE,))
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
        if len(raw) <= 0xFF:
            return bytes((_TEXT8, len(raw))) + raw
        return (struct.pack(">BH", _TEXT16, len(raw)) if len(raw) <= 0xFFFF else struct.pack(">BI", _TEXT32, len(raw))) + raw
    cell = number.encode(Decimal(value))
    return bytes((_NUMBER8, len(cell))) + cell


def decode(image: bytes) -> Any:
    """The value of an image: None, bool, Decimal, str, list or dict; dates and timestamps as texts of ISO 8601.

    Raises ORA-40568 for bytes that are no image, ORA-03001 for forms not read here, ORA-01722 and ORA-01426 for NaN and
    infinities.
    """
    if not image.startswith(MAGIC):
        raise OraError(40568, "JSON path expression or image is invalid")
    try:
        return _Reader(image).value()
    except (struct.error, IndexError, UnicodeDecodeError):
        raise OraError(40568, "JSON image is damaged") from None


class _Reader:
    """Reads one image; `value` decodes its root. Raises ORA-03001 for forms not read here; struct.error, IndexError or
    UnicodeDecodeError for a damaged one."""

    def __init__(self, image: bytes) -> None:
        version, self._flags = struct.unpack_from(">BH", image, 3)
        if version != _NAMES_255:
            raise OraError(3001, "unimplemented feature: names longer than 255 bytes in JSON")
        self._image, at = image, 6
        self._names: list[str] = []
        tree_form = ">I" if self._flags & _TREE_UINT32 else ">H"
        if self._flags & _SCALAR:
            self._tree = at + struct.calcsize(tree_form)
            return
        count, at = self._take(">I" if self._flags & _NAMES_UINT32 else ">H" if self._flags & _NAMES_UINT16 else ">B", at)
        offset_form = ">I" if self._flags & _SEGMENT_UINT32 else ">H"
        size, at = self._take(offset_form, at)
        _, at = self._take(tree_form, at)
        at += 2 + (count if self._flags & _HASH_UINT8 else 2 * count)
        width = struct.calcsize(offset_form)
        segment = at + width * count
        for place in range(count):
            start = segment + struct.unpack_from(offset_form, image, at + width * place)[0]
            self._names.append(image[start + 1 : start + 1 + image[start]].decode())
        self._tree = segment + size

    def _take(self, form: str, at: int) -> tuple[int, int]:
        (found,) = struct.unpack_from(form, self._image, at)
        return int(found), at + struct.calcsize(form)

    def value(self) -> Any:
        return self._node(self._tree)

    def _node(self, at: int) -> Any:
        kind = self._image[at]
        if kind & 0x80:
            return self._container(kind, at)
        return _read_scalar(kind, self._image, at + 1)

    def _container(self, kind: int, at: int) -> Any:
        if kind & 0x18 == 0x18:
            raise OraError(3001, "unimplemented feature: JSON objects that share their names")
        start = at
        count, at = self._take(_COUNTS[kind & 0x18][1], at + 1)
        names: list[str] = []
        if kind & 0x40 == 0:
            form = _form(len(self._names))
            for _ in range(count):
                place, at = self._take(form, at)
                names.append(self._names[place - 1])
        form = ">I" if kind & _WIDE_OFFSETS else ">H"
        items = []
        for _ in range(count):
            offset, at = self._take(form, at)
            items.append(self._node(offset + (start if self._flags & _RELATIVE else self._tree)))
        return items if kind & 0x40 else dict(zip(names, items, strict=True))


def _iso(cell: bytes) -> str:
    """A date or timestamp as JSON text has it: ISO 8601, the fraction without trailing zeros."""
    year, month, day, hour, minute, second, nano = temporal.decode(cell)
    fraction = f".{nano:09d}".rstrip("0") if nano else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def _read_scalar(kind: int, image: bytes, at: int) -> Any:
    if kind in (_NULL, _TRUE, _FALSE):
        return {_NULL: None, _TRUE: True, _FALSE: False}[kind]
    if kind in (_TEXT8, _TEXT16, _TEXT32):
        width = {_TEXT8: 1, _TEXT16: 2, _TEXT32: 4}[kind]
        size = int.from_bytes(image[at : at + width], "big")
        return image[at + width : at + width + size].decode("utf-8", "surrogatepass")
    if kind in (_NUMBER8, 0x74):
        return number.decode(image[at + 1 : at + 1 + image[at]])
    if kind <= 0x1F:  # a short string, its length in the node
        return image[at : at + kind].decode()
    if kind & 0xF0 in (0x20, 0x60):  # a short number
        return number.decode(image[at : at + (kind & 0x0F) + 1])
    if kind & 0xF0 in (0x40, 0x50):  # an integer
        return number.decode(image[at : at + (kind & 0x0F)])
    if kind in (_DOUBLE, _FLOAT):
        return number.decode(binary.to_number(image[at : at + (8 if kind == _DOUBLE else 4)]))
    if kind in (_DATE, _STAMP, _STAMP7):
        return _iso(image[at : at + (11 if kind == _STAMP else 7)])
    raise OraError(3001, f"unimplemented feature: JSON text of a scalar of OSON type {kind:#x}")
