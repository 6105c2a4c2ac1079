"""The physical standby that DBMS_SANDBOX.OPEN_STANDBY adds: read only, as far as its redo is applied, for LogMiner without a dictionary."""

from __future__ import annotations

import oracledb
import pytest
from sandbox.tests.server.in_process import connect

from minercdc_sandbox.server import ROOT_SERVICE, SandboxServer
from minercdc_sandbox.standby import SERVICE

_ADD = "begin dbms_logmnr.add_logfile(:name, dbms_logmnr.new); end;"
_START = "begin dbms_logmnr.start_logmnr(options => {}); end;"
_ROLE = "select database_role, open_mode, current_scn from v$database"
_NEWEST = "select name, next_change#, applied from v$archived_log order by sequence# desc fetch first 1 row only"


@pytest.fixture
def primary(server: SandboxServer) -> oracledb.Cursor:
    cursor = connect(server, ROOT_SERVICE).cursor()
    cursor.execute("alter database add supplemental log data")
    cursor.execute("create table item (id number, name varchar2(9))")
    cursor.callproc("dbms_sandbox.open_standby")
    return cursor


def _one(cursor: oracledb.Cursor, sql: str) -> tuple[object, ...]:
    row: tuple[object, ...] = cursor.execute(sql).fetchone()
    return row


def _insert(cursor: oracledb.Cursor, number: int) -> None:
    cursor.execute(f"insert into item values ({number}, 'n{number}')")
    cursor.connection.commit()


def test_there_is_no_standby_before_it_is_opened(server: SandboxServer) -> None:
    with pytest.raises(oracledb.DatabaseError, match="6001|12514|not registered"):
        connect(server, SERVICE)


def test_a_log_is_applied_once_it_is_archived_unless_apply_is_stalled(
    server: SandboxServer, primary: oracledb.Cursor
) -> None:
    standby = connect(server, SERVICE).cursor()
    assert _one(primary, _ROLE)[:2] == ("PRIMARY", "READ WRITE")
    _insert(primary, 1)
    primary.execute("alter system switch logfile")
    _, end, applied = _one(standby, _NEWEST)
    assert applied == "YES"
    assert _one(standby, _ROLE) == ("PHYSICAL STANDBY", "READ ONLY WITH APPLY", int(str(end)) - 1)
    primary.callproc("dbms_sandbox.stall_apply")
    _insert(primary, 2)
    primary.execute("alter system switch logfile")
    assert _one(standby, _NEWEST)[2] == "NO"
    assert _one(standby, _ROLE) == ("PHYSICAL STANDBY", "READ ONLY", int(str(end)) - 1)
    assert standby.execute("select id from item").fetchall() == [(1,)], "queries see what is applied"
    primary.callproc("dbms_sandbox.resume_apply")
    assert _one(standby, _NEWEST)[2] == "YES"
    assert standby.execute("select id from item order by id").fetchall() == [(1,), (2,)]
    lags = dict(standby.execute("select name, value from v$dataguard_stats").fetchall())
    assert sorted(lags) == ["apply lag", "transport lag"]
    assert lags["apply lag"].startswith("+00 00:00:")
    assert primary.execute("select * from v$dataguard_stats").fetchall() == []


def test_with_real_time_apply_redo_is_applied_before_its_log_is_archived(
    server: SandboxServer, primary: oracledb.Cursor
) -> None:
    primary.callproc("dbms_sandbox.open_standby", [1])
    standby = connect(server, SERVICE).cursor()
    _insert(primary, 1)
    assert standby.execute("select id from item").fetchall() == [(1,)]
    primary.callproc("dbms_sandbox.stall_apply")
    _insert(primary, 2)
    primary.execute("alter system switch logfile")
    assert standby.execute("select id from item").fetchall() == [(1,)]
    assert _one(standby, _NEWEST)[2] == "NO"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("insert into item values (3, 'x')", 16000),
        ("begin delete from item; end;", 16000),
        ("create table more (n number)", 16000),
        ("begin dbms_logmnr_d.build(options => dbms_logmnr_d.store_in_redo_logs); end;", 16000),
        ("select * from v$thread", 3001),
        ("select * from v$log", 3001),
        ("select * from v$transaction", 3001),
    ],
)
def test_nothing_is_written_and_what_is_not_known_is_refused(
    server: SandboxServer, primary: oracledb.Cursor, sql: str, code: int
) -> None:
    standby = connect(server, SERVICE).cursor()
    standby.execute("alter session set nls_date_format = 'YYYY'")
    with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05}"):
        standby.execute(sql).fetchall()


@pytest.mark.parametrize("option", ["dict_from_online_catalog", "dict_from_redo_logs", "ddl_dict_tracking"])
def test_logminer_has_no_dictionary_there(server: SandboxServer, primary: oracledb.Cursor, option: str) -> None:
    _insert(primary, 1)
    primary.execute("alter system switch logfile")
    standby = connect(server, SERVICE).cursor()
    standby.execute(_ADD, {"name": _one(standby, _NEWEST)[0]})
    with pytest.raises(oracledb.DatabaseError, match="ORA-01300"):
        standby.execute(_START.format(f"dbms_logmnr.{option}"))
    standby.execute(_START.format("dbms_logmnr.no_rowid_in_stmt"))
    sql = "select seg_owner, sql_redo, src_con_id from v$logmnr_contents where operation = 'INSERT'"
    ((owner, redo, container),) = standby.execute(sql).fetchall()
    assert (owner, container) == ("UNKNOWN", 1)
    assert "(\"COL 1\",\"COL 2\") values (HEXTORAW('c102'),HEXTORAW('6e31'))" in redo
    (member,) = _one(primary, "select min(member) from v$logfile")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01284"):
        standby.execute(_ADD, {"name": member})


def test_a_switchover_exchanges_the_roles(server: SandboxServer, primary: oracledb.Cursor) -> None:
    primary.execute("alter system switch logfile")
    primary.callproc("dbms_sandbox.switch_over")
    assert _one(connect(server, SERVICE).cursor(), _ROLE)[:2] == ("PRIMARY", "READ WRITE")
    assert _one(connect(server, ROOT_SERVICE).cursor(), _ROLE)[:2] == ("PHYSICAL STANDBY", "READ ONLY WITH APPLY")
