"""Commits that share an SCN."""

from __future__ import annotations

import threading
from typing import Any

from minercdc_sandbox.storage.commit_meeting import CommitMeeting


class Clock:
    current = 10

    def advance(self, count: int = 1) -> int:
        self.current += count
        return self.current


class Waiting:
    """A client that says when it waits."""

    def __init__(self) -> None:
        self.waits = threading.Event()

    def check(self) -> None:
        self.waits.set()


def test_a_commit_that_waits_is_done_when_the_meeting_is_closed() -> None:
    """Or its session would wait for ever, and with it the redo of all that is committed later."""
    lock, clock, client = threading.Condition(threading.RLock()), Clock(), Waiting()
    meeting = CommitMeeting(lock, 2)
    committed: list[tuple[Any, int]] = []

    def commit() -> None:
        with lock:
            meeting.commit(client, clock, lambda who, scn: committed.append((who, scn)))  # type: ignore[arg-type]

    session = threading.Thread(target=commit)
    session.start()
    assert client.waits.wait(60)
    with lock:
        meeting.close(clock, lambda who, scn: committed.append((who, scn)))  # type: ignore[arg-type]
        meeting.close(clock, lambda who, scn: committed.append((who, scn)))  # type: ignore[arg-type]
    session.join(60)
    assert not session.is_alive()
    assert committed == [(client, 11)]
