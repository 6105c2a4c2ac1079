"""Chooses which logs the next pass of LogMiner reads, and how many at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import oracledb

from minercdc.capture.logminer.buffer.assembler import Assembly
from minercdc.capture.logminer.logs.arrived import before_holes, is_unbroken, with_redo_to_come
from minercdc.capture.logminer.logs.redo_logs import (
    Ended,
    LogSelection,
    MinedElsewhere,
    RedoThread,
    begin_scn,
    read_ended,
    read_history,
    read_logs,
    read_threads,
    select_logs,
    with_former,
)
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.pacing import next_window
from minercdc.capture.logminer.session.redo_dictionary import RedoDictionary, marks_from
from minercdc.config.source.log_mining import LogMiningConfig

_NOTHING: Final = LogSelection((), 0, {}, 0)


@dataclass(frozen=True, slots=True)
class PassLogs:
    """The logs of one pass.

    :param complete_scn: every commit at or below it was in redo when the logs were listed, with `log.mining.archive.log.only.mode`
        in these logs; 0 when that is not known, as when no thread is open.
    :param several_threads: more than one redo thread is being written, or may be before the pass is over: one that is enabled is opened
        when its instance starts, and a cluster gets further ones. False with `log.mining.archive.log.only.mode`.
    """

    selection: LogSelection
    complete_scn: int
    several_threads: bool


class LogWindow:
    """Chooses the logs of each pass; takes more of them when passes are short, fewer when they are long. One for each
    capture: `choose` before a pass, `read` after it.

    :param dictionary: in the redo, None when LogMiner uses the online catalog.
    :ivar reads_all: LogMiner reads all logs there are, as within a PDB, so that a pass cannot take fewer; the owner sets it.
    :ivar is_cluster: a further thread may be enabled and opened at any time; the owner sets it.
    """

    def __init__(self, config: LogMiningConfig, *, lobs: bool, dictionary: RedoDictionary | None) -> None:
        self._config = config
        self._lobs = lobs
        self._dictionary = dictionary
        self.reads_all = self.is_cluster = False
        self._most = config.log_mining_log_count_min
        self._read: tuple[LogSelection, Mapping[int, RedoAddress]] | None = None  # the last pass, and where it has come to
        self._listed: frozenset[tuple[int, int]] = frozenset()
        self._history: tuple[object, Mapping[int, Ended]] | None = None  # and of which threads and logs it was read

    def choose(
        self,
        connection: oracledb.Connection,
        assembly: Assembly,
        start_scn: int,
        mined: MinedElsewhere | None = None,
    ) -> PassLogs:
        """The logs of the next pass. The selection is empty with `log.mining.archive.log.only.mode` while no log to read is
        archived; and in another database than the source while there is nothing beyond what the last pass has read, or while the
        dictionary that was written to the redo has not arrived.

        :param start_scn: where threads without a mark begin.
        :param mined: the other database in which LogMiner runs, whose logs are listed; None: it runs in the source. What the
            threads have written is read from the primary in any case.
        :raises LogGapError: a log is missing in the list, as also for a moment while one is archived; or the dictionary that
            was written to the redo is not archived yet.
        :raises SourceError, PrerequisiteError: Oracle's errors, as `codes.classify` makes them.
        """
        threads = self._threads(connection, assembly, start_scn, mined)
        begin = begin_scn(assembly.position(), threads)
        selection = self._selection(connection, assembly, threads, begin, start_scn, mined)
        if mined is not None and self._read == (selection, assembly.begins()):
            selection = _NOTHING
        if self._config.log_mining_archive_log_only_mode:
            return PassLogs(selection, selection.complete_scn, False)
        several = self.is_cluster or sum(not thread.disabled_scn for thread in threads) > 1
        return PassLogs(selection, _complete_scn(threads), several)

    def is_archived(self, connection: oracledb.Connection, assembly: Assembly) -> bool:
        """Whether the database has archived redo that is not read, and that was not listed: the one in which LogMiner runs
        has not received or applied it.

        :param connection: to the primary.
        :raises SourceError, PrerequisiteError: the views cannot be read.
        """
        marks = assembly.marks()
        logs = read_logs(connection, begin_scn(assembly.position(), read_threads(connection)))
        return any(
            log.archived
            and (log.thread, log.sequence) not in self._listed
            and (log.thread not in marks or log.sequence >= marks[log.thread].sequence)
            for log in logs
        )

    def read(self, selection: LogSelection, seconds: float, assembly: Assembly) -> None:
        """To be called after a pass over `selection` that took `seconds`: if it left logs for the next pass, decides how many
        of them per thread the next pass takes. Notes where `assembly` goes on: in another database than the source, the next
        `choose` gives an empty selection while there is nothing beyond that."""
        self._read = selection, dict(assembly.begins())
        if selection.is_capped:
            self._most = next_window(self._most, self._config.log_mining_log_count_min, seconds, selection.bytes)

    def _threads(
        self, connection: oracledb.Connection, assembly: Assembly, start_scn: int, mined: MinedElsewhere | None
    ) -> list[RedoThread]:
        """The threads that have redo to read, those without log groups among them. V$LOG_HISTORY is long: it is read when threads or
        their logs are others than before. In another database than the source the last logs of a thread may still arrive."""
        threads = read_threads(connection)
        of = frozenset((one.number, one.disabled_scn) for one in threads), frozenset(number for number, _ in self._listed)
        if self._history is None or self._history[0] != of:
            self._history = of, read_history(connection)
        found = with_former(threads, self._history[1], assembly.begins(), start_scn)
        return found if mined is None else [replace(one, last_sequence=0) for one in found]

    def _selection(
        self,
        connection: oracledb.Connection,
        assembly: Assembly,
        threads: list[RedoThread],
        scn: int,
        start_scn: int,
        mined: MinedElsewhere | None,
    ) -> LogSelection:
        destinations, begins = self._config.archive_destination_name, assembly.begins()
        received = mined is not None and mined.is_downstream
        self._listed, from_scn = frozenset(), scn
        while True:
            if self._dictionary:
                found = self._dictionary.first_scn(connection, scn, mined.connection if mined and received else None)
                if found is None:
                    return _NOTHING
                from_scn = found
            logs = read_logs(connection, from_scn, destinations, mined)
            if self._dictionary is None or not received or from_scn == scn or is_unbroken(logs, begins, scn):
                break
            self._dictionary.give_up()
        if len(threads) > 1:
            # The log that one thread begins with reaches further back than what is to be read of the others.
            begin = min((log.first_scn for log in logs), default=from_scn)
            logs = read_logs(connection, begin, destinations, mined)
        if received:
            logs = before_holes(logs, begins, start_scn)
        self._listed = frozenset((log.thread, log.sequence) for log in logs)
        archived_only = self._config.log_mining_archive_log_only_mode
        if archived_only:
            threads = with_redo_to_come(threads, [log for log in logs if log.archived], scn)
        if self._dictionary:
            begins, start_scn = marks_from(logs, begins, from_scn), min(start_scn, from_scn)
        # What a bound cuts off, LogMiner does not show at all when it shows whole transactions, or large values, only
        # of transactions it has read from their start.
        unbounded = self.reads_all or not self._most or assembly.committed or self._lobs or self._dictionary is not None
        at_most = len(logs) if unbounded else self._most
        known = all(thread.number in begins for thread in threads)
        ended = {} if known else read_ended(connection, start_scn)
        return select_logs(
            logs, threads, begins, start_scn, at_most, archived_only=archived_only, ended=ended, received=received
        )


def _complete_scn(threads: list[RedoThread]) -> int:
    """An SCN: every commit at or below it was in the log files when the threads were read; 0 when no thread is open."""
    return min((thread.last_scn for thread in threads if thread.is_open), default=1) - 1
