"""PL/SQL through python-oracledb: DBMS_OUTPUT, index-by tables, REF CURSORs handed back, packages that clients call."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture
def cursor(sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table words (id number primary key, word varchar2(20))")
        cursor.executemany("insert into words values (:1, :2)", [(1, "one"), (2, "two"), (3, "three")])
        yield cursor
        cursor.execute("drop table words purge")


def test_dbms_output_line_by_line_and_many_at_once(cursor: oracledb.Cursor) -> None:
    cursor.callproc("dbms_output.enable", [None])
    cursor.execute("begin for i in 1..3 loop dbms_output.put('n'); dbms_output.put_line(i / 2); end loop; end;")
    line, status = cursor.var(str), cursor.var(int)
    cursor.callproc("dbms_output.get_line", (line, status))
    assert (line.getvalue(), status.getvalue()) == ("n.5", 0)
    lines, count = cursor.arrayvar(str, 10), cursor.var(int)
    count.setvalue(0, 10)
    cursor.callproc("dbms_output.get_lines", (lines, count))
    assert lines.getvalue() == ["n1", "n1.5"]
    assert count.getvalue() == 2
    cursor.callproc("dbms_output.get_line", (line, status))
    assert (line.getvalue(), status.getvalue()) == (None, 1)


def test_index_by_tables_in_and_out(cursor: oracledb.Cursor) -> None:
    numbers, texts = cursor.arrayvar(int, [5, 6, 7]), cursor.arrayvar(str, 5)
    cursor.execute(
        "declare type ns is table of number index by pls_integer; type ts is table of varchar2(20) index by pls_integer;"
        " n ns; t ts; begin n := :1; for i in 1..n.count loop t(i) := 'v' || n(i); end loop; :2 := t; end;",
        [numbers, texts],
    )
    assert texts.getvalue() == ["v5", "v6", "v7"]
    for statement in ("begin :1 := 1; end;", "declare n number; begin n := :1 + 1; end;"):
        with pytest.raises(oracledb.DatabaseError, match="PLS-00382"):
            cursor.execute(statement, [cursor.arrayvar(int, [1, 2])])
    with pytest.raises(oracledb.DatabaseError, match="ORA-01484"):
        cursor.execute("select word from words where id = :1", [cursor.arrayvar(int, [1, 2])])


def test_a_ref_cursor_goes_back_to_the_server(cursor: oracledb.Cursor) -> None:
    opened, word = cursor.var(oracledb.DB_TYPE_CURSOR), cursor.var(str)
    cursor.execute("begin open :c for select word from words order by id; end;", [opened])
    inner = opened.getvalue()
    inner.prefetchrows = 0
    cursor.execute(
        "declare c sys_refcursor := :c; w varchar2(20); begin fetch c into w; fetch c into w; :w := w; close c; end;",
        c=inner,
        w=word,
    )
    assert word.getvalue() == "two"


def test_a_function_of_the_block_is_called(cursor: oracledb.Cursor) -> None:
    found = cursor.callfunc("dbms_utility.get_time", int)
    assert found >= 0
    ddl = cursor.var(oracledb.DB_TYPE_CLOB)
    cursor.execute("begin dbms_metadata.set_transform_param(dbms_metadata.session_transform, 'SQLTERMINATOR', true); end;")
    cursor.execute("begin :d := dbms_metadata.get_ddl('TABLE', 'WORDS'); end;", [ddl])
    assert ddl.getvalue().read().startswith('\n  CREATE TABLE "SYSTEM"."WORDS" \n   (\t"ID" NUMBER, \n\t"WORD" VARCHAR2(20)')
    with pytest.raises(oracledb.DatabaseError, match="ORA-31603"):
        cursor.execute("select dbms_metadata.get_ddl('TABLE', 'NOPE') from dual").fetchall()


def test_what_a_session_calls_its_work(cursor: oracledb.Cursor) -> None:
    cursor.callproc("dbms_application_info.set_module", ["loader", "step 1"])
    cursor.callproc("dbms_session.set_identifier", ["me"])
    cursor.callproc("dbms_session.set_nls", ["nls_date_format", "'YYYY'"])
    cursor.execute("select sys_context('USERENV', 'MODULE'), sys_context('USERENV', 'CLIENT_IDENTIFIER') from dual")
    assert cursor.fetchall() == [("loader", "me")]
    assert cursor.execute("select to_char(date '2026-02-03') from dual").fetchall() == [("2026",)]


def test_statistics_show_rows_and_when(cursor: oracledb.Cursor) -> None:
    sql = "select num_rows, last_analyzed from user_tables where table_name = 'WORDS'"
    assert cursor.execute(sql).fetchall() == [(None, None)]
    cursor.callproc("dbms_stats.gather_table_stats", ["SYSTEM", "WORDS"])
    ((rows, analyzed),) = cursor.execute(sql).fetchall()
    assert rows == 3
    assert analyzed is not None


def test_errors_have_line_and_column(cursor: oracledb.Cursor) -> None:
    with pytest.raises(oracledb.DatabaseError, match=r"ORA-06550: line 2, column 3:\nPLS-00201"):
        cursor.execute("begin\n  nothing.here; end;")
    with pytest.raises(oracledb.DatabaseError, match=r"ORA-01403: no data found\nORA-06512: at line 3"):
        cursor.execute("declare n number;\nbegin\n select id into n from words where id = 9; end;")
