"""Checks that the connector's own topics keep their records, and reports each problem with the command that fixes it.

offsets             compacted, or the last offset is deleted with time
open transactions   compacted, too; there, or created; takes records of 300,000 bytes
schema history      never deleted; not compacted, since its records have no key
all                 not more in-sync replicas wanted than there are; more than one, where there are three replicas or more
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from minercdc.messages.topics import TopicNames
from minercdc.oracle.finding import Finding, Severity
from minercdc.sinks.kafka.client import KafkaClient, TopicState

_LONGEST: Final = 300_000
"""Bytes of a record with a piece of a file, 256 KiB, and its key and frame, not compressed."""


def internal_topic_findings(client: KafkaClient, topics: TopicNames) -> list[Finding]:
    """What is wrong with the topics that are there, and whose settings may be read; and that the topic of open transactions
    is missing, where nothing creates it.

    :raises DeliveryError, SinkError: Kafka cannot be reached, or fails to show their settings.
    """
    names = [topics.offsets, *((topics.schema_history,) if topics.has_history else ())]
    names += [topics.open_transactions] if topics.open_transactions else []
    found = client.states(names)
    findings = [finding for name in names if name in found for finding in _of(client.brokers, name, found[name], topics)]
    return [*_missing_topic(client, topics.open_transactions), *findings]


def _missing_topic(client: KafkaClient, name: str | None) -> Iterator[Finding]:
    """That the topic of open transactions is missing, and not created: a broker that makes topics by itself would not
    compact it."""
    if name is not None and not client.creates_topics and not client.existing([name]):
        yield Finding(
            "open-transactions-topic",
            Severity.MISSING,
            f"topic {name} does not exist, and topic.creation.enable=false: open transactions cannot be copied",
            f"kafka-topics.sh --bootstrap-server {client.brokers} --create --topic {name} --partitions 1 --config cleanup.policy=compact",
        )


def _of(brokers: str, name: str, state: TopicState, topics: TopicNames) -> Iterator[Finding]:
    policies = _policies(state)
    if name == topics.offsets:
        yield from _compacted(brokers, name, state, "the connector's offset", rule="offset-topic")
    elif name == topics.open_transactions:
        yield from _compacted(brokers, name, state, "the rows of open transactions", rule="open-transactions-topic")
        if (most := int(state.settings.get("max.message.bytes", _LONGEST))) < _LONGEST:
            yield Finding(
                "open-transactions-topic",
                Severity.MISSING,
                f"topic {name} takes records of {most} bytes at most: copies of open transactions have up to {_LONGEST}",
                _alter(brokers, name, f"max.message.bytes={_LONGEST}"),
            )
    elif "compact" in policies:
        yield Finding(
            "history-topic",
            Severity.MISSING,
            f"topic {name} is compacted: records of the schema history have no key, and are refused",
            _alter(brokers, name, "cleanup.policy=delete,retention.ms=-1,retention.bytes=-1"),
        )
    else:
        if limits := _limits(state):
            unlimited = ",".join(f"{limit.partition('=')[0]}=-1" for limit in limits)
            yield Finding(
                "history-topic",
                Severity.ADVICE,
                f"topic {name} deletes records ({', '.join(limits)}):"
                " the connector does not start without the whole schema history",
                _alter(brokers, name, unlimited),
            )
    yield from _replicas(brokers, name, state)


def _policies(state: TopicState) -> set[str]:
    return {policy.strip() for policy in state.settings.get("cleanup.policy", "delete").split(",")}


def _compacted(brokers: str, name: str, state: TopicState, holds: str, *, rule: str) -> Iterator[Finding]:
    """What keeps a topic from keeping the last record of each key for ever.

    :param holds: what is in the topic, for the messages.
    """
    if "compact" not in _policies(state):
        problem, fix = f"topic {name} is not compacted: {holds} would be deleted with time", "cleanup.policy=compact"
        yield Finding(rule, Severity.MISSING, problem, _alter(brokers, name, fix))
        return
    limits = _limits(state)
    if "delete" in _policies(state) and limits:
        problem = f"topic {name} deletes records, beside compaction ({', '.join(limits)}): {holds}, too"
        yield Finding(rule, Severity.MISSING, problem, _alter(brokers, name, "cleanup.policy=compact"))


def _limits(state: TopicState) -> list[str]:
    names = ("retention.ms", "retention.bytes")
    return [f"{name}={state.settings[name]}" for name in names if state.settings.get(name, "-1") != "-1"]


# Since 3.7 a broker wants no more replicas in sync than there are (KAFKA-15583).
def _replicas(brokers: str, name: str, state: TopicState) -> Iterator[Finding]:
    wanted = int(state.settings.get("min.insync.replicas", "1"))
    if wanted > state.replicas:
        yield Finding(
            "replicas",
            Severity.ADVICE,
            f"topic {name} wants {wanted} in-sync replicas and has {state.replicas}: brokers before Kafka 3.7 take no records of it",
            _alter(brokers, name, f"min.insync.replicas={state.replicas}"),
        )
    elif wanted == 1 and state.replicas > 2:
        yield Finding(
            "replicas",
            Severity.ADVICE,
            f"topic {name} has {state.replicas} replicas and takes records that one of them has: they are lost with it",
            _alter(brokers, name, "min.insync.replicas=2"),
        )


def _alter(brokers: str, topic: str, settings: str) -> str:
    # Settings with a comma in their value are given in brackets; none of these has one.
    return (
        f"kafka-configs.sh --bootstrap-server {brokers} --alter --entity-type topics --entity-name {topic}"
        f" --add-config {settings}"
    )
