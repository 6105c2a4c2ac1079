"""Keeps the captured tables in step with redo: whose rows are captured, and what DDL makes of their shape."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from minercdc.capture.logminer.session.host_clock import clocks_go_back
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.tables.create_as_select import with_columns
from minercdc.capture.logminer.tables.indexes import Indexes
from minercdc.capture.logminer.tables.lost_rows import Concerned, Losses
from minercdc.capture.logminer.tables.partitions import (
    DictionaryIds,
    Partitions,
    is_of_temporary_table,
    is_unnamed,
    with_parts,
)
from minercdc.capture.logminer.tables.recycle_bin import Recycled
from minercdc.capture.logminer.tables.session_schema import current_schemas
from minercdc.capture.logminer.tables.stored_columns import with_hidden
from minercdc.oracle.dictionary.captured_later import unread_rows
from minercdc.schema.ddl.changed_constraints import CLOCKS, ReadPresent, without_domain
from minercdc.schema.ddl.changes import apply_changes, commented, create_table
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import (
    AlterTable,
    CommentOn,
    CreateTable,
    DropContents,
    DropDomain,
    DropMaterializedView,
    DropTable,
    DropUser,
    IndexChange,
    RenameTable,
    ShapeUnclear,
    TableName,
    TruncateCluster,
    TruncateTable,
    UniqueIndex,
)
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import SchemaChange, Scn
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
    :param ids: object ids as the dictionary has them now; None: rows always carry those of tables.
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
        ids: DictionaryIds | None = None,
    ) -> None:
        self._tx_id, self.name_of = tx_id, name_of
        self.tables = tables
        self._filter = table_filter
        self._database = database
        self._read_table = read_table
        self._unlogged = unlogged
        self._missing: set[TableId] = set()
        # With the object ids of their rows: a table of the same name may be none later.
        self._temporary: set[tuple[TableId, int]] = set()
        self._ids = ids
        self._elsewhere: set[int] = set()  # object ids of tables that were renamed to names which are not captured
        self._partitions = Partitions(tables, database, ids)
        self._losses = Losses(tables, database, ids, name_of)
        self._indexes = Indexes(tables, database, self._present, name_of)
        self._recycled = Recycled()

    def captured(self, owner: str | None, table: str | None, object_id: int) -> TableId | None:
        """The captured table that a row of `owner`.`table` belongs to, None when it is not captured.

        LogMiner prints the name that the object has in its dictionary: after a RENAME rows of before may carry the new name and
        rows of afterwards the old one, which may be another table's by now; a table that was dropped since has the name of its
        remains (`BIN$..`, `OBJ# n`). The object id stays, so it decides wherever it is known, that of a partition, too.
        """
        known = self.tables.find_object(self._database, object_id)
        if known is not None:
            return known if self._includes(known) else None
        if owner is None or table is None:
            return None
        if object_id in self._elsewhere or table.startswith(("BIN$", "OBJ# ")):
            return None
        named = TableId(self._database, owner, table)
        return named if self._includes(named) and (named, object_id) not in self._temporary else None

    def possible(self, row: LogMinerRow) -> tuple[TableId, ...]:
        """The captured tables that a row may be of whose object is not known any more; () for any other row."""
        return tuple(table for table in self._partitions.possible(row) if self._includes(table))

    def begin(self, scn: int, time_us: int) -> Iterator[SchemaChange]:
        """Learn the ids of all partitions that there are now, before redo is read from `scn` on: each of the changes has those of
        a table that were not known, or its stored columns.

        :param scn: all DDL up to it was followed.
        """
        mine = [table for table in self.tables if table.id.database == self._database]
        yield from self._listed_again(mine, scn, time_us)
        yield from self._with_hidden(scn, time_us)

    def _with_hidden(self, scn: int, time_us: int) -> Iterator[SchemaChange]:
        """Learn the stored columns that Oracle made itself, of tables that an earlier release stored: those of the dictionary, where the
        table had no DDL since. Else they are not known: rows that name columns by their places cannot be decoded then."""
        tables = [table for table in self.tables if table.id.database == self._database and not table.hidden_known]
        tables = [table for table in tables if table.object_id]
        if self._ids is None or not tables:
            return
        found = self._ids.stored_now(tables, scn)
        for before in tables:
            after = with_hidden(before, found.get(before.id))
            if not after.stored:
                text = "%s: the order of its stored columns is unknown: an earlier release recorded its structure, and DDL has changed the table since"
                _log.warning(text, self.name_of(before.id))
            if (after.stored, after.hidden_known) == (before.stored, before.hidden_known):
                continue
            self.tables.put(after)
            yield SchemaChange(after.id, before, after, "", Scn(scn), time_us, ids_only=True)

    def _listed_again(self, tables: Iterable[TableSchema], scn: int, time_us: int) -> Iterator[SchemaChange]:
        for before, after in self._partitions.refreshed(tables):
            yield SchemaChange(after.id, before, after, "", Scn(scn), time_us, ids_only=True)

    def meet(self, row: LogMinerRow, table: TableId | None, time_us: int) -> Iterator[SchemaChange]:
        """Learn from a row's object id: of a captured table, that it has a partition which was not known; without a table, that
        the object is none of ours. Changes as of `begin`."""
        if table is not None:
            for before, after in self._partitions.met(table, row.object_id):
                yield SchemaChange(after.id, before, after, "", Scn(row.scn), time_us, ids_only=True)
        elif not is_unnamed(row):
            self._partitions.note_other(row.object_id)

    def may_be_captured(self, row: LogMinerRow, *, early: bool) -> bool:
        """Whether a row that is of no captured table may be of one: its object is gone. With `early`, DDL before the row may not
        have been followed yet, so that the table need not be known."""
        return bool(self.possible(row)) or (early and self._ids is not None and self._partitions.is_unknown(row))

    def shown(self, row: LogMinerRow) -> str:
        """The name of the table that a row carries, for messages; `None` in it for a missing part."""
        return self.name_of(TableId(self._database, str(row.owner), str(row.table)))

    def discover(self, table: TableId, row: LogMinerRow, time_us: int) -> SchemaChange | None:
        """Put the present shape of a captured table, whose CREATE TABLE was not seen, into `tables`, and return the change. None
        when the dictionary does not know the table; it is not looked up again then, until DDL makes it. Logs either.

        A temporary table is not `captured` any more: its rows are not in redo. One whose row has a plain statement was none then,
        whatever the dictionary has by that name now.

        :param row: the row that shows the table; the change has its SCN, transaction and user.
        """
        if table in self._missing:
            return None
        if is_of_temporary_table(row):
            self._temporary.add((table, row.object_id))
            return None
        found = self._read_table(table)
        if found is None and row.status and self._ids is not None and self._ids.is_temporary(table):
            self._temporary.add((table, row.object_id))
            return None
        if found is None:
            self._missing.add(table)
            _log.warning("%s is captured but not in the dictionary; its rows cannot be decoded", self.name_of(table))
            return None
        expected = (table.schema, table.table) in self._filter.also  # a snapshot has structures of captured tables only
        level = logging.INFO if expected else logging.WARNING
        _log.log(level, "%s: no CREATE TABLE was seen; the connector uses its present shape", self.name_of(table))
        found = self._read_now(found)
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
        if isinstance(statement, IndexChange | UniqueIndex):
            yield from self._rekeyed(statement, row, time_us, sql)
            return
        if isinstance(statement, DropDomain):
            yield from self._domain_dropped(row, time_us, sql)
            return
        if isinstance(statement, DropUser | DropContents | DropMaterializedView):
            for gone in self._dropped_with(statement, row):
                yield self._change(row, time_us, gone, None, sql)
            return
        if isinstance(statement, TruncateCluster):
            cluster = TableName(statement.schema, statement.cluster).within(self._database, row.owner or row.user or "")
            yield from self._concerned(self._losses.of_cluster(cluster), row, time_us, sql)
            return
        table = self._named(statement.name, row)
        known = self.tables.find(table)
        if known is None and not self._includes(table):
            self._partitions.note_other(row.object_id)
        match statement:
            case TruncateTable():
                if known:
                    yield self._change(row, time_us, known, known, sql, truncate=True)
                yield from self._concerned(self._losses.of_truncate(statement, table, row), row, time_us, sql)
            case DropTable():
                if known:
                    if statement.recycled:
                        self._recycled.put(known, statement.recycled)
                    yield self._change(row, time_us, known, None, sql)
            case CreateTable():
                yield from self._created(statement, row, time_us, table, sql)
            case CommentOn():
                if known and self.tables.comments:
                    yield self._altered(row, time_us, known, commented(known, statement), sql)
            case RenameTable(_, new_name):
                yield from self._renamed(row, time_us, known, table._replace(table=new_name), sql)
            case AlterTable():
                yield from self._altered_by(statement, row, time_us, table, sql)
                yield from self._concerned(self._losses.of_alter(statement, table, row), row, time_us, sql)
                if statement.changes_parts and (others := list(self._losses.of_reference())):
                    yield from self._listed_again(others, row.scn, time_us)
            case _:
                back = self._recycled.take(self._named(statement.undropped, row)) if statement.undropped else None
                if back is not None:
                    table = back.id if statement.name is None else table
                if statement.loses_rows and self._includes(table):
                    self._warn_of_loss(table, sql)
                if back is None:
                    yield from self._reread(row, time_us, table, sql, statement.reason)
                elif self._includes(table):
                    yield self._new_version(row, time_us, None, replace(back, id=table), sql)

    def _dropped_with(
        self, statement: DropUser | DropContents | DropMaterializedView, row: LogMinerRow
    ) -> list[TableSchema]:
        """The known tables that are gone with what is dropped. Redo may have a DROP TABLE of each, or none. Where the text does not say
        them, they are those that the dictionary has not any more."""
        mine = [table for table in self.tables if table.id.database == self._database]
        if isinstance(statement, DropUser):
            return [table for table in mine if table.id.schema == statement.user]
        if isinstance(statement, DropMaterializedView):
            view = self._named(statement.name, row)
            mine = [table for table in mine if table.id == view]
        return [table for table in mine if self._present(table) is None]

    def _created(
        self, statement: CreateTable, row: LogMinerRow, time_us: int, table: TableId, sql: str
    ) -> Iterator[SchemaChange]:
        if not self._includes(table):
            return
        if statement.only_if_absent and (known := self.tables.find(table)) and row.object_id in (0, known.object_id):
            return  # the table was there, so that the statement changed nothing
        self._temporary.discard((table, 0))

        def present() -> TableSchema | None:
            return self._present(TableSchema(table, (), object_id=row.object_id))

        try:
            whole = self._with_columns(statement, row, present)
            made = create_table(whole, table, present, row.timestamp)
        except ShapeUnclear as unclear:
            yield from self._reread(row, time_us, table, sql, str(unclear))
            return
        created = replace(made, object_id=row.object_id, parts_from=statement.parts_from)
        of_now = ", ".join(column.name for column in whole.columns if not column.type_name)
        if of_now and self._had_ddl_after(created, row.timestamp):
            text = "%s: types of %s are read from the present dictionary, although later DDL may have changed them: %s"
            _log.warning(text, self.name_of(table), of_now, sql)
        if statement.has_parts:
            created = self._partitions.after_ddl(created, None, row.timestamp)
        yield self._new_version(row, time_us, None, created, sql)
        self._warn_if_unlogged(table)

    def _domain_dropped(self, row: LogMinerRow, time_us: int, sql: str) -> Iterator[SchemaChange]:
        """The changes of tables whose columns had a domain: which, the dictionary shows by what is gone, unless the table had DDL since."""
        for known in [table for table in self.tables if table.id.database == self._database]:
            altered = without_domain(known, self._present(known))
            if altered == known:
                continue
            if self._had_ddl_after(known, row.timestamp):
                text = "%s: dropping a domain may have removed NOT NULL or a default of its columns; later DDL makes this unknown: %s"
                _log.warning(text, self.name_of(known.id), sql)
            else:
                yield self._altered(row, time_us, known, altered, sql)

    def _with_columns(self, statement: CreateTable, row: LogMinerRow, present: ReadPresent) -> CreateTable:
        """CREATE TABLE with the columns that other tables give it. Of several tables that a name may mean, the columns
        are known where they are those of all of them."""

        def sources(name: TableName) -> list[TableId]:
            schemas = (name.schema,) if name.schema is not None else current_schemas(row, statement.name.schema)
            return [TableId(self._database, schema, name.table) for schema in schemas]

        def columns(source: TableId, since: datetime) -> tuple[str, ...]:
            return self._ids.columns_since(source, since) if self._ids is not None else ()

        def visible(name: TableName, since: datetime) -> tuple[str, ...]:
            found = {names for source in sources(name) if (names := columns(source, since))}
            return found.pop() if len(found) == 1 else ()

        def find(name: TableName) -> TableSchema | None:
            known = [(source, self.tables.find(source)) for source in sources(name)]
            may_be = [table for source, table in known if table is not None or columns(source, datetime.max)]
            return may_be[0] if len(may_be) == 1 else None

        return with_columns(statement, row.timestamp, find, visible, present)

    def _rekeyed(
        self, statement: IndexChange | UniqueIndex, row: LogMinerRow, time_us: int, sql: str
    ) -> Iterator[SchemaChange]:
        if isinstance(statement, UniqueIndex):
            found = self._indexes.created(statement, row)
        else:
            found = self._indexes.changed(statement, row)
        for known, altered in found:
            if altered.key != known.key:
                yield self._altered(row, time_us, known, altered, sql)
            elif altered.keys != known.keys:
                yield self._change(row, time_us, known, altered, "", ids_only=True)

    def _read_now(self, found: TableSchema, statement: datetime | None = None) -> TableSchema:
        """A shape that was just read, with the time up to which a row may be of an older one: that of reading, or of a `statement` after
        which the table had no DDL."""
        if self._ids is None:
            return found
        if statement is not None and not self._had_ddl_after(found, statement):
            return replace(found, read_at=statement + CLOCKS)
        return replace(found, read_at=self._ids.host_time(self._database))

    def _had_ddl_after(self, table: TableSchema, statement: datetime) -> bool:
        """Whether a table had DDL after that which ran at this time, or may have had; seconds between them do not count."""
        if self._ids is None or clocks_go_back(statement.date()):
            return True
        return bool(self._ids.altered([table], statement + CLOCKS))

    def _present(self, known: TableSchema) -> TableSchema | None:
        """A table as the dictionary has it now, whatever it is called by now; None when it is gone."""
        found = self._read_table(known.id)
        if found is None or (found.object_id and known.object_id and found.object_id != known.object_id):
            name = self._ids.present_name(known) if self._ids is not None and known.object_id else None
            found = self._read_table(name) if name is not None else None
        return replace(found, id=known.id) if found is not None else None

    def _altered_by(
        self, statement: AlterTable, row: LogMinerRow, time_us: int, table: TableId, sql: str
    ) -> Iterator[SchemaChange]:
        if self._includes(table) and _DROPS_LOGGING.search(sql):
            self._warn_if_unlogged(table)
        known = self.tables.find(table)
        if statement.loses_rows and (known or self._includes(table)):
            self._warn_of_loss(table, sql)
        if not known:
            yield from self._reread(row, time_us, table, sql, "the table was not known")
            return
        try:
            altered = without_unsupported(
                apply_changes(known, statement.changes, lambda: self._present(known), row.timestamp)
            )
        except ShapeUnclear as unclear:
            yield from self._reread(row, time_us, table, sql, str(unclear))
            return
        if statement.parts.source:
            altered = replace(altered, parts_from=statement.parts.source)
        if statement.changes_parts:
            altered = self._partitions.after_ddl(altered, statement.parts.made, row.timestamp)
        yield self._altered(row, time_us, known, altered, sql)

    def _concerned(self, found: Iterable[Concerned], row: LogMinerRow, time_us: int, sql: str) -> Iterator[SchemaChange]:
        """The changes of tables that lost rows, or got some, by DDL on another one."""
        for known, emptied in found:
            if not emptied:
                self._warn_of_loss(known.id, sql)
            yield self._change(row, time_us, known, known, sql, truncate=emptied)

    def _warn_of_loss(self, table: TableId, sql: str) -> None:
        _log.warning(
            "%s: rows were removed or added without a trace in redo, so there are no events for them: %s",
            self.name_of(table),
            sql,
        )

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
            if self._includes(new):
                _log.warning("%s", unread_rows(new))
        elif self._includes(new):
            yield self._new_version(row, time_us, known, replace(known, id=new), sql)
        else:
            self._elsewhere.update((known.object_id, *(known.parts or ())) if known.object_id else ())
            yield self._change(row, time_us, known, None, sql)

    def _reread(self, row: LogMinerRow, time_us: int, table: TableId, sql: str, reason: str) -> Iterator[SchemaChange]:
        if not self._includes(table):
            return
        _log.warning("%s: %s; reading its present shape from the dictionary: %s", self.name_of(table), reason, sql)
        known = self.tables.find(table)
        found = self._present(known) if known is not None else self._read_table(table)
        if found is not None:
            found = without_unsupported(with_parts(self._read_now(found, row.timestamp), known.parts if known else None))
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
            return self._change(row, time_us, known, replace(altered, version=known.version), sql)
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
        ids_only: bool = False,
    ) -> SchemaChange:
        schema = after or before
        assert schema is not None
        if after is not None:
            self._elsewhere.difference_update((after.object_id, *(after.parts or ())))
            self._missing.discard(after.id)
        change = SchemaChange(
            schema.id,
            before,
            after,
            sql,
            Scn(row.scn),
            time_us,
            truncate=truncate,
            ids_only=ids_only,
            tx_id=self._tx_id(row.xid),
            user=row.user,
            redo_thread=row.thread,
        )
        self.tables.apply(change)
        return change
