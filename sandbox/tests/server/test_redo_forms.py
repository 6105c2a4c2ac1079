"""What holds of all rows of V$LOGMNR_CONTENTS, and forms that are no fixture: undo texts, rollback, DDL, long names, arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sandbox.tests.server.mining_lab import Lab
from tests.fixtures.fix_sandbox import SandboxProcess

USER_DDL = "operation_code = 5 and info like 'USER%'"
ITEM = "create table item (id number(10) primary key, name varchar2(80), qty number(12,3), d date)"


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("lab")
    return sandbox


@pytest.fixture
def lab(schema: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(schema)
    lab.run(ITEM, "alter table item add supplemental log data (all) columns")
    lab.mark()
    yield lab
    lab.drop_tables()
    lab.close()


def test_delete_and_its_undo_text(lab: Lab) -> None:
    lab.run("insert into item values (11, 'cam', null, to_date('2025-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS'))")
    lab.run("delete from item")
    lab.connection.commit()
    day = "TO_DATE('2025-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS')"
    assert lab.mined("sql_redo, sql_undo", "operation_code = 2") == [
        (
            f'delete from "LAB"."ITEM" where "ID" = \'11\' and "NAME" = \'cam\' and "QTY" IS NULL and "D" = {day};',
            f'insert into "LAB"."ITEM"("ID","NAME","QTY","D") values (\'11\',\'cam\',NULL,{day});',
        )
    ]


def test_numbers(lab: Lab) -> None:
    lab.run("create table n (v number)")
    texts = ["-42.5", ".05", "9" * 38, "0", "100", "1000000", "-1", "123456789.01", "-.001"]
    for text in texts:
        lab.cursor.execute(f"insert into n values ({text})")
    lab.connection.commit()
    assert [str(text).split("'")[1] for text in lab.redo()] == texts


def test_rollback_runs_backwards(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    lab.connection.commit()
    lab.mark()
    lab.run("update item set qty = 5", "delete from item", "insert into item (id) values (2)")
    lab.connection.rollback()
    rows = lab.mined("operation_code, rollback", "operation_code <> 6")
    assert rows == [(3, 0), (2, 0), (1, 0), (2, 1), (1, 1), (3, 1), (36, 0)]


def test_ddl_rows(lab: Lab) -> None:
    lab.run(
        "insert into item (id) values (1)", "truncate table item", "ALTER TABLE item ADD (w NUMBER(5,2))", "drop table item"
    )
    rows = lab.mined("sql_redo, info, seg_owner, table_name, data_objd#", USER_DDL)
    assert [row[0] for row in rows[:2]] == ["truncate table item;", "ALTER TABLE item ADD (w NUMBER(5,2));"]
    assert re.fullmatch(r'drop table item AS "BIN\$.*==\$0" ;+', rows[-1][0])
    assert {row[1:4] for row in rows} == {("USER DDL (PlSql=0 RecDep=0)", "LAB", "ITEM")}
    assert lab.mined("count(*)", "operation_code = 2") == [(0,)]
    around = [code for (code,) in lab.mined("operation_code", f"operation_code in (6, 7) or ({USER_DDL})")]
    assert around == [6, 7] + [6, 5, 7] * 3


def test_names_longer_than_logminer_takes(lab: Lab) -> None:
    lab.run(f"create table {'t' * 31} (id number)", f"insert into {'t' * 31} values (1)")
    lab.connection.commit()
    rows = lab.mined("operation, sql_redo, status", f"table_name = '{'T' * 31}' and operation_code <> 5")
    assert rows == [("UNSUPPORTED", "Unsupported", 2)]


def test_every_column_is_there(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    lab.connection.commit()
    (row,) = lab.mined("*", "operation_code = 1")
    named = dict(zip([d.name for d in lab.mining.description or ()], row, strict=True))
    assert len(named) == 67
    assert named["XID"] == (
        named["XIDUSN"].to_bytes(2, "little") + named["XIDSLT"].to_bytes(2, "little") + named["XIDSQN"].to_bytes(4, "little")
    )
    assert named["RS_ID"] == f" 0x{named['RBASQN']:06x}.{named['RBABLK']:08x}.{named['RBABYTE']:04x} "
    assert (named["SEG_TYPE_NAME"], named["SRC_CON_NAME"], named["SRC_CON_ID"], named["THREAD#"]) == (
        "TABLE",
        "ORCLPDB1",
        3,
        1,
    )
    objects = lab.cursor.execute("select object_id, data_object_id from user_objects where object_name = 'ITEM'").fetchall()
    assert objects == [(named["DATA_OBJ#"], named["DATA_OBJD#"])]
    assert "login_username=LAB" in named["SESSION_INFO"]


def test_array_insert_shares_one_record(lab: Lab) -> None:
    lab.cursor.executemany("insert into item (id) values (:1)", [(n,) for n in range(5)])
    lab.connection.commit()
    rows = lab.mined("rs_id, ssn, scn, row_id")
    assert len({row[0] for row in rows}) == 1
    assert [row[1] for row in rows] == [0, 1, 2, 3, 4]
    assert len({row[3] for row in rows}) == 5


def test_a_column_of_a_log_group_with_no_log_is_not_logged(lab: Lab) -> None:
    """A change of it has the others of the group logged, which it is not with theirs."""
    lab.run("create table g (a number, b number, c number, supplemental log group g (a, b no log))")
    lab.run("insert into g values (1, 2, 3)", "update g set b = 4", "update g set a = 5", "update g set c = 6")
    lab.commit()
    assert lab.redo("operation_code = 3") == [
        'update "LAB"."G" set "B" = \'4\' where "A" = \'1\' and "B" = \'2\';',
        'update "LAB"."G" set "A" = \'5\' where "A" = \'1\';',
        'update "LAB"."G" set "C" = \'6\' where "C" = \'3\';',
    ]


def test_a_ddl_that_a_clause_makes_do_nothing_is_not_in_redo(lab: Lab) -> None:
    lab.run(
        "create table if not exists item (x number)",
        "drop table if exists nothing",
        "create table if not exists made (a number)",
    )
    lab.run("drop table if exists made purge")
    assert [text.strip().rstrip(";") for text in lab.redo(USER_DDL) if text] == [
        "create table if not exists made (a number)",
        "drop table if exists made purge",
    ]
