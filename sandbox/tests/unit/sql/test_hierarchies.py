"""CONNECT BY and recursive WITH."""

from __future__ import annotations

from sandbox.tests.unit.sql.client import SqlClient

TREE = "start with mgr is null connect by prior id = mgr"


def test_a_loop_is_refused_or_cut(company: SqlClient) -> None:
    loop = "connect by {} prior id = mgr or (prior id = 3 and id = 1)"
    company.fails(1436, f"select id from emp start with id = 1 {loop.format('')}")
    cut = company.rows(f"select id, connect_by_iscycle from emp start with id = 1 {loop.format('nocycle')}")
    assert [row for row in cut if row[1]] == [(3, 1)]
    assert len(cut) == 9
    company.fails(30930, f"select connect_by_iscycle from emp {TREE}")
