"""The SCN that the connector acknowledges to the server, which then forgets what lies at or below it.

LastCommitedSCN says that everything the server has sent up to a commit SCN is stored. Several transactions may have the same one:
while one that has come is not stored, the SCN before it is the last that can be named.
"""

from __future__ import annotations

from collections import deque

from minercdc.capture.fors_olr.position import ForsPosition


class Acknowledgement:
    """Keeps the transactions that came on one connection until the sink has stored them; one for each connection."""

    def __init__(self) -> None:
        self._stored: ForsPosition | None = None
        self._received: deque[tuple[int, str]] = deque()

    def received(self, commit_scn: int, xid: str) -> None:
        """Note that the Commit of a transaction came, in the order they come. It counts as not stored until `stored` is
        called with a position that includes it."""
        self._received.append((commit_scn, xid))

    def stored(self, position: ForsPosition) -> None:
        """Note that everything up to a position is durable in the sink; one that lies before the last has no effect."""
        if self._stored is None or not position.precedes(self._stored):
            self._stored = position

    @property
    def scn(self) -> int:
        """The SCN for LastCommitedSCN: every commit at or below it is stored. 0 while nothing is known to be stored. It drops the
        transactions that are stored."""
        stored, received = self._stored, self._received
        if stored is None:
            return 0
        while received and stored.includes(*received[0]):
            received.popleft()
        found = stored.delivered_scn
        return min(found, received[0][0] - 1) if received else found
