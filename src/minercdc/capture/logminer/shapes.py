"""Keeps the captured tables in step with redo: whose rows are captured, and what DDL makes of their shape."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from minercdc.capture.logminer.row import LogMinerRow
from minercdc.events import SchemaChange, Scn
from minercdc.schema.ddl import (
    AlterTable,
    CommentOn,
    CreateTable,
    DropTable,
    KeyUnclear,
    RenameTable,
    ShapeUnclear,
    TableName,
    TruncateTable,
    apply_changes,
    commented,
    create_table,
    with_key_of,
)
from minercdc.schema.ddl_parser import parse_ddl
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

_DROPS_LOGGING = re.compile(r"\bDROP\s+SUPPLEMENTAL\s+LOG\b", re.IGNORECASE)
# The dictionary's present shape of a table; None when there is no such table (any more).
ReadTable: TypeAlias = Callable[[TableId], TableSchema | None]


class ShapeTracker:
    """Keeps `tables` as the captured tables are at the point of redo that has been read; one for each container. Errors of
    `read_table`, `unlogged` and the filter pass through.

    :param tables: shapes known so far, which `discover` and `follow` change.
    :param database: name of the PDB, or of the database: first part of every TableId.
    :param read_table: called when redo does not say a shape. It returns today's shape, which may be newer.
    :param unlogged: why redo of a table lacks what it takes to decode it, '' when it does not.
    :param tx_id: of a transaction, from its XID.
    :ivar name_of: the name of a table in messages, and of suspended tables.
    """

    def __init__(
        self,
        tables: Tables,
        table_filter: TableFilter,
        database: str,
        read_table: ReadTable,
        unlogged: Callable[[TableId], str] = lambda _: "",
        tx_id: Callable[[bytes], str] = bytes.hex,
        name_of: Callable[[TableId], str] = str,
    ) -> None:
        self._tx_id, self.name_of = tx_id, name_of
        self.tables = tables
        self._filter = table_filter
        self._database = database
        self._read_table = read_table
        self._unlogged = unlogged
        self._missing: set[TableId] = set()
        self._elsewhere: set[int] = set()  # object ids of tables that were renamed to names which are not captured

    def captured(self, owner: str | None, table: str | None, object_id: int) -> TableId | None:
        """The captured table that a row of `owner`.`table` belongs to, None when it is not captured.

        LogMiner prints the name that the object has in its dictionary: after a RENAME rows of before may carry the new name and
        rows of afterwards the old one, which may be another table's by now; a table that was dropped since has the name of its
        remains (`BIN$..`, `OBJ# n`). The object id stays, so it decides wherever it is known. Partitions have ids of their own,
        which are not: there the name does.
        """
        if owner is None or table is None:
            return None
        known = self.tables.find_object(self._database, object_id)
        if known is not None:
            return known if self._includes(known) else None
        if object_id in self._elsewhere or table.startswith(("BIN$", "OBJ# ")):
            return None
        return TableId(self._database, owner, table) if self._filter.includes(owner, table) else None

    def shown(self, row: LogMinerRow) -> str:
        """The name of the table that a row carries, for messages; `None` in it for a missing part."""
        return self.name_of(TableId(self._database, str(row.owner), str(row.table)))

    def discover(self, table: TableId, row: LogMinerRow, time_us: int) -> SchemaChange | None:
        """Put the present shape of a captured table, whose CREATE TABLE was not seen, into `tables`, and return the change. None
        when the dictionary does not know the table; it is not looked up again then, until DDL makes it. Logs either.

        :param row: the row that shows the table; the change has its SCN, transaction and user.
        """
        if table in self._missing:
            return None
        found = self._read_table(table)
        if found is None:
            self._missing.add(table)
            _log.warning("%s is captured but not in the dictionary; its rows cannot be decoded", self.name_of(table))
            return None
        expected = (table.schema, table.table) in self._filter.also  # a snapshot has structures of captured tables only
        level = logging.INFO if expected else logging.WARNING
        _log.log(level, "%s: no CREATE TABLE was seen; its present shape is taken", self.name_of(table))
        return self._change(row, time_us, None, self.tables.next_version(without_unsupported(found)), "")

    def follow(self, row: LogMinerRow, time_us: int) -> Iterator[SchemaChange]:
        """The changes that a DDL row makes to captured tables, none for other DDL; `tables` has the new shape when a change
        is yielded.

        Where the text does not say the new shape, it is the dictionary's present one, with a warning.

        :param time_us: of the statement, microseconds since the epoch in UTC.
        """
        sql = (row.sql or "").rstrip("; \n\x00")
        statement = parse_ddl(sql)
        if statement is None:
            return
        table = self._named(statement.name, row)
        known = self.tables.find(table)
        match statement:
            case TruncateTable():
                if known:
                    yield self._change(row, time_us, known, known, sql, truncate=True)
            case DropTable():
                if known:
                    yield self._change(row, time_us, known, None, sql)
            case CreateTable():
                if self._includes(table):
                    created = replace(create_table(statement, table), object_id=row.object_id)
                    yield self._new_version(row, time_us, None, created, sql)
                    self._warn_if_unlogged(table)
            case CommentOn():
                if known and self.tables.comments:
                    yield self._altered(row, time_us, known, commented(known, statement), sql)
            case RenameTable(_, new_name):
                yield from self._renamed(row, time_us, known, table._replace(table=new_name), sql)
            case AlterTable():
                yield from self._altered_by(statement, row, time_us, table, sql)
            case _:
                yield from self._reread(row, time_us, table, sql, statement.reason)

    def _altered_by(
        self, statement: AlterTable, row: LogMinerRow, time_us: int, table: TableId, sql: str
    ) -> Iterator[SchemaChange]:
        if self._includes(table) and _DROPS_LOGGING.search(sql):
            self._warn_if_unlogged(table)
        known = self.tables.find(table)
        if not known:
            yield from self._reread(row, time_us, table, sql, "the table was not known")
            return
        try:
            altered = without_unsupported(apply_changes(known, statement.changes))
            if KeyUnclear() in statement.changes and (present := self._read_table(table)) is not None:
                altered = with_key_of(altered, present)
        except ShapeUnclear as unclear:
            yield from self._reread(row, time_us, table, sql, str(unclear))
            return
        if statement.loses_rows:
            _log.warning(
                "%s: rows went or came without a trace in redo, and no event has them: %s", self.name_of(table), sql
            )
        yield self._altered(row, time_us, known, altered, sql)

    def _warn_if_unlogged(self, table: TableId) -> None:
        """Log a warning if redo of the table lacks what decoding needs. `unlogged` reads the dictionary as it is now, since
        logging is most often added by the next statement."""
        if missing := self._unlogged(table):
            _log.warning("%s", missing)

    def _named(self, name: TableName | None, row: LogMinerRow) -> TableId:
        """The table that a statement names: without a schema, in that of the DDL's target, which LogMiner shows; the target
        itself for None."""
        default = row.owner or row.user or ""
        return name.within(self._database, default) if name else TableId(self._database, default, row.table or "")

    def _includes(self, table: TableId) -> bool:
        return self._filter.includes(table.schema, table.table)

    def _renamed(
        self, row: LogMinerRow, time_us: int, known: TableSchema | None, new: TableId, sql: str
    ) -> Iterator[SchemaChange]:
        if known is None:
            yield from self._reread(row, time_us, new, sql, "the table was not known under its old name")
        elif self._includes(new):
            yield self._new_version(row, time_us, known, replace(known, id=new), sql)
        else:
            if known.object_id:
                self._elsewhere.add(known.object_id)
            yield self._change(row, time_us, known, None, sql)

    def _reread(self, row: LogMinerRow, time_us: int, table: TableId, sql: str, reason: str) -> Iterator[SchemaChange]:
        if not self._includes(table):
            return
        _log.warning("%s: %s; reading its present shape from the dictionary: %s", self.name_of(table), reason, sql)
        known, found = self.tables.find(table), self._read_table(table)
        if found is not None:
            found = without_unsupported(found)
        if found is not None and known is not None:
            yield self._altered(row, time_us, known, found, sql)
        elif found is not None:
            yield self._new_version(row, time_us, None, found, sql)
        elif known is not None:
            yield self._change(row, time_us, known, None, sql)

    def _altered(self, row: LogMinerRow, time_us: int, known: TableSchema, altered: TableSchema, sql: str) -> SchemaChange:
        """The change by a statement that keeps the table, put into `tables`. Where it changes no shape, there is no new
        version."""
        if replace(altered, version=known.version) == known:
            return self._change(row, time_us, known, known, sql)
        return self._new_version(row, time_us, known, altered, sql)

    def _new_version(
        self, row: LogMinerRow, time_us: int, before: TableSchema | None, after: TableSchema, sql: str
    ) -> SchemaChange:
        return self._change(row, time_us, before, self.tables.next_version(without_unsupported(after)), sql)

    def _change(
        self,
        row: LogMinerRow,
        time_us: int,
        before: TableSchema | None,
        after: TableSchema | None,
        sql: str,
        *,
        truncate: bool = False,
    ) -> SchemaChange:
        schema = after or before
        assert schema is not None
        if after is not None:
            self._elsewhere.discard(after.object_id)
            self._missing.discard(after.id)
        change = SchemaChange(
            schema.id,
            before,
            after,
            sql,
            Scn(row.scn),
            time_us,
            truncate=truncate,
            tx_id=self._tx_id(row.xid),
            user=row.user,
            redo_thread=row.thread,
        )
        self.tables.apply(change)
        return change
