"""The relay's section, and what `minercdc relay` does not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.config.load import load_config, load_relay_config
from minercdc.errors import ConfigError

DATABASE = "database.hostname: h\ndatabase.user: u\ndatabase.password: p\ndatabase.dbname: d\n"


def test_a_relay_needs_no_property_of_kafka(tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(f"{DATABASE}minercdc.relay.port: 0\nname: my relay\n")
    config = load_relay_config(file)
    assert (config.sink.debezium_sink_type, config.identity.topic_prefix) == ("relay", "my_relay")
    assert config.relay.minercdc_relay_port == 0
    assert config.history.file == Path(config.capture.minercdc_state_dir) / "relay-my relay" / "relay.schema-history"
    with pytest.raises(ConfigError, match=r"minercdc\.kafka\.bootstrap\.servers"):
        load_config(file)


def test_a_chained_relay_needs_no_property_of_a_database(tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text("minercdc.relay.upstream: http://other:11115\n")
    assert load_relay_config(file).relay.minercdc_relay_upstream == "http://other:11115"


def test_the_upstream_relay_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text("name: r\n")
    with pytest.raises(ConfigError, match=r"database\.user"):
        load_relay_config(file)
    monkeypatch.setenv("MINERCDC_RELAY_UPSTREAM", "http://other:1")
    assert load_relay_config(file).relay.minercdc_relay_upstream == "http://other:1"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("minercdc.relay.sources: a:b", "'a:b' is not of the form"),
        ("minercdc.relay.sources: 7:S.A:x.A,7:S.B:x.B", "id 7 is given twice"),
        ("minercdc.relay.sources: 40000:S.A:x.A", "40000 is not between 1 and 32767"),
        ("minercdc.relay.upstream: other:1", "is not of the form http"),
        ("minercdc.relay.buffer.path: /x", "goes with minercdc.relay.buffer.type=mapped"),
        ("minercdc.relay.buffer.bytes: 10", "greater than or equal to 4096"),
        ("minercdc.relay.schemas.namespace: 1a", "minercdc.relay.schemas.namespace"),
        ("minercdc.relay.port: 70000", "minercdc.relay.port"),
        ("column.mask.with.5.chars: S.T.A", "a relay has values as they are; column.exclude.list"),
        ("transforms: a", "transforms: a relay has values as they are; leave it out"),
        ("converters: a", "converters: a relay has values as they are; leave it out"),
        ("value.converter: io.confluent.connect.avro.AvroConverter", "value.converter: a relay has events in Avro"),
        (
            "key.converter: io.apicurio.registry.utils.converter.ExtJsonConverter",
            "key.converter: a relay has events in Avro",
        ),
        ("column.truncate.to.5.chars: S.T.A", "a relay has values as they are; column.exclude.list"),
    ],
)
def test_problems_are_named(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(f"{DATABASE}{line}\n")
    with pytest.raises(ConfigError, match=problem):
        load_relay_config(file)


def test_sources_by_table(tmp_path: Path) -> None:
    file = tmp_path / "relay.yaml"
    file.write_text(f"{DATABASE}minercdc.relay.sources: 40:HR.SY$PERSON:com.x.Person,:HR.T:com.x.T\n")
    assert load_relay_config(file).relay.sources == {"HR.SY$PERSON": (40, "com.x.Person"), "HR.T": (0, "com.x.T")}
