"""Rows that are left out of the stream: what is said of them."""

from __future__ import annotations

from minercdc.errors import DecodeError, MissingKeyError
from minercdc.events import ChangeEvent, Op, ReadRun, UndecodableRow


def undecodable(event: ChangeEvent, error: DecodeError) -> UndecodableRow:
    """A change that was decoded, but has a value that its record cannot hold."""
    row = raw(event, f"{error.code}: {error.message}")
    row.code, row.hint = error.code, error.hint
    return row


def unconverted(run: ReadRun, place: int, error: DecodeError) -> UndecodableRow:
    """A row of a snapshot with a value that is none of its column's type."""
    reason, row_id = f"{error.code}: {error.message}", run.fetched.rows[place][0]
    row = UndecodableRow(run.fetched.schema.id, Op.READ.name, reason, None, run.scn, run.time_us, None, 0, row_id)
    row.code, row.hint = error.code, error.hint
    return row


def fix(row: UndecodableRow) -> str:
    """What repairs a table that is suspended for this row."""
    after = f"minercdc signal CONFIG resume-table --collection {row.table}"
    if not row.hint:
        return f"Once the cause is gone: {after}"
    return (
        f"{row.hint} It is read again by itself then; or: {after}"
        if row.code == MissingKeyError.code
        else f"{row.hint} Then: {after}"
    )


def raw(event: ChangeEvent, reason: str) -> UndecodableRow:
    """A change that was decoded, and is left out."""
    return UndecodableRow(
        event.schema.id,
        event.op.name,
        reason,
        event.redo_sql,
        event.scn,
        event.time_us,
        event.tx,
        max(event.seq - 1, 0),
        event.row_id,
        event.rs_id,
        event.ssn,
        images=(event.schema, event.before, event.after),
    )
