"""Acts on signals: makes events of a signal and the state, answers among them, and the state after them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.schema.table_filter import names
from minercdc.schema.tables import Tables
from minercdc.signals.channels import Received
from minercdc.snapshot.incremental.chunks import replaced, without
from minercdc.stream import signal_answers
from minercdc.stream.contracts import OpenTransactions
from minercdc.stream.events import Event, Progress, SchemaChange, Scn
from minercdc.stream.offset import AdHocSnapshot, JsonValue, SignalState, SuspendedTable, TableRead
from minercdc.stream.signal import (
    Action,
    ChangeSchemas,
    DropTransaction,
    ExecuteSnapshot,
    ListTransactions,
    LogMessage,
    PauseSnapshot,
    PauseStreaming,
    ResumeSnapshot,
    ResumeStreaming,
    ResumeTable,
    Signal,
    SignalRefused,
    StopSnapshot,
    action_of,
    described,
    printable,
)
from minercdc.values.codec import is_supported

_log = logging.getLogger(__name__)

# Events, then the state that holds once they are delivered.
Acted: TypeAlias = tuple[Sequence[Event], SignalState]
_MOST_LISTED = 100
_DEFECTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)  # ours, met by what a signal holds


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a signal led to.

    :param state: once the events are delivered.
    :param status: of the answer; '' where another answers it later.
    :param data: goes into the answer.
    :param before, after: events on both sides of the answer.
    """

    state: SignalState
    status: str = "COMPLETED"
    data: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[Event] = ()
    after: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What actions need of the capture and the database.

    :param list_tables: reads which captured tables exist now; its errors pass through.
    :param open_transactions: None when the adapter does not know them.
    :param read_change: table and new structure of a `tableChanges` document, None for DROP; raises KeyError, TypeError,
        ValueError, AttributeError.
    """

    list_tables: Callable[[], Iterable[TableId]]
    open_transactions: OpenTransactions | None
    read_change: Callable[[Mapping[str, Any]], tuple[TableId, TableSchema | None]]


class Actions:
    """Acts on signals, one at a time; one for each pipeline. It changes no state itself, but returns the one to be stored; open
    transactions are given up, and shapes in `tables` changed, at once.

    :param tables: shapes at the point the stream has come to; a signal `schema-changes` changes them.
    :param captured: whether a table is captured.
    :param names: how the state names tables.
    :param suspended: tables whose rows are left out.
    :param several: the pluggable databases when there are several.
    :param answers_while_paused: there is a channel that does not come with the stream.
    """

    def __init__(
        self,
        source: Source,
        tables: Tables,
        captured: Callable[[TableId], bool],
        names: TableNames,
        suspended: Callable[[], Sequence[SuspendedTable]] = lambda: (),
        *,
        several: Sequence[str] = (),
        answers_while_paused: bool = True,
    ) -> None:
        self._several = several
        self._answers_while_paused = answers_while_paused
        self._source = source
        self._tables = tables
        self._captured = captured
        self.names = names
        self._suspended = suspended
        self._dropping: set[str] = set()  # ids of signals whose transactions were given up before the last Progress

    def act(self, received: Received, state: SignalState, progress: Progress, time_us: int) -> Acted:
        """Act on one signal; one that is refused, or that a defect stops, changes no state and is answered REFUSED.

        :param progress: the stream's present one.
        :param time_us: for notifications, microseconds since the epoch in UTC.
        :returns: events to emit, and the state once they are delivered.
        :raises MinerCdcError: as `Source.list_tables`; the signal is not acted on.
        """
        if isinstance(received, SignalRefused):
            return self._refused(received.signal(), received, state, time_us)
        try:
            action = action_of(received)
            _log.info("signal %s by %s: %s", received.id, received.channel, described(received))
            outcome = self._perform(action, received, state, progress, time_us)
        except SignalRefused as refused:
            return self._refused(received, refused, state, time_us)
        except _DEFECTS as error:  # a restart would meet the same signal again
            _log.exception("signal %s failed", printable(received.id))
            defect = SignalRefused(f"minercdc failed with {type(error).__name__}: {error}")
            return self._refused(received, defect, state, time_us)
        answers = [signal_answers.answer(received, outcome.status, time_us, **outcome.data)] if outcome.status else []
        return [*outcome.before, *answers, *outcome.after], outcome.state

    def after(self, state: SignalState, time_us: int) -> Acted:
        """Answer COMPLETED to each `drop-transaction` whose transaction was given up before this Progress, and take it out of the
        state. One that an earlier run left in the state is given up again now, and answered at the next call.
        """
        reports: list[Event] = []
        for signal_id, xid in state.drops:
            if signal_id in self._dropping:
                self._dropping.discard(signal_id)
                reports.append(
                    signal_answers.answer(Signal(signal_id, "drop-transaction", "", ""), "COMPLETED", time_us, xid=xid)
                )
                state = replace(state, drops=tuple(drop for drop in state.drops if drop[0] != signal_id))
            else:
                if self._source.open_transactions is not None:
                    self._source.open_transactions.drop_transaction(xid)
                self._dropping.add(signal_id)
        return reports, state

    def _refused(self, signal: Signal, refused: SignalRefused, state: SignalState, time_us: int) -> Acted:
        shown = printable(signal.id), printable(signal.type) or "no type", printable(refused.reason)
        _log.warning("signal %s (%s) is refused: %s", *shown)
        return [signal_answers.answer(signal, "REFUSED", time_us, reason=refused.reason)], state

    def _perform(self, action: Action, signal: Signal, state: SignalState, progress: Progress, time_us: int) -> _Outcome:
        match action:
            case ExecuteSnapshot():
                return self._execute(action, signal, state, time_us)
            case StopSnapshot():
                return self._stop(action, signal, state, time_us)
            case PauseSnapshot():
                return self._pause(state, time_us, paused=True)
            case ResumeSnapshot():
                return self._pause(state, time_us, paused=False)
            case PauseStreaming():
                return self._pause_streaming(state, paused=True)
            case ResumeStreaming():
                return self._pause_streaming(state, paused=False)
            case LogMessage(message):
                offset = json.dumps(progress.position.to_json()) if progress.position is not None else "{}"
                _log.info("%s", printable(message.replace("{}", offset)))
                return _Outcome(state)
            case ChangeSchemas(changes):
                wanted = [self._change(change) for change in changes]  # all of them, or none
                return _Outcome(state, before=[self._schema_change(*one, progress, time_us) for one in wanted])
            case DropTransaction(xid):
                return self._drop(xid, signal, state)
            case ResumeTable(collections):
                return self._resume(collections, signal, state)
            case ListTransactions():
                return self._list(state)

    def _execute(self, action: ExecuteSnapshot, signal: Signal, state: SignalState, time_us: int) -> _Outcome:
        if signal.id in _under_way(state):
            raise SignalRefused(f"{signal.id} is under way already: give another id")
        found = sorted(set(self._source.list_tables()) | {table.id for table in self._tables if self._captured(table.id)})
        suspended = {entry.table for entry in self._suspended()}
        matched = [table for table in found if any(names(pattern, table) for pattern in action.collections)]
        wanted = [table for table in matched if self.names.of(table) not in suspended]
        unknown = [pattern for pattern in action.collections if not any(names(pattern, table) for table in found)]
        if matched and not wanted:
            raise SignalRefused(f"{', '.join(map(self.names.of, matched))}: suspended; signal resume-table reads it again")
        if not wanted:
            raise SignalRefused(f"no captured table matches {', '.join(unknown)}")
        for pattern, text in action.conditions:
            if not any(names(pattern, table) for table in wanted):
                raise SignalRefused(f"additional-conditions: {pattern} names none of these tables, so nothing has {text}")
        snapshot = AdHocSnapshot(
            id=signal.id,
            blocking=action.blocking,
            collections=tuple(f"{table.database}.{table}" for table in wanted),
            tables=tuple(TableRead(self.names.of(table), action.condition(table)) for table in wanted),
            surrogate_key=action.surrogate_key,
        )
        data = {"data_collections": signal_answers.joined(snapshot.collections)}
        if unknown:
            data["unmatched"] = signal_answers.joined(unknown)
        if len(wanted) < len(matched):
            data["suspended"] = signal_answers.joined(self.names.of(table) for table in matched if table not in wanted)
        state = replace(state, snapshots=(*state.snapshots, snapshot))
        return _Outcome(state, "ACCEPTED", data, after=[signal_answers.started(snapshot, time_us)])

    def _resume(self, collections: Sequence[str], signal: Signal, state: SignalState) -> _Outcome:
        """Put the suspended tables that match into `state.resumes`; `Resumptions` reads them, and answers."""
        known = [entry.table for entry in self._suspended()]
        wanted = [name for name in known if any(names(pattern, self.names.table(name)) for pattern in collections)]
        if not wanted:
            raise SignalRefused(f"no such table is suspended; suspended are: {', '.join(known) or 'none'}")
        if requested := [table for _, table in state.resumes if table in wanted]:
            raise SignalRefused(f"{', '.join(requested)}: to be resumed already")
        given = {name: signal.id if len(wanted) == 1 else f"{signal.id}-{name}" for name in wanted}
        if taken := _under_way(state, but=wanted) & set(given.values()):
            raise SignalRefused(f"{min(taken)} is under way already: give another id")
        return _Outcome(replace(state, resumes=(*state.resumes, *((given[name], name) for name in wanted))), status="")

    def _stop(self, action: StopSnapshot, signal: Signal, state: SignalState, time_us: int) -> _Outcome:
        """Take the tables that match out of the snapshots of the state; one that is being read stops where it is."""
        reports: list[Event] = []
        for snapshot in [s for s in state.snapshots if action.blocking in (None, s.blocking)]:
            kept = tuple(table for table in snapshot.tables if not self._stops(action, table))
            if len(kept) == len(snapshot.tables):
                continue
            stopped = [self.names.full(table.table) for table in snapshot.tables if table not in kept]
            reports.append(
                signal_answers.of_snapshot(snapshot, "ABORTED", time_us, data_collections=signal_answers.joined(stopped))
            )
            if kept:
                rows = snapshot.rows + sum(
                    table.rows for table in snapshot.tables if table not in kept and snapshot.blocking
                )
                state = replaced(state, snapshot, replace(snapshot, tables=kept, rows=rows))
            else:
                reports.append(signal_answers.aborted(snapshot, signal.id, time_us))
                state = without(state, snapshot)
        if not reports:
            raise SignalRefused("no snapshot of such a table is under way")
        if not any(not snapshot.blocking for snapshot in state.snapshots):
            state = replace(state, paused=False)
        return _Outcome(state, before=reports)

    def _stops(self, action: StopSnapshot, table: TableRead) -> bool:
        table_id = self.names.table(table.table)
        return not action.collections or any(names(pattern, table_id) for pattern in action.collections)

    def _pause(self, state: SignalState, time_us: int, *, paused: bool) -> _Outcome:
        running = [snapshot for snapshot in state.snapshots if not snapshot.blocking]
        if not running:
            raise SignalRefused("no incremental snapshot is under way")
        if state.paused == paused:
            raise SignalRefused("it is paused already" if paused else "it is not paused")
        type_, collections = "PAUSED" if paused else "RESUMED", signal_answers.joined(running[0].collections)
        told = signal_answers.of_snapshot(running[0], type_, time_us, data_collections=collections)
        return _Outcome(replace(state, paused=paused), before=[told])

    def _pause_streaming(self, state: SignalState, *, paused: bool) -> _Outcome:
        if state.streaming_paused == paused:
            raise SignalRefused("streaming is paused already" if paused else "streaming is not paused")
        if paused and not self._answers_while_paused:
            raise SignalRefused(
                "nothing could resume it: channel source comes with the stream; enable kafka, file, http or in-process, too"
            )
        _log.warning("streaming %s", "is paused; signal resume-streaming lets it go on" if paused else "goes on")
        return _Outcome(replace(state, streaming_paused=paused))

    def _change(self, document: Mapping[str, Any]) -> tuple[TableId, TableSchema | None]:
        try:
            table, after = self._source.read_change(document)
        except KeyError as error:
            raise SignalRefused(f"changes: not a tableChanges document: {error.args[0]} is missing") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise SignalRefused(f"changes: not a tableChanges document: {error}") from None
        if not self._captured(table):
            raise SignalRefused(f"changes: {table} is not captured")
        if after is None and self._tables.find(table) is None:
            raise SignalRefused(f"changes: {table} is not known, so it cannot be dropped")
        for column in after.columns if after else ():
            if not is_supported(column):
                raise SignalRefused(f"changes: {table}: type {column.type_name} of column {column.name} is not supported")
        return table, after

    def _schema_change(self, table: TableId, after: TableSchema | None, progress: Progress, time_us: int) -> SchemaChange:
        before = self._tables.find(table)
        if after is None:
            self._tables.drop(table)
        else:
            if before is not None and not after.object_id:
                after = replace(
                    after,
                    object_id=before.object_id,
                    stored=after.stored or before.stored,
                    parts=before.parts,
                    parts_from=before.parts_from,
                    listed_at=before.listed_at,
                )
            after = self._tables.next_version(after)
            self._tables.put(after)
        return SchemaChange(table, before, after, "", Scn(progress.complete_scn), time_us)

    def _drop(self, xid: str, signal: Signal, state: SignalState) -> _Outcome:
        if self._source.open_transactions is None:
            raise SignalRefused("drop-transaction needs database.connection.adapter=logminer, which buffers transactions")
        if self._several and ":" not in xid:
            raise SignalRefused(
                f"transaction-id: pluggable databases have the same XIDs: give {self._several[0]}:{xid}, or another one"
            )
        if not self._source.open_transactions.drop_transaction(xid):
            raise SignalRefused(f"no transaction {xid} is open, as far as redo is read")
        self._dropping.add(signal.id)
        return _Outcome(replace(state, drops=(*state.drops, (signal.id, xid))), "ACCEPTED", {"xid": xid})

    def _list(self, state: SignalState) -> _Outcome:
        if self._source.open_transactions is None:
            raise SignalRefused("list-transactions needs database.connection.adapter=logminer, which buffers transactions")
        found = sorted(self._source.open_transactions.open_transactions(), key=lambda transaction: transaction.start_scn)
        listed: list[JsonValue] = [
            {
                "transaction-id": one.xid,
                "redo_thread": one.thread,
                "user": one.user,
                "start_scn": str(one.start_scn),
                "start_time": one.start_time,
                "changes": one.changes,
            }
            for one in found[:_MOST_LISTED]
        ]
        return _Outcome(state, data={"count": str(len(found)), "transactions": json.dumps(listed)})


def _under_way(state: SignalState, but: Collection[str] = ()) -> set[str]:
    """Ids of the signals whose work is not over: a snapshot is found by its id, and so is the resumption that it reads for. That of a
    table outlasts its answer (`Resumption.answered`).

    :param but: tables whose resumption is about to end.
    """
    return {
        *(snapshot.id for snapshot in state.snapshots),
        *(signal for signal, _ in state.resumes),
        *(one.signal for one in state.resuming if one.table not in but),
    }
