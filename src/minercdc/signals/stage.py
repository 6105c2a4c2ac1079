"""The stage between the capture and the publisher: takes signals out of the stream and acts on them where the stream is whole.

    ChangeEvent    of the signal table: kept for its transaction's end; of a table that is read: its key is noted
    ChangeRun      of such a table: taken apart into ChangeEvents; others go on whole
    SchemaChange   a table that is read may have been emptied or renamed, or its rows moved
    Progress       signals of the transaction, then of the other channels; rows that may be delivered now

`SignalState` is what signals have left to do, and every Progress carries it. So accepting a signal, delivering a chunk and
moving the position are one Kafka transaction, whenever a kill comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from uuid import uuid4

from minercdc.schema.table import TableId
from minercdc.signals.actions import Acted, Actions
from minercdc.signals.channels import Received, SignalChannel
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots, Step
from minercdc.snapshot.incremental.resuming import Resumptions
from minercdc.snapshot.incremental.resumption import renamed
from minercdc.snapshot.incremental.untraced import Untraced, from_the_first_row, untraced_by
from minercdc.snapshot.incremental.watermarks import window_of
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, Op, Progress, SchemaChange, Scn
from minercdc.stream.offset import AdHocSnapshot, Position, SignalState, TableRead
from minercdc.stream.signal import STOP, Signal, SignalRefused, signal_of_row
from minercdc.stream.signal_table import taken_for

_log = logging.getLogger(__name__)

_GONE = (
    "rows went or came without redo of them (those that went have no delete in the topic: a new topic and snapshot, or"
    " minercdc lake rebuild CONFIG, leave them out)"
)
_WHY = {
    Untraced.LOST: _GONE,
    Untraced.MOVED: "its rows have other ROWIDs",
    Untraced.OTHER: "the name is that of another table now",
    Untraced.ORDER: "columns that it is read in order of are gone, renamed or of another length",
}
_PAUSED_SECONDS = 5.0  # between two looks whether this process still owns the connector's name


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The signal table, `signal.data.collection`.

    :param listens: channel `source` is enabled: inserted rows are signals; without it the table is only there for marks.
    :param published: whether its rows are captured as any other table's.
    """

    id: TableId
    listens: bool
    published: bool


@dataclass(frozen=True, slots=True)
class TableReads:
    """What reads tables again.

    :param incremental: runs the incremental snapshots.
    :param blocking: runs the blocking snapshots.
    :param resumptions: reads tables that were suspended; None when no table is ever suspended.
    """

    incremental: IncrementalSnapshots
    blocking: BlockingSnapshots
    resumptions: Resumptions | None = None


@dataclass(frozen=True, slots=True)
class Polling:
    """How signals are looked for that do not come with the stream.

    :param channels: that bring them.
    :param interval: seconds between two polls.
    :param clock: seconds of a clock that never goes back.
    """

    channels: Sequence[SignalChannel]
    interval: float
    clock: Callable[[], float] = monotonic


@dataclass(frozen=True, slots=True)
class Watching:
    """What sees the work on signals.

    :param observe: called with the state at the start, after each step and each commit, and when streaming is paused.
    :param pausing: a context in which streaming is paused.
    """

    observe: Callable[[SignalState], None] = lambda _: None
    pausing: Callable[[], AbstractContextManager[None]] = nullcontext


_UNWATCHED = Watching()


class SignalStage:
    """The `contracts.SignalActions` of a pipeline, used by one thread, for one stream. It owns what `reads` and
    `polling` have, and closes it.

    :param table: None when no signal table is configured.
    :param reads: what reads tables again.
    :param polling: of the channels that do not come with the stream.
    :param now_us: reads the clock: microseconds since the epoch in UTC.
    :param watching: what sees the work.
    :param without_record: which changes have no record in the topic (`skipped.operations`, `skip.messages.without.change`). They do
        not make a row that is read out of date: that is the only one the topic gets.
    :param at_start: makes signals of the connector itself, once before the stream; those whose snapshot is under way are passed
        over.
    """

    def __init__(
        self,
        table: SignalTable | None,
        actions: Actions,
        reads: TableReads,
        polling: Polling,
        *,
        now_us: Callable[[], int],
        watching: Watching = _UNWATCHED,
        without_record: Callable[[ChangeEvent], bool] = lambda _: False,
        at_start: Callable[[], Sequence[Signal]] = tuple,
    ) -> None:
        self._at_start = at_start
        self._without_record = without_record
        self._pausing = watching.pausing
        self._table = table
        self._actions = actions
        self._incremental = reads.incremental
        self._blocking = reads.blocking
        self._resumptions = reads.resumptions
        self._channels = polling.channels
        self._interval = polling.interval
        self._clock = polling.clock
        self._now_us = now_us
        self._observe = watching.observe
        self._polled_at = float("-inf")
        self._emitted_scn = 0  # highest commit SCN emitted so far
        self._received: list[Received] = []  # of the transaction under way, and of the channels
        self._marks: dict[str, str] = {}  # of the channels: how far `_received` is read
        self._interrupting = False  # a snapshot that the stream waits for is to be stopped

    def through(
        self, events: Iterator[Event], start: Position, state: SignalState, stop: StopFlag, partial_scn: int = 0
    ) -> Iterator[Event]:
        """The same events, some ChangeRuns as their single events, with those that signals requested in between, without rows of a
        signal table that is not captured; each Progress has the state to store. While streaming is paused no event is taken;
        ends early when `stop` is set then.

        :param start: position that the capture starts from.
        :param state: stored state of signals.
        :param partial_scn: commit SCN of a split transaction that was delivered in part, 0 when there is none.
        :raises MinerCdcError: a channel, the database or a topic cannot be read.
        """
        table = self._table.id if self._table else None
        self._emitted_scn = max(start.delivered_scn, partial_scn)
        self._observe(state)
        state = yield from self._begin(start, state)
        if state.snapshots:
            begin = Progress(start, Scn(0), 0, signals=state)
            state = yield from self._emit_progress(begin, state, lambda state: self._blocking.resume(state, stop))
            self._emitted_scn = max(self._emitted_scn, self._blocking.read_scn)
        if state.streaming_paused:
            state = yield from self._while_paused(Progress(start, Scn(0), 0, signals=state), state, stop)
            if state.streaming_paused:
                return
        noting = (self._incremental.changes, self._blocking.changes)
        for event in self._apart(events):
            if isinstance(event, ChangeEvent):
                if event.tx is None:
                    self._emitted_scn = max(self._emitted_scn, event.scn)
                noted = [changes for changes in noting if changes.follows((event.schema.id,))]
                if noted and not self._without_record(event):
                    for changes in noted:
                        changes.note(event)
                if event.schema.id == table:
                    self._take_row(event)
                    if not (self._table and self._table.published):
                        continue
                yield event
            elif isinstance(event, Progress):
                state = yield from self._take_progress(event, state, stop)
                if state.streaming_paused:
                    state = yield from self._while_paused(event, state, stop)
                    if state.streaming_paused:
                        return
            else:
                if isinstance(event, ChangeRun):  # of several transactions; what follows it says the last one's SCN only
                    self._emitted_scn = max(self._emitted_scn, event.rows.commit_scns[1])
                elif isinstance(event, SchemaChange):
                    for changes in noting:
                        changes.note_schema(event)
                    state = self._follow_ddl(event, state)
                yield event

    def _begin(self, start: Position, state: SignalState) -> Generator[Event, None, SignalState]:
        """Act on the signals of `at_start`, and make that durable before any event of the stream: if there are any, a
        Progress follows their events. Returns the state after that."""
        known = {snapshot.id for snapshot in state.snapshots}
        wanted = [signal for signal in self._at_start() if signal.id not in known]
        progress = Progress(start, Scn(0), 0, signals=state)
        for signal in wanted:
            events, state = self._actions.act(signal, state, progress, self._now_us())
            yield from events
        if wanted:
            yield replace(progress, signals=state)
        return state

    def _while_paused(self, last: Progress, state: SignalState, stop: StopFlag) -> Generator[Event, None, SignalState]:
        """Take no event of the capture, but signals of the channels, until one resumes streaming; returns the state after
        that, which is still paused when `stop` was set.

        :param last: of the stream; it is emitted again and again, so that the process goes on to answer and to check its claim.
        """
        self._observe(state)
        again = replace(last, committed=None, snapshot=None, more=False)
        with self._pausing():
            yield replace(again, signals=state)  # what came before the pause does not wait for its end
            while state.streaming_paused and not stop.wait(min(self._interval, _PAUSED_SECONDS)):
                state = yield from self._take_progress(again, state, stop)
        return state

    def _apart(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events, but in place of a ChangeRun with changes that are looked at here its ChangeEvents and Progress."""
        noting = (self._incremental.changes, self._blocking.changes)
        signals = self._table.id if self._table else None
        for event in events:
            if isinstance(event, ChangeRun):
                tables = event.rows.tables
                if signals in tables or any(changes.follows(tables) for changes in noting):
                    yield from event.events()
                    continue
            yield event

    def stored(self, state: SignalState) -> None:
        """Take note that `state` is durable in the sink: the channels need not keep the signals that it has taken."""
        self._observe(state)
        for channel in self._channels:
            channel.stored(state.taken.get(channel.name, ""))

    def close(self) -> None:
        """Stop all reading and close the channels; safe to call twice."""
        self._incremental.close()
        self._blocking.close()
        if self._resumptions:
            self._resumptions.close()
        for channel in self._channels:
            channel.close()

    def _take_row(self, event: ChangeEvent) -> None:
        """Take a row of the signal table: note a mark, or keep a signal until the end of its transaction. Only inserts are
        signals; an update without the image before it counts as one, since an adapter that cannot distinguish them delivers
        both so."""
        row = event.before if event.op is Op.DELETE else event.after
        written = event.op is Op.CREATE or (event.op is Op.UPDATE and event.before is None)
        if row is None or event.tx is None or not (written or event.op is Op.DELETE):
            return
        try:
            signal = signal_of_row(row)
        except SignalRefused as refused:
            if written:
                self._received.append(refused)
            return
        if mark := window_of(signal.id, signal.type):
            window, opens = mark
            self._incremental.mark(window, opens and written, event.tx.commit_scn)
        elif written and self._table and self._table.listens:
            taken = taken_for(event.schema)
            reason = f"the columns of the signal table are read by their places, ID, TYPE, DATA: {taken}; `minercdc check CONFIG` has the SQL"
            self._received.append(SignalRefused(reason, channel="source") if taken else signal)

    def _take_progress(self, progress: Progress, state: SignalState, stop: StopFlag) -> Generator[Event, None, SignalState]:
        """Act on what was received, emit a Progress, at which the stream is whole, with the state of what is still to do, and
        then what may be delivered; returns the state after that."""
        if progress.committed is not None:
            self._emitted_scn = max(self._emitted_scn, progress.committed.commit_scn)
        state = yield from self._act_on_received(progress, state)
        scn, time_us = progress.complete_scn, self._now_us()
        return (yield from self._emit_progress(progress, state, lambda state: self._make_steps(state, scn, time_us, stop)))

    def _act_on_received(self, progress: Progress, state: SignalState) -> Generator[Event, None, SignalState]:
        """Poll the channels if it is time, and act on every signal received; yields the events of that, and returns the state
        after them."""
        self._poll_channels(state)
        received, self._received = self._received, []
        state, self._marks = replace(state, taken={**state.taken, **self._marks}), {}
        for events, after in self._act_on_each(received, state, progress, self._now_us()):
            yield from events
            state = after
        return state

    def _poll_channels(self, state: SignalState) -> None:
        """Read the channels, when `interval` has passed since the last time; `_act_on_received` acts on what they have, and
        marks it as taken. Notes whether there is a stop-snapshot."""
        if self._clock() - self._polled_at < self._interval:
            return
        self._polled_at = self._clock()
        for channel in self._channels:
            taken = {**state.taken, **self._marks}.get(channel.name)
            found, mark = channel.poll(taken or "")
            self._received += found
            if mark or taken is not None:
                self._marks[channel.name] = mark
            self._interrupting |= any(isinstance(one, Signal) and one.type.strip() == STOP for one in found)

    def _emit_progress(
        self, progress: Progress, state: SignalState, steps: Callable[[SignalState], Generator[Step, None, None]]
    ) -> Generator[Event, None, SignalState]:
        """Emit the Progress and what may be delivered after it; returns the state after that.

        The stream waits for a blocking snapshot, so the channels are polled between its steps. When one has a stop-snapshot, the
        read ends where it is, as if the connector had been killed there. The signals are acted on, and the rest is read on.
        """
        while True:
            self._interrupting = False
            state = yield from self._emit_with_steps(replace(progress, signals=state), steps(state), state)
            if not self._interrupting:
                return state
            progress = replace(progress, committed=None, snapshot=None)
            state = yield from self._act_on_received(progress, state)

    def _follow_ddl(self, change: SchemaChange, state: SignalState) -> SignalState:
        """The state, in which a table that waits to be read, or is being read, has its new name after a RENAME; after DDL that moves
        rows, or makes some go or come without redo of them, it is read again from its first row where its last key does not say
        any more what was read, and what was read ahead is dropped."""
        if change.after is None or change.ids_only:
            return state
        before = change.before.id if change.before is not None else change.after.id
        old, new = self._actions.names.of(before), self._actions.names.of(change.after.id)
        if old != new:
            state = renamed(state, old, new)
        read = [table for snapshot in state.snapshots for table in snapshot.tables if table.table == old]
        if not read:
            return state
        if old != new:
            self._blocking.fix_again()
        untraced = untraced_by(change, {name for table in read for name in table.order})
        if untraced is not Untraced.NOTHING:
            self._incremental.close()
            self._emitted_scn = max(self._emitted_scn, change.scn)  # no chunk from here on is read before it

        def followed(snapshot: AdHocSnapshot, table: TableRead) -> TableRead:
            if table.table != old:
                return table
            if not from_the_first_row(snapshot, table, untraced):
                return replace(table, table=new)
            _log.warning(
                "snapshot %s: %s is read again from its first row, since %s: %s",
                snapshot.id,
                new,
                _WHY[untraced],
                change.ddl,
            )
            return replace(table, table=new, order=(), last=(), maximum=())

        return replace(
            state,
            snapshots=tuple(
                replace(snapshot, tables=tuple(followed(snapshot, table) for table in snapshot.tables))
                for snapshot in state.snapshots
            ),
        )

    def _make_steps(self, state: SignalState, scn: int, time_us: int, stop: StopFlag) -> Generator[Step, None, None]:
        """Steps with what may be delivered now, of resumptions, incremental and blocking snapshots in this order.

        Rows that are read may show commits at their SCN before the stream does. So incremental chunks wait for a blocking
        snapshot, and neither kind reads below the SCN of what the other has emitted.
        """
        if self._resumptions:
            begun = self._resumptions.begun
            for step in self._resumptions.step(state, scn, self._emitted_scn, time_us):
                state = step[1]
                yield step
            if self._resumptions.begun > begun:
                self._incremental.close()  # a chunk that was read ahead may be older than what is left out of the stream
        if not any(snapshot.blocking for snapshot in state.snapshots):
            for step in self._incremental.step(state, scn, self._emitted_scn, time_us):
                state = step[1]
                yield step
            self._emitted_scn = max(self._emitted_scn, self._incremental.read_scn)
        before = self._blocking.read_scn
        try:
            yield from self._blocking.step(state, scn, self._emitted_scn, time_us, stop)
        finally:
            if self._blocking.read_scn > before:
                self._emitted_scn = max(self._emitted_scn, self._blocking.read_scn)
                self._incremental.close()  # a chunk that was read ahead may be older than those rows: it is read again

    def _act_on_each(
        self, received: Sequence[Received], state: SignalState, progress: Progress, time_us: int
    ) -> Iterator[Acted]:
        """Finish what earlier signals left to do in the capture (`Actions.after`), then act on the signals one after the
        other; yields the events of each, and the state after them."""
        finished = self._actions.after(state, time_us)
        state = finished[1]
        yield finished
        for item in received:
            acted = self._actions.act(_with_id(item), state, progress, time_us)
            state = acted[1]
            yield acted

    def _emit_with_steps(
        self, progress: Progress, steps: Generator[Step, None, None], state: SignalState
    ) -> Generator[Event, None, SignalState]:
        """Emit the Progress, then each step with a Progress of its own; returns the state after them. Ends early, and closes
        `steps`, when a stop-snapshot was received.

        A Progress before a step with events says that more follows, so that many chunks share a Kafka transaction. A step without
        events makes what came before durable.
        """
        held = progress
        with closing(steps):
            for events, after in steps:
                yield replace(held, more=bool(events))
                self._observe(after)
                yield from events
                state = after
                held = replace(progress, committed=None, snapshot=None, signals=state)
                if any(snapshot.blocking for snapshot in state.snapshots):
                    self._poll_channels(state)
                    if self._interrupting:
                        break
        yield held
        return state


def _with_id(item: Received) -> Received:
    """The same signal or refusal, with a UUID as id if it has none, so that its answers can be matched with each other."""
    if isinstance(item, Signal):
        return item if item.id else replace(item, id=str(uuid4()))
    return item if item.id else SignalRefused(item.reason, id=str(uuid4()), type=item.type, channel=item.channel)
