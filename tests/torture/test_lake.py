"""The lake after seeded histories with DDL, kills of connector and lake, backlogs and small batches: equal to Oracle, by `verify`.

`MINERCDC_LAKE_SEEDS` says how many (1; `make torture` 100), `MINERCDC_SEED` where they begin. A seed that fails prints its history.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from tests.checker.workload import Workload
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.reading import TABLE
from tests.spark.source import lake_config, scn_of, sync
from tests.torture.shapes import Shapes

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Mode
from minercdc.lake import start, tables
from minercdc.lake.maintain.rebuild import rebuild
from minercdc.lake.maintain.verify import verify
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.table.state import StateTable
from minercdc.local.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = int(os.environ.get("MINERCDC_LAKE_SEEDS", "1"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "1"))
ROUNDS, STEPS = 2, 65
_MODES = get_args(Mode)
# What the lake writes: it is killed before or after one of these.
_WRITES: list[tuple[type, str]] = [
    (ChangeLog, "append"),
    (TABLE, "create"),
    (TABLE, "take"),
    (TABLE, "fill"),
    (TABLE, "clear"),
    (TABLE, "replace"),
    (TABLE, "append"),
    (TABLE, "update"),
    (TABLE, "merge"),
    (StateTable, "append"),
]

pytestmark = pytest.mark.timeout(600)


class Killed(Exception):
    """Takes the place of a kill: nothing is written after it."""


@contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, writes: int, *, done: bool) -> Iterator[None]:
    """Ends the lake at its write number `writes`, before its work, or after it when `done`."""
    left = writes

    def ending(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and done:
                original(*args, **kwargs)
            if left <= 0:
                raise Killed
            return original(*args, **kwargs)

        return write

    with monkeypatch.context() as patch:
        for owner, method in _WRITES:
            patch.setattr(owner, method, ending(getattr(owner, method)))
        yield


class Torture:
    """One seed: a schema, its history, a connector and a lake."""

    def __init__(self, lab: Lab, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.chance = random.Random(seed)
        self._lab, self._spark, self._monkeypatch = lab, spark, monkeypatch
        chance = self.chance
        modes = random.Random(f"{seed} modes")  # the histories of earlier seeds stay as they were
        self.config: ConnectorConfig = lake_config(
            lab,
            lob_enabled=True,
            signal_data_collection=f"{lab.server.service}.{lab.schema}.SIGNALS",
            snapshot_mode=chance.choice(["initial", "initial", "initial", "always"]),
            snapshot_max_threads=chance.choice([1, 2]),
            incremental_snapshot_chunk_size=chance.choice([2, 5, 1024]),
            minercdc_kafka_transaction_max_records=chance.choice([5, 100, 10_000]),
            minercdc_kafka_transaction_interval_ms=50,
            minercdc_lake_max_offsets_per_trigger=chance.choice([20, 200_000]),
            minercdc_lake_merge_interval_ms=chance.choice([0, 1000, 60_000]),
            minercdc_lake_type_change=chance.choice(["text", "text", "new_column"]),
            topic_creation_default_partitions=chance.choice([1, 2]),
            minercdc_lake_number=chance.choice(["text", "decimal(38,10)"]),
            # Tables that get each other's names have one mode.
            minercdc_lake_mode=modes.choice(_MODES),
            minercdc_lake_table_modes=",".join(f".*[.]{name}:{modes.choice(_MODES)}" for name in ("ITEM", "PAIR", "DOC")),
        )
        self.history = Workload(lab.server, lab.schema, seed, [lab.server.service] * 2, lobs=True)  # type: ignore[arg-type]
        self._connector: MinerCdc | None = None
        self.shapes = Shapes(lab.connect(), seed, self._has_settled)
        self._runs = 0
        self._signals = 0
        self.script: list[str] = []

    def run(self) -> None:
        for _ in range(ROUNDS):
            self._round()
        self.history.finish()
        self.shapes.finish()
        self._start_connector()
        sync(self._spark, self.config, scn_of(self._lab))
        if incomplete := sorted(tables(self._spark, self.config).incomplete):
            for name in incomplete:
                self._say(f"rebuild {name}")
                rebuild(self._spark, self.config, name)
            sync(self._spark, self.config, scn_of(self._lab))
        report = verify(self._spark, self.config)
        assert report.equal, "\n".join(line for table in report.tables for line in table.lines())

    def _round(self) -> None:
        """Steps of the history with the connector running, stopped or killed; then the lake, if it is there."""
        for _ in range(STEPS):
            choice = self.chance.random()
            if choice < 0.45:
                self.history.step()
            elif choice < 0.93:
                self.shapes.step()
            elif choice < 0.96:
                self._signal()
            elif self._connector is None:
                self._start_connector()
            elif choice < 0.98:
                self._kill_connector()
        self._start_connector()
        way = self.chance.random()
        if way < 0.6:
            self._kill_lake()
        elif way < 0.8:
            self.history.finish()
            self.shapes.finish()
            self._say("sync")
            sync(self._spark, self.config, scn_of(self._lab))

    def _kill_lake(self) -> None:
        writes, done = self.chance.choice([1, 2, 3, 5, 8, 13, 21, 34]), self.chance.random() < 0.5
        self._say(
            f"the lake ({self.config.lake.minercdc_lake_mode}), killed {'after' if done else 'before'} its write {writes}"
        )
        with killed_after(self._monkeypatch, writes, done=done), suppress(Exception):
            lake = start(self._spark, self.config)
            try:
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline and lake.query.isActive:
                    lake.process_all_available()
                    if self.chance.random() < 0.5:
                        break
                    for _ in range(5):
                        self.shapes.step()
            finally:
                lake.stop()

    def _has_settled(self) -> bool:
        """Whether a running connector has delivered all that is committed; waits for it, or does not, by chance."""
        if self._connector is None or self.chance.random() < 0.6:
            return False
        scn = scn_of(self._lab)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            found = re.findall(r"streaming: .* SCN (\d+)", self._connector.text()[-2000:])
            if found and int(found[-1]) >= scn:
                time.sleep(0.5)  # and its offset is stored
                return True
            time.sleep(0.02)
        return False

    def _start_connector(self) -> None:
        if self._connector is None:
            self._runs += 1
            self._say("connector starts")
            log = self._lab.directory / f"{self._lab.schema}-{self._runs}.log"
            self._connector = MinerCdc(["run", "--log-interval", "0.2", str(self._lab.directory / "connector.yaml")], log)
        if self._runs == 1 or self.chance.random() < 0.5:
            self._connector.await_log("streaming", 120)

    def _kill_connector(self) -> None:
        assert self._connector is not None
        if self.chance.random() < 0.6:
            with suppress(AssertionError):
                self._connector.await_log("streaming", self.chance.random() * 3)
        status = self._connector.process.poll()
        assert status is None, f"the connector ended with {status}:\n{self._connector.story()}"
        self._say("connector killed")
        self._connector.kill()
        self._connector = None

    def _signal(self) -> None:
        self.history.finish()
        self.shapes.finish()
        self._signals += 1
        names = [
            f"{self._lab.server.service}.{self._lab.schema}.{name}" for name in ("ITEM", "PAIR", "DOC", "S1", "S2", "S3")
        ]
        data = {"data-collections": self.chance.sample(names, 2), "type": self.chance.choice(["incremental", "blocking"])}
        self._say(f"signal {data}")
        with self._lab.connect() as connection, connection.cursor() as cursor:
            row = [f"signal {self._signals}", "execute-snapshot", json.dumps(data)]
            cursor.execute("INSERT INTO SIGNALS VALUES (:1, :2, :3)", row)
            connection.commit()

    def _say(self, what: str) -> None:
        self.shapes.script.append(f"-- {what} (statement {len(self.history.script)} of the workload)")

    def close(self) -> None:
        if self._connector is not None:
            self._connector.kill()
        self.history.close()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_the_lake_equals_oracle_after_any_history(
    spark: SparkSession,
    sandbox: SandboxProcess,
    broker: KafkaBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    statements = (
        "CREATE TABLE SIGNALS (ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32), DATA VARCHAR2(2048))",
        "ALTER TABLE SIGNALS ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    torture = Torture(made_lab(sandbox, broker.bootstrap_servers, tmp_path, statements), spark, monkeypatch, seed)
    try:
        torture.run()
    except BaseException:
        print("\n".join(["", *torture.shapes.script, "-- the workload beside it:", *torture.history.script]))
        raise
    finally:
        torture.close()
