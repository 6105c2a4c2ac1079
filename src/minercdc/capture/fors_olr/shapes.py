"""The shapes of captured tables. The server takes for granted that there is no DDL on them while it runs: it reads its dictionary
when it starts.

So the shapes are those of the server's start. A row of an altered table cannot be relied on: it is refused.

    seen by the row         a column or type that the table does not have; the object id of a table that was made again; an insert
                            without some column, where the dictionary shows another shape
    seen by the dictionary  it is compared before a transaction that commits after the SCN of the last comparison. The DDL came
                            after that SCN, so changes up to it are as the known shape has them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic, sleep, time_ns

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.fors_olr.operations import RowChange
from minercdc.capture.fors_olr.rows import RowReader
from minercdc.errors import SchemaMismatchError
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.scn import current_scn
from minercdc.schema.table import TableId, TableNames, TableSchema, without_comments
from minercdc.stream.events import SchemaChange, Scn
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)
_PAUSES = 9
_LONGEST_PAUSE_SECONDS = 1.0
_HINT = (
    "The server does not follow DDL: restart it, and the connector reads the new shape; then read the table again"
    " (resume-table). See docs/capture/fors_olr.md."
)


class Shapes:
    """Keeps `tables` of the context as the server has them since its start, and notices DDL; one for each run of the stream.
    `look` opens a connection, which `close` ends.

    :ivar name_of: the name of a suspended table.
    """

    def __init__(self, context: CaptureContext) -> None:
        self._context = context
        self.name_of = TableNames(context.database).of
        self._tables = context.tables
        self._lobs = context.config.capture.lob_enabled
        self._readers: dict[TableId, RowReader] = {}
        self._compared: dict[tuple[object, ...], bool] = {}
        self._looked = 0  # SCN of the last comparison with the dictionary
        self._next_look = 0.0
        self._altered: dict[TableId, int] = {}  # SCN up to which the known shape holds
        self._connection = KeptConnection(context.connect_pdb)
        self._time_zone = _once(context.time_zone)

    def captured(self, row: RowChange) -> TableId | None:
        """The captured table of a change, None when it is not captured."""
        found = self._context.mined.includes(row.owner, row.table)
        return TableId(self._context.database, row.owner, row.table) if found else None

    def started(self, present: Sequence[TableSchema], scn: int) -> Iterator[SchemaChange]:
        """Put shapes that differ from those in `tables` there, with a warning, and yield a SchemaChange for each; to be
        called when the server was started, since it has read the dictionary then. A table that `tables` does not have stays out.

        :param present: the tables as the dictionary has them now.
        :param scn: of the changes: everything up to it is delivered.
        """
        for schema in present:
            known = self._tables.find(schema.id)
            if known is not None and not _same(schema, known):
                _log.warning(
                    "%s was altered; the connector uses its present shape, which the server has had since it started",
                    schema.id,
                )
                yield self._change(schema, known, scn)

    def look(self, commit_scn: int) -> None:
        """Compare the tables with the dictionary, if `commit_scn` is above the SCN of the last comparison. A table that was
        altered or dropped is logged as an error, and `renewed` refuses later rows of it. It sleeps first, for a second at
        most, so that comparisons take about a tenth of the time.

        :raises SourceError, PrerequisiteError, ConfigError: connecting failed, or the dictionary cannot be read.
        """
        if commit_scn <= self._looked:
            return
        known = {schema.id: schema for schema in self._tables if schema.id not in self._altered}
        sleep(min(max(self._next_look - monotonic(), 0.0), _LONGEST_PAUSE_SECONDS))
        begun = monotonic()
        connection = self._connection.get()
        scn = current_scn(connection)
        present = {schema.id: without_unsupported(schema) for schema in read_tables(connection, known)}
        for table, schema in known.items():
            if self._context.mined.includes(table.schema, table.table) and not _same(present.get(table), schema):
                self._altered[table] = self._looked
                _log.error("%s was altered or dropped %s. %s", table, _since(self._looked), _HINT)
        self._looked, ended = scn, monotonic()
        self._next_look = ended + _PAUSES * (ended - begun)

    def renewed(self, table: TableId, row: RowChange, time_us: int) -> Iterator[SchemaChange]:
        """Check that a row is of the known shape. Where `tables` does not have the table and the dictionary does, put its present
        shape there and yield a SchemaChange.

        :param time_us: of the row, microseconds since the epoch in UTC.
        :raises SchemaMismatchError: the row is not of the known shape, or later than DDL that `look` found.
        :raises SourceError, PrerequisiteError, ConfigError: the dictionary cannot be read.
        """
        known = self._tables.find(table)
        if known is None:
            present = self._context.read_table(table)
            if present is not None:
                _log.info("%s: its present shape is taken", table)
                yield self._change(without_unsupported(present), None, row.head.scn, time_us, row.head.xid)
            return
        if row.head.scn > self._altered.get(table, row.head.scn):
            raise SchemaMismatchError(f"{table} was altered {_since(self._altered[table])}", hint=_HINT)
        reader = self._reader(known)
        unknown, unlisted = reader.unknown(row), reader.unlisted(row)
        is_other = bool(row.object_id and known.object_id and row.object_id != known.object_id)
        if not (unknown or unlisted or is_other):
            return
        occasion = (table, known.version, row.object_id, unknown, unlisted)
        if occasion not in self._compared:
            present = self._context.read_table(table)
            # Another id is that of a partition, unless the table has it now.
            is_other = is_other and present is not None and present.object_id == row.object_id
            is_same = _same(without_unsupported(present) if present else None, known)
            self._compared[occasion] = is_same or not (unlisted or is_other)
        if unknown:
            raise SchemaMismatchError(
                f"the row has columns that {table} does not have: {', '.join(sorted(unknown))}", hint=_HINT
            )
        if not self._compared[occasion]:
            what = f"lacks {', '.join(sorted(unlisted))}" if unlisted else f"has the object id {row.object_id}"
            raise SchemaMismatchError(f"the row {what}, and {table} was altered or dropped", hint=_HINT)

    def close(self) -> None:
        """Close the connection; safe to call twice. `look` opens another one."""
        self._connection.close()

    def reader(self, table: TableId) -> RowReader:
        """The reader for the version of the table that `tables` has; kept until there is another version. Raises
        SchemaMismatchError when `tables` does not have the table."""
        schema = self._tables.find(table)
        if schema is None:
            raise SchemaMismatchError("the table's shape is not known: it is not in the dictionary")
        return self._reader(schema)

    def _reader(self, schema: TableSchema) -> RowReader:
        known = self._readers.get(schema.id)
        if known is None or known.schema != schema:
            config = self._context.config.fors
            known = self._readers[schema.id] = RowReader(schema, config, self._time_zone, lobs=self._lobs)
        return known

    def _change(
        self, present: TableSchema, known: TableSchema | None, scn: int, time_us: int = 0, xid: str | None = None
    ) -> SchemaChange:
        after = self._tables.next_version(present)
        change = SchemaChange(after.id, known, after, "", Scn(scn), time_us or time_ns() // 1_000, tx_id=xid)
        self._tables.apply(change)
        return change


def _since(scn: int) -> str:
    return f"after SCN {scn}" if scn else "while the server ran"


def _same(present: TableSchema | None, known: TableSchema) -> bool:
    """Whether a table is there (`present` is not None) and has the known shape. Version and comments may differ: they change
    no row."""
    return present is not None and without_comments(replace(present, version=known.version)) == without_comments(known)


def _once(read: Callable[[], str]) -> Callable[[], str]:
    found: list[str] = []

    def again() -> str:
        if not found:
            found.append(read())
        return found[0]

    return again
