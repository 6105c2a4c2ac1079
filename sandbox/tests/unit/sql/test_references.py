"""Foreign keys, constraint states and deferred constraints."""

from __future__ import annotations

import threading

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoOp


@pytest.fixture
def family(shop: SqlClient) -> SqlClient:
    shop.run("create table parent (id number primary key, code varchar2(5) unique)")
    shop.run("create table child (id number primary key, pid number constraint child_fk references parent)")
    shop.run("insert into parent values (1, 'a')")
    shop.run("insert into child values (10, 1)")
    shop.session.commit()
    return shop


def test_parents_and_children_are_kept_together(family: SqlClient) -> None:
    assert "(SHOP.CHILD_FK) violated - parent key not found" in family.fails(2291, "insert into child values (11, 2)").text
    assert "(SHOP.CHILD_FK) violated - child record found" in family.fails(2292, "delete from parent").text
    family.fails(2291, "update child set pid = 7")
    family.fails(2292, "update parent set id = 2")
    family.run("insert into child values (12, null)")
    family.run("update parent set code = 'b'")
    assert family.one("select count(*) from child") == 2


def test_array_insert_stops_at_the_orphan(family: SqlClient) -> None:
    rows: list[tuple[object, ...]] = [(20, 1), (21, 5), (22, 1)]
    result = family.many("insert into child values (:1, :2)", rows, batch_errors=True)
    assert [(e.offset, e.error.number) for e in result.batch_errors] == [(1, 2291)]
    assert family.one("select count(*) from child") == 3


def test_cascades_are_in_the_redo(family: SqlClient, db: SandboxDatabase) -> None:
    family.run("alter table child drop constraint child_fk")
    family.run("alter table child add foreign key (pid) references parent on delete cascade")
    family.run("delete from parent where id = 1")
    family.session.commit()
    records = [r for log in db.redo.threads for r in db.redo.records(log, 1) if r.op is RedoOp.DELETE]
    assert [record.table for record in records] == ["PARENT", "CHILD"]


def test_a_child_waits_for_the_parent_of_another_session(family: SqlClient, db: SandboxDatabase) -> None:
    other = connect(db)
    family.run("insert into parent values (2, 'b')")
    outcome: list[object] = []

    def insert() -> None:
        try:
            outcome.append(other.run("insert into child values (30, 2)").row_count)
        except OraError as error:
            outcome.append(error.number)

    waiting = threading.Thread(target=insert)
    waiting.start()
    waiting.join(0.2)
    assert not outcome
    family.session.rollback()
    waiting.join(60)
    assert outcome == [2291]


def test_deferred_until_commit(shop: SqlClient) -> None:
    shop.run(
        "create table late (id number primary key, up number,"
        " constraint late_fk foreign key (up) references late deferrable initially deferred)"
    )
    shop.run("insert into late values (1, 2)")
    assert "ORA-02291" in shop.fails(2091, "commit").text
    assert shop.one("select count(*) from late") == 0
    shop.run("insert into late values (1, 2)")
    shop.run("insert into late values (2, null)")
    shop.run("commit")
    shop.run("set constraints all immediate")
    shop.fails(2291, "insert into late values (3, 9)")
    shop.run("commit")
    shop.run("insert into late values (4, 9)")
    shop.fails(2291, "set constraint late_fk immediate")


def test_dictionary_of_a_foreign_key(family: SqlClient) -> None:
    sql = (
        "select c.constraint_type, p.table_name, c.delete_rule from all_constraints c join all_constraints p"
        " on p.owner = c.r_owner and p.constraint_name = c.r_constraint_name where c.table_name = 'CHILD'"
    )
    assert family.rows(sql) == [("R", "PARENT", "NO ACTION")]
