"""Arrow fetches of python-oracledb: whole results and batches, as PyArrow sees them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

pyarrow = pytest.importorskip("pyarrow")

ROWS = [
    (n, f"name {n}" if n % 3 else None, Decimal(n) / 4, datetime.datetime(2026, 1, 1 + n % 28), n * 1.5) for n in range(250)
]
QUERY = "select id, name, price, day, weight from arrow_rows order by id"


@pytest.fixture
def connection(sandbox: SandboxProcess) -> Iterator[oracledb.Connection]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table arrow_rows (id number(9) primary key, name varchar2(20), price number(9,2), day date, weight binary_double)"
        )
        cursor.executemany("insert into arrow_rows values (:1, :2, :3, :4, :5)", ROWS)
        yield connection
        cursor.execute("drop table arrow_rows purge")


def test_a_whole_result_is_one_table(connection: oracledb.Connection) -> None:
    table = pyarrow.table(connection.fetch_df_all(QUERY, arraysize=100))
    assert table.column_names == ["ID", "NAME", "PRICE", "DAY", "WEIGHT"]
    assert table.num_rows == len(ROWS)
    assert table["NAME"].to_pylist() == [row[1] for row in ROWS]
    assert table["DAY"].to_pylist() == [row[3] for row in ROWS]
    assert table["WEIGHT"].to_pylist() == [row[4] for row in ROWS]
    assert [Decimal(str(one)) for one in table["PRICE"].to_pylist()] == [row[2] for row in ROWS]


def test_batches_have_the_size_wanted(connection: oracledb.Connection) -> None:
    batches = [pyarrow.table(frame) for frame in connection.fetch_df_batches(QUERY, size=100)]
    assert [batch.num_rows for batch in batches] == [100, 100, 50]
    assert [int(one) for batch in batches for one in batch["ID"].to_pylist()] == [row[0] for row in ROWS]
