"""Arithmetic on NUMBER cells, as SQLite calls it."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, DivisionByZero, InvalidOperation

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.number import ARITHMETIC, decode, encode


def add(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.add(decode(a), decode(b)))


def subtract(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.subtract(decode(a), decode(b)))


def multiply(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.multiply(decode(a), decode(b)))


def divide(a: bytes, b: bytes) -> bytes:
    try:
        return encode(ARITHMETIC.divide(decode(a), decode(b)))
    except (DivisionByZero, InvalidOperation):
        raise OraError(1476, "divisor is equal to zero") from None


def power(a: bytes, b: bytes) -> bytes:
    try:
        return encode(ARITHMETIC.power(decode(a), decode(b)))
    except InvalidOperation:
        raise OraError(1428, "argument is out of range") from None


def modulo(a: bytes, b: bytes) -> bytes:
    x, y = decode(a), decode(b)
    if y == 0:
        return a
    wide = number.ARITHMETIC_WIDE
    return encode(wide.subtract(x, wide.multiply(int(wide.divide(x, y)), y)))


def negate(a: bytes) -> bytes:
    return encode(decode(a).copy_negate())


def round_number(a: bytes, places: bytes) -> bytes:
    return encode(number.rounded(decode(a), number.to_int(places)))


def truncate_number(a: bytes, places: bytes) -> bytes:
    n = number.to_int(places)
    return encode(decode(a).quantize(Decimal(1).scaleb(-n), "ROUND_DOWN", number.ARITHMETIC_WIDE))


def sign(a: bytes) -> bytes:
    value = decode(a)
    return encode((value > 0) - (value < 0))


def ceiling(a: bytes) -> bytes:
    return encode(decode(a).to_integral_value(ROUND_CEILING))


def remainder(a: bytes, b: bytes) -> bytes:
    """REMAINDER: as MOD, but of the nearest multiple, ties to the even one."""
    x, y = decode(a), decode(b)
    if y == 0:
        raise OraError(1476, "divisor is equal to zero")
    wide = number.ARITHMETIC_WIDE
    times = wide.divide(x, y).to_integral_value(ROUND_HALF_EVEN)
    return encode(wide.subtract(x, wide.multiply(times, y)))


def width_bucket(value: bytes, low: bytes, high: bytes, count: bytes) -> bytes:
    """WIDTH_BUCKET: 0 below, count + 1 above. Raises ORA-30494, ORA-30495."""
    x, first, last, buckets = decode(value), decode(low), decode(high), number.to_int(count)
    if buckets <= 0:
        raise OraError(30494, "The argument [4] of WIDTH_BUCKET function is NULL or invalid.")
    if first == last:
        raise OraError(30495, "The arguments of WIDTH_BUCKET function have wrong types or values.")
    share = number.ARITHMETIC_WIDE.divide(x - first, last - first)
    if share < 0:
        return number.integer(0)
    return number.integer(buckets + 1 if share >= 1 else int(share * buckets) + 1)


def bits_of(*bits: bytes) -> bytes:
    """BIN_TO_NUM."""
    total = 0
    for bit in bits:
        value = number.to_int(bit)
        if value not in (0, 1):
            raise OraError(1428, f"argument '{value}' is out of range")
        total = 2 * total + value
    return number.integer(total)
