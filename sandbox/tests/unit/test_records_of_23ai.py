"""Records of changes as 23ai writes them: docs/reference/logminer-facts.md#b-7-1 and #b-6-3."""

from __future__ import annotations

from itertools import pairwise

import pytest

from minercdc_sandbox.interfaces import Cell, LobKind, OraType
from minercdc_sandbox.lobs.locator import LobValue, as_cell
from minercdc_sandbox.records import RedoOp, StoredColumn
from minercdc_sandbox.redo.large_values import Step, large_columns, update_steps
from minercdc_sandbox.storage.strands import _all_at_the_end

COLUMNS = (
    StoredColumn("ID", OraType.NUMBER, "NUMBER"),
    StoredColumn("T", OraType.VARCHAR2, "VARCHAR2(9)", size=9),
    StoredColumn("C", OraType.CLOB, "CLOB", storage="SECUREFILE"),
)
SMALL = as_cell(LobValue(LobKind.CLOB, 5, 1))
EMPTY = as_cell(LobValue(LobKind.CLOB))
ONE = b"\xc1\x02"


def shown(step: Step) -> tuple[RedoOp, tuple[int, ...], bool]:
    return step.op, step.changed, step.placeholder


@pytest.mark.parametrize(
    ("before", "after", "changed", "steps"),
    [
        pytest.param((ONE, "a", SMALL), (ONE, "b", SMALL), (1, 2), [((1,), True), ((2,), False)], id="plain and small"),
        pytest.param((ONE, "a", None), (ONE, "a", SMALL), (2,), [((2,), True), ((2,), False)], id="NULL to small"),
        pytest.param((ONE, "a", SMALL), (ONE, "a", SMALL), (2,), [((2,), False)], id="small to small"),
        pytest.param((ONE, "a", SMALL), (ONE, "b", None), (1, 2), [((1, 2), False)], id="to NULL"),
    ],
)
def test_small_lobs_have_a_record_of_their_own(
    before: tuple[Cell, ...], after: tuple[Cell, ...], changed: tuple[int, ...], steps: list[tuple[tuple[int, ...], bool]]
) -> None:
    made = update_steps(large_columns(COLUMNS), before, after, changed, since_23=True)
    assert [shown(step) for step in made] == [(RedoOp.UPDATE, places, placeholder) for places, placeholder in steps]
    assert (made[0].before, made[-1].after) == (before, after)
    assert all(one.after == two.before for one, two in pairwise(made))
    assert len(update_steps(large_columns(COLUMNS), before, after, changed)) == 1, "19c"


@pytest.mark.parametrize(
    ("before", "after", "changed", "assigned"),
    [
        ((ONE, "a", None), (ONE, "a", None), (2,), (0, 1, 2)),
        ((ONE, None, None), (ONE, None, None), (1,), (0, 1, 2)),
        ((ONE, None, "x"), (ONE, None, "x"), (1,), (1,)),
        ((ONE, "a", "x"), (ONE, "a", None), (2,), (2,)),
        ((ONE, "a", None), (ONE, "b", None), (1, 2), (1, 2)),
    ],
)
def test_nulls_at_the_end_that_are_set_to_null_assign_all_columns(
    before: tuple[Cell, ...], after: tuple[Cell, ...], changed: tuple[int, ...], assigned: tuple[int, ...]
) -> None:
    assert _all_at_the_end([("AAAR3xAAMAAAACDAAA", before, after)], changed) == assigned
