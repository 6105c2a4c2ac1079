"""Kill -9 at each step that writes, flushes, stores or removes, with what was not flushed lost, as when the machine stops.

`MINERCDC_KEPT_ROWS` says how many rows the long transaction has, `MINERCDC_KEPT_KILLS` at how many steps of each path it is killed; 0: at
all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.native_pair import IS_NATIVE
from tests.unit.capture.logminer.redo import A, B, C, Miner, Redo, partial, unprinted, xid

from minercdc.capture.logminer.kept.keeping import KeepingRules
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.stream.events import ChangeEvent, Event, Progress

ROWS = int(os.environ.get("MINERCDC_KEPT_ROWS", "300"))
KILLS = int(os.environ.get("MINERCDC_KEPT_KILLS", "8"))
LOGS = 6
PATHS = [True, False] if IS_NATIVE else [False]
RULES = KeepingRules(timedelta(0), "t")


def redo() -> list[LogMinerRow]:
    """A long transaction with savepoints over all logs, one that is rolled back, and short ones."""
    made, key = Redo(), 0
    made.start(A)
    for log in range(1, LOGS + 1):
        made.sequence, made.block = log, 0
        for _ in range(ROWS // LOGS):
            key += 1
            made.insert(A, key)
        for undone in range(key, key - ROWS // LOGS // 3, -1):
            made.undo_insert(partial(A), undone)
        made.start(xid(log + 10))
        made.insert(xid(log + 10), 10**8 + log)
        if log <= 4:
            made.insert(B, 10**9 + log)
        if log == 4:
            made.rollback(B)
        made.commit(xid(log + 10))
    made.commit(A)
    made.insert(C, 5)
    made.commit(C)
    return made.rows


class Stored:
    """What a sink would hold: a position, and how many changes were delivered with it, by their digest. One file, replaced at once."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "offset"
        self.position: LogMinerPosition | None = None
        self.count, self.digest = 0, ""
        if self.file.exists():
            saved = json.loads(self.file.read_text())
            self.position = LogMinerPosition.from_json(saved["position"])
            self.count, self.digest = saved["count"], saved["digest"]

    def store(self, position: LogMinerPosition, changes: Iterable[str]) -> None:
        for change in changes:
            self.count, self.digest = self.count + 1, hashlib.sha256((self.digest + change).encode()).hexdigest()
        self.position = position
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"position": position.to_json(), "count": self.count, "digest": self.digest}))
        os.replace(new, self.file)


def work(directory: Path, rows: list[LogMinerRow], seed: int, *, runs: bool) -> None:
    """Read on from what is stored, in passes of a log and a bit, and store now and then; the redo before the position is gone."""
    stored, choose = Stored(directory), random.Random(seed)
    one = Miner(directory, stored.position, keep=RULES, runs=runs, memory_max=20_000)
    assert one.lost == ()
    first = min((mark.resume.sequence for mark in stored.position.threads.values()), default=0) if stored.position else 0
    left = [row for row in rows if int(row.rs_id.strip()[2:8], 16) >= first]
    end = 0
    while end < len(left):
        end = min(end + choose.randrange(1, len(rows) // LOGS), len(left))
        pending: list[str] = []
        events: list[Event] = [*one.read(left[:end]), one.assembly.idle(0)]
        for event in events:
            if isinstance(event, ChangeEvent):
                assert event.tx is not None
                pending.append(f"{event.op.value}{event.after or event.before}{event.tx.id}{event.seq}")
            elif isinstance(event, Progress):
                assert isinstance(event.position, LogMinerPosition)
                stored.store(event.position, pending)
                pending.clear()
                one.files.confirm(event.position)
    one.assembly.close()


def in_child(steps: Callable[[], None]) -> int:
    """Run in a process of its own; the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        try:
            steps()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, "the run failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def killing(directory: Path, kill_at: int) -> None:
    """The process is killed at the given step; odd ones are before a call, even ones after it. 0: how many there are is noted."""
    steps = 0
    if not kill_at:
        atexit = os._exit

        def leave(status: int) -> None:
            (directory / "steps").write_text(str(steps))
            atexit(status)

        os._exit = leave  # type: ignore[assignment]
    log = os.open(directory / "flushed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def counted(call: Any) -> Any:
        def step(*given: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            done = call(*given, **named)
            if call is fsync:
                name = os.readlink(f"/proc/self/fd/{given[0]}")
                os.write(log, f"{name} {os.fstat(given[0]).st_size}\n".encode())
            steps += 1
            if steps == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return step

    fsync = os.fsync
    os.pwrite, os.fsync, os.replace = counted(os.pwrite), counted(os.fsync), counted(os.replace)
    Path.unlink = counted(Path.unlink)  # type: ignore[method-assign]


def lose_what_was_not_flushed(directory: Path) -> None:
    flushed = dict(line.rsplit(" ", 1) for line in (directory / "flushed").read_text().splitlines())
    for file in directory.rglob("*.rows"):
        length = int(flushed.get(str(file), 0))
        if not length:
            file.unlink()
        elif file.stat().st_size > length:
            os.truncate(file, length)


@pytest.mark.parametrize("runs", PATHS)
def test_a_kill_at_any_step_loses_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    monkeypatch.setattr("tests.unit.capture.logminer.redo.taken_apart", unprinted)
    rows = redo()
    whole = tmp_path / "whole"
    whole.mkdir()
    work(whole, rows, 0, runs=runs)
    expected = Stored(whole)
    assert expected.count == LOGS * (ROWS // LOGS - ROWS // LOGS // 3) + LOGS + 1
    counted = tmp_path / "counted"
    counted.mkdir()

    def run(directory: Path, kill_at: int, seed: int) -> None:
        killing(directory, kill_at)
        work(directory, rows, seed, runs=runs)

    in_child(lambda: run(counted, 0, 0))
    steps = range(1, int((counted / "steps").read_text()) + 1)
    assert len(steps) > 60
    for kill_at in random.Random(runs).sample(steps, KILLS) if KILLS else steps:
        directory = tmp_path / str(kill_at)
        directory.mkdir()
        for further in (kill_at, random.Random(kill_at).randrange(1, 60)):
            if in_child(lambda further=further, at=directory: run(at, further, 0)):  # type: ignore[misc]
                lose_what_was_not_flushed(directory)
        assert in_child(lambda at=directory: work(at, rows, 9, runs=runs)) == 0  # type: ignore[misc]
        stored = Stored(directory)
        assert (stored.count, stored.digest) == (expected.count, expected.digest), kill_at
        assert list(directory.rglob("*.rows")) == [], kill_at
