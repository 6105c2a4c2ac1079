"""Values of binary formats as Connect's JsonConverter has them."""

from __future__ import annotations

import base64
import math
import struct
from typing import Final

_FLOAT = struct.Struct("<f").pack
_LARGEST: Final = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def json_number(number: float) -> float | str:
    """A DOUBLE; NaN and the infinities, for which JSON has no number, as text."""
    if math.isnan(number):
        return "NaN"
    return ("Infinity" if number > 0 else "-Infinity") if math.isinf(number) else number


def shortest(number: float) -> float | str:
    """A FLOAT as the DOUBLE with the fewest digits that is the same FLOAT; NaN and the infinities as text."""
    shorter = (float(f"{number:.{digits}g}") for digits in range(1, 9))
    return json_number(next((one for one in shorter if abs(one) <= _LARGEST and _FLOAT(one) == _FLOAT(number)), number))


def in_base64(content: bytes) -> str:
    """Bytes as JsonConverter writes them."""
    return base64.b64encode(content).decode()
