"""Functions of packages that scripts use in SQL: DBMS_RANDOM, DBMS_ROWID; and what is refused by its own name."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase


def test_random_values_differ_by_row(shop: SqlClient) -> None:
    found = shop.rows(
        "select dbms_random.value, dbms_random.value(5, 7), dbms_random.string('U', 6), dbms_random.normal from dual connect by level < 50"
    )
    assert len({row[0] for row in found}) == len({row[2] for row in found}) == 49
    assert all(0 <= share < 1 and 5 <= scaled < 7 for share, scaled, _, _ in found)
    assert all(text.isupper() and len(text) == 6 for _, _, text, _ in found)
    shop.run("create table out (n number)")
    shop.run("begin insert into out values (trunc(dbms_random.value(1, 2))); end;")
    assert shop.one("select n from out") == 1


def test_parts_of_row_ids(items: SqlClient) -> None:
    found = items.rows(
        "select dbms_rowid.rowid_object(rowid), dbms_rowid.rowid_row_number(rowid), dbms_rowid.rowid_block_number(rowid) from item"
    )
    [(object_id,)] = items.rows("select data_object_id from user_objects where object_name = 'ITEM'")
    assert [row[:2] for row in found] == [(object_id, 0), (object_id, 1), (object_id, 2)]
    assert len({row[2] for row in found}) == 1
    items.fails(1410, "select dbms_rowid.rowid_object('nothing') from dual")


@pytest.mark.parametrize(
    ("expression", "name"),
    [("json_object('a' value 1)", "JSON_OBJECT"), ("json_arrayagg(1)", "JSON_ARRAYAGG"), ("cast(multiset(select 1 from dual) as t)", "MULTISET")],
)  # fmt: skip
def test_refused_by_name(shop: SqlClient, expression: str, name: str) -> None:
    assert name in str(shop.fails(3001, f"select {expression} from dual"))


def test_functions_in_with_are_refused(shop: SqlClient) -> None:
    assert "FUNCTION" in str(shop.fails(3001, "with function f return number is begin return 1; end; select f from dual"))
    assert shop.one("with function as (select 1 n from dual) select n from function") == 1


def test_the_text_of_a_table_is_for_its_owner_and_the_catalog_role(shop: SqlClient, db: SandboxDatabase) -> None:
    shop.run("create table t (a number)")
    admin = connect(db, "SYSTEM")
    admin.run("create user reader identified by r")
    admin.run("grant create session, select any table to reader")
    sql = "select to_char(dbms_metadata.get_ddl('TABLE', 'T', :1)) from dual"
    owner = shop.session.user
    assert str(shop.one(sql, owner)).startswith(f'\n  CREATE TABLE "{owner}"."T"')
    reader = connect(db, "READER")
    reader.fails(31603, sql, owner)
    admin.run("grant select_catalog_role to reader")
    assert reader.one(sql, owner) == shop.one(sql, owner)
