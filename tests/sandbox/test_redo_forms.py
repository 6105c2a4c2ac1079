"""Documented forms of SQL_REDO brought about by real SQL: odd values and names, key changes, undo, DDL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

NLS = "alter session set nls_date_format='YYYY-MM-DD HH24:MI:SS' nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF9'"
ITEM = "create table item (id number(10) primary key, name varchar2(80), qty number(12,3), d date)"
Change = tuple[int, int, str]


class Lab:
    """A schema LAB whose changes are mined from a mark on."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self.connection = sandbox.connect("lab", "lab")
        self.cursor = self.connection.cursor()
        self._miner = sandbox.connect("c##minercdc", "minercdc", sandbox.root_service)
        self._mining = self._miner.cursor()
        self._mining.execute(NLS)
        self._begun = 0

    def mark(self) -> None:
        self._begun = self._mining.execute("select current_scn from v$database").fetchone()[0]

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.cursor.execute(statement)

    def mined(
        self, columns: str, where: str = "operation_code in (1, 2, 3)", row_ids: bool = False
    ) -> list[tuple[Any, ...]]:
        cursor = self._mining
        cursor.execute("select f.member from v$log l, v$logfile f where l.group# = f.group# and l.status = 'CURRENT'")
        ((name,),) = cursor.fetchall()
        cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [name])
        options = "dbms_logmnr.dict_from_online_catalog" + ("" if row_ids else " + dbms_logmnr.no_rowid_in_stmt")
        cursor.execute(f"begin dbms_logmnr.start_logmnr(startscn => {self._begun}, options => {options}); end;")
        rows: list[tuple[Any, ...]] = cursor.execute(f"select {columns} from v$logmnr_contents where {where}").fetchall()
        return rows

    def redo(self) -> list[str]:
        return [text for (text,) in self.mined("sql_redo")]

    def close(self) -> None:
        self.connection.close()
        self._miner.close()


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
    lab.connection.rollback()
    for (name,) in lab.cursor.execute("select table_name from user_tables").fetchall():
        lab.run(f'drop table "{name}" purge')
    lab.close()


def test_values(lab: Lab) -> None:
    values = ["bolt", "'tis O'Hara''s'", "a',''b); delete from \"X\" where 1 and 2 --", "x' || 'y", "one\ntwo\n", "Zo\u00eb"]
    for number, value in enumerate(values, 1):
        lab.cursor.execute("insert into item (id, name) values (:1, :2)", [number, value])
    lab.connection.commit()
    doubled = [value.replace("'", "''") for value in values]
    assert lab.redo() == [
        f'insert into "LAB"."ITEM"("ID","NAME","QTY","D") values (\'{n}\',\'{value}\',NULL,NULL);'
        for n, value in enumerate(doubled, 1)
    ]


def test_update_to_and_from_null_and_two_columns(lab: Lab) -> None:
    lab.run("insert into item values (7, 'cog', null, null)", "update item set qty = 10 where id = 7")
    lab.run("update item set name = null, qty = null where id = 7")
    lab.connection.commit()
    assert lab.redo()[1:] == [
        'update "LAB"."ITEM" set "QTY" = \'10\' where "ID" = \'7\' and "NAME" = \'cog\' and "QTY" IS NULL and "D" IS NULL;',
        'update "LAB"."ITEM" set "NAME" = NULL, "QTY" = NULL where "ID" = \'7\' and "NAME" = \'cog\' and "QTY" = \'10\' and "D" IS NULL;',
    ]


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


def test_key_change_is_one_update(lab: Lab) -> None:
    lab.run("insert into item values (13, 'k', null, null)", "update item set id = 130 where id = 13")
    lab.connection.commit()
    assert lab.redo()[1:] == [
        'update "LAB"."ITEM" set "ID" = \'130\' where "ID" = \'13\' and "NAME" = \'k\' and "QTY" IS NULL and "D" IS NULL;'
    ]


def test_odd_identifiers(lab: Lab) -> None:
    lab.run('create table "Odd, Table" ("Rate/\'x\'~No" number, "set where" varchar2(10))')
    lab.run('alter table "Odd, Table" add supplemental log data (all) columns')
    lab.run('insert into "Odd, Table" values (0, null)', 'update "Odd, Table" set "Rate/\'x\'~No" = 1, "set where" = \'v\'')
    lab.connection.commit()
    assert lab.redo()[1] == (
        'update "LAB"."Odd, Table" set "Rate/\'x\'~No" = \'1\', "set where" = \'v\' '
        "where \"Rate/'x'~No\" = '0' and \"set where\" IS NULL;"
    )


def test_numbers(lab: Lab) -> None:
    lab.run("create table n (v number)")
    texts = ["-42.5", ".05", "9" * 38, "0", "100", "1000000", "-1", "123456789.01", "-.001"]
    for text in texts:
        lab.cursor.execute(f"insert into n values ({text})")
    lab.connection.commit()
    assert [text.split("'")[1] for text in lab.redo()] == texts


def test_savepoint_undoes_the_latest_change_of_the_row(lab: Lab) -> None:
    lab.run("insert into item values (65, 'n', 1, null)")
    lab.connection.commit()
    lab.mark()
    lab.run("update item set qty = 2 where id = 65", "savepoint s", "update item set qty = 3 where id = 65", "rollback to s")
    lab.connection.commit()
    rows = lab.mined("operation_code, rollback, sql_redo, row_id")
    assert [row[:2] for row in rows] == [(3, 0), (3, 0), (3, 1)]
    assert rows[2][2] == 'update "LAB"."ITEM" set "QTY" = \'2\';'
    assert len({row[3] for row in rows}) == 1
    with_row_id = lab.mined("sql_redo", "rollback = 1", row_ids=True)
    assert with_row_id == [(f'update "LAB"."ITEM" set "QTY" = \'2\' where ROWID = \'{rows[0][3]}\';',)]


def test_unique_violation_and_the_transaction_goes_on(lab: Lab) -> None:
    lab.run("insert into item (id) values (66)")
    with pytest.raises(oracledb.IntegrityError):
        lab.run("insert into item (id) values (66)")
    lab.run("insert into item (id) values (68)")
    lab.connection.commit()
    rows = lab.mined("operation_code, rollback, row_id, sql_redo")
    assert [row[:2] for row in rows] == [(1, 0), (1, 0), (2, 1), (1, 0)]
    assert rows[1][2] == rows[2][2] != rows[0][2]
    assert rows[2][3] == f'delete from "LAB"."ITEM" where ROWID = \'{rows[1][2]}\';'


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
    rows = lab.mined("sql_redo, info, seg_owner, table_name, data_objd#", "operation_code = 5")
    assert [row[0] for row in rows[:2]] == ["truncate table item;", "ALTER TABLE item ADD (w NUMBER(5,2));"]
    assert re.fullmatch(r'drop table item AS "BIN\$.*==\$0" ;+', rows[-1][0])
    assert {row[1:4] for row in rows} == {("USER DDL (PlSql=0 RecDep=0)", "LAB", "ITEM")}
    assert lab.mined("count(*)", "operation_code = 2") == [(0,)]
    around = [code for (code,) in lab.mined("operation_code", "operation_code in (5, 6, 7)")]
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
    named = dict(zip([d.name for d in lab._mining.description or ()], row, strict=True))
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
