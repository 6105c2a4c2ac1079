"""Finds the oldest transaction that was open at an SCN of the past: there mining has to begin, so that all that it changed is
seen.

open now, begun at or before the SCN                          V$TRANSACTION of its container has its START_SCN
in doubt after a crash                                        nothing says where it began: refused
committed after the SCN, its START in the redo that is read   the START row has the SCN
committed after the SCN, begun before that redo               the COMMIT row has START_SCN; where not, more redo is read
rolled back                                                   does not matter
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import oracledb

from minercdc.capture.logminer.buffer.committed import beginning
from minercdc.capture.logminer.logs.redo_logs import (
    LogFile,
    LogSelection,
    read_ended,
    read_history,
    read_logs,
    read_threads,
    select_logs,
    with_former,
)
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.query import ContainerNames, within
from minercdc.capture.logminer.session.row import ZERO_XID, OpCode
from minercdc.errors import LogGapError
from minercdc.oracle.open_transactions import oldest_open_in
from minercdc.oracle.scn import current_scn, written_scn

_log = logging.getLogger(__name__)

Connect = Callable[[], oracledb.Connection]
_COLUMNS: Final = "SCN, OPERATION_CODE, XID, SRC_CON_ID, START_SCN"
_ENDS: Final = ", ".join(str(int(code)) for code in (OpCode.START, OpCode.COMMIT, OpCode.ROLLBACK))
_FETCH: Final = 10_000
_WRITTEN_WITHIN_S: Final = 4.0  # LGWR writes every three seconds
_POLL_S: Final = 0.05


class End(NamedTuple):
    """A START, COMMIT or ROLLBACK of redo.

    :param con_id: None outside a container database, and where LogMiner does not say it.
    :param start_scn: of its transaction, where LogMiner knows it; else None or 0.
    """

    scn: int
    code: int
    xid: bytes
    con_id: int | None
    start_scn: int | None


@dataclass(frozen=True, slots=True)
class Begun:
    """What a range of redo says of the transactions that were open at an SCN and committed later, or have no end in it.

    :param oldest: SCN at which the oldest of them began, of those of which that is known; None for none.
    :param unplaced: number of those that began before the range, at an SCN that it does not say.
    """

    oldest: int | None
    unplaced: int


def begun_before(ends: Iterable[End], scn: int) -> Begun:
    """The transactions that were open at `scn` and were committed later, or do not end in the range: by the STARTs, COMMITs and
    ROLLBACKs of a range of redo, in its order."""
    started: dict[tuple[int | None, bytes], int] = {}
    found: list[int] = []
    unplaced = 0
    for end in ends:
        key = (end.con_id, end.xid)
        if end.xid == ZERO_XID:
            continue  # such a START never ends
        if end.code == OpCode.START:
            started.setdefault(key, end.scn)
            continue
        start = started.pop(key, None) or end.start_scn
        if end.code != OpCode.COMMIT or end.scn <= scn:
            continue
        if not start:
            unplaced += 1
        elif start <= scn:
            found.append(start)
    found += [start for start in started.values() if start <= scn]
    return Begun(min(found, default=None), unplaced)


def mine_from(
    connect: Connect, scn: int, container: ContainerNames, inside: Sequence[Connect], *, doubted: bool = False
) -> int:
    """An SCN at or below the start of every transaction that was open at `scn`, and committed later or is open still; `scn`
    itself when there was none. Waits as `await_written`, and reads the redo from `scn` to the present, online logs too; all of
    it from the returned SCN on is there.

    :param connect: opens a connection for mining, which is closed here.
    :param container: SRC_CON_NAME of the transactions that count; None: all do.
    :param inside: opens a connection to each of these containers, which is closed here; () for `connect` alone.
    :param doubted: what transactions in doubt have changed is known otherwise; else there may be none.
    :raises LogGapError: redo that this takes is gone.
    :raises TransientSourceError: a transaction is in doubt (`refuse_in_doubt`).
    :raises SourceError, PrerequisiteError, ConfigError: Oracle's other errors, as `codes.classify` makes them; or connecting
        failed.
    """
    with closing(connect()) as connection:
        open_now = oldest_open_in(connection, inside, doubted=doubted)
        await_written(connection)  # what has ended before has its COMMIT in the logs then
        found = [scn, *(start for start in (open_now,) if start is not None and start < scn)]
        session = MiningSession(connection, _FETCH)
        first, back = scn, 1
        while True:
            selection = selection_from(connection, first, scn)
            session.use_logs(selection.files)
            session.start(selection.start_scn)
            begun = begun_before(_ends(session, container), scn)
            if not begun.unplaced:
                break
            first = _earlier(connection, selection, back)
            back *= 2
            _log.info(
                "%d transactions began before SCN %d: reading redo from SCN %d on",
                begun.unplaced,
                selection.start_scn,
                first,
            )
        if begun.oldest is not None:
            found.append(begun.oldest)
        selection_from(connection, min(found), scn)
    return min(found)


def await_written(connection: oracledb.Connection) -> None:
    """Wait, for four seconds at most, until redo of now is in the logs: the log writer writes at least every three seconds, if
    there is anything to write. Raises as `current_scn` and `written_scn`."""
    now, deadline = current_scn(connection), time.monotonic() + _WRITTEN_WITHIN_S
    while written_scn(connection) < now and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def from_starts(
    connect: Connect, position: LogMinerPosition, container: ContainerNames, inside: Sequence[Connect]
) -> LogMinerPosition:
    """The position with each thread's mining from the log in which the oldest transaction that is not delivered can have begun
    (`LogMinerPosition.whole`); the same object where it is whole already. Raises as `mine_from`; parameters as there.

    Transactions in doubt need no look: they change nothing more, and those with captured rows hold the position themselves."""
    if position.whole or not position.threads:
        return position
    since = min(mark.resume_scn for mark in position.threads.values()) - 1
    first = mine_from(connect, since, container, inside, doubted=True)
    with closing(connect()) as connection:
        begins = beginning(selection_from(connection, first, since).files, first)
    threads = {
        thread: replace(mark, resume=begins[thread], resume_scn=min(first, mark.resume_scn))
        if thread in begins and begins[thread] < mark.resume
        else mark
        for thread, mark in position.threads.items()
    }
    return replace(position, threads=threads, whole=True)


def selection_from(connection: oracledb.Connection, first: int, scn: int) -> LogSelection:
    """All logs from the one that holds SCN `first` on, of each thread, online ones too.

    :param scn: where the stream is to begin, for the message.
    :raises LogGapError: one is missing.
    :raises SourceError, PrerequisiteError: the views of the logs cannot be read.
    """
    threads = with_former(read_threads(connection), read_history(connection), {}, first)
    logs = read_logs(connection, first)
    if len(threads) > 1:
        # The log that one thread begins with reaches further back than what is to be read of the others.
        logs = read_logs(connection, min((log.first_scn for log in logs), default=first))
    try:
        return select_logs(logs, threads, {}, first, max(len(logs), 1), ended=read_ended(connection, first))
    except LogGapError as gap:
        since = "" if first >= scn else f"; a transaction that was open then needs redo from SCN {first} on"
        raise LogGapError(
            f"changes cannot be streamed from SCN {scn} on{since}: {gap.message}",
            hint="Restore the archived log, or choose a later SCN.",
        ) from gap


def _earlier(connection: oracledb.Connection, selection: LogSelection, back: int) -> int:
    """First SCN of the log that lies `back` logs before the selection, or of the oldest listed log when there are fewer.
    The SCN before the selection's start when no earlier log is listed."""
    older: list[LogFile] = sorted(
        (log for log in read_logs(connection, 0) if log.first_scn < selection.start_scn),
        key=lambda log: log.first_scn,
    )
    return older[-min(back, len(older))].first_scn if older else selection.start_scn - 1


def _ends(session: MiningSession, container: ContainerNames) -> Iterator[End]:
    conditions, binds = within(container)
    where = " AND ".join([f"OPERATION_CODE IN ({_ENDS})", *conditions])
    sql = f"SELECT {_COLUMNS} FROM V$LOGMNR_CONTENTS WHERE {where}"
    for batch in session.rows(sql, binds):
        yield from (
            End(int(scn), int(code), bytes(xid or ZERO_XID), con_id, start_scn)
            for scn, code, xid, con_id, start_scn in batch
        )
