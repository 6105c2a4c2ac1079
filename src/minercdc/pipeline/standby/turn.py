"""Decides whether this standby takes over. No I/O and no clock: the input is an observation, the result a reason; `Turn` remembers earlier
observations of the owner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from minercdc.sinks.kafka.membership import member_of
from minercdc.sinks.kafka.ownership import Claim

MEMBER_SECONDS: Final = 10.0
"""An owner that should be in the group, was never seen there and stores nothing for so long, is dead."""

STRANGER_SECONDS: Final = 30.0
"""The same for an owner that is never in the group: one of an earlier version, or `minercdc offsets`."""


class Port(Enum):
    """What the owner's HTTP port shows."""

    UNKNOWN = auto()
    OPEN = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a standby sees at one moment.

    :param now: seconds of a clock that never goes back.
    :param claim: the latest one, None when the name was never claimed.
    :param moved: when something was stored last in the topic of offsets, by the same clock.
    :param holds: this standby holds the group's partition.
    :param members: client ids in the group; None when they are not known.
    :param port: of the claim's owner.
    """

    now: float
    claim: Claim | None
    moved: float
    holds: bool
    members: frozenset[str] | None
    port: Port


class Turn:
    """Decides for one standby, from what it sees one moment after the other.

    :param instance: its identity.
    :param now: when it began to wait.
    """

    def __init__(self, instance: str, now: float) -> None:
        self._member = member_of(instance)
        self._owner = ""
        self._since = now
        self._was_member = False

    def reason(self, seen: Seen) -> str:
        """Why this standby takes over, most often since the owner is dead; '' while it has to wait."""
        owner = seen.claim.instance if seen.claim else ""
        if owner != self._owner:
            self._owner, self._since, self._was_member = owner, seen.now, False
        alive = seen.members is not None and bool(owner) and member_of(owner) in seen.members
        self._was_member |= alive
        if seen.claim is not None and seen.port is Port.CLOSED and self._is_first(seen.members, owner):
            return f"nothing listens at {seen.claim.host}:{seen.claim.port} any more"
        if not seen.holds or seen.members is None or alive:
            return ""
        if seen.claim is None:
            return "no instance has claimed the name yet"
        if self._was_member:
            return "Kafka has taken it out of the consumer group, or it has left"
        patience = MEMBER_SECONDS if seen.claim.member else STRANGER_SECONDS
        if seen.now - max(self._since, seen.moved) < patience:
            return ""
        return f"it is not in the consumer group, and has stored nothing for {patience:.0f} s"

    def _is_first(self, members: frozenset[str] | None, owner: str) -> bool:
        """Whether this standby is the first by name of the group's members without the owner, so that only one takes over when all
        see the port closed. False when the members are not known or it is not one of them: then Kafka's assignment decides."""
        return members is not None and self._member in members and self._member == min(members - {member_of(owner)})
