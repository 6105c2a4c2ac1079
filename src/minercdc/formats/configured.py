"""The converter of records that a configuration chooses."""

from __future__ import annotations

from minercdc.config.converters import AVRO, CLOUD_EVENTS, ConverterConfig, RegistryProperties
from minercdc.config.converters import Side as SideName
from minercdc.formats.avro import AvroFormat
from minercdc.formats.cloud_events import CloudEventsFormat
from minercdc.formats.converting import RecordConverter, Side
from minercdc.formats.json_format import JsonFormat
from minercdc.formats.registry import RegistryAccess, SchemaRegistry
from minercdc.formats.subjects import subject_names


def record_converter(
    config: ConverterConfig, timeout: float, json_schemas: tuple[bool, bool] | None = None
) -> RecordConverter | None:
    """None where keys and values are JSON as the encoders print it.

    :param timeout: seconds to try to reach a registry for.
    :param json_schemas: whether JSON keys, and values, are written with their schemas; None: they stay as they are printed.
    :raises ConfigError: a certificate cannot be read.
    """
    in_json = not config.uses_registry() and config.value_converter != CLOUD_EVENTS
    if in_json and json_schemas is None:
        return None
    registries: dict[RegistryAccess, SchemaRegistry] = {}

    def side(name: SideName) -> Side | None:
        converter = config.key_converter if name == "key" else config.value_converter
        if converter == CLOUD_EVENTS:
            events = CloudEventsFormat(
                schemas=config.value_converter_json_schemas_enable,
                extensions=config.value_converter_extension_attributes_enable,
            )
            return Side(events)
        if converter != AVRO:
            return Side(JsonFormat(schemas=json_schemas[name == "value"])) if json_schemas else None
        properties = config.registry(name)
        access = registry_access(properties, timeout)
        registry = registries.get(access) or registries.setdefault(access, SchemaRegistry(access))
        avro = AvroFormat(
            registry,
            subject_names(properties.subject_strategy, name),
            auto_register=properties.auto_register,
            use_latest=properties.use_latest,
            normalize=properties.normalize,
        )
        return Side(avro)

    return RecordConverter(side("key"), side("value"))


def registry_access(properties: RegistryProperties, timeout: float) -> RegistryAccess:
    """How the registry of these properties is reached.

    :param timeout: seconds to try for.
    """
    user, _, password = properties.user_info.partition(":")
    given = properties.credentials == "USER_INFO"
    return RegistryAccess(
        urls=properties.urls,
        user=user if given else "",
        password=password if given else "",
        token=properties.token,
        ca=properties.ca,
        certificate=properties.certificate,
        private_key=properties.private_key,
        private_key_password=properties.private_key_password,
        timeout=timeout,
    )
