"""Analytic functions and the aggregates beyond SUM."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sandbox.tests.unit.sql.client import SqlClient


def column(client: SqlClient, expression: str, tail: str = "order by id") -> list[object]:
    return [row[0] for row in client.rows(f"select {expression} from emp {tail}")]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("row_number() over (partition by dept order by sal desc)", [1, 1, 2, 2, 1, 3, 2, 3, 3]),
        ("rank() over (order by dept)", [1, 7, 1, 4, 4, 4, 7, 7, 1]),
        ("dense_rank() over (order by dept)", [1, 3, 1, 2, 2, 2, 3, 3, 1]),
        ("ntile(3) over (order by id)", [1, 1, 1, 2, 2, 2, 3, 3, 3]),
        ("percent_rank() over (order by id)", [Decimal(n) / 8 for n in range(9)]),
        ("cume_dist() over (order by dept) * 9", [3, 9, 3, 6, 6, 6, 9, 9, 3]),
        ("lag(name, 2, '-') over (order by id)", ["-", "-", "KING", "BLAKE", "CLARK", "JONES", "SCOTT", "ADAMS", "ALLEN"]),
        ("lead(id) over (order by id)", [2, 3, 4, 5, 6, 7, 8, 9, None]),
        ("lag(mgr) ignore nulls over (order by id)", [None, None, 1, 1, 1, 4, 5, 2, 2]),
        ("lead(mgr, 2, -1) ignore nulls over (order by id)", [1, 1, 4, 5, 2, 2, 3, -1, -1]),
        ("sum(id) over (order by id range 2 preceding)", [1, 3, 6, 9, 12, 15, 18, 21, 24]),
        ("sum(id) over (order by date '2026-01-01' + id range between 1 preceding and interval '1' day following)", [3, 6, 9, 12, 15, 18, 21, 24, 17]),
        ("count(*) over (order by mgr range between 1 preceding and 1 following)", [1, 5, 5, 5, 3, 2, 6, 6, 4]),
        ("count(*) over (order by id desc range between 1 preceding and 0.5 following)", [1, *[2] * 8][::-1]),
        ("first_value(name) over (partition by dept order by id)", ["KING", "BLAKE", "KING", "JONES"] + ["JONES"] * 2 + ["BLAKE"] * 2 + ["KING"]),
        ("last_value(mgr ignore nulls) over (order by id)", [None, 1, 1, 1, 4, 5, 2, 2, 3]),
        ("sum(id) over (order by id)", [1, 3, 6, 10, 15, 21, 28, 36, 45]),
        ("sum(id) over (order by id rows between 1 preceding and 1 following)", [3, 6, 9, 12, 15, 18, 21, 24, 17]),
        ("max(id) over (order by id rows between unbounded preceding and 1 preceding)", [None, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("count(distinct dept) over ()", [3] * 9),
        ("round(ratio_to_report(id) over () * 45, 20)", list(range(1, 10))),
        ("listagg(id, '+') within group (order by id) over (partition by dept)", ["1+3+9", "2+7+8", "1+3+9"] + ["4+5+6"] * 3 + ["2+7+8"] * 2 + ["1+3+9"]),
    ],
)  # fmt: skip
def test_analytic_functions(company: SqlClient, expression: str, expected: list[object]) -> None:
    assert column(company, expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("listagg(name, ',') within group (order by name desc)", "WARD,SCOTT,MILLER,KING,JONES,CLARK,BLAKE,ALLEN,ADAMS"),
        ("listagg(distinct dept, ',') within group (order by dept)", "10,20,30"),
        ("median(id)", 5),
        ("percentile_cont(0.25) within group (order by id)", 3),
        ("percentile_disc(0.5) within group (order by id desc)", 5),
        ("variance(id)", Decimal("7.5")),
        ("round(var_pop(id) * 3, 20)", 20),
        ("round(stddev(id), 6)", Decimal("2.738613")),
        ("round(corr(id, id * 2), 10)", 1),
        ("covar_samp(id, id)", Decimal("7.5")),
        ("max(name) keep (dense_rank first order by sal desc)", "KING"),
        ("min(id) keep (dense_rank last order by dept)", 2),
        ("count(*) keep (dense_rank last order by dept nulls first)", 3),
        ("stats_mode(dept) - stats_mode(dept)", 0),
        ("bit_or_agg(id)", 15),
    ],
)
def test_aggregates(company: SqlClient, expression: str, expected: object) -> None:
    assert company.one(f"select {expression} from emp") == expected


def test_windows_over_groups(company: SqlClient) -> None:
    sql = "select dept, sum(sal), sum(sum(sal)) over (order by dept) from emp group by dept order by dept"
    assert company.rows(sql) == [(10, 8750, 8750), (20, 7075, 15825), (30, 5700, 21525)]


def test_top_of_each_group(company: SqlClient) -> None:
    sql = (
        "select dept, name from (select e.*, row_number() over (partition by dept order by sal desc) n from emp e)"
        " where n = 1 order by dept"
    )
    assert company.rows(sql) == [(10, "KING"), (20, "SCOTT"), (30, "BLAKE")]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select id from emp where row_number() over (order by id) = 1", 30483),
        ("select dept from emp group by dept having rank() over (order by dept) = 1", 30483),
        ("select sum(rank() over (order by id)) from emp", 30483),
        ("select row_number() from emp", 30484),
        ("select row_number() over () from emp", 30485),
        ("select sum(id) over (rows 1 preceding) from emp", 30485),
        ("select max(sal) - min(sal) over () from emp", 937),
        ("select sum(id) over (order by id, sal range 1 preceding) from emp", 30486),
        ("select sum(id) over (order by name range 1 preceding) from emp", 902),
        ("select sum(id) over (order by date '2026-01-01' + id range interval '1' month preceding) from emp", 3001),
        ("select listagg(rpad('x', 4000), ',') within group (order by id) from emp", 1489),
        ("select percentile_cont(2) within group (order by id) from emp", 30498),
    ],
)
def test_refused(company: SqlClient, sql: str, code: int) -> None:
    company.fails(code, sql)
