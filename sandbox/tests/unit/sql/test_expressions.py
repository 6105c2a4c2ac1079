"""Functions, operators and conversions against values an Oracle user expects."""

from __future__ import annotations

from sandbox.tests.unit.sql.client import SqlClient


def test_position_of_the_culprit(shop: SqlClient) -> None:
    sql = "select 1, wrong from dual"
    assert shop.fails(904, sql).position == sql.index("wrong")
