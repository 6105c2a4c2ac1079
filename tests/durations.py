"""Where the tests' time goes: CPU seconds and seconds of each test and fixture, with all processes that they started.

CPU time is that of the worker and its descendants, so a server that a session shares counts for the test that works it, and that of the
containers of an engine that the tests started. Another process whose parent has ended is not seen. ``MINERCDC_DURATIONS=FILE`` writes what was
measured; ``python -m tests.durations FILE ...`` prints the tables, and writes down the budgets. A file of tests has one for each run, since the
night plays more of it than the gate does, and some parts another path of the product: a run is the gate or a part of `tests/whole.py`, and
``RUN.durations.json`` is what it measured. The closing lines of a run name each file that took more than twice its budget; no test fails by time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "durations.json"
GATE = "gate"
_TICKS = os.sysconf("SC_CLK_TCK")
_PROPERTY = "durations"
# A file of pure tests varies by more than twice on a busy machine.
_LEAST_SECONDS = 10.0
_LOOK_SECONDS = 0.2


elsewhere: list[Callable[[], float]] = []
"""CPU seconds of processes that belong to the tests and descend from none of theirs: an engine's containers."""


def tree_cpu_seconds() -> float:
    """CPU seconds, of user and system, of this process and all its descendants, those it has waited for included, and of `elsewhere`."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    # By the parent that each process names: to ask a Java for the children of each of its threads takes ten times as long.
    for name in os.listdir("/proc"):
        if name.isdecimal() and (stat := _stat(name)):
            # The name in parentheses may hold spaces; the parent is field 4 of proc(5), utime, stime, cutime and cstime are 14 to 17.
            fields = stat.rpartition(b")")[2].split()
            ticks[int(name)] = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append(int(name))
    found, pids = 0, [os.getpid()]
    while pids:
        pid = pids.pop()
        found += ticks.get(pid, 0)
        pids += children.get(pid, ())
    return found / _TICKS + sum(seconds() for seconds in elsewhere)


def _stat(pid: str) -> bytes:
    """Empty when it has just ended."""
    try:
        place = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(place, 4096)
    except OSError:
        return b""
    finally:
        os.close(place)


@dataclass
class Spent:
    """Seconds by the clock and of CPU."""

    wall: float = 0.0
    cpu: float = 0.0

    def __iadd__(self, other: Spent) -> Spent:
        self.wall += other.wall
        self.cpu += other.cpu
        return self

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.wall - other.wall, self.cpu - other.cpu)


@dataclass
class _Others:
    """What the descendants had taken when they were looked at last, by `time.monotonic`, and those that this process had waited for by then."""

    looked: float = float("-inf")
    cpu: float = 0.0
    waited: float = 0.0


_others = _Others()


def _now() -> Spent:
    """The descendants are looked at no more often than some times a second, which takes longer than most tests: what they take meanwhile is
    of the test that is running then."""
    global _others
    now, own = time.monotonic(), os.times()
    waited = own.children_user + own.children_system
    if now - _others.looked > _LOOK_SECONDS or waited != _others.waited:
        _others = _Others(now, tree_cpu_seconds() - own.user - own.system - waited, waited)
    return Spent(now, own.user + own.system + waited + _others.cpu)


@dataclass
class _Running:
    """The test that runs in this worker: when it began, its fixtures, and what nested fixtures took at each level."""

    began: Spent
    fixtures: dict[str, Spent] = field(default_factory=dict)
    nested: list[Spent] = field(default_factory=list)


_running = _Running(Spent())
_ended: Spent | None = None  # when the test before it ended


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    global _running
    _running = _Running(_ended or _now())
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    # Servers are fixtures of a wider scope; a look at /proc for each of a function would cost more than most.
    if fixturedef.scope == "function":
        return (yield)
    began = _now()
    _running.nested.append(Spent())
    try:
        return (yield)
    finally:
        whole = _now() - began
        own = whole - _running.nested.pop()
        if _running.nested:
            _running.nested[-1] += whole
        _running.fixtures[fixturedef.argname] = own


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    global _ended
    report = yield
    if call.when == "teardown":
        _ended = _now()
        spent = _ended - _running.began
        fixtures = {name: [round(own.wall, 2), round(own.cpu, 2)] for name, own in _running.fixtures.items()}
        report.user_properties.append((_PROPERTY, [round(spent.wall, 3), round(spent.cpu, 3), fixtures]))
    return report


class Durations:
    """What a run measured, by test."""

    def __init__(self) -> None:
        self.tests: dict[str, list[Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                assert isinstance(value, list)
                self.tests[report.nodeid] = value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.tests:
            return
        spent = by_group(self.tests, of_file)
        total = sum(one.cpu for one in spent.values())
        terminalreporter.write_line(f"{len(self.tests)} tests took {total:.0f} s of CPU")
        path = os.environ.get("MINERCDC_DURATIONS")
        # A server that is shared counts for the file that is the first to need it, another one in each run.
        set_up = by_group(
            {test: [0.0, sum(cpu for _, cpu in of.values()), {}] for test, (_, _, of) in self.tests.items()}, of_file
        )
        for line in over_budget({file: one - set_up[file] for file, one in spent.items()}, recorded(run_of(path or ""))):
            terminalreporter.write_line(line)
        if path:
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_text(json.dumps(self.tests, indent=0))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(), "minercdc-durations")


def of_file(test: str) -> str:
    return test.split("::")[0]


def of_directory(test: str) -> str:
    """``tests/spark``, ``sandbox/tests/server``, or ``tests/unit/capture``."""
    parts = of_file(test).split("/")[:-1]
    return "/".join(parts[: 3 if parts[:2] == ["tests", "unit"] or parts[0] == "sandbox" else 2])


def by_group(tests: Mapping[str, list[Any]], group: Callable[[str], str]) -> dict[str, Spent]:
    spent: dict[str, Spent] = {}
    for test, (wall, cpu, _) in tests.items():
        one = spent.setdefault(group(test), Spent())
        one += Spent(wall, cpu)
    return spent


def run_of(path: str) -> str:
    """The run that a file of durations is of: a part of the whole, or the gate, the containers of which may have a file of their own."""
    name = Path(path).name
    return name.removesuffix(".durations.json").partition("-")[0] if name.endswith(".durations.json") else GATE


def recorded(run: str = GATE) -> dict[str, float]:
    """CPU seconds of each test file in a run when they were last written down."""
    return json.loads(RECORDED.read_text()).get(run, {}) if RECORDED.exists() else {}


def over_budget(spent: Mapping[str, Spent], budget: Mapping[str, float]) -> Iterable[str]:
    """A line for each file that took more than twice its recorded CPU seconds, and for each dear one that has none."""
    for file, one in sorted(spent.items()):
        if one.cpu < _LEAST_SECONDS:
            continue
        if file not in budget:
            yield f"no budget: {file} took {one.cpu:.0f} s of CPU; make durations writes it down"
        elif one.cpu > 2 * budget[file]:
            yield f"over budget: {file} took {one.cpu:.0f} s of CPU, recorded are {budget[file]:.0f}"


def _table(title: str, rows: Iterable[tuple[str, int, Spent]]) -> Iterable[str]:
    yield from (f"| {title} | tests | CPU s | s |", "|---|--:|--:|--:|")
    for name, count, spent in rows:
        yield f"| {name} | {count} | {spent.cpu:.0f} | {spent.wall:.0f} |"
    yield ""


def report(tests: Mapping[str, list[Any]]) -> Iterable[str]:
    """The tables of a run, as Markdown: by directory, by file, the fifty dearest tests, and what is set up."""
    for title, group in (("directory", of_directory), ("file", of_file)):
        spent = by_group(tests, group)
        counts = Counter(map(group, tests))
        dearest = sorted(spent, key=lambda name: -spent[name].cpu)
        yield from _table(title, ((name, counts[name], spent[name]) for name in dearest))
    dear = sorted(tests.items(), key=lambda item: -item[1][1])[:50]
    yield from _table("test", ((test, 1, Spent(wall, cpu)) for test, (wall, cpu, _) in dear))
    fixtures: dict[str, list[Spent]] = {}
    for _, _, set_up in tests.values():
        for name, (wall, cpu) in set_up.items():
            fixtures.setdefault(name, []).append(Spent(wall, cpu))
    rows = [(name, len(each), Spent(sum(s.wall for s in each), sum(s.cpu for s in each))) for name, each in fixtures.items()]
    yield from _table("set-up", sorted(rows, key=lambda row: -row[2].cpu))


def directories(whole: Mapping[str, list[Any]], gate: Mapping[str, list[Any]]) -> Iterable[str]:
    """The table of CONTRIBUTING: each directory with all its tests and with what the gate runs of it. A run that was not measured has
    no columns."""
    titled = {"all": whole, "the gate": gate}
    runs = {
        title: (by_group(tests, of_directory), Counter(map(of_directory, tests))) for title, tests in titled.items() if tests
    }
    yield f"| directory | {' | '.join(f'tests of {title} | CPU s' for title in runs)} |"
    yield "|---|" + "--:|--:|" * len(runs)
    dearest = sorted(
        {name for spent, _ in runs.values() for name in spent},
        key=lambda name: (*(-spent.get(name, Spent()).cpu for spent, _ in runs.values()), name),
    )
    for name in dearest:
        cells = [f"{counts[name]} | {spent.get(name, Spent()).cpu:.0f}" for spent, counts in runs.values()]
        yield f"| {name} | {' | '.join(cells)} |"
    sums = [f"{counts.total()} | {sum(one.cpu for one in spent.values()):.0f}" for spent, counts in runs.values()]
    yield f"| together | {' | '.join(sums)} |"


def write_down(runs: Mapping[str, Mapping[str, list[Any]]]) -> None:
    """Write `tests/durations.json`, where files and runs that were not run keep their figures, and the table in CONTRIBUTING."""
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for run, tests in runs.items():
        known[run] = known.get(run, {}) | {file: round(spent.cpu, 1) for file, spent in by_group(tests, of_file).items()}
    there = {run: {file: cpu for file, cpu in files.items() if (ROOT / file).exists()} for run, files in known.items()}
    RECORDED.write_text(json.dumps(there, indent=0, sort_keys=True) + "\n")
    page = ROOT / "CONTRIBUTING.md"
    before, begin, rest = page.read_text().partition("<!-- durations -->\n")
    table = "\n".join(directories(whole_of(runs), runs.get(GATE, {})))
    page.write_text(before + begin + table + "\n" + rest[rest.index("<!-- /durations -->") :])


def whole_of(runs: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """All tests of the parts, each as its first part has it: later ones run it on another path or another Spark, or with more seeds."""
    from tests.whole import PARTS

    whole: dict[str, list[Any]] = {}
    for part in PARTS:
        whole = {**runs.get(part, {}), **whole}
    return whole


def main(paths: list[str]) -> None:
    """Print the tables of runs, and write down what they say."""
    runs: dict[str, dict[str, list[Any]]] = {}
    for path in paths:
        runs.setdefault(run_of(path), {}).update(json.loads(Path(path).read_text()))
    for title, tests in (("The gate", runs.get(GATE, {})), ("All parts", whole_of(runs))):
        if tests:
            print(f"## {title}\n\n" + "\n".join(report(tests)))
    write_down(runs)


if __name__ == "__main__":
    main(sys.argv[1:])
