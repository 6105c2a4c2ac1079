"""Spark sessions of the lake's own, in one application."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What the tables' names and times need in every session.
_SESSION_SETTINGS = {"spark.sql.caseSensitive": "true", "spark.sql.session.timeZone": "UTC"}


def compile_code(session: SparkSession, *, wanted: bool) -> None:
    """Set whether the session's next queries run as generated code, or are interpreted: that is sooner for few rows."""
    session.conf.set("spark.sql.codegen.wholeStage", str(wanted).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if wanted else "NO_CODEGEN")


def own_session(spark: SparkSession) -> SparkSession:
    """A new session of the same application, with views and settings of its own, and the settings that the lake needs."""
    session = spark.newSession()
    for name, value in _SESSION_SETTINGS.items():
        session.conf.set(name, value)
    return session


class ThreadSessions:
    """A session for each thread, made at its first call."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._local = threading.local()

    def get(self) -> SparkSession:
        """The calling thread's session."""
        if not hasattr(self._local, "spark"):
            self._local.spark = own_session(self._spark)
        session: SparkSession = self._local.spark
        return session
