"""Prints the `source` block of an envelope: members of the table, of the transaction, then of the row."""

from __future__ import annotations

from collections.abc import Collection
from importlib import metadata
from json.encoder import encode_basestring
from typing import Final, TypeAlias

from minercdc.messages.envelope import source_sequence
from minercdc.schema.table import TableId
from minercdc.stream.events import ChangeEvent, Op, ReadRun, SchemaChange, SnapshotMark, TransactionInfo

TablePieces: TypeAlias = tuple[str, str]
_VERSION: Final = metadata.version("minercdc")
# Stands in a head for the row's token: text that is printed as JSON has no such character.
_SLOT = "\0"
_NO_TRANSACTION = (
    '"txId":null,"scn":"',
    '","commit_scn":null,"lcr_position":null,"rs_id":',
    ',"redo_thread":null,"user_name":null,"redo_sql":',
    ',"commit_ts_ms":null,"start_scn":null,"start_ts_ms":null,"txSeq":null',
)


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


class SourceBlock:
    """Prints source blocks of one connector. Pieces that are the same as in the block before are reused.

    :param name: topic.prefix.
    :param untracked: of `rs_id`, `user_name`, `start_ts_ms` and `commit_ts_ms`, those that are null.
    :param ordered: `sequence` is the token of `source_sequence`, else null.
    """

    def __init__(self, name: str, untracked: Collection[str] = (), *, ordered: bool = False) -> None:
        self.untracked = untracked
        self.ordered = ordered
        self._has_rs_id = "rs_id" not in untracked
        self._head = f'{{"version":"{_VERSION}","connector":"oracle","name":{encode_basestring(name)},"ts_ms":'
        self._tx: TransactionInfo | None = None
        self._tx_pieces = _NO_TRANSACTION
        self._time_us: int | None = None
        self._mark: SnapshotMark | None = None
        # Up to `scn`, of rows with this transaction, time and mark; by what their tables have in common.
        self._heads: dict[TablePieces, str] = {}

    def of_change(self, event: ChangeEvent, table: TablePieces) -> str:
        """The block of a row change.

        :param table: from `of_table`.
        """
        tx, time_us, mark = event.tx, event.time_us, event.snapshot
        if time_us != self._time_us or tx is not self._tx or mark is not self._mark:
            self._tx, self._time_us, self._mark = tx, time_us, mark
            self._tx_pieces = _transaction_pieces(tx, self.untracked)
            self._heads.clear()
        head = self._heads.get(table) or self._head_of(table, time_us, mark)
        if self.ordered:
            head = head.replace(_SLOT, source_sequence.of_change(event), 1)
        _, before_rs_id, before_redo_sql, end = self._tx_pieces
        rs_id = f'"{event.rs_id}"' if event.rs_id and self._has_rs_id else "null"
        row_id = f'"{event.row_id}"' if event.row_id else "null"
        redo_sql = "null" if event.redo_sql is None else encode_basestring(event.redo_sql)
        seq = event.seq if tx else ""
        return f'{head}{event.scn}{before_rs_id}{rs_id},"ssn":{event.ssn}{before_redo_sql}{redo_sql},"row_id":{row_id}{end}{seq}}}'

    def _head_of(self, table: TablePieces, time_us: int, mark: SnapshotMark | None) -> str:
        head = self._heads[table] = self._printed_head(table, time_us, mark, self._tx_pieces[0])
        return head

    def _printed_head(self, table: TablePieces, time_us: int, mark: SnapshotMark | None, before_scn: str) -> str:
        database, name = table
        sequence = _SLOT if self.ordered else source_sequence.NONE
        return (
            f'{self._head}{time_us // 1000},"snapshot":"{mark or "false"}",{database},"sequence":{sequence},'
            f'"ts_us":{time_us},"ts_ns":{time_us * 1000},{name},{before_scn}'
        )

    def constants_of(self, table: TablePieces) -> tuple[bytes, bytes, bytes, bytes]:
        """What the native printer needs of the blocks of a table's changes in redo: what stands before `ts_ms`, before the token
        (empty: it prints none), before `ts_us`, and before `txId`.

        :param table: from `of_table`.
        """
        database, name = table
        before, between = f',"snapshot":"false",{database},"sequence":', ',"ts_us":'
        if not self.ordered:
            before, between = "", f"{before}{source_sequence.NONE}{between}"
        return self._head.encode(), before.encode(), between.encode(), f',{name},"txId":"'.encode()

    def of_reads(self, run: ReadRun, table: TablePieces) -> tuple[str, str]:
        """What the blocks of a run's rows have before and after the value of `row_id`.

        :param table: from `of_table`.
        """
        row = ChangeEvent(Op.READ, run.fetched.schema, None, None, run.scn, run.time_us, None, 0, " ", snapshot=run.snapshot)
        before, name, after = self.of_change(row, table).partition('"row_id":')
        return before + name, after.removeprefix('" "')

    def of_schema_change(self, change: SchemaChange) -> str:
        """The block of a DDL, or of a structure that a snapshot read. For a rename its `table` is `OLD,NEW`, as Debezium has it."""
        old = change.before.id if change.before and change.after else change.table
        both = change.table if old == change.table else change.table._replace(table=f"{old.table},{change.table.table}")
        database, table = self.of_table(both)
        us = change.time_us
        thread = "null" if change.redo_thread is None else change.redo_thread
        sequence = source_sequence.of_schema_change(change) if self.ordered else source_sequence.NONE
        return (
            f'{self._head}{us // 1000},"snapshot":"{"true" if change.snapshot else "false"}",{database},"sequence":{sequence},'
            f'"ts_us":{us},"ts_ns":{us * 1000},{table},"txId":{_text(change.tx_id)},"scn":"{change.scn}",'
            f'"commit_scn":null,"lcr_position":null,"rs_id":null,"ssn":0,"redo_thread":{thread},"user_name":{_text(change.user)},'
            '"redo_sql":null,"row_id":null,"commit_ts_ms":null,"start_scn":null,"start_ts_ms":null,"txSeq":null}'
        )

    @staticmethod
    def of_table(table: TableId) -> TablePieces:
        """The pieces that the blocks of a table's rows have in common."""
        return (
            f'"db":{encode_basestring(table.database)}',
            f'"schema":{encode_basestring(table.schema)},"table":{encode_basestring(table.table)}',
        )


def _transaction_pieces(tx: TransactionInfo | None, untracked: Collection[str]) -> tuple[str, str, str, str]:
    if tx is None:
        return _NO_TRANSACTION
    started, committed, user = (
        "null" if name in untracked else text
        for name, text in (
            ("start_ts_ms", str(tx.start_us // 1000)),
            ("commit_ts_ms", str(tx.commit_us // 1000)),
            ("user_name", _text(tx.user)),
        )
    )
    start = (
        f'"start_scn":"{tx.start_scn}","start_ts_ms":{started}' if tx.start_scn else '"start_scn":null,"start_ts_ms":null'
    )
    return (
        f'"txId":"{tx.id}","scn":"',
        f'","commit_scn":"{tx.commit_scn}","lcr_position":null,"rs_id":',
        f',"redo_thread":{tx.redo_thread or "null"},"user_name":{user},"redo_sql":',
        f',"commit_ts_ms":{committed},{start},"txSeq":',
    )
