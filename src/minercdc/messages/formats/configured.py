"""The converter of records that a configuration chooses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minercdc.config import extensions
from minercdc.config.messages.converters import (
    APICURIO_AVRO,
    APICURIO_JSON,
    AVRO,
    BYTES,
    CLOUD_EVENTS,
    JSON,
    PROTOBUF,
    STRING,
    ConverterConfig,
)
from minercdc.config.messages.registries import RegistryProperties
from minercdc.config.messages.registries import Side as SideName
from minercdc.errors import ConfigError
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.converting import Format, RecordConverter, Side
from minercdc.messages.formats.defaults import WithDefaults
from minercdc.messages.formats.ext_json import ExtJsonFormat
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.formats.naming import NOT_ADJUSTED, Naming
from minercdc.messages.formats.plain import BytesFormat, StringFormat
from minercdc.messages.protobuf.records import ProtobufFormat
from minercdc.messages.protobuf.schema import ProtobufOptions
from minercdc.messages.registries.access import RegistryAccess
from minercdc.messages.registries.apicurio import ApicurioRegistry, ApicurioSchemas, Strategy, artifact_names
from minercdc.messages.registries.confluent import SchemaRegistry
from minercdc.messages.registries.registered import ConfluentSchemas, RegisteredSchemas
from minercdc.messages.registries.subjects import subject_names
from minercdc.schema.name_adjustment import schema_name


def record_converter(
    config: ConverterConfig,
    timeout: float,
    json_schemas: Mapping[SideName, bool] | None = None,
    naming: Naming = NOT_ADJUSTED,
    options: Mapping[str, str] = MappingProxyType({}),
) -> RecordConverter | None:
    """The converter of keys and values; None where they stay JSON as the encoders print it.

    :param timeout: seconds to try to reach a registry for.
    :param json_schemas: of the sides whose JSON is not printed in its form yet: whether it is written with its schema.
    :param naming: of what is in the schemas, for the hints of errors.
    :param options: properties of formats of other packages, by their names in full.
    :raises ConfigError: a certificate cannot be read.
    """
    chosen = _Chosen(config, timeout, naming, options)

    def side(name: SideName) -> Side | None:
        made: Format
        if getattr(config, f"{name}_converter") != JSON:
            made = chosen.format(name)
        elif json_schemas is not None and name in json_schemas:
            made = JsonFormat(schemas=json_schemas[name])
        else:
            return None
        return Side(WithDefaults(made) if config.fills_nulls(name) else made)

    key, value = side("key"), side("value")
    return RecordConverter(key, value) if key is not None or value is not None else None


class _Chosen:
    """Makes the formats of both sides, which share a registry that has Confluent's API."""

    def __init__(self, config: ConverterConfig, timeout: float, naming: Naming, options: Mapping[str, str]) -> None:
        self._config = config
        self._options = options
        self._naming = naming
        self._timeout = timeout
        self._registries: dict[RegistryAccess, SchemaRegistry] = {}

    def format(self, side: SideName) -> Format:
        match getattr(self._config, f"{side}_converter"):
            case value if value == AVRO:
                return self._avro(side, self._confluent(side))
            case value if value == PROTOBUF:
                return self._protobuf(side)
            case value if value == APICURIO_AVRO:
                return self._avro(side, self._apicurio(side))
            case value if value == APICURIO_JSON:
                return ExtJsonFormat(self._apicurio(side))
            case value if value == STRING:
                return StringFormat()
            case value if value == BYTES:
                return BytesFormat()
            case value if value == CLOUD_EVENTS:
                return self._cloud_events(side)
            case other:
                return self._of_extension(side, other)

    def _of_extension(self, side: SideName, name: str) -> Format:
        prefix = f"{side}.converter."
        given = {full.removeprefix(prefix): value for full, value in self._options.items() if full.startswith(prefix)}
        make = extensions.loaded(extensions.FORMATS, name, f"{side}.converter")
        try:
            made: Format = make(side, given)
        except Exception as error:  # code of another package
            raise ConfigError([f"{side}.converter: {name} refuses its options: {error}"]) from error
        return made

    def _protobuf(self, side: SideName) -> ProtobufFormat:
        config = self._config
        options = ProtobufOptions(
            optional=getattr(config, f"{side}_converter_optional_for_nullables"),
            wrappers=getattr(config, f"{side}_converter_wrapper_for_nullables"),
            scrub=getattr(config, f"{side}_converter_scrub_invalid_names"),
            naming=self._naming,
        )
        skip_known = getattr(config, f"{side}_converter_skip_known_types")
        return ProtobufFormat(self._confluent(side), options, skip_known=skip_known)

    def _cloud_events(self, side: SideName) -> CloudEventsFormat:
        config = self._config
        options = CloudEventsOptions(
            schemas=config.value_converter_json_schemas_enable,
            extensions=config.value_converter_extension_attributes_enable,
            avro_envelope=config.value_converter_serializer_type == "avro",
            name=config.value_converter_schema_cloudevents_name,
            adjusted=schema_name(config.value_converter_schema_name_adjustment_mode),
            binary=config.minercdc_cloudevents_mode == "binary",
        )
        kind = config.registry_kind(side)
        if not kind:
            return CloudEventsFormat(options)
        schemas: RegisteredSchemas = self._apicurio(side) if kind == "apicurio" else self._confluent(side)
        return CloudEventsFormat(options, self._avro(side, schemas))

    def _avro(self, side: SideName, schemas: RegisteredSchemas) -> AvroFormat:
        meta_data = getattr(self._config, f"{side}_converter_connect_meta_data")
        return AvroFormat(schemas, self._naming, meta_data=meta_data)

    def _confluent(self, side: SideName) -> ConfluentSchemas:
        properties = self._config.registry(side)
        access = registry_access(properties, self._timeout)
        registry = self._registries.get(access) or self._registries.setdefault(access, SchemaRegistry(access))
        return ConfluentSchemas(
            registry,
            subject_names(properties.subject_strategy, side),
            auto_register=properties.auto_register,
            use_latest=properties.use_latest,
            use_id=properties.use_id,
            normalize=properties.normalize,
        )

    def _apicurio(self, side: SideName) -> ApicurioSchemas:
        def given(name: str) -> object:
            return self._config.apicurio(side, name)

        return ApicurioSchemas(
            ApicurioRegistry(apicurio_access(self._config, side, self._timeout)),
            apicurio_names(self._config, side),
            auto_register=bool(given("auto_register")),
            if_exists=str(given("auto_register_if_exists")),
            find_latest=bool(given("find_latest")),
            kind=self._config.apicurio(side, "use_id"),
            as_confluent=bool(given("as_confluent")),
            header_prefix=f"apicurio.{side}" if given("headers_enabled") else "",
        )


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


def apicurio_access(config: ConverterConfig, side: SideName, timeout: float) -> RegistryAccess:
    """How Apicurio's registry of one side is reached by its own API.

    :param timeout: seconds to try for.
    """
    return RegistryAccess(
        urls=tuple(config.apicurio(side, "url")),
        user=config.apicurio(side, "auth_username"),
        password=config.apicurio(side, "auth_password"),
        timeout=timeout,
    )


def apicurio_names(config: ConverterConfig, side: SideName) -> Strategy:
    """The configured strategy that names the artifacts of Apicurio's registry for the schemas of one side."""
    strategy = config.apicurio(side, "artifact_resolver_strategy").rpartition(".")[2]
    return artifact_names(strategy, side, config.apicurio(side, "artifact_group_id"))
