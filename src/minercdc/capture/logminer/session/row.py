"""Rows of V$LOGMNR_CONTENTS as they were fetched, and the joining of statements that span rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, Final, NamedTuple

from minercdc.errors import MiningSessionError

# The ROW_ID of rows that have none.
PLACEHOLDER_ROW_ID: Final = "A" * 18
# Sequence part of an XID whose START lay before the range that LogMiner read.
PARTIAL_XID: Final = b"\xff\xff\xff\xff"
ZERO_XID: Final = bytes(8)


class OpCode(IntEnum):
    """OPERATION_CODE of the rows that are selected; the names are not Oracle's throughout."""

    # Of these only those are selected that end a statement with LOBs outside the row.
    INTERNAL = 0
    INSERT = 1
    DELETE = 2
    UPDATE = 3
    DDL = 5
    START = 6
    COMMIT = 7
    LOB_LOCATOR = 9
    LOB_WRITE = 10
    LOB_TRIM = 11
    # The manual says 28.
    LOB_ERASE = 29
    MISSING_SCN = 34
    ROLLBACK = 36
    XML_BEGIN = 68
    XML_WRITE = 70
    XML_END = 71
    STRING_BEGIN = 91
    STRING_WRITE = 92
    STRING_END = 93
    UNSUPPORTED = 255


# Rows that carry values too large for the row itself: LOBs, XML documents, strings beyond 4000 bytes.
LARGE_CODES: Final = frozenset(
    {
        OpCode.LOB_LOCATOR,
        OpCode.LOB_WRITE,
        OpCode.LOB_TRIM,
        OpCode.LOB_ERASE,
        OpCode.XML_BEGIN,
        OpCode.XML_WRITE,
        OpCode.XML_END,
        OpCode.STRING_BEGIN,
        OpCode.STRING_WRITE,
        OpCode.STRING_END,
    }
)
# Rows of a table beside INSERT, DELETE and UPDATE.
OTHER_ROW_CODES: Final = LARGE_CODES | {OpCode.UNSUPPORTED}


class LogMinerRow(NamedTuple):
    """Columns of V$LOGMNR_CONTENTS, in the order of `COLUMNS`.

    :param code: OPERATION_CODE, see `OpCode`.
    :param thread: THREAD#, the number of the redo thread; 0 for rows without redo address.
    :param rs_id: redo record, ` 0x000001.000012e5.014c `, with its blanks; '' where LogMiner gives none.
    :param xid: 8 bytes; unique within a container only; `ZERO_XID` where LogMiner gives none.
    :param con_id: SRC_CON_ID; None outside a container database, and where LogMiner does not say it.
    :param owner, table, row_id, info, user, client_id, sql: None where LogMiner gives null.
    :param rollback: 1 when this row undoes an earlier one.
    :param csf: 1 when the statement goes on in the next row.
    :param timestamp: host time, whole seconds, no zone.
    :param object_id: 0 when the row has none.
    :param start_scn: of its transaction; None or 0 when LogMiner does not know it.
    """

    scn: int
    code: int
    thread: int
    rs_id: str
    ssn: int
    xid: bytes
    con_id: int | None
    owner: str | None
    table: str | None
    row_id: str | None
    rollback: int
    csf: int
    status: int
    info: str | None
    timestamp: datetime
    user: str | None
    client_id: str | None
    object_id: int
    start_scn: int | None
    sql: str | None


def same_object(row: LogMinerRow, other: LogMinerRow) -> bool:
    """Whether two rows are of one table or partition: by object id, since a RENAME in between changes the names they carry; by
    owner and name where either has no id."""
    if row.object_id and other.object_id:
        return row.object_id == other.object_id
    return row.table == other.table and row.owner == other.owner


COLUMNS: Final = (
    "SCN",
    "OPERATION_CODE",
    "THREAD#",
    "RS_ID",
    "SSN",
    "XID",
    "SRC_CON_ID",
    "SEG_OWNER",
    "TABLE_NAME",
    "ROW_ID",
    "ROLLBACK",
    "CSF",
    "STATUS",
    "INFO",
    "TIMESTAMP",
    "USERNAME",
    "CLIENT_ID",
    "DATA_OBJ#",
    "START_SCN",
    "SQL_REDO",
)
_CSF = LogMinerRow._fields.index("csf")
# A COMMIT may have no thread and no XID (docs/reference/logminer-facts.md#b-4).
_THREAD, _RS_ID, _XID = map(LogMinerRow._fields.index, ("thread", "rs_id", "xid"))


def _make(fetched: Sequence[Any]) -> LogMinerRow:
    row = LogMinerRow._make(fetched)
    if fetched[_XID] is None or fetched[_THREAD] is None or fetched[_RS_ID] is None:
        row = row._replace(thread=fetched[_THREAD] or 0, rs_id=fetched[_RS_ID] or "", xid=fetched[_XID] or ZERO_XID)
    return row


class ContinuationJoiner:
    """Joins the pieces of statements longer than 4000 bytes, which may straddle batches; one for each query.

    Pieces follow each other directly and are cut anywhere, even inside an escape, so they are joined as they are.
    """

    def __init__(self) -> None:
        self._pieces: list[LogMinerRow] = []

    @property
    def is_open(self) -> bool:
        """Whether a statement still lacks pieces."""
        return bool(self._pieces)

    def join(self, batch: Iterable[Sequence[Any]]) -> Iterator[LogMinerRow]:
        """Whole rows of a batch of fetched tuples; pieces of a statement that is not whole wait for the next batch.

        :raises MiningSessionError: pieces do not fit together.
        """
        pieces = self._pieces
        for fetched in batch:
            if not pieces and not fetched[_CSF]:
                yield _make(fetched)
                continue
            row = _make(fetched)
            if pieces and (row.xid, row.rs_id, row.ssn, row.code) != (
                pieces[0].xid,
                pieces[0].rs_id,
                pieces[0].ssn,
                pieces[0].code,
            ):
                raise MiningSessionError(f"a statement at {pieces[0].rs_id.strip()} broke off between its pieces")
            pieces.append(row)
            if not row.csf:
                yield row._replace(sql="".join(piece.sql or "" for piece in pieces))
                pieces.clear()
