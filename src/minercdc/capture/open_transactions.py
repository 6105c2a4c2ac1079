"""Tracks the oldest undelivered transaction: everything that the server sends later began after it.

The stream does not show it: a transaction comes once it has committed. V$TRANSACTION does. What is read there at an SCN holds as
soon as every commit up to that SCN is delivered: each transaction that comes later was open then, or began after it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import oracledb

from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.open_transactions import oldest_undecided_scn, warn_of_doubt
from minercdc.oracle.scn import current_scn

_EVERY_SECONDS = 3.0


class OldestUndelivered:
    """Reads the start of the oldest open transaction every few seconds, by a connection of its own: the first query opens it, the
    owner calls `close`.

    :param connect: to where V$TRANSACTION shows the transactions of the captured tables.
    :param begun: `CommitPosition.begun` of the position that the stream starts from.
    :ivar begun: SCN at or below the begin of every transaction that is not delivered; it never falls.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], begun: int) -> None:
        self._connection = KeptConnection(connect)
        self._next: tuple[int, int] | None = None  # what `begun` becomes, once so many SCNs are complete
        self._due = monotonic() + _EVERY_SECONDS
        self._held = False
        self.begun = begun

    def look(self, complete_scn: int) -> None:
        """Move `begun` on to what the last query found, if `complete_scn` has come to the SCN of that query (at or above it);
        else do nothing. Then query V$TRANSACTION, if the query before, or the making of this object, is three seconds ago.

        :param complete_scn: every commit at or below it is delivered.
        :raises SourceError, PrerequisiteError, ConfigError: connecting failed, or V$TRANSACTION or the current SCN cannot be
            read.
        """
        if self._next is not None:
            begun, scn = self._next
            if complete_scn < scn:
                return
            self.begun, self._next = max(self.begun, begun), None
        if monotonic() < self._due:
            return
        self._due = monotonic() + _EVERY_SECONDS
        connection = self._connection.get()
        begun = oldest_undecided_scn(connection)
        self._held = warn_of_doubt(not begun, warned=self._held)
        self._next = begun, current_scn(connection)

    def close(self) -> None:
        """Close the connection; safe to call twice. The next query of `look` opens another one."""
        self._connection.close()
