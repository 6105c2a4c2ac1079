"""Reads from the last records of a topic what Debezium's offset does not contain."""

from __future__ import annotations

import json
from typing import Any, Final

from minercdc.sinks.kafka.client import KafkaClient

_LAST: Final = 1000


def is_half_sent(client: KafkaClient, topic: str, tx_id: str, seq: int) -> bool:
    """Whether of an update that changed the key only the delete is in the topic: both records have the same number.

    False where none of the last thousand records of each partition has that number: in another format than JSON, or routed to
    another topic.

    :param tx_id, seq: `source.txId` and `source.txSeq` of the update.
    :raises DeliveryError, SinkError: the topic cannot be read.
    """
    operations = set()
    for partition, end in client.ends(topic):
        begin = max(client.begins([(topic, partition)]).get((topic, partition), 0), end - _LAST)
        for message in client.read_range(topic, partition, begin, end) if begin < end else ():
            source, operation = _source(message.value())
            if source.get("txId") == tx_id and source.get("txSeq") == seq:
                operations.add(operation)
    return operations == {"d"}


def _source(value: bytes | None) -> tuple[dict[str, Any], str]:
    """`source` and `op` of a message in JSON; empty for others."""
    try:
        document = json.loads(value or b"")
        document = document.get("payload", document)
        return dict(document["source"]), str(document["op"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}, ""
