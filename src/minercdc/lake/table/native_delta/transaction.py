"""Commits of what this process has written to a Delta table, by Delta's own transactions: they check for other writers, and assign what a
table's features need of each commit."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native_delta.schema import fields_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

PLAIN = frozenset(
    (
        "delta.autoOptimize.autoCompact",
        "delta.checkpointInterval",
        "delta.columnMapping.maxColumnId",
        "delta.columnMapping.mode",
        "delta.dataSkippingStatsColumns",
        "delta.deletedFileRetentionDuration",
        "delta.enableDeletionVectors",
        "delta.enableExpiredLogCleanup",
        "delta.enableTypeWidening",
        "delta.logRetentionDuration",
    )
)
"""Properties of a table by which nothing else has to be done to its rows than what is done here."""
_OURS = "minercdc."


class UnknownDelta(Exception):
    """This version of Delta lacks a method that is called here."""


@contextmanager
def _known() -> Iterator[None]:
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except Py4JJavaError:  # it is there, and failed
        raise
    except Py4JError as error:
        logger.debug("Spark does what this Delta does not do here: %s", error)
        raise UnknownDelta(str(error)) from error


class DeltaTransaction:
    """A transaction on the newest version of a table. Each method raises `UnknownDelta`.

    :param log: Delta's log of the table.
    """

    def __init__(self, spark: SparkSession, log: Any) -> None:
        self._spark = spark
        with _known():
            self._of_delta = log.startTransaction()
            self._metadata = self._of_delta.metadata()

    @property
    def version(self) -> int:
        """The version that it is on."""
        with _known():
            return int(self._of_delta.readVersion())

    @property
    def is_first(self) -> bool:
        """Whether there is no table yet."""
        return self.version < 0

    def create(self, schema: str, properties: Mapping[str, str]) -> None:
        """Have the commit make the table.

        :param schema: `schema.schema_of` its columns.
        """
        metadata = {
            "id": str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": int(time.time() * 1000),
        }
        with _known():
            self._of_delta.updateMetadataForNewTable(self._action({"metaData": metadata}))
            self._metadata = self._of_delta.metadata()

    def give(self, properties: Mapping[str, str]) -> None:
        """Have the commit give the table properties, with the features of Delta that they need."""
        with _known():
            found = json.loads(str(self._metadata.json()))
            found["metaData"]["configuration"] |= properties
            self._of_delta.updateMetadata(self._action(found), False)
            self._metadata = self._of_delta.metadata()

    def _action(self, found: Mapping[str, Any]) -> Any:
        return java_class(self._spark, "org.apache.spark.sql.delta.actions.Action").fromJson(json.dumps(found))

    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        listed = str(self._metadata.configuration().mkString("\n"))
        return dict(line.split(" -> ", 1) for line in listed.splitlines() if " -> " in line)

    def plain_fields(self) -> tuple[FileField, ...] | None:
        """The table's columns; None where more has to be done to its rows than to write them, as for partitions and constraints."""
        names = self.properties()
        if any(name not in PLAIN and not name.startswith(_OURS) for name in names):
            return None
        if not self._metadata.partitionColumns().isEmpty() or names.get("delta.columnMapping.mode") == "id":
            return None
        return fields_of(str(self._metadata.schemaString()))

    def has_made(self, writer: str, number: int) -> bool:
        """Whether a writer's append of this number, or a later one, was committed."""
        if (last := self._last_of_checksum(writer)) is None:
            with _known():
                last = int(self._of_delta.txnVersion(writer))  # by a Spark job over the whole log
        return last >= number

    def _last_of_checksum(self, writer: str) -> int | None:
        """Number of a writer's last append, as the checksum of the version has it, -1 for none; None where it does not say that."""
        try:
            with _known():
                checksum = self._of_delta.snapshot().checksumOpt()
                made = checksum.get().setTransactions() if checksum.isDefined() else checksum
                if not made.isDefined():
                    return None
                # As `txnVersion` does: an append of the writer at the same time is a conflict.
                self._of_delta.readTxn().addOne(writer)
                each = (made.get().apply(i) for i in range(int(made.get().size())))
                return next((int(one.version()) for one in each if str(one.appId()) == writer), -1)
        except UnknownDelta:
            return None

    def reads_all(self) -> None:
        """Note that the commit depends on all rows: it fails where another one changes some."""
        with _known():
            self._of_delta.readWholeTable()

    def commit(self, actions: Iterable[Mapping[str, Any]], writer: str, number: int, said: str | None = None) -> None:
        """Commit actions as the log has them.

        :param writer, number: of the append, as DESCRIBE HISTORY shows them.
        :param said: the commit's `userMetadata`.
        """
        with _known():
            found = self._list([self._action(one) for one in actions])
            mode = java_class(self._spark, "org.apache.spark.sql.streaming.OutputMode").Append()
            operation = java_class(self._spark, "org.apache.spark.sql.delta.DeltaOperations$StreamingUpdate")
            option = java_class(self._spark, "scala.Option")
            self._of_delta.commit(found, operation(mode, writer, number, option.apply(said)))

    def _list(self, values: Sequence[Any]) -> Any:
        listed = java_class(self._spark, "java.util.ArrayList")()
        for value in values:
            listed.add(value)
        return java_class(self._spark, "scala.jdk.javaapi.CollectionConverters").asScala(listed).toSeq()
