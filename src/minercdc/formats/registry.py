"""A client of a schema registry with Confluent's REST API (Apicurio has the same one under `/apis/ccompat/v7`)."""

from __future__ import annotations

import json
import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

import httpx2
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from minercdc.errors import ConfigError, DeliveryError, SinkError
from minercdc.formats.incompatible import columns_at_fault

_log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every request

_CONTENT = "application/vnd.schemaregistry.v1+json"
_INCOMPATIBLE = 409
_USER = re.compile(r"(?<=://).*@")
_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND = 40401, 40403


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """How a registry is reached.

    :param urls: tried in order.
    :param user, password: for HTTP Basic; '' for none.
    :param token: Bearer token, '' for none.
    :param ca: PEM file of the authorities that are trusted, '' for the system's.
    :param certificate, private_key: PEM files of this client, '' for none.
    :param private_key_password: of the private key, '' for none.
    :param timeout: seconds to try for.
    """

    urls: tuple[str, ...]
    user: str = ""
    password: str = ""
    token: str = ""
    ca: str = ""
    certificate: str = ""
    private_key: str = ""
    private_key_password: str = ""
    timeout: float = 60.0

    def shown(self) -> str:
        """The URLs without user and password, with comma and blank between them, for messages."""
        return ", ".join(map(_without_user, self.urls))

    def public(self) -> str:
        """The URLs without user and password, with commas between them, for records."""
        return ",".join(map(_without_user, self.urls))


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

    :param kind: AVRO or PROTOBUF.
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


class _Unavailable(Exception):
    """No answer, or one that says to try again."""


class RestClient:
    """Sends requests to a registry; what may pass is tried again, at each of its URLs.

    :param content: the media type of requests and answers.
    :param property_name: of the registry's URL, for messages.
    """

    def __init__(self, access: RegistryAccess, content: str, property_name: str) -> None:
        """Raises ConfigError for a certificate that cannot be read; nothing is sent."""
        self._access = access
        self._property = property_name
        headers = {"Content-Type": content, "Accept": content}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        auth = (access.user, access.password) if access.user else None
        # Requests are rare, once per schema: no connection is kept between them.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._client = httpx2.Client(headers=headers, auth=auth, verify=_trust(access), timeout=10.0, limits=limits)

    def close(self) -> None:
        self._client.close()

    def refused(self, what: str, status: int, answer: Mapping[str, Any]) -> SinkError:
        """The error for an answer of failure, which is returned, not raised.

        :param what: that failed, such as `reading the schema with id 7`.
        """
        hint = {
            401: "Check user and password, or the token.",
            403: "The registry's user may not do this.",
            404: f"Check {self._property}: Apicurio's ends with /apis/ccompat/v7, or /apis/registry/v3 for its own converters.",
        }.get(status, "")
        return SinkError(
            f"the schema registry at {self._access.shown()} failed at {what}: {status} {message_of(answer)}", hint=hint
        )

    def part(self, answer: Any, name: str) -> Any:
        """A member of an answer that says success.

        :raises SinkError: it has none, as the page of a proxy.
        """
        if isinstance(answer, Mapping) and name in answer:
            return answer[name]
        raise SinkError(
            f"the schema registry at {self._access.shown()} answers without {name}: {message_of(answer)}",
            hint=f"Check that {self._property} is the registry's, and not that of a proxy's or another service's page.",
        )

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """(HTTP status, answer): parsed JSON, or `{"message": text}`. Blocks for about `RegistryAccess.timeout` at most.

        :param path: below the registry's URL.
        :param body: to be sent as JSON, or a text as it is; None for no body.
        :raises SinkError: a URL is not valid.
        :raises DeliveryError: no URL answers in that time, other than with status 429 or 5xx.
        """
        attempts = Retrying(
            retry=retry_if_exception_type(_Unavailable),
            stop=stop_after_delay(self._access.timeout),
            wait=wait_exponential(0.1, max=5),
            reraise=True,
            before_sleep=self._say_once,
        )
        content = body if isinstance(body, str) or body is None else json.dumps(body)
        try:
            return attempts(self._send, method, path, content, query or {}, headers or {})
        except _Unavailable as error:
            raise DeliveryError(
                f"the schema registry at {self._access.shown()} does not answer: {error}",
                hint=f"Check {self._property}, and that the registry runs; the connector goes on from its offset then.",
            ) from None

    def _say_once(self, state: RetryCallState) -> None:
        """The connector stands still until the registry answers, or the time is over."""
        if state.attempt_number == 1 and state.outcome is not None:
            shown, seconds = self._access.shown(), self._access.timeout
            _log.warning(
                "the schema registry at %s does not answer: %s; trying for %g s", shown, state.outcome.exception(), seconds
            )

    def _send(
        self, method: str, path: str, content: str | None, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        failure = ""
        for url in self._access.urls:
            try:
                address = f"{url.rstrip('/')}/{path}"
                response = self._client.request(method, address, content=content, params=dict(query), headers=dict(headers))
            except httpx2.InvalidURL:  # whose text may hold a part of the password
                raise SinkError(
                    f"the schema registry cannot be reached: {_without_user(url)} is no URL",
                    hint=f"Check {self._property}; in user and password, characters such as @ / ? # are written as %40 %2F %3F %23.",
                ) from None
            except httpx2.RequestError as error:
                failure = f"{type(error).__name__}: {error}"
                continue
            if response.status_code < 500 and response.status_code != httpx2.codes.TOO_MANY_REQUESTS:
                return response.status_code, _json(response)
            failure = f"{response.status_code} {message_of(_json(response))}"
        raise _Unavailable(failure)


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
        :raises SinkError: the registry refuses it, as incompatible with the versions before it or as invalid.
        :raises DeliveryError: the registry does not answer.
        """
        query = {"normalize": "true"} if normalize else {}
        body = schema.body()
        status, answer = self._rest.request("POST", f"subjects/{_escaped(subject)}/versions", body, query)
        if status == httpx2.codes.OK:
            return int(self._rest.part(answer, "id"))
        if status == _INCOMPATIBLE:
            said = self._incompatibilities(subject, body) or message_of(answer)
            columns = columns_at_fault(said, schema.text, self.latest(subject)[1]) if schema.kind == "AVRO" else ""
            raise SinkError(
                f"the schema registry refuses the new schema of subject {subject}: it is not compatible with the one before"
                f"{columns and f', in {columns}'}: {said}",
                hint="Set the subject's compatibility to NONE, or another subject name strategy; then start the connector again.",
            )
        raise self._rest.refused(f"registering a schema of subject {subject}", status, answer)

    def lookup(self, subject: str, schema: SchemaText) -> int:
        """The id of a schema that a subject has already, since auto.register.schemas=false.

        :raises SinkError: the subject does not have it, or the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """
        return int(self._rest.part(self._registered(subject, schema), "id"))

    def version(self, subject: str, schema: SchemaText, *, just_registered: bool) -> int:
        """The version that a schema has in a subject.

        :param just_registered: by us, with auto.register.schemas; else it had to be there.
        :raises SinkError, DeliveryError: as of `lookup`.
        """
        return int(self._rest.part(self._registered(subject, schema, just_registered=just_registered), "version"))

    def _registered(self, subject: str, schema: SchemaText, *, just_registered: bool = False) -> Any:
        status, answer = self._rest.request("POST", f"subjects/{_escaped(subject)}", schema.body())
        if status == httpx2.codes.OK:
            return answer
        if (code := _code(answer)) in (_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND):
            missing = f"subject {subject}" if code == _SUBJECT_NOT_FOUND else f"such schema under subject {subject}"
            if just_registered:
                raise SinkError(
                    f"the schema registry at {self.url} has no {missing}, although it has just registered it",
                    hint="The subject was deleted meanwhile, or the URLs are those of several registries; check it and start again.",
                )
            raise SinkError(
                f"the schema registry has no {missing}, and auto.register.schemas=false",
                hint=f"Register it: {schema.text}",
            )
        raise self._rest.refused(f"looking a schema of subject {subject} up", status, answer)

    def latest(self, subject: str) -> tuple[int, str]:
        """(id, text) of the newest version of a subject.

        :raises SinkError: there is none, or the registry refuses to answer.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._rest.request("GET", f"subjects/{_escaped(subject)}/versions/latest")
        if status == httpx2.codes.OK:
            return int(self._rest.part(answer, "id")), str(self._rest.part(answer, "schema"))
        if _code(answer) == _SUBJECT_NOT_FOUND:
            raise SinkError(
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
        if status == httpx2.codes.OK:
            return str(self._rest.part(answer, "schema"))
        raise self._rest.refused(f"reading the schema with id {number}", status, answer)

    def versions(self, subject: str) -> dict[int, str]:
        """Id -> text of all versions of a subject; {} where there is no such subject.

        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: it does not answer.
        """
        path = f"subjects/{_escaped(subject)}/versions"
        status, numbers = self._rest.request("GET", path)
        if status != httpx2.codes.OK:
            if _code(numbers) == _SUBJECT_NOT_FOUND:
                return {}
            raise self._rest.refused(f"reading the versions of subject {subject}", status, numbers)
        found = {}
        for number in numbers:
            status, answer = self._rest.request("GET", f"{path}/{number}")
            if status != httpx2.codes.OK:
                raise self._rest.refused(f"reading version {number} of subject {subject}", status, answer)
            found[int(self._rest.part(answer, "id"))] = str(self._rest.part(answer, "schema"))
        return found

    def close(self) -> None:
        self._rest.close()

    def _incompatibilities(self, subject: str, body: Mapping[str, Any]) -> str:
        """What the registry says is not compatible, with the field; '' when it does not say."""
        path = f"compatibility/subjects/{_escaped(subject)}/versions/latest"
        status, answer = self._rest.request("POST", path, body, {"verbose": "true"})
        return "; ".join(map(str, answer.get("messages") or [])) if status == httpx2.codes.OK else ""


def _trust(access: RegistryAccess) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca or None)
        if access.certificate:
            context.load_cert_chain(access.certificate, access.private_key or None, access.private_key_password or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            [f"schema.registry.ssl: the certificates for the registry cannot be read: {error}"],
            hint="ca.location, certificate.location and key.location name PEM files.",
        ) from None
    return context


def _without_user(url: str) -> str:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return _USER.sub("", url)
    return str(parsed.copy_with(username="", password="")) if parsed.userinfo else url


def _escaped(subject: str) -> str:
    return quote(subject, safe="")


def _json(response: httpx2.Response) -> Any:
    try:
        found = response.json()
    except ValueError:
        return {"message": response.text[:200]}
    return found if isinstance(found, dict) or response.is_success else {"message": str(found)[:200]}


def _code(answer: Mapping[str, Any]) -> int:
    code = answer.get("error_code")
    return code if isinstance(code, int) else 0


def message_of(answer: Any) -> str:
    """The `message` of an answer of failure, else the whole answer; at most 1000 characters."""
    said = answer.get("message") if isinstance(answer, Mapping) else None
    return str(said or answer)[:1000]
