"""Notifications as documents and records, in Debezium's form."""

from __future__ import annotations

import json

from minercdc.messages.envelope.connect_schema import plain, struct, wrapped
from minercdc.stream.contracts import Record
from minercdc.stream.events import Notification
from minercdc.stream.offset import JsonValue

# Debezium's SchemaFactory: names, versions and the order of the fields.
_KEY = struct([plain("id", "string")], name="io.debezium.connector.common.NotificationKey", version=1)
_VALUE = struct(
    [
        plain("id", "string"),
        plain("type", "string"),
        plain("aggregate_type", "string"),
        {
            "type": "map",
            "keys": {"type": "string", "optional": False},
            "values": {"type": "string", "optional": False},
            "optional": True,
            "field": "additional_data",
        },
        plain("timestamp", "int64"),
    ],
    name="io.debezium.connector.common.Notification",
    version=1,
)


def document(notification: Notification, connector: str) -> dict[str, JsonValue]:
    """The document that every channel shows.

    :param connector: topic.prefix; Debezium puts it into `additional_data` of each.
    """
    return {
        "id": notification.id,
        "type": notification.type,
        "aggregate_type": notification.aggregate_type,
        "additional_data": {"connector_name": connector, **notification.additional_data},
        "timestamp": notification.time_us // 1000,
    }


class NotificationEncoder:
    """Makes the records of channel `sink`, all in partition 0, so that they keep their order.

    :param connector: topic.prefix.
    :param key_schemas: `key.converter.schemas.enable`; `value_schemas` likewise.
    """

    def __init__(self, topic: str, connector: str, *, key_schemas: bool, value_schemas: bool) -> None:
        self._topic = topic
        self._connector = connector
        self._key = wrapped(key_schemas, _KEY)
        self._value = wrapped(value_schemas, _VALUE)

    def encode(self, notification: Notification) -> Record:
        """The record of a notification; its key is the notification's id."""
        key_head, key_tail = self._key
        head, tail = self._value
        key = f"{key_head}{_text({'id': notification.id})}{key_tail}"
        value = f"{head}{_text(document(notification, self._connector))}{tail}"
        return Record(self._topic, key.encode(), value.encode(), partition=0)


def _text(value: dict[str, JsonValue]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
