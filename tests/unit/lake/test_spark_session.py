"""Settings of `minercdc.lake.spark.*`, and what they may be."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
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
        refuse_session(connected, parse_properties(PROPERTIES))


def test_a_session_of_an_older_spark_is_refused_with_what_reads_topics_there() -> None:
    old = type("SparkSession", (), {"version": "3.5.9"})()
    with pytest.raises(
        LakeError, match="the lake needs Spark 4.0 or later, and this session is one of Spark 3.5.9"
    ) as refused:
        refuse_session(old, parse_properties(PROPERTIES))
    assert "read_changes" in str(refused.value.hint)


class _Session:
    """Of Spark 4.1.4, with a class from a jar; without the class for None."""

    version = "4.1.4"

    def __init__(self, jar: str | None) -> None:
        self._jar = jar
        self._jvm = SimpleNamespace(
            org=SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(util=SimpleNamespace(Utils=self))))
        )

    def classForName(self, name: str, *_: bool) -> object:
        if self._jar is None:
            raise Py4JJavaError(name, SimpleNamespace(_gateway_client=None, _target_id=""))
        location = SimpleNamespace(getLocation=lambda: SimpleNamespace(getPath=lambda: self._jar))
        domain = SimpleNamespace(getCodeSource=lambda: location if self._jar else None)
        return SimpleNamespace(getProtectionDomain=lambda: domain)


@pytest.mark.parametrize(
    ("form", "jar", "problem"),
    [
        ("delta", None, "Spark does not have org.apache.spark.sql.delta.DeltaLog"),
        ("delta", "/jars/io.delta_delta-spark_4.2_2.13-4.4.0.jar", "Spark 4.1.4 has Delta for Spark 4.2: /jars/io.delta"),
        ("iceberg", "/jars/iceberg-spark-runtime-4.0_2.13-1.11.0.jar", "Spark 4.1.4 has Iceberg for Spark 4.0: /jars/ice"),
    ],
)
def test_a_session_without_the_format_for_its_spark_is_refused_with_the_packages(
    form: str, jar: str | None, problem: str
) -> None:
    config = parse_properties({**PROPERTIES, "minercdc.lake.format": form})
    session: Any = _Session(jar)
    with pytest.raises(LakeError, match=problem) as refused:
        refuse_session(session, config)
    assert ",".join(spark_jars("4.1.4", config.lake.minercdc_lake_format)) in str(refused.value.hint)


@pytest.mark.parametrize(
    "jar", ["/jars/delta-spark_4.1_2.13-4.4.0.jar", "/jars/delta-spark_2.13-4.0.0.jar", "/service/delta.jar", ""]
)
def test_a_jar_that_fits_or_does_not_say_its_spark_is_taken(jar: str) -> None:
    session: Any = _Session(jar)
    refuse_session(session, parse_properties(PROPERTIES))


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
