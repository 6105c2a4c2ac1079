"""Reading and writing through a locator, for the wire and DBMS_LOB. A row's LOB can be written once the session has locked or
changed the row; the write makes a new version of the row in the session's transaction.

Whatever raises ORA-22275 for bytes that are no locator raises ORA-22285 for the locator of a BFILE.
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import LobKind, OraError
from minercdc_sandbox.lobs.locator import LobValue, Locator, RowAddress, as_cell, unpack
from minercdc_sandbox.lobs.values import CHUNK_BYTES, MAXIMUM, LobStore
from minercdc_sandbox.records import RedoOp
from minercdc_sandbox.redo.large_values import in_place_steps
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.storage.changes import Target
from minercdc_sandbox.storage.store import LIVE
from minercdc_sandbox.tables import Table


def _out_of_range() -> OraError:
    return OraError(21560, "argument is null, invalid, or out of range")


def length(session: SqlSession, locator: bytes) -> int:
    """Units (UTF-16 code units, of a BLOB bytes) of the value that the locator shows. Raises ORA-22275 for bytes that are no
    locator, and for a freed temporary LOB."""
    return _store(session).value(locator).length


def current_length(session: SqlSession, locator: bytes) -> int:
    """Units of the LOB that a write through the locator would change: the row may have changed since the locator was read. Raises
    ORA-22920 as `write`; ORA-22275 as `length`, and when the row's column is gone or NULL."""
    found = unpack(locator)
    if found.address is None:
        return length(session, locator)
    with session.storage.lock:
        table, at = _column(session, found.address)
        return _value_at(_locked_version(session, table, found.address.rid), at).length


def read(session: SqlSession, locator: bytes, offset: int, amount: int) -> str | bytes:
    """The content of at most `amount` units from the 1-based `offset` on, '' or b'' after the end: text, or bytes of a BLOB.
    Raises ORA-21560 for an offset or amount out of range, and as `LobStore.value`."""
    if offset < 1 or amount < 0 or offset > MAXIMUM:
        raise _out_of_range()
    store = _store(session)
    return store.read(store.value(locator), offset - 1, amount)


def write(session: SqlSession, locator: bytes, offset: int, data: str | bytes) -> bytes:
    """Overwrite or extend from the 1-based `offset` on; returns the locator that shows the new value. Raises ORA-21560 for an
    offset out of range, ORA-22275 for no locator and a freed temporary LOB, ORA-00932 for text in a BLOB; of a row's LOB
    ORA-22920 unless the session has locked or changed the row, ORA-22275 when its column is gone or NULL, ORA-22294 when it was
    opened for reading only, and as `before_change`."""
    if offset < 1:
        raise _out_of_range()
    found, store = unpack(locator), _store(session)
    if found.temporary:
        store.write_temporary(found.temporary, offset - 1, data)
        return locator
    amount = len(data) if found.value.kind is LobKind.BLOB else _units(data)
    return _change_row(
        session, found, RedoOp.LOB_WRITE, offset - 1, amount, lambda old, owner: store.write(old, offset - 1, data, owner)
    )


def trim(session: SqlSession, locator: bytes, new_length: int) -> bytes:
    """Cut to `new_length` units; returns the locator that shows the new value. Raises ORA-22926 when the LOB is shorter, ORA-21560
    below 0, and as `write`."""
    found, store = unpack(locator), _store(session)
    current = store.shown(found)
    if new_length < 0:
        raise _out_of_range()
    if new_length > current.length:
        raise OraError(22926, "specified trim length is greater than current LOB value's length")
    if found.temporary:
        store.replace_temporary(found.temporary, store.trim(current, new_length))
        return locator
    return _change_row(session, found, RedoOp.LOB_TRIM, 0, new_length, lambda old, owner: store.trim(old, new_length, owner))


def erase(session: SqlSession, locator: bytes, offset: int, amount: int) -> tuple[bytes, int]:
    """Overwrite `amount` units from the 1-based `offset` on with blanks or zero bytes, up to the LOB's end; returns the new
    locator, and how many units that were: 0, and the same locator, after the end. Raises as `write`, and ORA-21560 for an offset
    or amount below 1; ORA-03001 for surrogates in a row's LOB: LogMiner counts a text's amount in code points
    (docs/reference/logminer-facts.md#b-7-3), but whether of an erase those that were there or the blanks, which are more, is not
    known."""
    if offset < 1 or amount < 1:
        raise _out_of_range()
    found, store = unpack(locator), _store(session)
    current = store.shown(found)
    count = max(0, min(amount, current.length - offset + 1))
    blank: str | bytes = bytes(count) if current.kind is LobKind.BLOB else " " * count
    if count == 0:
        return locator, 0
    if found.temporary:
        store.write_temporary(found.temporary, offset - 1, blank)
        return locator, count

    def blanked(old: LobValue, owner: int) -> LobValue:
        erased = store.read(old, offset - 1, count)
        if isinstance(erased, str) and any("\ud800" <= one <= "\udfff" or one > "\uffff" for one in erased):
            raise OraError(3001, "unimplemented feature: DBMS_LOB.ERASE of characters beyond U+FFFF")
        return store.write(old, offset - 1, blank, owner)

    return _change_row(session, found, RedoOp.LOB_ERASE, offset - 1, count, blanked), count


def create_temporary(session: SqlSession, kind: LobKind) -> bytes:
    """The locator of a new, empty temporary LOB of the session, which `free_temporary` or the session's end frees."""
    return session.lobs.keep(_store(session).create_temporary(LobValue(kind)))


def free_temporary(session: SqlSession, locator: bytes) -> None:
    """Free a temporary LOB; nothing for another or a freed one. Raises ORA-22275 for no locator."""
    found = unpack(locator)
    if found.temporary:
        session.lobs.free(_store(session), found.temporary)


def open_lob(session: SqlSession, locator: bytes, *, read_only: bool = False) -> bytes:
    """Note a LOB as opened by the session; returns the same locator. Raises ORA-22293 when it is open, ORA-22275 for no
    locator."""
    key = unpack(locator).identity
    if key in session.lobs.opened:
        raise OraError(22293, "LOB already opened in the same transaction")
    session.lobs.opened[key] = read_only
    return locator


def close_lob(session: SqlSession, locator: bytes) -> bytes:
    """Note a LOB as closed; returns the same locator. Raises ORA-22289 when the session has not opened it, ORA-22275 for no
    locator."""
    if session.lobs.opened.pop(unpack(locator).identity, None) is None:
        raise OraError(22289, "cannot perform LOB CLOSE operation on an unopened file or LOB")
    return locator


def is_open(session: SqlSession, locator: bytes) -> bool:
    """Whether the session has opened the LOB. Raises ORA-22275 for no locator."""
    return unpack(locator).identity in session.lobs.opened


def chunk_size(session: SqlSession, locator: bytes) -> int:
    """Usable bytes of a chunk, the same for all LOBs. Raises as `length`."""
    _store(session).value(locator)
    return CHUNK_BYTES


def _store(session: SqlSession) -> LobStore:
    return session.storage.lobs


def _units(data: str | bytes) -> int:
    return len(data) // 2 if isinstance(data, bytes) else len(data.encode("utf-16-be", "surrogatepass")) // 2


def _change_row(
    session: SqlSession, locator: Locator, op: RedoOp, offset: int, amount: int, change: Callable[[LobValue, int], LobValue]
) -> bytes:
    """Make a new version of the locator's row with `change` (value, data object id -> value) of its LOB, and log `op` at the
    0-based `offset`, of `amount` units (for a trim the new length). A LOB_WRITE of 0 units does neither. Returns the locator of
    the new value. Raises ORA-22920 unless the session has locked or changed the row, ORA-22294 when the LOB was opened for
    reading only, ORA-22275 when the column is gone or NULL, and as `change` and `before_change`."""
    if session.lobs.opened.get(locator.identity):
        raise OraError(22294, "cannot update a LOB opened in read-only mode")
    storage = session.storage
    with storage.lock:
        if locator.address is None:
            raise OraError(22920, "row containing the LOB value is not locked")
        session.transactions.before_change()
        table, at = _column(session, locator.address)
        target = _locked_version(session, table, locator.address.rid)
        if amount == 0 and op is RedoOp.LOB_WRITE:
            return locator.shows(_value_at(target, at))
        value = change(_value_at(target, at), table.data_object_id)
        target.after = (*target.before[:at], as_cell(value), *target.before[at + 1 :])
        steps = in_place_steps(op, target.after, at, offset, amount)
        storage.changes.rewrite(session.client, table, target, (at,), steps)
        return locator.shows(value)


def _value_at(target: Target, at: int) -> LobValue:
    """The value that the row has now in the column at `at`; the locator may show an older one. Raises ORA-22275 for NULL."""
    if target.before[at] is None:
        raise OraError(22275, "invalid LOB locator specified")
    return unpack(target.before[at]).value


def _column(session: SqlSession, address: RowAddress) -> tuple[Table, int]:
    for table in session.tables():
        if table.data_object_id == address.data_object:
            for at, column in enumerate(table.columns):
                if column.slot == address.slot:
                    return table, at
    raise OraError(22275, "invalid LOB locator specified")


def _locked_version(session: SqlSession, table: Table, rid: int) -> Target:
    transaction = session.client.transaction
    if transaction is not None:
        for vid, s, e, x, row in reversed(session.storage.segments.versions(table, rid)):
            mine = s == transaction.stamp or session.storage.locks.row_locker(table.data_object_id, rid) is transaction
            if e == LIVE and not x and mine:
                return Target(vid, s, e, x, row)
    raise OraError(22920, "row containing the LOB value is not locked")
