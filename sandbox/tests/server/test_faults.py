"""Faults that a test causes with DBMS_SANDBOX: they happen to the call they name, and to nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import oracledb
import pytest
from sandbox.tests.server.mining_lab import add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture(scope="module")
def server(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("app")
    with sandbox.connect("app", "app") as connection:
        connection.cursor().execute("create table item (id number primary key)")
        connection.cursor().executemany("insert into item values (:1)", [(n,) for n in range(50)])
        connection.commit()
    return sandbox


@pytest.fixture
def faults(server: SandboxProcess) -> Iterator[oracledb.Cursor]:
    connection = server.connect()
    cursor = connection.cursor()
    yield cursor
    with server.connect() as cleaning:
        cleaning.cursor().execute("call dbms_sandbox.clear_faults()")
    with suppress(oracledb.Error):
        connection.close()


@pytest.fixture
def app(server: SandboxProcess) -> Iterator[oracledb.Connection]:
    connection = server.connect("app", "app")
    yield connection
    with suppress(oracledb.Error):
        connection.close()


def test_the_nth_matching_statement_fails_once(faults: oracledb.Cursor, app: oracledb.Connection) -> None:
    faults.execute("call dbms_sandbox.fail_call(1555, matching => 'from ITEM', nth => 2)")
    cursor = app.cursor()
    cursor.execute("select count(*) from item")
    cursor.execute("select 1 from dual")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01555"):
        cursor.execute("select count(*) from item")
    assert cursor.execute("select count(*) from item").fetchall() == [(50,)]


def test_a_fetch_fails_after_rows_have_come(faults: oracledb.Cursor, app: oracledb.Connection) -> None:
    faults.execute("begin dbms_sandbox.fail_call(code => 1089, at => 'fetch', matching => 'from item', nth => 3); end;")
    cursor = app.cursor()
    cursor.arraysize = cursor.prefetchrows = 5
    cursor.execute("select id from item order by id")
    assert len(cursor.fetchmany()) == 5
    with pytest.raises(oracledb.DatabaseError, match="ORA-01089"):
        cursor.fetchall()


def test_a_lost_connection_rolls_back(faults: oracledb.Cursor, app: oracledb.Connection, server: SandboxProcess) -> None:
    faults.execute("call dbms_sandbox.drop_connection(at => 'commit', username => 'app')")
    app.cursor().execute("insert into item values (100)")
    with pytest.raises(oracledb.DatabaseError, match="DPY-4011"):
        app.commit()
    with server.connect("app", "app") as other:
        deadline = time.monotonic() + 10
        while True:  # the server notices on its own time
            with suppress(oracledb.DatabaseError):
                other.cursor().execute("insert into item values (100)")
                other.rollback()
                break
            assert time.monotonic() < deadline


def test_connecting_can_fail(faults: oracledb.Cursor, server: SandboxProcess) -> None:
    faults.execute("call dbms_sandbox.fail_call(12528, at => 'connect', username => 'APP')")
    with pytest.raises(oracledb.DatabaseError, match="ORA-12528"):
        server.connect("app", "app")
    server.connect("app", "app").close()


def test_answers_can_be_late(faults: oracledb.Cursor, app: oracledb.Connection) -> None:
    faults.execute("call dbms_sandbox.delay_call(0.3, matching => 'slow')")
    began = time.monotonic()
    app.cursor().execute("select 'slow' from dual")
    assert time.monotonic() - began >= 0.3


def test_only_administrators_may_ask(app: oracledb.Connection) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-01031"):
        app.cursor().execute("call dbms_sandbox.clear_faults()")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01031"):
        app.cursor().execute("call dbms_sandbox.crash()")


@pytest.mark.parametrize("call", ["fail_call(0)", "fail_call(1, at => 'nowhere')", "purge_log(1, 999)", "hold_strand(1, 2)"])
def test_faults_that_make_no_sense_are_refused(faults: oracledb.Cursor, call: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-(20000|00308|06550)"):
        faults.execute(f"begin dbms_sandbox.{call}; end;")


def test_a_killed_session_hears_of_it(server: SandboxProcess, app: oracledb.Connection) -> None:
    app.cursor().execute("update item set id = -1 where id = 1")
    sid, serial = _identity(server, app)
    with server.connect() as system:
        cursor = system.cursor()
        cursor.execute(f"alter system kill session '{sid},{serial}' immediate")
        assert cursor.execute(f"select status from v$session where sid = {sid}").fetchall() == [("KILLED",)]
        with pytest.raises(oracledb.DatabaseError, match="ORA-00030"):
            cursor.execute("alter system kill session '9999,1'")
    with pytest.raises(oracledb.DatabaseError, match="ORA-00028"):
        app.cursor().execute("select 1 from dual")
    with server.connect("app", "app") as other:
        assert other.cursor().execute("select count(*) from item where id = -1").fetchall() == [(0,)]


def _identity(server: SandboxProcess, connection: oracledb.Connection) -> tuple[int, int]:
    ((sid,),) = connection.cursor().execute("select sys_context('userenv', 'sid') from dual").fetchall()
    with server.connect() as system:
        ((serial,),) = system.cursor().execute("select serial# from v$session where sid = :1", [sid]).fetchall()
    return int(sid), serial


def test_logs_are_purged_removed_and_corrupted(fresh_sandbox: SandboxProcess) -> None:
    with fresh_sandbox.connect() as system:
        cursor = system.cursor()
        fresh_sandbox.create_user("app")
        with fresh_sandbox.connect("app", "app") as app:
            app.cursor().execute("create table item (id number)")
            for _ in range(3):
                app.cursor().executemany("insert into item values (:1)", [(n,) for n in range(2000)])
                app.commit()
                cursor.execute("alter system switch logfile")
        logs = cursor.execute("select sequence#, name from v$archived_log order by 1").fetchall()
        cursor.execute("call dbms_sandbox.purge_log(1, :1)", [logs[0][0]])
        cursor.execute("call dbms_sandbox.remove_log(1, :1)", [logs[1][0]])
        cursor.execute("call dbms_sandbox.corrupt_log(1, :1)", [logs[2][0]])
        found = cursor.execute("select name, status, deleted from v$archived_log order by sequence#").fetchall()
        assert found == [(None, "D", "YES"), (logs[1][1], "A", "NO"), (logs[2][1], "A", "NO")]
    with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner:
        cursor = miner.cursor()
        with pytest.raises(oracledb.DatabaseError, match="ORA-01284"):
            cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [logs[1][1]])
        cursor.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [logs[2][1]])
        cursor.execute("begin dbms_logmnr.start_logmnr(options => dbms_logmnr.dict_from_online_catalog); end;")
        with pytest.raises(oracledb.DatabaseError, match="ORA-00353"):
            cursor.execute("select sql_redo from v$logmnr_contents").fetchall()


def test_a_strand_that_is_held_reaches_the_log_late(server: SandboxProcess) -> None:
    with server.connect() as system, server.connect("app", "app") as app, server.connect("app", "app") as other:
        cursor = system.cursor()
        cursor.execute("call dbms_sandbox.hold_strand('APP')")
        for number in range(1000, 1200):
            app.cursor().execute("insert into item values (:1)", [number])
        other.cursor().execute("insert into item values (2000)")
        other.commit()
        ((xid,),) = cursor.execute("select xid from v$transaction").fetchall()

        def mined() -> list[tuple[int]]:
            with server.connect("c##minercdc", "minercdc", server.root_service) as connection:
                mining = connection.cursor()
                add_all_logs(mining)
                start_mining(mining)
                mining.execute(f"select scn from v$logmnr_contents where xid = hextoraw('{xid.hex()}')")
                return list(mining)

        assert mined() == []
        cursor.execute("call dbms_sandbox.release_strand('APP')")
        late = mined()
        assert len(late) >= 200
        ((now,),) = cursor.execute("select current_scn from v$database").fetchall()
        assert late[0][0] < now - 200


def test_the_clock_jumps_and_the_scn_goes_on(server: SandboxProcess) -> None:
    with server.connect() as system:
        cursor = system.cursor()
        before = cursor.execute("select sysdate, current_scn from v$database").fetchone()
        cursor.execute("call dbms_sandbox.jump_clock(7200)")
        after = cursor.execute("select sysdate, current_scn from v$database").fetchone()
        cursor.execute("call dbms_sandbox.jump_clock(-7200)")
        back = cursor.execute("select sysdate, current_scn from v$database").fetchone()
    assert 7190 <= (after[0] - before[0]).total_seconds() <= 7210
    assert (back[0] - before[0]).total_seconds() < 10
    assert before[1] < after[1] < back[1]


def test_redo_threads_open_close_and_are_disabled(fresh_sandbox: SandboxProcess) -> None:
    with fresh_sandbox.connect() as system:
        cursor = system.cursor()
        cursor.execute("alter database enable public thread 2")
        fresh_sandbox.create_user("app")
        with fresh_sandbox.connect("app", "app", "ORCLPDB1_2") as second, fresh_sandbox.connect("app", "app") as first:
            first.cursor().execute("create table item (id number)")
            first.cursor().execute("insert into item values (1)")
            first.commit()
            second.cursor().execute("insert into item values (2)")
            second.commit()
            threads = "select thread#, status, enabled, instance from v$thread order by 1"
            assert cursor.execute(threads).fetchall() == [
                (1, "OPEN", "PUBLIC", "ORCLCDB"),
                (2, "OPEN", "PUBLIC", "ORCLCDB2"),
            ]
            with pytest.raises(oracledb.DatabaseError, match="ORA-01615"):
                cursor.execute("alter database disable thread 2")
            cursor.execute("call dbms_sandbox.close_thread(2)")
            with pytest.raises(oracledb.DatabaseError, match="ORA-00028"):
                second.cursor().execute("select 1 from dual")
        with pytest.raises(oracledb.DatabaseError, match="ORA-12514|DPY-6001"):
            fresh_sandbox.connect("app", "app", "ORCLPDB1_2")
        assert cursor.execute(threads).fetchall()[1][1:3] == ("CLOSED", "PUBLIC")
        cursor.execute("alter database disable thread 2")
        disabled = cursor.execute("select enabled, disable_change# from v$thread where thread# = 2").fetchone()
        assert disabled[0] == "DISABLED"
        assert disabled[1] > 0
        cursor.execute("alter database enable thread 2")
        assert cursor.execute(threads).fetchall()[1][1:3] == ("OPEN", "PRIVATE")
        changes = (
            "select thread#, sql_redo from v$logmnr_contents where operation_code = 1 and table_name = 'ITEM' order by 1"
        )
    with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner:
        cursor = miner.cursor()
        add_all_logs(cursor)
        start_mining(cursor, " + dbms_logmnr.no_rowid_in_stmt")
        assert cursor.execute(changes).fetchall() == [
            (1, """insert into "APP"."ITEM"("ID") values ('1');"""),
            (2, """insert into "APP"."ITEM"("ID") values ('2');"""),
        ]


def test_several_archive_destinations_and_members(fresh_sandbox: SandboxProcess) -> None:
    with fresh_sandbox.connect() as system:
        cursor = system.cursor()
        cursor.execute("alter system set log_archive_dest_3 = 'LOCATION=/backup/arch' scope=both")
        cursor.execute("alter database add logfile member '/mirror/redo01.log' to group 1")
        cursor.execute("alter system switch logfile")
        valid = "select dest_id, destination from v$archive_dest_status where status = 'VALID' order by 1"
        assert cursor.execute(valid).fetchall() == [(1, "/opt/oracle/archive"), (3, "/backup/arch")]
        copies = cursor.execute("select dest_id, sequence# from v$archived_log order by 1").fetchall()
        assert [dest for dest, _ in copies] == [1, 3]
        assert len({sequence for _, sequence in copies}) == 1
        assert cursor.execute("select members from v$log where group# = 1").fetchall() == [(2,)]
        assert len(cursor.execute("select member from v$logfile where group# = 1").fetchall()) == 2
        cursor.execute("alter system set log_archive_dest_3 = ''")
        with pytest.raises(oracledb.DatabaseError, match="ORA-16019"):
            cursor.execute("alter system set log_archive_dest_1 = ''")
