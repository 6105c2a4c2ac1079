"""Placeholders: Kafka's providers, those of plug-ins, and Debezium Server's expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from tests.unit.config.test_load import GOOD

from minercdc.config.load import parse_properties
from minercdc.config.providers import take_providers
from minercdc.errors import ConfigError

KAFKA = "org.apache.kafka.common.config.provider"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "s.properties").write_text("a.b = from \\\n   file\n")
    (tmp_path / "plain").write_text("whole\n")
    return tmp_path


def password(properties: Mapping[str, str]) -> str:
    return parse_properties(properties).database.database_password.get_secret_value()


def test_kafkas_providers_by_their_own_names(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PW", "from environment")
    listed = {
        **GOOD,
        "config.providers": "f, e ,d",
        "config.providers.f.class": f"{KAFKA}.FileConfigProvider",
        "config.providers.e.class": f"{KAFKA}.EnvVarConfigProvider",
        "config.providers.d.class": f"{KAFKA}.DirectoryConfigProvider",
    }
    for value, expected in (
        (f"${{f:{secrets}/s.properties:a.b}}", "from file"),
        (f"x${{f:{secrets}/s.properties:a.b}}y", "xfrom filey"),
        ("${e:DB_PW}", "from environment"),
        (f"${{d:{secrets}:plain}}", "whole"),
        (f"${{file:{secrets}/plain}}", "whole"),
        ("${env:DB_PW}", "from environment"),
        ("${other:a:b}", "${other:a:b}"),
        ("$1{x}", "$1{x}"),
    ):
        assert password({**listed, "database.password": value}) == expected


def test_limits_of_a_provider(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PW", "x")
    monkeypatch.setenv("OTHER", "y")
    limited = {
        **GOOD,
        "config.providers": "file,env",
        "config.providers.file.class": f"{KAFKA}.FileConfigProvider",
        "config.providers.file.param.allowed.paths": f"/nowhere,{secrets}",
        "config.providers.env.class": f"{KAFKA}.EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "DB_.*",
    }
    assert password({**limited, "database.password": f"${{file:{secrets}/plain}}${{env:DB_PW}}"}) == "wholex"
    for value, reason in (
        (f"${{file:{secrets}/../etc/passwd:root}}", "allowed.paths does not allow"),
        ("${env:OTHER}", "allowlist.pattern does not allow the variable OTHER"),
    ):
        with pytest.raises(ConfigError, match=reason):
            parse_properties({**limited, "database.password": value})


def test_a_plug_in_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def vault(parameters: Mapping[str, str]) -> Callable[[str, str], str]:
        return lambda path, key: f"{parameters['address']}/{path}#{key}"

    class Entry(metadata.EntryPoint):
        def load(self) -> object:
            return vault

    def found(*, group: str) -> metadata.EntryPoints:
        return metadata.EntryPoints([Entry("vault", "a:b", group)])

    monkeypatch.setattr(metadata, "entry_points", found)
    given = {
        **GOOD,
        "config.providers": "v",
        "config.providers.v.class": "vault",
        "config.providers.v.param.address": "https://v",
        "database.password": "${v:kv/db:pw}",
    }
    assert password(given) == "https://v/kv/db#pw"
    with pytest.raises(ConfigError, match=r"config.providers.v.class: com.x.Vault cannot be used.*known are .*vault"):
        parse_properties({**given, "config.providers.v.class": "com.x.Vault"})


def test_what_is_wrong_with_providers_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_properties(
            {**GOOD, "config.providers": "a", "config.providers.b.class": "x", "config.providers.a.parm.x": "1"}
        )
    assert sorted(line.split(": ")[0] for line in caught.value.problems) == [
        "config.providers.a.class",
        "config.providers.a.parm.x",
        "config.providers.b.class",
    ]


def test_expressions_of_debezium_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PW", "p")
    server = take_providers({}, [], of_server=True)
    assert server.resolved("${DATABASE_PW}-${NOT_SET_AT_ALL:d}-${database.pw}") == "p-d-p"
    with pytest.raises(KeyError):
        server.resolved("${NOT_SET_AT_ALL}")
    assert take_providers({}, []).resolved("${DATABASE_PW}") == "${DATABASE_PW}"
