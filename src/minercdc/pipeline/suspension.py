"""Which tables are suspended: one set, which the publisher keeps and the decoder and the signals read.

    row cannot be decoded or encoded      suspend: its table's rows are left out from here on       publisher
    resume-table, or the cause is gone    resume: an incremental snapshot reads the table again     snapshot/incremental/resuming.py

Which rows are left out depends on where they were committed, so that it is the same at every replay:

    suspended                        every row, and TRUNCATE, unless they are read without their transactions (`SuspendedTable.delivered`)
    read again (`Resumption`)        rows committed at or before `covered_scn`: reading the table delivers them, and their deletes
    read again, row not decodable    its transaction began at or before `fixed_scn`: the redo is older than the repair, so the
                                     table is read once more after it; else it is a new fault, and the table is suspended

Numbers of changes (`seq`) must not depend on what is suspended, for they say where a split transaction goes on. So a table
that is suspended within a transaction is decoded to that transaction's end (its rows are left out all the same), at a replay too;
and no table is resumed while a transaction is delivered in part (`split`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from minercdc.schema.table import TableId
from minercdc.stream.events import TransactionInfo
from minercdc.stream.offset import Resumption, SuspendedTable


class Suspensions:
    """The tables that are suspended, or read again, at the point of the stream that is written.

    :ivar name_of: how stored state names a table.
    :ivar split: id of the source transaction that is delivered in part, '' when none is.
    """

    def __init__(self, name_of: Callable[[TableId], str] = str) -> None:
        self.name_of = name_of
        self._suspended: dict[str, SuspendedTable] = {}
        self._resuming: dict[str, Resumption] = {}
        self.split = ""

    @property
    def any(self) -> bool:
        """Whether any table is suspended or read again, so that rows of it may have to be left out."""
        return bool(self._suspended or self._resuming)

    def load(self, suspended: Iterable[SuspendedTable], resuming: Iterable[Resumption], *, split: str) -> None:
        """Take over the stored state, in place of what was there.

        :param split: as the attribute.
        """
        self._suspended = {entry.table: entry for entry in suspended}
        self.follow(resuming)
        self.split = split

    def follow(self, resuming: Iterable[Resumption]) -> None:
        """Take over the tables that are read again now, in place of those before."""
        self._resuming = {resumption.table: resumption for resumption in resuming}

    def tables(self) -> tuple[SuspendedTable, ...]:
        """All that are suspended, in the order they were suspended."""
        return tuple(self._suspended.values())

    def find(self, table: str) -> SuspendedTable | None:
        """The entry of a table, as `name_of` names it; None when it is not suspended."""
        return self._suspended.get(table)

    def gives_up_topic(self, table: TableId) -> bool:
        """Whether a table is suspended so that another one may have its topic."""
        entry = self._suspended.get(self.name_of(table))
        return entry is not None and entry.gives_up_topic

    def put(self, entry: SuspendedTable) -> None:
        """Suspend a table; replaces an earlier entry of it."""
        self._suspended[entry.table] = entry

    def remove(self, table: str) -> SuspendedTable | None:
        """End a table's suspension; returns its entry, None when there was none."""
        return self._suspended.pop(table, None)

    def concerns(self, tables: Iterable[TableId]) -> bool:
        """Whether one of these tables is suspended, or read again."""
        return self.any and any(name in self._suspended or name in self._resuming for name in map(self.name_of, tables))

    def leaves_out(self, table: TableId, tx: TransactionInfo | None) -> bool:
        """Whether a row of this table is not delivered.

        :param tx: None for rows of snapshots.
        """
        name = self.name_of(table)
        entry = self._suspended.get(name)
        if entry is not None:
            return not entry.delivered
        resumption = self._resuming.get(name)
        return resumption is not None and tx is not None and tx.commit_scn <= resumption.covered_scn

    def leaves_out_truncate(self, table: TableId, scn: int) -> bool:
        """Whether a TRUNCATE of this table at this SCN is not delivered: reading the table again finds the rows that are gone."""
        name = self.name_of(table)
        entry = self._suspended.get(name)
        if entry is not None:
            return not entry.delivered
        resumption = self._resuming.get(name)
        return resumption is not None and scn <= resumption.covered_scn

    def unread(self, tx: TransactionInfo) -> frozenset[str]:
        """Names of the tables whose rows in this transaction need not be decoded. The same at every replay of it."""
        suspended = {
            entry.table
            for entry in self._suspended.values()
            if not (entry.tx_id == tx.id and entry.since_scn == tx.commit_scn)
        }
        covered = {table for table, resumption in self._resuming.items() if tx.commit_scn <= resumption.covered_scn}
        return frozenset(suspended | (covered - self._suspended.keys()))

    def is_older_than_repair(self, table: TableId, tx: TransactionInfo | None) -> bool:
        """Whether the table is read again, and redo of `tx` may be older than its repair: also when the start of `tx` is not
        known.

        :param tx: None for rows of snapshots, which never are.
        """
        resumption = self._resuming.get(self.name_of(table))
        return resumption is not None and tx is not None and tx.start_scn <= resumption.fixed_scn
