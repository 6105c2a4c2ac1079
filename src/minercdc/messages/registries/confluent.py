"""A client of a schema registry with Confluent's REST API (Apicurio has the same one under `/apis/ccompat/v7`).

Not confluent_kafka.schema_registry: it sends the first URL's user and password to the others, too, takes a token for Confluent Cloud only,
trusts other authorities than the system's, keeps ids of subjects that are gone, and drops a registry's reasons for a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from minercdc.errors import DeliveryError, RecordSchemaError, SinkError
from minercdc.messages.registries.access import RegistryAccess, RestClient, message_of
from minercdc.messages.registries.compatibility import avro_faults, columns_at_fault, protobuf_faults, reasons

_CONTENT = "application/vnd.schemaregistry.v1+json"
_INCOMPATIBLE, _UNTAKEN = 409, (413, 422)  # too large, invalid
_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND = 40401, 40403
_FAULTS: Mapping[str, Callable[[str, str, str], list[str]]] = {
    "AVRO": avro_faults,
    "PROTOBUF": lambda old, new, _: protobuf_faults(old, new),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that a schema imports.

    :param name: under which it imports it.
    :param subject, version: under which the registry has it.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it is registered.

    :param kind: AVRO or PROTOBUF; KCONNECT in Apicurio's own API.
    :param references: the schemas that it imports.
    """

    text: str
    kind: str = "AVRO"
    references: tuple[Reference, ...] = ()

    def body(self) -> dict[str, Any]:
        """The body of a request to the registry, before it is JSON."""
        found: dict[str, Any] = {"schema": self.text}
        if self.kind != "AVRO":
            found["schemaType"] = self.kind
        if self.references:
            found["references"] = [asdict(reference) for reference in self.references]
        return found


class SchemaRegistry:
    """Registers schemas and finds their ids. Ids are global: a schema has the same one under each subject. Methods raise
    SinkError for an answer that is no registry's, or a URL that is not valid.

    :ivar url: of the registry, without user and password; several with commas.
    """

    def __init__(self, access: RegistryAccess) -> None:
        """Raises ConfigError for a certificate that cannot be read; nothing is sent."""
        self.url = access.public()
        self._rest = RestClient(access, _CONTENT, "schema.registry.url")

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one of its versions already.

        :param normalize: the registry compares and stores the schema in its normal form.
        :raises RecordSchemaError: the registry refuses it, as incompatible with the versions before it or as invalid.
        :raises SinkError: it refuses us, or answers as no registry.
        :raises DeliveryError: it does not answer.
        """
        query = {"normalize": "true"} if normalize else {}
        body = schema.body()
        status, answer = self._rest.request("POST", f"subjects/{_escaped(subject)}/versions", body, query)
        if status == HTTPStatus.OK:
            return self._rest.number(answer, "id")
        if status == _INCOMPATIBLE:
            raise self._incompatible(subject, schema, answer)
        if status in _UNTAKEN:
            raise RecordSchemaError(
                f"the schema registry at {self.url} does not take the schema of subject {subject}: {status} {message_of(answer)}",
                hint=f"The schema is {schema.text}",
            )
        raise self._rest.refused(f"registering a schema of subject {subject}", status, answer)

    def _incompatible(self, subject: str, schema: SchemaText, answer: Any) -> RecordSchemaError:
        """The error for a schema that does not go with those before it; the registry's own words end its message. Asks the
        registry for them, the level and the versions; raises DeliveryError when it does not answer."""
        said = self._incompatibilities(subject, schema.body()) or message_of(answer)
        level = self.compatibility(subject)
        before = self._before(subject, level)
        compared = ((number, _FAULTS[schema.kind](old, schema.text, level)) for number, old in before)
        number, faults = next((one for one in compared if one[1]), (0, []))
        if faults and number != before[0][0]:
            faults = [f"{fault} (against the schema of id {number})" for fault in faults]
        if not faults and before and (columns := columns_at_fault(said, schema.text, before[0][1])):
            faults = [f"in {columns}"]
        return RecordSchemaError(
            f"the schema registry refuses the new schema of subject {subject} as not compatible{reasons(level, faults, said)}",
            hint=f"Set the compatibility of subject {subject} to NONE for this schema, or delete the subject; or restore the former columns.",
        )

    def _before(self, subject: str, level: str) -> list[tuple[int, str]]:
        """(id, text) of the versions that a level compares a new one with, the newest first; none where the registry
        refuses to show them."""
        try:
            if level.endswith("_TRANSITIVE"):
                return list(reversed(self.versions(subject).items()))
            return [self.latest(subject)]
        except DeliveryError:
            raise
        except (SinkError, RecordSchemaError):
            return []

    def compatibility(self, subject: str) -> str:
        """The level of compatibility that holds for a subject, in the registry's words; '' where it does not say. Raises DeliveryError where
        it does not answer."""
        for path, query in ((f"config/{_escaped(subject)}", {"defaultToGlobal": "true"}), ("config", {})):
            status, answer = self._rest.request("GET", path, query=query)
            if status == HTTPStatus.OK and isinstance(answer, Mapping) and "compatibilityLevel" in answer:
                return str(answer["compatibilityLevel"])
        return ""

    def lookup(self, subject: str, schema: SchemaText) -> int:
        """The id of a schema that a subject has already.

        :raises RecordSchemaError: the subject does not have it.
        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """
        return self._rest.number(self._registered(subject, schema), "id")

    def version(self, subject: str, schema: SchemaText, *, just_registered: bool) -> int:
        """The version that a schema has in a subject.

        :param just_registered: by us, with auto.register.schemas; else it had to be there.
        :raises RecordSchemaError, SinkError, DeliveryError: as of `lookup`; with `just_registered` SinkError for a missing one.
        """
        return self._rest.number(self._registered(subject, schema, just_registered=just_registered), "version")

    def _registered(self, subject: str, schema: SchemaText, *, just_registered: bool = False) -> Any:
        status, answer = self._rest.request("POST", f"subjects/{_escaped(subject)}", schema.body())
        if status == HTTPStatus.OK:
            return answer
        if (code := _code(answer)) in (_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND):
            missing = f"subject {subject}" if code == _SUBJECT_NOT_FOUND else f"such schema under subject {subject}"
            if just_registered:
                raise SinkError(
                    f"the schema registry at {self.url} has no {missing}, although it has just registered it",
                    hint="The subject was deleted meanwhile, or the URLs are those of several registries; check it and start again.",
                )
            raise RecordSchemaError(
                f"the schema registry has no {missing}, and auto.register.schemas=false",
                hint=f"Register it: {schema.text}",
            )
        raise self._rest.refused(f"looking up a schema of subject {subject}", status, answer)

    def latest(self, subject: str) -> tuple[int, str]:
        """(id, text) of the newest version of a subject.

        :raises RecordSchemaError: there is none.
        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._rest.request("GET", f"subjects/{_escaped(subject)}/versions/latest")
        if status == HTTPStatus.OK:
            return self._rest.number(answer, "id"), str(self._rest.part(answer, "schema"))
        if _code(answer) == _SUBJECT_NOT_FOUND:
            raise RecordSchemaError(
                f"the schema registry has no subject {subject}, and use.latest.version=true",
                hint="Register a schema under it, or leave use.latest.version out.",
            )
        raise self._rest.refused(f"reading the newest schema of subject {subject}", status, answer)

    def schema(self, number: int) -> str:
        """The text of the schema with an id.

        :raises SinkError: there is none, or the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._rest.request("GET", f"schemas/ids/{number}")
        if status == HTTPStatus.OK:
            return str(self._rest.part(answer, "schema"))
        raise self._rest.refused(f"reading the schema with id {number}", status, answer)

    def versions(self, subject: str) -> dict[int, str]:
        """Id -> text of all versions of a subject, the newest last; {} where there is no such subject.

        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: it does not answer.
        """
        path = f"subjects/{_escaped(subject)}/versions"
        status, numbers = self._rest.request("GET", path)
        if status != HTTPStatus.OK:
            if _code(numbers) == _SUBJECT_NOT_FOUND:
                return {}
            raise self._rest.refused(f"reading the versions of subject {subject}", status, numbers)
        found = {}
        for number in numbers if isinstance(numbers, list) else ():
            status, answer = self._rest.request("GET", f"{path}/{number}")
            if status != HTTPStatus.OK:
                raise self._rest.refused(f"reading version {number} of subject {subject}", status, answer)
            found[self._rest.number(answer, "id")] = str(self._rest.part(answer, "schema"))
        return found

    def close(self) -> None:
        """Close the HTTP client."""
        self._rest.close()

    def _incompatibilities(self, subject: str, body: Mapping[str, Any]) -> str:
        """What the registry says is not compatible, with the field; '' when it does not say."""
        path = f"compatibility/subjects/{_escaped(subject)}/versions/latest"
        status, answer = self._rest.request("POST", path, body, {"verbose": "true"})
        said = answer.get("messages") if status == HTTPStatus.OK and isinstance(answer, Mapping) else None
        return "; ".join(map(str, said)) if isinstance(said, list) else str(said or "")


def _escaped(subject: str) -> str:
    return quote(subject, safe="")


def _code(answer: Any) -> int:
    code = answer.get("error_code") if isinstance(answer, Mapping) else None
    return code if isinstance(code, int) else 0
