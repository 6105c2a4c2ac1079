"""`minercdc lake snapshot` of many rows while they are written, handed over to the connector, both killed on the way.

MINERCDC_ROWS is the number of rows, 50000 by default.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.histories import Killed, killed
from tests.spark.reading import TABLE, frame
from tests.spark.source import lake_config, running, scn_of, sync

from minercdc.config.load import ConnectorConfig
from minercdc.lake.maintain.verify import verify
from minercdc.lake.source.snapshot import Snapshot, snapshot
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.offsets.handover import hand_over
from minercdc.sinks.kafka.sink import KafkaSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = int(os.environ.get("MINERCDC_ROWS", "50000"))
pytestmark = pytest.mark.timeout(600 + ROWS // 500)

_BATCH = 10_000
_PER_ROW_S = 0.001  # patience
_STATEMENTS = (
    "CREATE TABLE BIG (ID NUMBER(9) PRIMARY KEY, AMOUNT NUMBER, V VARCHAR2(60))",
    LOGGED.format("BIG"),
    "CREATE TABLE SMALL (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(60))",
    LOGGED.format("SMALL"),
)


@pytest.fixture
def small_lab(sandbox: SandboxProcess, broker: KafkaBroker, tmp_path: Path) -> Lab:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    return made_lab(sandbox, broker.bootstrap_servers, tmp_path, _STATEMENTS)


@pytest.fixture
def lab(small_lab: Lab) -> Lab:
    lab = small_lab
    with lab.connect() as connection, connection.cursor() as cursor:
        for first in range(0, ROWS, _BATCH):
            rows = [(n, f"{n}.{n % 97:02d}") for n in range(first, min(first + _BATCH, ROWS))]
            cursor.executemany("INSERT INTO BIG VALUES (:1, :2, RPAD('v', 60, 'x'))", rows)
            connection.commit()
    return lab


@contextmanager
def written(lab: Lab) -> Iterator[None]:
    """Changes of rows all over the table, and new ones, one transaction after another, until the block ends."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        turn = 0
        try:
            with lab.connect() as connection, connection.cursor() as cursor:
                while not ended.is_set():
                    turn += 1
                    low, gone = (100 + turn * step % (ROWS - 200) for step in (7919, 104729))
                    cursor.execute("UPDATE BIG SET AMOUNT = AMOUNT + 1 WHERE ID BETWEEN :1 AND :2", [low, low + 20])
                    cursor.execute("DELETE FROM BIG WHERE ID = :1", [gone])
                    cursor.execute("INSERT INTO BIG VALUES (:1, 0, 'new')", [ROWS + turn])
                    cursor.execute("INSERT INTO SMALL VALUES (:1, 'new')", [turn])
                    connection.commit() if turn % 5 else connection.rollback()
                    time.sleep(0.05)  # the pace of the rows
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


def test_a_snapshot_that_is_killed_at_any_commit_is_repeated(
    spark: SparkSession, small_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, lab = lake_config(small_lab), small_lab
    lab.execute(*(f"INSERT INTO SMALL VALUES ({number}, 'first')" for number in range(300)))
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO SMALL VALUES (-1, 'open')")
        for turn, (owner, method, after) in enumerate(
            (owner, method, after)
            for owner, method in ((KafkaSink, "commit"), (TABLE, "replace"), (StateTable, "append"))
            for after in (False, True)
        ):
            with killed(monkeypatch, owner, method, after=after) as calls, suppress(Killed):
                take(spark, config)
            assert calls, f"{method} was not called"
            lab.execute(
                f"UPDATE SMALL SET V = 'turn {turn}' WHERE ID = {turn}", f"DELETE FROM SMALL WHERE ID = {100 + turn}"
            )
        taken = take(spark, config)
        assert taken.failed == []
        connection.commit()
    with running(lab):
        scn = scn_of(lab)
        lab.execute("INSERT INTO SMALL VALUES (-2, 'the end')")
        sync(spark, config, scn)
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary().endswith(" 0 differences")
    found = frame(spark, config, lab.schema, "SMALL")
    assert found.where("ID = -1").count() == 1


def take(spark: SparkSession, config: ConnectorConfig) -> Snapshot:
    """What the command does."""
    stream = hand_over(config)
    return snapshot(spark, config, scn=stream.scn, coverage=stream, tries=3)


def test_a_snapshot_of_many_rows_while_writing_is_handed_over_through_kills(spark: SparkSession, lab: Lab) -> None:
    config = lake_config(lab)
    file = lab.directory / "connector.yaml"
    patience = 150 + ROWS * _PER_ROW_S
    with lab.connect() as connection, connection.cursor() as cursor, written(lab):
        cursor.execute("UPDATE BIG SET V = 'open' WHERE ID < 50")
        cursor.execute("INSERT INTO SMALL VALUES (-1, 'open')")
        with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as faults:
            faults.execute("call dbms_sandbox.delay_call(0.2, at => 'fetch', matching => 'AS OF SCN', times => 0)")
            with MinerCdc(["lake", "snapshot", str(file)], lab.directory / "killed.log") as command:
                command.await_log("reading 2 tables as of SCN", 90)
                command.kill()
            faults.execute("call dbms_sandbox.clear_faults()")
        first = lab.run(file, "first.log")  # while the snapshot is taken again
        with first, MinerCdc(["lake", "snapshot", str(file)], lab.directory / "snapshot.log") as command:
            command.await_log("reading 2 tables as of SCN", 90)
            first.kill()
            with lab.run(file, "second.log"):  # killed at the end
                ended = command.await_end(patience)
        assert ended.status == 0, ended.errors
        assert "the connector goes on from its offset" in ended.errors
        cursor.execute("INSERT INTO SMALL VALUES (-2, 'open')")
        connection.commit()
        time.sleep(0.5)  # the second connector may have come to this
    with lab.run(file, "third.log") as connector:
        connector.await_log("streaming", 60)
        scn = scn_of(lab)
        lab.execute("INSERT INTO SMALL VALUES (-3, 'the end')")
        sync(spark, config, scn, patience)
        connector.stop_in_order()
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert f"verified: 2 tables, {sum(table.rows for table in report.tables)} rows, 0 differences" == report.summary()
    assert sum(table.rows for table in report.tables) > ROWS * 0.9
    small = frame(spark, config, lab.schema, "SMALL")
    assert small.where("ID IN (-1, -2)").count() == 2
    log = format_of(config).changes(spark).read()
    assert log.where("op = 'r'").count() == 0  # no row of the snapshot came through the connector
