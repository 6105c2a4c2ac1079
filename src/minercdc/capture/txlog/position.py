"""The position of `txlog`: how far transactions are delivered, in the order of (commit SCN, TXN).

A row shows under the last transaction that changed it, so it only ever moves on in this order: a query for what was changed
after a place misses no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from minercdc.capture.database_identity import DatabasePosition, identity_of
from minercdc.stream.offset import JsonValue

_AFTER_ALL = 10**40  # TXN is a NUMBER of 38 digits at most


@dataclass(frozen=True, slots=True)
class TxlogPosition(DatabasePosition):
    """The position of `txlog`, which is stored in the offset: where to go on from.

    :param since: every transaction with a commit SCN up to this one is delivered.
    :param scn, txn: of the last transaction that is delivered beyond that; 0 for none.
    """

    since: int
    scn: int = 0
    txn: int = 0

    def precedes(self, other: Self) -> bool:
        """Whether going from `other` to this position would go back: something that is delivered at `other` is not at this
        one."""
        return self.place < other.place

    @property
    def place(self) -> tuple[int, int]:
        """Commit SCN and TXN up to which everything is delivered; between two polls a TXN above any other."""
        return (self.scn, self.txn) if self.scn > self.since else (self.since, _AFTER_ALL)

    @property
    def delivered_scn(self) -> int:
        """The SCN up to which commits are delivered, those at it perhaps in part."""
        return max(self.since, self.scn)

    @property
    def whole_scn(self) -> int:
        """The SCN up to which every commit is delivered."""
        return max(self.since, self.scn - 1)

    def __str__(self) -> str:
        """`SCN n` with `delivered_scn`, for the log."""
        return f"SCN {self.delivered_scn}"

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        found: dict[str, JsonValue] = {"txlog_since": str(self.since), **self.identity_json()}
        if self.scn:
            found |= {"txlog_scn": str(self.scn), "txlog_txn": str(self.txn)}
        return found

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> TxlogPosition:
        """The position of which `to_json` made `saved`. Raises KeyError, ValueError or TypeError for anything else."""
        scn, txn = int(saved.get("txlog_scn", 0)), int(saved.get("txlog_txn", 0))
        return cls(int(saved["txlog_since"]), scn, txn, of=identity_of(saved))
