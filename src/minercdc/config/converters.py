"""Properties of the converters of keys and values: JSON, or Avro with a schema registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field, SecretStr

from minercdc.config.section import CommaList, Section, rule

JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
AVRO: Final = "io.confluent.connect.avro.AvroConverter"
CLOUD_EVENTS: Final = "io.debezium.converters.CloudEventsConverter"
Converter = Literal["org.apache.kafka.connect.json.JsonConverter", "io.confluent.connect.avro.AvroConverter"]
ValueConverter = Literal[
    "org.apache.kafka.connect.json.JsonConverter",
    "io.confluent.connect.avro.AvroConverter",
    "io.debezium.converters.CloudEventsConverter",
]
SubjectStrategy = Literal[
    "io.confluent.kafka.serializers.subject.TopicNameStrategy",
    "io.confluent.kafka.serializers.subject.RecordNameStrategy",
    "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
]
_TOPIC: SubjectStrategy = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
_SAME = "The same for keys."
Side = Literal["key", "value"]
SIDES: tuple[Side, Side] = ("key", "value")


@dataclass(frozen=True, slots=True)
class RegistryProperties:
    """The properties of one side's converter that concern the registry, without the side's name."""

    urls: tuple[str, ...]
    credentials: str
    user_info: str
    token: str
    ca: str
    certificate: str
    private_key: str
    private_key_password: str
    auto_register: bool
    use_latest: bool
    normalize: bool
    subject_strategy: str


class ConverterConfig(Section):
    """How keys and values are written: as JSON, or as Avro with a schema registry."""

    value_converter: ValueConverter = Field(
        JSON,
        description="JSON, Avro in Confluent's wire format, or CloudEvents. Named in full, Connect's JsonConverter writes schemas by default.",
    )
    key_converter: Converter = Field(JSON, description="JSON, or Avro.")
    value_converter_serializer_type: Literal["json"] = Field(
        "json", description="Of a CloudEvent: its envelope is JSON; Avro is not there yet."
    )
    value_converter_data_serializer_type: Literal["json"] = Field(
        "json", description="Of a CloudEvent: its `data` is JSON; Avro is not there yet."
    )
    value_converter_json_schemas_enable: bool = Field(True, description="Of a CloudEvent: `data` has its schema.")
    value_converter_extension_attributes_enable: bool = Field(
        True, description="Of a CloudEvent: it has attributes `iodebezium…` from `source`."
    )
    value_converter_schema_registry_url: CommaList = Field(
        (), description="The registry, with Confluent's REST API; several are tried in order."
    )
    key_converter_schema_registry_url: CommaList = Field((), description=_SAME)
    value_converter_basic_auth_credentials_source: Literal["URL", "USER_INFO"] = Field(
        "URL", description="Where user and password of the registry stand: in the URL, or in `…basic.auth.user.info`."
    )
    key_converter_basic_auth_credentials_source: Literal["URL", "USER_INFO"] = Field("URL", description=_SAME)
    value_converter_basic_auth_user_info: SecretStr = Field(SecretStr(""), description="`USER:PASSWORD` of the registry.")
    key_converter_basic_auth_user_info: SecretStr = Field(SecretStr(""), description=_SAME)
    value_converter_bearer_auth_token: SecretStr = Field(SecretStr(""), description="Bearer token of the registry.")
    key_converter_bearer_auth_token: SecretStr = Field(SecretStr(""), description=_SAME)
    value_converter_schema_registry_ssl_ca_location: str = Field(
        "", description="PEM file of the authorities that the registry's certificate may come from; default the system's."
    )
    key_converter_schema_registry_ssl_ca_location: str = Field("", description=_SAME)
    value_converter_schema_registry_ssl_certificate_location: str = Field(
        "", description="PEM file of this client's certificate (mTLS)."
    )
    key_converter_schema_registry_ssl_certificate_location: str = Field("", description=_SAME)
    value_converter_schema_registry_ssl_key_location: str = Field(
        "", description="PEM file of its private key, where the certificate's file does not have it."
    )
    key_converter_schema_registry_ssl_key_location: str = Field("", description=_SAME)
    value_converter_schema_registry_ssl_key_password: SecretStr = Field(SecretStr(""), description="Password of that key.")
    key_converter_schema_registry_ssl_key_password: SecretStr = Field(SecretStr(""), description=_SAME)
    value_converter_auto_register_schemas: bool = Field(
        True, description="Register schemas that the registry does not have; otherwise such a table stops the connector."
    )
    key_converter_auto_register_schemas: bool = Field(True, description=_SAME)
    value_converter_use_latest_version: bool = Field(
        False, description="Write with the newest schema of the subject, which must have the table's fields."
    )
    key_converter_use_latest_version: bool = Field(False, description=_SAME)
    value_converter_normalize_schemas: bool = Field(
        False, description="Have the registry normalize schemas before it compares them."
    )
    key_converter_normalize_schemas: bool = Field(False, description=_SAME)
    value_converter_value_subject_name_strategy: SubjectStrategy = Field(
        _TOPIC, description="Subject of a schema: `<topic>-value`, the record's name, or both."
    )
    key_converter_key_subject_name_strategy: SubjectStrategy = Field(_TOPIC, description=_SAME)

    @rule
    def _of_keys(self) -> Iterator[str]:
        yield from self._problems("key")

    @rule
    def _of_values(self) -> Iterator[str]:
        yield from self._problems("value")

    def _problems(self, side: Side) -> Iterator[str]:
        if getattr(self, f"{side}_converter") != AVRO:
            return
        name, found = f"{side}.converter", self.registry(side)
        if not found.urls:
            yield f"{name}.schema.registry.url: needed for {AVRO}"
        for url in found.urls:
            if not url.startswith(("http://", "https://")):
                yield f"{name}.schema.registry.url: {url.split('://')[0]} is neither http nor https"
        if found.credentials == "USER_INFO" and ":" not in found.user_info:
            yield f"{name}.basic.auth.user.info: USER:PASSWORD is needed with …basic.auth.credentials.source=USER_INFO"
        if found.use_latest and found.auto_register and f"{side}_converter_auto_register_schemas" in self.model_fields_set:
            yield f"{name}.use.latest.version: does not go with …auto.register.schemas=true"

    def registry(self, side: Side) -> RegistryProperties:
        """The registry's properties of one side."""

        def text(name: str) -> str:
            found = getattr(self, f"{side}_converter_{name}")
            return str(found.get_secret_value() if isinstance(found, SecretStr) else found)

        def flag(name: str) -> bool:
            return bool(getattr(self, f"{side}_converter_{name}"))

        return RegistryProperties(
            urls=tuple(getattr(self, f"{side}_converter_schema_registry_url")),
            credentials=text("basic_auth_credentials_source"),
            user_info=text("basic_auth_user_info"),
            token=text("bearer_auth_token"),
            ca=text("schema_registry_ssl_ca_location"),
            certificate=text("schema_registry_ssl_certificate_location"),
            private_key=text("schema_registry_ssl_key_location"),
            private_key_password=text("schema_registry_ssl_key_password"),
            auto_register=flag("auto_register_schemas"),
            use_latest=flag("use_latest_version"),
            normalize=flag("normalize_schemas"),
            subject_strategy=text(f"{side}_subject_name_strategy"),
        )

    def not_read_back(self) -> str:
        """Why records in these formats are not read back, '' where they are."""
        return "values are CloudEvents" if self.value_converter == CLOUD_EVENTS else ""

    def uses_registry(self) -> bool:
        """Whether keys or values are written in a format that needs a registry."""
        return AVRO in (self.key_converter, self.value_converter)
