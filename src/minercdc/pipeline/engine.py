"""The loop: read events, encode them, write them to the sink, and now and then commit them with the offset.

run            restarts around run_once, by the type of the error
run_once       one run of the stream: sink, offset, events, until stopped
read_events    the initial snapshot if it is due, then the capture's stream
               through signals, which add what they request
skip_sent      leaves out the part of a split transaction that was delivered before
publish        events -> records, committed with the offset at `Progress` (publisher.py)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from minercdc.errors import (
    DeliveryError,
    MinerCdcError,
    MiningSessionError,
    SourceError,
    TransientSourceError,
    UnknownSourceError,
)
from minercdc.pipeline.pipeline import Begun, PipelineFactory
from minercdc.pipeline.publisher import publish
from minercdc.stream.contracts import SignalActions, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.events import (
    ChangeEvent,
    ChangeRun,
    Event,
    Op,
    Progress,
    TransactionInfo,
    UndecodableRow,
)
from minercdc.stream.offset import PartialTransaction, SignalState

log = logging.getLogger(__name__)

_RESTARTABLE = (TransientSourceError, MiningSessionError, UnknownSourceError, DeliveryError)
_TRIES_OF_UNKNOWN = 5  # a code without a class may pass, but is not worth waiting for without end


def run(factory: PipelineFactory, stop: StopFlag) -> None:
    """Run until stopped, or to the end of a snapshot that does not stream; restart after errors that may pass, each with a
    warning in the log, and a wait that `stop` ends.

    :raises MinerCdcError: an error that does not pass, or did not within the allowed restarts.
    """
    counters = factory.counters

    def restarting(state: RetryCallState) -> None:
        counters.restarts += 1
        counters.phase = "reconnecting"
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        counters.spent.enter(Cause.KAFKA if isinstance(error, DeliveryError) else Cause.SOURCE)
        if isinstance(error, MinerCdcError):
            counters.trouble = counters.latest_trouble = error.message
            hint = f"  hint: {error.hint}" if error.hint else ""
            log.warning("%s: %s; going on from the last offset in %.1f s%s", error.code, error.message, wait, hint)

    def attempt() -> None:
        delivered = counters.commits
        try:
            run_once(factory, stop)
        except _RESTARTABLE as error:
            if stop.is_set():
                return
            if counters.commits > delivered:  # it had got somewhere: this is a new failure
                failures.in_a_row = 0
            failures.in_a_row += 1
            failures.limit = _limit(error, factory.max_restarts)
            raise

    failures = _Failures()
    retrying = Retrying(
        retry=retry_if_exception_type(_RESTARTABLE),
        stop=lambda _: 0 <= failures.limit < failures.in_a_row,
        wait=lambda _: min(factory.longest_wait, factory.longest_wait / 10 * 2 ** min(failures.in_a_row - 1, 10)),
        before_sleep=restarting,
        sleep=lambda seconds: _sleep(stop, seconds),
        reraise=True,
    )
    retrying(attempt)


@dataclass(slots=True)
class _Failures:
    """Failures since the stream last got somewhere.

    :ivar limit: restarts that are allowed without progress; -1 for any number.
    """

    in_a_row: int = 0
    limit: int = -1


def _limit(error: Exception, configured: int) -> int:
    if not isinstance(error, UnknownSourceError):
        return configured
    return _TRIES_OF_UNKNOWN if configured < 0 else min(configured, _TRIES_OF_UNKNOWN)


def _sleep(stop: StopFlag, seconds: float) -> None:
    stop.wait(seconds)


def run_once(factory: PipelineFactory, stop: StopFlag) -> None:
    """One run, from the stored offset until stopped, or to the end of a snapshot that does not stream; nothing when `stop` is
    set. Closes what it opened; `counters.phase` is `stopped` after it, unless it failed.

    :raises MinerCdcError: the run failed; it is not restarted here.
    """
    if stop.is_set():
        return
    pipeline = factory.open_pipeline()
    try:
        begun = pipeline.begin(pipeline.sink.load_offset())
        offset, capture, signals = begun.offset, begun.capture, begun.signals()
        try:
            with _ended(read_events(begun, factory.counters, stop, signals)) as events:
                if offset and offset.partial:
                    events = skip_sent(events, offset.partial, pipeline.pass_over)
                publish(events, pipeline, capture, offset, factory, signals)
        finally:
            if signals:
                signals.close()
            capture.close()
    finally:
        pipeline.sink.close()
    factory.counters.phase = "stopped"


def read_events(
    begun: Begun,
    counters: Counters,
    stop: StopFlag,
    signals: SignalActions | None = None,
) -> Iterator[Event]:
    """Events of the initial snapshot if it is due, then of the stream, until `stop` is set. Sets `counters.phase`, and when the
    stream begins, `counters.trouble` to ''.

    When `snapshot.mode` does not stream, they end after the snapshot; so they do when no position to stream from is known.

    :param signals: None when no signal can arrive.
    :raises SourceError: the snapshot left tables unread, and there is no stream in which to read them.
    :raises MinerCdcError: what the snapshot, the capture and the signals raise.
    """
    offset, capture = begun.offset, begun.capture
    position = capture.load_position(offset.position) if offset and offset.position is not None else None
    state = offset.signals if offset else SignalState()
    initial = begun.initial()
    if initial.snapshot is not None:
        counters.phase = "snapshot"
        counters.spent.enter(Cause.SNAPSHOT)
        interrupted = offset.snapshot if offset and offset.position is None else None
        for event in initial.snapshot.take(interrupted, stop):
            if isinstance(event, Progress):
                position = event.position
                if position is not None:
                    event.signals = state = _after_snapshot(state, event.signals)
            yield event
    if stop.is_set():
        return
    if not initial.streams:
        if unread := [table.table for snapshot in state.snapshots for table in snapshot.tables]:
            raise SourceError(
                f"{', '.join(unread)} could not be read as of the snapshot's SCN, and snapshot.mode lets nothing read them later",
                hint="The log says why. Use a snapshot.mode that streams (an incremental snapshot reads them then), or start again.",
            )
        log.info("the snapshot is complete, and snapshot.mode does not stream")
        return
    if position is None:
        return
    counters.phase = "streaming"
    counters.spent.enter(Cause.FETCH)
    counters.trouble = ""
    partial_scn = offset.partial.commit_scn if offset and offset.partial else 0
    with _ended(capture.stream(position, stop)) as streamed:
        yield from signals.through(streamed, position, state, stop, partial_scn) if signals else streamed


@contextmanager
def _ended(events: Iterator[Event]) -> Iterator[Iterator[Event]]:
    """A context that closes a generator on leaving; other iterators are left as they are. An error's traceback would keep it,
    with its threads and what they fetched, as long as there is a reference to the error: while a restart waits, for one."""
    try:
        yield events
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()


def _after_snapshot(state: SignalState, left: SignalState | None) -> SignalState:
    """The state of signals after an initial snapshot, of `snapshot.mode=always` for one: what they requested before, and
    what the snapshot left to be read. A blocking snapshot does not go on as of its own SCN, which is older."""
    requested = [replace(snapshot, reached=False) for snapshot in state.snapshots]
    return replace(state, snapshots=(*requested, *(left.snapshots if left else ())))


def skip_sent(
    events: Iterator[Event], partial: PartialTransaction, pass_over: Callable[[ChangeEvent], None] = lambda _: None
) -> Iterator[Event]:
    """Yield the events without the rows of the split transaction `partial` that an earlier run delivered. With
    `partial.inserts` the last of these rows is an update that changes the key, and only its delete was delivered: it is
    yielded as a CREATE of the new key.

    :param pass_over: called with each change that an earlier run delivered, or began to deliver.
    """
    for event in events:
        if isinstance(event, ChangeRun) and _may_hold(event, partial):
            for one in event.events():
                yield from (one,) if isinstance(one, Progress) else _not_sent(one, partial, pass_over)
        elif isinstance(event, ChangeEvent | UndecodableRow):
            yield from _not_sent(event, partial, pass_over)
        else:
            yield event


def _not_sent(
    event: ChangeEvent | UndecodableRow, partial: PartialTransaction, pass_over: Callable[[ChangeEvent], None]
) -> Iterator[Event]:
    if not _delivered(event, partial):
        yield event
        return
    if isinstance(event, ChangeEvent):
        pass_over(event)
    if partial.inserts and event.seq == partial.seq and isinstance(event, ChangeEvent):
        yield replace(event, op=Op.CREATE, before=None)


def _may_hold(run: ChangeRun, partial: PartialTransaction) -> bool:
    least, most = run.rows.commit_scns
    return least <= partial.commit_scn <= most


def _is_split(tx: TransactionInfo | None, partial: PartialTransaction) -> bool:
    return tx is not None and tx.id == partial.tx_id and tx.commit_scn == partial.commit_scn


def _delivered(event: ChangeEvent | UndecodableRow, partial: PartialTransaction) -> bool:
    if not _is_split(event.tx, partial):
        return False
    # A split comes after a row with a number of its own; what could not be decoded has the number of the change before it.
    numbered = isinstance(event, ChangeEvent) or event.counted
    return event.seq < partial.seq or (event.seq == partial.seq and numbered)
