"""Has suspended tables read again: from the signal, or the dictionary that shows the repair, to the last delete.

    begin      everything is delivered; the cause is gone at SCN `fixed`; the logs are written up to `covered`, which the stream may
               have yet to reach; the table's topic ends at `marks`. The table is not suspended any more, and an incremental snapshot
               of it is requested
    reading    the snapshot; rows committed at or before `covered` are left out of the stream, later ones are delivered
    deleting   keys that the topic shows as alive, and that have no record at or after the marks, are gone: each gets its delete
    done       until no transaction is open that began before `fixed`

Why nothing is missing, and nothing comes back. Every chunk is read as of `covered` or later.

* A change committed at or before `covered` is in the chunks, or its row is not in them. Then no record after the marks has its
  key, and the fold of the topic finds it. So those changes are left out even where they could be decoded: a row that an old
  change wrote after the marks, and that a change we cannot decode deleted, would look alive.
* A change committed after `covered` comes by the stream, and the chunks give way to it as in any incremental snapshot.

Redo written before the repair may still come after `covered`: of transactions that were open then. All of them began at or before
`fixed`, which is read from the database after the repair was seen. If such a row cannot be decoded, it is left out and the table
is suspended once more, silently (`SuspendedTable.again`). At the end of its transaction all of this begins again with later
`covered` and `marks`, and that read holds the row's change. There are finitely many of these transactions. A row that cannot be
decoded in a transaction that began after `fixed` is a new fault, and suspends the table as the first one did.

The topic holds what its readers have, so no copy is kept here: after a kill the fold is made again, and the deletes that were
delivered are records after the marks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import TypeAlias

from minercdc.errors import MinerCdcError, RecordSchemaError, SnapshotTooOldError, TransientSourceError
from minercdc.schema.patterns import literal_pattern
from minercdc.schema.table import TableId
from minercdc.snapshot.incremental.known_tables import NOT_CAPTURED, KnownTables
from minercdc.snapshot.incremental.resuming_contracts import Database, Suspended, TopicMemory
from minercdc.snapshot.incremental.resumption import with_resumption, without_resumption
from minercdc.stream import signal_answers
from minercdc.stream.events import Event, Notification, Scn, SuspensionChange, VanishedRow
from minercdc.stream.offset import AdHocSnapshot, Resumption, SignalState, SuspendedTable, TableRead
from minercdc.stream.signal import Signal

_log = logging.getLogger(__name__)

Step: TypeAlias = tuple[Sequence[Event], SignalState]
_DELETES_PER_STEP = 10_000
_LOOK_SECONDS = 5.0  # between two queries to the database for one thing
_GUESSES = 3  # times that a table is read again by itself in one run, though the dictionary never showed the cause


class Resumptions:
    """Runs the resumptions of a state; one for each pipeline. `step` at each end of a source transaction, `close` at the end.

    :param suspended: the tables that are suspended now; its entries change by the SuspensionChanges that are yielded.
    :param source: the database; `clock` gives seconds of a clock that never goes back.
    :param memory: None when deletes are not looked for; then `why` says why not.
    :param refusal: why a table cannot have its topic; None when it can.
    :param selects: whether a snapshot reads a table by a SELECT of the user's. Such a table is not read again by itself: that reads rows
        which the SELECT leaves out.
    :ivar begun: how many were begun; when it grows, no chunk that was read ahead may be delivered.
    """

    def __init__(
        self,
        suspended: Suspended,
        source: Database,
        known: KnownTables,
        memory: TopicMemory | None,
        *,
        why: str = "",
        refusal: Callable[[TableId], RecordSchemaError | None] = lambda _: None,
        selects: Callable[[TableId], bool] = lambda _: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._suspended = suspended
        self._source = source
        self._memory = memory
        self._why = why
        self._refusal = refusal
        self._selects = selects
        self._shape = known.shape
        self._learn = known.learn
        self._names = known.names
        self._captured = known.captured
        self._clock = clock
        self._looked: dict[tuple[str, str], float] = {}
        self._guesses: dict[str, int] = {}
        self._seen_broken: set[tuple[str, int]] = set()
        self._folding: Resumption | None = None
        self.begun = 0

    def suspended(self) -> Sequence[SuspendedTable]:
        """Tables that `resume-table` can name: not those that wait only to be read once more."""
        return [entry for entry in self._suspended.tables() if not entry.again]

    def close(self) -> None:
        """Stop reading a topic, if one is being read."""
        self._folding = None
        if self._memory is not None:
            self._memory.close()

    def step(self, state: SignalState, complete_scn: int, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """Do what can be done now; yields steps, no step while a source transaction is delivered in part.

        :param complete_scn: every commit at or below it has been emitted.
        :param emitted_scn: highest commit SCN emitted so far.
        :param time_us: for notifications, microseconds since the epoch in UTC.
        :raises MinerCdcError: the database or the topic cannot be read.
        """
        if not (state.resumes or state.resuming or self._suspended.tables()) or self._suspended.split:
            return
        for steps in (self._end_reads_of_suspended, self._begin_requested, self._begin_again, self._begin_repaired):
            for step in steps(state, emitted_scn, time_us):
                state = step[1]
                yield step
        for table in [one.table for one in state.resuming]:
            for step in self._continue(table, state, complete_scn, emitted_scn, time_us):
                state = step[1]
                yield step

    # ---- what begins ----

    def _end_reads_of_suspended(self, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """End resumptions of tables that a new fault has suspended, and take these tables out of incremental snapshots."""
        for entry in self.suspended():
            reports: list[Event] = []
            for resumption in [one for one in state.resuming if one.table == entry.table]:
                reports += self._ended(resumption, entry.reason, time_us)
                state = without_resumption(state, entry.table)
                self.close()
            for snapshot in [one for one in state.snapshots if not one.blocking]:
                kept = tuple(table for table in snapshot.tables if table.table != entry.table)
                if len(kept) < len(snapshot.tables):
                    name = self._names.full(entry.table)
                    reports.append(
                        signal_answers.of_snapshot(snapshot, "ABORTED", time_us, data_collections=name, error=entry.reason)
                    )
                    state = replace(
                        state,
                        snapshots=tuple(replace(s, tables=kept) if s.id == snapshot.id else s for s in state.snapshots),
                    )
            if reports:
                yield reports, state

    def _begin_requested(self, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """Begin what signals `resume-table` requested, in their order, or refuse it. One whose table a blocking snapshot
        reads waits."""
        for signal_id, table in state.resumes:
            entry = self._suspended.find(table)
            if entry is not None and self._is_read_whole(state, table):
                continue
            left = replace(state, resumes=tuple(one for one in state.resumes if one != (signal_id, table)))
            reason = f"{table} is not suspended any more" if entry is None else self._obstacle(entry)
            if entry is not None and entry.code == SnapshotTooOldError.code and not entry.automatic:
                reason = "it is read again by itself as soon as its changes can be read"
            if entry is None or reason:
                _log.warning("signal %s (resume-table) is refused: %s", signal_id, reason)
                state = left
                yield [signal_answers.answer(_signal(signal_id), "REFUSED", time_us, reason=reason)], state
                continue
            for events, state in self._begin(state, left, entry, signal_id, emitted_scn, time_us):  # noqa: B020
                yield events, state

    def _begin_again(self, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """Begin once more, for the same signal, with tables of which rows from before the repair came after they were read
        (`SuspendedTable.again`)."""
        for entry in [one for one in self._suspended.tables() if one.again]:
            if self._is_read_whole(state, entry.table):
                continue
            known = next((one for one in state.resuming if one.table == entry.table), None)
            signal_id = known.signal if known else _automatic_id(entry)
            for events, state in self._begin(state, state, entry, signal_id, emitted_scn, time_us, known):  # noqa: B020
                yield events, state

    def _begin_repaired(self, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """Begin with tables that may be read again by themselves (`automatic`), and whose cause is gone by the dictionary.

        Where the dictionary never showed the cause, the table was repaired before we looked, or the cause is another one. Such a
        table is tried a few times only.
        """
        for entry in self.suspended():
            table = entry.table
            if not entry.automatic or self._is_read_whole(state, table) or not self._due(table, "obstacle"):
                continue
            if self._obstacle(entry):
                self._seen_broken.add((table, entry.since_scn))
                continue
            if self._selects(self._names.table(table)):
                yield from self._left_to_the_user(entry, state)
                continue
            joined = entry.code == SnapshotTooOldError.code  # the capture says so when it can read the table again
            if not joined and (table, entry.since_scn) not in self._seen_broken:
                tried = self._guesses.get(table, 0)
                if tried >= _GUESSES:
                    continue
                self._guesses[table] = tried + 1
            self._seen_broken = {seen for seen in self._seen_broken if seen[0] != table}
            _log.info("%s: the dictionary shows that it can be decoded now; it is read again", table)
            for events, state in self._begin(state, state, entry, _automatic_id(entry), emitted_scn, time_us):  # noqa: B020
                yield events, state

    def _left_to_the_user(self, entry: SuspendedTable, state: SignalState) -> Iterator[Step]:
        """Have a table's entry say, and log, that it is read again on request only; nothing where it says so already."""
        fix = (
            "It can be read again, but a snapshot reads it by a SELECT of yours, and all of its rows would be read now:"
            f" minercdc signal CONFIG resume-table --collection {literal_pattern(entry.table)}"
        )
        if entry.fix != fix:
            _log.warning("%s stays suspended. %s", entry.table, fix)
            yield [SuspensionChange(entry.table, replace(entry, fix=fix))], state

    def _begin(
        self,
        before: SignalState,
        state: SignalState,
        entry: SuspendedTable,
        signal_id: str,
        emitted_scn: int,
        time_us: int,
        known: Resumption | None = None,
    ) -> Iterator[Step]:
        """End the suspension of a table, and request the snapshot that reads it; of a dropped table only the former.

        :param before: the state to be stored until the suspension has ended; `state` the one that its members are taken from
            then.
        :param known: the resumption that goes on; None: one begins.
        """
        name = self._names.table(entry.table)
        schema, reports = self._shape(name), list[Event]()
        if schema is None:
            change = self._learn(name)
            if change is None or change.after is None:
                completed = self._completed(signal_id, entry.table, time_us, "it is dropped")
                yield [SuspensionChange(entry.table, None), *completed], without_resumption(state, entry.table)
                return
            schema = change.after
            reports.append(change)
        marks: tuple[tuple[int, int], ...] = ()
        if self._memory is not None:
            self.close()
            yield from _durable(before)
            marks = self._memory.ends(schema)
        now, written = self._source.moment(name)
        fixed, answered = (known.fixed_scn, known.answered) if known else (now, False)
        resumption = Resumption(entry.table, signal_id, fixed, max(written, emitted_scn), marks, answered=answered)
        snapshot = AdHocSnapshot(signal_id, False, (f"{name.database}.{name}",), (TableRead(entry.table),))
        state = without_resumption(state, entry.table)
        state = with_resumption(replace(state, snapshots=(*state.snapshots, snapshot)), resumption)
        self.begun += 1
        if known is None:
            collections = signal_answers.joined(snapshot.collections)
            reports.append(signal_answers.answer(_signal(signal_id), "ACCEPTED", time_us, data_collections=collections))
        _log.info(
            "%s is not suspended any more; it is read again, for SCN %d and later", entry.table, resumption.covered_scn
        )
        ended = SuspensionChange(entry.table, None, resumption.covered_scn)
        yield [*reports, ended, signal_answers.started(snapshot, time_us)], state

    # ---- what goes on ----

    def _continue(self, table: str, state: SignalState, complete_scn: int, emitted_scn: int, time_us: int) -> Iterator[Step]:
        one = next((one for one in state.resuming if one.table == table), None)
        if one is None or self._suspended.find(table) is not None:
            return
        if one.phase == "reading":
            yield from self._reading(one, state, emitted_scn, time_us)
        elif one.phase == "deleting":
            yield from self._deleting(one, state, emitted_scn, time_us)
        else:
            yield from self._settling(one, state, complete_scn)

    def _reading(self, one: Resumption, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        """In phase `reading`: suspend a table again that could not be read, or whose reading was stopped, since its topic is as
        incomplete as before. A table that was dropped is done. No step while it is being read."""
        stopped = not any(snapshot.id == one.signal for snapshot in state.snapshots)
        if not one.failure and not stopped:
            return
        if self._shape(self._names.table(one.table)) is None:
            dropped = self._completed(one.signal, one.table, time_us, "it was dropped")
            yield dropped, without_resumption(state, one.table)
            return
        reason = f"it could not be read again: {one.failure}" if one.failure else "reading it again was stopped"
        yield self._suspended_again(one, state, emitted_scn, time_us, reason)

    def _suspended_again(self, one: Resumption, state: SignalState, emitted_scn: int, time_us: int, reason: str) -> Step:
        _log.error("%s IS SUSPENDED again: %s", one.table, reason)
        fix = f"minercdc signal CONFIG resume-table --collection {literal_pattern(one.table)}"
        entry = SuspendedTable(one.table, emitted_scn, "MC-3001", reason, fix)
        return [SuspensionChange(one.table, entry), *self._ended(one, reason, time_us)], without_resumption(state, one.table)

    def _deleting(self, one: Resumption, state: SignalState, emitted_scn: int, time_us: int) -> Iterator[Step]:
        schema = self._shape(self._names.table(one.table))
        if schema is None or self._memory is None:
            note = self._why if schema else "it was dropped"
            reports = [] if one.answered else self._completed(one.signal, one.table, time_us, note)
            yield reports, with_resumption(state, replace(one, phase="done", answered=True))
            return
        if reason := self._refused(one.table):  # the configuration has changed
            yield self._suspended_again(one, state, emitted_scn, time_us, reason)
            return
        mine = replace(one, deleted=0)
        if self._folding != mine:
            if any(replace(other, deleted=0) == self._folding for other in state.resuming):
                return  # one topic at a time: to begin here would lose the other's result
            self._memory.begin(schema, one.marks)
            self._folding = mine
        if not self._memory.ready():
            return
        yield from _durable(state)
        keys = self._memory.gone(_DELETES_PER_STEP)
        if keys:
            gone = [VanishedRow(schema, key, Scn(emitted_scn), time_us) for key in keys]
            yield gone, with_resumption(state, replace(one, deleted=one.deleted + len(keys)))
            return
        limits = self._memory.limits()
        self.close()
        if limits:
            _log.warning("%s: not all rows that vanished could be found: %s", one.table, limits)
        _log.info("%s is complete again; %d rows had vanished", one.table, one.deleted)
        reports = [] if one.answered else self._completed(one.signal, one.table, time_us, limits, one.deleted)
        yield reports, with_resumption(state, replace(one, phase="done", answered=True))

    def _settling(self, one: Resumption, state: SignalState, complete_scn: int) -> Iterator[Step]:
        """In phase `done`: end a resumption once no transaction can bring rows from before the repair any more."""
        if one.settled_scn:
            if complete_scn >= one.settled_scn:
                yield (), without_resumption(state, one.table)
        elif self._due(one.table, "open") and self._source.oldest_open_scn(self._names.table(one.table)) > one.fixed_scn:
            yield (), with_resumption(state, replace(one, settled_scn=self._source.moment(self._names.table(one.table))[0]))

    # ---- questions and answers ----

    def _obstacle(self, entry: SuspendedTable) -> str:
        """Why a table cannot be read again yet, '' when no cause is known."""
        try:
            return self._refused(entry.table) or self._source.obstacle(self._names.table(entry.table), entry.code)
        except TransientSourceError:
            raise
        except MinerCdcError as error:
            return f"whether it can be decoded cannot be found out: {error.message}"

    def _refused(self, table: str) -> str:
        """Why a table cannot have its topic, with the hint; '' when it can."""
        if not self._captured(self._names.table(table)):
            return NOT_CAPTURED
        error = self._refusal(self._names.table(table))
        return f"{error.message}. {error.hint}" if error else ""

    def _is_read_whole(self, state: SignalState, table: str) -> bool:
        """Whether a blocking snapshot of the table is under way, whose rows may be older than what would be left out of the
        stream."""
        return any(snapshot.blocking and any(t.table == table for t in snapshot.tables) for snapshot in state.snapshots)

    def _due(self, table: str, what: str) -> bool:
        now = self._clock()
        if now - self._looked.get((table, what), float("-inf")) < _LOOK_SECONDS:
            return False
        self._looked[table, what] = now
        return True

    def _ended(self, one: Resumption, reason: str, time_us: int) -> list[Event]:
        """The answer ABORTED to a resumption that ends without result; [] when it was answered before."""
        if one.answered:
            return []
        return [signal_answers.answer(_signal(one.signal), "ABORTED", time_us, reason=reason)]

    def _completed(self, signal_id: str, table: str, time_us: int, note: str, deleted: int = 0) -> list[Event]:
        data = {"data_collections": self._names.full(table), "vanished_rows": str(deleted)}
        data |= {"note": note} if note else {}
        resumed = Notification(signal_id, "Table", "RESUMED", time_us, data)
        return [resumed, signal_answers.answer(_signal(signal_id), "COMPLETED", time_us, **data)]


def _durable(state: SignalState) -> Iterator[Step]:
    """Two steps without events, after which everything emitted is durable: the publisher commits at such a step, unless it ends a
    transaction of the stream, as the first may."""
    yield (), state
    yield (), state


def _signal(signal_id: str) -> Signal:
    return Signal(signal_id, "resume-table", "", "")


def _automatic_id(entry: SuspendedTable) -> str:
    return f"resumed-{entry.table}-{entry.since_scn}"
