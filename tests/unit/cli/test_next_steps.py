"""What a command says to do next is true for its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.cli.next_steps import broker_steps, catalog_steps, connector_steps, lake_steps, reachable
from minercdc.config.load import parse_properties

CONNECTOR = {
    "name": "shop",
    "topic.prefix": "shop",
    "database.hostname": "db",
    "database.user": "C##MINERCDC",
    "database.password": "p",
    "database.dbname": "ORCLCDB",
    "minercdc.kafka.bootstrap.servers": "kafka:9092",
    "minercdc.state.dir": "/state",
}


def steps(served: str = "", **changed: str) -> str:
    properties = CONNECTOR | {name.replace("_", "."): value for name, value in changed.items()}
    return "\n".join(connector_steps(parse_properties(properties), "shop.yaml", served))


@pytest.mark.parametrize(
    ("host", "expected"), [("0.0.0.0", "localhost:1"), ("::", "localhost:1"), ("db.example", "db.example:1")]
)
def test_an_address_that_listens_everywhere_is_named_localhost(host: str, expected: str) -> None:
    assert reachable(host, 1) == expected


def test_a_connector_names_its_topics_and_how_a_port_and_signals_are_had() -> None:
    text = steps(topic_delimiter="-")
    assert "topics shop-<SCHEMA>-<TABLE> at bootstrap.servers=kafka:9092" in text
    assert "minercdc.http.port=8089 opens one" in text
    assert "signal.enabled.channels=kafka enables signals" in text


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "database: db:1521/ORCLCDB\n"),
        ({"database_pdb_name": "SALES, STOCK"}, "database: db:1521/ORCLCDB, SALES, STOCK\n"),
        ({"database_url": "x/secret@h:1/S?wallet_password=hidden"}, "database: h:1/S?wallet_password=***\n"),
    ],
)
def test_a_connector_names_its_database_without_secrets(changed: dict[str, str], expected: str) -> None:
    text = steps(**changed)
    assert text.startswith(expected)
    assert "secret" not in text
    assert "hidden" not in text


def test_topics_of_several_databases_have_their_names_and_so_have_their_tables_in_signals() -> None:
    text = steps(database_pdb_name="SALES, STOCK", signal_enabled_channels="kafka")
    assert "topics shop.<PDB>.<SCHEMA>.<TABLE> at " in text
    assert "execute-snapshot --collection <PDB>.SCHEMA.TABLE" in text


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("segments", "/s", "segments in /s; spark.readStream.format('minercdc').option('config', 'shop.yaml') reads them"),
        ("json", "/c.jsonl", "JSON lines in /c.jsonl"),
        ("json", "-", "JSON lines on standard output"),
    ],
)
def test_a_connector_without_kafka_names_its_files(kind: str, path: str, expected: str) -> None:
    text = steps(debezium_sink_type=kind, minercdc_sink_path=path)
    assert f"records: {expected}\n" in text
    assert "signal.enabled.channels=file enables signals" in text


@pytest.mark.parametrize(
    ("changed", "expected", "missing"),
    [
        ({}, "http://127.0.0.1:8089/ in a browser; curl http://127.0.0.1:8089/health (or /metrics, /api/status, ", "TOKEN"),
        ({"minercdc_http_host": "0.0.0.0"}, "curl http://localhost:8089/health (or /metrics; ", "0.0.0.0"),
        ({"minercdc_http_host": "0.0.0.0"}, "Bearer TOKEN\", the text of /state/http-token-shop)", "minercdc.http.token"),
        ({"minercdc_http_host": "0.0.0.0", "minercdc_http_token": "a long secret"}, "TOKEN\", minercdc.http.token)", "long secret"),
    ],
)  # fmt: skip
def test_a_port_s_address_and_whose_token_it_takes(changed: dict[str, str], expected: str, missing: str) -> None:
    text = steps(f"http://{changed.get('minercdc_http_host', '127.0.0.1')}:8089", minercdc_http_port="8089", **changed)
    assert expected in text
    assert missing not in text


def test_the_address_of_a_free_port_is_the_one_that_is_served() -> None:
    assert "status: http://127.0.0.1:41234/ in a browser" in steps("http://127.0.0.1:41234", minercdc_http_port="0")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "minercdc signal shop.yaml execute-snapshot --collection ORCLCDB.SCHEMA.TABLE"),
        (
            {"database_pdb_name": "ORCLPDB1", "minercdc_http_port": "8089"},
            "minercdc signal shop.yaml execute-snapshot --collection ORCLPDB1.SCHEMA.TABLE --wait",
        ),
    ],
)
def test_a_signal_is_waited_for_where_its_answer_can_be_read(changed: dict[str, str], expected: str) -> None:
    assert steps(signal_enabled_channels="kafka", **changed).endswith(expected)


def test_a_broker_names_the_address_for_each_network() -> None:
    assert broker_steps("kafka:9092", "localhost:29092", Path("/data")) == [
        "connect: bootstrap.servers=kafka:9092, outside of its network bootstrap.servers=localhost:29092",
        "topics and broker.log: /data",
    ]
    assert broker_steps("127.0.0.1:9092", "", Path("/data"))[0] == "connect: bootstrap.servers=127.0.0.1:9092"


def test_the_lake_names_its_tables_and_the_command_that_prints_one() -> None:
    where, command = lake_steps("/lake", "a b.yaml")
    assert "at /lake/<SCHEMA>/<TABLE>;" in where
    assert command.startswith("print one: ")
    assert command.endswith("lake show 'a b.yaml' '<SCHEMA>.<TABLE>'")
    assert "/lake/<PDB>/<SCHEMA>/<TABLE>;" in lake_steps("/lake", "a.yaml", several=True)[0]


def test_tables_of_a_catalog_are_named_as_sql_names_them() -> None:
    where, command = catalog_steps("minercdc", "a b.yaml", several=True)
    assert "minercdc.<PDB>.<SCHEMA>.<TABLE>" in where
    assert command.endswith("lake show 'a b.yaml' '<PDB>.<SCHEMA>.<TABLE>'")


def test_the_names_in_a_catalog_are_those_of_the_template() -> None:
    where, command = catalog_steps("lakehouse", "c.yaml", template="bronze.${schema:lower}_${table:lower}")
    assert "lakehouse.bronze.<schema>_<table>;" in where
    assert command.endswith("lake show c.yaml '<SCHEMA>.<TABLE>'")
