"""DBMS_RANDOM as NUMBER and text cells: another value for each call. It cannot be seeded here."""

from __future__ import annotations

import random
import string
from decimal import Decimal

from minercdc_sandbox.sql import number

_SETS = {
    "U": string.ascii_uppercase,
    "L": string.ascii_lowercase,
    "A": string.ascii_letters,
    "X": string.ascii_uppercase + string.digits,
    "P": "".join(map(chr, range(32, 127))),
}
_DIGITS = 38


def value(low: bytes | None = None, high: bytes | None = None) -> bytes:
    """VALUE: from `low` up to but without `high`; from 0 up to but without 1 when one of them is None. 38 random digits. Raises
    ORA-01426 for a result beyond NUMBER."""
    share = Decimal(random.randrange(10**_DIGITS)).scaleb(-_DIGITS)
    if low is None or high is None:
        return number.encode(share)
    first, last = number.decode(low), number.decode(high)
    return number.encode(
        number.ARITHMETIC.add(first, number.ARITHMETIC.multiply(share, number.ARITHMETIC.subtract(last, first)))
    )


def whole() -> bytes:
    """RANDOM: an integer from -2**31 to 2**31 - 1."""
    return number.integer(random.randrange(-(1 << 31), 1 << 31))


def normal() -> bytes:
    """NORMAL: a value of the standard normal distribution."""
    return number.encode(Decimal(repr(random.gauss(0, 1))))


def text(kind: str, length: bytes) -> str:
    """STRING(kind, length): random characters of the kind U, L, A, X or P in either case, upper-case letters for an unknown kind;
    the empty text for a length below 1."""
    letters = _SETS.get(kind[:1].upper(), _SETS["U"])
    return "".join(random.choices(letters, k=max(number.to_int(length), 0)))
