"""Keys and values in Avro as the JSON text that the lake reads, by Spark's own from_avro: no Python per row.

A record names its schema by an id. The SQL expression has a branch for each schema that is known when it is made: those that
`learn` found in a micro-batch, or all that the registry has for one topic (`learn_subjects`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.registries import SIDES, Side
from minercdc.errors import LakeError
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.change_log import as_payload
from minercdc.local.spark_artifacts import spark_avro
from minercdc.messages.formats.reading import without_logical_types
from minercdc.messages.registries.schemas_by_id import SchemasById, schemas_of
from minercdc.schema.name_adjustment import schema_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst"
_UNKNOWN = "a record has a schema id that the registry did not have for this topic at the start; start the query again: id "
_RECORD = {"key": "Key", "value": "Envelope"}


class AvroTopics:
    """Turns the records of a connector's topics into JSON; keys or values whose format has no registry stay as they are.

    :raises ConfigError: a certificate of the registry cannot be read.
    :raises LakeError: Spark lacks Avro, or they are in a format that Spark does not read.
    """

    def __init__(self, spark: SparkSession, config: ConnectorConfig) -> None:
        self._config = config
        if reason := config.converters.not_read_by_spark():
            raise LakeError(
                f"the lake does not read the topics of this connector: {reason}",
                hint="Run a connector with another converter for the lake; minercdc verify, tail and the direct source may read them.",
            )
        found = {side: schemas_of(config, side) for side in SIDES}
        self._registries: dict[Side, SchemasById] = {side: one for side, one in found.items() if one is not None}
        self._schemas: dict[Side, dict[int, str]] = {side: {} for side in self._registries}
        if self._registries:
            _refuse_without_avro(spark)

    @property
    def are_json(self) -> bool:
        """Whether keys and values are JSON as they are, with no registry."""
        return not self._registries

    def learn(self, records: DataFrame) -> None:
        """Read the schemas of these records that are not known yet from the registry. Runs a Spark job over the records.

        :raises SinkError: the registry lacks one of them, or refuses.
        :raises DeliveryError: it does not answer.
        """
        for side, registry in self._registries.items():
            known, bytes_of_id = self._schemas[side], registry.id_bytes
            ids = (
                records.where(_is_avro(side, bytes_of_id)).selectExpr(f"{_id(side, bytes_of_id)} AS id").distinct().collect()
            )
            self._take(side, {row["id"]: registry.schema(row["id"]) for row in ids if row["id"] not in known})

    def learn_subjects(self, topic: str) -> None:
        """Read all versions of the schemas of a table's topic from the registry.

        :raises SinkError, DeliveryError: it refuses, or does not answer.
        """
        adjusted = schema_name(self._config.values.schema_name_adjustment_mode)
        for side, registry in self._registries.items():
            self._take(side, registry.versions(topic, adjusted(f"{topic}.{_RECORD[side]}")))

    def _take(self, side: Side, schemas: Mapping[int, str]) -> None:
        for number, text in schemas.items():
            self._schemas[side][number] = json.dumps(without_logical_types(json.loads(text)))

    def as_json(self, records: DataFrame) -> DataFrame:
        """Kafka's records with JSON text of a `payload`, as bytes, for keys, values or both: those whose format has a registry.

        Records that were written as JSON earlier get a `payload`, too. A key or value that does not fit its schema has no
        payload. A record whose schema was not learned before makes Spark's job fail when it runs.
        """
        for side, registry in self._registries.items():
            records = records.withColumn(side, self._text(side, registry.id_bytes, self._schemas[side].items()))
        return records

    @staticmethod
    def _text(side: Side, id_bytes: int, schemas: Iterable[tuple[int, str]]) -> Any:
        from pyspark.sql.avro.functions import from_avro
        from pyspark.sql.functions import col, expr, lit, struct, to_json, when

        content, number = expr(f"substring({side}, {id_bytes + 2})"), expr(_id(side, id_bytes))
        text = when(col(side).isNull(), lit(None)).when(
            ~expr(_is_avro(side, id_bytes)), expr(as_payload(f"CAST({side} AS STRING)"))
        )
        for known, schema in schemas:
            # What does not fit its schema has no payload then, and counts as a record that is not ours.
            payload = from_avro(content, schema, {"mode": "PERMISSIVE"}).alias("payload")
            text = text.when(number == known, to_json(struct(payload)))
        unknown = expr(f"raise_error(concat({literal(_UNKNOWN)}, {_id(side, id_bytes)}))")
        return text.otherwise(unknown.cast("string")).cast("binary")


def _is_avro(side: Side, id_bytes: int) -> str:
    """SQL: the bytes begin as a wire format with such an id does."""
    return f"coalesce(length({side}) > {id_bytes + 1} AND substring({side}, 1, 1) = X'00', false)"


def _id(side: Side, id_bytes: int) -> str:
    """SQL of the schema's id: the bytes after the first one, as an unsigned integer."""
    return f"CAST(conv(hex(substring({side}, 2, {id_bytes})), 16, 10) AS BIGINT)"


def _refuse_without_avro(spark: SparkSession) -> None:
    from minercdc.lake.spark.session import has_class, is_connect

    if is_connect(spark):
        raise LakeError(
            "topics in Avro are not read over Spark Connect: whether the server has Spark's Avro reader cannot be asked",
            hint="Read them with spark-submit, or in a session of the cluster's own.",
        )
    if not has_class(spark, _CLASS):
        raise LakeError(
            "the topics of this connector are in Avro, but Spark's Avro reader is not installed",
            hint=f"spark-submit --packages {spark_avro(spark.version)} ...",
        )
