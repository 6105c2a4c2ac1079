"""The whole way from redo to lake rows: what users run today beside minercdc, on the same sandbox and redo.

debezium   Debezium, its JSON in Kafka, and the job that one writes first (`pipeline_job`, plain)
json       minercdc, the same JSON in Kafka, and minercdc's lake
segments   minercdc, its segments with no broker, and minercdc's lake

Each way begins warm: its tables have rows, and its JVMs have made such changes before. CPU seconds are those of every process but
the database, the broker and this one; a JVM's start is not among them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION

from bench.latency_stages import percentile
from bench.peer.connectors import Arrivals, Ours, Theirs
from bench.peer.rates import await_rows, create_topics, until_quiet, until_streaming
from bench.peer.works import Work, keys
from bench.processes import SECRET, Sandbox
from bench.tables import MIDDLE, NARROW, SEED, WIDE, work
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.sinks.segments.reader import Place, SegmentLog

_TABLES = (NARROW, MIDDLE, WIDE)
_WORK = Work("pipeline", _TABLES, lambda sandbox, rows: rows, 0)
_WARM = 9_000
_RATES = (200, 1000, 4000)
_SECONDS = 20.0
_PATIENCE_S = 1800.0
_FORM = {"decimal.handling.mode": "string"}  # what the plain job's author asks of either connector
_WAYS = ("debezium", "json", "segments")


@dataclass(frozen=True, slots=True)
class Spent:
    """What one way took for the changes of one round.

    :param capture, lake: CPU seconds of the connector, and of the job.
    :param topics, files: bytes that it added to the broker's logs, or the segments, and to the directory of the lake.
    """

    capture: float
    lake: float
    topics: int
    files: int

    @property
    def cpu(self) -> float:
        """CPU seconds of all."""
        return self.capture + self.lake


class Job:
    """`pipeline_job` in a process of its own."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self._log, self._errors = log, log.open("w")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peer.pipeline_job", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **SECRET},
            text=True,
        )
        self._line()

    def cpu(self, command: str = "cpu") -> float:
        """CPU seconds of all its processes after a command.

        :raises RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the job ended: {self._log.read_text()[-2000:]}")
        return line

    def close(self) -> None:
        """End it."""
        self._process.communicate("end\n")
        self._errors.close()


class SegmentArrivals:
    """Counts the records of segments."""

    def __init__(self, directory: Path) -> None:
        self._log, self._read_to, self._seen = SegmentLog(directory), Place(0, 0), 0

    def __call__(self) -> int:
        time.sleep(0.02)
        for place, commit in self._log.commits(self._read_to):
            self._read_to, self._seen = place, commit.records
        return self._seen

    def close(self) -> None:
        """Nothing is open."""


class Pipeline:
    """A way that was made warm: its connector is stopped, its job waits for commands."""

    def __init__(self, name: str, directory: Path, sandbox: Sandbox, broker: str) -> None:
        kind, self._sandbox = Theirs if name == "debezium" else Ours, sandbox
        self._logs, self._lake, segments = directory / "kafka", directory / f"{name}-lake", directory / f"{name}-segments"
        self._topics = [f"{name}.BENCH.{table.name}" for table in _TABLES]
        self.tables = self._lake / "BENCH" if kind is Ours else self._lake
        create_topics(broker, [*self._topics, name])
        settings = _FORM | ({"minercdc.lake.path": str(self._lake)} if kind is Ours else {})
        if name == "segments":
            settings |= {"debezium.sink.type": "segments", "minercdc.sink.path": str(segments)}
        self.connector = kind(directory, name, _WORK, "kafka", sandbox, broker, settings)
        self._arrived = SegmentArrivals(segments) if name == "segments" else Arrivals(broker, self._topics)
        self._written = segments if name == "segments" else None
        self.connector.start()
        until_streaming(self.connector, self._arrived, sandbox, _TABLES)
        plain = ("plain", broker, name, str(self._lake), *(table.name for table in _TABLES))
        arguments = ("lake", str(directory / f"{name}.yaml")) if kind is Ours else plain
        self.job = Job(arguments, directory / f"{name}-job.log")
        self.connector.stop()

    def level(self) -> None:
        """Bring the tables to the end of the redo, and a row beyond it."""
        self.connector.start()
        seen = self._arrived()
        with closing(self._sandbox.connect()) as application, application.cursor() as cursor:
            cursor.execute(NARROW.insert, NARROW.row(next(keys)))
            application.commit()
        await_rows(self.connector, self._arrived, seen, 1)
        until_quiet(self._arrived)
        self.job.cpu("drain")
        self.connector.stop()
        self._lacks = self._missing()

    def drain(self, changes: int) -> Spent:
        """Bring them there once more, over so many changes."""
        seen, topics, files = self._arrived(), self._topic_bytes(), size(self._lake)
        begun, idle = self.connector.cpu_before_start(), self.job.cpu()
        self.connector.start()
        await_rows(self.connector, self._arrived, seen, changes)
        capture = self.connector.cpu() - begun
        until_quiet(self._arrived)
        lake = self.job.cpu("drain") - idle
        self.connector.stop()
        if (missing := self._missing()) != self._lacks:
            raise RuntimeError(f"the tables in {self.tables} lack {missing} rows of the source, not {self._lacks}")
        return Spent(capture, lake, self._topic_bytes() - topics, size(self._lake) - files)

    def _missing(self) -> list[int]:
        """How many rows of the source each table lacks: those from before its connector's first position."""
        with closing(self._sandbox.connect()) as application, application.cursor() as cursor:
            found = []
            for table in _TABLES:
                ((rows,),) = cursor.execute(f"SELECT COUNT(*) FROM {table.name}")
                found.append(rows - versions(self.tables / table.name / "_delta_log")[-1][1])
            return found

    def _topic_bytes(self) -> int:
        if self._written is not None:
            return size(self._written)
        return sum(file.stat().st_size for topic in self._topics for file in self._logs.rglob(f"{topic}-*/*.log"))

    def close(self) -> None:
        """End both."""
        self._arrived.close()
        self.job.close()
        self.connector.close()


def size(directory: Path) -> int:
    """Bytes of the files in a directory."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def compare_pipeline(console: Console, rounds: int, changes: int) -> None:
    """Print what each way takes, how soon rows are readable, and the ratios."""
    with TemporaryDirectory(prefix="peer-") as place, ExitStack() as stack:
        directory = Path(place)
        broker = KafkaBroker(directory / "kafka")
        stack.callback(broker.stop)
        servers = broker.start().bootstrap_servers
        sandbox = stack.enter_context(Sandbox(directory, SEED))
        ways = {}
        for name in _WAYS:
            console.print(f"  {name} ..", highlight=False)
            ways[name] = stack.enter_context(closing(Pipeline(name, directory, sandbox, servers)))
        spent: dict[str, list[Spent]] = {name: [] for name in ways}
        next_key = fill(sandbox, _WARM, 10_000_000)[1]
        for way in ways.values():
            way.level()
        for number in range(rounds):
            made, next_key = fill(sandbox, changes, next_key)
            for name, way in ways.items():
                spent[name].append(one := way.drain(made))
                console.print(f"  {number}: {name}: {one.capture:.1f} + {one.lake:.1f} CPU s", highlight=False)
        _print_costs(console, made, spent)
        latencies = {name: [_latency(way, sandbox, rate) for rate in _RATES] for name, way in ways.items()}
    _print_latencies(console, latencies)
    medians = {name: statistics.median(one.cpu for one in found) for name, found in spent.items()}
    ours = {name: medians["debezium"] / cpu for name, cpu in medians.items() if name != "debezium"}
    console.print(f"pipeline ratio: fastest {max(ours.values()):.1f}, json {ours['json']:.1f}", highlight=False)


def fill(sandbox: Sandbox, changes: int, first: int) -> tuple[int, int]:
    """Inserts, updates and deletes in all tables: how many, and the next key that is free."""
    rows = changes // len(_TABLES) * 4 // 7
    with closing(sandbox.connect()) as application:
        made = sum(work(application, table, first, rows) for table in _TABLES)
    return made, first + rows


def _print_costs(console: Console, changes: int, spent: Mapping[str, Sequence[Spent]]) -> None:
    table = Table("way", "capture, CPU s", "lake, CPU s", "all, CPU s", "MiB in Kafka or segments", "MiB in the lake")
    for name, found in spent.items():
        cells = [_shown([getattr(one, part) for one in found]) for part in ("capture", "lake", "cpu")]
        cells += [_shown([getattr(one, part) / 2**20 for one in found]) for part in ("topics", "files")]
        table.add_row(name, *cells)
    console.print(f"Debezium {VERSION}; {changes:,} changes; medians, lowest to highest", highlight=False)
    console.print(table)


def _shown(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _print_latencies(console: Console, latencies: Mapping[str, Sequence[Sequence[float]]]) -> None:
    table = Table("changes / s", *(f"{name}: COMMIT to readable row, p50, p99" for name in latencies))
    for place, rate in enumerate(_RATES):
        waits = [list(found[place]) for found in latencies.values()]
        table.add_row(f"{rate:,}", *(f"{statistics.median(one):.1f} s, {percentile(one, 0.99):.1f} s" for one in waits))
    console.print(table)


def _latency(way: Pipeline, sandbox: Sandbox, rate: int) -> list[float]:
    """Seconds from the COMMIT of each inserted row until a version of the table has it."""
    way.level()
    log = way.tables / NARROW.name / "_delta_log"
    before = versions(log)[-1][1]
    way.connector.start()
    committed: list[float] = []
    _write(sandbox, rate, committed)
    deadline = time.monotonic() + _PATIENCE_S
    while (found := versions(log))[-1][1] < before + len(committed):
        way.connector.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{found[-1][1] - before} of {len(committed)} rows are readable")
        time.sleep(0.5)
    way.connector.stop()
    readable = iter(found)
    written, rows = next(readable)
    waits = []
    for number, commit in enumerate(committed, before + 1):
        while rows < number:
            written, rows = next(readable)
        waits.append(written - commit)
    return waits


def _write(sandbox: Sandbox, rate: int, committed: list[float]) -> None:
    """Insert rows at a rate; `committed` gets the time of each one's COMMIT, in seconds since 1970."""
    pause, begun = max(0.05, 1 / rate), time.monotonic()
    with closing(sandbox.connect()) as application, application.cursor() as cursor:
        while (now := time.monotonic()) < begun + _SECONDS:
            due = int((now - begun) * rate) + 1 - len(committed)
            if due > 0:
                cursor.executemany(NARROW.insert, [NARROW.row(next(keys)) for _ in range(due)])
                application.commit()
                committed += [time.time()] * due
            time.sleep(pause)


def versions(log: Path) -> list[tuple[float, int]]:
    """When each version of a Delta table was written, in seconds since 1970, and how many rows it has."""
    found: list[tuple[float, int]] = []
    live: dict[str, int] = {}
    for file in sorted(log.glob("*.json")):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                deleted = (action["add"].get("deletionVector") or {}).get("cardinality", 0)
                live[action["add"]["path"]] = json.loads(action["add"]["stats"])["numRecords"] - deleted
        found.append((file.stat().st_mtime, sum(live.values())))
    return found
