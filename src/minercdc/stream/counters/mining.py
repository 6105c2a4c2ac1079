"""Figures of the LogMiner passes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Duration:
    """Times of something that happens again and again: how often, and the last, the longest and the sum in seconds."""

    count: int = 0
    last: float = 0.0
    longest: float = 0.0
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count it once more, with the seconds that it took."""
        self.count += 1
        self.last, self.longest = seconds, max(self.longest, seconds)
        self.total += seconds


@dataclass(frozen=True, slots=True)
class BufferedTransaction:
    """A transaction whose COMMIT is not read yet, as redo shows it.

    :param began_us: source time, microseconds since the epoch in UTC.
    :param user: '' when not known.
    :param changes: captured rows so far.
    :param spilled_bytes: what its rows take on disk.
    """

    xid: str
    user: str
    began_us: int
    start_scn: int
    changes: int
    spilled_bytes: int


@dataclass(slots=True)
class MiningFigures:
    """Figures of all passes of the process, and of the latest.

    :ivar passes, starts: whole passes, and starts of LogMiner until its first rows came.
    :ivar rows, batches: that were fetched; the rows of the marked records come once more in each pass.
    :ivar logs: names of the latest pass's logs.
    :ivar fewest_logs, most_logs: of a pass; 0 before the first.
    :ivar log_switches: by how many logs the newest one of each thread moved on since the first pass, in all.
    :ivar redo_bytes: length of the redo read through, of all tables and of what LogMiner does not show.
    :ivar complete_scn: every commit up to it was in redo when the latest pass began.
    :ivar resume_scn: where a restart goes on.
    :ivar session_pga, most_session_pga: bytes that the LogMiner session held after the latest pass, and at most; 0 when not known.
    :ivar sessions: that were opened.
    :ivar open: the oldest open transactions that have captured rows.
    :ivar open_count, open_changes, spilled_bytes: of all of these, not only the oldest.
    :ivar kept_count, kept_bytes: of those that are kept over a restart: how many, and length of their files.
    """

    passes: Duration = field(default_factory=Duration)
    starts: Duration = field(default_factory=Duration)
    rows: int = 0
    batches: int = 0
    logs: tuple[str, ...] = ()
    fewest_logs: int = 0
    most_logs: int = 0
    log_switches: int = 0
    redo_bytes: int = 0
    sessions: int = 0
    complete_scn: int = 0
    resume_scn: int = 0
    session_pga: int = 0
    most_session_pga: int = 0
    open: tuple[BufferedTransaction, ...] = ()
    open_count: int = 0
    open_changes: int = 0
    spilled_bytes: int = 0
    kept_count: int = 0
    kept_bytes: int = 0

    def took_logs(self, names: tuple[str, ...]) -> None:
        """A pass over these logs begins: they are the present ones, and their number counts for the least and the greatest
        so far."""
        self.logs = names
        self.fewest_logs = min(self.fewest_logs or len(names), len(names))
        self.most_logs = max(self.most_logs, len(names))
