"""Names that tables have now, found by their object ids."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest

from minercdc.capture.flashback.shapes import follow
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables


def table(name: str, object_id: int) -> TableSchema:
    return TableSchema(TableId("D", "S", name), (Column("ID", "NUMBER"),), (0,), object_id=object_id)


def followed(known: Mapping[str, int], now: Mapping[str, int]) -> tuple[set[str], set[str]]:
    """What became of the tables, as `old>new`, and those whose rows are lost; the same in whatever order they are known."""
    found = set()
    for some in permutations(known.items()):
        tables = Tables(table(name, number) for name, number in some)
        shapes = {one.id: one for one in (table(name, number) for name, number in now.items())}
        changes = list(follow(tables, shapes, 5, 0))
        said = frozenset(
            f"{change.before.id.table if change.before else ''}>{change.after.id.table if change.after else ''}"
            for change, _ in changes
        )
        lost = frozenset(created.id.table for _, created in changes if created is not None)
        assert {one.id.table: one.object_id for one in tables}.items() <= now.items()
        assert all(
            table(name, number).id in {one.id for one in tables} for name, number in now.items() if number in known.values()
        )
        found.add((said, lost))
    ((said, lost),) = found
    return set(said), set(lost)


@pytest.mark.parametrize(
    ("known", "now", "changes"),
    [
        ({"T": 1}, {"T": 3, "OLD": 1}, {"T>OLD"}),
        ({"T": 1, "NEW": 2}, {"T": 2, "OLD": 1}, {"T>OLD", "NEW>T"}),
        ({"T": 1, "OLD": 7}, {"T": 3, "OLD": 1}, {"OLD>", "T>OLD"}),
        ({"T": 1, "OLD": 7, "NEW": 2}, {"T": 2, "OLD": 1}, {"OLD>", "T>OLD", "NEW>T"}),
        ({"A": 1, "B": 2, "C": 3}, {"B": 1, "C": 2, "D": 3}, {"A>B", "B>C", "C>D"}),
        ({"T": 1}, {"OTHER": 3}, {"T>"}),
    ],
)
def test_a_table_is_the_same_under_a_name_that_another_one_had(
    known: dict[str, int], now: dict[str, int], changes: set[str]
) -> None:
    assert followed(known, now) == (changes, set())


def test_tables_that_exchange_their_names_are_read_again() -> None:
    assert followed({"A": 1, "B": 2, "C": 3}, {"A": 2, "B": 1, "D": 3}) == ({"A>", ">A", "B>", ">B", "C>D"}, {"A", "B"})


def test_a_table_that_was_created_again_is_read_again() -> None:
    assert followed({"T": 1}, {"T": 3}) == ({"T>", ">T"}, {"T"})
