"""Values that DML and blocks hand back in binds."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture
def cursor(sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table handed (id number(5) primary key, name varchar2(20) default 'none')")
        yield cursor
        cursor.execute("drop table handed purge")


def test_insert_returns_its_row(cursor: oracledb.Cursor) -> None:
    name, row_id, both = cursor.var(str), cursor.var(oracledb.DB_TYPE_ROWID), cursor.var(int)
    sql = "insert into handed (id) values (:id) returning name, rowid, id * 2 into :name, :r, :both"
    for number in (7, 8):  # the second run is by cursor number
        cursor.execute(sql, [number, name, row_id, both])
        assert (name.getvalue(), both.getvalue()) == (["none"], [2 * number])
        assert cursor.execute("select id from handed where rowid = :1", [row_id.getvalue()[0]]).fetchall() == [(number,)]
    assert cursor.connection.commit() is None


def test_array_insert_returns_for_every_row(cursor: oracledb.Cursor) -> None:
    length = cursor.var(int, arraysize=3)
    cursor.setinputsizes(None, None, length)
    rows = [(1, "a"), (2, None), (3, "ccc")]
    cursor.executemany("insert into handed values (:1, :2) returning length(name) into :3", rows)
    assert [length.getvalue(n) for n in range(3)] == [[1], [None], [3]]


def test_update_and_delete_return_all_rows(cursor: oracledb.Cursor) -> None:
    cursor.executemany("insert into handed values (:1, :2)", [(1, "a"), (2, "b"), (3, "c")])
    ids, names = cursor.var(int), cursor.var(str)
    cursor.execute("update handed set name = name || :s where id < :n returning id, name into :a, :b", ["!", 3, ids, names])
    assert sorted(zip(ids.getvalue(), names.getvalue(), strict=True)) == [(1, "a!"), (2, "b!")]
    cursor.execute("delete handed where id > 99 returning id into :a", [ids])
    assert ids.getvalue() == []
    cursor.execute("delete handed returning name into :a", [names])
    assert sorted(names.getvalue()) == ["a!", "b!", "c"]


def test_failed_returning_changes_nothing(cursor: oracledb.Cursor) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-01476"):
        cursor.execute("insert into handed values (1, 'x') returning 1 / 0 into :a", [cursor.var(int)])
    assert cursor.execute("select count(*) from handed").fetchone() == (0,)


def test_array_with_errors_returns_of_the_others(cursor: oracledb.Cursor) -> None:
    found = cursor.var(int, arraysize=3)
    cursor.setinputsizes(None, found)
    cursor.executemany("insert into handed (id) values (:1) returning id into :2", [(1,), (1,), (2,)], batcherrors=True)
    assert [error.code for error in cursor.getbatcherrors()] == [1]
    assert [found.getvalue(n) for n in range(3)] == [[1], [], [2]]


def test_block_assigns_binds(cursor: oracledb.Cursor) -> None:
    total, text = cursor.var(int), cursor.var(str)
    for number in (20, 30):
        total.setvalue(0, number)
        cursor.execute("begin :total := :total + :n; :text := 'n' || :n; end;", total=total, n=2, text=text)
        assert (total.getvalue(), text.getvalue()) == (number + 2, "n2")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01722|ORA-06502"):
        cursor.execute("begin :x := 'no number'; end;", [cursor.var(int)])


def test_block_returns_into_binds(cursor: oracledb.Cursor) -> None:
    name = cursor.var(str)
    cursor.execute("begin insert into handed (id) values (5) returning upper(name) into :a; end;", [name])
    assert name.getvalue() == "NONE"
    cursor.execute("insert into handed (id) values (6)")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01422"):
        cursor.execute("begin delete handed returning name into :a; end;", [name])
    assert cursor.execute("select count(*) from handed").fetchone() == (2,)


def test_the_last_row_changed_is_returned(cursor: oracledb.Cursor) -> None:
    for statement in (
        "insert into handed values (1, 'x')",
        "update handed set name = 'y'",
        "insert into handed select 2, 'z' from dual",
    ):
        cursor.execute(statement)
    row_id = cursor.lastrowid
    cursor.execute("update handed set name = 'w' where id = 1")
    assert row_id != cursor.lastrowid is not None
    found = cursor.execute("select id from handed where rowid = :1", [cursor.lastrowid]).fetchall()
    assert found == [(1,)]
    cursor.execute("update handed set name = 'w' where id = 99")
    assert cursor.lastrowid is None


def test_the_last_row_inserted_with_an_error_log_is_returned(cursor: oracledb.Cursor) -> None:
    cursor.execute("begin dbms_errlog.create_error_log('handed'); end;")
    insert = "insert into handed values (:1, :2) log errors reject limit unlimited"
    cursor.executemany(insert, [[1, "x"], [2, "y"], [1, "again"]])
    assert cursor.execute("select id from handed where rowid = :1", [cursor.lastrowid]).fetchall() == [(2,)]
    cursor.execute(insert, [2, "again"])
    assert cursor.rowcount == 0
    assert cursor.lastrowid is None
    cursor.execute("drop table err$_handed purge")


def test_a_failed_array_counts_the_rows_before(cursor: oracledb.Cursor) -> None:
    with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):
        cursor.executemany("insert into handed values (:1, :2)", [(1, "a"), (2, "b"), (1, "c"), (3, "d")])
    assert cursor.rowcount == 2
    with pytest.raises(oracledb.DatabaseError, match="ORA-12899"):
        cursor.executemany("update handed set name = :1 where id = :2", [("q", 1), ("w" * 30, 2)])
    assert cursor.rowcount == 1
    assert cursor.execute("select id, name from handed order by id").fetchall() == [(1, "q"), (2, "b")]
