"""UPDATE and DELETE through joins: of views, and of subqueries in place of a table."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase

SET_UP = (
    "create table dept (id number primary key, name varchar2(20), city varchar2(20))",
    "create table emp (id number primary key, name varchar2(20), sal number, dept number)",
    "insert into dept values (1, 'sales', 'OSLO')",
    "insert into dept values (2, 'it', 'ROMA')",
    "insert into emp values (1, 'ann', 100, 1)",
    "insert into emp values (2, 'bob', 200, 2)",
    "insert into emp values (3, 'cyd', 300, 1)",
    "insert into emp values (4, 'dan', 400, null)",
)


@pytest.fixture
def firm(shop: SqlClient) -> SqlClient:
    for statement in SET_UP:
        shop.run(statement)
    return shop


def test_views_with_stars_and_names_of_their_own(firm: SqlClient) -> None:
    firm.run(
        "create view staff (no, who, pay, city) as select e.id, e.name, e.sal, d.city from emp e, dept d where e.dept = d.id"
    )
    assert firm.run("update staff set pay = :1 where no = :2", 7, 2).row_count == 1
    assert firm.one("select sal from emp where id = 2") == 7
    assert firm.run("delete from staff where city = 'OSLO' and rownum <= 1").row_count == 1
    assert firm.one("select count(*) from emp") == 3


@pytest.mark.parametrize(
    "statement",
    [
        "insert into (select e.id, e.sal from emp e join dept d on e.dept = d.id) values (9, 9)",
        "update (select e.sal from emp e join dept d using (id)) set sal = 1",
    ],
)
def test_refused_by_name(firm: SqlClient, statement: str) -> None:
    assert "join" in str(firm.fails(3001, statement))


def test_the_privilege_is_that_of_the_change(firm: SqlClient, db: SandboxDatabase) -> None:
    firm.run("create view staff as select e.id, e.sal, d.city from emp e, dept d where e.dept = d.id")
    admin = connect(db, "SYSTEM")
    admin.run("create user bob identified by bob")
    admin.run("grant create session to bob")
    bob = connect(db, "BOB")
    firm.run("grant select on staff to bob")
    for statement in ("update shop.staff set sal = 1", "delete from shop.staff"):
        bob.fails(1031, statement)
    firm.run("grant update on staff to bob")
    firm.run("revoke select on staff from bob")
    assert bob.run("update shop.staff set sal = 1").row_count == 3
