"""Encodes runs by the native path, which prints rows that were not decoded."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from minercdc.errors import DecodeError
from minercdc.messages.envelope.row_format import NO_TRANSACTION
from minercdc.messages.envelope.run_print import table_print
from minercdc.messages.envelope.table_format import ROWID_KEY, TableFormats
from minercdc.messages.moved_keys import is_checked_late
from minercdc.schema.table import TableSchema
from minercdc.stream.contracts import EncodedRun
from minercdc.stream.events import ChangeRun, Op, ReadRun

if TYPE_CHECKING:
    from minercdc.native._rows import ReadPrinter

_NOTHING = EncodedRun((), 0, 0, (0, 0, 0, 0), {}, 0)


class RunEncoder:
    """Encodes as many rows of a run as the native path prints; Python does the others.

    :param rows: the extension.
    :param changes, reads: whether rows of changes, and of snapshots, are printed as they are; else none of them is encoded here.
    """

    def __init__(self, rows: ModuleType, formats: TableFormats, *, changes: bool, reads: bool) -> None:
        self._rows = rows
        self._formats = formats
        self._source = formats.source
        self._changes_as_they_are = changes
        self._reads_as_they_are = reads
        self._reads: tuple[TableSchema, Sequence[tuple[int, int]], ReadPrinter | None] | None = None  # of the last ReadRun
        self._printer = rows.RunPrinter(
            self._of_changes, formats.values.tombstones_on_delete, "".join(formats.values.skipped_operations)
        )

    def encode_changes(
        self, run: ChangeRun, begin: int, most_records: int, most_bytes: int, end: str, *, moved: bool
    ) -> EncodedRun:
        """See `contracts.RunEncoder`.

        :param end: of the envelope: what follows the letter of the operation.
        :param moved: whether keys that rows took over are looked at.
        """
        return EncodedRun(*self._printer.print_run(run.rows, begin, most_records, most_bytes, end.encode(), moved))

    def encode_reads(self, run: ReadRun, begin: int, most_records: int, most_bytes: int, end: str) -> EncodedRun:
        """As `encode_changes`, for rows of a snapshot; no rows at all where Python prints those of the table. `time_us` is that of
        the run, also without rows. Raises ConfigError as `TableFormats.of`."""
        schema, places = run.fetched.schema, run.fetched.convert.places
        if self._reads is None or self._reads[0] is not schema or self._reads[1] is not places:
            self._reads = (schema, places, self._read_printer(schema, places))
        printer = self._reads[2]
        if printer is None:
            return _NOTHING
        compiled = self._formats.of(schema)
        before, after = self._source.of_reads(run, compiled.source)
        whole_end = f'{after}{NO_TRANSACTION},"op":"{Op.READ}{end}{compiled.frame[1]}'
        records, size = printer.print_rows(
            run.fetched.rows, begin, most_records, most_bytes, f',"source":{before}'.encode(), whole_end.encode()
        )
        rows = len(records)
        return EncodedRun(records, rows, size, (0, 0, 0, rows), {}, run.time_us)

    def _read_printer(self, schema: TableSchema, places: Sequence[tuple[int, int]]) -> ReadPrinter | None:
        if not self._reads_as_they_are or (table := self._printed(schema)) is None:
            return None
        printer: ReadPrinter = self._rows.ReadPrinter(table, list(places))
        return printer

    def _of_changes(self, schema: TableSchema) -> object:
        """How the changes of a table version are printed; None where Python does, which looks at inserts where two rows may have one
        key for a while."""
        printed = self._printed(schema) if self._changes_as_they_are else None
        return None if printed is None or is_checked_late(schema, self._formats.key_columns(schema)) else printed

    def _printed(self, schema: TableSchema) -> object:
        try:
            compiled = self._formats.of(schema)
        except DecodeError:
            return None  # raised again for the row itself
        if compiled.is_changed:
            return None
        return table_print(
            schema,
            compiled.topic,
            (compiled.frame, compiled.columns),
            (compiled.key_frame, compiled.key_columns),
            ROWID_KEY if compiled.rowid_frame else "",
            self._source.constants_of(compiled.source),
            self._formats.handling.binary,
        )
