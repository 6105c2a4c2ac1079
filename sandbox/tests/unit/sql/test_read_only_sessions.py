"""Sessions that may not change rows: in Flashback mode, and on a physical standby. Each must refuse at once, not wait."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.server import sandbox_database
from minercdc_sandbox.standby import SERVICE

_LOCKS = [
    "select id from item for update",
    "select id from item where id = 1 for update nowait",
    "select id from item for update skip locked",
    "lock table item in share mode",
]
_DDL = ["create table other (id number)", "drop table item", "truncate table item", "grant select on item to system"]


@pytest.fixture
def db() -> Iterator[SandboxDatabase]:
    """With packages."""
    database = sandbox_database("19c")
    yield database
    database.close()


@pytest.mark.parametrize("sql", [*_LOCKS, *_DDL, "update item set name = 'x'", "begin update item set name = 'x'; end;"])
def test_in_flashback_mode_nothing_is_changed_locked_or_defined(items: SqlClient, sql: str) -> None:
    scn = items.one("select current_scn from v$database")
    items.run("update item set name = 'later'")
    items.session.commit()
    items.run("begin dbms_flashback.enable_at_system_change_number(:1); end;", scn)
    items.fails(8182, sql)
    assert not items.session.in_transaction()
    items.run("begin dbms_flashback.disable; end;")
    assert items.one("select count(*) from item where name = 'later'") == 3


@pytest.fixture
def standby(db: SandboxDatabase) -> SqlClient:
    """A session of the standby, where ITEM has one row that has changed since it was applied."""
    primary = connect(db, "SYSTEM", "ORCLCDB")
    primary.run("create table item (id number, name varchar2(9))")
    primary.run("insert into item values (1, 'old')")
    primary.session.commit()
    primary.run("begin dbms_sandbox.open_standby(); end;")
    primary.run("alter system switch logfile")
    primary.run("update item set name = 'new'")
    primary.session.commit()
    return connect(db, "SYSTEM", SERVICE)


@pytest.mark.parametrize("sql", [*_LOCKS, *_DDL, "begin select id into :1 from item for update; end;"])
def test_a_standby_is_read_only(standby: SqlClient, sql: str) -> None:
    standby.fails(16000, sql, *([0] if ":1" in sql else []))
    assert not standby.session.in_transaction()
    assert standby.one("select name from item") == "old"


def test_a_function_that_a_query_calls_may_not_lock_rows(items: SqlClient) -> None:
    items.run(
        "create function locked return number is n number; begin select id into n from item where id = 1 for update; return n; end;"
    )
    items.fails(14551, "select locked from dual")


def test_a_standby_says_what_it_is(standby: SqlClient) -> None:
    values = [standby.value(f"sys_context('USERENV', '{name}')") for name in ("DATABASE_ROLE", "DB_UNIQUE_NAME")]
    assert values == list(standby.rows("select database_role, db_unique_name from v$database")[0])
