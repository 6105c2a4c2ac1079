"""The Spark session of a lake: on this machine, on a cluster's master, or in the application that spark-submit started.

spark-submit started this process     its master, jars and settings; ours are added, `minercdc.lake.spark.*` win
minercdc.lake.spark.master            client mode: the driver is this process; jars are fetched, and sent to executors
neither, or a master `local..`        threads of a JVM on this machine, two by default
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, LakeError, LocalServiceError
from minercdc.lake.spark.own_sessions import prefer_few_partitions
from minercdc.lake.table.format import TableFormat
from minercdc.lake.table.formats import format_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Advance = Callable[[int, int], None]

OLDEST_SPARK = 4
"""The first major version of Spark that the lake runs on."""

_KAFKA_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_MADE_FOR = re.compile(r"(?:delta-spark_|iceberg-spark-runtime-)(\d+\.\d+)_")
"""The Spark that a format's jar is made for, in its name."""
_CONNECT = (
    "Spark Connect is not supported: the lake calls Delta's log and Hadoop's file systems in the driver's JVM, which a Connect client"
    " does not have"
)
_CONNECT_HINT = "Run it with spark-submit, or give minercdc.lake.spark.master the address of the cluster's master."


def session(config: ConnectorConfig, *, advance: Advance | None = None) -> SparkSession:
    """The session, with the format of `minercdc.lake.format`, the Kafka source and the settings of `minercdc.lake.spark.*`. One that is running is returned.

    Sets environment variables of PySpark, as `local.spark.local_spark`, unless spark-submit has started this process.

    :param advance: called with the jars done and the jars in all while they are fetched.
    :raises ConfigError: the settings, or SPARK_REMOTE, are for Spark Connect.
    :raises LakeError: spark-submit was not given the format for its Spark, or the Kafka source.
    :raises LocalServiceError: PySpark, a jar or Java is missing, or Spark did not start.
    :raises OSError: the cache of jars cannot be written.
    :raises ValueError: Python's file of trusted authorities holds no certificates, and jars have to be fetched.
    """
    settings = dict(config.lake_spark)
    connects = settings.get("spark.api.mode", "").lower() == "connect"
    if connects or "spark.remote" in settings or os.environ.get("SPARK_REMOTE"):
        raise ConfigError([_CONNECT], hint=_CONNECT_HINT)
    name = f"minercdc-{config.identity.name}"
    lake = format_of(config)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _submitted(name, lake, settings)
    from minercdc.local.spark import cluster_spark, local_spark

    master = settings.get("spark.master", "local")
    if master.startswith("local"):
        return local_spark(name, advance=advance, settings={**lake.session, **settings}, form=lake.name)
    python = settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    return cluster_spark(name, python=python, advance=advance, settings={**_needed(lake), **settings}, form=lake.name)


def refuse_session(spark: SparkSession, config: ConnectorConfig) -> None:
    """Raises LakeError for a session that cannot have this lake: one of Spark Connect, of a Spark that is too old, or without the format's jars
    for its Spark; as `spark_jars` where a Spark has none."""
    if is_connect(spark):
        raise LakeError(_CONNECT, hint=_CONNECT_HINT)
    if int(spark.version.split(".")[0]) < OLDEST_SPARK:
        raise LakeError(
            f"the lake needs Spark {OLDEST_SPARK}.0 or later, and this session is one of Spark {spark.version}",
            hint="Install 'minercdc[lake]'; on Spark 3.5 minercdc.lake.read_changes reads the topics.",
        )
    lake = format_of(config)
    _refuse_jars(spark, lake, [lake.java_class])


def _refuse_jars(spark: SparkSession, lake: TableFormat, classes: Sequence[str]) -> None:
    """Raises LakeError where classes are missing, or the format's jar is one for another Spark, which fails with errors of Java's linker."""
    missing = [one for one in classes if not has_class(spark, one)]
    jar = "" if missing else _jar_of(spark, lake.java_class)
    made_for = _MADE_FOR.search(jar)
    if missing:
        problem = f"Spark does not have {', '.join(missing)}"
    elif made_for is not None and made_for[1] != ".".join(spark.version.split(".")[:2]):
        problem = f"Spark {spark.version} has {lake.name.capitalize()} for Spark {made_for[1]}: {jar}"
    else:
        return
    from minercdc.local.spark_artifacts import spark_jars

    packages = ",".join(spark_jars(spark.version, lake.name))
    raise LakeError(problem, hint=f"spark-submit --packages {packages} ...")


def _jar_of(spark: Any, name: str) -> str:
    """The file that the driver's JVM has a class from; '' where it does not say."""
    source = spark._jvm.org.apache.spark.util.Utils.classForName(name, False, False).getProtectionDomain().getCodeSource()
    return "" if source is None or source.getLocation() is None else str(source.getLocation().getPath())


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no JVM of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _needed(lake: TableFormat) -> Mapping[str, str]:
    """What the lake needs of every session; what else a session has is the user's affair."""
    return {**lake.session, "spark.sql.session.timeZone": "UTC"}


def _submitted(name: str, lake: TableFormat, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in {**_needed(lake), **settings}.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise LocalServiceError(f"Spark did not start: {error}") from None
    prefer_few_partitions(spark)
    _refuse_jars(spark, lake, [lake.java_class, _KAFKA_CLASS])
    return spark


def has_class(spark: Any, name: str) -> bool:
    """Whether the driver's JVM finds a class."""
    from py4j.protocol import Py4JJavaError

    try:
        spark._jvm.org.apache.spark.util.Utils.classForName(name, False, False)
    except Py4JJavaError:
        return False
    return True
