"""Chooses the dictionary that LogMiner finds in the redo itself (`log.mining.strategy=redo_log_catalog`), and has one written.

    dictionary ........ mark ........ end        logs from the dictionary on are listed, rows from the mark on are selected
    ^ DICTIONARY_BEGIN                           DDL_DICT_TRACKING follows the DDL in between

DBMS_LOGMNR_D.BUILD writes the dictionary into the redo of the database, with this strategy only. It is written when there is
none, and again when the one in use lies many logs back, for every pass reads from there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import oracledb

from minercdc.capture.logminer.logs.received import RECEIVED, of_source
from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import RedoAddress, log_start
from minercdc.errors import LogGapError
from minercdc.oracle.codes import oracle_errors

_log = logging.getLogger(__name__)

_LISTED = (
    "SELECT DISTINCT A.THREAD#, A.SEQUENCE#, A.FIRST_CHANGE#, A.DICTIONARY_BEGIN, A.DICTIONARY_END"
    " FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON D.RESETLOGS_CHANGE# = A.RESETLOGS_CHANGE#"
    " WHERE A.NAME IS NOT NULL AND A.STATUS = 'A' AND (A.DICTIONARY_BEGIN = 'YES' OR A.DICTIONARY_END = 'YES')"
)
_RECEIVED = (
    "SELECT A.THREAD#, A.SEQUENCE#, A.FIRST_CHANGE#, A.DICTIONARY_BEGIN, A.DICTIONARY_END"
    f" FROM {RECEIVED} AND (A.DICTIONARY_BEGIN = 'YES' OR A.DICTIONARY_END = 'YES')"
)
_NEWEST = f"SELECT A.THREAD#, MAX(A.SEQUENCE#) FROM {RECEIVED} GROUP BY A.THREAD#"
_AFTER = "THREAD# = :thread AND FIRST_CHANGE# BETWEEN :first AND :scn"
_BUILD = "BEGIN SYS.DBMS_LOGMNR_D.BUILD(OPTIONS => SYS.DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
# A dictionary that begins more logs of its thread before the mark is worth a new one.
_FAR_BACK = 16


class DictionaryLogs(NamedTuple):
    """A whole dictionary in the archived logs of one thread.

    :param first_scn: FIRST_CHANGE# of the log that it begins in.
    :param first, last: sequence numbers of the logs that it begins and ends in.
    """

    first_scn: int
    thread: int
    first: int
    last: int


def whole_dictionaries(rows: Iterable[tuple[int, int, int, str, str]]) -> list[DictionaryLogs]:
    """Dictionaries that begin and end in these logs, oldest first; one that was cut off has no end, and is left out.

    :param rows: thread, sequence, FIRST_CHANGE#, DICTIONARY_BEGIN, DICTIONARY_END of archived logs.
    """
    found: list[DictionaryLogs] = []
    begun: dict[int, tuple[int, int]] = {}
    for thread, sequence, first_scn, begins, ends in sorted(rows):
        if begins == "YES":
            begun[thread] = (sequence, first_scn)
        if ends == "YES" and thread in begun:
            first, scn = begun.pop(thread)
            found.append(DictionaryLogs(scn, thread, first, sequence))
    return sorted(found)


def dictionary_for(found: Sequence[DictionaryLogs], scn: int) -> DictionaryLogs | None:
    """The newest dictionary that begins at or before `scn`, else the oldest one after it, whose tables are younger than the
    rows; None when `found` is empty.

    :param found: oldest first.
    """
    before = [dictionary for dictionary in found if dictionary.first_scn <= scn]
    return before[-1] if before else found[0] if found else None


def marks_from(logs: Iterable[LogFile], marks: Mapping[int, RedoAddress], scn: int) -> dict[int, RedoAddress]:
    """A copy of `marks`, moved back where needed so that the logs which hold `scn` and what follows it are read, too; a mark of a
    thread without such a log stays."""
    first: dict[int, int] = {}
    for log in logs:
        if log.current or log.next_scn > scn:
            first[log.thread] = min(log.sequence, first.get(log.thread, log.sequence))
    return {thread: min(mark, log_start(first[thread])) if thread in first else mark for thread, mark in marks.items()}


class RedoDictionary:
    """Keeps which dictionary is in use, and which was written, for all passes of one capture."""

    def __init__(self) -> None:
        self._built: int | None = None  # last log of the dictionary that a newer one was written for, 0 for none
        self._used: DictionaryLogs | None = None
        self._given_up: set[DictionaryLogs] = set()

    def first_scn(
        self, connection: oracledb.Connection, scn: int, downstream: oracledb.Connection | None = None
    ) -> int | None:
        """The SCN at which LogMiner has to begin to find the dictionary for rows from `scn` on; at or before `scn`.

        Writes a dictionary into the redo of the database when there is none, and once when the one in use is far back: it begins
        more than 16 logs before `scn`.

        :param connection: to the database that writes the redo.
        :param downstream: to the downstream database in which LogMiner runs: only dictionaries that it has received count. None
            is returned while one is on its way.
        :raises LogGapError: without `downstream`: a dictionary has been written and is not archived yet; call again later.
        :raises SourceError, PrerequisiteError: Oracle's errors, as `codes.classify` makes them; DBMS_LOGMNR_D may not be
            granted.
        """
        found = self._known(connection, downstream)
        if not found:
            if self._built is None and not (downstream and _is_on_its_way(connection, downstream)):
                self._built = self._build(connection, scn)
                found = self._known(connection, downstream)
            if not found:
                if downstream is not None:
                    return None
                raise LogGapError("the log with the dictionary has not been archived yet")
        used = dictionary_for(found, scn)
        assert used is not None
        if used == found[-1] and _is_far_back(connection, used, scn, downstream) and self._built != used.last:
            self._built = used.last
            if not (downstream and _is_on_its_way(connection, downstream)):
                self._build(connection, scn)
        if used != self._used:
            self._used = used
            _log.info("dictionary of thread %s, logs %s to %s", used.thread, used.first, used.last)
        return min(used.first_scn, scn)

    def give_up(self) -> None:
        """Note that the dictionary in use cannot be used any more, since a log between it and the rows is gone: the next
        `first_scn` chooses another one, or has one written. `first_scn` was called before. Logs a warning."""
        assert self._used is not None
        used = self._used
        _log.warning("a log after the dictionary of thread %s, log %s, is missing: a new dictionary is needed", *used[1:3])
        self._given_up.add(used)
        self._used = self._built = None

    def _known(self, connection: oracledb.Connection, downstream: oracledb.Connection | None) -> list[DictionaryLogs]:
        return [one for one in _listed(connection, downstream) if one not in self._given_up]

    @staticmethod
    def _build(connection: oracledb.Connection, scn: int) -> int:
        _log.info("writing a dictionary to the redo, for rows from SCN %s on", scn)
        with oracle_errors("writing a LogMiner dictionary to the redo"), connection.cursor() as cursor:
            cursor.execute(_BUILD)
        return 0


def _listed(connection: oracledb.Connection, downstream: oracledb.Connection | None) -> list[DictionaryLogs]:
    sql, binds = (_LISTED, {}) if downstream is None else (_RECEIVED, of_source(connection))
    with oracle_errors("listing dictionaries in the redo"), (downstream or connection).cursor() as cursor:
        cursor.execute(sql, binds)
        return whole_dictionaries(
            (int(thread), int(sequence), int(first), begins, ends) for thread, sequence, first, begins, ends in cursor
        )


def _is_on_its_way(connection: oracledb.Connection, downstream: oracledb.Connection) -> bool:
    """Whether the source has archived a dictionary that ends in a log after those that the downstream database has of
    its thread: another one would not arrive sooner."""
    with oracle_errors("listing received logs"), downstream.cursor() as cursor:
        cursor.execute(_NEWEST, of_source(connection))
        newest = {int(thread): int(sequence) for thread, sequence in cursor}
    return any(one.last > newest.get(one.thread, one.last) for one in _listed(connection, None))


def _is_far_back(
    connection: oracledb.Connection, used: DictionaryLogs, scn: int, downstream: oracledb.Connection | None
) -> bool:
    sql, binds = f"SELECT COUNT(DISTINCT SEQUENCE#) FROM V$ARCHIVED_LOG WHERE {_AFTER}", {}
    if downstream is not None:
        sql, binds = f"SELECT COUNT(DISTINCT SEQUENCE#) FROM {RECEIVED} AND {_AFTER}", of_source(connection)
    wanted = {**binds, "thread": used.thread, "first": used.first_scn, "scn": scn}
    with oracle_errors("counting logs after the dictionary"), (downstream or connection).cursor() as cursor:
        cursor.execute(sql, wanted)
        row = cursor.fetchone()
    return bool(row) and int(row[0]) > _FAR_BACK
