"""The position of `olr`: how far the stream has come.

The places of messages (`c_scn`, `c_idx`) do not say what is delivered: their meaning depends on the server's version, and a
restarted server counts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minercdc.capture.commit_position import CommitPosition
from minercdc.capture.database_identity import identity_of
from minercdc.capture.olr.message import Place
from minercdc.stream.offset import JsonValue


@dataclass(frozen=True, slots=True)
class OlrPosition(CommitPosition):
    """The position of `olr`, which is stored in the offset: the server is requested to send from `begun` on.

    :param seen: highest place of a message that was received up to here, None while there was none; no other client may have
        confirmed more.
    """

    seen: Place | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        found: dict[str, JsonValue] = {"olr_scn": str(self.scn), "olr_begun": str(self.begun)}
        found |= self.identity_json()
        if self.xids:
            found["olr_xids"] = list[JsonValue](sorted(self.xids))
        if self.seen is not None:
            found["olr_seen"] = [str(self.seen.scn), str(self.seen.idx)]
        return found

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> OlrPosition:
        """The position of which `to_json` made `saved`. Raises KeyError, ValueError, TypeError or IndexError for anything
        else."""
        seen = saved.get("olr_seen")
        return cls(
            int(saved["olr_scn"]),
            frozenset(map(str, saved.get("olr_xids", ()))),
            int(saved["olr_begun"]),
            Place(int(seen[0]), int(seen[1])) if seen else None,
            of=identity_of(saved),
        )
