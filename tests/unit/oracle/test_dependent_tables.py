"""What a table is to another one that it refers to in two ways."""

from __future__ import annotations

from datetime import datetime

import pytest

from minercdc.oracle.dictionary.dependent_tables import Child, _of_both
from minercdc.schema.table import TableId

EARLY, LATE = datetime(2026, 1, 1), datetime(2026, 2, 1)


def child(cascades: bool, changed: datetime | None, by_reference: bool = False) -> Child:
    return Child(TableId("DB", "S", "T"), 7, by_reference, cascades, changed)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (child(True, EARLY), child(False, LATE), child(True, EARLY)),
        (child(False, None), child(True, LATE), child(True, LATE)),
        (child(True, EARLY), child(True, LATE), child(True, EARLY)),
        (child(True, None), child(True, LATE), child(True, LATE)),
        (child(False, EARLY), child(False, LATE), child(False, LATE)),
        (child(False, None), child(False, LATE), child(False, None)),
        (child(False, EARLY, by_reference=True), child(True, LATE), child(True, LATE, by_reference=True)),
    ],
)
def test_the_way_by_which_rows_go_counts(one: Child, other: Child, both: Child) -> None:
    """Where either deletes, since when is that of the one that did; where neither does now, of the one that may have done so last."""
    assert _of_both(one, other) == _of_both(other, one) == both
