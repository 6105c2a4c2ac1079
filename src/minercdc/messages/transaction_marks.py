"""The records of the begin and end of a transaction."""

from __future__ import annotations

from collections.abc import Callable

from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.stream.events import TransactionInfo, TransactionMark


class TransactionMarks:
    """Writes the marks of transactions for a publisher, as it writes their changes. Its methods raise what `write` raises.

    :param write: writes the records of a mark into the present Kafka transaction.
    """

    def __init__(self, counts: TransactionCounts, write: Callable[[TransactionMark], None]) -> None:
        self._counts = counts
        self._write = write

    def counted(self, tx: TransactionInfo, time_us: int) -> None:
        """Keep the numbers of a change's events; write the mark of the begin when they are the transaction's first.

        :param time_us: of the change, microseconds since the epoch in UTC.
        """
        kept = self._counts.keep()
        if kept and kept == self._counts.total:
            self._write(TransactionMark(tx, time_us))

    def ended(self, tx: TransactionInfo) -> None:
        """Write the mark of a transaction's end, unless it has no events, and forget its numbers."""
        if events := self._counts.of(tx):
            self._write(TransactionMark(tx, tx.commit_us, events))
        self._counts.end()
