"""Threads that run one at a time, on a virtual clock.

Each thread of the product is a thread of Python, but only the one that holds the turn runs; it hands the turn on where it waits, or where
the schedule says so. So a seed gives the same order of steps, and a wait of a minute takes no time.

    runs -> waits (for a condition, until a time) -> the next that can go on; when none can, the clock moves to the earliest time

A process that dies raises Killed in each of its threads wherever they wait, and at each later call to a model: its `finally` clauses
run, but reach nothing any more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, Full
from typing import Any

from tests.simulate.chance import Chance, Trace

_RealThread = threading.Thread
_NEVER = float("inf")
_MOST_STEPS = 3_000_000  # steps of the schedule: a history that takes more does not end


def _turn() -> threading.Lock:
    """A lock that is taken: who releases it hands the turn over."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Killed(BaseException):
    """The process is dead."""


class Stuck(Exception):
    """Nothing can go on any more, or nothing has for very long."""


@dataclass(eq=False)
class Process:
    """An instance of the connector.

    :ivar frozen_until: it does not run before that time.
    """

    name: str
    dead: bool = False
    frozen_until: float = 0.0
    tasks: list[Task] = field(default_factory=list)
    outcome: BaseException | None = None
    ended: bool = False
    met: bool = False  # another one was alive at some time


class Task:
    """A thread under the schedule."""

    def __init__(self, process: Process, run: Callable[[], None], name: str) -> None:
        self.process = process
        self.name = name
        self.turn = _turn()
        self.until: float = 0.0
        self.ready: Callable[[], bool] | None = None
        self.done = False
        self.run = run


def _always() -> bool:
    return True


class Tasks:
    """The schedule of all processes.

    :ivar now: virtual seconds.
    :ivar current: whose turn it is.
    """

    def __init__(self, chance: Chance, trace: Trace) -> None:
        self._chance = chance
        self._trace = trace
        self.now = 0.0
        self.current: Task | None = None
        self.all: list[Task] = []
        self._main = _turn()
        self._over = False
        self._steps = 0
        self.moved: Callable[[float], None] = lambda _: None
        self.failed: BaseException | None = None

    def start(self, process: Process, run: Callable[[], None], name: str) -> Task:
        """A new thread of a process; it runs when its turn comes."""
        task = Task(process, run, name)
        task.ready = _always
        process.tasks.append(task)
        self.all.append(task)
        _RealThread(target=self._body, args=(task,), daemon=True).start()
        return task

    def _body(self, task: Task) -> None:
        task.turn.acquire()
        try:
            if not task.process.dead:
                task.run()
        except Killed:
            pass
        except BaseException as error:  # of the model or of the product: the history has failed
            if not task.process.dead:
                self.failed = self.failed or error
        task.done = True
        self.all.remove(task)
        task.process.tasks.remove(task)
        self._hand_on()

    def wait(self, ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Until `ready`, or until the time has passed; returns whether it is ready. Raises Killed in a dead process."""
        task = self.current
        if task is None or task.process.dead:
            raise Killed
        if not ready() or self.now < task.process.frozen_until:
            task.ready = ready
            task.until = _NEVER if seconds is None else self.now + max(seconds, 0.0)
            self._switch(task)
        return ready()

    def sleep(self, seconds: float) -> None:
        self.wait(_never, seconds)

    def give_way(self) -> None:
        """Let another thread run, if one can."""
        task = self.current
        assert task is not None
        task.ready, task.until = _always, _NEVER
        self._switch(task)

    def _switch(self, task: Task) -> None:
        following = self._next()
        if following is not task:
            self._pass_to(following)
            task.turn.acquire()
        if task.process.dead:
            raise Killed

    def _hand_on(self) -> None:
        if self._over:
            return
        try:
            self._pass_to(self._next() if self.all and self.failed is None else None)
        except Stuck as stuck:
            self.failed = self.failed or stuck
            self._pass_to(None)

    def _pass_to(self, task: Task | None) -> None:
        self.current = task
        self._over = task is None
        (task.turn if task else self._main).release()

    def _next(self) -> Task | None:
        """Who goes on: threads of the dead first, to end; then one of those that can; else the clock moves."""
        while True:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise Stuck(f"{self._steps} steps, and no end: at {self.now:.0f} s")
            dead = next((task for task in self.all if task.process.dead), None)
            if dead is not None:
                return dead
            able = [task for task in self.all if self._can(task)]
            if able:
                chosen = able[self._chance.below(len(able))] if len(able) > 1 else able[0]
                chosen.ready = _always
                self.current = chosen
                return chosen
            earliest = min(
                (
                    max(task.until if task.until < _NEVER else 0.0, task.process.frozen_until)
                    for task in self.all
                    if task.until < _NEVER or task.process.frozen_until > self.now
                ),
                default=None,
            )
            if earliest is None:
                raise Stuck("every thread waits for another: " + ", ".join(task.name for task in self.all))
            self._move_to(max(earliest, self.now))

    def _can(self, task: Task) -> bool:
        if task.process.frozen_until > self.now:
            return False
        return task.until <= self.now or (task.ready is not None and task.ready())

    def _move_to(self, time: float) -> None:
        """The clock moves, and what lies between happens."""
        self.now = time
        self.moved(time)

    def run(self) -> None:
        """Until all threads have ended. Raises what failed."""
        self._pass_to(self._next())
        self._main.acquire()
        if self.failed is not None:
            for task in self.all:
                task.process.dead = True
            for task in list(self.all):
                self.current = task
                task.turn.release()  # each ends at once, by Killed
            raise self.failed


def _never() -> bool:
    return False


class Threads:
    """What the product uses of `threading` and `queue`, on the schedule. One object for a world."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def thread(self, **given: Any) -> SimThread:
        return SimThread(self._tasks, **given)


class SimThread:
    """As threading.Thread."""

    def __init__(
        self, tasks: Tasks, *, target: Any = None, name: str = "", args: Any = (), kwargs: Any = None, daemon: bool = True
    ) -> None:
        self._tasks, self._target, self.name = tasks, target, name
        self._args, self._kwargs, self.daemon = args, kwargs or {}, daemon
        self._task: Task | None = None

    def start(self) -> None:
        current = self._tasks.current
        assert current is not None
        if current.process.dead:
            raise Killed
        self._task = self._tasks.start(current.process, lambda: self._target(*self._args, **self._kwargs), self.name)

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.done

    def join(self, timeout: float | None = None) -> None:
        if self._task is not None:
            self._tasks.wait(lambda: not self.is_alive(), timeout)


class SimEvent:
    """As threading.Event."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        return self._tasks.wait(self.is_set, timeout)


class SimLock:
    """As threading.Lock."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._held and not self._tasks.wait(lambda: not self._held, None if timeout < 0 else timeout):
            return False
        self._held = True
        return True

    def release(self) -> None:
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class SimCondition(SimLock):
    """As threading.Condition."""

    def __init__(self, tasks: Tasks, lock: object = None) -> None:
        super().__init__(tasks)
        self._waiting: list[list[bool]] = []

    def notify(self, n: int = 1) -> None:
        for flag in self._waiting[:n]:
            flag[0] = True
        del self._waiting[:n]

    def notify_all(self) -> None:
        self.notify(len(self._waiting))

    def wait(self, timeout: float | None = None) -> bool:
        flag = [False]
        self._waiting.append(flag)
        self.release()
        try:
            return self._tasks.wait(lambda: flag[0], timeout)
        finally:
            if flag in self._waiting:
                self._waiting.remove(flag)
            self._held = True

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        self.release()
        try:
            return self._tasks.wait(predicate, timeout)
        finally:
            self._held = True


class SimQueue:
    """As queue.Queue."""

    def __init__(self, tasks: Tasks, maxsize: int = 0) -> None:
        self._tasks = tasks
        self._most = maxsize or 1 << 60
        self._items: deque[Any] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if not self._tasks.wait(lambda: len(self._items) < self._most, timeout if block else 0):
            raise Full
        self._items.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._tasks.wait(lambda: bool(self._items), timeout if block else 0):
            raise Empty
        return self._items.popleft()

    def put_nowait(self, item: Any) -> None:
        self.put(item, False)

    def get_nowait(self) -> Any:
        return self.get(False)

    def empty(self) -> bool:
        return not self._items

    def qsize(self) -> int:
        return len(self._items)
