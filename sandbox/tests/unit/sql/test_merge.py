"""MERGE, multitable inserts, assignments from queries and RETURNING of aggregates."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

from minercdc_sandbox.interfaces import BindType, OraType


@pytest.fixture
def target(company: SqlClient) -> SqlClient:
    company.run("create table tgt (id number primary key, v varchar2(20) default 'none')")
    company.run("insert into tgt values (1, 'one')")
    company.session.commit()
    return company


def test_merge_updates_and_inserts(target: SqlClient) -> None:
    sql = (
        "merge into tgt t using (select * from emp where id < 4) e on (t.id = e.id)"
        " when matched then update set v = e.name"
        " when not matched then insert (id, v) values (e.id, lower(e.name)) where e.id <> 2"
    )
    assert target.run(sql).row_count == 2
    assert target.rows("select id, v from tgt order by id") == [(1, "KING"), (3, "clark")]


def test_merge_deletes_what_it_updated(target: SqlClient) -> None:
    target.run("insert into tgt values (2, 'two')")
    sql = (
        "merge into tgt t using emp e on (t.id = e.id)"
        " when matched then update set v = e.name where e.id < 3 delete where v = 'BLAKE'"
    )
    assert target.run(sql).row_count == 2
    assert target.rows("select id, v from tgt") == [(1, "KING")]
    target.session.rollback()
    assert target.rows("select id, v from tgt") == [(1, "one")]


def test_merge_takes_binds_and_dual(target: SqlClient) -> None:
    sql = (
        "merge into tgt using dual on (tgt.id = :1) when matched then update set v = :2"
        " when not matched then insert (id) values (:3)"
    )
    target.run(sql, 1, "bound", 1)
    target.run(sql, 9, "bound", 9)
    assert target.rows("select id, v from tgt order by id") == [(1, "bound"), (9, "none")]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("merge into tgt t using emp e on (t.id = e.id) when matched then update set t.id = 3", 38104),
        ("merge into tgt t using emp e on (t.id < e.id) when matched then update set t.v = e.name", 30926),
        ("merge into tgt t using emp e on (t.id = e.id)", 905),
        ("merge into tgt t using emp e on (t.id = e.id) when not matched then insert (id, v) values (1)", 947),
        ("merge into tgt t using emp e on (t.id = e.id and 1 = 0) when not matched then insert (id) values (1)", 1),
        ("merge into nothing t using emp e on (t.id = e.id) when matched then update set v = 1", 942),
    ],
)
def test_merge_refused(target: SqlClient, sql: str, code: int) -> None:
    target.fails(code, sql)
    assert target.rows("select id, v from tgt") == [(1, "one")]


def test_insert_all_and_first(target: SqlClient) -> None:
    target.run("create table big (id number, sal number)")
    both = (
        "insert {} when sal > 2900 then into big values (id, sal) when id > 7 then into tgt (id) values (id * 10)"
        " else into tgt values (id, name) select * from emp where id > 3"
    )
    assert target.run(both.format("all")).row_count == 6
    assert target.rows("select id from big order by id") == [(4,), (5,)]
    assert target.rows("select id, v from tgt where id > 1 order by id") == [
        *((6, "ADAMS"), (7, "ALLEN"), (80, "none"), (90, "none")),
    ]
    target.session.rollback()
    plain = "insert all into big values (1, 1) into big (id) values (2) select * from dual"
    assert target.run(plain).row_count == 2


def test_a_failed_multitable_insert_leaves_nothing(target: SqlClient) -> None:
    target.run("create table other (id number)")
    target.fails(1, "insert all into other values (id) into tgt (id) values (1) select id from emp")
    assert target.one("select count(*) from other") == 0


def test_assignment_of_several_columns_from_a_query(company: SqlClient) -> None:
    sql = "update emp e set (name, mgr) = (select dname, dept * 2 from dept d where d.dept = e.dept), sal = 1 where id < 3"
    assert company.run(sql).row_count == 2
    assert company.rows("select name, mgr, sal from emp where id < 3 order by id") == [("ACCT", 20, 1), ("SALES", 60, 1)]
    company.fails(947, "update emp set (name, mgr) = (select dname from dept)")
    company.fails(1427, "update emp set (name, mgr) = (select dname, dept from dept)")
    company.fails(1767, "update emp set (name, mgr) = (1, 2)")


def test_returning_of_aggregates(company: SqlClient) -> None:
    kinds = [BindType(OraType.NUMBER, 22), BindType(OraType.NUMBER, 22)]
    result = company.session.execute(
        "update emp set sal = sal + 1 where dept = 20 returning sum(sal), count(*) into :1, :2", kinds, [(None, None)]
    )
    [[row]] = result.returned
    assert row == (company.session.execute("select sum(sal), count(*) from emp where dept = 20").rows or []).fetch(1)[0]  # type: ignore[union-attr]
