"""Steps that bring a lake table's columns to the source's, from wherever a kill left them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from minercdc.lake.table.columns import (
    AddColumn,
    CopyColumn,
    DropColumn,
    IdentifyColumn,
    RenameColumn,
    Step,
    TableColumn,
    TypeChange,
    WidenColumn,
    clustering_of,
    evolution,
    lake_comment,
    lake_names,
    read_comment,
    recommented,
)
from minercdc.lake.table.iceberg.tables import promotes


def columns(*specs: str) -> list[TableColumn]:
    """Columns from `NAME TYPE ID`."""
    return [TableColumn(*spec.split(" ")) for spec in specs]


def applied(there: Iterable[TableColumn], steps: Iterable[Step]) -> list[TableColumn]:
    """What a table has after some steps; a step that a format would refuse fails."""
    found = {column.name: column for column in there}
    for step in steps:
        match step:
            case AddColumn(column):
                assert column.name not in found
                found[column.name] = column
            case DropColumn(name):
                del found[name]
            case RenameColumn(name, new_name):
                assert new_name not in found
                old = found.pop(name)
                found[new_name] = replace(old, name=new_name)
            case WidenColumn(name, kind):
                found[name] = replace(found[name], type=kind)
            case IdentifyColumn(name, number, comment):
                found[name] = replace(found[name], id=number, comment=comment)
            case CopyColumn(source, _, target, _):
                assert {source, target} <= found.keys()
    return sorted(found.values(), key=lambda column: column.name)


CASES: list[tuple[list[TableColumn], list[TableColumn]]] = [
    (columns("A INT a"), columns("A INT a", "B STRING b")),
    (columns("A INT a", "B STRING b"), columns("A INT a")),
    (columns("A INT a", "B INT b"), columns("B INT a", "A INT b")),  # exchanged names
    (columns("A INT a", "B INT b", "C INT c"), columns("B INT a", "C INT b", "A INT c")),
    (columns("A INT a"), columns("A STRING a2")),  # dropped and added
    (columns("A SMALLINT a"), columns("A DECIMAL(7,2) a")),
    (columns("A INT a", "B INT b"), columns("B DECIMAL(12,2) a", "A BIGINT b")),
    (columns("A TIMESTAMP_NTZ a"), columns("A STRING a")),
    (columns("A TIMESTAMP_NTZ a", "B INT b"), columns("B STRING a", "A INT b")),
]


def _by_delta(old: str, new: str) -> bool:
    return True


@pytest.mark.parametrize("can_widen", [_by_delta, promotes])
@pytest.mark.parametrize(("there", "wanted"), CASES)
def test_a_kill_after_any_step_leads_to_the_same_columns(
    there: list[TableColumn], wanted: list[TableColumn], can_widen: Callable[[str, str], bool]
) -> None:
    known = {column.id for column in (*there, *wanted)}
    steps = evolution(there, wanted, known, "text", can_widen)
    expected = applied(there, steps)
    assert {(c.name, c.id) for c in expected} == {(c.name, c.id) for c in wanted}
    assert evolution(expected, wanted, known, "text", can_widen) == []
    for done in range(len(steps)):
        left = applied(there, steps[:done])
        assert applied(left, evolution(left, wanted, known, "text", can_widen)) == expected, f"killed after {steps[:done]}"


def test_a_type_that_the_format_cannot_widen_is_copied_into_the_wider_one() -> None:
    there, wanted = columns("A INT a"), columns("A DECIMAL(12,2) a")
    steps = evolution(there, wanted, {"a"}, "new_column", promotes)
    assert CopyColumn("A", "INT", "__text__A", "DECIMAL(12,2)") in steps
    assert applied(there, steps) == wanted


def test_a_copy_for_an_earlier_type_is_copied_once_more() -> None:
    there = columns("A INT a", "__text__A DECIMAL(12,2) ")  # killed, and the column was altered again before the next start
    wanted = columns("A DECIMAL(14,4) a")
    while steps := evolution(there, wanted, {"a"}, "text", promotes):
        there = applied(there, steps)
    assert there == wanted


@pytest.mark.parametrize(
    ("old", "new", "alone"),
    [
        ("INT", "BIGINT", True),
        ("FLOAT", "DOUBLE", True),
        ("DECIMAL(5,2)", "DECIMAL(9,2)", True),
        ("DECIMAL(5,2)", "DECIMAL(9,4)", False),
        ("INT", "DECIMAL(10,0)", False),
        ("INT", "DOUBLE", False),
        ("DATE", "TIMESTAMP_NTZ", False),
    ],
)
def test_what_iceberg_promotes(old: str, new: str, alone: bool) -> None:
    assert promotes(old, new) is alone


def test_older_values_stay_beside_a_column_of_another_type_by_option() -> None:
    policy: TypeChange = "new_column"
    there = columns("A INT a")
    steps = evolution(there, columns("A STRING a"), {"a"}, policy)
    assert applied(there, steps) == [*columns("A STRING a"), TableColumn("A__1", "INT", "")]


def test_a_column_whose_id_is_not_known_is_the_one_of_its_name() -> None:
    there = columns("A INT before-the-recovery")
    assert evolution(there, columns("A INT a"), {"a"}, "text") == [IdentifyColumn("A", "a")]


def test_names_that_spark_takes_for_one_are_numbered() -> None:
    assert lake_names(["ID", "id", "Id", "__cdc", "ID_2"]) == ["ID", "id_2", "Id_3", "__cdc_2", "ID_2_2"]


def test_a_table_is_clustered_by_those_columns_of_its_key_that_have_statistics() -> None:
    columns = [TableColumn(f"C{i}", "BINARY" if i == 1 else "INT", f"C{i}@1") for i in range(40)]
    assert clustering_of(columns, ["C2@1", "C1@1", "C0@1"]) == ["C2", "C0"]
    assert clustering_of(columns, ["C35@1"]) == []
    assert clustering_of(columns, [f"C{i}@1" for i in range(2, 9)]) == ["C2", "C3", "C4", "C5"]


@pytest.mark.parametrize("comment", [None, "plain", 'in "quotes"', '"', " blanks ", "two\nlines"])
@pytest.mark.parametrize("number", ["ID@100", "", "odd [name]\n@7"])
def test_a_comment_keeps_id_and_text(number: str, comment: str | None) -> None:
    assert read_comment(lake_comment(number, comment)) == (number, comment)


def test_comments_that_are_known_are_brought_to_the_lake() -> None:
    there = [replace(column, comment="old") for column in columns("A INT a", "B INT b", "C INT c", "D INT")]
    known = {"a": "new", "b": "", "c": None, "x": "not there"}
    wanted = [replace(one, comment=known[one.id]) for one in columns("A INT a", "B INT b", "C INT c", "X INT x")]
    steps = recommented(there, wanted)
    assert steps == [IdentifyColumn("A", "a", "new"), IdentifyColumn("B", "b", "")]
    assert recommented(applied(there, steps), wanted) == []


def test_a_copy_in_another_type_keeps_the_comment() -> None:
    there = [replace(columns("A TIMESTAMP_NTZ a")[0], comment="kept")]
    steps = evolution(there, columns("A STRING a"), {"a"}, "text")
    assert applied(there, steps) == [TableColumn("A", "STRING", "a", "kept")]
