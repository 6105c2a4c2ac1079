"""Rows that are left out of the stream, and the tables that are suspended for them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from minercdc.errors import DecodeError, MissingKeyError, RecordSchemaError, SharedTopicError, UnsupportedRowError
from minercdc.pipeline.batch import Uncommitted
from minercdc.pipeline.pipeline import Pipeline
from minercdc.schema.patterns import literal_pattern
from minercdc.schema.table import TableId
from minercdc.stream.contracts import Record
from minercdc.stream.counters.connector import Counters, SuspendedShow
from minercdc.stream.events import (
    ChangeEvent,
    Notification,
    Op,
    ReadRun,
    SchemaChange,
    SuspensionChange,
    UndecodableRow,
)
from minercdc.stream.offset import SuspendedTable

_log = logging.getLogger(__name__)

_LONGEST_STORED = 1000  # characters of a reason, or a hint
# What the dictionary can show to be repaired.
_SHOWN_BY_DICTIONARY = (MissingKeyError.code, UnsupportedRowError.code)


def undecodable(event: ChangeEvent, error: DecodeError) -> UndecodableRow:
    """What stands for a decoded change that has no record: `error` says why."""
    row = raw(event, f"{error.code}: {error.message}")
    row.code, row.hint = error.code, error.hint
    return row


def unconverted(run: ReadRun, place: int, error: DecodeError) -> UndecodableRow:
    """What stands for row number `place` of a snapshot's run, which has a value that is none of its column's type."""
    reason, row_id = f"{error.code}: {error.message}", run.fetched.row_id(place)
    row = UndecodableRow(run.fetched.schema.id, Op.READ.name, reason, None, run.scn, run.time_us, None, 0, row_id)
    row.code, row.hint = error.code, error.hint
    return row


def is_skipped(mode: str, error: DecodeError) -> bool:
    """Whether a row that has no record for `error` is left out, where its table is not suspended; else it ends the stream.

    :param mode: `event.processing.failure.handling.mode`.
    """
    # At the next start the other table may come first: without a suspension that is stored, one topic would have rows of both.
    return mode == "suspend" or (mode != "fail" and not isinstance(error, SharedTopicError))


def fix(row: UndecodableRow, table: str, *, stored: bool = False) -> str:
    """A hint for the user on how a table that is suspended for this row is repaired.

    :param table: its name.
    :param stored: it becomes a part of each offset: the error's own hint is cut after 1000 characters.
    """
    after, hint = f"minercdc signal CONFIG resume-table --collection {literal_pattern(table)}", row.hint
    if not hint:
        return f"Once the cause is gone: {after}"
    if stored:
        hint = _cut(hint)
    return (
        f"{hint} It is read again by itself then; or: {after}"
        if row.code == MissingKeyError.code
        else f"{hint} Then: {after}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_STORED else f"{text[:_LONGEST_STORED]}.. (the log has all of it)"


def raw(event: ChangeEvent, reason: str) -> UndecodableRow:
    """What stands for a decoded change that is left out: `reason` says why. The row's code and hint are ''."""
    return UndecodableRow(
        event.schema.id,
        "INSERT" if event.op is Op.CREATE else event.op.name,
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


class LeftOut:
    """Decides what becomes of rows that have no record: their tables are suspended where that is configured, the others go on. It
    keeps the suspensions of the pipeline, and what `counters` shows of them, up to date.

    :param pipeline: its suspensions are loaded already.
    :param uncommitted: counts the rows that are left out.
    """

    def __init__(self, pipeline: Pipeline, counters: Counters, uncommitted: Uncommitted) -> None:
        self._pipeline = pipeline
        self._suspensions = pipeline.suspensions
        self._counters = counters
        self._uncommitted = uncommitted
        self._show()

    def row(self, row: UndecodableRow) -> Sequence[Record]:
        """Count a row that is left out. Returns its dead letter, if there is a topic for it, to be committed with its neighbours.
        Raises what the pipeline's encoder raises."""
        self._uncommitted.skipped += 1
        self._uncommitted.left_out["None" if row.table is None else self._suspensions.name_of(row.table)] += 1
        return self._pipeline.encoder.encode(row)

    def refuse(self, table: TableId, row: UndecodableRow, error: DecodeError) -> Notification | None:
        """Decide on a row that has no record: suspend its table where the configuration says so, and return the notification of
        that. Raises `error` when the configuration says that it ends the stream."""
        if self._pipeline.suspends(table):
            return self._suspend(table, row)
        if not self._pipeline.skip_undecodable(error):
            raise error
        return None

    def undecodable(self, row: UndecodableRow) -> Notification | None:
        """Decide on a row that the capture could not decode, or did not, because its table is suspended. Where it could not, and
        the configuration says so, the table is suspended from here on; returns the notification of that."""
        table = row.table
        if (
            row.code
            and table is not None
            and not self._suspensions.leaves_out(table, row.tx)
            and self._pipeline.suspends(table)
        ):
            return self._suspend(table, row)
        return None

    def truncate(self, change: SchemaChange, error: RecordSchemaError) -> UndecodableRow | None:
        """What stands for a TRUNCATE without a record, for `refuse`; None where its table is suspended already."""
        if self._suspensions.find(self._suspensions.name_of(change.table)) is not None:
            return None
        row = UndecodableRow.of_truncate(change, f"{error.code}: {error.message}")
        row.code, row.hint = error.code, error.hint
        return row

    def change(self, change: SuspensionChange) -> None:
        """Take note of a table's new entry, or of the end of its suspension."""
        if change.suspended is None:
            self._suspensions.remove(change.table)
        else:
            self._suspensions.put(change.suspended)
        self._show()

    def follow(self, change: SchemaChange) -> None:
        """A suspended table that is renamed is suspended under its new name; one that is dropped is not any more."""
        before, name_of = change.before, self._suspensions.name_of
        if before is None or (change.after is not None and change.after.id == before.id):
            return
        entry = self._suspensions.remove(name_of(before.id))
        if entry is not None and change.after is not None:
            self._suspensions.put(replace(entry, table=name_of(change.after.id), again=False))
        self._show()

    def _suspend(self, table: TableId, row: UndecodableRow) -> Notification | None:
        """Suspend `table`, so that its rows are left out from `row` on; log that as an error, and return the notification. When
        the row was written before the table was repaired, the table is read once more instead, without a notification."""
        known, tx = self._suspensions, row.tx
        name, again = known.name_of(table), known.is_older_than_repair(table, tx)
        automatic = row.code in _SHOWN_BY_DICTIONARY
        scn = tx.commit_scn if tx else row.scn
        stored = (_cut(row.reason), fix(row, name, stored=True))
        entry = SuspendedTable(name, scn, row.code, *stored, tx.id if tx else "", automatic, again)
        known.put(entry)
        if again:
            _log.info("%s: a row that was written before the repair cannot be decoded; the table is read once more", table)
            return None
        self._show()
        _log.error(
            "%s IS SUSPENDED from SCN %s on: %s\n  Its changes are left out, those of other tables go on. To repair it: %s",
            name,
            scn,
            row.reason,
            fix(row, name),
        )
        data = {"data_collections": f"{table.database}.{table}", "code": row.code, "reason": entry.reason}
        data |= {"fix": entry.fix, "since_scn": str(scn)}
        return Notification(f"suspended-{name}-{scn}", "Table", "SUSPENDED", row.time_us, data)

    def _show(self) -> None:
        entries = [entry for entry in self._suspensions.tables() if not entry.again]
        self._counters.suspended = tuple(SuspendedShow(e.table, e.since_scn, e.code, e.reason, e.fix) for e in entries)
