"""What topics are created with, and the check of the connector's own, on a real broker."""

from __future__ import annotations

import re
import time

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from tests.kafka.test_sink import OFFSET, client_of, settings, sink_of, topics_of

from minercdc.errors import SinkError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.messages.topics import TopicNames
from minercdc.operate.check.targets import topic_findings
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.internal_topics import internal_topic_findings
from minercdc.stream.contracts import Record


def test_topics_are_created_as_their_group_says(broker: KafkaBroker, prefix: str) -> None:
    config = settings(
        prefix,
        broker.bootstrap_servers,
        **{
            "topic.creation.groups": "compacted",
            "topic.creation.compacted.include": rf"{prefix}\.S\.C.*",
            "topic.creation.compacted.partitions": "3",
            "topic.creation.compacted.cleanup.policy": "compact",
            "topic.creation.default.partitions": "2",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.compression.type": "zstd",
        },
    )
    sink = sink_of(config)
    for name in ("S.CUSTOMERS", "S.ORDERS"):
        sink.write(Record(f"{prefix}.{name}", b"k", b"v"))
    sink.commit(OFFSET)
    sink.close()
    client = client_of(config)
    names = {f"{prefix}.S.CUSTOMERS": 3, f"{prefix}.S.ORDERS": 2, f"{prefix}-offsets": 1, f"{prefix}-schema-history": 1}
    assert {name: len(client.ends(name)) for name in names} == names
    found = client.states([*names, "not.there"])
    assert found.keys() == names.keys()
    assert [
        (state.settings["cleanup.policy"], state.settings["compression.type"], state.replicas) for state in found.values()
    ] == [("compact", "producer", 1), ("delete", "zstd", 1), ("compact", "producer", 1), ("delete", "producer", 1)]


def test_a_setting_that_kafka_does_not_know_is_named(broker: KafkaBroker, prefix: str) -> None:
    config = settings(prefix, broker.bootstrap_servers, **{"topic.creation.default.cleanup.polici": "compact"})
    sink = sink_of(config)
    with pytest.raises(SinkError, match=rf"creating topic {prefix}.S.T failed: .*cleanup.polici"):
        sink.write(Record(f"{prefix}.S.T", b"k", b"v"))
    sink.close()


@pytest.mark.parametrize(
    ("topic", "setting", "problem", "blocking"),
    [
        ("offsets", "cleanup.policy=delete", "is not compacted", True),
        (
            "offsets",
            "retention.ms=1000;cleanup.policy=[compact,delete]",
            "deletes records, beside compaction (retention.ms=1000)",
            True,
        ),
        ("offsets", "min.insync.replicas=2", "wants 2 in-sync replicas and has 1", False),
        ("open-transactions", "cleanup.policy=delete", "the rows of open transactions would be deleted", True),
        (
            "open-transactions",
            "retention.ms=-1;retention.bytes=9;cleanup.policy=[compact,delete]",
            "(retention.bytes=9)",
            True,
        ),
        ("open-transactions", "max.message.bytes=2000", "takes records of 2000 bytes at most", True),
        ("schema-history", "cleanup.policy=compact", "is compacted", True),
        ("schema-history", "retention.ms=1000", "deletes records (retention.ms=1000)", False),
    ],
)
def test_the_command_of_each_problem_fixes_it(
    broker: KafkaBroker, prefix: str, topic: str, setting: str, problem: str, blocking: bool
) -> None:
    config = settings(prefix, broker.bootstrap_servers, **{"minercdc.log.mining.buffer.durable": "topic"})
    client, topics = client_of(config), TopicNames(config)
    assert internal_topic_findings(client, topics) == []
    sink_of(config).close()
    client.ensure_topic(f"{prefix}-open-transactions", partitions=1, compacted=True)
    assert internal_topic_findings(client, topics) == []
    for one in setting.split(";"):
        alter(broker, f"{prefix}-{topic}", one)
    (finding,) = internal_topic_findings(client, topics)
    assert (problem in finding.problem, finding.blocking) == (True, blocking)
    command = re.fullmatch(
        r"kafka-configs.sh --bootstrap-server (\S+) .* --entity-name (\S+) --add-config (\S+)", finding.fix
    )
    assert command is not None
    assert command[1] == broker.bootstrap_servers
    for fix in command[3].split(","):
        alter(broker, command[2], fix)
    assert internal_topic_findings(client, topics) == []


def alter(broker: KafkaBroker, topic: str, setting: str) -> None:
    """As kafka-configs.sh does it."""
    name, _, value = setting.partition("=")
    entry = ConfigEntry(name, value.strip("[]"), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for answer in admin.incremental_alter_configs([resource]).values():
        answer.result()
    deadline = time.monotonic() + 10
    while True:
        (shown,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]).values()
        if shown.result()[name].value == value.strip("[]"):
            return
        assert time.monotonic() < deadline, f"{name} is {shown.result()[name].value}"


def test_topics_of_tables_that_do_not_fit_are_found(broker: KafkaBroker, prefix: str) -> None:
    config = settings(
        prefix,
        broker.bootstrap_servers,
        **{"topic.creation.enable": "false", "topic.creation.groups": "c", "topic.creation.c.include": ".*C"},
    )
    tables = [TableSchema(TableId("D", "S", name), (Column("ID", "NUMBER"),)) for name in ("C", "MISSING")]
    names = topics_of(config)
    topic = NewTopic(names.of_table(tables[0].id), num_partitions=1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([topic])[topic.topic].result()
    client = client_of(config)
    missing, compacted = topic_findings(config, client, names, tables, [False, False])
    assert (missing.rule, compacted.rule) == ("table-topics", "compacted-topics")
    assert names.of_table(tables[1].id) in missing.problem
    assert "cleanup.policy=delete" in compacted.fix
    assert [found.rule for found in topic_findings(config, client, names, tables, [True, True])] == ["table-topics"]


def test_a_missing_topic_is_named_once_where_none_is_created(
    broker: KafkaBroker, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = client_of(settings(prefix, broker.bootstrap_servers, **{"topic.creation.enable": "false"}))
    for _ in range(2):
        client.ensure_topic(f"{prefix}-offsets", compacted=True)
    named = [
        one for one in caplog.messages if f"topic {prefix}-offsets does not exist, and topic.creation.enable=false" in one
    ]
    assert len(named) == 1


def test_a_missing_topic_of_open_transactions_that_is_not_created_is_found(broker: KafkaBroker, prefix: str) -> None:
    more = {"minercdc.log.mining.buffer.durable": "topic", "topic.creation.enable": "false"}
    config = settings(prefix, broker.bootstrap_servers, **more)
    client, topics = client_of(config), TopicNames(config)
    (finding,) = internal_topic_findings(client, topics)
    assert (finding.rule, finding.blocking) == ("open-transactions-topic", True)
    assert f"--create --topic {prefix}-open-transactions --partitions 1 --config cleanup.policy=compact" in finding.fix
    made = NewTopic(f"{prefix}-open-transactions", num_partitions=1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([made])[made.topic].result()
    assert internal_topic_findings(client, topics) == []
