"""UPDATE and DELETE .. WHERE CURRENT OF a cursor."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


@pytest.fixture
def items(shop: SqlClient) -> SqlClient:
    shop.run("create table item (id number primary key, n number, t varchar2(9))")
    shop.run("insert into item select level, level * 10, 'row' || level from dual connect by level <= 250")
    return shop


def test_the_row_fetched_last(items: SqlClient) -> None:
    items.run("""declare
      cursor c(low number) is select * from item i where i.id > low order by i.id desc for update of n nowait;
      r c%rowtype;
    begin
      open c(247);
      fetch c into r;
      fetch c into r;
      update item set n = r.n * 2, t = 'x' || r.id where current of c;
      fetch c into r;
      delete from item where current of c;
      close c;
    end;""")
    assert items.rows("select * from item where id > 246 order by id") == [
        *[(247, 2470, "row247"), (249, 4980, "x249"), (250, 2500, "row250")],
    ]


def test_each_row_of_a_loop(items: SqlClient) -> None:
    items.run("""declare
      cursor d is select id, n * 2 as twice from item order by id for update;
    begin
      for r in d loop
        if mod(r.id, 2) = 0 then delete from item where current of d;
        else update item set n = r.twice + d%rowcount where current of d; end if;
      end loop;
    end;""")
    assert items.rows("select count(*), min(id), max(id), sum(n) from item") == [
        (125, 1, 249, sum(20 * n + n for n in range(1, 250, 2)))
    ]


def test_bulk_fetches_do_not_show_the_hidden_column(items: SqlClient) -> None:
    items.run("""declare
      cursor c is select t from item where id < 4 order by id for update;
      type texts is table of varchar2(9);
      found texts;
    begin
      open c;
      fetch c bulk collect into found;
      close c;
      update item set t = found(1) || found(3) where id = 1;
    end;""")
    assert items.one("select t from item where id = 1") == "row1row3"


@pytest.mark.parametrize(
    ("cursor", "body", "code", "message"),
    [
        ("select id from item", "open c; fetch c into n; delete from item where current of c;", 6550, "PLS-00404"),
        ("select id from item for update", "delete from item where current of c;", 1001, "invalid cursor"),
        ("select id from item for update", "open c; delete from item where current of c;", 1410, "invalid ROWID"),
        ("select id from item for update", "delete from item where current of d;", 6550, "PLS-00201"),
    ],
)
def test_refused(items: SqlClient, cursor: str, body: str, code: int, message: str) -> None:
    assert message in str(items.fails(code, f"declare cursor c is {cursor}; n number; begin {body} end;"))
