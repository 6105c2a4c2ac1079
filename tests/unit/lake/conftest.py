"""A configuration for the tests of the lake that need no server."""

from __future__ import annotations

import pytest
from tests.unit.lake.properties import PROPERTIES

from minercdc.config.load import ConnectorConfig, parse_properties


@pytest.fixture
def config() -> ConnectorConfig:
    return parse_properties(PROPERTIES)
