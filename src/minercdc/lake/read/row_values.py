"""Values of envelopes as PyArrow takes them, in the types that `types` has in SQL: for readers without Spark SQL.

    TIMESTAMP, TIMESTAMP_NTZ   int, microseconds since the epoch
    DECIMAL                    Decimal of its scale
    others                     str, bytes, int, float, bool

`tests/unit/lake/test_row_values.py` compares each type, in each mode, with the SQL of `types`.
"""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from minercdc.config.sections import ValueConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.errors import LakeError
from minercdc.lake.table.types import LakeColumn

Reading = Callable[[Any], Any]  # a member that is not null, as json.loads gives it -> the value

_MICROSECONDS = {"DATE": 1000, 3: 1000, 6: 1}
_BYTES = frozenset(("RAW", "LONG RAW", "BLOB"))
_LIMITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_ISO = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|[+]00:00)?")
_DAY_US = 86_400_000_000


def reading_of(column: LakeColumn, values: ValueConfig, lake: LakeConfig) -> Reading:
    """A function that makes a lake column's value of an envelope's member. It raises LakeError for one that does not fit.

    :param column: with its source.
    """
    reading = _reading(column, values, lake)

    def checked(member: Any) -> Any:
        try:
            return reading(member)
        except (ValueError, TypeError, KeyError, AttributeError, InvalidOperation, OverflowError):
            raise LakeError(f"column {column.name}: a value does not fit {column.spark_type}") from None

    return checked


def placeholder_of(column: LakeColumn, values: ValueConfig) -> object:
    """What stands for a value that redo does not hold: the member's text or, of RAW, LONG RAW and BLOB, the bytes that reading the
    member gives; None where values of the type have no placeholder."""
    if column.unavailable is None:
        return None
    text = values.unavailable_value_placeholder
    if column.source is None or column.source.type_name not in _BYTES:
        return text
    return text.encode()


def _reading(column: LakeColumn, values: ValueConfig, lake: LakeConfig) -> Reading:
    source, spark_type = column.source, column.spark_type
    assert source is not None
    kind, text = source.type_name, values.decimal_handling_mode == "string"
    if kind in _BYTES:
        return {"hex": bytes.fromhex, "base64-url-safe": urlsafe_b64decode}.get(values.binary_handling_mode, b64decode)
    if kind in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        return float
    if kind == "FLOAT" or (kind == "NUMBER" and source.length is None and source.scale is None):
        digits = str if text else _variable_scale
        return _number(digits, spark_type)
    if kind == "NUMBER":
        return _scaled(column, text)
    if kind in ("DATE", "TIMESTAMP"):
        return _wall_clock(column, values)
    if spark_type == "TIMESTAMP":
        return _iso_micros
    return _text if spark_type == "STRING" else _same


def _same(member: Any) -> Any:
    return member


def _text(member: str) -> str:
    """A text as Spark has it: half a surrogate pair, which is not valid in UTF-8, is `?`."""
    return member if member.isascii() else member.encode("utf-8", "replace").decode()


def _unscaled(member: str) -> int:
    return int.from_bytes(b64decode(member), "big", signed=True)


def plain_digits(unscaled: int, scale: int) -> str:
    """All digits of `unscaled` times 10**-`scale`, without an exponent."""
    if scale <= 0:
        return str(unscaled * 10**-scale)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _variable_scale(member: dict[str, Any]) -> str:
    return plain_digits(_unscaled(member["value"]), member["scale"])


def _number(digits: Callable[[Any], str], spark_type: str) -> Reading:
    if spark_type == "STRING":
        return digits
    if spark_type == "DOUBLE":
        return lambda member: float(digits(member))
    return lambda member: _exact(Decimal(digits(member)), spark_type)


def _scaled(column: LakeColumn, text: bool) -> Reading:
    source, spark_type = column.source, column.spark_type
    assert source is not None
    scale = source.scale or 0
    if spark_type in _LIMITS:
        return lambda member: _whole(int(member), spark_type)
    if spark_type == "STRING":
        return _same if text else lambda member: plain_digits(_unscaled(member), scale)
    if text:
        return lambda member: _exact(Decimal(member), spark_type, rounds=True)
    return lambda member: _exact(Decimal(f"{_unscaled(member)}E{-scale}"), spark_type)


def _whole(value: int, spark_type: str) -> int:
    if not -(2 ** _LIMITS[spark_type]) <= value < 2 ** _LIMITS[spark_type]:
        raise ValueError(value)
    return value


def _exact(value: Decimal, spark_type: str, *, rounds: bool = False) -> Decimal:
    """The value with the scale of a DECIMAL."""
    found = _DECIMAL.fullmatch(spark_type)
    assert found is not None
    precision, scale = int(found[1]), int(found[2])
    with localcontext(prec=400, rounding="ROUND_HALF_UP"):
        fitted = value.quantize(Decimal(1).scaleb(-scale))
        if (not rounds and fitted != value) or len(fitted.as_tuple().digits) > precision:
            raise ValueError(value)
    return fitted


# --- times


def _wall_clock(column: LakeColumn, values: ValueConfig) -> Reading:
    source = column.source
    assert source is not None
    digits = 0 if source.type_name == "DATE" else 6 if source.scale is None else source.scale
    mode = values.time_precision_mode
    if mode == "isostring":
        return _iso_nanoseconds if digits > 6 else _iso_micros
    unit = {"connect": 3, "microseconds": 6, "nanoseconds": 9}.get(mode, 3 if digits <= 3 else 6 if digits <= 6 else 9)
    if unit < 9:
        step = 1000 if unit == 3 else 1
        return lambda member: int(member) * step
    return _nanoseconds if digits > 6 else lambda member: int(member) // 1000


def _nanoseconds(member: int) -> str:
    seconds, rest = divmod(member, 10**9)
    return f"{wall_text(seconds * 10**6)[:19]}.{rest:09}"


def _iso_nanoseconds(member: str) -> str:
    whole, _, fraction = member.rstrip("Z").partition(".")
    return f"{whole.replace('T', ' ')}.{fraction[:9]:0<9}"


def _iso_micros(member: str) -> int:
    found = _ISO.fullmatch(member)
    if found is None:
        raise ValueError(member)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    after = 0
    if (month, day) == (2, 29) and not _is_leap(year):  # Oracle's calendar is the Julian one until 1582
        day, after = 28, 1
    days = _days(year, month, day) + after
    return days * _DAY_US + ((hour * 60 + minute) * 60 + second) * 10**6 + int(f"{found[7] or '':0<6}"[:6])


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int, day: int) -> int:
    """Days since the epoch in the Gregorian calendar, carried back beyond 1582; year 0 is 1 BC."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError((year, month, day))
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def wall_text(micros: int) -> str:
    """`yyyy-MM-dd HH:mm:ss.SSSSSS` of microseconds since the epoch; a year above 9999 has a `+`, one below 0 a `-`."""
    days, rest = divmod(micros, _DAY_US)
    shifted = days + 719_468
    era, of_era_days = divmod(shifted, 146_097)
    of_era = (of_era_days - of_era_days // 1460 + of_era_days // 36_524 - of_era_days // 146_096) // 365
    of_year = of_era_days - (365 * of_era + of_era // 4 - of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = era * 400 + of_era + (month <= 2)
    seconds, fraction = divmod(rest, 10**6)
    date = f"{'-' if year < 0 else '+' if year > 9999 else ''}{abs(year):04}-{month:02}-{day:02}"
    return f"{date} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"


# --- a value of an older version of its table


def converted(value: Any, old: str, new: str, column: str) -> Any:
    """A value of Spark type `old` in type `new`, as `decode.typed_value` does it; None for None. Raises LakeError where it
    does not fit, or only Spark SQL converts it.

    :param column: name for the message.
    """
    if value is None or old == new:
        return value
    number = isinstance(value, int | Decimal) and not isinstance(value, bool) and not old.startswith("TIMESTAMP")
    try:
        if new == "STRING" and (text := _as_text(value, old)) is not None:
            return text
        if number and new in ("FLOAT", "DOUBLE"):
            return float(value)
        if number and new in _LIMITS and value == int(value):
            return _whole(int(value), new)
        if number and new.startswith("DECIMAL"):
            return _exact(Decimal(value), new, rounds=True)
        if (old, new) == ("FLOAT", "DOUBLE"):
            return value
    except ValueError:
        pass
    raise LakeError(
        f"column {column}: a value of an earlier {old} cannot be converted to {new} here",
        hint="Read the table by minercdc.lake.read_changes(spark, config, table), which casts in Spark SQL.",
    )


def _as_text(value: Any, old: str) -> str | None:
    """The text that Spark makes of a value of type `old`; None for a type whose text only Spark knows."""
    if old.startswith("DECIMAL"):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if old == "TIMESTAMP_NTZ":
        return f"{wall_text(value)}000"
    return str(value) if old in _LIMITS else None
