"""`minercdc lake` under kill -9 while it merges, in every mode: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.spark.connector import Connector
from tests.spark.histories import killed
from tests.spark.lakes import synced
from tests.spark.reading import FORMAT, TABLE
from tests.spark.test_lake_modes import KEYED, MODES, Source, check

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.lake import start, tables
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_S = 240


@pytest.fixture
def properties(properties: dict[str, str]) -> dict[str, str]:
    modes = ",".join(f"LAB[.].*_{mode.upper()}:{mode}" for mode in MODES)
    more = {"minercdc.lake.table.modes": modes, "minercdc.lake.merge.threads": "1", "skipped.operations": "none"}
    return {**properties, **more, "minercdc.lake.merge.interval.ms": "0"}


@pytest.fixture
def config(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties(properties)


def versions(config: ConnectorConfig) -> int:
    """Commits of all lake tables."""
    commits = "_delta_log/*.json" if FORMAT == "delta" else "metadata/v*.metadata.json"
    return len(list(Path(config.lake.minercdc_lake_path).glob(f"LAB/*/{commits}")))


def run_and_kill(file: Path, log: Path, config: ConnectorConfig, commits: int) -> None:
    """Run the lake until its tables have so many more commits; then kill it with its JVM."""
    goal = versions(config) + commits
    with log.open("w") as out:
        command = [sys.executable, "-m", "minercdc", "lake", str(file)]
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while versions(config) < goal:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.timeout(900)
def test_every_mode_outlives_kills_between_its_commits(
    spark: SparkSession, config: ConnectorConfig, properties: dict[str, str], connector: Connector, tmp_path: Path
) -> None:
    file = tmp_path / "killed.yaml"
    file.write_text(yaml.safe_dump(properties))
    connector.time_us = lambda scn: scn * 1_000_000
    source = Source(connector, KEYED)
    source.found(1, 2, 3)
    source.insert(4, "born")
    source.update(1, "changed")
    connector.commit()
    histories: list[tuple[int, Callable[[], None]]] = [
        (3, lambda: source.move(4, 40)),  # commits after which it is killed, what comes next
        (2, source.truncate),
    ]
    for turn, (commits, then) in enumerate(histories):
        run_and_kill(file, tmp_path / f"killed-{turn}.log", config, commits)
        then()
        source.insert(50 + turn, "after a kill")
        source.update(50 + turn, "and changed")
        source.delete(50 + turn)
        source.insert(60 + turn, "stays")
        connector.commit()
    lake = start(spark, replace(config))
    try:
        lake.process_all_available()
    finally:
        lake.stop()
    check(spark, config, source, "KEYED")


def test_what_a_kill_leaves_half_done_is_not_read_as_of_the_scn_before(
    spark: SparkSession, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that marks the rows of before a TRUNCATE as deleted, in a step of its own after one that took no commit."""
    config = parse_properties({**properties, "minercdc.lake.mode": "soft_delete"})
    connector, table = Connector(config), replace(KEYED, id=KEYED.id._replace(table="HALF"), columns=KEYED.columns[:1])
    try:
        connector.structure(table)
        connector.change(Op.CREATE, None, ("1",), table)
        connector.commit()
        synced(spark, config)
        connector.scn += 5
        connector.truncate(table)
        truncated = connector.scn
        connector.change(Op.CREATE, None, ("2",), table)
        connector.commit()
        with killed(monkeypatch, TABLE, "merge", after=False) as calls:
            synced(spark, config)
        assert calls
        synced(spark, config)
    finally:
        connector.sink.close()
    for scn, expected in ((truncated - 1, [1]), (connector.scn, [2])):
        assert [row["ID"] for row in tables(spark, config, scn)["LAB.HALF"].collect()] == expected
