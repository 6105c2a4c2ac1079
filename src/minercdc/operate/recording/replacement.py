"""Replaces the values of rows by others, so that a recording may be given away: of the same length and form, equal where
those were equal, and, intervals apart, different where those were.

    'Smith, J.'                          'Qwbea, T.'       letters and digits for such, the rest stays
    '-12.50'                             '-73.80'          a 0 stays
    TO_DATE('2026-11-25 08:15:00', '..') all times moved by the same span; the format stays
    HEXTORAW('c102'), UNISTR('\\00e9')   other bytes, other units of the same block
    NULL, NaN, Inf, EMPTY_CLOB()         stay

A character moves within its class, by a number that depends on a secret and on all characters before it. What stays is what
decoding depends on: names, lengths, signs, scales, separators. Who has the recording sees these.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.operate.recording.images import moved_image

_LITERAL = re.compile(
    r'"[^"]*"'
    r"|(?P<call>[A-Z_]+\()'(?P<argument>(?:[^']|'')*)'(?P<format>, *'[^']*')?"
    r"|'(?P<text>(?:[^']|'')*)'"
)
_IDENTIFIED = re.compile(r"(\bIDENTIFIED\s+BY\s+(?:VALUES\s+)?)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)([ T]\d\d:\d\d:\d\d)?(.*)", re.DOTALL)
_NUMBER = re.compile(r" *[-+]?\d*\.?\d+([eE][-+]?\d+)?")
_WORDS: Final = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
_UNIT = re.compile(r"\\([0-9a-fA-F]{4})")
_BYTES = re.compile("(?:[0-9a-fA-F]{2})+")
_HEX: Final = "0123456789abcdef"
_MOST_SECONDS: Final = 5 * 365 * 86_400
_SQL, _GOES_ON = LogMinerRow._fields.index("sql"), LogMinerRow._fields.index("csf")
_USER, _CLIENT = LogMinerRow._fields.index("user"), LogMinerRow._fields.index("client_id")


class Replacement:
    """Replaces values by others, chosen by a secret of this object that is written nowhere: another object replaces the same
    value otherwise.

    :param keep: names of users that stay, upper-case: configured lists name them.
    """

    def __init__(self, keep: Iterable[str] = ()) -> None:
        self._secret = secrets.token_bytes(32)
        self._span = timedelta(seconds=secrets.randbelow(2 * _MOST_SECONDS) - _MOST_SECONDS)
        self._keep = frozenset(keep)

    def sql(self, text: str) -> str:
        """A statement with its literals replaced, of the same length; a password after IDENTIFIED BY becomes `x` characters."""
        hidden = _IDENTIFIED.sub(lambda found: found[1] + "x" * len(found[2]), text)
        images = '"COL ' in hidden  # rows as stored bytes have no other names
        return _LITERAL.sub(lambda found: self._literal(found, images), hidden)

    def row(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """A row of a table, as the driver gave it, with each value replaced (`value`)."""
        return tuple(map(self.value, row))

    def name(self, name: str | None) -> str | None:
        """The name of a user or client, replaced; as it is when it is None, '', UNKNOWN or one of those to keep."""
        return name if not name or name.upper() in self._keep or name == "UNKNOWN" else self.text(name)

    def value(self, value: Any) -> Any:
        """A value of the driver, replaced by one of its type, of the same length as text; what is no text, number, datetime
        or bytes stays, as None does."""
        match value:
            case str():
                return self.text(value)
            case bytes():
                return bytes.fromhex(self._hex(value.hex()))
            case datetime():
                return datetime.fromisoformat(self._moment(value.isoformat(sep=" ")))
            case int() | float() | Decimal() if not isinstance(value, bool):
                return type(value)(self.text(str(value)))
        return value

    def text(self, text: str) -> str:
        """A text, or a number or time as text, replaced by one of the same length and form; NaN and infinity stay."""
        if text.lower() in _WORDS:
            return text
        if (moment := self._moment(text)) != text:
            return moment
        mover = _Mover(self._secret)
        if found := _NUMBER.fullmatch(text):
            exponent = found[1] or ""
            return "".join(map(mover.moved, text[: len(text) - len(exponent)])) + exponent
        return "".join(map(mover.moved, text))

    def _literal(self, found: re.Match[str], images: bool) -> str:
        if images and found["call"] == "HEXTORAW(" and _BYTES.fullmatch(found["argument"]):
            mover = _Mover(self._secret)
            return f"HEXTORAW('{moved_image(bytes.fromhex(found['argument']), mover.moved_below, mover.moved).hex()}'"
        if found["call"] is not None:
            return f"{found['call']}'{self._argument(found['call'], found['argument'])}'{found['format'] or ''}"
        return found[0] if found["text"] is None else f"'{self.text(found['text'])}'"

    def _argument(self, call: str, text: str) -> str:
        match call:
            case "HEXTORAW(":
                return self._hex(text)
            case "UNISTR(":
                mover = _Mover(self._secret)
                parts = re.split(r"(\\[0-9a-fA-F]{4})", text)
                return "".join(
                    _unit(part, mover) if _UNIT.fullmatch(part) else "".join(map(mover.moved, part)) for part in parts
                )
            case "TO_DSINTERVAL(" | "TO_YMINTERVAL(":
                mover = _Mover(self._secret)  # not above what it was: no field comes out of its range
                return "".join(str(mover.moved_below(int(one), int(one) + 1)) if one.isdigit() else one for one in text)
        return self.text(text)

    def _hex(self, text: str) -> str:
        mover = _Mover(self._secret)
        return "".join(_HEX[mover.moved_below(_HEX.index(one.lower()), 16)] if one.lower() in _HEX else one for one in text)

    def _moment(self, text: str) -> str:
        """A time as text moved by this object's span, up to five years; one without clock by whole days. A text that is
        not a time, or would leave the calendar, comes back as it is."""
        found = _MOMENT.fullmatch(text)
        if found is None:
            return text
        day, clock, rest = found.groups(default="")
        try:
            moved = datetime.fromisoformat(day + clock) + (self._span if clock else timedelta(days=self._span.days))
        except (ValueError, OverflowError):
            return text
        return moved.isoformat(sep=clock[0])[:19] + rest if clock else f"{moved:%Y-%m-%d}{rest}"


class _Mover:
    """Moves the characters of one text, from its first to its last; another one for each text."""

    def __init__(self, secret: bytes) -> None:
        self._state = secret

    def moved_below(self, value: int, below: int) -> int:
        """A number from 0 to `below` - 1 in place of `value`, which is in that range, too; `below` is at most 65536. After
        the same values before it, equal values give equal numbers, and different ones different numbers."""
        self._state = state = blake2b(self._state, digest_size=16).digest()
        self._state += value.to_bytes(4, "little")
        return (value + int.from_bytes(state[:4], "little")) % below

    def moved(self, one: str) -> str:
        """A character in place of `one`: an ASCII letter of the same case for such, a digit 1 to 9 for such, another of its
        block of 64 for one beyond ASCII; other characters stay, and 0."""
        code = ord(one)
        if one.isascii():
            if "1" <= one <= "9":
                return str(1 + self.moved_below(int(one) - 1, 9))
            if one.isalpha():
                first = ord("a") if one.islower() else ord("A")
                return chr(first + self.moved_below(code - first, 26))
            return one
        return chr((code & ~0x3F) | self.moved_below(code & 0x3F, 64))


def _unit(text: str, mover: _Mover) -> str:
    """A unit of UNISTR, such as `\\00e9`, in place of another one. Halves of a surrogate pair stay halves."""
    code = int(text[1:], 16)
    if code < 0x80:
        return f"\\{ord(mover.moved(chr(code))):04x}"
    return f"\\{(code & ~0x3F) | mover.moved_below(code & 0x3F, 64):04x}"


class MinedText:
    """Replaces values in the rows of V$LOGMNR_CONTENTS of one query, in their order. The pieces of a statement may be cut
    within a literal: they are replaced together, and cut at the same places again."""

    def __init__(self, replacement: Replacement) -> None:
        self._replacement = replacement
        self._pieces: list[list[Any]] = []

    def whole(self, rows: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
        """Copies of the rows of the statements that are whole now, in order, with statement, user and client replaced. Pieces
        of a statement whose last piece has not come wait for the next call."""
        for row in rows:
            self._pieces.append(list(row))
            if not row[_GOES_ON]:
                yield from self._replaced()
                self._pieces = []

    def _replaced(self) -> Iterator[list[Any]]:
        text, at = self._replacement.sql("".join(piece[_SQL] or "" for piece in self._pieces)), 0
        for piece in self._pieces:
            if piece[_SQL] is not None:
                length = len(piece[_SQL])
                piece[_SQL] = text[at : at + length]
                at += length
            piece[_USER], piece[_CLIENT] = self._replacement.name(piece[_USER]), self._replacement.name(piece[_CLIENT])
            yield piece
