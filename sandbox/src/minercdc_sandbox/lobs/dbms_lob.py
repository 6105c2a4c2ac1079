"""DBMS_LOB's procedures (PL/SQL Packages and Types Reference, DBMS_LOB); its functions are SQL functions (`sql.functions.lobs`).

Their OUT parameters are returned by name: the locator of a changed LOB shows its new value. Amounts and offsets count units as in
`lobs.access`, offsets from 1. Where they read one, they raise ORA-06502 for a NULL locator, ORA-22275 for bytes that are no
locator, ORA-21560 for an amount, offset, length or buffer that is NULL or out of range, and as the methods of `Arguments`.
"""

from __future__ import annotations

from minercdc_sandbox.arguments import Arguments, Body, Out, procedures
from minercdc_sandbox.interfaces import Argument, LobKind, OraError, OraType
from minercdc_sandbox.lobs import access
from minercdc_sandbox.lobs.locator import unpack
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.convert import hex_to_raw
from minercdc_sandbox.sql.execution import SqlSession

_LARGEST_BUFFER = 32767
CONSTANTS = {
    "DBMS_LOB.LOB_READONLY": 0,
    "DBMS_LOB.LOB_READWRITE": 1,
    "DBMS_LOB.SESSION": 10,
    "DBMS_LOB.CALL": 12,
    "DBMS_LOB.LOBMAXSIZE": 18446744073709551615,
}


def _out_of_range(what: str) -> OraError:
    return OraError(21560, f"argument {what} is null, invalid, or out of range")


def _locator(arguments: Arguments, name: str = "LOB_LOC") -> bytes:
    """The locator in an argument. Raises ORA-06502 for NULL, ORA-22275 for a text and for bytes that are no locator, ORA-22285
    for a BFILE's, and as `Arguments.value`."""
    cell = arguments.value(name)
    if cell is None:
        raise OraError(6502, "PL/SQL: numeric or value error: invalid LOB locator specified: ORA-22275")
    unpack(cell)
    assert isinstance(cell, bytes)
    return cell


def _integer(arguments: Arguments, name: str, place: int, default: int | None = None) -> int:
    found = arguments.integer(name) if arguments.is_given(name) else default
    if found is None or found < 1:
        raise _out_of_range(str(place))
    return found


def _lob(locator: bytes) -> Argument:
    kind = unpack(locator).value.kind
    return Argument(locator, OraType.BLOB if kind is LobKind.BLOB else OraType.CLOB)


def _buffer(arguments: Arguments, locator: bytes) -> str | bytes:
    """The data to write: a str for a CLOB or NCLOB, bytes for a BLOB, which a text gives as hexadecimal digits. Raises as
    `locator.unpack`, ORA-21560 for NULL, ORA-06502 for bytes in a CLOB, and for a text that is not hexadecimal for a BLOB."""
    data = arguments.value("BUFFER")
    if data is None:
        raise _out_of_range("4")
    if isinstance(data, str) is (unpack(locator).value.kind is LobKind.BLOB):
        if isinstance(data, bytes):
            raise OraError(6502, "PL/SQL: numeric or value error")
        try:
            data = hex_to_raw(data) or b""
        except OraError:
            raise OraError(6502, "PL/SQL: numeric or value error: hex to raw conversion error") from None
    return data


def _unit_slice(data: str | bytes, amount: int) -> str | bytes:
    if isinstance(data, bytes) or data.isascii():
        return data[:amount]
    return data.encode("utf-16-be", "surrogatepass")[: 2 * amount].decode("utf-16-be", "surrogatepass")


def _units(data: str | bytes) -> int:
    return len(data) if isinstance(data, bytes) else len(data.encode("utf-16-be", "surrogatepass")) // 2


def _given(arguments: Arguments, locator: bytes) -> str | bytes:
    data, amount = _buffer(arguments, locator), _integer(arguments, "AMOUNT", 2)
    if amount > _LARGEST_BUFFER or amount > _units(data):
        raise _out_of_range("2")
    return _unit_slice(data, amount)


def create_temporary(session: SqlSession, arguments: Arguments) -> Out:
    """CREATETEMPORARY: a new temporary LOB into LOB_LOC, a BLOB for a BLOB variable, else a CLOB."""
    kind = LobKind.BLOB if arguments.type("LOB_LOC") is OraType.BLOB else LobKind.CLOB
    return {"LOB_LOC": _lob(access.create_temporary(session, kind))}


def free_temporary(session: SqlSession, arguments: Arguments) -> Out:
    """FREETEMPORARY; LOB_LOC becomes NULL. Raises ORA-22275 when it was freed; another LOB than a temporary one stays as it is."""
    locator = _locator(arguments)
    session.storage.lobs.value(locator)
    access.free_temporary(session, locator)
    return {"LOB_LOC": Argument(None, arguments.type("LOB_LOC"))}


def read(session: SqlSession, arguments: Arguments) -> Out:
    """READ: at most 32767 units from OFFSET on into BUFFER, their number into AMOUNT. Raises ORA-01403 after the end, ORA-21560
    for an AMOUNT above 32767 and for a number that is NULL or below 1, and as `_locator` and `access.read`."""
    locator = _locator(arguments)
    amount, offset = _integer(arguments, "AMOUNT", 2), _integer(arguments, "OFFSET", 3)
    if amount > _LARGEST_BUFFER:
        raise _out_of_range("2")
    data = access.read(session, locator, offset, amount)
    if not data:
        raise OraError(1403, "no data found")
    kind = OraType.RAW if isinstance(data, bytes) else OraType.VARCHAR2
    return {"AMOUNT": Argument(number.integer(_units(data)), OraType.NUMBER), "BUFFER": Argument(data, kind)}


def write(session: SqlSession, arguments: Arguments) -> Out:
    """WRITE: the first AMOUNT units of BUFFER, at OFFSET; LOB_LOC gets the new locator. Raises ORA-06502 for bytes in a CLOB and
    for a text that is not hexadecimal in a BLOB, ORA-21560 for an AMOUNT above 32767 or BUFFER's length, for a NULL BUFFER and for
    a number that is NULL or below 1, and as `_locator` and `access.write`."""
    locator = _locator(arguments)
    data = _given(arguments, locator)
    return {"LOB_LOC": _lob(access.write(session, locator, _integer(arguments, "OFFSET", 3), data))}


def write_append(session: SqlSession, arguments: Arguments) -> Out:
    """WRITEAPPEND: the first AMOUNT units of BUFFER, at the LOB's present end; LOB_LOC gets the new locator. Raises as `write`
    and `access.current_length`."""
    locator = _locator(arguments)
    end = access.current_length(session, locator) + 1
    return {"LOB_LOC": _lob(access.write(session, locator, end, _given(arguments, locator)))}


def append(session: SqlSession, arguments: Arguments) -> Out:
    """APPEND: the content of SRC_LOB at the end of DEST_LOB, which gets the new locator; DEST_LOB stays as it is when SRC_LOB is
    empty. Raises as `_locator`, `access.read`, `access.write` and `access.current_length`."""
    target, source = _locator(arguments, "DEST_LOB"), _locator(arguments, "SRC_LOB")
    data = access.read(session, source, 1, access.length(session, source))
    if not data:
        return {}
    return {"DEST_LOB": _lob(access.write(session, target, access.current_length(session, target) + 1, data))}


def copy(session: SqlSession, arguments: Arguments) -> Out:
    """COPY: AMOUNT units of SRC_LOB from SRC_OFFSET on, as many as there are, to DEST_OFFSET of DEST_LOB, which gets the new
    locator; the offsets are 1 if not given. Raises ORA-21560 for a number that is NULL or below 1, and as `_locator`,
    `access.read` and `access.write`."""
    target, source = _locator(arguments, "DEST_LOB"), _locator(arguments, "SRC_LOB")
    amount = _integer(arguments, "AMOUNT", 3)
    to, start = _integer(arguments, "DEST_OFFSET", 4, 1), _integer(arguments, "SRC_OFFSET", 5, 1)
    return {"DEST_LOB": _lob(access.write(session, target, to, access.read(session, source, start, amount)))}


def trim(session: SqlSession, arguments: Arguments) -> Out:
    """TRIM to NEWLEN units; LOB_LOC gets the new locator. Raises ORA-21560 for NULL and below 0, and as `_locator` and `access.trim`."""
    length = arguments.integer("NEWLEN")
    if length is None or length < 0:
        raise _out_of_range("2")
    return {"LOB_LOC": _lob(access.trim(session, _locator(arguments), length))}


def erase(session: SqlSession, arguments: Arguments) -> Out:
    """ERASE AMOUNT units from OFFSET on, 1 when left out; LOB_LOC gets the new locator, AMOUNT the number of units erased. Raises
    ORA-21560 for a number that is NULL or below 1, and as `_locator` and `access.erase`."""
    amount, offset = _integer(arguments, "AMOUNT", 2), _integer(arguments, "OFFSET", 3, 1)
    locator, count = access.erase(session, _locator(arguments), offset, amount)
    return {"LOB_LOC": _lob(locator), "AMOUNT": Argument(number.integer(count), OraType.NUMBER)}


def _open(session: SqlSession, arguments: Arguments) -> None:
    access.open_lob(session, _locator(arguments), read_only=arguments.integer("OPEN_MODE") == 0)


def _close(session: SqlSession, arguments: Arguments) -> None:
    access.close_lob(session, _locator(arguments))


_BODIES: dict[str, tuple[tuple[str, ...], Body]] = {
    "APPEND": (("DEST_LOB", "SRC_LOB"), append),
    "CLOSE": (("LOB_LOC",), _close),
    "COPY": (("DEST_LOB", "SRC_LOB", "AMOUNT", "DEST_OFFSET", "SRC_OFFSET"), copy),
    "CREATETEMPORARY": (("LOB_LOC", "CACHE", "DUR"), create_temporary),
    "ERASE": (("LOB_LOC", "AMOUNT", "OFFSET"), erase),
    "FREETEMPORARY": (("LOB_LOC",), free_temporary),
    "OPEN": (("LOB_LOC", "OPEN_MODE"), _open),
    "READ": (("LOB_LOC", "AMOUNT", "OFFSET", "BUFFER"), read),
    "TRIM": (("LOB_LOC", "NEWLEN"), trim),
    "WRITE": (("LOB_LOC", "AMOUNT", "OFFSET", "BUFFER"), write),
    "WRITEAPPEND": (("LOB_LOC", "AMOUNT", "BUFFER"), write_append),
}
"""Parameters and body of each procedure."""

PROCEDURES = procedures({f"DBMS_LOB.{name}": rest for name, rest in _BODIES.items()})
"""The package's procedures by qualified name."""
