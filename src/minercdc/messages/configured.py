"""What a configuration makes of messages: topic names, keys, columns, how values are printed, and the encoder made of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.converters import JSON
from minercdc.config.messages.value_handling import value_handling
from minercdc.config.sections import TableFilterConfig, ValueConfig
from minercdc.errors import ConfigError
from minercdc.messages.envelope.column_changes import ColumnChanges
from minercdc.messages.envelope.custom_converters import column_codecs
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.envelope.source_block import SourceBlock
from minercdc.messages.envelope.table_format import ColumnFormats, KeyColumns, Published, RecordKeys, TableFormats
from minercdc.messages.moved_keys import MovedKeys
from minercdc.messages.topics import TopicNames
from minercdc.messages.transaction_counts import TransactionCounts
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import Column, TableId, TableSchema


def encoded_values(config: ConnectorConfig) -> ValueConfig:
    """The configuration by which the encoders print values: with schemas, whenever there are transformations; else as given."""
    if not config.transforms:
        return config.values
    return config.values.model_copy(update={"key_converter_schemas_enable": True, "value_converter_schemas_enable": True})


def published_columns(config: TableFilterConfig) -> Published:
    """A function that returns whether a column is in the record value: column.include.list or column.exclude.list decides by
    `SCHEMA.TABLE.COLUMN`; without either list every column is. The function raises ConfigError when a pattern takes too long.
    """
    include, exclude = config.column_include_list, config.column_exclude_list

    def published(table: TableId, column: Column) -> bool:
        name = f"{table.schema}.{table.table}.{column.name}"
        if include:
            return _matches(include, name)
        return not _matches(exclude, name)

    return published


def key_columns(config: TableFilterConfig, *, former: bool = False) -> KeyColumns:
    """A function that returns the positions of the record key's columns: those of the first rule of message.key.columns that
    matches the table, else those of the table's own key, () when it has none.

    The function raises ConfigError for a rule with a column that the table does not have, and when a pattern takes too long.

    :param former: it is given tables as they were at some time: one that lacks a column of its rule was captured before the rule
        was set, and has its own key.
    """
    rules = [part.split(":") for part in config.message_key_columns.split(";") if part]

    def columns(table: TableSchema) -> tuple[int, ...]:
        for pattern, names in rules:
            if _matches((pattern.strip(),), str(table.id)):
                positions = table.positions()
                wanted = [_named(positions, name.strip()) for name in names.split(",")]
                if missing := [name for name in wanted if name not in positions]:
                    if former:
                        return table.key
                    raise ConfigError([f"message.key.columns: table {table.id} has no column {missing[0]}"])
                return tuple(positions[name] for name in wanted)
        return table.key

    return columns


def envelope_encoder(
    config: ConnectorConfig,
    topics: TopicNames,
    others: OtherEvents,
    *,
    counts: TransactionCounts | None = None,
    moved: MovedKeys | None = None,
    clock_ns: Callable[[], int] = time.time_ns,
) -> EnvelopeEncoder:
    """The encoder of a connector's records; for the parameters see `EnvelopeEncoder`. Raises ConfigError when a custom converter cannot be
    loaded."""
    return EnvelopeEncoder(
        _table_formats(config, topics, counted=counts is not None),
        others,
        clock_ns=clock_ns,
        skip_unchanged=config.messages.skip_messages_without_change,
        lobs=config.capture.lob_enabled,
        counts=counts,
        moved=moved,
    )


def _table_formats(config: ConnectorConfig, topics: TopicNames, *, counted: bool) -> TableFormats:
    converters = config.converters
    number_keys = bool(config.transforms) or converters.key_converter != JSON or converters.fills_nulls("key")
    number_values = bool(config.transforms) or converters.value_converter != JSON or converters.fills_nulls("value")
    handling = value_handling(config.values, legacy_decimal=config.messages.legacy_decimal_handling_strategy)
    return TableFormats(
        topics,
        SourceBlock(
            config.identity.topic_prefix, config.messages.untracked, ordered=config.messages.minercdc_source_sequence
        ),
        encoded_values(config),
        handling,
        RecordKeys(key_columns(config.filters), config.filters.minercdc_keyless_table_key == "rowid"),
        ColumnFormats(
            published_columns(config.filters),
            ColumnChanges(
                config.column_rules,
                config.messages.column_propagate_source_type,
                config.messages.datatype_propagate_source_type,
            ),
            column_codecs(config.custom_converters, handling),
        ),
        by_number=(number_keys, number_values),
        counted=counted,
    )


def _named(columns: Iterable[str], name: str) -> str:
    """The column of this name, in whichever case; `name` itself when there is none, or several."""
    folded = [column for column in columns if column.upper() == name.upper()]
    return folded[0] if len(folded) == 1 else name


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(configured_pattern(pattern).matches(name) for pattern in patterns)
