"""Records of events, as a configuration with transformations makes them."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.messages.test_envelope import NEEDED, encoder

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.stream.contracts import Record
from minercdc.stream.events import Event

KAFKA = "org.apache.kafka.connect.transforms."
DEBEZIUM = "io.debezium.transforms."
UNWRAP = f"{DEBEZIUM}ExtractNewRecordState"


def chain(*steps: tuple[str, dict[str, str]], **predicates: tuple[str, dict[str, str]]) -> dict[str, str]:
    """Properties of a chain `t0,t1,..` of (type, options), and of predicates."""
    found = {"transforms": ",".join(f"t{i}" for i in range(len(steps)))}
    named = [(f"transforms.t{i}", step) for i, step in enumerate(steps)]
    if predicates:
        found["predicates"] = ",".join(predicates)
        named += [(f"predicates.{name}", step) for name, step in predicates.items()]
    for where, (kind, options) in named:
        found[f"{where}.type"] = kind
        found |= {f"{where}.{name}": value for name, value in options.items()}
    return found


def configured(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties({**NEEDED, **properties})


def records(properties: dict[str, str], *events: Event, schemas: bool = False, **values: str) -> list[Record]:
    """The records of events, transformed and written as JSON."""
    printing = encoder(
        by_number=(True, True), key_converter_schemas_enable="true", value_converter_schemas_enable="true", **values
    )
    transformed = RecordTransformer(chain_of(configured(properties).transforms)).encoder(printing)
    side = JsonFormat(schemas=schemas)
    written = RecordConverter(Side(side), Side(side)).encoder(transformed)
    return [record for event in events for record in written.encode(event)]


def parsed(document: bytes | None) -> Any:
    return None if document is None else json.loads(document)
