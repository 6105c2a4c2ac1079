"""Python functions that SQLite calls while it runs translated SQL. Arguments and results are cells; NULL in, NULL out.

Names start with `o_`. Numbers that are SQLite integers (row counts, positions the planner knows) are marked in the rule that
uses them; everything else is an encoded cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, DivisionByZero, InvalidOperation
from functools import lru_cache
from typing import Any, cast

import apsw

from minercdc.sandbox.interfaces import Cell, OraError
from minercdc.sandbox.sql import binary, formats, number, time_scalars, types
from minercdc.sandbox.sql.number import ARITHMETIC, decode, encode
from minercdc.sandbox.storage import rowid

# ---- numbers ----


def add(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.add(decode(a), decode(b)))


def subtract(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.subtract(decode(a), decode(b)))


def multiply(a: bytes, b: bytes) -> bytes:
    return encode(ARITHMETIC.multiply(decode(a), decode(b)))


def divide(a: bytes, b: bytes) -> bytes:
    try:
        return encode(ARITHMETIC.divide(decode(a), decode(b)))
    except (DivisionByZero, InvalidOperation):
        raise OraError(1476, "divisor is equal to zero") from None


def power(a: bytes, b: bytes) -> bytes:
    try:
        return encode(ARITHMETIC.power(decode(a), decode(b)))
    except InvalidOperation:
        raise OraError(1428, "argument is out of range") from None


def modulo(a: bytes, b: bytes) -> bytes:
    x, y = decode(a), decode(b)
    if y == 0:
        return a
    wide = number.ARITHMETIC_WIDE
    return encode(wide.subtract(x, wide.multiply(int(wide.divide(x, y)), y)))


def negate(a: bytes) -> bytes:
    return encode(decode(a).copy_negate())


def round_number(a: bytes, places: bytes) -> bytes:
    return encode(number.rounded(decode(a), number.to_int(places)))


def truncate_number(a: bytes, places: bytes) -> bytes:
    n = number.to_int(places)
    return encode(decode(a).quantize(Decimal(1).scaleb(-n), "ROUND_DOWN", number.ARITHMETIC_WIDE))


def sign(a: bytes) -> bytes:
    value = decode(a)
    return encode((value > 0) - (value < 0))


def ceiling(a: bytes) -> bytes:
    return encode(decode(a).to_integral_value(ROUND_CEILING))


# ---- text ----


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


def _pad(text: str, width: bytes, fill: str, left: bool) -> str:
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


@lru_cache(maxsize=256)
def _like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if escape and char == escape:
            at += 1
            if at >= len(pattern) or pattern[at] not in (escape, "%", "_"):
                raise OraError(1424, "missing or illegal character following the escape character")
            out.append(re.escape(pattern[at]))
        else:
            out.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
        at += 1
    return re.compile("".join(out), re.DOTALL)


def like(text: str, pattern: str, escape: str = "") -> int:
    return _like_pattern(pattern, escape or None).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _regexp(pattern: str, flags: str) -> re.Pattern[str]:
    classes = {"alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s"}
    for name, members in classes.items():
        pattern = pattern.replace(f"[:{name}:]", members)
    known = {"i": re.IGNORECASE, "c": re.RegexFlag(0), "n": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
    value = re.RegexFlag(0)
    for flag in flags:
        if flag not in known:
            raise OraError(1760, "illegal argument for function")
        value |= known[flag]
    try:
        return re.compile(pattern, value)
    except re.error as error:
        raise OraError(12726, f"invalid regular expression: {error}") from None


def regexp_like(text: str, pattern: str, flags: str = "") -> int:
    return _regexp(pattern, flags).search(text) is not None


def regexp_substr(text: str, pattern: str) -> str | None:
    found = _regexp(pattern, "").search(text)
    return found.group() if found else None


def regexp_replace(text: str, pattern: str, new: str = "") -> str:
    return _regexp(pattern, "").sub(re.sub(r"\\(\d)", r"\\g<\1>", new), text)


def hex_to_raw(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)
    except ValueError:
        raise OraError(1465, "invalid hex number") from None


# ---- the national character set ----


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


# ---- ROWID ----


def row_text(data_object_id: int, vid: int) -> str:
    return rowid.row_text(rowid.object_prefix(data_object_id), vid >> 26)


def row_bound(text: str, data_object_id: int, after: int) -> int:
    """First version id of the row, or of the next one: what a comparison with ROWID becomes."""
    there, rid = rowid.parse(text)
    if there != data_object_id:
        return -1 if there < data_object_id else (1 << 62)
    return (rid + after) << 26


# ---- aggregates ----


class Sum:
    """SUM and, with `average`, AVG."""

    def __init__(self, average: bool) -> None:
        self.total: Decimal | None = None
        self.count = 0
        self.average = average

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            value = decode(args[0])
            self.total = value if self.total is None else number.ARITHMETIC_WIDE.add(self.total, value)
            self.count += 1

    def final(self) -> Cell:
        if self.total is None:
            return None
        return encode(ARITHMETIC.divide(self.total, self.count) if self.average else self.total)


class FloatSum:
    """SUM and AVG of BINARY_DOUBLEs."""

    def __init__(self, average: bool) -> None:
        self.total, self.count, self.average = 0.0, 0, average

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            self.total += binary.decode(args[0])
            self.count += 1

    def final(self) -> Cell:
        if not self.count:
            return None
        return binary.encode(self.total / self.count if self.average else self.total, 8)


class Single:
    """The one row of a scalar subquery. Raises ORA-01427 for a second."""

    def __init__(self) -> None:
        self.rows = 0
        self.value: Cell = None

    def step(self, *args: Cell) -> None:
        if self.rows:
            raise OraError(1427, "single-row subquery returns more than one row")
        self.rows, self.value = 1, args[0]

    def final(self) -> Cell:
        return self.value


class Listed:
    """LISTAGG in scan order."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.mark = ""

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            self.parts.append(str(args[0]))
            self.mark = str(args[1] or "")

    def final(self) -> Cell:
        return self.mark.join(self.parts) or None


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        return function(*args)

    return call


def _textual(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `_strict`; the empty string is NULL."""

    def call(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        return function(*args) or None

    return call


_STRICT: dict[str, Callable[..., Any]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
    "power": power,
    "mod": modulo,
    "neg": negate,
    "round": round_number,
    "trunc": truncate_number,
    "abs": lambda a: encode(decode(a).copy_abs()),
    "sign": sign,
    "ceil": ceiling,
    "floor": lambda a: encode(number.floor(decode(a))),
    "sqrt": lambda a: power(a, encode(Decimal("0.5"))),
    "int": number.integer,
    "to_int": number.to_int,
    "to_num": lambda text, point: number.parse(text if point == "." else text.replace(point, ".")),
    "num_text": number.text,
    "num_char": lambda a, model, characters: formats.number_to_char(decode(a), model, characters),
    "char_num": lambda text, model, characters: encode(formats.char_to_number(text, model, characters)),
    "length": lambda text: number.integer(len(text)),
    "lengthb": lambda text: number.integer(len(text.encode())),
    "instr": instr,
    "ascii": lambda text: number.integer(ord(text[0])),
    "raw_hex": lambda raw: raw.hex().upper(),
    "like": like,
    "regexp_like": regexp_like,
    "regexp_substr": regexp_substr,
    "float_add": binary.add,
    "float_sub": binary.subtract,
    "float_mul": binary.multiply,
    "float_div": binary.divide,
    "float_neg": binary.negate,
    "float_abs": binary.absolute,
    "float_sign": binary.sign,
    "float_ceil": binary.ceiling,
    "float_floor": binary.floor,
    "float_sqrt": binary.square_root,
    "float_power": binary.power,
    "float_mod": binary.modulo,
    "float_round": binary.rounded,
    "float_trunc": lambda a, places: binary.rounded(a, places, "ROUND_DOWN"),
    "float_of_number": binary.of_number,
    "float_of_text": lambda text, size, point: binary.parse(text if point == "." else text.replace(point, "."), size),
    "float_resized": binary.resized,
    "float_number": binary.to_number,
    "float_text": binary.text,
    "is_nan": binary.is_nan,
    "is_infinite": binary.is_infinite,
    "utf16_units": types.utf16_units,
    "asciistr": asciistr,
    **time_scalars.FUNCTIONS,
    "row_text": row_text,
    "row_bound": row_bound,
}
_TEXTUAL: dict[str, Callable[..., Any]] = {
    "upper": str.upper,
    "lower": str.lower,
    "initcap": initcap,
    "substr": substr,
    "trim": lambda text, chars=" ": text.strip(chars),
    "ltrim": lambda text, chars=" ": text.lstrip(chars),
    "rtrim": lambda text, chars=" ": text.rstrip(chars),
    "lpad": lambda text, width, fill=" ": _pad(text, width, fill, True),
    "rpad": lambda text, width, fill=" ": _pad(text, width, fill, False),
    "translate": translate,
    "unistr": unistr,
    "regexp_replace": regexp_replace,
    "hex_raw": hex_to_raw,
    "chr": lambda code: chr(number.to_int(code)),
}


def register(connection: apsw.Connection) -> None:
    """Make all of them known to a connection."""
    for name, function in _STRICT.items():
        connection.create_scalar_function(f"o_{name}", _strict(function), -1, deterministic=True)
    for name, function in _TEXTUAL.items():
        connection.create_scalar_function(f"o_{name}", _textual(function), -1, deterministic=True)
    connection.create_scalar_function("o_replace", cast(Any, replace), -1, deterministic=True)
    connection.create_aggregate_function("o_sum", cast(Any, lambda: Sum(False)), 1)
    connection.create_aggregate_function("o_avg", cast(Any, lambda: Sum(True)), 1)
    connection.create_aggregate_function("o_float_sum", cast(Any, lambda: FloatSum(False)), 1)
    connection.create_aggregate_function("o_float_avg", cast(Any, lambda: FloatSum(True)), 1)
    connection.create_aggregate_function("o_single", cast(Any, Single), 1)
    connection.create_aggregate_function("o_listagg", cast(Any, Listed), 2)
