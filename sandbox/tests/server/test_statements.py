"""Statements of tools and of connectors, as the sandbox runs them."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Iterator

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc_sandbox.server import SandboxServer
from minercdc_sandbox.statements import parse


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("app")
    return sandbox


@pytest.fixture
def cursor(schema: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with schema.connect("app", "app") as connection, connection.cursor() as cursor:
        yield cursor


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("rownum <= 5", [1, 2, 3, 4, 5]),
        ("rownum < 3", [1, 2]),
        ("3 >= rownum", [1, 2, 3]),
        ("level <= 4 and rownum <= 2", [1, 2]),
        ("rownum <= 0", [1]),  # the root has passed no CONNECT BY
    ],
)
def test_connect_by_rownum(cursor: oracledb.Cursor, condition: str, rows: list[int]) -> None:
    cursor.execute(f"select level from dual connect by {condition}")
    assert cursor.fetchall() == [(row,) for row in rows]


@pytest.mark.parametrize("how", ["select dbms_transaction.local_transaction_id(true) from dual", "block"])
def test_local_transaction_id_begins_a_transaction(cursor: oracledb.Cursor, how: str) -> None:
    assert cursor.execute("select dbms_transaction.local_transaction_id from dual").fetchone() == (None,)
    if how == "block":
        made = cursor.var(str)
        cursor.execute("begin :1 := dbms_transaction.local_transaction_id(true); end;", [made])
        xid = made.getvalue()
    else:
        (xid,) = cursor.execute(how).fetchone()
    cursor.execute("select xidusn || '.' || xidslot || '.' || xidsqn from v$transaction")
    assert cursor.fetchall() == [(xid,)]
    assert cursor.execute("select dbms_transaction.local_transaction_id(false) from dual").fetchone() == (xid,)


@pytest.mark.parametrize("number", ["1E-129", "1.5E-129", "1E-130", "-1E-130", "-9.9E-130"])
def test_the_smallest_numbers(cursor: oracledb.Cursor, number: str) -> None:
    cursor.execute("create table smallest (n number)")
    cursor.execute(f"insert into smallest values ({number})")
    cursor.execute("select to_char(n), n * 1, n + 0, to_number(to_char(n)), to_char(-n) from smallest")
    value, negative = float(number), number[1:] if number[0] == "-" else f"-{number}"
    assert cursor.fetchone() == (number, value, value, value, negative)
    cursor.execute("drop table smallest purge")


def test_json_serialize_as_a_clob(cursor: oracledb.Cursor) -> None:
    long = "x" * 5000
    cursor.execute("create table documents (d json)")
    cursor.execute("insert into documents values (:1)", [f'{{"a": [1, null, "{long}"]}}'])
    cursor.execute(
        "select json_serialize(d returning clob), json_serialize(d), json_serialize(d returning blob) from documents"
    )
    clob, text, blob = cursor.fetchone()
    assert (clob.read(), text, blob.read()) == (whole := f'{{"a":[1,null,"{long}"]}}', None, whole.encode())
    with pytest.raises(oracledb.DatabaseError, match="ORA-40478"):
        cursor.execute("select json_serialize(d error on error) from documents").fetchall()
    cursor.execute(
        "select json_serialize('[1,2]' returning varchar2(5)), json_serialize('[1,2]' returning varchar2(4)) from dual"
    )
    assert cursor.fetchall() == [("[1,2]", None)]
    cursor.execute("drop table documents purge")


def test_a_date_column_with_values_becomes_a_timestamp(cursor: oracledb.Cursor) -> None:
    cursor.execute("create table dated (id number primary key, d date, e date)")
    cursor.execute("create index dated_d on dated (d)")
    cursor.executemany("insert into dated values (:1, :2, null)", [(1, dt.datetime(2026, 1, 2, 3, 4, 5)), (2, None)])
    cursor.connection.commit()
    cursor.execute("alter table dated modify (d timestamp(6), e timestamp(3))")
    cursor.execute("insert into dated values (3, timestamp '2026-01-02 03:04:05.5', null)")
    cursor.execute("update dated set e = d where id = 1")
    cursor.execute("select d, e, d + interval '1' second, dump(d) from dated order by id")
    first, second, third = cursor.fetchall()
    moment = dt.datetime(2026, 1, 2, 3, 4, 5)
    assert first[:3] == (moment, moment, moment + dt.timedelta(seconds=1))
    assert (second[0], third[0]) == (None, moment + dt.timedelta(milliseconds=500))
    assert cursor.execute("select id from dated where d = timestamp '2026-01-02 03:04:05'").fetchall() == [(1,)]
    assert cursor.execute("select id from dated order by d desc nulls last").fetchall() == [(3,), (1,), (2,)]
    with pytest.raises(oracledb.DatabaseError, match="ORA-01439"):
        cursor.execute("alter table dated modify (d timestamp with time zone)")
    cursor.execute("drop table dated purge")


def test_mining_may_end_where_the_last_log_ends(schema: SandboxProcess) -> None:
    with schema.connect("system", "oracle", schema.root_service) as administrator:
        administrator.cursor().execute("alter system switch logfile")
    with schema.connect("c##minercdc", "minercdc", schema.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("select name, first_change#, next_change# from v$archived_log order by sequence# desc")
        name, first, after = cursor.fetchone()
        cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [name])
        cursor.execute("begin dbms_logmnr.start_logmnr(startscn => :1, endscn => :2, options => 16); end;", [first, after])
        assert cursor.execute("select count(*) from v$logmnr_contents").fetchone()[0] > 0
        with pytest.raises(oracledb.DatabaseError, match="ORA-01291"):
            cursor.execute(
                "begin dbms_logmnr.start_logmnr(startscn => :1, endscn => :2, options => 16); end;", [first, after + 1]
            )


SHARED = (
    "with w as (select id, v from shared where id < 9) select w.id, (select max(v) from shared x where x.id = w.id) from w order by 2, 1",
    "select level, id, prior id, connect_by_isleaf from shared start with id = 1 connect by prior id = id - 1",
    "select * from (select id, v from shared) pivot (count(*) for v in ('a' as a, 'b' as b))",
    "select id, s.v, row_number() over (partition by s.v order by id) from shared s left join shared t using (id) fetch first 2 rows only",
    "select id from shared where v like :1 and id in (1, 2) union all select count(*) from shared group by v having count(*) > 0",
    "insert into shared (id, v) select max(id) + 1, :1 from shared",
    "merge into shared s using (select 1 id from dual) d on (s.id = d.id) when matched then update set v = :1 when not matched then insert (id) values (9)",
    "update shared set v = (select min(v) from shared) where id = 1 and v <> :1",
    "delete from shared where id > 5 and v = :1",
)


def test_sessions_share_a_statement_that_none_changes(server: SandboxServer) -> None:
    with oracledb.connect(user="system", password="oracle", dsn=server.dsn) as admin:
        admin.cursor().execute("create table shared (id number(9) primary key, v varchar2(9))")
        before = {sql: copy.deepcopy(parse(sql)) for sql in SHARED}
        for number in range(2):
            with oracledb.connect(user="system", password="oracle", dsn=server.dsn) as one, one.cursor() as cursor:
                cursor.execute("insert into shared (id, v) values (:1, 'a')", [number])
                for sql in SHARED:
                    cursor.execute(sql, ["a"] if ":1" in sql else [])
                one.rollback()
            admin.cursor().execute(f"alter table shared add (c{number} date)")  # plans are made again
    assert {sql: parse(sql) for sql in SHARED} == before


def test_sessions_share_plans_of_views_but_not_what_they_see(server: SandboxServer) -> None:
    """The same texts of two users, then of other settings, and after what the one may see has changed."""
    own = "select user, sys_context('USERENV', 'SID'), (select count(*) from user_tables) from dual"
    seen = "select count(*) from v$instance"
    with (
        oracledb.connect(user="system", password="oracle", dsn=server.dsn) as admin,
        admin.cursor() as cursor,
    ):
        for name in ("plain", "rich"):
            cursor.execute(f"create user {name} identified by {name} quota unlimited on users")
            cursor.execute(f"grant create session, create table to {name}")
        cursor.execute("create table rich.it (n number)")
        cursor.execute("grant select on sys.v_$instance to rich")
        sessions = [oracledb.connect(user=name, password=name, dsn=server.dsn) for name in ("plain", "rich", "rich")]
        plain, rich, again = (session.cursor() for session in sessions)
        found = [one.execute(own).fetchone() for one in (plain, rich, again)]
        assert [(name, tables) for name, _, tables in found] == [("PLAIN", 0), ("RICH", 1), ("RICH", 1)]
        assert len({sid for _, sid, _ in found}) == 3
        assert len(server.database.view_plans) > 0
        before = dict(server.database.view_plans)
        with oracledb.connect(user="rich", password="rich", dsn=server.dsn) as third:
            third.cursor().execute(own).fetchone()
        assert server.database.view_plans == before, "its plan is that of others"
        assert rich.execute(seen).fetchone() == (1,)
        plain.execute("alter session set current_schema = rich")
        for change, allowed in (
            ("", False),
            ("grant select on sys.v_$instance to plain", True),
            ("revoke select on sys.v_$instance from plain", False),
        ):
            if change:
                cursor.execute(change)
            if allowed:
                assert plain.execute(seen).fetchone() == (1,)
            else:
                with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
                    plain.execute(seen)
        text = "select to_char(created) from all_users where username = 'RICH'"
        shapes = []
        for one, form in ((rich, "YYYY"), (again, "DD.MM.YYYY")):
            one.execute(f"alter session set nls_date_format = '{form}'")
            shapes.append(len(one.execute(text).fetchone()[0]))
        assert shapes == [4, 10]
        for session in sessions:
            session.close()


def test_a_log_switch_while_v_log_is_read_shows_one_current_log(server: SandboxServer) -> None:
    dsn = server.dsn.rpartition("/")[0] + "/ORCLCDB"
    with (
        oracledb.connect(user="system", password="oracle", dsn=dsn) as reader,
        oracledb.connect(user="system", password="oracle", dsn=dsn) as other,
    ):
        reader.cursor().execute("select 1 from dual")
        session = server.database.sessions[reader.session_id]
        view = server.database.views["V$LOG"]
        at = [column.name for column in view.columns].index("STATUS")
        for taken in range(1, 4):
            rows = view.rows(session)
            found = [next(rows)[at] for _ in range(taken)]
            other.cursor().execute("alter system switch logfile")
            assert [*found, *(row[at] for row in rows)].count("CURRENT") == 1
