"""Which rows of a chunk are out of date: one rule of `Changes` at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.fetched import fetched

from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.incremental.window import Changes
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Row, SchemaChange, Scn, TransactionInfo

T = TableId("DB", "S", "T")
TABLE = TableSchema(T, (Column("ID", "NUMBER"), Column("V", "VARCHAR2")), (0,))
KEYLESS = replace(TABLE, key=())
PAIR = replace(TABLE, key=(0, 1))


def change(
    op: Op, before: Row | None, after: Row | None, scn: int, *, schema: TableSchema = TABLE, row_id: str | None = None
) -> ChangeEvent:
    info = TransactionInfo("x", Scn(0), Scn(scn), 0, 0, 1, None)
    return ChangeEvent(op, schema, before, after, Scn(scn - 1), 0, info, 1, row_id)


def left(changes: Changes, floor: int, schema: TableSchema = TABLE) -> list[str]:
    """Keys of the current ones of the rows 1 to 3, whose ROWIDs are R1 to R3."""
    rows = fetched(schema, [(f"R{key}", (str(key), "v")) for key in (1, 2, 3)])
    found = changes.current(rows, floor)
    return [str(row[0]) for _, row in found.convert(found.rows)]


def noted(*events: ChangeEvent) -> Changes:
    changes = Changes()
    changes.follow(T)
    for event in events:
        changes.note(event)
    return changes


@pytest.mark.parametrize("at", [50, 51])
def test_a_change_of_the_key_makes_the_row_of_both_keys_out_of_date(at: int) -> None:
    moved = noted(change(Op.UPDATE, ("1", "v"), ("2", "v"), at))
    assert left(moved, 50) == (["3"] if at > 50 else ["1", "2", "3"])


def test_the_newest_change_of_a_key_counts_in_whatever_order_they_come() -> None:
    """Commits of several redo threads."""
    assert left(noted(change(Op.DELETE, ("1", "v"), None, 60), change(Op.CREATE, None, ("1", "v"), 55)), 57) == ["2", "3"]


def test_a_row_that_was_read_without_its_transaction_counts_with_the_scn_it_was_read_at() -> None:
    read = replace(change(Op.READ, None, ("1", "v"), 61), tx=None)
    assert left(noted(read), 59) == ["2", "3"]
    assert left(noted(read), 60) == ["1", "2", "3"]


def test_the_row_is_known_by_its_rowid_where_the_image_before_is_missing() -> None:
    """It may have had another key: txlog, and redo without supplemental logging, show the row after the change."""
    assert left(noted(change(Op.UPDATE, None, ("2", "v"), 60, row_id="R1")), 50) == ["3"]


@pytest.mark.parametrize("schema", [KEYLESS, PAIR], ids=["no key", "a part of the key"])
def test_the_row_is_known_by_its_rowid_where_the_key_is_not(schema: TableSchema) -> None:
    deleted = change(Op.DELETE, ("9", UNAVAILABLE), None, 60, schema=schema, row_id="R2")
    assert left(noted(deleted), 50, schema) == ["1", "3"]
    assert noted(deleted).tell_rows(T, 50)


@pytest.mark.parametrize(("op", "known"), [(Op.CREATE, True), (Op.UPDATE, False), (Op.DELETE, False)])
def test_a_change_without_key_and_rowid_is_known_to_have_been(op: Op, known: bool) -> None:
    """A new row has no older image; of the others, any row that was read may be the one."""
    row: Row = ("1", "v")
    changes = noted(change(op, None if op is Op.CREATE else row, None if op is Op.DELETE else row, 60, schema=KEYLESS))
    assert changes.tell_rows(T, 50) == known
    assert changes.tell_rows(T, 60)
    assert changes.is_empty == known
    changes.forget()
    assert changes.tell_rows(T, 50)


@pytest.mark.parametrize(
    ("event", "known"),
    [
        (change(Op.DELETE, ("1", "v"), None, 60, schema=KEYLESS, row_id="R1"), False),
        (change(Op.UPDATE, None, ("2", "v"), 60, row_id="R1"), False),
        (change(Op.CREATE, None, ("1", "v"), 60, schema=KEYLESS, row_id="R1"), True),
        (change(Op.DELETE, ("1", "v"), None, 60, row_id="R1"), True),
    ],
    ids=["no key", "the key before is not known", "a new row", "a key"],
)
def test_a_rowid_says_nothing_of_rows_that_a_select_reads(event: ChangeEvent, known: bool) -> None:
    """They have none."""
    changes = noted(event)
    assert changes.tell_rows(T, 50)
    assert changes.tell_rows(T, 50, row_ids=False) == known
    assert changes.tell_rows(T, 60, row_ids=False)


@pytest.mark.parametrize("floor", [49, 50])
def test_a_truncate_makes_all_rows_out_of_date_that_were_read_before(floor: int) -> None:
    changes = noted()
    changes.note_schema(SchemaChange(T, TABLE, TABLE, "truncate table T", Scn(50), 0, truncate=True))
    assert left(changes, floor) == ([] if floor < 50 else ["1", "2", "3"])
    assert not changes.is_empty


def test_changes_up_to_the_floor_are_not_noted_any_more() -> None:
    changes = noted()
    changes.prune(60)
    changes.note(change(Op.DELETE, ("1", "v"), None, 60))
    assert len(changes) == 0
