"""What the end of a topic says of an update that changed a key."""

from __future__ import annotations

import json

import pytest
from tests.kafka.test_sink import OFFSET, client_of, settings, sink_of

from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.offsets.debezium.last_records import is_half_sent
from minercdc.stream.contracts import Record


def message(op: str, tx_id: str, seq: int, *, schemas: bool) -> bytes:
    payload = {"op": op, "source": {"txId": tx_id, "txSeq": seq}}
    return json.dumps({"schema": {}, "payload": payload} if schemas else payload).encode()


@pytest.mark.parametrize("schemas", [True, False])
def test_a_delete_without_its_insert_is_found(broker: KafkaBroker, prefix: str, schemas: bool) -> None:
    config = settings(prefix, broker.bootstrap_servers, **{"topic.creation.default.partitions": "3"})
    sink, client = sink_of(config), client_of(config)
    whole, half, other = (f"{prefix}.S.{name}" for name in ("WHOLE", "HALF", "OTHER"))
    for topic, op, tx_id, seq in (
        (whole, "d", "a", 4),
        (whole, "c", "a", 4),
        (half, "c", "a", 3),
        (half, "d", "a", 4),
        (half, "c", "b", 4),
        (other, "u", "a", 4),
    ):
        sink.write(Record(topic, op.encode(), message(op, tx_id, seq, schemas=schemas)))
        sink.write(Record(topic, op.encode(), None))
        sink.write(Record(topic, op.encode(), b"\x00avro"))
    sink.commit(OFFSET)
    sink.close()
    found = {topic: is_half_sent(client, topic, "a", 4) for topic in (whole, half, other, f"{prefix}.S.NONE")}
    assert [topic for topic, is_half in found.items() if is_half] == [half]
