"""Commits that share one SCN: a test says how many, and each waits for the others.

Instances that commit at the same moment may be given the same SCN (docs/reference/logminer-facts.md#b-11: two commits may share
an SCN). The last one to arrive commits for all, under the one storage lock, so no reader sees one without the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from minercdc_sandbox.storage.clock import ScnClock
from minercdc_sandbox.storage.locks import Client


class CommitMeeting:
    """The next `size` commits, which share an SCN; later ones take one each. DBMS_SANDBOX.MEET_COMMITS puts it into
    `Storage.meeting`. Used under the storage lock, which waiting releases.

    :param lock: the storage lock.
    """

    def __init__(self, lock: threading.Condition, size: int) -> None:
        self._lock, self._missing = lock, size
        self._waiting: list[Client] = []
        self._scn: int | None = None

    def commit(self, client: Client, clock: ScnClock, commit: Callable[[Client, int], object]) -> int:
        """Wait for the others, commit with them and return the SCN; the last to arrive calls `commit(client, scn)` for each, in
        the order of arrival. Later ones, and all with a size below 1, commit at once. Raises ORA-01013 on cancel: the client's
        transaction stays open, and another commit takes its place."""
        if self._scn is not None or self._missing <= 0:
            scn = clock.advance()
            commit(client, scn)
            return scn
        self._missing -= 1
        self._waiting.append(client)
        if not self._missing:
            self.close(clock, commit)
        try:
            while self._scn is None:
                client.check()
                self._lock.wait(1.0)
        except BaseException:
            self._waiting.remove(client)
            self._missing += 1
            raise
        return self._scn

    def close(self, clock: ScnClock, commit: Callable[[Client, int], object]) -> None:
        """Commit for all that wait, at one SCN; nothing when it is over."""
        if self._scn is None:
            self._scn = clock.advance()
            for each in self._waiting:
                commit(each, self._scn)
            self._lock.notify_all()
