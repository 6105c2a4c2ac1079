"""Rows that are not plainly usable: left out, refused, or read by other means."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.native_pair import taken_apart
from tests.unit.capture.logminer.redo import (
    ITEM,
    NOON,
    A,
    B,
    Dictionary,
    Miner,
    Redo,
    changes,
    schema_changes,
)

from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode
from minercdc.errors import DecodeError, RedoSyntaxError, SchemaMismatchError, UnsupportedRowError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Progress, Scn, TransactionInfo, UndecodableRow


def test_a_temporary_table_is_not_captured_whatever_its_rows_look_like(tmp_path: Path) -> None:
    """STATUS is 0 on some releases, and a row of another version of the table has stored bytes. No structure is read for it."""
    table = TableId("DB", "LAB", "BASKET")
    redo = Redo()
    redo.start(A)
    for number, object_id in enumerate((91, 92)):
        text = "/* No SQL_REDO for temporary tables */"
        if number:
            text = """insert into "LAB"."BASKET"("COL 1") values (HEXTORAW('c102'))"""
        redo.dml(OpCode.INSERT, A, text, table="BASKET", object_id=object_id, row_id="r", status=2 * number)
    redo.insert(A, 1)
    redo.commit(A)
    miner = Miner(tmp_path, ids=Dictionary({}, temporary=[table]))
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "1")]
    assert schema_changes(events) == []


NO_REDO = "/* No SQL_REDO for temporary tables */"


@pytest.mark.parametrize("status", [0, 2])
@pytest.mark.parametrize("code", [OpCode.INSERT, OpCode.UPDATE, OpCode.DELETE, OpCode.UNSUPPORTED])
@pytest.mark.parametrize("lobs", [True, False])
def test_e74_rows_of_temporary_tables_are_left_out(tmp_path: Path, status: int, code: int, lobs: bool) -> None:
    """Also where the structure of a table of the same name is known, and where that one is suspended."""
    redo = Redo()
    redo.dml(code, A, NO_REDO, status=status, row_id=PLACEHOLDER_ROW_ID if lobs else "r")
    redo.commit(A)
    assert Miner(tmp_path, lobs=lobs).read(redo.rows) == []
    suspended = Miner(tmp_path, lobs=lobs, unread=lambda _: frozenset({"LAB.ITEM"}))
    assert suspended.read(redo.rows) == []


def test_a_table_is_temporary_for_its_time(tmp_path: Path) -> None:
    """Of one table, dropped and made again as another kind; with several threads DDL is followed after the rows are read."""
    table = TableId("DB", "LAB", "BASKET")
    redo = Redo()
    for number, (create, object_id) in enumerate((("table", 91), ("global temporary table", 92), ("table", 93))):
        redo.ddl(A, f'create {create} "LAB"."BASKET" (ID number(9) primary key)', table="BASKET", object_id=object_id)
        redo.start(B)
        text = NO_REDO if number == 1 else f"""insert into "LAB"."BASKET"("ID") values ('{number}');"""
        redo.dml(OpCode.INSERT, B, text, table="BASKET", object_id=object_id, row_id="r")
        redo.commit(B)
        redo.ddl(A, 'drop table "LAB"."BASKET"', table="BASKET", object_id=object_id)
    miner = Miner(tmp_path, ids=Dictionary({}, temporary=[table]))
    assert changes(miner.read(redo.rows)) == [("c", "0"), ("c", "2")]


@pytest.mark.parametrize(
    ("changes_of", "name", "added"),
    [
        ({"stored": ("ID", "QTY")}, "NEWER", True),
        ({"stored": ("ID", "QTY", "NEWER")}, "NEWER", False),  # of a type that is not read
        ({"stored": ("ID", "QTY")}, "SYS_NC00003$", False),
        ({"stored": ("ID", "QTY")}, "ORABCTAB_SIGNATURE$", False),
        ({"stored": ()}, "NEWER", False),
        ({"stored": ("ID", "QTY"), "hidden_known": False}, "NEWER", False),
        ({"stored": ("ID", "QTY"), "read_at": NOON + timedelta(days=1)}, "NEWER", False),
        ({"stored": ("ID", "QTY"), "read_at": NOON - timedelta(days=1)}, "NEWER", True),
    ],
)
def test_a_row_with_a_column_that_no_ddl_has_added_suspends_its_table(
    tmp_path: Path, changes_of: dict[str, Any], name: str, added: bool
) -> None:
    """As after DBMS_REDEFINITION: the values of the column would be missing in silence."""
    miner = Miner(tmp_path, tables=(replace(ITEM, **changes_of),), on_failure="suspend")
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    redo.dml(OpCode.INSERT, B, f"""insert into "LAB"."ITEM"("ID","QTY","{name}") values ('2','3','x');""", row_id="r2")
    redo.dml(OpCode.UPDATE, B, f"""update "LAB"."ITEM" set "{name}" = 'y' where "ID" = '1';""", row_id="r1")
    redo.commit(B)
    events = miner.read(redo.rows)
    assert changes(events) == ([("c", "1")] if added else [("c", "1"), ("c", "2")])
    left_out = [event for event in events if isinstance(event, UndecodableRow)]
    assert [event.code for event in left_out] == (["MC-4301"] * 2 if added else [])
    assert all(name in event.reason for event in left_out)


def test_rows_of_before_a_table_was_temporary_are_not_passed_over(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."BASKET"("ID") values ('1');""", table="BASKET", object_id=91)
    redo.commit(A)
    miner = Miner(tmp_path, ids=Dictionary({}, temporary=[TableId("DB", "LAB", "BASKET")]), on_failure="suspend")
    (left_out,) = [event for event in miner.read(redo.rows) if isinstance(event, UndecodableRow)]
    assert "the table's shape is not known" in left_out.reason


def test_a_table_that_takes_the_name_of_a_temporary_one_is_captured_before_its_ddl_is_followed(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    for object_id, text in ((91, NO_REDO), (92, """insert into "LAB"."BASKET"("ID") values ('1');""")):
        redo.dml(OpCode.INSERT, A, text, table="BASKET", object_id=object_id)
    redo.commit(A)
    basket = replace(ITEM, id=TableId("DB", "LAB", "BASKET"), object_id=92)
    miner = Miner(tmp_path, dictionary={basket.id: basket})
    assert changes(miner.read(redo.rows)) == [("c", "1")]


def unsupported_rows() -> Redo:
    redo = Redo()
    for _ in range(3):
        redo.dml(OpCode.UNSUPPORTED, A, "Unsupported", status=2)
    redo.commit(A)
    return redo


def test_e75_unsupported_rows_stop_the_stream(miner: Miner) -> None:
    with pytest.raises(UnsupportedRowError, match=r"LAB\.ITEM.*SCN 101"):
        miner.read(unsupported_rows().rows)


def test_e75_unsupported_rows_are_left_out_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    miner = Miner(tmp_path, on_failure="warn")
    *letters, progress = miner.read(unsupported_rows().rows)
    assert [(letter.op, letter.redo_sql) for letter in letters if isinstance(letter, UndecodableRow)] == [
        ("UNSUPPORTED", "Unsupported")
    ] * 3
    assert isinstance(progress, Progress)
    assert caplog.text.count("does not support") == 1


def test_e76_status_2_alone_is_no_fault(miner: Miner) -> None:
    redo = Redo()
    redo.update(A, 1, 1, 2, status=2)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("u", "1")]


def broken(redo: Redo) -> None:
    redo.insert(A, 1)
    redo.dml(OpCode.INSERT, A, "insert into nonsense", row_id="r9")
    redo.insert(A, 2)
    redo.commit(A)


def test_row_that_cannot_be_decoded_stops_and_says_where(miner: Miner) -> None:
    redo = Redo()
    broken(redo)
    with pytest.raises(RedoSyntaxError, match=r"SCN 102, thread 1, RS_ID 0x000001.00000002.0010, .*LAB.ITEM"):
        miner.read(redo.rows)


def test_row_that_cannot_be_decoded_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    redo = Redo()
    broken(redo)
    assert changes(Miner(tmp_path, on_failure="warn").read(redo.rows)) == [("c", "1"), ("c", "2")]
    assert "MC-4101" in caplog.text


@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("on_failure", ["fail", "skip"])
def test_rows_before_one_that_cannot_be_decoded_are_emitted(tmp_path: Path, before: int, on_failure: str) -> None:
    redo, keys = Redo(), [*range(before), "?", *range(before, before + 40)]
    for key in keys:
        if isinstance(key, int):
            redo.insert(A, key)
        else:
            redo.dml(OpCode.INSERT, A, "insert into nonsense", row_id="r9")
    redo.commit(A)
    emitted: list[int | str] = []
    with suppress(RedoSyntaxError):
        for event in Miner(tmp_path, on_failure=on_failure).take(redo.rows):
            if isinstance(event, ChangeEvent) and event.after:
                emitted.append(int(str(event.after[0])))
            elif isinstance(event, UndecodableRow):
                emitted.append("?")
    assert emitted == (keys[:before] if on_failure == "fail" else keys)


def test_d27_operation_that_contradicts_its_text_is_refused(miner: Miner) -> None:
    redo = Redo()
    redo.dml(OpCode.UPDATE, A, """delete from "LAB"."ITEM";""")
    redo.commit(A)
    with pytest.raises(SchemaMismatchError):
        miner.read(redo.rows)


def test_dml_without_text_is_refused(miner: Miner) -> None:
    redo = Redo()
    redo.row(OpCode.INSERT, A, None, owner="LAB", table="ITEM")
    redo.commit(A)
    with pytest.raises(DecodeError):
        miner.read(redo.rows)


def test_d26_user_filter_drops_whole_transactions(tmp_path: Path) -> None:
    miner = Miner(tmp_path, wants=lambda user, _: user != "APP")
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    redo.commit(A)
    redo.insert(B, 2, user="OTHER")
    redo.commit(B)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_d42_columns_that_redo_does_not_hold_are_unavailable_not_null(miner: Miner) -> None:
    redo = Redo()
    redo.dml(OpCode.UPDATE, A, """update "LAB"."ITEM" set "QTY" = '3' where "QTY" = '2';""", row_id="r")
    redo.commit(A)
    (event, _) = miner.read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.after == (UNAVAILABLE, "3")


def test_redo_sql_is_copied_on_demand(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    (event, _) = Miner(tmp_path, include_redo_sql=True).read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.redo_sql == redo.rows[0].sql


def mixed_rows() -> list[LogMinerRow]:
    """Rows of two tables by turns; the last one, of ITEM, cannot be read."""
    redo = Redo()
    for key in (1, 2, 3):
        redo.dml(OpCode.INSERT, A, f"""insert into "LAB"."B"("ID") values ('{key}');""", table="B", object_id=88)
        redo.insert(A, key)
    redo.dml(OpCode.INSERT, A, "nonsense")
    return redo.rows


B_TABLE = TableSchema(TableId("DB", "LAB", "B"), (Column("ID", "NUMBER"), Column("C", "CLOB")), (0,), object_id=88)
INFO = TransactionInfo("01", Scn(1), Scn(2), 0, 0, 1, None)


@pytest.mark.parametrize("lobs", [False, True], ids=["plain", "assembled"])
def test_rows_of_suspended_tables_are_not_read_and_have_numbers_of_their_own(tmp_path: Path, lobs: bool) -> None:
    suspended: set[str] = set()
    miner = Miner(tmp_path, tables=(ITEM, B_TABLE), on_failure="suspend", lobs=lobs, unread=lambda _: frozenset(suspended))

    def seen() -> list[tuple[int, str, bool]]:
        for row in mixed_rows():
            miner.buffer.append(row, RedoAddress("0x000001.00000001.0010", 1))
        transaction = miner.buffer.open()[0]
        transaction.is_large = lobs
        events = [
            e for e in taken_apart(miner.decoder.events(transaction, INFO)) if isinstance(e, ChangeEvent | UndecodableRow)
        ]
        miner.buffer.close()
        return [
            (e.seq, e.code or "unread", e.counted) if isinstance(e, UndecodableRow) else (e.seq, "change", True)
            for e in events
        ]

    changes = [(seq, "change", True) for seq in range(1, 7)]
    assert seen() == [*changes, (6, "MC-4101", False)]
    suspended.add("LAB.ITEM")
    while_suspended = seen()
    assert [seq for seq, _, _ in while_suspended] == list(range(1, 8))
    assert sorted(kind for _, kind, _ in while_suspended) == ["change"] * 3 + ["unread"] * 4
    assert all(counted for _, _, counted in while_suspended)
    suspended.clear()
    assert seen() == [*changes, (6, "MC-4101", False)]


def test_a_row_without_a_table_to_suspend_stops_the_stream(tmp_path: Path) -> None:
    miner = Miner(tmp_path, on_failure="suspend")
    redo = Redo()
    redo.insert(A, 1)
    redo.ddl(B, 'alter table item rename to "BIN$zz"')
    redo.commit(A)
    with pytest.raises(SchemaMismatchError, match="shape is not known"):
        miner.read(redo.rows)
