"""What becomes of each captured table: its topic, columns and key. Read before a start, and by `minercdc plan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import oracledb

from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.value_handling import value_handling
from minercdc.errors import SharedTopicError, SinkError, ValueDecodeError
from minercdc.messages.configured import key_columns, published_columns
from minercdc.messages.envelope.column_changes import ColumnChanges
from minercdc.messages.envelope.custom_converters import column_codecs
from minercdc.messages.topics import TopicNames
from minercdc.oracle.connect import connect, database_names, of_database
from minercdc.oracle.dictionary.tables import read_row_statistics, read_table_ids, read_tables
from minercdc.oracle.scn import pdb_is_open
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.values.codec import Codec, codec_for, is_supported


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What becomes of a table.

    :param refused: why it cannot have the topic; None when it can.
    :param rows: by the optimizer's statistics, None without.
    :param exists: the topic is there already; None when Kafka does not answer, or is not the sink.
    :param columns: of each published column: name, Oracle's type, and the record's with what hides or cuts its values.
    :param key: names of the record key's columns; empty for none.
    """

    schema: TableSchema
    topic: str
    exists: bool | None
    rows: int | None
    columns: Sequence[tuple[str, str, str]]
    key: Sequence[str]
    refused: SharedTopicError | None = None


def check_tables(config: ConnectorConfig) -> None:
    """Read the structures of all captured tables, in sessions of its own, and raise what a start would with them: ConfigError
    for a record key or topic, SharedTopicError for a topic of two tables unless failures suspend a table, SourceError or
    PrerequisiteError when the database cannot be read."""
    with closing(connected(config, database_names(config.database)[0])) as connection:
        for table in plans_of_tables(config, connection, TopicNames(config)):
            if table.refused is not None and config.run.event_processing_failure_handling_mode != "suspend":
                raise table.refused


def plans_of_tables(
    config: ConnectorConfig, connection: oracledb.Connection, names: TopicNames, client: KafkaClient | None = None
) -> Iterator[TablePlan]:
    """The plans of the tables of each captured database that is open.

    :param connection: to the first; those to the others are opened and closed here.
    :param client: says which topics exist; None: that stays open.
    :raises ConfigError, SourceError, PrerequisiteError: as `plan`.
    """
    first, *others = database_names(config.database)
    yield from _tables(config, connection, first, names, client)
    for name in others:
        with closing(connected(config, name)) as inside:
            yield from _tables(config, inside, name, names, client)


def _tables(
    config: ConnectorConfig,
    connection: oracledb.Connection,
    database: str,
    names: TopicNames,
    client: KafkaClient | None,
) -> Iterator[TablePlan]:
    if of_database(config.database, database).database_pdb_name and not pdb_is_open(connection):
        return  # `check_prerequisites` finds it
    ids = read_table_ids(connection, table_filter(config, database), database)
    rows = read_row_statistics(connection, ids)
    keys, published = key_columns(config.filters), published_columns(config.filters)
    handling = value_handling(config.values, legacy_decimal=config.messages.legacy_decimal_handling_strategy)
    refused = {one: error for one in ids if (error := _taken(names, one)) is not None}
    present = _existing(client, [names.name_of(one) for one in ids]) if client else None
    codec_of, changes = column_codecs(config.custom_converters, handling), ColumnChanges(config.column_rules)
    for schema in read_tables(connection, ids):
        topic, problem = names.name_of(schema.id), refused.get(schema.id)
        columns = []
        for one in schema.columns:
            if not published(schema.id, one):
                continue
            codec = codec_of(schema.id, one, codec_for(one, handling)) if is_supported(one) else None
            kind = _record_type(codec) + hidden(schema.id, one, changes) if codec else "left out: not supported"
            columns.append((one.name, _oracle_type(one), kind))
        key = [schema.columns[position].name for position in keys(schema)]
        exists = None if present is None else topic in present
        yield TablePlan(schema, topic, exists, rows.get(schema.id), columns, key, problem)


def _taken(names: TopicNames, table: TableId) -> SharedTopicError | None:
    """Claim the table's topic in `names`. Returns why it cannot have one, None when it has it."""
    try:
        names.of_table(table)
    except SharedTopicError as error:
        return error
    return None


def hidden(table: TableId, column: Column, changes: ColumnChanges) -> str:
    """What becomes of a column's values by `column.mask.*` or `column.truncate.*`, for the end of a line; '' when they stay. Raises
    ConfigError when a pattern takes too long."""
    try:
        rule = changes.rule_of(table, column)
    except ValueDecodeError as error:
        return f"; refused: {error.message}"
    if rule is None:
        return ""
    by = {"mask": f"masked, {rule.length} asterisks", "truncate": f"cut after {rule.length} characters"}
    return f"; {by.get(rule.kind) or f'hashed by {rule.algorithm}'} ({rule.given_as})"


def connected(config: ConnectorConfig, database: str) -> oracledb.Connection:
    return connect(of_database(config.database, database), "pdb")


def _existing(client: KafkaClient, topics: Sequence[str]) -> set[str] | None:
    try:
        return client.existing(topics)
    except SinkError:  # it answered a moment ago
        return None


def _oracle_type(column: Column) -> str:
    arguments = ",".join(str(one) for one in (column.length, column.scale) if one is not None)
    text = f"{column.type_name}({arguments})" if arguments else column.type_name
    return text if column.nullable else f"{text} NOT NULL"


def _record_type(codec: Codec) -> str:
    return f"{codec.field.type} {codec.field.name}" if codec.field.name else codec.field.type
