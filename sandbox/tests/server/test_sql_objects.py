"""Schema objects and their redo through python-oracledb: what an application and a connector see of them."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

MINED = (
    "select operation, table_name, sql_redo from v$logmnr_contents"
    " where seg_owner = 'OBJ' and operation in ('INSERT', 'UPDATE', 'DELETE') order by rownum"
)


@pytest.fixture
def connection(fresh_sandbox: SandboxProcess) -> Iterator[oracledb.Connection]:
    fresh_sandbox.create_user("obj")
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("alter database add supplemental log data")
    with fresh_sandbox.connect("obj", "obj") as found:
        yield found


def mined(sandbox: SandboxProcess) -> list[tuple[str, str, str]]:
    """The user's changes as LogMiner shows them."""
    with sandbox.connect(service=sandbox.root_service) as root, root.cursor() as cursor:
        for (member,) in cursor.execute(
            "select member from v$logfile f join v$log l on l.group# = f.group# where l.status = 'CURRENT'"
        ).fetchall():
            cursor.callproc("dbms_logmnr.add_logfile", [member])
        cursor.execute("begin dbms_logmnr.start_logmnr(options => dbms_logmnr.dict_from_online_catalog); end;")
        found: list[tuple[str, str, str]] = cursor.execute(MINED).fetchall()
    return found


def test_identity_values_come_back_and_reach_the_redo(
    connection: oracledb.Connection, fresh_sandbox: SandboxProcess
) -> None:
    cursor = connection.cursor()
    cursor.execute("create table person (id number generated always as identity, name varchar2(10), loud as (upper(name)))")
    given = cursor.var(int)
    cursor.execute("insert into person (name) values (:1) returning id into :2", ["ann", given])
    assert given.getvalue() == [1]
    cursor.executemany("insert into person (name) values (:1)", [("bob",), ("cy",)])
    connection.commit()
    assert cursor.execute("select id, loud from person order by id").fetchall() == [(1, "ANN"), (2, "BOB"), (3, "CY")]
    with pytest.raises(oracledb.DatabaseError, match="ORA-32795"):
        cursor.execute("insert into person values (9, 'x')")
    redo = mined(fresh_sandbox)
    assert redo[0][2] == """insert into "OBJ"."PERSON"("ID","NAME") values ('1','ann');"""
    assert [operation for operation, _, _ in redo] == ["INSERT"] * 3


def test_a_cascade_is_logged_parent_first(connection: oracledb.Connection, fresh_sandbox: SandboxProcess) -> None:
    cursor = connection.cursor()
    cursor.execute("create table parent (id number primary key)")
    cursor.execute("create table child (id number primary key, pid number references parent on delete cascade)")
    cursor.execute("insert into parent values (1)")
    cursor.executemany("insert into child values (:1, 1)", [(1,), (2,)])
    cursor.execute("delete from parent")
    connection.commit()
    deleted = [table for operation, table, _ in mined(fresh_sandbox) if operation == "DELETE"]
    assert deleted == ["PARENT", "CHILD", "CHILD"]
    with pytest.raises(oracledb.IntegrityError, match="ORA-02291"):
        cursor.execute("insert into child values (3, 7)")


def test_merge_is_logged_as_updates_and_inserts(connection: oracledb.Connection, fresh_sandbox: SandboxProcess) -> None:
    cursor = connection.cursor()
    cursor.execute("create table stock (id number primary key, n number)")
    cursor.execute("insert into stock values (1, 10)")
    merge = (
        "merge into stock s using (select :id id, :n n from dual) x on (s.id = x.id)"
        " when matched then update set s.n = s.n + x.n when not matched then insert values (x.id, x.n)"
    )
    cursor.executemany(merge, [{"id": 1, "n": 5}, {"id": 2, "n": 7}])
    connection.commit()
    assert cursor.execute("select id, n from stock order by id").fetchall() == [(1, 15), (2, 7)]
    assert [operation for operation, _, _ in mined(fresh_sandbox)] == ["INSERT", "UPDATE", "INSERT"]


def test_errors_point_into_the_statement(connection: oracledb.Connection) -> None:
    with pytest.raises(oracledb.DatabaseError) as caught:
        connection.cursor().execute("select dummy, nosuch from dual")
    [error] = caught.value.args
    assert (error.code, error.offset) == (904, 14)


def test_deferred_constraint_fails_the_commit(connection: oracledb.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("create table n (id number primary key, up number references n deferrable initially deferred)")
    cursor.execute("insert into n values (1, 2)")
    with pytest.raises(oracledb.DatabaseError, match="ORA-02091"):
        connection.commit()
    assert cursor.execute("select count(*) from n").fetchone() == (0,)


def test_a_user_without_privileges_sees_nothing(connection: oracledb.Connection, fresh_sandbox: SandboxProcess) -> None:
    connection.cursor().execute("create table secret (id number)")
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("create user poor identified by poor")
        admin.cursor().execute("grant create session to poor")
    with fresh_sandbox.connect("poor", "poor") as poor:
        for sql in ("select * from obj.secret", "select * from v$log", "select * from dba_users"):
            with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
                poor.cursor().execute(sql)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01031"):
            poor.cursor().execute("create table mine (id number)")
        with pytest.raises(oracledb.DatabaseError, match="PLS-00201"):
            poor.cursor().execute("begin dbms_logmnr.end_logmnr; end;")
        assert poor.cursor().execute("select count(*) from all_tables").fetchone() == (0,)
