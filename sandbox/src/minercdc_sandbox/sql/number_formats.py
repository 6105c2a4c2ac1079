"""Number format models: TO_CHAR and TO_NUMBER of numbers."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number

_NUMBER_MODEL = re.compile(r"^(FM)?(\$?)(S?)([09,G]*)(?:([.D])([09]*))?(S|MI|PR)?$", re.IGNORECASE)

_TEXT_MINIMUM = re.compile(r"TM([9E]?)", re.IGNORECASE)
_TEXT_MINIMUM_CHARACTERS = 64


def number_to_char(value: Decimal, model: str, characters: str = ".,") -> str:
    """TO_CHAR of a number with a model, rounded half away from zero; `#`s for a number that does not fit. Raises ORA-01481 for a
    model that is not read here.

    :param characters: decimal character and group separator.
    """
    upper = model.upper()
    if upper.replace("FM", "").strip("0X") == "" and "X" in upper:
        return _hex(value, model)
    if text_minimum := _TEXT_MINIMUM.fullmatch(model.strip()):
        return _minimum(value, scientific=text_minimum[1].upper() == "E", point=characters[0])
    match = _NUMBER_MODEL.match(model.strip())
    if match is None:
        raise OraError(1481, "invalid number format model")
    fm, dollar, lead, whole, point, decimals, tail = match.groups()
    places = len(decimals or "")
    rounded = value.copy_abs().quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, number.ARITHMETIC_WIDE)
    digits, _, fraction = format(rounded, "f").partition(".")
    slots = [c for c in whole if c in "09"]
    if digits == "0" and (not slots or (places and "0" not in slots)):
        digits = ""
    width = len(whole) + (1 if point else 0) + places
    if len(digits) > len(slots):
        return "#" * (width + 1)
    body = _grouped(digits, whole, characters)
    if fm:
        keep = len((decimals or "").rstrip("9"))
        fraction = fraction[:keep] + fraction[keep:].rstrip("0")
    if point:
        body += (characters[0] if point in "Dd" else ".") + fraction
    return _signed(body, value < 0 and rounded != 0, dollar, lead, tail, "" if fm else " ", width)


def _minimum(value: Decimal, *, scientific: bool, point: str) -> str:
    """TO_CHAR with TM, TM9 or, `scientific`, TME: as few characters as show all digits; TM9 turns to TME beyond 64 (SQL Language
    Reference, "Number Format Models")."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    exponent += len(text) - len(significant)
    if not significant:
        return "0E+00" if scientific else "0"
    power = exponent + len(significant) - 1
    fixed = format(Decimal((sign, tuple(map(int, significant)), exponent)), "f")
    whole, _, fraction = fixed.lstrip("-").partition(".")
    body = (whole if whole != "0" else "") + (point + fraction if fraction else "")
    if scientific or len(body) + sign > _TEXT_MINIMUM_CHARACTERS:
        first, rest = significant[0], significant[1:]
        body = f"{first}{point + rest if rest else ''}E{'-' if power < 0 else '+'}{abs(power):02d}"
    return ("-" if sign else "") + body


def _signed(body: str, negative: bool, dollar: str, lead: str, tail: str | None, blank: str, width: int) -> str:
    sign = "-" if negative else ("+" if lead or (tail or "").upper() == "S" else blank)
    body = dollar + body
    kind = (tail or "").upper()
    if kind == "S":
        text = body + sign
    elif kind == "MI":
        text = body + ("-" if negative else blank)
    elif kind == "PR":
        text = f"<{body}>" if negative else f"{blank}{body}{blank}"
    else:
        text = sign + body
    return text.rjust(width + len(dollar) + 1) if blank else text


def _grouped(digits: str, whole: str, characters: str) -> str:
    """Digits of the integer part set into the model's part before the point from the right, with zeros from its first 0 on and
    group separators."""
    out: list[str] = []
    rest = list(digits)
    first_zero = whole.find("0")
    for at in range(len(whole) - 1, -1, -1):
        mark = whole[at]
        if mark in "09":
            if rest:
                out.append(rest.pop())
            elif 0 <= first_zero <= at:
                out.append("0")
        elif rest or 0 <= first_zero < at:
            out.append(characters[1] if mark in "Gg" else ",")
    return "".join(reversed(out))


def _hex(value: Decimal, model: str) -> str:
    marks = model.upper().replace("FM", "")
    if value < 0 or value != int(value):
        return "#" * (len(marks) + 1)
    text = format(int(value), "X" if "X" in model else "x")
    if len(text) > len(marks):
        return "#" * (len(marks) + 1)
    text = text.zfill(len(marks) - marks.find("0") if "0" in marks else 0)
    return text if model.upper().startswith("FM") else text.rjust(len(marks) + 1)


def char_to_number(text: str, model: str, characters: str = ".,") -> Decimal:
    """TO_NUMBER of a text with a model: only hexadecimal models matter, else `$` and group separators are left out. Raises
    ORA-01722 for a text that is no number then.

    :param characters: decimal character and group separator.
    """
    upper = model.upper().replace("FM", "")
    try:
        if "_" in text:
            raise ValueError
        if upper.strip("0X") == "" and "X" in upper:
            return Decimal(int(text.strip(), 16))
        plain = text.strip().replace("$", "").replace(characters[1], "")
        found = Decimal(plain.replace(characters[0], "."))
    except (ValueError, InvalidOperation):
        raise OraError(1722, "invalid number") from None
    if not found.is_finite():
        raise OraError(1722, "invalid number")
    return found
