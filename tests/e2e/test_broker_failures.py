"""A broker that is away: at the start, in the middle, and while the connector is busy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.lab import Lab
from tests.kafka.consume import read_committed
from tests.torture.chain import Chain

from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port

MakeLab = Callable[..., Lab]


def test_a_broker_that_comes_up_later_is_found(make_lab: MakeLab, tmp_path: Path) -> None:
    port = free_port()
    lab = make_lab(f"127.0.0.1:{port}")
    with lab.run(lab.config(minercdc_kafka_timeout_ms=1000)) as connector:
        warning = connector.await_log(rf"MC-6101: reaching Kafka at 127\.0\.0\.1:{port} .*going on from the last offset")
        assert "minercdc.kafka.bootstrap.servers" in warning.string
        with KafkaBroker(tmp_path / "kafka", port=port):
            connector.await_log("streaming:", 60)
            records = lab.topics.await_records(lab.topic(), 3)
            connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2]
    assert "Traceback" not in connector.text()


def test_a_broker_killed_in_the_middle_loses_and_repeats_nothing(make_lab: MakeLab, tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path / "kafka").start()
    try:
        lab = make_lab(broker.bootstrap_servers)
        config = lab.config(minercdc_kafka_timeout_ms=1500, minercdc_kafka_transaction_max_records=50)
        with lab.run(config) as connector:
            connector.await_log("streaming:")
            lab.insert(100, 200)
            lab.execute("UPDATE T SET V = V || '.' WHERE ID < 3")
            broker.kill()
            lab.execute("UPDATE T SET V = V || '!' WHERE ID < 3", "DELETE FROM T WHERE ID = 107")
            connector.await_log("going on from the last offset", 60)
            broker.start()
            lab.execute("INSERT INTO T VALUES (9, 'the end')")
            lab.topics.await_records(lab.topic(), lambda found: any(r.key == {"ID": 9} for r in found), 60)
            connector.stop_in_order()
        chain = Chain().take(read_committed(broker.bootstrap_servers, lab.topic()))
        with lab.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT ID, V FROM T")
            rows = {json.dumps({"ID": i}, separators=(",", ":")): {"ID": i, "V": v} for i, v in cursor}
        assert chain.breaks == []
        assert chain.differs_from(rows) == []
        assert chain.operations == {"r": 3, "c": 201, "u": 6, "d": 1}
        assert "Traceback" not in connector.text()
    finally:
        broker.stop()


def test_errors_max_retries_ends_the_waiting_for_a_broker(make_lab: MakeLab) -> None:
    lab = make_lab(f"127.0.0.1:{free_port()}")
    config = lab.config(minercdc_kafka_timeout_ms=1000, errors_max_retries=0)
    ended = lab.run_to_end(config)
    assert ended.status == 1
    assert ended.message().startswith(f"MC-6101: reaching Kafka at {lab.brokers} failed")
    assert "Traceback" not in ended.errors
