"""Versions of Delta tables that are older than Delta's own times: what the lake's retention keeps stays readable, what it does not goes."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from minercdc.config.target.lake import Mode
from minercdc.lake.merge.rows import CDC_TYPE
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.delta import DeltaTable
from minercdc.lake.table.delta_log_table import DeltaLogTable
from minercdc.lake.table.delta_retention import remove_log_files
from minercdc.lake.table.format import Applied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_S = 86_400
TIMES = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
KEPT = {"delta.enableExpiredLogCleanup": "false", **dict.fromkeys(TIMES, "interval 240 hours")}


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return own_session(spark)


def append(table: DeltaLogTable, *numbers: int) -> None:
    for number in numbers:
        assert table.append_here(pa.table({"n": pa.array([number], pa.int64())}))


def made_days_ago(days: float, *files: Path) -> None:
    for file in files:
        os.utime(file, (time.time() - days * DAY_S,) * 2)


def commits(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in (path / "_delta_log").glob("*.json"))


def test_log_files_go_but_those_that_the_oldest_version_needs(session: SparkSession, tmp_path: Path) -> None:
    """A table had no commit for days, and its next one makes a checkpoint: it was at the version before all the time."""
    table, log = DeltaLogTable(session, str(tmp_path / "t"), {}, KEPT), tmp_path / "t" / "_delta_log"
    append(table, *range(20))
    for version in range(20):
        made_days_ago(60 - version, *sorted(log.glob(f"{version:020}.*")))
    append(table, 20)
    assert commits(tmp_path / "t") == list(range(21))
    delta = java_class(session, "org.apache.spark.sql.delta.DeltaLog").forTable(session._jsparkSession, table.path)
    remove_log_files(session, delta, table.path, timedelta(days=7), 19)
    assert commits(tmp_path / "t") == list(range(10, 21))
    found = DeltaTable(session, table.path).read(19)
    assert sorted(row[0] for row in found.collect()) == list(range(20))
    remove_log_files(session, delta, table.path, timedelta(days=7), None)
    assert commits(tmp_path / "t") == [20]


def test_vacuum_takes_no_file_that_a_version_within_the_retention_has(session: SparkSession, tmp_path: Path) -> None:
    """Of a lake that keeps more days than Delta does by default."""
    table = DeltaLogTable(session, str(tmp_path / "t"), {}, KEPT)
    append(table, 0, 1)
    session.sql(f"DELETE FROM {table.name} WHERE n = 1")
    commit = tmp_path / "t" / "_delta_log" / f"{2:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "remove" in action:
            action["remove"]["deletionTimestamp"] = int((time.time() - 8.5 * DAY_S) * 1000)
    commit.write_text("\n".join(map(json.dumps, actions)))
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)  # Hadoop's checksum
    made_days_ago(8.5, commit)
    made_days_ago(20, *(tmp_path / "t").glob("*.parquet"))
    java_class(session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    append(table, *range(2, 10))
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))
    java_class(session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    session.sql(f"VACUUM {table.name} RETAIN 240 HOURS")
    found = session.read.format("delta").option("versionAsOf", 1).load(table.path)
    assert sorted(row[0] for row in found.collect()) == [0, 1]


def properties(session: SparkSession, name: str) -> dict[str, str]:
    rows = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return {row[0]: row[1] for row in rows if row[0] in KEPT}


def test_a_table_that_is_there_gets_them_by_maintenance(session: SparkSession, tmp_path: Path) -> None:
    path, columns = str(tmp_path / "t"), [TableColumn("ID", "INT", "ID")]
    DeltaTable(session, path).create(columns, CDC_TYPE, "mirror", Applied(1, 1))
    lake = DeltaTable(session, path, kept=KEPT)
    assert properties(session, lake.name) == {}
    version = lake.newest_version()
    for _ in range(2):
        lake.keep_versions()
    assert properties(session, lake.name) == KEPT
    assert lake.newest_version() == version + 1
    assert lake.rewritten(version) == version + 1
    assert lake.applied() == Applied(1, 1)


def test_a_new_table_has_them(session: SparkSession, tmp_path: Path) -> None:
    modes: tuple[Mode, ...] = ("mirror", "append")
    for number, mode in enumerate(modes):
        lake = DeltaTable(session, str(tmp_path / str(number)), kept=KEPT)
        lake.create([TableColumn("ID", "INT", "ID")], CDC_TYPE, mode, Applied(1, 1))
        assert properties(session, lake.name) == KEPT
