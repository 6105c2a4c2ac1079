"""Isolation levels, and what queries see of earlier versions: ORA_ROWSCN, VERSIONS BETWEEN, DBMS_FLASHBACK, undo retention."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

_names = (f"vs{n}" for n in itertools.count())


class Lab:
    """A schema with table ITEM and two sessions on it."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        name = next(_names)
        sandbox.create_user(name)
        self.admin = sandbox.connect()
        self.admin.cursor().execute(f"grant execute on sys.dbms_flashback to {name}")
        self.one, self.two = sandbox.connect(name, name), sandbox.connect(name, name)
        self.run(self.one, "create table item (id number primary key, v varchar2(20))")

    def run(self, session: oracledb.Connection, *statements: str) -> None:
        for statement in statements:
            session.cursor().execute(statement)

    def rows(self, session: oracledb.Connection, query: str, **binds: Any) -> list[tuple[Any, ...]]:
        return list(session.cursor().execute(query, binds))

    def scn(self) -> int:
        ((scn,),) = self.rows(self.admin, "select current_scn from v$database")
        return int(scn)

    def close(self) -> None:
        for session in (self.one, self.two, self.admin):
            session.close()


@pytest.fixture
def lab(sandbox: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(sandbox)
    yield lab
    lab.close()


def fails(code: int, session: oracledb.Connection, statement: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
        session.cursor().execute(statement)


@pytest.mark.parametrize(
    "begin", ["set transaction isolation level serializable", "alter session set isolation_level = serializable"]
)
def test_serializable_transactions_see_one_moment_and_refuse_later_changes(lab: Lab, begin: str) -> None:
    lab.run(lab.two, "insert into item values (1, 'a')", "insert into item values (2, 'a')")
    lab.two.commit()
    lab.run(lab.one, begin)
    assert lab.rows(lab.one, "select v from item where id = 1") == [("a",)]
    lab.run(lab.two, "update item set v = 'b' where id = 1", "insert into item values (3, 'b')")
    lab.two.commit()
    assert lab.rows(lab.one, "select id, v from item order by 1") == [(1, "a"), (2, "a")]
    lab.run(lab.one, "update item set v = 'mine' where id = 2")
    fails(8177, lab.one, "update item set v = 'c' where id = 1")
    fails(8177, lab.one, "delete from item where v = 'a'")
    assert lab.rows(lab.one, "select id, v from item order by 1") == [(1, "a"), (2, "mine")]
    lab.one.rollback()
    lab.run(lab.one, "alter session set isolation_level = read committed")
    assert lab.rows(lab.one, "select count(*) from item") == [(3,)]


def test_read_only_transactions_change_nothing(lab: Lab) -> None:
    lab.run(lab.one, "insert into item values (1, 'a')", "commit", "set transaction read only")
    lab.run(lab.two, "update item set v = 'b'", "commit")
    assert lab.rows(lab.one, "select v from item") == [("a",)]
    fails(1456, lab.one, "delete from item")
    fails(1456, lab.one, "select * from item for update")
    lab.one.commit()
    assert lab.rows(lab.one, "select v from item") == [("b",)]
    lab.run(lab.one, "delete from item")
    fails(1453, lab.one, "set transaction read only")


def test_versions_between_shows_every_committed_change(lab: Lab) -> None:
    start = lab.scn()
    lab.run(
        lab.one,
        "insert into item values (1, 'a')",
        "insert into item values (2, 'x')",
        "update item set v = 'y' where id = 2",
    )
    ((transaction,),) = lab.rows(lab.admin, "select rawtohex(xid) from v$transaction")
    lab.one.commit()
    first = lab.scn()
    lab.run(lab.one, "update item set v = 'b' where id = 1", "commit", "delete from item where id = 1", "commit")
    lab.run(lab.one, "insert into item values (3, 'open')")
    query = """select id, v, versions_operation, versions_startscn, versions_endscn, rawtohex(versions_xid)
        from item versions between scn :low and maxvalue order by id, versions_startscn"""
    found = lab.rows(lab.two, query, low=start)
    assert [row[:3] for row in found] == [(1, "a", "I"), (1, "b", "U"), (1, "b", "D"), (2, "y", "I")]
    (_, _, _, inserted, updated, xid), (_, _, _, updating, deleted, _), (_, _, _, deleting, end, _), other = found
    assert (updated, deleted, end) == (updating, deleting, None)
    assert start < inserted < first < updated < deleted
    assert other[3:5] == (inserted, None)
    assert xid == transaction
    later = lab.rows(lab.two, query, low=first)
    assert [(row[1], row[2], row[3] is None) for row in later] == [
        *(("b", "U", False), ("b", "D", False), ("a", None, True), ("y", None, True))
    ]
    whole = "select count(*), count(versions_starttime) from item versions between scn minvalue and maxvalue"
    assert lab.rows(lab.two, whole) == [(4, 4)]


def test_the_definition_bounds_flashback(lab: Lab) -> None:
    before = lab.scn()
    lab.run(lab.one, "insert into item values (1, 'a')", "commit", "alter table item add (n number)")
    fails(1466, lab.one, f"select * from item as of scn {before}")
    fails(1466, lab.one, f"select * from item versions between scn {before} and maxvalue")
    fails(8181, lab.one, f"select * from item as of scn {lab.scn() + 10_000_000}")


def test_ora_rowscn_is_of_the_block_or_of_the_row(lab: Lab) -> None:
    lab.run(lab.one, "create table exact (id number, v number) rowdependencies")
    for table in ("item", "exact"):
        lab.run(lab.one, f"insert into {table} (id) values (1)", "commit", f"insert into {table} (id) values (2)", "commit")
    middle = lab.scn()
    lab.run(lab.one, "update item set v = 1 where id = 2", "update exact set v = 1 where id = 2", "commit")
    block = [scn for (scn,) in lab.rows(lab.one, "select ora_rowscn from item order by id")]
    assert block[0] == block[1] > middle
    one, two = [scn for (scn,) in lab.rows(lab.one, "select ora_rowscn from exact order by id")]
    assert one < middle < two
    ((then,),) = lab.rows(lab.one, f"select max(ora_rowscn) from item as of scn {middle}")
    assert then < middle
    lab.run(lab.one, "update exact set v = 2 where id = 1")
    assert lab.rows(lab.one, "select ora_rowscn from exact where id = 1") == [(None,)]
    assert lab.rows(lab.two, "select ora_rowscn from exact where id = 1") == [(one,)]
    found = lab.rows(lab.one, "select table_name, dependencies from user_tables order by 1")
    assert found == [("EXACT", "ENABLED"), ("ITEM", "DISABLED")]
    ((when,),) = lab.rows(lab.two, "select scn_to_timestamp(max(ora_rowscn)) from exact")
    assert when is not None


def test_dbms_flashback_takes_a_session_back(lab: Lab) -> None:
    lab.run(lab.one, "insert into item values (1, 'a')", "commit")
    ((scn,),) = lab.rows(lab.one, "select dbms_flashback.get_system_change_number from dual")
    lab.run(lab.one, "update item set v = 'b'", "commit")
    lab.run(lab.one, f"begin dbms_flashback.enable_at_system_change_number({scn}); end;")
    assert lab.rows(lab.one, "select v from item") == [("a",)]
    fails(8182, lab.one, "delete from item")
    fails(8184, lab.one, f"begin dbms_flashback.enable_at_system_change_number({scn}); end;")
    lab.run(lab.one, "begin dbms_flashback.disable; end;")
    assert lab.rows(lab.one, "select v from item") == [("b",)]
    lab.run(lab.one, "delete from item")
    fails(8183, lab.one, f"begin dbms_flashback.enable_at_system_change_number({scn}); end;")


def test_the_transaction_id_of_a_session(lab: Lab) -> None:
    query = "select dbms_transaction.local_transaction_id from dual"
    assert lab.rows(lab.one, query) == [(None,)]
    lab.run(lab.one, "insert into item values (1, 'a')")
    ((text,),) = lab.rows(lab.one, query)
    found = lab.rows(lab.admin, "select xidusn || '.' || xidslot || '.' || xidsqn from v$transaction")
    assert (text,) in found


def test_undo_is_kept_for_its_retention(fresh_sandbox: SandboxProcess) -> None:
    lab = Lab(fresh_sandbox)
    lab.run(lab.one, "insert into item values (1, 'a')", "commit")
    old = lab.scn()
    lab.run(lab.admin, "call dbms_sandbox.jump_clock(100)")
    lab.run(lab.one, "update item set v = 'b'", "commit")
    young = lab.scn()
    lab.run(lab.admin, "call dbms_sandbox.jump_clock(100)", "alter system set undo_retention = 60")
    lab.run(lab.one, "update item set v = 'c'", "commit")
    lab.run(lab.admin, "call dbms_sandbox.jump_clock(30)")
    lab.run(lab.one, "update item set v = 'd'", "commit")
    fails(1555, lab.one, f"select * from item as of scn {old}")
    fails(30052, lab.one, f"select * from item versions between scn {old} and maxvalue")
    tuned = lab.rows(lab.admin, "select tuned_undoretention from v$undostat")
    assert tuned == [(60,)]
    assert young > old
    assert lab.rows(lab.one, f"select v from item as of scn {lab.scn()}") == [("d",)]
    lab.close()


@pytest.mark.parametrize(
    "ddl",
    [
        "create index item_v on item (v)",
        "alter table item add constraint item_v_known check (v is not null)",
        "alter table item add (more number)",
        "truncate table item",
    ],
)
def test_versions_cannot_be_read_across_ddl(lab: Lab, ddl: str) -> None:
    lab.run(lab.one, "insert into item values (1, 'a')", "commit")
    old = lab.scn()
    lab.run(lab.one, ddl)
    fails(1466, lab.one, f"select * from item versions between scn {old} and {lab.scn()}")
    fails(1466, lab.one, f"select * from item as of scn {old}")
    now = lab.scn()
    lab.rows(lab.one, f"select * from item versions between scn {now} and {now}")


def test_versions_of_commits_that_share_an_scn(fresh_sandbox: SandboxProcess) -> None:
    lab = Lab(fresh_sandbox)
    lab.run(lab.one, "insert into item values (1, 'a')", "insert into item values (2, 'a')", "commit")
    lab.run(lab.one, "update item set v = 'b' where id = 1")
    lab.run(lab.two, "delete from item where id = 2")
    xids = [xid.hex().upper() for (xid,) in lab.rows(lab.admin, "select xid from v$transaction order by start_scn")]
    low = lab.scn()
    lab.run(lab.admin, "call dbms_sandbox.meet_commits(2)")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda session: session.commit(), (lab.one, lab.two)))
    found = lab.rows(
        lab.admin,
        "select id, versions_operation, rawtohex(versions_xid), versions_startscn from"
        f" {lab.one.username}.item versions between scn {low} and {lab.scn()} where versions_startscn > {low} order by id",
    )
    assert [row[:3] for row in found] == [(1, "U", xids[0]), (2, "D", xids[1])]
    assert found[0][3] == found[1][3]
    lab.close()


def test_the_present_scn_without_grants(lab: Lab) -> None:
    name = f"{lab.one.username}_low".upper()
    lab.run(lab.admin, f"create user {name} identified by low", f"grant create session to {name}")
    low = oracledb.connect(user=name, password="low", dsn=lab.admin.dsn)
    fails(942, low, "select current_scn from v$database")
    fails(904, low, "select dbms_flashback.get_system_change_number from dual")
    lab.run(lab.one, "insert into item values (1, 'a')", "commit")
    committed = lab.scn()
    lab.run(lab.admin, "call dbms_sandbox.jump_clock(3)")
    ((scn,),) = lab.rows(low, "select timestamp_to_scn(systimestamp) from dual")
    assert scn >= committed, "an idle instance raises its SCN, too"
    low.close()
