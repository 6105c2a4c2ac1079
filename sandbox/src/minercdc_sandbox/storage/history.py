"""Old row versions move out of the way of scans: from `seg_<id>` into `old_<id>`, where only flashback queries look.

A version may move once no snapshot can see it any more: it ended (e) before every open cursor and every serializable or read-only
transaction began. Statements that see the present read `seg_<id>` alone, so what they cost does not grow with history; AS OF,
VERSIONS BETWEEN and ORA_ROWSCN read both.

    commit ends versions -> counted by table -> enough of them, and their readers gone -> one scan moves them all
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.storage.store import Segments
from minercdc_sandbox.storage.transactions import Transactions
from minercdc_sandbox.tables import Table

ENOUGH = 20_000
"""At least so many ended versions, and a quarter of the rows ever inserted, are worth a scan of their table."""


class Reader(Protocol):
    """An open cursor, as `History` sees it."""

    @property
    def oldest(self) -> int | None:
        """The oldest SCN at which it still reads tables; None when it reads no more."""


@dataclass(slots=True)
class _Ended:
    """Versions of a table that ended since the last move, and the SCN at which the first of them ended."""

    count: int
    first: int


class History:
    """Decides when old row versions move out of the segments, and moves them; used under the storage lock. Its counts begin at 0
    after a restart."""

    def __init__(self, segments: Segments, catalog: Catalog, transactions: Transactions) -> None:
        self._segments, self._catalog, self._transactions = segments, catalog, transactions
        self._ended: dict[int, _Ended] = {}
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()

    def read_by(self, reader: Reader) -> None:
        """Register an open cursor, by a weak reference: versions it can see are not moved, until it is garbage or its `oldest` is
        None."""
        self._readers.add(reader)

    def note_ended(self, table: Table, count: int, scn: int) -> None:
        """Count `count` versions of the table that a commit at `scn` ended."""
        found = self._ended.setdefault(table.data_object_id, _Ended(0, scn))
        found.count += count

    def move(self, tables: Iterable[Table], scn: int) -> None:
        """After a commit that ended versions of `tables`: move those of their ended versions that no snapshot can see, where
        enough of them have ended; temporary tables never. A table's first move makes its history and increases `catalog.version`.

        :param scn: the present one.
        """
        seen_from: int | None = None
        for table in tables:
            found = self._ended.get(table.data_object_id)
            rows_ever = table.next_rid
            if found is None or table.temporary is not None or found.count < max(ENOUGH, rows_ever // 4):
                continue
            if seen_from is None:
                seen_from = min([scn, *self._snapshots()])
            if seen_from < found.first:
                continue
            if not table.has_history:
                self._segments.create_history(table)
                table.history_of = table.data_object_id
                self._catalog.version += 1
            found.count -= self._segments.move(table, seen_from)
            if found.count <= 0:
                del self._ended[table.data_object_id]
            else:
                found.first = seen_from + 1

    def _snapshots(self) -> Iterable[int]:
        for reader in self._readers:
            if reader.oldest is not None:
                yield reader.oldest
        for transaction in self._transactions.all_open():
            if transaction.snapshot is not None:
                yield transaction.snapshot
