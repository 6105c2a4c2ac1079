"""Makes other bytes in place of a value's stored bytes, which LogMiner prints for rows older than an ALTER TABLE.

Their type is not in the statement: it is guessed from the bytes, by the first rule that fits. Each keeps bytes that decode as that
type, and, should they be of another one, bytes that decode as that:

    DATE ..     7, 11 or 13 bytes, of which the first seven are within the ranges of year, month, day and clock
    INTERVAL    5 or 11 bytes that begin with 0x80; those of 5 stay
    NUMBER      an exponent and digits; digits from 2 to 100 move among themselves
    text        UTF-8; else bytes of another character set; else UTF-16. Of control characters only tab and line ends
    others      the first byte stays; bytes from 2 to 100, and those above, move among themselves

    facts       docs/reference/logminer-facts.md, values/image.py
"""

from __future__ import annotations

from collections.abc import Callable
from unicodedata import category

Move = Callable[[int, int], int]
"""(value, below) -> a number from 0 to `below` - 1 in place of `value`, as of `replacement._Mover.moved_below`."""
_MOMENT = ((50, 199), (1, 199), (1, 12), (1, 31), (1, 24), (1, 60), (1, 60))
_LAST_YEAR = b"\xc7\xc6"  # 9999: a later time in UTC could be one of the next year in its zone
_TERMINATOR = b"\x66"  # of a negative NUMBER
_MOST_DIGITS = 20  # bytes of them, without exponent and terminator
_CONTROLS = frozenset({*range(0x20), 0x7F} - set(b"\t\n\r"))
# Bytes beyond ASCII that move among themselves: all are defined in every single-byte character set of
# `values.image.CHARACTER_SETS`, and as first bytes of UTF-16 the halves of surrogate pairs stay these.
_HIGH = (
    b"\x8a\x8c\x8e\x9a\x9c\x9e\x9f",  # letters in those of Windows
    *(bytes(range(low, high + 1)) for low, high in ((0xA0, 0xBF), (0xC0, 0xD7), (0xD8, 0xDB), (0xDC, 0xDF), (0xE0, 0xFF))),
)


def moved_image(data: bytes, move: Move, move_text: Callable[[str], str]) -> bytes:
    """Other bytes in place of a value's stored bytes, as many, that decode as the same type, as it is guessed from the bytes. Some
    bytes stay, as those of sign, zone and year.

    :param move: is called for each byte or field that moves, from the first to the last.
    :param move_text: gives of a character one of the same class and length.
    """
    if len(data) in (7, 11, 13) and all(low <= one <= high for one, (low, high) in zip(data, _MOMENT, strict=False)):
        return data if data[:2] == _LAST_YEAR else _moment(data, move)
    if len(data) in (5, 11) and data[0] == 0x80:
        return data[:3] + bytes([move(data[3], 256) if len(data) == 11 else data[3]]) + data[4:]
    if _is_number(data):
        return data[:1] + bytes(_digit(one, move) for one in data[1:])
    if (text := _text(data, "utf-8")) is not None:
        return "".join(map(move_text, text)).encode()
    if _CONTROLS.isdisjoint(data):
        return bytes(_character(one, move, move_text) for one in data)
    if (text := _text(data, "utf-16-be")) is not None:
        return "".join(map(move_text, text)).encode("utf-16-be")
    return data[:1] + bytes(101 + move(one - 101, 155) if one > 100 else _digit(one, move) for one in data[1:])


def _is_number(data: bytes) -> bool:
    """Whether the bytes have the form of a NUMBER other than zero, which is a byte alone."""
    if data[:1] >= b"\x80":
        return 2 <= len(data) <= 1 + _MOST_DIGITS and all(1 <= one <= 100 for one in data[1:])
    digits = data[1:].removesuffix(_TERMINATOR)
    if not digits or not (len(digits) == _MOST_DIGITS or (len(digits) < _MOST_DIGITS and data.endswith(_TERMINATOR))):
        return False
    return all(2 <= one <= 101 for one in digits)


def _digit(one: int, move: Move) -> int:
    return 2 + move(one - 2, 99) if 2 <= one <= 100 else one


def _text(data: bytes, codec: str) -> str | None:
    """The text that the bytes are; None when they are none, or it has control characters."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    return None if any(category(one) == "Cc" and one not in "\t\n\r" for one in text) else text


def _character(one: int, move: Move, move_text: Callable[[str], str]) -> int:
    """Another character of a single-byte character set; some from 0x80 to 0x9F stay."""
    if one < 0x80:
        return ord(move_text(chr(one)))
    return next((group[move(group.index(one), len(group))] for group in _HIGH if one in group), one)


def _moment(data: bytes, move: Move) -> bytes:
    """The stored bytes of another moment: month, day, clock and fraction move. Year and zone stay; so do month and day when
    the day is after the 28th, which not every month has."""
    month, day = 1 + move(data[2] - 1, 12), data[3]
    if 1 <= day <= 28:
        day = 1 + move(day - 1, 28)
    else:
        month = data[2]
    clock = [1 + move((one - 1) % below, below) for one, below in zip(data[4:7], (24, 60, 60), strict=True)]
    fraction = data[7:11]
    if fraction and fraction[0] < 0x3B:  # below 0x3B000000 any three bytes are fewer than 10**9 ns
        fraction = fraction[:1] + bytes(move(one, 256) for one in fraction[1:])
    return bytes([*data[:2], month, day, *clock]) + fraction + data[11:]
