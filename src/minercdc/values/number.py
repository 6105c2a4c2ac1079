"""The type family of NUMBER, FLOAT, BINARY_FLOAT and BINARY_DOUBLE.

Canonical Row text of NUMBER and FLOAT is plain digits with no exponent, no superfluous zeros, `0.5` never `.5`. That of binary
floats has the form of Python's float (`100.0`, `1e-05`), with few digits that read back the same, or is `NaN`, `Infinity` or
`-Infinity`. `to_json` takes every spelling of a NUMBER.
"""

from __future__ import annotations

import re
import struct
from binascii import b2a_base64
from decimal import Decimal
from typing import Final

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.family import Convert, FieldType, Reading, ValueHandling, Writing, as_is
from minercdc.values.memo import Memo

TYPES: Final = frozenset({"NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE"})

_DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
_VARIABLE_SCALE = FieldType(
    "struct",
    "io.debezium.data.VariableScaleDecimal",
    1,
    fields=(("scale", FieldType("int32")), ("value", FieldType("bytes"))),
)
# Width of an integer column -> type: one digit less than the type could hold, so that every value fits.
_INTEGER_WIDTHS = ((3, "int8"), (5, "int16"), (10, "int32"), (19, "int64"))
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "+inf": "Infinity", "-inf": "-Infinity", "infinity": "Infinity"}
_SPECIAL["-infinity"] = "-Infinity"
# NUMBER has 40 digits and exponents up to 130; more digits than any spelling of it needs are no number, but cost time.
_NUMBER = re.compile(r"[+-]?(?:\d{1,200}\.?\d{0,200}|\.\d{1,200})(?:[eE][+-]?\d{1,3})?", re.ASCII)
# Canonical already, as nearly all but the one text `0` are. The end is not `$`, which lets a line end by.
_PLAIN = re.compile(r"-?(?:[1-9][0-9]{0,199}|0(?=\.))(?:\.[0-9]{0,199}[1-9])?\Z").match


def canonical(text: str) -> str:
    """NUMBER text in its one canonical form: `.50` -> `0.5`, `1E+3` -> `1000`, `-0` -> `0`. Raises ValueDecodeError for text
    that is no number, or has more than 200 digits before or after the point."""
    # Amounts hardly repeat: a memo of them would cost more than the pattern.
    return text if _PLAIN(text) else _CANONICAL[text]


def _canonical(text: str) -> str:
    if not _NUMBER.fullmatch(text):
        raise ValueDecodeError(f"{text[:60]!r} is not a NUMBER")
    plain = format(Decimal(text), "f")
    negative = plain.startswith("-")
    whole, _, fraction = plain.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    body = f"{whole}.{fraction}" if fraction else whole
    return f"-{body}" if negative and body != "0" else body


_CANONICAL: Memo[str] = Memo(_canonical)


def _single(value: float) -> str:
    """The shortest decimal text of six digits or more that reads back as the same IEEE single (0.1, not
    0.10000000149011612), in the form of Python's float."""
    image = struct.pack(">f", value)
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == image:
            return repr(float(text))
    raise ValueDecodeError(f"{value!r} is not an IEEE single")


def binary_float(text: str) -> str:
    """BINARY_FLOAT text in canonical form, also `NaN`, `Infinity`, `-Infinity`. Raises ValueDecodeError for other text, and
    beyond the range of the type."""
    special = _SPECIAL.get(text.lower())
    if special:
        return special
    try:
        return _single(float(text))
    except (ValueError, OverflowError) as exc:
        raise ValueDecodeError(f"{text!r} is not a BINARY_FLOAT") from exc


def binary_double(text: str) -> str:
    """BINARY_DOUBLE text in canonical form, as of `binary_float`. Raises ValueDecodeError for text that is no number."""
    special = _SPECIAL.get(text.lower())
    if special:
        return special
    try:
        return repr(float(text))
    except ValueError as exc:
        raise ValueDecodeError(f"{text!r} is not a BINARY_DOUBLE") from exc


def reading(column: Column) -> Reading:
    """How values of a column of these types become Row text. The driver has to fetch NUMBER as str, which is exact; TO_CHAR
    would round at 40 characters."""
    if column.type_name in ("BINARY_FLOAT", "BINARY_DOUBLE"):
        convert = binary_float if column.type_name == "BINARY_FLOAT" else binary_double
        return Reading({"": convert}, as_is, lambda value: convert(repr(value)))
    # Whole numbers of up to 18 digits have one spelling only.
    if column.type_name == "NUMBER" and column.scale is not None and column.scale <= 0 and (column.length or 38) < 19:
        return Reading({"": None}, as_is, str)
    return Reading({"": canonical}, as_is, lambda value: canonical(str(value)), spellings=True)


def writing(column: Column, handling: ValueHandling) -> Writing:
    """How Row text of a column of these types is written: by `decimal.handling.mode`, `legacy.decimal.handling.strategy`,
    precision and scale, as Debezium chooses the type. BINARY_FLOAT is float32 and BINARY_DOUBLE float64 in every mode; their
    text has to be canonical, and is not checked."""
    if column.type_name == "BINARY_FLOAT":
        return Writing(FieldType("float32"), _float_json)
    if column.type_name == "BINARY_DOUBLE":
        return Writing(FieldType("float64"), _float_json)
    precision, scale = column.length, column.scale
    if column.type_name == "FLOAT" or (precision is None and scale is None):
        return _unconstrained(handling)
    # INTEGER and NUMBER(*,s) show no precision in the dictionary: it is 38.
    width = precision if precision is not None else 38
    places = scale or 0
    # Only scale 0 leaves the integer path in the modes `string` and `double`; a negative scale does not.
    if places < 0 or (places == 0 and (handling.decimal == "precise" or handling.legacy_decimal)):
        for limit, name in _INTEGER_WIDTHS:
            if width - places < limit:
                return Writing(FieldType(name), _integer_json)
    if handling.decimal == "string":
        return Writing(FieldType("string"), lambda text: f'"{_padded(text, places)}"')
    if handling.decimal == "double":
        return Writing(FieldType("float64"), _double_json)
    parameters = {"scale": str(places)}
    if precision is not None or scale is not None:
        parameters["connect.decimal.precision"] = str(width)
    return Writing(FieldType("bytes", _DECIMAL_NAME, 1, parameters), _decimal_json(places))


def _unconstrained(handling: ValueHandling) -> Writing:
    if handling.decimal == "string":
        return Writing(FieldType("string"), lambda text: f'"{canonical(text)}"')
    if handling.decimal == "double":
        return Writing(FieldType("float64"), _double_json)
    return Writing(_VARIABLE_SCALE, _variable_scale_json)


def _integer_json(text: str) -> str:
    if "1" <= text < ":" and text.isdigit() and text.isascii():  # nearly all, and a tenth of the cost of a pattern
        return text
    text = canonical(text)
    if "." in text:
        raise ValueDecodeError(f"{text} in a column of whole numbers")
    return text


def _double_json(text: str) -> str:
    return repr(float(canonical(text)))


def _float_json(text: str) -> str:
    # NaN and infinity have no JSON number; a string, as Jackson writes it.
    return f'"{text}"' if text in ("NaN", "Infinity", "-Infinity") else text


def _padded(text: str, scale: int) -> str:
    text = canonical(text)
    if scale <= 0:
        return text
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(scale, '0')}"


def _unscaled(text: str, scale: int) -> int:
    """Canonical `text` times 10**scale.

    On the text itself: decimal's default context would round at 28 digits, and NUMBER has 38.
    """
    whole, _, fraction = text.partition(".")
    if scale >= 0:
        if len(fraction) > scale:
            raise ValueDecodeError(f"{text} has more than {scale} digits after the decimal point")
        return int(whole + fraction.ljust(scale, "0"))
    unit: int = 10**-scale
    quotient, remainder = divmod(int(whole), unit)
    if fraction or remainder:
        raise ValueDecodeError(f"{text} is no multiple of 10**{-scale}")
    return quotient


_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# Twelve bits as two digits of base64.
_TWO_DIGITS: Final = [first + second for first in _BASE64 for second in _BASE64]


def _base64(unscaled: int) -> str:
    """A whole number as base64 in quotes: of its big-endian two's complement, in as few bytes as hold it, as
    java.math.BigInteger gives them."""
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    image = unscaled.to_bytes((magnitude.bit_length() >> 3) + 1, "big", signed=True)
    return f'"{b2a_base64(image, newline=False).decode("ascii")}"'


def _decimal_json(scale: int) -> Convert:
    def general(text: str) -> str:
        return _base64(_unscaled(canonical(text), scale))

    if scale <= 0:
        return general
    point = -1 - scale

    def to_json(text: str) -> str:
        try:
            # Nearly all amounts have all their digits after the point.
            if text[point] == ".":
                unscaled = int(text.replace(".", "", 1))
                if 0x7FFF < unscaled < 0x80_0000:  # three bytes, as most amounts have
                    return f'"{_TWO_DIGITS[unscaled >> 12]}{_TWO_DIGITS[unscaled & 0xFFF]}"'
                return _base64(unscaled)
            return _base64(_unscaled(text, scale))
        except (ValueError, IndexError, ValueDecodeError):
            pass  # another spelling than the canonical one, or no number of this column
        return general(text)

    return to_json


def _variable_scale_json(text: str) -> str:
    """JSON of Debezium's VariableScaleDecimal: the scale of the canonical spelling, and the unscaled value as base64."""
    whole, _, fraction = text.partition(".")
    if not fraction.endswith("0"):
        try:
            return f'{{"scale":{len(fraction)},"value":{_base64(int(whole + fraction))}}}'
        except ValueError:
            pass
    return _variable_scale_json(canonical(text))
