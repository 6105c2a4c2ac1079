"""Bind variables: their descriptions (OAC) and rows of values, decoded into Cells by column type.

row message: 07, one value per bind; in SQL, binds wider than 32767 bytes come last
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from minercdc_sandbox.interfaces import BindType, Cell, OraError, OraType
from minercdc_sandbox.wire.lob_values import narrow
from minercdc_sandbox.wire.negotiation import FIELD_VERSION_12_2, SCALED_TYPES, Negotiated, Ttc
from minercdc_sandbox.wire.packets import ProtocolError, TtcReader, UnreadCall
from minercdc_sandbox.wire.primitives import SHORT_MAX
from minercdc_sandbox.wire.row_ids import read_row_id

MAX_BINDS = 65535
_ARRAY = 0x40
_REPEATED = 0x80
PREFETCH_LOBS = 0x2000000
_NCHAR = 2
_MAX_INLINE = 32767
_BOOLEAN = 252
_ESCAPE = 253
_TRUE, _FALSE = b"\x01", b"\x00"
_TYPES = {int(t): t for t in OraType} | {
    3: OraType.NUMBER,  # BINARY_INTEGER
    6: OraType.NUMBER,  # VARNUM
    5: OraType.VARCHAR2,
    9: OraType.VARCHAR2,
    15: OraType.RAW,  # VARRAW
    24: OraType.RAW,
    187: OraType.TIMESTAMP,  # go-ora speaks of times and intervals by their external types
    188: OraType.TIMESTAMP_TZ,
    189: OraType.INTERVAL_YM,
    190: OraType.INTERVAL_DS,
    232: OraType.TIMESTAMP_LTZ,
}
_READABLE = frozenset(_TYPES) - {int(OraType.XMLTYPE)}
"""Types whose values can be read; objects cannot."""
_TEXTS = frozenset((OraType.VARCHAR2, OraType.CHAR, OraType.LONG))
_TIMESTAMPS = frozenset((OraType.TIMESTAMP, OraType.TIMESTAMP_LTZ))
_PLAIN = frozenset(
    (
        *(OraType.NUMBER, OraType.DATE, OraType.RAW, OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE),
        *(OraType.INTERVAL_YM, OraType.INTERVAL_DS),
    )
)


class Oac(NamedTuple):
    """The client's description of one bind or define, as it was sent.

    :param kind: type number of the wire.
    :param flags, cont_flags: bits as they were sent.
    :param buffer_size: bytes that the client has for a value.
    :param charset_form: 2 of a national character type.
    :param max_chars: characters of a text; units of a LOB to prefetch.
    :param max_elements: of an array.
    """

    kind: int
    flags: int
    buffer_size: int
    charset_form: int
    max_chars: int
    cont_flags: int = 0
    max_elements: int = 0

    @property
    def is_array(self) -> bool:
        """Whether it is a PL/SQL index-by table, whose value is a tuple."""
        return bool(self.flags & _ARRAY)

    @property
    def is_repeated(self) -> bool:
        """Whether its value is that of the earlier bind of the same name, and not sent (go-ora)."""
        return bool(self.flags & _REPEATED)

    @property
    def prefetch(self) -> int | None:
        """Units of a LOB the client wants with its locator, 0 for its length only; None when it wants the locator alone."""
        return self.max_chars if self.cont_flags & PREFETCH_LOBS else None

    @property
    def type(self) -> OraType:
        """The type of its cells. Raises ORA-03115 for an unknown type number."""
        known = _TYPES.get(self.kind)
        if known is None:
            raise OraError(3115, f"unsupported network datatype or representation: bind type {self.kind}")
        return known

    def bind_type(self) -> BindType:
        """The description for `Session.execute`. Raises as `type`."""
        national = self.charset_form == _NCHAR and self.type in _TEXTS
        return BindType(self.type, self.buffer_size, national, self.max_elements if self.is_array else 0)


def read_oacs(reader: TtcReader, count: int, agreed: Negotiated) -> list[Oac]:
    """Descriptions of `count` binds or defines, read in their order; ojdbc writes the scale of timestamps and intervals as a
    describe does. Raises ProtocolError for more than 65535, and as `TtcReader`."""
    if count > MAX_BINDS:
        raise ProtocolError(f"{count} binds")
    oacs = []
    for _ in range(count):
        kind, flags = reader.u8(), reader.u8()
        reader.u8()  # precision
        if agreed.wide_scale and kind in SCALED_TYPES:
            reader.ub()  # scale
        else:
            reader.u8()  # scale
        buffer_size = reader.ub()
        max_elements = reader.ub()
        cont_flags = reader.ub()
        reader.dalc()  # OID of an object type
        reader.ub()  # version
        reader.ub()  # character set id
        charset_form = reader.u8()
        max_chars = reader.ub()  # also: units of a LOB to prefetch
        if agreed.field_version >= FIELD_VERSION_12_2:
            reader.ub()  # oaccolid
        oacs.append(Oac(kind, flags, buffer_size, charset_form, max_chars, cont_flags, max_elements))
    return oacs


def _cell(raw: bytes, oac: Oac, kind: OraType | None) -> Cell:
    if kind in _TEXTS:
        return raw.decode("utf-16-be" if oac.charset_form == _NCHAR else "utf-8", "replace") or None
    if kind in _TIMESTAMPS and len(raw) == 7:
        return raw + bytes(4)  # the fraction is left out when it is zero
    if kind is OraType.TIMESTAMP_TZ and len(raw) == 11:
        return raw + b"\x14\x3c"
    return raw


def _read_value(reader: TtcReader, oac: Oac, kind: OraType | None) -> Cell:
    if oac.is_array:
        count = reader.ub()
        if count > oac.max_elements:
            raise ProtocolError(f"{count} elements of an array of {oac.max_elements}")
        single = oac._replace(flags=oac.flags & ~_ARRAY)
        return cast(Cell, tuple(_read_value(reader, single, kind) for _ in range(count)))
    if oac.kind in (OraType.CLOB, OraType.BLOB):
        return narrow(reader.dalc()) or None
    if oac.kind == OraType.BFILE:
        return reader.dalc() or None
    if oac.kind in (OraType.JSON, OraType.VECTOR):
        return _read_image(reader)
    if oac.kind == OraType.CURSOR:
        return cast(Cell, CursorNumber(reader.ub())) if reader.ub() else None
    if oac.kind == OraType.ROWID:
        return read_row_id(reader)
    if oac.kind == _BOOLEAN:
        return _read_boolean(reader)
    raw = reader.clr()
    return _cell(raw, oac, kind) if raw else None


def _read_image(reader: TtcReader) -> Cell:
    """The image, as bytes, of JSON (OSON) or VECTOR; None for NULL. On the wire: a locator that says nothing, then the image.
    Raises as `TtcReader`."""
    return reader.clr() if reader.dalc() else None


def _read_boolean(reader: TtcReader) -> Cell:
    size = reader.u8()
    if size == _ESCAPE:
        reader.u8()
        return None
    raw = reader.raw(size) if size else b""
    return None if not raw else _TRUE if raw[-1] else _FALSE


_NO_ELEMENTS = frozenset((OraType.BFILE, OraType.VECTOR, OraType.JSON, OraType.CURSOR, OraType.XMLTYPE))


class CursorNumber(int):
    """The value of a REF CURSOR bind as it was read: the number of a cursor of the connection, 0 for one that is not open."""


def check_supported(oacs: Sequence[Oac], *, plsql: bool) -> None:
    """Check binds before a statement runs. Raises ORA-01484 for arrays outside PL/SQL, ORA-03001 for arrays of types that have
    none here, ORA-03115 as `Oac.type`."""
    for oac in oacs:
        if oac.is_array and not plsql:
            raise OraError(1484, "arrays can only be bound to PL/SQL statements")
        if oac.is_array and oac.type in _NO_ELEMENTS:
            raise OraError(3001, f"unimplemented feature: arrays of {oac.type.name}")
        _ = oac.type


_DAY = rb"[\x35-\xc7][\x01-\xc7][\x01-\x0c][\x01-\x1f][\x01-\x18][\x01-\x3c]{2}"
_NUMBER_FORM = rb"\x80|[\x80-\xff][\x01-\x64]{1,21}|[\x00-\x7f][\x02-\x65]{1,21}\x66?"
_INVALID_NUMBER = OraError(1722, "invalid number")
_INVALID_DATE = OraError(1801, "date format is too long for internal buffer")  # what Oracle says of corrupt dates
_INVALID_SIZE = OraError(3115, "unsupported network datatype or representation")
_FORMS = {
    OraType.NUMBER: (re.compile(_NUMBER_FORM), _INVALID_NUMBER),
    OraType.DATE: (re.compile(_DAY), _INVALID_DATE),
    OraType.TIMESTAMP: (re.compile(_DAY + rb"[\x00-\x3b].{3}", re.DOTALL), _INVALID_DATE),
    OraType.TIMESTAMP_LTZ: (re.compile(_DAY + rb"[\x00-\x3b].{3}", re.DOTALL), _INVALID_DATE),
    OraType.TIMESTAMP_TZ: (re.compile(_DAY + rb"[\x00-\x3b].{5}", re.DOTALL), _INVALID_DATE),
    OraType.INTERVAL_YM: (re.compile(rb".{5}", re.DOTALL), _INVALID_SIZE),
    OraType.INTERVAL_DS: (re.compile(rb".{11}", re.DOTALL), _INVALID_SIZE),
    OraType.BINARY_FLOAT: (re.compile(rb".{4}", re.DOTALL), _INVALID_SIZE),
    OraType.BINARY_DOUBLE: (re.compile(rb".{8}", re.DOTALL), _INVALID_SIZE),
}
"""Forms of the values of a type, and the error for other bytes."""


def check_values(oacs: Sequence[Oac], rows: Sequence[tuple[Cell, ...]]) -> None:
    """Check bind values, one row for each iteration, before a statement runs. Raises ORA-01722, ORA-01801 or ORA-03115 for bytes
    or text that are no value of the bind's type, and as `Oac.type`; NULL and types without a fixed form always pass."""
    for position, oac in enumerate(oacs):
        form = _FORMS.get(oac.type)
        if form is None:
            continue
        values: list[Any] = [row[position] for row in rows]
        if oac.is_array:
            values = [cell for array in values for cell in array or ()]
        try:
            if not all(map(form[0].fullmatch, [cell for cell in values if cell is not None])):
                raise form[1]
        except TypeError:  # a text
            raise form[1] from None


class BindReader:
    """Reads rows of values for one list of binds; a row has a cell for each bind, None for NULL and '', a tuple for an array, a
    `CursorNumber` for a REF CURSOR.

    :param plsql: values come in order of position; in SQL, binds wider than 32767 bytes come last.
    :param sent: positions whose values the client sends; None for all. The others are None in the rows.
    """

    def __init__(self, oacs: Sequence[Oac], *, plsql: bool, sent: Sequence[int] | None = None) -> None:
        positions = range(len(oacs)) if sent is None else sent
        late = [] if plsql else [i for i in positions if oacs[i].buffer_size > _MAX_INLINE]
        self._order = [i for i in positions if i not in late] + late
        self._oacs = list(oacs)
        self._kinds = [_TYPES.get(oac.kind) for oac in oacs]
        # A row of plain short values can be cut out of the buffer without a call per field.
        self._plain = all(self._is_plain(i) for i in self._order) and self._order == list(range(len(oacs)))
        self._decode = [self._kinds[i] in _TEXTS for i in range(len(oacs))]

    def _is_plain(self, position: int) -> bool:
        oac, kind = self._oacs[position], self._kinds[position]
        if oac.is_array or oac.kind == _BOOLEAN:
            return False
        return kind in _PLAIN or (kind in _TEXTS and oac.charset_form != _NCHAR)

    def read(self, reader: TtcReader, count: int) -> list[tuple[Cell, ...]]:
        """Read `count` rows. Raises UnreadCall for a bind type that cannot be read, before anything is read; ProtocolError for a
        malformed message, and for more than 1,048,576 rows without values; and as `TtcReader`."""
        if foreign := next((self._oacs[at].kind for at in self._order if self._oacs[at].kind not in _READABLE), None):
            raise UnreadCall(3115, f"unsupported network datatype or representation: bind type {foreign}")
        if not self._order:
            if count > 1 << 20:
                raise ProtocolError(f"{count} iterations without values")
            return [(None,) * len(self._oacs)] * count
        rows: list[tuple[Cell, ...]] = []
        while len(rows) < count:
            row = self._read_plain(reader) if self._plain else None
            rows.append(row if row is not None else self._read_row(reader))
        return rows

    def _read_row(self, reader: TtcReader) -> tuple[Cell, ...]:
        if reader.u8() != Ttc.ROW_DATA:
            raise ProtocolError("no row of bind values where one was due")
        values: list[Cell] = [None] * len(self._oacs)
        for position in self._order:
            values[position] = _read_value(reader, self._oacs[position], self._kinds[position])
        return tuple(values)

    def _read_plain(self, reader: TtcReader) -> tuple[Cell, ...] | None:
        """One row cut out of the buffered bytes; None (nothing consumed) when it is not wholly there or has long values."""
        data, position = reader.data, reader.position
        end = len(data)
        if position >= end or data[position] != Ttc.ROW_DATA:
            return None
        position += 1
        values: list[Cell] = []
        for text in self._decode:
            if position >= end:
                return None
            size = data[position]
            stop = position + 1 + size
            if size > SHORT_MAX or stop > end:
                return None
            if not size:
                values.append(None)
            elif text:
                values.append(data[position + 1 : stop].decode("utf-8", "replace"))
            else:
                values.append(data[position + 1 : stop])
            position = stop
        reader.position = position
        return tuple(values)
