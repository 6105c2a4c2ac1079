"""BINARY_FLOAT (4 bytes) and BINARY_DOUBLE (8 bytes): IEEE 754 big-endian, changed so that the bytes order as the values.

A positive value has its sign bit flipped, a negative one all bits. -0 becomes 0 and every NaN the one NaN, which is the
greatest value and equal to itself (SQL Language Reference, Floating-Point Numbers).
"""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Decimal

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number

_SPECIAL = {"NAN": math.nan, "INF": math.inf, "INFINITY": math.inf, "-INF": -math.inf, "-INFINITY": -math.inf}


def encode(value: float, size: int) -> bytes:
    """`size` 4 or 8; a value beyond BINARY_FLOAT becomes an infinity."""
    if value != value:
        value = math.nan
    elif value == 0:
        value = 0.0
    try:
        raw = struct.pack(">f" if size == 4 else ">d", value)
    except OverflowError:
        raw = struct.pack(">f", math.copysign(math.inf, value))
    if value != value:
        raw = bytes((raw[0] & 0x7F, *raw[1:]))
    return bytes(b ^ 0xFF for b in raw) if raw[0] & 0x80 else bytes((raw[0] | 0x80, *raw[1:]))


def decode(cell: bytes) -> float:
    """The value, exactly."""
    raw = bytes((cell[0] & 0x7F, *cell[1:])) if cell[0] & 0x80 else bytes(b ^ 0xFF for b in cell)
    value: float = struct.unpack(">f" if len(cell) == 4 else ">d", raw)[0]
    return value


def resized(cell: bytes, size: int) -> bytes:
    """Between the two types; also makes a driver's -0 and NaN canonical."""
    return encode(decode(cell), size)


def of_number(cell: bytes, size: int) -> bytes:
    """A NUMBER, rounded once."""
    return encode(float(number.decode(cell)), size)


def to_number(cell: bytes) -> bytes:
    """The NUMBER with the fewest digits that mean this value. Raises ORA-01722 for NaN, ORA-01426 for infinities."""
    value = decode(cell)
    if value != value:
        raise OraError(1722, "invalid number")
    if math.isinf(value):
        raise OraError(1426, "numeric overflow")
    return number.encode(Decimal(f"{value:.9g}" if len(cell) == 4 else repr(value)))


def parse(text: str, size: int) -> bytes:
    """A string or literal, `Nan` and `Inf` included. Raises ORA-01722 and ORA-01426."""
    plain = text.strip().upper()
    special = _SPECIAL.get(plain.removeprefix("+"))
    if special is not None:
        return encode(special, size)
    try:
        value = float(plain.rstrip("FD"))
    except ValueError:
        raise OraError(1722, "invalid number") from None
    if "_" in plain or math.isnan(value):
        raise OraError(1722, "invalid number")
    cell = encode(value, size)
    if math.isinf(decode(cell)):
        raise OraError(1426, "numeric overflow")
    return cell


def text(cell: bytes, point: str = ".") -> str:
    """TO_CHAR without a format, and LogMiner's text: `1.50000005E+010`, `2.5E+000`, `0`, `Nan`, `Inf`, `-Inf`."""
    value = decode(cell)
    if value != value:
        return "Nan"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if value == 0:
        return "0"
    mantissa, exponent = (f"{value:.8E}" if len(cell) == 4 else _shortest(value)).split("E")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".").replace(".", point)
    return f"{mantissa}E{exponent[0]}{exponent[1:].zfill(3)}"


def _shortest(value: float) -> str:
    return next(text for places in range(17) if float(text := f"{value:.{places}E}") == value)


def add(a: bytes, b: bytes) -> bytes:
    return encode(decode(a) + decode(b), len(a))


def subtract(a: bytes, b: bytes) -> bytes:
    return encode(decode(a) - decode(b), len(a))


def multiply(a: bytes, b: bytes) -> bytes:
    return encode(decode(a) * decode(b), len(a))


def divide(a: bytes, b: bytes) -> bytes:
    """By zero: an infinity or NaN, no error."""
    x, y = decode(a), decode(b)
    if y == 0:
        return encode(math.nan if x == 0 or x != x else math.copysign(math.inf, x), len(a))
    return encode(x / y, len(a))


def negate(a: bytes) -> bytes:
    return encode(-decode(a), len(a))


def absolute(a: bytes) -> bytes:
    return encode(abs(decode(a)), len(a))


def sign(a: bytes) -> bytes:
    """-1 or 1 (also of 0 and NaN), a NUMBER."""
    return number.encode(-1 if decode(a) < 0 else 1)


def square_root(a: bytes) -> bytes:
    value = decode(a)
    return encode(math.sqrt(value) if value >= 0 else math.nan, len(a))


def power(a: bytes, b: bytes) -> bytes:
    x, y = decode(a), decode(b)
    try:
        found = x**y
    except ZeroDivisionError:
        found = math.inf
    except OverflowError:
        found = math.inf if x > 0 or y % 2 == 0 else -math.inf
    return encode(found if isinstance(found, float) else math.nan, len(a))


def modulo(a: bytes, b: bytes) -> bytes:
    x, y = decode(a), decode(b)
    if y == 0:
        return a
    return encode(math.nan if math.isinf(x) or x != x else math.fmod(x, y), len(a))


def rounded(a: bytes, places: bytes, how: str = ROUND_HALF_UP) -> bytes:
    """ROUND, and TRUNC with ROUND_DOWN."""
    value = decode(a)
    if math.isinf(value) or value != value:
        return a
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-number.to_int(places)), how, number.ARITHMETIC_WIDE)
    return encode(float(exact), len(a))


def ceiling(a: bytes) -> bytes:
    value = decode(a)
    return a if math.isinf(value) or value != value else encode(float(math.ceil(value)), len(a))


def floor(a: bytes) -> bytes:
    value = decode(a)
    return a if math.isinf(value) or value != value else encode(float(math.floor(value)), len(a))


def is_nan(a: bytes) -> int:
    return decode(a) != decode(a)


def is_infinite(a: bytes) -> int:
    return math.isinf(decode(a))
