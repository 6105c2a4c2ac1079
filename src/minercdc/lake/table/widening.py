"""Finds the Spark type to which a lake column is widened, so that it holds the values of two types."""

from __future__ import annotations

import re

from minercdc.lake.read.decimals import MAX_PRECISION

INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_RANKS = tuple(INTEGER_DIGITS)
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def widened(old: str, new: str) -> str | None:
    """The Spark type to which Delta's type widening can change a column of type `old` so that values of type `new` fit, too.

    `old` itself when they fit already; None when there is no such type.
    """
    old, new = old.upper().replace(" ", ""), new.upper().replace(" ", "")
    if old == new:
        return old
    if old in _RANKS and new in _RANKS:
        return max(old, new, key=_RANKS.index)
    if _is_exact(old) and _is_exact(new):
        return _widerprecision_of(old, new)
    if {old, new} == {"DATE", "TIMESTAMP_NTZ"}:
        return "TIMESTAMP_NTZ"
    numbers = {*_RANKS[:3], "FLOAT", "DOUBLE"}  # a DOUBLE does not hold every BIGINT or DECIMAL
    if {old, new} <= numbers and {old, new} & {"FLOAT", "DOUBLE"}:
        return "FLOAT" if old == "FLOAT" and new in _RANKS[:2] else "DOUBLE"
    return None


def _is_exact(kind: str) -> bool:
    return kind in INTEGER_DIGITS or kind.startswith("DECIMAL")


def precision_of(kind: str) -> tuple[int, int]:
    """Precision and scale of the Spark type `DECIMAL(p,s)`. Raises ValueError for another type."""
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        raise ValueError(f"{kind} is not a DECIMAL with precision and scale")
    return int(found[1]), int(found[2])


def _widerprecision_of(old: str, new: str) -> str | None:
    whole = scale = 0
    for kind in (old, new):
        precision, places = (INTEGER_DIGITS[kind], 0) if kind in INTEGER_DIGITS else precision_of(kind)
        whole, scale = max(whole, precision - places), max(scale, places)
    if old in INTEGER_DIGITS:  # Delta counts 10 digits of every integer but BIGINT, and 20 of that
        whole = max(whole, 20 if old == "BIGINT" else 10)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= MAX_PRECISION else None
