"""A Spark session with the Kafka source and Delta, on the Java that `find_java` gives: of this machine alone, or on a cluster's master."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minercdc.errors import LocalServiceError
from minercdc.local.artifacts import SPARK
from minercdc.local.delta_log import FEW_PARTITIONS, SNAPSHOT_PARTITIONS
from minercdc.local.jars import Advance, cache_directory, fetch
from minercdc.local.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A module that Spark's launcher always requests and the packaged runtime lacks; without it Spark only loses an optimisation.
_SHIM = """\
#!/bin/sh
# Starts Java without the option that names a module this runtime may not have.
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""

_LOG4J = f"-Dlog4j2.configurationFile={Path(__file__).with_name('spark-log4j2.properties')}"

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # small batches on few cores
    "spark.sql.adaptive.enabled": "false",  # twice the jobs, for partitions that are small anyway
    "spark.sql.streaming.pollingDelay": "200ms",  # between looks for new data while there is none; 10 ms cost a tenth of a core
    SNAPSHOT_PARTITIONS: FEW_PARTITIONS,
}

# Java looks a class up in one jar after another, and Spark has 300: a tenth of a young session's time. The jars that have most classes
# come first.
_FIRST = [
    "spark-catalyst_*",
    "spark-core_*",
    "scala-library-*",
    "spark-sql_*",
    "spark-sql-api_*",
    "scala-reflect-*",
    "parquet-column-*",
    "hadoop-client-api-*",
    "log4j-core-*",
    "jackson-databind-*",
    "parquet-jackson-*",
    "janino-*",
    "parquet-encoding-*",
    "hadoop-client-runtime-*",
    "parquet-format-structures-*",
    "parquet-hadoop-*",
    "spark-network-common_*",
    "antlr4-runtime-*",
]


def local_spark(name: str, *, advance: Advance | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start a Spark session of two threads, in a JVM that this process starts. One that is running already is returned.

    Sets JAVA_HOME, PYSPARK_PYTHON and SPARK_LOCAL_IP in the environment of the process, and removes SPARK_HOME.

    :param name: of the application.
    :param advance: called with the jars done and the jars in all while they are fetched.
    :param settings: of Spark; they win over ours.
    :raises LocalServiceError: PySpark, a jar or Java is missing, or the JVM did not start.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    jars = _prepared(sys.executable, advance)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    ours = {
        **SETTINGS,
        "spark.master": "local[2]",
        "spark.driver.memory": "1500m",
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m {_LOG4J}",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="minercdc-spark-"),
    }
    return _started(name, jars, {**ours, **(settings or {})})


def cluster_spark(name: str, *, python: str, settings: Mapping[str, str], advance: Advance | None = None) -> SparkSession:
    """Start a Spark session on the cluster of `spark.master`, with the driver in this process. One that is running is returned.

    The jars are sent to the executors, beside those of `spark.jars`. Sets JAVA_HOME and PYSPARK_PYTHON in the environment of the
    process, and removes SPARK_HOME.

    :param python: program that executors run.
    :param settings: of Spark.
    :param name, advance: see `local_spark`.
    :raises LocalServiceError: PySpark, a jar or Java is missing, or the JVM did not start.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    jars = _prepared(python, advance)
    sent = ",".join([*filter(None, [settings.get("spark.jars")]), *map(str, jars)])
    ours = {
        "spark.ui.showConsoleProgress": "false",
        SNAPSHOT_PARTITIONS: FEW_PARTITIONS,
        "spark.driver.extraJavaOptions": _LOG4J,
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="minercdc-spark-"),
    }
    return _started(name, jars, {**ours, **settings, "spark.jars": sent})


def _prepared(python: str, advance: Advance | None) -> list[Path]:
    """Prepare the process for PySpark: fetch jars unless they are cached, set JAVA_HOME and PYSPARK_PYTHON, and remove
    SPARK_HOME. Returns the jars.

    :raises LocalServiceError: PySpark or Java is missing, or a download failed.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise LocalServiceError("PySpark is not installed", hint="pip install 'minercdc[local]'") from None
    jars = fetch("spark", SPARK, advance)
    os.environ["JAVA_HOME"] = str(prepare_java())
    os.environ["PYSPARK_PYTHON"] = python
    os.environ.pop("SPARK_HOME", None)  # another installation's jars would not fit
    return jars


def _started(name: str, jars: Sequence[Path], settings: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    given = settings.get("spark.driver.extraClassPath")
    class_path = os.pathsep.join([*([given] if given else []), *map(str, [*jars, *_first_jars()])])
    builder = SparkSession.builder.appName(name)
    for key, value in {**settings, "spark.driver.extraClassPath": class_path}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise LocalServiceError(f"Spark did not start: {error}") from None


def _first_jars() -> list[Path]:
    import pyspark

    directory = Path(pyspark.__file__).with_name("jars")
    return [jar for pattern in _FIRST for jar in directory.glob(pattern)]


def end_java() -> None:
    """Kill Spark's JVM of this process, if there is one: it would print errors once this process is gone."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None and (java := getattr(SparkContext._gateway, "proc", None)) is not None:
        java.kill()


def prepare_java() -> Path:
    """A JAVA_HOME whose `bin/java` starts the Java of `find_java` without the option that the packaged runtime refuses.

    It is made in the cache directory when it is not there.

    :raises LocalServiceError: there is no Java.
    :raises OSError: the cache cannot be written.
    """
    java = find_java()
    home = cache_directory() / "java" / java.as_posix().strip("/").replace("/", "-")
    shim = home / "bin" / "java"
    text = _SHIM.format(java=java)
    if not shim.exists() or shim.read_text() != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        fresh = shim.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        fresh.rename(shim)
    return home
