"""Queries that the view answers itself bring what SQLite brings of the view's whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from sandbox.tests.server.mining_lab import Lab
from tests.fixtures.fix_sandbox import SandboxProcess

CONNECTOR = (
    "scn, operation_code, thread#, rs_id, ssn, xid, src_con_id, seg_owner, table_name, row_id, rollback, csf, status, info,"
    " timestamp, username, client_id, data_obj#, start_scn, sql_redo"
)
DEBEZIUM = (
    "scn, sql_redo, operation_code, timestamp, xid, csf, table_name, seg_owner, operation, username, row_id, rollback, rs_id,"
    " status, info, ssn, thread#, data_obj#, data_objv#, data_objd#, client_id, start_scn, commit_scn, sequence#"
)
EVERYTHING = "*"
TWICE = "scn, sql_undo, scn, sql_redo"
PLACES = "rbasqn, rbablk, rbabyte, data_blk#, sql_undo"
CONDITIONS = (
    "operation_code in (1, 2, 3, 5, 6, 7, 36, 255)",
    "src_con_name = 'ORCLPDB1' and (seg_owner is null or seg_owner not in ('SYS', 'SYSTEM'))",
    "table_name = 'OTHER' or operation_code = 7",
    "rs_id >= :mark and operation_code <> 6",
    "thread# = 1 and rs_id < :mark",
    "rollback = 1",
    "sql_redo > 'insert into' and csf = 1",
    "commit_scn is null",
)


@pytest.fixture(scope="module")
def lab(sandbox: SandboxProcess) -> Iterator[Lab]:
    sandbox.create_user("lab")
    lab = Lab(sandbox)
    _change_much(lab)
    yield lab
    lab.drop_tables()
    lab.close()


def _change_much(lab: Lab) -> None:
    """Alike and unlike changes in turn: array inserts, single rows, rollbacks, long texts, LOBs, a new table version."""
    lab.run(
        "create table item (id number(9) primary key, name varchar2(2000), more varchar2(2000), qty number(12,3), d date)"
    )
    lab.run("alter table item add supplemental log data (all) columns")
    lab.run("create table other (id number(9), note varchar2(40), text clob)")
    lab.mark()
    chance = Random(7)
    for turn in range(24):
        keys = range(turn * 10, turn * 10 + 10)
        rows = [(n, f"n'{n} " * chance.choice((1, 1, 280)), None if n % 3 else "m" * 1900, -n / 8) for n in keys]
        lab.cursor.executemany("insert into item (id, name, more, qty, d) values (:1, :2, :3, :4, date '2025-01-31')", rows)
        lab.run("savepoint s")
        for n in chance.sample(keys, 6):
            lab.cursor.execute("update item set qty = qty + 1, name = null where id = :1", [n])
        lab.run(f"update item set d = sysdate where id > {turn * 10 + 4}", f"delete from item where id = {turn * 10 + 3}")
        if turn % 4 == 1:
            lab.run("rollback to savepoint s")
        lab.cursor.execute(
            "insert into other (id, note, text) values (:1, 'x', :2)", [turn, "text " * chance.choice((0, 3, 900))]
        )
        if turn == 16:
            lab.run("alter table other add (extra number)")
        lab.connection.rollback() if turn % 7 == 3 else lab.connection.commit()


def _rows(lab: Lab, columns: str, where: str, mark: str) -> list[tuple[Any, ...]]:
    binds = {"mark": mark} if ":mark" in where else {}
    rows: list[tuple[Any, ...]] = lab.mining.execute(
        f"select {columns} from v$logmnr_contents where {where}", binds
    ).fetchall()
    return rows


@pytest.mark.parametrize("options", ["", " + dbms_logmnr.committed_data_only", " + dbms_logmnr.string_literals_in_stmt"])
@pytest.mark.parametrize("columns", [CONNECTOR, DEBEZIUM, EVERYTHING, TWICE, PLACES])
def test_the_same_rows_both_ways(lab: Lab, columns: str, options: str) -> None:
    lab.start(options=options)
    places = sorted(set(lab.mining.execute("select rs_id, ssn from v$logmnr_contents").fetchall()))
    mark = places[len(places) // 2][0]
    found = 0
    for condition in CONDITIONS:
        picked = _rows(lab, columns, condition, mark)
        # NOT is SQLite's work.
        assert picked == _rows(lab, columns, f"({condition}) and not (operation_code = -1)", mark), condition
        found += len(picked)
    assert found > 500


def test_alike_changes_keep_their_own_scn_and_place(lab: Lab) -> None:
    lab.start()
    rows = lab.mining.execute("select scn, rs_id, ssn from v$logmnr_contents where operation_code in (2, 3)").fetchall()
    assert len({(place, ssn) for _, place, ssn in rows}) == len(rows)
    assert all(before[1] < after[1] for before, after in pairwise(rows))


def test_an_error_is_raised_when_the_query_is_executed(lab: Lab) -> None:
    lab.mining.execute("begin dbms_logmnr.end_logmnr; end;")
    with pytest.raises(Exception, match="ORA-01306"):
        lab.mining.execute("select scn, sql_redo from v$logmnr_contents where operation_code = 1")


def test_a_changed_list_of_logs_ends_the_query(lab: Lab) -> None:
    lab.start()
    cursor = lab.mining.connection.cursor()
    cursor.arraysize = cursor.prefetchrows = 10
    cursor.execute("select scn, sql_redo from v$logmnr_contents where operation_code <> 6")
    lab.mining.execute("begin dbms_logmnr.start_logmnr(options => dbms_logmnr.dict_from_online_catalog); end;")
    (name,) = lab.mining.execute("select filename from v$logmnr_logs").fetchone() or ("",)
    lab.mining.execute("begin dbms_logmnr.remove_logfile(:1); end;", [name])
    with pytest.raises(Exception, match="ORA-01315"):
        cursor.fetchall()
    cursor.close()
