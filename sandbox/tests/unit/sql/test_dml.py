"""INSERT, UPDATE, DELETE: values stored to the last digit, constraints, array binds, statement atomicity."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from sandbox.tests.unit.sql.client import SqlClient

from minercdc_sandbox.interfaces import OraError


def test_values_fit_their_columns(shop: SqlClient) -> None:
    shop.run(
        "create table t (a number(5,2), b number, c integer, d float, e varchar2(4 char), f char(3), g date, h timestamp(3),"
        " i raw(2), j number(3,-2))"
    )
    shop.run(
        "insert into t values (:1,:2,:3,:4,:5,:6,:7,:8,:9,:10)",
        *(Decimal("1.005"), Decimal("1e-20"), Decimal("2.5"), Decimal("0.1"), "äöüß", "x"),
        *(datetime(2026, 2, 28, 1, 2, 3, 600000), datetime(2026, 2, 28, 1, 2, 3, 999600), b"\xff", 12345),
    )
    assert shop.rows("select * from t") == [
        (
            *(Decimal("1.01"), Decimal("1e-20"), 3, Decimal("0.1"), "äöüß", "x  "),
            *(datetime(2026, 2, 28, 1, 2, 3), datetime(2026, 2, 28, 1, 2, 4), b"\xff", 12300),
        )
    ]


def test_the_violated_constraint_is_named(items: SqlClient) -> None:
    items.run("create table k (a number, b number, constraint k_uk unique (a, b))")
    items.run("insert into k values (1, null)")
    assert "(SHOP.K_UK)" in str(items.fails(1, "insert into k values (1, null)"))
    items.run("insert into k values (null, null)")
    items.run("insert into k values (null, null)")
    assert items.one("select count(*) from k") == 3


def test_array_insert_stops_at_the_error_and_keeps_the_rows_before(items: SqlClient) -> None:
    with pytest.raises(OraError) as caught:
        items.many("insert into item (id, name) values (:1, :2)", [(10, "a"), (11, "b"), (1, "dup"), (12, "c")])
    assert caught.value.number == 1
    assert items.one("select count(*) from item where id >= 10") == 2


def test_batch_errors_and_row_counts(items: SqlClient) -> None:
    rows: list[tuple[object, ...]] = [(10, "a"), (1, "dup"), (10, "dup"), (11, "b"), (12, None), (99999999999, "x")]
    result = items.many("insert into item (id, name) values (:1, :2)", rows, batch_errors=True, row_counts=True)
    assert [(e.offset, e.error.number) for e in result.batch_errors] == [(1, 1), (2, 1), (4, 1400), (5, 1438)]
    assert (result.row_count, result.row_counts) == (2, [1, 0, 0, 1, 0, 0])
    counted = items.many("update item set price = 0 where id >= :1", [(10,), (12,), (1,)], row_counts=True)
    assert counted.row_counts == [2, 0, 5]


def test_savepoints(items: SqlClient) -> None:
    items.run("insert into item (id, name) values (10, 'a')")
    items.run("savepoint one")
    items.many("insert into item (id, name) values (:1, :2)", [(n, "x") for n in range(20, 90)])
    items.run("update item set name = 'changed'")
    items.run("delete from item where id = 10")
    items.run("rollback to savepoint one")
    assert items.rows("select name from item order by id") == [("nut",), ("bolt",), ("gear",), ("a",)]
    items.fails(1086, "rollback to two")
    items.run("rollback")
    assert items.one("select count(*) from item") == 3


def test_an_open_cursor_keeps_its_moment(items: SqlClient) -> None:
    items.many("insert into item (id, name) values (:1, :2)", [(n, "x") for n in range(10, 300)])
    rows = items.run("select id, name from item order by id").rows
    assert rows is not None
    first = rows.fetch(5)
    items.run("update item set name = 'late'")
    items.run("delete from item where id > 200")
    items.session.commit()
    rest = rows.fetch(1000)
    assert len(first) + len(rest) == 293
    assert {row[1] for row in rest} == {"x"}
