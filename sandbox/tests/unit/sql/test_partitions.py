"""Partitioned tables: rows find their partition or are refused, and the dictionary shows them."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase


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


@pytest.fixture
def ranged(shop: SqlClient) -> SqlClient:
    """A session with a table in three ranges, a row in each of the first two."""
    shop.run(
        "create table r (id number primary key, v varchar2(9)) partition by range (id)"
        " (partition p1 values less than (10), partition p2 values less than (20), partition p3 values less than (30))"
    )
    shop.many("insert into r values (:1, :2)", [(1, "one"), (11, "eleven"), (2, "two")])
    shop.session.commit()
    return shop


def ids(shop: SqlClient, partition: str) -> list[object]:
    """Keys of the rows of a partition."""
    return [row[0] for row in shop.rows(f"select id from r partition ({partition}) order by id")]


def names(shop: SqlClient) -> list[object]:
    return [row[0] for row in shop.rows("select partition_name from user_tab_partitions order by partition_position")]


def data_objects(shop: SqlClient) -> dict[object, object]:
    """DATA_OBJECT_ID of each partition."""
    sql = "select subobject_name, data_object_id from user_objects where object_type = 'TABLE PARTITION'"
    return {row[0]: row[1] for row in shop.rows(sql)}


def test_each_partition_is_a_segment(ranged: SqlClient) -> None:
    found = dict(ranged.rows("select id, rowid from r"))
    assert str(found[1])[:6] == str(found[2])[:6] != str(found[11])[:6]
    assert ranged.one("select data_object_id from user_objects where object_name = 'R' and object_type = 'TABLE'") is None
    for key, row_id in found.items():
        assert ranged.one(f"select id from r where rowid = '{row_id}'") == key
    assert ranged.one(f"select count(*) from r where rowid > '{found[2]}'") == 1
    assert ranged.one("select count(*) from r where rowid = 'AAAAAAAAAAAAAAAAAA'") == 0


@pytest.mark.parametrize(
    ("change", "left", "gone"),
    [
        ("add partition p4 values less than (maxvalue)", ["P1", "P2", "P3", "P4"], []),
        ("drop partition p1", ["P2", "P3"], [1, 2]),
        ("drop partitions p1, p3", ["P2"], [1, 2]),
        ("drop partition for (15)", ["P1", "P3"], [11]),
        ("truncate partition p1 drop storage", ["P1", "P2", "P3"], [1, 2]),
        ("move partition p1 tablespace users", ["P1", "P2", "P3"], []),
        ("rename partition p1 to first", ["FIRST", "P2", "P3"], []),
        ("split partition p1 at (2) into (partition a, partition b)", ["A", "B", "P2", "P3"], []),
        ("merge partitions p1, p2 into partition m", ["M", "P3"], []),
    ],
)  # fmt: skip
def test_changes_of_range_partitions(ranged: SqlClient, change: str, left: list[str], gone: list[int]) -> None:
    before = {key: str(row_id) for key, row_id in ranged.rows("select id, rowid from r")}
    ranged.run(f"alter table r {change} update indexes" if "rename" not in change else f"alter table r {change}")
    assert names(ranged) == left
    after = {key: str(row_id) for key, row_id in ranged.rows("select id, rowid from r")}
    assert sorted(after) == sorted(set(before) - set(gone))
    objects = {str(row_id)[:6] for row_id in after.values()}
    keeps = not any(word in change for word in ("move", "split", "merge"))
    assert objects <= {row_id[:6] for row_id in before.values()} or not keeps
    assert (after.get(1, before[1]) == before[1]) is keeps
    for key in gone:
        if "drop" not in change.split():
            ranged.run("insert into r values (:1, 'again')", key)


def test_truncated_partition_has_new_storage(ranged: SqlClient) -> None:
    before = data_objects(ranged)
    ranged.run("alter table r truncate partition p2")
    after = data_objects(ranged)
    assert {name for name in before if before[name] != after[name]} == {"P2"}
    ranged.run("insert into r values (12, 'x')")
    assert ids(ranged, "p2") == [12]
    ranged.run("truncate table r")
    assert all(after[name] != found for name, found in data_objects(ranged).items())


def test_exchange_swaps_rows_and_storage(ranged: SqlClient) -> None:
    ranged.run("create table s (id number primary key, v varchar2(9))")
    ranged.run("insert into s values (5, 'five')")
    ranged.session.commit()
    [staged] = ranged.rows("select rowid from s")
    [old] = ranged.rows("select rowid from r where id = 2")
    ranged.run("alter table r exchange partition p1 with table s including indexes with validation")
    assert ranged.rows("select id, rowid from r partition (p1)") == [(5, *staged)]
    assert ranged.rows("select id from s order by id") == [(1,), (2,)]
    assert ranged.rows("select rowid from s where id = 2") == [old]
    ranged.fails(1466, "select * from s as of scn dbms_flashback.get_system_change_number - 100")
    ranged.fails(14099, "alter table r exchange partition p3 with table s")
    ranged.run("alter table r exchange partition p3 with table s without validation")
    ranged.run("create table t (id number)")
    ranged.fails(14096, "alter table r exchange partition p1 with table t")
    ranged.run("create table u (id number, v varchar2(8))")
    ranged.fails(14097, "alter table r exchange partition p1 with table u")


def test_open_cursors_see_the_rows_from_before(db: SandboxDatabase, ranged: SqlClient) -> None:
    result = ranged.session.execute("select id from r")
    connect(db).run("alter table r merge partitions p1, p2 into partition m")
    assert result.rows is not None
    assert len(result.rows.fetch(10)) == 3


@pytest.mark.parametrize(
    ("kind", "step", "first", "values", "bounds"),
    [
        ("number", "10", "10", ["3", "25", "10", "29.5"], ["10", "20", "30"]),
        ("date", "numtoyminterval(1, 'MONTH')", "date '2026-01-01'", ["date '2026-01-31'", "date '2026-03-01'", "date '2025-01-01'"],
         ["date '2026-01-01'", "TO_DATE(' 2026-02-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')",
          "TO_DATE(' 2026-04-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"]),
        ("timestamp", "interval '12' hour", "timestamp '2026-01-01 00:00:00'", ["timestamp '2026-01-01 13:00:00.5'"],
         ["timestamp '2026-01-01 00:00:00'", "TIMESTAMP' 2026-01-02 00:00:00'"]),
    ],
)  # fmt: skip
def test_intervals_make_their_partitions(
    shop: SqlClient, kind: str, step: str, first: str, values: list[str], bounds: list[str]
) -> None:
    shop.run(f"create table i (k {kind}) partition by range (k) interval ({step}) (partition p0 values less than ({first}))")
    for value in values:
        shop.run(f"insert into i values ({value})")
    assert [row[0] for row in shop.rows("select high_value from user_tab_partitions order by partition_position")] == bounds
    assert shop.one("select count(*) from user_tab_partitions where interval = 'YES'") == len(bounds) - 1
    assert shop.one("select count(distinct substr(rowid, 1, 6)) from i") == len(bounds) - (0 if len(values) > 1 else 1)
    shop.fails(14400, "insert into i values (null)")
    shop.fails(14760, f"alter table i add partition q values less than ({first})")
    shop.session.commit()
    shop.fails(14758, "alter table i drop partition p0")
    shop.run("alter table i set interval ()")
    shop.fails(
        14400,
        f"insert into i values ({values[0]} + 3000)" if kind != "timestamp" else "insert into i values (sysdate + 1000)",
    )


def test_lists_grow_and_change(shop: SqlClient) -> None:
    shop.run("create table l (c varchar2(2)) partition by list (c) automatic (partition p1 values ('a', 'b'))")
    shop.many("insert into l values (:1)", [("a",), ("c",), ("c",)])
    assert shop.rows("select high_value from user_tab_partitions order by partition_position") == [("'a', 'b'",), ("'c'",)]
    shop.session.commit()
    shop.run(
        "create table m (c varchar2(2)) partition by list (c) (partition p1 values ('a', 'b'), partition p2 values ('c'))"
    )
    shop.many("insert into m values (:1)", [("a",), ("b",)])
    shop.session.commit()
    shop.run("alter table m split partition p1 values ('b') into (partition pb, partition pa)")
    assert shop.rows("select c from m partition (pa)") == [("a",)]
    shop.run("alter table m modify partition pa add values ('z')")
    shop.run("insert into m values ('z')")
    shop.session.commit()
    shop.fails(14518, "alter table m modify partition pa drop values ('z')")
    shop.fails(14312, "alter table m add partition q values ('z')")
    shop.run("alter table m merge partitions pa, p2 into partition rest")
    shop.run("alter table m add partition d values (default)")
    shop.fails(14323, "alter table m add partition q values ('y')")
    assert shop.rows("select high_value from user_tab_partitions where table_name = 'M' order by partition_position") == [
        *(("'b'",), ("'a', 'z', 'c'",), ("DEFAULT",)),
    ]


def test_hash_partitions_rehash(shop: SqlClient) -> None:
    shop.run("create table h (c number) partition by hash (c) (partition h1, partition h2, partition h3)")
    shop.many("insert into h values (:1)", [(n,) for n in range(50)])
    shop.session.commit()
    before = dict(shop.rows("select c, rowid from h"))
    shop.run("alter table h add partition h4")
    moved = {key for key, row_id in shop.rows("select c, rowid from h") if before[key] != row_id}
    assert 0 < len(moved) == shop.one("select count(*) from h partition (h4)") < 50
    shop.run("alter table h coalesce partition")
    assert shop.one("select count(*) from h") == 50
    assert shop.one("select count(*) from user_tab_partitions where table_name = 'H'") == 3


def test_a_moved_table_has_new_row_ids(items: SqlClient) -> None:
    before = dict(items.rows("select id, rowid from item"))
    items.run("alter table item move")
    after = dict(items.rows("select id, rowid from item"))
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())
    items.fails(1466, "select * from item as of scn dbms_flashback.get_system_change_number - 100")


def test_definition_is_shown_in_full(shop: SqlClient) -> None:
    shop.run(
        "create table i (k number) partition by range (k) interval (10) (partition p0 values less than (10)) enable row movement"
    )
    text = str(shop.one("select to_char(dbms_metadata.get_ddl('TABLE', 'I')) from dual"))
    assert "INTERVAL (10)" in text
    assert "ENABLE ROW MOVEMENT" in text
