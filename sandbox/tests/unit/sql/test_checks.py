"""CHECK constraints."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


@pytest.fixture
def priced(shop: SqlClient) -> SqlClient:
    shop.run(
        "create table priced (id number primary key, low number check (low >= 0), high number, state varchar2(5),"
        " constraint in_order check (low < high or state = 'off'), constraint known check (state in ('on', 'off')))"
    )
    shop.run("insert into priced values (1, 1, 2, 'on')")
    shop.session.commit()
    return shop


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("insert into priced values (2, 3, 2, 'on')", "IN_ORDER"),
        ("insert into priced (id, state) values (2, 'x')", "KNOWN"),
        ("insert into priced select 2, 5, 4, 'on' from dual", "IN_ORDER"),
        ("update priced set high = 0", "IN_ORDER"),
        ("insert into priced (id, low) values (3, -1)", "SYS_C"),
    ],
)
def test_false_is_refused_and_nothing_changes(priced: SqlClient, sql: str, name: str) -> None:
    error = priced.fails(2290, sql)
    assert f".{name}" in error.text
    assert priced.rows("select * from priced") == [(1, 1, 2, "on")]


def test_array_dml_reports_the_rows_that_fail(priced: SqlClient) -> None:
    rows: list[tuple[object, ...]] = [(n, n % 2, 1, "on") for n in range(10, 14)]
    result = priced.many("insert into priced values (:1, :2, :3, :4)", rows, batch_errors=True)
    assert [(e.offset, e.error.number) for e in result.batch_errors] == [(1, 2290), (3, 2290)]
