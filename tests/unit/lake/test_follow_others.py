"""What a running lake takes over of what another process records of a table: as far as the table says so itself."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.lake.test_pending import history

from minercdc.errors import LakeError
from minercdc.lake.merge.scheduler import Merger
from minercdc.lake.stream.arrivals import Arrivals
from minercdc.lake.table.format import NO_TABLE, Applied
from minercdc.lake.table.state import Entry, LakeState

HERE = Entry("table", "S.T", 12, 60, 3)
"""What this lake has recorded."""


@dataclass
class Lake:
    """A lake table."""

    newest: int
    said: Applied | None

    def newest_version(self) -> int:
        return self.newest

    def applied(self) -> Applied | None:
        if self.said == Applied():
            raise LakeError("it is not known")
        return self.said


def followed(entry: Entry, there: Lake, known: Entry | None = HERE) -> Entry | None:
    """What the lake takes the table for, after another process has recorded an entry."""
    merger, state = Merger.__new__(Merger), LakeState()
    if known is not None:
        state.follow(known)
    parts: dict[str, Any] = {
        "_spark": None,
        "_state": state,
        "_arrivals": Arrivals(),
        "_history": SimpleNamespace(find=lambda _: history()),
        "_format": SimpleNamespace(table=lambda *_: there),
        "_log": SimpleNamespace(arrivals=lambda _: []),
    }
    for name, part in parts.items():
        setattr(merger, name, part)
    merger._follow_table(entry)
    return state.tables.get("S.T")


@pytest.mark.parametrize(
    ("entry", "there", "expected"),
    [
        # It is there: also where it has less, and took the place of what this lake had committed.
        (Entry("table", "S.T", 13, 50, 2), Lake(13, Applied(50, 2)), (13, 50, 2)),
        (Entry("table", "S.T", 11, 50, 2), Lake(11, Applied(50, 2)), (11, 50, 2)),
        (Entry("table", "S.T", 12, 50, 2), Lake(12, Applied(50, 2)), (12, 50, 2)),
        (Entry("table", "S.T", 13, 70, 4), Lake(13, Applied(60, 3)), (13, 70, 4)),  # it was that far already
        # This lake has merged changes since, or took its place.
        (Entry("table", "S.T", 11, 50, 2), Lake(12, Applied(60, 3)), (12, 60, 3)),
        (Entry("table", "S.T", 13, 70, 4), Lake(12, Applied(60, 3)), (12, 60, 3)),
        # Files were joined since.
        (Entry("table", "S.T", 13, 50, 2), Lake(14, Applied(50, 2)), (14, 50, 2)),
        # The table does not say it.
        (Entry("table", "S.T", 13, 70, 4), Lake(15, None), (13, 70, 4)),
        (Entry("table", "S.T", 13, 70, 4), Lake(15, Applied()), (13, 70, 4)),
        (Entry("table", "S.T", 13, 70, 4), Lake(NO_TABLE, None), (13, 70, 4)),
        (Entry("table", "S.T", 11, 50, 2), Lake(15, None), (12, 60, 3)),
    ],
)
def test_what_the_table_says_counts(entry: Entry, there: Lake, expected: tuple[int, int, int]) -> None:
    found = followed(entry, there)
    assert found is not None
    assert (found.version, found.scn, found.batch) == expected


def test_a_table_that_was_not_known_is_followed() -> None:
    entry = Entry("table", "S.T", 3, 50, 2)
    assert followed(entry, Lake(3, Applied(50, 2)), known=None) == entry
