"""UPDATE and DELETE through joins: of views, and of subqueries in place of a table."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

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


@pytest.mark.parametrize(
    "join",
    [
        "emp e join dept d on e.dept = d.id",
        "emp e, dept d where d.id = e.dept",
        "dept d right join emp e on e.dept = d.id",
        "emp e, dept d where e.dept = d.id (+)",
        "emp e join dept d on e.dept = d.id join dept again on again.id = d.id",
    ],
)
def test_a_row_is_changed_by_values_of_the_other_table(firm: SqlClient, join: str) -> None:
    changed = firm.run(
        f"update (select e.sal, e.name as n, d.city, d.name as dept_name from {join}) v"
        " set v.sal = v.sal + length(city), n = dept_name where city = 'OSLO'"
    )
    assert changed.row_count == 2
    assert firm.rows("select id, name, sal from emp order by id") == [
        *[(1, "sales", 104), (2, "bob", 200), (3, "sales", 304), (4, "dan", 400)],
    ]


def test_views_with_stars_and_names_of_their_own(firm: SqlClient) -> None:
    firm.run(
        "create view staff (no, who, pay, city) as select e.id, e.name, e.sal, d.city from emp e, dept d where e.dept = d.id"
    )
    assert firm.run("update staff set pay = :1 where no = :2", 7, 2).row_count == 1
    assert firm.one("select sal from emp where id = 2") == 7
    assert firm.run("delete from staff where city = 'OSLO' and rownum <= 1").row_count == 1
    assert firm.one("select count(*) from emp") == 3


def test_only_key_preserved_tables(firm: SqlClient) -> None:
    joined = "(select e.sal, e.dept, d.city, d.id, e.sal * 2 twice from emp e join dept d on e.dept = d.id)"
    firm.fails(1779, f"update {joined} set city = 'x'")
    firm.fails(1733, f"update {joined} set twice = 1")
    firm.fails(904, f"update {joined} set nothing = 1")
    firm.fails(1779, "update (select e.sal from emp e join dept d on e.name = d.name) set sal = 1")
    firm.fails(1779, "update (select e.sal from emp e, dept d) set sal = 1")
    firm.fails(1752, "delete from (select e.sal from emp e join dept d on e.name = d.name)")
    firm.fails(1779, "update (select e.sal from dept d left join emp e on e.dept = d.id) set sal = 1")
    one_each = "(select a.sal, b.name from emp a join emp b on a.id = b.id)"
    firm.fails(1776, f"update {one_each} set sal = 1, name = 'x'")
    assert firm.run(f"update {one_each} set name = 'x' where sal = 100").row_count == 1


def test_constraints_of_the_table_hold(firm: SqlClient) -> None:
    firm.run("alter table emp add constraint paid check (sal > 0)")
    firm.fails(2290, "update (select e.sal from emp e join dept d on e.dept = d.id) set sal = -1")
    firm.fails(1, "update (select e.id from emp e join dept d on e.dept = d.id) set id = 4")
    assert firm.one("select min(sal) from emp") == 100


@pytest.mark.parametrize(
    "statement",
    [
        "insert into (select e.id, e.sal from emp e join dept d on e.dept = d.id) values (9, 9)",
        "update (select e.sal from emp e join dept d using (id)) set sal = 1",
    ],
)
def test_refused_by_name(firm: SqlClient, statement: str) -> None:
    assert "join" in str(firm.fails(3001, statement))
