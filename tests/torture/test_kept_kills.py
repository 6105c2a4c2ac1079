"""A long transaction whose rows are kept, and a connector that is killed at every step of keeping them: before and after each write, in the
midst of it, before and after each flush, new file and removal; and with copies in a topic, where each start is on another machine, before
and after each record, too.

`make torture` has 200,000 rows; MINERCDC_KEPT_ROWS says another number.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.memory_topic import MemoryTopic
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_kept import lab_of, purge

from minercdc.capture.logminer.kept import writer as kept_writer
from minercdc.capture.logminer.kept.copies import KeptCopies
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.schema.tables import Tables
from minercdc.stream.events import Event, Progress

ROWS = int(os.environ.get("MINERCDC_KEPT_ROWS", "2000"))
BLOCKS = 20 if ROWS >= 100_000 else 4


IN_TOPIC = {"before a record is sent", "before records are durable", "after records are durable"}
ON_DISK = {
    *("before a file is made", "after a file was made", "before a write", "within a write", "after a write"),
    *("before a flush", "after a flush", "before a removal", "after a removal"),
}


class Killed(BaseException):
    """The process is dead."""


class Disk:
    """`os`, and the removal of files, with steps at which the process dies."""

    def __init__(self) -> None:
        self.dead, self._left, self.kinds = False, 0, set[str]()

    def run(self, steps: int) -> None:
        """A process begins that dies at its step number `steps`."""
        self.dead, self._left = False, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def step(self, kind: str) -> None:
        self._left -= 1
        if self.dead or not self._left:
            self.dead = True
            self.kinds.add(kind)
            raise Killed(kind)

    def open(self, *given: Any) -> int:
        self.step("before a file is made")
        descriptor = os.open(*given)
        try:
            self.step("after a file was made")
        except Killed:
            os.close(descriptor)
            raise
        return descriptor

    def pwrite(self, file: int, data: memoryview, at: int) -> int:
        self.step("before a write")
        try:
            self.step("within a write")
        except Killed:
            os.pwrite(file, data[: len(data) // 2], at)
            raise
        done = os.pwrite(file, data, at)
        self.step("after a write")
        return done

    def fsync(self, file: int) -> None:
        self.step("before a flush")
        os.fsync(file)
        self.step("after a flush")

    def remove(self, files: KeptFiles, name: str, **how: bool) -> None:
        if self.dead:  # a dead process runs no `finally`
            return
        self.step("before a removal")
        REMOVE(files, name, **how)
        self.step("after a removal")


REMOVE = KeptFiles.remove


class Connector(Reader):
    """Its offset is stored first, and then confirmed.

    :param topic: of the copies; None for none.
    """

    def __init__(
        self,
        lab: Lab,
        topic: MemoryTopic | None,
        position: LogMinerPosition | None = None,
        tables: Tables | None = None,
        machine: int = 0,
    ) -> None:
        super().__init__(lab, position, tables)
        self.topic, self.machine = topic, machine

    def _note(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Progress) and event.position is not None:
            self.position = LogMinerPosition.from_json(event.position.to_json())
            self.lab.files.confirm(self.position)

    def again(self) -> Connector:
        """After a kill: what came after the stored offset was not delivered. With copies this is on another machine."""
        files, copies = self.lab.files, None
        state = files.directory.parent.parent
        if self.topic is not None:
            self.topic.die(self.machine % 2)
            shutil.rmtree(state, ignore_errors=True)
            state, copies = state.with_name(f"machine{self.machine}"), KeptCopies(self.topic, "kills")
        self.lab.files = KeptFiles(state, files.directory.name, copies)
        other = Connector(self.lab, self.topic, self.position, self.tables, self.machine + 1)
        last = max((i for i, event in enumerate(self.events) if isinstance(event, Progress)), default=-1)
        other.events = self.events[: last + 1]
        return other


def until_marker(connector: Connector, number: int, disk: Disk) -> tuple[Connector, int]:
    """The connector of the run that comes to the marker, after one run for each step before it; and how many there were."""
    lab = connector.lab
    lab.run(f"insert into marker values ({number})")
    lab.app.commit()
    runs = 0
    while not connector.has_marker(number):
        runs += 1
        disk.run(runs)
        try:
            connector.until(lambda reader: reader.has_marker(number))
        except Killed:
            connector = connector.again()
    return connector, runs


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("durable", ["disk", "topic"])
def test_no_row_is_lost_or_repeated(
    fresh_sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: str
) -> None:
    lab: Lab = lab_of(fresh_sandbox, "kills", tmp_path / "first", **{"minercdc.log.mining.buffer.durable.after.ms": 0})
    disk = Disk()
    topic = MemoryTopic(disk.step) if durable == "topic" else None
    lab.files.copies = KeptCopies(topic, "kills") if topic is not None else None
    monkeypatch.setattr(kept_writer, "os", disk)
    monkeypatch.setattr(KeptFiles, "remove", lambda files, name, **how: disk.remove(files, name, **how))
    connector, session, runs, most = Connector(lab, topic), lab.session(), 0, 0
    disk.run(1 << 60)
    connector.take_snapshot(snapshot_mode="no_data")
    each = ROWS // BLOCKS
    with session.cursor() as cursor:
        for block in range(BLOCKS):
            cursor.executemany(
                "insert into item values (:1, 'kept')", [(n,) for n in range(block * each, (block + 1) * each)]
            )
            cursor.execute("savepoint s")
            cursor.execute("update item set note = 'undone' where id < 5")
            cursor.execute("rollback to savepoint s")
            lab.switch_log()
            connector, killed = until_marker(connector, block, disk)
            assert connector.position is not None
            most, runs = max(most, len(connector.position.kept)), runs + killed
            purge(lab, connector.position.threads[1].resume.sequence)
    session.commit()
    lab.switch_log()
    connector, killed = until_marker(connector, 1000, disk)
    assert most, "it was kept"
    changes = connector.changes("ITEM")
    assert [int(after[0]) for op, _, after in changes if op == "c" and after is not None] == list(range(ROWS))  # type: ignore[arg-type]
    assert len(changes) == ROWS
    for steps in (*range(1, 12), 1 << 60):  # its file is removed, at the latest
        disk.run(steps)
        try:
            connector.until(lambda reader: isinstance(reader.events[-1], Progress))
        except Killed:
            connector = connector.again()
    assert list(lab.files.directory.glob("*.rows")) == []
    assert topic is None or topic.keys == set()
    assert disk.kinds == (ON_DISK if topic is None else ON_DISK | IN_TOPIC)
    print(f"{ROWS} rows, {durable}, {runs + killed} runs")
