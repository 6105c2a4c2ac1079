"""Conditions that Python tests instead of SQLite: both must choose the same rows, and what is not understood is refused."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc_sandbox.interfaces import Cell, ColumnDescription, OraType
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.row_tests import row_test

COLUMNS = (
    ColumnDescription("N", OraType.NUMBER, 0, -127, 22),
    ColumnDescription("S", OraType.VARCHAR2, 0, 0, 40),
    ColumnDescription("R", OraType.RAW, 0, 0, 8),
)
NUMBERS = [number.integer(n) for n in (-3, 0, 1, 2, 100)]
TEXTS = ["A", "B'", "a", "\u00e9", "\U0001f600"]
RAWS = [b"\0", b"\1\2", b"\xff"]
VALUES: tuple[list[Cell], ...] = ([*NUMBERS, None], [*TEXTS, None], [*RAWS, None])
ROWS = [(a, b, c) for a in VALUES[0] for b in VALUES[1] for c in VALUES[2]]


def shown(value: Cell) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return "?1" if value is None else "'" + value.replace("'", "''") + "'"


@st.composite
def column_tests(draw: st.DrawFn) -> str:
    at = draw(st.integers(0, 2))
    value = st.sampled_from(VALUES[at]).map(shown)
    form = draw(st.sampled_from(("compare", "in", "not in", "is null", "is not null")))
    if form == "compare":
        sign = draw(st.sampled_from(("=", "<>", "<", "<=", ">", ">=")))
        return f"(t1.c{at}{sign}{draw(value)})"
    if form in ("in", "not in"):
        return f"(t1.c{at} {form} ({','.join(draw(st.lists(value, min_size=1, max_size=4)))}))"
    return f"(t1.c{at}) {form}"


conditions = st.recursive(
    column_tests(),
    lambda inner: st.tuples(st.sampled_from((" and ", " or ")), st.lists(inner, min_size=2, max_size=3)).map(
        lambda made: f"({made[0].join(made[1])})"
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def table() -> apsw.Connection:
    connection = apsw.Connection("")
    connection.execute("create table t(c0, c1, c2)")
    connection.executemany("insert into t values(?, ?, ?)", ROWS)
    return connection


@given(condition=conditions)
def test_the_same_rows_as_in_sqlite(table: apsw.Connection, condition: str) -> None:
    test = row_test(condition, COLUMNS, lambda _: None)
    assert test is not None
    binds = (None,) if "?1" in condition else ()
    expected = table.execute(f"select * from t t1 where {condition}", binds).fetchall()
    assert [row for row in ROWS if test.holds(row)] == expected


def test_parameters_are_values() -> None:
    test = row_test("t1.c1=?2 or t1.c0 in (?1,x'c103')", COLUMNS, {1: NUMBERS[2], 2: "B'"}.__getitem__)
    assert test is not None
    assert [row for row in ROWS if test.holds(row)] == [
        row for row in ROWS if row[1] == "B'" or row[0] in (NUMBERS[2], NUMBERS[3])
    ]
    assert test.columns == {0, 1}


@pytest.mark.parametrize(
    "condition",
    [
        "not (t1.c0=x'80')",
        "o_like(t1.c1,'A%')",
        "t1.c0=t1.c2",
        "t1.c0='1'",
        "t1.c1=x'80'",
        "t1.c0=x'80' limit 1",
        "(t1.c0=x'80'",
        "t1.c0=1",
        "t1.c1 between 'A' and 'B'",
    ],
)
def test_other_conditions_are_left_to_sqlite(condition: str) -> None:
    assert row_test(condition, COLUMNS, lambda _: None) is None
