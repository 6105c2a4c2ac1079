"""Properties of the converters that keep their schemas in a registry with Confluent's API: where it is, and what is
registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field, SecretStr

from minercdc.config.section import CommaList, Section

SubjectStrategy = Literal[
    "io.confluent.kafka.serializers.subject.TopicNameStrategy",
    "io.confluent.kafka.serializers.subject.RecordNameStrategy",
    "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
]
_TOPIC: SubjectStrategy = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
SAME: Final = "The same for keys."
Side = Literal["key", "value"]
SIDES: tuple[Side, Side] = ("key", "value")


@dataclass(frozen=True, slots=True)
class RegistryProperties:
    """The properties of one side's converter that concern the registry, without the side's name; '' for one that is not given.

    :param use_id: of the schema to write with; None to have it by the subject.
    """

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
    use_id: int | None
    normalize: bool
    subject_strategy: str


class RegistryConfig(Section):
    """How a schema registry is reached, and what schemas are called there."""

    value_converter_schema_registry_url: CommaList = Field(
        (), description="The registry, with Confluent's REST API; several are tried in order."
    )
    key_converter_schema_registry_url: CommaList = Field((), description=SAME)
    value_converter_basic_auth_credentials_source: Literal["URL", "USER_INFO"] = Field(
        "URL", description="Location of user and password of the registry: the URL, or `…basic.auth.user.info`."
    )
    key_converter_basic_auth_credentials_source: Literal["URL", "USER_INFO"] = Field("URL", description=SAME)
    value_converter_basic_auth_user_info: SecretStr = Field(SecretStr(""), description="`USER:PASSWORD` of the registry.")
    key_converter_basic_auth_user_info: SecretStr = Field(SecretStr(""), description=SAME)
    value_converter_bearer_auth_token: SecretStr = Field(SecretStr(""), description="Bearer token of the registry.")
    key_converter_bearer_auth_token: SecretStr = Field(SecretStr(""), description=SAME)
    value_converter_schema_registry_ssl_ca_location: str = Field(
        "", description="PEM file of the certificate authorities trusted for the registry; default: the system's."
    )
    key_converter_schema_registry_ssl_ca_location: str = Field("", description=SAME)
    value_converter_schema_registry_ssl_certificate_location: str = Field(
        "", description="PEM file of this client's certificate (mTLS)."
    )
    key_converter_schema_registry_ssl_certificate_location: str = Field("", description=SAME)
    value_converter_schema_registry_ssl_key_location: str = Field(
        "", description="PEM file of the client's private key, if it is not in the certificate's file."
    )
    key_converter_schema_registry_ssl_key_location: str = Field("", description=SAME)
    value_converter_schema_registry_ssl_key_password: SecretStr = Field(SecretStr(""), description="Password of that key.")
    key_converter_schema_registry_ssl_key_password: SecretStr = Field(SecretStr(""), description=SAME)
    value_converter_auto_register_schemas: bool = Field(
        True, description="Register schemas that the registry does not have; otherwise such a table is suspended."
    )
    key_converter_auto_register_schemas: bool = Field(True, description=SAME)
    value_converter_use_latest_version: bool = Field(
        False, description="Write with the newest schema of the subject, which must have the table's fields."
    )
    key_converter_use_latest_version: bool = Field(False, description=SAME)
    value_converter_use_schema_id: int | None = Field(
        None,
        ge=1,
        description="Write with the schema that has this id, which must have the table's fields: for a connector of one table.",
    )
    key_converter_use_schema_id: int | None = Field(None, ge=1, description=SAME)
    value_converter_normalize_schemas: bool = Field(
        False, description="Have the registry normalize schemas before it compares them."
    )
    key_converter_normalize_schemas: bool = Field(False, description=SAME)
    value_converter_value_subject_name_strategy: SubjectStrategy = Field(
        _TOPIC, description="Subject of a schema: `<topic>-value`, the record's name, or both."
    )
    key_converter_key_subject_name_strategy: SubjectStrategy = Field(_TOPIC, description=SAME)

    def registry(self, side: Side) -> RegistryProperties:
        """The registry's properties of one side, secrets as plain text."""

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
            use_id=getattr(self, f"{side}_converter_use_schema_id"),
            normalize=flag("normalize_schemas"),
            subject_strategy=text(f"{side}_subject_name_strategy"),
        )
