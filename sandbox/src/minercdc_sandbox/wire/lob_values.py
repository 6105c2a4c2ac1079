"""LOB values in rows; the calls that work through locators are in `lob_call`.

    in a row        ub locator size (0: NULL), [with a prefetch: ub length, ub chunk size, so many units], clr locator
    as LONG         clr content, 00 00                          (NULL: 00 00 00)
    JSON, VECTOR    as in a row, the whole image in front of the locator
    XMLTYPE         as CLOB: drivers would read the shape of the object type from DBMS_PICKLER, which is not here

Text beside a locator travels as UTF-16BE, lengths and offsets count its units; a half of a surrogate pair may come alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from minercdc_sandbox.interfaces import Cell, OraType, Session
from minercdc_sandbox.wire.negotiation import CHARSET_AL16UTF16
from minercdc_sandbox.wire.primitives import NULL, clr, ub

ColumnEncoder = Callable[[Sequence[Cell]], list[bytes]]

LOB_TYPES = frozenset((OraType.CLOB, OraType.BLOB, OraType.JSON, OraType.VECTOR, OraType.XMLTYPE))
"""Columns that a client defines before it gets rows."""
_NULL_LONG = b"\0\0\0"
_LOCATOR_BYTES = 40
_READ_UNITS = 1 << 24
"""Units read from the session at a time."""


def wire_text(text: str) -> bytes:
    """A text in UTF-16BE, a lone surrogate as it is."""
    return text.encode("utf-16-be", "surrogatepass")


def content(session: Session, locator: bytes) -> str | bytes:
    """All of a LOB, read piece by piece: str of a CLOB or NCLOB, bytes of a BLOB, b'' of every empty one. Raises as `LobCalls.read`."""
    length = session.lob_calls.length(locator)
    pieces = [session.lob_calls.read(locator, at, _READ_UNITS) for at in range(1, length + 1, _READ_UNITS)]
    if pieces and isinstance(pieces[0], str):
        joined = b"".join(wire_text(str(piece)) for piece in pieces)  # a piece may end within a surrogate pair
        return joined.decode("utf-16-be", "surrogatepass")
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))


def _head(session: Session, locator: bytes) -> bytes:
    """Size of the locator in bytes, length of the LOB in units and its chunk size in bytes, each as `ub`. Raises as `LobCalls.length`."""
    return ub(len(locator)) + ub(session.lob_calls.length(locator)) + ub(session.lob_calls.chunk_size(locator))


def locators(session: Session, prefetch: int | None) -> ColumnEncoder:
    """Encoder of CLOB, BLOB and BFILE columns by locator; it raises as `LobCalls.read` if there is a prefetch.

    :param prefetch: units of the content that come along; None: not even its length does.
    """
    if prefetch is None:
        return lambda cells: [ub(len(cell)) + clr(cell) if isinstance(cell, bytes) else NULL for cell in cells]

    def first(locator: bytes) -> bytes:
        if not prefetch:
            return b""
        piece = session.lob_calls.read(locator, 1, prefetch)
        if isinstance(piece, bytes):
            return clr(piece)
        return b"\1" + ub(CHARSET_AL16UTF16) + b"\1" + clr(wire_text(piece))

    def encode(cells: Sequence[Cell]) -> list[bytes]:
        return [_head(session, cell) + first(cell) + clr(cell) if isinstance(cell, bytes) else NULL for cell in cells]

    return encode


def contents(session: Session, national: bool) -> ColumnEncoder:
    """Encoder of LOBs that the client defined as LONG or LONG RAW: the whole content, in UTF-16 of an NCLOB (`national`), in
    UTF-8 of a CLOB; an empty LOB comes as NULL. It raises as `content`."""
    charset = "utf-16-be" if national else "utf-8"

    def one(locator: bytes) -> bytes:
        whole = content(session, locator)
        raw = whole.encode(charset, "replace") if isinstance(whole, str) else whole
        return clr(raw) + b"\0\0" if raw else _NULL_LONG

    return lambda cells: [one(cell) if isinstance(cell, bytes) else _NULL_LONG for cell in cells]


def images(session: Session) -> ColumnEncoder:
    """Encoder of JSON (OSON) and VECTOR: the whole image comes with the locator. It raises as `content`."""

    def one(locator: bytes) -> bytes:
        return _head(session, locator) + clr(bytes(content(session, locator))) + clr(locator)  # type: ignore[arg-type]

    return lambda cells: [one(cell) if isinstance(cell, bytes) else NULL for cell in cells]


def narrow(locator: bytes) -> bytes:
    """The first 40 bytes of a locator, with their own size in them: ojdbc has room for more in temporary LOBs and sends all of
    it. A shorter or equal one as it is."""
    if len(locator) <= _LOCATOR_BYTES:
        return locator
    return struct.pack(">H", _LOCATOR_BYTES - 2) + locator[2:_LOCATOR_BYTES]


def widened(locator: bytes, size: int) -> bytes:
    """The locator with zero bytes up to `size`, as long as the client sent it; its first two bytes are then the size that
    follows. As it is when it is not shorter."""
    if size <= len(locator):
        return locator
    return struct.pack(">H", size - 2) + locator[2:] + bytes(size - len(locator))
