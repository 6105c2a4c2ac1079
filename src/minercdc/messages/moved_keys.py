"""Tracks keys that a row takes over from another row, which releases them only later in the same transaction.

    UPDATE T SET ID = ID + 1          redo:  row A: 1 -> 2    row B: 2 -> 3

A change of a key is a delete of the old key and a create of the new one. One after the other these are d1 c2 d2 c3, and whoever
keeps the newest record of each key loses row A: the delete of key 2 was B's. So B's delete is left out: key 2 has a newer record,
A's.

Oracle checks unique keys at the end of a statement, deferrable ones at the COMMIT: until then two rows may have one key. So with a
deferrable key an INSERT, too, may take a key that another row releases later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Row, TransactionInfo

_log = logging.getLogger(__name__)

_MOST: Final = 500_000  # some 100 MB


def is_checked_late(schema: TableSchema, key: tuple[int, ...]) -> bool:
    """Whether a key of a table, given by its positions, is unique at the COMMIT only, by a deferrable key within its columns: a row may
    be inserted with the key of another one. Not where a further key within them is checked at the end of each statement."""
    columns = {schema.columns[i].name for i in key}
    within = [one for one in schema.keys or () if one.holds and columns.issuperset(one.columns)]
    nullable = {column.name for column in schema.columns if column.nullable}
    # A unique key says nothing of rows in which all its columns are null.
    at_once = (one for one in within if not one.deferrable and (one.kind == "P" or not nullable.issuperset(one.columns)))
    return any(one.deferrable for one in within) and not any(at_once)


class MovedKeys:
    """The keys that updates of the present transaction have given to rows, of deferrable keys also those that inserts gave:
    table -> key -> ROWID of the row that has it.

    :param key_columns: positions of a table's record key; it may raise ConfigError, which the methods then raise.
    :param most: keys that are held at a time; beyond, all are forgotten, with a warning.
    """

    def __init__(self, key_columns: Callable[[TableSchema], tuple[int, ...]], most: int = _MOST) -> None:
        self._key_columns = key_columns
        self._most = most
        self._transaction: TransactionInfo | None = None
        self._rows: dict[TableId, dict[tuple[object, ...], str]] = {}
        self._count = 0

    def frees(self, event: ChangeEvent) -> bool:
        """Note that a row has left its old key, and the key that an update gives it. What was noted of another transaction is
        forgotten. Returns whether the old key may be deleted: False when another row has taken it over already; True, too,
        where that cannot be known: the event has no ROWID, or redo lacks the key.

        :param event: an update that changes the key, or a delete.
        """
        self._turn_to(event.tx)
        row_id, rows = event.row_id, self._rows.get(event.schema.id)
        free = True
        if rows and row_id and (old := self._key(event, event.before)) is not None:
            free = rows.get(old, row_id) == row_id
            if free and rows.pop(old, "") == row_id:
                self._count -= 1
        if event.op is Op.UPDATE and row_id and (new := self._key(event, event.after)) is not None:
            self._take(event.schema.id, new, row_id)
        return free

    def inserted(self, event: ChangeEvent) -> None:
        """Note the key of a row that is inserted into a table whose key `is_checked_late`."""
        self._turn_to(event.tx)
        if event.row_id and (key := self._key(event, event.after)) is not None:
            self._take(event.schema.id, key, event.row_id)

    def holds(self, table: TableId) -> bool:
        """Whether a row of the table was given a key in the transaction of the last event, so that `frees` has to see deletes."""
        return bool(self._rows) and table in self._rows

    def is_within(self, transaction: TransactionInfo | None) -> bool:
        """Whether rows were given keys in this transaction, so that `frees` has to see the deletes in it. Forgets those of
        other transactions."""
        self._turn_to(transaction)
        return bool(self._rows)

    @property
    def is_empty(self) -> bool:
        """Whether no row was given a key in the transaction of the last event."""
        return not self._rows

    def pass_over(self, event: ChangeEvent) -> None:
        """Note what a change that an earlier run has delivered does to keys, as `frees` does. Updates that leave the key as it
        was are passed over."""
        if event.op is Op.DELETE:
            if self.holds(event.schema.id):
                self.frees(event)
        elif event.op is Op.CREATE:
            if is_checked_late(event.schema, self._key_columns(event.schema)):
                self.inserted(event)
        elif event.op is Op.UPDATE and self._key(event, event.before) != self._key(event, event.after):
            self.frees(event)

    def _turn_to(self, transaction: TransactionInfo | None) -> None:
        known = self._transaction
        same = known is transaction or (
            known is not None
            and transaction is not None
            and (known.id, known.commit_scn) == (transaction.id, transaction.commit_scn)
        )
        if not same:
            self._transaction, self._count = transaction, 0
            self._rows.clear()

    def _take(self, table: TableId, key: tuple[object, ...], row_id: str) -> None:
        if self._count >= self._most:
            _log.warning(
                "a transaction has changed more than %d keys of %s and others: if a later row releases one of them, the row that"
                " has taken over the key gets a delete",
                self._most,
                table,
            )
            self._rows.clear()
            self._count = 0
        rows = self._rows.setdefault(table, {})
        self._count += key not in rows
        rows[key] = row_id

    def _key(self, event: ChangeEvent, row: Row | None) -> tuple[object, ...] | None:
        """The key of a row; None when there is no row, redo lacks a value of it, or the table has no key."""
        if row is None:
            return None
        key = tuple(row[i] for i in self._key_columns(event.schema))
        return None if not key or any(value is UNAVAILABLE for value in key) else key
