"""Runs incremental snapshots: chunks of a table are delivered among the stream's events; no chunk has an older image than the
stream.

The stage calls `step` where the stream has come to a whole transaction's end. What a step yields is complete in itself:
rows and notifications, then the state that says they are delivered; both go into one Kafka transaction.

    no snapshot, paused    nothing is read
    first of its tables    reader started at the state's key
    Began                  shape still the stream's?  order and last key into the state
    Chunk                  the stream has come to its SCN?  shape still the stream's?  newer changes say of which rows?
                           rows without newer ones, state on
    Failed                 the table is given up, with the reason
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from minercdc.errors import PrerequisiteError, UnsupportedRowError
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.incremental.known_tables import NOT_CAPTURED, KnownTables
from minercdc.snapshot.incremental.outcome import Began, Broken, Failed, Outcome
from minercdc.snapshot.incremental.resumption import covered_scn, is_resumption, with_result
from minercdc.snapshot.incremental.window import Changes, Chunk
from minercdc.stream import signal_answers
from minercdc.stream.events import Event, ReadRun, Scn, SnapshotMark
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead

_log = logging.getLogger(__name__)

# Events, then the state that holds once they are delivered.
Step: TypeAlias = tuple[Sequence[Event], SignalState]
# Rows delivered between two transactions of the stream, so that neither waits long for the other.
_ROWS_PER_STEP = 16_384
_OTHER_SHAPE = "has another shape now, reading on with that"
_UNKNOWN_ROW = "had a change that does not say of which row, reading on at a later SCN"
_NO_MARK = "the mark after a chunk is in the signal table and did not come with the stream"
_SEE_MARKS = "Does a filter (log.mining.username.*, log.mining.clientid.*) leave out what the connector writes? See `minercdc check CONFIG`."


class Reader(Protocol):
    """Reads the chunks of one table at a time, ahead of their delivery; `ChunkReader` fits. One thread calls its methods."""

    def start(self, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        """Begin to read a table after the last key of its state, in order of `surrogate` ('': of its key), in place of the
        one before. No chunk is older than `emitted_scn`."""

    def first(self) -> Outcome | None:
        """The next outcome, without waiting and without taking it; None while none has been read."""

    def take(self) -> None:
        """Drop the outcome that `first` returned; only after it returned one."""

    def floor(self) -> int:
        """The lowest SCN above which changes of the stream may still make a row of a chunk out of date, one that is read or
        will be; 0 when not known."""

    def stop(self) -> None:
        """Read no more; what was read and not taken is dropped. `start` may follow."""


class IncrementalSnapshots:
    """Runs the incremental snapshots of a state, one table at a time; one for each pipeline. `step` at each end of a source
    transaction, `close` at the end.

    :param reader: reads the chunks; stopped here.
    :param runs: emit ReadRuns for rows that are read together.
    :param has_commit_scns: the stream's SCNs are those of the commits, so that a mark which was passed will not come. Those of txlog are
        given to a transaction later.
    :ivar read_scn: highest SCN whose commits delivered rows may show; the stream may emit commits at it later.
    :ivar changes: notes the stream's changes of the table that is read; the stage passes them to it.
    """

    def __init__(
        self,
        reader: Reader,
        known: KnownTables,
        *,
        runs: bool = False,
        has_commit_scns: bool = True,
    ) -> None:
        self._runs = runs
        self._has_commit_scns = has_commit_scns
        self._reader = reader
        self._shape = known.shape
        self._learn = known.learn
        self._names = known.names
        self._captured = known.captured
        self.read_scn = 0
        self._emitted_scn = 0
        self._reading: tuple[str, TableRead] | None = None  # snapshot, and its table as far as it is delivered
        self._closed: dict[str, int] = {}  # windows whose high mark has come, with its SCN
        self.changes = Changes()

    def mark(self, window: str, opens: bool, scn: int) -> None:
        """Note a mark that came with the stream; one that closes its window lets the chunk in it be delivered. One that opens
        it has no effect, nor has one that comes while nothing is read: another connector may use the signal table, too.

        :param window: id of the window; one of an earlier run fits no chunk.
        :param scn: commit SCN of the mark.
        """
        if not opens and self._reading is not None:
            self._closed[window] = scn

    def close(self) -> None:
        """Stop reading, and forget noted changes and marks; the next `step` begins again at the state's last key."""
        self._reader.stop()
        self.changes.forget()
        self._closed.clear()
        self._reading = None

    def step(self, state: SignalState, complete_scn: int, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """Deliver what can be delivered now, about 16 384 rows at most; yields steps. A table that cannot be read is given
        up, with a notification. While snapshots are paused, reading is stopped.

        :param complete_scn: every commit at or below it has been emitted.
        :param emitted_scn: highest commit SCN emitted so far.
        :param time_us: for notifications, microseconds since the epoch in UTC.
        :raises MinerCdcError: from `learn`, or a value does not fit its type; a fault of the reader's own code is raised as
            it is.
        """
        self._emitted_scn = emitted_scn
        rows = 0
        while rows < _ROWS_PER_STEP:
            snapshot = next((snapshot for snapshot in state.snapshots if not snapshot.blocking), None)
            if snapshot is None or state.paused:
                if self._reading is not None:
                    self.close()
                if snapshot is None and state.paused:  # the one that was paused ended otherwise, as by a RENAME of its table
                    yield (), replace(state, paused=False)
                return
            if not snapshot.tables:
                reports = [signal_answers.of_snapshot(snapshot, "COMPLETED", time_us)]
                if not is_resumption(state, snapshot):  # that one is answered when its deletes are delivered, too
                    reports.append(signal_answers.completed(snapshot, time_us))
                state = without(state, snapshot)
                yield reports, state
                continue
            table = snapshot.tables[0]
            if self._reading != (snapshot.id, table):
                events, state = self._start_table(state, snapshot, table, time_us)
                if events:
                    yield events, state
                continue
            outcome = self._reader.first()
            if isinstance(outcome, Chunk) and self._is_mark_missed(outcome, complete_scn):
                outcome = Failed(PrerequisiteError(_NO_MARK, hint=_SEE_MARKS))
            if outcome is None or not self._is_deliverable(outcome, complete_scn):
                self.changes.prune(self._reader.floor())
                return
            events, state = self._deliver_outcome(state, snapshot, table, outcome, time_us)
            rows += sum(len(event) if isinstance(event, ReadRun) else 1 for event in events)
            yield events, state

    def _start_table(self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, time_us: int) -> Step:
        name = self._names.table(table.table)
        self.close()
        events: list[Event] = []
        if not self._captured(name):
            return self._finish_table(state, snapshot, table, "UNKNOWN_SCHEMA", time_us, error=NOT_CAPTURED)
        if self._shape(name) is None:
            change = self._learn(name)
            if change is None:
                return self._finish_table(state, snapshot, table, "UNKNOWN_SCHEMA", time_us)
            events.append(change)
        self._reading = (snapshot.id, table)
        self.changes.follow(name)
        self._start_reader(name, state, snapshot, table)
        _log.info("incremental snapshot %s: reading %s%s", snapshot.id, table.table, " on" if table.last else "")
        return events, state

    def _start_reader(self, name: TableId, state: SignalState, snapshot: AdHocSnapshot, table: TableRead) -> None:
        """Read a table from where it is delivered on. Changes that are not noted any more are in every chunk of this reading."""
        least = max(self._emitted_scn, covered_scn(state, (table,)), self.changes.floor)
        self._reader.start(name, table, snapshot.surrogate_key, least)

    def _is_deliverable(self, outcome: Outcome, complete_scn: int) -> bool:
        if isinstance(outcome, Failed):
            return outcome.scn - 1 <= complete_scn
        if not isinstance(outcome, Chunk):
            return True
        chunk = outcome
        if chunk.window and not chunk.ceiling:
            # The chunk was read before that commit, so it has nothing of that SCN or later.
            chunk.ceiling = self._closed.get(chunk.window, 1) - 1
        return 0 < chunk.ceiling <= complete_scn

    def _is_mark_missed(self, chunk: Chunk, complete_scn: int) -> bool:
        """Whether the stream has come past the chunk's high mark and did not have it."""
        if not self._has_commit_scns:
            return False
        return 0 < chunk.closed_scn <= complete_scn and not chunk.ceiling and chunk.window not in self._closed

    def _deliver_outcome(
        self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, outcome: Outcome, time_us: int
    ) -> Step:
        if isinstance(outcome, Broken):
            raise outcome.error
        if isinstance(outcome, Failed):
            return self._give_up_table(state, snapshot, table, outcome, time_us)
        if isinstance(outcome, Began):
            known = self._shape(self._names.table(table.table))
            if known is not None and known.version != outcome.version:
                return self._start_again(state, snapshot, table, _OTHER_SHAPE)
            self._reader.take()
            begun = replace(table, order=outcome.order, maximum=outcome.maximum, last=())
            if not outcome.maximum:
                return self._finish_table(state, snapshot, begun, "EMPTY", time_us)
            self._reading = (snapshot.id, begun)
            return (), with_table(state, snapshot, begun)
        shape = self._shape(outcome.rows.schema.id)
        if shape is None:
            return self._finish_table(state, snapshot, table, "UNKNOWN_SCHEMA", time_us, error="the table was dropped")
        if shape.version != outcome.rows.schema.version:
            return self._start_again(state, snapshot, table, _OTHER_SHAPE)
        if len(outcome.rows) and not self.changes.tell_rows(shape.id, outcome.floor):
            return self._start_again(state, snapshot, table, _UNKNOWN_ROW)
        return self._deliver_chunk(state, snapshot, table, outcome, shape, time_us)

    def _start_again(self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, why: str) -> Step:
        """Drop what was read ahead, and read on at a later SCN after the last key that was delivered."""
        _log.info("incremental snapshot %s: %s %s", snapshot.id, table.table, why)
        self._start_reader(self._names.table(table.table), state, snapshot, table)
        return (), state

    def _deliver_chunk(
        self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, chunk: Chunk, shape: TableSchema, time_us: int
    ) -> Step:
        rows = self.changes.current(chunk.rows, chunk.floor)
        run = ReadRun(replace(rows, schema=shape), Scn(chunk.floor), chunk.time_us, SnapshotMark.INCREMENTAL)
        events: list[Event] = [] if not len(rows) else [run] if self._runs else [*run.events(0, len(rows))]
        self.read_scn = max(self.read_scn, chunk.floor, chunk.ceiling + 1)
        self._reader.take()
        if chunk.window:  # nor do marks that came before its own fit a later chunk
            self._closed = {window: scn for window, scn in self._closed.items() if scn > chunk.ceiling + 1}
        self.changes.prune(self._reader.floor())
        table = replace(table, last=chunk.last, rows=table.rows + len(rows), chunks=table.chunks + 1)
        self._reading = (snapshot.id, table)
        events.append(signal_answers.in_progress(snapshot, table, self._name(table), time_us))
        if not chunk.final:
            return events, with_table(state, snapshot, table)
        reports, state = self._finish_table(state, snapshot, table, "SUCCEEDED" if table.last else "EMPTY", time_us)
        return [*events, *reports], state

    def _give_up_table(
        self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, outcome: Failed, time_us: int
    ) -> Step:
        _log.warning("incremental snapshot %s: %s is given up: %s", snapshot.id, table.table, outcome.error.message)
        dropped = self._shape(self._names.table(table.table)) is None
        no_key = isinstance(outcome.error, UnsupportedRowError)
        status = "UNKNOWN_SCHEMA" if dropped else "NO_PRIMARY_KEY" if no_key else "SQL_EXCEPTION"
        events, state = self._finish_table(state, snapshot, table, status, time_us, error=outcome.error.message)
        if dropped:
            return events, state
        return [
            *events,
            *signal_answers.never_read(
                snapshot, table, self._name(table), outcome.error.message, self._emitted_scn, time_us
            ),
        ], state

    def _finish_table(
        self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, status: str, time_us: int, **data: str
    ) -> Step:
        reports = signal_answers.scanned(snapshot, table, self._name(table), status, time_us, **data)
        _log.info("incremental snapshot %s: %s is done, %s, %d rows", snapshot.id, self._name(table), status, table.rows)
        self.close()
        state = with_result(state, snapshot, status, data.get("error", ""))
        return [reports], replaced(state, snapshot, replace(snapshot, tables=snapshot.tables[1:]))

    def _name(self, table: TableRead) -> str:
        return self._names.full(table.table)


def replaced(state: SignalState, old: AdHocSnapshot, new: AdHocSnapshot) -> SignalState:
    """A state with `new` in the place of the snapshot that has the id of `old`; unchanged when there is none."""
    return replace(state, snapshots=tuple(new if snapshot.id == old.id else snapshot for snapshot in state.snapshots))


def without(state: SignalState, snapshot: AdHocSnapshot) -> SignalState:
    """A state without the snapshot that has the id of `snapshot`."""
    return replace(state, snapshots=tuple(other for other in state.snapshots if other.id != snapshot.id))


def with_table(state: SignalState, snapshot: AdHocSnapshot, table: TableRead) -> SignalState:
    """A state with `table` in the place of the first of the snapshot's tables, which is the one under way."""
    return replaced(state, snapshot, replace(snapshot, tables=(table, *snapshot.tables[1:])))
