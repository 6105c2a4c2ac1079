"""Access to a schema registry: its URLs, authentication, and requests with retries."""

from __future__ import annotations

import json
import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from minercdc.errors import ConfigError, DeliveryError, SinkError
from minercdc.web.client import client

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)

_USER = re.compile(r"(?<=://).*@")


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
        """The URLs without user, password and query, with comma and blank between them, for messages."""
        return ", ".join(map(_without_user, self.urls))

    def public(self) -> str:
        """The URLs without user, password and query, with commas between them, for records."""
        return ",".join(map(_without_user, self.urls))


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
        self._client = client(10.0, headers=headers, auth=auth, trust=_trust(access), kept=0)

    def close(self) -> None:
        """Close the HTTP client."""
        self._client.close()

    def refused(self, what: str, status: int, answer: Mapping[str, Any]) -> SinkError:
        """The error for an answer of failure, which is returned, not raised.

        :param what: that failed, such as `reading the schema with id 7`.
        """
        hint = {
            401: "Check user and password, or the token.",
            403: "The registry's user is not permitted to do this.",
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
            hint=f"Check that {self._property} is the registry's, not that of a proxy or another service.",
        )

    def number(self, answer: Any, name: str) -> int:
        """A member of an answer that is a number; raises SinkError for another answer, as `part`."""
        found = self.part(answer, name)
        if isinstance(found, int):
            return found
        raise SinkError(
            f"the schema registry at {self._access.shown()} answers with {name}={str(found)[:100]}, which is not a number",
            hint=f"Check that {self._property} is the registry's.",
        )

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """(HTTP status, answer): parsed JSON, or `{"message": text}`. Blocks for about `RegistryAccess.timeout` at most; a
        second try is logged once, as a warning.

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
                hint=f"Check {self._property}, and that the registry runs; the connector then continues from its offset.",
            ) from None

    def _say_once(self, state: RetryCallState) -> None:
        """Log a warning before the second try of a request only: the connector stands still until the registry answers, or
        the time is over."""
        if state.attempt_number == 1 and state.outcome is not None:
            shown, seconds = self._access.shown(), self._access.timeout
            _log.warning(
                "the schema registry at %s does not answer: %s; trying for %g s", shown, state.outcome.exception(), seconds
            )

    def _send(
        self, method: str, path: str, content: str | None, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        import httpx2

        failure = ""
        for url in self._access.urls:
            try:
                address = f"{url.rstrip('/')}/{path}"
                response = self._client.request(method, address, content=content, params=dict(query), headers=dict(headers))
            except httpx2.InvalidURL:  # whose text may hold a part of the password
                raise SinkError(
                    f"the schema registry cannot be reached: {_without_user(url)} is not a URL",
                    hint=f"Check {self._property}; in user and password, characters such as @ / ? # are written as %40 %2F %3F %23.",
                ) from None
            except httpx2.RequestError as error:
                failure = f"{type(error).__name__}: {error}"
                continue
            if response.status_code < 500 and response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
                return response.status_code, _json(response)
            failure = f"{response.status_code} {message_of(_json(response))}"
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


def _without_user(url: str) -> str:
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return _USER.sub("", url).partition("?")[0]
    return str(parsed.copy_with(username="", password="", query=None)) if parsed.userinfo or parsed.query else url


def _json(response: httpx2.Response) -> Any:
    try:
        found = response.json()
    except ValueError:
        return {"message": response.text[:200]}
    return found if isinstance(found, dict) or response.is_success else {"message": str(found)[:200]}


def message_of(answer: Any) -> str:
    """The `message` of an answer of failure, else the whole answer; at most 1000 characters."""
    said = answer.get("message") if isinstance(answer, Mapping) else None
    return str(said or answer)[:1000]
