"""Settings of `minercdc.lake.spark.*`, and what they may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.lake.properties import PROPERTIES, SEVERAL

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.spark.session import refuse_session, session
from minercdc.lake.table.paths import LakePaths
from minercdc.local.spark_artifacts import spark_jars
from minercdc.schema.table import TableId


def test_settings_are_passed_on_by_their_own_names() -> None:
    given = {
        "minercdc.lake.spark.master": "spark://m:7077",
        "lake.spark.executor.memory": "4g",
        "minercdc.lake.spark.hadoop.fs.s3a.endpoint": "https://s3",
    }
    assert parse_properties(PROPERTIES | given).lake_spark == {
        "spark.master": "spark://m:7077",
        "spark.executor.memory": "4g",
        "spark.hadoop.fs.s3a.endpoint": "https://s3",
    }


@pytest.mark.parametrize(("setting", "value"), [("remote", "sc://host"), ("api.mode", "connect")])
def test_spark_connect_is_refused_with_the_reason(setting: str, value: str) -> None:
    config = parse_properties(PROPERTIES | {f"minercdc.lake.spark.{setting}": value})
    with pytest.raises(ConfigError, match="Spark Connect is not supported: .*JVM"):
        session(config)


def test_spark_connect_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(ConfigError, match="Spark Connect is not supported"):
        session(parse_properties(PROPERTIES))


def test_a_session_of_spark_connect_is_refused() -> None:
    connected = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(LakeError, match="Spark Connect is not supported"):
        refuse_session(connected)


def test_a_session_of_an_older_spark_is_refused_with_what_reads_topics_there() -> None:
    old = type("SparkSession", (), {"version": "3.5.9"})()
    with pytest.raises(
        LakeError, match="the lake needs Spark 4.0 or later, and this session is one of Spark 3.5.9"
    ) as refused:
        refuse_session(old)
    assert "read_changes" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("s3a://bucket/lake", "s3a://bucket/lake"),
        ("s3a://bucket/lake/", "s3a://bucket/lake"),
        ("file:/data/lake", "file:/data/lake"),
        ("/data/lake", "/data/lake"),
    ],
)
def test_paths_are_those_of_any_file_system(path: str, root: str) -> None:
    paths = LakePaths(parse_properties(PROPERTIES | {"minercdc.lake.path": path}))
    assert paths.table(TableId("D", "S", "T")) == f"{root}/S/T"
    assert paths.checkpoint == f"{root}/_checkpoint"
    paths = LakePaths(parse_properties(SEVERAL | {"minercdc.lake.path": path}))
    assert [paths.table(TableId(one, "S", "T")) for one in ("SALES", "STOCK")] == [f"{root}/SALES/S/T", f"{root}/STOCK/S/T"]


def test_the_page_names_the_packages_that_are_run_here() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "lake-on-a-cluster.md").read_text(encoding="utf-8")
    assert f"--packages {','.join(spark_jars('4.2'))} " in page
