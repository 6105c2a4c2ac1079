"""Properties of topic names and of topic creation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from pydantic import Field, PrivateAttr, field_validator

from minercdc.config.debezium.java_regex import unknown_group
from minercdc.config.section import CommaList, Section, rule
from minercdc.schema.patterns import configured_pattern

TRANSPORTABLE = re.compile(r"[A-Za-z0-9._-]+")
_CREATION: Final = "topic.creation."
_DEFAULT: Final = "default"
_PACKAGE: Final = "io.debezium.schema."
NAMING: Final = (
    "SchemaTopicNamingStrategy",
    "DefaultTopicNamingStrategy",
    "SchemaUnicodeTopicNamingStrategy",
    "DefaultUnicodeTopicNamingStrategy",
    "SchemaRegexTopicNamingStrategy",
    "DefaultRegexTopicNamingStrategy",
)


def partition_rules(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(Pattern, columns) of `SCHEMA.TABLE:COL1,COL2;...`. Raises ValueError for a text of another form, or a pattern that is
    none."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        pattern, colon, columns = part.rpartition(":")
        names = tuple(name.strip() for name in columns.split(",") if name.strip())
        if not colon or not pattern.strip() or not names:
            raise ValueError(f"'{part}' is not of the form SCHEMA.TABLE:COL1,COL2")
        configured_pattern(pattern.strip())
        yield pattern.strip(), names


@dataclass(frozen=True, slots=True)
class TopicRule:
    """What topics of a group are created with.

    :param include, exclude: patterns of whole topic names.
    :param partitions, replication: None: as for other topics; -1: the broker's default.
    :param settings: of the topic, as Kafka names them.
    """

    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    partitions: int | None = None
    replication: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def matches(self, topic: str) -> bool:
        """Whether a topic of this name is in the group. Raises ConfigError when a pattern takes too long."""
        return any(configured_pattern(pattern).matches(topic) for pattern in self.include) and not any(
            configured_pattern(pattern).matches(topic) for pattern in self.exclude
        )


class TopicConfig(Section):
    """Topic names and what they are created with."""

    topic_delimiter: str = Field(".", pattern=f"^{TRANSPORTABLE.pattern}$", description="Joins the parts of a topic name.")
    topic_naming_strategy: str = Field(
        _PACKAGE + NAMING[0],
        description="Name of a table's topic. `io.debezium.schema.SchemaTopicNamingStrategy`: `<topic.prefix>.<SCHEMA>.<TABLE>`; `…DefaultTopicNamingStrategy`: `<topic.prefix>.<DATABASE>.<TABLE>`; `…SchemaUnicodeTopicNamingStrategy` and `…DefaultUnicodeTopicNamingStrategy`: the same with `_uXXXX` for characters that a topic cannot hold, and for `_`; `…SchemaRegexTopicNamingStrategy` and `…DefaultRegexTopicNamingStrategy`: the same, rewritten by `topic.regex`; or `package.module:function`, called with prefix, delimiter and a `TableId` ([its members](reference/topics.md#names)). Two tables never share a topic.",
    )
    topic_regex: str | None = Field(
        None, description="With a Regex strategy: Java pattern that is matched against the whole name of the other strategy."
    )
    topic_replacement: str | None = Field(
        None, description="Replacement for a matching name, with `$1` for a group. Other names are unchanged."
    )
    topic_key_enforce_uniqueness: bool = Field(
        True,
        description="With a Regex strategy: must be false, because each table has its own topic, and its key gets no additional field.",
    )
    minercdc_topic_partition_columns: str = Field(
        "",
        description="`SCHEMA.TABLE:COL1,COL2;...`: columns of the record key that select the partition, instead of the whole key: rows with equal values are in one partition. The table part is a pattern. Such tables use the Python path.",
    )
    include_schema_changes: bool = Field(
        True, description="Publish DDL and the table structures of snapshots to the topic `<topic.prefix>`."
    )
    topic_creation_enable: bool = Field(True, description="Create missing topics; otherwise the broker must.")
    topic_creation_default_partitions: int = Field(
        1, ge=-1, description="Partitions of a new table topic; -1: the broker's default."
    )
    topic_creation_default_replication_factor: int = Field(
        -1, ge=-1, description="Replication factor of new topics; -1: the broker's default."
    )
    topic_creation_groups: CommaList = Field(
        (),
        description="Groups of topics with separate settings: `topic.creation.<group>.include` and `.exclude` (patterns of whole topic names), `.partitions`, `.replication.factor`, and any topic setting, such as `.cleanup.policy`. The first group that matches counts. `topic.creation.default.<setting>` applies to topics in no group.",
    )
    _rules: tuple[TopicRule, ...] = PrivateAttr(default=())

    @field_validator("topic_naming_strategy", mode="after")
    @classmethod
    def _known(cls, value: str) -> str:
        if ":" not in value and value.removeprefix(_PACKAGE) not in NAMING:
            raise ValueError(f"{value} is not supported; known are {', '.join(NAMING)}, and package.module:function")
        return value

    @field_validator("minercdc_topic_partition_columns", mode="after")
    @classmethod
    def _columns(cls, value: str) -> str:
        for _ in partition_rules(value):
            pass
        return value

    @field_validator("topic_creation_default_partitions", "topic_creation_default_replication_factor", mode="after")
    @classmethod
    def _not_zero(cls, value: int) -> int:
        if value == 0:
            raise ValueError("0 is not allowed; give -1 or a positive number")
        return value

    @rule
    def _expression(self) -> Iterator[str]:
        if not self.is_rewritten:
            return
        if self.topic_regex is None or self.topic_replacement is None:
            yield "topic.regex: needed with this topic.naming.strategy, and topic.replacement"
            return
        try:
            re.compile(self.topic_regex)
        except re.error as error:
            yield f"topic.regex: '{self.topic_regex}' is not a regular expression: {error}"
            return
        if group := unknown_group(self.topic_regex, self.topic_replacement):
            yield f"topic.replacement: {self.topic_replacement} has {group}, and topic.regex has no such group"

    @rule
    def _one_topic_each(self) -> Iterator[str]:
        if self.is_rewritten and self.topic_key_enforce_uniqueness:
            yield "topic.key.enforce.uniqueness: only false is supported, since each table has its own topic"

    @property
    def is_rewritten(self) -> bool:
        """Whether names are rewritten by `topic.regex`."""
        return self.topic_naming_strategy.endswith("RegexTopicNamingStrategy")

    @property
    def creation(self) -> tuple[TopicRule, ...]:
        """The groups in order, and last, what holds for topics in none of them; () where `with_creation` has not given any."""
        return self._rules

    def with_creation(self, rules: tuple[TopicRule, ...]) -> Self:
        """A copy whose `creation` is `rules`."""
        copy = self.model_copy()
        copy._rules = rules
        return copy


def take_creation(rest: dict[str, str], config: TopicConfig, problems: list[str]) -> tuple[TopicRule, ...]:
    """The groups of `topic.creation.groups`, and `default` as the last one; their properties are taken out of `rest`.

    :param problems: gets what is wrong with them.
    """
    own: dict[str, dict[str, str]] = {name: {} for name in (*config.topic_creation_groups, _DEFAULT)}
    for name in [name for name in rest if name.startswith(_CREATION)]:
        group, _, setting = name.removeprefix(_CREATION).partition(".")
        value = rest.pop(name)
        if group in own and setting:
            own[group][setting] = value
        else:
            problems.append(f"{name}: topic.creation.groups does not list {group}")
    return tuple(_rule_of(group, settings, problems) for group, settings in own.items())


def _rule_of(group: str, settings: dict[str, str], problems: list[str]) -> TopicRule:
    head = f"{_CREATION}{group}."
    include, exclude = (_patterns(head + name, settings.pop(name, ""), problems) for name in ("include", "exclude"))
    partitions, replication = (
        _count(head + name, settings.pop(name, None), problems) for name in ("partitions", "replication.factor")
    )
    if group == _DEFAULT:
        include = (".*",)
    elif not include:
        problems.append(f"{head}include: needed, since topic.creation.groups lists {group}")
    return TopicRule(group, include, exclude, partitions, replication, settings)


def _patterns(name: str, value: str, problems: list[str]) -> tuple[str, ...]:
    found = tuple(item.strip() for item in value.split(",") if item.strip())
    for pattern in found:
        try:
            configured_pattern(pattern)
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return found


def _count(name: str, value: str | None, problems: list[str]) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"\s*(-1|[1-9]\d*)\s*", value):
        problems.append(f"{name}: '{value}' is neither a number of them nor -1")
        return None
    return int(value)
