"""Events as JSON, for clients that request it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from minercdc.relay.events.event import RelayEvent
from minercdc.relay.events.values import row_reader


def event_json(event: RelayEvent, schema: str = "") -> str:
    """An event as JSON of one line.

    :param schema: of its value, which is then JSON text (`JSON_PLAIN_VALUE`); '' for base64 of its bytes.
    :raises RelayDataError: the value does not fit the schema.
    :raises ValueError, fastavro.schema.SchemaParseException: `schema` is none of Avro.
    """
    document: dict[str, Any] = {}
    if not event.is_control:
        document["opcode"] = "DELETE" if event.is_delete else "UPSERT"
    if isinstance(event.key, int):
        document["key"] = event.key
    else:
        document["keyBytes"] = base64.b64encode(event.key).decode()
    document |= {
        "sequence": event.sequence,
        "logicalPartitionId": event.logical_partition,
        "physicalPartitionId": event.physical_partition,
        "timestampInNanos": event.time_ns,
        "srcId": event.source,
        "schemaId": base64.b64encode(event.schema_id).decode(),
        "valueEnc": "JSON_PLAIN_VALUE" if schema else "JSON",
        "isReplicated": bool(event.attributes & 0x100),
    }
    if event.is_end_of_window:
        document["endOfPeriod"] = True
    if event.attributes & 0x4:
        document["traceEnabled"] = True
    if schema and not event.is_control:
        document["value"] = json.dumps(_reader(schema)(event.value), default=_as_text, separators=(",", ":"))
    else:
        document["value"] = base64.b64encode(event.value).decode()
    return json.dumps(document, separators=(",", ":"))


@lru_cache(maxsize=1024)
def _reader(schema: str) -> Callable[[bytes], dict[str, Any]]:
    return row_reader(json.loads(schema))


def _as_text(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
