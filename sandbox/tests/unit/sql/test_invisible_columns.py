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


def test_dictionary_shows_hidden_columns(hidden: SqlClient) -> None:
    sql = "select column_name, column_id, hidden_column, internal_column_id from user_tab_cols where table_name = 'H' order by 4"
    assert hidden.rows(sql) == [("A", 1, "NO", 1), ("B", None, "YES", 2), ("C", 2, "NO", 3)]
    assert '"B" NUMBER INVISIBLE DEFAULT 7' in str(
        hidden.one("select to_char(dbms_metadata.get_ddl('TABLE', 'H')) from dual")
    )
