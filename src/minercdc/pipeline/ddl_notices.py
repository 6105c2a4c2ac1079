"""The notifications about DDL: what it did to a table, and rules of the configuration that no longer match a column or table because
it has another name now, such as a mask that hides it no more.

Patterns are of names, as Debezium's, so a rename is all that it takes to publish in clear what was hidden."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from minercdc.config.load import ConnectorConfig
from minercdc.pipeline.unused_patterns import Use, uses
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Notification, SchemaChange

_log = logging.getLogger(__name__)

_LONGEST_DDL = 2000
_MOST_SHOWN = 10
_CONSEQUENCES = {
    "column.mask.": "values are published in clear",
    "column.truncate.": "values are published in full length",
    "column.exclude.list": "values are published",
    "column.include.list": "values are left out",
}


def of_ddl(change: SchemaChange) -> Iterator[Notification]:
    """The notification of what DDL did to a table, with the first 2000 characters of the statement; none without a statement, or for a
    structure that a snapshot read."""
    if change.snapshot or not change.ddl:
        return
    data = {"data_collections": f"{change.table.database}.{change.table}", "ddl": change.ddl[:_LONGEST_DDL]}
    data["scn"] = str(change.scn)
    if change.user:
        data["user"] = change.user
    yield Notification(f"ddl-{change.scn}-{change.table}", "Schema", "CHANGED", change.time_us, data)


def lost_rules(config: ConnectorConfig, change: SchemaChange) -> Iterator[Notification]:
    """A notification for each rule that matched the old name of a column or table and does not match its new name; it is logged as a
    warning, too. Raises ConfigError when a pattern takes too long."""
    if change.before is None or change.after is None or (renamed := _renamed(change.before, change.after)) is None:
        return
    for use in uses(config):
        lost = [(old, new) for old, new in zip(*map(use.names, renamed), strict=True) if _loses(use, old, new)]
        if lost:
            notification = _notification(change, use, lost)
            data = notification.additional_data
            _log.warning("%s: %s. %s", data["data_collections"], data["reason"], data["fix"])
            yield notification


def _renamed(before: TableSchema, after: TableSchema) -> tuple[TableSchema, TableSchema] | None:
    """Both versions, without keys, with the columns that both have, each in the same place; None when neither the table's name
    nor a column's differs."""
    olds, news = ({column.name for column in table.columns} for table in (before, after))

    def are_one(old: Column, new: Column) -> bool:
        if old.name == new.name:
            return True
        return old.name not in news and new.name not in olds and _type(old) == _type(new)

    if len(before.columns) == len(after.columns):
        pairs = [(old, new) for old, new in zip(before.columns, after.columns, strict=True) if are_one(old, new)]
    else:  # one statement renames one column and does nothing else
        now = {column.name: column for column in after.columns}
        pairs = [(old, now[old.name]) for old in before.columns if old.name in now]
    if before.id == after.id and all(old.name == new.name for old, new in pairs):
        return None
    return (
        replace(before, columns=tuple(old for old, _ in pairs), key=()),
        replace(after, columns=tuple(new for _, new in pairs), key=()),
    )


def _type(column: Column) -> tuple[str, int | None, int | None]:
    return column.type_name, column.length, column.scale


def _loses(use: Use, old: str, new: str) -> bool:
    patterns = [configured_pattern(text) for text in use.patterns]
    return old != new and any(p.matches(old) for p in patterns) and not any(p.matches(new) for p in patterns)


def _notification(change: SchemaChange, use: Use, lost: list[tuple[str, str]]) -> Notification:
    matched = [text for text in use.patterns if any(configured_pattern(text).matches(old) for old, _ in lost)]
    shown = ", ".join(f"{new} (was {old})" for old, new in lost[:_MOST_SHOWN])
    more = f" and {len(lost) - _MOST_SHOWN} more" if len(lost) > _MOST_SHOWN else ""
    consequence = next(
        (text for of, text in _CONSEQUENCES.items() if use.of_property.startswith(of)), "it has no effect there"
    )
    rule = f"{use.of_property}: {', '.join(matched)}"
    data = {
        "data_collections": f"{change.table.database}.{change.table}",
        "rule": rule,
        "reason": f"a rename takes the rule {rule} away from {shown}{more}: {consequence}",
        "fix": f"Add the new name to {use.of_property} and start again; rows since SCN {change.scn} are in the topic without the rule.",
        "scn": str(change.scn),
    }
    return Notification(f"rule-{change.scn}-{change.table}-{use.of_property}", "Schema", "RULE_LOST", change.time_us, data)
