"""Rows of large values to whole changes: the multi-row fixtures of docs/reference/logminer-facts.md (E49, E54 to E64), in both dialects."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.capture.logminer.large_redo import (
    DECLARE,
    DOC,
    WIDE,
    XD,
    Blocks,
    Large,
    Statements,
    X,
    changes,
    select,
    write,
    write_bytes,
)
from tests.unit.capture.logminer.redo import A, Miner

from minercdc.capture.logminer.lobs import lob_rows as large_rows
from minercdc.capture.logminer.lobs.lob_text import Edit, Erase, Trim, Write, parse_string_fragment
from minercdc.capture.logminer.lobs.lob_value import LargeValue
from minercdc.capture.logminer.session.row import OpCode
from minercdc.errors import RedoSyntaxError, SchemaMismatchError
from minercdc.schema.table import TableId
from minercdc.stream.events import ChangeEvent, UndecodableRow


@pytest.fixture(params=[Statements, Blocks])
def dialect(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def miner(tmp_path: Path) -> Miner:
    return Miner(tmp_path, tables=(DOC, XD, WIDE), lobs=True)


@pytest.fixture
def redo() -> Large:
    redo = Large()
    redo.start(A)
    return redo


def test_e54_small_values_complete_the_insert(miner: Miner, redo: Large) -> None:
    redo.insert_doc(54)
    redo.update_doc(54, """"C" = 'short', "B" = HEXTORAW('0102')""")
    assert changes(miner, redo) == [("c", None, ("54", "t", "short", "0102"))]


def test_e55_null_is_not_empty(miner: Miner, redo: Large) -> None:
    redo.insert_doc(55)
    redo.update_doc(55, '"C" = NULL, "B" = NULL')
    redo.insert_doc(56)
    assert changes(miner, redo) == [("c", None, ("55", "t", None, None)), ("c", None, ("56", "t", "", ""))]


def test_an_update_after_the_completing_one_stays_an_update(miner: Miner, redo: Large) -> None:
    redo.insert_doc(1)
    redo.update_doc(1, """"C" = 'a', "B" = NULL""")
    redo.update_doc(1, """"C" = 'b'""")
    assert changes(miner, redo) == [("c", None, ("1", "t", "a", None)), ("u", ("1", "t", X, X), ("1", "t", "b", X))]


def test_e56_pieces_complete_the_insert(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(56, "EMPTY_CLOB(),NULL")
    dialect.locator(redo, 56)
    dialect.piece(redo, OpCode.LOB_WRITE, 56, write("Jo's "))
    dialect.piece(redo, OpCode.LOB_WRITE, 56, write("book", 6))
    assert changes(miner, redo) == [("c", None, ("56", "t", "Jo's book", None))]


def test_e57_replaced_by_write_and_trim(miner: Miner, redo: Large, dialect: Any) -> None:
    dialect.locator(redo, 57)
    dialect.piece(redo, OpCode.LOB_WRITE, 57, write("XYZ"))
    dialect.piece(redo, OpCode.LOB_TRIM, 57, "  dbms_lob.trim(loc_c, 3);")
    assert changes(miner, redo) == [("u", ("57", "t", X, X), ("57", "t", "XYZ", X))]


def test_e58_a_hole_is_filled_when_the_value_is_known(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(58, "NULL,EMPTY_BLOB()")
    dialect.locator(redo, 58, "B", "r1")
    dialect.piece(redo, OpCode.LOB_WRITE, 58, write_bytes("aabb", 3), "B", "r1")
    dialect.locator(redo, 59, "B", "r2")
    dialect.piece(redo, OpCode.LOB_WRITE, 59, write_bytes("aabb", 3), "B", "r2")
    assert changes(miner, redo) == [("c", None, ("58", "t", None, "0000aabb")), ("u", ("59", "t", X, X), ("59", "t", X, X))]
    assert miner.decoder.counters.unknown_lobs == 1


@pytest.mark.parametrize("known", [True, False])
def test_e59_erase_fills_with_blanks(miner: Miner, redo: Large, dialect: Any, known: bool) -> None:
    if known:
        redo.update_doc(59, """"C" = 'abcdef'""")
    dialect.locator(redo, 59, row_id="r1")
    dialect.piece(redo, OpCode.LOB_ERASE, 59, "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);")
    assert changes(miner, redo)[-1] == ("u", ("59", "t", X, X), ("59", "t", "ab  ef" if known else X, X))


@pytest.mark.parametrize("gone", ["deleted", "moved"])
def test_a_value_is_known_of_its_row_and_not_of_the_next_one_with_its_key(
    miner: Miner, redo: Large, dialect: Any, gone: str
) -> None:
    redo.update_doc(59, """"C" = 'abcdef'""")
    if gone == "deleted":
        redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where "ID" = '59' and "T" = 't';""", "r1")
    else:
        redo.update_doc(59, """"ID" = '60'""")
    redo.update_doc(61, """"ID" = '59'""", "r2")
    dialect.locator(redo, 59, row_id="r2")
    dialect.piece(redo, OpCode.LOB_ERASE, 59, "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);", row_id="r2")
    assert changes(miner, redo)[-1] == ("u", ("61", "t", X, X), ("59", "t", X, X))


def test_e60_lobs_that_are_not_named_are_unavailable(miner: Miner, redo: Large) -> None:
    redo.update_doc(60, """"T" = 'u'""")
    assert changes(miner, redo) == [("u", ("60", "t", X, X), ("60", "u", X, X))]


def test_e61_a_statement_is_undone_with_its_pieces(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(60)
    redo.insert_doc(61, "EMPTY_CLOB(),NULL")
    dialect.locator(redo, 61)
    dialect.piece(redo, OpCode.LOB_WRITE, 61, write("gone"))
    redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where ROWID = 'r2'""", "r2", rollback=1)
    assert changes(miner, redo) == [("c", None, ("60", "t", "", ""))]


def test_undo_of_an_update_takes_columns_pieces_and_what_fits_the_row(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.update_doc(1, """"T" = 'a'""")
    redo.update_doc(1, """"T" = 'b'""", None, "a")
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("gone"))
    dialect.piece(redo, OpCode.LOB_TRIM, 1, "  dbms_lob.trim(loc_c, 4);")
    redo.update_doc(1, """"B" = HEXTORAW('00')""")
    redo.on(OpCode.UPDATE, 'update "LAB"."DOC" set "T" = \'a\', "C" = EMPTY_CLOB(), "B" = EMPTY_BLOB()', "r1", rollback=1)
    assert changes(miner, redo) == [("u", ("1", "t", X, X), ("1", "a", X, X))]


def test_undo_reaches_rows_on_disk(tmp_path: Path, redo: Large, dialect: Any) -> None:
    miner = Miner(tmp_path, tables=(DOC,), lobs=True, memory_max=1)
    redo.insert_doc(60)
    redo.insert_doc(61, "EMPTY_CLOB(),NULL")
    dialect.locator(redo, 61)
    dialect.piece(redo, OpCode.LOB_WRITE, 61, write("gone"))
    redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where ROWID = 'r2'""", "r2", rollback=1)
    assert changes(miner, redo) == [("c", None, ("60", "t", "", ""))]


def test_key_change_with_a_large_value_is_one_update(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.update_doc(3, """"ID" = '30'""", None)
    dialect.locator(redo, 30)
    dialect.piece(redo, OpCode.LOB_WRITE, 30, write("new"))
    dialect.piece(redo, OpCode.LOB_TRIM, 30, "  dbms_lob.trim(loc_c, 3);")
    assert changes(miner, redo) == [("u", ("3", "t", X, X), ("30", "t", "new", X))]


def test_basicfile_with_a_second_locator_is_one_change(miner: Miner, redo: Large, dialect: Any) -> None:
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("new"))
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_TRIM, 1, "  dbms_lob.trim(loc_c, 3);")
    assert changes(miner, redo) == [("u", ("1", "t", X, X), ("1", "t", "new", X))]


def test_d25_rows_of_others_do_not_merge(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(1)
    redo.update_doc(2, """"C" = 'two'""", "r2")
    dialect.locator(redo, 3)
    dialect.piece(redo, OpCode.LOB_WRITE, 3, write("three"))
    assert [(op, after and after[:3]) for op, _, after in changes(miner, redo)] == [
        ("c", ("1", "t", "")),
        ("u", ("2", "t", "two")),
        ("u", ("3", "t", "three")),
    ]


def test_pieces_before_their_insert(miner: Miner, redo: Large) -> None:
    Blocks.piece(redo, OpCode.LOB_WRITE, 1, write("first"))
    redo.on(OpCode.INSERT, """insert into "LAB"."DOC"("ID","T","B") values ('1','t',NULL);""")
    assert changes(miner, redo) == [("c", None, ("1", "t", "first", None))]


def test_a_piece_that_cannot_be_read_spoils_its_value_only(tmp_path: Path, redo: Large, dialect: Any) -> None:
    miner = Miner(tmp_path, tables=(DOC,), lobs=True, on_failure="skip")
    redo.insert_doc(1, "EMPTY_CLOB(),NULL")
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("one"))
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("two", 4, amount=99))
    redo.commit(A)
    change, letter, _ = miner.read(redo.rows)
    assert isinstance(letter, UndecodableRow)
    assert "3 units where 99 are written" in letter.reason
    assert isinstance(change, ChangeEvent)
    assert change.after == ("1", "t", X, None)


@pytest.mark.parametrize("on_failure", ["fail", "skip"])
@pytest.mark.parametrize(("table", "object_id", "column"), [("XD", 81, "X"), ("WIDE", 82, "V")])
@pytest.mark.parametrize("has_blocks", [True, False], ids=["23ai", "19c"])
def test_a_lob_piece_of_a_column_that_is_no_lob_is_not_null(
    tmp_path: Path, redo: Large, table: str, object_id: int, column: str, has_blocks: bool, on_failure: str
) -> None:
    """Documents that are stored as CLOBs may be logged as LOB_WRITE (apache/seatunnel, its page on Oracle CDC)."""
    of: dict[str, Any] = {"owner": "LAB", "table": table, "object_id": object_id}
    select = f"""{DECLARE}BEGIN\n select "{column}" into loc_c from "LAB"."{table}" where "ID" = '1' for update;"""
    redo.row(OpCode.INSERT, A, f"""insert into "LAB"."{table}"("ID") values ('1');""", **of)
    redo.row(OpCode.LOB_LOCATOR, A, None if has_blocks else select, **of)
    text = write("<a/>")
    redo.row(OpCode.LOB_WRITE, A, f"{select}\n\n{text}\nEND;" if has_blocks else text, status=2, **of)
    redo.row(OpCode.INTERNAL, A, None, row_id="r1")
    redo.commit(A)
    miner = Miner(tmp_path, tables=(XD, WIDE), lobs=True, on_failure=on_failure)
    if on_failure == "fail":
        with pytest.raises(SchemaMismatchError, match=f"LOB piece of the column {column} of type"):
            miner.read(redo.rows)
        return
    change, letter, _ = miner.read(redo.rows)
    assert isinstance(letter, UndecodableRow)
    assert isinstance(change, ChangeEvent)
    assert change.after == ("1", X)


def test_a_piece_without_statement_is_older_than_ddl(miner: Miner, redo: Large) -> None:
    redo.on(OpCode.LOB_WRITE, None, status=2, info="Dictionary Mismatch")
    redo.commit(A)
    with pytest.raises(RedoSyntaxError, match=r"no statement .*\(Dictionary Mismatch\).*older than .*LAB\.DOC") as caught:
        miner.read(redo.rows)
    assert "redo_log_catalog" in caught.value.hint


def test_the_place_of_a_failure_is_reported(miner: Miner, redo: Large) -> None:
    Blocks.piece(redo, OpCode.LOB_WRITE, 1, " buf_c := 'no end")
    redo.commit(A)
    with pytest.raises(RedoSyntaxError, match=r"character \d+.*SCN \d+.*LAB\.DOC"):
        miner.read(redo.rows)


def test_e62_binary_xml(miner: Miner, redo: Large) -> None:
    for number, (piece, more) in enumerate(
        [("HEXTORAW('3c612f3e'):4", ""), ("'<a>it''s</a>'\n amount: 11", ""), ("NULL", ""), ("HEXTORAW('3c61", "2f3e'):4")]
    ):
        xml(redo, OpCode.INSERT, f"""insert into "LAB"."XD"("ID") values ('{number}');""", row_id=f"r{number}")
        begin = f"""XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = '{number}'"""
        xml(redo, OpCode.XML_BEGIN, begin, status=2)
        xml(redo, OpCode.XML_WRITE, f"XML_REDO := {piece}{more}", status=2)
        xml(redo, OpCode.XML_END, None)
    assert [after and after[1] for _, _, after in changes(miner, redo)] == ["<a/>", "<a>it's</a>", None, "<a/>"]


@pytest.mark.parametrize(
    ("pieces", "document"),
    [
        # The length after a colon: debezium/debezium (XmlWriteParserTest); a text's, too: apache/seatunnel (XmlWriteAssemblyTest).
        (["'<a>it's</a>':11"], "<a>it's</a>"),
        (["'<a>it''s</a>':11"], "<a>it's</a>"),
        (["'<a>", "one': 10</a>':20"], "<a>one': 10</a>"),
        (["HEXTORAW('3c613e", "c3a43c2f613e') : 9"], "<a>ä</a>"),
        (["HEXTORAW('3c612f3e)\n amount: 4"], "<a/>"),
        (["HEXTORAW('3c612f3e')\n amount: 4"], "<a/>"),
    ],
)
def test_the_amount_after_a_document_is_not_of_it(miner: Miner, redo: Large, pieces: list[str], document: str) -> None:
    xml(redo, OpCode.INSERT, """insert into "LAB"."XD"("ID") values ('1');""", row_id="r1")
    xml(redo, OpCode.XML_BEGIN, """XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = '1'""", status=2)
    xml(redo, OpCode.XML_WRITE, f"XML_REDO := {''.join(pieces)}", status=2)
    xml(redo, OpCode.XML_END, None)
    assert changes(miner, redo) == [("c", None, ("1", document))]


def test_binary_xml_that_is_no_text_is_not_null(tmp_path: Path, redo: Large) -> None:
    miner = Miner(tmp_path, tables=(XD,), lobs=True, on_failure="skip")
    xml(redo, OpCode.INSERT, """insert into "LAB"."XD"("ID") values ('1');""", row_id="r1")
    xml(redo, OpCode.XML_BEGIN, """XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = '1'""", status=2)
    xml(redo, OpCode.XML_WRITE, "XML_REDO := HEXTORAW('ff'):1", status=2)
    xml(redo, OpCode.XML_END, None)
    redo.commit(A)
    change, letter, _ = miner.read(redo.rows)
    assert isinstance(letter, UndecodableRow)
    assert isinstance(change, ChangeEvent)
    assert change.after == ("1", X)


def test_e63_xml_as_clob_in_two_pieces(miner: Miner, redo: Large) -> None:
    xml(redo, OpCode.XML_BEGIN, """update "LAB"."XD" a set a."X" = XMLType(:1) where a."ID" = '63';""", status=5)
    xml(redo, OpCode.XML_WRITE, "<r>", status=5)
    xml(redo, OpCode.XML_WRITE, "</r>", status=5)
    xml(redo, OpCode.XML_END, None)
    assert changes(miner, redo) == [("u", ("63", X), ("63", "<r></r>"))]


def xml(redo: Large, code: int, sql: str | None, **other: Any) -> None:
    redo.row(code, A, sql, **{"owner": "LAB", "table": "XD", "object_id": 81, **other})


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        ("  buf_c := 'long text'; \n x(TempLob, 9);", "long text"),
        ("  buf_c := 'it's, 'so''; \n DBMS_LOB.WriteAppend(TempLob, 10, buf_c);", "it's, 'so'"),
        ("  buf_c := 'LM_EMPTY_STRING'; \n x(TempLob, 0);", ""),
    ],
)
def test_e64_extended_strings(miner: Miner, redo: Large, piece: str, text: str) -> None:
    statement = """update "LAB"."WIDE" a set a."V" = :V where a."ID" = ''64'';"""
    begin = f"DECLARE\n TempLob CLOB;\n buf_c   VARCHAR2(32767);\n Stmt    CLOB;\nBEGIN\n Stmt := '{statement}';"
    where = {"owner": "LAB", "table": "WIDE", "object_id": 82}
    redo.row(OpCode.INSERT, A, """insert into "LAB"."WIDE"("ID") values ('64');""", row_id="r1", **where)
    redo.row(OpCode.STRING_BEGIN, A, begin, **where)
    redo.row(OpCode.STRING_WRITE, A, piece, **where)
    redo.row(OpCode.STRING_END, A, None, **where)
    assert changes(miner, redo) == [("c", None, ("64", text))]


def test_without_lob_enabled_a_lob_is_never_emitted(tmp_path: Path, redo: Large) -> None:
    miner = Miner(tmp_path, tables=(DOC,))
    redo.insert_doc(54)
    redo.update_doc(54, """"C" = 'short', "B" = HEXTORAW('0102')""")
    redo.update_doc(54, """"C" = 'short', "T" = 'u'""")
    assert changes(miner, redo) == [("c", None, ("54", "t", X, X)), ("u", ("54", "t", X, X), ("54", "u", X, X))]


EDITS = st.one_of(
    st.builds(Write, st.integers(0, 12), st.text("abc", min_size=1, max_size=6)),
    st.builds(Trim, st.integers(0, 12)),
    st.builds(Erase, st.integers(0, 12), st.integers(1, 6)),
)


def applied(value: str, edit: Edit) -> str:
    """The edit as DBMS_LOB does it, by slices."""
    if isinstance(edit, Write):
        return value.ljust(edit.offset)[: edit.offset] + edit.data + value[edit.offset + len(edit.data) :]
    if isinstance(edit, Trim):
        return value[: edit.length]
    end = min(edit.offset + edit.amount, len(value))
    return value[: edit.offset] + " " * max(end - edit.offset, 0) + value[max(end, edit.offset) :]


@given(st.text("xyz", max_size=10), st.lists(EDITS, max_size=12))
def test_edits_of_a_known_value(base: str, edits: list[Edit]) -> None:
    value, expected = LargeValue(base, binary=False), base
    for edit in edits:
        value.apply(edit)
        expected = applied(expected, edit)
        assert value.text() == expected


@given(st.text("xyz", max_size=10), st.lists(EDITS, max_size=12))
def test_of_an_unknown_value_nothing_false_is_reported(base: str, edits: list[Edit]) -> None:
    value, expected = LargeValue(None, binary=False), base
    for edit in edits:
        if isinstance(edit, Trim) and edit.length > len(expected):
            continue  # ORA-22926
        value.apply(edit)
        expected = applied(expected, edit)
        assert value.text() in (None, expected)


def test_a_large_value_rewritten_piece_by_piece_takes_no_quadratic_time() -> None:
    value = LargeValue("a" * 4_000_000, binary=False)
    for offset in range(0, 4_000_000, 1000):
        value.apply(Write(offset, "b" * 1000))
    assert value.text() == "b" * 4_000_000


def appended(redo: Large, dialect: Any, key: int, text: str, offset: int) -> None:
    dialect.locator(redo, key, row_id=f"r{key}")
    dialect.piece(redo, OpCode.LOB_WRITE, key, write(text, offset), row_id=f"r{key}")


def test_appends_in_turn_to_two_rows_are_their_inserts_in_linear_time(miner: Miner, redo: Large, dialect: Any) -> None:
    for key in (1, 2):
        redo.insert_doc(key)
    count, size = 4000, 50
    for n in range(count):
        for key in (1, 2):
            appended(redo, dialect, key, "x" * size, 1 + n * size)
    begun = time.process_time()
    assert changes(miner, redo) == [("c", None, (str(key), "t", "x" * count * size, "")) for key in (1, 2)]
    assert time.process_time() - begun < 20, "a growing value per append takes minutes"


def test_more_than_may_wait_goes_on_without_later_pieces(
    miner: Miner, redo: Large, dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_rows, "_WAITING", 2)
    for key in (1, 2, 3):
        redo.insert_doc(key)
        appended(redo, dialect, key, "ab", 1)
    appended(redo, dialect, 1, "cd", 3)
    appended(redo, dialect, 3, "cd", 3)
    assert changes(miner, redo) == [
        ("c", None, ("1", "t", "ab", "")),
        ("c", None, ("2", "t", "ab", "")),
        ("c", None, ("3", "t", "abcd", "")),
        ("u", ("1", "t", X, X), ("1", "t", "abcd", X)),
    ]


def test_a_value_is_never_cut_by_what_waits(
    miner: Miner, redo: Large, dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_rows, "_WAITING_TEXT", 3)
    redo.insert_doc(1)
    redo.insert_doc(2)
    dialect.locator(redo, 1)
    for offset in (1, 3, 5):
        dialect.piece(redo, OpCode.LOB_WRITE, 1, write("ab", offset))
    assert changes(miner, redo) == [("c", None, ("1", "t", "ababab", "")), ("c", None, ("2", "t", "", ""))]


def test_rows_without_a_known_key_take_pieces_while_they_are_the_latest(tmp_path: Path, redo: Large, dialect: Any) -> None:
    miner = Miner(tmp_path, tables=[replace(DOC, key=())], lobs=True)
    redo.insert_doc(1)
    appended(redo, dialect, 1, "ab", 1)
    appended(redo, dialect, 1, "cd", 3)
    redo.insert_doc(2)
    appended(redo, dialect, 1, "ef", 5)
    assert [change[0] for change in changes(miner, redo)] == ["c", "c", "u"]


def test_a_row_whose_key_is_not_in_redo_gets_no_value_of_another(miner: Miner, redo: Large) -> None:
    redo.on(OpCode.UPDATE, """update "LAB"."DOC" set "C" = 'abcdef' where "T" = 't';""", "r1")
    redo.on(OpCode.INSERT, """insert into "LAB"."DOC"("ID","T","C","B") values ('3','u',NULL,NULL);""")
    Statements.locator(redo, 2, row_id="r2")
    redo.rows[-1] = redo.rows[-1]._replace(sql=f"{DECLARE}BEGIN\n{select(2, 'C')}".replace(""" "ID" = '2' and""", ""))
    Statements.piece(redo, OpCode.LOB_ERASE, 2, "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);", row_id="r2")
    assert changes(miner, redo)[-1] == ("u", (X, "t", X, X), (X, "t", X, X))


def test_rows_without_a_known_key_are_distinguished_by_their_rowid(miner: Miner, redo: Large) -> None:
    for row_id in ("r1", "r2"):
        Blocks.locator(redo, 2, row_id=row_id)
        Blocks.piece(redo, OpCode.LOB_ERASE, 2, "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);", row_id=row_id)
        redo.rows[-1] = redo.rows[-1]._replace(sql=(redo.rows[-1].sql or "").replace(""" "ID" = '2' and""", ""))
    assert changes(miner, redo) == [("u", (X, "t", X, X), (X, "t", X, X))] * 2


def test_a_piece_is_not_given_to_the_locator_of_another_table(tmp_path: Path, redo: Large) -> None:
    other = replace(DOC, id=TableId("DB", "LAB", "OTHER"), object_id=90)
    miner = Miner(tmp_path, tables=(DOC, other), lobs=True)
    Statements.locator(redo, 1)
    redo.on(OpCode.LOB_WRITE, write("ab"), table="OTHER", object_id=90)
    with pytest.raises(SchemaMismatchError, match="a LOB piece without its locator"):
        changes(miner, redo)


@pytest.mark.parametrize("data", ["'tis", "'", "''", "it's'; x(a);", "'), HEXTORAW('00')", "HEXTORAW('00"])
def test_a_piece_of_a_long_string_ends_with_its_last_apostrophe(data: str) -> None:
    assert parse_string_fragment(f"  buf_c := '{data}'; \n  x(TempLob, 3, buf_c);") == data
