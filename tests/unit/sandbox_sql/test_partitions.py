"""Partitioned tables: rows find their partition or are refused, and the dictionary tells of them."""

from __future__ import annotations

import pytest
from tests.unit.sandbox_sql.client import SqlClient


def test_range_partitions(shop: SqlClient) -> None:
    shop.run(
        "create table sale (id number, day date, kind varchar2(5)) partition by range (day, id) ("
        "partition old values less than (date '2026-01-01', maxvalue),"
        "partition new values less than (to_date('2027-01-01', 'YYYY-MM-DD'), 10))"
    )
    shop.run("insert into sale values (5, date '2025-05-05', 'a')")
    shop.run("insert into sale values (9, date '2027-01-01', 'b')")
    shop.fails(14400, "insert into sale values (10, date '2027-01-01', 'b')")
    shop.fails(14400, "insert into sale values (1, null, 'b')")
    shop.run("update sale set kind = 'c', day = day - 1 where id = 5")
    shop.fails(14402, "update sale set day = date '2026-06-06' where id = 5")
    assert shop.rows("select partition_name, partition_position, high_value from user_tab_partitions order by 2") == [
        *(("OLD", 1, "date '2026-01-01', maxvalue"), ("NEW", 2, "to_date('2027-01-01', 'YYYY-MM-DD'), 10")),
    ]
    assert shop.rows("select column_name, column_position from user_part_key_columns order by 2") == [("DAY", 1), ("ID", 2)]
    assert shop.one("select partitioned from user_tables where table_name = 'SALE'") == "YES"
    assert shop.one("select count(*) from user_objects where object_type = 'TABLE PARTITION'") == 2


def test_list_and_hash_partitions(shop: SqlClient) -> None:
    shop.run(
        "create table l (c varchar2(2)) partition by list (c) (partition p1 values ('a', 'b'), partition p2 values (null))"
    )
    shop.many("insert into l values (:1)", [("a",), ("b",), ("",)])
    shop.fails(14400, "insert into l values ('c')")
    shop.run("create table d (c number) partition by list (c) (partition p1 values (1), partition rest values (default))")
    shop.run("insert into d values (99)")
    shop.run("create table h (c number) partition by hash (c) partitions 4")
    shop.run("insert into h values (1)")
    assert shop.rows("select table_name, partitioning_type, partition_count from user_part_tables order by 1") == [
        *(("D", "LIST", 2), ("H", "HASH", 4), ("L", "LIST", 2)),
    ]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("create table x (a number) partition by range (a) (partition p values less than (5), partition q values less than (5))", 14037),
        ("create table x (a number) partition by range (a) (partition p values less than (5), partition p values less than (6))", 14013),
        ("create table x (a number) partition by range (a) (partition p values less than (5, 6))", 14019),
        ("create table x (a number) partition by range (b) (partition p values less than (5))", 904),
        ("create table x (a number) partition by range (a) interval (10) (partition p values less than (5))", 3001),
        ("create table x (a number) partition by reference (fk)", 3001),
        ("select * from item partition (p)", 3001),
        ("alter table item drop partition p", 3001),
        ("alter table item truncate partition p", 3001),
    ],
)  # fmt: skip
def test_refused(items: SqlClient, sql: str, code: int) -> None:
    items.fails(code, sql)


@pytest.mark.parametrize(
    "change",
    ["add partition q values less than (99)", "drop partition p1", "truncate partition p1", "enable row movement"],
)
def test_changes_of_partitions_are_refused_by_name(shop: SqlClient, change: str) -> None:
    shop.run("create table parted (k number) partition by range (k) (partition p1 values less than (10))")
    word = "ROW MOVEMENT" if "row" in change else f"ALTER TABLE {change.split()[0].upper()} PARTITION"
    assert word in str(shop.fails(3001, f"alter table parted {change}"))
