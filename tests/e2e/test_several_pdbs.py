"""Commands for a connector that captures two pluggable databases, each with a table SHOP.ITEM of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import Ended, run, run_to_end
from tests.e2e.topics import Read, Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.pdbs import ONE, OTHER, Pdbs, change_items, current_scn, two_pdbs, with_items

from minercdc.config.load import load_config
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.sinks.kafka.client import KafkaClient


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
    alone = pdbs.on_kafka(brokers, name=prefix, topic_prefix=prefix, database_pdb_name=ONE)
    ended = command(pdbs, "verify", str(alone))
    assert (ended.status, f"is of the pluggable databases {ONE}, {OTHER}" in ended.errors) == (1, True), ended.errors
    ended = command(pdbs, "check", str(alone))
    assert (ended.status, ended.errors) == (3, "")
    assert ended.output.startswith(
        f"missing  topic {prefix}-offsets, key {prefix}: database.pdb.name: the offset is of {ONE}, {OTHER}:"
        " topic names change between one and several pluggable"
    )
    assert "own name and topic.prefix, or restore the property" in ended.output
    planned = command(pdbs, "plan", str(alone))
    assert f"database.pdb.name: the offset is of {ONE}, {OTHER}" in planned.output, planned.errors
    assert command(pdbs, "check", str(pdbs.on_kafka(brokers, name=prefix, topic_prefix=prefix))).status == 0


def test_check_and_plan_name_a_pdb_that_is_not_open_and_go_on_with_the_others(
    pdbs: Pdbs, broker: KafkaBroker, prefix: str
) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, "create table loose (a number)", "alter table loose add supplemental log data (all) columns")
    given = {"name": prefix, "topic_prefix": prefix, "table_include_list": r"SHOP\.(ITEM|LOOSE)"}
    config = str(pdbs.on_kafka(broker.bootstrap_servers, **given))
    keyless = [f"advice   {pdb}.SHOP.LOOSE has no key of NOT NULL columns: its records have no key" for pdb in (ONE, OTHER)]
    ended = command(pdbs, "check", config)
    assert (ended.status, [line for line in ended.output.splitlines() if "has no key" in line]) == (0, keyless), ended.errors
    assert f'In {OTHER}: ALTER TABLE "SHOP"."LOOSE" ADD PRIMARY KEY' in ended.output
    with pdbs.sandbox.connect(service=pdbs.sandbox.root_service) as admin:
        admin.cursor().execute(f"alter pluggable database {OTHER} close immediate")
    ended = command(pdbs, "check", config)
    lines = ended.output.splitlines()
    assert (ended.status, ended.errors) == (3, "")
    assert lines[0] == f"missing  {OTHER}: it is not open, so its tables cannot be read"
    assert lines[2].strip().startswith(f"In {OTHER}: ALTER PLUGGABLE DATABASE {OTHER} OPEN;")
    assert [line for line in lines if "has no key" in line] == keyless[:1]
    assert "ALTER DATABASE FORCE LOGGING;" in ended.output
    planned = command(pdbs, "plan", config)
    assert planned.status == 0, planned.errors
    assert f"  {ONE}.SHOP.LOOSE -> {prefix}.{ONE}.SHOP.LOOSE" in planned.output
    assert f"  missing: {OTHER}: it is not open, so its tables cannot be read" in planned.output.splitlines()
    alone = command(pdbs, "check", str(pdbs.on_kafka(broker.bootstrap_servers, **given, database_pdb_name=OTHER)))
    assert (alone.status, alone.errors) == (3, "")
    assert alone.output.splitlines()[0] == f"missing  {OTHER}: it is not open, so its tables cannot be read"
    assert "ALTER DATABASE FORCE LOGGING;" in alone.output


def test_back_at_an_scn_or_a_time_tables_of_both_have_the_structures_of_then(
    pdbs: Pdbs, broker: KafkaBroker, prefix: str
) -> None:
    config = str(pdbs.on_kafka(broker.bootstrap_servers, name=prefix, topic_prefix=prefix))
    topics = Topics(broker.bootstrap_servers, prefix)
    one, other = (f"{prefix}.{pdb}.SHOP.ITEM" for pdb in (ONE, OTHER))

    def until(count_of_one: int, count_of_other: int) -> tuple[list[Any], list[Any]]:
        with run(pdbs.directory / "connector.json", pdbs.directory / "run.log") as connector:
            connector.await_log("streaming: ")
            topics.await_records(one, count_of_one)
            topics.await_records(other, count_of_other)
            connector.stop_in_order()
        return rows(topics.records(one)), rows(topics.records(other))

    assert until(2, 2) == ([("r", (1, "one")), ("r", (2, "two"))], [("r", (1, "other", 7)), ("r", (3, "three", 8))])
    scn = str(current_scn(pdbs))
    change_items(pdbs)
    first = until(5, 4)
    assert first[0][2:] == [("u", (1, "changed")), ("c", (4, "priced", 225)), ("d", (2, "two", 15))]
    assert first[1][2:] == [("c", (1, "after", 9)), ("c", (9, "last", None))]
    said = command(pdbs, "offsets", "set", config, "--scn", scn, "--yes")
    assert said.status == 0, said.errors
    assert f"goes on after SCN {scn}" in said.output
    assert "rows from before it may not be decodable" not in said.output, "the schema history has all DDL"
    assert until(8, 6) == ([*first[0], *first[0][2:]], [*first[1], *first[1][2:]])
    pdbs.run(OTHER, "alter table item drop column qty", "insert into item values (10, 'skipped')", "commit")
    pdbs.run(ONE, "insert into item values (10, 'skipped', null)", "commit")
    ahead = command(pdbs, "offsets", "set", config, "--scn", str(current_scn(pdbs)), "--yes")
    assert "NEVER delivered" in ahead.output
    assert f"DDL on {OTHER}.SHOP.ITEM about then or later is not in the schema history" in ahead.output
    pdbs.run(OTHER, "insert into item values (11, 'delivered')", "commit")
    pdbs.run(ONE, "insert into item values (11, 'delivered', 3)", "commit")
    last = until(9, 7)
    assert (last[0][8:], last[1][6:]) == ([("c", (11, "delivered", 3))], [("c", (11, "delivered"))])


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_a_recording_of_both_is_replayed_as_it_is_delivered(
    pdbs: Pdbs, broker: KafkaBroker, prefix: str, adapter: str
) -> None:
    given = {"name": prefix, "topic_prefix": prefix, "database_connection_adapter": adapter}
    config = pdbs.on_kafka(broker.bootstrap_servers, **given)
    topics = Topics(broker.bootstrap_servers, prefix)
    names = [f"{prefix}.{ONE}.SHOP.ITEM", f"{prefix}.{OTHER}.SHOP.ITEM", f"{prefix}.{OTHER}.SHOP.NOTE"]
    with run(config, pdbs.directory / "run.log") as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    before = {name: len(topics.records(name)) for name in names}
    note = ("create table note (code varchar2(5) primary key)", "alter table note add supplemental log data (all) columns")
    pdbs.run(ONE, *note, "insert into note values ('SECRT')", "commit")
    change_items(pdbs)
    file = pdbs.directory / "recording.gz"
    recorded = command(pdbs, "record", str(config), "-o", str(file))
    assert recorded.status == 0, recorded.errors
    text = gzip.decompress(file.read_bytes())
    assert json.loads(text.splitlines()[0])["version"] == 2
    assert b"SECRT" not in text, "a table of that name is captured in the other one only"
    replayed = command(pdbs, "replay", str(file))
    assert replayed.status == 0, replayed.errors
    found: dict[str, list[tuple[str, Any]]] = {name: [] for name in names}
    for line in replayed.output.splitlines():
        topic, key, value = line.split("\t")
        if topic in found and value:
            found[topic] += rows([Read(json.loads(key), json.loads(value), {})])
    with run(config, pdbs.directory / "run.log") as connector:
        for name in names:
            topics.await_records(name, before[name] + len(found[name]))
        connector.stop_in_order()
    assert found == {name: rows(topics.records(name)[before[name] :]) for name in names}
    assert [len(found[name]) for name in names] == [3, 2, 1]
