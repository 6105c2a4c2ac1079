"""Literals of SQL_REDO and SQL_UNDO: one closure per column, made when a table's shape is compiled for NLS settings.

    NUMBER '12.5'   VARCHAR2 'it''s'   DATE TO_DATE('..', 'fmt')   TIMESTAMP TO_TIMESTAMP('..')   RAW HEXTORAW('cafe')
    NVARCHAR2 UNISTR('n\\00E1'), of ASCII 'n'   BINARY_DOUBLE '2.5E+000'   INTERVAL TO_DSINTERVAL('+01 02:03:04.500000')

The session's NLS formats decide the text of dates and timestamps; its numeric characters the decimal point of NUMBER,
BINARY_FLOAT and BINARY_DOUBLE only: X of a format, and an interval, have a point. FF prints the column's own number of
fractional digits, none for TIMESTAMP(0), which leaves the trailing point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, OraError, OraType
from minercdc_sandbox.records import StoredColumn
from minercdc_sandbox.redo.large_values import Large, large_of
from minercdc_sandbox.sql import binary, date_formats, intervals, number, temporal
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.zones import Zone

Literal: TypeAlias = Callable[[Cell], str]
"""Text of a value that is not NULL."""

_PLAIN_YEAR = re.compile(r"(?<!S)YYYY", re.IGNORECASE)
_FRACTION = re.compile(r"X?FF(?!\d)", re.IGNORECASE)
"""Left out of a TIMESTAMP without a fraction, with its point; FF alone leaves the point that stands before it."""
_ISO_DATE = "YYYY-MM-DD HH24:MI:SS"
_ISO_TIMESTAMP = "YYYY-MM-DD HH24:MI:SS.FF9"
_REMEMBERED_SECONDS = 4096
_PLAIN = [f"{n:02d}" for n in range(256)]
_EXCESS_1 = [f"{n - 1:02d}" for n in range(256)]
_EXCESS_100 = [f"{n - 100:02d}" for n in range(256)]


def literal(column: StoredColumn, nls: Nls) -> Literal:
    """Compile the literal of one column under the NLS settings; the result takes values that are not NULL. Raises ORA-03001 for
    types that the sandbox's LogMiner has no text for.

    Of a CLOB, NCLOB or BLOB it is the literal of its content, as str or bytes: of NCLOBs a plain one, unlike NVARCHAR2's.
    """
    point = nls.numeric_characters[0]
    if column.type in (OraType.CLOB, OraType.BLOB):
        return raw_literal if column.type is OraType.BLOB else quoted
    if column.national:
        return unistr
    if large_of(column) is Large.EXTENDED and column.type is OraType.VARCHAR2:
        return _bare
    match column.type:
        case OraType.NUMBER:
            return _number(nls)
        case OraType.VARCHAR2 | OraType.CHAR | OraType.LONG | OraType.ROWID | OraType.UROWID:
            return quoted
        case OraType.DATE:
            return _date(nls)
        case OraType.TIMESTAMP:
            return _timestamp(column, nls)
        case OraType.TIMESTAMP_TZ:
            return _zoned(column, nls)
        case OraType.TIMESTAMP_LTZ:
            return _local(column, nls)
        case OraType.RAW | OraType.LONG_RAW:
            return raw_literal
        case OraType.BINARY_FLOAT | OraType.BINARY_DOUBLE:
            return lambda cell: f"'{binary.redo_text(_binary(cell), point)}'"
        case OraType.INTERVAL_YM:
            return lambda cell: f"TO_YMINTERVAL('{intervals.months_text(_binary(cell), column.precision)}')"
        case OraType.INTERVAL_DS:
            lead, digits = column.precision, column.scale
            return lambda cell: f"TO_DSINTERVAL('{intervals.text(_binary(cell), lead, digits)}')"
        case OraType.BFILE:
            return lambda cell: "Unsupported Type"
        case other:
            raise OraError(3001, f"unimplemented feature: LogMiner text of {other.name}")


BARE = frozenset(
    (
        *(OraType.DATE, OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ),
        *(OraType.INTERVAL_YM, OraType.INTERVAL_DS),
    )
)
"""Types that STRING_LITERALS_IN_STMT shows without the function that reads them."""


def bare_string(shown: Literal) -> Literal:
    """A literal of the quoted text alone that `shown` has inside `TO_DATE('..', 'fmt')` and the like."""
    return lambda cell: "'" + shown(cell).split("'")[1] + "'"


def _binary(cell: Cell) -> bytes:
    assert isinstance(cell, bytes)
    return cell


def quoted(cell: Cell) -> str:
    """The text in single quotes, those in it doubled; the value must be a str."""
    text = str(cell)
    return "'" + text.replace("'", "''") + "'" if "'" in text else "'" + text + "'"


def _bare(cell: Cell) -> str:
    """Literal of extended VARCHAR2 columns: quotes in it are not doubled, as in LogMiner (DBZ-8034, DBZ-9366)."""
    return f"'{cell!s}'" if isinstance(cell, str) else raw_literal(cell)


DigitTexts: TypeAlias = "tuple[list[str | None], ...]"
"""For each byte of a NUMBER after the first: the text it stands for; None where a byte is not what it usually is."""


def _digit_texts(first: int, size: int, point: str) -> DigitTexts | None:
    """Tables that make the quoted literal of a NUMBER with this first byte and size in bytes, a text for each byte to be joined:
    for numbers of one to four base-100 digits, the first of them before the decimal point. None for other numbers."""
    negative = first < 0x80
    whole, count = (63 - first, size - 2) if negative else (first - 192, size - 1)
    if not (1 <= whole <= 18 and 1 <= count <= 4):
        return None
    tables: list[list[str | None]] = []
    for at in range(count):
        table: list[str | None] = [None] * 256
        for digit in range(1 if at in (0, count - 1) else 0, 100):  # zeros at the ends are not canonical
            text = f"{digit:02d}" if at else f"'{'-' if negative else ''}{digit}"
            if at == count - 1:
                text = text + "00" * (whole - count) if at < whole else text.rstrip("0")
                text += "" if negative else "'"
            table[101 - digit if negative else digit + 1] = (point if at == whole else "") + text
        tables.append(table)
    if negative:
        tables.append([None if byte != 0x66 else "'" for byte in range(256)])
    return tuple(tables)


def _number(nls: Nls) -> Literal:
    point = nls.numeric_characters[0]
    forms: dict[int, DigitTexts | None] = {}

    def text(cell: Cell) -> str:
        data: bytes = cell  # type: ignore[assignment]
        size = len(data)
        if 2 <= size <= 5:
            form = data[0] << 3 | size
            tables = forms[form] if form in forms else forms.setdefault(form, _digit_texts(data[0], size, point))
            if tables is not None:
                try:  # the sum fails where a table has no text
                    if size == 3:
                        return tables[0][data[1]] + tables[1][data[2]]  # type: ignore[operator]
                    if size == 4:
                        return tables[0][data[1]] + tables[1][data[2]] + tables[2][data[3]]  # type: ignore[operator]
                    if size == 5:
                        a, b, c, d = tables
                        return a[data[1]] + b[data[2]] + c[data[3]] + d[data[4]]  # type: ignore[operator]
                    return tables[0][data[1]] + ""  # type: ignore[operator]
                except TypeError:
                    pass
        return "'" + number.exact_text(data, point) + "'"

    return text


def raw_literal(cell: Cell) -> str:
    """HEXTORAW of a value's stored bytes, in lower case, of a str its UTF-8; also the text of columns whose type is not known any
    more."""
    data = cell.encode() if isinstance(cell, str) else _binary(cell)
    return "HEXTORAW('" + data.hex() + "')"


def _iso(cell: bytes) -> str:
    if cell[0] < 100 or cell[1] < 100:
        return date_formats.to_char(temporal.decode(cell), "S" + _ISO_DATE)
    year = _EXCESS_100[cell[0]] + _EXCESS_100[cell[1]]
    return f"{year}-{_PLAIN[cell[2]]}-{_PLAIN[cell[3]]} {_EXCESS_1[cell[4]]}:{_EXCESS_1[cell[5]]}:{_EXCESS_1[cell[6]]}"


def _shown(moment: temporal.Moment, model: str, *, digits: int = 0, zone: Zone = 0, offset: int = 0) -> str:
    """TO_CHAR of a moment by a format, but a year BC has its sign also under YYYY: the text must lead back to the value.

    :param digits: of FF; `zone`, `offset`: what TZR and TZH:TZM show, the offset in minutes.
    """
    if moment[0] < 0:
        model = _PLAIN_YEAR.sub("SYYYY", model)
    return date_formats.to_char(moment, model, digits=digits, zone=zone, offset=offset)


def _date(nls: Nls) -> Literal:
    model = nls.date_format
    tail = f"', '{model}')"
    if model.upper() == _ISO_DATE:
        return lambda cell: "TO_DATE('" + _iso(_binary(cell)) + tail
    return lambda cell: "TO_DATE('" + _shown(temporal.decode(_binary(cell)), model) + tail


def _timestamp(column: StoredColumn, nls: Nls) -> Literal:
    model, digits = nls.timestamp_format, column.scale
    if model.upper() == _ISO_TIMESTAMP:
        seconds: dict[bytes, str] = {}  # changes come in the order of time, more or less

        def iso(cell: Cell) -> str:
            data: bytes = cell  # type: ignore[assignment]
            whole = data[:7]
            begun = seconds.get(whole)
            if begun is None:
                if len(seconds) >= _REMEMBERED_SECONDS:
                    seconds.clear()
                begun = seconds[whole] = f"TO_TIMESTAMP('{_iso(whole)}."
            return f"{begun}{int.from_bytes(data[7:11], 'big'):09d}')" if len(data) > 7 else begun + "000000000')"

        return iso

    def text(cell: Cell) -> str:
        moment = temporal.decode(_binary(cell))
        return f"TO_TIMESTAMP('{_shown(moment, _of_fraction(model, moment), digits=digits)}')"

    return text


def _of_fraction(model: str, moment: temporal.Moment) -> str:
    """A format without the FF that says no number of digits, where the moment has no fraction: LogMiner prints no digits then, and the
    point only where it is one of the format's own (docs/reference/logminer-facts.md#b-6-2)."""
    return model if moment[6] else _FRACTION.sub("", model)


def _zoned(column: StoredColumn, nls: Nls) -> Literal:
    model = nls.timestamp_tz_format

    def text(cell: Cell) -> str:
        data = _binary(cell)
        zone, offset = temporal.zone_of(data), temporal.offset_of(data)
        moment = temporal.local(data)
        shown = _shown(moment, _of_fraction(model, moment), digits=column.scale, zone=zone, offset=offset)
        return f"TO_TIMESTAMP_TZ('{shown}')"

    return text


def _local(column: StoredColumn, nls: Nls) -> Literal:
    """Literal of a TIMESTAMP WITH LOCAL TIME ZONE: session-zone time without any zone text; clients set TIME_ZONE to 00:00 for
    this reason."""
    model, zone = nls.timestamp_format, nls.zone

    def text(cell: Cell) -> str:
        moment = temporal.to_wall(temporal.decode(_binary(cell)), zone)
        return f"TO_TIMESTAMP_TZ('{_shown(moment, _of_fraction(model, moment), digits=column.scale)}')"

    return text


_LONGEST_LITERAL = 4000
_WHOLE = re.compile(r"\\D[89AB][0-9A-F]{2}\\D[C-F][0-9A-F]{2}|\\[0-9A-F]{4}|\\\\|''|[^\\']")
_ESCAPED = {ord("'"): "''", ord("\\"): "\\\\"}


def unistr(cell: Cell) -> str:
    """A national text: quoted where it is ASCII, else as UNISTR, with other characters as UTF-16 escapes, a surrogate pair as two;
    quotes and backslashes are doubled.

    A text literal is at most 4000 bytes long (ORA-01704), so of longer texts there are several UNISTRs, concatenated.
    """
    if str(cell).isascii():
        return quoted(cell)
    text = "".join([char if char.isascii() else _units(char) for char in str(cell).translate(_ESCAPED)])
    if len(text) <= _LONGEST_LITERAL:
        return f"UNISTR('{text}')"
    return " || ".join([f"UNISTR('{part}')" for part in _parts(text)])


def _parts(text: str) -> Iterator[str]:
    """A long escaped text, cut between its characters into parts of at most 4000 characters."""
    begun = at = 0
    for found in _WHOLE.finditer(text):
        if found.end() - begun > _LONGEST_LITERAL:
            yield text[begun:at]
            begun = at
        at = found.end()
    yield text[begun:]


def _units(char: str) -> str:
    raw = char.encode("utf-16-be", "replace")
    return "".join([f"\\{raw[n : n + 2].hex().upper()}" for n in range(0, len(raw), 2)])


def raw_national(cell: Cell) -> str:
    """HEXTORAW of a national text's stored bytes, UTF-16, in lower case."""
    return "HEXTORAW('" + str(cell).encode("utf-16-be", "replace").hex() + "')"
