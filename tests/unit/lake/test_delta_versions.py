"""Which version of a Delta table has all changes up to an SCN, by what the commits of its log say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from minercdc.lake.table import delta
from minercdc.lake.table.delta import DeltaTable
from minercdc.lake.table.format import Applied, Overtaken

FIRST, LATER = Applied(5, 1), Applied(6, 2)


def table(monkeypatch: pytest.MonkeyPatch, *said: Applied | str | None) -> DeltaTable:
    """A table whose commits say this, from version 0 on; a text is an operation."""
    commits: list[tuple[int, Mapping[str, Any]]] = [
        (number, {"operation": one} if isinstance(one, str) else {"userMetadata": one and one.to_json()})
        for number, one in enumerate(said)
    ]

    def newest_first(_: DeltaTable) -> Iterator[tuple[int, Mapping[str, Any]]]:
        yield from reversed(commits)

    monkeypatch.setattr(DeltaTable, "_commits", newest_first)
    monkeypatch.setattr(DeltaTable, "version", lambda _: len(said) - 1)
    spark: Any = None
    return DeltaTable(spark, "/lake/T")


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ([FIRST, LATER], 1),
        ([FIRST, LATER, None, None], 1),  # what a kill has left half done
        ([FIRST, LATER, None, LATER], 1),  # columns that were made again say it once more
        ([FIRST, None], 1),
        ([LATER, FIRST, "RESTORE", None], 3),
        ([LATER, "RESTORE", LATER], 2),
    ],
)
def test_after_a_kill_the_first_version_that_says_it_is_the_one_of_an_scn(
    said: list[Applied | str | None], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = table(monkeypatch, *said)
    assert lake.reached(LATER, first=True) == version
    assert lake.reached(LATER) == len(said) - 1


def test_what_another_process_may_have_brought_is_not_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = table(monkeypatch, FIRST, LATER)
    rows: Any = None
    with pytest.raises(Overtaken, match=r"has brought delta.`/lake/T` from SCN 5 to 6") as caught:
        lake.append(rows, Applied(7, 3), known=FIRST)
    assert delta.is_conflict(caught.value)
