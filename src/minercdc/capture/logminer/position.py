"""How far we are in the redo of each thread: the only order that never lies.

An SCN is given when a change is made, but the change's record may reach the log later (private strands), so SCNs go up
and down along the redo, and a bound by SCN can pass over rows for ever. A redo address cannot.

    resume       where mining begins after a restart: first record of the oldest transaction that was open
    last_commit  transactions that ended at or before it are delivered: dropped when they are mined again
    last_ddl     likewise for DDL
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from minercdc.offset import JsonValue


class RedoAddress(NamedTuple):
    """A place in one thread's redo; addresses of different threads cannot be compared.

    :param rs_id: redo record, `0x<log sequence>.<block>.<offset>`, fixed-width hex: text order is redo order.
    :param rows: how many rows (commits, in `last_commit`) of that record are done.
    """

    rs_id: str
    rows: int = 0

    @property
    def sequence(self) -> int:
        """The sequence number of the log the record is in."""
        return int(self.rs_id.partition(".")[0], 16)


def address_of(thread: int, rs_id: str) -> RedoAddress | None:
    """The address of a row's record, with `rows` 1, from RS_ID as LogMiner prints it; None for the synthetic rows that have
    none (thread 0, or all zeros)."""
    trimmed = rs_id.strip()
    return RedoAddress(trimmed, 1) if thread and trimmed.strip("0x.") else None


def log_start(sequence: int) -> RedoAddress:
    """The address before the first record of a log."""
    return RedoAddress(f"0x{sequence:06x}.00000000.0000")


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """How far we are in one thread.

    :param resume_scn: SCN of the row at `resume`; for people, and to find its log.
    """

    resume: RedoAddress
    resume_scn: int = 0
    last_commit: RedoAddress | None = None
    last_commit_scn: int = 0
    last_ddl: RedoAddress | None = None


@dataclass(frozen=True, slots=True)
class LogMinerPosition:
    """Where to go on from.

    :param start_scn: where threads without a mark begin.
    :param snapshot_scn: commits and DDL at or below it are part of the snapshot.
    :param resetlogs: RESETLOGS_CHANGE# of the incarnation the addresses belong to.
    :param given_up: XIDs, as hex, of open transactions that are not wanted any more: what of them comes is dropped.
    """

    threads: Mapping[int, ThreadMark] = field(default_factory=dict)
    start_scn: int = 0
    snapshot_scn: int = 0
    resetlogs: int = 0
    given_up: frozenset[str] = frozenset()

    def precedes(self, other: Self) -> bool:
        """True when going from `other` to this position would go backwards."""
        if self.resetlogs != other.resetlogs:
            return self.resetlogs < other.resetlogs
        for thread, theirs in other.threads.items():
            ours = self.threads.get(thread)
            if ours is None or ours.resume < theirs.resume:
                return True
            if _place(ours.last_commit) < _place(theirs.last_commit) or _place(ours.last_ddl) < _place(theirs.last_ddl):
                return True
        return self.snapshot_scn < other.snapshot_scn

    @property
    def delivered_scn(self) -> int:
        """Highest SCN of what was delivered: by the snapshot, or by any thread."""
        return max(self.snapshot_scn, *(mark.last_commit_scn for mark in self.threads.values()), 0)

    def __str__(self) -> str:
        """For the log."""
        threads = [
            f"thread {thread} at redo address {mark.resume.rs_id} (SCN {mark.resume_scn})"
            for thread, mark in sorted(self.threads.items())
        ]
        return ", ".join(threads) or f"SCN {self.start_scn}"

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        threads: dict[str, JsonValue] = {}
        for thread, mark in sorted(self.threads.items()):
            threads[str(thread)] = {
                "resume": list(mark.resume),
                "resume_scn": str(mark.resume_scn),
                "last_commit": list(mark.last_commit) if mark.last_commit else None,
                "last_commit_scn": str(mark.last_commit_scn),
                "last_ddl": list(mark.last_ddl) if mark.last_ddl else None,
            }
        return {
            "threads": threads,
            "start_scn": str(self.start_scn),
            "snapshot_scn": str(self.snapshot_scn),
            "resetlogs": str(self.resetlogs),
            **({"given_up": list[JsonValue](sorted(self.given_up))} if self.given_up else {}),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> LogMinerPosition:
        """Back from `to_json`. Raises KeyError, ValueError, TypeError or AttributeError for anything else."""
        threads = {
            int(thread): ThreadMark(
                RedoAddress(*mark["resume"]),
                int(mark["resume_scn"]),
                RedoAddress(*mark["last_commit"]) if mark["last_commit"] else None,
                int(mark["last_commit_scn"]),
                RedoAddress(*mark["last_ddl"]) if mark["last_ddl"] else None,
            )
            for thread, mark in saved["threads"].items()
        }
        return cls(
            threads,
            int(saved["start_scn"]),
            int(saved["snapshot_scn"]),
            int(saved["resetlogs"]),
            frozenset(map(str, saved.get("given_up", ()))),
        )


def _place(address: RedoAddress | None) -> RedoAddress:
    return address or RedoAddress("")
