"""The tables of a connector whose schema history is a file, as with segments: it counts as far as the last commit says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import SecretStr

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, SchemaHistoryError
from minercdc.lake.table.history import LakeHistory, TableHistories
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.opening import need_kafka
from minercdc.sinks.segments.reader import SegmentLog
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes


class FileHistory(TableHistories):
    """The tables of a connector whose schema history is a file (`history.TableHistories`, whose errors hold); no tables
    before its first commit.

    :param stored: the offset of the connector's last commit, None before the first one.
    """

    def __init__(self, config: ConnectorConfig, stored: Callable[[], Offset | None]) -> None:
        super().__init__(config)
        assert config.history.file is not None
        self._file = config.history.file.absolute()
        self._stored = stored
        self._content = b""
        self.topic = str(self._file)

    def refresh(self) -> None:
        """Read the history up to the last commit; from its beginning, where the connector has begun it again.

        :raises SchemaHistoryError: the file cannot be read, is shorter than the commit says, or has a line, or the commit an
            offset, that cannot be read.
        :raises SinkError: the last commit cannot be read.
        :raises ConfigError: as `TopicNames.name_of` and `TableFilter.includes`.
        """
        stored = self._stored()
        length = (stored.history or 0) if stored is not None else 0
        try:
            content = self._file.read_bytes()[:length] if length and self._file.exists() else b""
        except OSError as error:
            raise SchemaHistoryError(f"the schema history {self._file} cannot be read: {error.strerror or error}") from None
        if len(content) < length:
            raise SchemaHistoryError(
                f"the schema history {self._file} has {len(content)} bytes, but the offset expects {length}",
                hint="Put the file back.",
            )
        if not content.startswith(self._content):
            self._forget()
            self._content = b""
        for line in content[len(self._content) :].splitlines():
            self._read(line)
        self._content = content
        self.end_vanished()
        self.settle()
        self._refuse_unreadable()

    def _offset(self) -> Offset | None:
        return self._stored()


class SegmentHistory(FileHistory):
    """The history of a connector whose sink is segments."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._log = SegmentLog(config.sink.directory)
        super().__init__(config, self._last)

    def _last(self) -> Offset | None:
        stored = self._log.last_offset()
        return None if stored is None else offset_from_bytes(stored.encode(), self.topic)


def for_tasks(config: ConnectorConfig) -> ConnectorConfig:
    """The configuration that is sent to executors: without passwords of the database, to which they do not connect, and with
    absolute paths of the schema history and the segments."""
    without_password = config.database.model_copy(
        update={"database_password": SecretStr(""), "minercdc_database_wallet_password": None}
    )
    history, sink = config.history, config.sink
    if history.file is not None:
        history = history.model_copy(update={"schema_history_internal_file_filename": history.file.absolute()})
    if sink.debezium_sink_type == "segments":
        sink = sink.model_copy(update={"minercdc_sink_path": str(sink.directory.absolute())})
    return replace(config, database=without_password, history=history, sink=sink)


def history_of(config: ConnectorConfig) -> TableHistories:
    """The history of the configured sink, not read yet. Raises ConfigError for a sink whose records no stream reads and for a history
    of Kafka's records in a file, LakeError for records in a form that is not read back."""
    if config.sink.debezium_sink_type == "segments":
        return SegmentHistory(config)
    need_kafka(config, "a stream of changes", "debezium.sink.type=segments also works.")
    if config.history.file is not None:
        raise ConfigError(
            ["schema.history.internal: a stream of changes reads the tables from the topic; a file is not supported"]
        )
    return LakeHistory(config, KafkaClient(config.kafka, config.topics, config.kafka_client))
