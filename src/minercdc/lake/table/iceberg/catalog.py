"""The Iceberg catalog of a configuration, in sessions of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
from minercdc.config.urls import without_secrets
from minercdc.errors import LakeError
from minercdc.lake.table.catalog_errors import java_causes, unreached
from minercdc.lake.table.iceberg.snapshots import activate
from minercdc.lake.table.paths import LakePaths
from minercdc.local.spark import SECRETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog of a session.

    :param settings: Spark's, with which a session has it.
    """

    name: str
    settings: Mapping[str, str]

    def open(self, spark: SparkSession) -> None:
        """Have a session know the catalog, also one that was made without it. Raises LakeError as `reached`, and where the session has a
        catalog of that name at another place."""
        prefix = f"spark.sql.catalog.{self.name}"
        if spark.conf.get(prefix, None) is None:
            for name, value in self.settings.items():
                if name.startswith(prefix):
                    spark.conf.set(name, value)
        for member in ("type", "uri", "warehouse"):
            ours = self.settings.get(f"{prefix}.{member}")
            there = None if ours is None else spark.conf.get(f"{prefix}.{member}", None)
            if ours is not None and there is not None and _place(there) != _place(ours):
                raise LakeError(
                    f"the Spark session has a catalog {self.name} whose {member} is {without_secrets(there)}, but the configuration has"
                    f" {without_secrets(ours)}",
                    hint=f"Take a new session, another minercdc.lake.catalog.name, or {prefix}.{member} of the session for"
                    f" minercdc.lake.catalog.{member}.",
                )
        session: Any = spark
        activate(spark)
        with self.reached():
            session._jsparkSession.sessionState().catalogManager().catalog(self.name)

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Work with the catalog in the block. Raises LakeError where the catalog does not answer, or refuses who asks."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            yield
        except (Py4JJavaError, PySparkException) as error:
            uri = self.settings.get(f"spark.sql.catalog.{self.name}.uri", "")
            if (explained := unreached(self.name, uri, list(java_causes(error)))) is not None:
                raise explained from error
            raise


def _place(value: str) -> str:
    """A catalog's type or address, however it is written."""
    return value.removeprefix("file://").removeprefix("file:").rstrip("/")


def catalog_settings(config: ConnectorConfig) -> dict[str, str]:
    """Spark's settings with which a session has the catalog of a configuration."""
    lake = config.lake
    catalog = f"spark.sql.catalog.{lake.minercdc_lake_catalog_name}"
    given = {
        "type": lake.minercdc_lake_catalog_type,
        "uri": lake.minercdc_lake_catalog_uri,
        "warehouse": lake.minercdc_lake_catalog_warehouse,
    }
    if given["warehouse"] is None and given["type"] != "rest":
        given["warehouse"] = LakePaths(config).root
    passed_on = {"cache-enabled": "false", **config.lake_catalog}
    return {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.redaction.regex": SECRETS,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{catalog}.{name}": value for name, value in {**given, **passed_on}.items() if value is not None},
    }
