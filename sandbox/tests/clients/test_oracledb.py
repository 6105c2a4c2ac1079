"""python-oracledb thin, unmodified, against both profiles: what tests/server does not need for its own ends."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from array import array
from collections.abc import Callable, Iterator

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture(scope="module")
def schema(server: SandboxProcess) -> SandboxProcess:
    with server.connect("app", "app") as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number(10) primary key, v varchar2(200))")
        cursor.executemany("insert into t values (:1, :2)", [(n, f"v{n}") for n in range(300)])
        connection.commit()
    return server


@pytest.fixture
def connection(schema: SandboxProcess) -> Iterator[oracledb.Connection]:
    with contextlib.closing(schema.connect("app", "app")) as connection:
        yield connection


@pytest.fixture
def cursor(connection: oracledb.Connection) -> oracledb.Cursor:
    return connection.cursor()


# ---- logon -------------------------------------------------------------------------------------------------------------------


def logon_error(server: SandboxProcess, **arguments: object) -> str:
    wanted: dict[str, object] = {"user": "app", "password": "app", "dsn": server.dsn} | arguments
    with pytest.raises(oracledb.Error) as caught:
        oracledb.connect(**wanted)
    return str(caught.value)


def test_a_proxy_user_works_as_the_user_who_allows_it(schema: SandboxProcess) -> None:
    with schema.connect() as admin, admin.cursor() as cursor:
        cursor.execute("create user proxy identified by p")
        cursor.execute("grant create session to proxy")
        proxy = {"user": "proxy[app]", "password": "p"}
        assert "ORA-28150" in logon_error(schema, **proxy)
        cursor.execute("alter user app grant connect through proxy")
        with oracledb.connect(dsn=schema.dsn, **proxy) as connection, connection.cursor() as found:
            found.execute("select user, sys_context('USERENV', 'PROXY_USER'), count(*) from t")
            assert found.fetchall() == [("APP", "PROXY", 300)]
        assert "ORA-01017" in logon_error(schema, user="proxy[app]", password="app"), "the password is the proxy's"
        assert "ORA-28150" in logon_error(schema, user="proxy[system]", password="p")
        cursor.execute("alter user app revoke connect through proxy")
        assert "ORA-28150" in logon_error(schema, **proxy)
        with pytest.raises(oracledb.Error, match="ORA-01918"):
            cursor.execute("alter user app grant connect through unknown_user")
        with pytest.raises(oracledb.Error, match="ORA-03001"):
            cursor.execute("alter user app grant connect through proxy with role resource")
        cursor.execute("drop user proxy")


def test_logons_are_refused_with_oracles_codes(schema: SandboxProcess) -> None:
    where = f"{schema.host}:{schema.port}"
    assert "ORA-01017" in logon_error(schema, password="wrong")
    assert "ORA-01017" in logon_error(schema, user="unknown")
    assert "ORA-01017" in logon_error(schema, mode=oracledb.AUTH_MODE_SYSDBA)
    assert "ORA-03001" in logon_error(schema, mode=oracledb.AUTH_MODE_SYSOPER)
    assert "ORA-28150" in logon_error(schema, user="system[app]", password="oracle")
    assert "ORA-38802" in logon_error(schema, edition="other")
    assert "ORA-03001" in logon_error(schema, appcontext=[("CLIENTCONTEXT", "k", "v")])
    assert "ORA-12514" in logon_error(schema, dsn=f"{where}/nowhere")
    assert "ORA-12505" in logon_error(schema, dsn=None, host=schema.host, port=schema.port, sid="nowhere")


def test_a_refused_logon_does_not_change_the_password(schema: SandboxProcess) -> None:
    where = f"{schema.host}:{schema.port}"
    with schema.connect() as admin, admin.cursor() as cursor:
        cursor.execute("create user renewing identified by first")
        change = {"user": "renewing", "password": "first", "newpassword": "second"}
        assert "ORA-01045" in logon_error(schema, **change)
        cursor.execute("grant create session to renewing")
        cursor.execute("alter user renewing account lock")
        assert "ORA-28000" in logon_error(schema, **change)
        cursor.execute("alter user renewing account unlock")
        assert "ORA-38802" in logon_error(schema, edition="other", **change)
        assert "ORA-12514" in logon_error(schema, dsn=f"{where}/nowhere", **change)
        assert "ORA-28150" in logon_error(schema, **change | {"user": "renewing[app]"})
        schema.connect("renewing", "first").close()
        oracledb.connect(dsn=schema.dsn, **change).close()
    schema.connect("renewing", "second").close()


@pytest.mark.parametrize("suffix", [":pooled", ":shared"])
def test_pooled_servers_are_not_there(schema: SandboxProcess, suffix: str) -> None:
    assert "ORA-12520" in logon_error(schema, dsn=schema.dsn + suffix)


def test_sysdba_is_for_sys(schema: SandboxProcess) -> None:
    with oracledb.connect(user="sys", password="oracle", dsn=schema.dsn, mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        assert connection.cursor().execute("select user from dual").fetchone() == ("SYS",)
    with pytest.raises(oracledb.DatabaseError, match="ORA-28009"):
        oracledb.connect(user="sys", password="oracle", dsn=schema.dsn)


def test_passwords_change_lock_and_expire(schema: SandboxProcess) -> None:
    schema.create_user("keys")
    with schema.connect("keys", "keys") as connection:
        with pytest.raises(oracledb.DatabaseError, match="ORA-28008"):
            connection.changepassword("wrong", "second")
        connection.changepassword("keys", "second")
        assert connection.cursor().execute("select 1 from dual").fetchone() == (1,)
    assert "ORA-01017" in logon_error(schema, user="keys", password="keys")
    with schema.connect() as admin, admin.cursor() as cursor:
        cursor.execute("alter user keys password expire")
        assert "ORA-28001" in logon_error(schema, user="keys", password="second")
        oracledb.connect(user="keys", password="second", newpassword="third", dsn=schema.dsn).close()
        schema.connect("keys", "third").close()
        cursor.execute("alter user keys account lock")
        assert "ORA-28000" in logon_error(schema, user="keys", password="third")
        cursor.execute("alter user keys account unlock")
    schema.connect("keys", "third").close()


# ---- statements --------------------------------------------------------------------------------------------------------------


def test_ref_cursor_and_implicit_results(connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
    opened = connection.cursor()
    cursor.execute("begin open :1 for select id, v from t where id < :2 order by id; end;", [opened, 150])
    assert opened.fetchall() == [(n, f"v{n}") for n in range(150)]
    cursor.execute(
        "declare a sys_refcursor; b sys_refcursor; n number := 2; begin open a for select id from t where id < n order by id; "
        "dbms_sql.return_result(a); open b for 'select v from t where id = 7'; dbms_sql.return_result(b); end;"
    )
    assert [list(result) for result in cursor.getimplicitresults()] == [[(0,), (1,)], [("v7",)]]


def test_select_into_binds(cursor: oracledb.Cursor) -> None:
    name, count = cursor.var(str), cursor.var(int)
    cursor.execute("begin select max(v), count(*) into :n, :c from t where id < :top; end;", n=name, c=count, top=5)
    assert (name.getvalue(), count.getvalue()) == ("v4", 5)
    with pytest.raises(oracledb.DatabaseError, match="ORA-01403"):
        cursor.execute("begin select v into :n from t where id < 0; end;", n=name)
    with pytest.raises(oracledb.DatabaseError, match="ORA-01422"):
        cursor.execute("begin select v into :n from t; end;", n=name)


def test_parse_describes_without_running(cursor: oracledb.Cursor) -> None:
    cursor.parse("select id, v from t where id = :1")
    assert [column.name for column in cursor.description or ()] == ["ID", "V"]
    with pytest.raises(oracledb.DatabaseError, match="ORA-00904"):
        cursor.parse("select nope from t")


def test_binds_by_name_may_repeat(cursor: oracledb.Cursor) -> None:
    rows = cursor.execute("select id from t where id = :a or id = :b or v = 'v' || :a order by id", a=1, b=2).fetchall()
    assert rows == [(1,), (2,)]


@pytest.mark.parametrize("prefetch", [0, 1, 2, 299, 300, 301])
@pytest.mark.parametrize("arraysize", [1, 100, 1000])
def test_prefetch_and_array_sizes(cursor: oracledb.Cursor, prefetch: int, arraysize: int) -> None:
    cursor.prefetchrows, cursor.arraysize = prefetch, arraysize
    assert cursor.execute("select id from t order by id").fetchall() == [(n,) for n in range(300)]


def test_more_statements_than_the_cache_keeps(connection: oracledb.Connection) -> None:
    for number in range(100):
        assert connection.cursor().execute(f"select {number} from dual").fetchone() == (number,)


def test_intervals_row_ids_and_booleans(cursor: oracledb.Cursor) -> None:
    span, months = dt.timedelta(days=-1, seconds=5, microseconds=7), oracledb.IntervalYM(3, 2)
    assert cursor.execute("select :1, :2 from dual", [span, months]).fetchone() == (span, months)
    (row_id,) = cursor.execute("select rowid from t where id = 8").fetchone() or (None,)
    assert cursor.execute("select id from t where rowid = :1", [row_id]).fetchall() == [(8,)]


def test_end_to_end_attributes(connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
    connection.module, connection.action, connection.client_identifier = "mod", "act", "me"
    connection.clientinfo, connection.dbop = "info", "op"
    sql = "select sys_context('userenv', 'module'), sys_context('userenv', 'action'), sys_context('userenv', 'client_info') from dual"
    assert cursor.execute(sql).fetchone() == ("mod", "act", "info")


def test_session_facts(connection: oracledb.Connection) -> None:
    assert (connection.service_name, connection.transaction_in_progress) == ("orclpdb1", False)
    assert connection.max_identifier_length == 128
    connection.cursor().execute("insert into t values (1000, 'x')")
    assert connection.transaction_in_progress
    connection.rollback()
    assert not connection.transaction_in_progress


# ---- what is refused ---------------------------------------------------------------------------------------------------------


def _scroll(connection: oracledb.Connection) -> None:
    cursor = connection.cursor(scrollable=True)
    cursor.execute("select id from t")
    cursor.scroll(mode="last")


def _file(connection: oracledb.Connection) -> object:
    (file,) = connection.cursor().execute("select bfilename('D', 'f') from dual").fetchone()
    return file


def _scroll_with_binds(connection: oracledb.Connection) -> None:
    connection.cursor(scrollable=True).execute("select id from t where v <> :1", ["x" * 4000])


def _begin_with_the_next_call(connection: oracledb.Connection) -> None:
    connection.begin_sessionless_transaction(defer_round_trip=True)
    # The call that it rides on takes several packets.
    connection.cursor().executemany("insert into t values (:1, :2)", [(n, "x" * 200) for n in range(5000, 6000)])


def _bind(connection: oracledb.Connection, kind: oracledb.DbType, rows: list[tuple[object, ...]]) -> None:
    cursor = connection.cursor()
    cursor.setinputsizes(kind)
    cursor.executemany("insert into t (id) values (:1)", rows)


def _array(connection: oracledb.Connection, kind: oracledb.DbType, values: list[object]) -> None:
    cursor = connection.cursor()
    cursor.execute("begin dbms_output.put_line(:1); end;", [cursor.arrayvar(kind, values)])


_REFUSED: dict[str, Callable[[oracledb.Connection], object]] = {
    "scrollable cursors": _scroll,
    "distributed": lambda connection: connection.tpc_begin(connection.xid(1, "a", "b")),
    "sessionless": lambda connection: connection.begin_sessionless_transaction(),
    "direct path": lambda connection: connection.direct_path_load("APP", "T", ["ID", "V"], [(5000, "a")]),
    "Advanced Queuing": lambda connection: connection.queue("q").enqone(connection.msgproperties(payload=b"x")),
}
_REFUSED_SO: dict[str, tuple[str, Callable[[oracledb.Connection], object]]] = {
    "scrollable cursor with binds": ("ORA-03001", _scroll_with_binds),
    "sessionless begin with the next call": ("ORA-03001", _begin_with_the_next_call),
    "rows of BFILE": ("ORA-00932", lambda c: _bind(c, oracledb.DB_TYPE_BFILE, [(_file(c),)] * 3)),
    "rows of VECTOR": ("ORA-00932", lambda c: _bind(c, oracledb.DB_TYPE_VECTOR, [(array("f", [1, 2]),)] * 3)),
    "array of BFILE": ("ORA-03001", lambda c: _array(c, oracledb.DB_TYPE_BFILE, [_file(c)] * 3)),
    "array of VECTOR": ("ORA-03001", lambda c: _array(c, oracledb.DB_TYPE_VECTOR, [array("f", [1, 2])] * 3)),
    "objects": ("ORA-03115", lambda c: _bind(c, oracledb.DB_TYPE_XMLTYPE, [(None,)] * 3)),
}


@pytest.mark.parametrize("feature", _REFUSED)
def test_what_is_not_there_is_refused_and_the_session_goes_on(connection: oracledb.Connection, feature: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match=f"ORA-03001: unimplemented feature: .*{feature}"):
        _REFUSED[feature](connection)
    assert connection.cursor().execute("select 1 from dual").fetchone() == (1,)


@pytest.mark.parametrize("what", _REFUSED_SO)
def test_binds_that_cannot_be_used_leave_the_connection_up(connection: oracledb.Connection, what: str) -> None:
    code, call = _REFUSED_SO[what]
    with pytest.raises(oracledb.DatabaseError, match=code):
        call(connection)
    assert connection.cursor().execute("select count(*) from t").fetchone() == (300,)


def test_a_clob_is_returned_into_a_long_variable(connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
    cursor.execute("create table documents (id number, c clob)")
    variable = cursor.var(oracledb.DB_TYPE_LONG)
    cursor.execute("insert into documents values (1, 'text') returning c into :1", [variable])
    assert variable.getvalue() == ["text"]
    assert cursor.execute("select count(*) from documents").fetchone() == (1,)
    cursor.execute("drop table documents purge")


def test_a_killed_session_does_not_answer_a_ping(schema: SandboxProcess, connection: oracledb.Connection) -> None:
    sql = "select sys_context('userenv', 'sid'), (select serial# from v$session where sid = sys_context('userenv', 'sid')) from dual"
    sid, serial = connection.cursor().execute(sql).fetchone()
    with schema.connect() as administrator:
        administrator.cursor().execute(f"alter system kill session '{sid},{serial}'")
    with pytest.raises(oracledb.DatabaseError, match="ORA-00028"):
        connection.ping()
    assert not connection.is_healthy()


# ---- pools, asyncio, pipelines -----------------------------------------------------------------------------------------------


def test_pool_keeps_the_state_of_its_sessions(schema: SandboxProcess) -> None:
    def prepare(connection: oracledb.Connection, _tag: str) -> None:
        connection.cursor().execute("alter session set nls_date_format = 'YYYY'")

    pool = oracledb.create_pool(
        user="app", password="app", dsn=schema.dsn, min=1, max=2, session_callback=prepare, ping_interval=0
    )
    for _ in range(3):
        with pool.acquire() as connection:
            sql = "select to_char(date '2024-02-29') from dual"
            assert connection.cursor().execute(sql).fetchone() == ("2024",)
    pool.close()


def test_asyncio_and_pipeline(schema: SandboxProcess) -> None:
    async def work() -> list[object]:
        async with oracledb.connect_async(user="app", password="app", dsn=schema.dsn) as connection:
            with connection.cursor() as cursor:
                opened = connection.cursor()
                await cursor.execute("begin open :1 for select id from t where id < 3 order by id; end;", [opened])
                rows = await opened.fetchall()
            pipeline = oracledb.create_pipeline()
            pipeline.add_execute("insert into t values (:1, 'p')", [2000])
            pipeline.add_fetchall("select v from t where id = 2000")
            pipeline.add_execute("nonsense")
            pipeline.add_fetchone("select count(*) from t")
            results = await connection.run_pipeline(pipeline, continue_on_error=True)
            await connection.rollback()
            error = results[2].error
            return [rows, results[1].rows, error and error.full_code, results[3].rows]

    assert asyncio.run(asyncio.wait_for(work(), 20)) == [[(0,), (1,), (2,)], [("p",)], "ORA-00900", [(301,)]]


def test_async_cancel(schema: SandboxProcess) -> None:
    async def work() -> object:
        async with oracledb.connect_async(user="app", password="app", dsn=schema.dsn) as connection:
            connection.call_timeout = 300
            with pytest.raises(oracledb.DatabaseError, match="DPY-4024"):
                await connection.fetchall(
                    "select count(*) from v$parameter a, v$parameter b, v$parameter c, v$parameter d, v$parameter e, v$parameter f, v$parameter g, v$parameter h"
                )
            connection.call_timeout = 0
            return await connection.fetchone("select 9 from dual")

    assert asyncio.run(asyncio.wait_for(work(), 20)) == (9,)


# ---- what the server says of its work ------------------------------------------------------------------------------------------


def test_the_current_schema_is_reported(connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
    cursor.execute("alter session set current_schema = system")
    assert connection.current_schema == "SYSTEM"
    cursor.execute("begin execute immediate 'alter session set current_schema = app'; end;")
    assert connection.current_schema == "APP"


@pytest.mark.parametrize(
    ("statement", "rows", "counts"),
    [
        ("insert into t values (:1, :2)", [(5000, "a"), (5001, "b"), (5002, "x" * 300), (5003, "d")], [1, 1]),
        ("update t set v = :2 where id < :1", [("a", 3), ("b", 2), ("x" * 300, 1)], [3, 2]),
        (
            "merge into t using dual on (id = :1) when matched then update set v = :2 when not matched then insert values (:1, :2)",
            [(1, "a", "a"), (5000, "b", "b"), (5001, "c", "x" * 300), (5002, "d", "d")],
            [1, 1],
        ),
    ],
)
def test_rows_before_the_one_that_fails_are_counted(
    connection: oracledb.Connection,
    cursor: oracledb.Cursor,
    statement: str,
    rows: list[tuple[object, ...]],
    counts: list[int],
) -> None:
    if "merge" in statement:
        rows = [(key, first, key, second) for key, first, second in rows]
    with pytest.raises(oracledb.DatabaseError, match="ORA-12899"):
        cursor.executemany(statement, rows, arraydmlrowcounts=True)
    assert (cursor.rowcount, cursor.getarraydmlrowcounts()) == (sum(counts), counts)
    connection.rollback()
    cursor.executemany(statement, rows, batcherrors=True)
    errors = cursor.getbatcherrors() or []
    assert [(error.offset, error.full_code) for error in errors] == [(2, "ORA-12899")]
    connection.rollback()


def test_executemany_of_a_block_says_which_row_failed(connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
    with pytest.raises(oracledb.DatabaseError) as caught:
        cursor.executemany("begin insert into t values (:1, 'a'); end;", [(5000,), (5001,), (5000,), (5002,)])
    assert (caught.value.args[0].full_code, caught.value.args[0].offset) == ("ORA-00001", 2)
    connection.rollback()
