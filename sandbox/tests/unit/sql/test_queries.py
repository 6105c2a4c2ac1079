"""SELECT as a whole: joins, grouping, order, limits, set operations, and what is refused."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

from minercdc_sandbox.interfaces import OraType


@pytest.fixture
def orders(items: SqlClient) -> SqlClient:
    items.run("create table orders (id number primary key, item_id number, qty number(5), note varchar2(10))")
    items.many("insert into orders values (:1,:2,:3,:4)", [(1, 1, 5, "a"), (2, 1, 7, None), (3, 2, 1, "b"), (4, 9, 2, "c")])
    items.session.commit()
    return items


def test_where_and_order(items: SqlClient) -> None:
    assert items.rows("select name from item where price >= 1 and name like '%t' order by name") == [("bolt",), ("nut",)]


def test_nulls_sort_last_up_and_first_down(items: SqlClient) -> None:
    assert [r[0] for r in items.rows("select id from item order by price")] == [1, 2, 3]
    assert [r[0] for r in items.rows("select id from item order by price desc")] == [3, 2, 1]
    assert [r[0] for r in items.rows("select id from item order by price desc nulls last")] == [2, 1, 3]
    assert [r[0] for r in items.rows("select id, price as x from item order by nvl(x, 0)")] == [3, 1, 2]


def test_inner_and_outer_joins(orders: SqlClient) -> None:
    comma = "select i.name, o.qty from item i, orders o where o.item_id = i.id order by o.id"
    ansi = "select i.name, o.qty from item i join orders o on o.item_id = i.id order by o.id"
    assert orders.rows(comma) == orders.rows(ansi) == [("nut", 5), ("nut", 7), ("bolt", 1)]
    left = "select i.id, o.id from item i left join orders o on o.item_id = i.id order by i.id, o.id"
    assert orders.rows(left) == [(1, 1), (1, 2), (2, 3), (3, None)]
    assert orders.one("select count(*) from item cross join orders") == 12
    using = "select id, name from item join orders using (id) order by id"
    assert orders.rows(using) == [(1, "nut"), (2, "bolt"), (3, "gear")]


def test_grouping(orders: SqlClient) -> None:
    sql = "select item_id, count(*), sum(qty), avg(qty) from orders group by item_id having sum(qty) > 1 order by 1"
    assert orders.rows(sql) == [(1, 2, 12, 6), (9, 1, 2, 2)]
    assert orders.rows("select count(note), min(qty), max(note), sum(qty) from orders where 1=0") == [(0, None, None, None)]
    assert orders.one("select count(distinct item_id) from orders") == 3
    assert orders.one("select max(count(*)) from orders group by item_id") == 2


def test_what_is_not_grouped_is_refused(orders: SqlClient) -> None:
    orders.fails(979, "select item_id, qty from orders group by item_id")
    orders.fails(937, "select item_id, count(*) from orders")
    orders.fails(934, "select 1 from orders where count(*) > 1")


def test_subqueries(orders: SqlClient) -> None:
    assert orders.rows("select name from item where id in (select item_id from orders where qty > 4)") == [("nut",)]
    correlated = "select name from item i where not exists (select 1 from orders o where o.item_id = i.id)"
    assert orders.rows(correlated) == [("gear",)]
    scalar = "select name, (select sum(qty) from orders o where o.item_id = i.id) from item i order by id"
    assert orders.rows(scalar) == [("nut", 12), ("bolt", 1), ("gear", None)]
    assert orders.rows("with big as (select * from orders where qty > 2) select count(*) from big") == [(2,)]


def test_set_operations(orders: SqlClient) -> None:
    assert orders.rows("select id from item union select id from orders order by 1") == [(1,), (2,), (3,), (4,)]
    assert len(orders.rows("select id from item union all select id from orders")) == 7
    assert orders.rows("select id from orders minus select id from item") == [(4,)]
    orders.fails(1789, "select id from item union select id, qty from orders")
    orders.fails(1790, "select id from item union select name from item")


def test_rownum_comes_before_order_and_fetch_after(items: SqlClient) -> None:
    assert items.rows("select id from item where rownum <= 2 order by id desc") == [(2,), (1,)]
    assert items.rows("select id from (select id from item order by id desc) where rownum = 1") == [(3,)]
    assert items.rows("select id from item order by id desc fetch first 2 rows only") == [(3,), (2,)]
    assert items.rows("select id from item order by id offset 1 rows fetch next 1 rows only") == [(2,)]
    assert items.rows("select id from item order by id fetch next :n rows only", 1) == [(1,)]
    assert items.rows("select rownum, id from item order by id desc") == [(3, 3), (2, 2), (1, 1)]
    assert items.rows("select id from item where rownum > 1") == []
    assert items.one("select count(*) from item where rownum <= 2") == 2


def test_rowid_selects_orders_and_ranges(items: SqlClient) -> None:
    ids = [r[0] for r in items.rows("select rowid from item order by rowid")]
    assert ids == sorted(ids)
    assert len(ids[0]) == 18
    assert items.rows("select id from item where rowid = :1", ids[1]) == [(2,)]
    assert items.rows("select id from item where rowid > :1 and rowid <= :2", ids[0], ids[2]) == [(2,), (3,)]
    items.fails(1410, "select id from item where rowid = 'x'")


def test_star_and_headings(items: SqlClient) -> None:
    result = items.run(
        "select i.*, count(*) over_all from item i group by id"
        if False
        else "select i.id, price*2, 'x' as \"Low\" from item i"
    )
    assert result.columns is not None
    assert [c.name for c in result.columns] == ["ID", "PRICE*2", "Low"]
    described = items.session.describe("select * from item where id = :1")
    assert described is not None
    assert [(c.name, c.type, c.precision, c.scale, c.size, c.nullable) for c in described][:4] == [
        ("ID", OraType.NUMBER, 9, 0, 22, False),
        ("NAME", OraType.VARCHAR2, 0, 0, 20, False),
        ("PRICE", OraType.NUMBER, 10, 2, 22, True),
        ("KIND", OraType.CHAR, 0, 0, 4, True),
    ]
    assert items.session.describe("delete from item") is None


def test_char_compares_padded_to_literals_and_exactly_to_varchar(items: SqlClient) -> None:
    assert items.one("select kind from item where kind = 'x'") == "x   "
    assert items.rows("select id from item where kind = :1", "x") == []
    assert items.rows("select id from item where kind in ('x', 'xy')") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select * from nothing", 942),
        ("select nothing from item", 904),
        ("select id from item a, item b", 918),
        ("select x.id from item", 904),
        ("select 1", 923),
        ("select 1 from item order by 5", 1785),
        ("select distinct name from item order by id", 1791),
        ("select id from item where id", 920),
        ("select id from item where id = (select id, name from item)", 913),
        ("select id from item where (id, name) in (select id from item)", 947),
        ("select id from item garbage here", 933),
        ("select id, from item", 936),
        ("select id from item where rownum <= 2 or id = 1", 3001),
        ("select count(max(id)) from item", 978),
        ("selectt 1", 900),
        ("", 900),
    ],
)
def test_refused(items: SqlClient, sql: str, code: int) -> None:
    items.fails(code, sql)


def test_fetch_in_batches(items: SqlClient) -> None:
    rows = items.run("select id from item order by id").rows
    assert rows is not None
    assert [len(rows.fetch(2)), len(rows.fetch(2)), len(rows.fetch(2))] == [2, 1, 0]
