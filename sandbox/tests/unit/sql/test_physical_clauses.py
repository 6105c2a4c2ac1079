"""Clauses about storage are read and have no effect; what would have one is refused by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.views.families import ALL_VIEWS


@pytest.mark.parametrize(
    "sql",
    [
        "create table x (a number) compress parallel 4 nologging",
        "create table x (a number) row store compress advanced tablespace users",
        "create table x (a number) partition by range (a) (partition p values less than (5) compress for oltp) parallel",
        "create index item_made on item (made, id) compress 1 parallel 2 tablespace users",
        "alter index item_name rebuild online parallel 4",
        "alter index item_name noparallel",
        "alter table item nologging",
        "alter table item parallel 8",
        "alter table parted modify partition p1 nologging",
        "create index parted_v on parted (v) local",
        "create index parted_v on parted (v) local (partition p1 tablespace users) online",
        "create unique index parted_u on parted (v, k) local",
        "alter session enable parallel dml",
        "alter session force parallel query parallel 4",
    ],
)
def test_read_without_effect(items: SqlClient, sql: str) -> None:
    items.run("create index item_name on item (name)")
    items.run("create table parted (k number, v number) partition by range (k) (partition p1 values less than (10))")
    items.run(sql)
    assert items.one("select count(*) from item") == 3


# Oracle takes one after another.
SEVERAL = (
    "add a number add b number",
    "add (a number) modify (name varchar2(40))",
    "modify name varchar2(40) add a number",
    "drop column price drop column made",
    "drop (price) add a number",
    "add constraint u unique (name) add a number",
    "drop primary key add a number",
    "enable row movement disable primary key",
)
# Clauses whose words would else be those of a column or a partition.
UNIMPLEMENTED = (
    "modify nonpartitioned",
    "modify partition by hash (id) partitions 4 online",
    "modify default attributes nologging",
    "modify lob (name) (nocache)",
    "add period for valid (a, b)",
    "drop (period for valid)",
    "drop columns continue",
    "drop clustering",
)


@pytest.mark.parametrize(
    ("sql", "code", "text"),
    [
        ("create table x (a number primary key) organization external", 3001, "ORGANIZATION EXTERNAL"),
        ("create table x (a number) cluster c (a)", 3001, "CLUSTER"),
        ("create index x on item (name) reverse", 3001, "REVERSE"),
        ("create index x on item (name) global partition by hash (name)", 3001, "GLOBAL"),
        ("create index x on item (name) local", 14016, ""),
        ("alter index item_pk_not_there rebuild", 1418, ""),
        ("lock table item partition (p) in share mode", 3001, "PARTITION"),
        ("alter session enable something", 2248, ""),
        ("create table x (a number) storage (initial 1", 907, ""),
        ("create index x on item (name) local (partition p", 907, ""),
        ("declare pragma inline(x, 'yes'", 6550, "PLS-00103"),
        *((f"alter table item {clauses}", 3001, "several clauses") for clauses in SEVERAL),
        *((f"alter table item {clause}", 3001, "this ALTER TABLE") for clause in UNIMPLEMENTED),
        *((f"create table x (id number, a {what})", 3001, "DOMAIN") for what in ("number domain d", "domain d")),
        ("create table x (a number annotations (b))", 3001, "ANNOTATIONS"),
        ("alter table item add a number reservable", 3001, "RESERVABLE"),
        ("alter table item modify (name domain d)", 3001, "DOMAIN"),
        ("create table x (a number, b as (a + 1) not null)", 3001, "virtual column"),
        ("create table x (a number, b number as (a + 1) virtual constraint u unique)", 3001, "virtual column"),
    ],
)
def test_refused(items: SqlClient, sql: str, code: int, text: str) -> None:
    assert text in str(items.fails(code, sql))


def test_columns_have_the_names_of_clauses(items: SqlClient) -> None:
    items.run("alter table item add (period date, clustering number, domain varchar2(5), annotations number)")
    items.run("alter table item modify (period timestamp, domain varchar2(9), annotations not null disable)")
    items.run("alter table item drop (period, clustering)")


@pytest.mark.parametrize("first", ["securefile", "", "segment_a", "securefile segment_a", "lob (cache)"])
def test_lobs_are_stored_one_list_after_another(items: SqlClient, first: str) -> None:
    items.run(f"create table x (a clob, b clob) lob (a) store as {first} lob (b) store as basicfile (nocache)")
    items.fails(904, "create table y (a clob) lob (a) store as lob (b) store as securefile")


@pytest.mark.parametrize("view", ["constraints", "cons_columns", "log_groups", "log_group_columns"])
def test_user_views_of_constraints_and_log_groups_have_the_owner(items: SqlClient, view: str) -> None:
    items.run("alter table item add supplemental log group g (name) always")
    owner = items.value("user")
    assert set(items.rows(f"select owner from user_{view}")) == {(owner,)}


def test_renamed_index_goes_on_with_its_constraint(items: SqlClient) -> None:
    [(old,)] = items.rows("select index_name from user_indexes where table_name = 'ITEM'")
    items.run(f"alter index {old} rename to item_key")
    assert items.rows("select index_name from user_constraints where constraint_type = 'P'") == [("ITEM_KEY",)]
    items.fails(1, "insert into item (id, name) values (1, 'again')")


def test_userenv(shop: SqlClient) -> None:
    assert str(shop.value("userenv('sid')")) == str(shop.session.sid)
    shop.fails(2003, "select userenv('nothing') from dual")


@pytest.fixture
def of_23ai() -> Iterator[SqlClient]:
    database: SandboxDatabase = SandboxDatabase(views=ALL_VIEWS)
    database.version = (23, 26, 0, 0, 0)
    yield connect(database)
    database.close()


def test_values_of_several_rows(of_23ai: SqlClient, shop: SqlClient) -> None:
    of_23ai.run("create table x (a number, b varchar2(5))")
    assert of_23ai.run("insert into x values (1, 'a'), (2, null), (1 + 2, 'c')").row_count == 3
    assert of_23ai.run("insert into x (b, a) values ('d', :1), ('e', 5)", 4).row_count == 2
    assert of_23ai.rows("select a, b from x order by a") == [(1, "a"), (2, None), (3, "c"), (4, "d"), (5, "e")]
    of_23ai.fails(947, "insert into x values (1, 'a'), (2)")
    shop.run("create table x (a number)")
    shop.fails(933, "insert into x values (1), (2)")


def test_vectors_of_int8_have_no_nan_and_infinities(of_23ai: SqlClient) -> None:
    of_23ai.run("create table x (v vector(2, int8))")
    of_23ai.fails(51806, "insert into x values ('[NaN, 1]')")
    of_23ai.fails(51806, "insert into x values ('[1, -Infinity]')")
