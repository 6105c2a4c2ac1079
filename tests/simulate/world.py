"""One simulated history: a source, a cluster, and the starts of a connector between its faults; and what came of it."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from tests.simulate import seams
from tests.simulate.chance import Chance, Plan, Trace
from tests.simulate.judge import Judge
from tests.simulate.kafka import Cluster
from tests.simulate.oracle import SimConnection
from tests.simulate.source import Source
from tests.simulate.tasks import Killed, Process, SimEvent, Tasks

from minercdc import native
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import FencedError, LogGapError
from minercdc.pipeline import engine
from minercdc.pipeline.factory import build

_PREFIX: Final = "sim"
_CATCH_UP_S = 400.0
_QUIET_S = 6.0
_NATIVE: Final = native.rows
_SHARED = Path("/dev/shm")


@dataclass
class Outcome:
    """What came of a history.

    :ivar starts: how often an instance was started.
    :ivar problem: what was wrong, '' for nothing.
    """

    plan: Plan
    starts: int = 0
    problem: str = ""
    digest: str = ""
    trace: list[str] = field(default_factory=list)
    error: Exception | None = None
    faults: list[str] = field(default_factory=list)


class World:
    """See the module. To be used for one history."""

    def __init__(self, plan: Plan, directory: Path, *, verbose: bool = False) -> None:
        self.plan = plan
        self.trace = Trace(verbose=verbose)
        self.directory = directory
        self.names = Chance(plan.seed, "names")
        self.tasks: Tasks = Tasks(Chance(plan.seed, "turns"), self.trace)
        self.tasks.moved = self._moved
        self._faults = Chance(plan.seed, "faults")
        self._pace = Chance(plan.seed, "pace")
        self._how_often = self._faults.between(0.002, 0.04)
        self._calm = False
        self.happened: list[str] = []
        self.cluster = Cluster(lambda: self.tasks.now, self.call, self._pace.between, self.tasks.sleep, self._owner)
        self.source = Source(plan.seed, plan.transactions, plan.signals, lambda: self.tasks.now, self._note)
        self.config = _config(plan, directory)
        self.starts = 0
        self.problem = ""
        self._saved: dict[str, dict[str, bytes]] = {}
        self._last_purge = -1
        self._stops: dict[str, SimEvent] = {}

    # ---- what the models call ----

    def connection(self, container: str) -> SimConnection:
        self.call(f"database connect {container}")
        return SimConnection(self.source, self.call, self._steps, self._fetched, self._owner())

    def _owner(self) -> Process:
        task = self.tasks.current
        if task is None:
            raise Killed
        return task.process

    def _fetched(self, size: int) -> int:
        return 1 + self._pace.below(min(size, 40))

    def call(self, what: str, *faults: str) -> str:
        """A call of an instance to a model: time passes, the source goes on, and a fault may happen.

        :param faults: kinds that the model can bring about for this call.
        :returns: the one that it has to bring about now.
        """
        task = self.tasks.current
        if task is None or task.process.dead:
            raise Killed
        if task.process is self._supervisor:
            return ""
        self.trace.note(f"{self.tasks.now:.3f} {task.process.name} {task.name}: {what}")
        self.tasks.now += 0.001
        if self._pace.hits(0.15):
            self._steps()
        if self._pace.hits(0.03):
            self.tasks.give_way()
        if not self._calm and len(self.happened) < self.plan.faults and self._faults.hits(self._how_often):
            return self._fault(what, faults)
        return ""

    def _fault(self, what: str, faults: tuple[str, ...]) -> str:
        kind = self._faults.of(
            faults if faults and self._faults.hits(0.5) else ("crash", "crash", "crash", "freeze", "delay")
        )
        if kind in self.plan.without:
            return ""
        self.happened.append(f"{kind} at {what}")
        self._note(f"FAULT {kind}")
        task = self.tasks.current
        assert task is not None
        if kind == "crash":
            self._crash(task.process)
        elif kind == "freeze":
            task.process.frozen_until = self.tasks.now + self._faults.between(1.0, 90.0)
            self.tasks.give_way()
        elif kind == "delay":
            self.tasks.sleep(self._faults.between(0.01, 20.0))
        else:
            return kind
        return ""

    def _crash(self, process: Process) -> None:
        """What is in the files at this moment is what is left; `finally` clauses reach nothing."""
        self._saved[process.name] = _files(self.directory)
        process.dead = True
        raise Killed

    def _note(self, line: str) -> None:
        self.trace.note(f"{self.tasks.now:.3f} {line}")

    def _steps(self, most: int = 3) -> None:
        for _ in range(self._pace.below(most)):
            self.source.step()

    def _moved(self, now: float) -> None:
        self.source.passed(now)
        self._steps(4)

    # ---- starts ----

    def run(self) -> None:
        """The whole history. Raises what the models or the product do not expect."""
        self._supervisor = Process("supervisor")
        self.tasks.start(self._supervisor, self._supervise, "supervisor")
        self.tasks.run()

    def _supervise(self) -> None:
        tasks, alive = self.tasks, [self._start()]
        stop: SimEvent | None = None
        judge = Judge(self.source, self.cluster, _PREFIX)
        begun = quiet = 0.0
        while True:
            tasks.sleep(0.5)
            self._purge()
            for process in [one for one in alive if one.ended]:
                alive.remove(process)
                self._bury(process)
            running = [one for one in alive if one.frozen_until <= tasks.now]
            if not running and stop is None:
                tasks.sleep(self._pace.between(0, 8.0) if not self._calm else 0)
                alive.append(self._start())
                for process in alive if len(alive) > 1 else ():
                    process.met = True
            if self.source.done and not self._calm:
                self._calm, begun = True, tasks.now
                self._note("calm")
            if self._calm and stop is None:
                if judge.has_all():
                    quiet = quiet or tasks.now
                    if tasks.now - quiet > _CATCH_UP_S:
                        raise AssertionError(f"{len(alive)} instances work for one connector")
                    if tasks.now - quiet > _QUIET_S and len(alive) == 1:
                        stop = self._stops[alive[0].name]
                        stop.set()
                elif tasks.now - begun > _CATCH_UP_S:
                    raise AssertionError(f"it has not caught up after {_CATCH_UP_S:.0f} s: {judge.missing()}")
            if stop is not None and not alive:
                break
        judge.judge()

    def _start(self) -> Process:
        self.starts += 1
        process = Process(f"start-{self.starts}")
        self._note(f"starts {process.name}")
        self._stops[process.name] = stop = SimEvent(self.tasks)
        rows = _NATIVE if self.plan.seed % 3 and not self.plan.python else None

        def live() -> None:
            native.rows = rows
            try:
                engine.run(build(self.config), stop)
            except Exception as error:
                process.outcome = error
                self._note(f"{process.name} ends: {type(error).__name__}")
            process.dead = True  # its other threads end with it

        self.tasks.start(process, live, "main")
        _watch(self, process)
        return process

    def buried(self, process: Process) -> None:
        """All threads of a process have ended."""
        process.ended = True
        if process.name in self._saved:
            _restore(self.directory, self._saved.pop(process.name))

    def _bury(self, process: Process) -> None:
        error = process.outcome
        # One that was replaced may find its files and logs gone before it looks whose name it is; the next start would find them so, too.
        if error is not None and not (isinstance(error, FencedError | LogGapError) and process.met):
            raise error

    def _purge(self) -> None:
        """Logs that the stored offset does not need are deleted."""
        found = [e for _, _, e in self.cluster.committed(f"{_PREFIX}-offsets") if e.key == _PREFIX.encode()]
        if len(found) == self._last_purge or not found:
            return
        self._last_purge = len(found)
        position = json.loads(found[-1].value or b"{}").get("position")
        if position is not None:
            marks = {int(t): mark for t, mark in position["threads"].items()}
            begins = {t: int(mark["resume"][0][2:8], 16) for t, mark in marks.items()}
            scns = [int(mark["resume_scn"]) for mark in marks.values()]
            if len(marks) < len(self.source.threads):
                scns.append(int(position["start_scn"]))
            known = [scn for scn in scns if scn]  # 0: no row of the thread was read yet; its log says where it begins
            self.source.purge(begins, min(known, default=self.source.scn))


def _watch(world: World, process: Process) -> None:
    """Note when the last thread of a process has ended, before anything else runs."""
    tasks = process.tasks

    class Watched(list):  # type: ignore[type-arg]
        def remove(self, task: Any) -> None:
            super().remove(task)
            if not self:
                world.buried(process)

    process.tasks = Watched(tasks)


def _files(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file()}


def _restore(directory: Path, saved: dict[str, bytes]) -> None:
    for name in _files(directory):
        if name not in saved:
            (directory / name).unlink()
    for name, content in saved.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        if not (directory / name).exists() or (directory / name).read_bytes() != content:
            (directory / name).write_bytes(content)


def _config(plan: Plan, directory: Path) -> ConnectorConfig:
    chance = Chance(plan.seed, "configuration")
    unbuffered = chance.hits(0.3)
    settings = {
        "name": _PREFIX,
        "topic.prefix": _PREFIX,
        "database.hostname": "model",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "DB",
        "database.connection.adapter": "logminer_unbuffered" if unbuffered else "logminer",
        "minercdc.kafka.bootstrap.servers": "model",
        "minercdc.kafka.timeout.ms": "5000",
        "minercdc.kafka.transaction.max.records": str((3, 10, 1000)[chance.below(3)]),
        "minercdc.state.dir": str(directory),
        "table.include.list": "LAB.ITEM,LAB.PAIR",
        "signal.data.collection": "DB.LAB.SIGNALS",
        "incremental.snapshot.chunk.size": str(1 + chance.below(4)),
        "snapshot.max.threads": str(1 + chance.below(2)),
        "snapshot.fetch.size": str(1 + chance.below(5)),
        "snapshot.locking.mode": "none",
        "query.fetch.size": "40",
        "log.mining.session.max.ms": str((2_000, 900_000)[chance.below(2)]),
        "minercdc.log.mining.buffer.durable.after.ms": str((0, 5_000)[chance.below(2)]),
        "minercdc.log.mining.buffer.memory.max.bytes": "65536",
        "log.mining.log.count.min": str((0, 1, 8)[chance.below(3)]),
        "minercdc.http.port": "",
    }
    return parse_properties({key: value for key, value in settings.items() if value})


_hook = sys.unraisablehook


def _unraisable(unraisable: Any) -> None:
    """What a dead process has left open is closed when Python frees it, which reaches nothing."""
    if not isinstance(unraisable.exc_value, Killed):
        _hook(unraisable)


sys.unraisablehook = _unraisable


@contextmanager
def quiet() -> Iterator[None]:
    """No log lines, and no garbage collection at moments that differ from run to run."""
    logger = logging.getLogger("minercdc")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.enable()
        logger.setLevel(level)
        native.rows = _NATIVE


def simulate(plan: Plan, *, verbose: bool = False) -> Outcome:
    """Run a history."""
    directory = Path(mkdtemp(prefix="simulate-", dir=_SHARED if os.access(_SHARED, os.W_OK) else None))
    outcome = Outcome(plan)
    world: World | None = None
    try:
        with quiet():
            world = World(plan, directory, verbose=verbose)
            seams.enter(world)
            try:
                world.run()
            except Exception as error:
                outcome.problem = f"{type(error).__name__}: {error}"
                outcome.error = error
            outcome.starts, outcome.digest = world.starts, world.trace.digest
            outcome.trace, outcome.faults = list(world.trace.last), world.happened
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return outcome
