"""A physical standby of the database: a service whose sessions see it read only, as far as its redo is applied.

DBMS_SANDBOX.OPEN_STANDBY adds the service. Redo is shipped when a log is archived, or as it is written (real-time apply, into standby
redo logs, which LogMiner does not read), and applied at once while apply runs. docs/reference/logminer-facts.md#a-9 has what is
known of Oracle's; V$ views whose rows on a standby are not known are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.redo.threads import ArchivedLog

SERVICE = "ORCLSTBY"
"""The standby's service, which leads to its root; also its DB_UNIQUE_NAME."""
_ALLOWED = frozenset({"ALTER SESSION", "COMMIT", "ROLLBACK", "SET TRANSACTION"})


class Standby:
    """The standby of one database, and the state that DBMS_SANDBOX gives it. Of its own it has no rows and no redo: its sessions
    read the primary's.

    :ivar is_open: the service is there.
    :ivar real_time: redo is applied as it is written; False: when its log is archived.
    :ivar stalled_at: apply is stopped: redo above this SCN is not applied; None: it runs.
    :ivar switched: the roles of both databases are exchanged.
    """

    def __init__(self) -> None:
        self.is_open = self.real_time = False
        self.stalled_at: int | None = None
        self.switched = False

    def serves(self, service: str) -> bool:
        """Whether sessions of the service see a physical standby: those of ORCLSTBY, after a switch-over those of all other
        services instead. Never while `is_open` is False."""
        return self.is_open and (service.upper() == SERVICE) is not self.switched

    def applied_scn(self, logs: Iterable[ArchivedLog], threads: Iterable[int], now: int) -> int:
        """The SCN up to which the redo of all threads is applied: CURRENT_SCN of the standby, `now` with real-time apply, never
        above `stalled_at`. 0 while a thread has no archived log, without real-time apply.

        :param logs: archived ones of the present incarnation.
        :param threads: the open ones. Redo is applied in the order of SCNs: the slowest thread of these and of `logs` decides.
        :param now: the primary's SCN.
        """
        ends = dict.fromkeys(threads, 1)
        for log in logs:
            ends[log.thread] = max(ends.get(log.thread, 1), log.next_change)
        reached = now if self.real_time else min(ends.values(), default=1) - 1
        return reached if self.stalled_at is None else min(reached, self.stalled_at)


def refuse_view(name: str) -> OraError:
    """The error, ORA-03001, for a view whose rows on a standby are not known; the caller raises it."""
    return OraError(3001, f"unimplemented feature: {name} of a standby database")


def read_only() -> OraError:
    """The error, ORA-16000, for a statement that would write to a standby; the caller raises it."""
    return OraError(16000, "Attempting to modify database or pluggable database that is opened for read-only access.")


def may_run(command: str) -> bool:
    """Whether a read-only database, or a session in Flashback mode, runs a command, given by its first two words in upper case."""
    words = command.split()
    return command in _ALLOWED or (words[0] if words else "") in _ALLOWED
