"""Between the capture and everything behind it: signals are read out of the stream and acted on where it is whole.

    ChangeEvent    of the signal table: kept for its transaction's end; of a table that is read: its key is noted
    SchemaChange   a table that is read may have been emptied
    Progress       signals of the transaction, then of the other channels; rows that may be delivered now

What signals asked for lives in `SignalState`, which every Progress carries: accepting a signal, delivering a chunk and
moving the position are one Kafka transaction, whatever is killed when.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from uuid import uuid4

from minercdc.contracts import StopFlag
from minercdc.events import ChangeEvent, Event, Op, Progress, SchemaChange, Scn
from minercdc.offset import Position, SignalState
from minercdc.schema.table import TableId
from minercdc.signals.actions import Acted, Actions
from minercdc.signals.blocking import BlockingSnapshots
from minercdc.signals.channels import Received, SignalChannel
from minercdc.signals.incremental import IncrementalSnapshots, Step
from minercdc.signals.marks import window_of
from minercdc.signals.signal import Signal, SignalRefused, signal_of_row


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The table of channel `source`.

    :param listens: the channel is enabled; without it the table is only there for marks.
    :param published: whether its rows are captured as any other table's.
    """

    id: TableId
    listens: bool
    published: bool


class SignalStage:
    """See `contracts.SignalActions`.

    :param channels: those that do not come with the stream.
    :param interval: seconds between two looks at them.
    :param now_us: microseconds since the epoch in UTC.
    """

    def __init__(
        self,
        table: SignalTable | None,
        actions: Actions,
        incremental: IncrementalSnapshots,
        blocking: BlockingSnapshots,
        channels: Sequence[SignalChannel],
        *,
        interval: float,
        now_us: Callable[[], int],
        clock: Callable[[], float] = monotonic,
        observe: Callable[[SignalState], None] = lambda _: None,
    ) -> None:
        self._table = table
        self._actions = actions
        self._incremental = incremental
        self._blocking = blocking
        self._channels = channels
        self._interval = interval
        self._now_us = now_us
        self._clock = clock
        self._observe = observe
        self._looked = float("-inf")
        self._told_scn = 0  # no commit behind it has been told
        self._received: list[Received] = []  # of the transaction under way

    def through(
        self, events: Iterator[Event], start: Position, state: SignalState, stop: StopFlag, partial_scn: int = 0
    ) -> Iterator[Event]:
        """See `contracts.SignalActions`."""
        table = self._table.id if self._table else None
        self._told_scn = max(start.delivered_scn, partial_scn)
        self._observe(state)
        if state.snapshots:
            begin = Progress(start, Scn(0), self._now_us(), signals=state)
            state = yield from self._told(begin, self._blocking.resume(state, stop), state)
            self._told_scn = max(self._told_scn, self._blocking.told_scn)
        noting = (self._incremental.changes, self._blocking.changes)
        for event in events:
            if isinstance(event, ChangeEvent):
                for changes in noting:
                    changes.note(event)
                if event.schema.id == table:
                    self._row(event)
                    if not (self._table and self._table.published):
                        continue
                yield event
            elif isinstance(event, Progress):
                state = yield from self._progress(event, state, stop)
            else:
                if isinstance(event, SchemaChange):
                    for changes in noting:
                        changes.note_schema(event)
                yield event

    def stored(self, state: SignalState) -> None:
        """See `contracts.SignalActions`."""
        self._observe(state)
        for channel in self._channels:
            channel.stored(state.taken.get(channel.name, ""))

    def close(self) -> None:
        self._incremental.close()
        self._blocking.close()
        for channel in self._channels:
            channel.close()

    def _row(self, event: ChangeEvent) -> None:
        """A row of the signal table: a mark, or a signal."""
        row = event.before if event.op is Op.DELETE else event.after
        if row is None or event.tx is None or event.op not in (Op.CREATE, Op.DELETE):
            return
        try:
            signal = signal_of_row(row)
        except SignalRefused as refused:
            if event.op is Op.CREATE:
                self._received.append(refused)
            return
        if mark := window_of(signal.id, signal.type):
            window, opens = mark
            self._incremental.mark(window, opens and event.op is Op.CREATE, event.tx.commit_scn)
        elif event.op is Op.CREATE and self._table and self._table.listens:
            self._received.append(signal)

    def _progress(self, progress: Progress, state: SignalState, stop: StopFlag) -> Generator[Event, None, SignalState]:
        """The stream is whole here. Yields the Progress with what is still to do; returns that state."""
        if progress.committed is not None:
            self._told_scn = max(self._told_scn, progress.committed.commit_scn)
        received, self._received = self._received, []
        taken = dict(state.taken)
        if self._clock() - self._looked >= self._interval:
            self._looked = self._clock()
            for channel in self._channels:
                found, mark = channel.poll(taken.get(channel.name, ""))
                received = [*received, *found]
                if mark or channel.name in taken:
                    taken[channel.name] = mark
        state = replace(state, taken=taken)
        time_us = self._now_us()
        for events, after in self._acted(received, state, progress, time_us):
            yield from events
            state = after
        scn = progress.complete_scn
        state = yield from self._told(replace(progress, signals=state), self._steps(state, scn, time_us, stop), state)
        return state

    def _steps(self, state: SignalState, scn: int, time_us: int, stop: StopFlag) -> Iterator[Step]:
        """What may be delivered now. Rows that are read tell of commits at their SCN, perhaps before the stream does: so
        incremental chunks wait for a blocking snapshot, and each kind counts as told for what the other reads later."""
        if not any(snapshot.blocking for snapshot in state.snapshots):
            for step in self._incremental.step(state, scn, self._told_scn, time_us):
                state = step[1]
                yield step
            self._told_scn = max(self._told_scn, self._incremental.told_scn)
        before = self._blocking.told_scn
        yield from self._blocking.step(state, scn, self._told_scn, time_us, stop)
        if self._blocking.told_scn > before:
            self._told_scn = max(self._told_scn, self._blocking.told_scn)
            self._incremental.close()  # a chunk on its way may be older than those rows: it is read again

    def _acted(self, received: Sequence[Received], state: SignalState, progress: Progress, time_us: int) -> Iterator[Acted]:
        """What earlier signals left to do in the capture, then the signals one after the other."""
        finished = self._actions.after(state, time_us)
        state = finished[1]
        yield finished
        for item in received:
            acted = self._actions.act(_named(item), state, progress, time_us)
            state = acted[1]
            yield acted

    def _told(self, progress: Progress, steps: Iterator[Step], state: SignalState) -> Generator[Event, None, SignalState]:
        """The Progress, then each step with one of its own; returns the state behind them.

        All but the last one say that more follows, so that many chunks share a Kafka transaction; a step without events
        makes what came before durable.
        """
        held = progress
        for events, after in steps:
            yield replace(held, more=bool(events))
            self._observe(after)
            yield from events
            state = after
            held = replace(progress, committed=None, snapshot=None, signals=state)
        yield held
        return state


def _named(item: Received) -> Received:
    """With an id, so that its answers can be told apart."""
    if isinstance(item, Signal):
        return item if item.id else replace(item, id=str(uuid4()))
    return item if item.id else SignalRefused(item.reason, id=str(uuid4()), type=item.type, channel=item.channel)
