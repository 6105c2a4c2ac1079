"""Makes other bytes in place of a value's stored bytes, which LogMiner prints for rows older than an ALTER TABLE.

Their type is not in the statement: it is guessed from the bytes. Each rule keeps bytes that decode as that type, and, should
they be of another one, bytes that decode as that:

    text        valid UTF-8, no control characters
    DATE ..     7, 11 or 13 bytes, of which the first seven are within the ranges of year, month, day and clock
    INTERVAL    5 or 11 bytes that begin with 0x80
    NUMBER ..   all others: bytes from 2 to 100 are two digits, and move among themselves

    facts       docs/reference/logminer-facts.md, values/image.py
"""

from __future__ import annotations

from collections.abc import Callable

Move = Callable[[int, int], int]
"""(value, below) -> a number from 0 to `below` - 1 in place of `value`, as of `replacement._Mover.moved_below`."""
_MOMENT = ((50, 199), (1, 199), (1, 12), (1, 31), (1, 24), (1, 60), (1, 60))
_LAST_YEAR = b"\xc7\xc6"  # 9999: a later time in UTC could be one of the next year in its zone
_TERMINATOR = 102  # of a negative NUMBER


def moved_image(data: bytes, move: Move, move_text: Callable[[str], str]) -> bytes:
    """Other bytes in place of a value's stored bytes, as many, that decode as the same type: text, a moment, an interval or a
    number, as is guessed from the bytes. Some bytes stay, as those of sign, zone and year.

    :param move: is called for each byte or field that moves, from the first to the last.
    :param move_text: gives of a character one of the same class and length.
    """
    if _is_text(data):
        return "".join(map(move_text, data.decode())).encode()
    if len(data) in (7, 11, 13) and all(low <= one <= high for one, (low, high) in zip(data, _MOMENT, strict=False)):
        return data if data[:2] == _LAST_YEAR else _moment(data, move)
    if len(data) in (5, 11) and data[0] == 0x80:
        return data[:3] + bytes([move(data[3], 256) if len(data) == 11 else data[3]]) + data[4:]
    return data[:1] + bytes(2 + move(one - 2, 99) if 2 <= one <= 100 else one for one in data[1:])


def _is_text(data: bytes) -> bool:
    if data[-1:] == bytes([_TERMINATOR]) and data[:1] < b"\x40":
        return False
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


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
