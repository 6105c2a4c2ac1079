"""Reads large values that redo does not hold from the row itself, as of the commit of its transaction.

Redo has the value of a LOB only where a statement changed it: after a change of the key the new key's record would lack all other
LOBs. As of that SCN the row reads the same at every replay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import oracledb

from minercdc.errors import MinerCdcError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.object_ids import refuse_renamed
from minercdc.oracle.fetching.binds import BINDS, ROWID
from minercdc.oracle.fetching.rows import RowConverter, exact_values, selected_columns
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Row, Scn
from minercdc.values.supported import is_large

_log = logging.getLogger(__name__)


class RowReselect:
    """The `capture.adapter.Reselect`: completes changes of rows with large values. It connects when it first needs to, and
    keeps a connection per database until `close`.

    :param connect: opens a connection to the database of a TableId.
    :param published: whether a column is in the record value.
    :param key_columns: positions of a table's record key.
    :param key_changes_only: complete only UPDATEs that change the record key.
    :param counters: `unselected` counts the changes that could not be completed.
    """

    def __init__(
        self,
        connect: Callable[[str], oracledb.Connection],
        published: Callable[[TableId, Column], bool],
        key_columns: Callable[[TableSchema], tuple[int, ...]],
        *,
        key_changes_only: bool = True,
        counters: Counters | None = None,
    ) -> None:
        self._connect = connect
        self._connections: dict[str, KeptConnection] = {}
        self._published = published
        self._key_columns = key_columns
        self._key_changes_only = key_changes_only
        self._counters = counters or Counters()
        self._large: dict[tuple[TableId, int], tuple[int, ...]] = {}
        self._warned: set[TableId] = set()

    def complete(self, event: ChangeEvent) -> None:
        """Fill in the published large values that `event.after` lacks, as of the commit SCN of its transaction, and set
        `reselected_scn` to that. What cannot be read stays UNAVAILABLE: it is counted, and logged as a warning once per
        table. DELETEs and rows of snapshots stay as they are.

        :raises TransientSourceError: the database is not reachable; the change has to be delivered again.
        """
        after = event.after
        if after is None or event.tx is None:
            return
        missing = [i for i in self._large_columns(event.schema) if after[i] is UNAVAILABLE]
        if not missing or (self._key_changes_only and not self._changes_key(event)):
            return
        scn = event.tx.commit_scn
        try:
            found = self._read(event.schema, missing, after, event.row_id, scn)
        except TransientSourceError:
            self.close()
            raise
        except MinerCdcError as error:
            self._left(event.schema.id, error.message)
            return
        if found is None:
            self._left(event.schema.id, f"the row is not there as of SCN {scn}")
            return
        values = list(after)
        for i, value in zip(missing, found, strict=True):
            values[i] = value
        event.after = tuple(values)
        event.reselected_scn = scn

    def close(self) -> None:
        """Release the connections; safe to call twice. A later `complete` makes others."""
        for connection in self._connections.values():
            connection.close()

    def _connection(self, database: str) -> oracledb.Connection:
        kept = self._connections.get(database)
        if kept is None:
            kept = self._connections[database] = KeptConnection(partial(self._connect, database))
        return kept.get()

    def _large_columns(self, schema: TableSchema) -> tuple[int, ...]:
        version = schema.id, schema.version
        if version not in self._large:
            self._large[version] = tuple(
                i for i, column in enumerate(schema.columns) if is_large(column) and self._published(schema.id, column)
            )
        return self._large[version]

    def _changes_key(self, event: ChangeEvent) -> bool:
        before, after = event.before, event.after
        if event.op is not Op.UPDATE or before is None or after is None:
            return False
        return any(before[i] != after[i] and before[i] is not UNAVAILABLE for i in self._key_columns(event.schema))

    def _read(self, schema: TableSchema, columns: Sequence[int], row: Row, row_id: str | None, scn: Scn) -> Row | None:
        """Values of the columns at these positions of one row, as of an SCN; None when the row is not there, or nothing
        identifies it.

        :param row: the row as the event has it, for its key; `row_id` is used where its key is not known.
        """
        place = _place_of(schema, row, row_id)
        if place is None:
            return None
        selected = replace(schema, columns=tuple(schema.columns[i] for i in columns), key=())
        condition = " AND ".join(f"{name} = {BINDS[kind].sql.format(f':k{i}')}" for i, (name, kind, _) in enumerate(place))
        sql = (
            f'SELECT {selected_columns(selected, ROWID, True)} FROM "{schema.id.schema}"."{schema.id.table}" AS OF SCN {scn}'
            f" WHERE {condition}"
        )
        connection = self._connection(schema.id.database)
        with oracle_errors(f"reading a row of {schema.id} as of SCN {scn}"), connection.cursor() as cursor:
            cursor.outputtypehandler = exact_values
            binds = {f"k{i}": cursor.var(BINDS[kind].kind) for i, (_, kind, _) in enumerate(place)}
            for (_, kind, text), variable in zip(place, binds.values(), strict=True):
                variable.setvalue(0, BINDS[kind].convert(text))
            cursor.execute(sql, binds)
            fetched = cursor.fetchmany(2)
        if len(fetched) != 1:
            return None
        refuse_renamed(connection, schema, scn)  # else it is a row of another table
        ((_, found),) = RowConverter(selected, lobs=True)([tuple(fetched[0])])
        return found

    def _left(self, table: TableId, reason: str) -> None:
        """Count a change whose large values stay UNAVAILABLE, with a warning for the first of each table."""
        self._counters.unselected += 1
        if table not in self._warned:
            self._warned.add(table)
            _log.warning("%s: large values that redo does not hold stay unavailable: %s", table, reason)


def _place_of(schema: TableSchema, row: Row, row_id: str | None) -> list[tuple[str, str, str]] | None:
    """What identifies a row: (quoted name, type, text) of each key column; where the key is not known, or has a type that
    cannot be bound, of its ROWID; None when that is not known either."""
    place = []
    for i in schema.key:
        column, text = schema.columns[i], row[i]
        if not isinstance(text, str) or column.type_name not in BINDS:
            break
        place.append((f'"{column.name}"', column.type_name, text))
    else:
        if place:
            return place
    return None if row_id is None else [(ROWID, ROWID, row_id)]
