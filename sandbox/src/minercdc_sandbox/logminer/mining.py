"""One mining session: from the listed logs, the chosen range and options to rows of V$LOGMNR_CONTENTS.

    threads' records, merged by SCN -> range -> plain: as they lie in the redo
                                             committed: whole transactions in the order of their COMMITs, without
                                                        what was rolled back, without transactions cut by the range

Redo order is not SCN order: a private strand bound late brings lower SCNs, so a scan reads its logs to their end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntFlag
from functools import partial
from typing import TypeAlias

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import Cell, Restriction, RowTest
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.logminer.batch_rows import BatchRows
from minercdc_sandbox.logminer.contents import MinedTransaction, RowWriter, TableText
from minercdc_sandbox.logminer.dictionary import LookUp, online_catalog
from minercdc_sandbox.logminer.large_text import LARGE_OPS
from minercdc_sandbox.logminer.logs import LogFile, MinedRedo, logs_to_read
from minercdc_sandbox.logminer.reading import (
    MiningRange,
    ReadBatch,
    ReadingMemory,
    ThreadReading,
    TransactionKey,
    log_bounds,
    wanted_from,
)
from minercdc_sandbox.logminer.sql_text import Shapes, TextOptions, raw_shape
from minercdc_sandbox.records import RedoOp, RedoRecord, TableVersion
from minercdc_sandbox.redo.large_values import Large, large_of
from minercdc_sandbox.sql.nls import Nls

_TEMPORARY = "/* No SQL_REDO for temporary tables */"
LONGEST_NAME = 30
"""Bytes; LogMiner has no SQL for tables and columns with longer names."""
FirstRecord: TypeAlias = Callable[[int, str, str], str]
"""See `interfaces.Restriction`."""


class Option(IntFlag):
    """OPTIONS of START_LOGMNR: bits with the values of the constants in DBMS_LOGMNR."""

    NO_DICT_RESET_ONSELECT = 1
    COMMITTED_DATA_ONLY = 2
    SKIP_CORRUPTION = 4
    DDL_DICT_TRACKING = 8
    DICT_FROM_ONLINE_CATALOG = 16
    DICT_FROM_REDO_LOGS = 32
    NO_SQL_DELIMITER = 64
    PRINT_PRETTY_SQL = 512
    CONTINUOUS_MINE = 1024
    NO_ROWID_IN_STMT = 2048
    STRING_LITERALS_IN_STMT = 4096


class Mining:
    """The mining that one START_LOGMNR began, with its files, range and options; every SELECT reads the files again. It holds
    nothing to close.

    :param files: in any order; must cover `wanted`.
    :param catalog: of the database that wrote the redo.
    :param container: the PDB whose changes are shown; None shows all (mining in the root).
    :param memory: places that earlier readings of the session passed.
    :param look_up: the dictionary; None for the online catalog.
    :param lobs: where the contents of LOBs are; None: as in `TextOptions`.
    :param since_23: texts are those of 23ai, see `TextOptions`.
    :param shapes: those that earlier readings of the session have compiled; None: new ones.
    :ivar redo: whose files are read.
    :ivar recent: the last records with REDO_VALUE and UNDO_VALUE, by half the handle of their old values.
    """

    def __init__(
        self,
        files: Sequence[LogFile],
        wanted: MiningRange,
        options: Option,
        redo: MinedRedo,
        catalog: Catalog,
        container: int | None,
        memory: ReadingMemory,
        look_up: LookUp | None = None,
        lobs: LobStore | None = None,
        *,
        since_23: bool = True,
        shapes: Shapes | None = None,
    ) -> None:
        self._shapes = shapes or Shapes()
        self._lobs, self._since_23 = lobs, since_23
        self._look_up = look_up or online_catalog(catalog)
        self.files = tuple(files)
        self.wanted = wanted
        self.options = options
        self.redo, self._catalog, self._container = redo, catalog, container
        self._memory = memory
        self.recent: dict[int, RedoRecord] = {}

    def rows(self, nls: Nls, restriction: Restriction | None = None) -> Iterator[tuple[Cell, ...]]:
        """Rows of V$LOGMNR_CONTENTS in its column order, read as they are taken: in redo order, of several threads merged by SCN;
        with COMMITTED_DATA_ONLY whole transactions in the order of their COMMITs. Raises as `logs_to_read`, `literal` and
        `SourceContainers.shows`, and ORA-00353 for a corrupt log.

        :param nls: the session's settings when it selects: they decide the literals' text.
        :param restriction: the part of the rows that the query reads; None for all of them.
        """
        writer = self._writer(nls, None if restriction is None else restriction.columns)
        if Option.COMMITTED_DATA_ONLY in self.options:
            rows = self._committed_rows(writer)
        else:
            rows = self._plain_rows(writer, None if restriction is None else restriction.first_record)
        yield from filter(writer.containers.shows, rows)

    def picked_rows(
        self, nls: Nls, restriction: Restriction, picked: Sequence[int], test: RowTest
    ) -> Iterator[list[tuple[Cell, ...]]]:
        """Like `rows`, but only the columns at `picked`, in that order, of those rows that pass the test, in batches, some maybe
        empty. Raises as `rows`: as `logs_to_read` at once, all else as the batches are taken."""
        writer = self._writer(nls, restriction.columns)
        rows = BatchRows(writer, picked, test)
        files = logs_to_read(self.redo, self.files, self.wanted)
        if Option.COMMITTED_DATA_ONLY in self.options:
            return rows.of_rows(self._committed_rows(writer))
        if len({file.thread for file in files}) > 1:  # merged record by record
            return rows.of_rows(self._plain_rows(writer, restriction.first_record))
        return self._plain_batches(rows, files, restriction.first_record)

    def _writer(self, nls: Nls, columns: Collection[int] | None) -> RowWriter:
        options = self.options
        text = TextOptions(
            nls,
            Option.NO_ROWID_IN_STMT not in options,
            Option.NO_SQL_DELIMITER not in options,
            self._lobs,
            self._since_23,
            Option.STRING_LITERALS_IN_STMT in options,
            pretty=Option.PRINT_PRETTY_SQL in options,
            json=self._catalog.goldengate,
        )
        hidden = self.redo.addressless
        return RowWriter(text, self._catalog, partial(self._table_text, text), columns, self.recent, hidden)

    def version_of(self, record: RedoRecord) -> TableVersion | None:
        """The table version of a record as the dictionary has it, maybe another than the record's; None for an unknown one."""
        return self._look_up(record)

    def _records(
        self, first_record: FirstRecord | None, open_: dict[TransactionKey, MinedTransaction]
    ) -> Iterator[tuple[RedoRecord, bool]]:
        """Records in the range and of the container, with whether they are wanted; of several threads merged by SCN. `open_` is
        as in `ThreadReading`. Raises as `logs_to_read` and `RedoLog.chunks`."""
        files = logs_to_read(self.redo, self.files, self.wanted)
        numbers = sorted({file.thread for file in files})
        # Threads are merged record by record, so a place remembered in one of them would be of no use.
        memory = self._memory if len(numbers) == 1 else ReadingMemory()
        threads = []
        for number in numbers:
            own = [file for file in files if file.thread == number]
            wanted = [self._wanted(file, first_record) for file in own]
            threads.append(ThreadReading(self.redo, own, self.wanted, wanted, open_, memory).records())
        merged = threads[0] if len(threads) == 1 else heapq.merge(*threads, key=lambda found: found[0].scn)
        holds, container = self.wanted.holds, self._container
        for found in merged:
            if holds(found[0]) and container in (None, found[0].container):
                yield found

    def _wanted(self, file: LogFile, first_record: FirstRecord | None) -> int | None:
        """The position of a log from which on rows are wanted, None for none; 0 without `first_record`, and while rows may be
        without an address, which may be anywhere."""
        if first_record is None or self.redo.addressless:
            return 0
        return wanted_from(first_record(file.thread, *log_bounds(file.sequence)), file.sequence)

    def _table_text(self, text: TextOptions, record: RedoRecord) -> TableText:
        """Names and text of the record's table version, as the dictionary knows it. Raises as `literal`."""
        version = self._look_up(record)
        national = self._catalog.national_columns(record.data_obj, record.data_obj_v)
        renamed = record.data_obj in self._catalog.names and Option.DICT_FROM_REDO_LOGS in self.options
        if version is None:
            owner, table = "UNKNOWN", f"OBJ# {record.data_obj}"
            return TableText(owner, table, raw_shape(owner, table, _width(record), text, national), mismatch=True)
        kind = "TABLE SUBPARTITION" if version.is_subpartition else "TABLE PARTITION"
        part = None if version.partition is None else (version.partition, kind)
        made = partial(TableText, version.owner, version.table, partition=part, renamed=renamed)
        if version.data_obj_v != record.data_obj_v:
            return made(raw_shape(version.owner, version.table, _width(record), text, national), mismatch=True)
        if version.temporary:
            return made(None, comment=_TEMPORARY)
        if _has_long_name(version) or _is_unsupported(version, text):
            return made(None)
        return made(self._shapes.known(version, text))

    def _plain_rows(self, writer: RowWriter, first_record: FirstRecord | None) -> Iterator[tuple[Cell, ...]]:
        known: dict[TransactionKey, MinedTransaction] = {}
        for record, is_wanted in self._records(first_record, known):
            transaction = _transaction_of(record, known)
            if _is_shown(record, is_wanted, transaction):
                yield from writer.rows(record, transaction)
            else:
                transaction.rows += 1

    def _plain_batches(
        self, rows: BatchRows, files: Sequence[LogFile], first_record: FirstRecord
    ) -> Iterator[list[tuple[Cell, ...]]]:
        """`_plain_rows` of one thread, picked; batches that differ in nothing but their rows are not taken apart into records.
        Raises as `RedoLog.chunks`."""
        known: dict[TransactionKey, MinedTransaction] = {}
        wanted = [self._wanted(file, first_record) for file in files]
        reading = ThreadReading(self.redo, files, self.wanted, wanted, known, self._memory)
        for found in reading.batches():
            batch = found.batch
            container, _ = batch.transaction
            if self._container not in (None, container) or self.wanted.starts_after(batch):
                continue
            transaction = known.get(batch.transaction)
            if transaction is not None and found.is_wanted and self.wanted.holds_all(batch):
                made = rows.of_batch(batch, found.file.thread, found.file.sequence, transaction)
                if made is not None:
                    yield made
                    continue
            yield self._record_rows(rows, found, known)

    def _record_rows(
        self, rows: BatchRows, found: ReadBatch, known: dict[TransactionKey, MinedTransaction]
    ) -> list[tuple[Cell, ...]]:
        made: list[tuple[Cell, ...]] = []
        for record, is_wanted in found.records():
            if self.wanted.holds(record):
                transaction = _transaction_of(record, known)
                if _is_shown(record, is_wanted, transaction):
                    made += rows.of_record(record, transaction)
                else:
                    transaction.rows += 1
        return made

    def _committed_rows(self, writer: RowWriter) -> Iterator[tuple[Cell, ...]]:
        open_transactions: dict[TransactionKey, list[RedoRecord]] = {}
        early: dict[TransactionKey, list[RedoRecord]] = {}
        for record, _ in self._records(None, {}):
            key = (record.container, record.xid)
            if record.op is RedoOp.START:
                open_transactions[key] = [record, *early.pop(key, ())]
                continue
            pending = open_transactions.get(key)
            if pending is None:
                if record.start_scn == record.scn or key in early:  # its START comes next (DBZ-3978)
                    early.setdefault(key, []).append(record)
                continue
            if record.op is RedoOp.COMMIT:
                del open_transactions[key]
                yield from _whole(writer, [*without_undone(pending), record])
            elif record.op is RedoOp.ROLLBACK:
                del open_transactions[key]
            elif record.op is not RedoOp.INTERNAL:
                pending.append(record)


def _transaction_of(record: RedoRecord, known: dict[TransactionKey, MinedTransaction]) -> MinedTransaction:
    """The record's transaction, which is in `known` from its first record until its COMMIT or ROLLBACK comes here. A START after
    the first change replaces it, with its count."""
    key = (record.container, record.xid)
    transaction = known.get(key)
    if transaction is None:
        transaction = known[key] = MinedTransaction(record, record.op is RedoOp.START)
    elif record.op is RedoOp.START and not transaction.started:  # it follows the first change (DBZ-3978)
        rows, transaction = transaction.rows, MinedTransaction(record, started=True)
        transaction.rows, known[key] = rows, transaction
    if record.op in (RedoOp.COMMIT, RedoOp.ROLLBACK):
        del known[key]
    return transaction


def _is_shown(record: RedoRecord, is_wanted: bool, transaction: MinedTransaction) -> bool:
    """Whether a record has rows. LOB rows come only when the range holds the transaction from its START on
    (docs/reference/logminer-facts.md#b-7-3)."""
    return is_wanted and (transaction.shows_large or record.op not in LARGE_OPS)


def _whole(writer: RowWriter, records: list[RedoRecord]) -> Iterator[tuple[Cell, ...]]:
    """Rows of one committed transaction: START, changes, COMMIT; of a DDL's, only the COMMIT knows its SCNs. Raises as
    `RowWriter.rows`."""
    start, commit = records[0], records[-1]
    is_ddl = any(record.op is RedoOp.DDL for record in records)
    transaction = MinedTransaction(start, started=True)
    for record in records:
        if record is commit or not is_ddl:
            transaction.ended(start, commit)
        yield from writer.rows(record, transaction)


def without_undone(records: Sequence[RedoRecord]) -> list[RedoRecord]:
    """A transaction's records, in their order, without undo records and what each undoes: the latest earlier change of the same row."""
    kept: list[RedoRecord | None] = []
    by_row: dict[tuple[int, str | None], list[list[int]]] = {}
    for record in records:
        changes = by_row.setdefault((record.data_obj_d, record.row_id), [])
        if record.undo:
            for place in changes.pop() if changes else ():
                kept[place] = None
        else:
            if not record.continued or not changes:
                changes.append([])
            changes[-1].append(len(kept))
            kept.append(record)
    return [record for record in kept if record is not None]


def _is_unsupported(version: TableVersion, text: TextOptions) -> bool:
    return any(large_of(column, json=text.json) is Large.UNSUPPORTED for column in version.columns)


def _width(record: RedoRecord) -> int:
    return len(record.after or record.before or ())


def _has_long_name(version: TableVersion) -> bool:
    names = (version.table, *(column.name for column in version.columns))
    return any(len(name.encode()) > LONGEST_NAME for name in names)
