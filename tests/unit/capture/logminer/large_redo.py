"""Builders of redo with large values, in both dialects of LogMiner, and the tables that it is of."""

from __future__ import annotations

from typing import Any

from tests.unit.capture.logminer.redo import A, Miner, Redo

from minercdc.capture.logminer.session.row import OpCode
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Row

X = UNAVAILABLE
ID = Column("ID", "NUMBER", 10, 0)
DOC = TableSchema(
    TableId("DB", "LAB", "DOC"),
    (ID, Column("T", "VARCHAR2", 20), Column("C", "CLOB"), Column("B", "BLOB")),
    (0,),
    object_id=80,
)
XD = TableSchema(TableId("DB", "LAB", "XD"), (ID, Column("X", "XMLTYPE")), (0,), object_id=81)
WIDE = TableSchema(TableId("DB", "LAB", "WIDE"), (ID, Column("V", "VARCHAR2", 32767)), (0,), object_id=82)
LONG = TableSchema(
    TableId("DB", "LAB", "LONG"), (ID, Column("T", "VARCHAR2", 20), Column("V", "VARCHAR2", 32767)), (0,), object_id=83
)

DECLARE = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n loc_nc NCLOB; \n"
    " buf_nc NVARCHAR2(6174); \n"
)
Change = tuple[str, Row | None, Row | None]


class Large(Redo):
    """Redo of one transaction on DOC; a ROW_ID is given where the row has one."""

    def insert_doc(self, key: int, lobs: str = "EMPTY_CLOB(),EMPTY_BLOB()") -> None:
        self.on(OpCode.INSERT, f"""insert into "LAB"."DOC"("ID","T","C","B") values ('{key}','t',{lobs});""")

    def update_doc(self, key: int, sets: str, row_id: str | None = "r1", t: str = "t") -> None:
        self.on(OpCode.UPDATE, f"""update "LAB"."DOC" set {sets} where "ID" = '{key}' and "T" = '{t}';""", row_id)

    def on(self, code: int, sql: str | None, row_id: str | None = None, **other: Any) -> None:
        table = {"owner": "LAB", "table": "DOC", "object_id": 80, **({"row_id": row_id} if row_id else {}), **other}
        self.row(code, A, sql, **table)


class Blocks:
    """The dialect of 23ai: a block per piece."""

    @staticmethod
    def locator(redo: Large, key: int, column: str = "C", row_id: str | None = None) -> None:
        redo.on(OpCode.LOB_LOCATOR, None, row_id)

    @staticmethod
    def piece(
        redo: Large, code: int, key: int, text: str, column: str = "C", row_id: str | None = None, t: str = "t"
    ) -> None:
        block = f"{DECLARE} e_len NUMBER; \nBEGIN\n{select(key, column, t)}\n\n{text}\nEND;"
        redo.on(code, block, row_id, status=2, info="LOB sql_redo not re-executable")


class Statements:
    """The dialect up to 19c: the SELECT once, then a statement per piece."""

    @staticmethod
    def locator(redo: Large, key: int, column: str = "C", row_id: str | None = None) -> None:
        redo.on(OpCode.LOB_LOCATOR, f"{DECLARE}BEGIN\n{select(key, column)}", row_id, status=2)

    @staticmethod
    def piece(
        redo: Large, code: int, key: int, text: str, column: str = "C", row_id: str | None = None, t: str = "t"
    ) -> None:
        redo.on(code, text, row_id, status=2)


def select(key: int, column: str, t: str = "t") -> str:
    suffix = column.lower()
    return f""" select "{column}" into loc_{suffix} from "LAB"."DOC" where "ID" = '{key}' and "T" = '{t}' for update;"""


def write(text: str, offset: int = 1, amount: int | None = None) -> str:
    quoted = text.replace("'", "''")
    return f" buf_c := '{quoted}'; \n  dbms_lob.write(loc_c, {amount or len(text)}, {offset}, buf_c);"


def write_bytes(data: str, offset: int = 1) -> str:
    return f" buf_b := HEXTORAW('{data}'); \n  dbms_lob.write(loc_b, {len(data) // 2}, {offset}, buf_b);"


def changes(miner: Miner, redo: Large) -> list[Change]:
    redo.commit(A)
    return [(e.op.value, e.before, e.after) for e in miner.read(redo.rows) if isinstance(e, ChangeEvent)]
