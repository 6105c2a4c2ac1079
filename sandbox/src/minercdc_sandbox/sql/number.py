"""Oracle NUMBER: a byte with sign and exponent, then base-100 digits. The bytes compare like the values."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache

from minercdc_sandbox.interfaces import OraError

ZERO = b"\x80"
ARITHMETIC = Context(prec=44, rounding=ROUND_HALF_UP, Emin=-400, Emax=400)
"""Has more digits than 20 base-100 digits, so that `encode` rounds."""

_MAX_DIGITS = 20


def encode(value: Decimal | int) -> bytes:
    """The cell of a number, rounded half up (away from zero) to 20 base-100 digits, 0 if too small. Raises ORA-01426 if too large
    or not finite."""
    if isinstance(value, int):
        sign, text, exponent = value < 0, str(abs(value)), 0
    else:
        if not value.is_finite():
            raise OraError(1426, "numeric overflow")
        negative, digits, exp = value.as_tuple()
        sign, text, exponent = bool(negative), "".join(map(str, digits)), int(exp)
    text = text.lstrip("0")
    if not text:
        return ZERO
    if exponent & 1:
        text, exponent = text + "0", exponent - 1
    if len(text) & 1:
        text = "0" + text
    pairs = [int(text[i : i + 2]) for i in range(0, len(text), 2)]
    while pairs[-1] == 0:
        pairs.pop()
        exponent += 2
    power = exponent // 2 + len(pairs) - 1
    if len(pairs) > _MAX_DIGITS:
        pairs, power = _round(pairs, power)
    if power > 62:
        raise OraError(1426, "numeric overflow")
    if power < -65:
        return ZERO
    if not sign:
        return bytes([power + 193, *[p + 1 for p in pairs]])
    body = bytes([62 - power, *[101 - p for p in pairs]])
    return body if len(pairs) >= _MAX_DIGITS else body + b"\x66"


def _round(pairs: list[int], power: int) -> tuple[list[int], int]:
    up = pairs[_MAX_DIGITS] >= 50
    pairs = pairs[:_MAX_DIGITS]
    at = _MAX_DIGITS - 1
    while up and at >= 0:
        pairs[at] += 1
        up = pairs[at] == 100
        if up:
            pairs[at] = 0
            at -= 1
    if up:
        pairs, power = [1], power + 1
    while pairs[-1] == 0:
        pairs.pop()
    return pairs, power


@lru_cache(maxsize=1 << 14)
def integer(value: int) -> bytes:
    """`encode` of an int, remembered, because counts, codes and SCNs recur."""
    if not 0 < value < 100_000_000:
        return encode(value)
    digits = value
    pairs: list[int] = []
    while digits:
        digits, pair = divmod(digits, 100)
        if pair or pairs:  # no trailing zero pairs
            pairs.append(pair + 1)
    size = (len(str(value)) + 1) // 2
    pairs.append(192 + size)
    return bytes(pairs[::-1])


@lru_cache(maxsize=1 << 14)
def decode(cell: bytes) -> Decimal:
    """The exact value of a cell, canonical or not; remembered."""
    first = cell[0]
    if cell == ZERO:  # 1E-130 begins with the same byte
        return Decimal(0)
    if first & 0x80:
        power = first - 193
        digits = [b - 1 for b in cell[1:]]
        sign = 0
    else:
        power = 62 - first
        digits = [101 - b for b in (cell[1:-1] if cell[-1] == 0x66 else cell[1:])]
        sign = 1
    number = 0
    for digit in digits:
        number = number * 100 + digit
    value = ARITHMETIC.scaleb(Decimal(number), 2 * (power - len(digits) + 1))
    return value.copy_negate() if sign else value  # unary minus would round to the context's 28 digits


def canonical(cell: bytes) -> bytes:
    """The cell without trailing zero pairs, which a driver may send, so that equal values have equal bytes; a canonical one as it is."""
    last = cell[-1] if cell[-1] != 0x66 or cell[0] & 0x80 else cell[-2]
    return encode(decode(cell)) if len(cell) > 1 and last == (1 if cell[0] & 0x80 else 101) else cell


def to_int(cell: bytes) -> int:
    """The integer part of a cell's value, towards zero."""
    return int(decode(cell))


def parse(text: str) -> bytes:
    """The cell of a number as text, whose decimal character is a point, with or without blanks around it; rounded as by `encode`.
    Raises ORA-01722 for no number, ORA-01426 for too large a one."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise OraError(1722, "invalid number") from None
    if not value.is_finite() or "_" in text:
        raise OraError(1722, "invalid number")
    return encode(value)


_PAIRS = [f"{byte - 1:02d}" for byte in range(256)]
_NEGATIVE_PAIRS = [f"{101 - byte:02d}" for byte in range(256)]
_LONGEST_PLAIN = 40


def text(cell: bytes, point: str = ".") -> str:
    """TO_CHAR without a format: no zero before the decimal character `point`, E notation, rounded to 34 digits, beyond 40 digits."""
    first = cell[0]
    if first & 0x80:
        sign, places = "", 2 * (first - 192)
        digits = "".join([_PAIRS[byte] for byte in cell[1:]])
    else:
        sign, places = "-", 2 * (63 - first)
        digits = "".join([_NEGATIVE_PAIRS[byte] for byte in (cell[1:-1] if cell[-1] == 0x66 else cell[1:])])
    size = len(digits)
    if size <= places <= _LONGEST_PLAIN:
        plain = digits.lstrip("0") + "0" * (places - size)
    elif 0 < places < size:
        whole, fraction = digits[:places].lstrip("0"), digits[places:].rstrip("0")
        plain = f"{whole}{point}{fraction}" if fraction else whole
    elif places <= 0 and size:
        plain = f"{point}{'0' * -places}{digits.rstrip('0')}"
    else:
        plain = ""
    if not plain:
        return "0" if cell == ZERO else _scientific(decode(cell), point)
    return sign + plain if len(plain) - (point in plain) <= _LONGEST_PLAIN else _scientific(decode(cell), point)


def _scientific(value: Decimal, point: str) -> str:
    mantissa, exponent = format(ARITHMETIC.plus(value), ".33E").split("E")
    return f"{mantissa.rstrip('0').rstrip('.').replace('.', point)}E{exponent[0]}{exponent[1:].zfill(2)}"


def rounded(value: Decimal, places: int) -> Decimal:
    """The value rounded to `places` after the point, half away from zero."""
    return value.quantize(unit_of(places), ROUND_HALF_UP, ARITHMETIC_WIDE)


def unit_of(places: int) -> Decimal:
    """10 to the power of -`places`; `places` beyond -130 to 130 counts as the end of that range: no NUMBER has digits beyond."""
    return Decimal(1).scaleb(-max(-130, min(130, places)))


ARITHMETIC_WIDE = Context(prec=400, rounding=ROUND_HALF_UP, Emin=-999, Emax=999)


def exact_text(cell: bytes, point: str = ".") -> str:
    """As `text`, but E notation has all digits, so that LogMiner's statements restore the value."""
    if cell == ZERO:
        return "0"
    plain = text(cell, point)
    if plain != "0" and "E" not in plain:
        return plain
    if cell[0] & 0x80:
        sign, power, pairs = "", cell[0] - 193, [byte - 1 for byte in cell[1:]]
    else:
        sign, power, pairs = "-", 62 - cell[0], [101 - byte for byte in (cell[1:-1] if cell[-1] == 0x66 else cell[1:])]
    digits = "".join(f"{pair:02d}" for pair in pairs)
    exponent = 2 * power + (0 if digits.startswith("0") else 1)
    digits = digits.strip("0")
    fraction = f"{point}{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}E{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
