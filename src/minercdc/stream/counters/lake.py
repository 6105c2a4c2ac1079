"""Counts the work and the progress of a running lake."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc.stream.counters.mining import Duration


@dataclass(slots=True)
class LakeTableFigures:
    """One lake table.

    :ivar scn: it has every commit up to this SCN.
    :ivar waiting: records of the change log that it lacks.
    :ivar oldest_us: commit time of the oldest of them, in microseconds since 1970; 0 for none.
    :ivar merged: records that were merged into it.
    :ivar merges: their time.
    :ivar failures: merges that failed.
    :ivar failure: why it is quarantined; '' when it is not.
    """

    scn: int = 0
    waiting: int = 0
    oldest_us: int = 0
    merged: int = 0
    merges: Duration = field(default_factory=Duration)
    failures: int = 0
    failure: str = ""

    def lag(self, now: float) -> float:
        """Age in seconds of the oldest commit that it lacks, of those that the change log has; 0 when it lacks none.

        :param now: seconds since 1970.
        """
        return max(now - self.oldest_us / 1_000_000, 0.0) if self.oldest_us else 0.0


@dataclass(slots=True)
class LakeFigures:
    """The lake of one connector. Written by the lake's threads, read by others at any time.

    :ivar complete_scn: the change log has every commit up to this SCN.
    :ivar records: read by the stream.
    :ivar triggers: time of its micro-batches.
    :ivar tables: by name.
    """

    complete_scn: int = 0
    records: int = 0
    triggers: Duration = field(default_factory=Duration)
    tables: dict[str, LakeTableFigures] = field(default_factory=dict)

    def table(self, name: str) -> LakeTableFigures:
        """The figures of a table, which are made when there are none."""
        return self.tables.setdefault(name, LakeTableFigures())

    def lag(self, now: float) -> float:
        """The greatest lag of a table, in seconds; 0 without tables, or when none lags.

        :param now: seconds since 1970.
        """
        return max((one.lag(now) for one in list(self.tables.values())), default=0.0)
