"""Sessions in threads: what waits for what, deadlocks, timeouts, cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import OraError


@pytest.fixture
def db() -> Iterator[SandboxDatabase]:
    database = SandboxDatabase()
    one = connect(database)
    one.run("create table t (id number primary key, v number)")
    one.many("insert into t values (:1, :2)", [(n, 0) for n in range(5)])
    one.session.commit()
    one.session.close()
    yield database
    database.close()


class Waiting:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: OraError | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except OraError as error:
            self.error = error

    def is_blocked(self) -> bool:
        self._thread.join(0.15)
        return self._thread.is_alive()

    def finish(self) -> OraError | None:
        self._thread.join(10)
        assert not self._thread.is_alive()
        return self.error


def pair(db: SandboxDatabase) -> tuple[SqlClient, SqlClient]:
    return connect(db), connect(db)


def test_an_update_waits_and_then_sees_the_new_value(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    waiting = Waiting(lambda: two.run("update t set v = v + 10 where id = 1"))
    assert waiting.is_blocked()
    assert two.session.database.storage.locks.waiting()
    one.session.commit()
    assert waiting.finish() is None
    two.session.commit()
    assert one.one("select v from t where id = 1") == 11


def test_an_update_that_no_longer_matches_changes_nothing(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    counts: list[int] = []
    waiting = Waiting(lambda: counts.append(two.run("update t set v = 2 where v = 0 and id = 1").row_count))
    assert waiting.is_blocked()
    one.session.commit()
    assert waiting.finish() is None
    assert counts == [0]


def test_readers_do_not_wait(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1")
    assert two.one("select sum(v) from t") == 0
    assert one.one("select sum(v) from t") == 5


@pytest.mark.parametrize("commits", [True, False])
def test_a_duplicate_key_waits_for_the_other_transaction(db: SandboxDatabase, commits: bool) -> None:
    one, two = pair(db)
    one.run("insert into t values (9, 1)")
    waiting = Waiting(lambda: two.run("insert into t values (9, 2)"))
    assert waiting.is_blocked()
    one.run("commit" if commits else "rollback")
    error = waiting.finish()
    assert (error.number if error else 0) == (1 if commits else 0)
    two.session.commit()
    assert one.one("select v from t where id = 9") == (1 if commits else 2)


def test_a_deadlock_ends_one_of_the_waiters(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    two.run("update t set v = 2 where id = 2")
    waiting = Waiting(lambda: one.run("update t set v = 1 where id = 2"))
    assert waiting.is_blocked()
    two.fails(60, "update t set v = 2 where id = 1")
    two.session.rollback()
    assert waiting.finish() is None
    one.session.commit()
    assert one.rows("select v from t where id in (1, 2)") == [(1,), (1,)]


def test_for_update_locks_rows(db: SandboxDatabase) -> None:
    one, two = pair(db)
    assert one.rows("select v from t where id = 1 for update") == [(0,)]
    assert db.transactions.open()
    two.fails(54, "select v from t where id = 1 for update nowait")
    two.fails(30006, "select v from t where id = 1 for update wait 1")
    assert two.rows("select v from t where id = 2 for update") == [(0,)]
    waiting = Waiting(lambda: two.run("delete from t where id = 1"))
    assert waiting.is_blocked()
    one.session.rollback()
    assert waiting.finish() is None


def test_table_locks(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("lock table t in row share mode")
    assert not db.transactions.open()
    two.run("lock table t in row exclusive mode nowait")
    two.fails(54, "lock table t in exclusive mode nowait")
    one.fails(54, "lock table t in share mode wait 1")
    two.session.commit()
    one.run("savepoint before")
    one.run("lock table t in exclusive mode")
    waiting = Waiting(lambda: two.run("update t set v = 5 where id = 1"))
    assert waiting.is_blocked()
    one.run("rollback to before")
    assert waiting.finish() is None


def test_ddl_does_not_wait_for_dml(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    for statement in ("alter table t add (w number)", "truncate table t", "drop table t", "create index i on t (v)"):
        two.fails(54, statement)
    one.session.commit()
    one.rows("select id from t where id = 1 for update")
    two.fails(54, "truncate table t")
    one.session.rollback()
    two.run("alter table t add (w number)")


def test_cancel_ends_a_wait(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    waiting = Waiting(lambda: two.run("update t set v = 2 where id = 1"))
    assert waiting.is_blocked()
    two.session.cancel()
    error = waiting.finish()
    assert error is not None
    assert error.number == 1013
    assert two.one("select count(*) from t") == 5


def test_closing_a_session_rolls_back(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1")
    one.session.close()
    one.session.close()
    assert two.run("update t set v = 2").row_count == 5


def test_skip_locked_returns_and_locks_the_free_rows(db: SandboxDatabase) -> None:
    one, two = pair(db)
    three = connect(db)
    one.run("update t set v = 7 where id = 1")
    one.rows("select id from t where id = 3 for update")
    sql = "select id from t where id < :1 order by id for update skip locked"
    assert two.rows(sql, 4) == [(0,), (2,)]
    assert three.rows(sql, 9) == [(4,)]
    assert three.rows("select id from t where id < 4 for update skip locked") == []
    one.session.rollback()
    assert three.rows(sql, 4) == [(1,), (3,)]
    two.fails(54, "select id from t where id = 3 for update nowait")


def test_ddl_waits_as_long_as_the_session_says(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    two.fails(54, "alter table t add extra number")
    two.fails(68, "alter session set ddl_lock_timeout = -1")
    two.run("alter session set ddl_lock_timeout = 1")
    two.fails(54, "alter table t add extra number")
    two.run("alter session set ddl_lock_timeout = 60")
    waiting = Waiting(lambda: two.run("alter table t add extra number"))
    assert waiting.is_blocked()
    one.session.commit()
    assert waiting.finish() is None
    assert two.rows("select id, extra from t where id = 1") == [(1, None)]


def test_ddl_that_waited_finds_the_table_dropped(db: SandboxDatabase) -> None:
    one, two = pair(db)
    one.run("update t set v = 1 where id = 1")
    two.run("alter session set ddl_lock_timeout = 60")
    waiting = Waiting(lambda: two.run("truncate table t"))
    assert waiting.is_blocked()
    one.run("drop table t purge")
    error = waiting.finish()
    assert error is not None
    assert error.number == 942
