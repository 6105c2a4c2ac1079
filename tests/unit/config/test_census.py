"""Every property of Debezium's manual is implemented, refused with the reason, or without effect and said so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.debezium.renaming import spelled
from minercdc.config.document import configuration_page
from minercdc.config.load import load_config, parse_properties, standing
from minercdc.config.messages.converters import APICURIO_JSON
from minercdc.errors import ConfigError
from minercdc.pipeline.factory import build

FILES = Path(__file__).parent / "files"
NAMES = [line for line in (FILES / "debezium-properties.txt").read_text().splitlines() if not line.startswith("#")]


def present(name: str) -> str:
    (found,) = list(spelled({name: "1"}, lambda known: standing(known)[0] != "unknown", []))[:1]
    return found.name


def test_no_property_of_debezium_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    found = {name: standing(present(name)) for name in NAMES}
    counts = Counter(kind for kind, _ in found.values())
    with capsys.disabled():
        print(f"\n{len(found)} properties: {', '.join(f'{number} {kind}' for kind, number in sorted(counts.items()))}")
    assert [name for name, (kind, _) in found.items() if kind == "unknown"] == []
    assert all(reason for kind, reason in found.values() if kind != "implemented")
    assert standing("log.mining.strategi") == ("unknown", "")


def test_the_page_justifies_each_that_has_no_effect() -> None:
    page = configuration_page()
    for name in NAMES:
        kind, reason = standing(present(name))
        assert reason.replace("|", "\\|") in page, name
        assert kind != "implemented" or not reason


@pytest.mark.parametrize("file", ["tutorial.json", "reference-pdb.json", "reference-rac.json", "server.properties"])
def test_the_configurations_of_debezium_are_taken_as_they_are(file: str) -> None:
    config = load_config(FILES / file)
    assert config.identity.topic_prefix == "server1"
    assert config.kafka.bootstrap_servers == "kafka:9092"
    assert config.database.database_password.get_secret_value() == "dbz"
    if file == "tutorial.json":
        assert config.notices["database.server.name"] == "database.server.name is taken as topic.prefix"
        assert config.kafka.schema_history_internal_kafka_topic == "schema-changes.inventory"
    if file == "server.properties":
        assert config.filters.table_include_list == ("INVENTORY.ORDERS", "INVENTORY.CUSTOMERS")
        assert not config.values.value_converter_schemas_enable
        assert config.kafka_client == {"message.max.bytes": "2000000"}
        assert str(config.history.file) == "data/history.dat"


def test_the_xstream_tutorial_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_properties({**GOOD, "database.out.server.name": "dbzxout", "database.connection.adapter": "xstream"})
    assert any(line.startswith("xstream.out.server.name: not supported (XStream") for line in caught.value.problems)


NOT_READ = {
    "log.mining.continuous.mine": "true",
    "log.mining.history.recorder.class": "x.Y",
    "database.jdbc.driver": "oracle.jdbc.OracleDriver",
    "database.out.server.name": "dbzxout",
    "errors.deadletterqueue.topic.name": "dead",
    "errors.deadletterqueue.context.headers.enable": "true",
    "openlineage.integration.job.namespace": "x",
    "log.mining.path.dictionary": "/x",
    "transaction.topic": "t",
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_debezium_does_not_read_makes_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    config = parse_properties({**GOOD, name: NOT_READ[name]})
    assert config.not_read == {present(name)}
    assert config.not_read <= config.ignored.keys()
    build(config)
    (line,) = [record for record in caplog.records if record.getMessage().startswith(f"{present(name)} has no effect")]
    assert (line.levelname, "as with Debezium" in line.getMessage()) == ("WARNING", True)


def test_what_debezium_reads_and_has_no_effect_here_makes_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    config = parse_properties({**GOOD, "tasks.max": "1", "log.mining.buffer.type": "memory"})
    with caplog.at_level("INFO"):
        build(config)
    assert not config.not_read
    assert {record.levelname for record in caplog.records if "has no effect" in record.getMessage()} == {"INFO"}


def test_a_form_of_decimals_that_json_does_not_have_here_is_refused_by_name() -> None:
    assert "value.converter.decimal.format" in parse_properties({**GOOD, "value.converter.decimal.format": "base64"}).ignored
    with pytest.raises(ConfigError, match=r"value.converter.decimal.format: NUMERIC is not supported yet; only BASE64"):
        parse_properties({**GOOD, "value.converter.decimal.format": "NUMERIC"})


def test_another_sink_of_debezium_server_is_left_over_or_is_refused() -> None:
    name = "debezium.sink.pulsar.client.serviceUrl"
    assert parse_properties({**GOOD, name: "x", "debezium.sink.type": "kafka"}).not_read == {name}
    with pytest.raises(ConfigError, match=f"{name}: not supported"):
        parse_properties({**GOOD, name: "x"})


@pytest.mark.parametrize(
    ("more", "schemas"),
    [
        ({}, (True, True)),
        ({"debezium.format.schemas.enable": "false"}, (False, False)),
        ({"debezium.format.value.schemas.enable": "false"}, (True, False)),
        ({"debezium.format.value": "json"}, (True, True)),
        ({"debezium.format.key": "jsonbytearray"}, (True, True)),
        ({"debezium.sink.type": "segments", "minercdc.sink.path": "s", "schema.history.internal": ""}, (False, False)),
    ],
)
def test_a_file_of_debezium_server_has_its_format_where_it_names_none(
    more: dict[str, str], schemas: tuple[bool, bool]
) -> None:
    server = {f"debezium.source.{name}": value for name, value in GOOD.items() if not name.startswith("schema.history")}
    brokers = {"debezium.sink.type": "kafka", "debezium.sink.kafka.producer.bootstrap.servers": "kafka:9092"}
    more = {name: value for name, value in more.items() if value}
    values = parse_properties({**server, **brokers, **more}).values
    assert (values.key_converter_schemas_enable, values.value_converter_schemas_enable) == schemas


def test_apicurios_registry_chooses_the_converter_of_the_format_that_is_not_named() -> None:
    server = {f"debezium.source.{name}": value for name, value in GOOD.items()}
    url = {"debezium.format.apicurio.registry.url": "http://r:1/apis/registry/v3"}
    assert parse_properties({**server, **url}).converters.value_converter == APICURIO_JSON


def test_a_name_counts_before_a_prefix_of_it() -> None:
    given = {"debezium.sink.kafka.wait.message.delivery.timeout.ms": "1", "driver.oracle.net.keepAlive": "true"}
    assert set(given) <= parse_properties({**GOOD, **given}).ignored.keys()
    for name in ("debezium.sink.pulsar.timeout", "driver.oracle.net.encryption_client"):
        with pytest.raises(ConfigError, match=f"{name}: not supported"):
            parse_properties({**GOOD, name: "x"})
