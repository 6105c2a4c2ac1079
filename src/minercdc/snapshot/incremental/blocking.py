"""Runs blocking snapshots: the stream comes to an SCN, waits while the tables are read as of it, and goes on.

    signal        s = an SCN that is written, and not below what was emitted; the tables' changes after s are noted from here on
    stream at s   rows of each table AS OF s in order of ROWID, except rows with a newer change in the stream
    killed        goes on after the last ROWID: at the same s, unless newer changes were emitted meanwhile; then at a new one
    DDL after s   ORA-01466: the rest is read at a new s, which the stream comes to first
    unknown row   a newer change does not say which row it was of: they are read as of the newest change that was emitted

As with incremental chunks, no older image ever follows a newer one, with any number of redo threads. Rows are marked as those of
the initial snapshot (`snapshot.row_marks`): Debezium runs the same code for both. A row that is held back for its mark is not in
the state, and its table stays there until it is delivered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, Protocol

from minercdc.errors import (
    DecodeError,
    MinerCdcError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
)
from minercdc.schema.table import TableSchema
from minercdc.snapshot.incremental.chunks import Step, replaced, without
from minercdc.snapshot.incremental.known_tables import NOT_CAPTURED, KnownTables
from minercdc.snapshot.incremental.resumption import covered_scn
from minercdc.snapshot.incremental.window import Changes
from minercdc.snapshot.row_marks import Placed, RowMarks, read_events
from minercdc.stream import signal_answers
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import ChangeEvent, Event, FetchedRows, Notification, ReadRun, Scn
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead

_log = logging.getLogger(__name__)

_PROGRESS_ROWS = 10_000
_PATIENCE_US = (
    30_000_000  # with what may pass: a SELECT of the user's can fail so for ever (AS OF an old SCN, a database link)
)


class Tables(Protocol):
    """What a blocking snapshot reads from the database; see `database.TableSource`, which may raise ConfigError, too."""

    def written_scn(self) -> int:
        """An SCN at or below the present one that the stream comes to even when nothing more is written. Raises SourceError,
        PrerequisiteError."""

    def rows(self, schema: TableSchema, scn: int, last_row_id: str, select: str) -> Iterator[FetchedRows]:
        """Batches of rows as of an SCN, in order of ROWID unless there is a `select`; an empty batch now and then while
        nothing comes.

        :param last_row_id: rows after it only, '' for all.
        :param select: a user's SELECT to read them by, '' for none; its rows have no ROWID.
        :raises SnapshotTooOldError: they cannot be read as of that SCN any more.
        :raises SourceError, PrerequisiteError, DecodeError: they cannot be read.
        """

    def close(self) -> None:
        """Close the connections; `rows` opens others."""


class BlockingSnapshots:
    """Runs the blocking snapshots of a state, one at a time; one for each pipeline. `resume` once at the start, `step` at
    each end of a source transaction, `close` at the end.

    :param source: reads the tables; closed here.
    :param now_us: reads the clock: microseconds since the epoch in UTC.
    :param runs: emit ReadRuns for rows that are fetched together.
    :ivar read_scn: highest SCN that emitted rows were read at; the stream may emit commits at it later.
    :ivar changes: notes the stream's changes of the tables; the stage passes them to it.
    """

    def __init__(
        self,
        source: Tables,
        known: KnownTables,
        now_us: Callable[[], int],
        *,
        runs: bool = False,
    ) -> None:
        self._runs = runs
        self._source = source
        self._shape = known.shape
        self._learn = known.learn
        self._names = known.names
        self._captured = known.captured
        self._now_us = now_us
        self._fixed: str | None = None  # the snapshot whose SCN was fixed in this run
        self._failing: tuple[TableRead, int] | None = None  # where a read failed, and when it did so first
        self.read_scn = 0
        self.changes = Changes()

    def close(self) -> None:
        """Close the connections that tables are read on; the next `step` opens others."""
        self._source.close()

    def fix_again(self) -> None:
        """Have the next `step` choose the SCN again, as after a RENAME: the table's changes were noted under its old name."""
        self._fixed = None

    def resume(self, state: SignalState, stop: StopFlag) -> Generator[Step, None, None]:
        """Go on with the snapshot whose SCN the stream had come to in an earlier run; to be called before any event of the
        stream. No steps when there is none. Raises as `step`."""
        snapshot = _running(state)
        if snapshot is not None and snapshot.reached:
            self._fixed = snapshot.id
            yield from self._read(state, snapshot, stop)

    def step(
        self, state: SignalState, complete_scn: int, emitted_scn: int, time_us: int, stop: StopFlag
    ) -> Generator[Step, None, None]:
        """Deliver what can be delivered now, as steps; the stream waits meanwhile. Ends early once `stop` is set.

        A table that cannot be read is left out, with a notification.

        :param complete_scn: every commit at or below it has been emitted.
        :param emitted_scn: highest commit SCN emitted so far.
        :param time_us: not used.
        :raises MinerCdcError: the SCN cannot be chosen, or the database cannot be reached; and what `learn` raises.
        """
        if self._fixed is not None and all(snapshot.id != self._fixed for snapshot in state.snapshots):
            self._fixed = None  # it was stopped
            self.changes.forget()
            self._source.close()
        while (snapshot := _running(state)) is not None and not stop.is_set():
            if self._fixed != snapshot.id:
                state = self._fix(state, snapshot, emitted_scn)
                yield (), state
                return
            if complete_scn < snapshot.scn - 1:  # what is committed at the SCN is what is read
                self.changes.prune(snapshot.scn)
                return
            if not all(self._tell_rows(table, snapshot.scn) for table in snapshot.tables):
                # No later change is emitted, and with one redo thread the stream has come to it: a busy table need not wait again.
                state = replaced(state, snapshot, replace(snapshot, scn=emitted_scn))
                yield (), state
                continue
            reached = replace(snapshot, reached=self.changes.is_empty)
            state = replaced(state, snapshot, reached)
            yield (), state  # the first rows may take long
            for step in self._read(state, reached, stop):
                state = step[1]
                yield step

    def _tell_rows(self, table: TableRead, scn: int) -> bool:
        """As `Changes.tell_rows`. Rows that a SELECT reads have no ROWID."""
        return self.changes.tell_rows(self._names.table(table.table), scn, row_ids=not table.condition)

    def _fix(self, state: SignalState, snapshot: AdHocSnapshot, emitted_scn: int) -> SignalState:
        """Choose the snapshot's SCN, and return the state with it; from here on changes of its tables are noted."""
        self.changes.forget()
        for table in snapshot.tables:
            self.changes.follow(self._names.table(table.table))
        # Rows may be delivered as of an earlier one of its SCNs, in images up to that.
        covered = covered_scn(state, snapshot.tables)
        scn = max(self._source.written_scn(), emitted_scn, snapshot.scn, self.changes.floor, covered)
        self.changes.prune(scn)
        self._fixed = snapshot.id
        _log.info("blocking snapshot %s: waiting for the stream to come to SCN %d", snapshot.id, scn)
        return replaced(state, snapshot, replace(snapshot, scn=scn, reached=False))

    def _read(self, state: SignalState, snapshot: AdHocSnapshot, stop: StopFlag) -> Iterator[Step]:
        delivery = _Delivery(state, snapshot, self._report_scan)
        self.read_scn = max(self.read_scn, snapshot.scn)
        try:
            for place, table in enumerate(snapshot.tables, 1):
                yield from self._rows(delivery, place, table, stop)
                if stop.is_set():
                    return
        except GeneratorExit:
            self._source.close()  # the connection may be in the middle of a fetch
            raise
        except (SnapshotTooOldError, TransientSourceError) as error:
            if isinstance(error, TransientSourceError):
                self._reconnect()
            _log.warning("blocking snapshot %s: %s; the rest is read at a later SCN", snapshot.id, error.message)
            self._fixed = None
            yield delivery.step()
            yield (), delivery.state(reached=False)
            return
        self._fixed = None
        self.changes.forget()
        self._source.close()
        delivery.end()
        events, state = delivery.step()
        done, time_us = _current(state, snapshot), self._now_us()
        _log.info("blocking snapshot %s is complete; streaming goes on", snapshot.id)
        yield (
            [*events, signal_answers.of_snapshot(done, "COMPLETED", time_us), signal_answers.completed(done, time_us)],
            without(state, done),
        )

    def _rows(self, delivery: _Delivery, place: int, table: TableRead, stop: StopFlag) -> Iterator[Step]:
        """Read one table; rows whose mark is certain are yielded now and then, as a step. Ends early at the stop. A table
        that cannot be read is left out, with a warning; raises the error when another try may help."""
        name, scn = self._names.table(table.table), delivery.snapshot.scn
        is_captured = self._captured(name)
        schema = self._shape(name) if is_captured else None
        if not is_captured:
            _log.warning("blocking snapshot %s: %s is left out: %s", delivery.snapshot.id, table.table, NOT_CAPTURED)
        elif schema is None and (change := self._learn(name)) is not None:
            delivery.events.append(change)
            schema = change.after
        if schema is None:
            delivery.finish(place, "UNKNOWN_SCHEMA")
            yield delivery.step()
            return
        _log.info("blocking snapshot %s: reading %s as of SCN %d", delivery.snapshot.id, table.table, scn)
        try:
            for batch in self._source.rows(schema, scn, table.last[0] if table.last else "", table.condition):
                if stop.is_set():
                    return
                delivery.take(place, self._events(scn, batch))
                if not len(batch) and not delivery.events:
                    yield (), delivery.state()  # nothing comes for a while: earlier rows need not wait
                elif not len(batch) or delivery.rows >= _PROGRESS_ROWS:
                    delivery.events.append(
                        signal_answers.in_progress(
                            delivery.snapshot, delivery.table(place), self._full_name(table), self._now_us()
                        )
                    )
                    yield delivery.step()
        except (SourceError, PrerequisiteError, DecodeError) as error:
            if self._may_pass(error, delivery.table(place)):
                raise
            _log.warning("blocking snapshot %s: %s is left out: %s", delivery.snapshot.id, table.table, error.message)
            delivery.finish(place, "SQL_EXCEPTION", error)
        else:
            delivery.finish(place, "SUCCEEDED")
        yield delivery.step()

    def _may_pass(self, error: MinerCdcError, table: TableRead) -> bool:
        """Whether another try may help: an error that may pass, for 30 s after the first one at the same place of the table.
        After that the cause may be the SELECT itself."""
        if not isinstance(error, SnapshotTooOldError | TransientSourceError):
            return False
        now_us = self._now_us()
        if self._failing is None or self._failing[0] != table:
            self._failing = table, now_us
        return now_us - self._failing[1] < _PATIENCE_US

    def _reconnect(self) -> None:
        """Close the connections, and open another one; raises SourceError or PrerequisiteError where the SELECT is not the
        cause."""
        self._source.close()
        self._source.written_scn()

    def _events(self, scn: int, batch: FetchedRows) -> list[ChangeEvent | ReadRun]:
        rows = self.changes.current(batch, scn)
        return read_events(rows, Scn(scn), self._now_us(), runs=self._runs)

    def _report_scan(
        self, snapshot: AdHocSnapshot, table: TableRead, status: str, error: MinerCdcError | None
    ) -> Notification:
        data = {"error": error.message} if error else {}
        return signal_answers.scanned(snapshot, table, self._full_name(table), status, self._now_us(), **data)

    def _full_name(self, table: TableRead) -> str:
        return self._names.full(table.table)


def _running(state: SignalState) -> AdHocSnapshot | None:
    return next((snapshot for snapshot in state.snapshots if snapshot.blocking), None)


def _current(state: SignalState, snapshot: AdHocSnapshot) -> AdHocSnapshot:
    return next(found for found in state.snapshots if found.id == snapshot.id)


class _Delivery:
    """Collects what is to be delivered of a snapshot that is read, and the state that says so; one for each read, from where
    the state says. A table's place is its index among those that are left, from 1.

    :param state, snapshot: as they are before.
    :param scanned: makes the notification that a table is done.
    :ivar events, rows: delivered, but not yielded yet; and how many rows these are.
    """

    def __init__(
        self,
        state: SignalState,
        snapshot: AdHocSnapshot,
        scanned: Callable[[AdHocSnapshot, TableRead, str, MinerCdcError | None], Notification],
    ) -> None:
        self.snapshot = snapshot
        self.events: list[Event] = []
        self.rows = 0
        self._state = state
        self._report_scan = scanned
        self._tables = dict(enumerate(snapshot.tables, 1))
        self._rows = snapshot.rows  # of tables that are done; their place is 0
        begun = [place for place, table in self._tables.items() if table.rows]
        self._marks = RowMarks([0, *begun] if snapshot.rows else begun)
        self._finished: dict[int, tuple[str, MinerCdcError | None]] = {}

    def table(self, place: int) -> TableRead:
        """How far a table that is not done is delivered."""
        return self._tables[place]

    def state(self, **changed: Any) -> SignalState:
        """The state once `events` are delivered.

        :param changed: other members of the snapshot.
        """
        now = replace(self.snapshot, tables=tuple(self._tables.values()), rows=self._rows, **changed)
        return replaced(self._state, now, now)

    def step(self) -> Step:
        """Take out the events since the last step, and return them with the state after them."""
        events, self.events, self.rows = self.events, [], 0
        return events, self.state()

    def take(self, place: int, rows: list[ChangeEvent | ReadRun]) -> None:
        """Take the next rows of a table; those whose mark is certain go into `events`."""
        self._deliver(self._marks.take((place, 0), rows))

    def finish(self, place: int, status: str, error: MinerCdcError | None = None) -> None:
        """Note that a table is read to its end, or for `error` no further; it is done, with a notification, when its last row is
        delivered. For `status` see `signal_answers.scanned`."""
        self._finished[place] = status, error
        if self._marks.held_of(place):
            self._deliver(self._marks.end_table(place))
        else:
            self._report_done(place)

    def end(self) -> None:
        """Note that all tables are read: the last row, which was held back, goes into `events`."""
        self._deliver(self._marks.end())

    def _deliver(self, groups: Iterator[Placed]) -> None:
        for group in list(groups):  # first all of them: what is held back is certain then only
            self.events += group.events
            self.rows += group.rows
            place = group.place[0]
            table = self._tables[place]
            last = (group.last_row_id,) if group.last_row_id else table.last
            self._tables[place] = replace(table, rows=table.rows + group.rows, last=last)
            if place in self._finished and not self._marks.holds((place, 0)):
                self._report_done(place)

    def _report_done(self, place: int) -> None:
        status, error = self._finished[place]
        table = self._tables.pop(place)
        self._rows += table.rows
        status = "EMPTY" if status == "SUCCEEDED" and not table.rows else status
        scanned = self._report_scan(self.snapshot, table, status, error)
        self.events.append(scanned)
        if error is not None:
            self.events += signal_answers.never_read(
                self.snapshot,
                table,
                scanned.additional_data["scanned_collection"],
                error.message,
                self.snapshot.scn,
                scanned.time_us,
            )
