"""Blocking snapshots: the stream comes to an SCN, waits while the tables are read as of it, and goes on.

    signal        s = an SCN that is written, and not below what was told; the tables' changes behind s are noted from here on
    stream at s   rows of each table AS OF s in order of ROWID, without those that a newer image was told of
    killed        goes on behind the last ROWID: at the same s, unless newer changes were told meanwhile; then at a new one
    DDL behind s  ORA-01466: the rest is read at a new s, which the stream comes to first

As with incremental chunks nothing older ever follows anything newer, at any number of redo threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from minercdc.contracts import StopFlag
from minercdc.errors import MinerCdcError, SnapshotTooOldError, SourceError, TransientSourceError
from minercdc.events import ChangeEvent, Event, Op, Row, SchemaChange, Scn, SnapshotMark
from minercdc.offset import AdHocSnapshot, SignalState, TableRead
from minercdc.schema.table import TableId, TableSchema
from minercdc.signals import answers
from minercdc.signals.incremental import Step, replaced, with_table, without
from minercdc.signals.window import Changes, Chunk

_log = logging.getLogger(__name__)

_PROGRESS_ROWS = 10_000

Batch: TypeAlias = Sequence[tuple[str, Row]]


class Tables(Protocol):
    """What a blocking snapshot asks of the database."""

    def written_scn(self) -> int: ...

    def rows(self, schema: TableSchema, scn: int, last_row_id: str, select: str) -> Iterator[Batch]:
        """Rows behind a ROWID as of an SCN, or those of a SELECT; an empty batch now and then while nothing comes.

        :raises SnapshotTooOldError: not as of that SCN any more.
        """

    def close(self) -> None: ...


class BlockingSnapshots:
    """Runs the blocking snapshots of a state.

    :param shape, learn: as of `IncrementalSnapshots`.
    :param now_us: microseconds since the epoch in UTC.
    """

    def __init__(
        self,
        source: Tables,
        shape: Callable[[TableId], TableSchema | None],
        learn: Callable[[TableId], SchemaChange | None],
        database: str,
        now_us: Callable[[], int],
    ) -> None:
        self._source = source
        self._shape = shape
        self._learn = learn
        self._database = database
        self._now_us = now_us
        self._fixed: str | None = None  # the snapshot whose SCN was fixed in this life
        self.changes = Changes()

    def close(self) -> None:
        self._source.close()

    def resume(self, state: SignalState, stop: StopFlag) -> Iterator[Step]:
        """What an earlier life left, before the stream moves at all."""
        snapshot = _running(state)
        if snapshot is not None and snapshot.reached:
            self._fixed = snapshot.id
            yield from self._read(state, snapshot, stop)

    def step(self, state: SignalState, complete_scn: int, told_scn: int, time_us: int, stop: StopFlag) -> Iterator[Step]:
        """What can be delivered now; the stream waits meanwhile.

        :param complete_scn: every commit at or below it has been told.
        :param told_scn: no commit behind it has been told.
        """
        while (snapshot := _running(state)) is not None and not stop.is_set():
            if self._fixed != snapshot.id:
                state = self._fix(state, snapshot, told_scn)
                yield (), state
                return
            if complete_scn < snapshot.scn - 1:  # what is committed at the SCN is what is read
                self.changes.prune(snapshot.scn)
                return
            reached = replace(snapshot, reached=not len(self.changes))
            state = replaced(state, snapshot, reached)
            yield (), state  # the first rows may take long
            for step in self._read(state, reached, stop):
                state = step[1]
                yield step

    def _fix(self, state: SignalState, snapshot: AdHocSnapshot, told_scn: int) -> SignalState:
        """Choose the SCN; from here on changes of the tables are noted."""
        self.changes.forget()
        for table in snapshot.tables:
            self.changes.follow(self._table(table))
        scn = max(self._source.written_scn(), told_scn)
        self.changes.prune(scn)
        self._fixed = snapshot.id
        _log.info("blocking snapshot %s: waiting for the stream to come to SCN %d", snapshot.id, scn)
        return replaced(state, snapshot, replace(snapshot, scn=scn, reached=False))

    def _read(self, state: SignalState, snapshot: AdHocSnapshot, stop: StopFlag) -> Iterator[Step]:
        try:
            for table in snapshot.tables:
                for step in self._rows(state, _now(state, snapshot), table, stop):
                    state = step[1]
                    yield step
                if stop.is_set():
                    return
        except SnapshotTooOldError as error:
            _log.warning("blocking snapshot %s: %s; the rest is read at a later SCN", snapshot.id, error.message)
            self._fixed = None
            yield (), replaced(state, snapshot, replace(_now(state, snapshot), scn=0, reached=False))
            return
        self._fixed = None
        self.changes.forget()
        self._source.close()
        done, time_us = _now(state, snapshot), self._now_us()
        _log.info("blocking snapshot %s is complete; streaming goes on", snapshot.id)
        told = (answers.of_snapshot(done, "COMPLETED", time_us), answers.completed(done, time_us))
        yield told, without(state, done)

    def _rows(self, state: SignalState, snapshot: AdHocSnapshot, table: TableRead, stop: StopFlag) -> Iterator[Step]:
        name = self._table(table)
        events: list[Event] = []
        schema = self._shape(name)
        if schema is None and (change := self._learn(name)) is not None:
            events.append(change)
            schema = change.after
        if schema is None:
            yield [self._scanned(snapshot, table, "UNKNOWN_SCHEMA")], _without_table(state, snapshot)
            return
        _log.info("blocking snapshot %s: reading %s as of SCN %d", snapshot.id, name, snapshot.scn)
        last, rows = table.last[0] if table.last else "", table.rows
        try:
            for batch in self._source.rows(schema, snapshot.scn, last, table.condition):
                if stop.is_set():
                    return
                current = list(self._events(schema, snapshot.scn, batch))
                events += current
                rows += len(current)
                if batch and batch[-1][0]:
                    table = replace(table, last=(batch[-1][0],))
                if not batch and not events:
                    yield (), state  # nothing comes for a while: what came before need not wait
                elif not batch or len(events) >= _PROGRESS_ROWS:
                    table = replace(table, rows=rows)
                    state = with_table(state, _now(state, snapshot), table)
                    yield [*events, answers.in_progress(snapshot, table, self._named(table), self._now_us())], state
                    events = []
        except (SnapshotTooOldError, TransientSourceError):
            raise
        except SourceError as error:
            yield [self._scanned(snapshot, table, "SQL_EXCEPTION", error)], _without_table(state, snapshot)
            return
        table = replace(table, rows=rows)
        events.append(self._scanned(snapshot, table, "SUCCEEDED" if table.rows else "EMPTY"))
        yield events, _without_table(state, snapshot)

    def _events(self, schema: TableSchema, scn: int, batch: Batch) -> Iterator[ChangeEvent]:
        time_us, mark = self._now_us(), SnapshotMark.TRUE
        chunk = Chunk(schema, batch, (), scn, scn, time_us, final=False)
        for row_id, row in self.changes.current(chunk):
            yield ChangeEvent(Op.READ, schema, None, row, Scn(scn), time_us, None, 0, row_id or None, snapshot=mark)

    def _scanned(self, snapshot: AdHocSnapshot, table: TableRead, status: str, error: MinerCdcError | None = None) -> Event:
        data = {"error": error.message} if error else {}
        return answers.scanned(snapshot, table, self._named(table), status, self._now_us(), **data)

    def _table(self, table: TableRead) -> TableId:
        schema, _, name = table.table.partition(".")
        return TableId(self._database, schema, name)

    def _named(self, table: TableRead) -> str:
        return f"{self._database}.{table.table}"


def _running(state: SignalState) -> AdHocSnapshot | None:
    return next((snapshot for snapshot in state.snapshots if snapshot.blocking), None)


def _now(state: SignalState, snapshot: AdHocSnapshot) -> AdHocSnapshot:
    """The snapshot as the state has it."""
    return next(found for found in state.snapshots if found.id == snapshot.id)


def _without_table(state: SignalState, snapshot: AdHocSnapshot) -> SignalState:
    now = _now(state, snapshot)
    return replaced(state, now, replace(now, tables=now.tables[1:]))
