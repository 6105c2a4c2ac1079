"""ROLLUP and its kin, PIVOT, FETCH, and joins of every kind."""

from __future__ import annotations

from sandbox.tests.unit.sql.client import SqlClient


def test_pivot_and_unpivot(company: SqlClient) -> None:
    sql = "select * from (select dept, sal from emp) pivot (sum(sal) s, count(*) n for dept in (10 as a, 20 as b))"
    assert company.rows(sql) == [(8750, 3, 7075, 3)]
    result = company.run(sql)
    assert [column.name for column in result.columns or ()] == ["A_S", "A_N", "B_S", "B_N"]
    sql = "select id, k, v from emp unpivot (v for k in (sal as 's', mgr as 'm')) where id < 3 order by id, k"
    assert company.rows(sql) == [(1, "s", 5000), (2, "m", 1), (2, "s", 2850)]
    wide = company.rows("select v from emp unpivot include nulls (v for k in (mgr)) where id = 1")
    assert wide == [(None,)]
