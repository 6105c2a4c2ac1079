"""The Iceberg catalog of a configuration, in sessions of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
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
        """Have a session know the catalog, also one that was made without it. Raises LakeError as `reached`."""
        prefix = f"spark.sql.catalog.{self.name}"
        if spark.conf.get(prefix, None) is None:
            for name, value in self.settings.items():
                if name.startswith(prefix):
                    spark.conf.set(name, value)
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
