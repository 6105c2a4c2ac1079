"""Every property of Debezium's manual is implemented, refused with the reason, or without effect and said so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.document import configuration_page
from minercdc.config.load import load_config, parse_properties, standing
from minercdc.config.renaming import spelled
from minercdc.errors import ConfigError

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
        parse_properties({"database.out.server.name": "dbzxout", "topic.prefix": "a"})
    assert any(line.startswith("xstream.out.server.name: not supported (XStream") for line in caught.value.problems)


def test_what_debezium_does_not_read_has_no_effect_here_either() -> None:
    given = {"log.mining.continuous.mine": "true", "database.jdbc.driver": "oracle.jdbc.OracleDriver"}
    given |= {"database.out.server.name": "dbzxout", "database.connection.adapter": "logminer"}
    ignored = parse_properties({**GOOD, **given}).ignored
    assert {"log.mining.continuous.mine", "database.jdbc.driver", "xstream.out.server.name"} <= ignored.keys()


def test_a_name_counts_before_a_prefix_of_it() -> None:
    given = {"debezium.sink.kafka.wait.message.delivery.timeout.ms": "1", "driver.oracle.net.keepAlive": "true"}
    assert set(given) <= parse_properties({**GOOD, **given}).ignored.keys()
    for name in ("debezium.sink.pulsar.timeout", "driver.oracle.net.encryption_client"):
        with pytest.raises(ConfigError, match=f"{name}: not supported"):
            parse_properties({**GOOD, name: "x"})
