"""The lake on a standalone cluster of two workers, one of which is killed in the middle; its tables on a file system other than `file:`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.cluster import Cluster
from tests.spark.reading import FORMAT
from tests.spark.source import scn_of

from minercdc.cli import submit
from minercdc.local.jars import fetch
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.spark import prepare_java
from minercdc.local.spark_artifacts import installed_spark, spark_jars

pytestmark = pytest.mark.timeout(1800)

_JARS = spark_jars(installed_spark(), "iceberg" if FORMAT == "iceberg" else "delta")
_ROWS = 2_000
_SECONDS = 600.0  # patience: executors start, and merge, on a core each
_STATEMENTS = [
    statement
    for name in ("A", "B")
    for statement in (f"CREATE TABLE {name} (ID NUMBER(9) PRIMARY KEY, N NUMBER(18), V VARCHAR2(200))", LOGGED.format(name))
]


@pytest.fixture(autouse=True)
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten Java processes live for a minute or less on these cores: compiling for long runs, each would take them from the others."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture
def lab(sandbox: SandboxProcess, broker: KafkaBroker, tmp_path: Path) -> Lab:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    lab = made_lab(sandbox, broker.bootstrap_servers, tmp_path, _STATEMENTS)
    with lab.connect() as connection, connection.cursor() as cursor:
        for name in ("A", "B"):
            cursor.executemany(f"INSERT INTO {name} VALUES (:1, 0, RPAD('v', 200, 'x'))", [(n,) for n in range(_ROWS)])
        connection.commit()
    return lab


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    directory = tmp_path / "cluster"
    directory.mkdir()
    with Cluster(directory) as cluster:
        yield cluster


def configured(lab: Lab, cluster: Cluster) -> str:
    (lab.directory / "tables").mkdir()
    changes: dict[str, object] = {
        "minercdc_lake_path": "viewfs://lab/lake",
        "minercdc_lake_format": FORMAT,
        "minercdc_lake_catalog_name": "cluster",
        "minercdc_lake_spark_hadoop_fs_viewfs_mounttable_lab_link_/lake": f"file:{lab.directory / 'tables'}",
        "minercdc_lake_trigger_interval_ms": 1000,
        "minercdc_lake_merge_interval_ms": 3000,
        "skipped_operations": "none",
        "minercdc_lake_spark_master": cluster.master,
        "minercdc_lake_spark_driver_host": "127.0.0.1",
        "minercdc_lake_spark_driver_bindAddress": "127.0.0.1",
        "minercdc_lake_spark_ui_enabled": "false",
        "minercdc_lake_spark_executor_memory": "700m",
        "minercdc_lake_spark_sql_shuffle_partitions": 2,
        "minercdc_lake_spark_sql_adaptive_enabled": "false",
        "minercdc_lake_spark_sql_streaming_pollingDelay": "200ms",
    }
    return str(lab.config("connector.yaml", **changes))


@contextmanager
def written(lab: Lab) -> Iterator[None]:
    """Transactions over both tables until the block ends."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        turn = 0
        try:
            with lab.connect() as connection, connection.cursor() as cursor:
                while not ended.wait(0.2):
                    turn += 1
                    for name in ("A", "B"):
                        cursor.execute(f"UPDATE {name} SET N = N + 1 WHERE ID = :1", [turn * 7919 % _ROWS])
                        cursor.execute(f"DELETE FROM {name} WHERE ID = :1", [turn * 6007 % _ROWS])
                        cursor.execute(f"INSERT INTO {name} VALUES (:1, 0, 'new')", [_ROWS + turn])
                    connection.commit()
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
    assert failures == []


def await_that(met: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not met():
        assert time.monotonic() < deadline, f"no {what} within {_SECONDS} s"
        time.sleep(0.02)


def commits(lab: Lab) -> int:
    """Of the lake's table A; the snapshot is one."""
    table = lab.directory / "tables" / lab.schema / "A"
    if FORMAT == "delta":
        return len(list((table / "_delta_log").glob("*.json")))
    return max((int(file.name[1:].partition(".")[0]) for file in (table / "metadata").glob("v*.metadata.json")), default=0)


def merged_to(log: str) -> int:
    """The SCN that the log names last."""
    return max(map(int, re.findall(r"all tables are at SCN (\d+)", log)), default=0)


def kill_busy(cluster: Cluster, worker: int) -> None:
    """Kill a worker once it runs an executor."""
    await_that(lambda: bool(cluster.workers[worker].executors()), "executor of the worker")
    cluster.workers[worker].kill()


def submitted(*arguments: str, jars: bool = True) -> subprocess.CompletedProcess[str]:
    """`minercdc lake` with these arguments, started by spark-submit, which has Python's errors on its standard output."""
    sent = ",".join(map(str, fetch("spark", _JARS))) if jars else ""
    environment = os.environ | {
        "JAVA_HOME": str(prepare_java()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *(["--jars", sent] if sent else []),
        submit.__file__,
    ]
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def test_what_spark_submit_was_not_given_is_named(lab: Lab) -> None:
    file = lab.config("connector.yaml", minercdc_lake_path=lab.directory / "lake", minercdc_lake_format=FORMAT)
    ended = submitted("verify", str(file), jars=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert f"hint: spark-submit --packages {','.join(_JARS)}" in ended.stdout
    assert "Traceback" not in ended.stdout


def test_a_worker_that_is_killed_costs_no_row(lab: Lab, cluster: Cluster) -> None:
    file = configured(lab, cluster)
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as faults:
        faults.execute("call dbms_sandbox.delay_call(2, at => 'fetch', matching => 'AS OF SCN', times => 0)")
        with MinerCdc(["lake", "snapshot", file], lab.directory / "snapshot.log") as command:
            command.await_log("reading 2 tables as of SCN", _SECONDS)
            kill_busy(cluster, 0)
            cluster.add_worker()
            faults.execute("call dbms_sandbox.clear_faults()")
            taken = command.await_end(_SECONDS)
    assert taken.status == 0, taken.errors
    assert taken.output.startswith(f"read: 2 tables, {2 * _ROWS} rows at SCN ")
    with lab.run(Path(file)) as connector:
        with MinerCdc(["lake", file], lab.directory / "lake.log") as lake:
            with written(lab):
                await_that(lambda: commits(lab) > 1, "a merge")
                kill_busy(cluster, 1)
                before = commits(lab)
                await_that(lambda: commits(lab) > before, "a merge after the kill")
            scn = scn_of(lab)
            lab.execute("INSERT INTO A VALUES (-1, 0, 'the end')", "INSERT INTO B VALUES (-1, 0, 'the end')")
            await_that(lambda: merged_to(lake.text()) >= scn, f"tables at SCN {scn}")
            stopped = lake.stop(timeout=60)
            assert stopped.status == 0, stopped.errors
        connector.stop_in_order()
    verified = submitted("verify", file)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert re.search(r"(?m)^verified: 2 tables, \d+ rows, 0 differences$", verified.stdout), verified.stdout
    assert commits(lab) > 1
