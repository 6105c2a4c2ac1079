"""format("minercdc") with a real connector: driver and connector are killed in the middle of batches, and nothing is lost or repeated.

`MINERCDC_DIRECT_KILLS` says how often (1).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from tests.e2e.connector import STOP_SECONDS
from tests.e2e.lab import WITH_ROWS, Lab, made_lab
from tests.e2e.sinks import sink_config
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.direct_query import in_time, started

from minercdc.sinks.durable_files import is_locked
from minercdc.sinks.segments.reader import LOCK, SegmentLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = int(os.environ.get("MINERCDC_DIRECT_KILLS", "1"))
SEED = int(os.environ.get("MINERCDC_SEED", "20261121"))
APPLICATION = Path(__file__).with_name("direct_query.py")

pytestmark = pytest.mark.timeout(600 + 240 * KILLS)


@contextmanager
def application(lab: Lab, config: Path, number: int) -> Iterator[subprocess.Popen[bytes]]:
    """The Spark application; killed in the end, with all it started."""
    with (lab.directory / f"spark{number}.log").open("wb") as log:
        command = [sys.executable, str(APPLICATION), str(config), f"{lab.schema}.T", str(lab.directory)]
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def connectors(config: Path) -> list[psutil.Process]:
    """The processes of `minercdc run` with this configuration."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "run" in words and str(config) in words and process.status() != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def await_true(question: Any, what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.02)


def batches(lab: Lab) -> int:
    """How many micro-batches are committed."""
    commits = lab.directory / "checkpoint" / "commits"
    return sum(name.isdigit() for name in os.listdir(commits)) if commits.is_dir() else 0


def test_killed_anywhere_delta_has_every_change_exactly_once(
    sandbox: SandboxProcess, spark: SparkSession, tmp_path: Path
) -> None:
    with sandbox.connect(service=sandbox.root_service) as connection:
        connection.cursor().execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    lab, chance, stop = made_lab(sandbox, "", tmp_path, WITH_ROWS), random.Random(SEED), threading.Event()
    config, directory = sink_config(lab, "segments", minercdc_sink_segment_bytes=200_000)
    written = [0, 1, 2]

    def write() -> None:
        number = 1000
        while not stop.is_set():
            lab.insert(number, 5)
            written.extend(range(number, number + 5))
            number += 5
            time.sleep(0.1)  # the pace of the rows

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for kill in range(KILLS):
            with application(lab, config, kill) as driver:
                seen = batches(lab)
                await_true(lambda seen=seen: batches(lab) > seen + 1, "a batch", 240)
                (connector,) = connectors(config)
                connector.kill()  # another one takes its place
                committed = SegmentLog(directory).last_offset()
                await_true(lambda before=committed: SegmentLog(directory).last_offset() != before, "a new connector")
                time.sleep(chance.random())
                driver.kill()
                driver.wait()
                await_true(lambda: not connectors(config), "the connector's end", STOP_SECONDS + 5)
            assert not is_locked(directory / LOCK)
    finally:
        stop.set()
        writer.join()

    def read_the_rest() -> None:
        query = started(spark, str(config), f"{lab.schema}.T", tmp_path)
        try:
            await_true(lambda: query.exception() is not None or count(spark, lab) >= len(written), "the rest", 240)
            if (error := query.exception()) is not None:
                raise error
        finally:
            query.stop()

    in_time(read_the_rest)
    await_true(lambda: not connectors(config), "the connector's end", STOP_SECONDS + 5)
    rows = spark.read.format("delta").load(str(tmp_path / "changes")).select("op", "after.ID", "after.V").collect()
    assert sorted(row["ID"] for row in rows) == written, "nothing is lost, and nothing comes twice"
    assert {row["op"] for row in rows} == {"r", "c"}


def count(spark: SparkSession, lab: Lab) -> int:
    return int(spark.read.format("delta").load(str(lab.directory / "changes")).count())


def test_a_connector_that_cannot_run_ends_the_query_with_its_message(
    sandbox: SandboxProcess, spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    lab = made_lab(sandbox, "", tmp_path, WITH_ROWS)
    config, _ = sink_config(lab, "segments", database_password="wrong")
    rows = spark.readStream.format("minercdc").option("config", str(config)).load()
    target = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(StreamingQueryException, match=r"the connector ended with status 1: .*MC-3\d\d\d"):
        in_time(lambda: target.start().awaitTermination(600))
    assert connectors(config) == []
