"""INVISIBLE columns: there for who names them, and not what `*` or an INSERT without columns means."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


@pytest.fixture
def hidden(shop: SqlClient) -> SqlClient:
    shop.run("create table h (a number, b number invisible default 7, c number)")
    shop.run("insert into h values (1, 3)")
    shop.run("insert into h (a, b, c) values (2, 8, 4)")
    shop.session.commit()
    return shop


def test_star_leaves_them_out(hidden: SqlClient) -> None:
    assert hidden.rows("select * from h order by a") == [(1, 3), (2, 4)]
    assert hidden.rows("select h.*, b from h order by b") == [(1, 3, 7), (2, 4, 8)]
    assert hidden.rows("select a, b from h where b > 7") == [(2, 8)]
    assert hidden.rows("select * from (select a, b from h) where b = 7") == [(1, 7)]
    assert hidden.rows("select * from h natural join (select 2 a, 99 b from dual)") == [(2, 4, 99)]
    hidden.run("update h set b = b + 1 where b = 7")
    assert hidden.one("select sum(b) from h") == 16
    hidden.fails(913, "insert into h values (1, 2, 3)")


def test_views_and_rowtypes_do_not_have_them(hidden: SqlClient) -> None:
    hidden.run("create view v as select * from h")
    hidden.run("insert into v values (5, 6)")
    assert hidden.rows("select a, b, c from h where a = 5") == [(5, 7, 6)]
    hidden.run(
        "declare r h%rowtype; begin select * into r from h where a = 1; r.c := 30; update h set c = r.c where a = 1; end;"
    )
    assert hidden.one("select c from h where a = 1") == 30


def test_dictionary_tells(hidden: SqlClient) -> None:
    sql = "select column_name, column_id, hidden_column, internal_column_id from user_tab_cols where table_name = 'H' order by 4"
    assert hidden.rows(sql) == [("A", 1, "NO", 1), ("B", None, "YES", 2), ("C", 2, "NO", 3)]
    assert '"B" NUMBER INVISIBLE DEFAULT 7' in str(
        hidden.one("select to_char(dbms_metadata.get_ddl('TABLE', 'H')) from dual")
    )


def test_visibility_changes(hidden: SqlClient) -> None:
    hidden.run("alter table h modify c invisible")
    assert hidden.rows("select * from h order by a") == [(1,), (2,)]
    hidden.run("alter table h modify c visible")
    assert hidden.rows("select * from h order by a") == [(1, 3), (2, 4)]
    hidden.fails(54039, "create table none (a number invisible)")


def test_made_visible_again_it_is_the_last_column(hidden: SqlClient) -> None:
    hidden.run("alter table h modify b visible")
    hidden.run("alter table h add (d number default 9, e as (a + b))")
    assert hidden.rows("select * from h order by a") == [(1, 3, 7, 9, 8), (2, 4, 8, 9, 10)]
    hidden.run("insert into h (a, c, b) values (3, 5, 6)")
    hidden.run("alter table h modify (a invisible)")
    hidden.run("alter table h modify a visible")
    assert hidden.rows("select * from h where a = 3") == [(5, 6, 9, 9, 3)]
    sql = "select column_name, column_id, segment_column_id, internal_column_id from user_tab_cols where table_name = 'H' order by 4"
    assert hidden.rows(sql) == [("A", 5, 1, 1), ("B", 2, 2, 2), ("C", 1, 3, 3), ("D", 3, 4, 4), ("E", 4, None, 5)]
    hidden.run("alter table h drop column e")
    hidden.run("insert into h values (50, 60, 90, 4)")
    assert hidden.rows("select a, b, c, d from h where a = 4") == [(4, 60, 50, 90)]
