"""Position of an adapter that gets whole transactions, in the order of their commit SCNs.

scn, xids   transactions with a commit SCN below `scn`, and those of `xids` at it, are delivered
begun       all others began at this SCN or later
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class CommitPosition:
    """A position; the module says what its fields mean."""

    scn: int
    xids: frozenset[str] = frozenset()
    begun: int = 0

    def includes(self, commit_scn: int, xid: str) -> bool:
        """Whether a transaction is delivered."""
        return commit_scn < self.scn or (commit_scn == self.scn and xid in self.xids)

    def precedes(self, other: Self) -> bool:
        """Whether going from `other` to this position would go back."""
        return self.scn < other.scn or (self.scn == other.scn and not self.xids >= other.xids)

    @property
    def delivered_scn(self) -> int:
        """Highest SCN of what was delivered."""
        return self.scn if self.xids else self.scn - 1

    def __str__(self) -> str:
        """For the log."""
        return f"SCN {self.scn}"
