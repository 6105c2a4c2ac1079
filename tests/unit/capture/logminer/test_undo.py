"""Savepoints, failed statements and rollbacks: what was undone is taken out, one test per pitfall (D-n) and fixture (En) of docs/reference/logminer-facts.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.large_redo import DOC
from tests.unit.capture.logminer.redo import (
    ITEM,
    A,
    B,
    Miner,
    Redo,
    changes,
)

from minercdc.capture.logminer.kept.keeping import KeepingRules
from minercdc.capture.logminer.session.row import LARGE_CODES, PLACEHOLDER_ROW_ID, OpCode
from minercdc.errors import UnsupportedRowError
from minercdc.schema.table import TableId
from minercdc.stream.events import ChangeEvent


def test_e65_savepoint_cancels_the_latest_change_of_the_row(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2)
    redo.commit(A)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert (event.before, event.after) == (("1", "1"), ("1", "2"))


def test_e66_failed_statement_is_cancelled_and_the_transaction_goes_on(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 66)
    redo.insert(A, 67)
    redo.undo_insert(A, 67)
    redo.insert(A, 68)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "66"), ("c", "68")]


def test_undo_of_an_array_insert_in_forward_order(miner: Miner) -> None:
    redo = Redo()
    for key in range(5):
        redo.insert(A, key)
    for key in range(2, 5):
        redo.undo_insert(A, key)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "0"), ("c", "1")]


def test_undo_takes_rows_of_its_own_table_only(tmp_path: Path) -> None:
    other = replace(ITEM, id=TableId("DB", "LAB", "OTHER"), object_id=78)
    miner = Miner(tmp_path, tables=[ITEM, other])
    redo = Redo()
    redo.insert(A, 1)
    redo.insert(A, 1, table="OTHER", object_id=78)
    redo.undo_insert(A, 1)
    redo.commit(A)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.schema.id.table == "OTHER"


def test_row_inserted_under_the_placeholder_is_undone_under_its_real_rowid(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1, row_id="A" * 18)
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_undo_without_a_target_is_ignored(miner: Miner) -> None:
    redo = Redo()
    redo.undo_insert(A, 1)
    redo.insert(A, 2)
    redo.undo_insert(A, 7)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_d22_undo_row_without_address_cancels_once_however_often_it_is_read(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2)
    redo.update(A, 1, 2, 3)
    redo.undo_update(A, 1, 2, rs_id=" 0x000000.00000000.0000 ")
    for _ in range(3):
        miner.read(redo.rows)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("u", "1")]


def test_rollback_discards_the_transaction(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.undo_insert(A, 1)
    redo.rollback(A)
    redo.insert(B, 2)
    redo.commit(B)
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "2")]
    assert len(miner.buffer) == 0


# ---- an undo row cancels what it names or nothing ----


def on(redo: Redo, code: int, sql: str | None, row_id: str = PLACEHOLDER_ROW_ID, **other: Any) -> None:
    redo.row(code, A, sql, owner="LAB", table="DOC", object_id=80, row_id=row_id, **other)


def end(redo: Redo, row_id: str) -> None:
    """The row that ends a statement with a LOB outside the row."""
    redo.row(OpCode.INTERNAL, A, None, row_id=row_id)


def set_t(redo: Redo, key: int, t: str, row_id: str = PLACEHOLDER_ROW_ID, lob: str = "") -> None:
    sets = f""""T" = '{t}'{lob}"""
    on(redo, OpCode.UPDATE, f"""update "LAB"."DOC" set {sets} where "ID" = '{key}' and "T" = 'old';""", row_id)


def set_c(redo: Redo, key: int, row_id: str, value: str = "'small'") -> None:
    on(redo, OpCode.UPDATE, f"""update "LAB"."DOC" set "C" = {value} where "ID" = '{key}' and "T" = 'old';""", row_id)


def set_back(redo: Redo, row_id: str, *columns: str) -> None:
    sets = ", ".join(f'"{column}" = EMPTY_CLOB()' if column in "CB" else f""""{column}" = 'old'""" for column in columns)
    on(redo, OpCode.UPDATE, f'update "LAB"."DOC" set {sets}', row_id, rollback=1)


def insert_doc(redo: Redo, key: int, row_id: str = PLACEHOLDER_ROW_ID) -> None:
    sql = f"""insert into "LAB"."DOC"("ID","T","C","B") values ('{key}','new',EMPTY_CLOB(),EMPTY_BLOB());"""
    on(redo, OpCode.INSERT, sql, row_id)


def delete_back(redo: Redo, row_id: str) -> None:
    on(redo, OpCode.DELETE, f"""delete from "LAB"."DOC" where ROWID = '{row_id}';""", row_id, rollback=1)


@pytest.fixture(params=["in memory", "spilled", "kept"])
def unseen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Miner]:
    """A miner without `lob.enabled`, which sees no rows of large values."""
    keep = KeepingRules(timedelta(0), "16 digits") if request.param == "kept" else None
    miner = Miner(tmp_path, tables=(DOC, ITEM), memory_max=1 << 30 if request.param == "in memory" else 1, keep=keep)
    yield miner
    miner.assembly.close()


# What was done before the savepoint, what LogMiner shows of the rest, and the changes that are left.
Step = Callable[[Redo], None]
UNDONE: dict[str, tuple[list[Step], list[str]]] = {
    "DBMS_LOB on another row": (
        [lambda r: set_t(r, 1, "kept"), lambda r: end(r, "r1"), lambda r: set_back(r, "r2", "C")],
        ["u1 kept"],
    ),
    "DBMS_LOB on the same row": (
        [lambda r: set_t(r, 1, "kept"), lambda r: end(r, "r1"), lambda r: set_back(r, "r1", "C")],
        ["u1 kept"],
    ),
    "DBMS_LOB after an UPDATE of plain columns alone": (
        [lambda r: set_t(r, 1, "kept", "r1"), lambda r: set_back(r, "r1", "C")],
        ["u1 kept"],
    ),
    "DBMS_LOB after an UPDATE with a small LOB in one row": (
        [lambda r: set_t(r, 1, "kept", "r1", """, "C" = 'small'"""), lambda r: set_back(r, "r1", "C")],
        ["u1 kept"],
    ),
    "DBMS_LOB after an UPDATE with a small LOB in two rows": (
        [
            lambda r: set_t(r, 1, "kept"),
            lambda r: set_c(r, 1, "r1"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "C"),
        ],
        ["u1 kept"],
    ),
    "a large LOB alone, which only its end shows": (
        [lambda r: set_t(r, 1, "kept", "r1"), lambda r: end(r, "r1"), lambda r: set_back(r, "r1", "C")],
        ["u1 kept"],
    ),
    "two columns of LOBs": (
        [lambda r: set_t(r, 1, "kept", "r1", """, "C" = 'small'"""), lambda r: set_back(r, "r1", "C", "B")],
        ["u1 kept"],
    ),
    "DBMS_LOB on a row that was inserted": (
        [
            lambda r: insert_doc(r, 1),
            lambda r: end(r, "r1"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r2", "C"),
        ],
        ["c1 new"],
    ),
    "an INSERT of another row, before the first row that was mined": (
        [lambda r: insert_doc(r, 1), lambda r: end(r, "r1"), lambda r: delete_back(r, "r2")],
        ["c1 new"],
    ),
    "the latest of two rows with the same columns": (
        [
            lambda r: set_t(r, 1, "kept"),
            lambda r: end(r, "r1"),
            lambda r: set_t(r, 2, "undone"),
            lambda r: end(r, "r2"),
            lambda r: set_back(r, "r2", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "rows of one record, oldest first": (
        [
            lambda r: set_t(r, 1, "undone"),
            lambda r: end(r, "r1"),
            lambda r: set_t(r, 2, "undone"),
            lambda r: end(r, "r2"),
            lambda r: set_t(r, 3, "kept", "r3"),
            lambda r: set_back(r, "r1", "T", "C"),
            lambda r: set_back(r, "r2", "T", "C"),
        ],
        ["u3 kept"],
    ),
    "the statement itself": (
        [
            lambda r: set_t(r, 1, "undone"),
            lambda r: end(r, "r1"),
            lambda r: set_back(r, "r1", "T", "C"),
            lambda r: insert_doc(r, 9, "r9"),
        ],
        ["c9 new"],
    ),
    "the statement, not the one before it that set the LOB": (
        [
            lambda r: set_t(r, 1, "kept", "r1", """, "C" = 'small'"""),
            lambda r: set_t(r, 1, "undone"),
            lambda r: end(r, "r1"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "an UPDATE in two rows by one": (
        [
            lambda r: set_t(r, 1, "kept", "r1"),
            lambda r: set_t(r, 1, "undone"),
            lambda r: set_c(r, 1, "r1"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "an UPDATE in two rows by two": (
        [
            lambda r: set_t(r, 1, "kept", "r1"),
            lambda r: set_t(r, 1, "undone"),
            lambda r: set_c(r, 1, "r1"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "T"),
        ],
        ["u1 kept"],
    ),
    "a LOB that was set to what its undo row says, before an UPDATE in two rows": (
        [
            lambda r: set_t(r, 1, "kept", "r1"),
            lambda r: set_t(r, 1, "undone"),
            lambda r: end(r, "r1"),
            lambda r: set_c(r, 1, "r1", "EMPTY_CLOB()"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "a LOB that was set to what its undo row says, before an UPDATE in one row": (
        [
            lambda r: set_t(r, 1, "kept", "r1"),
            lambda r: set_t(r, 1, "undone", "r1", """, "C" = 'small'"""),
            lambda r: set_c(r, 1, "r1", "EMPTY_CLOB()"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "two LOBs that were set to what their undo rows say, and another row between": (
        [
            lambda r: set_t(r, 1, "undone", "r1", """, "C" = 'small'"""),
            lambda r: set_c(r, 1, "r1", "EMPTY_CLOB()"),
            lambda r: set_t(r, 2, "kept", "r2"),
            lambda r: on(r, OpCode.UPDATE, """update "LAB"."DOC" set "B" = NULL where "ID" = '1' and "T" = 'old';""", "r1"),
            lambda r: set_c(r, 1, "r1", "EMPTY_CLOB()"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "B"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u2 kept"],
    ),
    "a large LOB, before an UPDATE in two rows": (
        [
            lambda r: set_t(r, 1, "kept", "r1"),
            lambda r: set_t(r, 1, "undone"),
            lambda r: end(r, "r1"),
            lambda r: end(r, "r1"),
            lambda r: set_back(r, "r1", "C"),
            lambda r: set_back(r, "r1", "T", "C"),
        ],
        ["u1 kept"],
    ),
    "an INSERT by its real ROW_ID, with what followed on it": (
        [
            lambda r: insert_doc(r, 1),
            lambda r: end(r, "r1"),
            lambda r: insert_doc(r, 2),
            lambda r: set_c(r, 2, "r2"),
            lambda r: set_t(r, 2, "undone", "r2"),
            lambda r: set_back(r, "r2", "T"),
            lambda r: delete_back(r, "r2"),
        ],
        ["c1 new"],
    ),
}


@pytest.mark.parametrize("case", UNDONE)
def test_undo_row_cancels_what_it_names_or_nothing(unseen: Miner, case: str) -> None:
    steps, left = UNDONE[case]
    redo = Redo()
    redo.start(A)
    redo.insert(B, 5)  # the transaction that is open beside it makes the records of both go to disk
    for step in steps:
        step(redo)
        redo.insert(B, 5)
    for rows in ([row] for row in redo.rows):
        unseen.read(rows)
    redo.rows.clear()
    redo.commit(A)
    events = [e for e in unseen.read(redo.rows) if isinstance(e, ChangeEvent)]
    assert [f"{e.op.value}{e.after[0]} {e.after[1]}" for e in events if e.after] == left


def keyed(redo: Redo, code: int, sql: str, **other: Any) -> None:
    """A row of an index-organized table, which has no ROWID."""
    redo.dml(code, A, sql.replace("T ", '"LAB"."ITEM" ', 1), row_id=PLACEHOLDER_ROW_ID, **other)


@pytest.mark.parametrize("order", [1, -1])
def test_rows_without_a_rowid_are_undone_by_their_values(miner: Miner, order: int) -> None:
    redo = Redo()
    keyed(redo, OpCode.INSERT, """insert into T ("ID","QTY") values ('1','5');""")
    keyed(redo, OpCode.DELETE, """delete from T where "ID" = '2' and "QTY" = '6';""")
    for key in "789":
        keyed(redo, OpCode.INSERT, f"""insert into T ("ID","QTY") values ('{key}','0');""")
        keyed(redo, OpCode.DELETE, f"""delete from T where "ID" = '1{key}' and "QTY" = '0';""")
        keyed(redo, OpCode.UPDATE, f"""update T set "QTY" = '1' where "ID" = '2{key}' and "QTY" = '0';""")
    for key in "789"[::order]:
        keyed(redo, OpCode.UPDATE, f"""update T set "QTY" = '0' where "ID" = '2{key}' and "QTY" = '1';""", rollback=1)
        keyed(redo, OpCode.INSERT, f"""insert into T ("ID","QTY") values ('1{key}','0');""", rollback=1)
        keyed(redo, OpCode.DELETE, f"""delete from T where "ID" = '{key}' and "QTY" = '0';""", rollback=1)
    keyed(redo, OpCode.UPDATE, """update T set "QTY" = '7' where "ID" = '3' and "QTY" = '6';""")
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("d", "2"), ("u", "3")]


def test_undo_of_an_unsupported_row(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", row_id="r1")
    redo.undo_update(A, 1, 0)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1")]


@pytest.mark.parametrize(
    ("shown", "undone"), [("r2", "r2"), (PLACEHOLDER_ROW_ID, PLACEHOLDER_ROW_ID), (PLACEHOLDER_ROW_ID, "r2")]
)
def test_undo_rows_that_are_unsupported_undo_what_is(unseen: Miner, shown: str, undone: str) -> None:
    """Also of tables with columns that LogMiner shows nothing of, whose rows may have no ROWID."""
    redo = Redo()
    redo.start(A)
    names: dict[str, Any] = {"table": "DOC", "object_id": 80}
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."DOC"("ID") values ('1');""", row_id="r1", **names)
    redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", row_id=shown, status=2, **names)
    redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", row_id=undone, status=2, rollback=1, **names)
    redo.dml(OpCode.UPDATE, A, """update "LAB"."DOC" set "ID" = '2' where "ID" = '1';""", row_id="r1", **names)
    redo.commit(A)
    assert changes(unseen.read(redo.rows)) == [("c", "1"), ("u", "2")]


def test_where_not_all_changes_are_seen_an_unsupported_undo_row_leaves_no_change_that_may_be_undone(unseen: Miner) -> None:
    redo = Redo()
    redo.start(A)
    names: dict[str, Any] = {"table": "DOC", "object_id": 80, "row_id": "r1"}
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."DOC"("ID") values ('1');""", **names)
    redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", status=2, rollback=1, **names)
    redo.commit(A)
    with pytest.raises(UnsupportedRowError):
        unseen.read(redo.rows)


def test_an_unsupported_undo_row_undoes_the_latest_change_of_its_row(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.update(A, 1, 0, 5)
    redo.insert(A, 2)
    redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", row_id="r1", status=2, rollback=1)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("c", "2")]


@pytest.mark.parametrize("given", ["NULL", "EMPTY_CLOB()", "'abc'"])
def test_a_large_value_that_was_the_same_before_is_undone_before_what_is_older(unseen: Miner, given: str) -> None:
    """Its undo row sets it to what it was, as that of a change that is not seen would."""
    redo = Redo()
    redo.start(A)

    def update(sets: str, where: str = "", **other: Any) -> None:
        sql = f'update "LAB"."DOC" set {sets}{where}'
        redo.dml(OpCode.UPDATE, A, sql, table="DOC", object_id=80, row_id="r1", **other)

    def of(key: int) -> str:
        return f""" where "ID" = '{key}' and "T" = 't'"""

    update(""""T" = 'kept'""", of(1))
    update(""""ID" = '2'""", of(1))
    update(""""ID" = '1'""", of(2))
    update(f'"C" = {given}', of(1))
    update(""""ID" = '3'""", of(1))
    for sets in (""""ID" = '1'""", f'"C" = {given}', """"ID" = '2'""", """"ID" = '1'"""):
        update(sets, rollback=1)
    redo.commit(A)
    events = [event for event in unseen.read(redo.rows) if isinstance(event, ChangeEvent)]
    assert [(event.op.value, event.after and event.after[:2]) for event in events] == [("u", ("1", "kept"))]


def test_a_row_with_the_placeholder_has_the_rowid_that_its_statement_ends_with(unseen: Miner) -> None:
    """Where rows of large values are not selected: tables without a key are known by their ROWIDs."""
    redo = Redo()
    redo.start(A)
    insert_doc(redo, 1)
    end(redo, "r1")
    set_t(redo, 2, "both")
    set_c(redo, 2, "r2")
    insert_doc(redo, 3)
    insert_doc(redo, 4, "r4")
    insert_doc(redo, 5)
    redo.commit(A)
    events = [e for e in unseen.read(redo.rows) if isinstance(e, ChangeEvent)]
    found = [((e.after or e.before or ())[0], e.row_id) for e in events]
    assert found == [("1", "r1"), ("2", "r2"), ("3", None), ("4", "r4"), ("5", None)]


# ---- a LOB's rows go with the statement that is undone, in every shape of docs/reference/logminer-facts.md#b-7-1 ----


def emptied(redo: Redo, key: int) -> None:
    on(redo, OpCode.UPDATE, f"""update "LAB"."DOC" set "C" = EMPTY_CLOB() where "ID" = '{key}' and "T" = 'old';""")


def piece(redo: Redo, code: int, key: int, text: str) -> None:
    """With a locator of its own."""
    on(redo, OpCode.LOB_LOCATOR, None)
    block = (
        f"""DECLARE loc_c CLOB; BEGIN select "C" into loc_c from "LAB"."DOC" where "ID" = '{key}' for update; {text} END;"""
    )
    on(redo, code, block, status=2)


def written(redo: Redo, key: int) -> None:
    piece(redo, OpCode.LOB_WRITE, key, "buf_c := 'large'; dbms_lob.write(loc_c, 5, 1, buf_c);")


def trimmed(redo: Redo, key: int, length: int) -> None:
    piece(redo, OpCode.LOB_TRIM, key, f"dbms_lob.trim(loc_c, {length});")


LARGE_SHAPES: dict[str, tuple[list[Callable[[Redo, int], None]], list[str]]] = {
    "written, cut": ([written, lambda r, k: trimmed(r, k, 5)], ["C"]),
    "written, emptied": ([written, lambda r, k: trimmed(r, k, 0)], ["C"]),
    "emptied, written": ([lambda r, k: trimmed(r, k, 0), written], ["C"]),
    "emptied, written, cut": ([lambda r, k: trimmed(r, k, 0), written, lambda r, k: trimmed(r, k, 5)], ["C"]),
    "plain columns, emptied, written": (
        [lambda r, k: set_t(r, k, "gone"), lambda r, k: trimmed(r, k, 0), written],
        ["T", "C"],
    ),
    "NULL, said empty, written": ([emptied, written], ["C NULL"]),
    "NULL, said empty, small": ([emptied, lambda r, k: set_c(r, k, f"r{k}")], ["C NULL"]),
    "emptied, small": ([lambda r, k: trimmed(r, k, 0), lambda r, k: set_c(r, k, f"r{k}")], ["C"]),
}


@pytest.mark.parametrize("before", LARGE_SHAPES)
@pytest.mark.parametrize("undone", LARGE_SHAPES)
@pytest.mark.parametrize("lobs", [True, False])
def test_a_statement_with_a_lob_is_undone_as_a_whole_and_alone(tmp_path: Path, before: str, undone: str, lobs: bool) -> None:
    """What is left is what it would be without the statement, with another one before it on the same row, or on another."""

    def events(other: int, *, with_undone: bool) -> list[tuple[Any, ...]]:
        redo = Redo()
        redo.start(A)

        def statement(key: int, shape: str) -> None:
            steps, _ = LARGE_SHAPES[shape]
            for step in steps:
                step(redo, key)
            if redo.rows[-1].code != OpCode.UPDATE:
                end(redo, f"r{key}")

        statement(other, before)
        if with_undone:
            statement(1, undone)
            sets = {"T": """"T" = 'old'""", "C": '"C" = EMPTY_CLOB()', "C NULL": '"C" = NULL'}
            text = ", ".join(sets[column] for column in LARGE_SHAPES[undone][1])
            on(redo, OpCode.UPDATE, f'update "LAB"."DOC" set {text}', "r1", rollback=1)
        statement(3, before)
        redo.commit(A)
        rows = redo.rows if lobs else [row for row in redo.rows if row.code not in LARGE_CODES]
        directory = tmp_path / f"{other}{with_undone}"
        directory.mkdir()
        found = Miner(directory, tables=(DOC,), lobs=lobs).read(rows)
        return [(e.op, e.before, e.after, e.row_id) for e in found if isinstance(e, ChangeEvent)]

    for other in (1, 2):
        assert events(other, with_undone=True) == events(other, with_undone=False)


def test_an_update_of_null_lobs_is_undone_by_two_rows(tmp_path: Path) -> None:
    """One for each row that it has in redo: the first says that they are empty again."""
    redo = Redo()
    redo.start(A)
    set_c(redo, 1, "r1", "'kept'")
    on(redo, OpCode.UPDATE, """update "LAB"."DOC" set "C" = NULL where "ID" = '1' and "T" = 'old';""", "r1")
    emptied(redo, 1)
    set_c(redo, 1, "r1", "'undone'")
    set_back(redo, "r1", "C")
    on(redo, OpCode.UPDATE, 'update "LAB"."DOC" set "C" = NULL', "r1", rollback=1)
    redo.commit(A)
    events = [e for e in Miner(tmp_path, tables=(DOC,), lobs=True).read(redo.rows) if isinstance(e, ChangeEvent)]
    assert [e.after[2] for e in events if e.after] == ["kept", None]
