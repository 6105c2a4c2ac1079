"""Reads topics as a `read_committed` consumer does."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition


def read_committed(bootstrap_servers: str, topic: str) -> list[Message]:
    """All committed messages of a topic, partition after partition, to its present end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "test",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 5,
        }
    )
    try:
        found = consumer.list_topics(topic, timeout=20).topics[topic]
        if found.error is not None:
            return []
        partitions = sorted(found.partitions)
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        messages: list[Message] = []
        open_partitions = set(partitions)
        while open_partitions:
            message = consumer.poll(30)
            assert message is not None, f"no end of {topic} within 30 s"
            if error := message.error():
                assert error.code() == KafkaError._PARTITION_EOF, error
                open_partitions.discard(message.partition())
            else:
                messages.append(message)
        return messages
    finally:
        consumer.close()
