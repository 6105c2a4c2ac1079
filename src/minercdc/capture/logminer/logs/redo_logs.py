"""Lists the redo logs, and selects those that a pass has to read, with the proof that none is missing.

Within a thread, logs follow each other by sequence number. SCNs may have holes between them (after a restart of the
instance), sequence numbers may not. So, per thread: begin with the log that holds the mark, go on without a hole, and
end in the CURRENT log of an open thread, or earlier when the number of logs is capped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import oracledb

from minercdc.capture.logminer.logs.missing import MissingLogError
from minercdc.capture.logminer.logs.received import RECEIVED, of_source
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.errors import LogGapError
from minercdc.oracle.codes import oracle_errors

_ONLINE = (
    "SELECT L.THREAD#, L.SEQUENCE#, L.FIRST_CHANGE#, L.NEXT_CHANGE#, L.STATUS, MIN(F.MEMBER), L.BYTES"
    " FROM V$LOG L JOIN V$LOGFILE F ON F.GROUP# = L.GROUP# WHERE L.STATUS <> 'UNUSED'"
    " GROUP BY L.THREAD#, L.SEQUENCE#, L.FIRST_CHANGE#, L.NEXT_CHANGE#, L.STATUS, L.BYTES"
)
# Only logs of this incarnation.
_LOGS_OF_INCARNATION = (
    "SELECT A.THREAD#, A.SEQUENCE#, A.FIRST_CHANGE#, A.NEXT_CHANGE#, A.NAME,"
    " NVL(DS.DEST_NAME, 'LOG_ARCHIVE_DEST_' || A.DEST_ID), A.BLOCKS * A.BLOCK_SIZE, CASE WHEN DS.STATUS <> 'VALID' THEN 1 ELSE 0 END"
    " FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = A.RESETLOGS_CHANGE#"
    " LEFT JOIN V$ARCHIVE_DEST_STATUS DS ON DS.DEST_ID = A.DEST_ID"
    " WHERE A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' AND {where} AND A.NEXT_CHANGE# > :scn"
)
# In local destinations: a standby's NAME is a service, not a file. Where the view of destinations is empty, as in Autonomous Database,
# STANDBY_DEST says that alone. A destination that is full, deferred or not used any more keeps the logs that it has.
_ARCHIVED = _LOGS_OF_INCARNATION.format(where="A.STANDBY_DEST = 'NO' AND (DS.TYPE = 'LOCAL' OR DS.DEST_ID IS NULL)")
# Of a standby: logs whose redo is applied. Redo of a log has SCNs below NEXT_CHANGE#, and CURRENT_SCN is what is applied; APPLIED says
# so of a log that ended before its last SCNs. Received logs have destinations of any number (docs/reference/logminer-facts.md#a-9).
_APPLIED = _LOGS_OF_INCARNATION.format(
    where="A.STANDBY_DEST = 'NO' AND (A.APPLIED = 'YES' OR A.NEXT_CHANGE# <= D.CURRENT_SCN + 1)",
)
# Of a downstream database.
_RECEIVED = (
    "SELECT A.THREAD#, A.SEQUENCE#, A.FIRST_CHANGE#, A.NEXT_CHANGE#, A.NAME, NULL, A.BLOCKS * A.BLOCK_SIZE, 0"
    f" FROM {RECEIVED} AND A.NEXT_CHANGE# > :scn"
)
# The control file remembers a log longer than its file is there.
_ENDED = (
    "SELECT H.THREAD#, MAX(H.SEQUENCE#) FROM V$LOG_HISTORY H JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = H.RESETLOGS_CHANGE#"
    " WHERE H.NEXT_CHANGE# <= :scn GROUP BY H.THREAD#"
)
# When an instance is deleted, its thread is disabled and its log groups are dropped: V$THREAD need not list it any more.
_HISTORY = (
    "SELECT H.THREAD#, MAX(H.SEQUENCE#), MIN(H.FIRST_CHANGE#), MAX(H.NEXT_CHANGE#) FROM V$LOG_HISTORY H"
    " JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = H.RESETLOGS_CHANGE# GROUP BY H.THREAD#"
)
_BEGINS = "SELECT THREAD#, SEQUENCE#, FIRST_CHANGE# FROM V$LOG WHERE STATUS <> 'UNUSED'"
NO_BOUND: Final = 1 << 64
_THREADS = "SELECT THREAD#, STATUS, ENABLED, LAST_REDO_CHANGE#, ENABLE_CHANGE#, DISABLE_CHANGE# FROM V$THREAD"


class MinedElsewhere(NamedTuple):
    """A session in another database than that which writes the redo, in which LogMiner runs: `capture.adapter.Secondary`."""

    connection: oracledb.Connection
    is_downstream: bool


@dataclass(frozen=True, slots=True)
class LogFile:
    """One redo log, online or archived. SCNs: first inclusive, next exclusive.

    :param next_scn: has no meaning while the log is `current`.
    :param name: path of the file.
    :param current: it is being written.
    :param bytes: size of the file; of an online one, what it can hold; 0 when not known.
    """

    name: str
    thread: int
    sequence: int
    first_scn: int
    next_scn: int
    current: bool = False
    archived: bool = True
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class RedoThread:
    """State of a redo thread, as V$THREAD has it.

    :param last_scn: everything up to it is in the log files.
    :param enabled_scn: when the thread was enabled; it has no redo before.
    :param disabled_scn: when it was disabled; it has none after. 0: it is enabled.
    :param last_sequence: number of the last log that it ended, of one that is disabled or has no log groups any more; 0: not known.
    """

    number: int
    is_open: bool
    last_scn: int
    enabled_scn: int
    disabled_scn: int = 0
    last_sequence: int = 0

    def is_down_since(self, scn: int) -> bool:
        """Whether the thread has no redo after `scn`. It may have logs all the same: those of closed threads are switched and
        archived, too."""
        return not self.is_open and self.last_scn <= scn


class Ended(NamedTuple):
    """The logs that a thread has ended in this incarnation, be their files there or not.

    :param sequence: number of the last one.
    :param first_scn: with which the first one that is known begins; `next_scn` where the last one ends.
    """

    sequence: int
    first_scn: int
    next_scn: int


@dataclass(frozen=True, slots=True)
class LogSelection:
    """The logs of one pass.

    :param files: thread after thread, by sequence; () when there is nothing to read.
    :param start_scn: STARTSCN for LogMiner: least FIRST_CHANGE# of the logs that have rows still to come; 0 without files.
    :param complete: per thread, sequence number of the last selected log that is finished; missing when none is.
    :param bound: from this SCN on, the logs of some thread are not among them: what the others committed there has to wait,
        or changes of one row would come in the wrong order. NO_BOUND when nothing has to wait.
    :param is_capped: there are more logs than were wanted at a time.
    """

    files: tuple[LogFile, ...]
    start_scn: int
    complete: Mapping[int, int]
    bound: int = NO_BOUND
    is_capped: bool = False

    @property
    def bytes(self) -> int:
        """Sum of the sizes of its files, those not known counting 0."""
        return sum(log.bytes for log in self.files)

    @property
    def complete_scn(self) -> int:
        """Every commit at or below it is in the files, or in logs before them; 0 without `bound`, which says nothing of that."""
        return self.bound - 1 if 0 < self.bound < NO_BOUND else 0


def read_threads(connection: oracledb.Connection) -> list[RedoThread]:
    """Threads that have redo. One that was disabled may still have some that is not read. Raises SourceError,
    PrerequisiteError."""
    with oracle_errors("reading V$THREAD"), connection.cursor() as cursor:
        cursor.execute(_THREADS)
        return [
            RedoThread(
                int(number),
                status == "OPEN",
                int(last or 0),
                int(enabled_at or 0),
                int(disabled_at or 0) if enabled == "DISABLED" else 0,
            )
            for number, status, enabled, last, enabled_at, disabled_at in cursor
            if enabled != "DISABLED" or disabled_at
        ]


def read_history(connection: oracledb.Connection) -> dict[int, Ended]:
    """What each thread of this incarnation has ended. Raises as `read_threads`."""
    with oracle_errors("reading V$LOG_HISTORY"), connection.cursor() as cursor:
        cursor.execute(_HISTORY)
        return {int(thread): Ended(*map(int, ended)) for thread, *ended in cursor}


def with_former(
    threads: Sequence[RedoThread], history: Mapping[int, Ended], begins: Mapping[int, RedoAddress], start_scn: int
) -> list[RedoThread]:
    """The threads, those that are disabled with their last log; and those that V$THREAD does not list any more, as when their log
    groups are dropped, as long as some of their redo is not read.

    :param begins: per thread, the redo address to go on from.
    :param start_scn: where threads without one begin.
    """
    found = [
        replace(one, last_sequence=history[one.number].sequence) if one.disabled_scn and one.number in history else one
        for one in threads
    ]
    listed = {one.number for one in threads}
    for number, ended in sorted(history.items()):
        is_read = begins[number].sequence > ended.sequence if number in begins else ended.next_scn <= start_scn
        if number not in listed and not is_read:
            at = ended.next_scn
            found.append(RedoThread(number, False, at - 1, ended.first_scn, at, ended.sequence))
    return found


def read_logs(
    connection: oracledb.Connection,
    from_scn: int,
    destinations: Sequence[str] = (),
    mined: MinedElsewhere | None = None,
) -> list[LogFile]:
    """Every online log, and every archived one that ends after `from_scn`; one file for each (thread, sequence), in that
    order.

    :param destinations: LOG_ARCHIVE_DEST_n in order of precedence, for archived logs; empty: any local one. Valid ones come first.
    :param mined: where LogMiner runs, if elsewhere: the archived logs of that physical standby whose redo is applied, or those of
        this database that the downstream database has received, and no online ones, are listed in place of those of `connection`.
    :raises SourceError, PrerequisiteError: the views cannot be read.
    """
    of_standby = _APPLIED if mined is not None else _ARCHIVED
    archived_sql, binds = (
        (_RECEIVED, of_source(connection)) if mined is not None and mined.is_downstream else (of_standby, {})
    )
    with oracle_errors("listing redo logs"), (mined.connection if mined is not None else connection).cursor() as cursor:
        online = _read_online(cursor) if mined is None else []
        cursor.execute(archived_sql, {**binds, "scn": from_scn})
        rank = {name.upper(): i for i, name in enumerate(destinations)}
        archived = [
            (
                (int(is_invalid), rank.get(destination, 0)),
                LogFile(name, int(thread), int(sequence), int(first), int(next_), bytes=int(size or 0)),
            )
            for thread, sequence, first, next_, name, destination, size, is_invalid in cursor
            if not destinations or destination in rank
        ]
    return unique_logs([*online, *(log for _, log in sorted(archived, key=lambda found: found[0]))])


def _read_online(cursor: oracledb.Cursor) -> list[LogFile]:
    cursor.execute(_ONLINE)
    return [
        # NEXT_CHANGE# of the current log is a sentinel that differs between releases.
        LogFile(name, int(thread), int(sequence), int(first), int(next_ or 0), status == "CURRENT", False, int(size))
        for thread, sequence, first, next_, status, name, size in cursor
    ]


def read_ended(connection: oracledb.Connection, scn: int) -> dict[int, int]:
    """Per thread, sequence number of the last log that ended at or before `scn`, be its file there or not. Raises as
    `read_threads`."""
    with oracle_errors("reading V$LOG_HISTORY"), connection.cursor() as cursor:
        cursor.execute(_ENDED, {"scn": scn})
        return {int(thread): int(sequence) for thread, sequence in cursor}


def switched_scn(connection: oracledb.Connection, files: Sequence[LogFile]) -> int:
    """The least SCN with which an online log begins that follows the last one of `files` in its thread, NO_BOUND for none: a
    thread that has switched since the logs were listed has commits from there on which are not in them. Raises as
    `read_threads`."""
    last = {log.thread: log.sequence for log in sorted(files, key=lambda log: log.sequence)}
    with oracle_errors("looking for a log switch"), connection.cursor() as cursor:
        cursor.execute(_BEGINS)
        begins = [int(first) for thread, sequence, first in cursor if int(sequence) > last.get(int(thread), int(sequence))]
    return min(begins, default=NO_BOUND)


def begin_scn(position: LogMinerPosition, threads: Sequence[RedoThread]) -> int:
    """The SCN from which on logs are needed: the least one that a thread goes on from. A thread without a mark is read from the
    position's start SCN on, unless it has no redo after that."""
    scns = [mark.resume_scn for mark in position.threads.values()]
    unmarked = (thread for thread in threads if thread.number not in position.threads)
    if not scns or not all(thread.is_down_since(position.start_scn) for thread in unmarked):
        scns.append(position.start_scn)
    return min(scns)


def unique_logs(logs: Iterable[LogFile]) -> list[LogFile]:
    """One file for each (thread, sequence), in that order: the first archived copy, else the online log.

    The same log is listed twice while it is archived, and again by each destination; added twice it is ORA-01289. The
    archived copy cannot be overwritten while it is read.
    """
    chosen: dict[tuple[int, int], LogFile] = {}
    for log in logs:
        known = chosen.get((log.thread, log.sequence))
        if known is None or (log.archived and not known.archived):
            chosen[log.thread, log.sequence] = log
    return sorted(chosen.values(), key=lambda log: (log.thread, log.sequence))


def select_logs(
    logs: Sequence[LogFile],
    threads: Sequence[RedoThread],
    marks: Mapping[int, RedoAddress],
    start_scn: int,
    at_most: int,
    *,
    archived_only: bool = False,
    ended: Mapping[int, int] | None = None,
    received: bool = False,
) -> LogSelection:
    """The logs of the next pass. Raises LogGapError when there is none, and, with thread, sequence and SCN range, when one is
    missing.

    :param marks: per thread, the redo address to go on from.
    :param start_scn: where threads without a mark begin.
    :param at_most: logs per thread, 1 or more.
    :param archived_only: a log that is not archived yet is not missing, but left out; the selection may be empty then.
    :param ended: per thread, sequence number of the last log that ended at or before `start_scn`, where that is known; it counts
        for threads without a mark.
    :param received: the logs are those that a downstream database has received.
    """
    there = logs
    if archived_only:
        logs = [log for log in logs if log.archived]
    chains: dict[int, list[LogFile]] = {}
    complete: dict[int, int] = {}
    bound, is_capped = NO_BOUND, False
    for thread in threads:
        if thread.disabled_scn and thread.number not in marks and thread.disabled_scn <= start_scn:
            continue
        own = [log for log in logs if log.thread == thread.number]
        try:
            first = _first_wanted(thread, own, marks, start_scn, (ended or {}).get(thread.number, 0), archived_only)
            _check_end(thread, [log for log in there if log.thread == thread.number], first, start_scn)
            chain = _chain(thread, own, first, start_scn, archived_only)
        except MissingLogError as missing:
            raise missing.gap(received=received) from None
        chosen = chain[:at_most]
        chains[thread.number] = chosen
        finished = [log.sequence for log in chosen if not log.current]
        if finished:
            complete[thread.number] = finished[-1]
        is_capped = is_capped or len(chosen) < len(chain)
        if len(chosen) < len(chain) and (archived_only or len(threads) > 1):
            bound = min(bound, chosen[-1].next_scn)
        elif archived_only and thread.is_open:
            bound = min(bound, max([log.next_scn for log in own], default=0))
    if archived_only and not bound:  # LogMiner wants a log of each thread (ORA-01291), and nothing could be emitted
        return LogSelection((), 0, {}, 0)
    files = [log for chain in chains.values() for log in chain]
    if not files and not archived_only:
        raise LogGapError("no redo log was found", hint="Is the database in ARCHIVELOG mode, and V$LOG readable?")
    begin = min([log.first_scn for log in files], default=0)
    if files and len(chains) > 1:
        files = _covering(logs, threads, chains, begin)
    return LogSelection(tuple(files), begin, complete, bound, is_capped)


def _check_end(thread: RedoThread, logs: Sequence[LogFile], first: int | None, start_scn: int) -> None:
    """Raises MissingLogError where the last logs of a thread that has no CURRENT one any more are not listed, online or archived.

    :param first: sequence number of the first log that is wanted; None for none.
    """
    newest = max(logs, key=lambda log: log.sequence, default=None)
    if (
        first is None
        or thread.is_open
        or thread.last_sequence < first
        or (newest and thread.last_sequence <= newest.sequence)
    ):
        return
    if newest is None or newest.sequence < first:
        raise MissingLogError(thread.number, first, thread.last_sequence, start_scn, thread.disabled_scn)
    raise MissingLogError(thread.number, newest.sequence + 1, thread.last_sequence, newest.next_scn, thread.disabled_scn)


def _first_wanted(
    thread: RedoThread,
    logs: Sequence[LogFile],
    marks: Mapping[int, RedoAddress],
    start_scn: int,
    ended: int,
    archived_only: bool,
) -> int | None:
    """Sequence number of the first log of a thread, None when nothing of it is wanted. Parameters as of `select_logs`."""
    if thread.number in marks:
        return marks[thread.number].sequence
    if thread.is_down_since(start_scn) or (archived_only and not logs and not thread.last_sequence):
        return None
    return _first_sequence(thread, logs, start_scn, ended)


def _covering(
    logs: Sequence[LogFile], threads: Sequence[RedoThread], chains: Mapping[int, list[LogFile]], begin: int
) -> list[LogFile]:
    """The logs of all chains, and before each those that cover the range from `begin` on in its thread; none before that of a
    thread that was disabled by then."""
    over = {thread.number for thread in threads if 0 < thread.disabled_scn <= begin}
    return [
        log
        for number, chain in chains.items()
        for log in (*(() if number in over else _before(logs, number, chain, begin)), *chain)
    ]


def _before(logs: Sequence[LogFile], thread: int, chain: Sequence[LogFile], begin: int) -> list[LogFile]:
    """Logs of a thread that are read already, from the one that holds `begin` on.

    LogMiner wants the range covered in every thread (ORA-01291), also where none of its rows is selected.
    """
    own = sorted((log for log in logs if log.thread == thread), key=lambda log: log.sequence)
    older = [log for log in own if not chain or log.sequence < chain[0].sequence]
    if chain and chain[0].first_scn <= begin:
        return []
    holding = [i for i, log in enumerate(older) if log.first_scn <= begin]
    return older[holding[-1] if holding else 0 :]


def _chain(
    thread: RedoThread, logs: Sequence[LogFile], sequence: int | None, start_scn: int, archived_only: bool
) -> list[LogFile]:
    """The logs from `sequence` on to the last one there is; [] when `sequence` is None, or beyond the last one of a closed
    thread (with `archived_only`, of any thread)."""
    by_sequence = {log.sequence: log for log in logs}
    newest = max(by_sequence, default=0)
    if sequence is None or (sequence > newest and (archived_only or not thread.is_open)):
        return []  # read to its end
    chain: list[LogFile] = []
    for number in range(sequence, newest + 1):
        if number not in by_sequence:
            before = chain[-1].next_scn if chain else start_scn
            there = min(found for found in by_sequence if found > number)
            raise MissingLogError(thread.number, number, there - 1, before, by_sequence[there].first_scn)
        chain.append(by_sequence[number])
    if thread.is_open and not archived_only and not (chain and chain[-1].current):
        number = max(newest + 1, sequence)
        raise MissingLogError(thread.number, number, number, chain[-1].next_scn if chain else start_scn, 0)
    return chain


def _first_sequence(thread: RedoThread, logs: Sequence[LogFile], start_scn: int, ended: int) -> int | None:
    """Sequence number of the log that holds `start_scn`; of a thread that was down then, the one that follows the last that it
    wrote before; the thread's first log when it was enabled later, which is number 1 of the incarnation, or the one that
    holds the SCN of enabling; None when the thread ended before `start_scn`. Of a thread whose logs are gone, the number
    after the last that ended by then.

    :param ended: the last log that ended at or before `start_scn`, 0: not known.
    """
    holding = [log for log in logs if log.first_scn <= start_scn and (log.current or start_scn < log.next_scn)]
    if holding:
        return holding[-1].sequence
    later = [log for log in logs if log.first_scn > start_scn]
    if not later:
        if not logs and thread.is_open:
            raise MissingLogError(thread.number, 0, 0, start_scn, 0)
        return ended + 1 if thread.last_sequence else None
    first = min(later, key=lambda log: log.sequence)
    ended = max([ended, *(log.sequence for log in logs if log.first_scn <= start_scn)])
    begins_thread = first.first_scn <= thread.enabled_scn and (first.current or thread.enabled_scn < first.next_scn)
    if first.sequence == ended + 1 or (begins_thread and not ended):
        return first.sequence
    follows = ended + 1 if ended else 0
    raise MissingLogError(thread.number, follows, first.sequence - 1, start_scn, first.first_scn)
