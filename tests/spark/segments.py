"""The writing half of a connector whose sink is segments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.spark.connector import Connector
from tests.spark.rowids import RowIds

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.encoder import OtherEvents
from minercdc.messages.topics import TopicNames
from minercdc.sinks.file_schema_history import FileSchemaHistory
from minercdc.sinks.segments.writer import SegmentSink
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import Offset, SuspendedTable


class SegmentConnector(Connector):
    """See `connector.Connector`."""

    sink: SegmentSink  # type: ignore[assignment]
    history: FileSchemaHistory  # type: ignore[assignment]

    def __init__(self, config: ConnectorConfig) -> None:
        self.sink = SegmentSink(config.sink.directory, config.identity.name, config.sink.minercdc_sink_segment_bytes)
        assert config.history.file is not None
        self.history = FileSchemaHistory(
            config.history.file, server=config.identity.topic_prefix, clock_ms=lambda: 1_700_000_000_000
        )
        stored = self.sink.load_offset()
        list(self.history.recover(stored.history if stored else 0))
        topics = TopicNames(config)
        self.encoder = envelope_encoder(config, topics, OtherEvents(schema_changes=True))
        self.scn = 100
        self.time_us = lambda scn: 0
        self.row_ids = RowIds()
        self.unsent = []

    def ddl(self, change: SchemaChange) -> None:
        change.time_us = self.time_us(change.scn)
        if change.after is not None:
            self.table = change.after
        assert self.history.entry(change, {}) is None
        for record in self.encoder.encode(change):
            self.write(record)

    def commit(self, complete: int | None = None, suspended: Sequence[SuspendedTable] = ()) -> None:
        scn = self.scn if complete is None else complete
        self.send()
        self.sink.commit(Offset("test", {}, suspended=tuple(suspended), complete_scn=scn, history=self.history.mark()))


def segment_config(directory: Path, **changes: object) -> Path:
    """A configuration file."""
    settings: dict[str, object] = {
        "name": "c",
        "topic_prefix": "p",
        "database_hostname": "x",
        "database_user": "u",
        "database_password": "secret",
        "database_dbname": "d",
        "debezium_sink_type": "segments",
        "minercdc_sink_path": directory / "segments",
        "skipped_operations": "none",
    }
    file = directory / "segments.yaml"
    lines = (f'{name.replace("_", ".")}: "{value}"\n' for name, value in (settings | changes).items())
    file.write_text("".join(lines))
    return file


def opened(file: Path) -> SegmentConnector:
    return SegmentConnector(load_config(file))
