"""V$LOGMNR_CONTENTS: its columns, and its rows made of redo records.

A record is one row, or several when its SQL is longer than 4000 bytes (CSF 1 on all but the last).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import Cell
from minercdc_sandbox.logminer.large_text import LARGE_OPS
from minercdc_sandbox.logminer.source_containers import NAMES, SourceContainers
from minercdc_sandbox.logminer.sql_text import Shape, TextOptions, Texts
from minercdc_sandbox.logminer.value_handles import handle_of
from minercdc_sandbox.records import RedoOp, RedoRecord
from minercdc_sandbox.redo.batches import INDEX_INFO, rs_id
from minercdc_sandbox.sql import number
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.views.shape import columns_of, date

PIECE_BYTES = 4000
PLACEHOLDER_ROW_ID = "A" * 18
UNKNOWN_SQN = 0xFFFFFFFF
"""XIDSQN of undo rows whose transaction began before the range."""

COLUMNS = columns_of(
    "SCN N, START_SCN N, COMMIT_SCN N, TIMESTAMP D, START_TIMESTAMP D, COMMIT_TIMESTAMP D, XIDUSN N, XIDSLT N, XIDSQN N, XID R8, "
    "PXIDUSN N, PXIDSLT N, PXIDSQN N, PXID R8, TX_NAME V256, OPERATION V32, OPERATION_CODE N, ROLLBACK N, SEG_OWNER V386, "
    "SEG_NAME V256, TABLE_NAME V386, SEG_TYPE N, SEG_TYPE_NAME V32, TABLE_SPACE V32, ROW_ID V18, USERNAME V384, "
    "OS_USERNAME V4000, MACHINE_NAME V4000, AUDIT_SESSIONID N, SESSION# N, SERIAL# N, SESSION_INFO V4000, THREAD# N, "
    "SEQUENCE# N, RBASQN N, RBABLK N, RBABYTE N, UBAFIL N, UBABLK N, UBAREC N, UBASQN N, ABS_FILE# N, REL_FILE# N, DATA_BLK# N, "
    "DATA_OBJ# N, DATA_OBJV# N, DATA_OBJD# N, SQL_REDO V4000, SQL_UNDO V4000, RS_ID V32, SSN N, CSF N, INFO V64, STATUS N, "
    "REDO_VALUE N, UNDO_VALUE N, SAFE_RESUME_SCN N, CSCN N, OBJECT_ID R16, EDITION_NAME V386, CLIENT_ID V64, SRC_CON_NAME V384, "
    "SRC_CON_ID N, SRC_CON_UID N, SRC_CON_DBID N, SRC_CON_GUID R16, CON_ID N"
)


def _places(*names: str) -> frozenset[int]:
    return frozenset(at for at, column in enumerate(COLUMNS) if column.name in names)


_CODES = {
    RedoOp.INTERNAL: 0,
    RedoOp.INSERT: 1,
    RedoOp.DELETE: 2,
    RedoOp.UPDATE: 3,
    RedoOp.DDL: 5,
    RedoOp.START: 6,
    RedoOp.COMMIT: 7,
    RedoOp.LOB_LOCATOR: 9,
    RedoOp.LOB_WRITE: 10,
    RedoOp.LOB_TRIM: 11,
    RedoOp.LOB_ERASE: 29,
    RedoOp.ROLLBACK: 36,
    RedoOp.XML_BEGIN: 68,
    RedoOp.XML_WRITE: 70,
    RedoOp.XML_END: 71,
    RedoOp.LONG_BEGIN: 91,
    RedoOp.LONG_WRITE: 92,
    RedoOp.LONG_END: 93,
}
_ROW_OPS = frozenset((RedoOp.INSERT, RedoOp.UPDATE, RedoOp.DELETE)) | LARGE_OPS
_LOCATOR_LABELS = {False: "SEL_LOB_LOCATOR", True: "INTERNAL"}
"""Of code 9, by whether the release prints LOB rows as blocks; the manual calls it SELECT_LOB_LOCATOR."""
_UNSUPPORTED = 255
_CONTROL_TEXT = {RedoOp.START: "set transaction read write", RedoOp.COMMIT: "commit", RedoOp.ROLLBACK: "rollback"}
_int = number.integer
_ZERO, _ONE, _TWO = _int(0), _int(1), _int(2)
# Reference, V$LOGMNR_CONTENTS, SEG_TYPE.
_SEGMENT_TYPES = {"TABLE PARTITION": _int(19), "TABLE SUBPARTITION": _int(34)}
_OPERATIONS: dict[tuple[RedoOp, bool], tuple[Cell, ...]] = {
    (op, undo): (str(op), _int(code), _ONE if undo else _ZERO) for op, code in _CODES.items() for undo in (False, True)
}
_NO_TABLE: tuple[Cell, ...] = (None,) * 6
_NO_RS_ID = rs_id(0, 0, 0)
_NO_PARENT: tuple[Cell, ...] = (_ZERO, _ZERO, _ZERO, bytes(8), None)
_NO_SESSION: tuple[Cell, ...] = ("UNKNOWN", "UNKNOWN", "UNKNOWN", _ZERO, _ZERO, _ZERO, "UNKNOWN")
_NO_UNDO_ADDRESS: tuple[Cell, ...] = (_ZERO,) * 4
_NO_ADDRESS: tuple[Cell, ...] = (None,) * 3
_NO_VALUES: tuple[Cell, ...] = (_ZERO, _ZERO, _ZERO)
_MISMATCH = "Dictionary Mismatch"
_RECENT = 4096
"""Records that MINE_VALUE finds without looking into the log."""


@dataclass(frozen=True, slots=True)
class TableText:
    """How rows of one table version are shown.

    :param owner, table: names in the row's columns, as the dictionary has them, or UNKNOWN and `OBJ# n`.
    :param shape: None for a table LogMiner has no SQL for: its rows show `comment`, or Unsupported when that is None.
    :param mismatch: the dictionary has another version of the table or does not know it.
    :param partition: name of the partition or subpartition that the record's object is, and SEG_TYPE_NAME; None for a table.
    :param renamed: the table had another name at other times, which the dictionary may know.
    """

    owner: str
    table: str
    shape: Shape | None
    mismatch: bool = False
    comment: str | None = None
    partition: tuple[str, str] | None = None
    renamed: bool = False


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Cells of the columns XIDUSN to TABLE_SPACE (`front`) and REDO_VALUE to CON_ID (`back`), in their order."""

    front: tuple[Cell, ...]
    back: tuple[Cell, ...]


class MinedTransaction:
    """One transaction in a reading: the cells that its rows share, and how many there were.

    :param first: its first record in the range, or the START if that comes later.
    :param started: its START lies in the range; without it, its user and (of undo rows and ROLLBACK) the XID's last part are
        unknown.
    :ivar shows_large: it is read from its beginning on, which START may follow (DBZ-3978): its LOB rows are shown.
    :ivar rows: how many of its records were read so far: SEQUENCE#. `RowWriter.rows` counts, and who passes a record over.
    :ivar xid: cells of XIDUSN to TX_NAME; `named_xid` of a START, with a TX_NAME, `partial_xid` of rows without the last part.
    :ivar session: cells of USERNAME to SESSION_INFO, as START has them.
    :ivar scns, times: cells of start and commit; both None until `ended`.
    """

    def __init__(self, first: RedoRecord, started: bool) -> None:
        usn, slot, sqn = first.xid
        self.rows = 0
        self.first = first
        self.started = started
        self.shows_large = started or first.start_scn == first.scn
        self.xid = _xid_cells(usn, slot, sqn) + _NO_PARENT
        self.named_xid = (*self.xid[:-1], first.statement) if started else self.xid
        self.partial_xid = self.xid if started else _xid_cells(usn, slot, UNKNOWN_SQN) + _NO_PARENT
        self.session = _session_cells(first) if started else _NO_SESSION
        self.client_id = (first.session or {}).get("client_id") if started else None
        self.scns: tuple[Cell, Cell] = (None, None)
        self.times: tuple[Cell, Cell] = (None, None)
        self._parts: dict[object, SharedParts] = {}

    def parts(
        self,
        record: RedoRecord,
        operation: tuple[Cell, ...],
        owner: str | None,
        table: str | None,
        partition: tuple[str, str] | None,
        container: tuple[Cell, ...],
        index: str | None = None,
    ) -> SharedParts:
        """Cells of XIDUSN to TABLE_SPACE and REDO_VALUE to CON_ID, the same for all rows of an operation on a table; kept for the
        next call until `ended`.

        :param operation: cells of OPERATION, OPERATION_CODE and ROLLBACK.
        :param owner, table: None for a record of no table; `partition`: as of `TableText`.
        :param container: cells of SRC_CON_NAME to CON_ID.
        :param index: the index that the record maintains; None for none.
        """
        partial = record.undo or record.op is RedoOp.ROLLBACK
        key = (owner, table, partition, operation, partial, index)
        found = self._parts.get(key)
        if found is None:
            if table is None:
                segment = _NO_TABLE
            elif index is not None:
                segment = (owner, index, table, _ONE, "INDEX", "USERS")
            elif partition is None:
                segment = (owner, table, table, _TWO, "TABLE", "USERS")
            else:
                name, kind = partition
                segment = (owner, f"{table},{name}", table, _SEGMENT_TYPES[kind], kind, "USERS")
            xid = self.partial_xid if partial else self.named_xid if record.op is RedoOp.START else self.xid
            found = self._parts[key] = SharedParts(
                xid + operation + segment, (*_NO_VALUES, self.scns[1], None, None, self.client_id, *container)
            )
        return found

    def ended(self, start: RedoRecord, commit: RedoRecord) -> None:
        """Committed mode: rows made from now on show the START and COMMIT SCNs and times of the transaction."""
        self.scns = (_int(start.scn), _int(commit.scn))
        self.times = (date(start.time), date(commit.time))
        self._parts.clear()


def _xid_cells(usn: int, slot: int, sqn: int) -> tuple[Cell, ...]:
    packed = usn.to_bytes(2, "little") + slot.to_bytes(2, "little") + sqn.to_bytes(4, "little")
    return _int(usn), _int(slot), _int(sqn), packed


def _session_cells(record: RedoRecord) -> tuple[Cell, ...]:
    facts = record.session or {}
    machine, os_user = facts.get("machine"), facts.get("osuser")
    info = (
        f"login_username={record.user or ''} client_info={facts.get('client_info', '')} OS_username={os_user or ''}"
        f" Machine_name={machine or ''} OS_terminal={facts.get('terminal', '')} OS_process_id={facts.get('pid', '')}"
        f" OS_program_name={facts.get('program', '')}"
    )
    sid, serial = int(facts.get("sid", 0)), int(facts.get("serial", 0))
    return record.user, os_user, machine, _int(sid), _int(sid), _int(serial), info


class RowWriter:
    """Makes the view's rows of records; keeps what recurs, for one scan by one thread.

    :param catalog: of the database that wrote the redo.
    :param table_text: looks a record's table version up in the dictionary; the answer is kept but for a renamed table.
    :param columns: positions that are read; None for all. What is costly and not read is left None.
    :param recent: filled with records by half the handle of their old values, 4096 at most; without it there are no handles, as
        when neither REDO_VALUE nor UNDO_VALUE is read.
    :param addressless: users whose undo rows come without redo address, as some do in the field: RS_ID is all zeros.
    """

    def __init__(
        self,
        options: TextOptions,
        catalog: Catalog,
        table_text: Callable[[RedoRecord], TableText],
        columns: Collection[int] | None = None,
        recent: dict[int, RedoRecord] | None = None,
        addressless: Collection[str] = (),
    ) -> None:
        self.addressless = addressless
        read = frozenset(range(len(COLUMNS))) if columns is None else frozenset(columns)
        self._with_undo = not read.isdisjoint(_places("SQL_UNDO"))
        self._with_count = not read.isdisjoint(_places("SEQUENCE#"))
        self.containers = SourceContainers(catalog, are_read=not read.isdisjoint(_places(*NAMES)))
        self._with_address = not read.isdisjoint(_places("RBASQN", "RBABLK", "RBABYTE"))
        self._with_block = not read.isdisjoint(_places("ABS_FILE#", "REL_FILE#", "DATA_BLK#"))
        self._recent = recent if not read.isdisjoint(_places("REDO_VALUE", "UNDO_VALUE")) else None
        self._options = options
        self._table_text = table_text
        self._tables: dict[tuple[int, int], TableText] = {}
        self._objects: dict[tuple[int, int, int], tuple[Cell, ...]] = {}
        self._blocks: dict[str, tuple[Cell, ...]] = {"": _NO_UNDO_ADDRESS + _NO_VALUES}

    def rows(self, record: RedoRecord, transaction: MinedTransaction) -> Iterator[tuple[Cell, ...]]:
        """The rows of one record, in the column order of `COLUMNS`, several for SQL over 4000 bytes. The record counts in the
        transaction's `rows` when the first row is made. They are to be shown as `containers.shows` says. Raises as `table_text`."""
        transaction.rows += 1
        operation = _OPERATIONS[record.op, record.undo]
        row_id = record.row_id
        owner, table = record.owner, record.table
        partition: tuple[str, str] | None = None
        redo: str | None
        undo: str | None = None
        info, status = None if record.op is RedoOp.INTERNAL else record.info, _ZERO
        if row_id is not None and record.op in _ROW_OPS:
            text = self._text_of(record)
            owner, table, partition = text.owner, text.table, text.partition
            operation, redo, undo, info, status = self._of_row(record, text, operation)
        elif record.op is RedoOp.INTERNAL and row_id is not None:
            owner = table = redo = None  # the end of a statement with LOBs outside the row
        elif record.op is RedoOp.DDL:
            redo = (record.statement or "") + self._options.end
        else:
            control = _CONTROL_TEXT.get(record.op)
            redo = control + self._options.end if control else None
        container = self.containers.cells(record.container)
        parts = transaction.parts(record, operation, owner, table, partition, container, _index_of(record))
        count = _int(transaction.rows) if self._with_count else None
        address = (_int(record.sequence), _int(record.block), _int(record.byte)) if self._with_address else _NO_ADDRESS
        shown_id = PLACEHOLDER_ROW_ID if row_id is None or record.placeholder else row_id
        body = (shown_id, *transaction.session, _int(record.thread), count, *address)
        block = self._place(row_id) if self._with_block else self._blocks[""]
        head = self._when(record, transaction) + parts.front + body + block + self._object(record)
        hidden = record.undo and self.addressless and transaction.first.user in self.addressless
        place = _NO_RS_ID if hidden else rs_id(record.sequence, record.block, record.byte)
        tail = (info, status, *parts.back)
        if self._recent is not None and row_id is not None and record.op in _ROW_OPS:
            tail = (info, status, *self._handles(record), *parts.back[2:])
        if (redo is None or len(redo) <= PIECE_BYTES // 4) and (undo is None or len(undo) <= PIECE_BYTES // 4):
            yield (*head, redo, undo, place, _int(record.ssn), _ZERO, *tail)
            return
        pieces = list(zip_longest(_pieces(redo), _pieces(undo)))
        for n, (redo_piece, undo_piece) in enumerate(pieces, 1):
            yield (*head, redo_piece, undo_piece, place, _int(record.ssn), _ONE if n < len(pieces) else _ZERO, *tail)

    def _of_row(
        self, record: RedoRecord, text: TableText, operation: tuple[Cell, ...]
    ) -> tuple[tuple[Cell, ...], str | None, str | None, str | None, bytes]:
        """(OPERATION, OPERATION_CODE, ROLLBACK), SQL_REDO, SQL_UNDO, INFO and the cell of STATUS of a record of a row; SQL_UNDO
        is None also when it is not read."""
        if text.comment is not None:
            return operation, text.comment, None, record.info, _ZERO
        if text.shape is None:
            return ("UNSUPPORTED", _int(_UNSUPPORTED), operation[2]), "Unsupported", None, record.info, _TWO
        if record.op in LARGE_OPS:
            # Nothing is known of another version's LOBs: their rows are there, without text.
            redo, state, info = text.shape.large.render(record) if text.shape.large else (None, 2, _MISMATCH)
            if record.op is RedoOp.LOB_LOCATOR:
                operation = (_LOCATOR_LABELS[self._options.since_23], *operation[1:])
            return operation, redo, None, info, _int(state)
        redo, undo = text.shape.render(record) if self._with_undo else (text.shape.redo(record), None)
        if text.mismatch:
            return operation, redo, undo, _MISMATCH, _TWO
        long = record.op is RedoOp.UPDATE and text.shape.has_long  # and no INFO (DBZ-4853)
        return operation, redo, undo, record.info, _TWO if long else _ZERO

    def _handles(self, record: RedoRecord) -> tuple[Cell, Cell]:
        """Cells of REDO_VALUE and UNDO_VALUE; the record is remembered in `recent`, which is emptied when it is full."""
        handle = handle_of(record)
        assert self._recent is not None
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[handle >> 1] = record
        return number.encode(handle + 1), number.encode(handle)

    def row_texts(self, record: RedoRecord) -> Texts | None:
        """Texts of changes like this INSERT, UPDATE or DELETE; None without ROWID, or when the table has no SQL. Raises as
        `table_text`."""
        shape = self._text_of(record).shape
        if shape is None or record.row_id is None:
            return None
        return shape.texts(record.op, record.changed, record.logged, record.undo)

    def _when(self, record: RedoRecord, transaction: MinedTransaction) -> tuple[Cell, ...]:
        start_scn, commit_scn = transaction.scns
        if start_scn is None and record.op is RedoOp.COMMIT and record.start_scn:
            start_scn = _int(record.start_scn)  # known from the commit record, also in plain mode
        return (_int(record.scn), start_scn, commit_scn, date(record.time), *transaction.times)

    def _text_of(self, record: RedoRecord) -> TableText:
        key = (record.data_obj, record.data_obj_v)
        text = self._tables.get(key)
        if text is None:
            text = self._table_text(record)
            if not text.renamed:
                self._tables[key] = text
        return text

    def _object(self, record: RedoRecord) -> tuple[Cell, ...]:
        key = (record.data_obj, record.data_obj_v, record.data_obj_d)
        cells = self._objects.get(key)
        if cells is None:
            cells = self._objects[key] = tuple(map(_int, key))
        return cells

    def _place(self, row_id: str | None) -> tuple[Cell, ...]:
        """Cells of the undo address, always zeros, and of absolute file, relative file and block of a ROWID; all zeros for None."""
        key = row_id[6:15] if row_id else ""
        cells = self._blocks.get(key)
        if cells is None:
            if len(self._blocks) > 1 << 16:
                self._blocks = {"": _NO_UNDO_ADDRESS + _NO_VALUES}
            _, file, block, _ = map(_int, rowid.fields(row_id or ""))
            cells = self._blocks[key] = (*_NO_UNDO_ADDRESS, file, file, block)
        return cells


def _index_of(record: RedoRecord) -> str | None:
    if record.op is not RedoOp.INTERNAL or not (record.info or "").startswith(INDEX_INFO):
        return None
    return (record.info or "").removeprefix(INDEX_INFO)


def _pieces(text: str | None) -> list[str]:
    """The text cut into pieces of at most 4000 bytes of UTF-8, between characters; [] for None, [''] for ''."""
    if text is None:
        return []
    pieces, rest = [], text.encode()
    while len(rest) > PIECE_BYTES:
        cut = PIECE_BYTES
        while rest[cut] & 0xC0 == 0x80:
            cut -= 1
        pieces.append(rest[:cut].decode())
        rest = rest[cut:]
    pieces.append(rest.decode())
    return pieces
