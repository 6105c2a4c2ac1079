"""ROLLUP and its kin, PIVOT, FETCH, and joins of every kind."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


def test_rollup_cube_and_grouping_sets(company: SqlClient) -> None:
    assert company.rows("select dept, sum(id), grouping(dept) from emp group by rollup (dept) order by dept") == [
        *((10, 13, 0), (20, 15, 0), (30, 17, 0), (None, 45, 1)),
    ]
    sql = "select dept, mgr, count(*) from emp where dept = 30 group by cube (dept, mgr) order by dept, mgr"
    assert company.rows(sql) == [
        *((30, 1, 1), (30, 2, 2), (30, None, 3), (None, 1, 1), (None, 2, 2), (None, None, 3)),
    ]
    sql = "select dept, grouping_id(dept, mgr) from emp where id < 3 group by grouping sets ((dept), (mgr)) order by 2, 1"
    assert company.rows(sql) == [(10, 1), (30, 1), (None, 2), (None, 2)]


def test_order_by_an_aggregate_that_is_not_selected(company: SqlClient) -> None:
    assert company.rows("select dept from emp group by rollup (dept) order by sum(id) desc") == [
        *((None,), (30,), (20,), (10,)),
    ]


def test_pivot_and_unpivot(company: SqlClient) -> None:
    sql = "select * from (select dept, sal from emp) pivot (sum(sal) s, count(*) n for dept in (10 as a, 20 as b))"
    assert company.rows(sql) == [(8750, 3, 7075, 3)]
    result = company.run(sql)
    assert [column.name for column in result.columns or ()] == ["A_S", "A_N", "B_S", "B_N"]
    sql = "select id, k, v from emp unpivot (v for k in (sal as 's', mgr as 'm')) where id < 3 order by id, k"
    assert company.rows(sql) == [(1, "s", 5000), (2, "m", 1), (2, "s", 2850)]
    wide = company.rows("select v from emp unpivot include nulls (v for k in (mgr)) where id = 1")
    assert wide == [(None,)]


def test_fetch_with_ties_percent_and_offset(company: SqlClient) -> None:
    assert company.rows("select name from emp order by dept fetch first 2 rows with ties") == [
        *(("CLARK",), ("MILLER",), ("KING",)),
    ]
    assert company.rows("select id from emp order by id fetch first 25 percent rows only") == [(1,), (2,), (3,)]
    assert company.rows("select id from emp order by id offset 7 rows fetch next 5 rows only") == [(8,), (9,)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "select name, dname from emp e, dept d where e.dept(+) = d.dept and d.dept > 20 order by 2, 1",
            [(None, "OPS"), ("ALLEN", "SALES"), ("BLAKE", "SALES"), ("WARD", "SALES")],
        ),
        (
            "select d.dept, e.id from dept d, emp e where d.dept = e.dept(+) and e.sal(+) > 2900 order by 1, 2",
            [(10, 1), (20, 4), (20, 5), (30, None), (40, None)],
        ),
        ("select * from emp natural join dept where id < 3", [(10, 1, "KING", None, 5000, "ACCT"), (30, 2, "BLAKE", 1, 2850, "SALES")]),
        ("select dept, name from emp full join dept using (dept) where id is null or id = 1", [(10, "KING"), (40, None)]),
        ("select dept, count(id) from emp right join dept using (dept) group by dept order by dept", [(10, 3), (20, 3), (30, 3), (40, 0)]),
        (
            "select dname, x.name from dept d cross apply"
            " (select name from emp e where e.dept = d.dept order by sal desc fetch first 1 row only) x order by 1",
            [("ACCT", "KING"), ("RES", "SCOTT"), ("SALES", "BLAKE")],
        ),
        (
            "select dname, x.id from dept d outer apply (select id from emp e where e.dept = d.dept and sal > 4000) x order by 1",
            [("ACCT", 1), ("OPS", None), ("RES", None), ("SALES", None)],
        ),
        ("select d.dept, x.n from dept d, lateral (select count(*) n from emp e where e.dept = d.dept) x order by 1", [(10, 3), (20, 3), (30, 3), (40, 0)]),
        ("select name from emp where sal > all (select sal from emp where dept = 30) order by 1", [("JONES",), ("KING",), ("SCOTT",)]),
        ("select id from emp where sal = any (5000, 3000) order by 1", [(1,), (5,)]),
        ("select id from emp where sal > all (select sal from emp where 1 = 0) and id < 3 order by 1", [(1,), (2,)]),
        ("select count(*) from dept where 10 < some (select mgr from emp)", [(0,)]),
        ("select rownum, name from emp where rownum between 1 and 2", [(1, "BLAKE"), (2, "CLARK")]),
        ("select id from emp where rownum > 1", []),
        ("select q'[it's]' || q'!a!', /*+ full(e) */ 1 -- end\n from dual", [("it'sa", 1)]),
    ],
)  # fmt: skip
def test_queries(company: SqlClient, sql: str, expected: list[tuple[object, ...]]) -> None:
    assert company.rows(sql) == expected


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select 1 from emp e, dept d where e.dept(+) = d.dept(+)", 1468),
        ("select 1 from emp e join dept d on e.dept = d.dept where e.id(+) = 1", 25156),
        ("select 1 from emp e, dept d where e.dept(+) = d.dept and d.dept(+) = e.id", 1416),
        ("select dept, name, sum(sal) from emp group by rollup (dept)", 979),
        ("select * from emp sample (10)", 3001),
    ],
)
def test_refused(company: SqlClient, sql: str, code: int) -> None:
    company.fails(code, sql)
