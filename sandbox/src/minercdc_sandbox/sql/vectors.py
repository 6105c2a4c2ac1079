"""Images of VECTOR values, to and from their text `[1.0E+000,2.5E+000]`.

    DB version flags(2) format count(4) norm(8, reserved) elements     elements as BINARY_FLOAT, BINARY_DOUBLE or INT8

The layout is the one that python-oracledb reads and writes; sparse and BINARY vectors are refused.
"""

from __future__ import annotations

import struct
from decimal import Decimal, InvalidOperation

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import binary, number

MAGIC = 0xDB
_HEAD = struct.Struct(">BBHBI")
_NORM, _NORM_RESERVED, _SPARSE = 0x0002, 0x0010, 0x0020
FORMATS = {"FLOAT32": 2, "FLOAT64": 3, "INT8": 4}
"""Format bytes by the names of declarations."""
_SIZES = {2: 4, 3: 8, 4: 1}
LARGEST = 65535


def parse_vector(text: str, declared: str = "*") -> bytes:
    """The image of `[1, 2.5, ..]` in the declared format, FLOAT32 for `*`. Raises ORA-51805 for another form, and as `image`."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        raise OraError(51805, "Vector is not properly formatted")
    kind = FORMATS.get(declared, FORMATS["FLOAT32"])
    try:
        values = [Decimal(item.strip()) for item in body[1:-1].split(",")]
    except InvalidOperation:
        raise OraError(51805, "Vector is not properly formatted (dimension value is not a number)") from None
    return image(values, kind)


def image(values: list[Decimal], kind: int) -> bytes:
    """The image of values in a format. Raises ORA-51801 unless there are 1 to 65535, ORA-51806 for what INT8 lacks, ORA-01426 for
    a value beyond NUMBER.

    :param kind: format byte, a value of `FORMATS`.
    """
    if not 1 <= len(values) <= LARGEST:
        raise OraError(51801, f"VECTOR column type specification has an unsupported dimension count ({len(values)})")
    head = _HEAD.pack(MAGIC, 0, _NORM_RESERVED, kind, len(values)) + bytes(8)
    return head + b"".join(_element(value, kind) for value in values)


def _element(value: Decimal, kind: int) -> bytes:
    if kind == FORMATS["INT8"]:
        if not value.is_finite() or value != int(value) or not -128 <= value <= 127:
            raise OraError(51806, "Vector column is not properly formatted (dimension value out of range for INT8)")
        return struct.pack(">b", int(value))
    return binary.of_number(number.encode(value), _SIZES[kind])


def check_vector(data: bytes, dimensions: int, declared: str) -> bytes:
    """The image in the format of a column. Raises ORA-51803 for another number of dimensions, as `vector_text`, and, where the
    format changes, as `image` and `binary.to_number`.

    :param dimensions: of the column, 0 for any; `declared`: its format, `*` for any.
    """
    kind, elements = _elements(data)
    if dimensions and len(elements) != dimensions:
        raise OraError(
            51803,
            f"Vector dimension count must match the dimension count specified in the column definition"
            f" (expected {dimensions} dimensions, specified {len(elements)} dimensions).",
        )
    wanted = FORMATS.get(declared, kind)
    return data if wanted == kind else image([_value(element, kind) for element in elements], wanted)


def vector_text(data: bytes) -> str:
    """FROM_VECTOR of an image: `[1.0E+000,2.5E+000]`, or integers of INT8. Raises ORA-51805 for a damaged image, ORA-03001 for a
    sparse or BINARY one."""
    kind, elements = _elements(data)
    if kind == FORMATS["INT8"]:
        return "[" + ",".join(str(int.from_bytes(element, "big", signed=True)) for element in elements) + "]"
    return "[" + ",".join(_shown(binary.text(element, ".")) for element in elements) + "]"


def _shown(text: str) -> str:
    """An element's text with a fraction, `1.0E+000`, where TO_CHAR has `1E+000`."""
    mantissa, mark, exponent = text.partition("E")
    return f"{mantissa}.0{mark}{exponent}" if mark and "." not in mantissa else text


def _value(element: bytes, kind: int) -> Decimal:
    if kind == FORMATS["INT8"]:
        return Decimal(int.from_bytes(element, "big", signed=True))
    return number.decode(binary.to_number(element))


def _elements(data: bytes) -> tuple[int, list[bytes]]:
    """Format byte and elements, each in the bytes of its type. Raises ORA-51805 for damaged images, ORA-03001 for kinds that are
    not there."""
    if len(data) < _HEAD.size or data[0] != MAGIC:
        raise OraError(51805, "Vector is not properly formatted")
    _, _, flags, kind, count = _HEAD.unpack_from(data)
    if kind not in _SIZES or flags & _SPARSE:
        raise OraError(3001, "unimplemented feature: sparse and BINARY vectors")
    start, size = _HEAD.size + (8 if flags & (_NORM | _NORM_RESERVED) else 0), _SIZES[kind]
    if len(data) != start + size * count:
        raise OraError(51805, "Vector is not properly formatted")
    return kind, [data[at : at + size] for at in range(start, len(data), size)]
