"""What a data directory keeps besides rows and redo."""

from __future__ import annotations

from pathlib import Path

from sandbox.tests.unit.sql.client import connect

from minercdc_sandbox.server import sandbox_database


def test_a_password_that_a_driver_changes_outlasts_the_server(tmp_path: Path) -> None:
    first = sandbox_database(data_dir=tmp_path)
    first.change_password("SYSTEM", "ORCLPDB1", "changed")
    first.close()
    second = sandbox_database(data_dir=tmp_path)
    assert second.password_of("SYSTEM", "ORCLPDB1") == "changed"
    second.close()


def test_versions_that_are_gone_stay_gone(tmp_path: Path) -> None:
    """After a restart a query of the time before the undo retention must not answer from the versions that are left."""
    now = 1_790_000_000.0
    first = sandbox_database("19c", tmp_path, now=lambda: now)
    shop, admin = connect(first), connect(first, "SYSTEM")
    admin.run("alter system set undo_retention = 60")
    shop.run("create table item (id number)")
    shop.run("insert into item values (1)")
    shop.session.commit()
    now += 10
    scn = admin.one("select current_scn from v$database")
    now += 10
    shop.run("delete from item")
    shop.session.commit()
    for _ in range(2):
        now += 100
        shop.run("insert into item values (2)")
        shop.session.commit()
    shop.fails(1555, f"select id from item as of scn {scn}")
    first.close()
    second = sandbox_database("19c", tmp_path, now=lambda: now)
    connect(second).fails(1555, f"select id from item as of scn {scn}")
    assert connect(second, "SYSTEM").one("select value from v$parameter where name = 'undo_retention'") == "60"
    second.close()
