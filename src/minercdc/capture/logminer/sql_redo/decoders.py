"""Finds the decoder of a row's table."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder, RowChange
from minercdc.capture.logminer.sql_redo.native_scan import RowScanner, StatementScanner
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.logminer.tables.partitions import is_unnamed
from minercdc.capture.logminer.tables.unplaced import place
from minercdc.errors import SchemaMismatchError
from minercdc.schema.table import TableId, TableSchema

_log = logging.getLogger(__name__)

_NOT_LOOKED_UP: Final = object()
_MADE_BY_ORACLE: Final = re.compile(r"(SYS_|ORA_|ORABCTAB_).*|.*\$$")  # hidden columns, as of a blockchain table


def added_columns(schema: TableSchema, names: Iterable[str], written: datetime) -> list[str]:
    """Those of the columns that redo names and the version of a table lacks which are no columns of it that are not read: the row is of
    another version. None where the stored columns of the version are not known, or it was read from the dictionary after the row was
    written: that may have been before a DROP."""
    is_known = schema.stored and schema.hidden_known and (schema.read_at is None or written > schema.read_at)
    return [name for name in names if is_known and name not in schema.stored and not _MADE_BY_ORACLE.match(name)]


class TableDecoders:
    """The decoders of the captured tables, each with the shape that its table has now.

    :param lobs: `lob.enabled`.
    :param scanner: knows shapes of tables, too, and forgets them when they change; None where rows are not scanned.
    :param native: decode statements with the native path.
    """

    def __init__(self, shapes: ShapeTracker, scanner: RowScanner | None, *, lobs: bool, native: bool) -> None:
        self._shapes, self._scanner, self._lobs = shapes, scanner, lobs
        self._statements = StatementScanner() if native else None
        # By the names and the object id in the row; several may be one table's.
        self._of_row: dict[tuple[str | None, str | None, int], RedoDecoder | None] = {}
        self._of_table: dict[TableId, RedoDecoder] = {}
        self._generation = -1
        self._suspended: frozenset[str] = frozenset()
        self._warned: set[tuple[object, ...]] = set()

    def suspend(self, tables: frozenset[str]) -> None:
        """From now on rows of these tables are not looked at, and those of all others are."""
        if tables != self._suspended:
            self._suspended = tables
            self._forget()

    def renew(self) -> None:
        """Forget the decoders when a table's shape has changed since the last call."""
        if self._generation != self._shapes.tables.generation:
            self._forget()
            self._of_table.clear()
            self._generation = self._shapes.tables.generation

    def of(self, row: LogMinerRow) -> RedoDecoder | None:
        """The decoder of a row's table; None when rows of the table are not looked at.

        :raises Unplaced: the row's object is not known, and captured tables may have had it.
        :raises SchemaMismatchError: the table's shape is not known.
        :raises ValueDecodeError: a column's type is not supported.
        """
        self.renew()
        name = (row.owner, row.table, row.object_id)
        known = self._of_row.get(name, _NOT_LOOKED_UP)
        if known is not _NOT_LOOKED_UP:
            return known  # type: ignore[return-value]
        table = self._shapes.captured(row.owner, row.table, row.object_id)
        if table is not None and self._shapes.name_of(table) in self._suspended:
            self._of_row[name] = None
            return None
        schema = self._shapes.tables.find(table) if table else None
        if schema is None and is_unnamed(row):
            place(row, self._shapes, self._suspended)
            return None
        if schema is None:
            raise SchemaMismatchError("the table's shape is not known")
        decoder = self._of_row[name] = self._of_version(schema)
        return decoder

    def decode(self, decoder: RedoDecoder, sql: str) -> RowChange:
        """What a statement of the decoder's table says, and raises, as `RedoDecoder.decode`."""
        return decoder.decode(sql) if self._statements is None else self._statements.decode(decoder, sql)

    def pass_over_unknown(self, decoder: RedoDecoder, written: datetime) -> None:
        """Have a decoder, and the scanner, pass over the columns that redo named and its table has not. They are logged, once for
        each version of the table.

        :param written: when the row was, in the time of the database's host.
        :raises SchemaMismatchError: one of them is stored, and was not when the version began: its values would be missing.
        """
        names = sorted(decoder.unknown)
        decoder.unknown.clear()
        if decoder.passed_over.issuperset(names):
            return
        if added := added_columns(decoder.schema, names, written):
            raise SchemaMismatchError(
                f"redo names columns that version {decoder.schema.version} of {decoder.schema.id} does not have: {', '.join(added)}",
                hint="No DDL was seen that adds or renames them, as after DBMS_REDEFINITION. resume-table reads the table again, as it is now.",
            )
        decoder.passed_over.update(names)
        self._forget_scans()  # to learn them
        key = (decoder.schema.id, decoder.schema.version, *names)
        if key not in self._warned:
            self._warned.add(key)
            _log.info("%s: columns in redo that are not captured: %s", decoder.schema.id, ", ".join(names))

    def _of_version(self, schema: TableSchema) -> RedoDecoder:
        decoder = self._of_table.get(schema.id) or RedoDecoder(schema, lobs=self._lobs)
        self._of_table[schema.id] = decoder
        return decoder

    def _forget(self) -> None:
        self._of_row.clear()
        self._forget_scans()

    def _forget_scans(self) -> None:
        for scanner in (self._scanner, self._statements):
            if scanner is not None:
                scanner.forget()
