"""What `minercdc config FILE` prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minercdc.config.files import read_java_properties
from minercdc.config.in_force import as_document, in_force, report
from minercdc.config.load import SECTIONS, load_config
from minercdc.errors import ConfigError

FILE = """\
name=inventory
database.server.name=server1
database.url=scott/tiger@//db:1521/ORCLCDB
database.user=c##dbz
database.password=hidden1
database.dbname=ORCLCDB
schema.history.internal.kafka.bootstrap.servers=kafka:9092
producer.override.sasl.jaas.config=a.PlainLoginModule required username="u" password="hidden2";
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url=http://user:hidden3@registry:8081?apikey=hidden6,http://hidden7@second:8081
minercdc.opentelemetry.endpoint=https://collector/hidden8/v1/metrics?k=hidden9
minercdc.kafka.client.sasl.oauthbearer.token.endpoint.url=https://login/token?k=hidden10
minercdc.notification.webhook.url=https://chat/hidden11
minercdc.kafka.client.sasl.oauthbearer.client.secret=hidden4
tasks.max=1
minercdc.sink.path=x
minercdc.lake.spark.master=local[2]
minercdc.lake.catalog.credential=lake:hidden12
minercdc.lake.catalog.header.Authorization=Basic hidden13
minercdc.lake.catalog.s3.secret-access-key=hidden14
message.key.columns=S.T:A
custom.sanitize.pattern=message\\\\.key\\\\..*
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "c.properties"
    path.write_text(FILE)
    return path


def test_every_property_has_value_origin_and_effect(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_LOB_ENABLED", "true")
    config = load_config(file)
    found = {one.name: one for one in in_force(config)}
    for section in SECTIONS.values():
        assert section.properties().keys() <= found.keys()
    assert found["topic.prefix"][1:3] == ("server1", "c.properties:2, as database.server.name")
    assert found["lob.enabled"][1:3] == ("true", "environment MINERCDC_LOB_ENABLED")
    assert found["database.port"][1:3] == ("1521", "default")
    assert found["value.converter.schemas.enable"][1:3] == ("true", "follows from other properties")
    assert found["tasks.max"][1:4] == ("1", "c.properties:15", "no effect: one connector is one task")
    assert found["minercdc.sink.path"].effect == "no effect: debezium.sink.type is kafka"
    assert found["minercdc.lake.spark.master"][1:4] == ("local[2]", "c.properties:17", "passed on to Spark as spark.master")
    assert all(one.effect for one in found.values())
    text = report(config, file)
    assert "hidden" not in text
    assert "tiger" not in text
    assert found["value.converter.schema.registry.url"].value == "http://***@registry:8081?***,http://***@second:8081"
    assert found["minercdc.kafka.client.sasl.oauthbearer.token.endpoint.url"].value == "https://login/token?***"
    assert found["minercdc.opentelemetry.endpoint"].value == found["minercdc.notification.webhook.url"].value == "***"
    assert found["message.key.columns"].value == "***"
    assert read_java_properties(text)["database.password"] == "***"


def test_what_is_given_is_shown_with_the_default_that_it_replaces(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_LOB_ENABLED", "true")
    text = report(load_config(file), file, given=True)
    assert "lob.enabled = true\n    # environment MINERCDC_LOB_ENABLED: in place of false: " in text
    assert "topic.prefix = server1\n    # c.properties:2, as database.server.name: " in text, "no default"
    assert "value.converter.schemas.enable = true\n    # follows from other properties: in place of false: " in text
    assert "# default: " not in text
    document = as_document(load_config(file), given=True)
    assert document["lob.enabled"].items() >= {"value": "true", "default": "false"}.items()
    assert document["topic.prefix"]["default"] is None
    assert "database.port" not in document
    assert "tiger" not in json.dumps(as_document(load_config(file)))
    assert "database.port" not in text
    assert not {"hidden", "tiger"} & set(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", ["minercdc.opentelemetry.endpoint", "minercdc.notification.webhook.url"])
@pytest.mark.parametrize("value", ["ftp://hidden/x", "http://", "http://u:hidden@h:port/", "hidden"])
def test_what_is_no_url_is_refused_and_not_shown(name: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_text(FILE + f"{name}={value}\n" if name not in FILE else re.sub(f"{name}=.*", f"{name}={value}", FILE))
    with pytest.raises(ConfigError, match=name) as caught:
        load_config(path)
    assert "hidden" not in str(caught.value)


def test_options_of_net_services_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    url = "tcps://db:2484/ORCLCDB?retry_count=3"
    path.write_text(FILE.replace("scott/tiger@//db:1521/ORCLCDB", url))
    assert {one.name: one.value for one in in_force(load_config(path))}["database.url"] == url


def test_properties_of_named_groups_are_in_force_too(tmp_path: Path) -> None:
    given = {
        "transforms": "flat",
        "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
        "column.mask.hash.SHA-256.with.salt.hidden5": "S.T.C",
        "topic.creation.groups": "big",
        "topic.creation.big.include": "server1[.]S[.]BIG",
        "topic.creation.big.partitions": "3",
        "converters": "num",
        "num.type": "io.debezium.connector.oracle.converters.NumberOneToBooleanConverter",
    }
    path = tmp_path / "c.properties"
    path.write_text(FILE + "".join(f"{name}={value}\n" for name, value in given.items()))
    config = load_config(path)
    found = {one.name: one for one in in_force(config)}
    shown = {name.replace("hidden5", "***"): value for name, value in given.items()}
    assert {name: found[name].value for name in shown} == shown
    assert all(found[name].effect and found[name].origin.startswith("c.properties:") for name in shown)
    assert "hidden" not in report(config, path)
    path.write_text(FILE + "column.mask.hash.SHA-256.with.salt.hidden5=S.T.C\n" * 2)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert "hidden" not in str(caught.value)


def test_the_command_needs_no_server_and_ends_with_2_for_problems(file: Path) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "minercdc", "config", str(file)], capture_output=True, text=True, check=False
        )

    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^name = inventory\n    # c.properties:1: Name of the connector", done.stdout, re.MULTILINE)
    file.write_text(FILE + "database.port=no\nunheard.of=1\n")
    done = run()
    assert done.returncode == 2
    assert "database.port" in done.stderr
    assert "unheard.of" in done.stderr
    assert done.stdout == ""
