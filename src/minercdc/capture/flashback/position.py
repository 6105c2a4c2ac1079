"""The position of `flashback`: the progress of its windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from minercdc.capture.database_identity import DatabasePosition, identity_of
from minercdc.stream.offset import JsonValue

Place = tuple[int, str]
"""Commit SCN and XID: the order of transactions."""


@dataclass(frozen=True, slots=True)
class FlashbackPosition(DatabasePosition):
    """The position of `flashback`, which is stored in the offset: how far the windows have come.

    :param next: first SCN whose commits are not delivered, or not all: the window under way, or the next one, begins there.
    :param end: first SCN after the window under way; 0 between two windows.
    :param done: the last transaction of that window that is delivered; None while none is.
    :param demoted: name of a table (`demotion.name_of`) -> first SCN that its incremental reading has not covered; 0 of a table that
        is suspended.
    """

    next: int
    end: int = 0
    done: Place | None = None
    demoted: Mapping[str, int] = field(default_factory=dict)

    def precedes(self, other: Self) -> bool:
        """Whether going from `other` to this position would go back: an earlier window, or less of the same one is delivered."""
        return (self.next, self.done or (0, "")) < (other.next, other.done or (0, ""))

    @property
    def delivered_scn(self) -> int:
        """Highest commit SCN of what was delivered, or the SCN that the window begins after."""
        return self.done[0] if self.done else self.next - 1

    def __str__(self) -> str:
        """`SCN n`, for the log: the last commit SCN that is delivered of the window; while none is, the first that is not."""
        return f"SCN {self.delivered_scn + 1 if self.done is None else self.delivered_scn}"

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        found: dict[str, JsonValue] = {"flashback_next": str(self.next), **self.identity_json()}
        if self.end:
            found["flashback_end"] = str(self.end)
        if self.done:
            found["flashback_done"] = [str(self.done[0]), self.done[1]]
        if self.demoted:
            found["flashback_demoted"] = {table: str(scn) for table, scn in sorted(self.demoted.items())}
        return found

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> FlashbackPosition:
        """The position of which `to_json` made `saved`. Raises KeyError, ValueError, TypeError or IndexError for anything
        else."""
        done = saved.get("flashback_done")
        return cls(
            int(saved["flashback_next"]),
            int(saved.get("flashback_end", 0)),
            (int(done[0]), str(done[1])) if done else None,
            {str(table): int(scn) for table, scn in dict(saved.get("flashback_demoted", {})).items()},
            of=identity_of(saved),
        )
