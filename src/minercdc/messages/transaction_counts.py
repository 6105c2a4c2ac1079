"""Numbers of a source transaction's events, by which readers put the transaction together again."""

from __future__ import annotations

from collections.abc import Mapping

from minercdc.stream.events import TransactionInfo
from minercdc.stream.offset import PartialTransaction


class TransactionCounts:
    """How many events of the present transaction have records.

    Events of a change are counted and then kept, or taken back when the change is left out. The offset stores what is kept of a
    split transaction, so that a restart goes on counting.

    :ivar total: events of the present transaction.
    """

    def __init__(self) -> None:
        self._transaction: tuple[str, int] | None = None
        self._by_table: dict[str, int] = {}
        self._counted: list[str] = []  # since the last `keep`
        self.total = 0

    def load(self, partial: PartialTransaction | None) -> None:
        """Begin with what was stored, None for nothing: the transaction whose delivery was cut, and the events of it that
        were delivered."""
        self._begin((partial.tx_id, partial.commit_scn) if partial else None, partial.events if partial else {})

    def _begin(self, transaction: tuple[str, int] | None, by_table: Mapping[str, int]) -> None:
        self._transaction = transaction
        self._by_table = dict(by_table)
        self._counted = []
        self.total = sum(by_table.values())

    def of(self, tx: TransactionInfo) -> Mapping[str, int]:
        """Events by table that are counted for a transaction; {} when it is not the present one."""
        return dict(self._by_table) if self._transaction == (tx.id, tx.commit_scn) else {}

    def next(self, tx: TransactionInfo, table: str) -> tuple[int, int]:
        """Count an event of a table; returns its number in its transaction, and among the table's events there, both from 1.
        The first event of another transaction ends the one before.

        :param table: as `DATABASE.SCHEMA.TABLE`.
        """
        if self._transaction != (tx.id, tx.commit_scn):
            self._begin((tx.id, tx.commit_scn), {})
        number = self._by_table.get(table, 0) + 1
        self._by_table[table] = number
        self._counted.append(table)
        self.total += 1
        return self.total, number

    def keep(self) -> int:
        """Keep what was counted since the last call; returns the number of these events."""
        kept = len(self._counted)
        self._counted.clear()
        return kept

    def take_back(self) -> None:
        """Forget what was counted since the last `keep`."""
        for table in self._counted:
            self._by_table[table] -= 1
            if not self._by_table[table]:
                del self._by_table[table]
        self.total -= self.keep()

    def end(self) -> None:
        """Forget the present transaction, which has ended."""
        self._begin(None, {})
