"""Sample rows of parts B and C of the LogMiner facts that are no fixture of part E, brought about by real SQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sandbox.tests.server.mining_lab import PLACEHOLDER, Lab, add_all_logs, opened, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess

USER_DDL = "operation_code = 5 and info like 'USER%'"


@pytest.fixture
def lab(fresh_sandbox: SandboxProcess) -> Iterator[Lab]:
    lab = opened(fresh_sandbox)
    lab.run("create table item (id number(10) primary key, name varchar2(80))")
    lab.mark()
    yield lab
    lab.close()


def test_b2_a_transaction(lab: Lab) -> None:
    lab.run("set transaction name 'nuts'", "insert into item values (7, 'nut')")
    lab.commit()
    rows = lab.mined("operation_code, seg_owner, table_name, row_id, status, sql_redo, tx_name", "1 = 1")
    (row_id,) = lab.cursor.execute("select rowid from item").fetchone() or (None,)
    assert rows == [
        (6, None, None, PLACEHOLDER, 0, "set transaction read write;", "nuts"),
        (1, "LAB", "ITEM", row_id, 0, 'insert into "LAB"."ITEM"("ID","NAME") values (\'7\',\'nut\');', None),
        (7, None, None, PLACEHOLDER, 0, "commit;", None),
    ]


def test_b8_ddl_as_typed(lab: Lab) -> None:
    lab.run("ALTER TABLE item ADD (w NUMBER(5,2) DEFAULT 0)", "truncate table lab.item", "drop table item")
    rows = lab.mined(
        "sql_redo, table_name, status, data_obj#, data_objd#", USER_DDL, options=" + dbms_logmnr.no_sql_delimiter"
    )
    assert [row[0] for row in rows[:2]] == ["ALTER TABLE item ADD (w NUMBER(5,2) DEFAULT 0)", "truncate table lab.item"]
    assert str(rows[2][0]).startswith('drop table item AS "BIN$')
    assert {row[1:3] for row in rows} == {("ITEM", 0)}
    assert all(row[3] and not row[4] for row in rows)


def test_b9_index_maintenance_is_internal(lab: Lab) -> None:
    lab.run("create index item_name on item (name)", "alter index item_name rebuild")
    rows = lab.mined("seg_owner, table_name, seg_name, seg_type, seg_type_name, sql_redo", "operation_code = 0")
    assert rows == [("LAB", "ITEM", "ITEM_NAME", 1, "INDEX", None)] * 2


def test_b9_direct_path_puts_many_rows_in_one_record(lab: Lab) -> None:
    lab.run("create table bulk (id number)")
    lab.mark()
    lab.run("insert /*+ append */ into bulk select level from dual connect by level <= 2")
    lab.commit()
    first, second = lab.mined("rs_id, ssn, scn, row_id, sql_redo")
    assert (first[0], first[2]) == (second[0], second[2])
    assert (first[1], second[1]) == (0, 1)
    assert first[3] != second[3]
    assert [row[4] for row in (first, second)] == [f'insert into "LAB"."BULK"("ID") values (\'{n}\');' for n in (1, 2)]


def test_b7_large_lobs_are_closed_by_an_internal_row(lab: Lab) -> None:
    lab.run("create table d (id number primary key, c clob)")
    lab.mark()
    lab.cursor.execute("insert into d values (1, :1)", ["x" * 3000])
    lab.cursor.execute("update d set c = :1", ["y" * 3000])
    lab.commit()
    (row_id,) = lab.cursor.execute("select rowid from d").fetchone() or (None,)
    rows = lab.mined("operation_code, row_id", "operation_code not in (6, 7, 9)")
    assert rows == [
        *[(1, PLACEHOLDER), (10, PLACEHOLDER), (0, row_id)],
        *[(10, PLACEHOLDER), (11, PLACEHOLDER), (0, row_id)],
    ]


def test_b11_threads_are_interleaved_and_may_share_a_commit_scn(fresh_sandbox: SandboxProcess) -> None:
    one = opened(fresh_sandbox)
    one.run("create table item (id number primary key)")
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
        admin.cursor().execute("alter database enable public thread 2")
        with fresh_sandbox.connect("lab", "lab", "ORCLPDB1_2") as two:
            begun = one.mark()
            one.run("insert into item values (1)")
            two.cursor().execute("insert into item values (2)")
            admin.cursor().execute("call dbms_sandbox.meet_commits(2)")
            waiting = threading.Thread(target=two.commit)
            waiting.start()
            one.commit()
            waiting.join(10)
    add_all_logs(one.mining, begun)
    start_mining(one.mining, startscn=begun)
    rows = one.mining.execute(
        "select operation_code, thread#, scn, rs_id from v$logmnr_contents where operation_code in (1, 7)"
    ).fetchall()
    one.close()
    assert [row[:2] for row in rows] == [(1, 1), (1, 2), (7, 1), (7, 2)]
    assert rows[0][2] < rows[1][2] < rows[2][2] == rows[3][2]


def test_c7_committed_mode_shows_whole_transactions_in_commit_order(lab: Lab) -> None:
    with lab.sandbox.connect("lab", "lab") as older:
        older.cursor().execute("insert into item values (1, 'a')")
        lab.run("insert into item values (2, 'b')")
        lab.commit()
        older.cursor().execute("update item set name = 'c' where id = 1")
        older.commit()
    lab.run("alter table item add (w number)")
    rows = lab.mined(
        "operation_code, scn, start_scn, commit_scn, sql_redo", "1 = 1", options=" + dbms_logmnr.committed_data_only"
    )
    assert [row[0] for row in rows] == [6, 1, 7, 6, 1, 3, 7, 6, 5, 7]
    first, second = rows[:3], rows[3:7]
    for rows_of in (first, second):
        assert {row[2:4] for row in rows_of} == {(rows_of[0][1], rows_of[-1][1])}
    assert second[0][1] < first[0][1], "an older START .."
    assert second[-1][1] > first[-1][1], ".. but a later COMMIT"
    assert [row[2:4] for row in rows[7:9]] == [(None, None)] * 2
