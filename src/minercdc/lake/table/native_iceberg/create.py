"""Makes Iceberg tables with their first rows in one commit, with no Spark job."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native.parquet import UnknownRows
from minercdc.lake.table.native_iceberg.files import IcebergFiles, unread
from minercdc.lake.table.native_iceberg.table import commit, plain_fields

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


class IcebergCreate:
    """Makes tables in one catalog of a session.

    :param catalog: its name there.
    """

    def __init__(self, spark: SparkSession, catalog: str) -> None:
        session: Any = spark
        self._spark = spark
        self._catalog = session._jsparkSession.sessionState().catalogManager().catalog(catalog).icebergCatalog()

    def run(
        self,
        path: Sequence[str],
        schema: str,
        properties: Mapping[str, str],
        rows_of: Callable[[Sequence[FileField]], pa.Table | None],
        said: Mapping[str, str],
    ) -> bool:
        """Make a table whose namespace is there; False, and no table, where only Spark writes such rows.

        :param path: namespaces and name.
        :param schema: `schema.schema_of` its columns.
        :param rows_of: the first rows, in columns of the table's fields; None where these are not as the fields want them.
        :param said: what the commit's summary says.
        """
        try:
            with unread():
                begun = self._begun(path, schema, properties, rows_of)
        except UnknownRows as error:
            log.debug("Spark makes the table: %s", error)
            return False
        if begun is None:
            return False
        transaction, update = begun
        commit(update, said)
        transaction.commitTransaction()
        return True

    def _begun(
        self,
        path: Sequence[str],
        schema: str,
        properties: Mapping[str, str],
        rows_of: Callable[[Sequence[FileField]], pa.Table | None],
    ) -> tuple[Any, Any] | None:
        """Iceberg's transaction that makes the table, and its update that appends the rows."""
        parsed = java_class(self._spark, "org.apache.iceberg.SchemaParser").fromJson(schema)
        users = java_class(self._spark, "org.apache.hadoop.security.UserGroupInformation")
        given = {"owner": str(users.getCurrentUser().getShortUserName()), **properties}
        built = self._catalog.buildTable(self._identifier(path), parsed).withProperties(given)
        transaction = built.createTransaction()
        table = transaction.table()
        fields = plain_fields(self._spark, table)
        rows = None if fields is None else rows_of(fields)
        if rows is None:
            return None
        update = transaction.newAppend()
        if rows.num_rows:
            update = update.appendFile(IcebergFiles(self._spark, table).new_rows(rows))
        return transaction, update

    def _identifier(self, path: Sequence[str]) -> Any:
        session: Any = self._spark
        names = session.sparkContext._gateway.new_array(session.sparkContext._jvm.java.lang.String, len(path))
        for i, name in enumerate(path):
            names[i] = name
        return java_class(self._spark, "org.apache.iceberg.catalog.TableIdentifier").of(names)
