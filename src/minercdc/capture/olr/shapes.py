"""Follows the shapes of captured tables in the messages: DDL, tables that are new, and shapes that changed without DDL."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.olr.message import Message, Operation
from minercdc.capture.olr.rows import RowReader
from minercdc.errors import SchemaMismatchError
from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.stream.events import SchemaChange, Scn
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1)
_OFFSET_SECONDS = 600.0


class Shapes:
    """Keeps `tables` of the context in step with the messages of one connection, in their order. Errors of the context's
    callables and of the filter pass through.

    :param offset: reads how far the time of the database's host is ahead of UTC, for DDL, which is compared with the dictionary by
        that time; its errors pass through.
    :ivar name_of: the name of a table in messages, and of suspended tables.
    """

    def __init__(self, context: CaptureContext, offset: Callable[[], timedelta]) -> None:
        self._tables, self._database = context.tables, context.database
        self.name_of = TableNames(context.database).of
        self._read_table = context.read_table
        self._tracker = ShapeTracker(
            context.tables,
            context.mined,
            context.database,
            context.read_table,
            context.unlogged,
            name_of=self.name_of,
            ids=context.object_ids,
        )
        self._read_offset = offset
        self._offset, self._offset_until = timedelta(), float("-inf")
        self._config = context.config.olr
        self._lobs = context.config.capture.lob_enabled
        self._readers: dict[TableId, RowReader] = {}
        self._looked_up: set[tuple[object, ...]] = set()
        self._unnamed: set[str | None] = set()

    def captured(self, operation: Operation) -> TableId | None:
        """The captured table of a change; None when it is not captured, or when neither the server knows its name nor
        `tables` its object id. The latter logs a warning, once for each name that the server gives such a table."""
        if _is_unnamed(operation):
            number = operation.object_id
            known = self._tables.find_object(self._database, number) if number else None
            if known is not None:
                return known
            if operation.table not in self._unnamed:
                self._unnamed.add(operation.table)
                _log.warning(
                    "OpenLogReplicator does not know the name of %s: its changes are left out; if it is"
                    " captured, make OpenLogReplicator read its dictionary again",
                    operation.table,
                )
            return None
        return self._tracker.captured(operation.owner, operation.table, operation.object_id)

    def follow(self, operation: Operation, message: Message, time_us: int) -> Iterator[SchemaChange]:
        """The changes that a DDL statement makes to captured tables, none for other DDL; `tables` has the new shape when a
        change is yielded.

        :param time_us: of the statement, microseconds since the epoch in UTC.
        """
        yield from self._tracker.follow(_row(operation, message, self._host_time(time_us)), time_us)

    def renewed(self, table: TableId, operation: Operation, message: Message, time_us: int) -> Iterator[SchemaChange]:
        """Look whether a change shows a table that `tables` does not know, or another shape (a column, or the object id that the
        table has now) than the known one, though no DDL came. Then the present shape is read from the dictionary and put into `tables`, a
        SchemaChange is yielded and a warning logged. Nothing is yielded when the shape is the known one, the dictionary
        does not have the table, or the same difference was looked up before.

        :param time_us: of the change, microseconds since the epoch in UTC.
        """
        known = self._tables.find(table)
        if known is None:
            change = self._tracker.discover(table, _row(operation, message, _EPOCH), time_us)
            if change is not None:
                yield change
            return
        unknown = self._reader(known).unknown(operation)
        is_other = bool(operation.object_id and known.object_id and operation.object_id != known.object_id)
        is_other = is_other and operation.object_id not in (known.parts or ())
        if not unknown and not is_other:
            return
        occasion = (table, known.version, operation.object_id, *unknown)
        if occasion in self._looked_up:
            return
        self._looked_up.add(occasion)
        present = self._read_table(table)
        if present is None:
            return
        present = without_unsupported(present)
        is_again = is_other and present.object_id == operation.object_id
        if not is_again and present.positions().keys().isdisjoint(unknown):
            # The id is a partition's, the columns Oracle's own, or dropped since. The present shape may be later than the change.
            return
        why = (
            f"changes have columns {', '.join(unknown)}" if unknown else f"changes have the object id {operation.object_id}"
        )
        _log.warning("%s: %s but no DDL was seen; the connector uses the present shape", table, why)
        after = self._tables.next_version(present)
        change = SchemaChange(table, known, after, "", Scn(message.scn or 0), time_us, tx_id=message.xid, user=message.user)
        self._tables.apply(change)
        yield change

    def reader(self, table: TableId) -> RowReader:
        """The reader for the version of the table that `tables` has; kept until there is another version. Raises
        SchemaMismatchError when `tables` does not have the table."""
        schema = self._tables.find(table)
        if schema is None:
            raise SchemaMismatchError("the table's shape is not known")
        return self._reader(schema)

    def _host_time(self, time_us: int) -> datetime:
        """The time of the database's host at a time of UTC; the present one for 0, which is not known."""
        if monotonic() >= self._offset_until:  # daylight saving time changes it
            self._offset, self._offset_until = self._read_offset(), monotonic() + _OFFSET_SECONDS
        moment = _EPOCH + timedelta(microseconds=time_us) if time_us else datetime.now(UTC).replace(tzinfo=None)
        return moment + self._offset

    def _reader(self, schema: TableSchema) -> RowReader:
        known = self._readers.get(schema.id)
        if known is None or known.schema != schema:
            known = self._readers[schema.id] = RowReader(schema, self._config, lobs=self._lobs)
        return known


def _is_unnamed(operation: Operation) -> bool:
    """Whether the server does not know the name of a change's table: then it prints no owner, or `OBJ_n` with the object id as
    the name. Names of tables that it knows may begin so, too."""
    return operation.owner is None or operation.table == f"OBJ_{operation.object_id}"


def _row(operation: Operation, message: Message, host_time: datetime) -> LogMinerRow:
    """The statement or change as a LogMinerRow, which `ShapeTracker` takes; its SCN is 0 when the message has none."""
    return LogMinerRow(
        scn=message.scn or message.commit_scn or 0,
        code=OpCode.DDL,
        thread=message.thread,
        rs_id="",
        ssn=0,
        xid=bytes.fromhex(message.xid or "0" * 16),
        con_id=None,
        owner=operation.owner,
        table=operation.table,
        row_id=None,
        rollback=0,
        csf=0,
        status=0,
        info=None,
        timestamp=host_time,
        user=message.user,
        client_id=None,
        object_id=operation.object_id,
        start_scn=None,
        sql=operation.sql,
    )
