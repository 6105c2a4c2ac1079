"""Commands for a connector that captures two pluggable databases, each with a table SHOP.ITEM of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import Ended, run, run_to_end
from tests.e2e.topics import Read, Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import ONE, OTHER, Pdbs, change_items, two_pdbs, with_items

from minercdc.config.load import load_config
from minercdc.kafka.client import KafkaClient
from minercdc.local.kafka_broker import KafkaBroker


@pytest.fixture
def pdbs(fresh_sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Pdbs]:
    with two_pdbs(fresh_sandbox, tmp_path) as made:
        with_items(made)
        yield made


def command(pdbs: Pdbs, *arguments: str) -> Ended:
    return run_to_end(arguments, pdbs.directory / "command.log")


def rows(found: list[Read]) -> list[tuple[str, Any]]:
    return [(one.value["op"], tuple((one.value["after"] or one.value["before"]).values())) for one in found if one.value]


def test_topics_of_both_equal_oracle_and_what_does_not_is_shown_with_its_database(
    pdbs: Pdbs, broker: KafkaBroker, prefix: str
) -> None:
    brokers = broker.bootstrap_servers
    config = pdbs.on_kafka(brokers, name=prefix, topic_prefix=prefix)
    topics, other = Topics(brokers, prefix), f"{prefix}.{OTHER}.SHOP.ITEM"
    with run(config, pdbs.directory / "run.log") as connector:
        connector.await_log("streaming: ")
        change_items(pdbs)
        topics.await_records(other, lambda found: ("c", (9, "last", None)) in rows(found))
        topics.await_records(f"{prefix}.{OTHER}.SHOP.NOTE", 2)
        running = command(pdbs, "verify", str(config))
        connector.stop_in_order()
    for ended in (running, command(pdbs, "verify", str(config))):
        assert (ended.status, ended.errors.count("not compared")) == (0, 0), ended.errors
        assert "verified: 3 tables, 6 rows, 0 differences" in ended.output

    # A row of the one where the other one's should be.
    (last,) = [
        one for one in topics.records(other) if one.value and one.value["after"] == {"ID": 9, "NAME": "last", "QTY": None}
    ]
    wrong = {**last.value, "op": "u", "after": {"ID": 1, "NAME": "changed", "QTY": 9}}
    loaded = load_config(config)
    client = KafkaClient(loaded.kafka, loaded.topics, loaded.kafka_client)
    client.produce(other, json.dumps({"ID": 1}).encode(), json.dumps(wrong).encode())
    ended = command(pdbs, "verify", str(config))
    assert ended.status == 1
    assert f'{OTHER}.SHOP.ITEM ID=1\n    NAME: Oracle "after", topic "changed"\n' in ended.errors
    assert f"{ONE}.SHOP.ITEM" not in ended.errors
    assert "verified: 3 tables, 6 rows, 1 differences" in ended.output
    for table, status, summary in (
        ("SHOP.ITEM", 1, "2 tables, 4 rows, 1 differences"),
        (f"{ONE}.SHOP.ITEM", 0, "1 tables, 2 rows, 0 differences"),
        (f"{OTHER}.SHOP.ITEM", 1, "1 tables, 2 rows, 1 differences"),
    ):
        ended = command(pdbs, "verify", str(config), "--table", table)
        assert (ended.status, f"verified: {summary}" in ended.output) == (status, True), ended.errors
    ended = command(pdbs, "verify", str(config), "--table", f"{ONE}.SHOP.NOTE")
    assert ended.status == 1
    assert f"{ONE}.SHOP.NOTE is not among the captured tables" in ended.errors
