"""One micro-batch applied to the lake: per table, the last change of every key."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import SchemaHistoryError
from minercdc.lake.stream import COMMIT_SCN, ROWID_KEY, decode, quoted
from minercdc.lake.structures import Structure, Structures
from minercdc.lake.tables import LakeTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

OpenTable = Callable[[Structure], LakeTable]


def latest_per_key(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The change of each key with the highest Kafka offset: all records of a key are in one partition, in commit order."""
    columns = [quoted(name) for name in changes.columns]
    by = ", ".join(quoted(name) for name in key)
    ranked = changes.selectExpr(*columns, f"row_number() OVER (PARTITION BY {by} ORDER BY offset DESC) AS __rank")
    return ranked.where("__rank = 1").selectExpr(*columns)


class BatchApplier:
    """Applies micro-batches; given to `foreachBatch`.

    :param open_table: opens the lake table of a source table in the batch's session.
    """

    def __init__(self, config: ConnectorConfig, structures: Structures, open_table: OpenTable) -> None:
        self._config = config
        self._structures = structures
        self._open_table = open_table
        self._keyless: set[str] = set()

    def apply(self, batch: DataFrame, number: int) -> None:
        """Apply one micro-batch; the same `number` again changes nothing. Raises DeliveryError or SchemaHistoryError."""
        batch.persist()
        try:
            topics = batch.groupBy("topic").agg({"key": "max"}).collect()
            if not topics:
                return
            self._structures.refresh()
            for row in topics:
                self._apply_table(row["topic"], row["max(key)"], batch, number)
        finally:
            batch.unpersist()

    def _apply_table(self, topic: str, some_key: bytes | None, batch: DataFrame, number: int) -> None:
        structure = self._structures.of_topic(topic)
        if structure is None:
            raise SchemaHistoryError(
                f"topic {topic} holds rows of a table that the schema history does not know",
                hint="was the schema history topic deleted, or does minercdc.lake's configuration name another connector's topics?",
            )
        key = self._key_columns(some_key)
        if some_key is None and topic in self._keyless:
            return
        rowid_key = key == (ROWID_KEY,)
        records = batch.where(batch["topic"] == topic)
        values = self._config.values
        changes = decode(records, structure, with_schemas=values.value_converter_schemas_enable, rowid_key=rowid_key)
        table = self._open_table(structure)
        table.evolve(structure, rowid_key=rowid_key)
        if self._config.lake.minercdc_lake_truncate == "apply":
            changes = self._truncated(changes, table, number)
        changes = changes.where("op <> 't'")
        if not key:
            if not changes.isEmpty():
                self._keyless.add(topic)
                log.warning(
                    "table %s has no key: its changes are in topic %s, but not in the lake; "
                    "minercdc.keyless.table.key=rowid or message.key.columns give it one",
                    structure.name,
                    topic,
                )
            return
        columns = [*structure.columns, *((ROWID_KEY,) if rowid_key else ())]
        table.merge(latest_per_key(changes, key), key, columns, number)

    def _key_columns(self, some_key: bytes | None) -> tuple[str, ...]:
        """Names of the columns of the record key."""
        if some_key is None:
            return ()
        document = json.loads(some_key)
        if self._config.values.key_converter_schemas_enable:
            document = document["payload"]
        return tuple(document)

    @staticmethod
    def _truncated(changes: DataFrame, table: LakeTable, number: int) -> DataFrame:
        last = changes.where("op = 't'").agg({COMMIT_SCN: "max"}).collect()[0][0]
        if last is None:
            return changes
        table.truncate(int(last), number)
        return changes.where(f"{COMMIT_SCN} >= {last}")
