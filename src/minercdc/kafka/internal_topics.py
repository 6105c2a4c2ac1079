"""Whether the connector's own topics keep what is written to them, each problem with the command that fixes it.

offsets             compacted, or the last offset is deleted with time
open transactions   compacted, too
schema history      never deleted; not compacted, since its records have no key
all                 not more in-sync replicas wanted than there are; more than one, where there are three replicas or more
"""

from __future__ import annotations

from collections.abc import Iterator

from minercdc.kafka.client import KafkaClient, TopicState
from minercdc.kafka.topics import TopicNames
from minercdc.oracle.prerequisites import Finding


def internal_topic_findings(client: KafkaClient, topics: TopicNames) -> list[Finding]:
    """What is wrong with the topics that are there, and whose settings may be read.

    :raises DeliveryError, SinkError: Kafka cannot be reached, or fails to show their settings.
    """
    names = [topics.offsets, *((topics.schema_history,) if topics.has_history else ())]
    names += [topics.open_transactions] if topics.open_transactions else []
    found = client.states(names)
    return [finding for name in names if name in found for finding in _of(client.brokers, name, found[name], topics)]


def _of(brokers: str, name: str, state: TopicState, topics: TopicNames) -> Iterator[Finding]:
    policies = _policies(state)
    if name == topics.offsets:
        yield from _compacted(brokers, name, state, "the connector's offset", rule="offset-topic")
    elif name == topics.open_transactions:
        yield from _compacted(brokers, name, state, "the rows of open transactions", rule="open-transactions-topic")
    elif "compact" in policies:
        yield Finding(
            f"topic {name} is compacted: records of the schema history have no key, and are refused",
            _alter(brokers, name, "cleanup.policy=delete,retention.ms=-1,retention.bytes=-1"),
            blocking=True,
            rule="history-topic",
        )
    else:
        limits = [limit for limit in ("retention.ms", "retention.bytes") if state.settings.get(limit, "-1") != "-1"]
        if limits:
            yield Finding(
                f"topic {name} deletes records ({', '.join(f'{limit}={state.settings[limit]}' for limit in limits)}):"
                " the connector does not start without the whole schema history",
                _alter(brokers, name, ",".join(f"{limit}=-1" for limit in limits)),
                blocking=False,
                rule="history-topic",
            )
    yield from _replicas(brokers, name, state)


def _policies(state: TopicState) -> set[str]:
    return {policy.strip() for policy in state.settings.get("cleanup.policy", "delete").split(",")}


def _compacted(brokers: str, name: str, state: TopicState, holds: str, *, rule: str) -> Iterator[Finding]:
    """What keeps a topic from keeping the last record of each key for ever."""
    fix, age = _alter(brokers, name, "cleanup.policy=compact"), state.settings.get("retention.ms")
    if "compact" not in _policies(state):
        problem = f"topic {name} is not compacted: {holds} would be deleted with time"
        yield Finding(problem, fix, blocking=True, rule=rule)
    elif "delete" in _policies(state) and age != "-1":
        yield Finding(f"topic {name} deletes what is older than {age} ms: {holds}, too", fix, blocking=True, rule=rule)


def _replicas(brokers: str, name: str, state: TopicState) -> Iterator[Finding]:
    wanted = int(state.settings.get("min.insync.replicas", "1"))
    if wanted > state.replicas:
        yield Finding(
            f"topic {name} wants {wanted} in-sync replicas and has {state.replicas}: nothing can be written to it",
            _alter(brokers, name, f"min.insync.replicas={state.replicas}"),
            blocking=True,
            rule="replicas",
        )
    elif wanted == 1 and state.replicas > 2:
        yield Finding(
            f"topic {name} has {state.replicas} replicas and takes records that one of them has: they are lost with it",
            _alter(brokers, name, "min.insync.replicas=2"),
            blocking=False,
            rule="replicas",
        )


def _alter(brokers: str, topic: str, settings: str) -> str:
    # Settings with a comma in their value are given in brackets; none of these has one.
    return (
        f"kafka-configs.sh --bootstrap-server {brokers} --alter --entity-type topics --entity-name {topic}"
        f" --add-config {settings}"
    )
