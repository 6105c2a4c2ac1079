"""Apicurio's registry by its own API, versions 2 and 3, and its wire formats: the id before the content, or in headers.

zero byte, id in eight bytes    the default; in four bytes with `as-confluent`
apicurio.value.globalId, ..     id in eight bytes, with `headers.enabled`; nothing before the content
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import quote

from minercdc.errors import DeliveryError, RecordSchemaError, SinkError
from minercdc.messages.registries.access import RegistryAccess, RestClient, message_of
from minercdc.messages.registries.compatibility import avro_faults, columns_at_fault, reasons
from minercdc.messages.registries.confluent import SchemaText
from minercdc.messages.registries.registered import Identity, other_fields

IdKind = Literal["globalId", "contentId"]
Strategy = Callable[[str, str], tuple[str, str]]
"""Group and id of the artifact for a topic and the full name of a record's schema; '' for the default group."""

URL: Final = "apicurio.registry.url"
_VERSION_2: Final = "/apis/registry/v2"
_LONG, _SHORT, _ID = struct.Struct(">bq").pack, struct.Struct(">bI").pack, struct.Struct(">q").pack
_DEFAULT_GROUP: Final = "default"
_CONTENT: Final = "application/json"
_IN_VERSION_2: Final[Mapping[str, str]] = {"FIND_OR_CREATE_VERSION": "RETURN_OR_UPDATE", "CREATE_VERSION": "UPDATE"}
_IN_VERSION_3: Final[Mapping[str, str]] = {word: other for other, word in _IN_VERSION_2.items()}
_PAGE: Final = 500
_UNTAKEN: Final = (400, 413, 422)  # no schema of its type, too large, invalid
_VIOLATION: Final = "RuleViolationException"


def artifact_names(strategy: str, side: str, group: str) -> Strategy:
    """The strategy of a class of Apicurio's; of an unknown one TopicIdStrategy, `TOPIC-key` or `TOPIC-value`.

    :param strategy: the last part of the class's name.
    :param side: key or value.
    :param group: that is configured, '' for the strategy's own.
    """

    def named(topic: str, name: str) -> tuple[str, str]:
        namespace, _, bare = name.rpartition(".")
        own, artifact = {
            "SimpleTopicIdStrategy": ("", topic),
            "RecordIdStrategy": (namespace, bare),
            "TopicRecordIdStrategy": (namespace, f"{topic}-{bare}"),
            "QualifiedRecordIdStrategy": ("", name),
        }.get(strategy, ("", f"{topic}-{side}"))
        return group or own, artifact

    return named


@dataclass(frozen=True, slots=True)
class Artifact:
    """A version of a schema in the registry.

    :ivar ids: by their kind.
    :ivar text: of the schema; '' when it was only registered.
    """

    ids: Mapping[str, int]
    text: str = ""


class ApicurioRegistry:
    """Registers schemas in Apicurio's registry and finds them, by its own API; to be closed by its user.

    :ivar url: without user and password; several with commas.
    """

    def __init__(self, access: RegistryAccess) -> None:
        """Raises ConfigError for a certificate that cannot be read; nothing is sent."""
        self.url = access.public()
        self._rest = RestClient(access, _CONTENT, URL)
        self._old = _VERSION_2 in access.urls[0]

    def register(self, group: str, artifact: str, schema: SchemaText, if_exists: str) -> Artifact:
        """The version that an artifact has, or gets, with a schema; the artifact is made where it is missing. Group '' is the
        default one.

        :param if_exists: what to do where the artifact is there, in the words of version 2 or 3 of the API; not RETURN.
        :raises RecordSchemaError: the registry refuses it: incompatible with the versions before it, invalid, or there with FAIL.
        :raises SinkError: it refuses us, or answers as no registry.
        :raises DeliveryError: it does not answer.
        """
        path = f"groups/{_escaped(group)}/artifacts"
        if self._old:
            headers = {"X-Registry-ArtifactId": artifact, "X-Registry-ArtifactType": schema.kind}
            query = {"ifExists": _IN_VERSION_2.get(if_exists, if_exists)}
            status, answer = self._rest.request("POST", path, schema.text, query, headers)
        else:
            content = {"content": schema.text, "contentType": _CONTENT}
            body = {"artifactId": artifact, "artifactType": schema.kind, "firstVersion": {"content": content}}
            status, answer = self._rest.request("POST", path, body, {"ifExists": _IN_VERSION_3.get(if_exists, if_exists)})
        if status == HTTPStatus.OK:
            return self._artifact(answer if self._old else self._rest.part(answer, "version"))
        if status == HTTPStatus.CONFLICT or answer.get("name") == _VIOLATION:
            raise self._violation(group, artifact, schema, answer)
        if status in _UNTAKEN:
            raise RecordSchemaError(
                f"the schema registry at {self.url} does not take the schema of artifact {artifact}: {status} {_reason(answer)}",
                hint=f"The schema is {schema.text}",
            )
        raise self._rest.refused(f"registering a schema of artifact {artifact}", status, answer)

    def _violation(self, group: str, artifact: str, schema: SchemaText, answer: Mapping[str, Any]) -> RecordSchemaError:
        """The error, to be raised, for a schema that breaks a rule, or, with FAIL, whose artifact is there. Asks the registry
        for the newest version and the rule; raises as `RestClient.request`."""
        said, old = _reason(answer), ""
        try:
            if (before := self.latest(group, artifact)) is not None:
                old = before.text
        except DeliveryError:
            raise
        except SinkError:  # it may not be read: the refusal is the error to report
            pass
        broken = answer.get("name") == _VIOLATION  # else the artifact is there, and if-exists=FAIL
        level = self.compatibility(group, artifact) if broken else ""
        faults = avro_faults(old, schema.text, level) if broken else []
        if not faults and (columns := columns_at_fault(said, schema.text, old)):
            faults = [f"in {columns}"]
        return RecordSchemaError(
            f"the schema registry refuses the new schema of artifact {artifact}{reasons(level, faults, said)}",
            hint=f"Change the compatibility rule of artifact {artifact}, or the artifact; or restore the former columns.",
        )

    def compatibility(self, group: str, artifact: str) -> str:
        """The level of the artifact's compatibility rule, else of the registry's; '' where it does not say. Raises as
        `RestClient.request`."""
        of_artifact = f"groups/{_escaped(group)}/artifacts/{_escaped(artifact, '')}/rules/COMPATIBILITY"
        for path in (of_artifact, "admin/rules/COMPATIBILITY"):
            status, answer = self._rest.request("GET", path)
            if status == HTTPStatus.OK and isinstance(answer, Mapping) and "config" in answer:
                return str(answer["config"])
        return ""

    def latest(self, group: str, artifact: str) -> Artifact | None:
        """The newest version of an artifact, with its text; None where there is no such artifact.

        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: it does not answer.
        """
        path = f"groups/{_escaped(group)}/artifacts/{_escaped(artifact, '')}"
        newest = f"{path}/meta" if self._old else f"{path}/versions/branch=latest"
        status, answer = self._rest.request("GET", newest)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise self._rest.refused(f"reading the newest schema of artifact {artifact}", status, answer)
        found = self._artifact(answer)
        return Artifact(found.ids, self.schema("globalId", found.ids["globalId"]))

    def schema(self, kind: IdKind, number: int) -> str:
        """The text of the schema with an id.

        :raises SinkError: there is none, or the registry refuses to answer.
        :raises DeliveryError: it does not answer.
        """
        status, content = self._rest.request("GET", f"ids/{kind}s/{number}")
        if status != HTTPStatus.OK:
            raise self._rest.refused(f"reading the schema with {kind} {number}", status, content)
        return json.dumps(content)

    def versions(self, group: str, artifact: str, kind: IdKind) -> list[int]:
        """The ids of all versions of an artifact; none where there is no such artifact. For the errors see `latest`."""
        path, found = f"groups/{_escaped(group)}/artifacts/{_escaped(artifact, '')}/versions", list[int]()
        while True:
            status, answer = self._rest.request("GET", path, query={"limit": str(_PAGE), "offset": str(len(found))})
            if status == HTTPStatus.NOT_FOUND:
                return []
            if status != HTTPStatus.OK:
                raise self._rest.refused(f"reading the versions of artifact {artifact}", status, answer)
            page = self._rest.part(answer, "versions")
            found += [self._rest.number(one, kind) for one in page]
            if len(page) < _PAGE:
                return found

    def close(self) -> None:
        """Close the HTTP client."""
        self._rest.close()

    def _artifact(self, metadata: Any) -> Artifact:
        return Artifact({kind: self._rest.number(metadata, kind) for kind in ("globalId", "contentId")})


class ApicurioSchemas:
    """Schemas as artifacts (registered.RegisteredSchemas).

    :param auto_register: register schemas; it goes before `find_latest`, as in Apicurio's own; else the newest version of the artifact has to have the table's fields.
    :param if_exists: as of `ApicurioRegistry.register`; with RETURN the newest version has to have the table's fields.
    :param find_latest: for the text of errors.
    :param kind: of ids in records.
    :param as_confluent: ids have four bytes.
    :param header_prefix: of the headers that hold the id, '' for ids before the content.
    """

    def __init__(
        self,
        registry: ApicurioRegistry,
        names: Strategy,
        *,
        auto_register: bool,
        if_exists: str,
        find_latest: bool,
        kind: IdKind,
        as_confluent: bool,
        header_prefix: str,
    ) -> None:
        self._registry = registry
        self._names = names
        self._auto_register = auto_register
        self._if_exists = if_exists
        self._find_latest = find_latest
        self._kind = kind
        self._as_confluent = as_confluent
        self._header_prefix = header_prefix
        self.has_headers = bool(header_prefix)

    @property
    def url(self) -> str:
        """URL of the registry, without user and password; several with commas."""
        return self._registry.url

    def identity(self, topic: str, name: str, schema: SchemaText, same: Callable[[str], bool]) -> Identity:
        """What stands for a schema: the id before the content, or in headers. For parameters and errors see
        `RegisteredSchemas.identity`. Asks the registry at each call."""
        number = self.artifact(topic, name, schema, same).ids[self._kind]
        if self._header_prefix:
            headers = ((f"{self._header_prefix}.{self._kind}", _ID(number)), (f"{self._header_prefix}.encoding", b"BINARY"))
            return Identity(number, b"", headers)
        return Identity(number, (_SHORT if self._as_confluent else _LONG)(0, number))

    def artifact(self, topic: str, name: str, schema: SchemaText, same: Callable[[str], bool]) -> Artifact:
        """The registry's version of a schema, registered, found as the newest one, or both, as configured; for the errors
        see `RegisteredSchemas.identity`."""
        group, artifact = self._names(topic, name)
        if self._auto_register and self._if_exists != "RETURN":
            return self._registry.register(group, artifact, schema, self._if_exists)
        # What is returned for RETURN may be another schema: so it is compared, as the newest one is.
        found = self._registry.latest(group, artifact)
        if found is None and self._auto_register:
            return self._registry.register(group, artifact, schema, "FAIL")
        if found is None:
            missing = "apicurio.registry.find-latest=true" if self._find_latest else "apicurio.registry.auto-register=false"
            raise RecordSchemaError(
                f"the schema registry has no artifact {artifact} in group {group or _DEFAULT_GROUP}, and {missing}",
                hint=f"Set apicurio.registry.auto-register=true, or register it: {schema.text}",
            )
        if not same(found.text):
            raise other_fields(f"artifact {artifact}", found.text, self._chosen_by())
        return found

    def _chosen_by(self) -> str:
        return "apicurio.registry.auto-register.if-exists=RETURN" if self._auto_register else "apicurio.registry.find-latest"


def _escaped(name: str, default: str = _DEFAULT_GROUP) -> str:
    return quote(name or default, safe="")


def _reason(answer: Mapping[str, Any]) -> str:
    causes = [f"{one.get('description')} ({one.get('context')})" for one in answer.get("causes") or []]
    return "; ".join(causes) or str(answer.get("detail") or message_of(answer))
