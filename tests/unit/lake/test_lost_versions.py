"""Which SCNs cannot be read of a lake table that was made again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from minercdc.errors import LakeError
from minercdc.lake.maintain.retention import versions
from minercdc.lake.read.reader import _base, _refuse_lost
from minercdc.lake.table.format import NO_TABLE
from minercdc.lake.table.state import Entry

MADE = Entry("table", "S.T", 5, 50)
AGAIN = Entry("table", "S.T", 0, 90)
TRIMMED = Entry("trimmed", scn=40)
GONE = Entry("table", "S.T", NO_TABLE)


@pytest.mark.parametrize(
    ("entries", "scn", "readable"),
    [
        ([MADE, TRIMMED, AGAIN], 60, False),  # deleted, and read again from Oracle
        ([MADE, Entry("read", "S.T", scn=50), AGAIN], 60, False),  # the change log never had its rows
        ([MADE, TRIMMED, AGAIN], 90, True),
        ([MADE, AGAIN], 60, True),  # the change log has all
        ([MADE, GONE, AGAIN], 60, True),
        ([TRIMMED, AGAIN], 60, True),  # created after what was trimmed
        ([Entry("table", "S.OTHER", 5, 50), TRIMMED, AGAIN], 60, True),
        ([MADE, Entry("read", "S.T", scn=80), AGAIN], 60, True),
    ],
)
def test_a_table_that_was_made_again_is_not_read_from_a_change_log_that_lacks_its_rows(
    entries: Sequence[Entry], scn: int, readable: bool
) -> None:
    base = _base(versions(entries).get("S.T", ()), "S.T", scn)
    if readable:
        _refuse_lost(base, entries, scn)
    else:
        with pytest.raises(LakeError, match=f"rows that it had at SCN {scn} are gone") as caught:
            _refuse_lost(base, entries, scn)
        assert "Read SCN 90 or a later one" in str(caught.value)


def test_versions_of_a_table_that_was_deleted_are_not_those_of_the_one_that_was_made_in_its_place() -> None:
    """Each has one version, of the same number."""
    first, second = Entry("table", "S.T", 0, 50), Entry("table", "S.T", 0, 90)
    assert versions([first, GONE, second]) == {"S.T": [GONE, second]}
    assert _base(versions([first, GONE, second])["S.T"], "S.T", 60).version == NO_TABLE
    assert _base(versions([first, GONE, second])["S.T"], "S.T", 90) == second
