"""Partitions in the redo: each is an object of its own, and rows that move between them are deleted and inserted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.server.mining_lab import PLACEHOLDER, Lab
from tests.fixtures.fix_sandbox import SandboxProcess

PARTED = (
    "create table part (id number(6), v varchar2(10)) partition by range (id)"
    " (partition p1 values less than (10), partition p2 values less than (20)) enable row movement"
)


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("lab")
    return sandbox


@pytest.fixture
def lab(schema: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(schema)
    lab.run(PARTED, "alter table part add supplemental log data (all) columns")
    lab.mark()
    yield lab
    lab.drop_tables()
    lab.close()


def partitions(lab: Lab) -> dict[str, tuple[int, int]]:
    """OBJECT_ID and DATA_OBJECT_ID by partition."""
    sql = "select subobject_name, object_id, data_object_id from user_objects where object_type = 'TABLE PARTITION'"
    return {name: (object_id, data_object_id) for name, object_id, data_object_id in lab.cursor.execute(sql)}


def objects(lab: Lab, where: str = "operation_code in (1, 2, 3)") -> list[tuple[int, int, str, str, int, str]]:
    return lab.mined("data_obj#, data_objd#, seg_name, table_name, seg_type, seg_type_name", where)


def test_each_partition_is_an_object(lab: Lab) -> None:
    lab.cursor.executemany("insert into part values (:1, 'x')", [(1,), (2,), (11,), (3,)])
    lab.commit()
    known = partitions(lab)
    assert objects(lab) == [
        (*known[name], f"PART,{name}", "PART", 19, "TABLE PARTITION") for name in ("P1", "P1", "P2", "P1")
    ]
    ids = [row[0] for row in lab.mined("row_id", "operation_code = 1")]
    assert ids == [row[0] for row in lab.cursor.execute("select rowid from part order by decode(id, 3, 99, id)")]
    assert len({row_id[:6] for row_id in ids}) == 2


def test_moving_row_is_deleted_and_inserted(lab: Lab) -> None:
    lab.run("insert into part values (5, 'a')")
    lab.commit()
    [before] = lab.cursor.execute("select rowid from part").fetchone()
    lab.mark()
    lab.run("update part set id = 15")
    lab.commit()
    [after] = lab.cursor.execute("select rowid from part").fetchone()
    assert before[:6] != after[:6]
    assert lab.mined("operation, row_id, sql_redo", "operation_code in (1, 2, 3)") == [
        ("DELETE", before, 'delete from "LAB"."PART" where "ID" = \'5\' and "V" = \'a\';'),
        ("INSERT", after, 'insert into "LAB"."PART"("ID","V") values (\'15\',\'a\');'),
    ]


def test_moved_row_rolled_back(lab: Lab) -> None:
    lab.run("insert into part values (5, 'a')")
    lab.commit()
    lab.mark()
    lab.run("savepoint s", "update part set id = 15, v = 'b'", "rollback to s", "insert into part values (6, 'c')")
    lab.commit()
    assert [row[:2] for row in lab.mined("operation, rollback", "operation_code in (1, 2, 3)")] == [
        *(("DELETE", 0), ("INSERT", 0), ("DELETE", 1), ("INSERT", 1), ("INSERT", 0)),
    ]
    assert lab.cursor.execute("select id, v from part order by id").fetchall() == [(5, "a"), (6, "c")]
    committed = lab.mined("operation", "operation_code in (1, 2, 3)", options=" + dbms_logmnr.committed_data_only")
    assert committed == [("INSERT",)]


def test_new_storage_has_new_data_object(lab: Lab) -> None:
    lab.run("insert into part values (1, 'x')", "alter table part truncate partition p1", "insert into part values (1, 'y')")
    lab.commit()
    (old, *_), (new, *_) = (
        lab.mined("data_obj#, data_objd#", "operation_code = 1"),
        lab.mined("data_obj#, data_objd#", "operation_code = 1 and sql_redo like '%''y''%'"),
    )
    assert old[0] == new[0] == partitions(lab)["P1"][0]
    assert old[1] != new[1] == partitions(lab)["P1"][1]


@pytest.mark.parametrize(
    "change",
    [
        "alter table part add partition p3 values less than (30)",
        "alter table part split partition p1 at (5) into (partition a, partition b)",
        "alter table part merge partitions p1, p2 into partition m",
        "alter table part move partition p2",
        "alter table part drop partition p2",
    ],
)
def test_ddl_is_all_the_redo_there_is(lab: Lab, change: str) -> None:
    lab.run("insert into part values (1, 'x')", "insert into part values (11, 'y')")
    lab.commit()
    lab.mark()
    lab.run(change)
    assert lab.mined("operation, sql_redo, table_name, row_id", "operation_code in (1, 2, 3, 5)") == [
        ("DDL", f"{change};", "PART", PLACEHOLDER)
    ]


def test_exchange_has_no_row_images(lab: Lab) -> None:
    lab.run("create table stage (id number(6), v varchar2(10))", "insert into stage values (2, 's')")
    lab.commit()
    [before] = lab.cursor.execute("select rowid from stage").fetchone()
    lab.mark()
    lab.run("alter table part exchange partition p1 with table stage")
    lab.run("update part set v = 't'")
    lab.commit()
    assert lab.mined("operation, seg_name, row_id", "operation_code in (1, 2, 3, 5)") == [
        ("DDL", "PART", PLACEHOLDER),
        ("UPDATE", "PART,P1", before),
    ]


def test_rows_of_a_dropped_partition_are_unknown(lab: Lab) -> None:
    lab.run("insert into part values (11, 'x')")
    lab.commit()
    known = partitions(lab)["P2"][0]
    lab.run("alter table part drop partition p2")
    lab.start()
    sql = "select seg_owner, table_name, info from v$logmnr_contents where operation_code = 1 and data_obj# = :1"
    assert lab.mining.execute(sql, [known]).fetchall() == [("UNKNOWN", f"OBJ# {known}", "Dictionary Mismatch")]


def test_interval_partition_makes_itself_without_ddl(lab: Lab) -> None:
    lab.run("create table i (id number(6)) partition by range (id) interval (10) (partition p0 values less than (10))")
    lab.mark()
    lab.run("insert into i values (25)")
    lab.commit()
    [(name,)] = lab.cursor.execute("select partition_name from user_tab_partitions where interval = 'YES'").fetchall()
    assert lab.mined("operation, seg_name", "operation_code in (1, 2, 3, 5)") == [("INSERT", f"I,{name}")]


COMPOSITE = (
    "create table comp (id number(6), r varchar2(5)) partition by range (id) subpartition by list (r)"
    " subpartition template (subpartition a values ('a'), subpartition rest values (default))"
    " (partition p1 values less than (10), partition p2 values less than (20)) enable row movement"
)


def test_each_subpartition_is_an_object(lab: Lab) -> None:
    lab.run(COMPOSITE)
    sql = "select subobject_name, object_id, data_object_id from user_objects where object_type = 'TABLE SUBPARTITION'"
    known = {name: (object_id, data) for name, object_id, data in lab.cursor.execute(sql)}
    lab.mark()
    lab.cursor.executemany("insert into comp values (:1, :2)", [(1, "a"), (2, "b"), (11, "a")])
    lab.run("update comp set r = 'b' where id = 1", "alter table comp truncate partition p1")
    lab.commit()
    shown = [(*known[name], f"COMP,{name}", "COMP", 34, "TABLE SUBPARTITION") for name in known]
    p1_a, p1_rest, p2_a, _ = shown
    assert objects(lab) == [p1_a, p1_rest, p2_a, p1_a, p1_rest]
    assert dict(lab.cursor.execute(sql.replace("object_id, data", "data"))) != {name: ids[1] for name, ids in known.items()}


@pytest.mark.parametrize(
    "change",
    ["drop subpartition p1_a", "drop partition p1", "split partition p1 at (5)", "merge subpartitions p1_a, p1_rest"],
)
def test_rows_of_a_subpartition_that_went_are_unknown(lab: Lab, change: str) -> None:
    lab.run(COMPOSITE, "insert into comp values (1, 'a')")
    lab.commit()
    sql = "select object_id from user_objects where subobject_name = 'P1_A'"
    [known] = lab.cursor.execute(sql).fetchone()
    lab.run(f"alter table comp {change}")
    lab.start()
    sql = "select seg_owner, table_name, info from v$logmnr_contents where operation_code = 1 and data_obj# = :1"
    assert lab.mining.execute(sql, [known]).fetchall() == [("UNKNOWN", f"OBJ# {known}", "Dictionary Mismatch")]


def test_added_column_reaches_rows_of_all_partitions(lab: Lab) -> None:
    lab.run("insert into part values (11, 'old')")
    lab.commit()
    lab.run("alter table part add (w number)", "insert into part values (12, 'new', 3)")
    lab.commit()
    [old, new] = lab.redo("operation_code = 1")
    assert old is not None
    assert "HEXTORAW" in old
    assert new == 'insert into "LAB"."PART"("ID","V","W") values (\'12\',\'new\',\'3\');'
