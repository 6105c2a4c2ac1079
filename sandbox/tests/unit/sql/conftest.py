from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect
from sandbox.tests.unit.sql.fix_company import fill

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.views.families import ALL_VIEWS


@pytest.fixture
def db() -> Iterator[SandboxDatabase]:
    database = SandboxDatabase(views=ALL_VIEWS, now=lambda: 1_790_000_000.25)
    yield database
    database.close()


@pytest.fixture
def shop(db: SandboxDatabase) -> SqlClient:
    return connect(db)


@pytest.fixture
def items(shop: SqlClient) -> SqlClient:
    """A session with a small table."""
    shop.run(
        "create table item (id number(9) primary key, name varchar2(20) not null, price number(10,2), kind char(4),"
        " made date, seen timestamp(6), code raw(8))"
    )
    shop.many(
        "insert into item values (:1, :2, :3, :4, date '2026-01-31' + :5, null, hextoraw(:6))",
        [(1, "nut", 1, "x", 1, "0a"), (2, "bolt", 2, "xy", 2, "0b0c"), (3, "gear", None, None, 3, None)],
    )
    shop.session.commit()
    return shop


@pytest.fixture
def company(shop: SqlClient) -> SqlClient:
    """A session with EMP and DEPT."""
    return fill(shop)
