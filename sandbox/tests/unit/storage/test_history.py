"""Old versions lie apart: the present does not see them, flashback queries still do, and no reader loses a row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.storage import history
from minercdc_sandbox.views.families import ALL_VIEWS

SCN = "select dbms_flashback.get_system_change_number from dual"


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxDatabase]:
    """History is worth moving from ten versions on."""
    monkeypatch.setattr(history, "ENOUGH", 10)
    database = SandboxDatabase(views=ALL_VIEWS, now=lambda: 1_790_000_000.25)
    yield database
    database.close()


@pytest.fixture
def counted(db: SandboxDatabase) -> SqlClient:
    """A table of ten rows that count how often they were changed."""
    shop = connect(db)
    shop.run("create table t (id number primary key, n number)")
    shop.many("insert into t values (:1, 0)", [(n,) for n in range(10)])
    shop.session.commit()
    return shop


def change(shop: SqlClient, rounds: int) -> list[int]:
    """The SCN before each round of updates of all rows."""
    scns = []
    for _ in range(rounds):
        scns.append(shop.one(SCN))
        shop.run("update t set n = n + 1")
        shop.session.commit()
    return scns


def moved(db: SandboxDatabase) -> int:
    """Versions in the history of T."""
    [table] = db.catalog.tables()
    if not table.has_history:
        return 0
    return int(db.storage.db.execute(f"select count(*) from old_{table.data_object_id}").get)


def test_past_is_seen_wherever_it_lies(db: SandboxDatabase, counted: SqlClient) -> None:
    scns = change(counted, 5)
    assert moved(db) >= 40
    assert counted.one("select sum(n) from t") == 50
    for n, scn in enumerate(scns):
        assert counted.rows(f"select count(*), sum(n) from t as of scn {scn}") == [(10, 10 * n)]
        assert counted.rows(f"select n from t as of scn {scn} where id = 3") == [(n,)]
        assert counted.one(f"select count(*) from t as of scn {scn} a join t b on a.id = b.id where a.n = {n}") == 10
    versions = "select versions_operation, n from t versions between scn minvalue and maxvalue where id = 3 order by n"
    assert counted.rows(versions) == [("I", 0), *(("U", n) for n in range(1, 6))]
    counted.session.settings.flashback_scn = scns[2]  # as DBMS_FLASHBACK does
    assert counted.one("select sum(n) from t") == 20


def test_rows_that_were_deleted(db: SandboxDatabase, counted: SqlClient) -> None:
    [before] = change(counted, 1)
    counted.run("delete from t where id > 4")
    counted.session.commit()
    deleted = counted.one("select max(ora_rowscn) from t")
    change(counted, 3)
    counted.run("delete from t")
    counted.session.commit()
    assert moved(db) >= 20
    assert counted.one("select count(*) from t") == 0
    assert counted.one(f"select count(*) from t as of scn {before}") == 10
    assert counted.one(f"select max(ora_rowscn) from t as of scn {deleted}") == deleted
    found = counted.rows(
        "select id from t versions between scn minvalue and maxvalue where versions_operation = 'D' order by id"
    )
    assert found == [(n,) for n in range(10)]
    counted.many("insert into t values (:1, 0)", [(n,) for n in range(10)])
    assert counted.one("select count(*) from t") == 10


def test_open_cursor_keeps_what_it_may_see(db: SandboxDatabase, counted: SqlClient) -> None:
    scn = change(counted, 3)[1]
    reader = connect(db)
    result = reader.session.execute("select sum(n) over (), id from t")
    past = reader.session.execute(f"select n, id from t as of scn {scn}")
    assert result.rows is not None
    assert past.rows is not None
    first, first_past = result.rows.fetch(3), past.rows.fetch(3)
    change(counted, 3)
    assert len(first + result.rows.fetch(100)) == 10
    rows = first_past + past.rows.fetch(100)
    assert sorted(row[1] for row in rows if row[1] is not None) == sorted({row[1] for row in rows if row[1] is not None})
    assert len(rows) == 10


def test_serializable_transaction_still_meets_changed_rows(db: SandboxDatabase, counted: SqlClient) -> None:
    change(counted, 2)
    other = connect(db)
    other.run("set transaction isolation level serializable")
    assert other.one("select sum(n) from t") == 20
    change(counted, 3)
    assert other.one("select sum(n) from t") == 20
    other.fails(8177, "update t set n = 0 where id = 1")


def test_keys_columns_and_truncation_go_on(db: SandboxDatabase, counted: SqlClient) -> None:
    change(counted, 3)
    counted.run("alter table t add (m number default 7)")
    counted.run("create unique index t_n on t (id, n)")
    scns = change(counted, 2)
    assert counted.one(f"select sum(m) from t as of scn {scns[0]}") == 70
    counted.fails(1, "insert into t values (3, 1, 1)")
    counted.run("truncate table t")
    assert moved(db) == 0
    counted.many("insert into t values (:1, 0, 0)", [(n,) for n in range(10)])
    counted.session.commit()
    change(counted, 2)
    assert counted.one("select sum(n) from t") == 20
    counted.run("drop table t purge")
