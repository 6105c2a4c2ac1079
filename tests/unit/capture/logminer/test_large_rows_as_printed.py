"""Rows of large values as real servers print them (docs/reference/logminer-facts.md#b-7-1), to whole changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.large_redo import (
    DOC,
    LONG,
    XD,
    Blocks,
    Large,
    Statements,
    X,
    changes,
    write,
    write_bytes,
)
from tests.unit.capture.logminer.redo import A, Miner

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.row import LARGE_CODES, OpCode
from minercdc.errors import SchemaMismatchError
from minercdc.schema.table import TableSchema
from minercdc.stream.events import ChangeEvent, UndecodableRow


@pytest.fixture(params=[Statements, Blocks])
def dialect(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def miner(tmp_path: Path) -> Miner:
    return Miner(tmp_path, tables=(DOC,), lobs=True)


@pytest.fixture
def redo() -> Large:
    redo = Large()
    redo.start(A)
    return redo


ABC_WRITE, DEF_WRITE = write("abc"), write("def", 4)
Rows = Callable[[Large], None]


def trimmed(redo: Large, dialect: Any, length: int, t: str = "t") -> None:
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_TRIM, 1, f"  dbms_lob.trim(loc_c, {length});", t=t)


def written(redo: Large, dialect: Any, t: str = "t") -> None:
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, ABC_WRITE, t=t)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, DEF_WRITE, t=t)


def test_null_lobs_set_to_small_values_are_one_change(miner: Miner, redo: Large) -> None:
    redo.update_doc(1, """"C" = EMPTY_CLOB(), "B" = EMPTY_BLOB()""", None)
    redo.update_doc(1, """"C" = 'now', "B" = HEXTORAW('beef')""")
    redo.update_doc(1, """"C" = 'later'""")
    assert changes(miner, redo) == [
        ("u", ("1", "t", X, X), ("1", "t", "now", "beef")),
        ("u", ("1", "t", X, X), ("1", "t", "later", X)),
    ]


def test_lobs_emptied_beside_a_large_one_stay_empty(miner: Miner, redo: Large, dialect: Any) -> None:
    redo.update_doc(1, """"T" = 'u', "B" = EMPTY_BLOB()""", None)
    written(redo, dialect)
    assert changes(miner, redo) == [("u", ("1", "t", X, X), ("1", "u", "abcdef", ""))]


@pytest.mark.parametrize("plain", [False, True])
def test_a_basicfile_that_is_emptied_and_written_is_one_change(miner: Miner, redo: Large, dialect: Any, plain: bool) -> None:
    if plain:
        redo.update_doc(1, """"T" = 'u'""", None)
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    trimmed(redo, dialect, 6)
    written(redo, dialect)  # another statement
    t = "u" if plain else "t"
    assert changes(miner, redo) == [
        ("u", ("1", "t", X, X), ("1", t, "abcdef", X)),
        ("u", ("1", "t", X, X), ("1", "t", "abcdef", X)),
    ]


def test_a_basicfile_that_is_emptied_alone_is_empty(miner: Miner, redo: Large, dialect: Any) -> None:
    trimmed(redo, dialect, 0)
    assert changes(miner, redo) == [("u", ("1", "t", X, X), ("1", "t", "", X))]


def ended(redo: Large, row_id: str = "r1") -> None:
    redo.on(OpCode.INTERNAL, None, row_id, owner=None, table=None)


NEW, X_ROW = ("u", ("1", "t", X, X), ("1", "t", "new", X)), ("1", "t", X, X)


def mining(path: Path, assembly: type[BufferedAssembly | CommittedAssembly], table: TableSchema, *, lobs: bool) -> Miner:
    """A miner of one of the ways of mining."""
    miner = Miner(path, LogMinerPosition(start_scn=100), tables=(table,), lobs=lobs, assembly=assembly)
    miner.usual_pass = Pass((LogFile("r1", 1, 1, 50, 0, current=True, archived=False),), {1: 1}, oldest_scn=100)
    return miner


@pytest.fixture(params=[BufferedAssembly, CommittedAssembly])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Miner:
    """A miner of each way of mining."""
    return mining(tmp_path, request.param, DOC, lobs=True)


def test_a_small_value_in_place_of_a_basicfiles_is_not_lost(either: Miner, redo: Large, dialect: Any) -> None:
    """It was emptied first, and its event said it empty."""
    trimmed(redo, dialect, 0)
    redo.update_doc(1, """"C" = 'new'""")
    assert changes(either, redo) == [NEW]


def test_an_update_after_a_basicfiles_pieces_ends_their_statement(either: Miner, redo: Large, dialect: Any) -> None:
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    redo.update_doc(1, """"C" = 'new'""")
    redo.update_doc(1, """"C" = 'later'""")
    assert changes(either, redo) == [NEW, ("u", X_ROW, ("1", "t", "later", X))]


@pytest.mark.parametrize(
    ("assigned", "after"),
    [(""""T" = 'u'""", ("1", "u", "abcdef", X)), (""""T" = 'u', "C" = 'new'""", ("1", "u", "new", X))],
)
def test_an_update_of_other_columns_after_a_basicfiles_pieces_ends_their_statement(
    either: Miner, redo: Large, dialect: Any, assigned: str, after: tuple[object, ...]
) -> None:
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    redo.update_doc(1, assigned)
    redo.update_doc(1, """"T" = 'v'""", "r1", t="u")
    assert changes(either, redo) == [("u", X_ROW, after), ("u", ("1", "u", X, X), ("1", "v", X, X))]


def test_an_update_of_other_columns_after_the_row_that_ends_the_pieces_is_another(
    either: Miner, redo: Large, dialect: Any
) -> None:
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    ended(redo)
    redo.update_doc(1, """"T" = 'u'""")
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "abcdef", X)), ("u", X_ROW, ("1", "u", X, X))]


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(lambda r, d: ended(r), id="the row that ends it"),
        pytest.param(lambda r, d: trimmed(r, d, 6), id="the new length"),
    ],
)
def test_an_update_after_a_statement_that_has_ended_is_another(
    either: Miner, redo: Large, dialect: Any, last: Callable[[Large, Any], None]
) -> None:
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    last(redo, dialect)
    redo.update_doc(1, """"C" = 'new'""")
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "abcdef", X)), NEW]


@pytest.mark.parametrize("trims", [True, False])
def test_the_row_that_ends_a_statement_separates_it_from_the_next(
    either: Miner, redo: Large, dialect: Any, trims: bool
) -> None:
    for text in ("one", "two"):
        if trims:
            trimmed(redo, dialect, 0)
        dialect.locator(redo, 1)
        dialect.piece(redo, OpCode.LOB_WRITE, 1, write(text))
        ended(redo)
    dialect.locator(redo, 1, "B")
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write_bytes("beef"), "B")
    ended(redo)
    assert changes(either, redo) == [
        ("u", X_ROW, ("1", "t", "one", X)),
        ("u", X_ROW, ("1", "t", "two", X)),
        ("u", X_ROW, ("1", "t", X, "beef")),
    ]


def test_the_row_that_ends_a_statement_has_its_rowid(either: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(1, "EMPTY_CLOB(),NULL")
    written(redo, dialect)
    ended(redo, "r7")
    redo.commit(A)
    (insert,) = [event for event in either.read(redo.rows) if isinstance(event, ChangeEvent)]
    assert (insert.after, insert.row_id) == (("1", "t", "abcdef", None), "r7")


def test_emptied_after_it_was_written_is_as_it_was_written(either: Miner, redo: Large, dialect: Any) -> None:
    written(redo, dialect)
    trimmed(redo, dialect, 0)
    ended(redo)
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "abcdef", X))]


def test_emptied_and_written_once_more_is_another_statement(either: Miner, redo: Large, dialect: Any) -> None:
    written(redo, dialect)
    trimmed(redo, dialect, 0)
    dialect.locator(redo, 1)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("new"))
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "abcdef", X)), NEW]


def test_a_small_insert_that_is_made_large_is_an_update(either: Miner, redo: Large, dialect: Any) -> None:
    redo.insert_doc(1)
    redo.update_doc(1, """"C" = 'small', "B" = NULL""")
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    assert changes(either, redo) == [("c", None, ("1", "t", "small", None)), ("u", X_ROW, ("1", "t", "abcdef", X))]


def test_a_row_that_only_says_a_written_lob_empty_is_of_its_statement(either: Miner, redo: Large, dialect: Any) -> None:
    trimmed(redo, dialect, 0)
    written(redo, dialect)
    redo.update_doc(1, """"C" = EMPTY_CLOB()""", None)
    ended(redo)
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "abcdef", X))]


def test_what_dbms_lob_emptied_was_empty(either: Miner, redo: Large, dialect: Any) -> None:
    dialect.locator(redo, 1, row_id="r1")
    dialect.piece(redo, OpCode.LOB_TRIM, 1, "  dbms_lob.trim(loc_c, 0);")
    redo.update_doc(1, """"C" = 'new'""")
    assert changes(either, redo) == [("u", X_ROW, ("1", "t", "", X)), NEW]


def unlocated(redo: Large, *texts: str) -> None:
    for text in texts:
        redo.on(OpCode.LOB_WRITE, text, status=2, info="LOB sql_redo not re-executable")


def insert_without(redo: Large, key: int, columns: str, values: str, row_id: str | None = None) -> None:
    sql = f"""insert into "LAB"."DOC"({columns}) values ('{key}',{values});"""
    redo.on(OpCode.INSERT, sql, row_id)


def test_pieces_without_locator_and_block_are_of_the_insert_that_leaves_their_column_out(miner: Miner, redo: Large) -> None:
    unlocated(redo, ABC_WRITE, DEF_WRITE)
    insert_without(redo, 1, '"ID","T","B"', "'t',EMPTY_BLOB()")
    unlocated(redo, write_bytes("beef"), write("x"))
    insert_without(redo, 2, '"ID","T"', "'t'")
    assert changes(miner, redo) == [("c", None, ("1", "t", "abcdef", "")), ("c", None, ("2", "t", "x", "beef"))]


def test_pieces_without_locator_go_with_their_insert(miner: Miner, redo: Large) -> None:
    unlocated(redo, ABC_WRITE, DEF_WRITE)
    insert_without(redo, 1, '"ID","T","B"', "'t',EMPTY_BLOB()")
    redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where ROWID = 'r1';""", "r1", rollback=1)
    redo.insert_doc(2)
    assert changes(miner, redo) == [("c", None, ("2", "t", "", ""))]


def early(redo: Large, dialect: Any, key: int, text: str) -> None:
    """A BasicFile's value with no storage in the row: in the dialect up to 19c its piece says neither row nor column."""
    dialect.piece(redo, OpCode.LOB_WRITE, key, write(text))
    insert_without(redo, key, '"ID","T","B"', "'t',EMPTY_BLOB()")


def test_undone_pieces_that_came_before_their_insert_leave_nothing(miner: Miner, redo: Large, dialect: Any) -> None:
    early(redo, dialect, 1, "kept")
    ended(redo, "r1")
    early(redo, dialect, 2, "gone")
    ended(redo, "r2")
    redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where ROWID = 'r2';""", "r2", rollback=1)
    early(redo, dialect, 3, "new")
    assert changes(miner, redo) == [("c", None, ("1", "t", "kept", "")), ("c", None, ("3", "t", "new", ""))]


@pytest.mark.parametrize("in_place", [True, False], ids=["DBMS_LOB", "a statement"])
def test_pieces_of_an_insert_are_not_of_the_locator_before_them(
    miner: Miner, redo: Large, dialect: Any, in_place: bool
) -> None:
    row_id = "r1" if in_place else None
    redo.insert_doc(1)
    redo.update_doc(1, """"C" = 'old', "B" = NULL""", "r1")
    dialect.locator(redo, 1, row_id=row_id)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("abc"), row_id=row_id)
    dialect.piece(redo, OpCode.LOB_WRITE, 1, write("def", 4), row_id=row_id)
    early(redo, dialect, 2, "other")
    after = [event[2] for event in changes(miner, redo)]
    assert after[0] == ("1", "t", "abcdef" if in_place else "old", None)
    assert after[-1] == ("2", "t", "other", "")


def two_rows(redo: Large) -> None:
    """The rest of an INSERT of two rows, of which a piece came before."""
    unlocated(redo, write("of another row"))
    for key in (1, 2):
        insert_without(redo, key, '"ID","T","B"', "'t',EMPTY_BLOB()")


def test_pieces_of_another_row_that_came_before_its_insert_stay(miner: Miner, redo: Large) -> None:
    """An undo row may be shown after changes that came later."""
    redo.insert_doc(1)
    early(redo, Blocks, 2, "kept")
    redo.update_doc(2, """"B" = NULL""", "r2")
    redo.on(OpCode.DELETE, """delete from "LAB"."DOC" where ROWID = 'r1';""", "r1", rollback=1)
    assert changes(miner, redo) == [("c", None, ("2", "t", "kept", None))]


def test_pieces_without_locator_may_come_after_their_insert(miner: Miner, redo: Large) -> None:
    for key, texts in ((1, (ABC_WRITE, DEF_WRITE)), (2, (write("x"),))):
        insert_without(redo, key, '"ID","T","B"', "'t',EMPTY_BLOB()")
        unlocated(redo, *texts)
    redo.insert_doc(3)
    assert changes(miner, redo) == [
        ("c", None, ("1", "t", "abcdef", "")),
        ("c", None, ("2", "t", "x", "")),
        ("c", None, ("3", "t", "", "")),
    ]


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda r: None, id="nothing else"),
        pytest.param(two_rows, id="those of two rows, then the rows"),
        pytest.param(lambda r: r.update_doc(1, """"T" = 'u'"""), id="an UPDATE"),
        pytest.param(lambda r: r.insert_doc(1), id="an INSERT that has the column"),
    ],
)
def test_a_piece_of_which_the_row_is_not_certain_suspends_the_table(tmp_path: Path, redo: Large, build: Rows) -> None:
    miner = Miner(tmp_path, tables=(DOC,), lobs=True, on_failure="suspend")
    unlocated(redo, ABC_WRITE)
    build(redo)
    redo.commit(A)
    left_out = [e for e in miner.read(redo.rows) if isinstance(e, UndecodableRow)]
    assert left_out
    assert all(one.table == DOC.id for one in left_out)
    assert all(one.reason.startswith("MC-4301: a LOB piece without its locator") for one in left_out)


def test_short_values_of_extended_strings_come_as_those_of_lobs(tmp_path: Path, redo: Large) -> None:
    miner = Miner(tmp_path, tables=(LONG,), lobs=True)
    of: dict[str, Any] = {"table": "LONG", "object_id": 83}
    redo.on(OpCode.INSERT, """insert into "LAB"."LONG"("ID","T","V") values ('1','t',NULL);""", **of)
    redo.on(OpCode.UPDATE, """update "LAB"."LONG" set "V" = 'C'est' where "ID" = '1' and "T" = 't';""", "r1", **of)
    redo.on(OpCode.UPDATE, """update "LAB"."LONG" set "T" = 'u' where "ID" = '1' and "T" = 't';""", **of)
    redo.on(OpCode.UPDATE, """update "LAB"."LONG" set "V" = 'more' where "ID" = '1' and "T" = 'u';""", "r1", **of)
    assert changes(miner, redo) == [("c", None, ("1", "t", "C'est")), ("u", ("1", "t", X), ("1", "u", "more"))]


OF_XD: dict[str, Any] = {"owner": "LAB", "table": "XD", "object_id": 81}


def without_document(redo: Large, key: int) -> None:
    """An INSERT whose document is NULL."""
    redo.on(OpCode.INSERT, f"""insert into "LAB"."XD"("ID") values ('{key}');""", **OF_XD)
    redo.on(OpCode.UPDATE, None, f"r{key}", **OF_XD)


def with_document(redo: Large, key: int) -> None:
    redo.on(OpCode.INSERT, f"""insert into "LAB"."XD"("ID") values ('{key}');""", **OF_XD)
    begin = f"""XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = '{key}'"""
    redo.on(OpCode.XML_BEGIN, begin, status=2, **OF_XD)
    redo.on(OpCode.XML_WRITE, "XML_REDO := '<a/>'\n amount: 4", status=2, **OF_XD)
    redo.on(OpCode.XML_END, None, **OF_XD)
    ended(redo, f"r{key}")


@pytest.fixture(params=[True, False], ids=["lob.enabled", "without"])
def lobs(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def of_documents(miner: Miner, redo: Large, *, lobs: bool) -> list[tuple[str, Any, str | None]]:
    """The changes of XD: the operation, the row after it, the ROWID. Without `lob.enabled` no rows of documents are selected."""
    redo.commit(A)
    rows = redo.rows if lobs else [row for row in redo.rows if row.code not in LARGE_CODES]
    return [(e.op.value, e.after, e.row_id) for e in miner.read(rows) if isinstance(e, ChangeEvent)]


@pytest.mark.parametrize("assembly", [BufferedAssembly, CommittedAssembly])
def test_an_insert_whose_document_is_null_has_an_update_without_a_text(
    tmp_path: Path, redo: Large, lobs: bool, assembly: type[BufferedAssembly | CommittedAssembly]
) -> None:
    """osodevops/kafka-connect-oracle-cdc prints these rows of 23ai (sql-redo-shapes.md, types-and-lobs.sql)."""
    with_document(redo, 1)
    without_document(redo, 2)
    without_document(redo, 3)
    found = of_documents(mining(tmp_path, assembly, XD, lobs=lobs), redo, lobs=lobs)
    if lobs:
        assert found == [("c", ("1", "<a/>"), "r1"), ("c", ("2", None), "r2"), ("c", ("3", None), "r3")]
    else:
        assert [(op, after) for op, after, _ in found] == [("c", (key, X)) for key in "123"]


def test_an_insert_whose_document_is_null_is_undone_as_a_whole(tmp_path: Path, redo: Large, lobs: bool) -> None:
    without_document(redo, 1)
    without_document(redo, 2)
    redo.on(OpCode.DELETE, """delete from "LAB"."XD" where ROWID = 'r2';""", "r2", rollback=1, **OF_XD)
    without_document(redo, 3)
    found = of_documents(Miner(tmp_path, tables=(XD,), lobs=lobs), redo, lobs=lobs)
    assert [after[0] for _, after, _ in found] == ["1", "3"]


@pytest.mark.parametrize("insert", [None, with_document, without_document])
def test_an_update_without_a_text_of_a_row_that_was_there_is_not_passed_over(
    tmp_path: Path, redo: Large, insert: Callable[[Large, int], None] | None
) -> None:
    """What it sets is not known."""
    if insert is not None:
        insert(redo, 1)
    redo.on(OpCode.UPDATE, None, "r1", **OF_XD)
    redo.commit(A)
    with pytest.raises(SchemaMismatchError, match="no SQL_REDO"):
        Miner(tmp_path, tables=(XD,), lobs=True).read(redo.rows)


def test_an_update_without_a_text_may_set_only_what_is_not_captured(tmp_path: Path, redo: Large) -> None:
    redo.on(OpCode.UPDATE, None, "r1", **OF_XD)
    redo.on(OpCode.UPDATE, """update "LAB"."XD" set "ID" = '2' where "ID" = '1';""", "r1", **OF_XD)
    assert changes(Miner(tmp_path, tables=(XD,)), redo) == [("u", ("1", X), ("2", X))]
