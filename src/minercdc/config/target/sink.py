"""Section for the sink: where records, schema history and offset go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from minercdc.config import extensions
from minercdc.config.section import Section, property_of, rule

STDOUT = "-"


class SinkConfig(Section):
    """Where records go (docs/sinks.md)."""

    debezium_sink_type: str = Field(
        "kafka",
        description='`kafka`; `segments`: files that `spark.readStream.format("minercdc")` reads; `json`: a JSON document per line. The last two need no broker. `relay`: set by `minercdc relay` itself.',
    )
    minercdc_sink_path: str | None = Field(
        None,
        description="With `segments`: directory of the segments. With `json`: the file, or `-` for standard output. Required for both.",
    )
    minercdc_sink_segment_bytes: int = Field(
        64 * 1024 * 1024, ge=1024, description="Size of a segment: the first commit that reaches it ends the segment."
    )
    minercdc_sink_retention: Literal["keep", "delete"] = Field(
        "keep",
        description='Treatment of segments that a query of `format("minercdc")` has read: `delete` removes them, so only one query can read the directory.',
    )

    @field_validator("debezium_sink_type", mode="before")
    @classmethod
    def _is_installed(cls, value: object) -> object:
        return extensions.chosen(extensions.SINKS, value)

    @rule
    def _path(self) -> Iterator[str]:
        if self.debezium_sink_type in ("segments", "json") and not self.minercdc_sink_path:
            yield f"minercdc.sink.path: needed with debezium.sink.type={self.debezium_sink_type}"
        if self.debezium_sink_type == "segments" and self.minercdc_sink_path == STDOUT:
            yield "minercdc.sink.path: segments are a directory, not standard output"

    @property
    def is_kafka(self) -> bool:
        """Whether records go to Kafka."""
        return self.debezium_sink_type == "kafka"

    @property
    def directory(self) -> Path:
        """The directory of the segments; only with debezium.sink.type=segments."""
        assert self.debezium_sink_type == "segments"
        assert self.minercdc_sink_path
        return Path(self.minercdc_sink_path)

    @property
    def file(self) -> Path | None:
        """The file of the JSON lines; None for standard output. Only with debezium.sink.type=json."""
        assert self.debezium_sink_type == "json"
        return None if self.minercdc_sink_path in (None, STDOUT) else Path(str(self.minercdc_sink_path))

    def beside(self, state: Path, name: str) -> Path:
        """Where files are kept that belong to the sink, which is not Kafka: a path that endings are added to, as `.offset`.

        :param state: minercdc.state.dir.
        :param name: of the connector.
        """
        if self.debezium_sink_type == "relay":
            return relay_directory(state, name) / "relay"
        if self.debezium_sink_type == "segments":
            return self.directory / "connector"
        if self.debezium_sink_type != "json":
            return state / f"{self.debezium_sink_type}-{name}"
        return self.file or state / f"stdout-{name}"


def relay_directory(state: Path, name: str) -> Path:
    """Where a relay keeps its files.

    :param state: minercdc.state.dir.
    :param name: of the connector.
    """
    return state / f"relay-{name}"


def brokers_given(sections: Mapping[str, Any]) -> Iterator[str]:
    """A problem when Kafka is the sink, and no brokers are given."""
    if sections["sink"].is_kafka and not sections["kafka"].bootstrap_servers:
        yield "minercdc.kafka.bootstrap.servers: needed (or schema.history.internal.kafka.bootstrap.servers)"


def channels_of_sink(sections: Mapping[str, Any]) -> Iterator[str]:
    """A problem when channel `kafka` is enabled, and the sink is not Kafka."""
    sink = sections["sink"]
    if not sink.is_kafka and "kafka" in sections["signals"].signal_enabled_channels:
        kind = f"debezium.sink.type={sink.debezium_sink_type}"
        yield f"signal.enabled.channels: kafka needs Kafka, which {kind} does not use; file and http do the same"


def history_of_sink(sections: Mapping[str, Any]) -> Iterator[str]:
    """A problem when the schema history is to be in a topic, and the sink is not Kafka."""
    sink, history = sections["sink"], sections["history"]
    if not sink.is_kafka and "schema_history_internal" in history.model_fields_set and history.file is None:
        kind = f"debezium.sink.type={sink.debezium_sink_type}"
        yield f"schema.history.internal: a topic needs Kafka, which {kind} does not use; leave it out for a file beside the records"


def adapt_to_sink(sections: dict[str, Any]) -> dict[str, str]:
    """Give a sink without Kafka its schema history in a file (`SinkConfig.beside`), unless one is configured: replaces the section.

    :returns: the properties that the sink leaves without effect, with the reason.
    """
    sink, kafka, history = sections["sink"], sections["kafka"], sections["history"]
    if sink.is_kafka:
        without_effect = sink.model_fields_set - {"debezium_sink_type"}
        return {property_of(name): "debezium.sink.type is kafka" for name in without_effect}
    if history.file is None:
        beside = sink.beside(sections["capture"].minercdc_state_dir, sections["identity"].name)
        file = beside.with_name(f"{beside.name}.schema-history")
        update = {"schema_history_internal": "file", "schema_history_internal_file_filename": file}
        sections["history"] = history.model_copy(update=update)
    given = [name for name in kafka.model_fields_set if "transaction" not in name]
    return {property_of(name): f"debezium.sink.type is {sink.debezium_sink_type}" for name in given}
