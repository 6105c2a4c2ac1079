"""Which jars go with which Spark: its Kafka source and Avro, Delta and Iceberg, by Maven coordinates.

Listed one by one and fetched without their dependencies, which PySpark has already, or which its jars bring along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from minercdc.errors import LocalServiceError

Format = Literal["delta", "iceberg"]


@dataclass(frozen=True, slots=True)
class SparkArtifacts:
    """The jars that one minor version of Spark takes.

    :param release: the version of the Kafka source and of Avro.
    :param delta, iceberg: the versions of the formats that are made for this Spark; '' for none.
    :param java: the newest that it runs on; None for any. Hadoop 3.4, which Spark has before 4.2, calls `Subject.getSubject`, which Java
        ends with an error from version 23 on.
    :param scala: that PySpark's own jars are made for.
    :param kafka_clients, commons_pool: the versions of what the Kafka source needs.
    """

    release: str
    delta: str = ""
    iceberg: str = ""
    java: int | None = None
    scala: str = "2.13"
    kafka_clients: str = "3.9.2"
    commons_pool: str = "2.13.1"


_SPARKS: Mapping[str, SparkArtifacts] = {
    "4.0": SparkArtifacts("4.0.0", delta="4.4.0", iceberg="1.11.0", java=22),
    "4.1": SparkArtifacts("4.1.1", delta="4.4.0", iceberg="1.12.0", java=22),
    "4.2": SparkArtifacts("4.2.0", delta="4.4.0"),
}
# A Spark that reads topics, and has no lake.
_READERS: Mapping[str, SparkArtifacts] = {
    "3.5": SparkArtifacts("3.5.7", java=22, scala="2.12", kafka_clients="3.4.1", commons_pool="2.11.1"),
}


def spark_jars(spark: str, form: Format = "delta") -> tuple[str, ...]:
    """The jars of a lake on a Spark.

    :param spark: its version, such as `4.1.4`.
    :param form: of the lake's tables.
    :raises LocalServiceError: this Spark is not supported, or has no jars of the format.
    """
    minor, found = _of(spark, _SPARKS)
    if form == "delta":
        formats = [f"io.delta:delta-spark_{minor}_2.13:{found.delta}", f"io.delta:delta-storage:{found.delta}"]
    elif found.iceberg:
        formats = [f"org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:{found.iceberg}"]
    else:
        there = ", ".join(one for one, artifacts in _SPARKS.items() if artifacts.iceberg)
        raise LocalServiceError(
            f"there is no Iceberg for Spark {minor}",
            hint=f"Iceberg exists for Spark {there}: pip install 'minercdc[iceberg]'",
        )
    return (*topic_jars(spark), *formats, spark_avro(spark))


def topic_jars(spark: str) -> tuple[str, ...]:
    """The jars with which a Spark reads topics, and `minercdc.lake.read_changes` needs no others for JSON. Raises LocalServiceError when
    this Spark is not supported."""
    _, found = _of(spark, {**_SPARKS, **_READERS})
    return (
        f"org.apache.spark:spark-sql-kafka-0-10_{found.scala}:{found.release}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_{found.scala}:{found.release}",
        f"org.apache.kafka:kafka-clients:{found.kafka_clients}",
        f"org.apache.commons:commons-pool2:{found.commons_pool}",
    )


def newest_java(spark: str) -> int | None:
    """The newest Java that a Spark runs on; None for any. Raises LocalServiceError when this Spark is not supported."""
    return _of(spark, {**_SPARKS, **_READERS})[1].java


def installed_spark() -> str:
    """The version of the PySpark that is installed. Raises LocalServiceError when there is none."""
    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise LocalServiceError("PySpark is not installed", hint="pip install 'minercdc[local]'") from None


def spark_avro(spark: str) -> str:
    """The jar of Spark's Avro reader for a Spark. Raises LocalServiceError when this Spark is not supported."""
    _, found = _of(spark, {**_SPARKS, **_READERS})
    return f"org.apache.spark:spark-avro_{found.scala}:{found.release}"


def _of(spark: str, known: Mapping[str, SparkArtifacts]) -> tuple[str, SparkArtifacts]:
    minor = ".".join(spark.split(".")[:2])
    if minor not in known:
        raise LocalServiceError(
            f"Spark {spark} is not supported",
            hint=f"The lake runs on Spark {', '.join(_SPARKS)}: pip install 'minercdc[lake]'",
        )
    return minor, known[minor]
