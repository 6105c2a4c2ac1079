"""Properties of the converters of keys and values, by their Java classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from minercdc.config import extensions
from minercdc.config.messages.apicurio import ApicurioConfig
from minercdc.config.messages.cloud_events import CloudEventsConfig
from minercdc.config.messages.protobuf import ProtobufConfig
from minercdc.config.messages.registries import SAME, SIDES, RegistryConfig, Side
from minercdc.config.section import rule
from minercdc.config.urls import is_http

JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
AVRO: Final = "io.confluent.connect.avro.AvroConverter"
PROTOBUF: Final = "io.confluent.connect.protobuf.ProtobufConverter"
CLOUD_EVENTS: Final = "io.debezium.converters.CloudEventsConverter"
APICURIO_AVRO: Final = "io.apicurio.registry.utils.converter.AvroConverter"
STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
APICURIO_JSON: Final = "io.apicurio.registry.utils.converter.ExtJsonConverter"
BUILT_IN: Final = (JSON, STRING, BYTES, AVRO, PROTOBUF, APICURIO_AVRO, APICURIO_JSON)
_WITH_CONFLUENT: Final = (AVRO, PROTOBUF)
_WITH_APICURIO: Final = (APICURIO_AVRO, APICURIO_JSON)
_UNREAD: Final[Mapping[str, str]] = {
    CLOUD_EVENTS: "values are CloudEvents",
    STRING: "keys or values are text forms of Java objects",
    BYTES: "keys or values are raw bytes",
}


class ConverterConfig(CloudEventsConfig, ApicurioConfig, ProtobufConfig, RegistryConfig):
    """How keys and values are written: as JSON, CloudEvents, text or bytes, or in a format with a schema registry."""

    value_converter: str = Field(
        JSON,
        description="JSON, Avro or Protobuf with a schema registry, or CloudEvents ([formats](formats.md)). Named in full, Connect's JsonConverter"
        " writes schemas by default.",
    )
    key_converter: str = Field(JSON, description="The same for keys, which are no CloudEvents.")
    value_converter_replace_null_with_default: bool = Field(
        False,
        description="Of JSON: if a column has a DEFAULT, write NULL as the DEFAULT. `true` is the default of Connect's JsonConverter."
        " Readers cannot distinguish such rows from rows with the DEFAULT, so `verify` and the lake refuse it.",
    )
    key_converter_replace_null_with_default: bool = Field(False, description=SAME)
    value_converter_ignore_default_for_nullables: bool = Field(
        True,
        description="Of Avro and Protobuf with Confluent's converters: a NULL stays null where the column has a DEFAULT. `false`, their own"
        " default, writes the DEFAULT, as `value.converter.replace.null.with.default=true` does in JSON.",
    )
    key_converter_ignore_default_for_nullables: bool = Field(True, description=SAME)
    value_converter_connect_meta_data: bool = Field(
        True, description="Of Avro: schemas have Connect's names, versions, defaults and parameters as `connect.*`."
    )
    key_converter_connect_meta_data: bool = Field(True, description=SAME)

    @field_validator("key_converter", "value_converter", mode="before")
    @classmethod
    def _is_there(cls, value: object, info: ValidationInfo) -> object:
        of_values = (CLOUD_EVENTS,) if info.field_name == "value_converter" else ()
        return extensions.chosen(extensions.FORMATS, value, BUILT_IN + of_values)

    @rule
    def _of_keys(self) -> Iterator[str]:
        yield from self._problems("key")

    @rule
    def _of_values(self) -> Iterator[str]:
        yield from self._problems("value")

    def _problems(self, side: Side) -> Iterator[str]:
        converter = getattr(self, f"{side}_converter")
        yield from self._cloud_events_problems() if converter == CLOUD_EVENTS else ()
        if self.registry_kind(side) == "apicurio":
            yield from self._apicurio_problems(side, converter)
        if self.registry_kind(side) != "confluent":
            return
        name, found = f"{side}.converter", self.registry(side)
        if not found.urls:
            which = f"{name}.avro.schema.registry.url" if converter == CLOUD_EVENTS else f"{name}.schema.registry.url"
            yield f"{which}: needed for {converter}"
        for url in found.urls:
            if not url.startswith(("http://", "https://")):
                yield f"{name}.schema.registry.url: {url.split('://')[0]} is neither http nor https"
            elif not is_http(url):
                yield f"{name}.schema.registry.url: http://HOST:PORT is needed, and one of these has no such host or port"
        if found.credentials == "USER_INFO" and ":" not in found.user_info:
            yield f"{name}.basic.auth.user.info: USER:PASSWORD is needed with …basic.auth.credentials.source=USER_INFO"
        registering = found.auto_register and f"{side}_converter_auto_register_schemas" in self.model_fields_set
        if found.use_latest and registering:
            yield f"{name}.use.latest.version: does not go with …auto.register.schemas=true"
        if found.use_id is not None and (found.use_latest or registering):
            yield f"{name}.use.schema.id: goes neither with …use.latest.version=true nor with …auto.register.schemas=true"

    def _cloud_events_problems(self) -> Iterator[str]:
        if self.value_converter_serializer_type == "avro":
            if self.value_converter_data_serializer_type == "json":
                yield "value.converter.data.serializer.type: json does not go with value.converter.serializer.type=avro"
            if self.minercdc_cloudevents_mode == "binary":
                yield "minercdc.cloudevents.mode: binary has no envelope, so it does not go with value.converter.serializer.type=avro"

    def _apicurio_problems(self, side: Side, converter: str) -> Iterator[str]:
        name, urls = f"{side}.converter.apicurio.registry", self.apicurio(side, "url")
        if not urls:
            yield f"{name}.url: needed for {converter}"
        for url in urls:
            if not url.startswith(("http://", "https://")) or "/apis/registry/v" not in url:
                yield f"{name}.url: http://HOST:PORT/apis/registry/v3 or …/v2 is needed, the registry's own API"
            elif not is_http(url):
                yield f"{name}.url: http://HOST:PORT/apis/registry/v3 is needed, and one of these has no such host or port"
        if len({"/apis/registry/v2" in url for url in urls}) > 1:
            yield f"{name}.url: the URLs are of one version of the API, v3 or v2"
        if converter == CLOUD_EVENTS and self.apicurio(side, "headers_enabled"):
            yield f"{name}.headers.enabled: a CloudEvent holds its data with the id before it"

    def registry_kind(self, side: Side) -> Literal["", "confluent", "apicurio"]:
        """The API of the registry that one side's schemas are in; '' for a side without one."""
        converter = getattr(self, f"{side}_converter")
        if converter == CLOUD_EVENTS and self.value_converter_data_serializer_type == "avro":
            return "apicurio" if self.apicurio(side, "url") else "confluent"
        if converter in _WITH_APICURIO:
            return "apicurio"
        return "confluent" if converter in _WITH_CONFLUENT else ""

    def fills_nulls(self, side: Side) -> bool:
        """Whether one side's nulls are written as the defaults of their fields, where these have one."""
        converter = getattr(self, f"{side}_converter")
        if converter in (JSON, APICURIO_JSON):
            return bool(getattr(self, f"{side}_converter_replace_null_with_default"))
        return converter in _WITH_CONFLUENT and not getattr(self, f"{side}_converter_ignore_default_for_nullables")

    def not_read_back(self) -> str:
        """Why records in these formats are not read back, '' where they are."""
        return self.unreadable("value") or self.unreadable("key")

    def unreadable(self, side: Side) -> str:
        """Why records' keys or values are not read back, '' where they are."""
        converter = getattr(self, f"{side}_converter")
        if converter == APICURIO_AVRO and self.apicurio(side, "headers_enabled"):
            return "keys or values have the ids of their schemas in headers (apicurio.registry.headers.enabled)"
        if converter == PROTOBUF and getattr(self, f"{side}_converter_scrub_invalid_names"):
            return "keys or values are in Protobuf with scrub.invalid.names, which does not keep the columns' names"
        if converter == PROTOBUF and side == "value" and not self._keeps_nulls():
            return "values are in Protobuf without nulls (optional.for.nullables or wrapper.for.nullables keeps them)"
        if side == "value" and self.fills_nulls(side):
            return "values have defaults in place of nulls (replace.null.with.default, ignore.default.for.nullables)"
        return _UNREAD.get(converter, "" if converter in BUILT_IN else f"keys or values are written by {converter}")

    def _keeps_nulls(self) -> bool:
        return self.value_converter_optional_for_nullables or self.value_converter_wrapper_for_nullables

    def not_read_by_spark(self) -> str:
        """Why the lake does not read records in these formats, '' where it does."""
        if PROTOBUF in (self.key_converter, self.value_converter):
            return "keys or values are in Protobuf, which this Spark session cannot read"
        return self.not_read_back()

    def uses_registry(self) -> bool:
        """Whether keys or values are written in a format that needs a registry."""
        return any(self.registry_kind(side) for side in SIDES)

    def is_text(self) -> bool:
        """Whether keys and values are JSON; of CloudEvents, `data` as far as the value is that alone."""
        texts = (JSON, APICURIO_JSON)
        return self.key_converter in texts and (
            self.value_converter in texts
            or (
                self.value_converter == CLOUD_EVENTS
                and self.value_converter_serializer_type == "json"
                and self._data_in_json()
            )
        )

    def _data_in_json(self) -> bool:
        """Whether `data` is JSON, where it is all that the value holds (mode `binary`); True in mode `structured`."""
        return self.minercdc_cloudevents_mode != "binary" or self.value_converter_data_serializer_type == "json"
