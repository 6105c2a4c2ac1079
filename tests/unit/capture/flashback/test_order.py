"""Order of the changes of one transaction."""

from __future__ import annotations

import random

import pytest
from tests.examples import examples

from minercdc.capture.flashback.order import ForeignKey, ForeignKeys, ordered
from minercdc.capture.flashback.version import Version
from minercdc.schema.table import Column, TableId, TableSchema


def table(name: str) -> TableSchema:
    return TableSchema(TableId("D", "S", name), (Column("ID", "NUMBER"), Column("UP", "NUMBER")), (0,))


PARENT, CHILD = table("Z_PARENT"), table("A_CHILD")
KEYS = ForeignKeys([ForeignKey(CHILD.id, ("UP",), PARENT.id, ("ID",)), ForeignKey(PARENT.id, ("UP",), PARENT.id, ("ID",))])


def change(
    schema: TableSchema, op: str, before: tuple[str, str | None] | None, after: tuple[str, str | None] | None
) -> Version:
    row_id = f"{schema.id.table}{(before or after or ('',))[0]}"
    return Version(schema, 5, "ab", op, row_id, before, after, 0)


def inserted(schema: TableSchema, key: str, up: str | None = None) -> Version:
    return change(schema, "I", None, (key, up))


def deleted(schema: TableSchema, key: str, up: str | None = None) -> Version:
    return change(schema, "D", (key, up), None)


def moved(schema: TableSchema, old: str, new: str) -> Version:
    return change(schema, "U", (old, None), (new, None))


def shown(changes: list[Version]) -> list[str]:
    return [f"{one.op} {(one.before or ('',))[0]}>{(one.after or ('',))[0]}" for one in changes]


def test_parents_come_first_and_go_last() -> None:
    changes = [deleted(PARENT, "1"), inserted(CHILD, "7", "2"), deleted(CHILD, "6", "1"), inserted(PARENT, "2")]
    assert shown(ordered(changes, KEYS, strict=True)) == ["I >2", "I >7", "D 6>", "D 1>"]


def test_as_found_the_tables_come_by_name() -> None:
    changes = [inserted(PARENT, "2"), inserted(CHILD, "7", "2")]
    assert [one.schema.id.table for one in ordered(changes, KEYS, strict=False)] == ["A_CHILD", "Z_PARENT"]


def test_a_table_that_refers_to_itself() -> None:
    changes = [inserted(PARENT, "1", "2"), inserted(PARENT, "2", "3"), inserted(PARENT, "3")]
    assert shown(ordered(changes, KEYS, strict=True)) == ["I >3", "I >2", "I >1"]
    gone = [deleted(PARENT, "1", "2"), deleted(PARENT, "2", "3"), deleted(PARENT, "3")]
    assert shown(ordered(gone, KEYS, strict=True)) == ["D 1>", "D 2>", "D 3>"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_key_is_free_before_it_is_taken(strict: bool) -> None:
    assert shown(ordered([inserted(CHILD, "1"), deleted(CHILD, "1")], KEYS, strict=strict)) == ["D 1>", "I >1"]
    chain = [moved(CHILD, "1", "2"), moved(CHILD, "2", "3"), deleted(CHILD, "3")]
    assert shown(ordered(chain, KEYS, strict=strict)) == ["D 3>", "U 2>3", "U 1>2"]


def test_rows_that_swap_their_keys_are_deleted_and_inserted() -> None:
    swap = [moved(CHILD, "1", "2"), moved(CHILD, "2", "1")]
    assert shown(ordered(swap, KEYS, strict=True)) == ["D 1>", "U 2>1", "I >2"]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("up", ["9", None])
def test_a_record_key_that_is_not_the_tables_is_free_before_it_is_taken(strict: bool, up: str | None) -> None:
    """Readers keep the newest record of each key: the row that has it at the end must not come before the delete of another."""
    changes = [inserted(CHILD, "2", up), deleted(CHILD, "1", up)]
    assert shown(ordered(changes, ForeignKeys(), strict=strict, record_key=lambda _: (1,))) == ["D 1>", "I >2"]
    left = [change(CHILD, "U", ("1", up), ("1", "8")), change(CHILD, "U", ("2", "7"), ("2", up))]
    for some in (left, left[::-1]):
        found = ordered(some, ForeignKeys(), strict=strict, record_key=lambda _: (1,))
        assert [(one.before, one.after) for one in found] == [(("1", up), ("1", "8")), (("2", "7"), ("2", up))]


def test_a_record_key_goes_before_a_foreign_key() -> None:
    """The child leaves the old parent for the new one, which has its record key: no order suits both, and one row comes too early."""
    changes = [
        inserted(PARENT, "2", "A"),
        change(CHILD, "U", ("7", "1"), ("7", "2")),
        deleted(PARENT, "1", "A"),
    ]
    child_of_parent = ForeignKeys([ForeignKey(CHILD.id, ("UP",), PARENT.id, ("ID",))])
    key = {PARENT.id: (1,), CHILD.id: (0,)}
    found = ordered(changes, child_of_parent, strict=True, record_key=lambda schema: key[schema.id])
    assert shown(found) == ["U 7>7", "D 1>", "I >2"]


def test_many_rows_with_one_record_key_are_ordered_in_time() -> None:
    count = 20_000
    changes = [inserted(CHILD, str(count + n), "A") for n in range(count)] + [
        deleted(CHILD, str(n), "A") for n in range(count)
    ]
    found = ordered(changes, ForeignKeys(), strict=True, record_key=lambda _: (1,))
    assert [one.op for one in found] == ["D"] * count + ["I"] * count


def test_rows_that_swap_a_record_key_are_deleted_and_inserted() -> None:
    swap = [change(CHILD, "U", ("1", "A"), ("1", "B")), change(CHILD, "U", ("2", "B"), ("2", "A"))]
    found = ordered(swap, ForeignKeys(), strict=True, record_key=lambda _: (1,))
    assert [(one.op, one.before, one.after) for one in found] == [
        ("D", ("1", "A"), None),
        ("U", ("2", "B"), ("2", "A")),
        ("I", None, ("1", "B")),
    ]


def test_tables_that_refer_to_each_other_are_named() -> None:
    circle = ForeignKeys(
        [ForeignKey(CHILD.id, ("UP",), PARENT.id, ("ID",)), ForeignKey(PARENT.id, ("UP",), CHILD.id, ("ID",))]
    )
    assert circle.cyclic == (CHILD.id, PARENT.id)
    rows = [inserted(CHILD, "1", "1"), inserted(PARENT, "1", "1")]
    assert len(ordered(rows, circle, strict=True)) == 2


def test_a_table_below_a_circle_is_not_named_as_part_of_it() -> None:
    below, one, other = table("A_BELOW"), table("B"), table("C")
    pairs = (below, one), (one, other), (other, one), (one, one)
    keys = ForeignKeys([ForeignKey(child.id, ("UP",), parent.id, ("ID",)) for child, parent in pairs])
    assert keys.cyclic == (one.id, other.id)


def test_tables_of_all_circles_are_named_also_of_those_that_share_a_table() -> None:
    shared, one, other, apart, partner, between = (table(name) for name in ("A", "B", "C", "P", "Q", "N"))
    pairs = (
        *((shared, one), (one, shared), (shared, other), (other, shared)),
        *((apart, partner), (partner, apart), (between, shared), (apart, between)),
    )
    keys = ForeignKeys([ForeignKey(child.id, ("UP",), parent.id, ("ID",)) for child, parent in pairs])
    assert [table.table for table in keys.cyclic] == ["A", "B", "C", "P", "Q"], "N leads from one circle to another"


@pytest.mark.parametrize("seed", range(examples(300)))
def test_whatever_the_transaction_did_its_fold_by_key_is_the_table(seed: int) -> None:
    """Rows move between keys at random; a reader that applies the changes in order has the same rows at the end."""
    chance = random.Random(seed)
    before = {f"r{n}": str(n) for n in range(8)}
    after = dict(zip(before, chance.sample([str(n) for n in range(10)], 8), strict=True))
    changes = []
    for row_id, key in before.items():
        kind = chance.random()
        old, new = (key, row_id), (after[row_id], row_id)
        if kind < 0.2:
            changes.append(Version(CHILD, 5, "ab", "D", row_id, old, None, 0))
            del after[row_id]
        else:
            changes.append(Version(CHILD, 5, "ab", "U", row_id, old, new, 0))
    chance.shuffle(changes)
    found = {key: row_id for row_id, key in before.items()}
    for one in ordered(changes, KEYS, strict=chance.random() < 0.5):
        if one.before is not None:
            assert found.pop(str(one.before[0])) == one.row_id
        if one.after is not None:
            assert str(one.after[0]) not in found
            found[str(one.after[0])] = one.row_id
    assert found == {key: row_id for row_id, key in after.items()}
    assert ordered(changes, KEYS, strict=True) == ordered(sorted(changes, key=repr), KEYS, strict=True)
