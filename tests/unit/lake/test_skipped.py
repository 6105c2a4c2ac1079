"""Operations that the connector does not publish: lake tables are not equal to the source then."""

from __future__ import annotations

import logging

import pytest
from tests.unit.lake.properties import PROPERTIES

from minercdc.config.load import parse_properties
from minercdc.lake.read.skipped import warn_of_skipped


@pytest.mark.parametrize(
    ("skipped", "said"),
    [
        ("t", ""),
        ("none", ""),
        ("d", "skipped.operations has d, which the lake does not get: rows that are deleted stay in its tables"),
        ("t,u,c", "skipped.operations has c, u, which the lake does not get: rows that are inserted"),
    ],
)
def test_a_lake_that_does_not_get_all_operations_says_what_its_tables_lack(
    skipped: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_skipped(parse_properties(PROPERTIES | {"skipped.operations": skipped}))
    assert [record.getMessage()[: len(said)] for record in caplog.records] == ([said] if said else [])
