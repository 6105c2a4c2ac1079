"""Log files as LogMiner sees them: found by name, proven to cover a range without a gap, chosen for a PDB.

thread 1   [seq 7: 100..200) [seq 8: 200..300) [seq 9: 300..   current
range              150 ............................. 320          needs 7, 8, 9; without 8: ORA-01291
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoRecord
from minercdc_sandbox.redo.batches import PackedBatch
from minercdc_sandbox.redo.threads import ArchivedLog, Incarnation, LogGroup, RedoThread


class MinedRedo(Protocol):
    """Redo that LogMiner reads: the database's own (`RedoLog`, which describes the members), or what it has received of another
    (`downstream.ForeignLogs`)."""

    @property
    def threads(self) -> Mapping[int, RedoThread]: ...

    @property
    def incarnation(self) -> Incarnation: ...

    @property
    def addressless(self) -> set[str]: ...

    def groups(self) -> list[LogGroup]: ...

    def archived(self) -> list[ArchivedLog]: ...

    def locate(self, name: str) -> tuple[int, int] | None: ...

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]: ...

    def chunks(self, thread: int, sequence: int, first: int = 0) -> Iterator[tuple[int, list[PackedBatch]]]: ...


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a session's list: which log, by thread and sequence, was under that name when it was added."""

    name: str
    thread: int
    sequence: int


@dataclass(frozen=True, slots=True)
class LogRange:
    """The SCNs of a log: `first` up to, not including, `next`, which is None while the log is written; `name` is one of its files."""

    thread: int
    sequence: int
    first: int
    next: int | None
    name: str


class ScnRange(Protocol):
    """A range of SCNs; both ends are inclusive, None is open."""

    @property
    def start(self) -> int | None: ...

    @property
    def end(self) -> int | None: ...


def _missing() -> OraError:
    return OraError(1291, "missing log file")


def find_log(redo: MinedRedo, name: str) -> LogFile:
    """The log that a file name holds now. Raises ORA-01284 when there is none, ORA-01287 for an earlier incarnation's, and as
    `ForeignLogs.locate`."""
    found = redo.locate(name)
    if found is None:
        raise OraError(1284, f"file {name} cannot be opened")
    return LogFile(name, *found)


def log_ranges(redo: MinedRedo) -> dict[tuple[int, int], LogRange]:
    """All online logs, and archived ones that RMAN has not deleted, by thread and sequence; the archived copy of those that are
    both. Of several copies the one archived last."""
    found = {}
    for group in redo.groups():
        if group.sequence:
            found[group.thread, group.sequence] = LogRange(
                group.thread, group.sequence, group.first_change, group.next_change, group.members[0]
            )
    for log in redo.archived():
        if log.name is not None:
            found[log.thread, log.sequence] = LogRange(log.thread, log.sequence, log.first_change, log.next_change, log.name)
    return found


def check_range(redo: MinedRedo, files: Sequence[LogFile], wanted: ScnRange) -> None:
    """Check that `files` cover the range. Raises ORA-01281 when the range ends before its start, ORA-01291 when the files of a
    thread that has redo in the range do not cover it without a gap, or a listed log is gone."""
    if wanted.start is not None and wanted.end is not None and wanted.end < wanted.start:
        raise OraError(1281, "SCN range specified is invalid")
    ranges = log_ranges(redo)
    oldest = min(thread.enabled_change for thread in redo.threads.values())
    for number, thread in redo.threads.items():
        listed = sorted(file.sequence for file in files if file.thread == number)
        if thread.disabled_change and wanted.start is not None and thread.disabled_change <= wanted.start:
            continue
        if not listed:
            if wanted.end is None or thread.enabled_change <= wanted.end:
                raise _missing()
            continue
        if listed != list(range(listed[0], listed[-1] + 1)):
            raise _missing()
        known = [ranges.get((number, sequence)) for sequence in listed]
        first, last = known[0], known[-1]
        if first is None or last is None:
            raise _missing()
        # A thread enabled after the start has no redo before that; the first thread's redo before it is just gone.
        enabled = thread.enabled_change if thread.enabled_change > oldest else 0
        before = ranges.get((number, first.sequence - 1))
        # SCNs, not sequence numbers, have a hole over the time a thread was closed.
        follows = before is not None and before.next is not None and wanted.start is not None and before.next <= wanted.start
        if wanted.start is not None and first.first > max(wanted.start, enabled) and not follows:
            raise _missing()
        ends = thread.disabled_change and last.next is not None and thread.disabled_change <= last.next + 1
        if wanted.end is not None and last.next is not None and last.next < wanted.end and not ends:
            raise _missing()


def missing_logs(redo: MinedRedo, files: Sequence[LogFile], wanted: ScnRange) -> list[tuple[int, int, int]]:
    """(thread, first sequence, last sequence) of each gap, by thread and sequence: logs that the range needs and that are not in
    `files`."""
    listed = {(file.thread, file.sequence) for file in files}
    needed = {key for key, log in log_ranges(redo).items() if touches(log, wanted)}
    for thread in redo.threads:
        sequences = [sequence for number, sequence in listed | needed if number == thread]
        needed |= {(thread, sequence) for sequence in range(min(sequences, default=1), max(sequences, default=0) + 1)}
        oldest = min((log for log in log_ranges(redo).values() if log.thread == thread), key=lambda log: log.sequence)
        if wanted.start is not None and oldest.first > wanted.start and oldest.sequence > 1:
            needed.add((thread, oldest.sequence - 1))
    gaps: list[tuple[int, int, int]] = []
    for number, sequence in sorted(needed - listed):
        if gaps and gaps[-1][0] == number and gaps[-1][2] == sequence - 1:
            gaps[-1] = (number, gaps[-1][1], sequence)
        else:
            gaps.append((number, sequence, sequence))
    return gaps


def logs_covering(redo: MinedRedo, wanted: ScnRange) -> tuple[LogFile, ...]:
    """The logs, of all threads, that mining in a PDB reads for the range. Raises as `check_range`."""
    chosen = [log for log in sorted(log_ranges(redo).values(), key=lambda log: log.sequence) if touches(log, wanted)]
    files = tuple(LogFile(log.name, log.thread, log.sequence) for log in chosen)
    check_range(redo, files, wanted)
    return files


def touches(log: LogRange, wanted: ScnRange) -> bool:
    """Whether a log may hold redo of the range."""
    ends_before = wanted.start is not None and log.next is not None and log.next <= wanted.start
    begins_after = wanted.end is not None and log.first > wanted.end
    return not ends_before and not begins_after


def logs_to_read(redo: MinedRedo, files: Sequence[LogFile], wanted: ScnRange) -> list[LogFile]:
    """Of the listed files those whose SCNs touch the range, by thread and sequence.

    Raises ORA-00308 for any listed file that was deleted since it was added, ORA-00310 for an online log that a later sequence
    has overwritten, ORA-01287 for one of an earlier incarnation, and as `ForeignLogs.locate`.
    """
    ranges = log_ranges(redo)
    chosen = []
    for file in sorted(files, key=lambda file: (file.thread, file.sequence)):
        found = redo.locate(file.name)
        if found is None:
            raise OraError(308, f"cannot open archived log '{file.name}'")
        if found != (file.thread, file.sequence):
            raise OraError(310, f"archived log contains sequence {found[1]}; sequence {file.sequence} required")
        if touches(ranges[found], wanted):
            chosen.append(file)
    return chosen
