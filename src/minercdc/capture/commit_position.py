"""Position of an adapter that gets whole transactions, in the order of their commit SCNs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from minercdc.capture.database_identity import DatabasePosition


@dataclass(frozen=True, slots=True)
class CommitPosition(DatabasePosition):
    """Base of the positions of adapters that get whole transactions in the order of their commit SCNs.

    :param scn, xids: transactions with a commit SCN below `scn`, and those of `xids` at it, are delivered.
    :param begun: all others began at this SCN or later; 0 when that is not known.
    """

    scn: int
    xids: frozenset[str] = frozenset()
    begun: int = 0

    def includes(self, commit_scn: int, xid: str) -> bool:
        """Whether the transaction of this commit SCN and XID is among those that are delivered."""
        return commit_scn < self.scn or (commit_scn == self.scn and xid in self.xids)

    def precedes(self, other: Self) -> bool:
        """Whether something that is delivered at `other` is not at this position."""
        return self.scn < other.scn or (self.scn == other.scn and not self.xids >= other.xids)

    @property
    def delivered_scn(self) -> int:
        """`scn` when a transaction at it is delivered, others perhaps not; else one less."""
        return self.scn if self.xids else self.scn - 1

    def __str__(self) -> str:
        """`SCN n` with `scn`, for the log: the first commit SCN of which not all is delivered."""
        return f"SCN {self.scn}"
