"""The change log: every record of the table topics but tombstones, appended once per micro-batch to one table of the lake's format.

Tables are merged from it, made again from it and read as of an SCN with it:

    batch        number of the append, rising
    topic, partition, offset, key, value    of the record; `value` without what follows the images `before` and `after`, and without its
                 schema, unless the document is in another order than the connector prints. An older version kept all of it
    op, scn, commit_scn, seq, commit_time, row_id    of its envelope; snapshot rows have the SCN they were read at as `commit_scn`
    initial      a row of an initial snapshot
    partial      some value is the placeholder, or is named in `unavailable`: redo did not hold it
    unavailable  JSON array of the columns that redo did not hold and that are null, for want of a placeholder of their type
    old_key      key that the row had before this change of it; a log that an older version began has none for its first batches
    long_number  some NUMBER without scale may have more than eight bytes, null where that is not known: an older version wrote the row

`op` is null where the value is no envelope of ours.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minercdc.config.sections import ValueConfig
from minercdc.lake.read.envelope import with_envelope
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.log_sums import ends_of_partitions, sums_of_batches
from minercdc.lake.table.format import LogTable, Once
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER
from minercdc.messages.envelope.table_format import ROWID_KEY

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

_BYTES: Mapping[str, Callable[[bytes], str]] = {
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "base64-url-safe": lambda raw: base64.urlsafe_b64encode(raw).decode(),
    "hex": bytes.hex,
}
_ADDED = {
    "old_key": "STRING",
    "long_number": "BOOLEAN",
    "unavailable": "STRING",
}  # columns that a log of an older version lacks
OLD_KEY = "__debezium.oldkey"  # header of a create that is part of a change of the key
VANISHED = "op = 'd' AND seq = 0"  # SQL: a row that was found to be gone: no change of a transaction has the number 0
_SCHEMA = (
    "batch BIGINT, topic STRING, partition INT, offset BIGINT, op STRING, scn BIGINT, commit_scn BIGINT, seq BIGINT, commit_time TIMESTAMP,"
    " row_id STRING, initial BOOLEAN, partial BOOLEAN, long_number BOOLEAN, key STRING, value STRING, unavailable STRING, old_key STRING"
)
_ROWS_OF_SEVERAL_TASKS = 10_000  # fewer are one file
_LONG_NUMBER = '"value":"[A-Za-z0-9+/]{12}'  # more than eight bytes in base64, whose last characters may be =
# What a batch holds of a topic, as `_arrival` takes it; and of which topics it is.
_AGGREGATES = (
    "count(1) AS rows",
    "min(commit_scn) AS lowest",
    "max(commit_scn) AS highest",
    "min(scn) AS lowest_scn",
    "max(scn) AS highest_scn",
    "max(if(op = 't', scn, 0)) AS truncated",
    "max(if(initial, scn, 0)) AS snapshot",
    "count_if(op IS NULL OR scn IS NULL) AS undecodable",
    "bool_or(partial) AS has_partial",
    "count_if(row_id IS NULL AND op <> 't') AS unplaced",
    "bool_or(op = 'r') AS has_read",
    f"bool_or({VANISHED}) AS has_vanished",
    "min(unix_micros(commit_time)) AS oldest_us",
    "bool_or(coalesce(long_number, true)) AS has_long_number",
)
_TOPICS = ("min(topic) AS first_topic", "max(topic) AS last_topic")
_INITIAL = "('first', 'first_in_data_collection', 'true', 'last_in_data_collection', 'last')"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What one batch of the change log holds of one topic.

    :param rows: how many records.
    :param lowest, highest: the lowest and highest commit SCN, 0 for none.
    :param scns: the lowest and highest SCN of the changes themselves, 0 for none.
    :param truncated: SCN of the last truncate event, 0 for none.
    :param snapshot: the highest SCN of an initial snapshot that read some of the rows, 0 for none.
    :param undecodable: how many records are no envelopes of ours.
    :param partial: some row has the placeholder in place of a value.
    :param unplaced: how many rows have no ROWID.
    :param read: some row was read by a snapshot (op `r`).
    :param vanished: some row was found to be gone, so that only its key is known.
    :param long_numbers: some row may have a number of more than eight bytes.
    :param oldest_us: the earliest commit time, in microseconds since 1970; 0 for none.
    """

    topic: str
    batch: int
    rows: int
    lowest: int
    highest: int
    scns: tuple[int, int]
    truncated: int
    snapshot: int
    undecodable: int
    partial: bool
    unplaced: int = 0
    read: bool = False
    vanished: bool = False
    oldest_us: int = 0
    long_numbers: bool = True


class ChangeLog:
    """The change log in `table`, which need not be there before the first append.

    :param values: how the connector writes values.
    :ivar spark: the session of `table`, in which it is read.
    """

    def __init__(self, spark: SparkSession, table: LogTable, values: ValueConfig) -> None:
        self.spark = spark
        self.table = table
        self._values = values

    def append(self, records: DataFrame, batch: int, writer: str, number: int, *, one_topic: bool) -> list[Arrival] | None:
        """Append the records of a micro-batch as batch `batch`; nothing happens when micro-batch `number` was appended before.
        The first append makes the table.

        :param records: Spark's Kafka columns, with headers.
        :param writer: id of the stream; with `number` it names the append.
        :param one_topic: the records are of one topic: what they are is observed.
        :returns: what the batch holds, where that was observed on the way; None: `arrivals` finds out.
        """
        from pyspark.sql import Observation

        rows, observation = self._parsed(records, batch), None
        if one_topic:  # what is observed cannot be grouped, and costs no query
            observation = Observation()
            rows = rows.observe(observation, *_expressions(*_AGGREGATES, *_TOPICS))
        # Kafka's partitions are read one after another, so a topic's records lie together without being sorted.
        rows = rows.coalesce(self.spark.sparkContext.defaultParallelism)
        self.table.append(rows, Once(writer, number))
        return None if observation is None else _observed(observation, batch)

    def append_rows(self, rows: pa.Table, writer: str, number: int, session: SparkSession) -> bool:
        """Append rows in the columns of the module's docstring, as `append` would; False where it has appended micro-batch `number` before.

        :param writer, number: see `append`.
        :param session: in which they are written.
        """
        from pyspark.sql import Observation

        once = Once(writer, number)
        if (appended := self.table.append_here(rows, once)) is not None:
            return appended
        observation = Observation()
        frame = from_arrow(session, rows, _SCHEMA).observe(observation, *_expressions("count(1) AS rows"))
        tasks = self.spark.sparkContext.defaultParallelism if rows.num_rows >= _ROWS_OF_SEVERAL_TASKS else 1
        self.table.append(frame.coalesce(tasks), once)
        return bool(observation._jo.future().isCompleted())

    def exists(self) -> bool:
        """Whether there is a change log."""
        return self.table.exists()

    def _parsed(self, records: DataFrame, batch: int) -> DataFrame:
        rows = with_envelope(records.where("value IS NOT NULL"), wrapped=self._values.value_converter_schemas_enable)
        rows = rows.selectExpr(
            "topic",
            "partition",
            "offset",
            "CAST(key AS STRING) AS key",
            "images AS value",
            "e",
            # Few records have it: to look for its place among the keys takes a tenth of the time of a filter.
            f"{_header(OLD_KEY)} AS old_key",
            f"{_header(UNAVAILABLE_HEADER)} AS unavailable",
        )
        # Of a row that was found to be gone, only the key is known.
        rowid_key = f"$.payload.{ROWID_KEY}" if self._values.key_converter_schemas_enable else f"$.{ROWID_KEY}"
        return rows.selectExpr(
            f"CAST({batch} AS BIGINT) AS batch",
            "topic",
            "partition",
            "offset",
            "e.op AS op",
            "try_cast(e.scn AS BIGINT) AS scn",
            "try_cast(coalesce(e.commit_scn, e.scn) AS BIGINT) AS commit_scn",
            "coalesce(e.txSeq, 0) AS seq",
            "timestamp_millis(coalesce(e.commit_ts_ms, e.ts_ms)) AS commit_time",
            f"coalesce(e.row_id, get_json_object(key, '{rowid_key}')) AS row_id",
            f"coalesce(e.op = 'r' AND e.snapshot IN {_INITIAL}, false) AS initial",
            f"unavailable IS NOT NULL OR {self._has_placeholder()} AS partial",
            f"{_has_long_number()} AS long_number",
            "key",
            "value",
            "unavailable",
            f"{as_payload('old_key')} AS old_key" if self._values.key_converter_schemas_enable else "old_key",
        )

    def _has_placeholder(self) -> str:
        """SQL: the value holds the placeholder, as text or as bytes in one of their forms."""
        return "(" + " OR ".join(f"contains(value, {literal(form)})" for form in placeholder_forms(self._values)) + ")"

    def rows(self) -> DataFrame:
        """All records that are kept, in the columns of the module's docstring. The table has to be there."""
        rows = self.table.read()
        missing = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in _ADDED.items() if name not in rows.columns]
        return rows.selectExpr("*", *missing) if missing else rows

    def ends(self) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset after the last record that is kept."""
        if (found := ends_of_partitions(self.table)) is not None:
            return found
        rows = self.rows().groupBy("topic", "partition").agg({"offset": "max"}).collect()
        return {(row["topic"], row["partition"]): row["max(offset)"] + 1 for row in rows}

    def arrivals(self, condition: str = "true") -> list[Arrival]:
        """What the batches hold, per batch and topic, of the records that meet an SQL condition. Runs a Spark job, but for all records where
        they are not many."""
        if condition == "true" and (found := sums_of_batches(self.table)) is not None:
            return [_arrival(one["topic"], one["batch"], one) for one in found]
        rows = self.rows().where(condition)
        counted = rows.groupBy("topic", "batch").agg(*_expressions(*_AGGREGATES)).collect()
        return [_arrival(row["topic"], row["batch"], row.asDict()) for row in counted]


def _arrival(topic: str, batch: int, counted: Mapping[str, Any]) -> Arrival:
    return Arrival(
        topic,
        batch,
        counted["rows"],
        counted["lowest"] or 0,
        counted["highest"] or 0,
        scns=(counted["lowest_scn"] or 0, counted["highest_scn"] or 0),
        truncated=counted["truncated"] or 0,
        snapshot=counted["snapshot"] or 0,
        undecodable=counted["undecodable"],
        partial=bool(counted["has_partial"]),
        unplaced=counted["unplaced"],
        read=bool(counted["has_read"]),
        vanished=bool(counted["has_vanished"]),
        oldest_us=counted["oldest_us"] or 0,
        long_numbers=counted["has_long_number"],
    )


def _observed(observation: Any, batch: int) -> list[Arrival] | None:
    """What a batch of one topic holds; None when it was not written, as it was there before, or has several topics."""
    if not observation._jo.future().isCompleted():
        return None
    counted = observation.get
    if not counted["rows"]:
        return []
    if counted["first_topic"] != counted["last_topic"]:
        return None
    return [_arrival(counted["first_topic"], batch, counted)]


def _header(name: str) -> str:
    return f"CAST(element_at(headers.value, nullif(CAST(array_position(headers.key, '{name}') AS INT), 0)) AS STRING)"


def _has_long_number() -> str:
    pattern = literal(_LONG_NUMBER)
    return "(" + " OR ".join(f"coalesce({text} RLIKE {pattern}, false)" for text in ("value", "key", "old_key")) + ")"


def placeholder_forms(values: ValueConfig) -> tuple[str, str]:
    """(text, bytes as text in `binary.handling.mode`): what a record has in place of a value that redo does not hold."""
    text = values.unavailable_value_placeholder
    return text, _BYTES[values.binary_handling_mode](text.encode())


def as_payload(text: str) -> str:
    """SQL that makes a JSON text an object with a `payload`: the text itself where it has one, else one around it.

    :param text: SQL of the JSON text.
    """
    return f"if(get_json_object({text}, '$.payload') IS NULL, concat('{{\"payload\":', {text}, '}}'), {text})"


def _expressions(*texts: str) -> Sequence[Any]:
    from pyspark.sql.functions import expr

    return [expr(text) for text in texts]
