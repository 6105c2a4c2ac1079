"""Properties of the adapter `olr`."""

from __future__ import annotations

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError

GOOD = {
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "ORCLCDB",
    "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
}
SERVER = {"openlogreplicator.source": "ORCL", "openlogreplicator.host": "h", "openlogreplicator.port": "9000"}


def test_debeziums_properties_are_taken() -> None:
    config = parse_properties({**GOOD, **SERVER, "database.connection.adapter": "olr"})
    assert config.olr.openlogreplicator_source == "ORCL"
    assert (config.olr.openlogreplicator_host, config.olr.openlogreplicator_port) == ("h", 9000)
    assert config.ignored == {}


@pytest.mark.parametrize("missing", sorted(SERVER))
def test_each_of_them_is_needed(missing: str) -> None:
    given = {name: value for name, value in SERVER.items() if name != missing}
    with pytest.raises(ConfigError) as refused:
        parse_properties({**GOOD, **given, "database.connection.adapter": "olr"})
    assert refused.value.problems == (f"{missing}: needed with database.connection.adapter=olr",)


def test_with_another_adapter_they_have_no_effect() -> None:
    config = parse_properties({**GOOD, **SERVER})
    assert config.ignored == dict.fromkeys(SERVER, "database.connection.adapter is logminer")


def test_own_properties_are_checked() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_properties({**GOOD, "minercdc.olr.c.scn": "lwn", "openlogreplicator.port": "0"})
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["minercdc.olr.c.scn", "openlogreplicator.port"]
