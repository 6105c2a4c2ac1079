"""Steady work for minutes or hours, over log switches, DDL, restarts and a broker that goes down: nothing is lost, nothing grows.

`MINERCDC_SOAK_MINUTES` says how long (1; `make soak` 60). In the first half the connector is stopped and killed; in the second half it is one
process, whose memory, descriptors and threads must stay as they are.
"""

from __future__ import annotations

import os
import re
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.e2e.connector import run_to_end
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.torture.test_kill import TABLES, await_end, await_phase, judge, session, torture_sandbox, write_config, write_end

from minercdc.local.demo.processes import Command
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port

__all__ = ["torture_sandbox"]

MINUTES = float(os.environ.get("MINERCDC_SOAK_MINUTES", "1"))
PAUSE = 0.03
LATEST_LAG_SECONDS = 60.0
"""Beside the restarts. A bound of what is never caught up with, not of what is usual: that is a second."""
BROKER_PATIENCE_SECONDS = 30.0

pytestmark = pytest.mark.timeout(600 + 120 * MINUTES)


@dataclass(slots=True)
class Samples:
    """What one process of the connector used, once a second."""

    memory: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        shown = (f"{name} {early:.0f} then {late:.0f}" for name, early, late, _ in self._growth())
        return f"{', '.join(shown)}; lag {max(self.lag, default=0.0):.1f} s at most"

    def check(self) -> None:
        """What is used at the end is what was used at first; the lag is bounded."""
        for name, early, late, most in self._growth():
            assert late <= early + most, f"{name}: {early} at first, {late} at the end"
        assert max(self.lag, default=0.0) < LATEST_LAG_SECONDS

    def _growth(self) -> Iterator[tuple[str, float, float, float]]:
        """Medians of the second eighth and of the last one, and by how much they may differ."""
        for name, values, most in (
            ("MiB", self.memory, 48.0),
            ("descriptors", self.descriptors, 8.0),
            ("threads", self.threads, 4.0),
        ):
            part = max(1, len(values) // 8)
            yield name, statistics.median(values[part : 2 * part]), statistics.median(values[-part:]), most

    def take(self, process: psutil.Process, lag: float | None) -> None:
        self.memory.append(process.memory_info().rss / (1 << 20))
        self.descriptors.append(process.num_fds())
        self.threads.append(process.num_threads())
        if lag is not None:
            self.lag.append(lag)


@dataclass(slots=True)
class Soak:
    """A connector under work, and what happens to it."""

    server: SandboxProcess
    broker: KafkaBroker
    config: Path
    directory: Path
    port: int
    connector: Command | None = None
    samples: Samples = field(default_factory=Samples)
    restarted_at: float = 0.0
    done: dict[str, int] = field(default_factory=dict)
    columns: Iterator[int] = field(default_factory=lambda: count(1))
    rows: Iterator[int] = field(default_factory=lambda: count(1))

    def start(self) -> Command:
        runs = self.done.get("stop", 0) + self.done.get("kill", 0)
        self.connector = Command(["run", "--log-interval", "1", str(self.config)], self.directory / f"run{runs}.log")
        self.samples = Samples()
        self.restarted_at = time.monotonic()
        await_phase(self.connector, "streaming")
        return self.connector

    def happen(self, what: str) -> None:
        assert self.connector is not None
        if what == "log switch":
            with self.server.connect(service=self.server.root_service) as admin:
                admin.cursor().execute("ALTER SYSTEM SWITCH LOGFILE")
        elif what == "ddl":
            self._ddl()
        elif what == "broker":
            self.broker.stop()
            self.broker.start()
            self.restarted_at = time.monotonic()
        else:
            self.connector.stop() if what == "stop" else self.connector.kill()
            self.start()
        self.done[what] = self.done.get(what, 0) + 1

    def _ddl(self) -> None:
        """A column more, one renamed, one dropped; with rows between."""
        new = next(self.columns)
        steps = [f"ALTER TABLE c ADD (n{new} NUMBER(6) DEFAULT {new})", f"ALTER TABLE c MODIFY (n{new} NUMBER(9))"]
        if new > 1:
            steps += [f"ALTER TABLE c RENAME COLUMN n{new - 1} TO o{new - 1}", f"ALTER TABLE c DROP COLUMN o{new - 1}"]
        with self.server.connect("tt", "tt") as connection, connection.cursor() as cursor:
            for step in steps:
                cursor.execute(step)
                cursor.execute("INSERT INTO c (id, tag) VALUES (:1, 'row')", [next(self.rows)])
                cursor.execute("UPDATE c SET tag = tag || '.' WHERE MOD(id, 3) = 0 AND LENGTH(tag) < 50")
                connection.commit()

    def sample(self) -> None:
        assert self.connector is not None
        self.connector.check()
        is_settled = time.monotonic() - self.restarted_at > BROKER_PATIENCE_SECONDS
        self.samples.take(psutil.Process(self.connector.pid), self.lag() if is_settled else None)

    def lag(self) -> float:
        shown = httpx2.get(f"http://127.0.0.1:{self.port}/metrics", timeout=10).text
        found = re.search(r"^minercdc_lag_seconds(?:\{[^}]*\})? (\S+)$", shown, re.MULTILINE)
        assert found, shown
        return float(found[1])


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path / "kafka") as running:
        yield running


def test_minutes_of_work_lose_nothing_and_let_nothing_grow(
    torture_sandbox: SandboxProcess, own_broker: KafkaBroker, prefix: str, tmp_path: Path
) -> None:
    server, port = torture_sandbox, free_port()
    with server.connect("tt", "tt") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE c (id NUMBER(10) PRIMARY KEY, tag VARCHAR2(60))")
        cursor.execute("ALTER TABLE c ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    config = write_config(server, own_broker, prefix, tmp_path, {"minercdc.http.port": port})
    soak, stop = Soak(server, own_broker, config, tmp_path, port), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        sessions = [pool.submit(session, server, number, stop, PAUSE) for number in (1, 2)]
        try:
            soak.start()
            live(soak, ("ddl", "stop", "log switch", "kill"))
            live(soak, ("log switch", "ddl", "log switch", "broker"))
        finally:
            stop.set()
        transactions = sum(one.result() for one in sessions)
    connector = soak.connector
    assert connector is not None
    try:
        write_end(server)
        await_end(own_broker, prefix, connector)
        for table in TABLES:
            judge(server, own_broker, prefix, table)
        # It reads the topics of all that time.
        verified = run_to_end(["verify", str(config)], tmp_path / "verify.log", timeout=60 + 30 * MINUTES)
        connector.check()
    finally:
        connector.stop()
    assert verified.status == 0, verified.errors
    print(f"{transactions} transactions, {soak.done}; {verified.output.strip().splitlines()[-1]}; {soak.samples}")
    soak.samples.check()


def live(soak: Soak, happenings: tuple[str, ...]) -> None:
    """Half of the time. Each happening at least once, then one about every twenty seconds."""
    rounds = max(1, round(MINUTES * 30 / 20 / len(happenings)))
    step = MINUTES * 30 / (rounds * len(happenings))
    for what in happenings * rounds:
        ended = time.monotonic() + step
        soak.happen(what)
        while time.monotonic() < ended:
            soak.sample()
            time.sleep(1)  # a sample a second
