"""DDL: what it makes, what it refuses, and what of it reaches the redo."""

from __future__ import annotations

from datetime import datetime

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.catalog import Grant
from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoOp, RedoRecord


def redo(db: SandboxDatabase) -> list[RedoRecord]:
    db.redo.switch()
    return [r for log in db.redo.archived() for r in db.redo.records(1, log.sequence)]


def changes(db: SandboxDatabase, op: RedoOp) -> list[RedoRecord]:
    return [r for r in redo(db) if r.op is op]


def test_declared_types(shop: SqlClient, db: SandboxDatabase) -> None:
    shop.run(
        "create table t (a number, b number(9), c number(10,2), d number(*,0), e integer, f float, g varchar2(10),"
        " h varchar2(10 char), i char, j date, k timestamp, l timestamp(3) with time zone, m raw(5), n numeric(5))"
    )
    table = db.catalog.table(3, "SHOP", "T")
    assert table is not None
    assert [c.declared for c in table.columns] == [
        *("NUMBER", "NUMBER(9)", "NUMBER(10,2)", "NUMBER(*,0)", "NUMBER(*,0)", "FLOAT(126)", "VARCHAR2(10)"),
        *("VARCHAR2(10 CHAR)", "CHAR(1)", "DATE", "TIMESTAMP(6)", "TIMESTAMP(3) WITH TIME ZONE", "RAW(5)", "NUMBER(5)"),
    ]


def test_add_column_fills_old_rows_and_raises_the_version(items: SqlClient, db: SandboxDatabase) -> None:
    table = db.catalog.table(3, "SHOP", "ITEM")
    assert table is not None
    before = items.one("select timestamp_to_scn(sysdate) from dual"), db.clock.read()
    items.run("alter table item add (weight number(5,2) default 1.5 not null, note varchar2(10))")
    items.run("alter table item add (stamp date default date '2026-01-01')")
    assert (table.version, len(table.columns)) == (3, 11)  # SYS_NC00010$ is hidden
    assert items.rows("select distinct weight, note, stamp from item") == [
        (pytest.approx(1.5), None, datetime(2026, 1, 1)),
    ]
    items.fails(1466, f"select * from item as of scn {before[1]}")
    items.run("alter table item drop column weight")
    items.run("alter table item rename column note to remark")
    items.run("insert into item (id, name, remark) values (9, 'x', 'new')")
    assert items.rows("select remark, stamp from item where id = 9") == [("new", datetime(2026, 1, 1))]
    stored = db.catalog.current(table.object_id)
    assert stored is not None
    assert [c.name for c in stored.columns][-3:] == ["REMARK", "SYS_NC00010$", "STAMP"]
    assert (stored.data_obj_v, stored.key) == (5, (0,))


def test_keys_added_later_are_checked_and_kept(items: SqlClient) -> None:
    items.run("alter table item add constraint item_uk unique (name)")
    assert "ITEM_UK" in str(items.fails(1, "insert into item (id, name) values (9, 'nut')"))
    items.run("alter table item drop constraint item_uk")
    items.run("insert into item (id, name) values (9, 'nut')")
    items.fails(2299, "alter table item add unique (name)")
    items.run("alter table item drop primary key")
    items.run("insert into item (id, name) values (9, 'twice')")
    items.fails(1452, "create unique index item_i on item (id)")
    items.run("create index item_i on item (id, name)")
    items.run("drop index item_i")


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("alter table item add (extra number, extra number)", 957),
        ("alter table item add (extra number, id number)", 1430),
        ("alter table item add (extra number, must number not null)", 1758),
        ("alter table item add unique (kind)", 2299),
        ("alter table item modify (name null, price not null)", 2296),
        ("alter table item drop (code, nosuch)", 904),
    ],
)
def test_a_failed_alter_changes_nothing(items: SqlClient, db: SandboxDatabase, statement: str, code: int) -> None:
    items.run("insert into item (id, name, kind) values (4, 'cog', 'x')")
    items.session.commit()
    before, texts = items.rows("select * from item order by id"), len(changes(db, RedoOp.DDL))
    table = db.catalog.table(3, "SHOP", "ITEM")
    assert table is not None
    described = [(c.name, c.declared, c.nullable) for c in table.columns], [c.name for c in table.constraints]
    items.fails(code, statement)
    assert described == ([(c.name, c.declared, c.nullable) for c in table.columns], [c.name for c in table.constraints])
    assert items.rows("select * from item order by id") == before
    assert len(changes(db, RedoOp.DDL)) == texts
    items.run("alter table item add (extra number default 5)")
    items.run("insert into item (id, name, kind) values (5, 'cam', 'x')")
    assert items.one("select sum(extra) from item") == 25


def test_truncate_gives_new_rowids_and_forgets_the_past(items: SqlClient, db: SandboxDatabase) -> None:
    table = db.catalog.table(3, "SHOP", "ITEM")
    assert table is not None
    old, scn, rowid = table.data_object_id, db.clock.read(), items.one("select rowid from item where id = 1")
    rows = items.run("select id from item").rows
    assert rows is not None
    rows.fetch(1)
    items.run("truncate table item")
    assert len(rows.fetch(10)) == 2
    assert items.one("select count(*) from item") == 0
    assert table.data_object_id != old
    items.run("insert into item (id, name) values (1, 'again')")
    assert items.one("select rowid from item") != rowid
    items.fails(1466, f"select * from item as of scn {scn}")
    [ddl] = [r for r in changes(db, RedoOp.DDL) if "truncate" in (r.statement or "")]
    assert (ddl.owner, ddl.table, ddl.data_obj, ddl.data_obj_d) == ("SHOP", "ITEM", table.object_id, 0)


def test_drop_goes_to_the_recycle_bin_unless_purged(items: SqlClient, db: SandboxDatabase) -> None:
    table = db.catalog.table(3, "SHOP", "ITEM")
    assert table is not None
    items.run("drop table item")
    items.fails(942, "select * from item")
    dropped = db.catalog.current(table.object_id)
    assert dropped is not None
    assert dropped.table.startswith("BIN$")
    items.run("create table item (a number)")
    again = db.catalog.table(3, "SHOP", "ITEM")
    assert again is not None
    items.run("drop table item purge")
    assert db.catalog.current(again.object_id) is None
    texts = [r.statement for r in changes(db, RedoOp.DDL)]
    assert texts[-3:] == [f'drop table item AS "{dropped.table}" ', "create table item (a number)", "drop table item purge"]


def test_supplemental_logging_decides_what_an_update_carries(items: SqlClient, db: SandboxDatabase) -> None:
    admin = connect(db, "SYSTEM", "ORCLCDB")

    def logged(sql: str) -> tuple[int, ...] | None:
        items.run(sql)
        items.session.commit()
        return changes(db, RedoOp.UPDATE)[-1].logged

    assert logged("update item set price = 1 where id = 1") == (2,)
    admin.run("alter database add supplemental log data")
    assert db.catalog.logging.minimal_status == "YES"
    items.run("alter table item add supplemental log data (primary key) columns")
    assert logged("update item set price = 2 where id = 1") == (0, 2)
    items.run("alter table item add supplemental log group g (name, kind) always")
    assert logged("update item set price = 2 where id = 1") == (0, 1, 2, 3)
    items.run("alter table item drop supplemental log group g")
    items.run("alter table item add supplemental log data (all) columns")
    items.fails(32588, "alter table item add supplemental log data (all) columns")
    assert logged("update item set price = 3 where id = 1") is None
    items.run("alter table item drop supplemental log data (all) columns")
    admin.run("alter database add supplemental log data (all) columns")
    assert logged("update item set price = 4 where id = 1") is None
    admin.run("alter database drop supplemental log data (all) columns")
    admin.run("alter database drop supplemental log data")
    assert db.catalog.logging.minimal_status == "NO"


def test_update_records_hold_both_images(items: SqlClient, db: SandboxDatabase) -> None:
    items.run("update item set price = price + 1, name = 'x' where id = 1")
    items.session.commit()
    [record] = changes(db, RedoOp.UPDATE)
    assert record.before is not None
    assert record.after is not None
    assert (record.changed, record.before[1], record.after[1]) == ((1, 2), "nut", "x")
    assert (record.user, record.session and record.session["program"]) == ("SHOP", "test")


def test_a_failed_statement_leaves_its_change_and_the_undo(items: SqlClient, db: SandboxDatabase) -> None:
    items.fails(1, "insert into item (id, name) values (1, 'dup')")
    items.run("insert into item (id, name) values (5, 'ok')")
    items.session.commit()
    mine = [r for r in redo(db) if r.xid == changes(db, RedoOp.COMMIT)[-1].xid]
    assert [(r.op.value, r.undo) for r in mine] == [
        *(("START", False), ("INSERT", False), ("DELETE", True), ("INSERT", False), ("COMMIT", False)),
    ]
    assert mine[1].row_id == mine[2].row_id != mine[3].row_id


def test_array_inserts_share_a_record(items: SqlClient, db: SandboxDatabase) -> None:
    items.many("insert into item (id, name) values (:1, :2)", [(n, "x") for n in range(10, 14)])
    items.session.commit()
    records = changes(db, RedoOp.INSERT)[-4:]
    assert [r.ssn for r in records] == [0, 1, 2, 3]
    assert len({(r.scn, r.sequence, r.block, r.byte) for r in records}) == 1


def test_passwords_do_not_reach_the_redo(db: SandboxDatabase) -> None:
    admin = connect(db, "SYSTEM")
    admin.run("create user bob identified by secret1")
    admin.run('alter user bob identified by "Secret2" account unlock')
    assert not any("ecret" in (r.statement or "") for r in redo(db))
    assert db.password_of("BOB", "ORCLPDB1") == "Secret2"


def test_users_and_grants(db: SandboxDatabase) -> None:
    admin = connect(db, "SYSTEM")
    admin.run("create user bob identified by bob default tablespace users quota unlimited on users")
    with pytest.raises(OraError, match="ORA-01045"):
        connect(db, "BOB")
    admin.run("grant create session, select any table to bob with admin option")
    bob = db.catalog.user(3, "BOB")
    assert bob is not None
    assert Grant("SELECT ANY TABLE", option=True) in bob.grants
    admin.run("alter user bob account lock")
    with pytest.raises(OraError, match="ORA-28000"):
        connect(db, "BOB")
    admin.run("revoke select any table from bob")
    admin.fails(1952, "revoke select any table from bob")
    admin.run("drop user bob cascade")
    with pytest.raises(OraError, match="ORA-01017"):
        connect(db, "BOB")
    with pytest.raises(OraError, match="ORA-12514"):
        connect(db, "SYSTEM", "NOSUCH")


def test_containers_are_worlds_of_their_own(items: SqlClient, db: SandboxDatabase) -> None:
    miner = connect(db, "C##MINERCDC", "ORCLCDB")
    assert miner.value("sys_context('USERENV','CON_NAME')") == "CDB$ROOT"
    miner.fails(942, "select * from shop.item")
    miner.run("alter session set container = orclpdb1")
    assert miner.one("select count(*) from shop.item") == 3
    miner.run("alter session set current_schema = shop")
    assert miner.one("select count(*) from item") == 3
    miner.run("alter session set container=cdb$root")
    assert miner.session.container == 1
    items.fails(1031, "alter session set container = cdb$root")


def test_comments(items: SqlClient, db: SandboxDatabase) -> None:
    items.run("comment on table item is 'things'")
    items.run("comment on column shop.item.name is 'what it''s called'")
    table = db.catalog.table(3, "SHOP", "ITEM")
    assert table is not None
    assert (table.comment, table.columns[1].comment) == ("things", "what it's called")


@pytest.mark.parametrize(
    "statement",
    [
        "alter table item add (extra number default 1)",
        "alter table item drop column code",
        "create index item_i on item (kind)",
        "alter table item drop constraint item_uk",
        "alter table item modify (name varchar2(99))",
        "drop table item",
        "drop table item purge",
        "create table other as select * from item",
    ],
)
def test_an_open_cursor_survives_ddl_of_another_session(items: SqlClient, db: SandboxDatabase, statement: str) -> None:
    items.run("alter table item add constraint item_uk unique (name)")
    rows = items.run("select id, name from item where name > 'a' order by name").rows
    assert rows is not None
    assert rows.fetch(1)[0][1] == "bolt"
    other = connect(db)
    other.run(statement)
    assert [row[1] for row in rows.fetch(10)] == ["gear", "nut"]
    other.run("create table fresh (a number)")
    other.session.commit()
