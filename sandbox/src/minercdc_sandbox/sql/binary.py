"""BINARY_FLOAT (4 bytes) and BINARY_DOUBLE (8 bytes): IEEE 754 big-endian, changed so that the bytes compare like the values.

A positive value has its sign bit flipped, a negative one all bits. -0 becomes 0 and every NaN the one NaN, which is the
greatest value and equal to itself (SQL Language Reference, Floating-Point Numbers).
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number

_SPECIAL = {"NAN": math.nan, "INF": math.inf, "INFINITY": math.inf, "-INF": -math.inf, "-INFINITY": -math.inf}


def encode(value: float, size: int) -> bytes:
    """The cell of a value: BINARY_FLOAT for `size` 4, BINARY_DOUBLE for 8. A value beyond BINARY_FLOAT becomes an infinity."""
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
    """The exact value of a cell of either type, known by its length; NaN and infinities too."""
    raw = bytes((cell[0] & 0x7F, *cell[1:])) if cell[0] & 0x80 else bytes(b ^ 0xFF for b in cell)
    value: float = struct.unpack(">f" if len(cell) == 4 else ">d", raw)[0]
    return value


def resized(cell: bytes, size: int) -> bytes:
    """The cell in the type of `size` 4 or 8, rounded if that is smaller (beyond BINARY_FLOAT an infinity); -0 and NaN, as drivers
    may send them, in their one form."""
    return encode(decode(cell), size)


def of_number(cell: bytes, size: int) -> bytes:
    """A NUMBER's cell as BINARY_FLOAT (`size` 4) or BINARY_DOUBLE (8), rounded; beyond BINARY_FLOAT an infinity."""
    return encode(float(number.decode(cell)), size)


def to_number(cell: bytes) -> bytes:
    """The NUMBER cell of a cell: 9 digits of a BINARY_FLOAT, of a BINARY_DOUBLE the fewest that identify it. Raises ORA-01722 for
    NaN, ORA-01426 for infinities and values beyond NUMBER."""
    value = decode(cell)
    if value != value:
        raise OraError(1722, "invalid number")
    if math.isinf(value):
        raise OraError(1426, "numeric overflow")
    return number.encode(Decimal(f"{value:.9g}" if len(cell) == 4 else repr(value)))


def parse(text: str, size: int) -> bytes:
    """The cell of a number as text, whose decimal character is a point, maybe with F or D at its end, or of `Nan` or `Inf`; in
    any case, with blanks around it; BINARY_FLOAT for `size` 4, BINARY_DOUBLE for 8. Raises ORA-01722 for others, ORA-01426 beyond
    the type."""
    plain = text.strip().upper()
    special = _SPECIAL.get(plain.removeprefix("+"))
    if special is not None:
        return encode(special, size)
    try:
        value = float(plain[:-1] if plain.endswith(("F", "D")) else plain)
    except ValueError:
        raise OraError(1722, "invalid number") from None
    if "_" in plain or math.isnan(value):
        raise OraError(1722, "invalid number")
    cell = encode(value, size)
    if math.isinf(decode(cell)):
        raise OraError(1426, "numeric overflow")
    return cell


def text(cell: bytes, point: str = ".") -> str:
    """TO_CHAR without a format: `1.50000005E+010`, `2.5E+000`, `0`, `Nan`, `Inf`, `-Inf`. `point`: the decimal character."""
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


def redo_text(cell: bytes, point: str = ".") -> str:
    """As LogMiner prints it: all digits of the value, 9 or 17, and one after the point at least: `1.0E+000`, `2.7182818284590451E+000`,
    `0`, `Nan`, `Inf`, `-Inf`."""
    value = decode(cell)
    if value == 0 or not math.isfinite(value):
        return text(cell, point)
    mantissa, exponent = f"{value:.{8 if len(cell) == 4 else 16}E}".split("E")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}{point}{fraction.rstrip('0') or '0'}E{exponent[0]}{exponent[1:].zfill(3)}"


def _shortest(value: float) -> str:
    return next(text for places in range(17) if float(text := f"{value:.{places}E}") == value)


def _divide(x: float, y: float) -> float:
    """The quotient; by zero an infinity with the sign of `x`, or NaN of 0 and NaN: no error."""
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x)
    return x / y


def _power(x: float, y: float) -> float:
    try:
        found = x**y
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    return found if isinstance(found, float) else math.nan


def _modulo(x: float, y: float) -> float:
    if y == 0:
        return x
    return math.fmod(x, y) if math.isfinite(x) else math.nan


def rounded(a: bytes, places: bytes, how: str = ROUND_HALF_UP) -> bytes:
    """ROUND of a cell to `places` after the point, a NUMBER cell; with `how` ROUND_DOWN TRUNC. Of the same type; infinities and
    NaN stay as they are."""
    value = decode(a)
    if not math.isfinite(value):
        return a
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-number.to_int(places)), how, number.ARITHMETIC_WIDE)
    return encode(float(exact), len(a))


def _of_one(function: Callable[[float], float]) -> Callable[[bytes], bytes]:
    return lambda a: encode(function(decode(a)), len(a))


def _of_two(function: Callable[[float, float], float]) -> Callable[[bytes, bytes], bytes]:
    return lambda a, b: encode(function(decode(a), decode(b)), len(a))


FUNCTIONS: dict[str, Callable[..., object]] = {
    "float_add": _of_two(operator.add),
    "float_sub": _of_two(operator.sub),
    "float_mul": _of_two(operator.mul),
    "float_div": _of_two(_divide),
    "float_mod": _of_two(_modulo),
    "float_power": _of_two(_power),
    "float_neg": _of_one(operator.neg),
    "float_abs": _of_one(abs),
    "float_sqrt": _of_one(lambda x: math.sqrt(x) if x >= 0 else math.nan),
    "float_ceil": _of_one(lambda x: float(math.ceil(x)) if math.isfinite(x) else x),
    "float_floor": _of_one(lambda x: float(math.floor(x)) if math.isfinite(x) else x),
    "float_sign": lambda a: number.encode(-1 if decode(a) < 0 else 1),
    "float_round": rounded,
    "float_trunc": lambda a, places: rounded(a, places, ROUND_DOWN),
    "float_of_number": of_number,
    "float_of_text": lambda text, size, point: parse(text if point == "." else text.replace(point, "."), size),
    "float_resized": resized,
    "float_number": to_number,
    "float_text": text,
    "is_nan": lambda a: math.isnan(decode(a)),
    "is_infinite": lambda a: math.isinf(decode(a)),
}
"""The functions that SQLite calls, by name without `o_`. SIGN is the NUMBER -1 for values below 0, 1 for all others and NaN."""
