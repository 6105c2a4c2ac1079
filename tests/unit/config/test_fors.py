"""Properties of the adapter `fors_olr`."""

from __future__ import annotations

import pytest
from tests.unit.config.test_olr import GOOD

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError

SERVER = {"minercdc.fors.host": "h", "minercdc.fors.port": "9100"}


def test_defaults() -> None:
    config = parse_properties({**GOOD, **SERVER, "database.connection.adapter": "fors_olr"}).fors
    assert (config.minercdc_fors_host, config.minercdc_fors_port) == ("h", 9100)
    assert config.minercdc_fors_byte_order == "little"
    assert config.minercdc_fors_value_encoding == "oracle"
    assert config.minercdc_fors_timestamp_unit == "seconds"


@pytest.mark.parametrize("missing", sorted(SERVER))
def test_host_and_port_are_needed(missing: str) -> None:
    given = {name: value for name, value in SERVER.items() if name != missing}
    with pytest.raises(ConfigError) as refused:
        parse_properties({**GOOD, **given, "database.connection.adapter": "fors_olr"})
    assert refused.value.problems == (f"{missing}: needed with database.connection.adapter=fors_olr",)


def test_with_another_adapter_they_have_no_effect() -> None:
    assert parse_properties({**GOOD, **SERVER}).ignored == dict.fromkeys(SERVER, "database.connection.adapter is logminer")


def test_values_are_checked() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_properties({**GOOD, "minercdc.fors.byte.order": "middle", "minercdc.fors.port": "0"})
    assert sorted(problem.split(":")[0] for problem in refused.value.problems) == [
        "minercdc.fors.byte.order",
        "minercdc.fors.port",
    ]


def test_xstream_is_refused_with_its_reason() -> None:
    with pytest.raises(
        ConfigError, match=r"database\.connection\.adapter: XStream needs Oracle's client libraries and a GoldenGate licence"
    ):
        parse_properties({**GOOD, "database.connection.adapter": "xstream"})
