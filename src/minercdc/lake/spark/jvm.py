"""Java classes of the driver's JVM, by their full names, and its collections."""

from __future__ import annotations

from collections.abc import Iterator
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


def elements(collection: Any) -> Iterator[Any]:
    """The elements of a Java collection, each fetched when it is asked for.

    py4j's own iteration ends with Java's NoSuchElementException, of which PySpark asks Java twenty times what kind it is: 25 ms each time.
    """
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()
