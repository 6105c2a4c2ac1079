"""JSON columns in redo: the rows of a BLOB, whose bytes are an image of the value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.large_redo import DECLARE, ID, Large, X, changes, write_bytes
from tests.unit.capture.logminer.redo import A, Miner

from minercdc.capture.logminer.session.row import OpCode
from minercdc.errors import ValueDecodeError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import ChangeEvent, UndecodableRow

JD = TableSchema(TableId("DB", "LAB", "JD"), (ID, Column("T", "VARCHAR2", 20), Column("J", "JSON")), (0,), object_id=83)
KEYLESS = replace(JD, id=JD.id._replace(table="JK"), key=(), object_id=84)
IMAGE = "ff4a5a010016000a33087878787878787878"  # "xxxxxxxx"


class Documents(Large):
    """Redo of one transaction on JD."""

    def on(self, code: int, sql: str | None, row_id: str | None = None, **other: Any) -> None:
        super().on(code, sql, row_id, **{"table": "JD", "object_id": 83, **other})

    def insert_document(self, key: int, value: str = "/* JSON */ EMPTY_BLOB()") -> None:
        self.on(OpCode.INSERT, f"""insert into "LAB"."JD"("ID","T","J") values ('{key}','t',{value});""")

    def update_document(self, key: int, value: str, row_id: str = "r1") -> None:
        self.on(OpCode.UPDATE, f"""update "LAB"."JD" set "J" = {value} where "ID" = '{key}' and "T" = 't';""", row_id)

    def piece(self, code: int, key: int, text: str, row_id: str | None = None, **other: Any) -> None:
        """A piece as 23ai prints it, after its locator where it begins a value."""
        if code == OpCode.LOB_WRITE and ", 1, buf_b" in text:
            self.on(OpCode.LOB_LOCATOR, None, row_id, **other)
        where = f"""select "J" into loc_b from "LAB"."JD" where "ID" = '{key}' and "T" = 't' for update;"""
        self.on(code, f"{DECLARE} e_len NUMBER; \nBEGIN\n {where}\n\n{text}\nEND;", row_id, status=2, **other)


@pytest.fixture
def documents() -> Documents:
    documents = Documents()
    documents.start(A)
    return documents


@pytest.fixture
def json_miner(tmp_path: Path) -> Miner:
    return Miner(tmp_path, tables=(JD, KEYLESS), lobs=True, on_failure="skip")


TRIM = f"  dbms_lob.trim(loc_b, {len(IMAGE) // 2});"


def test_small_json_completes_the_insert(json_miner: Miner, documents: Documents) -> None:
    documents.insert_document(1)
    documents.update_document(1, f"/* JSON */ HEXTORAW('{IMAGE}')")
    documents.update_document(1, "NULL")
    documents.insert_document(2)
    documents.update_document(2, "NULL", "r2")
    assert changes(json_miner, documents) == [
        ("c", None, ("1", "t", '"xxxxxxxx"')),
        ("u", ("1", "t", X), ("1", "t", None)),
        ("c", None, ("2", "t", None)),
    ]


def test_large_json_comes_in_pieces(json_miner: Miner, documents: Documents) -> None:
    documents.insert_document(1)
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE[:10]))
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE[10:], 6))
    documents.piece(OpCode.LOB_WRITE, 2, write_bytes(IMAGE))
    documents.piece(OpCode.LOB_TRIM, 2, TRIM)
    assert changes(json_miner, documents) == [
        ("c", None, ("1", "t", '"xxxxxxxx"')),
        ("u", ("2", "t", X), ("2", "t", '"xxxxxxxx"')),
    ]
    assert json_miner.decoder.counters.unknown_lobs == 0


def test_json_that_does_not_follow_is_unavailable_and_counted(json_miner: Miner, documents: Documents) -> None:
    documents.insert_document(1)
    documents.insert_document(2, "NULL")
    documents.update_document(3, "/* JSON */ EMPTY_BLOB()")
    assert changes(json_miner, documents) == [
        ("c", None, ("1", "t", X)),
        ("c", None, ("2", "t", None)),
        ("u", ("3", "t", X), ("3", "t", X)),
    ]
    assert json_miner.decoder.counters.unknown_lobs == 1


@pytest.mark.parametrize("known", [True, False])
def test_json_of_which_a_part_is_written_is_unavailable(json_miner: Miner, documents: Documents, known: bool) -> None:
    """Also when the value before is known: its text is, not its bytes."""
    if known:
        documents.update_document(1, f"/* JSON */ HEXTORAW('{IMAGE}')")
    documents.on(OpCode.LOB_LOCATOR, None, "r1")
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes("79", 12), "r1")
    assert changes(json_miner, documents)[-1][2] == ("1", "t", X)
    assert json_miner.decoder.counters.unknown_lobs == 1


def test_json_that_is_written_whole_in_place_is_known_when_it_is_trimmed(json_miner: Miner, documents: Documents) -> None:
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE), "r1")
    documents.piece(OpCode.LOB_TRIM, 1, TRIM)
    assert changes(json_miner, documents) == [("u", ("1", "t", X), ("1", "t", '"xxxxxxxx"'))]


def test_a_damaged_image_is_a_failure_that_names_its_column(json_miner: Miner, documents: Documents) -> None:
    documents.insert_document(1)
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE[:-2]))
    documents.insert_document(2)
    documents.update_document(2, f"/* JSON */ HEXTORAW('{IMAGE[:-2]}')", "r2")
    documents.insert_document(3, "NULL")
    documents.commit(A)
    first, second, third, last, _ = json_miner.read(documents.rows)
    for left_out, operation in ((first, "INSERT"), (third, "UPDATE")):
        assert isinstance(left_out, UndecodableRow)
        assert (left_out.code, left_out.op) == ("MC-4201", operation)
        assert "column J: the JSON image has" in left_out.reason
    assert isinstance(second, ChangeEvent)
    assert second.after == ("2", "t", X)  # the UPDATE would have had its value
    assert isinstance(last, ChangeEvent)
    assert (last.after, last.seq) == (("3", "t", None), 2)


def test_a_damaged_image_stops_where_failures_do(tmp_path: Path, documents: Documents) -> None:
    miner = Miner(tmp_path, tables=(JD,), lobs=True)
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes("ff4a"), None)
    documents.commit(A)
    with pytest.raises(ValueDecodeError, match=r"column J: the JSON image has 2 bytes.*LAB\.JD"):
        miner.read(documents.rows)


def test_json_before_its_insert(json_miner: Miner, documents: Documents) -> None:
    """Of a table without a key it may be another row's."""
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE))
    documents.insert_document(1)
    keyless: dict[str, Any] = {"table": "JK", "object_id": 84}
    documents.piece(OpCode.LOB_WRITE, 1, write_bytes(IMAGE), **keyless)
    documents.on(
        OpCode.INSERT, """insert into "LAB"."JK"("ID","T","J") values ('1','t',/* JSON */ EMPTY_BLOB());""", **keyless
    )
    assert changes(json_miner, documents) == [
        ("c", None, ("1", "t", '"xxxxxxxx"')),
        ("u", ("1", "t", X), ("1", "t", '"xxxxxxxx"')),
        ("c", None, ("1", "t", X)),
    ]


def test_json_that_is_undone(json_miner: Miner, documents: Documents) -> None:
    documents.insert_document(1)
    documents.update_document(1, f"/* JSON */ HEXTORAW('{IMAGE}')")
    documents.update_document(1, "NULL")
    undo = """update "LAB"."JD" set "J" = /* JSON */ EMPTY_BLOB() where ROWID = 'r1';"""
    documents.on(OpCode.UPDATE, undo, "r1", rollback=1)
    documents.insert_document(2)
    documents.piece(OpCode.LOB_WRITE, 2, write_bytes(IMAGE))
    documents.on(OpCode.DELETE, """delete from "LAB"."JD" where ROWID = 'r2'""", "r2", rollback=1)
    assert changes(json_miner, documents) == [("c", None, ("1", "t", '"xxxxxxxx"'))]


def test_without_lob_enabled_json_is_never_emitted(tmp_path: Path, documents: Documents) -> None:
    miner = Miner(tmp_path, tables=(JD,))
    documents.insert_document(1)
    documents.update_document(1, f"/* JSON */ HEXTORAW('{IMAGE}')")
    documents.on(
        OpCode.UPDATE, """update "LAB"."JD" set "J" = /* JSON */ HEXTORAW('ff'), "T" = 'u' where "ID" = '1';""", "r1"
    )
    assert changes(miner, documents) == [("c", None, ("1", "t", X)), ("u", ("1", X, X), ("1", "u", X))]
