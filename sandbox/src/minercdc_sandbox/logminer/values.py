"""DBMS_LOGMNR.MINE_VALUE and COLUMN_PRESENT: single values of the rows of V$LOGMNR_CONTENTS.

REDO_VALUE and UNDO_VALUE are handles of a change's new and old values. A handle is where the record lies, so it is good for
as long as the mining session is, in any query:

    thread | log sequence | block | byte | row of the record | 0 old, 1 new

What each has (PL/SQL Packages and Types Reference, DBMS_LOGMNR): INSERT new values only, DELETE old ones only; UPDATE the new
values it set, and of the old ones what the redo has of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.interfaces import Cell, OraError, Session
from minercdc_sandbox.logminer.literals import literal
from minercdc_sandbox.logminer.logs import MinedRedo
from minercdc_sandbox.logminer.mining import Mining
from minercdc_sandbox.logminer.packages import state_of
from minercdc_sandbox.logminer.value_handles import place_of
from minercdc_sandbox.records import RedoOp, RedoRecord, StoredColumn
from minercdc_sandbox.redo.batches import position_of
from minercdc_sandbox.redo.large_values import large_of
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.view_session import as_view_session


def mine_value(session: Session, handle: int, name: str) -> str | None:
    """The value of `schema.table.column` as a string that converts back to its type; None when it is NULL or `column_present` is 0.
    Raises ORA-01323 before START_LOGMNR and for a number that is no handle, ORA-00904 for a name of another form and for a column
    that the table does not have, ORA-03001 as `literal`, and as `RedoLog.chunks`."""
    found = _cell(session, handle, name)
    if found is None or found[1] is None:
        return None
    column, cell = found
    return _text(column, cell, as_view_session(session).settings.nls)


def column_present(session: Session, handle: int, name: str) -> int:
    """1 when the handle's values have the column `schema.table.column`, also as NULL, else 0: also for the handle 0, another
    table, and a column of a large type. Raises as `mine_value`."""
    return int(_cell(session, handle, name) is not None)


def _cell(session: Session, handle: int, name: str) -> tuple[StoredColumn, Cell] | None:
    """Column and cell; None where `column_present` is 0. Raises as `mine_value`."""
    mining = state_of(session).mining
    if mining is None:
        raise OraError(1323, "Invalid state")
    owner, table, column = _parts(name)
    if not handle:
        return None
    record, is_new = _record(mining, handle)
    version = mining.version_of(record)
    if version is None or version.data_obj_v != record.data_obj_v or (version.owner, version.table) != (owner, table):
        return None
    at = next((at for at, one in enumerate(version.columns) if one.name == column), None)
    if at is None:
        raise OraError(904, f'"{column}": invalid identifier')
    cells = record.after if is_new else record.before
    if cells is None or large_of(version.columns[at]) is not None:
        return None
    if record.op is RedoOp.UPDATE:
        logged = record.changed if is_new or record.logged is None else (*record.changed, *record.logged)
        if record.logged is not None or is_new:
            return (version.columns[at], cells[at]) if at in logged else None
    return version.columns[at], cells[at]


def _parts(name: str) -> tuple[str, str, str]:
    parts = [part[1:-1] if part.startswith('"') else part.upper() for part in name.split(".")]
    if len(parts) != 3 or not all(parts):
        raise OraError(904, f'"{name}": invalid identifier')
    return parts[0], parts[1], parts[2]


def _record(mining: Mining, handle: int) -> tuple[RedoRecord, bool]:
    """The record of a handle, read from the log if it is not a recent one, and whether its new values are meant. Raises ORA-01323
    for a number that is no handle of a record, and as `RedoLog.chunks`."""
    place = place_of(handle)
    record = mining.recent.get(handle >> 1)
    if record is None:
        record = next(_at(mining.redo, place.thread, place.sequence, position_of(place.block, place.byte), place.ssn), None)
    if record is None:
        raise OraError(1323, "Invalid state")
    return record, place.is_new


def _at(redo: MinedRedo, thread: int, sequence: int, position: int, ssn: int) -> Iterator[RedoRecord]:
    before = None
    for _, batches in redo.chunks(thread, sequence):
        for batch in batches:
            if batch.position > position:
                break
            before = batch
    for record in before.records(thread, sequence) if before is not None else ():
        if position_of(record.block, record.byte) == position and record.ssn == ssn:
            yield record


def _text(column: StoredColumn, cell: Cell, nls: Nls) -> str | None:
    """The value (not NULL) as text: a character value itself, of any other type what lies between the first quotes of its literal."""
    if isinstance(cell, str):
        return cell
    return literal(column, nls)(cell).split("'")[1]
