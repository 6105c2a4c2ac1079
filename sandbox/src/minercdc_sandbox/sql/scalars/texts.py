"""Functions on text cells, as SQLite calls them."""

from __future__ import annotations

import hashlib
import re

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import number


def substr(text: str, start: bytes, length: bytes | None = None) -> str:
    at = number.to_int(start)
    begin = at - 1 if at > 0 else (len(text) + at if at < 0 else 0)
    if begin < 0:
        return ""
    return text[begin:] if length is None else text[begin : begin + max(0, number.to_int(length))]


def instr(text: str, part: str, start: bytes = b"\xc1\x02", nth: bytes = b"\xc1\x02") -> bytes:
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


def pad(text: str, width: bytes, fill: str, left: bool) -> str:
    size = max(0, number.to_int(width))
    if len(text) >= size:
        return text[:size]
    padding = (fill * (size // len(fill) + 1))[: size - len(text)]
    return padding + text if left else text + padding


def translate(text: str, old: str, new: str) -> str:
    table = {ord(c): (new[n] if n < len(new) else None) for n, c in reversed(list(enumerate(old)))}
    return text.translate(table)


def replace(text: str | None, old: str | None, new: str | None = None) -> str | None:
    return text if text is None or not old else text.replace(old, new or "") or None


def initcap(text: str) -> str:
    return re.sub(r"[^\W_]+", lambda m: m.group()[0].upper() + m.group()[1:].lower(), text)


def hex_to_raw(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)
    except ValueError:
        raise OraError(1465, "invalid hex number") from None


def unistr(text: str) -> str:
    """UNISTR: `\\00E1` escapes of UTF-16 units, surrogates in pairs. Raises ORA-30186."""
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
    """ASCIISTR: the inverse of UNISTR."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[n : n + 2], "big") for n in range(0, len(units), 2)]
    return "".join(f"\\{code:04X}" if code > 126 or code == 92 else chr(code) for code in codes)


_SOUNDS = {letter: str(n) for n, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), 1) for letter in letters}


def soundex(text: str) -> str | None:
    """SOUNDEX by Knuth's rules: equal codes next to each other, or parted by H and W, count once."""
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


def substr_bytes(text: str, start: bytes, length: bytes | None = None) -> str:
    """SUBSTRB: bytes of a character cut in the middle become blanks."""
    raw = _bytes_of(text)
    at = number.to_int(start)
    begin = at - 1 if at > 0 else (len(raw) + at if at < 0 else 0)
    if begin < 0:
        return ""
    part = raw[begin:] if length is None else raw[begin : begin + max(0, number.to_int(length))]
    return "".join(part.decode("utf-8", "replace")).replace("\ufffd", " ")


def instr_bytes(text: str, part: str) -> bytes:
    """INSTRB without a start."""
    return number.integer(_bytes_of(text).find(_bytes_of(part)) + 1)


def standard_hash(text: str | bytes, name: str = "SHA1") -> bytes:
    """STANDARD_HASH of text or RAW. Raises ORA-01760."""
    algorithms = {"SHA1", "SHA256", "SHA384", "SHA512", "MD5"}
    if name.upper() not in algorithms:
        raise OraError(1760, "illegal argument for function")
    data = text if isinstance(text, bytes) else _bytes_of(text)
    return hashlib.new(name.lower(), data, usedforsecurity=False).digest()


def dump(cell: str | bytes, code: int, model: bytes = b"\xc1\x0b") -> str:
    """DUMP(value [, 8 | 10 | 16]): type code, length and bytes."""
    raw = cell if isinstance(cell, bytes) else _bytes_of(cell)
    base = number.to_int(model) % 1000
    shown = {8: "o", 10: "d", 16: "x"}.get(base)
    if shown is None:
        raise OraError(3001, f"unimplemented feature: DUMP format {base}")
    return f"Typ={code} Len={len(raw)}: {','.join(format(byte, shown) for byte in raw)}"


def grown_path(path: str, row: int) -> str:
    """The rows above and this one. Raises ORA-01436 when it is above itself."""
    if f",{row}," in path:
        raise OraError(1436, "CONNECT BY loop in user data")
    return f"{path}{row},"


def path_step(value: str, mark: str) -> str:
    """One step of SYS_CONNECT_BY_PATH. Raises ORA-30004."""
    if mark in value:
        raise OraError(30004, "when using SYS_CONNECT_BY_PATH function, cannot have separator as part of column value")
    return mark + value
