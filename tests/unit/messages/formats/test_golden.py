"""Messages of each type, mode and kind of event in each format are the reviewed ones, byte for byte."""

from __future__ import annotations

import pytest
from tests.unit.messages.formats.golden import FILES, HERE, Registry, formats_of
from tests.unit.messages.test_envelope import PAID, encoder, event

from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.stream.events import Op


@pytest.mark.parametrize("name", FILES)
def test_messages_are_those_that_were_reviewed(name: str) -> None:
    expected, found = (HERE / name).read_text().splitlines(), "\n".join(FILES[name]()).splitlines()
    for line, (one, other) in enumerate(zip(expected, found, strict=False), 1):
        assert other == one, f"{name}, line {line}"
    assert len(found) == len(expected)


KEYS, VALUES = (
    [name for name in formats_of(Registry(), side) if side == "value" or not name.startswith("cloud")]
    for side in ("key", "value")
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_any_format_of_keys_goes_with_any_of_values(key: str, value: str) -> None:
    def rewritten(of_keys: str, of_values: str) -> list[tuple[bytes | None, bytes | None]]:
        sides = (Side(formats_of(Registry(), "key")[of_keys]), Side(formats_of(Registry(), "value")[of_values]))
        made = encoder(key_converter_schemas_enable="true", value_converter_schemas_enable="true")
        converter = RecordConverter(*sides)
        records = [converter.record(one) for one in made.encode(event(Op.DELETE, PAID, None))]
        return [(record.key, record.value) for record in records]

    keys, values = rewritten(key, "json"), rewritten("json", value)
    assert rewritten(key, value) == [(k, v) for (k, _), (_, v) in zip(keys, values, strict=True)]
