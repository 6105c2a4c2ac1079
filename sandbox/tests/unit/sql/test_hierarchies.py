"""CONNECT BY and recursive WITH."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

TREE = "start with mgr is null connect by prior id = mgr"


def test_level_makes_rows(shop: SqlClient) -> None:
    assert shop.rows("select level from dual connect by level <= 3") == [(1,), (2,), (3,)]
    assert shop.one("select count(*) from (select level from dual connect by level <= 20000)") == 20000


def test_children_come_before_their_parents_siblings(company: SqlClient) -> None:
    found = company.rows(f"select level, name from emp {TREE} order siblings by name")
    assert [name for _, name in found] == [
        *("KING", "BLAKE", "ALLEN", "WARD", "CLARK", "MILLER", "JONES", "SCOTT", "ADAMS"),
    ]
    assert [level for level, _ in found] == [1, 2, 3, 3, 2, 3, 2, 3, 4]


def test_parents_roots_paths_and_leaves(company: SqlClient) -> None:
    sql = (
        "select name, prior name, connect_by_root name, sys_connect_by_path(name, '/'), connect_by_isleaf"
        f" from emp where dept = 20 {TREE} order siblings by id"
    )
    assert company.rows(sql) == [
        ("JONES", "KING", "KING", "/KING/JONES", 0),
        ("SCOTT", "JONES", "KING", "/KING/JONES/SCOTT", 0),
        ("ADAMS", "SCOTT", "KING", "/KING/JONES/SCOTT/ADAMS", 1),
    ]


def test_a_loop_is_refused_or_cut(company: SqlClient) -> None:
    loop = "connect by {} prior id = mgr or (prior id = 3 and id = 1)"
    company.fails(1436, f"select id from emp start with id = 1 {loop.format('')}")
    cut = company.rows(f"select id, connect_by_iscycle from emp start with id = 1 {loop.format('nocycle')}")
    assert [row for row in cut if row[1]] == [(3, 1)]
    assert len(cut) == 9
    company.fails(30930, f"select connect_by_iscycle from emp {TREE}")


def test_a_join_comes_before_the_hierarchy(company: SqlClient) -> None:
    sql = f"select name, dname from emp e, dept d where e.dept = d.dept and level <= 2 {TREE} order siblings by id"
    assert company.rows(sql) == [("KING", "ACCT"), ("BLAKE", "SALES"), ("CLARK", "ACCT"), ("JONES", "RES")]


def test_grouping_a_hierarchy(company: SqlClient) -> None:
    assert company.rows(f"select level, count(*) from emp {TREE} group by level order by level") == [
        *((1, 1), (2, 3), (3, 4), (4, 1)),
    ]


def test_recursive_with(company: SqlClient) -> None:
    assert company.rows("with t (n) as (select 1 from dual union all select n + 1 from t where n < 4) select n from t") == [
        *((1,), (2,), (3,), (4,)),
    ]
    sql = (
        "with boss (id, name, depth) as (select id, name, 1 from emp where mgr is null union all"
        " select e.id, e.name, b.depth + 1 from emp e join boss b on e.mgr = b.id)"
        " select depth, count(*) from boss group by depth order by depth"
    )
    assert company.rows(sql) == [(1, 1), (2, 3), (3, 4), (4, 1)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select level from emp", 1788),
        ("select prior id from emp", 1788),
        ("select id from emp start with id = 1", 1788),
        ("select id from emp order siblings by id", 30929),
        ("select sys_connect_by_path(name, id) from emp connect by prior id = mgr", 30003),
        ("select sys_connect_by_path(name, 'L') from emp connect by prior id = mgr", 30004),
        ("with t as (select 1 n from dual union all select n + 1 from t) select n from t", 32039),
        ("with t (n) as (select n from t) select n from t", 32040),
        ("with t (a, b) as (select 1 from dual) select a from t", 32038),
    ],
)
def test_refused(company: SqlClient, sql: str, code: int) -> None:
    company.fails(code, sql)
