"""Java classes of the driver's JVM, by their full names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of the driver's JVM, for its static methods and constructors; `jvm.a.b.C` without the search for it.

    `jvm.a.b.C` has Java look for classes `a` and `a.b`, also in each imported package: in 300 jars of Spark, at every use.

    :param name: full name of a class that is there; another one raises Py4JError when it is used.
    """
    from py4j.java_gateway import JavaClass

    session: Any = spark
    return JavaClass(name, session.sparkContext._gateway._gateway_client)
