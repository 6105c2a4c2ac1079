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


def test_null_passes(priced: SqlClient) -> None:
    priced.run("insert into priced (id) values (2)")
    priced.run("insert into priced values (3, 9, 1, 'off')")
    assert priced.one("select count(*) from priced") == 3


def test_array_dml_reports_the_rows_that_fail(priced: SqlClient) -> None:
    rows: list[tuple[object, ...]] = [(n, n % 2, 1, "on") for n in range(10, 14)]
    result = priced.many("insert into priced values (:1, :2, :3, :4)", rows, batch_errors=True)
    assert [(e.offset, e.error.number) for e in result.batch_errors] == [(1, 2290), (3, 2290)]


def test_alter_table_adds_validates_and_drops(priced: SqlClient) -> None:
    priced.fails(2293, "alter table priced add constraint big check (high > 10)")
    priced.run("alter table priced add constraint small check (high < 10)")
    priced.fails(2264, "alter table priced add constraint small check (high < 11)")
    priced.fails(2290, "update priced set high = 11")
    priced.run("alter table priced rename column high to top")
    priced.fails(2290, "update priced set top = 11")
    priced.fails(12991, "alter table priced drop column top")
    priced.run("alter table priced drop constraint small")
    priced.run("update priced set top = 11")
    priced.run("alter table priced drop constraint in_order")
    priced.run("alter table priced drop column state")
    priced.run("insert into priced values (5, 6, 5)")
    priced.fails(2290, "insert into priced values (6, -1, 0)")


@pytest.mark.parametrize(
    ("condition", "code"),
    [("a = (select 1 from dual)", 2251), ("d < sysdate", 2436), ("wrong = 1", 904), ("a = :x", 1027), ("a", 920)],
)
def test_conditions_that_cannot_be(shop: SqlClient, condition: str, code: int) -> None:
    shop.fails(code, f"create table c (a number, d date, check ({condition}))")
    shop.fails(942, "select * from c")
