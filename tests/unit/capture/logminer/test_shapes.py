"""DDL in redo order: rows are decoded with the shape of their table at their place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.native_pair import IS_NATIVE
from tests.unit.capture.logminer.redo import (
    ITEM,
    ITEM_ID,
    NOON,
    A,
    B,
    C,
    Dictionary,
    Miner,
    Redo,
    changes,
    positions,
    schema_changes,
)

from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.session.row import OpCode
from minercdc.errors import SchemaMismatchError
from minercdc.messages.table_changes import remembered, table_of
from minercdc.oracle.dictionary.object_ids import StoredNow
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Progress, UndecodableRow


def test_e72_truncate(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, "truncate table lab.item")
    (change, progress) = miner.read(redo.rows)
    assert schema_changes([change])[0].truncate
    assert isinstance(progress, Progress)
    assert miner.tables.find(ITEM_ID) == ITEM


def test_e73_drop_and_internal_ddl(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, 'ALTER TABLE item RENAME TO "BIN$x==$0"', info="INTERNAL DDL (PlSql=0 RecDep=0)")
    redo.ddl(A, 'drop table item AS "BIN$Xk+3rP0yQ5fgYwIAEax8Ag==$0" ;')
    (change,) = schema_changes(miner.read(redo.rows))
    assert (change.table, change.before, change.after) == (ITEM_ID, ITEM, None)
    assert miner.tables.find(ITEM_ID) is None


@pytest.mark.parametrize(
    ("sql", "gone"),
    [
        ("drop user lab cascade", ("ITEM", "KEPT")),
        ('drop user if exists "LAB" cascade', ("ITEM", "KEPT")),
        ("drop user other cascade", ()),
        ("drop tablespace data including contents and datafiles cascade constraints", ("ITEM",)),
        ("drop tablespace data", ()),
        ("drop cluster lab.c including tables cascade constraints", ("ITEM",)),
        ("drop cluster c", ()),
        ("drop materialized view lab.item", ("ITEM",)),
        ("drop materialized view lab.kept", ()),  # it was a table before, and is there
        ("drop materialized view lab.item preserve table", ()),
        ("drop materialized view log on lab.item", ()),
    ],
)
def test_tables_go_with_what_they_are_in(tmp_path: Path, sql: str, gone: tuple[str, ...]) -> None:
    """Redo may have a DROP TABLE of each, too, or none."""
    kept = replace(ITEM, id=ITEM_ID._replace(table="KEPT"), object_id=78)
    miner = Miner(tmp_path, tables=(ITEM, kept), dictionary={kept.id: kept})
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    redo.ddl(B, sql, owner=None, table=None, object_id=0, user="SYS")
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "1")]
    found = schema_changes(events)
    assert tuple(change.table.table for change in found if change.after is None) == gone
    assert len(found) == len(gone)
    assert isinstance(events[-1], Progress)


def test_create_if_not_exists_of_a_table_that_is_there_changes_nothing(miner: Miner) -> None:
    """ "Table created." says SQL*Plus, too, and the table keeps its columns (Oracle 23ai, and 19c from 19.28 on)."""
    redo = Redo()
    redo.ddl(A, "create table if not exists lab.item (other date)")
    redo.insert(B, 1)
    redo.commit(B)
    redo.ddl(C, "create table if not exists lab.item (other date)", object_id=ITEM.object_id + 1)
    events = miner.read(redo.rows)
    assert changes(events) == [("c", "1")]
    (change,) = schema_changes(events)
    assert change.after is not None
    assert [column.name for column in change.after.columns] == ["OTHER"]


def test_internal_ddl_is_ignored(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, "drop table lab.item", info="INTERNAL DDL (PlSql=0 RecDep=0)")
    assert miner.read(redo.rows) == []
    assert miner.tables.find(ITEM_ID) == ITEM


def test_rows_take_the_shape_of_their_place_in_redo(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.commit(A)
    redo.ddl(B, "alter table item add (note varchar2(10))")
    redo.dml(OpCode.INSERT, C, """insert into "LAB"."ITEM"("ID","QTY","NOTE") values ('2','0','x');""", row_id="r2")
    redo.commit(C)
    events = miner.read(redo.rows)
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["ChangeEvent", "Progress", "SchemaChange", "Progress", "ChangeEvent", "Progress"]
    first, last = events[0], events[4]
    assert isinstance(first, ChangeEvent)
    assert isinstance(last, ChangeEvent)
    assert (first.schema.version, first.after) == (1, ("1", "0"))
    assert (last.schema.version, last.after) == (2, ("2", "0", "x"))


def test_d19_ddl_is_applied_once_after_a_restart(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.ddl(B, "alter table other add (x number)", table="OTHER")
    redo.ddl(C, "create table other2 (x number primary key)", table="OTHER2")
    miner = Miner(tmp_path)
    (position,) = positions(miner.read(redo.rows))
    assert position.threads[1].resume.rs_id == redo.rows[0].rs_id.strip()
    assert schema_changes(Miner(tmp_path, position).read(redo.rows)) == []


def test_new_table_is_captured_from_its_create_table_on(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, "create table fresh (id number(5) primary key, pic bfile)", table="FRESH", object_id=90)
    redo.dml(OpCode.INSERT, B, """insert into "LAB"."FRESH"("ID","PIC") values ('1',Unsupported Type);""", table="FRESH", object_id=90, row_id="r")  # fmt: skip
    redo.commit(B)
    events = miner.read(redo.rows)
    (change,) = schema_changes(events)
    assert change.before is None
    assert change.after is not None
    assert [column.name for column in change.after.columns] == ["ID"]
    assert (change.after.key, change.after.object_id) == ((0,), 90)
    assert changes(events) == [("c", "1")]


def test_table_without_known_shape_is_read_from_the_dictionary(tmp_path: Path) -> None:
    late = TableSchema(TableId("DB", "LAB", "LATE"), (Column("ID", "NUMBER"),))
    miner = Miner(tmp_path, dictionary={late.id: late})
    redo = Redo()
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."LATE"("ID") values ('1');""", table="LATE", row_id="r")
    redo.commit(A)
    events = miner.read(redo.rows)
    assert [type(event).__name__ for event in events] == ["SchemaChange", "ChangeEvent", "Progress"]


def test_ddl_beyond_the_grammar_is_looked_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = replace(ITEM, columns=(*ITEM.columns, Column("NEW", "DATE")))
    miner = Miner(tmp_path, dictionary={ITEM_ID: now})
    redo = Redo()
    redo.ddl(A, "alter table item frobnicate all")
    (change,) = schema_changes(miner.read(redo.rows))
    assert change.after == replace(now, version=2)
    assert "frobnicate" in caplog.text


@pytest.mark.parametrize(
    "sql",
    [
        "alter table item add constraint c check (qty > 0)",
        "alter table item drop constraint c",
        "alter table item add supplemental log data (all) columns",
        "alter table item move online",
        "alter table item truncate partition p1",
        "alter table item modify qty invisible",
    ],
)
def test_every_alter_is_emitted_and_makes_no_version_without_need(
    tmp_path: Path, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    redo = Redo()
    redo.ddl(A, sql)
    redo.ddl(B, sql.replace("item", "other"), table="OTHER", owner="ELSEWHERE")
    (change,) = schema_changes(Miner(tmp_path, dictionary={ITEM_ID: ITEM}).read(redo.rows))
    assert (change.ddl, change.before, change.after, change.truncate) == (sql, ITEM, ITEM, False)
    assert ("without a trace in redo" in caplog.text) == ("truncate" in sql)


@pytest.mark.parametrize(
    ("statement", "owner", "user", "columns"),
    [
        ("create table made as select * from src", "LAB", "APP", "A B"),  # CURRENT_SCHEMA is LAB
        ("create table made as select * from src", "LAB", "LAB", "A B"),
        ("create table lab.made as select * from src", "LAB", "APP", "X Y"),
        ("create table lab.made as select * from lab.src", "LAB", "APP", "A B"),
        ("create table lab.made as select * from src", "LAB", "SYS", "A B"),
        ("create table made as select * from app.src", "LAB", "LAB", "C"),
    ],
)
def test_a_copied_table_without_a_schema_is_in_the_current_one(
    tmp_path: Path, statement: str, owner: str, user: str, columns: str
) -> None:
    """That is where the new table is, if it has none either; else most likely the user's. Where both have such a table with other
    columns, the dictionary's structure is taken."""
    made = TableId("DB", "LAB", "MADE")
    now = TableSchema(made, tuple(Column(name, "NUMBER") for name in ("A", "B", "C", "X", "Y")), object_id=95)
    if columns == "X Y":
        now = replace(now, columns=now.columns[3:])
    copied = {TableId("DB", "LAB", "SRC"): ("A", "B"), TableId("DB", "APP", "SRC"): ("C",)}
    redo = Redo()
    redo.ddl(A, statement, owner=owner, user=user, table="MADE", object_id=95)
    miner = Miner(tmp_path, dictionary={made: now}, ids=Dictionary({}, copied=copied))
    miner.read(redo.rows)
    found = miner.tables.find(made)
    assert found is not None
    assert " ".join(column.name for column in found.columns) == columns


def test_tables_that_change_names_are_emitted_in_order(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, "create table other (x number primary key)", table="OTHER", object_id=90)
    texts = ["alter table item rename to tmp", "rename other to item", "alter table lab.tmp rename to other"]
    for sql, table in zip(texts, ("ITEM", "OTHER", "TMP"), strict=True):
        redo.ddl(B, sql, table=table)
    emitted = schema_changes(miner.read(redo.rows))[1:]
    assert [change.ddl for change in emitted] == texts
    names = [(change.before and change.before.id.table, change.after and change.after.id.table) for change in emitted]
    assert names == [("ITEM", "TMP"), ("OTHER", "ITEM"), ("TMP", "OTHER")]
    assert [change.after and change.after.object_id for change in emitted] == [77, 90, 77]


def test_a_table_that_is_renamed_into_the_capture_is_named_with_the_command_that_reads_its_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = replace(ITEM, id=TableId("DB", "LAB", "LATE"), object_id=91)
    redo = Redo()
    redo.ddl(A, "rename staging to late", table="STAGING", object_id=91)
    redo.ddl(B, 'rename staging to "BIN$zz"', table="STAGING", object_id=92)
    (change,) = schema_changes(Miner(tmp_path, dictionary={late.id: late}).read(redo.rows))
    assert change.after is not None
    assert change.after.id == late.id
    (said,) = [record.getMessage() for record in caplog.records if "execute-snapshot" in record.getMessage()]
    assert said.startswith("LAB.LATE is newly captured: its existing rows are not published")


def test_rename_to_an_uncaptured_name_ends_the_capture(miner: Miner) -> None:
    redo = Redo()
    redo.ddl(A, "rename item to item2")
    redo.ddl(B, 'alter table item2 rename to "BIN$zz"', table="ITEM2")
    renamed, gone = schema_changes(miner.read(redo.rows))
    assert renamed.after is not None
    assert renamed.after.id.table == "ITEM2"
    assert (gone.before, gone.after) == (renamed.after, None)


def test_e53_row_of_a_dropped_table_is_found_by_its_object_id(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 53, table="BIN$Xk+3rP0yQ5fgYwIAEax8Ag==$0", object_id=77)
    redo.insert(A, 54, table="BIN$other", object_id=999)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "53")]


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize(("status", "info"), [(2, "Dictionary Mismatch"), (2, None), (0, None), (0, ""), (2, "other")])
def test_e50_row_of_another_version_is_read_by_the_shape_of_its_time(
    tmp_path: Path, status: int, info: str | None, runs: bool
) -> None:
    """The dictionary is newer than the row; the known shape is the row's. The names say it, whatever STATUS and INFO do."""
    columns = (Column("ID", "NUMBER"), Column("DOC", "CLOB"), Column("NAME", "VARCHAR2", 9), Column("D", "DATE"))
    table = replace(ITEM, columns=(columns[0], *columns[2:]), stored=("ID", "DOC", "NAME", "D"))
    redo = Redo()
    mismatch = {"status": status, "info": info, "row_id": "r1"}
    images = "HEXTORAW('c108'),EMPTY_CLOB(),HEXTORAW('5a6fc3ab'),HEXTORAW('787e021c0e2e3c')"
    insert = f"""insert into "LAB"."ITEM"("COL 1","COL 2","COL 3","COL 4") values ({images});"""
    redo.dml(OpCode.INSERT, A, insert, **mismatch)
    update = """update "LAB"."ITEM" set "COL 3" = NULL where "COL 1" = HEXTORAW('c108') and "COL 4" IS NULL"""
    redo.dml(OpCode.UPDATE, A, update, **mismatch)
    redo.dml(OpCode.INSERT, A, insert.replace("c108", "c109"), **mismatch)
    redo.dml(OpCode.UPDATE, A, update.replace("c108", "c109"), **mismatch)
    redo.commit(A)
    runs &= IS_NATIVE
    create, change, again, changed, _ = Miner(tmp_path, tables=[table], runs=runs).read(redo.rows)
    assert isinstance(again, ChangeEvent)
    assert isinstance(changed, ChangeEvent)
    assert (again.after, changed.after) == (("8", "Zoë", "2026-02-28 13:45:59"), ("8", None, None))
    assert isinstance(create, ChangeEvent)
    assert isinstance(change, ChangeEvent)
    assert create.after == ("7", "Zoë", "2026-02-28 13:45:59")
    assert (change.before, change.after) == (("7", UNAVAILABLE, None), ("7", None, None))
    for unfit in (replace(table, stored=()), replace(table, stored=("ID", "NAME", "D"))):
        with pytest.raises(SchemaMismatchError):
            Miner(tmp_path, tables=[unfit], runs=runs).read(redo.rows)


def test_a_column_that_is_called_like_a_place_is_one(tmp_path: Path) -> None:
    table = replace(ITEM, columns=(Column("ID", "NUMBER"), Column("COL 2", "NUMBER")), stored=("ID", "COL 2", "COL 3"))
    redo = Redo()
    redo.dml(OpCode.INSERT, A, """insert into "LAB"."ITEM"("ID","COL 2","COL 3") values ('1','2','3');""", row_id="r1")
    redo.commit(A)
    (event, _) = Miner(tmp_path, tables=[table]).read(redo.rows)
    assert isinstance(event, ChangeEvent)
    assert event.after == ("1", "2")


def test_stored_bytes_of_before_are_not_read_by_a_shape_of_now(tmp_path: Path) -> None:
    """A DROP and an ADD in between leave as many columns: `COL 2` is another one then. What was written after the shape was read
    is of that shape, until DDL comes."""
    now = replace(ITEM, columns=(ITEM.columns[0], Column("NEW", "NUMBER", 9, 0)), stored=("ID", "NEW"))
    redo = Redo()
    redo.ddl(A, "alter table item frobnicate all")
    for number in range(2):
        update = f"""update "LAB"."ITEM" set "COL 2" = HEXTORAW('c10{number + 2}') where "COL 1" = HEXTORAW('c108')"""
        redo.dml(OpCode.UPDATE, B, update, status=2, info="Dictionary Mismatch", row_id="r", scn=103 + 3 * number)
    redo.commit(B)
    miner = Miner(tmp_path, dictionary={ITEM_ID: now}, ids=Dictionary({}), on_failure="suspend")
    events = miner.read(redo.rows)
    assert [event.code for event in events if isinstance(event, UndecodableRow)] == ["MC-4301"]
    assert [event.after for event in events if isinstance(event, ChangeEvent)] == [("7", "2")]
    (document,) = remembered(schema_changes(events)[0])
    assert isinstance(document, dict)
    assert table_of(document).read_at == NOON + timedelta(seconds=105)


OTHER = TableSchema(
    TableId("DB", "LAB", "OTHER"), (Column("QTY", "NUMBER", 12, 3), Column("ID", "NUMBER", 10, 0)), (1,), object_id=88
)


@pytest.mark.parametrize("assembly", [BufferedAssembly, CommittedAssembly])
def test_rows_belong_to_their_object_whatever_name_they_carry(tmp_path: Path, assembly: Any) -> None:
    """A swap, mined when it is over: rows of before carry the new names. Then rows of afterwards with the old ones."""
    miner = Miner(tmp_path, tables=(ITEM, OTHER), assembly=assembly)
    redo = Redo()
    for number, transaction in enumerate((A, B), 1):
        redo.start(transaction)
        redo.insert(transaction, number, table="OTHER", object_id=77)
        redo.insert(transaction, 10 + number, table="ITEM", object_id=88)
        redo.commit(transaction)
        if number == 1:
            for statement, table in (
                ("rename item to tmp", "OTHER"),
                ("rename other to item", "ITEM"),
                ("rename tmp to other", "OTHER"),
            ):
                redo.ddl(C, statement, table=table)
    found = [(str(e.schema.id), e.schema.object_id, e.after) for e in miner.read(redo.rows) if isinstance(e, ChangeEvent)]
    assert found == [
        ("LAB.ITEM", 77, ("1", "0")),
        ("LAB.OTHER", 88, ("0", "11")),
        ("LAB.OTHER", 77, ("2", "0")),
        ("LAB.ITEM", 88, ("0", "12")),
    ]


def test_a_table_that_left_the_captured_names_is_not_taken_for_its_successor(tmp_path: Path) -> None:
    miner = Miner(tmp_path, tables=(ITEM, OTHER))
    redo = Redo()
    redo.ddl(A, 'alter table item rename to "BIN$zz"')
    redo.ddl(B, "rename other to item", table="OTHER", object_id=88)
    redo.insert(C, 5, object_id=77)
    redo.insert(C, 6, object_id=88)
    redo.commit(C)
    assert changes(miner.read(redo.rows)) == [("c", "0")]


def test_an_undo_row_finds_its_row_under_another_name(miner: Miner) -> None:
    redo = Redo()
    redo.insert(A, 1)
    redo.undo_insert(A, 1, table="ITEM_OLD", object_id=77)
    redo.insert(A, 2)
    redo.commit(A)
    assert changes(miner.read(redo.rows)) == [("c", "2")]


def test_a_table_without_supplemental_logging_is_warned_about_when_it_is_seen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Asked of the dictionary: the log group most often comes with the next statement."""
    logged = {"BARE": "BARE has no log group", "ITEM": "ITEM lost it"}
    miner = Miner(tmp_path, unlogged=lambda table: logged.get(table.table, ""))
    redo = Redo()
    for table in ("fine", "bare"):
        redo.ddl(A, f"create table {table} (id number primary key)", table=table.upper(), object_id=0)
    redo.ddl(A, "alter table item add supplemental log data (all) columns")
    assert "ITEM" not in (miner.read(redo.rows) and caplog.text)
    assert "BARE has no log group" in caplog.text
    redo.ddl(A, "alter table item drop supplemental log data (all) columns")
    miner.read(redo.rows)
    assert "ITEM lost it" in caplog.text


@pytest.mark.parametrize(
    ("noted", "now", "stored", "known"),
    [
        (("ID", "N"), StoredNow(("ID", "SYS_NC00002$", "N"), altered=False), ("ID", "SYS_NC00002$", "N"), True),
        (("ID", "N"), StoredNow(("ID", "N", "LATER"), altered=True), ("ID", "N"), True),
        (("ID", "N"), StoredNow(("ID", "SYS_NC00002$", "N", "LATER"), altered=True), (), False),
        (
            ("ID", "SYS_NC00002$", "N"),
            StoredNow(("ID", "SYS_NC00002$", "N", "LATER"), altered=True),
            ("ID", "SYS_NC00002$", "N"),
            True,
        ),
        (("ID", "N"), None, (), False),
        ((), StoredNow(("ID", "SYS_NC00002$", "N"), altered=False), ("ID", "SYS_NC00002$", "N"), True),
    ],
)
def test_a_start_looks_for_hidden_columns_that_an_earlier_release_did_not_note(
    tmp_path: Path, noted: tuple[str, ...], now: StoredNow | None, stored: tuple[str, ...], known: bool
) -> None:
    """`COL 2` is the hidden one. Where the table had DDL since, nothing says from when on there is one: its rows suspend it."""
    table = replace(ITEM, stored=noted, hidden_known=False)
    ids = Dictionary({}, stored={ITEM_ID: now} if now else {})
    miner = Miner(tmp_path, tables=[table], ids=ids, on_failure="suspend")
    found = list(miner.shapes.begin(5, 0))
    after = miner.tables.find(ITEM_ID)
    assert after is not None
    assert (after.stored, after.hidden_known) == (stored, known)
    assert [(change.ids_only, change.after) for change in found] == ([] if noted == stored == () else [(True, after)])
    assert list(miner.shapes.begin(6, 0)) == []
    redo = Redo()
    redo.dml(OpCode.DELETE, A, """delete from "LAB"."ITEM" where "COL 1" = HEXTORAW('c108');""", row_id="r1", status=2)
    redo.commit(A)
    events = miner.read(redo.rows)
    assert [isinstance(event, UndecodableRow) for event in events if not isinstance(event, Progress)] == [not stored]
