"""The LOB call (function 96): one operation on a LOB by its locator."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minercdc_sandbox.interfaces import LobKind, OraError, OraType, Session
from minercdc_sandbox.lobs.files import refuse_file
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.conversation import Conversation
from minercdc_sandbox.wire.lob_values import narrow, widened, wire_text
from minercdc_sandbox.wire.negotiation import Ttc
from minercdc_sandbox.wire.packets import ProtocolError
from minercdc_sandbox.wire.primitives import clr, sb, ub

_MAX_LOCATORS = 1 << 20
_MAX_SCNS = 255
_MAX_READ = 1 << 28


class _Call(NamedTuple):
    """A LOB call as it was read.

    :param operation: a key of LOB_OPERATIONS, if the sandbox has it.
    :param offset: 1-based source offset; of CREATE TEMPORARY the character set form.
    :param destination: offset in the destination; of CREATE TEMPORARY the LOB's type.
    :param amount: of a read or trim in units; of OPEN the mode; 0 when it was not sent.
    :param data: content to write; b'' for other operations.
    :param wants_amount, wants_flag: the reply has an amount, a flag.
    """

    operation: int
    locator: bytes
    offset: int
    destination: int
    amount: int
    data: bytes
    wants_amount: bool
    wants_flag: bool


class _Done(NamedTuple):
    """The result of a LOB call: the locator for the client, amount and flag where the operation has them, and the content
    read (None of other operations)."""

    locator: bytes
    amount: int = 0
    flag: bool = False
    data: bytes | None = None


_LENGTH, _READ, _TRIM, _WRITE = 0x1, 0x2, 0x20, 0x40
_CREATE_TEMPORARY, _FREE_TEMPORARY = 0x110, 0x111
_CHUNK_SIZE, _OPEN, _CLOSE, _IS_OPEN = 0x4000, 0x8000, 0x10000, 0x11000
_FILE_OPERATIONS = 0x100, 0x200, 0x400, 0x800
"""FILEOPEN, FILECLOSE, FILEISOPEN, FILEEXISTS."""
_ARRAY = 0x80000
_READ_ONLY = 1


def _locator_size(talk: Conversation) -> int:
    """Read the pointer to and the size of a locator; returns the size in bytes, 0 without a pointer, as the size that CREATE
    TEMPORARY sends for its destination is a duration. Raises as `TtcReader`."""
    pointer, size = talk.reader.u8(), talk.reader.ub()
    return size if pointer else 0


def _read_call(talk: Conversation) -> _Call:
    r = talk.reader
    source_size = _locator_size(talk)
    destination_size = _locator_size(talk)
    r.ub()  # short source offset
    r.ub()  # short destination offset
    r.raw(2)  # pointers (character set, short amount)
    wants_flag = bool(r.u8())  # pointer (NULL LOB)
    operation = r.ub()
    scn_pointer, scn_count = r.u8(), r.ub()
    offset, destination = r.ub(), r.ub()
    wants_amount = bool(r.u8())
    r.raw(6)  # an array of LOBs, which no client sends
    if max(source_size, destination_size) > _MAX_LOCATORS or scn_count > _MAX_SCNS:
        raise ProtocolError(f"LOB locators of {source_size} and {destination_size} bytes, {scn_count} SCNs")
    locator = r.raw(source_size)
    r.raw(destination_size)
    if operation == _CREATE_TEMPORARY:
        r.ub()  # character set
    amount = r.ub() if wants_amount else 0
    for _ in range(scn_count if scn_pointer else 0):
        r.ub()  # part of an SCN
    data = b""
    if operation == _WRITE:
        if r.u8() != Ttc.LOB_DATA:
            raise ProtocolError("a LOB write without data")
        data = r.clr() or b""
    return _Call(operation, locator, offset, destination, amount, data, wants_amount, wants_flag)


def _read(session: Session, call: _Call) -> _Done:
    if min(call.amount, session.lob_calls.length(call.locator)) > _MAX_READ:
        raise OraError(3001, f"unimplemented feature: more than {_MAX_READ} units of a LOB in one call")
    piece = session.lob_calls.read(call.locator, call.offset, call.amount)
    if isinstance(piece, bytes):
        return _Done(call.locator, len(piece), data=piece)
    raw = wire_text(piece)
    return _Done(call.locator, len(raw) // 2, data=raw)


def _write(session: Session, call: _Call) -> _Done:
    if isinstance(session.lob_calls.read(call.locator, 1, 1), bytes):
        return _Done(session.lob_calls.write(call.locator, call.offset, call.data), len(call.data))
    if len(call.data) % 2:
        raise OraError(29275, "partial multibyte character")
    text = call.data.decode("utf-16-be", "surrogatepass")
    return _Done(session.lob_calls.write(call.locator, call.offset, text), len(call.data) // 2)


def _create_temporary(session: Session, call: _Call) -> _Done:
    national = call.offset == 2
    text = LobKind.NCLOB if national else LobKind.CLOB
    return _Done(session.lob_calls.create_temporary(LobKind.BLOB if call.destination == OraType.BLOB else text))


def _free_temporary(session: Session, call: _Call) -> _Done:
    at = 0
    while at < len(call.locator):
        size = int.from_bytes(call.locator[at : at + 2], "big") + 2
        session.lob_calls.free_temporary(narrow(call.locator[at : at + size]))
        at += size
    return _Done(call.locator)


LOB_OPERATIONS: dict[int, Callable[[Session, _Call], _Done]] = {
    _LENGTH: lambda session, call: _Done(call.locator, session.lob_calls.length(call.locator)),
    _READ: _read,
    _TRIM: lambda session, call: _Done(session.lob_calls.trim(call.locator, call.amount), call.amount),
    _WRITE: _write,
    _CREATE_TEMPORARY: _create_temporary,
    _FREE_TEMPORARY: _free_temporary,
    _CHUNK_SIZE: lambda session, call: _Done(call.locator, session.lob_calls.chunk_size(call.locator)),
    _OPEN: lambda session, call: _Done(
        session.lob_calls.open(call.locator, read_only=call.amount == _READ_ONLY), call.amount
    ),
    _CLOSE: lambda session, call: _Done(session.lob_calls.close(call.locator)),
    _IS_OPEN: lambda session, call: _Done(call.locator, flag=session.lob_calls.is_open(call.locator)),
}


def lob_call(talk: Conversation) -> None:
    """Function 96: read the call, do it, answer it. Raises ORA-22285 for operations on files, ORA-03001 for others that the
    sandbox does not have and for a read of more than 268,435,456 units, ORA-29275 for half a character, what `LobCalls` raises,
    ProtocolError for a malformed call, and as `TtcReader`."""
    call = _read_call(talk)
    size = len(call.locator)
    if call.operation != _FREE_TEMPORARY:
        call = call._replace(locator=narrow(call.locator))
    operation = LOB_OPERATIONS.get(call.operation)
    if call.operation in _FILE_OPERATIONS:
        refuse_file(call.locator)
    if operation is None:
        raise OraError(3001, f"unimplemented feature: LOB operation {call.operation:#x}")
    done = operation(talk.session, call)
    reply = talk.reply()
    if done.data is not None:
        reply.add(bytes((Ttc.LOB_DATA,)), clr(done.data))
    tail = ub(0) if call.operation == _CREATE_TEMPORARY else b""  # its character set
    tail += (sb(done.amount) if call.wants_amount else b"") + (bytes((done.flag,)) if call.wants_flag else b"")
    talk.finish(reply, bytes((Ttc.PARAMETER,)), widened(done.locator, size), tail, replies.error(talk.call_end()))


def free_temporaries(talk: Conversation) -> None:
    """Function 96 as a piggyback, which is not answered: python-oracledb frees temporary LOBs it dropped. Raises ProtocolError
    for another operation, and as `TtcReader` and `LobCalls.free_temporary`."""
    call = _read_call(talk)
    if call.operation & ~_ARRAY != _FREE_TEMPORARY:
        raise ProtocolError(f"LOB operation {call.operation:#x} as a piggyback")
    _free_temporary(talk.session, call)
