"""Change records, which the redo holds and LogMiner reads, and the versions of tables they belong to.

storage -> batches of changes in the redo -> RedoRecord -> LogMiner, which finds the TableVersion of each in its dictionary
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from minercdc_sandbox.interfaces import Cell, OraType


class RedoOp(StrEnum):
    """Kinds of change record; the values are OPERATION in V$LOGMNR_CONTENTS, but LOB_LOCATOR's, which `logminer.contents` names
    by release."""

    START = "START"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    DDL = "DDL"
    INTERNAL = "INTERNAL"
    LOB_LOCATOR = "SELECT_LOB_LOCATOR"
    LOB_WRITE = "LOB_WRITE"
    LOB_TRIM = "LOB_TRIM"
    LOB_ERASE = "LOB_ERASE"
    XML_BEGIN = "XML DOC BEGIN"
    XML_WRITE = "XML DOC WRITE"
    XML_END = "XML DOC END"
    LONG_BEGIN = "32K_BEGIN"
    LONG_WRITE = "32K_WRITE"
    LONG_END = "32K_END"


@dataclass(slots=True)
class RedoChange:
    """The fields that a change record (`RedoRecord`) and a batch of them (`RedoBatch`) have in common.

    :param scn: when the change was made; lower than its neighbours' when a private strand was bound late.
    :param xid: (usn, slot, sequence).
    :param time: database host time of the change, whole seconds since the epoch.
    :param start_scn: SCN at which the transaction became active.
    :param owner, table: as LogMiner shows them; None of records of no table.
    :param data_obj: OBJECT_ID of the table or of the partition that the row lies in, `data_obj_d` DATA_OBJECT_ID, `data_obj_v`
        the table's version at the time; 0 of records of no table.
    :param changed: positions assigned by an UPDATE's SET, or of the large value.
    :param logged: positions whose before values the record shows (UPDATE and large values); None means all.
    :param undo: a record that undoes an earlier one of its transaction (ROLLBACK=1).
    :param user, session: of the client; None of records that recovery after a crash wrote, and of a phantom START.
    :param statement: DDL text as the user typed it; of START the transaction's name, of a dictionary record the dictionary; None
        of others.
    :param info: INFO; of an INTERNAL record, which shows none, it marks a dictionary or names an index, see `INDEX_INFO`.
    :param lob: of a LOB, XML or 32K piece: 0-based offset and amount, in units, of the value of column `changed[0]` in `after`;
        (offset, length erased) of an erase; (0, new length) of a trim; None of other records.
    :param placeholder: LogMiner does not show the ROWID, as in all the pieces of a LOB statement.
    :param continued: belongs to the same row change as the record before it: undone together.
    """

    op: RedoOp
    scn: int
    xid: tuple[int, int, int]
    time: int
    container: int = 3
    start_scn: int = 0
    owner: str | None = None
    table: str | None = None
    data_obj: int = 0
    data_obj_d: int = 0
    data_obj_v: int = 0
    changed: tuple[int, ...] = ()
    logged: tuple[int, ...] | None = None
    undo: bool = False
    statement: str | None = None
    info: str | None = None
    user: str | None = None
    session: Mapping[str, str] | None = None
    lob: tuple[int, int] | None = None
    placeholder: bool = False
    continued: bool = False


@dataclass(slots=True)
class RedoRecord(RedoChange):
    """One change as it lies in the redo of a thread.

    :param before: old values of ALL stored columns by position (UPDATE, DELETE, records of large values and the INTERNAL that
        closes them); `logged` decides which of them LogMiner may show. None of other records.
    :param after: new values of all stored columns (INSERT, UPDATE, and those of large values); None of other records.
    :param row_id: of the row; None of a record of no row.
    :param sequence: log sequence number; block and byte: the RBA; RS_ID is made of them.
    :param ssn: 0, 1, .. of rows that share one record (array inserts).
    """

    thread: int = 1
    row_id: str | None = None
    before: tuple[Cell, ...] | None = None
    after: tuple[Cell, ...] | None = None
    sequence: int = 0
    block: int = 0
    byte: int = 0
    ssn: int = 0


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a table version as LogMiner's dictionary knows it; `precision`, `scale` and `size` as in `tables.Column`.

    :param declared: the type as declared, e.g. `NUMBER(10,2)`, `TIMESTAMP(6)`, `CHAR(10)`.
    :param national: NCHAR, NVARCHAR2, NCLOB.
    :param storage: of LOB columns SECUREFILE or BASICFILE, of XMLTYPE columns `BINARY XML` or `CLOB XML`, of VECTOR columns the
        format; '' of others.
    :param in_row: False of LOB columns with DISABLE STORAGE IN ROW.
    """

    name: str
    type: OraType
    declared: str
    precision: int = 0
    scale: int = 0
    size: int = 0
    national: bool = False
    storage: str = ""
    in_row: bool = True


@dataclass(frozen=True, slots=True)
class TableVersion:
    """Dictionary entry for one version of a table or partition, by which SQL_REDO is rendered.

    :param table: its name, in the recycle bin the BIN$ name.
    :param data_obj: OBJECT_ID, `data_obj_d` DATA_OBJECT_ID, `data_obj_v` the version's number.
    :param columns: the stored ones; positions of redo records are places in them.
    :param key: positions of the primary key's columns; empty without one.
    :param temporary: a global temporary table, whose rows have no SQL.
    :param partition: the name of the partition or subpartition that `data_obj` is; None for the table itself.
    :param is_subpartition: it is a subpartition.
    """

    owner: str
    table: str
    data_obj: int
    data_obj_d: int
    data_obj_v: int
    columns: tuple[StoredColumn, ...]
    key: tuple[int, ...] = ()
    temporary: bool = False
    partition: str | None = None
    is_subpartition: bool = False
