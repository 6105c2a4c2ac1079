"""Properties of Apicurio's converters."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SecretStr

from minercdc.config.messages.registries import SAME, Side
from minercdc.config.section import CommaList, Section

_Strategy = Literal[
    "io.apicurio.registry.serde.strategy.TopicIdStrategy",
    "io.apicurio.registry.serde.strategy.SimpleTopicIdStrategy",
    "io.apicurio.registry.serde.avro.strategy.RecordIdStrategy",
    "io.apicurio.registry.serde.avro.strategy.TopicRecordIdStrategy",
    "io.apicurio.registry.serde.avro.strategy.QualifiedRecordIdStrategy",
]
_TOPIC: _Strategy = "io.apicurio.registry.serde.strategy.TopicIdStrategy"
_IfExists = Literal["FAIL", "RETURN", "RETURN_OR_UPDATE", "FIND_OR_CREATE_VERSION", "UPDATE", "CREATE_VERSION"]


def _named(default: Any, name: str, description: str) -> Any:
    return Field(default, alias=name, description=description)


class ApicurioConfig(Section):
    """How Apicurio's converters find or register schemas, and which id records have."""

    value_converter_apicurio_registry_url: CommaList = Field(
        (), description="Apicurio's registry, with its own API: `http://HOST:PORT/apis/registry/v3`, or `v2`."
    )
    key_converter_apicurio_registry_url: CommaList = Field((), description=SAME)
    value_converter_apicurio_registry_auto_register: bool = _named(
        False,
        "value.converter.apicurio.registry.auto-register",
        "Register schemas; otherwise the newest version of the artifact must have the table's fields.",
    )
    key_converter_apicurio_registry_auto_register: bool = _named(
        False, "key.converter.apicurio.registry.auto-register", SAME
    )
    value_converter_apicurio_registry_auto_register_if_exists: _IfExists = _named(
        "FIND_OR_CREATE_VERSION",
        "value.converter.apicurio.registry.auto-register.if-exists",
        "If the artifact exists: find the schema in it, or add it as a version; the terms of both API versions are accepted. `RETURN`: write with its newest version, which must have the table's fields.",
    )
    key_converter_apicurio_registry_auto_register_if_exists: _IfExists = _named(
        "FIND_OR_CREATE_VERSION", "key.converter.apicurio.registry.auto-register.if-exists", SAME
    )
    value_converter_apicurio_registry_find_latest: bool = _named(
        False,
        "value.converter.apicurio.registry.find-latest",
        "Write with the newest version of the artifact, which must have the table's fields; auto-register=true goes before it.",
    )
    key_converter_apicurio_registry_find_latest: bool = _named(False, "key.converter.apicurio.registry.find-latest", SAME)
    value_converter_apicurio_registry_artifact_group_id: str = _named(
        "",
        "value.converter.apicurio.registry.artifact.group-id",
        "The group of artifacts; default that of the strategy, or `default`.",
    )
    key_converter_apicurio_registry_artifact_group_id: str = _named(
        "", "key.converter.apicurio.registry.artifact.group-id", SAME
    )
    value_converter_apicurio_registry_artifact_resolver_strategy: _Strategy = _named(
        _TOPIC,
        "value.converter.apicurio.registry.artifact-resolver-strategy",
        "Artifact of a schema: `<topic>-value`, the topic, or the record's name.",
    )
    key_converter_apicurio_registry_artifact_resolver_strategy: _Strategy = _named(
        _TOPIC, "key.converter.apicurio.registry.artifact-resolver-strategy", SAME
    )
    value_converter_apicurio_registry_use_id: Literal["globalId", "contentId"] = _named(
        "globalId", "value.converter.apicurio.registry.use-id", "The id in records."
    )
    key_converter_apicurio_registry_use_id: Literal["globalId", "contentId"] = _named(
        "globalId", "key.converter.apicurio.registry.use-id", SAME
    )
    value_converter_apicurio_registry_as_confluent: bool = _named(
        False,
        "value.converter.apicurio.registry.as-confluent",
        "Ids have four bytes, as in Confluent's wire format, not eight.",
    )
    key_converter_apicurio_registry_as_confluent: bool = _named(False, "key.converter.apicurio.registry.as-confluent", SAME)
    value_converter_apicurio_registry_headers_enabled: bool = Field(
        False, description="Ids are in headers (`apicurio.value.globalId`), not before the content."
    )
    key_converter_apicurio_registry_headers_enabled: bool = Field(False, description=SAME)
    value_converter_apicurio_registry_auth_username: str = Field("", description="User of the registry, by HTTP Basic.")
    key_converter_apicurio_registry_auth_username: str = Field("", description=SAME)
    value_converter_apicurio_registry_auth_password: SecretStr = Field(SecretStr(""), description="That user's password.")
    key_converter_apicurio_registry_auth_password: SecretStr = Field(SecretStr(""), description=SAME)

    def apicurio(self, side: Side, name: str) -> Any:
        """The value of one side's property, by the end of its field's name; a password as plain text."""
        found = getattr(self, f"{side}_converter_apicurio_registry_{name}")
        return found.get_secret_value() if isinstance(found, SecretStr) else found
