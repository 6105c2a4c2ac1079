"""The schemas of records that are read back, by the ids that the records have."""

from __future__ import annotations

from typing import Final, Protocol

from minercdc.config.load import ConnectorConfig
from minercdc.config.messages.converters import APICURIO_AVRO, AVRO, PROTOBUF
from minercdc.config.messages.registries import Side
from minercdc.messages.formats.configured import apicurio_access, apicurio_names, registry_access
from minercdc.messages.registries.apicurio import ApicurioRegistry, IdKind, Strategy
from minercdc.messages.registries.confluent import SchemaRegistry
from minercdc.messages.registries.subjects import Subject, subject_names

SHORT: Final = 4
LONG: Final = 8


class SchemasById(Protocol):
    """The schemas of keys, or of values, by the ids that stand in records."""

    @property
    def id_bytes(self) -> int:
        """How many bytes an id takes, after a zero byte and before the content."""

    def schema(self, number: int) -> str:
        """The text of the schema with an id.

        :raises SinkError: there is none, or the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """

    def versions(self, topic: str, name: str) -> dict[int, str]:
        """Id -> text of all versions of the schema of a topic and the full name of its records; {} where there is none. For the
        errors see `schema`."""


class ConfluentById:
    """Schemas of a registry with Confluent's API (`SchemasById`)."""

    id_bytes = SHORT

    def __init__(self, registry: SchemaRegistry, subject: Subject) -> None:
        self._registry = registry
        self._subject = subject

    def schema(self, number: int) -> str:
        """The text of the schema with an id, asked of the registry at each call. Raises as `SchemasById.schema`."""
        return self._registry.schema(number)

    def versions(self, topic: str, name: str) -> dict[int, str]:
        """Id -> text of all versions under the subject of a topic and record, the newest last; {} for none. Raises as
        `schema`."""
        return self._registry.versions(self._subject(topic, name))


class ApicurioById:
    """Schemas of Apicurio's registry, by its own API (`SchemasById`)."""

    def __init__(self, registry: ApicurioRegistry, names: Strategy, kind: IdKind, id_bytes: int) -> None:
        self._registry = registry
        self._names = names
        self._kind = kind
        self.id_bytes = id_bytes

    def schema(self, number: int) -> str:
        """The text of the schema with an id, asked of the registry at each call. Raises as `SchemasById.schema`."""
        return self._registry.schema(self._kind, number)

    def versions(self, topic: str, name: str) -> dict[int, str]:
        """Id -> text of all versions of the artifact of a topic and record; {} for none. Raises as `schema`."""
        return {number: self.schema(number) for number in self._registry.versions(*self._names(topic, name), self._kind)}


def schemas_of(config: ConnectorConfig, side: Side) -> SchemasById | None:
    """The schemas of keys or of values by their ids; None where records have none.

    :raises ConfigError: a certificate of the registry cannot be read.
    """
    converters, timeout = config.converters, config.kafka.minercdc_kafka_timeout_ms / 1000
    converter = getattr(converters, f"{side}_converter")
    if converter in (AVRO, PROTOBUF):
        properties = converters.registry(side)
        registry = SchemaRegistry(registry_access(properties, timeout))
        return ConfluentById(registry, subject_names(properties.subject_strategy, side))
    if converter != APICURIO_AVRO:
        return None
    id_bytes = SHORT if converters.apicurio(side, "as_confluent") else LONG
    apicurio = ApicurioRegistry(apicurio_access(converters, side, timeout))
    return ApicurioById(apicurio, apicurio_names(converters, side), converters.apicurio(side, "use_id"), id_bytes)
