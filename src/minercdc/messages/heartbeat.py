"""Heartbeat records in Debezium's form: key `{"serverName"}`, value `{"ts_ms"}`, partition 0."""

from __future__ import annotations

import json
from collections.abc import Callable

from minercdc.messages.envelope.connect_schema import plain, struct, wrapped
from minercdc.stream.contracts import Record

# Debezium's SchemaFactory: names and versions.
_KEY = struct([plain("serverName", "string")], name="io.debezium.connector.common.ServerNameKey", version=1)
_VALUE = struct([plain("ts_ms", "int64")], name="io.debezium.connector.common.Heartbeat", version=1)


class KafkaHeartbeat:
    """Makes the records (contracts.Heartbeat).

    :param seconds: least time between two of them; the caller keeps it.
    :param server: topic.prefix.
    :param key_schemas: `key.converter.schemas.enable`; `value_schemas` likewise.
    :param clock_ms: milliseconds since the epoch.
    :param action: done before each; its errors are raised.
    :param converted: the record as the others are made; None when it is left out.
    """

    def __init__(
        self,
        topic: str,
        server: str,
        seconds: float,
        *,
        key_schemas: bool,
        value_schemas: bool,
        clock_ms: Callable[[], int],
        converted: Callable[[Record], Record | None] = lambda record: record,
        action: Callable[[], None] = lambda: None,
    ) -> None:
        self._action = action
        self.seconds = seconds
        self._topic = topic
        key_head, key_tail = wrapped(key_schemas, _KEY)
        self._key = f"{key_head}{json.dumps({'serverName': server}, separators=(',', ':'))}{key_tail}".encode()
        self._value = wrapped(value_schemas, _VALUE)
        self._clock_ms = clock_ms
        self._converted = converted

    def beat(self) -> Record | None:
        """Do `action`, then return a record with the present time, None when `converted` leaves it out. Raises what these
        two raise."""
        self._action()
        head, tail = self._value
        value = f'{head}{{"ts_ms":{self._clock_ms()}}}{tail}'.encode()
        return self._converted(Record(self._topic, self._key, value, partition=0))
