"""Arithmetic on NUMBER cells."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, DivisionByZero, InvalidOperation

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.number import ARITHMETIC, decode, encode
from minercdc_sandbox.sql.number_formats import char_to_number, number_to_char

_WIDE = number.ARITHMETIC_WIDE


def _of_one(function: Callable[[Decimal], Decimal | int]) -> Callable[[bytes], bytes]:
    return lambda a: encode(function(decode(a)))


def _of_two(function: Callable[[Decimal, Decimal], Decimal]) -> Callable[[bytes, bytes], bytes]:
    return lambda a, b: encode(function(decode(a), decode(b)))


def _divide(x: Decimal, y: Decimal) -> Decimal:
    try:
        return ARITHMETIC.divide(x, y)
    except (DivisionByZero, InvalidOperation):
        raise OraError(1476, "divisor is equal to zero") from None


def _power(x: Decimal, y: Decimal) -> Decimal:
    try:
        return ARITHMETIC.power(x, y)
    except InvalidOperation:
        raise OraError(1428, "argument is out of range") from None


def _modulo(x: Decimal, y: Decimal) -> Decimal:
    return _WIDE.subtract(x, _WIDE.multiply(int(_WIDE.divide(x, y)), y)) if y else x


def _remainder(x: Decimal, y: Decimal) -> Decimal:
    """REMAINDER: `x` less the multiple of `y` that is nearest to it, at ties the one with an even factor. Raises ORA-01476 for `y` 0."""
    if y == 0:
        raise OraError(1476, "divisor is equal to zero")
    return _WIDE.subtract(x, _WIDE.multiply(_WIDE.divide(x, y).to_integral_value(ROUND_HALF_EVEN), y))


_MOST = (1 << 63) - 1


def _truncated(a: bytes, places: bytes) -> bytes:
    return encode(decode(a).quantize(number.unit_of(number.to_int(places)), "ROUND_DOWN", _WIDE))


def width_bucket(value: bytes, low: bytes, high: bytes, count: bytes) -> bytes:
    """WIDTH_BUCKET: the number, from 1, of the one of `count` equal parts of `low` to `high` in which `value` lies; 0 before
    `low`, count + 1 from `high` on. `low` may be above `high`. Raises ORA-30494 for count < 1, ORA-30495 for low = high."""
    x, first, last, buckets = decode(value), decode(low), decode(high), number.to_int(count)
    if buckets <= 0:
        raise OraError(30494, "The argument [4] of WIDTH_BUCKET function is NULL or invalid.")
    if first == last:
        raise OraError(30495, "The arguments of WIDTH_BUCKET function have wrong types or values.")
    share = _WIDE.divide(x - first, last - first)
    if share < 0:
        return number.integer(0)
    return number.integer(buckets + 1 if share >= 1 else int(share * buckets) + 1)


def bits_of(*bits: bytes) -> bytes:
    """BIN_TO_NUM: the number with these bits, the highest one first; fractions of an argument are cut. Raises ORA-01428 for one
    that is neither 0 nor 1."""
    total = 0
    for bit in bits:
        value = number.to_int(bit)
        if value not in (0, 1):
            raise OraError(1428, f"argument '{value}' is out of range")
        total = 2 * total + value
    return number.integer(total)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "add": _of_two(ARITHMETIC.add),
    "sub": _of_two(ARITHMETIC.subtract),
    "mul": _of_two(ARITHMETIC.multiply),
    "div": _of_two(_divide),
    "ratio": lambda a, b: encode(_divide(decode(a), decode(b))) if decode(b) else None,
    "power": _of_two(_power),
    "sqrt": _of_one(lambda x: _power(x, Decimal("0.5"))),
    "mod": _of_two(_modulo),
    "remainder": _of_two(_remainder),
    "neg": _of_one(Decimal.copy_negate),
    "abs": _of_one(Decimal.copy_abs),
    "sign": _of_one(lambda x: (x > 0) - (x < 0)),
    "ceil": _of_one(lambda x: x.to_integral_value(ROUND_CEILING)),
    "floor": _of_one(lambda x: x.to_integral_value(ROUND_FLOOR)),
    "round": lambda a, places: encode(number.rounded(decode(a), number.to_int(places))),
    "trunc": _truncated,
    "bitand": lambda a, b: number.integer(number.to_int(a) & number.to_int(b)),
    "width_bucket": width_bucket,
    "bits_of": bits_of,
    "int": number.integer,
    # A count of rows; SQLite has no integers beyond 64 bits.
    "to_int": lambda cell: max(-_MOST, min(_MOST, number.to_int(cell))),
    "to_num": lambda text, point: number.parse(text if point == "." else text.replace(point, ".")),
    "num_text": number.text,
    "num_char": lambda a, model, characters: number_to_char(decode(a), model, characters),
    "char_num": lambda text, model, characters: encode(char_to_number(text, model, characters)),
}
