"""Calls of a real driver against the real database: waits, cancels, vanished clients, arrays, descriptions."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture(scope="module")
def owner(sandbox: SandboxProcess) -> str:
    sandbox.create_user("calls")
    with sandbox.connect("calls", "calls") as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number(10) primary key, v varchar2(4000))")
        cursor.execute("insert into t values (1, 'one')")
        connection.commit()
    return "calls"


def test_cancel_ends_a_wait_for_a_lock(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as holder, sandbox.connect(owner, owner) as waiter:
        holder.cursor().execute("update t set v = 'held' where id = 1")
        timer = threading.Timer(0.2, waiter.cancel)
        timer.start()
        with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
            waiter.cursor().execute("update t set v = 'mine' where id = 1")
        timer.join()
        waiter.call_timeout = 300
        with pytest.raises(oracledb.DatabaseError, match="DPY-4024"):
            waiter.cursor().execute("update t set v = 'mine' where id = 1")
        waiter.call_timeout = 0
        holder.rollback()
        cursor = waiter.cursor()
        cursor.execute("update t set v = 'mine' where id = 1")
        assert cursor.rowcount == 1
        waiter.rollback()


def test_cancel_ends_a_long_query(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection:
        cursor = connection.cursor()
        timer = threading.Timer(0.3, connection.cancel)
        timer.start()
        begun = time.monotonic()
        with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
            cursor.execute(
                "select count(*) from v$parameter a, v$parameter b, v$parameter c, v$parameter d, v$parameter e, v$parameter f, "
                "v$parameter g, v$parameter h, v$parameter i"
            ).fetchall()
        timer.join()
        assert time.monotonic() - begun < 60
        assert cursor.execute("select v from t where id = 1").fetchall() == [("one",)]


def test_a_killed_clients_locks_go_with_it(sandbox: SandboxProcess, owner: str) -> None:
    program = (
        "import oracledb, sys, time\n"
        f"c = oracledb.connect(user='{owner}', password='{owner}', dsn='{sandbox.dsn}')\n"
        "c.cursor().execute(\"update t set v = 'dead' where id = 1\")\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    client = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "held\n"
    os.kill(client.pid, signal.SIGKILL)
    client.communicate()
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        connection.call_timeout = 5000
        cursor.execute("update t set v = 'alive' where id = 1")
        connection.rollback()


def test_arrays_and_batch_errors(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute("create table arrays (id number primary key, v varchar2(4000))")
        rows = [(n, "w" * (n % 3000) or None) for n in range(6000)]
        cursor.executemany("insert into arrays values (:1, :2)", rows, arraydmlrowcounts=True)
        assert cursor.getarraydmlrowcounts() == [1] * 6000
        connection.commit()
        assert cursor.execute("select id, v from arrays order by id").fetchall() == rows
        cursor.executemany("insert into arrays values (:1, :2)", [(n, "x") for n in (7000, 1, 7001, 2)], batcherrors=True)
        assert [(e.code, e.offset) for e in cursor.getbatcherrors()] == [(1, 1), (1, 3)]
        assert cursor.rowcount == 2
        copies = "insert into arrays select id + 10000, v from arrays where id < :1"
        cursor.executemany(copies, [(2,), (3,), (1,)], batcherrors=True, arraydmlrowcounts=True)
        assert [(e.code, e.offset) for e in cursor.getbatcherrors()] == [(1, 1), (1, 2)]
        assert cursor.getarraydmlrowcounts() == [2, 0, 0]
        connection.rollback()
        with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):
            cursor.executemany("insert into arrays values (:1, :2)", [(8000, "x"), (1, "x")])
        cursor.executemany("delete from arrays where id = :1", [(n,) for n in (0, 99999, 1)], arraydmlrowcounts=True)
        assert cursor.getarraydmlrowcounts() == [1, 0, 1]
        connection.rollback()


def test_types_round_trip_with_their_descriptions(sandbox: SandboxProcess, owner: str) -> None:
    row = (
        7, Decimal("-42.125"), Decimal("12345678901234567890.5"), "Zo\u00eb", "ab ", dt.datetime(2026, 2, 28, 13, 45, 59),
        dt.datetime(2024, 1, 2, 3, 4, 5, 500000), b"\xca\xfe",
    )  # fmt: skip
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table kinds (id number(10) not null, q number(12,3), n number, v varchar2(20), c char(3), d date, "
            "t timestamp(6), r raw(16))"
        )
        cursor.setinputsizes(*[None] * 6, oracledb.DB_TYPE_TIMESTAMP, None)
        cursor.execute("insert into kinds values (:1, :2, :3, :4, :5, :6, :7, :8)", row)
        cursor.execute("insert into kinds (id) values (:id)", id=8)
        oracledb.defaults.fetch_decimals = True
        try:
            cursor.execute("select * from kinds order by id")
            assert cursor.fetchall() == [row, (8, *[None] * 7)]
        finally:
            oracledb.defaults.fetch_decimals = False
        described = [
            (d.name, d.type_code.name, d.internal_size, d.precision, d.scale, d.null_ok) for d in cursor.description or ()
        ]
        assert described == [
            ("ID", "DB_TYPE_NUMBER", None, 10, 0, False),
            ("Q", "DB_TYPE_NUMBER", None, 12, 3, True),
            ("N", "DB_TYPE_NUMBER", None, 0, -127, True),
            ("V", "DB_TYPE_VARCHAR", 20, None, None, True),
            ("C", "DB_TYPE_CHAR", 3, None, None, True),
            ("D", "DB_TYPE_DATE", None, None, None, True),
            ("T", "DB_TYPE_TIMESTAMP", None, 0, 6, True),
            ("R", "DB_TYPE_RAW", 16, None, None, True),
        ]
        connection.rollback()


def test_many_sessions_at_once(sandbox: SandboxProcess, owner: str) -> None:
    async def run() -> list[int]:
        pool = oracledb.create_pool_async(user=owner, password=owner, dsn=sandbox.dsn, min=2, max=10)

        async def one(number: int) -> int:
            async with pool.acquire() as connection:
                rows = await connection.fetchall("select :1 from dual", [number])
                return int(rows[0][0])

        try:
            return list(await asyncio.gather(*map(one, range(40))))
        finally:
            await pool.close()

    assert asyncio.run(run()) == list(range(40))


def test_error_position(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as connection, connection.cursor() as cursor:
        with pytest.raises(oracledb.DatabaseError) as caught:
            cursor.execute("select id, nothing from t")
        assert (caught.value.args[0].code, caught.value.args[0].offset) == (904, 11)


def test_for_update_of_a_join_locks_the_tables_it_names(sandbox: SandboxProcess, owner: str) -> None:
    with sandbox.connect(owner, owner) as holder, sandbox.connect(owner, owner) as other:
        cursor, waiter = holder.cursor(), other.cursor()
        cursor.execute("create table child (id number primary key, parent number)")
        cursor.execute("insert into child values (10, 1)")
        holder.commit()
        query = "select t.v, c.id from t join child c on c.parent = t.id for update"
        assert len(cursor.execute(f"{query} of c.id").fetchall()) == 1
        waiter.execute("select id from t where id = 1 for update nowait")
        with pytest.raises(oracledb.DatabaseError, match="ORA-00054"):
            waiter.execute("select id from child for update nowait")
        other.rollback()
        cursor.execute(query)
        with pytest.raises(oracledb.DatabaseError, match="ORA-00054"):
            waiter.execute("select id from t where id = 1 for update nowait")
        with pytest.raises(oracledb.DatabaseError, match="ORA-00904"):
            cursor.execute(f"{query} of nothing")
        holder.rollback()
