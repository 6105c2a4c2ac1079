"""SQLite functions over locators, `o_lob_..`: they look contents up in the store, and a content that they make is a temporary LOB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from minercdc_sandbox.interfaces import LobKind, OraError
from minercdc_sandbox.lobs.locator import LobValue, as_cell, at_row, unpack
from minercdc_sandbox.lobs.temporary import is_open_here, keep_for_session
from minercdc_sandbox.lobs.values import CHUNK_BYTES, LobStore
from minercdc_sandbox.sql import number, oson, vectors
from minercdc_sandbox.sql.convert import short_raw, short_text
from minercdc_sandbox.sql.store import boolean, check_xml
from minercdc_sandbox.sql.types import NUMBER, varchar
from minercdc_sandbox.storage.store import VERSION_BITS

_SUBSTR_LIMIT = 32767

_CHARSETS = {
    0: "utf-8",
    1: "ascii",
    31: "iso8859-1",
    46: "iso8859-15",
    178: "cp1252",
    871: "utf-8",
    873: "utf-8",
    2000: "utf-16-be",
}
"""NLS_CHARSET_ID; 0 is the database's, AL32UTF8."""


_LONGEST_TEXT = 4000


class LobScalars:
    """The functions over one store, called by SQLite. Values of SQL are cells, numbers as NUMBER. All raise as `LobStore.value`,
    but ISOPEN, ISTEMPORARY and GETCHUNKSIZE not for a freed temporary LOB."""

    def __init__(self, lobs: LobStore) -> None:
        self._lobs = lobs

    def temporary(self, data: str | bytes, kind: str) -> bytes:
        """The locator of a new temporary LOB of the kind (a `LobKind`) with this content; it is the running session's. Raises as
        `LobStore.create`."""
        return keep_for_session(self._lobs.create_temporary(self._lobs.create(LobKind(kind), data)))

    def text(self, cell: bytes) -> str:
        """The whole text of a CLOB or NCLOB."""
        return self._lobs.text(self._lobs.value(cell))

    def raw(self, cell: bytes) -> bytes:
        """All stored bytes: of a BLOB its content, of a CLOB or NCLOB its UTF-16."""
        return self._lobs.raw(self._lobs.value(cell))

    def length(self, cell: bytes) -> bytes:
        """DBMS_LOB.GETLENGTH, in units, as a NUMBER."""
        return number.integer(self._lobs.value(cell).length)

    def substr(self, cell: bytes, amount: bytes, offset: bytes) -> str | bytes | None:
        """DBMS_LOB.SUBSTR: at most `amount` units, 1 to 32767, from the 1-based `offset` on; None for arguments out of range and
        after the end."""
        count, start = number.to_int(amount), number.to_int(offset)
        if not 1 <= count <= _SUBSTR_LIMIT or start < 1:
            return None
        return self._lobs.read(self._lobs.value(cell), start - 1, count) or None

    def instr(self, cell: bytes, pattern: str | bytes, offset: bytes, nth: bytes) -> bytes | None:
        """DBMS_LOB.INSTR: 1-based unit where the nth occurrence begins, from the offset on, 0 for none; None for an offset or nth
        below 1."""
        start, turn = number.to_int(offset), number.to_int(nth)
        if start < 1 or turn < 1:
            return None
        value = self._lobs.value(cell)
        raw, wanted = self._lobs.raw(value), pattern if isinstance(pattern, bytes) else pattern.encode("utf-16-be")
        at = (start - 1) * value.unit
        while True:
            at = raw.find(wanted, at)
            if at < 0:
                return number.integer(0)
            if at % value.unit == 0:
                turn -= 1
                if turn == 0:
                    return number.integer(at // value.unit + 1)
            at += 1

    def compare(self, a: bytes, b: bytes, amount: bytes, offset_a: bytes, offset_b: bytes) -> bytes:
        """DBMS_LOB.COMPARE: 0 when at most `amount` units from the 1-based offsets on are equal, else -1 or 1 by their stored
        bytes."""
        count = number.to_int(amount)
        sides = [
            self._lobs.raw(self._lobs.value(cell), number.to_int(offset) - 1, count)
            for cell, offset in ((a, offset_a), (b, offset_b))
        ]
        return number.integer((sides[0] > sides[1]) - (sides[0] < sides[1]))

    def decoded(self, cell: bytes, charset: bytes) -> str:
        """The text of a BLOB's bytes in the character set with this NLS_CHARSET_ID, 0 for AL32UTF8; bytes that are none of it
        become U+FFFD. Raises ORA-01482 for a character set that is not known here."""
        encoding = _CHARSETS.get(number.to_int(charset))
        if encoding is None:
            raise OraError(1482, "unsupported character set")
        return self.raw(cell).decode(encoding, "replace")

    def xml(self, cell: bytes) -> bytes:
        """The same locator when its text is well-formed XML; raises as `check_xml` when not."""
        check_xml(self.text(cell))
        return cell

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by name without `o_`; none is to be called with NULL."""
        lobs = self._lobs
        return {
            "lob_at": lambda cell, data_object, vid, slot: at_row(cell, data_object, vid >> VERSION_BITS, slot),
            "lob_text": self.text,
            "lob_short_text": lambda cell: short_text(lobs, cell),
            "lob_short_raw": lambda cell: short_raw(lobs, cell),
            "to_lob": self.temporary,
            "empty_lob": lambda kind: as_cell(LobValue(LobKind(kind))),
            "lob_length": self.length,
            "lob_decoded": self.decoded,
            "lob_substr": self.substr,
            "lob_instr": self.instr,
            "lob_compare": self.compare,
            "lob_chunk_size": chunk_size,
            "lob_is_temporary": lambda cell: number.integer(int(unpack(cell).temporary > 0)),
            "lob_is_open": lambda cell: number.integer(int(is_open_here(cell))),
            "xml": self.xml,
            "json": lambda text: self.temporary(oson.parse_json(text), "BLOB"),
            "json_text": lambda cell: oson.serialize(self.raw(cell)),
            "short_text": _short_text,
            "vector": lambda text: self.temporary(vectors.parse_vector(text), "BLOB"),
            "vector_text": lambda cell: vectors.vector_text(self.raw(cell)),
            "text_boolean": lambda text: boolean(text, varchar()),
            "number_boolean": lambda cell: boolean(cell, NUMBER),
        }


def chunk_size(cell: bytes) -> bytes:
    """DBMS_LOB.GETCHUNKSIZE: usable bytes of a chunk, as a NUMBER. Raises ORA-22275 for bytes that are no locator, not for a
    freed temporary LOB."""
    unpack(cell)
    return number.integer(CHUNK_BYTES)


def register_lob_sqlite_functions(connection: apsw.Connection, lobs: LobStore) -> None:
    """Create the functions `o_..` on a connection, over `lobs`; a NULL argument makes the result NULL."""

    def strict(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: None if None in args else function(*args)

    for name, function in LobScalars(lobs).functions().items():
        connection.create_scalar_function(f"o_{name}", strict(function), -1)


def _short_text(text: str, raises: int, longest: int) -> str | None:
    """A document as VARCHAR2 of `longest` bytes, 0 for the most there can be (4000): when it is too long None, with `raises` not
    0 (ERROR ON ERROR) the error ORA-40478."""
    longest = longest or _LONGEST_TEXT
    if len(text.encode()) <= longest:
        return text
    if raises:
        raise OraError(40478, f"output value too large (maximum: {longest})")
    return None
