"""The sandbox as its users start it: a process, a port, seeds, signals."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


def test_version_and_first_query(sandbox: SandboxProcess) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        assert connection.version.startswith("23.")
        assert cursor.execute("select 1 as one from dual").fetchall() == [(1,)]


def test_unknown_service_user_and_password(sandbox: SandboxProcess) -> None:
    with pytest.raises(oracledb.DatabaseError, match="DPY-6001"):
        sandbox.connect(service="elsewhere")
    for user, password in (("system", "wrong"), ("unknown", "oracle")):
        with pytest.raises(oracledb.DatabaseError, match="ORA-01017"):
            sandbox.connect(user, password)


def test_a_second_server_on_the_port_says_so(sandbox: SandboxProcess) -> None:
    command = [sys.executable, "-m", "minercdc_sandbox", "--port", str(sandbox.port)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"cannot listen on 127.0.0.1:{sandbox.port}: ")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""


def test_a_port_that_there_is_not_is_refused() -> None:
    command = [sys.executable, "-m", "minercdc_sandbox", "--port", "70000"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr.splitlines()[-1][-36:]) == (2, "--port: 70000 is no port: 0 to 65535")


@pytest.mark.parametrize(("name", "content"), [("data", ""), ("rows.db", "no database " * 100)], ids=["file", "damaged"])
def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    directory = tmp_path / name if name == "data" else tmp_path
    command = [sys.executable, "-m", "minercdc_sandbox", "--port", "0", "--data", str(directory)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"the data directory {directory} cannot be used: ")
    assert len(ended.stderr.splitlines()) == 1


def test_seeds_run_before_ready_and_sigterm_ends_cleanly(tmp_path: Path) -> None:
    seed = tmp_path / "seed.sql"
    seed.write_text(
        "-- a user's tables\ncreate user app identified by app;\ngrant connect, resource, unlimited tablespace to app;\n"
        "connect app/app@orclpdb1\ncreate table t (id number primary key, v varchar2(20));\n"
        "insert into t values (1, 'semi; colon');\nbegin\n  null;\nend;\n/\ninsert into t\n  values (2, 'it''s');\n"
    )
    running = SandboxProcess([seed])
    with running.connect("app", "app") as connection, connection.cursor() as cursor:
        assert cursor.execute("select * from t order by id").fetchall() == [(1, "semi; colon"), (2, "it's")]
        cursor.execute("insert into t values (3, 'open')")
        assert running.stop() == (0, "")


def test_sigterm_ends_running_calls_too() -> None:
    running = SandboxProcess()

    def work(connection: oracledb.Connection, statement: str) -> None:
        with contextlib.suppress(oracledb.Error), connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            cursor.fetchall()

    parameters = ", ".join(f"v$parameter p{n}" for n in range(9))
    with running.connect() as holder:
        holder.cursor().execute("create table locked (id number)")
        holder.cursor().execute("insert into locked values (1)")
        holder.commit()
        holder.cursor().execute("update locked set id = 2")
        statements = (f"select count(*) from {parameters}", "update locked set id = 3")
        busy = [threading.Thread(target=work, args=(running.connect(), statement)) for statement in statements]
        for thread in busy:
            thread.start()
        time.sleep(0.3)  # in which both begin
        begun = time.monotonic()
        assert running.stop() == (0, "")
        assert time.monotonic() - begun < 30  # they would not end by themselves
        for thread in busy:
            thread.join(5)
        assert not any(thread.is_alive() for thread in busy)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("create user app identified by app;\n\ninsert into nowhere values (1);\n", "3: ORA-00942"),
        (
            "create table p (id number primary key);\ncreate table c (p number references p initially deferred);\ninsert into c values (1);\n",
            "3: ORA-02091",
        ),
    ],
    ids=["statement", "COMMIT at the end"],
)
def test_a_failing_seed_is_one_error(tmp_path: Path, script: str, error: str) -> None:
    seed = tmp_path / "seed.sql"
    seed.write_text(script)
    command = [sys.executable, "-m", "minercdc_sandbox", "--port", "0", "--seed", str(seed)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    first, *others = ended.stderr.splitlines()
    assert first.startswith(f"{seed}:{error}")
    assert all(line.startswith("ORA-") for line in others)


def test_19c_profile() -> None:
    running = SandboxProcess([], "--profile", "19c")
    try:
        with running.connect() as connection, connection.cursor() as cursor:
            assert connection.version.startswith("19.")
            ((version,),) = cursor.execute("select version from v$instance").fetchall()
            assert version == "19.0.0.0.0"
    finally:
        assert running.stop() == (0, "")
