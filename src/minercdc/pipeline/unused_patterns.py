"""Patterns and names of the configuration that match nothing, most often by a slip: a mask that hides no column, a key of no table.

They are advice (`minercdc check`, `plan` and each start), since a table that they are for may be created later; but a SELECT of a snapshot
for no table is refused, since the rows that it leaves out would be published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from minercdc.config.load import ConnectorConfig
from minercdc.config.source.selects import unmatched
from minercdc.config.target.topics import partition_rules
from minercdc.config.transforms.options import Unwrap
from minercdc.messages.envelope.connect_schema import envelope, plain
from minercdc.messages.transforms.unwrap import unknown_members
from minercdc.oracle.finding import Finding, Severity
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import TableSchema


class Use(NamedTuple):
    """Patterns of a property, and what they are to match.

    :param of_property: without the salt of a hash.
    :param names: of a table: those that one of the patterns may match.
    :param kind: what has these names, for the message.
    """

    of_property: str
    patterns: Sequence[str]
    names: Callable[[TableSchema], Iterator[str]]
    kind: str


def pattern_findings(config: ConnectorConfig, tables: Sequence[TableSchema]) -> Iterator[Finding]:
    """A finding for each pattern that matches nothing of the captured tables, a blocking one for a table of
    `snapshot.select.statement.overrides` that is none of them, and one for each member of the envelope that `add.fields` or
    `add.headers` names and that is not there. Raises ConfigError when a pattern takes too long.

    :param tables: the captured ones; without any nothing is found, since that is a finding of its own.
    """
    if not tables:
        return
    for use in uses(config):
        names = list(chain.from_iterable(map(use.names, tables)))
        for pattern in use.patterns:
            if not any(map(configured_pattern(pattern).matches, names)):
                problem = f"{use.of_property}: '{pattern}' matches no {use.kind}, and has no effect"
                yield Finding("patterns", Severity.ADVICE, problem, f"Correct it: {_form(use.kind)}; or leave it out.")
    if config.snapshot.snapshot_mode not in ("no_data", "recovery"):  # these read no rows
        for problem, fix in unmatched(config.snapshot_selects, [table.id for table in tables]):
            yield Finding("patterns", Severity.MISSING, problem, fix)
    yield from _members(config, tables)


def _form(kind: str) -> str:
    form = {_TABLE: "SCHEMA.TABLE", _TYPE: "SCHEMA.TABLE.TYPE"}.get(kind, "SCHEMA.TABLE.COLUMN")
    return f"a regular expression of the whole name {form}, in which a dot is written as \\."


_COLUMN: Final = "column of a captured table"
_TABLE: Final = "captured table"
_TYPE: Final = "type of a column of a captured table"


def uses(config: ConnectorConfig) -> Iterator[Use]:
    """The properties whose patterns are checked, those without a pattern included; not the lists of schemas and tables."""
    filters, messages = config.filters, config.messages
    yield Use("column.include.list", filters.column_include_list, _columns, _COLUMN)
    yield Use("column.exclude.list", filters.column_exclude_list, _columns, _COLUMN)
    for rule in config.column_rules:
        yield Use(rule.given_as, rule.patterns, _columns, _COLUMN)
    yield Use("column.propagate.source.type", messages.column_propagate_source_type, _columns, _COLUMN)
    yield Use("datatype.propagate.source.type", messages.datatype_propagate_source_type, _types, _TYPE)
    keys = [part.partition(":")[0].strip() for part in filters.message_key_columns.split(";") if part.strip()]
    yield Use("message.key.columns", keys, _table, _TABLE)
    partitions = [pattern for pattern, _ in partition_rules(config.topics.minercdc_topic_partition_columns)]
    yield Use("minercdc.topic.partition.columns", partitions, _table, _TABLE)
    for converter in config.custom_converters:
        if ":" not in converter.type and (selector := converter.options.get("selector")):
            selected = [part.strip() for part in selector.split(",")]
            yield Use(f"{converter.name}.selector", selected, _columns, _COLUMN)


def _columns(table: TableSchema) -> Iterator[str]:
    return (f"{table.id.schema}.{table.id.table}.{column.name}" for column in table.columns)


def _types(table: TableSchema) -> Iterator[str]:
    return (f"{table.id.schema}.{table.id.table}.{column.type_name}" for column in table.columns)


def _table(table: TableSchema) -> Iterator[str]:
    yield str(table.id)


def _members(config: ConnectorConfig, tables: Sequence[TableSchema]) -> Iterator[Finding]:
    """Members of the envelope that ExtractNewRecordState is to add, and that no envelope has."""
    columns = sorted({column.name for table in tables for column in table.columns})
    schema = envelope("", [plain(name, "string") for name in columns])
    for one in config.transforms:
        if isinstance(one.options, Unwrap):
            for option, name in unknown_members(one.options, schema):
                problem = f"transforms.{one.name}.{option}: '{name}' is no member of the envelope, and has no effect"
                fix = "Correct it: op, ts_ms, source.scn, transaction.id, before.COLUMN and the like."
                yield Finding("patterns", Severity.ADVICE, problem, fix)
