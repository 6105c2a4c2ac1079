"""What this process asks of Iceberg's own object of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native_iceberg.schema import fields_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plain_fields(spark: SparkSession, table: Any) -> tuple[FileField, ...] | None:
    """The columns of a table; None where more has to be done to its rows than to write them in Parquet and to delete them by position.

    :param table: Iceberg's object.
    """
    properties = table.properties()
    if not table.spec().isUnpartitioned() or table.sortOrder().isSorted() or properties.get("encryption.key-id") is not None:
        return None
    if str(properties.get("write.format.default") or "parquet").lower() != "parquet":
        return None
    if int(java_class(spark, "org.apache.iceberg.TableUtil").formatVersion(table)) != 2:
        return None
    return fields_of(str(java_class(spark, "org.apache.iceberg.SchemaParser").toJson(table.schema())))


def commit(update: Any, said: Mapping[str, str]) -> None:
    """Commit an update of Iceberg's, whose snapshot has these members in its summary."""
    for name, value in said.items():
        update = update.set(name, value)
    update.commit()
