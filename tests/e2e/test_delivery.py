"""Without Kafka transactions: the connector is killed under writes and DDL, and every change comes at least once, in order."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.e2e.lab import LOGGED, Lab
from tests.kafka.consume import read_committed

from minercdc.local.kafka_broker import KafkaBroker

DDL = (
    "CREATE TABLE U (A NUMBER(5) PRIMARY KEY)",
    LOGGED.format("U"),
    "INSERT INTO U VALUES (1)",
    "ALTER TABLE U ADD (B NUMBER(5))",
    "INSERT INTO U VALUES (2, 20)",
    "ALTER TABLE U DROP COLUMN B",
    "INSERT INTO U VALUES (3)",
)


def test_every_change_comes_at_least_once(make_lab: Callable[..., Lab], broker: KafkaBroker) -> None:
    lab = make_lab(broker.bootstrap_servers)
    config = lab.config(minercdc_kafka_transactional="false")
    written = 10
    for number in range(3):
        with lab.run(config) as connector:
            connector.await_log("streaming: ", 60)
            for _ in range(40):
                lab.insert(written, 5)
                written += 5
            if number == 1:
                lab.execute(*DDL)
            lab.topics.await_records(lab.topic(), number * 200 + 50, 60)
            connector.process.kill()
            connector.process.wait(10)
    with lab.run(config) as connector:
        lab.insert(900_000, 1)
        lab.topics.await_records(lab.topic(), lambda found: found[-1].key["ID"] == 900_000, 60)
        lab.topics.await_records(lab.topic("U"), lambda found: found[-1].key["A"] == 3, 60)
        connector.stop_in_order()
    keys = [record.key["ID"] for record in lab.topics.records(lab.topic())]
    wanted = [0, 1, 2, *range(10, written), 900_000]
    assert list(dict.fromkeys(keys)) == wanted, "the first of each, in order"
    images = {record.value["after"]["A"]: record.value["after"] for record in lab.topics.records(lab.topic("U"))}
    assert images == {1: {"A": 1}, 2: {"A": 2, "B": 20}, 3: {"A": 3}}


def test_rows_that_belong_together_are_in_one_partition(make_lab: Callable[..., Lab], broker: KafkaBroker) -> None:
    """Without transactions, too: by day no other connector is run without them."""
    lab = make_lab(broker.bootstrap_servers)
    table = "CREATE TABLE L (A NUMBER(5), B NUMBER(5), V NUMBER(5), PRIMARY KEY (A, B))"
    lab.execute(table, LOGGED.format("L"), *(f"INSERT INTO L VALUES ({n % 5}, {n}, 0)" for n in range(20)))
    config = lab.config(
        topic_creation_default_partitions=4,
        minercdc_kafka_transactional="false",
        minercdc_topic_partition_columns=f"{lab.schema}.L:A",
        tombstones_on_delete="true",
    )
    with lab.run(config) as connector:
        connector.await_log("streaming: ", 60)
        lab.execute("INSERT INTO L VALUES (6, 6, 6)", "UPDATE L SET V = 1", "DELETE FROM L WHERE B > 9")
        lab.topics.await_records(lab.topic("L"), 20 + 1 + 21 + 2 * 10, 60)
        connector.stop_in_order()
    found: dict[int, set[int]] = {}
    for message in read_committed(broker.bootstrap_servers, lab.topic("L")):
        found.setdefault(json.loads(message.key())["A"], set()).add(message.partition())
    assert {len(partitions) for partitions in found.values()} == {1}
    assert len(set.union(*found.values())) > 1
