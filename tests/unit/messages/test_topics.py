"""Names of topics, and what they are created with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, DeliveryError, RecordSchemaError, SharedTopicError
from minercdc.messages.refused_topics import Refusal, RefusedTopics
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import TableId
from minercdc.sinks.opening import need_kafka

PACKAGE = "io.debezium.schema."
A = TableId("ORCLPDB1", "SHOP", "ORDER_A$1")


def config(**more: str) -> ConnectorConfig:
    return parse_properties(GOOD | {name.replace("_", "."): value for name, value in more.items()})


def names(**more: str) -> TopicNames:
    found = config(**more)
    return TopicNames(found)


def own_name(prefix: str, delimiter: str, table: TableId) -> str:
    return delimiter.join((prefix, table.table.lower()))


def no_name(prefix: str, delimiter: str, table: TableId) -> str:
    return ""


def by_owner(prefix: str, delimiter: str, table: TableId) -> str:
    return {"SALES": f"{table.database}{delimiter}{table.schema}{delimiter}{table.table}"}[table.schema]


REGEX = {"topic_naming_strategy": f"{PACKAGE}SchemaRegexTopicNamingStrategy", "topic_key_enforce_uniqueness": "false"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "server1.SHOP.ORDER_A_1"),
        ({"topic_delimiter": "-_"}, "server1-_SHOP-_ORDER_A_1"),
        ({"topic_naming_strategy": f"{PACKAGE}DefaultTopicNamingStrategy"}, "server1.ORCLPDB1.ORDER_A_1"),
        ({"topic_naming_strategy": f"{PACKAGE}SchemaUnicodeTopicNamingStrategy"}, "server1.SHOP.ORDER_u005fA_u00241"),
        ({"topic_naming_strategy": f"{PACKAGE}DefaultUnicodeTopicNamingStrategy"}, "server1.ORCLPDB1.ORDER_u005fA_u00241"),
        ({"topic_naming_strategy": f"{__name__}:own_name"}, "server1.order_a_1"),
        ({**REGEX, "topic_regex": r"(.*)\.(.*)\.(.*)", "topic_replacement": r"$3\$of$2"}, "ORDER_A_1_ofSHOP"),
        ({**REGEX, "topic_regex": r"(.*)\.SHOP", "topic_replacement": "x"}, "server1.SHOP.ORDER_A_1"),
        ({**REGEX, "topic_regex": ".*", "topic_replacement": ""}, "server1.SHOP.ORDER_A_1"),
    ],
)
def test_strategies(more: dict[str, str], expected: str) -> None:
    assert names(**more).of_table(A) == expected


def test_a_name_is_cut_where_kafka_ends_it() -> None:
    assert len(names().of_table(TableId("D", "S" * 128, "T" * 128))) == 249


def test_a_topic_is_that_of_the_table_that_was_published_first_whichever_has_the_first_row() -> None:
    first, second = (TableId("ORCLPDB1", "SHOP", name) for name in ("EMP$1", "EMP#1"))
    topics = names()
    topics.claim([first, second])
    for _ in range(2):
        with pytest.raises(SharedTopicError, match="SHOP.EMP.1 and SHOP.EMP#1 would share"):
            topics.of_table(second)
        assert topics.of_table(first) == "server1.SHOP.EMP_1"
    for function, problem in (("no_name", "gives no name"), ("by_owner", "raises KeyError")):
        unnamed = names(topic_naming_strategy=f"{__name__}:{function}")
        unnamed.claim([first])
        with pytest.raises(ConfigError, match=problem):
            unnamed.of_table(first)


def test_a_table_that_is_gone_or_suspended_leaves_its_topic_to_another_one() -> None:
    first, second = (TableId("ORCLPDB1", "SHOP", name) for name in ("EMP$1", "EMP#1"))
    suspended: set[TableId] = set()
    topics = TopicNames(config(), suspended.__contains__)
    assert topics.of_table(first)
    assert "SHOP.EMP$1 and SHOP.EMP#1" in str(topics.refusal(second))
    suspended.add(first)
    assert topics.refusal(second) is None
    suspended.clear()
    assert topics.of_table(first), "to ask takes no topic"
    suspended.add(first)
    assert topics.of_table(second)
    suspended.clear()
    with pytest.raises(SharedTopicError, match=r"SHOP.EMP#1 and SHOP.EMP\$1 would share"):
        topics.of_table(first)
    topics.release(first)
    assert topics.refusal(first) is not None, "it was not the one that had it"
    topics.release(second)
    assert topics.of_table(first)


def test_two_tables_never_share_a_topic_nor_take_one_of_the_connectors_own() -> None:
    topics = names(topic_naming_strategy=f"{PACKAGE}DefaultTopicNamingStrategy")
    topics.of_table(A)
    with pytest.raises(SharedTopicError, match="would share the topic server1.ORCLPDB1.ORDER_A_1"):
        topics.of_table(TableId("ORCLPDB1", "OTHER", "ORDER_A$1"))
    same = names(**REGEX, topic_regex=".*", topic_replacement="server1")
    with pytest.raises(SharedTopicError, match="one of the connector's own topics"):
        same.of_table(A)
    with pytest.raises(ConfigError, match="gives no name for SHOP.ORDER_A"):
        names(topic_naming_strategy=f"{__name__}:no_name").of_table(A)
    with pytest.raises(ConfigError, match=r"strategy: .*:by_owner raises KeyError\('SHOP'\) for SHOP.ORDER_A"):
        names(topic_naming_strategy=f"{__name__}:by_owner").of_table(A)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        names(topic_naming_strategy=f"{__name__}:nothing")


def test_topics_that_differ_in_dots_and_underscores_are_one_for_kafka(tmp_path: Path) -> None:
    dotted, other = TableId("ORCLPDB1", "SHOP", "DAY.SUM"), TableId("ORCLPDB1", "SHOP", "DAY_SUM")
    topics = names()
    topics.claim([dotted])
    with pytest.raises(SharedTopicError, match=r"SHOP.DAY.SUM and SHOP.DAY_SUM .* differ in \. and _ only"):
        topics.of_table(other)
    topics.release(dotted)
    assert topics.of_table(other) == "server1.SHOP.DAY_SUM"
    own = TopicNames(config(notification_enabled_channels="sink", notification_sink_topic_name="server1_SHOP_DAY.SUM"))
    with pytest.raises(SharedTopicError, match=r"one of the connector's own topics, server1_SHOP_DAY\.SUM for Kafka"):
        own.of_table(other)
    files = TopicNames(config(debezium_sink_type="json", minercdc_sink_path=str(tmp_path / "x")))
    assert files.of_table(dotted) != files.of_table(other)


def test_a_topic_that_kafka_refused_is_a_failure_of_its_table_until_it_is_resumed() -> None:
    refused, suspended = RefusedTopics(), set[TableId]()
    topics = TopicNames(config(), suspended.__contains__, refused)
    assert isinstance(refused.note("server1.SHOP.ORDER_A_1", Refusal("INVALID_RECORD", "do this")), DeliveryError)
    with pytest.raises(RecordSchemaError, match=r"INVALID_RECORD \(table SHOP.ORDER_A\$1\)") as caught:
        topics.of_table(A)
    assert caught.value.hint == "do this"
    assert topics.of_table(TableId("ORCLPDB1", "SHOP", "B"))
    suspended.add(A)
    assert topics.refusal(A) is None, "as `resume-table` sees it"
    suspended.clear()
    assert topics.of_table(A) == "server1.SHOP.ORDER_A_1"


def test_a_refusal_that_no_table_is_set_aside_for_stops() -> None:
    refused = RefusedTopics()
    first, second = (refused.note("server1-notes", Refusal("INVALID_RECORD", "")) for _ in range(2))
    assert isinstance(first, DeliveryError)
    assert not isinstance(second, DeliveryError)


BEATS = {"heartbeat_interval_ms": "1000"}
MARKS = {"provide_transaction_metadata": "true"}
NOTICES = {"notification_enabled_channels": "sink"}
SIGNALS = {"signal_enabled_channels": "kafka"}
OWN = {
    "minercdc.offset.topic": ({}, "server1-offsets"),
    "schema.history.internal.kafka.topic": ({}, "schema-changes.inventory"),
    "signal.kafka.topic": (SIGNALS, "server1-signal"),
    "minercdc.dead.letter.topic": ({"minercdc_dead_letter_topic": "dead"}, "dead"),
    "minercdc.log.mining.buffer.durable.topic": (
        {"minercdc_log_mining_buffer_durable": "topic"},
        "server1-open-transactions",
    ),
    "topic.prefix": ({}, "server1"),
    "topic.transaction": (MARKS, "server1.transaction"),
    "topic.heartbeat.prefix": (BEATS, "__debezium-heartbeat.server1"),
    "heartbeat.topics.prefix": ({**BEATS, "heartbeat_topics_prefix": "beats"}, "beats.server1"),
    "topic.heartbeat.name": ({**BEATS, "topic_heartbeat_name": "beats"}, "beats"),
}
"""By the property that names a topic: what makes it be in use, and its name."""


@pytest.mark.parametrize("by", OWN)
def test_no_topic_of_the_connector_is_named_as_another(by: str) -> None:
    more, name = OWN[by]
    with pytest.raises(ConfigError) as caught:
        config(**NOTICES, notification_sink_topic_name=name, **more)
    (problem,) = caught.value.problems
    assert f"the topic {name} would hold " in problem
    assert by in problem
    assert "notification.sink.topic.name" in problem


@pytest.mark.parametrize("by", OWN)
def test_no_table_takes_a_topic_of_the_connector(by: str) -> None:
    more, name = OWN[by]
    topics = TopicNames(config(**REGEX, topic_regex=r".*\.SHOP\..*", topic_replacement=name, **more))
    with pytest.raises(SharedTopicError, match=r"of table SHOP.ORDER_A\$1 \(topic.regex\) .* \(" + by + r"\)") as caught:
        topics.of_table(A)
    assert by in str(caught.value.hint)


def test_topics_that_are_not_in_use_take_no_name(tmp_path: Path) -> None:
    unused = {"include_schema_changes": "false", "heartbeat_topics_prefix": "beats", "topic_heartbeat_name": "server1"}
    assert config(**NOTICES, notification_sink_topic_name="server1", **unused)
    elsewhere = {**SIGNALS, "signal_kafka_bootstrap_servers": "another:9092"}
    assert config(**NOTICES, notification_sink_topic_name="server1-signal", **elsewhere)
    lines = {
        "debezium_sink_type": "json",
        "minercdc_sink_path": str(tmp_path / "x"),
        "value_converter_schemas_enable": "true",
    }
    assert config(**NOTICES, notification_sink_topic_name="server1-offsets", **lines)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"topic_naming_strategy": "com.example.Topics"}, "topic.naming.strategy: com.example.Topics is not supported"),
        ({**REGEX}, "topic.regex: needed"),
        ({**REGEX, "topic_regex": "(", "topic_replacement": "x"}, "topic.regex: '(' is not a regular expression"),
        (
            {"topic_naming_strategy": REGEX["topic_naming_strategy"], "topic_regex": "x", "topic_replacement": "y"},
            "topic.key.enforce.uniqueness: only false",
        ),
        ({"topic_delimiter": "/"}, "topic.delimiter"),
        ({"topic_creation_groups": "a"}, "topic.creation.a.include: needed"),
        ({"topic_creation_a_include": "x"}, "topic.creation.a.include: topic.creation.groups does not list a"),
        ({"topic_creation_groups": "a", "topic_creation_a_include": "("}, "topic.creation.a.include: "),
        (
            {"topic_creation_groups": "a", "topic_creation_a_include": "x", "topic_creation_a_partitions": "0"},
            "topic.creation.a.partitions: '0'",
        ),
        ({"topic_creation_default_replication_factor": "0"}, "topic.creation.default.replication.factor: 0 is not allowed"),
    ],
)
def test_what_is_wrong_is_named(more: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**more)
    assert any(line.startswith(problem) for line in caught.value.problems), caught.value.problems


GROUPS = {
    "topic_creation_groups": "small, compact",
    "topic_creation_small_include": r"server1\.SHOP\.S.*",
    "topic_creation_small_exclude": r".*\.SX",
    "topic_creation_small_partitions": "2",
    "topic_creation_compact_include": r".*\.C, .*\.S",
    "topic_creation_compact_cleanup_policy": "compact",
    "topic_creation_default_partitions": "4",
    "topic_creation_default_compression_type": "zstd",
}


def test_the_first_group_that_matches_counts() -> None:
    found = config(**GROUPS).topics.creation

    def rule_of(topic: str) -> str:
        return next(rule.name for rule in found if rule.matches(topic))

    assert [rule_of(f"server1.SHOP.{name}") for name in ("S1", "S", "SX", "C", "OTHER")] == [
        "small",
        "small",
        "default",
        "compact",
        "default",
    ]
    assert (found[0].partitions, found[1].partitions, found[1].settings) == (2, None, {"cleanup.policy": "compact"})
    assert found[2].settings == {"compression.type": "zstd"}


def test_what_reads_the_topics_is_refused_where_it_would_miss_some(tmp_path: Path) -> None:
    need_kafka(config(), "x")
    need_kafka(config(topic_naming_strategy=f"{PACKAGE}DefaultUnicodeTopicNamingStrategy"), "x")
    claims = {"minercdc_kafka_record_too_large": "claim_check", "minercdc_claim_check_path": str(tmp_path)}
    for more, reason in (
        ({**REGEX, "topic_regex": "x", "topic_replacement": "y"}, r"`x` finds topics by their names server1\.\*\.\* only"),
        ({"topic_naming_strategy": f"{__name__}:own_name"}, "finds topics by their names"),
        (claims, "claim_check leaves some out"),
    ):
        with pytest.raises(ConfigError, match=reason):
            need_kafka(config(**more), "`x`")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("SchemaTopicNamingStrategy", "server1.SALES.SHOP.ORDERS"),
        ("SchemaUnicodeTopicNamingStrategy", "server1.SALES.SHOP.ORDERS"),
        ("DefaultTopicNamingStrategy", "server1.SALES.ORDERS"),
    ],
)
def test_topics_of_several_databases_have_theirs(strategy: str, expected: str) -> None:
    pdbs = {"database_pdb_name": "SALES,STOCK", "event_processing_failure_handling_mode": "fail"}
    found = TopicNames(config(topic_naming_strategy=PACKAGE + strategy, **pdbs))
    assert found.of_table(TableId("SALES", "SHOP", "ORDERS")) == expected
    assert found.of_table(TableId("STOCK", "SHOP", "ORDERS")) == expected.replace("SALES", "STOCK")
