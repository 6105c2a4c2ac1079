"""Arithmetic on NUMBER cells, as SQLite calls it."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, DivisionByZero, InvalidOperation

from minercdc.sandbox.interfaces import OraError
from minercdc.sandbox.sql import number
from minercdc.sandbox.sql.number import ARITHMETIC, decode, encode


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
