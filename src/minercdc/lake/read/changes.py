"""The records of one table's topic as typed rows, without the lake's tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.read.decode import RowDecoder, TableShape, typed_value
from minercdc.lake.spark.own_sessions import CASE_SENSITIVE, case_sensitive
from minercdc.lake.spark.session import is_connect
from minercdc.lake.spark.sql import literal, quoted
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.types import refuse_unsupported_modes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLAIN = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id")
_SOURCE = "STRUCT<scn: STRING, commit_scn: STRING, txSeq: BIGINT, row_id: STRING, ts_ms: BIGINT, commit_ts_ms: BIGINT>"


def typed_changes(
    records: DataFrame, table: TableHistory, config: ConnectorConfig, *, ends_at_ddl: bool = True
) -> DataFrame:
    """Kafka's records of a table's topic, with keys and values in JSON -> its changes; see `stream.topics.read_changes`. Tombstones
    are left out.

    :param table: with one version at least.
    :param ends_at_ddl: fail at a record of a version that `table` does not have, which takes Python on the executors.
    :raises ConfigError: the topics have numbers as doubles (decimal.handling.mode).
    :raises LakeError: columns differ in the case of their names only, which this session of Spark Connect does not distinguish.
    """
    refuse_unsupported_modes(config.values)
    decoder = RowDecoder(config)
    shapes = [(table.condition(i), decoder.shape(version)) for i, version in enumerate(table.versions)]
    with _distinguishing(records.sparkSession, table.name, [shape for _, shape in shapes]):
        return _typed(records, table, config, shapes, ends_at_ddl=ends_at_ddl)


def _distinguishing(spark: SparkSession, table: str, shapes: Sequence[TableShape]) -> AbstractContextManager[None]:
    """In what the names of these shapes are resolved: a setting is changed only where two of them differ in case alone, since not every
    session lets it be, as that of a declarative pipeline."""
    if not any(map(_differ_in_case, shapes)):
        return nullcontext()
    if not is_connect(spark):
        return case_sensitive(spark)
    if spark.conf.get(CASE_SENSITIVE) == "true":
        return nullcontext()
    raise LakeError(
        f"columns of {table} differ in the case of their names only, which this session of Spark Connect does not distinguish",
        hint=f'spark.conf.set("{CASE_SENSITIVE}", "true")',
    )


def _differ_in_case(shape: TableShape) -> bool:
    """Whether two members of a record do; the lake's names never do."""
    lower = [column.member.lower() for _, column, _ in shape.columns]
    return len(set(lower)) < len(lower)


def _typed(
    records: DataFrame,
    table: TableHistory,
    config: ConnectorConfig,
    shapes: list[tuple[str, TableShape]],
    *,
    ends_at_ddl: bool,
) -> DataFrame:
    target = shapes[-1][1].table_columns()
    wrapped = config.values.value_converter_schemas_enable
    path = "e.payload" if wrapped else "e"
    envelope = f"STRUCT<source: {_SOURCE}, op: STRING>"
    rows = records.where("value IS NOT NULL").selectExpr(
        "CAST(key AS STRING) AS key",
        "CAST(value AS STRING) AS value",
        f"from_json(CAST(value AS STRING), {literal(_wrapped(envelope, wrapped))}, map('mode', 'FAILFAST')) AS e",
    )
    rows = rows.selectExpr(
        "key AS record_key",
        "value",
        f"{path}.op AS op",
        f"CAST({path}.source.scn AS BIGINT) AS scn",
        f"CAST(coalesce({path}.source.commit_scn, {path}.source.scn) AS BIGINT) AS commit_scn",
        f"coalesce({path}.source.txSeq, 0) AS seq",
        f"timestamp_millis(coalesce({path}.source.commit_ts_ms, {path}.source.ts_ms)) AS commit_time",
        f"{path}.source.row_id AS row_id",
    )
    if ends_at_ddl:
        from pyspark.sql.functions import col

        from minercdc.lake.source.version_check import version_is_known  # needs PyArrow

        rows = rows.where(version_is_known(col("scn"), table, config))
    images = [f"{_of_version(shapes, target, image, with_schemas=wrapped)} AS {image}" for image in ("before", "after")]
    key = _of_version(shapes, target, "key", with_schemas=config.values.key_converter_schemas_enable)
    has_key = any(shape.key for _, shape in shapes)
    return rows.selectExpr(*_PLAIN, *([f"{key} AS key"] if has_key else []), *images)


def _wrapped(kind: str, with_schemas: bool) -> str:
    return f"STRUCT<payload: {kind}>" if with_schemas else kind


def _of_version(shapes: list[tuple[str, TableShape]], target: list[TableColumn], part: str, *, with_schemas: bool) -> str:
    """SQL of the struct `key`, `before` or `after`, by the version of the row's SCN.

    :param shapes: of each version, with `TableHistory.condition`.
    """
    cases = [
        (condition, _struct(shape, shapes[-1][1], target, part, with_schemas=with_schemas))
        for condition, shape in reversed(shapes)
    ]
    *newer, (_, oldest) = cases
    whens = " ".join(f"WHEN {condition} THEN {struct}" for condition, struct in newer)
    return f"CASE {whens} ELSE {oldest} END" if whens else oldest


def _struct(shape: TableShape, newest: TableShape, target: list[TableColumn], part: str, *, with_schemas: bool) -> str:
    columns = [(field, column) for field, column, _ in shape.columns if part != "key" or field.name in shape.key]
    members = ", ".join(f"{quoted(column.member)}: {column.json_type}" for _, column in columns)
    of_id = {field.id: (field, column) for field, column in columns}
    kind, path = f"STRUCT<{members}>", ""
    if part != "key":
        kind, path = f"STRUCT<{part}: {kind}>", f".{part}"
    path = (".payload" if with_schemas else "") + path
    text = "record_key" if part == "key" else "value"
    parsed = f"from_json({text}, {literal(_wrapped(kind, with_schemas))}, map('mode', 'FAILFAST')){path}"
    key_ids = {field.id for field, _, _ in newest.columns if field.name in newest.key}
    fields = []
    for column in target:
        if part == "key" and column.id not in key_ids:
            continue
        found = of_id.get(column.id)
        value = "NULL" if found is None else typed_value(found, "r", column)
        if found is not None and part != "key" and found[1].unavailable is not None:
            value = f"if({found[1].unavailable(f'r.{quoted(found[1].member)}')}, NULL, {value})"
        fields.append(f"{literal(column.name)}, CAST({value} AS {column.type})")
    struct = f"named_struct({', '.join(fields)})"
    return f"transform(array({parsed}), r -> if(r IS NULL, NULL, {struct}))[0]"
