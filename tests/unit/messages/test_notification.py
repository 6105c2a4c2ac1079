"""Notifications in their topic."""

from __future__ import annotations

import json

from minercdc.messages.notification import NotificationEncoder
from minercdc.stream.events import Notification

STARTED = Notification("a-1", "Initial Snapshot", "STARTED", 1_700_000_000_123_456, {"data_collections": "PDB.S.T"})


def test_a_notification_is_debeziums_document() -> None:
    record = NotificationEncoder("reports", "shop", key_schemas=False, value_schemas=False).encode(STARTED)
    assert (record.topic, record.partition) == ("reports", 0)
    assert json.loads(record.key or b"") == {"id": "a-1"}
    assert json.loads(record.value or b"") == {
        "id": "a-1",
        "type": "STARTED",
        "aggregate_type": "Initial Snapshot",
        "additional_data": {"connector_name": "shop", "data_collections": "PDB.S.T"},
        "timestamp": 1_700_000_000_123,
    }


def test_converters_with_schemas_wrap_key_and_value() -> None:
    record = NotificationEncoder("reports", "shop", key_schemas=True, value_schemas=True).encode(STARTED)
    key, value = json.loads(record.key or b""), json.loads(record.value or b"")
    assert key["schema"]["name"] == "io.debezium.connector.common.NotificationKey"
    assert value["schema"]["name"] == "io.debezium.connector.common.Notification"
    assert [field["field"] for field in value["schema"]["fields"]] == list(value["payload"])
