"""A client of a schema registry with Confluent's REST API (Apicurio has the same one under `/apis/ccompat/v7`)."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from minercdc.errors import ConfigError, DeliveryError, SinkError

logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every request

_CONTENT = "application/vnd.schemaregistry.v1+json"
_INCOMPATIBLE = 409
_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND = 40401, 40403


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """How a registry is reached.

    :param urls: tried in order.
    :param user, password: for HTTP Basic; '' for none.
    :param token: Bearer token, '' for none.
    :param ca: PEM file of the authorities that are trusted, '' for the system's.
    :param certificate, private_key: PEM files of this client, '' for none; `private_key_password` of the latter.
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
        """The URLs without user and password, for messages."""
        return ", ".join(str(httpx2.URL(url).copy_with(username="", password="")) for url in self.urls)


class _Unavailable(Exception):
    """No answer, or one that says to try again."""


class SchemaRegistry:
    """Registers schemas and finds their ids. Ids are global: a schema has the same one under each subject."""

    def __init__(self, access: RegistryAccess) -> None:
        """Raises ConfigError for a certificate that cannot be read; nothing is sent."""
        self._access = access
        headers = {"Content-Type": _CONTENT, "Accept": _CONTENT}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        auth = (access.user, access.password) if access.user else None
        # Requests are rare, once per schema: no connection is kept between them.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._client = httpx2.Client(headers=headers, auth=auth, verify=_trust(access), timeout=10.0, limits=limits)

    def register(self, subject: str, schema: str, *, kind: str = "AVRO", normalize: bool = False) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one already.

        :param schema: its text.
        :raises SinkError: the registry refuses it, as incompatible with the versions before it or as invalid.
        :raises DeliveryError: the registry does not answer.
        """
        query = {"normalize": "true"} if normalize else {}
        body = {"schema": schema} if kind == "AVRO" else {"schema": schema, "schemaType": kind}
        status, answer = self._request("POST", f"subjects/{_escaped(subject)}/versions", body, query)
        if status == httpx2.codes.OK:
            return int(answer["id"])
        if status == _INCOMPATIBLE:
            raise SinkError(
                f"the schema registry refuses the new schema of subject {subject}: it is not compatible with the one before:"
                f" {self._incompatibilities(subject, body) or _message(answer)}",
                hint="Set the subject's compatibility to NONE, or another subject name strategy; then start the connector again.",
            )
        raise self._refused(f"registering a schema of subject {subject}", status, answer)

    def lookup(self, subject: str, schema: str) -> int:
        """The id of a schema that is registered already.

        :raises SinkError: it is not.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._request("POST", f"subjects/{_escaped(subject)}", {"schema": schema})
        if status == httpx2.codes.OK:
            return int(answer["id"])
        if _code(answer) in (_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND):
            raise SinkError(
                f"the schema registry has no such schema under subject {subject}, and auto.register.schemas=false",
                hint=f"Register it: {schema}",
            )
        raise self._refused(f"looking a schema of subject {subject} up", status, answer)

    def latest(self, subject: str) -> tuple[int, str]:
        """Id and text of the newest version of a subject.

        :raises SinkError: there is none.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._request("GET", f"subjects/{_escaped(subject)}/versions/latest")
        if status == httpx2.codes.OK:
            return int(answer["id"]), str(answer["schema"])
        if _code(answer) == _SUBJECT_NOT_FOUND:
            raise SinkError(
                f"the schema registry has no subject {subject}, and use.latest.version=true",
                hint="Register a schema under it, or leave use.latest.version out.",
            )
        raise self._refused(f"reading the newest schema of subject {subject}", status, answer)

    def schema(self, number: int) -> str:
        """The text of the schema with an id.

        :raises SinkError: there is none.
        :raises DeliveryError: the registry does not answer.
        """
        status, answer = self._request("GET", f"schemas/ids/{number}")
        if status == httpx2.codes.OK:
            return str(answer["schema"])
        raise self._refused(f"reading the schema with id {number}", status, answer)

    def versions(self, subject: str) -> dict[int, str]:
        """Id -> text of all versions of a subject; none where there is no such subject.

        :raises SinkError: the registry refuses to answer.
        :raises DeliveryError: it does not answer.
        """
        path = f"subjects/{_escaped(subject)}/versions"
        status, numbers = self._request("GET", path)
        if status != httpx2.codes.OK:
            if _code(numbers) == _SUBJECT_NOT_FOUND:
                return {}
            raise self._refused(f"reading the versions of subject {subject}", status, numbers)
        found = {}
        for number in numbers:
            status, answer = self._request("GET", f"{path}/{number}")
            if status != httpx2.codes.OK:
                raise self._refused(f"reading version {number} of subject {subject}", status, answer)
            found[int(answer["id"])] = str(answer["schema"])
        return found

    def close(self) -> None:
        self._client.close()

    def _incompatibilities(self, subject: str, body: Mapping[str, Any]) -> str:
        """What the registry says is not compatible, with the field; '' when it does not say."""
        path = f"compatibility/subjects/{_escaped(subject)}/versions/latest"
        status, answer = self._request("POST", path, body, {"verbose": "true"})
        return "; ".join(map(str, answer.get("messages") or [])) if status == httpx2.codes.OK else ""

    def _refused(self, what: str, status: int, answer: Mapping[str, Any]) -> SinkError:
        hint = {
            401: "Check basic.auth.user.info, or bearer.auth.token.",
            403: "The registry's user may not do this.",
            404: "Check schema.registry.url: Apicurio's ends with /apis/ccompat/v7.",
        }.get(status, "")
        return SinkError(
            f"the schema registry at {self._access.shown()} failed at {what}: {status} {_message(answer)}", hint=hint
        )

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and answer; failures that may pass are tried again, at each of the URLs."""
        attempts = Retrying(
            retry=retry_if_exception_type(_Unavailable),
            stop=stop_after_delay(self._access.timeout),
            wait=wait_exponential(0.1, max=5),
            reraise=True,
        )
        try:
            return attempts(self._send, method, path, body, query or {})
        except _Unavailable as error:
            raise DeliveryError(
                f"the schema registry at {self._access.shown()} does not answer: {error}",
                hint="Check schema.registry.url, and that the registry runs; the connector goes on from its offset then.",
            ) from None

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]) -> tuple[int, Any]:
        failure = ""
        for url in self._access.urls:
            try:
                response = self._client.request(method, f"{url.rstrip('/')}/{path}", json=body, params=dict(query))
            except httpx2.TransportError as error:
                failure = f"{type(error).__name__}: {error}"
                continue
            if response.status_code < 500 and response.status_code != httpx2.codes.TOO_MANY_REQUESTS:
                return response.status_code, _json(response)
            failure = f"{response.status_code} {_message(_json(response))}"
        raise _Unavailable(failure)


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


def _message(answer: Mapping[str, Any]) -> str:
    return str(answer.get("message") or answer)[:1000]
