"""What the lake makes of a schema history that was damaged."""

from __future__ import annotations

import json

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import SchemaHistoryError
from minercdc.lake.structures import Structures


def record(columns: list[str], **position: object) -> bytes:
    table = {"columns": [{"name": name, "typeName": "NUMBER", "length": 9, "scale": 0} for name in columns]}
    change = {"type": "CREATE", "id": '"DB"."S"."T"', "table": table | {"primaryKeyColumnNames": ["ID"]}}
    return json.dumps(
        {"source": {"server": "p"}, "position": {"scn": "1"} | position, "tableChanges": [change]}, separators=(",", ":")
    ).encode()


def structures_of(monkeypatch: pytest.MonkeyPatch, *values: bytes) -> Structures:
    config = parse_properties(
        {
            "name": "n",
            "topic.prefix": "p",
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": "b:1",
        }
    )
    found = Structures(config.identity, config.topics, config.kafka, config.values, {})
    monkeypatch.setattr(found, "_new_records", lambda: iter(values))
    return found


def test_what_cannot_be_read_is_passed_over_once_the_structures_were_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again = record(["ID", "V"], structures_read_anew=True)
    structures = structures_of(monkeypatch, record(["ID"]), b"garbage", again)
    structures.refresh()
    found = structures.of_topic("p.S.T")
    assert found is not None
    assert list(found.columns) == ["ID", "V"]


def test_what_cannot_be_read_stops_the_lake(monkeypatch: pytest.MonkeyPatch) -> None:
    again = record(["ID"], structures_read_anew=True)
    with pytest.raises(SchemaHistoryError, match="cannot be read"):
        structures_of(monkeypatch, again, b"garbage").refresh()
