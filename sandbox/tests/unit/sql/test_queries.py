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


def test_fetch_in_batches(items: SqlClient) -> None:
    rows = items.run("select id from item order by id").rows
    assert rows is not None
    assert [len(rows.fetch(2)), len(rows.fetch(2)), len(rows.fetch(2))] == [2, 1, 0]


def test_an_empty_statement_is_refused(items: SqlClient) -> None:
    items.fails(900, "")


def test_what_is_nested_too_deeply_is_refused_and_undone(items: SqlClient) -> None:
    items.fails(3001, f"select {'(' * 2000}1{')' * 2000} from dual")
    items.run("create function deeper return number is begin return deeper; end;")
    items.fails(3001, "select deeper from dual")
    items.fails(3001, "begin delete from item; insert into item (id, name) select deeper, 'x' from dual; end;")
    assert items.one("select count(*) from item") == 3
    items.run("create force view one as select * from two")
    items.run("create force view two as select * from one")
    items.fails(3001, "select * from one")
