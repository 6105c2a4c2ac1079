"""The position of `fors_olr`: how far the stream has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minercdc.capture.commit_position import CommitPosition
from minercdc.capture.database_identity import identity_of
from minercdc.stream.offset import JsonValue


@dataclass(frozen=True, slots=True)
class ForsPosition(CommitPosition):
    """The position of `fors_olr`, which is stored in the offset. A server that begins again is started at `begun` (StartSCN).

    :param listed: `TableList.digest` of the list that this connector started the server with, '' where that is not known.
    """

    listed: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        found: dict[str, JsonValue] = {"fors_scn": str(self.scn), "fors_begun": str(self.begun)}
        found |= self.identity_json()
        if self.xids:
            found["fors_xids"] = list[JsonValue](sorted(self.xids))
        if self.listed:
            found["fors_listed"] = self.listed
        return found

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> ForsPosition:
        """The position of which `to_json` made `saved`. Raises KeyError, ValueError or TypeError for anything else."""
        return cls(
            int(saved["fors_scn"]),
            frozenset(map(str, saved.get("fors_xids", ()))),
            int(saved["fors_begun"]),
            str(saved.get("fors_listed", "")),
            of=identity_of(saved),
        )
