"""The interface for adapters, sinks, formats and transformations of other packages; docs/extensions.md has an example of each."""

from __future__ import annotations

from minercdc.capture.adapter import Adapter, AdapterFactory, CaptureContext
from minercdc.config.load import ConnectorConfig
from minercdc.messages.formats.connect import Schema, schema_of
from minercdc.messages.formats.converting import Format, Write
from minercdc.messages.topics import TopicNames
from minercdc.messages.transforms.record import ConnectRecord, Transform, Typed, typed
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.prerequisites import CapturePrerequisites
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.stream.contracts import Capture, OffsetSink, Record, StopFlag
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, SchemaChange, TransactionInfo
from minercdc.stream.offset import JsonValue, Offset, Position
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

__all__ = [
    "Adapter",
    "AdapterFactory",
    "Capture",
    "CaptureContext",
    "CapturePrerequisites",
    "ChangeEvent",
    "ConnectRecord",
    "ConnectorConfig",
    "Event",
    "Finding",
    "Format",
    "JsonValue",
    "KafkaClient",
    "Offset",
    "OffsetSink",
    "Op",
    "Ownership",
    "Position",
    "Progress",
    "Record",
    "Schema",
    "SchemaChange",
    "Severity",
    "StopFlag",
    "TableId",
    "TableSchema",
    "Tables",
    "TopicNames",
    "TransactionInfo",
    "Transform",
    "Typed",
    "Write",
    "offset_from_bytes",
    "offset_to_bytes",
    "schema_of",
    "typed",
]
