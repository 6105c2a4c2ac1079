"""Functions on text cells, which are not NULL if nothing else is said. Positions, from 1, and lengths are NUMBER cells."""

from __future__ import annotations

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Callable
from typing import TypeVar

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.lobs.files import bfilename
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.convert import hex_to_raw, utf16_units

_ONE = number.integer(1)


T = TypeVar("T", str, bytes)


def _part(whole: T, start: bytes, length: bytes | None) -> T:
    """SUBSTR: from the position `start`, 0 as 1, counted from the end when it is negative, `length` characters or bytes, to the
    end for None; nothing when the start lies before the beginning, or for a length below 1."""
    at = number.to_int(start)
    begin = at - 1 if at > 0 else (len(whole) + at if at < 0 else 0)
    if begin < 0:
        return whole[:0]
    return whole[begin:] if length is None else whole[begin : begin + max(0, number.to_int(length))]


def instr(text: str, part: str, start: bytes = _ONE, nth: bytes = _ONE) -> bytes:
    """INSTR: the place of the nth occurrence at or after `start`; backwards from a negative start, counted from the end; 0 for
    none, and for `start` 0. Raises ORA-01428 for nth < 1."""
    at, count = number.to_int(start), number.to_int(nth)
    if count < 1:
        raise OraError(1428, f"argument '{count}' is out of range")
    if at < 0:
        position = len(text) + at + len(part)
        for _ in range(count):
            found = text.rfind(part, 0, position)
            position = found + len(part) - 1
            if found < 0:
                break
        return number.integer(found + 1)
    found = at - 2
    for _ in range(count):
        found = text.find(part, found + 1) if at else -1
        if found < 0:
            break
    return number.integer(found + 1)


_LONGEST_PAD = 1 << 24


def pad(text: str, width: bytes, fill: str, left: bool) -> str:
    """LPAD (`left`) or RPAD to `width` characters; a longer text is cut at its end, to the empty text for a width below 1. `fill`
    is not empty. Raises ORA-01426 from 2**31 on, ORA-03001 beyond 2**24."""
    size = max(0, number.to_int(width))
    if len(text) >= size:
        return text[:size]
    if size > 0x7FFFFFFF:
        raise OraError(1426, "numeric overflow")
    if size > _LONGEST_PAD:
        raise OraError(3001, f"unimplemented feature: LPAD and RPAD to more than {_LONGEST_PAD} characters")
    padding = (fill * (size // len(fill) + 1))[: size - len(text)]
    return padding + text if left else text + padding


def character(code: int) -> str:
    """CHR of AL32UTF8: the code's bytes as one character (SQL Language Reference, CHR). Raises ORA-01428 for a negative code,
    ValueError (ORA-03001 in SQL) for bytes that are no character, of which Oracle does not define the result."""
    if code < 0:
        raise OraError(1428, f"argument '{code}' is out of range")
    found = code.to_bytes(max(1, (code.bit_length() + 7) // 8), "big").decode()
    if len(found) != 1:
        raise ValueError(f"{code} is no character")
    return found


def national_character(code: int) -> str:
    """NCHR of AL16UTF16: the UTF-16 unit with this code, also half of a surrogate pair. Raises ORA-01428 for a code beyond 16
    bits."""
    if not 0 <= code < 1 << 16:
        raise OraError(1428, f"argument '{code}' is out of range")
    return chr(code)


def translate(text: str, old: str, new: str) -> str:
    """TRANSLATE: each character of `old` becomes the one at the same place in `new`, and is removed where `new` is shorter; the
    first of equal characters in `old` counts."""
    return text.translate({ord(c): (new[n] if n < len(new) else None) for n, c in reversed(list(enumerate(old)))})


def replace(text: str | None, old: str | None, new: str | None = None) -> str | None:
    """REPLACE; `new` None removes, `old` None or empty changes nothing. None for an empty result."""
    return text if text is None or not old else text.replace(old, new or "") or None


def unistr(text: str) -> str:
    """UNISTR: `\\00E1` is a UTF-16 unit, two backslashes are one. Half of a surrogate pair alone becomes U+FFFD. Raises
    ORA-30186 for any other escape."""
    out, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            out.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "\\":
            out.append("\\")
            at += 2
        else:
            digits = text[at + 1 : at + 5]
            if re.fullmatch(r"[0-9A-Fa-f]{4}", digits) is None:
                raise OraError(30186, "'\\' must be followed by four hexadecimal characters or another '\\'")
            out.append(chr(int(digits, 16)))
            at += 5
    return "".join(out).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def asciistr(text: str) -> str:
    """ASCIISTR: UTF-16 units beyond 126 and the backslash as `\\00E1`."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[n : n + 2], "big") for n in range(0, len(units), 2)]
    return "".join(f"\\{code:04X}" if code > 126 or code == 92 else chr(code) for code in codes)


_SOUNDS = {letter: str(n) for n, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), 1) for letter in letters}


def soundex(text: str) -> str | None:
    """SOUNDEX by Knuth's rules, a letter and three digits: equal codes with nothing or only H and W between them count once. None
    without ASCII letters."""
    letters = [c for c in text.upper() if c.isascii() and c.isalpha()]
    if not letters:
        return None
    out, last = letters[0], _SOUNDS.get(letters[0], "")
    for letter in letters[1:]:
        code = _SOUNDS.get(letter, "")
        if code and code != last:
            out += code
        if letter not in "HW":
            last = code
    return (out + "000")[:4]


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _blanks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return " " * (error.end - error.start), error.end


codecs.register_error("blanks", _blanks)


def substr_bytes(text: str, start: bytes, length: bytes | None = None) -> str:
    """SUBSTRB, by bytes of UTF-8: each byte of a character that is cut becomes a blank."""
    return _part(_bytes_of(text), start, length).decode("utf-8", "blanks")


def instr_bytes(text: str, part: str) -> bytes:
    """INSTRB from the first byte, by bytes of UTF-8; 0 when the part is not found."""
    return number.integer(_bytes_of(text).find(_bytes_of(part)) + 1)


def standard_hash(text: str | bytes, name: str = "SHA1") -> bytes:
    """STANDARD_HASH of a cell's bytes, of a text its UTF-8, as a RAW; `name`: the method, in any case. Raises ORA-01760 for a
    method that Oracle does not have."""
    algorithms = {"SHA1", "SHA256", "SHA384", "SHA512", "MD5"}
    if name.upper() not in algorithms:
        raise OraError(1760, "illegal argument for function")
    data = text if isinstance(text, bytes) else _bytes_of(text)
    return hashlib.new(name.lower(), data, usedforsecurity=False).digest()


def dump(cell: str | bytes, code: int, model: bytes = number.integer(10)) -> str:
    """DUMP: type code, length, and bytes in base 8, 10 or 16, for a text those of UTF-8; 1000 added to the base has no effect.
    Raises ORA-03001 for any other format."""
    raw = cell if isinstance(cell, bytes) else _bytes_of(cell)
    base = number.to_int(model) % 1000
    shown = {8: "o", 10: "d", 16: "x"}.get(base)
    if shown is None:
        raise OraError(3001, f"unimplemented feature: DUMP format {base}")
    return f"Typ={code} Len={len(raw)}: {','.join(format(byte, shown) for byte in raw)}"


def grown_path(path: str, row: int) -> str:
    """The path of CONNECT BY, `,row,row,..,` of row numbers, with the next row's at its end. Raises ORA-01436 when that row is in
    the path already."""
    if f",{row}," in path:
        raise OraError(1436, "CONNECT BY loop in user data")
    return f"{path}{row},"


def path_step(value: str, mark: str) -> str:
    """One step of SYS_CONNECT_BY_PATH: the separator `mark`, then the value. Raises ORA-30004 when the value contains the separator."""
    if mark in value:
        raise OraError(30004, "when using SYS_CONNECT_BY_PATH function, cannot have separator as part of column value")
    return mark + value


FUNCTIONS: dict[str, Callable[..., object]] = {
    "length": lambda text: number.integer(len(text)),
    "lengthb": lambda text: number.integer(len(text.encode())),
    "utf16_units": utf16_units,
    "instr": instr,
    "instrb": instr_bytes,
    "ascii": lambda text: number.integer(ord(text[0])),
    "asciistr": asciistr,
    "soundex": soundex,
    "raw_hex": lambda raw: raw.hex().upper(),
    "standard_hash": standard_hash,
    "dump": dump,
    "vsize": lambda cell: number.integer(len(cell if isinstance(cell, bytes) else cell.encode())),
    "path": grown_path,
    "path_step": path_step,
}
"""The functions that SQLite calls, by name without `o_`."""

TEXTUAL: dict[str, Callable[..., object]] = {
    "upper": str.upper,
    "lower": str.lower,
    "initcap": lambda text: re.sub(r"[^\W_]+", lambda m: m.group()[0].upper() + m.group()[1:].lower(), text),
    "substr": lambda text, start, length=None: _part(text, start, length),
    "substrb": substr_bytes,
    "reverse": lambda text: text[::-1],
    "compose": lambda text: unicodedata.normalize("NFC", text),
    "decompose": lambda text: unicodedata.normalize("NFD", text),
    "trim": lambda text, chars=" ": text.strip(chars),
    "ltrim": lambda text, chars=" ": text.lstrip(chars),
    "rtrim": lambda text, chars=" ": text.rstrip(chars),
    "lpad": lambda text, width, fill=" ": pad(text, width, fill, True),
    "rpad": lambda text, width, fill=" ": pad(text, width, fill, False),
    "translate": translate,
    "unistr": unistr,
    "bfilename": bfilename,
    "hex_raw": hex_to_raw,
    "chr": lambda code: character(number.to_int(code)),
    "nchr": lambda code: national_character(number.to_int(code)),
}
"""The functions whose empty result is NULL."""
