"""Faults for tests: calls that fail, wait or lose their connection.

    faults.add(Fault("fetch", matching="V$LOGMNR_CONTENTS", nth=3, code=1555))     the third fetch of such queries
    faults.add(Fault("commit", username="APP", drop=True))                        the next commit of APP, not done

A call meets the faults before it does anything; the commit that an execute or a DDL ends with is a call of its own. The same by
SQL: package DBMS_SANDBOX (faults_package.py).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError

MOMENTS = ("connect", "execute", "fetch", "commit", "rollback")


@dataclass(slots=True)
class Fault:
    """A fault, and the calls that meet it. With several of them set, it waits first, then loses the connection, else fails.

    :param at: one of MOMENTS. `connect` is the opening of a session, `execute` a statement of a client, `fetch` each read of its
        rows, the first ones included; `commit` and `rollback` are the client's own calls as well as the statements, `commit` also
        that of a DDL.
    :param code: fail with this ORA- number; 0: do not fail.
    :param drop: lose the connection; the session is cleaned up as when a client vanishes.
    :param seconds: wait so long before going on (or failing).
    :param matching: only calls whose statement contains this text, in any case; '' all. Calls other than `execute` and `fetch`
        have no statement.
    :param username: only that user's calls, upper case; '' for those of all users.
    :param nth: the first of the matching calls that it hits, from 1.
    :param times: how many in a row it hits from there; 0: all.
    :ivar met: how many matching calls there were.
    :raises ValueError: for another moment, and for a fault that does nothing.
    """

    at: str
    code: int = 0
    drop: bool = False
    seconds: float = 0.0
    matching: str = ""
    username: str = ""
    nth: int = 1
    times: int = 1
    met: int = 0

    def __post_init__(self) -> None:
        if self.at not in MOMENTS:
            raise ValueError(f"{self.at!r}: faults happen at {', '.join(MOMENTS)}")
        if not (self.code or self.drop or self.seconds):
            raise ValueError("a fault needs a code, drop or seconds")

    def hits(self, at: str, username: str, sql: str) -> bool:
        """Whether the fault hits this call, whose `sql` is '' where it has no statement; counts the call in `met` if it matches.
        One thread at a time."""
        if at != self.at or (self.username and username != self.username) or self.matching.upper() not in sql.upper():
            return False
        self.met += 1
        return self.met >= self.nth and (not self.times or self.met < self.nth + self.times)


class ConnectionLost(ConnectionResetError):
    """Raised by a fault with `drop` instead of running the call: the server ends the connection without a message to the client."""


class Faults:
    """The faults of one server, armed by tests and met by the calls of all sessions; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Arm a fault, in addition to those that are armed."""
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Disarm all."""
        with self._lock:
            self._faults.clear()

    def meet(self, at: str, username: str, sql: str = "") -> None:
        """Called before each call is run; `sql` is '' for a call without a statement. Counts the call in each fault that it
        matches; then, one fault after another in the order they were armed, sleeps and raises as the faults that hit it say:
        OraError with the fault's code, or ConnectionLost."""
        if not self._faults:
            return
        with self._lock:
            hit = [fault for fault in self._faults if fault.hits(at, username, sql)]
        for fault in hit:
            if fault.seconds:
                time.sleep(fault.seconds)
            if fault.drop:
                raise ConnectionLost(f"fault at {at}")
            if fault.code:
                raise OraError(fault.code, f"fault of DBMS_SANDBOX at {at}")
