"""MERGE, multitable inserts, assignments from queries and RETURNING of aggregates."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

from minercdc_sandbox.interfaces import BindType, OraType


@pytest.fixture
def target(company: SqlClient) -> SqlClient:
    company.run("create table tgt (id number primary key, v varchar2(20) default 'none')")
    company.run("insert into tgt values (1, 'one')")
    company.session.commit()
    return company


def test_merge_takes_binds_and_dual(target: SqlClient) -> None:
    sql = (
        "merge into tgt using dual on (tgt.id = :1) when matched then update set v = :2"
        " when not matched then insert (id) values (:3)"
    )
    target.run(sql, 1, "bound", 1)
    target.run(sql, 9, "bound", 9)
    assert target.rows("select id, v from tgt order by id") == [(1, "bound"), (9, "none")]


def test_returning_of_aggregates(company: SqlClient) -> None:
    kinds = [BindType(OraType.NUMBER, 22), BindType(OraType.NUMBER, 22)]
    result = company.session.execute(
        "update emp set sal = sal + 1 where dept = 20 returning sum(sal), count(*) into :1, :2", kinds, [(None, None)]
    )
    [[row]] = result.returned
    assert row == (company.session.execute("select sum(sal), count(*) from emp where dept = 20").rows or []).fetch(1)[0]  # type: ignore[union-attr]
