"""EMP and DEPT, the tables every Oracle example is about."""

from __future__ import annotations

from sandbox.tests.unit.sql.client import SqlClient

EMPLOYEES: list[tuple[object, ...]] = [
    (2, "BLAKE", 1, 2850, 30),
    (3, "CLARK", 1, 2450, 10),
    (4, "JONES", 1, 2975, 20),
    (5, "SCOTT", 4, 3000, 20),
    (6, "ADAMS", 5, 1100, 20),
    (7, "ALLEN", 2, 1600, 30),
    (8, "WARD", 2, 1250, 30),
    (9, "MILLER", 3, 1300, 10),
    (1, "KING", None, 5000, 10),
]


def fill(client: SqlClient) -> SqlClient:
    client.run("create table emp (id number(4) primary key, name varchar2(10), mgr number, sal number(7,2), dept number(2))")
    client.run("create table dept (dept number(2) primary key, dname varchar2(10))")
    client.many("insert into emp values (:1, :2, :3, :4, :5)", EMPLOYEES)
    client.many("insert into dept values (:1, :2)", [(10, "ACCT"), (20, "RES"), (30, "SALES"), (40, "OPS")])
    client.session.commit()
    return client
