"""A client's place in the stream, as Databus writes it in JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from minercdc.errors import RelayError

FLEXIBLE: Final = -1
WHOLE_WINDOW: Final = -1
ONLINE: Final = "ONLINE_CONSUMPTION"
_MODES: Final = ("INIT", ONLINE, "BOOTSTRAP_SNAPSHOT", "BOOTSTRAP_CATCHUP")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a client has read.

    :param window_scn: -1: from the oldest window that there is.
    :param window_offset: -1: that window is read to its end; else how many of its events are.
    :param prev_scn: SCN of the window before, -1 when not known.
    :param mode: Databus's `consumption_mode`.
    :param time_ns: of the last event, -1 when not known.
    """

    window_scn: int = FLEXIBLE
    window_offset: int = WHOLE_WINDOW
    prev_scn: int = -1
    mode: str = ONLINE
    time_ns: int = -1

    @property
    def is_flexible(self) -> bool:
        """Whether it stands for the oldest window that there is."""
        return self.window_scn == FLEXIBLE or self.mode == "INIT"

    def to_json(self) -> str:
        """JSON on one line, with Databus's names."""
        return json.dumps(
            {
                "consumption_mode": self.mode,
                "windowScn": self.window_scn,
                "windowOffset": self.window_offset,
                "prevScn": self.prev_scn,
                "tsNsecs": self.time_ns,
            },
            separators=(",", ":"),
        )


def checkpoint_of(text: str) -> Checkpoint:
    """The checkpoint that `text` has as JSON.

    :raises RelayError: it is none.
    """
    try:
        found = json.loads(text)
        made = Checkpoint(
            window_scn=_whole(found.get("windowScn", FLEXIBLE)),
            window_offset=_whole(found.get("windowOffset", WHOLE_WINDOW)),
            prev_scn=_whole(found.get("prevScn", -1)),
            mode=found.get("consumption_mode", ONLINE),
            time_ns=_whole(found.get("tsNsecs", -1)),
        )
    except (ValueError, AttributeError, TypeError) as error:
        raise RelayError(f"{text[:200]!r} is not a checkpoint: {error}") from None
    if made.mode not in _MODES:
        raise RelayError(f"consumption_mode {made.mode!r} of a checkpoint is none of {', '.join(_MODES)}")
    if made.window_scn < FLEXIBLE or made.window_offset < WHOLE_WINDOW or made.window_scn >= 1 << 64:
        raise RelayError(f"{text[:200]!r} is not a checkpoint: windowScn and windowOffset are -1 or more")
    return made


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    return value
