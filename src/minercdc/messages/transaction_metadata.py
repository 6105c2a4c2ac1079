"""Begin and end of source transactions as records of a topic of their own, in Debezium's form."""

from __future__ import annotations

import json

from minercdc.messages.envelope.connect_schema import plain, struct, wrapped
from minercdc.stream.contracts import Record
from minercdc.stream.events import TransactionMark
from minercdc.stream.offset import JsonValue

# Debezium's SchemaFactory: names, versions and the order of the fields.
_KEY = struct([plain("id", "string")], name="io.debezium.connector.common.TransactionMetadataKey", version=1)
_COLLECTION = struct(
    [plain("data_collection", "string"), plain("event_count", "int64")], name="event.collection", version=1, optional=True
)
_VALUE = struct(
    [
        plain("status", "string"),
        plain("id", "string"),
        plain("event_count", "int64", optional=True),
        {"type": "array", "items": _COLLECTION, "optional": True, "field": "data_collections"},
        plain("ts_ms", "int64"),
    ],
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
)


class TransactionEncoder:
    """Makes the records of the begin and end of transactions.

    :param key_schemas: `key.converter.schemas.enable`; `value_schemas` likewise.
    """

    def __init__(self, topic: str, *, key_schemas: bool, value_schemas: bool) -> None:
        self._topic = topic
        self._key = wrapped(key_schemas, _KEY)
        self._value = wrapped(value_schemas, _VALUE)

    def encode(self, mark: TransactionMark) -> Record:
        """The record of a begin or end; its key is the transaction's id."""
        counts = mark.events
        value: dict[str, JsonValue] = {
            "status": "BEGIN" if counts is None else "END",
            "id": mark.tx.id,
            "event_count": None if counts is None else sum(counts.values()),
            "data_collections": None
            if counts is None
            else [{"data_collection": table, "event_count": count} for table, count in counts.items()],
            "ts_ms": mark.time_us // 1000,
        }
        return Record(self._topic, _document(self._key, {"id": mark.tx.id}), _document(self._value, value))


def _document(frame: tuple[str, str], value: dict[str, JsonValue]) -> bytes:
    head, tail = frame
    return f"{head}{json.dumps(value, separators=(',', ':'))}{tail}".encode()
