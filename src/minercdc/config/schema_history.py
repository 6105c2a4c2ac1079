"""Section for where the schema history is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from minercdc.config.section import Section

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
        description="`io.debezium.storage.kafka.history.KafkaSchemaHistory` (short: `kafka`) or `io.debezium.storage.file.history.FileSchemaHistory` (`file`). Only the former does for `minercdc lake`.",
    )
    schema_history_internal_file_filename: Path | None = Field(
        None,
        description="File of the schema history; needed with `FileSchemaHistory`. The offset says how much of it is valid.",
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

    @model_validator(mode="after")
    def _file(self) -> Self:
        if self.schema_history_internal == "file" and self.schema_history_internal_file_filename is None:
            raise ValueError("schema.history.internal.file.filename: needed with FileSchemaHistory")
        return self

    @property
    def file(self) -> Path | None:
        """The file, None when the history is in Kafka."""
        return self.schema_history_internal_file_filename if self.schema_history_internal == "file" else None
