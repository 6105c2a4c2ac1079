"""Topic names: by default `<prefix>.<SCHEMA>.<TABLE>` for tables, `<prefix>.<PDB>.<SCHEMA>.<TABLE>` where several pluggable databases are
captured, and `<prefix>` for schema changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from minercdc.config.load import SECTIONS, ConnectorConfig
from minercdc.config.plugin import load_callable
from minercdc.config.sections import TopicConfig
from minercdc.config.target.own_topics import history_topic, offset_topic, open_transactions_topic, own_topics
from minercdc.errors import ConfigError, RecordSchemaError, SharedTopicError
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.schema.table import TableId

_NOT_IN_A_TOPIC = re.compile(r"[^A-Za-z0-9._-]")
_NOT_IN_A_PART = re.compile(r"[^A-Za-z0-9.-]")  # where `_` begins an escape
_LONGEST = 249
_GROUP = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}")


class TopicNames:
    """Names the topics of one connector, and refuses two tables that would share one: it keeps which table has which topic.

    :param gives_up: whether a table gives up its topic, as one does that is suspended: another table may take it then.
    :param refused: topics that Kafka refused; None for none.
    :raises ConfigError: `topic.naming.strategy` names a function that cannot be loaded.
    :ivar heartbeats: None when there are none.
    :ivar has_history: whether the schema history is in a topic, not in a file.
    :ivar notifications: None when they go to no topic.
    :ivar open_transactions: of copies of the rows of open transactions; None when there are none.
    :ivar own: the connector's topics by name.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        gives_up: Callable[[TableId], bool] = lambda _: False,
        refused: RefusedTopics | None = None,
    ) -> None:
        topics = config.topics
        self._prefix = config.identity.topic_prefix
        self._name = _naming(topics, self._prefix, config.database.has_several_pdbs)
        self._delimiter, self._rewritten = topics.topic_delimiter, topics.is_rewritten
        self._tables: dict[str, TableId] = {}  # by their topics, as `_folded` has them
        self._gives_up, self._refused = gives_up, refused or RefusedTopics()
        self._folds = config.sink.is_kafka  # no two topics may differ in `.` and `_` only
        self.schema_changes = self._prefix
        beats = config.heartbeat.heartbeat_interval_ms > 0
        self.heartbeats = config.heartbeat.topic(self._delimiter, self._prefix) if beats else None
        self.notifications = config.notifications.sink_topic
        self.has_history = config.history.file is None
        self.schema_history = history_topic(config.kafka, self._prefix)
        self.offsets = offset_topic(config.kafka, self._prefix)
        self.open_transactions = open_transactions_topic(config.log_mining, self._prefix) or None
        self.own = {one.topic: one for one in own_topics({name: getattr(config, name) for name in SECTIONS})}
        self._own_folded = {self._folded(topic): topic for topic in self.own}

    def claim(self, tables: Iterable[TableId]) -> None:
        """Take the topics of tables that are published already, in this order: of two with one topic, the later one does not get it,
        whichever has the first row."""
        for table in tables:
            try:
                self._tables.setdefault(self._folded(self.name_of(table)), table)
            except ConfigError:  # raised again by `of_table`, once there is a row
                continue

    def name_of(self, table: TableId) -> str:
        """As `of_table`, whether or not the table can have that topic. No topic is taken. Raises ConfigError as `of_table`."""
        return _sanitized(self._name(table))

    def release(self, table: TableId) -> None:
        """Let another table have the topic of one that is dropped, or has another name now."""
        self._tables = {name: owner for name, owner in self._tables.items() if owner != table}

    def _folded(self, topic: str) -> str:
        """What is equal for topics of which Kafka takes one only."""
        return topic.replace(".", "_") if self._folds else topic

    def refusal(self, table: TableId) -> RecordSchemaError | None:
        """The error of `of_table`, None where it raises none; what Kafka refused counts again for a table that is not suspended
        only. No topic is taken. Raises ConfigError as `of_table`."""
        name = self.name_of(table)
        owner, where = self._tables.get(self._folded(name), table), f"table {table}"
        if owner != table and not self._gives_up(owner):
            other = self.name_of(owner)
            same = f"would share the topic {name}" if other == name else f"would have the topics {other} and {name}"
            differ = "" if other == name else ", which differ in . and _ only, so that Kafka takes one of them"
            return SharedTopicError(
                f"tables {_shown(owner, table)} and {_shown(table, owner)} {same}{differ}",
                where=where,
                hint="Leave one of them out with table.exclude.list, set a topic.naming.strategy that keeps them apart, or capture one with a connector of another topic.prefix.",
            )
        if (own_name := self._own_folded.get(self._folded(name))) is not None:
            own, naming = self.own[own_name], "topic.regex" if self._rewritten else "topic.naming.strategy"
            differ = "" if own_name == name else f", {own_name} for Kafka, which takes . and _ for the same"
            return SharedTopicError(
                f"the topic {name} of table {table} ({naming}) would be one of the connector's own topics{differ}: it holds {own.holds}"
                f" ({own.names})",
                where=where,
                hint=f"Change {naming} or {own.names}, or leave the table out with table.exclude.list.",
            )
        if self._gives_up(table):
            self._refused.forget()
        return self._refused.refusal(name, where)

    def of_table(self, table: TableId) -> str:
        """Topic of a table's changes, by `topic.naming.strategy`; characters that a topic cannot hold (`$`, `#`, blanks) become
        `_`, and it is cut after 249 characters. The name stays taken until `release`, or until `gives_up`.

        :raises SharedTopicError: another table already has that topic, or it would be one of the connector's own.
        :raises RecordSchemaError: Kafka refused it, or a record in it.
        :raises ConfigError: a function of the configuration gives no name.
        """
        if (refusal := self.refusal(table)) is not None:
            raise refusal
        name = self.name_of(table)
        self._tables[self._folded(name)] = table
        return name


def _shown(table: TableId, other: TableId) -> str:
    return str(table) if table.database == other.database else f"{table.database}.{table}"


def _sanitized(name: str) -> str:
    found = _NOT_IN_A_TOPIC.sub("_", name)[:_LONGEST]
    return found.replace(".", "_") if found in (".", "..") else found


def _naming(config: TopicConfig, prefix: str, with_database: bool) -> Callable[[TableId], str]:
    """The names that a strategy gives, not yet sanitized, as a function of the table."""
    strategy, delimiter = config.topic_naming_strategy.rpartition(".")[2], config.topic_delimiter
    if ":" in config.topic_naming_strategy:
        return _plugged_in(config.topic_naming_strategy, prefix, delimiter)

    def parts(table: TableId) -> tuple[str, ...]:
        if strategy.startswith("Default"):
            return (prefix, table.database, table.table)
        return (prefix, *table) if with_database else (prefix, table.schema, table.table)

    if "Unicode" in strategy:
        return lambda table: delimiter.join((prefix, *map(_escaped, parts(table)[1:])))
    if config.is_rewritten:
        assert config.topic_regex is not None
        assert config.topic_replacement is not None
        pattern, replacement = re.compile(config.topic_regex), _replacement(config.topic_replacement)
        return lambda table: _rewritten(pattern, replacement, delimiter.join(parts(table)))
    return lambda table: delimiter.join(parts(table))


def _plugged_in(name: str, prefix: str, delimiter: str) -> Callable[[TableId], str]:
    function = load_callable(name, "topic.naming.strategy", "prefix", "delimiter", "table")

    def call(table: TableId) -> str:
        try:
            found = function(prefix, delimiter, table)
        except Exception as error:  # the function's own code
            raise ConfigError(
                [f"topic.naming.strategy: {name} raises {error!r} for {table}"],
                hint="Let the function return a name for each captured table, or leave the table out with table.exclude.list.",
            ) from error
        if not isinstance(found, str) or not found:
            raise ConfigError([f"topic.naming.strategy: {name} gives no name for {table}: {found!r}"])
        return found

    return call


def _escaped(part: str) -> str:
    return _NOT_IN_A_PART.sub(lambda match: f"_u{ord(match[0]):04x}", part)


def _rewritten(pattern: re.Pattern[str], replacement: str, name: str) -> str:
    """The name, rewritten when the pattern matches all of it; as it is when nothing would be left."""
    found = pattern.fullmatch(name)
    return (found.expand(replacement) if found else "") or name


def _replacement(java: str) -> str:
    """Java's `$1`, `${name}` and escapes, as Python has them."""

    def group(match: re.Match[str]) -> str:
        escaped, number, name = match.groups()
        if escaped is not None:
            return "\\\\" if escaped == "\\" else str(escaped)
        return rf"\g<{number or name}>"

    return _GROUP.sub(group, java)
