"""Judges archived logs, which come one by one, also to another database in which LogMiner runs: which can be read, and what is still
to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from minercdc.capture.logminer.logs.redo_logs import LogFile, RedoThread
from minercdc.capture.logminer.position import RedoAddress


def with_redo_to_come(threads: Sequence[RedoThread], logs: Sequence[LogFile], scn: int) -> list[RedoThread]:
    """The threads, in the same order, as archived logs show them: one that is closed in the primary, and has redo after `scn`,
    counts as open, and holds the others back, until the log with the last of its redo is among `logs`.

    :param threads: as the primary shows them.
    :param logs: archived ones of the database that mines: those that end after `scn`, which begins what is wanted.
    """
    ends: dict[int, int] = {}
    for log in logs:
        ends[log.thread] = max(ends.get(log.thread, 0), log.next_scn)
    return [
        replace(thread, is_open=True)
        if not thread.is_open and thread.last_scn > scn and ends.get(thread.number, 0) <= thread.last_scn
        else thread
        for thread in threads
    ]


def is_unbroken(logs: Sequence[LogFile], begins: Mapping[int, RedoAddress], scn: int) -> bool:
    """Whether, in each thread, none is missing from its first log to before the one it goes on with; True without logs.

    :param begins: where each thread goes on; one that is not among them does with the log that holds `scn`, or follows it.
    """
    for thread in {log.thread for log in logs}:
        own = {log.sequence: log for log in logs if log.thread == thread}
        end = min((sequence for sequence, log in own.items() if log.next_scn > scn), default=max(own))
        end = begins[thread].sequence if thread in begins else end
        if not own.keys() >= set(range(min(own), end)):
            return False
    return True


def before_holes(logs: Sequence[LogFile], begins: Mapping[int, RedoAddress], start_scn: int) -> list[LogFile]:
    """Those of the logs that lie, in each thread, before the first one that has not arrived: they can be read meanwhile.
    Where the log that a thread begins with has not arrived, all of its logs stay, and `select_logs` finds the gap.

    :param begins: where each thread goes on.
    :param start_scn: where a thread that is not in `begins` begins.
    """
    there = {(log.thread, log.sequence) for log in logs}
    last: dict[int, int] = {}
    for thread in {log.thread for log in logs}:
        own = [log.sequence for log in logs if log.thread == thread and log.next_scn > start_scn]
        sequence = begins[thread].sequence if thread in begins else min(own, default=0)
        if (thread, sequence) not in there:
            continue
        while (thread, sequence + 1) in there:
            sequence += 1
        last[thread] = sequence
    return [log for log in logs if log.sequence <= last.get(log.thread, log.sequence)]
