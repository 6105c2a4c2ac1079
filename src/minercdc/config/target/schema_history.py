"""Section for where the schema history is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from minercdc.config.section import Section, rule

# Debezium's classes, by their last name; it moved them between packages.
_PLACES = {
    "KafkaSchemaHistory": "kafka",
    "KafkaDatabaseHistory": "kafka",
    "FileSchemaHistory": "file",
    "FileDatabaseHistory": "file",
}


class SchemaHistoryConfig(Section):
    """Where the schema history is kept."""

    schema_history_internal: Literal["kafka", "file"] = Field(
        "kafka",
        description="`io.debezium.storage.kafka.history.KafkaSchemaHistory` (short: `kafka`) or `io.debezium.storage.file.history.FileSchemaHistory` (`file`). `minercdc lake` requires the former.",
    )
    schema_history_internal_file_filename: Path | None = Field(
        None,
        description="File of the schema history; needed with `FileSchemaHistory`. A missing directory is created. The offset records how much of the file is valid.",
    )

    @field_validator("schema_history_internal", mode="before")
    @classmethod
    def _place(cls, value: object) -> object:
        if not isinstance(value, str) or value.strip().lower() in _PLACES.values():
            return value
        place = _PLACES.get(value.rpartition(".")[2])
        if place is None:
            raise ValueError(f"{value} is not supported; only KafkaSchemaHistory and FileSchemaHistory are")
        return place

    @rule
    def _file(self) -> Iterator[str]:
        if self.schema_history_internal == "file" and self.schema_history_internal_file_filename is None:
            yield "schema.history.internal.file.filename: needed with FileSchemaHistory"

    @property
    def file(self) -> Path | None:
        """The file, None when the history is in Kafka."""
        return self.schema_history_internal_file_filename if self.schema_history_internal == "file" else None
