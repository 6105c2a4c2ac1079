"""`minercdc config FILE` finds all that a start would: expressions, Python code and settings that cannot be loaded, each with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.test_load import GOOD
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA
from typer.testing import CliRunner

from minercdc.cli import app
from minercdc.config.load import load_config
from minercdc.errors import ConfigError
from minercdc.operate.check.config_imports import not_loadable
from minercdc.sinks.kafka.refused_settings import refused_settings

HERE = __name__


def name_without_arguments() -> str:
    return "x"


def failing(options: dict[str, str]) -> Any:
    raise KeyError("colour")


def with_one_argument(options: dict[str, str]) -> Any:
    return lambda column: None


NOT_CALLABLE = 7


def found(tmp_path: Path, more: dict[str, str]) -> dict[str, str]:
    """The problems with a file of these properties after twenty lines of others: by line, else by property."""
    file = tmp_path / "c.properties"
    head = [f"{name}={value}" for name, value in GOOD.items()]
    head += ["#"] * (20 - len(head))
    file.write_text("\n".join([*head, *(f"{name}={value}" for name, value in more.items())]))
    with pytest.raises(ConfigError) as caught:
        load_config(file, not_loadable)
    ended = CliRunner().invoke(app, ["config", str(file)])
    assert str(ended.exception) == str(caught.value)
    return {problem.rpartition("(")[2].rstrip(")"): problem for problem in caught.value.problems}


def test_every_problem_is_found_at_once_with_its_line(tmp_path: Path) -> None:
    more = {
        "database.port": "no",
        "transforms": "f,r",
        "transforms.f.type": f"{DEBEZIUM}Filter",
        "transforms.f.language": "cel",
        "transforms.f.condition": "value.op ==",
        "transforms.r.type": f"{DEBEZIUM}ContentBasedRouter",
        "transforms.r.language": "cel",
        "transforms.r.topic.expression": "1 + 1",
        "converters": "a,b,c,d",
        "a.type": "no.such.module:Converter",
        "b.type": f"{HERE}:failing",
        "c.type": f"{HERE}:with_one_argument",
        "d.type": "io.debezium.connector.oracle.converters.RawToStringConverter",
        "d.charset": "klingon",
        "topic.naming.strategy": f"{HERE}:name_without_arguments",
        "snapshot.locking.mode": "custom",
        "snapshot.locking.mode.custom.name": f"{HERE}:NOT_CALLABLE",
        "minercdc.kafka.transactional": "false",
        "minercdc.kafka.large.transaction": "hold",
        "producer.override.lingr.ms": "5",
        "minercdc.kafka.client.compression.type": "brotli",
        "minercdc.kafka.client.linger.ms": "7",
    }
    problems = found(tmp_path, more)
    places = {name: f"c.properties:{line}" for line, name in enumerate(more, 21)}
    expected = {
        "database.port": "valid integer",
        "transforms.f.condition": "is not a CEL expression",
        "transforms.r.topic.expression": "is of type INT, not STRING",
        "a.type": "cannot be loaded: No module named 'no'; PYTHONPATH must contain its directory",
        "b.type": "raised KeyError('colour') for its options",
        "c.type": "cannot be called with (table, column)",
        "d.charset": "unknown character set klingon",
        "topic.naming.strategy": "cannot be called with (prefix, delimiter, table)",
        "snapshot.locking.mode.custom.name": "NOT_CALLABLE cannot be called",
        "minercdc.kafka.large.transaction": "hold needs Kafka transactions",
        "producer.override.lingr.ms": "librdkafka has no setting lingr.ms",
        "minercdc.kafka.client.compression.type": 'Invalid value "brotli"',
    }
    assert set(problems) == {places[name] for name in expected}
    for name, text in expected.items():
        assert problems[places[name]].startswith(f"{name}: "), problems[places[name]]
        assert text in problems[places[name]]


def test_what_a_wrong_value_leads_to_is_no_problem_of_its_own(tmp_path: Path) -> None:
    more = {
        "topic.naming.strategy": "io.debezium.schema.SchemaRegexTopicNamingStrategy",
        "topic.key.enforce.uniqueness": "false",
        "topic.regex": "(",
        "topic.replacement": "$1",
        "snapshot.mode": "custom",
        "transforms": "r",
        "transforms.r.type": f"{KAFKA}RegexRouter",
        "transforms.r.regex": "(",
        "transforms.r.replacement": "$1",
        "transforms.r.predicate": "p",
        "predicates": "p",
        "predicates.p.type": f"{KAFKA}predicates.TopicNameMatches",
        "predicates.p.pattern": "(",
        "converters": "c",
        "c.type": "${env:MINERCDC_NOT_SET}:Converter",
        "post.processors": "${env:MINERCDC_NOT_SET}",
    }
    assert found(tmp_path, more)
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.properties", not_loadable)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "c.type",
        "post.processors",
        "predicates.p.pattern",
        "snapshot.mode.custom.name",
        "topic.regex",
        "transforms.r.regex",
    ]


def test_names_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {
        "debezium.source.foo": "1",
        "debezium.source.table.include.lst": "1",
        "log.mining.view.fetch.size": "many",
        "debezium.sink.type": "jsink",
        "debezium.source.poll.interval.ms": "soon",
    }
    problems = found(tmp_path, more)
    assert problems == {
        "c.properties:21": "debezium.source.foo: unknown property (c.properties:21)",
        "c.properties:22": "debezium.source.table.include.lst: unknown property; did you mean"
        " debezium.source.table.include.list? (c.properties:22)",
        "c.properties:23, given as log.mining.view.fetch.size": "query.fetch.size: Input should be a valid integer, unable to"
        " parse string as an integer (c.properties:23, given as log.mining.view.fetch.size)",
        "c.properties:25": "debezium.source.poll.interval.ms: Input should be a valid integer, unable to parse string as an"
        " integer (c.properties:25)",
        "c.properties:24": "debezium.sink.type: 'jsink' is not one of json, kafka, relay, segments; did you mean json?"
        " (c.properties:24)",
    }
    monkeypatch.setenv("MINERCDC_DATABASE_PORT", "many")
    assert "environment MINERCDC_DATABASE_PORT" in found(tmp_path, {})


def test_settings_that_librdkafka_takes_are_not_refused() -> None:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.ca.location": "/of/another/machine.pem",
        "client.rack": "r1",
        "group.id": "x",
    }
    assert list(refused_settings(given)) == []
    assert list(refused_settings({"fetch.min.bytes": "1"}, consumes=True)) == []
    assert list(refused_settings({"fetch.min.byte": "1"}, consumes=True)) == [
        "librdkafka has no setting fetch.min.byte; its CONFIGURATION.md lists all"
    ]
