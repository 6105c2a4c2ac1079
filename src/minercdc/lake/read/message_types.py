"""Spark types of a table's messages, for `from_json` in a job that does without the rest of this package."""

from __future__ import annotations

from typing import NamedTuple

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.read.decode import RowDecoder, TableShape
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.history import TableHistory
from minercdc.messages.envelope.connect_schema import SOURCE, TRANSACTION, Schema

_PLAIN = {"string": "STRING", "int32": "INT", "int64": "BIGINT"}


class MessageSchema(NamedTuple):
    """Types of a table's key and value, as `from_json` takes them; `key` is '' for a table without key columns, whose records
    have a null key or the ROWID.

    Values are as JSON has them: see `decimal.handling.mode` and `time.precision.mode` for what numbers and times are then.
    """

    key: str
    value: str


def message_schema(config: ConnectorConfig, table: str) -> MessageSchema:
    """The types of the newest version of a table, by the connector's schema history.

    :param table: named as for `read_changes`.
    :raises ConfigError: as `history_of`, or topics cannot be found by their names.
    :raises LakeError: as `TableHistories.known`, or the records are not Debezium's envelopes in JSON.
    :raises SinkError, SchemaHistoryError: the segments, or the schema history, cannot be read.
    """
    if config.converters.uses_registry():
        raise LakeError(
            "the topics of this connector are not in JSON, and from_json reads only JSON",
            hint="from_avro reads Avro, with the schema of the registry; so does minercdc.lake.read_changes(table=...).",
        )
    history = history_of(config)
    history.refresh()
    return schema_of(history.known(table), config)


def schema_of(table: TableHistory, config: ConnectorConfig) -> MessageSchema:
    """As `message_schema`, of a table's history that has a version: of the newest one."""
    shape = RowDecoder(config).shape(table.versions[-1])
    types = {column.member: column.json_type for _, column, _ in shape.columns}
    row = _struct(types)
    envelope = {
        "before": row,
        "after": row,
        "source": _connect_type(SOURCE),
        "transaction": _connect_type(TRANSACTION),
        "op": "STRING",
        "ts_ms": "BIGINT",
        "ts_us": "BIGINT",
        "ts_ns": "BIGINT",
    }
    value, key = _struct(envelope), _key(shape)
    if config.values.value_converter_schemas_enable:
        value = _struct({"payload": value})
    if key and config.values.key_converter_schemas_enable:
        key = _struct({"payload": key})
    return MessageSchema(key, value)


def _key(shape: TableShape) -> str:
    columns = {field.name: column for field, column, _ in shape.columns}
    return _struct({columns[name].member: columns[name].json_type for name in shape.key}) if shape.key else ""


def _connect_type(schema: Schema) -> str:
    if schema["type"] != "struct":
        return _PLAIN[str(schema["type"])]
    fields = schema["fields"]
    assert isinstance(fields, list)
    return _struct({str(field["field"]): _connect_type(field) for field in fields if isinstance(field, dict)})


def _struct(members: dict[str, str]) -> str:
    return f"STRUCT<{', '.join(f'{quoted(name)}: {kind}' for name, kind in members.items())}>"
