"""DBMS_ALERT and DBMS_SCHEDULER between sessions, and stored programs after a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import BindType, OraError, OraType
from minercdc_sandbox.server import sandbox_database


@pytest.fixture
def db() -> Iterator[SandboxDatabase]:
    made = sandbox_database()
    yield made
    made.close()


def wait_for(client: SqlClient, name: str, seconds: float) -> tuple[object, int]:
    """Message and status of WAITONE."""
    types = [BindType(OraType.VARCHAR2, 2000), BindType(OraType.NUMBER, 22)]
    block = f"begin dbms_alert.waitone('{name}', :message, :status, {seconds}); end;"
    out = client.session.execute(block, types, [(None, None)]).out
    return out[0], 0 if out[1] == b"\x80" else 1


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_alert_comes_with_the_commit_and_not_with_a_rollback(db: SandboxDatabase) -> None:
    one, two = connect(db), connect(db)
    two.run("begin dbms_alert.register('beep'); end;")
    one.run("begin dbms_alert.signal('Beep', 'lost'); end;")
    one.run("rollback")
    assert wait_for(two, "beep", 0) == (None, 1)
    one.run("begin dbms_alert.signal('beep', 'first'); end;")
    assert wait_for(two, "beep", 0) == (None, 1), "it is not committed"
    one.run("commit")
    one.run("begin dbms_alert.signal('beep', 'last'); end;")
    one.run("commit")
    assert wait_for(two, "beep", 0) == ("last", 0), "the last message stands"
    assert wait_for(two, "beep", 0) == (None, 1)
    two.run("begin dbms_alert.remove('beep'); end;")
    assert "ORU-10024" in str(
        two.fails(20000, "declare n varchar2(30); m varchar2(30); s number; begin dbms_alert.waitany(n, m, s, 0); end;")
    )


def test_who_signals_the_same_alert_waits_for_the_commit_of_the_other(db: SandboxDatabase) -> None:
    one, two = connect(db), connect(db)
    one.run("begin dbms_alert.signal('beep', 'x'); end;")
    done = threading.Event()

    def signal() -> None:
        two.run("begin dbms_alert.signal('beep', 'y'); end;")
        done.set()

    thread = threading.Thread(target=signal)
    thread.start()
    assert not done.wait(0.3)
    one.run("commit")
    assert done.wait(10)
    thread.join()


def test_a_savepoint_takes_a_signal_back(db: SandboxDatabase) -> None:
    one, two = connect(db), connect(db)
    one.run("create table t (n number)")
    two.run("begin dbms_alert.register('beep'); end;")
    one.run("insert into t values (1)")
    one.run("savepoint s")
    one.run("insert into t values (2)")
    one.run("begin dbms_alert.signal('beep', 'x'); end;")
    one.run("rollback to s")
    one.run("commit")
    assert wait_for(two, "beep", 0) == (None, 1)


def test_a_savepoint_takes_a_signal_back_that_was_raised_alone(db: SandboxDatabase) -> None:
    one, two = connect(db), connect(db)
    one.run("create table t (n number)")
    for name in ("before", "since"):
        two.run(f"begin dbms_alert.register('{name}'); end;")
    one.run("insert into t values (1)")
    one.run("begin dbms_alert.signal('before', 'x'); end;")
    one.run("savepoint s")
    one.run("begin dbms_alert.signal('since', 'x'); end;")
    one.run("rollback to s")
    one.run("commit")
    assert wait_for(two, "since", 0) == (None, 1)
    assert wait_for(two, "before", 0) == ("x", 0)


@pytest.mark.parametrize(
    "call",
    [
        "dbms_alert.register('x')",
        "dbms_alert.remove('x')",
        "dbms_alert.removeall",
        "dbms_alert.waitone('x', m, s, 0)",
        "dbms_scheduler.create_job('J2', 'PLSQL_BLOCK', 'null;')",
        "dbms_scheduler.enable('J')",
        "dbms_scheduler.disable('J')",
        "dbms_scheduler.drop_job('J')",
    ],
)
def test_what_commits_is_refused_in_a_trigger(db: SandboxDatabase, call: str) -> None:
    one = connect(db)
    one.run("create table t (n number)")
    one.run("begin dbms_scheduler.create_job('J', 'PLSQL_BLOCK', 'begin null; end;'); end;")
    one.run(f"create trigger g before insert on t for each row declare m varchar2(30); s number; begin {call}; end;")
    one.fails(4092, "insert into t select level from dual connect by level < 3")
    one.run("rollback")
    assert one.rows("select * from t") == []


def test_jobs_run_as_their_owner_and_as_often_as_they_are_to(db: SandboxDatabase) -> None:
    one = connect(db)
    one.run("create table t (who varchar2(30))")
    one.run(
        "begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'begin insert into t values (user); end;',"
        " repeat_interval => 'FREQ=SECONDLY;INTERVAL=1', enabled => true); end;"
    )
    until(lambda: one.one("select count(*) from t") >= 2)
    one.run("begin dbms_scheduler.disable('j'); end;")
    until(lambda: one.rows("select state from user_scheduler_jobs") == [("DISABLED",)])
    count = one.one("select count(*) from t")
    time.sleep(1.3)  # more than the job's interval
    assert one.one("select count(*) from t") == count
    assert one.rows("select distinct who from t") == [("SHOP",)]
    one.fails(27477, "begin dbms_scheduler.create_job('j', 'PLSQL_BLOCK', 'begin null; end;'); end;")
    one.fails(3001, "begin dbms_scheduler.create_job('k', 'EXECUTABLE', 'x'); end;")
    one.fails(
        3001,
        "begin dbms_scheduler.create_job('k', 'PLSQL_BLOCK', 'begin null; end;', repeat_interval => 'SYSTIMESTAMP + 1'); end;",
    )
    one.fails(27475, "begin dbms_scheduler.enable('k'); end;")
    one.run("begin dbms_scheduler.run_job('j'); end;")
    assert one.one("select count(*) from t") == count + 1
    one.run("begin dbms_scheduler.drop_job('j', force => true); end;")
    assert one.rows("select * from user_scheduler_jobs") == []


def test_a_job_that_fails_is_counted_and_runs_again(db: SandboxDatabase) -> None:
    one = connect(db)
    one.run(
        "begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'begin nothing_here; end;',"
        " repeat_interval => 'FREQ=SECONDLY', enabled => true); end;"
    )
    until(lambda: one.one("select failure_count from user_scheduler_jobs") >= 2)


def test_programs_triggers_and_jobs_outlast_the_server(tmp_path: Path) -> None:
    first = sandbox_database(data_dir=tmp_path)
    one = connect(first)
    one.run("create table t (id number, v number)")
    one.run("create package p as function f return number; end;")
    one.run("create package body p as n number := 41; function f return number is begin n := n + 1; return n; end; end;")
    one.run("create trigger trg before insert on t for each row begin :new.v := p.f; end;")
    one.run("alter trigger trg disable")
    one.run("alter trigger trg enable")
    one.run(
        "begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'begin insert into t (id) values (0); end;',"
        " repeat_interval => 'FREQ=SECONDLY', enabled => true); end;"
    )
    one.run("insert into t (id) values (1)")
    one.run("commit")
    first.close()
    second = sandbox_database(data_dir=tmp_path)
    try:
        two = connect(second)
        two.run("insert into t (id) values (2)")
        assert two.rows("select v from t where id = 2") == [(42,)], "the state of a package is its session's"
        until(lambda: two.one("select run_count from user_scheduler_jobs") >= 1)
        assert two.rows("select object_type, status from user_objects where object_name in ('P', 'TRG') order by 1") == [
            *(("PACKAGE", "VALID"), ("PACKAGE BODY", "VALID"), ("TRIGGER", "VALID")),
        ]
    finally:
        second.close()


def test_a_job_that_has_ended_does_not_run_again_with_the_next_server(tmp_path: Path) -> None:
    create = (
        "begin dbms_scheduler.create_job(job_name => '{}', job_type => 'PLSQL_BLOCK', job_action => 'begin {} end;', enabled => {},"
        " auto_drop => false); end;"
    )
    first = sandbox_database(data_dir=tmp_path)
    one = connect(first)
    one.run(create.format("once", "null;", "true"))
    one.run(create.format("mine", "null;", "false"))
    one.run("begin dbms_scheduler.run_job('mine'); end;")
    until(lambda: one.one("select run_count from user_scheduler_jobs where job_name = 'ONCE'") == 1)
    first.catalog.containers[3].jobs["SHOP", "MINE"].running = True  # as a kill during its run leaves it
    first.close()
    second = sandbox_database(data_dir=tmp_path)
    try:
        two = connect(second)
        found = two.rows("select job_name, enabled, run_count from user_scheduler_jobs order by 1")
        assert found == [("MINE", "FALSE", 1), ("ONCE", "FALSE", 1)]
        two.run("begin dbms_scheduler.drop_job('mine'); end;")
    finally:
        second.close()


def test_alerts_have_to_be_granted_directly_to_the_owner_of_a_program(db: SandboxDatabase) -> None:
    admin = connect(db, "SYSTEM")
    admin.run('create user lone identified by "x1"')
    admin.run("grant create session, create procedure, execute_catalog_role to lone")
    lone = connect(db, "LONE")
    lone.run("begin dbms_alert.signal('x', 'y'); end;")
    with pytest.raises(OraError, match="PLS-00201"):
        lone.run("create procedure beep is begin dbms_alert.signal('x', 'y'); end;")
    admin.run("grant execute on dbms_alert to lone")
    lone.run("create procedure beep is begin dbms_alert.signal('x', 'y'); end;")
