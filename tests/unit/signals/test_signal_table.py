"""What is wrong with the columns of a signal table, and what repairs them."""

from __future__ import annotations

import pytest

from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.signal_table import taken_for, wrong_columns

AGAIN = "DROP TABLE ..; CREATE TABLE ..;"
SIZES = {"ID": 42, "TYPE": 32, "DATA": 2048}


def table(*columns: str) -> TableSchema:
    """Columns as `NAME`, `NAME TYPE` or `NAME TYPE LENGTH`."""
    made = []
    for column in columns:
        name, *rest = column.split()
        length = int(rest[1]) if len(rest) > 1 else SIZES.get(name, 2048)
        made.append(Column(name, rest[0] if rest else "VARCHAR2", length))
    return TableSchema(TableId("DB", "S", "SIGNALS"), tuple(made), (0,))


@pytest.mark.parametrize(
    ("columns", "problems", "fix"),
    [
        (("ID", "TYPE", "DATA"), [], ""),
        (("SIGNAL_ID", "KIND", "CONTENT"), [], ""),
        (("NOTE", "ID", "TYPE", "DATA"), ["NOTE is taken for ID, ID is taken for TYPE, TYPE is taken for DATA"], 'DROP ("NOTE");'),
        (("ID", "NOTE", "TYPE", "DATA"), ["NOTE is taken for TYPE, TYPE is taken for DATA"], 'DROP ("NOTE");'),
        (("ID", "TYPE", "DATA", "NOTE NUMBER", "AT DATE"), ["cannot be inserted"], 'DROP ("NOTE", "AT");'),
        (("A", "B", "C", "D"), ["cannot be inserted"], 'DROP ("D");'),
        (("DATA", "TYPE", "ID"), ["DATA is taken for ID, ID is taken for DATA"], AGAIN),
        (("NOTE", "TYPE", "ID", "DATA"), ["NOTE is taken for ID, ID is taken for DATA"], AGAIN),
        (("NOTE", "ID", "TYPE"), ["NOTE is taken for ID, ID is taken for TYPE, TYPE is taken for DATA"], AGAIN),
        (("ID NUMBER 9", "TYPE", "DATA"), ["it has ID NUMBER, TYPE VARCHAR2, DATA VARCHAR2"], AGAIN),
        (("ID", "TYPE", "DATA CLOB"), ["DATA CLOB"], AGAIN),
        (("ID", "TYPE"), ["three columns of text are needed, ID, TYPE, DATA in this order; it has ID VARCHAR2"], AGAIN),
        (("ID VARCHAR2 36", "TYPE", "DATA"), ["ID has 36 characters"], 'MODIFY ("ID" VARCHAR2(42));'),
    ],
)  # fmt: skip
def test_the_sql_repairs_what_is_wrong(columns: tuple[str, ...], problems: list[str], fix: str) -> None:
    found = list(wrong_columns(table(*columns), AGAIN, deletes=False))
    assert len(found) == len(problems)
    for wrong, problem in zip(found, problems, strict=True):
        assert problem in wrong.problem
        assert wrong.fix.endswith(fix)


def test_a_column_is_renamed_only_where_marks_are_deleted_and_none_has_its_name() -> None:
    (wrong,) = wrong_columns(table("SIGNAL_ID", "TYPE", "DATA"), AGAIN, deletes=True)
    assert wrong.fix == 'ALTER TABLE "S"."SIGNALS" RENAME COLUMN "SIGNAL_ID" TO ID;'
    (other,) = wrong_columns(table("NOTE", "ID", "TYPE", "DATA"), AGAIN, deletes=True)
    assert "RENAME" not in other.fix


def test_columns_of_other_names_are_taken_as_they_are() -> None:
    assert taken_for(table("SIGNAL_ID", "KIND", "CONTENT", "NOTE")) == ""
    assert taken_for(table("ID", "DATA", "TYPE")) == "DATA is taken for TYPE, TYPE is taken for DATA"
