"""Rows of V$LOGMNR_CONTENTS for queries that pick columns: made a batch of changes at a time, of the columns they pick.

Rows of a transaction's changes to one table differ in a few columns only. The others come from a sample row that
`contents.RowWriter` makes, so there is one place where their values are decided.

    packed batch (op, xid, table, .., rows)  ->  sample row, once for all alike   SCN  ROW_ID  SQL_REDO  RS_ID  SSN
                                                 picked cells                     of each row
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from minercdc_sandbox.interfaces import Cell, RowTest
from minercdc_sandbox.logminer.contents import COLUMNS, PIECE_BYTES, MinedTransaction, RowWriter
from minercdc_sandbox.logminer.row_text import RowText
from minercdc_sandbox.records import RedoOp, RedoRecord
from minercdc_sandbox.redo.batches import BatchHead, PackedBatch, rs_id
from minercdc_sandbox.sql.number import integer

PickedRow = tuple[Cell, ...]
_AT = {column.name: at for at, column in enumerate(COLUMNS)}
_SCN, _ROW_ID, _COUNT, _RS_ID, _SSN, _CSF = (_AT[name] for name in ("SCN", "ROW_ID", "SEQUENCE#", "RS_ID", "SSN", "CSF"))
_REDO, _UNDO = _AT["SQL_REDO"], _AT["SQL_UNDO"]
_VARYING = frozenset((_SCN, _ROW_ID, _COUNT, _RS_ID, _SSN, _REDO, _UNDO))
_NOT_HERE = frozenset(
    _AT[name] for name in ("RBABLK", "RBABYTE", "ABS_FILE#", "REL_FILE#", "DATA_BLK#", "REDO_VALUE", "UNDO_VALUE")
)
"""Columns that differ from row to row, too, but are seldom selected."""
_OPS = {"INSERT": RedoOp.INSERT, "UPDATE": RedoOp.UPDATE, "DELETE": RedoOp.DELETE}
_ROWS_AT_ONCE = 100
_SURELY_SHORT = PIECE_BYTES // 4
_REMEMBERED_SAMPLES = 256
_ZERO = integer(0)


class _Sample(NamedTuple):
    """A row of changes of one transaction and log that are alike, from which the others are made.

    :param cells: of all columns; `picked` of the query's.
    :param passes: whether such rows fulfil the query's condition; None when it depends on the row.
    :param redo, undo: functions that make SQL_REDO and SQL_UNDO of a row; None where the sample's own cell is right, or is not
      read.
    """

    cells: list[Cell]
    picked: list[Cell]
    passes: bool | None
    redo: RowText | None
    undo: RowText | None


class BatchRows:
    """Makes picked rows of one reading, of whole batches where it can. One thread; its samples are good for that reading only.

    :param writer: makes the rows of records, and the samples.
    :param picked: positions of the columns, in the order of the query; `test` the condition on a row.
    """

    def __init__(self, writer: RowWriter, picked: Sequence[int], test: RowTest) -> None:
        self._writer, self._picked, self._test = writer, picked, test
        self._pick: Callable[[Any], PickedRow] = itemgetter(*picked)
        self._slots = {at: n for n, at in enumerate(picked)}
        read = test.columns.union(picked)
        self._test_varies = not test.columns.isdisjoint(_VARYING)
        self._by_record = len(self._slots) < len(picked) or not _NOT_HERE.isdisjoint(read)
        self._with_redo, self._with_undo = _REDO in read, _UNDO in read
        self._samples: dict[object, _Sample | None] = {}

    def of_record(self, record: RedoRecord, transaction: MinedTransaction) -> list[PickedRow]:
        """Picked rows of one record, those that pass the test: none, one, or more for a long SQL text. It counts in the
        transaction's `rows`."""
        shows, holds, pick = self._writer.containers.shows, self._test.holds, self._pick
        return [pick(row) for row in self._writer.rows(record, transaction) if shows(row, holds)]

    def of_rows(self, rows: Iterator[tuple[Cell, ...]]) -> Iterator[list[PickedRow]]:
        """Picked rows in batches, some maybe empty, of those of `rows` that pass the test."""
        shows, holds, pick = self._writer.containers.shows, self._test.holds, self._pick
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            yield [pick(row) for row in some if shows(row, holds)]

    def of_batch(
        self, batch: PackedBatch, thread: int, sequence: int, transaction: MinedTransaction
    ) -> list[PickedRow] | None:
        """Picked rows of a batch that pass the test; all its records must be wanted. They count in the transaction's `rows`.
        None, and nothing is counted, when it must be read record by record."""
        head = batch.head()
        if self._by_record or head.op not in _OPS or head.placeholder or self._writer.addressless:
            return None
        key = (transaction, sequence, head.alike)
        if key in self._samples:
            sample = self._samples[key]
        else:
            if len(self._samples) >= _REMEMBERED_SAMPLES:
                self._samples.clear()
            sample = self._samples[key] = self._sampled(next(batch.records(thread, sequence)), transaction)
        if sample is None:
            return None
        rows = self._of_sample(sample, head, sequence, transaction.rows) if sample.passes is not False else []
        if rows is not None:
            transaction.rows += len(head.rows)
        return rows

    def _sampled(self, record: RedoRecord, transaction: MinedTransaction) -> _Sample | None:
        texts = self._writer.row_texts(record)
        if texts is None:
            return None
        counted = transaction.rows
        cells = list(next(self._writer.rows(record, transaction)))
        transaction.rows = counted
        cells[_CSF] = _ZERO
        passes = None if self._test_varies else self._writer.containers.shows(cells, self._test.holds)
        redo, undo = texts.redo if self._with_redo else None, texts.undo if self._with_undo else None
        return _Sample(cells, list(self._pick(cells)), passes, redo, undo)

    def _of_sample(self, sample: _Sample, head: BatchHead, sequence: int, counted: int) -> list[PickedRow] | None:
        rows = head.rows
        varying: dict[int, Sequence[Cell]] = {}
        if sample.redo is not None:
            redo = sample.redo
            texts = [redo(row_id, old or (), new or ()) for row_id, old, new in rows]
            if not _are_whole(texts):
                return None
            varying[_REDO] = texts
        if sample.undo is not None:
            undo = sample.undo
            texts = [undo(row_id, new or (), old or ()) for row_id, old, new in rows]
            if not _are_whole(texts):
                return None
            varying[_UNDO] = texts
        varying[_ROW_ID] = [row[0] for row in rows]
        count, scn = len(rows), head.scn
        if head.shared or count == 1:
            varying[_SCN] = (scn_cell(scn),) * count
            varying[_RS_ID] = (rs_id(sequence, *head.addresses()[0]),) * count
            varying[_SSN] = [integer(n) for n in range(count)]
        else:
            varying[_SCN] = [scn_cell(scn + n) for n in range(count)]
            varying[_RS_ID] = [rs_id(sequence, block, byte) for block, byte in head.addresses()]
            varying[_SSN] = (_ZERO,) * count
        if _COUNT in self._slots or _COUNT in self._test.columns:
            varying[_COUNT] = [integer(counted + n) for n in range(1, count + 1)]
        found = self._assembled(sample.picked, varying, count)
        return found if sample.passes else self._tested(sample.cells, varying, found)

    def _assembled(self, picked: list[Cell], varying: dict[int, Sequence[Cell]], count: int) -> list[PickedRow]:
        if count == 1:
            cells = picked.copy()
            for at, values in varying.items():
                if (slot := self._slots.get(at)) is not None:
                    cells[slot] = values[0]
            return [tuple(cells)]
        columns: list[Any] = [repeat(cell, count) for cell in picked]
        for at, values in varying.items():
            if (slot := self._slots.get(at)) is not None:
                columns[slot] = values
        return list(zip(*columns, strict=True))

    def _tested(self, sample: list[Cell], varying: dict[int, Sequence[Cell]], found: list[PickedRow]) -> list[PickedRow]:
        shows, holds, cells = self._writer.containers.shows, self._test.holds, sample.copy()
        read = [(at, values) for at, values in varying.items() if at in self._test.columns]
        kept = []
        for n, row in enumerate(found):
            for at, values in read:
                cells[at] = values[n]
            if shows(cells, holds):
                kept.append(row)
        return kept


def _are_whole(texts: list[str]) -> bool:
    """Whether each of the texts (at least one) fits one row of the view, of 4000 bytes; see CSF."""
    return max(map(len, texts)) <= _SURELY_SHORT or all(len(text.encode()) <= PIECE_BYTES for text in texts)


@lru_cache(maxsize=1)
def _tails() -> list[bytes]:
    """The last NUMBER digits of 0 to 9999, by number, as they stand after other digits, without zeros at the end. Computed once."""
    return [bytes((n // 100 + 1, n % 100 + 1)).rstrip(b"\1") for n in range(10_000)]


@lru_cache(maxsize=64)
def _front(value: int) -> bytes:
    """The beginning of the NUMBER value * 10000 + n, for 0 <= n < 10000, before the digits of n; `value` is at least 1. Remembered."""
    digits = str(value)
    digits = "0" * (len(digits) % 2) + digits
    pairs = bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))
    return bytes((192 + len(pairs) + 2,)) + pairs


def scn_cell(scn: int) -> bytes:
    """NUMBER cell of an SCN, from remembered digits: those of many rows differ in their last four only."""
    high, low = divmod(scn, 10_000)
    return _front(high) + _tails()[low] if high and low else integer(scn)
