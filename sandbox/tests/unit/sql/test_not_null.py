"""NOT NULL in the dictionary: by which constraint, in which state, and what a query hands on of it."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


def required(shop: SqlClient, table: str) -> str:
    """The columns that the dictionary calls NOT NULL."""
    rows = shop.rows(
        f"select column_name from user_tab_columns where table_name = '{table}' and nullable = 'N' order by column_id"
    )
    return " ".join(str(name) for (name,) in rows)


def constraints(shop: SqlClient, table: str) -> list[str]:
    """Conditions of its constraints."""
    sql = (
        f"select search_condition_vc from user_constraints where table_name = '{table}' and constraint_type = 'C' order by 1"
    )
    return [str(text) for (text,) in shop.rows(sql)]


def test_a_column_is_not_null_by_a_constraint_that_is_enabled_and_validated(shop: SqlClient) -> None:
    """Rows are held to one that is not validated all the same."""
    shop.run(
        "create table t (a number constraint a_nn not null, b number check (b is not null), c number constraint c_pk primary key)"
    )
    assert required(shop, "T") == "A C"
    shop.run("alter table t disable constraint a_nn")
    shop.run("alter table t disable constraint c_pk")
    assert required(shop, "T") == ""
    shop.run("alter table t enable novalidate constraint a_nn")
    shop.run("alter table t enable novalidate constraint c_pk")
    assert required(shop, "T") == ""
    shop.fails(1400, "insert into t values (null, 1, 1)")
    shop.run("alter table t modify constraint a_nn validate")
    shop.run("alter table t modify constraint c_pk validate")
    assert required(shop, "T") == "A C"


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select * from s", "B"),
        ("select s.b x, a, upper(b) u from s where a > 0 order by 1", "X"),
        ("(select b from s)", "B"),
        ("select b + 0 b from s", ""),
        ("select distinct c from s", ""),
    ],
)
def test_create_table_as_copies_not_null_constraints_and_none_of_a_primary_key(
    shop: SqlClient, query: str, columns: str
) -> None:
    shop.run("create table s (a number primary key, b number not null, c number)")
    shop.run(f"create table t as {query}")
    assert required(shop, "T") == columns
    assert constraints(shop, "T") == [f'"{columns}" IS NOT NULL'] * bool(columns)


def test_create_table_as_takes_a_constraint_of_the_text_for_the_copied_one(shop: SqlClient) -> None:
    shop.run("create table s (a number not null)")
    shop.run("create table t (x constraint x_nn not null) as select a from s")
    assert shop.rows("select constraint_name from user_constraints where table_name = 'T'") == [("X_NN",)]


def test_the_not_null_of_an_identity_goes_with_it(shop: SqlClient) -> None:
    shop.run("create table t (a number generated as identity, b number)")
    assert required(shop, "T") == "A"
    shop.run("alter table t modify a drop identity")
    assert (required(shop, "T"), constraints(shop, "T")) == ("", [])
    shop.run("create table u (a number generated always as identity primary key)")
    shop.run("alter table u modify a drop identity")
    assert required(shop, "U") == "A"


def test_last_change_is_of_each_constraint(shop: SqlClient) -> None:
    shop.run("create table t (a number constraint a_nn not null, b number)")
    changed = "select last_change from user_constraints where constraint_name = 'A_NN'"
    made = shop.one(changed)
    assert made is not None
    shop.run("alter table t add c number")
    assert shop.one(changed) == made


def test_the_index_of_a_key_goes_with_it_after_a_rename(shop: SqlClient) -> None:
    shop.run("create table t (a number constraint k primary key, b number)")
    shop.run("alter table t rename constraint k to k2")
    shop.run("alter table t drop primary key")
    assert shop.rows("select index_name from user_indexes where table_name = 'T'") == []
    shop.run("create unique index i on t (a)")
    shop.run("alter table t add constraint k primary key (a) using index i")
    shop.run("alter table t drop primary key")
    assert shop.rows("select index_name from user_indexes where table_name = 'T'") == [("I",)]
