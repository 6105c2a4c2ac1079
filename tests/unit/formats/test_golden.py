"""Messages of each type, mode and kind of event in each format are the reviewed ones, byte for byte."""

from __future__ import annotations

import pytest
from tests.unit.formats.golden import FILES, HERE


@pytest.mark.parametrize("name", FILES)
def test_messages_are_those_that_were_reviewed(name: str) -> None:
    expected, found = (HERE / name).read_text().splitlines(), "\n".join(FILES[name]()).splitlines()
    for line, (one, other) in enumerate(zip(expected, found, strict=False), 1):
        assert other == one, f"{name}, line {line}"
    assert len(found) == len(expected)
