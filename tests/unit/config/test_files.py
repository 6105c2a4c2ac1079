"""Configuration files: Java's .properties in full, YAML and JSON with the line of each property."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.files import read_file
from minercdc.config.load import load_config, parse_properties
from minercdc.errors import ConfigError


def test_java_properties_are_read_as_java_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(
        "# comment \\\n! comment\n\n  a = one\nb:two\nc three\nd\\ e\\==x\\u00e9\\ty\nf = one, \\\n    two, \\\r\n\tthree\ng=\nh\n"
        "i=a#b!c\nj\\:k=C:\\\\dir\\q\n"
    )
    found = read_file(file)
    assert found.values == {
        "a": "one",
        "b": "two",
        "c": "three",
        "d e=": "xé\ty",
        "f": "one, two, three",
        "g": "",
        "h": "",
        "i": "a#b!c",
        "j:k": "C:\\dirq",
    }
    assert [found.lines[name] for name in ("a", "b", "c", "f", "g", "i")] == [4, 5, 6, 8, 11, 13]


def test_bytes_that_are_no_utf8_are_latin1(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_bytes(b"a=\xe9\n")
    assert read_file(file).values == {"a": "é"}


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("yaml", "a: 1\nb:\n  c: [x, y]\n  d: true\ne: null\nf: yes it is\n"),
        ("json", '{"a": 1,\n\n\t"b": {"c": ["x", "y"], "d": true},\n"e": null, "f": "yes it is"}'),
    ],
)
def test_nested_names_have_their_lines(tmp_path: Path, ending: str, text: str) -> None:
    file = tmp_path / f"a.{ending}"
    file.write_text(text)
    found = read_file(file)
    assert found.values == {"a": "1", "b.c": "x,y", "b.d": "true", "f": "yes it is"}
    assert found.lines["b.c"] == 3


@pytest.mark.parametrize("ending", ["properties", "json", "yaml"])
def test_half_of_a_surrogate_pair_is_refused_by_property_and_line(tmp_path: Path, ending: str) -> None:
    given = {**GOOD, "message.key.columns": "\ud800", "transforms.x.type": "\ud800", "a\udc00b": "1"}
    escaped = {name: json.dumps(value)[1:-1] for name, value in given.items()}
    lines = [f'{json.dumps(name)}: "{value}"' for name, value in escaped.items()]
    texts = {
        "properties": "\n".join(f"{json.dumps(name)[1:-1]}={value}" for name, value in escaped.items()),
        "json": "{" + ",\n".join(lines) + "}",
        "yaml": "\n".join(lines),
    }
    file = tmp_path / f"a.{ending}"
    file.write_text(texts[ending])
    with pytest.raises(ConfigError) as refused:
        load_config(file)
    shown = str(refused.value)
    shown.encode()
    assert "a\\udc00b: holds one half of a surrogate pair" in shown
    for name in ("message.key.columns", "transforms.x.type"):
        line = list(given).index(name) + 1
        assert re.search(rf"{name}: holds one half of a surrogate pair.*\(a\.{ending}:{line}\)", shown)


def test_a_variable_with_a_byte_that_is_no_utf8_is_refused_by_its_property(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_MESSAGE_KEY_COLUMNS", os.fsdecode(b"\xff"))
    with pytest.raises(ConfigError, match="message.key.columns: .*a byte that is not UTF-8"):
        parse_properties(GOOD)


def test_json_may_hold_characters_as_two_escapes(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"a": "\\ud83d\\ude00 \\/ \\u00e9"}')
    assert read_file(file).values == {"a": "\U0001f600 / é"}


def test_what_is_given_twice_hides_no_other_problem(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text("name=a\nname=b\ndatabase.port=no\nlog.mining.strategi=x\n")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    found = "\n".join(caught.value.problems)
    for problem in (
        "name: is given twice, in line 1 and line 2",
        "database.port",
        "log.mining.strategi: unknown",
        "database.hostname: needed",
        "minercdc.kafka.bootstrap.servers: needed",
        "topic.prefix: Field required",
    ):
        assert problem in found


def test_one_bad_value_hides_no_other_problem() -> None:
    bad = {
        **GOOD,
        "database.port": "no",
        "database.hostname": "",
        "table.include.list": "A.(",
        "schema.include.list": "A",
        "schema.exclude.list": "B",
        "column.include.list": "A.B.C",
        "column.exclude.list": "A.B.D",
        "minercdc.start.scn": "7",
        "snapshot.locking.mode": "custom",
        "database.password": "${env:MINERCDC_NOT_SET}",
        "lob.enabled": "true",
        "log.mining.include.redo.sql": "true",
        "query.fetch.size": "-1",
        "debezium.sink.type": "ftp",
    }
    with pytest.raises(ConfigError) as caught:
        parse_properties(bad)
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "column.include.list",
        "database.hostname",
        "database.password",
        "database.port",
        "debezium.sink.type",
        "log.mining.include.redo.sql",
        "minercdc.start.scn",
        "query.fetch.size",
        "schema.include.list",
        "snapshot.locking.mode.custom.name",
        "table.include.list",
    ]


def test_nothing_follows_from_a_value_that_cannot_be_used() -> None:
    """Without the sink's type it is not known whether brokers are needed."""
    without = {name: value for name, value in GOOD.items() if "kafka" not in name}
    with pytest.raises(ConfigError) as caught:
        parse_properties({**without, "debezium.sink.type": "ftp"})
    assert [line.split(":")[0] for line in caught.value.problems] == ["debezium.sink.type"]


def test_a_file_of_the_environment_that_cannot_be_read_is_a_problem_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_DATABASE_PASSWORD_FILE", "/nowhere")
    with pytest.raises(ConfigError) as caught:
        parse_properties({**GOOD, "database.port": "no"})
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "database.port",
        "the file named by MINERCDC_DATABASE_PASSWORD_FILE cannot be read",
    ]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ({"table.whitelist": "A.B"}, "table.include.list", ("A.B",)),
        ({"log.mining.transaction.retention.hours": "2"}, "log.mining.transaction.retention.ms", 7_200_000),
        ({"sanitize.field.names": "true"}, "field.name.adjustment.mode", "avro"),
        ({"internal.query.fetch.size": "7"}, "query.fetch.size", 7),
        ({"debezium.source.snapshot.mode": "schema_only"}, "snapshot.mode", "no_data"),
        (
            {"driver.oracle.net.wallet_location": "(SOURCE=(METHOD=FILE)(METHOD_DATA=(DIRECTORY=/w)))"},
            "minercdc.database.wallet.location",
            "/w",
        ),
        ({"driver.oracle.net.ssl_server_dn_match": "no"}, "minercdc.database.ssl.server.dn.match", False),
    ],
)
def test_other_spellings(old: dict[str, str], new: str, value: object) -> None:
    rest = {name: value for name, value in GOOD.items() if name != new}
    config = parse_properties({**rest, **old})
    found = [
        getattr(section, new.replace(".", "_"))
        for section in (config.filters, config.log_mining, config.values, config.snapshot, config.database)
        if hasattr(section, new.replace(".", "_"))
    ]
    assert found == [value]
    (given,) = old
    assert bool(config.notices) == (not given.startswith(("internal.", "debezium.")))


def test_the_password_of_a_registry_has_two_names() -> None:
    given = {"value.converter.schema.registry.basic.auth.user.info": "a:b"}
    assert parse_properties({**GOOD, **given}).converters.registry("value").user_info == "a:b"


def test_converters_of_a_worker_are_none_of_the_records() -> None:
    """A worker of Kafka Connect writes its own topics by them, and since 2.0 not even these."""
    worker = {f"internal.{side}.converter": "org.apache.kafka.connect.storage.StringConverter" for side in ("key", "value")}
    worker |= {f"{name}.schemas.enable": "true" for name in worker}
    config = parse_properties({**GOOD, **worker})
    assert config.converters == parse_properties(GOOD).converters
    assert config.values == parse_properties(GOOD).values
    assert worker.keys() <= config.ignored.keys()


@pytest.mark.parametrize(
    "name",
    [
        *("tasks.max.enforce", "connector.plugin.version", "key.converter.plugin.version", "value.converter.schema.content"),
        *("header.converter.plugin.version", "value.converter.converter.type", "debezium.source.record.processing.threads"),
        "debezium.source.task.management.timeout.ms",
    ],
)
def test_what_only_connect_and_the_engine_read_is_named_as_without_effect(name: str) -> None:
    assert name.removeprefix("debezium.source.") in parse_properties({**GOOD, name: "1"}).ignored


def test_an_older_name_beside_the_present_one() -> None:
    assert parse_properties({**GOOD, "database.server.name": GOOD["topic.prefix"]}).identity.topic_prefix == "server1"
    with pytest.raises(ConfigError, match="given twice, as topic.prefix and as database.server.name"):
        parse_properties({**GOOD, "database.server.name": "other"})


def test_settings_of_java_clients_become_librdkafkas() -> None:
    java = {
        "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b\\"c";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.location": "/own.p12",
        "ssl.keystore.password": "s",
        "ssl.endpoint.identification.algorithm": "",
        "max.request.size": "7",
        "buffer.memory": "2048",
        "key.serializer": "x",
        "acks": "all",
    }
    config = parse_properties({**GOOD, **{f"producer.override.{name}": value for name, value in java.items()}})
    assert config.kafka_client == {
        "sasl.username": "a",
        "sasl.password": 'b"c',
        "ssl.ca.location": "/ca.pem",
        "ssl.keystore.location": "/own.p12",
        "ssl.keystore.password": "s",
        "ssl.endpoint.identification.algorithm": "none",
        "message.max.bytes": "7",
        "queue.buffering.max.kbytes": "2",
        "acks": "all",
    }
    for name, value in (("ssl.truststore.location", "/ca.jks"), ("sasl.jaas.config", "com.sun.Krb5LoginModule required;")):
        with pytest.raises(ConfigError, match=f"producer.override.{name}: "):
            parse_properties({**GOOD, f"producer.override.{name}": value})


def test_rac_nodes_matter_only_where_one_is_written_to() -> None:
    assert "rac.nodes" in parse_properties({**GOOD, "rac.nodes": "a:1,b:1"}).ignored
    with pytest.raises(ConfigError, match="written on one node only"):
        parse_properties({**GOOD, "rac.nodes": "a:1", "minercdc.log.mining.flush.table": "F"})


def test_the_token_of_the_snapshots_scn_is_taken_out() -> None:
    select = {
        "snapshot.select.statement.overrides": "A.B",
        "snapshot.select.statement.overrides.A.B": "select * from a.b#SCN# where x = 1",
        "internal.snapshot.enhance.predicate.scn": "#SCN#",
    }
    assert parse_properties({**GOOD, **select}).snapshot_selects == {"A.B": "select * from a.b where x = 1"}
