"""Records the owner of a lake: the first connector that writes to it. Tables, change log and state of two connectors would mix.

The file `_connector` in `minercdc.lake.path` has the connector's name and `topic.prefix`, as JSON, and the template of the tables' names
in their catalog, where there is one: with another, the lake would begin its tables again beside those that it has.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.spark.jvm import java_class
from minercdc.lake.table.paths import LakePaths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
_FILE: Final = "_connector"
_NAMES: Final = "catalog.table.name"
_WRITING_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 0.1


def claim(spark: SparkSession, config: ConnectorConfig, *, first: Callable[[], None] = lambda: None) -> None:
    """Make the lake this connector's, unless it is already. Nothing else was written to it before.

    :param first: called for a lake that is not another connector's, before anything is written; what it raises is raised.
    :raises ConfigError: it is another connector's.
    :raises LakeError: `minercdc.lake.path` cannot be read or written.
    """
    own = {"name": config.identity.name, "topic.prefix": config.identity.topic_prefix}
    if template := config.lake.minercdc_lake_catalog_table_name:
        own[_NAMES] = template
    with _file(spark, config) as (files, path):
        found = _read(spark, files, path)
    _refuse(config, found)
    first()
    if found is None:
        with _file(spark, config) as (files, path):
            found = _written(spark, files, path, json.dumps(own))
        _refuse(config, found)


def _written(spark: SparkSession, files: Any, path: Any, own: str) -> dict[str, str] | None:
    """Write the file, unless another process has made it since it was looked for, and return what it says then. One that is left half
    written is replaced, after a time in which who writes it would have ended."""
    from py4j.protocol import Py4JJavaError

    end = time.monotonic() + _WRITING_SECONDS
    while (found := _read(spark, files, path)) is None:
        is_there = bool(files.exists(path))
        if is_there and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            continue
        try:
            stream = files.create(path, is_there)
        except Py4JJavaError as error:
            if is_there or not files.exists(path):
                raise
            _log.debug("another process was faster: %s", error)
            continue
        try:
            stream.writeBytes(own)
        finally:
            stream.close()
    return found


def refuse_others(spark: SparkSession, config: ConnectorConfig) -> None:
    """Raise as `claim` where the lake is another connector's; nothing is written."""
    with _file(spark, config) as (files, path):
        found = _read(spark, files, path)
    _refuse(config, found)


@contextmanager
def _file(spark: SparkSession, config: ConnectorConfig) -> Iterator[tuple[Any, Any]]:
    """Hadoop's file system, and the path of the file in it; its errors within are LakeErrors."""
    from py4j.protocol import Py4JJavaError

    root = LakePaths(config).root
    session: Any = spark
    try:
        path = java_class(spark, "org.apache.hadoop.fs.Path")(f"{root}/{_FILE}")
        yield path.getFileSystem(session._jsc.hadoopConfiguration()), path
    except Py4JJavaError as error:
        raise unusable(root, error.java_exception.toString()) from None


def unusable(root: str, cause: str) -> LakeError:
    """The error that `minercdc.lake.path` cannot be read or written.

    :param cause: the exception of Java, as text.
    """
    scheme = root.partition(":")[0]
    if "ClassNotFoundException" in cause or "UnsupportedFileSystemException" in cause or "No FileSystem for scheme" in cause:
        return LakeError(
            f"the lake at {root} cannot be read or written: Spark does not have the file system of {scheme}",
            hint="Name its package in minercdc.lake.spark.jars.packages, for s3a: org.apache.hadoop:hadoop-aws in the version of Spark's Hadoop.",
        )
    wanted = "must be a directory or must be creatable as one"
    if "Credentials" in cause or "AccessDenied" in cause:
        wanted = "is in a store that asks for keys: see the settings minercdc.lake.spark.hadoop.* of that store"
    return LakeError(f"the lake at {root} cannot be read or written: {cause}", hint=f"minercdc.lake.path {wanted}.")


def _refuse(config: ConnectorConfig, found: Mapping[str, str] | None) -> None:
    identity, root = config.identity, LakePaths(config).root
    if found is not None and (found["name"], found["topic.prefix"]) != (identity.name, identity.topic_prefix):
        raise ConfigError(
            [
                f"minercdc.lake.path: {root} is the lake of connector {found['name']} (topic.prefix"
                f" {found['topic.prefix']}), but this is {identity.name} (topic.prefix {identity.topic_prefix})"
            ],
            hint=f"Use a separate lake for each connector. If this connector replaces the other, delete {root}/{_FILE}.",
        )
    template = config.lake.minercdc_lake_catalog_table_name or ""
    if found is not None and found[_NAMES] != template:
        raise ConfigError(
            [
                f"minercdc.lake.catalog.table.name: the lake at {root} was begun with {found[_NAMES] or 'no template'}, and has its tables"
                f" under those names; now it is {template or 'not set'}"
            ],
            hint="Give it back what the lake was begun with. A lake with other names needs a minercdc.lake.path of its own.",
        )


def _read(spark: SparkSession, files: Any, path: Any) -> dict[str, str] | None:
    """What the file says; None where there is none, or one that a kill left half written."""
    if not files.exists(path):
        return None
    stream = files.open(path)
    try:
        found = json.loads(str(java_class(spark, "org.apache.commons.io.IOUtils").toString(stream, "UTF-8")))
        own = {name: str(found[name]) for name in ("name", "topic.prefix")}
        return {**own, _NAMES: str(found.get(_NAMES, ""))}
    except (ValueError, KeyError, TypeError):
        return None
    finally:
        stream.close()
