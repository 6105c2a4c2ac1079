"""Spark sessions of the lake's own, in one application; and what a session that is not ours needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.local.delta_log import FEW_PARTITIONS, SNAPSHOT_PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE_SENSITIVE = "spark.sql.caseSensitive"
CODEC = "spark.sql.parquet.compression.codec"
_SESSION_SETTINGS = {
    # What the tables' names and times need in every session.
    CASE_SENSITIVE: "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",  # of what Python workers decode: a row may have some kilobytes
    # In the checksum of a version Delta would list the files of a new table, and count the rows that are marked as deleted, by queries of
    # seconds. They are off for good, since several threads commit in a session at once.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
    "spark.databricks.delta.checksumDVMetrics.enabled": "false",
}


def compile_code(session: SparkSession, *, wanted: bool) -> None:
    """Set whether the session's next queries run as generated code, or are interpreted: that is sooner for few rows."""
    session.conf.set("spark.sql.codegen.wholeStage", str(wanted).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if wanted else "NO_CODEGEN")


def own_session(spark: SparkSession) -> SparkSession:
    """A new session of the same application, with views and settings of its own, and the settings that the lake needs."""
    session = spark.newSession()
    for name, value in _SESSION_SETTINGS.items():
        session.conf.set(name, value)
    prefer_few_partitions(session)
    prefer_zstd(session)
    return session


def prefer_zstd(session: SparkSession) -> None:
    """Have files written in zstd, which takes half the bytes of Spark's own choice and no more CPU, unless the session's settings say
    otherwise."""
    if session.conf.get(CODEC, None) is None:
        session.conf.set(CODEC, "zstd")


def prefer_few_partitions(session: SparkSession) -> None:
    """Have Delta read a table's log in few tasks, unless the session's settings say in how many."""
    if session.conf.get(SNAPSHOT_PARTITIONS, None) is None:
        session.conf.set(SNAPSHOT_PARTITIONS, FEW_PARTITIONS)


@contextmanager
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """As `prefer_few_partitions`, in a session that is not ours: what is read of Delta's logs within is kept for its queries."""
    former = spark.conf.get(SNAPSHOT_PARTITIONS, None)
    prefer_few_partitions(spark)
    try:
        yield
    finally:
        if former is None:
            spark.conf.unset(SNAPSHOT_PARTITIONS)


@contextmanager
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    """Distinguish names that differ in case only, in a session that is not ours: the DataFrames that are made within keep to it,
    since Spark resolves names as a DataFrame is made."""
    former = spark.conf.get(CASE_SENSITIVE)
    spark.conf.set(CASE_SENSITIVE, "true")
    try:
        yield
    finally:
        spark.conf.set(CASE_SENSITIVE, former or "false")


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Have what is called in the JVM within go by this session's settings: a query's own session is made the active one by Spark, but of what
    this thread calls directly, such as Delta's transactions, it is the one that was made first."""
    session: Any = spark
    of_java = java_class(spark, "org.apache.spark.sql.classic.SparkSession")
    former = of_java.getActiveSession()
    of_java.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if former.isDefined():
            of_java.setActiveSession(former.get())
        else:
            of_java.clearActiveSession()


class ThreadSessions:
    """A session for each thread, made at its first call."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._local = threading.local()

    def get(self) -> SparkSession:
        """The calling thread's session, made at its first call."""
        if not hasattr(self._local, "spark"):
            self._local.spark = own_session(self._spark)
        session: SparkSession = self._local.spark
        return session
