"""Exponential, logarithmic and trigonometric functions of NUMBER cells, calculated to 60 digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.number import ARITHMETIC, decode, encode

_C = Context(prec=60)
_TINY = Decimal("1e-55")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def _cell(value: Decimal) -> bytes:
    return encode(ARITHMETIC.plus(value))


def _out_of_range() -> OraError:
    return OraError(1428, "argument is out of range")


def exponential(a: bytes) -> bytes:
    """EXP, rounded as NUMBER calculations are. Raises ORA-01426 for an argument above 290."""
    value = decode(a)
    if value > 290:
        raise OraError(1426, "numeric overflow")
    return _cell(_C.exp(value))


def natural_logarithm(a: bytes) -> bytes:
    """LN, rounded as NUMBER calculations are. Raises ORA-01428 for an argument that is not positive."""
    value = decode(a)
    if value <= 0:
        raise _out_of_range()
    return _cell(_C.ln(value))


def logarithm(base: bytes, a: bytes) -> bytes:
    """LOG(base, number), rounded as NUMBER calculations are. Raises ORA-01428 when one is not positive, and for base 1."""
    b, value = decode(base), decode(a)
    if value <= 0 or b <= 0 or b == 1:
        raise _out_of_range()
    return _cell(_C.divide(_C.ln(value), _C.ln(b)))


def _series(first: Decimal, factor: Callable[[int], Decimal]) -> Decimal:
    """The sum of `first` and further terms, each the one before times factor(n), n from 1; the last one added is at most 1e-55."""
    total, term, n = first, first, 1
    while abs(term) > _TINY:
        term = _C.multiply(term, factor(n))
        total = _C.add(total, term)
        n += 1
    return total


def _sine(x: Decimal) -> Decimal:
    turns = _C.divide(x, 2 * _PI).to_integral_value()
    x = _C.subtract(x, _C.multiply(turns, 2 * _PI))
    square = _C.multiply(x, x)
    return _series(x, lambda n: _C.divide(-square, Decimal(2 * n * (2 * n + 1)))) if x else x


def _cosine(x: Decimal) -> Decimal:
    return _sine(_C.add(x, _PI / 2))


def _arctangent(x: Decimal) -> Decimal:
    if abs(x) > Decimal("0.2"):
        return 2 * _arctangent(_C.divide(x, _C.add(1, _C.sqrt(_C.add(1, _C.multiply(x, x))))))
    square = _C.multiply(x, x)
    total, term, n = x, x, 1
    while abs(term) > _TINY:
        term = _C.multiply(term, -square)
        total = _C.add(total, _C.divide(term, Decimal(2 * n + 1)))
        n += 1
    return total


def _arcsine(x: Decimal) -> Decimal:
    if abs(x) > 1:
        raise _out_of_range()
    if abs(x) == 1:
        return _PI / 2 * int(x)
    return _arctangent(_C.divide(x, _C.sqrt(_C.subtract(1, _C.multiply(x, x)))))


def _hyperbolic(x: Decimal, sign: int) -> Decimal:
    return _C.divide(_C.add(_C.exp(x), _C.multiply(Decimal(sign), _C.exp(-x))), Decimal(2))


def _of_one(function: Callable[[Decimal], Decimal]) -> Callable[[bytes], bytes]:
    def computed(a: bytes) -> bytes:
        with localcontext(_C):
            return _cell(function(decode(a)))

    return computed


def arctangent2(a: bytes, b: bytes) -> bytes:
    """ATAN2(y, x), in radians from -pi to pi, rounded as NUMBER calculations are. Raises ORA-01428 when both are 0."""
    y, x = decode(a), decode(b)
    if x == 0 and y == 0:
        raise _out_of_range()
    if x == 0:
        half = _C.divide(_PI, Decimal(2))
        return _cell(half if y > 0 else -half)
    with localcontext(_C):
        angle = _arctangent(y / x)
        return _cell(angle if x > 0 else angle + (_PI if y >= 0 else -_PI))


FUNCTIONS: dict[str, Callable[..., bytes]] = {
    "exp": exponential,
    "ln": natural_logarithm,
    "log": logarithm,
    "sin": _of_one(_sine),
    "cos": _of_one(_cosine),
    "tan": _of_one(lambda x: _C.divide(_sine(x), _cosine(x))),
    "asin": _of_one(_arcsine),
    "acos": _of_one(lambda x: _C.subtract(_PI / 2, _arcsine(x))),
    "atan": _of_one(_arctangent),
    "atan2": arctangent2,
    "sinh": _of_one(lambda x: _hyperbolic(x, -1)),
    "cosh": _of_one(lambda x: _hyperbolic(x, 1)),
    "tanh": _of_one(lambda x: _C.divide(_hyperbolic(x, -1), _hyperbolic(x, 1))),
}
