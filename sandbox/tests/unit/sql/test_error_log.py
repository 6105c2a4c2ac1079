"""LOG ERRORS and DBMS_ERRLOG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.server import sandbox_database


@pytest.fixture
def load() -> Iterator[SqlClient]:
    """A session in a database with packages, with a table, rows to load into it, and its error log."""
    database = sandbox_database()
    shop = connect(database)
    shop.run("create table raw_item (id varchar2(9), name varchar2(30), price varchar2(9))")
    for row in (
        ("1", "bolt", "2"),
        ("2", "a name that is too long", "3"),
        ("x", "nut", "4"),
        ("4", None, "5"),
        ("1", "cog", "0"),
    ):
        shop.run("insert into raw_item values (:1, :2, :3)", *row)
    shop.run(
        "create table item (id number primary key, name varchar2(9) not null, price number check (price > 0), d date default sysdate)"
    )
    shop.run("begin dbms_errlog.create_error_log('item'); end;")
    yield shop
    database.close()


def logged(shop: SqlClient) -> list[tuple[Any, ...]]:
    return shop.rows(
        "select ora_err_number$, ora_err_optyp$, ora_err_tag$, id, name, price from err$_item order by id, ora_err_number$"
    )


def test_rows_that_fail_are_logged_and_the_others_inserted(load: SqlClient) -> None:
    result = load.run(
        "insert into item (id, name, price) select * from raw_item log errors into err$_item ('load ' || :1) reject limit unlimited",
        7,
    )
    assert result.row_count == 1
    assert logged(load) == [
        (2290, "I", "load 7", "1", "cog", "0"),
        (12899, "I", "load 7", "2", "a name that is too long", "3"),
        (1400, "I", "load 7", "4", None, "5"),
        (1722, "I", "load 7", "x", "nut", "4"),
    ]
    text = load.one("select ora_err_mesg$ from err$_item where id = '4'")
    assert text == 'ORA-01400: cannot insert NULL into ("SHOP"."ITEM"."NAME")'


def test_updates_and_deletes(load: SqlClient) -> None:
    load.run("create table part (id number, item number references item)")
    for n in (1, 2, 3):
        load.run("insert into item (id, name, price) values (:1, 'n', 1)", n)
    load.run("insert into part values (1, 2)")
    update = "update item set price = price - id, name = rpad('n', id * 4, 'x') log errors reject limit 9"
    assert load.run(update).row_count == 0
    assert [row[:1] + row[3:] for row in logged(load)] == [
        *[(2290, "1", "nxxx", "0"), (2290, "2", "nxxxxxxx", "-1"), (12899, "3", "nxxxxxxxxxxx", "-2")],
    ]
    load.run("delete from err$_item")
    assert load.run("delete from item log errors ('gone') reject limit unlimited").row_count == 2
    assert load.rows(
        "select e.id, ora_err_number$, ora_err_optyp$ from err$_item e, item i where i.rowid = ora_err_rowid$"
    ) == [
        ("2", 2292, "D"),
    ]


def test_values_of_binds_and_arrays(load: SqlClient) -> None:
    rows: list[tuple[object, ...]] = [(1, "a"), (2, "far too long"), (3, "c")]
    done = load.many("insert into item (id, name) values (:1, :2) log errors reject limit unlimited", rows, row_counts=True)
    assert (done.row_count, done.row_counts) == (2, [1, 0, 1])
    assert logged(load) == [(12899, "I", None, "2", "far too long", None)]
