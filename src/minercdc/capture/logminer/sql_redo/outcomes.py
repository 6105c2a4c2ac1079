"""Says what becomes of each row of a committed transaction: a change, or a reason why there is none.

A row stands for itself, but in a transaction with large values it may be a piece of a value, which goes to the change it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from minercdc.capture.logminer.lobs.lob_change import Assembled
from minercdc.capture.logminer.lobs.lob_rows import LargeRowAssembler
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.decoders import TableDecoders
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder, RowChange
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.logminer.tables.partitions import is_of_temporary_table, is_unnamed
from minercdc.capture.logminer.tables.unplaced import Unplaced
from minercdc.errors import DecodeError, SchemaMismatchError, UnsupportedRowError
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import Op
from minercdc.values.document import LOG_JSON
from minercdc.values.image import Encoding

_OPS: Final[dict[int, Op]] = {OpCode.INSERT: Op.CREATE, OpCode.UPDATE: Op.UPDATE, OpCode.DELETE: Op.DELETE}


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that cannot be decoded.

    :param tables: of a row whose object is not known: the captured tables that it may be of; else ().
    """

    error: DecodeError
    row: LogMinerRow
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspended:
    """A row of a suspended table, which was not looked at."""

    row: LogMinerRow


Outcome: TypeAlias = Assembled | Failure | Suspended
_Read: TypeAlias = Callable[[LogMinerRow, RedoDecoder], Assembled | None]


class RowReader:
    """Reads rows of redo by the decoders of their tables.

    :param without_dictionary: rows come as stored bytes, and without the NULLs at their end.
    :ivar encoding: of the database, for rows that LogMiner prints as stored bytes.
    """

    def __init__(self, shapes: ShapeTracker, decoders: TableDecoders, *, without_dictionary: bool) -> None:
        self._shapes, self._decoders, self._without_dictionary = shapes, decoders, without_dictionary
        self.encoding = Encoding()

    def plain(self, rows: Iterable[LogMinerRow]) -> Iterator[Outcome]:
        """The outcomes of rows that each stand for themselves, in order; none of a row that changes no captured column."""
        for row in rows:
            outcome = self._outcome(row, self._change)
            is_empty = isinstance(outcome, Assembled) and outcome.before is None and outcome.after is None
            if outcome is not None and not is_empty:
                yield outcome

    def large(self, rows: Iterable[LogMinerRow]) -> Iterator[Outcome]:
        """The outcomes of all rows of a transaction with large values, in order; a change comes once no row can add to it."""
        assembler: LargeRowAssembler[Failure | Suspended] = LargeRowAssembler(self.encoding.charset, Failure)

        def read(row: LogMinerRow, decoder: RedoDecoder) -> Assembled | None:
            if row.code in LARGE_CODES:
                assembler.take_piece(row, decoder)
                return None
            if _sets_documents_alone(row, decoder.schema) and assembler.ends_insert(row, decoder):
                return None
            return self._change(row, decoder)

        for row in rows:
            if row.code == OpCode.INTERNAL:
                assembler.take_end(row)
                continue
            outcome = self._outcome(row, read)
            if isinstance(outcome, Assembled):
                assembler.take_dml(outcome)
            elif outcome is not None:
                assembler.take_other(outcome)
            yield from map(_whole, assembler.ready())
        assembler.end()
        yield from map(_whole, assembler.ready())

    def _outcome(self, row: LogMinerRow, read: _Read) -> Outcome | None:
        """What `read` makes of a row, or why it was not read; None for a row without event."""
        if is_of_temporary_table(row):
            return None
        try:
            decoder = self._decoders.of(row)
            if decoder is not None:
                return read(row, decoder)
        except Unplaced as unplaced:
            return Failure(unplaced.error, row, unplaced.tables)
        except DecodeError as error:
            return Failure(error, row)
        if is_unnamed(row) and self._shapes.captured(row.owner, row.table, row.object_id) is None:
            return None  # of no captured table, or of some that are all suspended
        return Suspended(row)

    def _change(self, row: LogMinerRow, decoder: RedoDecoder) -> Assembled:
        """The change of a row that stands for itself."""
        if decoder.hidden and _sets_documents_alone(row, decoder.schema):
            return Assembled(row, row.row_id, decoder, Op.UPDATE, None, None)
        op, before, after = self._decoded(row, decoder)
        if op is not _OPS.get(row.code):
            raise SchemaMismatchError(f"OPERATION_CODE {row.code} with the text of another operation")
        if decoder.unknown:
            self._decoders.pass_over_unknown(decoder, row.timestamp)
        return Assembled(row, row.row_id, decoder, op, before, after)

    def _decoded(self, row: LogMinerRow, decoder: RedoDecoder) -> RowChange:
        """What the text of a row says."""
        if row.sql is not None and '"COL ' in row.sql and decoder.has_places(row.sql):
            return self._images(row, row.sql, decoder)  # INFO does not always say it
        sql = _text_of(row, decoder.schema)
        if row.status and "Dictionary" in (row.info or ""):
            return self._images(row, sql, decoder)
        return self._decoders.decode(decoder, sql)

    def _images(self, row: LogMinerRow, sql: str, decoder: RedoDecoder) -> RowChange:
        """The change of a row with stored bytes."""
        if not self._without_dictionary:  # else all rows are
            _check_version(row, decoder.schema)
        return decoder.decode_images(sql, self.encoding, may_end_early=self._without_dictionary)


def _sets_documents_alone(row: LogMinerRow, schema: TableSchema) -> bool:
    """Whether an UPDATE sets nothing but documents that lie in the row, NULL among them: LogMiner has no text for it."""
    is_without_text = row.code == OpCode.UPDATE and row.sql is None and not row.status
    return is_without_text and any(column.type_name == "XMLTYPE" for column in schema.columns)


def _text_of(row: LogMinerRow, schema: TableSchema) -> str:
    """SQL_REDO of a row. STATUS alone says little: 2 is also given for parseable rows of tables with LONG or LOB columns."""
    if row.code == OpCode.UNSUPPORTED:
        raise UnsupportedRowError(
            f"LogMiner does not support rows of {schema.id} ({row.info or row.sql})",
            hint=f"{_log_json(schema)}Leave the table out: table.exclude.list={schema.id}; "
            "or go on without its changes: event.processing.failure.handling.mode=warn",
        )
    if row.sql is None:
        raise SchemaMismatchError("LogMiner gave no SQL_REDO")
    return row.sql


def _log_json(schema: TableSchema) -> str:
    """The first part of a hint: what makes LogMiner show rows with JSON; '' for a table without it."""
    is_there = any(column.type_name == "JSON" for column in schema.columns)
    return f"Have rows with JSON logged: {LOG_JSON}. " if is_there else ""


def _check_version(row: LogMinerRow, schema: TableSchema) -> None:
    """Raises SchemaMismatchError for a row of another version than the dictionary's, if the shape is the dictionary's, too, and
    not older than the row: `COL n` may be another column then."""
    if schema.read_at is not None and row.timestamp <= schema.read_at:
        raise SchemaMismatchError(
            f"the row is of another version than the present structure of {schema.id}, and no DDL of the time between is known"
        )


def _whole(outcome: Outcome) -> Outcome:
    """The same, but a failure in place of a change with a value that came in pieces and cannot be decoded."""
    if isinstance(outcome, Assembled) and outcome.error is not None:
        return Failure(outcome.error, outcome.row)
    return outcome
