"""Reads and changes the part of the signals' state about suspended tables that are read again; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from minercdc.stream.offset import AdHocSnapshot, Resumption, SignalState, TableRead


def reading(state: SignalState, snapshot: AdHocSnapshot) -> Resumption | None:
    """The resumption in phase `reading` that an incremental snapshot reads for; None for any other snapshot, or once its table is
    read."""
    found = (one for one in state.resuming if one.signal == snapshot.id and one.phase == "reading")
    return next(found, None)


def is_resumption(state: SignalState, snapshot: AdHocSnapshot) -> bool:
    """Whether a snapshot is part of a resumption, which answers its signal itself."""
    return any(one.signal == snapshot.id for one in state.resuming)


def covered_scn(state: SignalState, tables: Iterable[TableRead]) -> int:
    """The SCN up to which the stream leaves out changes of one of these tables, since it is, or was, read again: nothing older may be
    read of it, since the delete of a row that went before does not come. 0 when none is."""
    names = {table.table for table in tables}
    return max((one.covered_scn for one in state.resuming if one.table in names), default=0)


def with_result(state: SignalState, snapshot: AdHocSnapshot, status: str, error: str) -> SignalState:
    """The state once a snapshot has read its table, or given it up: the resumption that it reads for is in phase `deleting`,
    or has a `failure`. Unchanged for other snapshots.

    :param status: as of `signal_answers.scanned`: SUCCEEDED or EMPTY, anything else is a failure.
    :param error: its message, '' for none.
    """
    found = reading(state, snapshot)
    if found is None:
        return state
    if status in ("SUCCEEDED", "EMPTY"):
        return with_resumption(state, replace(found, phase="deleting"))
    return with_resumption(state, replace(found, failure=f"{status} {error}".strip()))


def with_resumption(state: SignalState, resumption: Resumption) -> SignalState:
    """The state with a table's resumption; it replaces an earlier one of the same table."""
    others = tuple(one for one in state.resuming if one.table != resumption.table)
    return replace(state, resuming=(*others, resumption))


def renamed(state: SignalState, old: str, new: str) -> SignalState:
    """The state after a RENAME of a table. One that is to be resumed is so under its new name. One that is read again cannot go on: from now
    on it has another topic, which its marks say nothing of. It has a `failure`, for which it is suspended again; the snapshot that
    reads for it is gone. In phase `done` it only has its new name."""
    ended = {one.signal for one in state.resuming if one.table == old and one.phase != "done"}

    def followed(one: Resumption) -> Resumption:
        if one.table != old:
            return one
        if one.phase == "done":
            return replace(one, table=new)
        return replace(one, table=new, phase="reading", failure=f"it was renamed, from {old}")

    return replace(
        state,
        resumes=tuple((signal, new if table == old else table) for signal, table in state.resumes),
        resuming=tuple(map(followed, state.resuming)),
        snapshots=tuple(snapshot for snapshot in state.snapshots if snapshot.id not in ended),
    )


def without_resumption(state: SignalState, table: str) -> SignalState:
    """A state without the resumption of a table and without the snapshot that reads for it; unchanged when there is none."""
    ended = {one.signal for one in state.resuming if one.table == table}
    return replace(
        state,
        resuming=tuple(one for one in state.resuming if one.table != table),
        snapshots=tuple(snapshot for snapshot in state.snapshots if snapshot.id not in ended),
    )
